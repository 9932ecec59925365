"""MachineConfigPools of OpenShift: the canary's own, and those that stand still until the canary has proved itself.

    spec.canary.machineConfigPool   made before the canary is marked, removed when its last node has left it
    spec.canary.pausePools          paused before anything else is written, resumed when the waves open

A pause of ours carries our name. One that somebody else made stays theirs, and one that somebody ended stays ended; a
pause that another rollout has left behind is taken over. Law of this file: a pool is never resumed to bring what was
taken back: where people move the nodes, the way back pauses it again and leaves it so. Tests:
tests/core/movers/test_machine_pools.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.actions.of_campaigns import MakePool, PausePool, RemovePool
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.seen.operators import MachinePool
from seatrial.core.movers.view import Outcome, View
from seatrial.core.text.names import number_of

UNPROVEN: Final = frozenset({RolloutPhase.CANARY, RolloutPhase.GATING, RolloutPhase.BAKING})
"""Phases in which nothing but the canary may change."""


def missing(view: View) -> tuple[Hold, ...]:
    """Pools that are to stand still and are not there."""
    there = {pool.name for pool in view.seen.machine_pools}
    return tuple(view.hold(HoldCode.POOL_MISSING, pool=name) for name in view.campaign.still if name not in there)


def prepare(view: View) -> Outcome:
    """What is due before a canary is marked: the others paused, then its own pool made."""
    if view.record.phase in UNPROVEN:
        acts, holds = hold_still(view)
        if acts or holds:
            return acts, holds
    name = view.campaign.pool
    if not name or any(pool.name == name for pool in view.seen.machine_pools):
        return (), ()
    return view.act(MakePool(rollout=view.name, name=name), HoldCode.POOL_PENDING, pool=name, state="is being created")


def hold_still(view: View) -> Outcome:
    """Pause what is to stand still and does not, and is not moving because somebody wants it to."""
    for pool in view.seen.machine_pools:
        is_due = not pool.is_paused or bool(pool.paused_by)
        if pool.name in view.campaign.still and pool.paused_by != view.name and is_due:
            return _pause(view, pool, is_paused=True, state="is being paused")
    return (), ()


def let_go(view: View) -> Outcome:
    """Resume what we have paused, while a window is open: its nodes change at once. Else only our name goes."""
    for pool in view.seen.machine_pools:
        if pool.paused_by == view.name:
            closed = view.closed() if pool.is_paused else None
            if closed is not None:
                return (), (closed,)
            return _pause(view, pool, is_paused=False, state="is being resumed")
    return (), ()


def clear(view: View, *, is_leaving: bool = False) -> Outcome:
    """What is due so that nothing of ours is left, but a pause that keeps from the fleet what was taken back, or what
    nobody has proved when the rollout leaves."""
    for pool in view.seen.machine_pools:
        if pool.is_ours and pool.machine_count:
            state = f"still has {number_of(pool.machine_count, 'node')}, and is removed when the last one has left"
            return (), (view.hold(HoldCode.POOL_PENDING, pool=pool.name, state=state),)
        if pool.is_ours:
            act = RemovePool(rollout=view.name, name=pool.name, expect=pool.resource_version)
            return view.act(act, HoldCode.POOL_PENDING, pool=pool.name, state="is being removed")
    is_unproven = is_leaving and (view.record.paused_in or view.record.phase) in UNPROVEN
    return ((), ()) if _is_kept(view) or is_unproven else let_go(view)


def told(view: View) -> tuple[Hold, ...]:
    """What everybody is told while it is so: the clock of a paused pool, and a pause of ours that somebody ended."""
    clock = _clock(view)
    resumed = tuple(
        view.hold(HoldCode.POOL_RESUMED, pool=pool.name)
        for pool in view.seen.machine_pools
        if pool.paused_by == view.name and not pool.is_paused and view.record.phase in UNPROVEN
    )
    return (*resumed, *((clock,) if clock is not None else ()))


def _clock(view: View) -> Hold | None:
    """The clock that runs while a pool is paused: its kubelets do not get the next certificate authority."""
    paused = [pool for pool in view.seen.machine_pools if pool.is_paused]
    pool = min(paused, key=lambda each: (each.certificate_at or float("inf"), each.name), default=None)
    if pool is None:
        return None
    is_left = pool.paused_by == view.name and _is_kept(view)
    return view.hold(
        HoldCode.POOL_PAUSED,
        pool=pool.name,
        by=pool.paused_by,
        is_left=is_left or "",
        until=pool.certificate_at,
    )


def _is_kept(view: View) -> bool:
    """Whether resuming a pool would bring what was taken back: OpenShift moves its nodes, and knows no way back."""
    is_back = view.record.phase in (RolloutPhase.REVERTING, RolloutPhase.REVERTED)
    return is_back and not view.mover.is_automatic


def _pause(view: View, pool: MachinePool, *, is_paused: bool, state: str) -> Outcome:
    act = PausePool(rollout=view.name, name=pool.name, value=is_paused, expect=pool.resource_version)
    return view.act(act, HoldCode.POOL_PENDING, pool=pool.name, state=state)
