"""By attrition on a real API server: nodes are closed while their jobs run, and taken when these end.

Beside the real GPU Operator; the jobs are real Jobs, whose pods kwok plays and ends. Nobody is evicted who may finish,
and a gang leaves all of its nodes at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from seatrial_lab.testbed.history import PodMoment
from seatrial_lab.testbed.nodes import manifests, stages
from seatrial_lab.testbed.nodes.fleet_spec import Workload
from seatrial_lab.testbed.plane.audit import AuditedRequest
from tests.e2e.campaigns import NEW, OLD, Stage, left_behind, staged

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane, pytest.mark.operator]

NODES = 5
HOUR = 3600


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(tmp_path_factory.mktemp("attrition"), "cluster-policy", node_count=NODES, is_synced=False) as made:
        made.gates.answer = lambda _run: ""
        yield made


def start(stage: Stage, name: str, driver: str, **attrition: Any) -> None:
    stage.rollout = name
    spec = {
        "target": {"driver": driver},
        "publish": {"via": "direct"},
        "canary": {"count": 1},
        "gates": [{"name": "smoke", "image": "example.org/smoke:1", "command": ["true"]}],
        "bake": {"durationSeconds": 2, "everySeconds": 2},
        "waves": {"growth": "percentages", "percentages": [100]},
        "limits": {"maxParallelUpgrades": 2, "maxUnavailable": 2, "maxIdleGPUs": 24},
        "attrition": attrition,
    }
    kind = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout"}
    stage.plane.apply([{**kind, "metadata": {"name": name}, "spec": spec}])


def evictions(stage: Stage) -> list[AuditedRequest]:
    return [each for each in stage.plane.requests("seatrial") if each.subresource == "eviction"]


def end(stage: Stage, job: Workload) -> None:
    """Let a job come to its end, as kwok plays it."""
    (pod,) = stage.beside.fleet.pods_of(job)
    where = ("-n", job.namespace, pod["metadata"]["name"])
    stage.plane.kubectl("annotate", "pod", *where, f"{stages.DONE_AFTER}=0s")


def closed_nodes(stage: Stage) -> set[str]:
    return {name for name, each in stage.history.latest().items() if each.is_cordoned}


def is_through(stage: Stage, node: str, left: set[str]) -> bool:
    """Whether a node runs the new driver, and only those left are closed: one more would be beyond maxUnavailable."""
    return stage.beside.driver_versions().get(node) == NEW and closed_nodes(stage) <= left


def test_nodes_are_closed_while_their_jobs_run_and_taken_when_these_end(stage: Stage) -> None:
    """Nobody is evicted; who is closed says what it waits for, and takes no slot meanwhile."""
    at_work = stage.beside.nodes[1:4]
    jobs = {node: stage.beside.fleet.add_job_pod(node, gpus=8) for node in at_work}
    start(stage, "patient", NEW, deadlineSeconds=HOUR, earlyEviction=False)
    stage.wait(
        lambda: all(stage.history.latest()[node].is_cordoned for node in at_work), "every node at work to be closed"
    )
    assert {stage.beside.driver_versions()[node] for node in at_work} == {OLD}
    told = stage.run("why", at_work[0], "--rollout", "patient").stdout
    assert "closed" in told, told
    left = set(at_work)
    stage.wait(lambda: closed_nodes(stage) == left, "the rest")
    for node, job in jobs.items():
        left.discard(node)
        end(stage, job)
        stage.wait(partial(is_through, stage, node, left), f"{node} to be taken when its job has ended")
    stage.wait_phase("Done")
    assert set(stage.beside.driver_versions().values()) == {NEW}
    assert evictions(stage) == []
    for node, job in jobs.items():
        (pod,) = stage.beside.fleet.pods_of(job)
        assert pod["status"]["phase"] == "Succeeded", f"the job of {node} has ended on its own"
    assert stage.status()["cost"]["evictions"] == 0
    assert not left_behind(stage)


def gang(stage: Stage, name: str, nodes: tuple[str, ...]) -> str:
    """An indexed Job that runs for ever, one pod on each of these nodes; returned is its namespace."""
    made = stage.beside.fleet.workload(name)
    job = manifests.job(made.name, made.namespace, nodes[0], gpus=8, runs_seconds=None, termination_seconds=0.0)
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    template = job["spec"]["template"]
    template["spec"] |= {"affinity": affinity, "nodeSelector": {}}
    count = len(nodes)
    job["spec"] = {"completions": count, "parallelism": count, "completionMode": "Indexed", "template": template}
    account = manifests.service_account(made.name, made.namespace)
    stage.plane.apply([manifests.namespace(made.namespace, stage.beside.spec.prefix), account, job])
    stage.wait(lambda: sorted(running(stage, made.namespace)) == sorted(nodes), "the gang to run")
    return made.namespace


def running(stage: Stage, namespace: str) -> list[str]:
    """The nodes on which a pod of a namespace runs."""
    found = stage.plane.get("pods", "-n", namespace)["items"]
    alive = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
    return [each["spec"]["nodeName"] for each in alive if each["status"]["phase"] == "Running"]


def test_at_the_deadline_a_gang_leaves_all_of_its_nodes_at_once(stage: Stage) -> None:
    """It starts again once: each of its pods is evicted one time, and both before either of its nodes is reloaded."""
    nodes = stage.beside.nodes[1:3]
    where = gang(stage, "gang", nodes)
    before = len(stage.history.moments)
    start(stage, "short", OLD, deadlineSeconds=HOUR)
    stage.wait(
        lambda: {stage.beside.driver_versions().get(name) for name in stage.beside.nodes[3:]} == {OLD}, "the others"
    )
    stage.wait(lambda: closed_nodes(stage) == set(nodes), "the gang alone to be left, closed")
    sooner = '{"spec":{"attrition":{"deadlineSeconds":600}}}'
    stage.plane.kubectl("patch", "gpurollouts.seatrial.dev", "short", "--type=merge", "-p", sooner)
    stage.wait_phase("Done")
    assert set(stage.beside.driver_versions().values()) == {OLD}
    assert len([each for each in evictions(stage) if each.namespace == where and each.code < 300]) == len(nodes)
    pods = [each for each in stage.history.moments[before:] if isinstance(each, PodMoment) and each.node in nodes]
    left = max(
        next(pod.at for pod in pods if pod.namespace == where and pod.is_leaving and pod.node == node) for node in nodes
    )
    reloaded = min(pod.at for pod in pods if pod.app == manifests.DRIVER_APP and pod.is_leaving)
    assert left <= reloaded
    stage.wait(lambda: sorted(running(stage, where)) == sorted(nodes), "the gang to run again")
    assert stage.status()["cost"]["evictions"] == 1, "a gang counts once"
