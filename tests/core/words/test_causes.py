"""Which of several reasons stands first: the one that the others follow from."""

from __future__ import annotations

import pytest

from seatrial.core.holds import HoldCode
from seatrial.core.model.seen.rollouts import Told
from seatrial.core.words import causes


@pytest.mark.parametrize(
    ("cause", "effect"),
    [
        ("leaderless", "paused"),
        ("paused", "eviction-blocked"),
        ("failure-budget", "failed"),
        ("eviction-blocked", "parallel-limit"),
        ("eviction-blocked", "wave-at-work"),
        ("write-refused", "wave-at-work"),
        ("jobs-running", "canary-at-work"),
        ("driver-starting", "parallel-limit"),
        ("driver-starting", "failed"),
        ("failed", "members-left"),
        ("wave-at-work", "not-its-turn"),
        ("sync-failed", "publish-pending"),
    ],
)
def test_a_cause_stands_before_what_follows_from_it(cause: str, effect: str) -> None:
    assert causes.in_order([effect, cause]) == [cause, effect]


def test_every_reason_has_one_place_and_one_of_a_later_release_comes_last() -> None:
    assert len({causes.place(code) for code in HoldCode}) == len(HoldCode)
    assert causes.in_order(["of-a-later-release", *HoldCode])[-1] == "of-a-later-release"


@pytest.mark.parametrize(
    ("codes", "is_stuck"),
    [
        (("failed",), True),
        (("failed", "unavailable-limit"), True),
        (("node-not-ready", "parallel-limit", "skipped"), True),
        (("failed", "driver-starting"), False),
        (("stale-view", "daemon-set-holds-gpu"), False),
        (("skipped",), False),
        (("parallel-limit",), False),
        ((), False),
    ],
)
def test_nodes_that_queue_behind_one_that_failed_are_stuck(codes: tuple[str, ...], is_stuck: bool) -> None:
    assert causes.is_stuck([Told(code=code, why="", next_step="") for code in codes]) is is_stuck


def test_a_node_that_is_retried_automatically_is_not_stuck() -> None:
    assert not causes.is_stuck([Told(code="failed", why="", next_step="", until=1000.0)])
