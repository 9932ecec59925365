"""A gang: the Job of a gate that runs on several nodes at once, one pod on each, and what its end means.

    all ended well                           the first one's figures; whoever tells otherwise is believed more than it
    one has ended badly, by itself           failed, with its words: the others were told to go then
    one says that they did not find together unknown: a part of them never started
    one was never started                    unknown, with why it was not
    nobody ended by himself                  unknown: they were told to go

Law of this file: whether all were there at once is known to those who ran (`seatrial-probe distributed` waits for the
others no longer than it is told), and to nobody else: the Job controller takes away pods of a Job that has failed, also
those that never ran. Tests: tests/adapters/kube/test_gangs.py
"""

from __future__ import annotations

import math
from typing import Any, Final

from seatrial.adapters.kube.reading.gates import reports
from seatrial.adapters.kube.reading.gates.companions import PORT
from seatrial.adapters.kube.reading.gates.items import ProbeItem, ProbePodItem
from seatrial.adapters.kube.reading.gates.reports import GateReport
from seatrial.adapters.kube.shapes import keys
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import GateVerdict

INDEX_LENGTH: Final = 5
"""What a pod's hostname has behind the name of its Job: a dash, and up to four digits."""
MEET_SHARE: Final = 0.5
"""How much of a gate's time its members may wait for each other; what is then left is for the sum."""
MEET_SECONDS_MAX: Final = 300
SIZE: Final = "gang"
"""The figure that says how many GPUs took part."""


# ── making ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def spread(job: dict[str, Any], action: StartProbe, service: str) -> dict[str, Any]:
    """A Job of one pod as one of a gang: as many pods as nodes, no two of them on one, that know of each other."""
    name, size = job["metadata"]["name"], len(action.gang)
    template = job["spec"]["template"]
    pod = template["spec"]
    alone = {"labelSelector": {"matchLabels": {keys.JOB_LABEL: name}}, "topologyKey": "kubernetes.io/hostname"}
    pod["affinity"]["podAntiAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [alone]}
    pod["subdomain"] = service
    meet_seconds = max(1, min(MEET_SECONDS_MAX, math.floor(action.gate.timeout_seconds * MEET_SHARE)))
    told = {
        "MASTER_ADDR": f"{name}-0.{service}",
        "MASTER_PORT": str(PORT),
        "SEATRIAL_GANG_NODES": str(size),
        "SEATRIAL_GANG_SECONDS": str(meet_seconds),
    }
    (container,) = pod["containers"]
    container["env"] = [{"name": key, "value": value} for key, value in told.items()]
    template["metadata"]["labels"] = template["metadata"]["labels"] | {keys.GANG_KEY: service}
    job["spec"] |= {"completionMode": "Indexed", "completions": size, "parallelism": size}
    return job


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def held_together(pods: tuple[ProbePodItem, ...]) -> tuple[GateVerdict, str] | None:
    """What the members of a gang that ended well have against it; None where all say the same."""
    told = [(pod, found) for pod in pods if (found := reports.verdict_of(pod.report)) is not None]
    for verdict in (GateVerdict.FAILED, GateVerdict.UNKNOWN):
        for pod, found in told:
            if found[0] is verdict:
                return verdict, _of(pod, found[1])
    sizes = {size for pod in pods if (size := _size(pod)) is not None}
    if len(sizes) > 1:
        counts = " and ".join(f"{each:g}" for each in sorted(sizes))
        return GateVerdict.UNKNOWN, f"its members count {counts} GPUs in the same sum"
    return None


def failed(probe: ProbeItem, pods: tuple[ProbePodItem, ...]) -> tuple[GateVerdict, str]:
    """What the Job of a gang that has failed has measured."""
    if not all(pod.has_ended or pod.is_leaving for pod in pods):
        return GateVerdict.PENDING, ""
    idle = [pod for pod in pods if not pod.has_run]
    own = tuple(pod for pod in pods if pod.has_run and pod.has_ended and not pod.is_leaving)
    found = held_together(own)
    if idle:
        why = idle[0].said or (found[1] if found is not None else "") or probe.message
        count = len(probe.gang) - len(idle)
        return GateVerdict.UNKNOWN, f"{count} of its {len(probe.gang)} members started: {why}"
    if found is not None:
        return found
    bad = next((pod for pod in own if pod.said), None)
    if bad is None:
        return GateVerdict.UNKNOWN, "its pods were deleted before they could be looked at"
    words = f"it did not end in time: {bad.said}" if bad.is_overdue else bad.said
    return GateVerdict.FAILED, _of(bad, words)


def _of(pod: ProbePodItem, words: str) -> str:
    return f"member {pod.index}: {words}" if pod.index else words


def _size(pod: ProbePodItem) -> float | None:
    if not isinstance(pod.report, GateReport):
        return None
    return next((figure.value for figure in pod.report.measured if figure.name == SIZE), None)
