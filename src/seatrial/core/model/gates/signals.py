"""Signals: what a monitoring system may tell of GPUs, by our names, and how a series of each is to be read.

Law of this file: it knows no monitoring system. What a signal is called there is the adapter's table. Names are those
of the payloads where both tell the same (`ecc-uncorrected-volatile`), so that a figure and a series can be compared.

Tests: tests/core/model/test_signals.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from seatrial.core.base.values import dataclass


class Kind(StrEnum):
    """How a series is read."""

    GAUGE = "gauge"
    """Its value counts."""
    COUNTER = "counter"
    """Its rise counts (`counters.increase`); where it stands says nothing."""
    CODE = "code"
    """The last code that was told, kept for ever: that it changes counts (`counters.told`)."""
    FLAGS = "flags"
    """A number whose bits each say something."""


class Better(StrEnum):
    """Which way is good."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = "neither"
    """A circumstance: what other figures were measured under."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """One thing that can be watched over time."""

    name: str
    unit: str
    kind: Kind
    better: Better
    meaning: str


def _signal(name: str, unit: str, kind: Kind, better: Better, meaning: str) -> Signal:
    return Signal(name=name, unit=unit, kind=kind, better=better, meaning=meaning)


_ALL: Final = (
    _signal("load", "%", Kind.GAUGE, Better.NEITHER, "part of the time in which any kernel ran"),
    _signal("engine-active", "", Kind.GAUGE, Better.NEITHER, "part of the time in which an engine was busy"),
    _signal("tensor-active", "", Kind.GAUGE, Better.HIGHER, "part of the cycles in which tensor cores were busy"),
    _signal("memory-active", "", Kind.GAUGE, Better.HIGHER, "part of the cycles in which memory was read or written"),
    _signal("sm-clock", "MHz", Kind.GAUGE, Better.HIGHER, "clock of the multiprocessors"),
    _signal("power", "W", Kind.GAUGE, Better.NEITHER, "power drawn"),
    _signal("temperature", "°C", Kind.GAUGE, Better.LOWER, "temperature of the GPU"),
    _signal("held-back", "bits", Kind.FLAGS, Better.NEITHER, "what holds the clocks back, a bit each"),
    _signal(
        "ecc-corrected-volatile", "errors", Kind.COUNTER, Better.LOWER, "single-bit errors since the driver was loaded"
    ),
    _signal(
        "ecc-uncorrected-volatile",
        "errors",
        Kind.COUNTER,
        Better.LOWER,
        "double-bit errors since the driver was loaded",
    ),
    _signal("ecc-corrected-aggregate", "errors", Kind.COUNTER, Better.LOWER, "single-bit errors of the GPU's life"),
    _signal("ecc-uncorrected-aggregate", "errors", Kind.COUNTER, Better.LOWER, "double-bit errors of the GPU's life"),
    _signal("rows-remapped-corrected", "rows", Kind.COUNTER, Better.LOWER, "rows remapped after correctable errors"),
    _signal(
        "rows-remapped-uncorrected", "rows", Kind.COUNTER, Better.LOWER, "rows remapped after uncorrectable errors"
    ),
    _signal("row-remap-failed", "", Kind.GAUGE, Better.LOWER, "1 where a row could not be remapped"),
    _signal("pages-retired-single-bit", "pages", Kind.COUNTER, Better.LOWER, "pages retired after single-bit errors"),
    _signal("pages-retired-double-bit", "pages", Kind.COUNTER, Better.LOWER, "pages retired after double-bit errors"),
    _signal("xid", "", Kind.CODE, Better.LOWER, "the last Xid, kept until the driver or the exporter restarts"),
    _signal("nvlink-crc-flit", "errors", Kind.COUNTER, Better.LOWER, "CRC errors in NVLink's flow control"),
    _signal("nvlink-crc-data", "errors", Kind.COUNTER, Better.LOWER, "CRC errors in NVLink's data"),
    _signal("nvlink-replay", "errors", Kind.COUNTER, Better.LOWER, "packets that NVLink sent again"),
    _signal("nvlink-recovery", "errors", Kind.COUNTER, Better.LOWER, "NVLinks that had to recover"),
    _signal("pcie-replay", "errors", Kind.COUNTER, Better.LOWER, "packets that PCIe sent again"),
)
SIGNALS: Final[Mapping[str, Signal]] = MappingProxyType({each.name: each for each in _ALL})
"""Every signal that we have a name for; a person's own query brings its own."""

HELD_BACK: Final[Mapping[int, str]] = MappingProxyType(
    {
        0x01: "idle",
        0x02: "application-clocks",
        0x04: "power-limit",
        0x08: "hardware-slowdown",
        0x10: "sync-boost",
        0x20: "thermal",
        0x40: "hardware-thermal",
        0x80: "power-brake",
    }
)
"""What the bits of `held-back` say, in the words of the payloads; NVML's numbers."""
