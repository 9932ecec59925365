"""What is left of a cluster under other names: of tenants nothing that they chose, and enough to tell what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from seatrial.adapters.files.facts import vocabulary
from seatrial.core.survey.portable import telling
from seatrial.core.survey.portable.recorded import LogOf, Recorded

MARK: Final = "zqx"
ROLLOUTS: Final = "/apis/seatrial.dev/v1alpha1/gpurollouts"
VOCABULARY: Final = vocabulary.texts()
NODE: Final = "gpu-7.corp.example"
TIME, UID = "2026-09-01T00:00:00Z", "13814fe1-44c6-4daa-a4e8-1e9add1e2811"


def marked(value: Any, place: str = "x") -> Any:
    """The same object with a mark of its own in every text, and in every key of a map."""
    match value:
        case dict():
            return {
                (
                    f"{key}{MARK}{len(place)}" if place.endswith(("labels", "annotations", "nodeSelector")) else key
                ): marked(each, f"{place}-{key}")
                for key, each in value.items()
            }
        case list():
            return [marked(each, f"{place}-{number}") for number, each in enumerate(value)]
        case str():
            return f"{MARK}{place.replace('.', '-').lower()}"
        case _:
            return value


def a_pod(namespace: str) -> dict[str, Any]:
    """A pod as far as readers read it, with words of its own wherever there may be any."""
    container = {
        "name": "x",
        "image": "x",
        "args": ["x"],
        "env": [{"name": "x", "value": "x"}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    state = {"terminated": {"reason": "x", "message": "x", "exitCode": 1, "finishedAt": "x"}}
    made: dict[str, Any] = {
        "metadata": {
            "name": "x",
            "uid": "x",
            "labels": {"app": "x", "app.kubernetes.io/name": "x", "nvidia.com/": "x"},
            "annotations": {"seatrial.dev/checkpoint": "x", "argocd.argoproj.io/tracking-id": "x"},
            "ownerReferences": [{"kind": "x", "name": "x", "uid": "x"}],
            "finalizers": ["x"],
        },
        "spec": {
            "containers": [container],
            "initContainers": [container],
            "nodeSelector": {"nvidia.com/gpu.product": "x"},
            "resourceClaims": [{"name": "x", "resourceClaimName": "x"}],
            "runtimeClassName": "x",
        },
        "status": {
            "phase": "x",
            "reason": "x",
            "conditions": [{"type": "x", "status": "x", "reason": "x", "message": "x", "lastTransitionTime": "x"}],
            "containerStatuses": [{"name": "x", "state": state, "lastState": state}],
            "resourceClaimStatuses": [{"name": "x", "resourceClaimName": "x"}],
        },
    }
    found: dict[str, Any] = marked(made)
    found["metadata"]["namespace"] = namespace
    found["metadata"]["labels"]["app"] = f"{MARK}-value"
    found["spec"]["nodeName"] = NODE
    found["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    found["spec"]["initContainers"][0]["resources"] = {}
    return found


def anonymous(*pods: dict[str, Any], logs: dict[LogOf, str] | None = None, selector: str = "") -> Recorded:
    node = {"metadata": {"name": NODE, "labels": {"nvidia.com/gpu.product": "NVIDIA-H200"}}}
    rollout = {"metadata": {"name": "spring"}, "spec": {"drain": {"podSelector": selector}}}
    found = Recorded(
        taken_at=0.0,
        namespace="gpu-operator",
        lists={"/api/v1/nodes": [node], "/api/v1/pods": list(pods), ROLLOUTS: [rollout]},
        logs=dict(logs or {}),
    )
    return telling.renamed(telling.told(found, VOCABULARY), VOCABULARY)


def texts(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield place, key
            yield from texts(each, f"{place}.{key}")
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each, place)
    elif isinstance(value, str):
        yield place, value


@pytest.mark.parametrize(
    "namespace", ["llm", f"{MARK}-team", "default", "monitoring", "acme-nvidia-lab", "seatrial-research"]
)
def test_no_word_that_a_tenant_chose_is_left_wherever_it_stood(namespace: str) -> None:
    whose = LogOf(namespace=namespace, pod=f"{MARK}pod", container=f"{MARK}container")
    pod = a_pod(namespace)
    log = f"driver failed in {pod['spec']['containers'][0]['name']} of {pod['metadata']['name']}: {MARK}secret"
    told = anonymous(pod, logs={whose: log})
    left = [(place, text) for place, text in texts(told.lists["/api/v1/pods"]) if MARK in text]
    assert left == []
    ((who, said),) = told.logs.items()
    assert MARK not in f"{who.namespace} {who.pod} {who.container} {said}"
    assert "driver failed in " in str(said)


def test_a_log_of_the_stack_says_nothing_that_only_a_tenant_is_called() -> None:
    pod = a_pod("llm")
    whose = LogOf(namespace="gpu-operator", pod="nvidia-driver-x", container="nvidia-driver-ctr")
    log = f"waiting for container {pod['spec']['containers'][0]['name']} with {pod['metadata']['labels']['app']}"
    (said,) = anonymous(pod, logs={whose: log}).logs.values()
    assert MARK not in str(said)
    assert str(said).startswith("waiting for container ")


def test_what_a_diagnosis_rests_on_is_kept_and_one_word_is_one_number() -> None:
    pod = a_pod("llm")
    pod["status"]["reason"], pod["status"]["phase"], pod["status"]["startTime"] = "OOMKilled", "Failed", TIME
    pod["metadata"]["uid"] = UID
    pod["spec"]["nodeSelector"] = {"nvidia.com/gpu.product": "NVIDIA-H200"}
    (told,) = anonymous(pod).lists["/api/v1/pods"]
    assert (told["status"]["reason"], told["status"]["phase"], told["status"]["startTime"]) == (
        "OOMKilled",
        "Failed",
        TIME,
    )
    assert (told["metadata"]["uid"], told["spec"]["nodeName"]) == (UID, "node-01")
    assert told["spec"]["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H200"}
    assert told["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    (claim,), (status,) = told["spec"]["resourceClaims"], told["status"]["resourceClaimStatuses"]
    assert claim["name"].startswith("name-")
    assert status["name"].startswith("name-")
    again = a_pod("llm")
    assert [each["metadata"]["labels"]["app"] for each in anonymous(pod, again).lists["/api/v1/pods"]] == [
        told["metadata"]["labels"]["app"]
    ] * 2


def test_labels_that_a_rollout_chooses_by_still_choose() -> None:
    pod = a_pod("llm")
    pod["metadata"]["labels"] = {"team": "llm", "stage": "secret"}
    (told,) = anonymous(pod, selector="team=llm").lists["/api/v1/pods"]
    assert told["metadata"]["labels"] == {"team": "llm"}


@pytest.mark.parametrize("namespace", ["gpu-operator", "nvidia-network-operator", "kube-system"])
def test_what_the_stack_runs_keeps_the_tags_of_its_images_and_its_labels(namespace: str) -> None:
    image = "nvcr.io/nvidia/driver:580.105.08-ubuntu22.04"
    meta = {"name": "driver-x", "namespace": namespace, "labels": {"app": "nvidia-driver-daemonset"}}
    pod = {"metadata": meta, "spec": {"nodeName": NODE, "containers": [{"name": "nvidia-driver-ctr", "image": image}]}}
    (told,) = anonymous(pod).lists["/api/v1/pods"]
    assert told["metadata"]["labels"] == {"app": "nvidia-driver-daemonset"}
    assert told["spec"]["containers"] == [{"name": "nvidia-driver-ctr", "image": image}]
