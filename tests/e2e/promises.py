"""What the watch history has to show of every upgrade, whatever happened on the way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from itertools import pairwise

from seatrial.core.model.seen.nodes import NodePhase
from seatrial_lab.testbed.history import History, NodeMoment, PodMoment
from seatrial_lab.testbed.plane.audit import AuditedRequest

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
DRIVER_IMAGE = "nvcr.io/nvidia/driver:"


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


def seconds_under_way(history: History, nodes: Collection[str]) -> float:
    """For how long these nodes were seen under way, added up."""
    total, since = 0.0, dict[str, float]()
    for moment in history.nodes():
        if moment.name not in nodes:
            continue
        if is_under_way(moment):
            since.setdefault(moment.name, moment.at)
        elif moment.name in since:
            total += moment.at - since.pop(moment.name)
    return total


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


def running_on(history: History, app: str) -> dict[str, str]:
    """The nodes on which a pod of a workload was last seen Ready, and its uid."""
    latest = {pod.uid: pod for pod in history.pods(app)}
    return {pod.node: uid for uid, pod in latest.items() if pod.is_ready and not pod.is_leaving and not pod.is_gone}


def has_left(history: History, app: str) -> bool:
    """Whether a pod of a workload was ever told to go."""
    return any(pod.is_leaving or pod.is_gone for pod in history.pods(app))


def driver_restarts(history: History, node: str) -> list[frozenset[str]]:
    """The apps of the pods on a node at each moment its driver pod was told to go."""
    here: dict[str, PodMoment] = {}
    found: list[frozenset[str]] = []
    told: set[str] = set()
    for pod in history.pods():
        if pod.node != node:
            continue
        if pod.is_gone:
            here.pop(pod.uid, None)
        else:
            here[pod.uid] = pod
        if pod.image.startswith(DRIVER_IMAGE) and (pod.is_leaving or pod.is_gone) and pod.uid not in told:
            told.add(pod.uid)
            found.append(frozenset(each.app for each in here.values()))
    return found


def shortest_pauses(requests: Iterable[AuditedRequest]) -> dict[str, float]:
    """The shortest time between two requests about the same object, in seconds, by its name."""
    asked: dict[str, list[float]] = defaultdict(list)
    for each in requests:
        asked[each.name].append(datetime.fromisoformat(each.at).timestamp())
    return {
        name: min(after - before for before, after in pairwise(sorted(times)))
        for name, times in asked.items()
        if len(times) > 1
    }
