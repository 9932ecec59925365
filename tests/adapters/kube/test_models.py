"""What is decoded of Kubernetes' objects, and above all what is not."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.shapes import kinds, models, operator_models


def rollout_spec(**spec: Any) -> models.RolloutSpec:
    return msgspec.json.decode(json.dumps({"spec": spec}), type=models.Rollout).spec


def test_what_a_rollout_does_not_say_is_left_to_the_operators_policy() -> None:
    spec = rollout_spec(target={"driver": "580.105.08"})
    assert (spec.limits, spec.wait_for_completion, spec.pod_deletion, spec.drain) == (None, None, None, None)
    assert spec.maintenance is None
    assert rollout_spec(limits={"maxFailed": 3}).limits == models.RolloutLimits(max_failed=3)


def test_what_only_a_rollout_can_say_has_its_default_here() -> None:
    spec = rollout_spec()
    assert (spec.domains, spec.order, spec.paused) == ((), "name", False)
    assert spec.retries == models.RolloutRetries(max=0, pause_seconds=300)
    assert spec.checkpoint == models.RolloutCheckpoint(timeout_seconds=600, webhook="")


def test_a_rollout_is_read_whole() -> None:
    spec = rollout_spec(
        limits={"maxParallelUpgrades": 4, "maxUnavailable": "10%", "maxFailed": 2},
        waitForCompletion={"podSelector": "job=long", "timeoutSeconds": 60},
        podDeletion={"force": True, "deleteEmptyDir": True, "timeoutSeconds": 30},
        drain={"enable": True, "force": True, "deleteEmptyDir": True, "podSelector": "a=b", "timeoutSeconds": 90},
        domains=[{"label": "rack", "maxUnavailable": 1}, {"label": "nvidia.com/gpu.clique", "unit": True}],
        order="idle-first",
        retries={"max": 2, "pauseSeconds": 60},
        checkpoint={"timeoutSeconds": 900, "webhook": "https://jobs.example/save"},
        maintenance={"requestorID": "seatrial.dev"},
    )
    assert spec == models.RolloutSpec(
        limits=models.RolloutLimits(max_parallel_upgrades=4, max_unavailable="10%", max_failed=2),
        wait_for_completion=models.WaitForCompletion(pod_selector="job=long", timeout_seconds=60),
        pod_deletion=models.PodDeletion(force=True, delete_empty_dir=True, timeout_seconds=30),
        drain=models.Drain(enable=True, force=True, delete_empty_dir=True, pod_selector="a=b", timeout_seconds=90),
        domains=(
            models.RolloutDomain(label="rack", max_unavailable=1),
            models.RolloutDomain(label="nvidia.com/gpu.clique", unit=True),
        ),
        order="idle-first",
        retries=models.RolloutRetries(max=2, pause_seconds=60),
        checkpoint=models.RolloutCheckpoint(timeout_seconds=900, webhook="https://jobs.example/save"),
        maintenance=models.RolloutMaintenance(
            requestor_id="seatrial.dev", namespace="default", prefix="nvidia-operator", timeout_seconds=3600
        ),
    )


def test_a_maintenance_without_a_name_to_ask_in_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="requestorID"):
        rollout_spec(maintenance={"namespace": "default"})


def test_of_a_pods_annotations_only_those_we_read_are_kept() -> None:
    annotations = {
        "seatrial.dev/checkpoint": "true",
        "kubernetes.io/config.mirror": "0123",
        "kubectl.kubernetes.io/last-applied-configuration": "x" * 10_000,
    }
    pod = msgspec.json.decode(json.dumps({"metadata": {"annotations": annotations}}), type=kinds.Pod)
    assert pod.metadata.annotations == kinds.PodAnnotations(checkpoint="true", mirror="0123")
    assert len(msgspec.json.encode(pod)) < 1000


def test_an_absent_selector_is_not_an_empty_one() -> None:
    for said, selector in (({}, None), ({"nodeSelector": {}}, {}), ({"nodeSelector": {"a": "b"}}, {"a": "b"})):
        assert msgspec.convert({"spec": said}, operator_models.NvidiaDriver).spec.node_selector == selector
