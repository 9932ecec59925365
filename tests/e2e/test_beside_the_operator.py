"""Beside the real GPU Operator: we see what it has, leave its work to it, and do ours when it is told not to.

It would take the nodes of every other test for its own, so it gets a control plane to itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.core.model.campaign import Mode
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.neighbours import operator
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.e2e.promises import PATH, most_unavailable, most_under_way
from tests.e2e.sights import look

pytestmark = [pytest.mark.cluster, pytest.mark.operator]

OLD, NEW = "570.124.06", "570.172.08"
ROLLOUT, PREFIX = "beside", "operator"
PARALLEL = 2
TIMEOUT_SECONDS = 90.0


@pytest.fixture(scope="module")
def lone_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane that no other test uses, with everything of ours installed."""
    with ControlPlane.start(tmp_path_factory.mktemp("beside-the-operator")) as started:
        controller_process.install(started)
        yield started


@pytest.fixture(scope="module")
def beside(lone_plane: ControlPlane) -> Iterator[operator.GpuOperator]:
    """The operator with five nodes, moving them itself; the tests go on where the one before left it."""
    with operator.GpuOperator.start(lone_plane, operator.OperatorSpec(auto_upgrade=True, prefix=PREFIX)) as started:
        started.wait_ready()
        yield started


@pytest.fixture(scope="module")
def account(lone_plane: ControlPlane) -> Path:
    """The controller's kubeconfig."""
    return controller_process.identity(lone_plane, ROLLOUT)


def snapshot_of(plane: ControlPlane) -> Snapshot:
    """What our observer makes of the cluster."""
    return look(plane, ROLLOUT).seen


def status(plane: ControlPlane) -> tuple[int, dict[str, Any]]:
    """What `seatrial status -o json` says, and its exit code."""
    done = forked.run("status", "-o", "json", "--kubeconfig", str(plane.kubeconfig))
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def make_rollout(plane: ControlPlane, target: str) -> None:
    limits = {"maxParallelUpgrades": PARALLEL, "maxUnavailable": PARALLEL}
    spec = {"target": {"driver": target}, "limits": limits}
    kind = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout"}
    plane.apply([{**kind, "metadata": {"name": ROLLOUT}, "spec": spec}])


def wait_for(is_so: Callable[[], bool], what: str, describe: Callable[[], object]) -> None:
    waiting.wait_for(
        is_so,
        what=what,
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=0.2,
        describe=lambda: str(describe()),
    )


@pytest.mark.long
def test_while_the_operator_moves_the_nodes_we_describe_it_and_touch_nothing(
    lone_plane: ControlPlane, beside: operator.GpuOperator, account: Path, tmp_path: Path
) -> None:
    wake(lone_plane)
    done = dict.fromkeys(beside.nodes, "upgrade-done")
    wait_for(lambda: beside.upgrade_states() == done, "the operator to have seen its nodes", beside.upgrade_states)

    code, said = status(lone_plane)
    assert code == 0
    assert said["mode"] == "delegated"
    assert said["operator"] == {
        "kind": f"ClusterPolicy/{operator.CLUSTER_POLICY}",
        "state": "ready",
        "driverVersion": OLD,
        "autoUpgrade": True,
    }
    assert said["rollout"] is None
    assert [(node["name"], node["nvidiaState"], node["driver"], node["wanted"]) for node in said["nodes"]] == [
        (name, "upgrade-done", OLD, OLD) for name in beside.nodes
    ]

    make_rollout(lone_plane, NEW)
    seen = snapshot_of(lone_plane)
    assert seen.operator.mode is Mode.DELEGATED
    assert sorted(seen.nodes) == sorted(beside.nodes)
    for node in seen.nodes.values():
        assert node.facts.driver is not None
        assert (node.facts.driver.version, node.facts.driver.is_ready, node.facts.is_in_sync) == (OLD, True, True)
        assert node.facts.validator is not None
        assert node.facts.validator.is_ready
        assert node.facts.nvidia_state == "upgrade-done"
        assert node.facts.gpu_pods == ()
        assert node.record is None

    with ControllerProcess(account, ROLLOUT, tmp_path) as controller:
        wait_for(
            lambda: has_said(lone_plane, "mode-contradiction"), "the controller to hold", lambda: status(lone_plane)
        )
        assert controller.stop() == 0
    code, said = status(lone_plane)
    assert (code, said["mode"], said["rollout"]["state"]) == (12, "delegated", "waiting")
    assert [(held["code"], held["count"]) for held in said["holds"]] == [("mode-contradiction", len(beside.nodes))]
    assert node_writes(lone_plane) == []


def test_with_automatic_upgrades_off_we_upgrade_the_operators_nodes(
    lone_plane: ControlPlane, beside: operator.GpuOperator, account: Path, tmp_path: Path
) -> None:
    make_rollout(lone_plane, NEW)
    beside.set_auto_upgrade(is_on=False)
    wait_for(lambda: not beside.upgrade_states(), "the operator to strip its states", beside.upgrade_states)
    seen = snapshot_of(lone_plane)
    assert seen.operator.mode is Mode.DIRECT
    assert {node.facts.nvidia_state for node in seen.nodes.values()} == {""}

    with History(lone_plane, PREFIX) as history, ControllerProcess(account, ROLLOUT, tmp_path) as controller:
        history.wait_for(
            lambda: all(node.state == "upgrade-done" for node in history.latest().values()),
            what="the controller to have seen every node",
            timeout_seconds=TIMEOUT_SECONDS,
            check=controller.check,
        )
        beside.set_driver_version(NEW)
        history.wait_for(
            lambda: all(tuple(history.states(name)) == PATH for name in beside.nodes),
            what="every node to be upgraded",
            timeout_seconds=TIMEOUT_SECONDS,
            check=controller.check,
        )
        wait_for(lambda: status(lone_plane)[1]["rollout"]["state"] == "done", "the end", lambda: status(lone_plane))
        assert controller.stop() == 0

    assert beside.driver_versions() == dict.fromkeys(beside.nodes, NEW)
    assert most_under_way(history) <= PARALLEL
    assert most_unavailable(history) <= PARALLEL
    assert not any(node.is_cordoned for node in history.latest().values())
    assert beside.upgrade_states() == {}
    beside.wait_ready()
    for node in snapshot_of(lone_plane).nodes.values():
        driver, validator = node.facts.driver, node.facts.validator
        assert driver is not None
        assert validator is not None
        assert driver.ready_since is not None
        assert validator.ready_since is not None
        assert validator.ready_since >= driver.ready_since


def wake(plane: ControlPlane) -> None:
    """Let the operator's upgrade controller look at its nodes now, by a change that it watches and that means nothing.

    Otherwise it looks every two minutes.
    """
    plane.kubectl("label", "nodes", "--all", f"{keys.SKIP_LABEL}=false")
    plane.kubectl("label", "nodes", "--all", f"{keys.SKIP_LABEL}-")


def has_said(plane: ControlPlane, code: str) -> bool:
    return code in plane.get("gpurollout", ROLLOUT).get("status", {}).get("holds", {})


def node_writes(plane: ControlPlane) -> list[str]:
    """What our controller wrote to nodes or pods, by the API server's own account."""
    return [
        f"{each.verb} {each.request_uri}"
        for each in plane.requests("seatrial")
        if each.verb not in ("list", "watch") and each.resource in ("nodes", "pods")
    ]
