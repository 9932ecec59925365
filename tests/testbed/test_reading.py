"""What is read without kubectl is what kubectl reads, and what is not understood is left to it."""

from __future__ import annotations

import json

import pytest

from seatrial_lab.testbed import errors
from seatrial_lab.testbed.plane import reading
from seatrial_lab.testbed.plane.control_plane import ControlPlane

ASKED = (
    ("namespace", "default"),
    ("ns", "default"),
    ("namespaces",),
    ("namespaces", "-l", "kubernetes.io/metadata.name=default"),
    ("configmaps", "-n", "kube-system"),
    ("configmap", "kube-root-ca.crt"),
    ("configmap", "kube-root-ca.crt", "--show-managed-fields"),
    ("services,endpoints", "-A"),
    ("endpointslices.discovery.k8s.io",),
    ("clusterrole", "view"),
    ("crd", "clusterpolicies.nvidia.com"),
    ("events", "-n", "default", "--field-selector", "reason=NobodySaidSo"),
)
LEFT_TO_KUBECTL = (
    ("namespace/default",),
    ("namespaces", "default", "kube-system"),
    ("namespaces", "--sort-by=.metadata.name"),
    ("services,endpoints", "kubernetes"),
    (),
)


@pytest.mark.cluster
@pytest.mark.parametrize("arguments", ASKED, ids=" ".join)
def test_an_answer_is_that_of_kubectl(plane: ControlPlane, arguments: tuple[str, ...]) -> None:
    assert reading.understood(arguments) is not None
    assert plane.get(*arguments) == json.loads(plane.kubectl("get", *arguments, "-o", "json"))


@pytest.mark.parametrize("arguments", LEFT_TO_KUBECTL, ids=" ".join)
def test_what_is_not_understood_is_left_to_kubectl(arguments: tuple[str, ...]) -> None:
    assert reading.understood(arguments) is None


@pytest.mark.cluster
def test_what_is_not_there_and_what_nobody_serves_fails_as_with_kubectl(plane: ControlPlane) -> None:
    with pytest.raises(errors.KubectlFailed, match=r'\(NotFound\): namespaces "nowhere" not found'):
        plane.get("namespace", "nowhere")
    with pytest.raises(errors.KubectlFailed, match="the server doesn't have a resource type"):
        plane.get("ships")


@pytest.mark.cluster
def test_a_definition_that_came_later_is_found(plane: ControlPlane) -> None:
    plane.get("namespaces")
    schema = {"openAPIV3Schema": {"type": "object"}}
    names = {"plural": "anchors", "singular": "anchor", "kind": "Anchor", "shortNames": ["anc"]}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "anchors.reading.example.org"},
        "spec": {"group": "reading.example.org", "names": names, "scope": "Cluster", "versions": [version]},
    }
    plane.define([definition])
    plane.apply([{"apiVersion": "reading.example.org/v1", "kind": "Anchor", "metadata": {"name": "bower"}}])
    assert [each["metadata"]["name"] for each in plane.get("anc")["items"]] == ["bower"]
    plane.kubectl("delete", "crd", "anchors.reading.example.org")
