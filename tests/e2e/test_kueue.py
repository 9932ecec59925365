"""Workloads of Kueue on a real API server: suspended before their pods leave, active again at the end and after a kill.

The definition is ours, with the shape of Kueue's own (kueue.x-k8s.io/v1beta1, spec.active, a Job as owner), and nobody
runs Kueue: what it does with a Workload that is not active, the suspension of its Job, is done here; the pods are ended
by the real Job controller.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial import manifests
from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.nodes import kueue as definitions
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec, Workload
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import RolloutMaker

pytestmark = pytest.mark.cluster

PREFIX = "queued"
OLD, NEW = "570.124.06", "580.105.08"
MARKS = {keys.SUSPENDED_BY_ANNOTATION, keys.SUSPENDED_FOR_ANNOTATION}


@pytest.fixture(scope="module")
def kueue(cluster: ControlPlane) -> ControlPlane:
    definitions.load_crd(cluster)
    return cluster


def account(plane: ControlPlane, name: str) -> Path:
    """What the shipped manifests grant with --kueue, and nothing else."""
    granted = yaml.safe_load_all(manifests.rbac(has_kueue=True))
    objects = [item for item in granted if item["metadata"]["name"] == "seatrial-controller-kueue"]
    for item in objects:
        if item["kind"] == "ClusterRoleBinding":
            item["subjects"] = [{"kind": "ServiceAccount", "name": name, "namespace": "seatrial"}]
    plane.apply(objects)
    return controller_process.identity(plane, name)


def enqueue(plane: ControlPlane, job: Workload) -> None:
    """Make the Workload that Kueue would have made for a Job."""
    found = plane.get("job", job.name, "-n", job.namespace)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job.name, "uid": found["metadata"]["uid"]}
    meta = {"name": f"job-{job.name}", "namespace": job.namespace, "ownerReferences": [{**owner, "controller": True}]}
    kind = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload"}
    plane.apply([{**kind, "metadata": meta, "spec": {"active": True, "queueName": "gpus"}}])


def workload(plane: ControlPlane, job: Workload) -> dict[str, Any]:
    return plane.get("workloads.kueue.x-k8s.io", f"job-{job.name}", "-n", job.namespace)


def is_active(plane: ControlPlane, job: Workload) -> bool:
    found = workload(plane, job)
    assert (not found["spec"]["active"]) == bool(MARKS & set(found["metadata"].get("annotations", {})))
    return bool(found["spec"]["active"])


def play_kueue(plane: ControlPlane, job: Workload) -> None:
    """Suspend the Job of a Workload once that is not active, as Kueue does."""
    waiting.wait_for(
        lambda: not is_active(plane, job),
        what="the Workload to be suspended",
        timeout_seconds=60,
        pause_seconds=0.2,
        describe=lambda: json.dumps(workload(plane, job)),
    )
    body = json.dumps({"spec": {"suspend": True}})
    plane.kubectl("patch", "job", job.name, "-n", job.namespace, "--type=merge", "-p", body)


def a_fleet(plane: ControlPlane, prefix: str) -> tuple[Fleet, Workload]:
    fleet = make_fleet(plane, FleetSpec(prefix=prefix, node_count=1, driver_version=OLD, reload_seconds=0.5))
    job = fleet.add_job_pod(fleet.nodes[0], name="train", gpus=8)
    enqueue(plane, job)
    return fleet, job


def wait_done(history: History, node: str, controller: ControllerProcess) -> None:
    history.wait_for(
        lambda: len(found := history.states(node)) > 1 and found[-1] == "upgrade-done",
        what="the node to be done",
        timeout_seconds=120,
        check=controller.check,
    )


@pytest.mark.parametrize("is_killed", [False, True], ids=["in-one-go", "after-a-kill"])
def test_a_workload_is_suspended_for_the_visit_and_active_again_after_it(
    kueue: ControlPlane, make_rollout: RolloutMaker, tmp_path: Path, *, is_killed: bool
) -> None:
    name = f"{PREFIX}-{'killed' if is_killed else 'whole'}"
    fleet, job = a_fleet(kueue, name)
    (node,) = fleet.nodes
    checkpoint = {"kueue": True, "timeoutSeconds": 60}
    make_rollout(name, fleet=name, target=NEW, limits={"maxUnavailable": 1}, checkpoint=checkpoint)
    told = ControllerProcess(account(kueue, name), name, tmp_path, lease_seconds=5, arguments=("--kueue",))
    with History(kueue, name) as history, told as controller:
        history.wait_for(
            lambda: history.states(node) == ["upgrade-done"],
            what="the controller to have seen the node",
            timeout_seconds=60,
            check=controller.check,
        )
        fleet.set_driver_version(NEW)
        play_kueue(kueue, job)
        notes = workload(kueue, job)["metadata"]["annotations"]
        assert notes[keys.SUSPENDED_FOR_ANNOTATION] == node
        if is_killed:
            controller.kill()
            controller.start()
        wait_done(history, node, controller)
        waiting.wait_for(
            lambda: is_active(kueue, job), what="the Workload to be active again", timeout_seconds=30, pause_seconds=0.2
        )
        assert controller.stop() == 0
    evictions = [each for each in kueue.requests("seatrial") if each.subresource == "eviction"]
    assert [each for each in evictions if job.namespace in str(each)] == []


def test_a_controller_that_was_not_told_of_kueue_moves_nobody_and_says_so(
    kueue: ControlPlane, make_rollout: RolloutMaker, tmp_path: Path
) -> None:
    name = f"{PREFIX}-unseen"
    fleet, job = a_fleet(kueue, name)
    make_rollout(name, fleet=name, target=NEW, limits={"maxUnavailable": 1}, checkpoint={"kueue": True})
    fleet.set_driver_version(NEW)
    with ControllerProcess(controller_process.identity(kueue, name), name, tmp_path, lease_seconds=5) as controller:
        waiting.wait_for(
            lambda: "kueue-unseen" in json.dumps(kueue.get("gpurollout", name).get("status", {})),
            what="the rollout to say why it waits",
            timeout_seconds=60,
            describe=lambda: json.dumps(kueue.get("gpurollout", name).get("status", {})),
        )
        assert controller.stop() == 0
    assert is_active(kueue, job)
    assert set(fleet.driver_versions().values()) == {OLD}
