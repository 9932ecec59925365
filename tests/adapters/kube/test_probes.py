"""A probe's Job and its pod become a measurement; what did not run measured nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.reading.gates import probes
from seatrial.adapters.kube.reading.gates.items import ProbeItem, ProbePodItem, RefusalItem
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.adapters.kube.shapes.campaign_models import Job
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.figures import Figure
from seatrial.core.model.gates.gate import PREPULL, Gate, GateVerdict, Measurement

UID = "uid-spring"
PROBE = StartProbe(rollout="spring", gate=Gate(name="nccl", image="nccl:1"), node="n1", round=2, attempt=1)
PASSED = Measurement(gate="nccl", node="n1", round=2, attempt=1, verdict=GateVerdict.PASSED)
CRASH = {"terminated": {"exitCode": 3, "reason": "Error", "message": "bandwidth 12 GB/s\nis below 300"}}


def a_job(*conditions: str, reason: str = "", message: str = "", **metadata: Any) -> ProbeItem | None:
    """The probe's Job as the server has it, with these conditions."""
    body = probes.job_of(PROBE, UID)
    body["metadata"] |= {"uid": "uid-job", "resourceVersion": "5"} | metadata
    told = [{"type": each, "status": "True", "reason": reason, "message": message} for each in conditions]
    return probes.probe_item(msgspec.convert(body | {"status": {"conditions": told}}, Job))


def a_pod(
    *, phase: str = "Failed", reason: str = "", state: Any = None, node: str = "", **metadata: Any
) -> ProbePodItem:
    """The pod of the probe's Job."""
    owner = {"kind": "Job", "uid": "uid-job", "controller": True}
    body = {
        "metadata": {"name": "p", "uid": "uid-pod", "ownerReferences": [owner], **metadata},
        "spec": {"nodeName": node},
        "status": {"phase": phase, "reason": reason, "containerStatuses": [{"name": "probe", "state": state or {}}]},
    }
    return probes.probe_pod_item(msgspec.convert(body, kinds.Pod))


def a_refusal(message: str, kind: str = "Job") -> RefusalItem | None:
    """What the Job controller says of a pod that it could not make."""
    about = {"kind": kind, "uid": "uid-job"}
    body = {"metadata": {"name": "e"}, "involvedObject": about, "reason": "FailedCreate", "message": message}
    return probes.refusal_item(msgspec.convert(body, kinds.Event))


def measured(job: ProbeItem | None, *pods: ProbePodItem, refused: RefusalItem | None = None) -> tuple[GateVerdict, str]:
    assert job is not None
    found = probes.measurement_of(job, pods, [refused] if refused is not None else [])
    assert found is not None
    return found.verdict, found.detail


# ── the Job ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_same_question_has_the_same_name_and_any_other_another() -> None:
    others = (
        replace(PROBE, round=3),
        replace(PROBE, attempt=2),
        replace(PROBE, node="n2"),
        replace(PROBE, gate=replace(PROBE.gate, name="smoke")),
    )
    names = {probes.name_of(each, UID) for each in (PROBE, PROBE, *others)} | {probes.name_of(PROBE, "uid-next")}
    assert len(names) == 1 + len(others) + 1
    assert probes.name_of(PROBE, UID).startswith("gate-nccl-n1-2-1-")


@pytest.mark.parametrize("text", ["a", "A.b_c", "x" * 300, "--", "é", "a.b.c." * 40, "9"])
def test_every_name_is_a_dns_label_and_every_label_a_labels_value(text: str) -> None:
    probe = replace(PROBE, gate=replace(PROBE.gate, name=text), node=text, rollout=text, round=99999, attempt=3)
    body = probes.job_of(probe, UID)
    assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", body["metadata"]["name"])
    for value in body["metadata"]["labels"].values():
        assert re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", value)
    assert body["metadata"]["annotations"][keys.NODE_KEY] == text


def test_a_job_and_its_pod_are_found_by_what_is_asked_and_for_which_rollout() -> None:
    body = probes.job_of(PROBE, UID)
    asked = {keys.GATE_KEY: "nccl", keys.NODE_KEY: "n1", keys.ROUND_KEY: "2", keys.ATTEMPT_KEY: "1"}
    assert body["metadata"]["labels"] == {**asked, keys.ROLLOUT_LABEL: "spring"}
    assert body["spec"]["template"]["metadata"]["labels"] == body["metadata"]["labels"]
    assert body["metadata"]["annotations"] == asked


def test_a_probe_is_pinned_to_its_node_and_accounted_for_by_the_scheduler() -> None:
    pod = probes.job_of(PROBE, UID)["spec"]["template"]["spec"]
    (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term == {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    assert "nodeName" not in pod
    assert pod["containers"] == [
        {
            "name": "probe",
            "image": "nccl:1",
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "resources": {
                "limits": {"memory": "64Gi", "ephemeral-storage": "64Gi", "nvidia.com/gpu": "1"},
                "requests": {"memory": "0", "ephemeral-storage": "0"},
            },
            "securityContext": {"allowPrivilegeEscalation": False, "seccompProfile": {"type": "RuntimeDefault"}},
        }
    ]


@pytest.mark.parametrize("level", probes.Level)
@pytest.mark.parametrize("gang", [(), ("n1", "n2")])
@pytest.mark.parametrize("made", [probes.job_of, probes.job_alone])
def test_no_gate_has_a_token_of_the_cluster_or_may_become_more_than_it_is(
    level: probes.Level, gang: tuple[str, ...], made: Any
) -> None:
    """The token held before; named mutation: `automountServiceAccountToken` left out of `_pod_of`."""
    pod = made(replace(PROBE, gang=gang), UID, level=level)["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    assert not {"hostNetwork", "hostPID", "hostIPC", "volumes"} & pod.keys()
    for container in pod["containers"]:
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not security.get("privileged")


@pytest.mark.parametrize("gate", [PROBE.gate, replace(PROBE.gate, gpus=0)], ids=["with a GPU", "without"])
@pytest.mark.parametrize("by_claim", [False, True])
def test_no_gate_may_take_all_of_its_node_and_none_waits_for_room(gate: Gate, by_claim: bool) -> None:
    pod = probes.job_of(replace(PROBE, gate=gate, by_claim=by_claim), UID, limits={"memory": "1Gi"})["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert container["resources"]["limits"]["memory"] == "1Gi"
    assert container["resources"]["requests"] == {"memory": "0"}


def test_a_restricted_probe_asks_for_nothing_and_only_a_pull_runs_as_another_than_its_image_says() -> None:
    pull = replace(PROBE, gate=replace(PROBE.gate, name=PREPULL, command=("true",), gpus=0))
    for probe, user in ((PROBE, {}), (pull, {"runAsUser": 65534})):
        body = probes.job_of(probe, UID, level=probes.Level.RESTRICTED)
        (container,) = body["spec"]["template"]["spec"]["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
            **user,
        }


# ── the measurement ──────────────────────────────────────────────────────────────────────────────────────────────────


def ended(message: str, code: int = 0) -> dict[str, Any]:
    """A container that has left a message."""
    said = {"exitCode": code, "reason": "Error" if code else "Completed", "message": message}
    return {"terminated": said | {"finishedAt": "2026-11-16T12:00:00Z"}}


MEASURED = '{"measured": [{"name": "hbm-copy", "value": 4240.0, "unit": "GB/s", "gpu": "GPU-1"}]}'
BROKEN = '{"measured": [], "broken": [{"name": "cuda", "why": "CUDA error 802", "gpu": "GPU-3"}]}'
UNKNOWN = '{"unknown": [{"name": "nvml", "why": "there is no NVIDIA driver here"}]}'


@pytest.mark.parametrize(
    ("message", "code", "found"),
    [
        ("", 0, (GateVerdict.PASSED, "")),
        ("all well", 0, (GateVerdict.PASSED, "")),
        (MEASURED, 0, (GateVerdict.PASSED, "")),
        (MEASURED, 1, (GateVerdict.FAILED, f"exit code 1: {MEASURED}")),
        (BROKEN, 10, (GateVerdict.FAILED, "cuda of GPU-3: CUDA error 802")),
        (BROKEN, 0, (GateVerdict.FAILED, "cuda of GPU-3: CUDA error 802")),
        (UNKNOWN, 11, (GateVerdict.UNKNOWN, "nvml: there is no NVIDIA driver here")),
        (UNKNOWN, 0, (GateVerdict.UNKNOWN, "nvml: there is no NVIDIA driver here")),
        ('{"level": "error"}', 1, (GateVerdict.FAILED, 'exit code 1: {"level": "error"}')),
        ("{}", 0, (GateVerdict.UNKNOWN, "its result has neither measured nor broken nor unknown in it")),
    ],
    ids=["silent", "words", "measured", "measured and ended badly", "broken", "broken and ended well", "unmeasured",
         "unmeasured and ended well", "a log in JSON", "an empty report"],
)  # fmt: skip
def test_a_report_has_a_word_in_the_verdict(message: str, code: int, found: tuple[GateVerdict, str]) -> None:
    job = a_job("Failed", reason="BackoffLimitExceeded") if code else a_job("Complete")
    assert measured(job, a_pod(phase="Failed" if code else "Succeeded", state=ended(message, code))) == found


def test_a_result_that_is_cut_in_the_middle_is_no_verdict() -> None:
    verdict, detail = measured(a_job("Complete"), a_pod(phase="Succeeded", state=ended(MEASURED[:-5])))
    assert verdict is GateVerdict.UNKNOWN
    assert detail.startswith("its result cannot be read: ")


def test_figures_are_of_the_node_that_was_asked_and_of_the_moment_its_container_ended() -> None:
    job = a_job("Complete")
    assert job is not None
    found = probes.measurement_of(job, [a_pod(phase="Succeeded", state=ended(MEASURED), node="n1")])
    assert found is not None
    assert found.figures == (
        Figure(name="hbm-copy", value=4240.0, unit="GB/s", gpu="GPU-1", node="n1", at=1794830400.0),
    )


def test_a_job_whose_pod_was_not_yet_seen_to_end_is_waited_for() -> None:
    pod = a_pod(phase="Running", state={"running": {}})
    assert measured(a_job("Complete"), pod) == (GateVerdict.PENDING, "")


def test_a_payload_of_ours_leaves_its_report_where_it_is_read() -> None:
    gate = Gate(name="speed", image="probes:1", probe="performance", command=("--only", "hbm-copy"))
    body = probes.job_of(replace(PROBE, gate=gate), UID)
    (container,) = body["spec"]["template"]["spec"]["containers"]
    assert container["command"] == [
        "seatrial-probe", "performance", "--termination-log", "/dev/termination-log", "--only", "hbm-copy",
    ]  # fmt: skip


def test_one_of_a_rollout_outlives_its_end_by_a_day_and_goes_by_itself_should_nobody_take_it_away() -> None:
    assert probes.job_of(PROBE, "uid")["spec"]["ttlSecondsAfterFinished"] == 86_400


def test_one_that_somebody_asks_for_by_hand_is_of_no_rollout_and_soon_gone() -> None:
    body = probes.job_alone(PROBE, "token")
    found = probes.probe_item(msgspec.convert(body, Job))
    assert found is not None
    assert (found.rollout_uid, found.gate, found.node) == ("", "nccl", "n1")
    assert "ownerReferences" not in body["metadata"]
    assert keys.ROLLOUT_LABEL not in body["metadata"]["labels"]
    assert body["spec"]["ttlSecondsAfterFinished"] == 3600


def test_why_a_pod_is_not_scheduled_is_told() -> None:
    why = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "Insufficient nvidia.com/gpu",
    }
    body = {"metadata": {"name": "p"}, "status": {"phase": "Pending", "conditions": [why]}}
    assert probes.probe_pod_item(msgspec.convert(body, kinds.Pod)).said == "Unschedulable: Insufficient nvidia.com/gpu"


def test_a_probe_that_completed_has_passed() -> None:
    job = a_job("SuccessCriteriaMet", "Complete")
    assert job is not None
    assert (job.rollout_uid, probes.measurement_of(job, [a_pod(phase="Succeeded")])) == (UID, PASSED)


@pytest.mark.parametrize("pods", [(), (a_pod(phase="Succeeded", deletionTimestamp="2026-01-02T03:04:05Z"),)])
def test_a_probe_that_completed_when_its_pod_was_told_to_go_has_measured_nothing(
    pods: tuple[ProbePodItem, ...],
) -> None:
    words = "its pod was deleted before it could be looked at"
    assert measured(a_job("Complete"), *pods) == (GateVerdict.UNKNOWN, words)


@pytest.mark.parametrize("pods", [(), (a_pod(phase="Pending"),), (a_pod(phase="Running", state={"running": {}}),)])
def test_a_probe_under_way_is_pending(pods: tuple[ProbePodItem, ...]) -> None:
    assert measured(a_job(), *pods) == (GateVerdict.PENDING, "")


VIOLATION = 'violates PodSecurity "restricted:latest": unrestricted capabilities'
REFUSAL = f'Error creating: pods "gate-nccl-n1-2-1-0a1b2c-x9" is forbidden: {VIOLATION}'


def test_a_probe_whose_pod_is_not_let_in_says_why_before_its_limit_and_after() -> None:
    refused = a_refusal(REFUSAL)
    assert measured(a_job(), refused=refused) == (GateVerdict.PENDING, VIOLATION)
    verdict, detail = measured(a_job("Failed", reason=probes.DEADLINE, message="too long"), refused=refused)
    assert (verdict, detail) == (GateVerdict.UNKNOWN, f"it was not run to its end in time: {VIOLATION}")


def test_a_probe_whose_pod_is_not_let_in_says_where_and_others_do_not() -> None:
    job, refused = a_job(namespace="trials"), a_refusal(REFUSAL)
    assert job is not None
    assert refused is not None
    kept_out = probes.measurement_of(job, [], [refused])
    assert kept_out is not None
    assert kept_out.kept_out_of == "trials"
    waiting = probes.measurement_of(job, [a_pod(phase="Pending")], [refused])
    assert waiting is not None
    assert waiting.kept_out_of == ""


def test_a_probe_that_was_let_in_after_all_says_nothing() -> None:
    assert measured(a_job(), a_pod(phase="Pending"), refused=a_refusal(REFUSAL)) == (GateVerdict.PENDING, "")
    ended = a_pod(phase="Succeeded")
    assert measured(a_job("Complete"), ended, refused=a_refusal(REFUSAL)) == (GateVerdict.PASSED, "")


def test_a_probe_that_the_kubelet_does_not_start_as_it_is_says_why() -> None:
    said = "container has runAsNonRoot and image will run as root"
    state = {"waiting": {"reason": "CreateContainerConfigError", "message": said}}
    words = f"CreateContainerConfigError: {said}"
    assert measured(a_job(), a_pod(phase="Pending", state=state)) == (GateVerdict.PENDING, words)


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        (REFUSAL, VIOLATION),
        (f"(combined from similar events): {REFUSAL}", VIOLATION),
        (
            'Error creating: admission webhook "x" denied the request: no',
            'admission webhook "x" denied the request: no',
        ),
        ("Something else", None),
    ],
)
def test_of_a_refusal_the_reason_is_kept_without_the_name_that_changes_with_every_try(
    message: str, kept: str | None
) -> None:
    found = a_refusal(message)
    assert (found.said if found is not None else None) == kept
    assert a_refusal(message, kind="Pod") is None


def test_a_probe_that_failed_says_its_last_words() -> None:
    words = "exit code 3: bandwidth 12 GB/s is below 300"
    assert measured(a_job("Failed", reason="BackoffLimitExceeded"), a_pod(state=CRASH)) == (GateVerdict.FAILED, words)


def test_of_many_words_the_end_is_kept() -> None:
    state = {"terminated": {"exitCode": 1, "reason": "Error", "message": "x" * 2000 + " the reason"}}
    verdict, detail = measured(a_job("Failed", reason="BackoffLimitExceeded"), a_pod(state=state))
    assert verdict is GateVerdict.FAILED
    assert detail.startswith("exit code 1: …x")
    assert detail.endswith("x the reason")
    assert len(detail) <= probes.DETAIL_MAX


def test_a_probe_that_hung_until_the_kubelet_ended_it_has_failed() -> None:
    hung = a_pod(reason="DeadlineExceeded", state={"terminated": {"exitCode": 137, "reason": "DeadlineExceeded"}})
    job = a_job("FailureTarget", reason="BackoffLimitExceeded")
    assert measured(job, hung) == (GateVerdict.FAILED, "it did not end in time: exit code 137, DeadlineExceeded")


def test_a_probe_that_could_not_be_started_has_measured_nothing() -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
    job = a_job("Failed", reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit")
    never = a_pod(reason="DeadlineExceeded", state=waiting)
    assert measured(job, never) == (
        GateVerdict.UNKNOWN,
        "its container never ran: ImagePullBackOff: Back-off pulling image",
    )


def test_a_probe_whose_kubelet_knows_nothing_of_its_container_has_measured_nothing() -> None:
    said = "The container could not be located when the pod was terminated"
    lost = {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown", "message": said}}
    job = a_job("Failed", reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit")
    assert measured(job, a_pod(reason="DeadlineExceeded", state=lost)) == (
        GateVerdict.UNKNOWN,
        "its container never ran: DeadlineExceeded",
    )


def test_a_probe_nobody_took_up_has_measured_nothing() -> None:
    job = a_job("Failed", reason="DeadlineExceeded", message="Job was active longer than specified deadline")
    words = "it was not run to its end in time: Job was active longer than specified deadline"
    assert measured(job) == (GateVerdict.UNKNOWN, words)


@pytest.mark.parametrize(
    ("reason", "pods", "words"),
    [
        ("PodFailurePolicy", (a_pod(state=CRASH),), "its pod was moved away before it ended"),
        ("BackoffLimitExceeded", (), "its pod was deleted before it could be looked at"),
        (
            "BackoffLimitExceeded",
            (a_pod(state=CRASH, deletionTimestamp="2026-01-02T03:04:05Z"),),
            "its pod was deleted before it could be looked at",
        ),
    ],
)
def test_a_probe_whose_pod_was_taken_away_has_measured_nothing(
    reason: str, pods: tuple[ProbePodItem, ...], words: str
) -> None:
    assert measured(a_job("Failed", reason=reason), *pods) == (GateVerdict.UNKNOWN, words)


def test_a_failure_is_told_once_the_pods_end_is_seen_too() -> None:
    running = a_pod(phase="Running", state={"running": {}})
    assert measured(a_job("Failed", reason="BackoffLimitExceeded"), running) == (GateVerdict.PENDING, "")


def test_a_probe_deleted_before_its_end_is_no_measurement_and_one_that_ended_stays_one() -> None:
    leaving = {"deletionTimestamp": "2026-01-02T03:04:05Z"}
    job, ended = a_job(**leaving), a_job("Complete", **leaving)
    assert job is not None
    assert ended is not None
    assert probes.measurement_of(job, ()) is None
    assert probes.measurement_of(ended, ()) == PASSED


@pytest.mark.parametrize(
    "metadata",
    [
        {"annotations": {}},
        {"annotations": {keys.GATE_KEY: "nccl", keys.NODE_KEY: "n1", keys.ROUND_KEY: "two", keys.ATTEMPT_KEY: "1"}},
        {
            "annotations": {
                keys.GATE_KEY: "nccl",
                keys.NODE_KEY: "n1",
                keys.ROUND_KEY: "9" * 5000,
                keys.ATTEMPT_KEY: "1",
            }
        },
    ],
)
def test_a_job_that_does_not_say_what_it_measures_is_none_of_ours(metadata: dict[str, Any]) -> None:
    assert a_job("Complete", **metadata) is None


def test_while_a_probe_is_pending_its_job_and_pod_are_known_and_why_it_does_not_start() -> None:
    job = a_job(namespace="trials")
    assert job is not None
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "r/x:1"'}}
    found = probes.measurement_of(job, [a_pod(phase="Pending", state=waiting)])
    assert found is not None
    assert (found.verdict, found.detail) == (GateVerdict.PENDING, "")
    assert (found.job, found.pod) == (f"trials/{job.metadata.name}", "p")
    assert found.stuck == 'ImagePullBackOff: Back-off pulling image "r/x:1"'
    pulling = {"waiting": {"reason": "ContainerCreating"}}
    unstuck = probes.measurement_of(job, [a_pod(phase="Pending", state=pulling)])
    assert unstuck is not None
    assert (unstuck.stuck, unstuck.pod) == ("", "p")
    done = probes.measurement_of(a_job("Complete") or job, [a_pod(phase="Succeeded", state=ended("", 0))])
    assert done is not None
    assert (done.job, done.pod, done.stuck) == ("", "", "")


def test_a_pod_whose_place_in_its_gang_somebody_rewrote_counts_as_the_first() -> None:
    assert a_pod(labels={keys.INDEX_LABEL: "1"}).index == 1
    assert a_pod(labels={keys.INDEX_LABEL: "last"}).index == 0
