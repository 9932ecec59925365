"""Gates: the last try of a round is its verdict, and unknown is never a pass."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.model.gates import DETAIL_MAX, TRIES_MAX, Judged, Measurement, Verdict, judge, worst
from tests.builders import SMOKE, a_measurement


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        ((), Verdict.UNKNOWN),
        ((Verdict.PASSED, Verdict.PASSED), Verdict.PASSED),
        ((Verdict.PASSED, Verdict.PENDING), Verdict.PENDING),
        ((Verdict.UNKNOWN, Verdict.PENDING), Verdict.UNKNOWN),
        ((Verdict.UNKNOWN, Verdict.FAILED, Verdict.PASSED), Verdict.FAILED),
    ],
)
def test_the_worst_verdict_counts_and_of_nobody_asked_nothing_is_known(
    verdicts: tuple[Verdict, ...], found: Verdict
) -> None:
    assert worst(verdicts) is found


@pytest.mark.parametrize(
    ("measured", "judged"),
    [
        ((), Judged(verdict=Verdict.PENDING, due=1)),
        ((a_measurement(),), Judged(verdict=Verdict.PASSED)),
        ((a_measurement(Verdict.PENDING),), Judged(verdict=Verdict.PENDING)),
        ((a_measurement(Verdict.FAILED, detail="slow"),), Judged(verdict=Verdict.FAILED, detail="slow")),
        (
            (a_measurement(Verdict.UNKNOWN, detail="no pod"),),
            Judged(verdict=Verdict.PENDING, detail="no pod", due=2),
        ),
        (
            (a_measurement(Verdict.PASSED, attempt=2), a_measurement(Verdict.UNKNOWN)),
            Judged(verdict=Verdict.PASSED),
        ),
        (
            (a_measurement(Verdict.UNKNOWN, attempt=TRIES_MAX, detail="no pod"),),
            Judged(verdict=Verdict.UNKNOWN, detail="no pod"),
        ),
    ],
    ids=["nobody asked", "passed", "running", "failed", "asked again", "the last try counts", "no try is left"],
)
def test_a_round_says_what_its_last_try_said(measured: tuple[Measurement, ...], judged: Judged) -> None:
    assert judge(SMOKE, "n1", 1, measured) == judged


@pytest.mark.parametrize("other", [{"gate": "burn"}, {"node": "n2"}, {"round": 2}])
def test_what_was_measured_for_something_else_says_nothing(other: dict[str, Any]) -> None:
    assert judge(SMOKE, "n1", 1, (a_measurement(**other),)).verdict is Verdict.PENDING


def test_of_what_a_gate_said_only_so_much_is_kept() -> None:
    said = a_measurement(Verdict.FAILED, detail="x" * (DETAIL_MAX + 1))
    assert judge(SMOKE, "n1", 1, (said,)).detail == "x" * (DETAIL_MAX - 1) + "…"
