"""NodeMaintenances: the real definition, and a player for the end of what the maintenance operator does with one.

The definition comes from the Go module cache: see go/maintenance-operator/go.mod. It has the fields of the operator's
api v0.3.0, but does not let clients select by node and requestor as that one does. The operator itself is not run, so
nobody cordons or drains a node, puts a finalizer on a NodeMaintenance or asks whether its node exists.
Tests: tests/testbed/test_maintenance.py.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from seatrial_lab.testbed.building import toolchain

if TYPE_CHECKING:
    from seatrial_lab.testbed.plane import control_plane

Object = dict[str, Any]

API_VERSION: Final = "maintenance.nvidia.com/v1alpha1"
KIND: Final = "NodeMaintenance"
RESOURCE: Final = "nodemaintenances.maintenance.nvidia.com"
# The status has another author than the request.
FIELD_MANAGER: Final = "testbed-maintenance"

_FOLDER: Final = toolchain.MODULES / "maintenance-operator"
_MODULE: Final = "github.com/NVIDIA/k8s-operator-libs"


def load_crd(plane: "control_plane.ControlPlane") -> None:
    """Load the real NodeMaintenance definition."""
    plane.define([definition()])


def definition() -> Object:
    """Return the real NodeMaintenance definition, from the Go module cache."""
    path: Path = toolchain.module_folder(_FOLDER, _MODULE) / "hack" / "crd" / "bases"
    text = (path / "maintenance.nvidia.com_nodemaintenances.yaml").read_text(encoding="utf-8")
    found: Object = yaml.safe_load(text)
    return found


def finish(plane: "control_plane.ControlPlane", name: str, *, namespace: str = "default") -> None:
    """Say that a node is ready for its maintenance, as the maintenance operator does after cordon and drain."""
    generation = plane.get(RESOURCE, name, "-n", namespace)["metadata"]["generation"]
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Ready",
        "message": "",
        "observedGeneration": generation,
        "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    # Applied, not merged: a merge would replace the list, and with it what others say about the maintenance.
    said = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": name, "namespace": namespace},
        "status": {"conditions": [ready]},
    }
    plane.kubectl(
        "apply",
        "--server-side",
        "--subresource=status",
        f"--field-manager={FIELD_MANAGER}",
        "-f",
        "-",
        stdin=json.dumps(said),
    )
