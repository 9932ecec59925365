"""The fleet that is forecast: one that was seen, with the target published, or one that somebody invents.

Law of this file: values only; how long anything takes is drawn elsewhere. Tests: tests/sim/test_forecast.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.budget import losses
from seatrial.core.errors import SeatrialError
from seatrial.core.model.campaign import ENDED, CampaignRecord, RolloutPhase
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.pods import DriverRevision, Pod
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.sim.nodes import JOB_LABEL, new_node

NEXT: Final = "next"
"""The hash of the revision that a forecast publishes."""


class NothingToForecast(SeatrialError):  # noqa: N818
    """An inventory without a node to upgrade."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """The nodes of a rollout as they are when it begins."""

    nodes: Mapping[str, NodeSeen]
    admitted: tuple[Admission, ...] = ()
    gpus: Mapping[str, int] = field(default_factory=dict)
    """How many GPUs each node has."""
    operator: OperatorFacts = OperatorFacts()
    campaign: CampaignRecord | None = None
    """Where the rollout's campaign stands; None before it begins."""
    at: Instant = 0.0
    """When the forecast begins, for windows alone."""


def inventory_of(seen: Snapshot, intent: Intent, *, gpus_per_node: int | None = None, at: Instant = 0.0) -> Inventory:
    """The inventory of a cluster as seen, as if the target were published.

    Where every node runs the target already and the rollout is over, another version is assumed: the next upgrade.
    """
    published = {name: _publish(node, intent.target.driver.text) for name, node in seen.nodes.items()}
    campaign = seen.rollout.campaign
    if all(node.facts.driver is None or node.facts.is_in_sync for node in published.values()):
        if campaign is not None and campaign.phase not in (*ENDED, RolloutPhase.PROPOSED):
            raise NothingToForecast("No node is left to upgrade. `seatrial why` says what the rollout waits for.")
        published = {name: _publish(node, intent.target.driver.text, always=True) for name, node in seen.nodes.items()}
        campaign = None
    return Inventory(
        nodes=published,
        admitted=seen.rollout.admitted,
        gpus={name: gpus_per_node or losses.gpu_count(node) for name, node in published.items()},
        operator=seen.operator,
        campaign=campaign,
        at=at,
    )


def _publish(node: NodeSeen, version: str, *, always: bool = False) -> NodeSeen:
    facts = node.facts
    if facts.driver is None or (not always and facts.wanted is not None and facts.wanted.version == version):
        return node
    return replace(node, facts=replace(facts, wanted=DriverRevision(hash=NEXT, version=version)))


def invented(count: int, *, gpus_per_node: int, pods_per_node: int, target: str, are_jobs: bool = False) -> Inventory:
    """An inventory of nodes that are all alike, for whoever has no cluster at hand."""
    running, wanted = DriverRevision(hash="now", version="0"), DriverRevision(hash=NEXT, version=target)
    width = len(str(count - 1))
    names = [f"node-{number:0{width}}" for number in range(count)]
    labels = ((JOB_LABEL, "any"),) if are_jobs else ()
    nodes = {}
    for name in names:
        pods = (
            Pod(namespace="jobs", name=f"{name}-{each}", uid=f"{name}-{each}", gpu=GpuUse.RESOURCE, labels=labels)
            for each in range(pods_per_node)
        )
        nodes[name] = new_node(name, running=running, wanted=wanted, pods=pods)
    return Inventory(nodes=nodes, gpus=dict.fromkeys(names, gpus_per_node))
