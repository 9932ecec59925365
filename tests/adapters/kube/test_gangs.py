"""The Job of a gang, and what its end means: who never started measured nothing, and nobody has failed by that."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.reading.gates import companions, probes
from seatrial.adapters.kube.reading.gates.items import ProbeItem, ProbePodItem
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.adapters.kube.shapes.campaign_models import Job
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import Gate, GateVerdict

UID = "uid-spring"
RING = Gate(name="ring", image="probes:1", probe="distributed", gpus=8)
GANG = StartProbe(rollout="spring", gate=RING, node="n1", round=2, attempt=1, gang=("n1", "n2"))
SUM = '{"measured": [{"name": "gang", "value": 16, "unit": "GPUs"}, {"name": "all-reduce", "value": 391.4}]}'
OTHER = SUM.replace("391.4", "12.5")
FEWER = SUM.replace("16", "8")
WRONG = '{"broken": [{"name": "sums", "why": "3 numbers are wrong"}]}'
APART = '{"unknown": [{"name": "distributed", "why": "the gang did not meet within 300 s"}]}'


def a_job(*conditions: str, reason: str = "BackoffLimitExceeded", **metadata: Any) -> ProbeItem:
    body = probes.job_of(GANG, UID)
    body["metadata"] |= {"uid": "uid-job", "resourceVersion": "5"} | metadata
    told = [{"type": each, "status": "True", "reason": reason, "message": "it failed"} for each in conditions]
    item = probes.probe_item(msgspec.convert(body | {"status": {"conditions": told}}, Job))
    assert item is not None
    return item


def a_member(index: int, message: str = "", code: int = 0, *, state: Any = None, **metadata: Any) -> ProbePodItem:
    """A pod of the gang; with neither message nor state one that ended and said nothing."""
    ended = {"exitCode": code, "reason": "Error" if code else "Completed", "message": message}
    shown = {"terminated": ended | {"finishedAt": "2026-11-16T12:00:00Z"}} if state is None else state
    phase = "Running" if "running" in shown else "Failed" if code else "Succeeded"
    body = {
        "metadata": {"name": f"p{index}", "labels": {keys.INDEX_LABEL: str(index)}, **metadata},
        "spec": {"nodeName": f"n{index + 1}"},
        "status": {"phase": phase, "containerStatuses": [{"name": "probe", "state": shown}]},
    }
    return probes.probe_pod_item(msgspec.convert(body, kinds.Pod))


def waiting(index: int) -> ProbePodItem:
    """One that the scheduler found no place for, and that is taken away with its Job."""
    why = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "Insufficient nvidia.com/gpu",
    }
    body = {
        "metadata": {
            "name": f"p{index}",
            "labels": {keys.INDEX_LABEL: str(index)},
            "deletionTimestamp": "2026-11-16T12:00:00Z",
        },
        "status": {"phase": "Pending", "conditions": [why]},
    }
    return probes.probe_pod_item(msgspec.convert(body, kinds.Pod))


def said(job: ProbeItem, *pods: ProbePodItem) -> tuple[GateVerdict, str]:
    found = probes.measurement_of(job, pods)
    assert found is not None
    return found.verdict, found.detail


def test_the_driver_of_every_member_is_kept_in_order() -> None:
    pods = (a_member(1, '{"driver": "580.159.04"}'), a_member(0, '{"driver": "580.105.08"}'), a_member(2))
    found = probes.measurement_of(a_job("Complete"), pods)
    assert found is not None
    assert found.drivers == ("580.105.08", "580.159.04", "")


# ── the Job ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_gang_is_one_indexed_job_with_a_pod_for_each_node_and_no_two_on_one() -> None:
    job = probes.job_of(GANG, UID)
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (
        "Indexed",
        2,
        2,
        0,
    )
    assert pod["automountServiceAccountToken"] is False
    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert [term["matchFields"][0]["values"] for term in terms] == [["n1"], ["n2"]], (
        "one name in each, or it is refused"
    )
    (apart,) = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart["topologyKey"] == "kubernetes.io/hostname"
    assert apart["labelSelector"]["matchLabels"] == {"batch.kubernetes.io/job-name": job["metadata"]["name"]}


def test_its_members_are_told_where_they_meet_and_for_how_long_they_wait() -> None:
    job = probes.job_of(GANG, UID)
    name, pod = job["metadata"]["name"], job["spec"]["template"]["spec"]
    (service,) = companions.companions_of(GANG, UID, "gates", probes.owner_of("spring", UID))
    assert service.path == "/api/v1/namespaces/gates/services"
    assert (service.body["spec"]["clusterIP"], service.body["spec"]["publishNotReadyAddresses"]) == ("None", True)
    assert service.body["spec"]["selector"].items() <= job["spec"]["template"]["metadata"]["labels"].items()
    assert pod["subdomain"] == service.body["metadata"]["name"]
    told = {each["name"]: each["value"] for each in pod["containers"][0]["env"]}
    assert told == {
        "MASTER_ADDR": f"{name}-0.{pod['subdomain']}",
        "MASTER_PORT": "29500",
        "SEATRIAL_GANG_NODES": "2",
        "SEATRIAL_GANG_SECONDS": "300",
    }


def test_the_hostnames_of_its_pods_are_dns_labels_however_long_the_names_are() -> None:
    long = StartProbe(
        rollout="spring",
        gate=Gate(name="g" * 63, image="i", probe="distributed"),
        node="n" * 200,
        round=99999,
        attempt=3,
        gang=("a", "b"),
    )
    assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", f"{probes.job_of(long, UID)['metadata']['name']}-9999")


def test_a_gate_of_one_node_is_what_it_was() -> None:
    job = probes.job_of(StartProbe(rollout="spring", gate=RING, node="n1", round=2, attempt=1), UID)
    assert "completionMode" not in job["spec"]
    assert "env" not in job["spec"]["template"]["spec"]["containers"][0]


# ── its end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_speaks_for_all_and_the_nodes_are_known() -> None:
    found = probes.measurement_of(a_job("Complete"), [a_member(1, OTHER), a_member(0, SUM)])
    assert found is not None
    assert (found.verdict, found.node, found.gang) == (GateVerdict.PASSED, "n1", ("n1", "n2"))
    assert {figure.name: figure.value for figure in found.figures} == {"gang": 16.0, "all-reduce": 391.4}


@pytest.mark.parametrize(
    ("other", "verdict", "why"),
    [
        (WRONG, GateVerdict.FAILED, "member 1: sums: 3 numbers are wrong"),
        (APART, GateVerdict.UNKNOWN, "member 1: distributed: the gang did not meet within 300 s"),
        (FEWER, GateVerdict.UNKNOWN, "its members count 8 and 16 GPUs in the same sum"),
        ('{"measured": [', GateVerdict.UNKNOWN, "member 1: its result cannot be read"),
    ],
)
def test_the_others_are_held_against_it(other: str, verdict: GateVerdict, why: str) -> None:
    found, detail = said(a_job("Complete"), a_member(0, SUM), a_member(1, other))
    assert (found, detail[: len(why)]) == (verdict, why)


def test_of_a_sum_that_is_complete_no_member_may_be_missing() -> None:
    assert said(a_job("Complete"), a_member(0, SUM))[0] is GateVerdict.UNKNOWN


@pytest.mark.parametrize(
    ("pods", "verdict", "why"),
    [
        ((a_member(0, WRONG, 10),), GateVerdict.FAILED, "sums: 3 numbers are wrong"),
        ((a_member(0, APART, 11),), GateVerdict.UNKNOWN, "distributed: the gang did not meet within 300 s"),
        (
            (a_member(0, APART, 11), waiting(1)),
            GateVerdict.UNKNOWN,
            "1 of its 2 members started: Unschedulable: Insufficient nvidia.com/gpu",
        ),
        (
            (a_member(0, "NCCL error", 1), waiting(1)),
            GateVerdict.UNKNOWN,
            "1 of its 2 members started: Unschedulable: Insufficient nvidia.com/gpu",
        ),
        (
            (a_member(0, "", 143, deletionTimestamp="2026-11-16T12:00:00Z"), a_member(1, "illegal access", 139)),
            GateVerdict.FAILED,
            "member 1: exit code 139: illegal access",
        ),
        (
            (a_member(0, "", 143, deletionTimestamp="2026-11-16T12:00:00Z"),),
            GateVerdict.UNKNOWN,
            "its pods were deleted before they could be looked at",
        ),
        ((), GateVerdict.UNKNOWN, "its pods were deleted before they could be looked at"),
    ],
    ids=[
        "wrong sum",
        "never met",
        "one never started",
        "one never started, one fell",
        "one fell",
        "told to go",
        "gone",
    ],
)
def test_a_gang_that_failed(pods: tuple[ProbePodItem, ...], verdict: GateVerdict, why: str) -> None:
    assert said(a_job("Failed"), *pods) == (verdict, why)


def test_one_whose_members_still_end_is_waited_for() -> None:
    running = a_member(1, state={"running": {"startedAt": "2026-11-16T12:00:00Z"}})
    assert said(a_job("FailureTarget"), a_member(0, WRONG, 10), running)[0] is GateVerdict.PENDING


def test_one_that_was_never_complete_in_time_is_unknown_with_the_reason() -> None:
    found = said(a_job("Failed", reason="DeadlineExceeded"), waiting(1))
    assert found == (
        GateVerdict.UNKNOWN,
        "it was not run to its end in time: Unschedulable: Insufficient nvidia.com/gpu",
    )
