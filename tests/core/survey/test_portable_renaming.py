"""Other names for nodes, namespaces, registries and tenants: the same everywhere, and in the same order."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.survey.portable.renaming import renaming_of


def pod(namespace: str, name: str, image: str, node: str = "") -> dict[str, Any]:
    owner = {"kind": "ReplicaSet", "name": name.rpartition("-")[0], "controller": True}
    return {
        "metadata": {"namespace": namespace, "name": name, "ownerReferences": [owner]},
        "spec": {"nodeName": node, "containers": [{"name": "main", "image": image}]},
    }


LISTS: dict[str, list[dict[str, Any]]] = {
    "/api/v1/nodes": [{"metadata": {"name": name}} for name in ("gpu-b.corp.example", "gpu-a.corp.example", "driver")],
    "/api/v1/pods": [
        pod("llm", "llama-0", "registry.corp:5000/team/llm:rc1", "gpu-a.corp.example"),
        pod("kube-system", "etcd-gpu-a.corp.example", "registry.k8s.io/etcd:3.5", "gpu-a.corp.example"),
        pod("gpus", "nvidia-driver-x", "registry.corp:5000/mirror/nvidia/driver:580.105.08", "gpu-b.corp.example"),
        pod("gpu-operator", "nvidia-driver-y", "nvcr.io/nvidia/driver@sha256:5b1a", "driver"),
    ],
}
NAMES = renaming_of(LISTS, "gpus")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("gpu-a.corp.example", "node-02"),
        ("gpu-b.corp.example", "node-03"),
        ("etcd-gpu-a.corp.example", "etcd-node-02"),
        ("gpu-a.corp.example.internal", "node-02.internal"),
        ("pod llm/llama-0 is on gpu-a.corp.example.", "pod namespace-01/tenant-02 is on node-02."),
        ("kube-system", "kube-system"),
        ("gpus", "gpu-operator"),
        ("nvidia-driver-daemonset", "nvidia-driver-daemonset"),
        ("registry.corp", "registry-1.example"),
        ("dial registry.corp:5000: refused", "dial registry-1.example:5000: refused"),
        (
            'Failed to pull image "registry.corp:5000/team/llm:rc1": not found',
            'Failed to pull image "registry-1.example/image-1:rc1": not found',
        ),
        ("Back-off pulling registry.corp:5000/team/other.", "Back-off pulling registry-1.example/team/other."),
    ],
)
def test_a_name_is_another_wherever_it_stands(said: str, told: str) -> None:
    assert NAMES.text(said) == told


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("registry.corp:5000/team/llm:rc1", "registry-1.example/image-1:rc1"),
        ("registry.corp:5000/mirror/nvidia/driver:580.105.08", "registry-1.example/driver:580.105.08"),
        ("nvcr.io/nvidia/driver@sha256:5b1a", "nvcr.io/nvidia/driver@sha256:5b1a"),
        ("registry.k8s.io/etcd:3.5", "registry.k8s.io/etcd:3.5"),
        ("busybox", "busybox"),
    ],
)
def test_an_image_keeps_its_tag_and_what_makes_it_one_of_the_stack(image: str, told: str) -> None:
    assert NAMES.image(image) == told


def test_labels_name_nodes_and_no_namespaces() -> None:
    found = {"metadata": {"labels": {"app": "llm", "kubernetes.io/hostname": "gpu-a.corp.example"}, "namespace": "llm"}}
    assert NAMES.told(found) == {
        "metadata": {"labels": {"app": "llm", "kubernetes.io/hostname": "node-02"}, "namespace": "namespace-01"}
    }


def test_objects_that_named_each_other_still_do() -> None:
    told = NAMES.told(LISTS["/api/v1/pods"][0])
    assert told["metadata"]["name"] == "tenant-02"
    assert told["metadata"]["ownerReferences"][0]["name"] == "tenant-01"
    assert told["spec"]["nodeName"] == "node-02"
