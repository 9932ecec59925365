"""Workloads of Kueue: a definition of ours with the shape of Kueue's own, as far as anybody here looks at one.

Kueue itself is not run: nobody queues, admits or ends a Workload. Its own definition (kueue.x-k8s.io/v1beta1) has
`spec.active`, true unless said otherwise, and much besides that is not checked here. Tests:
tests/e2e/test_act_conformance.py
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from seatrial_lab.testbed.plane import control_plane

Object = dict[str, Any]

RESOURCE: Final = "workloads.kueue.x-k8s.io"


def load_crd(plane: "control_plane.ControlPlane") -> None:
    """Load the definition."""
    plane.define([definition()])


def definition() -> Object:
    """Return a definition of Workloads."""
    active = {"type": "boolean", "default": True}
    spec = {"type": "object", "properties": {"active": active}, "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec}}
    version = {"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "workloads", "singular": "workload", "kind": "Workload"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": RESOURCE},
        "spec": {"group": "kueue.x-k8s.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }
