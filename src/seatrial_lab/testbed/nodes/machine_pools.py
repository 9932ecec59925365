"""MachineConfigPools: OpenShift's real definition, and what its operator would say about one.

The definition comes from the Go module cache, with the modules of the GPU Operator: see go/gpu-operator/go.mod. The
Machine Config Operator itself is not run, so nobody moves a node of a pool, or counts them.
Tests: tests/e2e/test_machine_pools.py.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import yaml

from seatrial_lab.testbed.building import toolchain

if TYPE_CHECKING:
    from seatrial_lab.testbed.plane import control_plane

Object = dict[str, Any]

API_VERSION: Final = "machineconfiguration.openshift.io/v1"
RESOURCE: Final = "machineconfigpools.machineconfiguration.openshift.io"

_FOLDER: Final = toolchain.MODULES / "gpu-operator"
_MODULE: Final = "github.com/openshift/api"
_FILE: Final = "payload-manifests/crds/0000_80_machine-config_01_machineconfigpools-Default.crd.yaml"


def definition() -> Object:
    """Return the real MachineConfigPool definition."""
    found: Object = yaml.safe_load((toolchain.module_folder(_FOLDER, _MODULE) / _FILE).read_text(encoding="utf-8"))
    return found


@contextmanager
def defined(plane: "control_plane.ControlPlane") -> Iterator[None]:
    """Make a control plane one that knows pools, for a while."""
    plane.define([definition()])
    try:
        yield
    finally:
        plane.kubectl("delete", "crd", RESOURCE, "--ignore-not-found")


def pool(name: str) -> Object:
    """Return a pool of the nodes with a role."""
    role = f"node-role.kubernetes.io/{name}"
    return {
        "apiVersion": API_VERSION,
        "kind": "MachineConfigPool",
        "metadata": {"name": name},
        "spec": {"nodeSelector": {"matchLabels": {role: ""}}},
    }


def say(plane: "control_plane.ControlPlane", name: str, *, machine_count: int, certificate_ends: str = "") -> None:
    """Say how many nodes a pool has and when its certificates end, as the operator does."""
    ends = [{"bundle": "KubeAPIServerServingCAData", "subject": "CN=kubelet-signer", "expiry": certificate_ends}]
    status = {"machineCount": machine_count, "certExpirys": ends if certificate_ends else []}
    body = json.dumps({"status": status})
    plane.kubectl("patch", RESOURCE, name, "--subresource=status", "--type=merge", "-p", body)
