"""What is wrong with the end of a story, in sentences; no cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial_lab.testbed.history import NodeMoment
from seatrial_lab.torture import judging
from seatrial_lab.torture.judging import Seen, Wanted, problems

WANTED = Wanted(
    phase="Done",
    version="580.105.08",
    node_count=2,
    parallel_max=4,
    unavailable_max=5,
    blow_count=2,
    commits=("Promote driver TARGET to production",),
    requests=100,
)
SEEN = Seen(
    phase="Done",
    versions=("580.105.08", "580.105.08"),
    cordoned=(),
    marks=(),
    states=("upgrade-done", ""),
    under_way_most=4,
    unavailable_most=5,
    breaches=(),
    crashes=(),
    journal="",
    commits=("Promote driver TARGET to production",),
    requests=560,
    lives=2,
)


def test_an_end_like_the_one_without_faults_is_well() -> None:
    assert problems(WANTED, SEEN) == ()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"phase": "Waving"}, "the rollout is Waving, and should be Done"),
        ({"phase": ""}, "the rollout is without a phase, and should be Done"),
        ({"versions": ("580.105.08", "570.124.06")}, "nodes run 570.124.06 (1), 580.105.08 (1), and all 2 should run"),
        ({"versions": ("580.105.08",)}, "nodes run 580.105.08 (1), and all 2 should run 580.105.08"),
        ({"cordoned": ("a", "b")}, "left cordoned: a, b"),
        ({"marks": ("a: seatrial.dev/canary",)}, "left marked: a: seatrial.dev/canary"),
        ({"states": ("drain-required", "")}, "nodes are at drain-required"),
        ({"under_way_most": 5}, "5 nodes were under way at once, and 4 may be"),
        ({"unavailable_most": 6}, "6 nodes were unavailable at once, and 5 may be"),
        ({"breaches": ("limits",)}, "a promise was about to be broken: limits"),
        ({"crashes": ("KeyError: 'x'",)}, "the controller ended in a way nobody foresaw: KeyError: 'x'"),
        ({"journal": "line 3"}, "the journal is broken: line 3"),
        ({"commits": SEEN.commits * 2}, "the commits are ['Promote driver TARGET to production', 'Promote"),
        ({"requests": 561}, "561 requests were made, 560 may be, and without faults it is 100"),
        ({"lives": 1}, "560 requests were made, 500 may be, and without faults it is 100"),
    ],
)
def test_each_thing_that_is_not_as_it_should_be_is_said(changed: dict[str, object], said: str) -> None:
    (found,) = problems(WANTED, replace(SEEN, **changed))  # type: ignore[arg-type]
    assert found.startswith(said)


def test_without_commits_and_without_a_comparison_neither_is_judged() -> None:
    wanted = replace(WANTED, commits=None, requests=None)
    assert problems(wanted, replace(SEEN, commits=("Another one",), requests=9999)) == ()


class Fleets:
    """A history as the judge asks it."""

    def __init__(self, *fleets: dict[str, NodeMoment]) -> None:
        self._fleets = fleets

    def fleets(self) -> tuple[dict[str, NodeMoment], ...]:
        return self._fleets


def moment(name: str, state: str, *, is_cordoned: bool = False, is_ready: bool = True) -> NodeMoment:
    return NodeMoment(at=0.0, name=name, state=state, is_cordoned=is_cordoned, is_ready=is_ready)


def test_the_worst_moment_counts_and_two_pasts_are_not_added_up() -> None:
    busy = {name: moment(name, "pod-restart-required") for name in ("a", "b")}
    calm = {"a": moment("a", "upgrade-done"), "b": moment("b", "", is_cordoned=True), "c": moment("c", "")}
    off = {"c": moment("c", "upgrade-failed", is_ready=False)}
    histories = (Fleets(busy, calm), Fleets(off))
    assert judging.most_under_way(histories) == 2
    assert judging.most_unavailable(histories) == 2
    assert judging.most_under_way(()) == 0
