"""The pods in which gates run now, do not start, or have failed, and the last line that each has said.

Law of this file: the rights are those of whoever asks; a log that may not be read says so, and is no error. The
controller reads no logs. Of a gate's pods on a node only the last try is told, and of all of them SHOWN_MAX, those that
have not ended first. Tests:
tests/adapters/kube/test_gate_pods.py, tests/testbed/test_real_gates.py
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.gates import probes
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.core.base.values import dataclass, replace
from seatrial.core.text import foreign

SHOWN_MAX: Final = 4
LINES: Final = 5
"""So many are asked for, since the last ones may be empty."""
LINE_MAX: Final = 200
UNREAD: Final = "you may not read its log"


class State(StrEnum):
    """How a gate's pod stands."""

    RUNNING = "running"
    WAITING = "waiting"
    STUCK = "stuck"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePod:
    """A gate's pod, and what it said last."""

    gate: str
    node: str
    namespace: str
    job: str
    pod: str
    state: State
    why: str = ""
    """Why it waits, does not start, or how it ended; empty where nobody says."""
    has_run: bool = False
    last: str = ""
    """The last line of its log; empty where it has said nothing, or it was not read."""
    unread: str = ""
    """Why its log could not be read."""


async def gate_pods(client: Client, rollout: str) -> tuple[GatePod, ...]:
    """The pods of a rollout's gates that run, do not start or have failed; none where they may not be listed."""
    selector = f"{probes.SELECTOR},{keys.ROLLOUT_LABEL}={probes.label_of(rollout)}"
    try:
        found = await client.list(keys.pods_path(keys.EVERYWHERE), kinds.Pod, label_selector=selector)
    except errors.ClusterError:
        return ()  # what else is not seen without these pods is said by whoever watches them
    chosen = [told for pod in _last_tries(found.items) if (told := _told(pod)) is not None]
    chosen.sort(key=lambda each: (each.state is State.FAILED, each.gate, each.node))
    return tuple([await _with_log(client, each) for each in chosen[:SHOWN_MAX]])


def _last_tries(pods: Iterable[kinds.Pod]) -> list[kinds.Pod]:
    last: dict[tuple[str, str, str], kinds.Pod] = {}
    for pod in sorted(pods, key=_try):
        labels = pod.metadata.labels
        last[labels.get(keys.GATE_KEY, ""), labels.get(keys.NODE_KEY, ""), labels.get(keys.INDEX_LABEL, "")] = pod
    return list(last.values())


def _try(pod: kinds.Pod) -> tuple[int, int, str]:
    number, attempt = (pod.metadata.labels.get(key, "") for key in (keys.ROUND_KEY, keys.ATTEMPT_KEY))
    return _number(number), _number(attempt), pod.metadata.name


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0


def _told(pod: kinds.Pod) -> GatePod | None:
    item, labels = probes.probe_pod_item(pod), pod.metadata.labels
    if pod.status.phase == "Succeeded" or item.is_leaving:
        return None
    is_running = any(each.state.running is not None for each in pod.status.container_statuses)
    is_stuck = item.is_stuck or item.is_unfit
    state = State.FAILED if item.has_ended else State.RUNNING if is_running else State.WAITING
    return GatePod(
        gate=foreign.line(labels.get(keys.GATE_KEY, "")),
        node=pod.spec.node_name or foreign.line(labels.get(keys.NODE_KEY, "")),
        namespace=pod.metadata.namespace,
        job=foreign.line(labels.get(keys.JOB_LABEL, "")),
        pod=pod.metadata.name,
        state=State.STUCK if is_stuck and not item.has_ended else state,
        why=foreign.line(item.said, LINE_MAX),
        has_run=item.has_run,
    )


async def _with_log(client: Client, found: GatePod) -> GatePod:
    if not found.has_run:
        return found
    from seatrial.adapters.kube.surveying import diagnosing  # most looks find no gate whose log is to be read
    from seatrial.core.survey.doctor.objects import LogAsked, LogTold

    asked = LogAsked(namespace=found.namespace, pod=found.pod, container=probes.CONTAINER)
    try:
        (told,) = await diagnosing.logs(client, (asked,), lines=LINES)
    except errors.ClusterError as err:
        told = LogTold(asked=asked, why_not=err.what)
    if told.is_denied:
        return replace(found, unread=UNREAD)
    if told.why_not:
        return replace(found, unread=foreign.line(f"its log could not be read: {told.why_not}", LINE_MAX))
    return replace(found, last=foreign.line(told.lines[-1], LINE_MAX) if told.lines else "")
