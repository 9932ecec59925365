"""`seatrial gates run` on a node that gives its GPUs out through DRA only: the real scheduler allocates them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.cli import main
from seatrial_lab.testbed.neighbours.gate_runs import Ended, GateRuns, Run
from seatrial_lab.testbed.nodes import dra
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.waiting import wait_for

pytestmark = pytest.mark.cluster

NAMESPACE = "gates-claimed"
NODE = "claimed-1"
MEASURED = '{"measured": [{"name": "latency-p50", "value": 99.9, "unit": "µs", "gpu": "GPU-1"}]}'


@pytest.fixture(scope="module")
def place(plane: ControlPlane) -> Iterator[ControlPlane]:
    """A node that kwok plays and whose GPUs only a DRA driver tells of, and a namespace."""
    node: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NODE,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {"kubernetes.io/hostname": NODE},
        },
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
    }
    classes = [each for each in dra.shared_objects() if each["kind"] == "DeviceClass"]
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, node, *classes])
    offered = {"cpu": "32", "memory": "64Gi", "pods": "110"}
    plane.kubectl(
        "patch", "node", NODE, "--subresource=status", "--type=merge",
        "-p", json.dumps({"status": {"allocatable": offered, "capacity": offered}}),
    )  # fmt: skip
    uid = plane.get("node", NODE)["metadata"]["uid"]
    plane.apply(dra.slices(NODE, uid, gpu_count=2, driver_version="580.105.08"))
    plane.kubectl("wait", "--for=create", "serviceaccount/default", "-n", NAMESPACE, "--timeout=30s")
    plane.kubectl("wait", "--for=condition=Ready", f"node/{NODE}", "--timeout=60s")
    yield plane
    plane.kubectl("delete", "node", NODE)  # its slices are its own, and go with it
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def ask(place: ControlPlane, *more: str) -> int:
    where = ["--kubeconfig", str(place.kubeconfig), "--gates-namespace", NAMESPACE, "-o", "json"]
    return main.main(["gates", "run", NODE, "--image", "example.invalid/probes:1", *where, *more])


def test_a_gate_claims_every_gpu_is_measured_and_leaves_nothing_behind(
    place: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[list[str]] = []

    def answer(_: Run) -> Ended:
        claims = place.get("resourceclaims", "-n", NAMESPACE)["items"]
        given.extend(
            [result["device"] for result in claim["status"]["allocation"]["devices"]["results"]] for claim in claims
        )
        return Ended(message=MEASURED)

    with GateRuns(place, namespace=NAMESPACE, answer=answer):
        assert ask(place, "--gate", "smoke-infer") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["gpus"], found["byClaim"], found["gates"][0]["verdict"]) == (2, True, "passed")
    assert [sorted(each) for each in given] == [["gpu-0", "gpu-1"]]
    wait_for(
        lambda: (
            not place.get("jobs,pods", "-n", NAMESPACE, "-l", keys.GATE_KEY)["items"]
            and not place.get("resourceclaimtemplates,resourceclaims", "-n", NAMESPACE)["items"]
        ),
        what="the Job, its pod, its claim and the template to be gone",
        timeout_seconds=60,
    )


def test_gpus_that_somebody_has_claimed_stay_theirs(place: ControlPlane, capsys: pytest.CaptureFixture[str]) -> None:
    spec = dra.claim_spec(driver=dra.GPU_DRIVER, count=2, has_admin_access=False)
    tenant = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "tenant", "namespace": NAMESPACE},
        "spec": {
            "nodeSelector": {"kubernetes.io/hostname": NODE},
            "tolerations": [{"operator": "Exists"}],
            "resourceClaims": [{"name": "gpus", "resourceClaimName": "tenants"}],
            "containers": [{"name": "c", "image": "example.invalid/t", "resources": {"claims": [{"name": "gpus"}]}}],
        },
    }
    place.apply([dra.claim("tenants", NAMESPACE, spec), tenant])
    wait_for(
        lambda: place.get("resourceclaim", "tenants", "-n", NAMESPACE).get("status", {}).get("allocation"),
        what="the tenant's claim to be allocated",
        timeout_seconds=60,
    )
    try:
        assert ask(place, "--gate", "smoke-infer") == 11
    finally:
        place.kubectl("delete", "pod", "tenant", "-n", NAMESPACE, "--grace-period=0", "--force")
        place.kubectl("delete", "resourceclaim", "tenants", "-n", NAMESPACE)
    (gate,) = json.loads(capsys.readouterr().out)["gates"]
    assert gate["why"] == f"it asks for 1 GPUs, and 2 of the 2 of {NODE} are in use; no pod is evicted for a gate"
