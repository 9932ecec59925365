"""What the watch history has to show of every upgrade, whatever happened on the way."""

from __future__ import annotations

from seatrial.core.snapshot import NodePhase
from seatrial.testbed.history import History, NodeMoment

PATH = (
    "upgrade-done",
    "upgrade-required",
    "cordon-required",
    "wait-for-jobs-required",
    "pod-deletion-required",
    "pod-restart-required",
    "validation-required",
    "uncordon-required",
    "upgrade-done",
)
"""The states of one node that is upgraded without trouble."""
WAITING = ("", NodePhase.UPGRADE_REQUIRED.value, NodePhase.UPGRADE_DONE.value, NodePhase.UPGRADE_FAILED.value)


def is_under_way(node: NodeMoment) -> bool:
    """Started and not ended."""
    return node.state not in WAITING


def most_under_way(history: History) -> int:
    """The most nodes that were under way at any one moment."""
    return max(sum(is_under_way(node) for node in fleet.values()) for fleet in history.fleets())


def most_unavailable(history: History) -> int:
    """The most nodes that were cordoned, NotReady or under way at any one moment."""
    return max(
        sum(node.is_cordoned or not node.is_ready or is_under_way(node) for node in fleet.values())
        for fleet in history.fleets()
    )


def fewest_running(history: History, app: str) -> int:
    """The fewest pods of a workload that were ready and not leaving at any one moment, once all of them had been."""
    running: set[str] = set()
    counts: list[int] = []
    for pod in history.pods(app):
        if pod.is_ready and not pod.is_leaving and not pod.is_gone:
            running.add(pod.uid)
        else:
            running.discard(pod.uid)
        counts.append(len(running))
    return min(counts[counts.index(max(counts)) :])
