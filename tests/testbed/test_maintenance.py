"""NodeMaintenances on a real API server: made, shared, finished, gone, by the rules of the real definition."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.neighbours import maintenance
from seatrial_lab.testbed.plane import control_plane

pytestmark = pytest.mark.cluster

NAMESPACE = "maintenance-test"
NAME = "nvidia-operator-node-7"
OURS, THEIRS = "seatrial.dev", "nvidia.network.operator"


@pytest.fixture(scope="module")
def defined(plane: control_plane.ControlPlane) -> Iterator[control_plane.ControlPlane]:
    """The control plane with the definition, and a namespace of our own."""
    maintenance.load_crd(plane)
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
    yield plane
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture
def asked(defined: control_plane.ControlPlane) -> Iterator[control_plane.ControlPlane]:
    """The control plane after somebody else asked for the maintenance of a node."""
    wanted = {
        "apiVersion": maintenance.API_VERSION,
        "kind": maintenance.KIND,
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {"nodeName": "node-7", "requestorID": THEIRS, "drainSpec": {"force": True}},
    }
    defined.apply([wanted])
    yield defined
    defined.kubectl("delete", maintenance.RESOURCE, "--all", "-n", NAMESPACE)


def test_a_maintenance_lives_from_request_to_deletion(asked: control_plane.ControlPlane) -> None:
    made = look(asked)
    assert made["spec"] == {
        "nodeName": "node-7",
        "requestorID": THEIRS,
        "cordon": True,
        "drainSpec": {"force": True, "deleteEmptyDir": False, "timeoutSeconds": 300},
    }
    assert "status" not in made

    patch(asked, {"spec": {"additionalRequestors": [OURS]}}, resource_version=made["metadata"]["resourceVersion"])
    assert look(asked)["spec"] == {**made["spec"], "additionalRequestors": [OURS]}

    maintenance.finish(asked, NAME, namespace=NAMESPACE)
    finished = look(asked)
    [ready] = finished["status"]["conditions"]
    assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "True", "Ready")
    assert ready["observedGeneration"] == finished["metadata"]["generation"]
    assert finished["spec"] == {**made["spec"], "additionalRequestors": [OURS]}

    asked.kubectl("delete", maintenance.RESOURCE, NAME, "-n", NAMESPACE)
    assert asked.get(maintenance.RESOURCE, "-n", NAMESPACE)["items"] == []


def test_who_adds_itself_to_an_outdated_maintenance_is_refused(asked: control_plane.ControlPlane) -> None:
    outdated = look(asked)["metadata"]["resourceVersion"]
    patch(asked, {"spec": {"additionalRequestors": ["first.example"]}}, resource_version=outdated)

    with pytest.raises(errors.KubectlFailed, match="the object has been modified"):
        patch(asked, {"spec": {"additionalRequestors": [OURS]}}, resource_version=outdated)

    assert look(asked)["spec"]["additionalRequestors"] == ["first.example"]


@pytest.mark.parametrize("field", ["requestorID", "nodeName"])
def test_node_and_first_requestor_never_change(asked: control_plane.ControlPlane, field: str) -> None:
    with pytest.raises(errors.KubectlFailed, match="Value is immutable"):
        patch(asked, {"spec": {field: "another"}})


def test_finishing_leaves_what_others_said(asked: control_plane.ControlPlane) -> None:
    failed = {
        "type": "RequestorFailed",
        "status": "True",
        "reason": "FailedMaintenance",
        "message": "the driver did not load",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }
    patch(asked, {"status": {"conditions": [failed]}}, subresource="status")

    maintenance.finish(asked, NAME, namespace=NAMESPACE)

    conditions = look(asked)["status"]["conditions"]
    assert failed in conditions
    assert sorted(each["type"] for each in conditions) == ["Ready", "RequestorFailed"]


def look(plane: control_plane.ControlPlane) -> dict[str, Any]:
    return plane.get(maintenance.RESOURCE, NAME, "-n", NAMESPACE)


def patch(
    plane: control_plane.ControlPlane,
    change: dict[str, Any],
    *,
    resource_version: str | None = None,
    subresource: str | None = None,
) -> None:
    if resource_version is not None:
        change = {**change, "metadata": {"resourceVersion": resource_version}}
    where = [f"--subresource={subresource}"] if subresource else []
    plane.kubectl(
        "patch", maintenance.RESOURCE, NAME, "-n", NAMESPACE, "--type=merge", *where, "-p", json.dumps(change)
    )
