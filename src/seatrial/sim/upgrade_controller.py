"""NVIDIA's own upgrade controller as a table: what it does with a node in each of its states (STATES).

    none, upgrade-done     the driver differs from the template     upgrade-required, kept out or not; else upgrade-done
    upgrade-required       no skip label, and a slot is free        cordon-required; the need is not looked at again
    cordon-required        nothing                                  cordoned, its GPU pods gone, the driver stopped
    pod-restart-required   driver Ready; crashing; of an old        validation-required; upgrade-failed; stopped again
    validation-required    validator Ready since the driver is      uncordoned, and upgrade-done
    upgrade-failed         driver Ready after all                   the same, proven or not; else it stays so for ever

It compares drivers with their templates, and nothing else: an old operand is no reason to restart one.
A skip label keeps it from starting a node, and from nothing else. Its slots: `maxParallelUpgrades` (0 is no limit), and
`maxUnavailable` rounded up; who has failed keeps a slot; who is cordoned needs none; a node whose driver pod is gone
for the moment is left out of the count, so that it begins with one or two more than it should. Each NVIDIADriver has
slots of its own. It moves no node while a NotReady one has a driver pod (is_stalled). Switched off, it takes its labels
away; switched on, it finds everybody in order. Of the states between cordon-required and pod-restart-required none is
played. Pure functions, like those of reactions.py.

Tests: tests/sim/test_upgrade_controller.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from seatrial.core.model.policy import PolicyWish, Share
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.node.step import RESTARTS_MAX
from seatrial.sim.nodes import touched
from seatrial.sim.outside import Outside

STEERED: Final = "NVIDIA's controller acts"
DONE, REQUIRED = NodePhase.UPGRADE_DONE.value, NodePhase.UPGRADE_REQUIRED.value
CORDON, RESTART = NodePhase.CORDON_REQUIRED.value, NodePhase.POD_RESTART_REQUIRED.value
VALIDATION, FAILED = NodePhase.VALIDATION_REQUIRED.value, NodePhase.UPGRADE_FAILED.value
PLAYED: Final = frozenset({CORDON, RESTART, VALIDATION})
"""The phases under way that are played here; the others last no time."""
PARALLEL_MAX: Final = 1
UNAVAILABLE_MAX: Final = Share(amount=25, is_percent=True)


def is_there(outside: Outside) -> bool:
    """Whether there is an operator at all; switched off, its controller still takes its labels away."""
    return bool(outside.operator.kind)


def steered(nodes: Iterable[NodeSeen], outside: Outside) -> tuple[NodeSeen, ...]:
    """Every node to which the controller would do something now, each as it would be afterwards."""
    known = tuple(nodes)
    stalled = is_stalled(known)
    slots: dict[str, int] = {}
    found = []
    for node in known:
        owner = node.facts.owner if outside.operator.pools else ""
        if owner not in slots:
            slots[owner] = slot_count(known, owner, outside)
        is_on = _is_on(node.facts, outside)
        is_seen = node.facts.driver is not None and not stalled  # it looks at nodes by way of their driver pods
        facts = None if is_on and not is_seen else _steer(node.facts, is_on, slots[owner] > 0)
        if facts is not None:
            found.append(replace(node, facts=facts))
    return tuple(found)


def is_stalled(nodes: Iterable[NodeSeen]) -> bool:
    """Whether some DaemonSet has more driver pods than it wants; the controller gives up each pass over that.

    A DaemonSet wants no pod on a NotReady node, whose taint it does not tolerate; the pod that is there stays.
    """
    return any(node.facts.driver is not None and not node.facts.is_ready for node in nodes)


def _is_on(facts: NodeFacts, outside: Outside) -> bool:
    operator = outside.operator
    if not operator.pools:
        return operator.is_auto_upgrading
    return any(pool.is_auto_upgrading for pool in operator.pools if pool.name == facts.owner)


# ── slots ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def slot_count(nodes: tuple[NodeSeen, ...], owner: str, outside: Outside) -> int:
    """How many more it would begin with, by its own count."""
    operator = outside.operator
    theirs = [node.facts for node in nodes if not operator.pools or node.facts.owner == owner]
    policy = next((pool.policy for pool in operator.pools if pool.name == owner), operator.policy)
    parallel_max, unavailable_max = _limits(policy, len(theirs))
    counted = [facts for facts in theirs if facts.driver is not None and not facts.driver.is_terminating]
    begun = sum(facts.nvidia_state in PLAYED or facts.nvidia_state == FAILED for facts in counted)
    unavailable = sum(facts.is_unavailable for facts in theirs)
    return min((parallel_max or len(theirs)) - begun, unavailable_max - unavailable)


def _limits(policy: PolicyWish, total: int) -> tuple[int, int]:
    parallel_max = PARALLEL_MAX if policy.parallel_max is None else policy.parallel_max
    share = policy.unavailable_max or UNAVAILABLE_MAX
    return parallel_max, -(-share.amount * total // 100) if share.is_percent else share.amount


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _steer(facts: NodeFacts, is_on: bool, has_slot: bool) -> NodeFacts | None:
    if not is_on:
        return _labelled(facts, "") if facts.nvidia_state else None
    if facts.nvidia_state == REQUIRED:
        may_start = not facts.is_skipped and (has_slot or facts.is_cordoned)
        return _labelled(facts, CORDON) if may_start else None
    step = STATES.get(facts.nvidia_state)
    return step(facts) if step is not None else None


def _settled(facts: NodeFacts) -> NodeFacts | None:
    wanted = DONE if facts.is_driver_in_sync else REQUIRED
    return _labelled(facts, wanted) if wanted != facts.nvidia_state else None


def _cordoned(facts: NodeFacts) -> NodeFacts:
    idle = replace(facts, pods=tuple(pod for pod in facts.pods if pod.gpu is None))
    return replace(_stopped(_labelled(idle, RESTART)), is_cordoned=True)


def _restarted(facts: NodeFacts) -> NodeFacts | None:
    driver = facts.driver
    if driver is None or driver.is_terminating:
        return None
    if not facts.is_driver_in_sync:
        return _stopped(touched(facts))  # the template changed once more while it was at work
    if driver.is_ready:
        return _labelled(facts, VALIDATION)
    return _labelled(facts, FAILED) if driver.restart_count > RESTARTS_MAX else None


def _validated(facts: NodeFacts) -> NodeFacts | None:
    is_proven = facts.validator is not None and facts.validator.is_ready and not _is_stale(facts)
    return _ended(facts) if is_proven else None


def _recovered(facts: NodeFacts) -> NodeFacts | None:
    is_well = facts.driver is not None and facts.driver.is_ready and not facts.driver.is_terminating
    return _ended(facts) if is_well and facts.is_driver_in_sync else None


STATES: Final[Mapping[str, Callable[[NodeFacts], NodeFacts | None]]] = {
    "": _settled,
    DONE: _settled,
    CORDON: _cordoned,
    RESTART: _restarted,
    VALIDATION: _validated,
    FAILED: _recovered,
}
"""By its state: the node as it would be after a look, None where there is nothing to do. Who starts is in `_steer`."""


def _stopped(facts: NodeFacts) -> NodeFacts:
    driver = facts.driver
    return replace(facts, driver=replace(driver, is_terminating=True) if driver is not None else None)


def _ended(facts: NodeFacts) -> NodeFacts:
    return replace(_labelled(facts, DONE), is_cordoned=False)


def _is_stale(facts: NodeFacts) -> bool:
    """Whether the validator was Ready before this driver was."""
    driver, validator = facts.driver, facts.validator
    if driver is None or validator is None or driver.ready_since is None or validator.ready_since is None:
        return True
    return validator.ready_since < driver.ready_since


def _labelled(facts: NodeFacts, state: str) -> NodeFacts:
    return replace(touched(facts), nvidia_state=state)
