"""What a rollout costs: GPUs × the time for which the ledger had their node.

The ledger is written whenever a node is admitted or let go, and every write says when it was made. So what a rollout
costs until the next write is what stood in the ledger since the last one, and no clock of its own is needed: neither a
crash nor a controller that was away for hours changes the sum. Nodes that others move are in no ledger of ours.
Tests: tests/core/budget/test_losses.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.gangs import gpus_of
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.pods import Pod, PodOwner
from seatrial.core.model.seen.snapshot import Snapshot

GPU: Final = "nvidia.com/gpu"
COUNT_LABEL: Final = "nvidia.com/gpu.count"
"""Feature discovery's count: it stays while the driver is away."""

TOLD_HOURS: Final = 0.05
"""Less is no number to people: it would be told as 0.0."""


def gpu_count(node: NodeSeen) -> int:
    """What the node offered before the work, or does now; else what its label says, or its slices list; else one.

    The label comes before its ResourceSlices: it stays while the DRA plugin is away."""
    before = node.record.before if node.record is not None else None
    offered = dict(before.resources).get(GPU, 0) if before is not None else 0
    offered = offered or dict(node.facts.offer.resources).get(GPU, 0)
    text = node.facts.labels.get(COUNT_LABEL, "")
    return offered or (int(text) if text.isascii() and text.isdigit() else 0) or node.facts.claimable or 1


def workers(node: NodeSeen) -> tuple[Pod, ...]:
    """The pods that hold GPUs of a node and come to an end: those of DaemonSets and static ones never do."""
    stays = (PodOwner.DAEMON_SET, PodOwner.KUBELET)
    return tuple(pod for pod in node.facts.gpu_pods if pod.keeper not in stays)


def idle_gpus(node: NodeSeen) -> int:
    """GPUs of a node that nobody holds, behind a cordon of ours or one to be."""
    is_theirs = node.facts.is_cordoned and not (node.record is not None and node.record.is_cordon_ours)
    return 0 if is_theirs else max(0, gpu_count(node) - gpus_of(workers(node)))


def lost_gpu_seconds(seen: Snapshot, now: Instant) -> float:
    """What the rollout has cost until now."""
    record = seen.rollout
    admitted = ((admission, seen.nodes.get(admission.node)) for admission in record.admitted)
    # Who is closed alone, by attrition, costs what nobody holds of it.
    gpus = sum((idle_gpus if each.is_ahead else gpu_count)(node) for each, node in admitted if node is not None)
    # Where it is not known when the ledger was written, nothing is added rather than guessed.
    seconds = max(0.0, now - record.summarised_at) if record.summarised_at else 0.0
    return round(record.lost_gpu_seconds + gpus * seconds, 3)
