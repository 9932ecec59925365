"""Whether a node is through with its driver: it runs the one that is wanted, and nobody is at work on it.

    asked of a node                                        else
    its kubelet answers                                    node-not-ready
    a driver pod is there, Ready and not leaving           driver-missing, driver-not-ready
    its DaemonSet has taken up its newest template         set-unknown, template-unseen
    the pod is of the newest revision                      not-migrated
    NVIDIA's state is none, or upgrade-done                under-way
    no operand is paused for a driver upgrade              paused
    its validator is Ready, where there are validators     validator-missing, validator-not-ready

Law of this file: one node, one look; unknown is not settled. How long it has to stay so is in rerolling.py.
Tests: tests/core/movers/test_dra_standing.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.model.seen.nodes import NodeFacts, NodePhase
from seatrial.core.movers.dra.values import DRIVER_LABEL, DraSeen, DriverSet, Sighted, Why

AT_REST: Final = frozenset({"", NodePhase.UPGRADE_DONE.value})
"""What NVIDIA's state label says of a node that nobody is at work on."""


def why_unsettled(sighted: Sighted, seen: DraSeen) -> tuple[Why, str] | None:
    """The first thing that says its driver may still change, and what it is about; None when nothing does."""
    facts = sighted.node.facts
    if not facts.is_ready:
        return Why.NODE_NOT_READY, ""
    if facts.driver is None:
        return (Why.DRIVER_MISSING, "") if is_managed(facts, seen) else _why_handled(facts)
    if facts.driver.is_terminating or not facts.driver.is_ready or facts.driver.loaded_at is None:
        return Why.DRIVER_NOT_READY, facts.driver.name
    return _why_old(facts, sighted.driver_set) or _why_handled(facts) or _why_unproven(facts, seen)


def is_managed(facts: NodeFacts, seen: DraSeen) -> bool:
    """Whether a pod brings the node's driver, be it that none is there at the moment."""
    if facts.driver is not None:
        return True
    return seen.has_managed_drivers and facts.labels.get(DRIVER_LABEL) == "true"


def _why_old(facts: NodeFacts, driver_set: DriverSet | None) -> tuple[Why, str] | None:
    """Right after a change of the template the newest revision is still the old one: then all pods seem to be new."""
    pod = facts.driver.name if facts.driver is not None else ""
    if driver_set is None or facts.wanted is None:
        return Why.SET_UNKNOWN, pod
    if not driver_set.is_seen:
        return Why.TEMPLATE_UNSEEN, driver_set.name
    return None if facts.is_in_sync else (Why.NOT_MIGRATED, pod)


def _why_handled(facts: NodeFacts) -> tuple[Why, str] | None:
    if facts.nvidia_state not in AT_REST:
        return Why.UNDER_WAY, facts.nvidia_state
    return (Why.PAUSED, ", ".join(facts.paused_labels)) if facts.paused_labels else None


def _why_unproven(facts: NodeFacts, seen: DraSeen) -> tuple[Why, str] | None:
    """A validator that is Ready from before is enough here: nothing says that it would ever be started again."""
    if not seen.has_validators:
        return None
    if facts.validator is None or facts.validator.is_terminating:
        return Why.VALIDATOR_MISSING, ""
    return None if facts.validator.is_ready else (Why.VALIDATOR_NOT_READY, facts.validator.name)
