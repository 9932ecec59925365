"""Figures: what was measured, of whom, when, and under which circumstances.

Law of this file: a figure says nothing about good or bad, and what could not be measured is told, never left out:
whoever judges must see the difference between a rate that is low and a rate that nobody has.

Tests: tests/core/model/test_figures.py
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from seatrial.core.base.values import dataclass, field
from seatrial.core.model.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of one GPU, or of the whole node where `gpu` is empty."""

    name: str
    """Such as `matrix-bf16` or `ecc-uncorrected`."""
    value: float
    node: str
    at: Instant
    unit: str = ""
    gpu: str = ""
    spread: float | None = None
    """How much single blocks vary, relative to the value."""
    low: float | None = None
    high: float | None = None
    """The value's own interval at 99 %, where it is the median of blocks."""
    count: int = 1
    """How many blocks it is the median of."""
    under: Mapping[str, float] = field(default_factory=dict)
    """Clocks, power, temperature, load: the state its GPU was in."""
    held_back: str | None = None
    """What held the clocks back, in NVML's words; empty for nothing, None where nobody looked."""

    @property
    def is_sound(self) -> bool:
        """Whether it is a number at all: a payload may divide by zero, and a message may say NaN."""
        return math.isfinite(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """A figure that was asked for and could not be had, and why."""

    name: str
    node: str
    why: str
    gpu: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the other gates of the round have said of a node."""

    verdicts: tuple[tuple[str, str], ...] = ()
    """By gate."""
    figures: tuple[tuple[str, Figure], ...] = ()
    """By gate. One that was not measured on every GPU, or is no number on one, is not among them at all."""
    facts: tuple[tuple[str, str], ...] = ()
    """What is seen of the node: its name, the driver that it runs, its product."""
