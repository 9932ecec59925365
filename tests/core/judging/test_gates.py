"""Gates: the last try of a round is its verdict, and unknown is never a pass."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.judging.tries import DETAIL_MAX, TRIES_MAX, Judged, judge
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement, worst
from tests.builders import SMOKE, a_measurement


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ((), GateVerdict.UNKNOWN),
        ((GateVerdict.PASSED, GateVerdict.PASSED), GateVerdict.PASSED),
        ((GateVerdict.PASSED, GateVerdict.PENDING), GateVerdict.PENDING),
        ((GateVerdict.UNKNOWN, GateVerdict.PENDING), GateVerdict.UNKNOWN),
        ((GateVerdict.UNKNOWN, GateVerdict.FAILED, GateVerdict.PASSED), GateVerdict.FAILED),
    ],
)
def test_the_worst_verdict_counts_and_of_nobody_asked_nothing_is_known(
    verdicts: tuple[GateVerdict, ...], found: GateVerdict
) -> None:
    assert worst(verdicts) is found


@pytest.mark.parametrize(
    ("measured", "judged"),
    [
        ((), Judged(verdict=GateVerdict.PENDING, due=1)),
        ((a_measurement(),), Judged(verdict=GateVerdict.PASSED)),
        ((a_measurement(GateVerdict.PENDING),), Judged(verdict=GateVerdict.PENDING)),
        ((a_measurement(GateVerdict.FAILED, detail="slow"),), Judged(verdict=GateVerdict.FAILED, detail="slow")),
        (
            (a_measurement(GateVerdict.UNKNOWN, detail="no pod"),),
            Judged(verdict=GateVerdict.PENDING, detail="no pod", due=2),
        ),
        (
            (a_measurement(GateVerdict.PASSED, attempt=2), a_measurement(GateVerdict.UNKNOWN)),
            Judged(verdict=GateVerdict.PASSED),
        ),
        (
            (a_measurement(GateVerdict.UNKNOWN, attempt=TRIES_MAX, detail="no pod"),),
            Judged(verdict=GateVerdict.UNKNOWN, detail="no pod"),
        ),
    ],
    ids=["nobody asked", "passed", "running", "failed", "asked again", "the last try counts", "no try is left"],
)
def test_a_round_says_what_its_last_try_said(measured: tuple[Measurement, ...], judged: Judged) -> None:
    assert judge(SMOKE, "n1", 1, measured) == judged


@pytest.mark.parametrize("other", [{"gate": "burn"}, {"node": "n2"}, {"round": 2}])
def test_what_was_measured_for_something_else_says_nothing(other: dict[str, Any]) -> None:
    assert judge(SMOKE, "n1", 1, (a_measurement(**other),)).verdict is GateVerdict.PENDING


def test_of_what_a_gate_said_only_so_much_is_kept() -> None:
    said = a_measurement(GateVerdict.FAILED, detail="x" * (DETAIL_MAX + 1))
    assert judge(SMOKE, "n1", 1, (said,)).detail == "x" * (DETAIL_MAX - 1) + "…"


@pytest.mark.parametrize(
    ("image", "allowed", "is_below"),
    [
        ("registry.example.com/gates:1", "registry.example.com/gates", True),
        ("registry.example.com/gates@sha256:0a", "registry.example.com/gates", True),
        ("registry.example.com/gates-of-another", "registry.example.com/gates", False),
        ("registry.example.com:5000/gates", "registry.example.com", False),
        ("registry.example.com:5000/gates", "registry.example.com:5000", True),
    ],
)
def test_an_image_is_below_a_whole_registry_path_or_image_and_a_port_is_another_registry(
    image: str, allowed: str, is_below: bool
) -> None:
    assert Gate(name="nccl", image=image).runs_one_of([allowed]) is is_below
