"""Marks for neighbours on a real API server: there while a node is visited, and gone after an abort, a crash,
a deletion and an uninstall; what a person put there stays throughout.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.core.model.seen.marks import BY_KEY, NEIGHBOURS, Place
from seatrial.sim.neighbours import Neighbour
from seatrial_lab.testbed.nodes.autoscaler import Autoscaler
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.campaigns import LEASE_SECONDS
from tests.e2e.light_stage import LightStage, light_stage

pytestmark = pytest.mark.cluster

PREFIX = "beside"
SIGNS = ("karpenter.sh/registered=true", "nvsentinel.dgxc.nvidia.com/driver.installed=true")
ALL = {each.mark.key: each.mark.value for each in NEIGHBOURS}
AUTOSCALER = NEIGHBOURS[0].mark.key


@pytest.fixture(scope="module")
def shared(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    """The stage of all stories; on its nodes every neighbour is at work."""
    with light_stage(cluster, tmp_path_factory.mktemp(PREFIX), PREFIX, node_count=2) as made:
        for name in made.fleet.nodes:
            cluster.kubectl("label", "node", name, *SIGNS)
        yield made


@pytest.fixture
def stage(shared: LightStage) -> Iterator[LightStage]:
    """The stage, with nothing left of the story before."""
    shared.open()
    yield shared
    for name in shared.fleet.driver_faults():
        shared.fleet.mend(name)
    for name in shared.fleet.nodes:
        notes = (each.mark.key for each in NEIGHBOURS if each.mark.place is Place.ANNOTATION)
        shared.plane.kubectl("annotate", "node", name, *(f"{key}-" for key in notes))


def kept_off(stage: LightStage, node: str) -> dict[str, str]:
    """What stands on a node for its neighbours."""
    meta = stage.node(node)
    return {key: value for key, value in {**meta["labels"], **meta["annotations"]}.items() if key in BY_KEY}


def anywhere(stage: LightStage) -> dict[str, dict[str, str]]:
    """The nodes with a mark for anybody."""
    return {name: found for name in stage.fleet.nodes if (found := kept_off(stage, name))}


def begin_broken(stage: LightStage, name: str, **spec: Any) -> str:
    """A rollout whose canary's new driver does not come up; the canary, in the midst of its visit."""
    for node in stage.fleet.nodes:
        stage.fleet.break_driver(node, "module-load")
    stage.begin(name, **spec)
    stage.wait(lambda: bool(stage.campaign().get("canaries")), "a canary to be chosen")
    stage.wait(lambda: kept_off(stage, stage.canary) == ALL, "the canary to be marked for every neighbour")
    return stage.canary


def begin_failed(stage: LightStage, name: str, **spec: Any) -> str:
    """A rollout without a canary one of whose nodes has failed, and stays closed."""
    broken = stage.fleet.nodes[0]
    stage.fleet.break_driver(broken, "module-load", restart_count=10)
    stage.set_version(stage.target)
    stage.rollout = name
    stage.made.append(name)
    limits = {"maxParallelUpgrades": 0, "maxUnavailable": "100%", "maxFailed": 3}
    body = {"target": {"driver": stage.target}, "nodeSelector": {"kubernetes.io/hostname": broken}, "limits": limits}
    kind = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout", "metadata": {"name": name}}
    stage.plane.apply([{**kind, "spec": {**body, **spec}}])
    stage.wait_held("failed", broken)
    assert kept_off(stage, broken) == ALL, "a failed node keeps them"
    return broken


@contextmanager
def nobody_leads(stage: LightStage) -> Iterator[None]:
    """The controller is stopped, as it is when its Deployment runs none."""
    stage.controller.stop()
    try:
        yield
    finally:
        stage.controller.start()


def test_a_rollout_that_ends_well_leaves_no_mark_but_the_one_that_a_person_put_there(stage: LightStage) -> None:
    theirs = stage.fleet.nodes[0]
    stage.plane.kubectl("annotate", "node", theirs, f"{AUTOSCALER}=true")
    stage.begin("plain")
    stage.wait_phase("Done")
    assert anywhere(stage) == {theirs: {AUTOSCALER: "true"}}


def test_a_controller_killed_in_the_midst_of_a_visit_leaves_no_mark_once_the_next_one_is_through(
    stage: LightStage,
) -> None:
    canary = begin_broken(stage, "killed")
    stage.controller.kill()
    assert kept_off(stage, canary) == ALL, "nobody is there to take them off"
    for node in stage.fleet.nodes:
        stage.fleet.mend(node)
    stage.controller.start()
    stage.wait_phase("Done")
    assert anywhere(stage) == {}


def test_autoscalers_leave_a_visited_node_alone_and_remove_one_that_nobody_spares(stage: LightStage) -> None:
    bare = f"{PREFIX}-bare"
    meta = {"name": bare, "labels": {"testbed.seatrial.dev/scaled": "true"}}
    stage.plane.apply([{"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": {"unschedulable": True}}])
    canary = begin_broken(stage, "scaled")
    stage.label(canary, "testbed.seatrial.dev/scaled=true")
    with Autoscaler(stage.plane, "testbed.seatrial.dev/scaled=true", idle_seconds=2) as autoscaler:
        stage.wait(lambda: bool(autoscaler.removed), "the node that nobody spares to be removed")
        looks = autoscaler.look_count + 12
        stage.wait(lambda: autoscaler.look_count >= looks, "the autoscalers to have had time for the other")
        assert autoscaler.removed == [(bare, Neighbour.AUTOSCALER)]
        assert stage.cordoned() == [canary]
        for node in stage.fleet.nodes:
            stage.fleet.mend(node)
        stage.wait_phase("Done")
        assert autoscaler.removed == [(bare, Neighbour.AUTOSCALER)]
    stage.label(canary, "testbed.seatrial.dev/scaled-")


def report(stage: LightStage, node: str, type_: str, status: str, at: str) -> None:
    """What node-problem-detector says of a node."""
    said = {"type": type_, "status": status, "reason": "TaskHung", "message": "task nvidia-modprobe is blocked"}
    body = json.dumps({"status": {"conditions": [{**said, "lastTransitionTime": at}]}})
    stage.plane.kubectl("patch", "node", node, "--subresource=status", "--type=strategic", "-p", body)


def test_a_node_whose_kernel_is_reported_broken_since_its_driver_started_is_not_given_back(stage: LightStage) -> None:
    canary = begin_broken(stage, "hung")
    later = (datetime.now(UTC) + timedelta(minutes=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    report(stage, canary, "FrequentKubeletRestart", "True", later)
    report(stage, canary, "KernelDeadlock", "True", later)
    for node in stage.fleet.nodes:
        stage.fleet.mend(node)
    told = stage.wait_held("node-problem", canary)
    assert "the node reports KernelDeadlock: task nvidia-modprobe is blocked" in told
    said = stage.run("why", canary).stdout
    assert "Problem   FrequentKubeletRestart" in said
    assert "Problem   KernelDeadlock" in said
    report(stage, canary, "KernelDeadlock", "False", later)
    stage.wait_phase("Done")


def test_an_abort_leaves_no_mark(stage: LightStage) -> None:
    canary = begin_broken(stage, "aborted")
    assert "Kept off  Karpenter, by rollout aborted, until its upgrade ends" in stage.run("why", canary).stdout
    stage.do("rollout", "abort", "aborted", "--reason", "it does not load", "-y")
    for node in stage.fleet.nodes:
        stage.fleet.mend(node)
    stage.wait_phase("Reverted")
    stage.wait(lambda: not anywhere(stage), "every mark to be gone")


def test_a_rollout_that_is_deleted_takes_its_marks_off_a_failed_node_which_stays_closed(stage: LightStage) -> None:
    broken = begin_failed(stage, "deleted")
    stage.plane.kubectl("delete", "gpurollout", "deleted", "--timeout=60s")
    assert anywhere(stage) == {}
    assert stage.cordoned() == [broken]
    assert keys.RECORD_ANNOTATION in stage.node(broken)["annotations"]


def test_an_uninstall_takes_every_mark_off_also_where_the_node_stays_closed(stage: LightStage) -> None:
    broken = begin_failed(stage, "gone")
    with nobody_leads(stage):
        stage.do("uninstall", "--dry-run")
        assert kept_off(stage, broken) == ALL, "a dry run writes nothing"
        said = stage.do("uninstall", "--lease-seconds", str(LEASE_SECONDS))
        assert f"Node {broken} stays as it is: we cordoned it, and its driver is not validated" in said
        assert anywhere(stage) == {}
        assert stage.cordoned() == [broken]


def test_marks_that_no_rollout_answers_for_any_more_go_with_an_uninstall(stage: LightStage) -> None:
    broken = begin_failed(stage, "lost")
    with nobody_leads(stage):
        stage.plane.kubectl("patch", "gpurollout", "lost", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        stage.plane.kubectl("delete", "gpurollout", "lost", "--timeout=30s")
        assert kept_off(stage, broken) == ALL
        stage.do("uninstall", "--lease-seconds", str(LEASE_SECONDS))
        assert anywhere(stage) == {}
