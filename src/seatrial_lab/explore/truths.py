"""What must never be true of a small world, whatever the controller believes: said of nodes alone.

Law of this file: it looks at the truth, and knows neither views nor passes. Tests: tests/model/test_explore.py
"""

from __future__ import annotations

from collections.abc import Iterator

from seatrial.core.budget import capacity
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Limits
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.node import clearing, closing
from seatrial.core.node.phases import NOT_STARTED, is_under_way
from seatrial.core.node.visiting import VISITS, Takes
from seatrial.sim import upgrade_controller
from seatrial.sim.driver_pods import MANAGED_NOTE


def why_overspent(
    nodes: tuple[NodeSeen, ...], intent: Intent, external: frozenset[str] = frozenset(), around: str = ""
) -> str | None:
    """What the truth says about the limits; the controller's view does not come into it.

    Nodes that others made unavailable are `external`: what nobody had seen yet cannot be held against us. With
    `around`, only the limits that this node counts for are looked at.
    """
    for where, inside, limits in scopes(nodes, intent):
        if not around or any(node.name == around for node in inside):
            why = _why_overspent_in(where, inside, limits, external)
            if why is not None:
                return why
    return None


def scopes(nodes: tuple[NodeSeen, ...], intent: Intent) -> Iterator[tuple[str, tuple[NodeSeen, ...], Limits]]:
    """Every set of nodes with limits: the fleet, pools, domains. Worked out anew, so that core's own cannot mislead."""
    yield "", nodes, intent.limits
    for owner, policy in intent.pools.items():
        yield f" in pool {owner}", tuple(node for node in nodes if node.facts.owner == owner), policy.limits
    for domain in intent.domains:
        if domain.unavailable_max is None:
            continue
        limits = Limits(parallel_max=0, unavailable_max=domain.unavailable_max)
        for value in sorted({node.facts.labels[domain.label] for node in nodes if domain.label in node.facts.labels}):
            inside = tuple(node for node in nodes if node.facts.labels.get(domain.label) == value)
            yield f" in {domain.label} {value}", inside, limits


def _why_overspent_in(where: str, nodes: tuple[NodeSeen, ...], limits: Limits, external: frozenset[str]) -> str | None:
    under_way = {node.name for node in nodes if _is_at_work(node)}
    taken = (under_way | {node.name for node in nodes if node.facts.is_unavailable}) - external
    parallel_max = limits.parallel_max or len(nodes)
    if len(under_way) > parallel_max:
        return f"{len(under_way)} nodes under way at a limit of {parallel_max}{where}: {', '.join(sorted(under_way))}"
    unavailable_max = limits.unavailable_max.of(len(nodes))
    if under_way and len(taken) > unavailable_max:
        return f"{len(taken)} nodes unavailable at a limit of {unavailable_max}{where}: {', '.join(sorted(taken))}"
    return None


def _is_at_work(node: NodeSeen) -> bool:
    return is_under_way(node.record) or node.facts.nvidia_state in upgrade_controller.PLAYED


def why_exposed(node: NodeSeen) -> str | None:
    """What the truth says about one node's users: no driver is taken from under them, and none without a record."""
    driver, facts = node.facts.driver, node.facts
    if driver is None:
        return None
    # Its driver manager may open it; that it is closed again is for the promises to see.
    is_opened = closing.has_lost_driver(node) and MANAGED_NOTE in facts.labels
    if not facts.is_unavailable and not is_opened and (driver.is_terminating or not driver.is_ready):
        return f"{node.name} takes work while its driver is being replaced"
    phase = node.record.phase if node.record else None
    if not driver.is_terminating:
        return None
    if phase is not NodePhase.POD_RESTART_REQUIRED:
        return f"the driver of {node.name} is stopped, but its record says {phase}"
    users = clearing.users(facts)
    if users and not _is_restart_harmless(node):
        return f"the driver of {node.name} is stopped under {users[0].full_name}"
    return None


def why_unvisited(node: NodeSeen) -> str | None:
    """What the truth says about the operands of one node: none goes outside a visit, or on an open node if it matters.

    While the driver is replaced it takes them along, which is for `why_exposed` to see.
    """
    facts, phase = node.facts, node.record.phase if node.record else None
    if facts.driver is None or facts.driver.is_terminating or not facts.driver.is_ready:
        return None
    for each in facts.operands:
        pod, needed = each.pod, VISITS[each.operand].takes
        if pod is None or not pod.is_terminating:
            continue
        if phase not in (NodePhase.POD_RESTART_REQUIRED, NodePhase.VALIDATION_REQUIRED):
            return f"{each.operand} of {node.name} is stopped, but its record says {phase}"
        if needed >= Takes.CORDON and not facts.is_unavailable:
            return f"{each.operand} of {node.name} is stopped while the node takes work"
    down = [each.operand for each in facts.operands if each.pod is not None and each.pod.is_terminating]
    return f"{' and '.join(down)} of {node.name} are stopped at once" if len(down) > 1 else None


def _is_restart_harmless(node: NodeSeen) -> bool:
    """Whether a driver may be stopped under its users: nothing that is loaded changes, and nobody new comes."""
    is_meant = node.record is not None and node.record.is_restart_only
    return is_meant and node.facts.is_restart_enough and node.facts.is_cordoned


def is_still_theirs(node: NodeSeen) -> bool:
    """Whether an admin's cordon stands, or is about to be put back."""
    return node.facts.is_cordoned or closing.is_opened(node)


def why_unowned(nodes: tuple[NodeSeen, ...], admitted: tuple[Admission, ...]) -> str | None:
    """What the truth says about cordons of ours: each has its place in the ledger, so that the next leader knows it."""
    named = {admission.node for admission in admitted}
    for node in nodes:
        is_ours = node.record is not None and node.record.is_cordon_ours and node.facts.is_cordoned
        if is_ours and node.name not in named:
            return f"{node.name} is closed by us, and nobody owns it"
    return None


def why_split(nodes: tuple[NodeSeen, ...], admitted: tuple[Admission, ...], intent: Intent) -> str | None:
    """What the truth says about units: who begins, begins with all of its unit.

    For worlds in which no member fails or is taken out: those go on alone, as they must.
    """
    units = [domain.label for domain in intent.domains if domain.is_unit]
    named = {admission.node for admission in admitted}
    for label in units:
        begun = {_unit(node.facts, label): node.name for node in nodes if _has_begun(node)}
        for node in nodes:
            ahead = begun.get(_unit(node.facts, label))
            if ahead is not None and not _has_begun(node) and node.name not in named:
                return f"{ahead} was let in without {node.name}, and both are {_unit(node.facts, label)}"
    return None


def _unit(facts: NodeFacts, label: str) -> str:
    return capacity.domain_of(facts, label) or facts.name


def _has_begun(node: NodeSeen) -> bool:
    return node.facts.is_in_sync or (node.record is not None and node.record.phase not in NOT_STARTED)
