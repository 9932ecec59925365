"""MachineConfigPools: the canary's own, and those that stand still until it has proved itself."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.actions.of_campaigns import MakePool, MarkNode, PausePool, RemovePool
from seatrial.core.campaign import preflight
from seatrial.core.campaign.going_back import step_reverting
from seatrial.core.campaign.step import step_rollout
from seatrial.core.compat.matrix import Component
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import ByHand, Mode, RolloutPhase
from seatrial.core.model.seen.operators import MachinePool
from seatrial.core.movers import machine_pools, marks
from seatrial.core.movers.view import View
from seatrial.core.words import explain
from tests.builders import NOW, a_campaign, a_campaign_record, a_snapshot, a_view, an_intent, an_old_node, an_operator

ROLLOUT = "spring"
CANARYS = MachinePool(name="gpu-canary", resource_version="3", is_ours=True)
WORKER = MachinePool(name="worker", resource_version="5")
OURS = MachinePool(name="worker", resource_version="6", is_paused=True, paused_by=ROLLOUT)
THEIRS = MachinePool(name="worker", resource_version="6", is_paused=True)
LEFT = MachinePool(name="worker", resource_version="6", is_paused=True, paused_by="winter")
RESUMED = MachinePool(name="worker", resource_version="7", paused_by=ROLLOUT)
KERNEL = ByHand(component=Component.KERNEL)
UNPROVEN = (RolloutPhase.CANARY, RolloutPhase.GATING, RolloutPhase.BAKING)


def view(
    *pools: MachinePool,
    phase: RolloutPhase = RolloutPhase.CANARY,
    mode: Mode = Mode.DIRECT,
    pool: str = "",
    still: tuple[str, ...] = ("worker",),
    **changes: Any,
) -> View:
    record = a_campaign_record(phase, mode=mode)
    node = an_old_node(canary_of=ROLLOUT if phase is RolloutPhase.WAVING else "")
    seen = a_snapshot(node, campaign=record, operator=an_operator(), machine_pools=pools)
    hand = KERNEL if mode is Mode.BY_HAND else None
    return a_view(seen, an_intent(campaign=a_campaign(pool=pool, still=still, by_hand=hand, **changes)))


def pause(pool: MachinePool, *, value: bool = True) -> PausePool:
    return PausePool(rollout=ROLLOUT, name=pool.name, value=value, expect=pool.resource_version)


def test_the_canarys_pool_is_made_first_and_removed_last() -> None:
    made = view(pool="gpu-canary", still=())
    assert marks.prepare(made, {"n1"})[0] == (MakePool(rollout=ROLLOUT, name="gpu-canary"),)
    there = view(WORKER, CANARYS, pool="gpu-canary", still=())
    assert marks.prepare(there, {"n1"})[0] == (MarkNode(node="n1", rollout=ROLLOUT, expect="7", canary=True),)
    assert marks.clear(there)[0] == (RemovePool(rollout=ROLLOUT, name="gpu-canary", expect="3"),)


def test_a_pool_with_nodes_in_it_is_not_removed() -> None:
    full = MachinePool(name="gpu-canary", resource_version="3", is_ours=True, machine_count=2)
    acts, (held,) = machine_pools.clear(view(full, still=()))
    assert acts == ()
    assert "still has 2 nodes" in explain.why(held)


def test_the_others_are_paused_before_the_canarys_pool_is_made() -> None:
    acts, (held,) = marks.prepare(view(WORKER, pool="gpu-canary"), {"n1"})
    assert acts == (pause(WORKER),)
    assert explain.why(held) == "MachineConfigPool worker is being paused"
    assert marks.prepare(view(OURS, pool="gpu-canary"), {"n1"})[0] == (MakePool(rollout=ROLLOUT, name="gpu-canary"),)


@pytest.mark.parametrize("phase", UNPROVEN)
@pytest.mark.parametrize("pool", [OURS, THEIRS, RESUMED, MachinePool(name="other")])
def test_whose_pause_it_is_stays_so_and_what_nobody_asked_for_is_left_alone(
    pool: MachinePool, phase: RolloutPhase
) -> None:
    assert machine_pools.prepare(view(pool, phase=phase)) == ((), ())


def test_a_pause_that_another_rollout_left_behind_is_taken_over() -> None:
    assert machine_pools.prepare(view(LEFT))[0] == (pause(LEFT),)


@pytest.mark.parametrize("phase", [RolloutPhase.WAVING, RolloutPhase.PROMOTING])
def test_nothing_is_paused_once_the_canary_has_proved_itself(phase: RolloutPhase) -> None:
    assert machine_pools.prepare(view(WORKER, phase=phase)) == ((), ())


def test_pools_are_resumed_when_the_waves_open_and_before_anybody_starts() -> None:
    paused, resumed = (view(pool, phase=RolloutPhase.WAVING, mode=Mode.BY_HAND) for pool in (OURS, WORKER))
    course = step_rollout(paused.seen, paused.intent, NOW)
    assert (course.acts, course.open) == ((pause(OURS, value=False),), frozenset())
    assert step_rollout(resumed.seen, resumed.intent, NOW).open == {"n1"}


def test_outside_a_window_a_pool_stays_paused_and_only_our_name_goes() -> None:
    closed: Any = {"openings": ((NOW + 60, NOW + 120),)}
    acts, (held,) = machine_pools.let_go(view(OURS, phase=RolloutPhase.WAVING, **closed))
    assert (acts, held.code, held.until) == ((), HoldCode.OUTSIDE_WINDOW, NOW + 60)
    assert machine_pools.let_go(view(RESUMED, phase=RolloutPhase.WAVING, **closed))[0] == (pause(RESUMED, value=False),)


@pytest.mark.parametrize("pool", [WORKER, THEIRS, LEFT])
def test_what_we_did_not_pause_we_do_not_resume(pool: MachinePool) -> None:
    assert machine_pools.let_go(view(pool, phase=RolloutPhase.WAVING)) == ((), ())


@pytest.mark.parametrize("phase", [RolloutPhase.PROMOTING, RolloutPhase.REVERTING])
def test_nothing_of_ours_is_left_where_we_move_the_nodes(phase: RolloutPhase) -> None:
    assert machine_pools.clear(view(OURS, phase=phase))[0] == (pause(OURS, value=False),)
    assert machine_pools.clear(view(RESUMED, phase=phase))[0] == (pause(RESUMED, value=False),)
    assert machine_pools.clear(view(WORKER, phase=phase)) == ((), ())


def test_the_way_back_of_what_people_move_pauses_the_pools_again_and_leaves_them_so() -> None:
    back = view(WORKER, phase=RolloutPhase.REVERTING, mode=Mode.BY_HAND, pool="gpu-canary")
    assert step_reverting(back).acts == (pause(WORKER),)
    kept = view(OURS, phase=RolloutPhase.REVERTING, mode=Mode.BY_HAND, pool="gpu-canary")
    course = step_reverting(kept)
    assert (course.acts, course.record.phase) == ((), RolloutPhase.REVERTED)
    (told,) = machine_pools.told(view(OURS, phase=RolloutPhase.REVERTED, mode=Mode.BY_HAND))
    assert "It stays paused: resuming it would bring what was undone to its nodes" in explain.next_step(told)


def test_a_pool_that_is_not_there_is_named_before_anything_is_written() -> None:
    seen = view(MachinePool(name="other"), phase=RolloutPhase.PROPOSED, still=("other", "worker"))
    held = preflight.why_not(seen, ("n1",))
    assert [dict(each.params)["pool"] for each in held if each.code is HoldCode.POOL_MISSING] == ["worker"]


@pytest.mark.parametrize(
    ("pools", "name", "until"),
    [
        ((MachinePool(name="b", is_paused=True), MachinePool(name="a", is_paused=True)), "a", None),
        ((MachinePool(name="a", is_paused=True), MachinePool(name="b", is_paused=True, certificate_at=9e3)), "b", 9e3),
    ],
)
def test_of_paused_pools_the_one_whose_clock_ends_first_is_told(
    pools: tuple[MachinePool, ...], name: str, until: float | None
) -> None:
    (held,) = machine_pools.told(view(*pools))
    assert (dict(held.params)["pool"], held.until) == (name, until)
    assert "`kubectl patch machineconfigpool " in explain.next_step(held)


def test_who_paused_a_pool_is_told() -> None:
    (ours,), (left,) = machine_pools.told(view(OURS)), machine_pools.told(view(LEFT))
    assert "paused by rollout spring" in explain.why(ours)
    assert explain.next_step(ours).startswith("It is resumed when the canary has passed")
    assert "paused by rollout winter" in explain.why(left)


def test_a_pause_that_somebody_ended_is_told_until_the_canary_has_proved_itself() -> None:
    (held,) = machine_pools.told(view(RESUMED))
    assert held.code is HoldCode.POOL_RESUMED
    assert machine_pools.told(view(RESUMED, phase=RolloutPhase.WAVING)) == ()


def test_a_paused_rollout_still_tells_of_the_clock() -> None:
    seen = view(OURS, phase=RolloutPhase.PAUSED)
    course = step_rollout(seen.seen, an_intent(campaign=a_campaign(still=("worker",)), is_paused=True), NOW)
    assert [held.code for held in course.holds] == [HoldCode.POOL_PAUSED]


def test_without_a_paused_pool_there_is_nothing_to_tell() -> None:
    assert machine_pools.told(view(WORKER)) == ()
