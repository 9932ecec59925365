"""Gates asked by hand, without a cluster: what a node has for them, what comes of a Job, and that nothing is left.

On a real control plane it is tests/e2e/test_gates_by_hand.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.probing import Offer, Prober
from seatrial.adapters.kube.reading.gates.probes import KEPT_ALONE_SECONDS, START_SECONDS, Level
from seatrial.adapters.kube.shapes import keys
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement
from tests.adapters.kube import objects, standin
from tests.adapters.kube.versioned import Objects

HOME = "gates"
JOBS, PODS, EVENTS = keys.jobs_path(HOME), keys.pods_path(HOME), keys.events_path(HOME)
TEMPLATES, SERVICES = keys.claim_templates_path(HOME), keys.services_path(HOME)
GATE = Gate(name="nccl", image="nccl:1", gpus=2, timeout_seconds=30.0)
OFFER = Offer(node="n1", gpu_count=8, free_count=8, is_ready=True, has_links=False)

React = Callable[[dict[str, Any]], None]


def a_node(gpus: str = "8", *, ready: str = "True", **labels: str) -> dict[str, Any]:
    node = objects.a_node("n1", labels=labels)
    conditions = [{"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": ready}]
    return {**node, "status": {"conditions": conditions, "allocatable": {"nvidia.com/gpu": gpus, "cpu": "64"}}}


def holding(name: str, *gpus: str, init: str = "0", **fields: Any) -> tuple[str, dict[str, Any]]:
    """A pod whose containers have so many GPUs."""
    containers = [{"name": str(n), "resources": {"limits": {"nvidia.com/gpu": each}}} for n, each in enumerate(gpus)]
    first = [{"name": "init", "resources": {"limits": {"nvidia.com/gpu": init}}}]
    node = fields.pop("node", "n1")
    spec = {"nodeName": node, "containers": containers, "initContainers": first}
    return f"/api/v1/namespaces/jobs/pods/{name}", objects.a_pod(name, spec=spec, **fields)


class Cluster(Objects):
    """Answers a new Job with whatever the test says happens then."""

    def __init__(self) -> None:
        super().__init__(JOBS, PODS, EVENTS, TEMPLATES, SERVICES, keys.PODS)
        self.react: React = lambda _: None

    async def answer(self, request: Any) -> Any:
        reply = await super().answer(request)
        if request.method == "POST" and request.path == JOBS:
            self.react(self.under(JOBS)[-1])
        return reply

    def end(self, job: dict[str, Any], how: str, **state: Any) -> None:
        """Have a Job end, and its pod with it."""
        name, uid = job["metadata"]["name"], job["metadata"]["uid"]
        self.pod(name, uid, phase="Succeeded" if how == "Complete" else "Failed", terminated=state)
        condition = {"type": how, "status": "True", "reason": "", "message": "it ended"}
        self.put(f"{JOBS}/{name}", {**job, "status": {"conditions": [condition]}})

    def pod(self, name: str, uid: str, *, phase: str, **state: Any) -> None:
        owner = {"kind": "Job", "uid": uid, "controller": True}
        labels = {keys.JOB_LABEL: name}
        status = {"phase": phase, "containerStatuses": [{"name": "probe", "state": state}]}
        metadata = {"name": f"{name}-p", "labels": labels, "ownerReferences": [owner]}
        self.put(f"{PODS}/{name}-p", {"metadata": metadata, "spec": {"nodeName": "n1"}, "status": status})


@pytest.fixture
def cluster(server: standin.StandIn) -> Cluster:
    there = Cluster()
    there.put(f"{keys.NODES}/n1", a_node())
    server.will(there.answer)
    return there


@pytest.fixture
def prober(cluster: Cluster, to_server: Client) -> Prober:
    return Prober(to_server, home=HOME, level=Level.BASELINE)


# ── what a node has ──────────────────────────────────────────────────────────────────────────────────────────────────


async def test_gpus_are_free_that_no_pod_has_asked_for(cluster: Cluster, prober: Prober) -> None:
    for path, pod in (
        holding("a", "1", "1"),
        holding("b", "1", init="3"),
        holding("waiting", "1", phase="Pending"),
        holding("ended", "2", phase="Succeeded"),
        holding("elsewhere", "2", node="n2"),
        holding("none"),
    ):
        cluster.put(path, pod)
    assert await prober.offer("n1") == Offer(
        node="n1", gpu_count=8, free_count=2, is_ready=True, has_links=False, by_claim=False
    )


async def test_more_than_there_are_leaves_none(cluster: Cluster, prober: Prober) -> None:
    cluster.put(*holding("a", "9"))
    assert (await prober.offer("n1")).free_count == 0


async def test_where_gpus_are_had_by_a_claim_those_are_free_that_no_claim_was_given(
    cluster: Cluster, prober: Prober
) -> None:
    cluster.put(f"{keys.NODES}/n1", a_node("0"))
    devices = [{"name": f"gpu-{number}"} for number in range(4)]
    spec = {"driver": "gpu.nvidia.com", "devices": devices}
    for node in ("n1", "n2"):
        published = {**spec, "nodeName": node, "pool": {"name": node, "generation": 1}}
        cluster.put(f"{keys.RESOURCE_SLICES[0]}/{node}", {"spec": published})
    claim = objects.a_claim("c", {"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-3"})
    elsewhere = objects.a_claim("d", {"driver": "gpu.nvidia.com", "pool": "n2", "device": "gpu-0"})
    for each in (claim, elsewhere):
        name = each["metadata"]["name"]
        cluster.put(f"/apis/resource.k8s.io/v1/namespaces/jobs/resourceclaims/{name}", each)
    found = await prober.offer("n1")
    assert (found.gpu_count, found.free_count, found.by_claim) == (4, 3, True)


async def test_a_node_without_gpus_offers_none_also_where_the_server_knows_no_claims(
    cluster: Cluster, prober: Prober
) -> None:
    cluster.put(f"{keys.NODES}/n1", a_node("0"))
    found = await prober.offer("n1")
    assert (found.gpu_count, found.free_count, found.by_claim) == (0, 0, False)


@pytest.mark.parametrize("ready", ["True", "False", "Unknown"])
async def test_a_node_is_ready_when_its_kubelet_says_so(cluster: Cluster, prober: Prober, ready: str) -> None:
    cluster.put(f"{keys.NODES}/n1", a_node(ready=ready))
    assert (await prober.offer("n1")).is_ready is (ready == "True")


# ── what comes of it ─────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_job_that_completes_has_passed_and_is_taken_away_with_its_pod(
    cluster: Cluster, prober: Prober, server: standin.StandIn
) -> None:
    cluster.react = lambda job: cluster.end(job, "Complete", exitCode=0, reason="Completed")
    measured = await prober.ask(GATE, OFFER)
    assert measured == Measurement(gate="nccl", node="n1", round=1, attempt=1, verdict=GateVerdict.PASSED)
    assert cluster.under(JOBS) == []
    gone = next(seen for seen in server.seen if seen.verb == "DELETE")
    assert b"Background" in gone.body or gone.query.get("propagationPolicy") == "Background"


async def test_the_job_is_of_no_rollout_and_goes_by_itself_should_its_asker_be_killed(
    cluster: Cluster, prober: Prober
) -> None:
    made: list[dict[str, Any]] = []

    def react(job: dict[str, Any]) -> None:
        made.append(job)
        cluster.end(job, "Complete", exitCode=0, reason="Completed")

    cluster.react = react
    await prober.ask(GATE, OFFER)
    (job,) = made
    assert "ownerReferences" not in job["metadata"]
    assert job["spec"]["ttlSecondsAfterFinished"] == KEPT_ALONE_SECONDS
    pod = job["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert pod["automountServiceAccountToken"] is False


async def test_where_gpus_are_had_by_a_claim_its_template_belongs_to_the_job(cluster: Cluster, prober: Prober) -> None:
    made: list[dict[str, Any]] = []
    cluster.react = made.append
    offer = Offer(node="n1", gpu_count=8, free_count=8, is_ready=True, has_links=False, by_claim=True)
    asking = asyncio.create_task(prober.ask(GATE, offer))
    async with asyncio.timeout(10):
        while not cluster.under(TEMPLATES):
            await asyncio.sleep(0.01)
        cluster.end(made[0], "Complete", exitCode=0, reason="Completed")
        assert (await asking).verdict is GateVerdict.PASSED
    (owner,) = cluster.under(TEMPLATES)[0]["metadata"]["ownerReferences"]
    job = made[0]["metadata"]
    assert owner == {"apiVersion": "batch/v1", "kind": "Job", "name": job["name"], "uid": job["uid"]}
    pod = made[0]["spec"]["template"]["spec"]
    assert pod["resourceClaims"][0]["resourceClaimTemplateName"] == cluster.under(TEMPLATES)[0]["metadata"]["name"]


async def test_a_gate_that_asks_for_no_gpu_needs_no_claim(cluster: Cluster, prober: Prober) -> None:
    cluster.react = lambda job: cluster.end(job, "Complete", exitCode=0, reason="Completed")
    offer = Offer(node="n1", gpu_count=8, free_count=8, is_ready=True, has_links=False, by_claim=True)
    await prober.ask(Gate(name="cpu", image="x", gpus=0), offer)
    assert cluster.under(TEMPLATES) == []


async def test_a_job_that_failed_says_its_last_words(cluster: Cluster, prober: Prober) -> None:
    cluster.react = lambda job: cluster.end(job, "Failed", exitCode=3, reason="Error", message="12 GB/s")
    measured = await prober.ask(GATE, OFFER)
    assert (measured.verdict, measured.detail) == (GateVerdict.FAILED, "exit code 3: 12 GB/s")


async def test_a_pod_that_is_not_let_in_is_told_at_once_with_the_reason(cluster: Cluster, prober: Prober) -> None:
    def refuse(job: dict[str, Any]) -> None:
        about = {"kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}
        told = {"involvedObject": about, "type": "Warning", "reason": "FailedCreate"}
        cluster.put(f"{EVENTS}/e", {**told, "message": 'Error creating: pods "x" is forbidden: exceeded quota: gpus'})

    cluster.react = refuse
    measured = await prober.ask(GATE, OFFER)
    assert (measured.verdict, measured.detail) == (
        GateVerdict.UNKNOWN,
        "its pod is not let in: exceeded quota: gpus",
    )
    assert cluster.under(JOBS) == []


async def test_a_container_that_does_not_start_is_told_at_once(cluster: Cluster, prober: Prober) -> None:
    waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
    cluster.react = lambda job: cluster.pod(
        job["metadata"]["name"], job["metadata"]["uid"], phase="Pending", waiting=waiting
    )
    measured = await prober.ask(GATE, OFFER)
    assert measured.verdict is GateVerdict.UNKNOWN
    assert measured.detail.startswith("its container does not start: ImagePullBackOff")


async def test_a_job_that_somebody_deleted_measured_nothing(cluster: Cluster, prober: Prober) -> None:
    cluster.react = lambda job: cluster.remove(f"{JOBS}/{job['metadata']['name']}")
    measured = await prober.ask(GATE, OFFER)
    assert (measured.verdict, measured.detail) == (GateVerdict.UNKNOWN, "somebody deleted its Job")


async def test_how_it_stands_is_told_when_it_changes_and_who_does_not_end_is_given_up(
    cluster: Cluster, to_server: Client
) -> None:
    """The clock of this test goes on by a minute at every look."""
    now = iter(range(0, 100_000, 60))
    prober = Prober(to_server, home=HOME, level=Level.RESTRICTED, clock=lambda: next(now))
    heard: list[str] = []

    def hear(state: str) -> None:
        heard.append(state)
        (job,) = cluster.under(JOBS)
        cluster.pod(job["metadata"]["name"], job["metadata"]["uid"], phase="Running", running={"startedAt": objects.AT})

    measured = await prober.ask(GATE, OFFER, hear)
    assert (measured.verdict, measured.detail) == (
        GateVerdict.UNKNOWN,
        "its Job did not end in time, nor was it ended",
    )
    assert heard == ["waiting", "running"]
    assert GATE.timeout_seconds + START_SECONDS + 60 < 60 * 4
    assert cluster.under(JOBS) == []


async def test_whoever_stops_asking_leaves_nothing_behind(cluster: Cluster, prober: Prober) -> None:
    asking = asyncio.create_task(prober.ask(GATE, OFFER))
    async with asyncio.timeout(10):
        while not cluster.under(JOBS):
            await asyncio.sleep(0)  # the Job is there, and the answer that says so is still under way
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        while cluster.under(JOBS):
            await asyncio.sleep(0.01)


async def test_a_namespace_that_is_not_there_is_an_error(to_server: Client, server: standin.StandIn) -> None:
    server.will(standin.refuses(404, "NotFound", 'namespaces "gates" not found'))
    with pytest.raises(errors.NotFound):
        await Prober(to_server, home=HOME, level=Level.BASELINE).ask(GATE, OFFER)
