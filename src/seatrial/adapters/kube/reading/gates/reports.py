"""A gate's report: the JSON document that its container leaves as termination message, read with suspicion.

    {"driver": "580.105.08",
     "measured": [{"name": "matrix-bf16", "value": 668.2, "unit": "TFLOP/s", "gpu": "GPU-…", "under": {…}}],
     "broken":   [{"name": "cuda-init", "why": "…", "gpu": "…"}],
     "unknown":  [{"name": "peer-access", "why": "…"}]}

Law of this file: anybody's image writes it, and the kubelet keeps 4096 bytes of it: the last ones. What is no such
document is no report, but what may be the end of one is none that can be read; a document is taken whole or not at all;
what it says beyond these fields is not looked at. `seatrial-probe` writes it (probes/payloads/report.py).
Tests: tests/adapters/kube/test_gate_reports.py, tests/testbed/test_real_gates.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from seatrial.core.base.values import dataclass
from seatrial.core.model.gates.figures import Figure, Unmeasured
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.instants import Instant
from seatrial.core.text import foreign

BYTES_MAX: Final = 4096
"""So much of a message a kubelet keeps; of a longer one, the end."""
ENTRIES_MAX: Final = 256
NAME_MAX: Final = 63
TEXT_MAX: Final = 300
UNDER_MAX: Final = 16
HELD_BACK: Final = "held_back"
"""The one circumstance that is words, and no number."""


_TOO_LONG: Final = f"its result is longer than the {BYTES_MAX} bytes that a kubelet keeps"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """What a gate's container has said, before it is known of which node."""

    measured: tuple[Figure, ...] = ()
    broken: tuple[Unmeasured, ...] = ()
    """What does not work, and why."""
    unknown: tuple[Unmeasured, ...] = ()
    driver: str = ""
    """The driver that is loaded, by NVML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """It began as a report, and is none."""

    why: str


class _Measured(msgspec.Struct, frozen=True):
    name: str
    value: float
    unit: str = ""
    gpu: str = ""
    spread: float | None = None
    low: float | None = None
    high: float | None = None
    count: int = 1
    under: dict[str, float | str] = {}


class _Told(msgspec.Struct, frozen=True):
    name: str
    why: str
    gpu: str = ""


class _Document(msgspec.Struct, frozen=True):
    measured: tuple[_Measured, ...] = ()
    broken: tuple[_Told, ...] = ()
    unknown: tuple[_Told, ...] = ()
    driver: str = ""


def read(text: str, *, node: str, at: Instant) -> GateReport | Unreadable | None:
    """The report in a termination message; None where the message is something else, such as the end of a log."""
    bare, is_full = text.strip(), len(text.encode(errors="replace")) >= BYTES_MAX
    if not bare.startswith("{"):
        # A report that is too long has lost its beginning, and with it perhaps all that is broken.
        return Unreadable(why=_TOO_LONG) if is_full and bare.endswith("}") else None
    try:
        found = msgspec.json.decode(text, type=_Document)
    except (msgspec.DecodeError, RecursionError) as err:
        return Unreadable(why=_TOO_LONG if is_full else foreign.line(f"its result cannot be read: {err}", TEXT_MAX))
    entries = len(found.measured) + len(found.broken) + len(found.unknown)
    if not entries and not found.driver:
        return Unreadable(why="its result has neither measured nor broken nor unknown in it")
    if entries > ENTRIES_MAX:
        return Unreadable(why=f"its result has {entries} entries; {ENTRIES_MAX} are read at most")
    return GateReport(
        measured=tuple(_figure(each, node, at) for each in found.measured),
        broken=tuple(_told(each, node) for each in found.broken),
        unknown=tuple(_told(each, node) for each in found.unknown),
        driver=foreign.line(found.driver, NAME_MAX),
    )


def verdict_of(report: GateReport | Unreadable | None) -> tuple[GateVerdict, str] | None:
    """What a report says of itself, and why; None where there is none, or it only measured."""
    if isinstance(report, Unreadable):
        return GateVerdict.UNKNOWN, report.why
    if report is not None and report.broken:
        return GateVerdict.FAILED, _listed(report.broken)
    if report is not None and report.unknown:
        return GateVerdict.UNKNOWN, _listed(report.unknown)
    return None


def _listed(told: Iterable[Unmeasured]) -> str:
    return "; ".join(f"{each.name}{f' of {each.gpu}' if each.gpu else ''}: {each.why}" for each in told)


def _figure(said: _Measured, node: str, at: Instant) -> Figure:
    held_back = said.under.get(HELD_BACK)
    under = {_name(key): value for key, value in said.under.items() if not isinstance(value, str)}
    return Figure(
        name=_name(said.name),
        value=said.value,
        unit=foreign.line(said.unit, NAME_MAX),
        node=node,
        gpu=foreign.line(said.gpu, NAME_MAX),
        at=at,
        spread=said.spread,
        low=said.low,
        high=said.high,
        count=said.count,
        under=dict(list(under.items())[:UNDER_MAX]),
        held_back=foreign.line(held_back) if isinstance(held_back, str) else None,
    )


def _told(said: _Told, node: str) -> Unmeasured:
    return Unmeasured(
        name=_name(said.name), node=node, why=foreign.line(said.why, TEXT_MAX), gpu=foreign.line(said.gpu, NAME_MAX)
    )


def _name(text: str) -> str:
    return foreign.line(text, NAME_MAX)
