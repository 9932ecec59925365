"""Limits: every figure that a gate asks for was measured, and is what it has to be on every GPU.

Law of this file: a limit never makes a verdict better. A figure that nobody has, or that is no number, is unknown; one
beyond its limit has failed, and says by how much and where. One that keeps its limit is told, too: people ask why.

Tests: tests/core/judging/test_limits.py
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from seatrial.core.model.gates.figures import Figure, Unmeasured
from seatrial.core.model.gates.gate import Gate, GateVerdict, Limit, Measurement, worst
from seatrial.core.text.names import a_few

SHOWN_MAX: Final = 5
"""So many names of figures are told to somebody who asked for one that is not there."""


def held_to(gate: Gate, measured: Measurement) -> Measurement:
    """The measurement with the verdict that its figures earn; as it is where none are asked for, or it is no pass."""
    if measured.verdict is not GateVerdict.PASSED or not gate.limits:
        return measured
    held = [_held(limit, measured.figures, measured.unmeasured) for limit in gate.limits]
    verdict = worst(each for each, _ in held)
    told = "; ".join(text for each, text in held if each is verdict)
    return replace(measured, verdict=verdict, detail=told)


def _held(limit: Limit, figures: Sequence[Figure], unmeasured: Iterable[Unmeasured]) -> tuple[GateVerdict, str]:
    missing = next((each for each in unmeasured if each.name == limit.name), None)
    if missing is not None:
        return GateVerdict.UNKNOWN, f"{limit.name}{_on(missing.gpu)} was not measured: {missing.why}"
    of_name = [each for each in figures if each.name == limit.name]
    if not of_name:
        others = sorted({each.name for each in figures})
        what = f"there are {a_few(others, SHOWN_MAX)}" if others else "there are no figures at all"
        return GateVerdict.UNKNOWN, f"{limit.name} was not measured; {what}"
    unsound = next((each for each in of_name if not each.is_sound), None)
    if unsound is not None:
        return GateVerdict.UNKNOWN, f"{limit.name}{_on(unsound.gpu)} is not a number"
    low, high = min(of_name, key=lambda each: each.value), max(of_name, key=lambda each: each.value)
    if limit.at_least is not None and low.value < limit.at_least:
        return GateVerdict.FAILED, f"{_told(low)}, and must be at least {limit.at_least:g}"
    if limit.at_most is not None and high.value > limit.at_most:
        return GateVerdict.FAILED, f"{_told(high)}, and may be at most {limit.at_most:g}"
    bounds = [f"at least {limit.at_least:g}"] if limit.at_least is not None else []
    bounds += [f"at most {limit.at_most:g}"] if limit.at_most is not None else []
    nearest = low if limit.at_least is not None else high
    return GateVerdict.PASSED, f"{_told(nearest)}" + (f", {' and '.join(bounds)} asked" if bounds else "")


def _told(figure: Figure) -> str:
    return f"{figure.name}{_on(figure.gpu)} is {figure.value:,.5g} {figure.unit}".rstrip()


def _on(gpu: str) -> str:
    return f" of {gpu}" if gpu else ""
