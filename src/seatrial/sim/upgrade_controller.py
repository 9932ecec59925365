"""NVIDIA's own upgrade controller, as a campaign that leaves the nodes to it sees it. Coarse, and faithful in this:

    it marks every node whose driver differs from the template, kept out or not, and never looks at the need again
    a skip label keeps it from starting a node, and from nothing else
    who has failed stays so until somebody sets the label by hand
    switched off, it takes its labels away; switched on, it finds everybody in order

One node at a time, and of its many states one stands for all the work. Pure functions, like those of reactions.py.

Tests: tests/sim/test_upgrade_controller.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from seatrial.core.node import RESTARTS_MAX
from seatrial.core.snapshot import NodeFacts, NodePhase, NodeSeen
from seatrial.sim.outside import Outside
from seatrial.sim.reactions import touched

STEERED: Final = "NVIDIA's controller acts"
DONE, REQUIRED = NodePhase.UPGRADE_DONE.value, NodePhase.UPGRADE_REQUIRED.value
FAILED, AT_WORK = NodePhase.UPGRADE_FAILED.value, NodePhase.POD_RESTART_REQUIRED.value


def is_there(outside: Outside) -> bool:
    """Whether there is an operator at all; switched off, its controller still takes its labels away."""
    return bool(outside.operator.kind)


def steered(nodes: Iterable[NodeSeen], outside: Outside) -> tuple[NodeSeen, ...]:
    """Every node to which the controller would do something now, each as it would be afterwards."""
    known = tuple(nodes)
    is_busy = any(node.facts.nvidia_state == AT_WORK for node in known)
    found = ((node, _steer(node.facts, _is_on(node.facts, outside), is_busy)) for node in known)
    return tuple(replace(node, facts=facts) for node, facts in found if facts is not None)


def _is_on(facts: NodeFacts, outside: Outside) -> bool:
    operator = outside.operator
    if not operator.pools:
        return operator.is_auto_upgrading
    return any(pool.is_auto_upgrading for pool in operator.pools if pool.name == facts.owner)


def _steer(facts: NodeFacts, is_on: bool, is_busy: bool) -> NodeFacts | None:
    state = facts.nvidia_state
    if not is_on:
        return _labelled(facts, "") if state else None
    if state in ("", DONE):
        wanted = DONE if facts.is_in_sync else REQUIRED
        return _labelled(facts, wanted) if wanted != state else None
    if state == REQUIRED:
        return None if facts.is_skipped or is_busy else _started(facts)
    return _ended(facts) if state == AT_WORK else None


def _started(facts: NodeFacts) -> NodeFacts:
    driver = replace(facts.driver, is_terminating=True) if facts.driver is not None else None
    return replace(_labelled(facts, AT_WORK), is_cordoned=True, driver=driver)


def _ended(facts: NodeFacts) -> NodeFacts | None:
    driver, validator = facts.driver, facts.validator
    if driver is None or driver.is_terminating:
        return None
    if driver.restart_count > RESTARTS_MAX:
        return _labelled(facts, FAILED)
    if not driver.is_ready or not facts.is_in_sync:
        return _restarted(facts) if driver.is_ready else None
    is_proven = validator is not None and validator.is_ready and not _is_stale(facts)
    return replace(_labelled(facts, DONE), is_cordoned=False) if is_proven else None


def _restarted(facts: NodeFacts) -> NodeFacts:
    """The template changed once more while it was at work."""
    driver = facts.driver
    return replace(touched(facts), driver=replace(driver, is_terminating=True) if driver is not None else None)


def _is_stale(facts: NodeFacts) -> bool:
    """Whether the validator was Ready before this driver was."""
    driver, validator = facts.driver, facts.validator
    if driver is None or validator is None or driver.ready_since is None or validator.ready_since is None:
        return True
    return validator.ready_since < driver.ready_since


def _labelled(facts: NodeFacts, state: str) -> NodeFacts:
    return replace(touched(facts), nvidia_state=state)
