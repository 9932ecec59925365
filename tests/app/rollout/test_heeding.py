"""Whether the controller has done what was asked, by its status alone, and what is said until then."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.app.picking import Asked, Rollout
from seatrial.app.rollout.heeding import Heeded, is_done, sentence
from tests.app.rollout.rollouts import a_rollout

PLAIN = {"metadata": {"name": "plain"}, "spec": {"target": {"driver": "580.105.08"}, "paused": True}}


def seen(phase: str, *, generation: int = 2, **spec: Any) -> Rollout:
    """A rollout whose controller has read this generation."""
    found = a_rollout(phase=phase, **spec)
    found.raw["status"]["observedGeneration"] = generation
    return found


def plain(**status: Any) -> Rollout:
    return Rollout(raw={**PLAIN, "status": {"observedGeneration": 2, **status}})


@pytest.mark.parametrize(
    ("rollout", "asked", "is_so"),
    [
        (seen("Paused", paused=True), Asked.PAUSE, True),
        (seen("Waving", paused=True), Asked.PAUSE, False),
        (seen("Waving"), Asked.RESUME, True),
        (seen("Paused"), Asked.RESUME, False),
        (seen("Reverting", abort="slow"), Asked.UNDO, True),
        (seen("Reverted", abort="slow"), Asked.UNDO, True),
        (seen("Waving", abort="slow"), Asked.UNDO, False),
        (plain(waits=[{"code": "paused"}]), Asked.PAUSE, True),
        (plain(nodesWaiting=[{"code": "paused", "nodes": ["n1"]}]), Asked.PAUSE, True),
        (plain(holds={"paused": 3}), Asked.PAUSE, True),
        (plain(holds={"parallel-limit": 3}), Asked.PAUSE, False),
        (plain(), Asked.RESUME, True),
    ],
)
def test_it_is_done_when_the_status_says_so(rollout: Rollout, asked: Asked, is_so: bool) -> None:
    assert is_done(rollout, asked, generation=2) is is_so


@pytest.mark.parametrize(
    ("rollout", "asked"),
    [
        (seen("Paused", generation=1), Asked.PAUSE),
        (seen("Waving", generation=1), Asked.RESUME),
        (seen("Reverting", generation=1), Asked.UNDO),
    ],
)
def test_a_status_from_before_the_request_says_nothing_about_it(rollout: Rollout, asked: Asked) -> None:
    assert not is_done(rollout, asked, generation=2)


def test_what_was_asked_before_is_done_when_the_status_says_so_whatever_it_has_read_since() -> None:
    assert is_done(seen("Paused", generation=-1, paused=True), Asked.PAUSE)
    assert not is_done(seen("Waving", generation=-1, paused=True), Asked.PAUSE)


def test_until_then_it_is_requested_and_the_sentence_says_what_it_needs() -> None:
    waving = seen("Waving")
    late = Heeded(rollout=waving, is_done=False)
    assert sentence(Asked.PAUSE, late, waited_seconds=5) == (
        "spring: pause requested, not yet done: the controller has not confirmed it within 5 s. "
        "`seatrial status spring` shows when it has."
    )
    unled = Heeded(rollout=waving, is_done=False, unled="vm-1 was last seen 3 min ago")
    assert sentence(Asked.UNDO, unled, waited_seconds=5) == (
        "spring: undo requested; no controller is in charge (vm-1 was last seen 3 min ago), so it takes effect when "
        "one runs. `seatrial status spring` shows when it has."
    )
    over = Heeded(rollout=seen("Done"), is_done=False)
    assert sentence(Asked.PAUSE, over, waited_seconds=5).endswith("requested too late: it has ended (Done).")
    assert sentence(Asked.UNDO, over, waited_seconds=5).startswith("spring: undo requested, not yet done")
