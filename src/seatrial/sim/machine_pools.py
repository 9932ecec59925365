"""MachineConfigPools after an act of ours: made, paused, taken away, each only as it was seen.

Law of this file: an act on a pool that has changed since is refused. Tests: tests/sim/test_outside.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from seatrial.core.actions.of_campaigns import MakePool, PausePool, RemovePool
from seatrial.core.model.seen.operators import MachinePool
from seatrial.sim.acts import Refused

Pools: TypeAlias = tuple[MachinePool, ...]


def apply(pools: Pools, act: MakePool | PausePool | RemovePool, rollout: str) -> Pools | Refused:
    """The pools after it, or why it was turned down; `rollout` is whose world this is, empty where any may be."""
    match act:
        case MakePool():
            if any(pool.name == act.name for pool in pools):
                return Refused(is_stale=True, why=f"there is a MachineConfigPool {act.name} already")
            return (*pools, MachinePool(name=act.name, resource_version="1", is_ours=rollout in ("", act.rollout)))
        case PausePool():
            return _paused(pools, act)
        case RemovePool():
            left = tuple(pool for pool in pools if (pool.name, pool.resource_version) != (act.name, act.expect))
            return left if left != pools else _moved_on(act.name, act.expect)


def _paused(pools: Pools, act: PausePool) -> Pools | Refused:
    found = next((pool for pool in pools if pool.name == act.name), None)
    if found is None or found.resource_version != act.expect:
        return _moved_on(act.name, act.expect)
    after = replace(
        found,
        is_paused=act.value,
        paused_by=act.rollout if act.value else "",
        resource_version=str(int(found.resource_version) + 1),
    )
    return tuple(after if pool is found else pool for pool in pools)


def _moved_on(name: str, expect: str) -> Refused:
    return Refused(is_stale=True, why=f"{name} is no longer at {expect}")
