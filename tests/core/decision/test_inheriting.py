"""A node that waits for its rollout names what the rollout waits for, and promises nothing that a person has to do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.decision import leading, summary
from seatrial.core.decision.decide import decide
from seatrial.core.decision.inheriting import AGAIN, blocker_of, inherited
from seatrial.core.decision.stops import why_stopped
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import Point, RolloutPhase
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.rollouts import Summary, Told
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.words import explain
from seatrial.core.words.causes import NEEDS_SOMEBODY
from tests.builders import (
    NEW,
    NOW,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_gpu_pod,
    a_node,
    a_snapshot,
    a_source,
    an_intent,
    an_old_node,
    an_operator,
)
from tests.core.decision.test_summary import written
from tests.core.words.test_explain import SITUATIONS, real_hold

PROMISE = "on its own"
BAKED: dict[str, Any] = {"baked_seconds": 48 * 3600.0}


def told(seen: Snapshot, intent: Intent) -> Summary:
    """What is written of a rollout in one pass."""
    record = written(seen, intent)
    assert record is not None
    assert record.summary is not None
    return record.summary


def waiting(phase: RolloutPhase, code: str = "not-its-turn", **changes: Any) -> Told:
    """What is told of the nodes that wait for one reason, in a campaign at this phase."""
    paused = {"is_paused": changes.pop("is_paused", False)}
    record = a_campaign_record(phase, **changes.pop("record", {}))
    nodes = (a_done_node(canary_of="spring"), an_old_node("n2", wanted=NEW))
    seen = a_snapshot(*nodes, campaign=record, operator=an_operator(), source=changes.pop("source", None))
    found = told(seen, an_intent(campaign=a_campaign(**changes), **paused))
    return next(each for each in found.waiting if each.code == code)


def test_a_queued_node_names_the_approval_that_its_rollout_waits_for_and_the_command() -> None:
    found = waiting(RolloutPhase.BAKING, record=BAKED, manual=(Point.WAVES,))
    assert found.why == (
        "its turn has not come yet: the rollout is at Baking; the rollout waits (approval-pending): somebody has to "
        "approve before the fleet follows the canary"
    )
    assert found.next_step == "Approve with `seatrial rollout approve spring waves`."


def test_a_queued_node_names_the_matrix_that_changed() -> None:
    found = waiting(RolloutPhase.WAVING, source=a_source(driver="550.54.15"), has_source=True)
    assert "the rollout waits (matrix-changed): the matrix now says 550.54.15" in found.why
    assert "`seatrial rollout abort spring --reason ...`" in found.next_step


def test_a_queued_node_of_a_paused_rollout_names_the_pause() -> None:
    found = waiting(RolloutPhase.PAUSED, record={"paused_in": RolloutPhase.WAVING}, is_paused=True)
    assert "the rollout waits (paused)" in found.why
    assert found.next_step == "Resume with `seatrial rollout resume spring`."


def test_a_queued_node_follows_on_its_own_where_the_rollout_does() -> None:
    found = waiting(RolloutPhase.BAKING)
    assert found.next_step == "It follows on its own; see `seatrial status`."


@pytest.mark.parametrize("code", SITUATIONS, ids=str)
def test_no_node_promises_to_follow_while_only_a_person_lets_the_rollout_go_on(code: HoldCode) -> None:
    seen, intent = SITUATIONS[code]
    decision = decide(seen, intent, NOW)
    own = [*decision.waits] if decision.stop is None else [decision.stop]
    rollouts = [held for held in own if held.subject == intent.rollout]
    blocker = blocker_of(summary.told_of(rollouts))
    if blocker is None or blocker.code not in NEEDS_SOMEBODY:
        return
    nodes = [held for held in decision.waits if held.subject in seen.nodes]
    for each in summary.waiting_of(nodes, blocker):
        if each.code == HoldCode.NOT_ITS_TURN:
            assert each.next_step == blocker.next_step


def test_jobs_that_are_waited_for_do_not_let_a_paused_rollout_go_on() -> None:
    node = a_node(
        phase=NodePhase.WAIT_FOR_JOBS_REQUIRED, is_cordon_ours=True, pods=(a_gpu_pod(),), record={"attempt": 1}
    )
    held = hold(node.name, HoldCode.JOBS_RUNNING, count=1, pod="team/train", limit="none")
    stop = why_stopped(a_snapshot(node), an_intent(is_paused=True), NOW)
    assert stop is not None
    (found,) = summary.waiting_of([held], blocker_of(summary.told_of([stop])))
    assert found.why.startswith("waiting for pod team/train to finish (limit: none); the rollout waits (paused): ")
    assert found.next_step == "Resume with `seatrial rollout resume spring`."


@pytest.mark.parametrize(
    ("code", "blocker", "is_kept"),
    [
        (HoldCode.JOBS_RUNNING, HoldCode.APPROVAL_PENDING, False),
        (HoldCode.JOBS_RUNNING, HoldCode.PAUSED, True),
        (HoldCode.PARALLEL_LIMIT, HoldCode.JOURNAL_UNWRITABLE, True),
        (HoldCode.MOVED_BY_NVIDIA, HoldCode.PAUSED, False),
        (HoldCode.MOVED_BY_NVIDIA, HoldCode.NOBODY_MOVES, True),
        (HoldCode.MOVED_BY_NVIDIA, HoldCode.NVIDIA_FULL, True),
        (HoldCode.CANARY_CLOSED, HoldCode.GATE_UNATTESTED, True),
        (HoldCode.NOT_ITS_TURN, HoldCode.WAVE_BLOCKED, True),
        (HoldCode.NOT_ITS_TURN, HoldCode.NOBODY_MAY_START, True),
        (HoldCode.NOT_ITS_TURN, HoldCode.BAKING, False),
        (HoldCode.NOT_ITS_TURN, HoldCode.OUTSIDE_WINDOW, False),
        (HoldCode.DRIVER_STARTING, HoldCode.PAUSED, False),
        (HoldCode.PAUSED, HoldCode.PAUSED, False),
    ],
)
def test_a_blocker_is_named_where_it_keeps_the_node_and_nowhere_else(
    code: HoldCode, blocker: HoldCode, is_kept: bool
) -> None:
    node, rollout = (Told(code=each, why=f"of {each}", next_step=f"Mend {each}.") for each in (code, blocker))
    found = inherited(node, blocker_of([rollout]))
    assert (found.next_step == f"Mend {blocker}." and found is not node) is is_kept


def test_without_a_controller_what_a_kubelet_does_is_still_said() -> None:
    pulls = Told(
        code=HoldCode.DRIVER_STARTING, why="no image", next_step="Check the tag; the kubelet retries on its own."
    )
    unled = Told(code=HoldCode.LEADERLESS, why="none", next_step="Start it.")
    assert inherited(pulls, unled).next_step == pulls.next_step


def test_in_a_pause_no_deadline_is_shown() -> None:
    node = Told(code=HoldCode.OFFER_REDUCED, why="one GPU less", next_step="Look.", until=600.0)
    paused = Told(code=HoldCode.PAUSED, why="paused", next_step="Resume.")
    assert inherited(node, paused) == replace(node, until=None)


def test_the_first_of_several_blockers_is_named() -> None:
    several = [hold("spring", code, {}) for code in (HoldCode.BAKING, HoldCode.MATRIX_CHANGED, HoldCode.LEADERLESS)]
    blocker = blocker_of(summary.told_of(several))
    assert blocker is not None
    assert blocker.code == HoldCode.LEADERLESS


def test_what_ends_by_itself_keeps_nobody() -> None:
    stuck = Told(code=HoldCode.MEMBERS_STUCK, why="n2 is down", next_step="Bring it back.", until=NOW + 60)
    assert blocker_of([stuck]) is None, "the wave goes on without it"
    assert blocker_of([replace(stuck, until=None)]) is not None
    unsaid = replace(stuck, code=HoldCode.GATE_UNATTESTED)
    assert blocker_of([stuck, unsaid]) == unsaid, "however long a person is given"


def test_without_a_controller_no_node_promises_to_follow_and_what_it_asks_for_stays() -> None:
    lost = leading.told("spring", "one", NOW)
    queued = Hold(subject="n2", code=HoldCode.NOT_ITS_TURN, params=(("phase", "Waving"),))
    promise = Told(code=queued.code, why=explain.why(queued), next_step=explain.next_step(queued))
    assert inherited(promise, lost).next_step == AGAIN
    asked = waiting(RolloutPhase.BAKING, record=BAKED, manual=(Point.WAVES,))
    assert inherited(asked, lost) == asked


@pytest.mark.parametrize("code", HoldCode)
def test_without_a_controller_no_hold_says_what_would_happen_without_a_person(code: HoldCode) -> None:
    lost, held = leading.told("spring", "one", NOW), real_hold(code)
    told = Told(code=code, why=explain.why(held), next_step=explain.next_step(held))
    said = inherited(told, lost).next_step
    assert said.endswith(AGAIN) or said == told.next_step
    assert not [word for word in ("automatically", "on its own", "by itself", "continues when") if word in said]


def test_no_deadline_runs_while_no_controller_is_in_charge() -> None:
    lost = leading.told("spring", "one", NOW - 100)
    starting = Told(code="driver-starting", why="its driver starts", next_step="Wait.", until=NOW + 60)
    assert inherited(starting, lost).until is None
    assert inherited(starting, None).until == NOW + 60
