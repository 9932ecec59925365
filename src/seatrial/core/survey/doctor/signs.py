"""What objects and logs say: one sign each, with who said it about whom.

    container    why a container waits, or how it ended
    event        what a kubelet, a scheduler or a monitor wrote about a pod or a node
    condition    what a monitor says of a node
    log          the lines of a container's log
    metric       what a monitoring system has of its GPUs
    node         what nobody wrote down, and looks.py sees

Law of this file: words as they were written. Who is well now gives no sign: an event outlives what it tells of by an
hour. Tests: tests/core/survey/test_doctor_diagnosing.py
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.survey.doctor.objects import EventTold, PodTold, Sight
from seatrial.core.survey.doctor.parts import Part
from seatrial.core.survey.sources import Source

RECENT_SECONDS: Final = 3600.0
"""An API server keeps events for an hour, where nobody asked for more."""
USUAL: Final = frozenset({"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"})
"""Conditions that every node has; looks.py reads them."""


class Where(StrEnum):
    """Where something is said."""

    CONTAINER = "container"
    EVENT = "event"
    CONDITION = "condition"
    LOG = "log"
    METRIC = "metric"
    NODE = "node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """Something that is said about a node, or about a pod on it."""

    where: Where
    node: str
    about: str
    """Who says it of whom, for people."""
    part: Part = Part.OTHER
    reason: str = ""
    """One word of the trade: the reason of an event, the type of a condition, the name of a look."""
    lines: tuple[str, ...] = ()
    count: int = 1
    """How often it was said; of a log, once for each line."""
    pod: str = ""
    namespace: str = ""


def told(sight: Sight) -> Iterator[Sign]:
    """Everything that is said."""
    yield from _of_containers(sight)
    yield from _of_events(sight)
    yield from _of_conditions(sight)
    yield from _of_logs(sight)
    yield from _of_metrics(sight)


def _of_containers(sight: Sight) -> Iterator[Sign]:
    for pod in sight.pods:
        if pod.part is Part.OTHER or pod.is_well or not pod.node or not sight.concerns(pod):
            continue
        for container in pod.containers:
            if not container.is_failing:
                continue
            about, part = f"Pod {pod.key}, container {container.name}", pod.part_of(container.name)
            if container.waiting:
                lines = tuple(filter(None, (container.waiting_message, f'image "{container.image}"')))
                yield _sign(Where.CONTAINER, pod, f"{about} waits", part, container.waiting, lines)
            if container.ended or container.exit_code:
                reason = container.ended or f"exit code {container.exit_code}"
                lines = tuple(container.ended_message.splitlines())
                yield _sign(Where.CONTAINER, pod, f"{about} ended", part, reason, lines)


def _of_events(sight: Sight) -> Iterator[Sign]:
    is_blind = Source.PODS in sight.gaps and sight.gaps[Source.PODS].is_blind
    for event in sight.events:
        if not event.is_warning or (event.at is not None and sight.at - event.at > RECENT_SECONDS):
            continue
        pod = sight.pod_of.get(f"{event.namespace}/{event.name}") if event.kind == "Pod" else None
        if event.kind == "Pod" and not is_blind and (pod is None or (pod.is_well and pod.deleted_at is None)):
            continue
        node = _node_of(event, pod)
        if node and (pod is None or sight.concerns(pod)):
            yield Sign(
                where=Where.EVENT,
                node=node,
                about=f"Event {event.reason} about {event.kind} {_name(event)}",
                part=pod.part if pod is not None else Part.OTHER,
                reason=event.reason,
                lines=(event.message,),
                count=max(1, event.count),
                pod=pod.name if pod is not None else "",
                namespace=pod.namespace if pod is not None else "",
            )


def _node_of(event: EventTold, pod: PodTold | None) -> str:
    if event.kind == "Node":
        return event.name
    return (pod.node if pod is not None else "") or event.host


def _name(event: EventTold) -> str:
    return f"{event.namespace}/{event.name}" if event.kind != "Node" and event.namespace else event.name


def _of_conditions(sight: Sight) -> Iterator[Sign]:
    for node in sight.nodes:
        for each in node.conditions:
            if each.type not in USUAL and each.status == "True":
                yield Sign(
                    where=Where.CONDITION,
                    node=node.name,
                    about=f"Node {node.name}, condition {each.type}",
                    reason=each.type,
                    lines=tuple(filter(None, (each.reason, each.message))),
                )


def _of_logs(sight: Sight) -> Iterator[Sign]:
    for log in sight.logs:
        pod = sight.pod_of.get(f"{log.asked.namespace}/{log.asked.pod}")
        if pod is not None and log.lines:
            about = f"log of {pod.key}, container {log.asked.container}"
            part = pod.part_of(log.asked.container)
            yield _sign(Where.LOG, pod, about, part, "", log.lines)


def _of_metrics(sight: Sight) -> Iterator[Sign]:
    for each in sight.metrics.xids if sight.metrics is not None else ():
        about = f"metrics of {each.gpu or 'a GPU'} on {each.node}"
        yield Sign(where=Where.METRIC, node=each.node, about=about, lines=(f"Xid {each.number}",), count=each.count)


def _sign(where: Where, pod: PodTold, about: str, part: Part, reason: str, lines: tuple[str, ...]) -> Sign:
    return Sign(
        where=where,
        node=pod.node,
        about=about,
        part=part,
        reason=reason,
        lines=lines,
        pod=pod.name,
        namespace=pod.namespace,
    )
