"""A probe's Job and its pod become a measurement; what did not run measured nothing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.reading import probes
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.adapters.kube.shapes.campaign_models import Job
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates import Gate, GateVerdict, Measurement

UID = "uid-spring"
PROBE = StartProbe(rollout="spring", gate=Gate(name="nccl", image="nccl:1"), node="n1", round=2, attempt=1)
PASSED = Measurement(gate="nccl", node="n1", round=2, attempt=1, verdict=GateVerdict.PASSED)
CRASH = {"terminated": {"exitCode": 3, "reason": "Error", "message": "bandwidth 12 GB/s\nis below 300"}}


def a_job(*conditions: str, reason: str = "", message: str = "", **metadata: Any) -> probes.ProbeItem | None:
    """The probe's Job as the server has it, with these conditions."""
    body = probes.job_of(PROBE, UID)
    body["metadata"] |= {"uid": "uid-job", "resourceVersion": "5"} | metadata
    told = [{"type": each, "status": "True", "reason": reason, "message": message} for each in conditions]
    return probes.probe_item(msgspec.convert(body | {"status": {"conditions": told}}, Job))


def a_pod(*, phase: str = "Failed", reason: str = "", state: Any = None, **metadata: Any) -> probes.ProbePodItem:
    """The pod of the probe's Job."""
    owner = {"kind": "Job", "uid": "uid-job", "controller": True}
    body = {
        "metadata": {"name": "p", "uid": "uid-pod", "ownerReferences": [owner], **metadata},
        "status": {"phase": phase, "reason": reason, "containerStatuses": [{"name": "probe", "state": state or {}}]},
    }
    return probes.probe_pod_item(msgspec.convert(body, kinds.Pod))


def measured(job: probes.ProbeItem | None, *pods: probes.ProbePodItem) -> tuple[GateVerdict, str]:
    assert job is not None
    found = probes.measurement_of(job, pods)
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
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
        }
    ]


# ── the measurement ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_probe_that_completed_has_passed() -> None:
    job = a_job("SuccessCriteriaMet", "Complete")
    assert job is not None
    assert (job.rollout_uid, probes.measurement_of(job, ())) == (UID, PASSED)


@pytest.mark.parametrize("pods", [(), (a_pod(phase="Pending"),), (a_pod(phase="Running", state={"running": {}}),)])
def test_a_probe_under_way_is_pending(pods: tuple[probes.ProbePodItem, ...]) -> None:
    assert measured(a_job(), *pods) == (GateVerdict.PENDING, "")


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
    assert measured(job, hung) == (GateVerdict.FAILED, "exit code 137, DeadlineExceeded")


def test_a_probe_that_could_not_be_started_has_measured_nothing() -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
    job = a_job("Failed", reason="BackoffLimitExceeded", message="Job has reached the specified backoff limit")
    never = a_pod(reason="DeadlineExceeded", state=waiting)
    assert measured(job, never) == (
        GateVerdict.UNKNOWN,
        "its container never ran: ImagePullBackOff: Back-off pulling image",
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
    reason: str, pods: tuple[probes.ProbePodItem, ...], words: str
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
        {"ownerReferences": []},
        {"annotations": {}},
        {"annotations": {keys.GATE_KEY: "nccl", keys.NODE_KEY: "n1", keys.ROUND_KEY: "two", keys.ATTEMPT_KEY: "1"}},
    ],
)
def test_a_job_that_does_not_say_what_it_measures_is_none_of_ours(metadata: dict[str, Any]) -> None:
    assert a_job("Complete", **metadata) is None
