"""The network driver beside the real GPU Operator: alone and with the GPU's, by a campaign that publishes both.

The NicClusterPolicy's definition is the real one (of release v1.4.0); the DaemonSet is ours, and so is the little that
is played of the Network Operator and of the SR-IOV operator (testbed/nodes/network.py, sriov.py).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.core.model.seen.sriov import IDLE
from seatrial_lab.testbed.history import History, PodMoment
from seatrial_lab.testbed.nodes import manifests, network, sriov
from seatrial_lab.testbed.nodes.network import NetworkDriver
from tests.e2e.campaigns import NEW, OLD, PREFIX, Stage, left_behind, staged

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane, pytest.mark.operator]

BEFORE, AFTER, LATER = "24.10-0.7.0.0-0", "25.04-0.6.0.0-0", "25.07-0.9.7.0-0"
WAY = (
    "upgrade-required",
    "cordon-required",
    "wait-for-jobs-required",
    "pod-deletion-required",
    "drain-required",
    "pod-restart-required",
    "validation-required",
    "uncordon-required",
    "upgrade-done",
)
"""The states of a node whose drivers both move; a drain follows, since nobody can tell who uses the network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """A stage with both drivers, and what the label of the network driver said."""

    stage: Stage
    driver: NetworkDriver
    told: History


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("network")
    with (
        staged(folder, "cluster-policy", node_count=3, is_synced=False, has_network=True) as stage,
        network.installed(stage.plane, stage.beside.nodes, version=BEFORE) as driver,
        History(stage.plane, PREFIX, state_label=keys.NETWORK_STATE_LABEL) as told,
    ):
        yield Both(stage=stage, driver=driver, told=told)


def start(stage: Stage, name: str, driver: str, mofed: str) -> None:
    stage.rollout = name
    spec = {
        "target": {"driver": driver, "mofed": mofed},
        "publish": {"via": "direct"},
        "canary": {"count": 1},
        "gates": [{"name": "rdma", "image": "nvcr.io/nvidia/doca:2.9", "command": ["ibstat"], "gpus": 0}],
        "bake": {"durationSeconds": 4, "everySeconds": 2},
        "waves": {"growth": "percentages", "percentages": [100]},
        "limits": {"maxParallelUpgrades": 2, "maxUnavailable": 2},
    }
    kind = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout"}
    stage.plane.apply([{**kind, "metadata": {"name": name}, "spec": spec}])


def set_upgrade_policy(stage: Stage, **fields: Any) -> None:
    body = json.dumps({"spec": {"ofedDriver": {"upgradePolicy": fields}}})
    stage.plane.kubectl("patch", network.RESOURCE, network.POLICY, "--type=merge", "-p", body)


def policy_version(stage: Stage) -> str:
    found = stage.plane.get(network.RESOURCE, network.POLICY)["spec"]["ofedDriver"]["version"]
    return str(found)


def cordons(history: History, node: str) -> list[bool]:
    return [key for key, _ in groupby(moment.is_cordoned for moment in history.nodes() if moment.name == node)]


def restarts(history: History, node: str, app: str) -> list[tuple[float, float]]:
    """Of each restart of a pod on a node: when the old one was told to go, and when the new one was Ready."""
    seen: dict[str, list[PodMoment]] = {}
    for pod in history.pods(app):
        if pod.node == node:
            seen.setdefault(pod.uid, []).append(pod)
    told = [next(pod.at for pod in pods if pod.is_leaving or pod.is_gone) for pods in list(seen.values())[:-1]]
    ready = [next(pod.at for pod in pods if pod.is_ready) for pods in list(seen.values())[1:]]
    return list(zip(told, ready, strict=True))


def test_while_its_own_operator_upgrades_by_itself_nothing_begins(both: Both) -> None:
    set_upgrade_policy(both.stage, autoUpgrade=True)
    start(both.stage, "delegated", OLD, AFTER)
    both.stage.wait(
        lambda: "network-delegated" in str(both.stage.status().get("waits", "")), "the rollout to say why it waits"
    )
    assert policy_version(both.stage) == BEFORE
    both.stage.plane.kubectl("delete", "gpurollout", "delegated", "--timeout=60s")
    set_upgrade_policy(both.stage, autoUpgrade=False)


def test_both_drivers_move_in_one_visit_network_first(both: Both) -> None:
    """One cordon, one eviction of each pod, two restarts in their order, and both labels tell the story."""
    stage = both.stage
    jobs = stage.beside.fleet.add_workload("train", replicas=3, gpus_per_pod=8)
    others = stage.beside.fleet.add_workload("web", replicas=3, gpus_per_pod=0)
    start(stage, "both", NEW, AFTER)
    stage.wait_phase("Done")
    assert both.driver.versions() == dict.fromkeys(both.driver.nodes, AFTER)
    assert set(stage.beside.driver_versions().values()) == {NEW}
    assert policy_version(stage) == AFTER
    for node in both.driver.nodes:
        assert cordons(stage.history, node) == [False, True, False], node
        assert tuple(stage.history.states(node))[-len(WAY) :] == WAY
        assert both.told.states(node)[-1] == "upgrade-done"
        assert [state for state in both.told.states(node) if state in WAY[1:]] == list(WAY[1:])
        ((network_gone, network_back),) = restarts(stage.history, node, network.APP)
        ((gpu_gone, gpu_back),) = restarts(stage.history, node, manifests.DRIVER_APP)
        assert network_gone < network_back <= gpu_gone < gpu_back, node
    evicted = [each for each in stage.plane.requests("seatrial") if each.subresource == "eviction" and each.code < 300]
    names = [each.name for each in evicted]
    assert len(names) == len(set(names)), "nobody was evicted twice"
    for workload in (jobs, others):
        assert {each.namespace for each in evicted} >= {workload.namespace}
        stage.plane.kubectl("delete", "namespace", workload.namespace, "--wait=false")
    assert not left_behind(stage)


def test_a_visit_never_meets_a_drain_of_the_sriov_operator(both: Both) -> None:
    """The network driver alone: the node on which NICs are being set up is left until that is over."""
    stage, (*others, busy) = both.stage, both.driver.nodes
    drivers = {node: pod["metadata"]["uid"] for node, pod in stage.beside.fleet.driver_pods().items()}
    sriov.go_on(stage.plane, busy)
    before = len(cordons(stage.history, busy))
    start(stage, "nics", NEW, LATER)
    stage.wait(
        lambda: all(both.driver.versions().get(node) == LATER for node in others), "the other nodes to have moved"
    )
    stage.wait(lambda: "sriov-at-work" in json.dumps(stage.status()), "the rollout to say why it waits")
    assert both.driver.versions()[busy] == AFTER
    assert len(cordons(stage.history, busy)) == before
    while sriov.go_on(stage.plane, busy) != IDLE:
        assert both.driver.versions()[busy] == AFTER
    stage.wait_phase("Done")
    assert both.driver.versions() == dict.fromkeys(both.driver.nodes, LATER)
    found = {node: pod["metadata"]["uid"] for node, pod in stage.beside.fleet.driver_pods().items()}
    assert found == drivers, "no GPU driver was restarted"
