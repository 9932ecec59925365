"""Who goes first: the canaries are the nodes whose loss costs least, among those on which a verdict means something.

A canary has to be whole before the work: Ready, schedulable, not marked skip, with a driver that runs what everybody
runs. The node on which the operator itself runs is the last choice: moving its pod would stop the mover. Tests:
tests/core/campaign/test_canary.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from seatrial.core.model.campaign import Canary
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen

OPERATORS: Final = frozenset({"gpu-operator", "seatrial-controller"})
"""What the pods of those that move nodes are called, by the label `app` or `app.kubernetes.io/name`."""


def choose(nodes: Mapping[str, NodeSeen], canary: Canary) -> tuple[str, ...]:
    """The canaries, by name; fewer than asked for where there are not enough that will do."""
    if canary.nodes:
        return tuple(sorted(name for name in canary.nodes if name in nodes and why_not(nodes[name]) == ""))
    fit = [
        node.facts
        for node in nodes.values()
        if why_not(node) == "" and all(node.facts.labels.get(key) == text for key, text in canary.selector.items())
    ]
    # Where several NVIDIADrivers share the fleet, the smallest pool is the one that is there to go first.
    sizes = Counter(node.facts.owner for node in nodes.values())
    best = sorted(fit, key=lambda facts: (has_operator(facts), sizes[facts.owner], len(facts.gpu_pods), facts.name))
    return tuple(sorted(facts.name for facts in best[: canary.count]))


def why_not(node: NodeSeen) -> str:
    """What makes a node no canary; empty when it can be one."""
    facts = node.facts
    if not facts.is_ready:
        return "it is not Ready"
    if facts.is_cordoned:
        return "it is cordoned"
    if facts.is_skipped:
        return "it is marked skip"
    if facts.driver is None:
        return "it has no driver pod"
    if not facts.driver.is_ready:
        return "its driver is not Ready"
    if node.record is not None and node.record.phase is NodePhase.UPGRADE_FAILED:
        return "its last upgrade failed"
    if facts.owner_conflict:
        return "more than one NVIDIADriver selects it"
    return ""


def has_operator(facts: NodeFacts) -> bool:
    """Whether somebody who moves nodes runs there."""
    return any(
        text in OPERATORS for pod in facts.pods for key, text in pod.labels if key in ("app", "app.kubernetes.io/name")
    )
