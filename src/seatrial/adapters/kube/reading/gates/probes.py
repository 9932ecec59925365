"""Probes: a gate is measured on a node by a Job, and the Job's end is the measurement.

    StartProbe ─▶ Job ─▶ pod on that node            Complete ───────────────────────────▶ passed, with its figures
                                                     Complete, and its pod is gone ──────▶ unknown: it was told to go
                                                     Failed, its container ended badly ──▶ failed, with its last words
                                                     Failed, nothing ran ────────────────▶ unknown: nothing was measured
                                                     neither yet ────────────────────────▶ pending

A probe that hangs is a failure, and one that never ran is none. So there are two limits: the pod has the gate's, which
the kubelet counts from when it takes the pod up and which leaves the pod behind to be looked at; the Job has a little
more, and only ends what nobody took up. A probe that is moved away (an eviction, a preemption) fails its Job at once
and was not measured: were it started anew, it would come back to a node that is being emptied.

A container that its kubelet has nothing of when its pod ends (its image could not be pulled, it was never made) is
written down by it as ended with 137. Nobody saw it run, so it is no failure.

What the container leaves as termination message may be a report (reports.py): the figures are taken from it, and
it has a word in the verdict. One that tells what is broken has failed, whatever its exit code; one that only tells what
it could not measure is unknown; one that began as a report and cannot be read, unknown as well.

A pod that is not let in (the level of PodSecurity that its namespace has, a quota, a webhook) is told of while the Job
still tries, by the event that the Job controller writes, and so is one that the kubelet does not start as it is: nobody
has to wait for the limit to know why.

A probe belongs to one GPURollout, by uid: one of the same name finds nothing of its predecessor, and what is left goes
with its owner. Tests: tests/adapters/kube/test_probes.py, test_execute_campaign.py
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from seatrial.adapters.kube.reading.gates import companions, gangs
from seatrial.adapters.kube.reading.gates import reports as gate_reports
from seatrial.adapters.kube.reading.gates.items import ProbeItem, ProbePodItem, RefusalItem
from seatrial.adapters.kube.reading.gates.reports import GateReport, Unreadable
from seatrial.adapters.kube.reading.items import controller_of, meta_of
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.adapters.kube.shapes.campaign_models import Job
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import GPU_RESOURCE, PREPULL, GateVerdict, Measurement
from seatrial.core.text import foreign
from seatrial.core.text.moments import readable_instant

CONTAINER: Final = "probe"
MESSAGE_PATH: Final = "/dev/termination-log"
PAYLOAD: Final = ("seatrial-probe",)
PAYLOAD_OPTIONS: Final = ("--termination-log", MESSAGE_PATH)
START_SECONDS: Final = 120
"""How long a probe may wait for the scheduler and the kubelet, beyond the gate's own limit."""
KEPT_SECONDS: Final = 86_400
"""How long an ended probe stays, for people to look at."""
KEPT_ALONE_SECONDS: Final = 3600
"""How long one stays that somebody asked for by hand and did not wait for."""
DETAIL_MAX: Final = 400
"""So much of a probe's last words is kept: it goes into a status."""
SELECTOR: Final = keys.GATE_KEY
"""By label: Jobs that are probes, and their pods."""
REFUSALS: Final = "type=Warning,involvedObject.kind=Job,reason=FailedCreate"
"""By field: what the Job controller says of a pod that it could not make."""

CONFINED: Final[Mapping[str, Any]] = {
    "allowPrivilegeEscalation": False,
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""What every gate is held to, whatever its namespace lets in: images of anybody's run here, as root where they like."""
LIMITS: Final[Mapping[str, str]] = MappingProxyType({"memory": "64Gi", "ephemeral-storage": "64Gi"})
"""What a gate may take of its node besides GPUs. It requests none of it, or a busy node would not start it. CPU time is
not limited: a pod that requests none gets the smallest share already, and a throttled gate measures the throttling."""
_NAME_MAX: Final = 63
_LABEL: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_FAILING: Final = ("Failed", "FailureTarget")
"""Conditions of a Job that has failed; the second comes first, while its pods still end."""
_REFUSED: Final = re.compile(
    r'(?:\(combined from similar events\): )?Error creating: (?:pods "[^"]*" is forbidden: )?(.+)', re.DOTALL
)
"""After ten tries, each with a name of its own, the Job controller tells of all further ones in one event."""
_UNFIT: Final = "CreateContainerConfigError"
"""Why the kubelet does not start a container: as it is asked for it may not run, such as as root."""
_STUCK: Final = frozenset({_UNFIT, "CreateContainerError", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
"""Why a container does not start, and will not before somebody changes something."""
_TAKEN: Final = "its pod was deleted before it could be looked at"
_LOST: Final = "ContainerStatusUnknown"
"""How the kubelet says that a container ended of which it knows nothing."""
_NOBODY: Final = 65534
_COUNT_LENGTH_MAX: Final = 9
DEADLINE: Final = "DeadlineExceeded"
DISRUPTED: Final = "PodFailurePolicy"


class Level(StrEnum):
    """How much a probe's pod asks for, in the words of PodSecurity; none needs more than baseline."""

    BASELINE = "baseline"
    """As whoever its image runs as."""
    RESTRICTED = "restricted"
    """As a user that is not root, with nothing besides: an image that runs as root is not started."""


# ── making ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def name_of(action: StartProbe, owner_uid: str) -> str:
    """The Job's name: the same for the same question of the same rollout, and for no other."""
    parts = (owner_uid, action.gate.name, action.node, str(action.round), str(action.attempt))
    end = f"-{action.round}-{action.attempt}-{_digest(*parts)}"
    name_max = _NAME_MAX - (gangs.INDEX_LENGTH if action.gang else 0)  # the pods' hostnames have their index behind it
    room = (name_max - len(end) - len("gate--")) // 2
    return f"gate-{_slug(action.gate.name, room)}-{_slug(action.node, room)}{end}"


def job_of(
    action: StartProbe, owner_uid: str, *, level: Level = Level.BASELINE, limits: Mapping[str, str] = LIMITS
) -> dict[str, Any]:
    """The Job that measures a gate on one node."""
    said = {
        keys.GATE_KEY: action.gate.name,
        keys.NODE_KEY: action.node,
        keys.ROUND_KEY: str(action.round),
        keys.ATTEMPT_KEY: str(action.attempt),
    }
    labels = {key: label_of(text) for key, text in {**said, keys.ROLLOUT_LABEL: action.rollout}.items()}
    said |= {keys.GANG_KEY: ",".join(action.gang)} if action.gang else {}
    limit_seconds = max(1, math.ceil(action.gate.timeout_seconds))
    name = name_of(action, owner_uid)
    pod = _pod_of(action, owner_uid, limit_seconds, level, limits)
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": said,
            "ownerReferences": [owner_of(action.rollout, owner_uid)],
        },
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": limit_seconds + START_SECONDS,
            "ttlSecondsAfterFinished": KEPT_SECONDS,
            "podFailurePolicy": {
                "rules": [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
            },
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    return gangs.spread(job, action, companions.service_name(owner_uid)) if action.gang else job


def owner_of(rollout: str, uid: str) -> dict[str, Any]:
    """The rollout that a probe belongs to, and goes with."""
    return {"apiVersion": keys.API_VERSION, "kind": "GPURollout", "name": rollout, "uid": uid, "controller": True}


def job_alone(action: StartProbe, token: str, *, level: Level = Level.BASELINE) -> dict[str, Any]:
    """The Job that measures a gate for somebody who asks by hand: of no rollout, and soon gone by itself."""
    job = job_of(action, token, level=level)
    del job["metadata"]["ownerReferences"]
    for labels in (job["metadata"]["labels"], job["spec"]["template"]["metadata"]["labels"]):
        labels.pop(keys.ROLLOUT_LABEL, None)
    job["spec"]["ttlSecondsAfterFinished"] = KEPT_ALONE_SECONDS
    job["spec"]["template"]["spec"].pop("priorityClassName", None)  # it comes with the chart, which may not be there
    return job


def _pod_of(
    action: StartProbe, uid: str, limit_seconds: int, level: Level, limits: Mapping[str, str]
) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": action.gate.image,
        "terminationMessagePolicy": "FallbackToLogsOnError",  # what it printed last is the evidence
    }
    command = (*PAYLOAD, action.gate.probe, *PAYLOAD_OPTIONS) if action.gate.probe else ()
    if command or action.gate.command:
        # With a payload of ours what stands in `command` are further options of it.
        container["command"] = [*command, *action.gate.command]
    resources: dict[str, Any] = {"limits": dict(limits), "requests": dict.fromkeys(limits, "0")}
    container["resources"] = resources
    claims: list[dict[str, str]] = []
    if action.by_claim:
        name = companions.claim_name(action.gate.gpus, uid)
        claims.append({"name": companions.CLAIM, "resourceClaimTemplateName": name})
        resources["claims"] = [{"name": companions.CLAIM}]
    elif action.gate.gpus:
        resources["limits"][GPU_RESOURCE] = str(action.gate.gpus)
    container["securityContext"] = dict(CONFINED) | (_restricted(action) if level is Level.RESTRICTED else {})
    # A term for each, since the API server takes one name in each of them; any term is enough.
    here = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        for node in action.gang or (action.node,)
    ]
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": limit_seconds,
        "automountServiceAccountToken": False,
        # By the node's name, since its hostname label may say something else; by the scheduler, since it counts GPUs.
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": here}}},
        # GPU nodes are tainted for all kinds of reasons, and this pod is about one node whatever its taints say.
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
    }
    if claims:
        pod["resourceClaims"] = claims
    if action.gate.is_soak:
        pod["priorityClassName"] = keys.SOAK_PRIORITY
    return pod


def _restricted(action: StartProbe) -> dict[str, Any]:
    asked: dict[str, Any] = {"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}}
    # Images of drivers run as root, and here only `true` is run in them. For a gate another user than its image has
    # would be a reason to fail that is none of the driver's.
    return asked | ({"runAsUser": _NOBODY} if action.gate.name == PREPULL else {})


def _slug(text: str, length: int) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:length].strip("-") or "x"


def label_of(text: str) -> str:
    """A text as a label's value; one that cannot be one is cut, and stays different from others by its digest."""
    return text if _LABEL.fullmatch(text) else f"{_slug(text, 52)}-{_digest(text)}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def refusal_item(event: kinds.Event) -> RefusalItem | None:
    """Keep why a pod was not let in, without the name it would have had: that is another one with every try."""
    about = event.involved_object
    told = _REFUSED.fullmatch(event.message)
    if about.kind != "Job" or not about.uid or told is None:
        return None
    return RefusalItem(metadata=meta_of(event.metadata), job_uid=about.uid, said=foreign.line(told[1], DETAIL_MAX))


def probe_item(job: Job) -> ProbeItem | None:
    """Keep how a probe stands; None for a Job that has our label and does not say what it measures."""
    meta, notes = job.metadata, job.metadata.annotations
    owners = [each.uid for each in meta.owner_references if each.kind == "GPURollout"]
    gate, node = notes.get(keys.GATE_KEY, ""), notes.get(keys.NODE_KEY, "")
    number, attempt = notes.get(keys.ROUND_KEY, ""), notes.get(keys.ATTEMPT_KEY, "")
    if not (gate and node and _is_count(number) and _is_count(attempt)):
        return None
    holding = {each.type: each for each in job.status.conditions if each.status == "True"}
    failure = next((holding[name] for name in _FAILING if name in holding), None)
    return ProbeItem(
        metadata=meta_of(meta),
        rollout_uid=owners[0] if owners else "",
        gate=gate,
        node=node,
        round=int(number),
        attempt=int(attempt),
        is_complete="Complete" in holding,
        is_failed=failure is not None,
        is_leaving=meta.deletion_timestamp is not None,
        reason=foreign.line(failure.reason) if failure is not None else "",
        message=foreign.line(failure.message) if failure is not None else "",
        gang=tuple(filter(None, map(foreign.line, notes.get(keys.GANG_KEY, "").split(",")))),
    )


def _is_count(text: str) -> bool:
    """Whether we could have written it; Python makes no number of thousands of digits."""
    return text.isdecimal() and len(text) <= _COUNT_LENGTH_MAX


def probe_pod_item(pod: kinds.Pod) -> ProbePodItem:
    """Keep what a probe's pod tells."""
    states = [status.state for status in pod.status.container_statuses]
    ended = [state.terminated for state in states if state.terminated is not None and state.terminated.reason != _LOST]
    waiting = [state.waiting for state in states if state.waiting is not None]
    has_run = bool(ended) or any(state.running is not None for state in states)
    return ProbePodItem(
        metadata=meta_of(pod.metadata),
        job_uid=controller_of(pod.metadata.owner_references).uid,
        has_ended=pod.status.phase in ("Succeeded", "Failed"),
        has_run=has_run,
        is_leaving=pod.metadata.deletion_timestamp is not None,
        said=_last_words(ended) or _why_waiting(waiting) or _why_unscheduled(pod) or foreign.line(pod.status.reason),
        is_unfit=any(state.reason == _UNFIT for state in waiting),
        is_stuck=any(state.reason in _STUCK for state in waiting),
        is_overdue=pod.status.reason == DEADLINE,
        report=next((_report_of(state, pod.spec.node_name) for state in ended), None),
        index=int(index) if (index := pod.metadata.labels.get(keys.INDEX_LABEL, "0")).isdecimal() else 0,
    )


def _report_of(ended: kinds.Terminated, node: str) -> GateReport | Unreadable | None:
    at = readable_instant(ended.finished_at) or 0.0
    found = gate_reports.read(ended.message, node=node, at=at)
    # Of a container that ended badly the kubelet may have kept the end of its log, and logs begin with a brace, too.
    return None if isinstance(found, Unreadable) and ended.exit_code else found


def measurement_of(
    probe: ProbeItem, pods: Iterable[ProbePodItem], refusals: Iterable[RefusalItem] = ()
) -> Measurement | None:
    """What a probe has measured so far; None for one that is taken away before its end.

    One that is pending says something only where its pod is not let in, or not started as it is."""
    told = tuple(sorted(pods, key=lambda each: each.index))
    verdict, detail = _verdict(probe, told, next((each.said for each in refusals), ""))
    if verdict is GateVerdict.PENDING and probe.is_leaving:
        return None
    report = _report(pod for pod in told if not pod.index)  # of a gang the first one's: it stands for all
    drivers = tuple(pod.report.driver if isinstance(pod.report, GateReport) else "" for pod in told)
    is_pending = verdict is GateVerdict.PENDING
    stuck = next((pod for pod in told if pod.is_stuck and not pod.is_unfit), None) if is_pending else None
    shown = stuck or next(iter(told), None)
    return Measurement(
        gate=probe.gate,
        node=probe.node,
        round=probe.round,
        attempt=probe.attempt,
        verdict=verdict,
        detail=detail[:DETAIL_MAX],
        figures=report.measured if report is not None else (),
        unmeasured=report.unknown if report is not None else (),
        drivers=drivers if any(drivers) else (),
        kept_out_of=probe.metadata.namespace if is_pending and detail else "",
        gang=probe.gang,
        job=f"{probe.metadata.namespace}/{probe.metadata.name}" if is_pending else "",
        pod=shown.metadata.name if is_pending and shown is not None else "",
        stuck=stuck.said[:DETAIL_MAX] if stuck is not None else "",
    )


def _report(pods: Iterable[ProbePodItem]) -> GateReport | None:
    return next((pod.report for pod in pods if isinstance(pod.report, GateReport)), None)


def _verdict(probe: ProbeItem, pods: tuple[ProbePodItem, ...], refused: str) -> tuple[GateVerdict, str]:
    if probe.is_complete:
        # Two streams: the Job's end is seen before its pod's, and what it measured comes with the pod.
        if not _have_ended(pods):
            return GateVerdict.PENDING, ""
        if _was_taken(probe, pods):
            return GateVerdict.UNKNOWN, _TAKEN
        if probe.gang:
            return gangs.held_together(pods) or (GateVerdict.PASSED, "")
        return _of_report(pods) or (GateVerdict.PASSED, "")
    if not probe.is_failed:
        unfit = next((pod.said for pod in pods if pod.is_unfit), "")
        return GateVerdict.PENDING, unfit or ("" if pods else refused)
    if probe.reason == DEADLINE:
        words = next((pod.said for pod in pods if pod.said), "") or (refused if not pods else "") or probe.message
        return GateVerdict.UNKNOWN, f"it was not run to its end in time: {words}"
    if probe.reason == DISRUPTED:
        return GateVerdict.UNKNOWN, "its pod was moved away before it ended"
    if probe.gang:
        return gangs.failed(probe, pods)
    if not pods or any(pod.is_leaving for pod in pods):
        return GateVerdict.UNKNOWN, _TAKEN
    if not _have_ended(pods):
        return GateVerdict.PENDING, ""
    ran = [pod for pod in pods if pod.has_run]
    if not ran:
        return GateVerdict.UNKNOWN, f"its container never ran: {pods[0].said or probe.message}"
    words = ran[0].said or probe.message
    return _of_report(pods) or (GateVerdict.FAILED, f"it did not end in time: {words}" if ran[0].is_overdue else words)


def _was_taken(probe: ProbeItem, pods: tuple[ProbePodItem, ...]) -> bool:
    """Whether a Job that completed lacks its pod: told to go, a container may well end with 0 and have done nothing.

    A pull needs nobody's word, and a Job that goes takes its pod along."""
    is_short = len(pods) < max(1, len(probe.gang))
    return not probe.is_leaving and probe.gate != PREPULL and (is_short or any(pod.is_leaving for pod in pods))


def _have_ended(pods: Iterable[ProbePodItem]) -> bool:
    return all(pod.has_ended for pod in pods)


def _of_report(pods: Iterable[ProbePodItem]) -> tuple[GateVerdict, str] | None:
    """What the report says of itself; None where there is none, or it only measured."""
    return next((found for pod in pods if (found := gate_reports.verdict_of(pod.report)) is not None), None)


def _last_words(ended: Iterable[kinds.Terminated]) -> str:
    """How the container ended, and the end of what it said: the beginning is the least of a log."""
    for state in ended:
        if state.exit_code or state.reason != "Completed":
            reason = foreign.line(state.reason, DETAIL_MAX // 4)
            how = f"exit code {state.exit_code}" + ("" if reason in ("", "Error") else f", {reason}")
            said = " ".join(foreign.lines(state.message).split())
            left = DETAIL_MAX - len(how) - len(": …")
            return how if not said else f"{how}: {said}" if len(said) <= left else f"{how}: …{said[-left:]}"
    return ""


def _why_waiting(waiting: Iterable[kinds.Waiting]) -> str:
    for state in waiting:
        return foreign.line(": ".join(filter(None, (state.reason, " ".join(state.message.split())))))
    return ""


def _why_unscheduled(pod: kinds.Pod) -> str:
    for each in pod.status.conditions:
        if each.type == "PodScheduled" and each.status == "False":
            return foreign.line(": ".join(filter(None, (each.reason, " ".join(each.message.split())))), DETAIL_MAX)
    return ""
