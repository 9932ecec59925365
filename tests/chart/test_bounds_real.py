"""What our accounts may write, by a real API server: the controller its own keys, a driver manager its node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from seatrial import manifests
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.errors import KubectlFailed
from seatrial_lab.testbed.nodes.manifests import service_account
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.chart.charts import NAMESPACE
from tests.chart.planes import a_rollout, as_account, charted

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

OURS = f"{NAMESPACE}/seatrial-controller"
DRIVER = "gpu-operator/nvidia-driver"
POOLS = "machineconfigpools.machineconfiguration.openshift.io"
NODE, POD = f"{keys.NODES}/n1", "/api/v1/namespaces/people/pods/job"
ROLLOUT = f"{keys.ROLLOUTS}/spring"
FLAGS = ("checkpointNamespaces={people}", "features.machineConfigPools=true")


def a_pod(namespace: str, name: str, account: str, node: str) -> dict[str, Any]:
    container = {"name": "main", "image": "example.invalid/job:1"}
    spec = {"nodeName": node, "serviceAccountName": account, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def a_pool(name: str, *, is_ours: bool = False) -> dict[str, Any]:
    labels = {keys.ROLLOUT_LABEL: "spring"} if is_ours else {}
    chosen = {keys.CANARY_LABEL: "spring"} if is_ours else {"worker": ""}
    return {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "MachineConfigPool",
        "metadata": {"name": name, "labels": labels},
        "spec": {"paused": False, "nodeSelector": {"matchLabels": chosen}},
    }


def definition() -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    group, plural, kind = "machineconfiguration.openshift.io", "machineconfigpools", "MachineConfigPool"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": POOLS, "annotations": {"api-approved.kubernetes.io": "https://example.com"}},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    said = [word for each in FLAGS for word in ("--set", each)]
    with charted(tmp_path_factory.mktemp("bound"), *said) as made:
        made.define([definition()])
        accounts = [service_account("nvidia-driver", "gpu-operator"), service_account("job", "people")]
        nodes = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in ("n1", "n2")]
        made.apply([*accounts, *nodes, *yaml.safe_load_all(manifests.driver_manager())])
        drivers = [a_pod("gpu-operator", f"driver-{each}", "nvidia-driver", each) for each in ("n1", "n2")]
        made.apply([a_pod("people", "job", "job", "n1"), *drivers, a_rollout(), a_pool("worker"), a_pool("theirs")])
        yield made


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (NODE, {"spec": {"unschedulable": True}, "metadata": {"annotations": {keys.RECORD_ANNOTATION: "{}"}}}),
        (NODE, {"spec": {"unschedulable": None}, "metadata": {"annotations": {keys.RECORD_ANNOTATION: None}}}),
        (NODE, {"metadata": {"labels": {keys.STATE_LABEL: "done", keys.NVIDIA_STATE_LABEL: "upgrade-done"}}}),
        (
            NODE,
            {
                "metadata": {
                    "labels": {f"{keys.DEPLOY_PREFIX}dcgm": "paused-for-driver-upgrade", keys.SKIP_LABEL: "true"}
                }
            },
        ),
        (NODE, {"metadata": {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}}),
        (POD, {"metadata": {"annotations": {keys.CHECKPOINT_REQUESTED_ANNOTATION: "1"}}}),
        (ROLLOUT, {"metadata": {"finalizers": [keys.FINALIZER]}}),
        (ROLLOUT, {"metadata": {"finalizers": None}}),
        (
            f"{keys.MACHINE_POOLS}/worker",
            {"spec": {"paused": True}, "metadata": {"annotations": {keys.PAUSED_BY_ANNOTATION: "spring"}}},
        ),
    ],
)
def test_the_controller_writes_what_is_its_own(plane: ControlPlane, path: str, body: dict[str, Any]) -> None:
    as_account(plane, OURS, path, body)


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        (NODE, {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}, "may not write node-role"),
        (NODE, {"metadata": {"annotations": {"example.com/team": "x"}}}, "may not write example.com/team"),
        (NODE, {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}, "may write unschedulable alone"),
        (NODE, {"metadata": {"finalizers": ["example.com/keep"]}}, "other finalizers, or owners"),
        (POD, {"spec": {"containers": [{"name": "main", "image": "example.invalid/miner:1"}]}}, "nothing of it"),
        (POD, {"metadata": {"labels": {"app": "nvidia-driver-daemonset"}}}, "may not write app"),
        (ROLLOUT, {"spec": {"paused": True}}, "nothing of it"),
        (f"{keys.MACHINE_POOLS}/worker", {"spec": {"machineConfigSelector": {}}}, "may write paused alone"),
        (f"{keys.MACHINE_POOLS}/theirs", {"metadata": {"labels": {"pool": "x"}}}, "may not write pool"),
    ],
)
def test_the_controller_may_not_write_what_is_not_its_own(
    plane: ControlPlane, path: str, body: dict[str, Any], why: str
) -> None:
    with pytest.raises(errors.ClusterError, match=why):
        as_account(plane, OURS, path, body)


def test_the_controller_makes_and_deletes_no_pool_but_a_canarys(plane: ControlPlane) -> None:
    who = f"--as=system:serviceaccount:{OURS.replace('/', ':')}"
    plane.kubectl("create", who, "-f", "-", stdin=json.dumps(a_pool("gpu-canary", is_ours=True)))
    plane.kubectl("delete", POOLS, "gpu-canary", who, "--wait=false")
    with pytest.raises(KubectlFailed, match="no MachineConfigPool but a canary's"):
        plane.kubectl("create", who, "-f", "-", stdin=json.dumps(a_pool("everything")))
    with pytest.raises(KubectlFailed, match="no MachineConfigPool but a canary's"):
        plane.kubectl("delete", POOLS, "theirs", who, "--wait=false")


def test_a_driver_manager_writes_its_own_node_and_no_other(plane: ControlPlane) -> None:
    namespace, name = DRIVER.split("/")
    make = ("create", "token", name, "-n", namespace)
    here = plane.kubectl(*make, "--bound-object-kind=Pod", "--bound-object-name=driver-n1").strip()
    nowhere = plane.kubectl(*make).strip()
    body = {"metadata": {"labels": {f"{keys.DEPLOY_PREFIX}dcgm": "paused-for-driver-upgrade"}}}
    as_account(plane, DRIVER, f"{keys.NODES}/n1", body, token=here)
    for token, node in ((here, "n2"), (nowhere, "n1")):
        with pytest.raises(errors.ClusterError, match="writes the node on which its pod runs"):
            as_account(plane, DRIVER, f"{keys.NODES}/{node}", body, token=token)


@pytest.mark.parametrize("name", ["seatrial-controller", "seatrial-controller-pools", "seatrial-driver-manager"])
def test_the_expressions_of_a_bound_fit_what_they_judge(plane: ControlPlane, name: str) -> None:
    def typed() -> dict[str, Any] | None:
        policy = plane.get("validatingadmissionpolicy", name)
        status: dict[str, Any] = policy.get("status", {})
        return status if status.get("observedGeneration") == policy["metadata"]["generation"] else None

    status = waiting.wait_for(typed, what="the policy's types to be checked", timeout_seconds=60)
    assert not status.get("typeChecking", {}).get("expressionWarnings"), status
