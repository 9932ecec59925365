"""Which part of the stack a pod is, by what charts of several years write on it."""

from __future__ import annotations

import pytest

from seatrial.core.survey.doctor.parts import Part, part_of, part_of_container


@pytest.mark.parametrize(
    ("name", "labels", "containers", "part"),
    [
        ("nvidia-driver-daemonset-x7k2p", {"app": "nvidia-driver-daemonset"}, ["nvidia-driver-ctr"], Part.DRIVER),
        (
            "nvidia-gpu-driver-ubuntu22.04-7c9-abcde",
            {"app.kubernetes.io/component": "nvidia-driver"},
            ["nvidia-driver-ctr"],
            Part.DRIVER,
        ),
        ("nvidia-driver-daemonset-417.94-0-x", {}, ["nvidia-driver-ctr", "openshift-driver-toolkit-ctr"], Part.DRIVER),
        ("nvidia-device-plugin-7xk", {"name": "nvidia-device-plugin-ds"}, ["main"], Part.DEVICE_PLUGIN),
        ("plugin-x", {"app.kubernetes.io/name": "nvidia-device-plugin"}, ["a"], Part.DEVICE_PLUGIN),
        ("nvidia-cuda-validator-abc", {"app": "nvidia-cuda-validator"}, ["nvidia-cuda-validator"], Part.VALIDATOR),
        ("mofed-ubuntu22.04-ds-1", {"nvidia.com/ofed-driver": ""}, ["mofed-container"], Part.MOFED),
        (
            "nvidia-dra-driver-gpu-kubelet-plugin-x",
            {"nvidia-dra-driver-gpu-component": "kubelet-plugin"},
            ["gpus", "compute-domains"],
            Part.DRA,
        ),
        ("web-1", {"app": "web"}, ["web"], Part.OTHER),
    ],
)
def test_a_pod_is_known_by_its_labels_its_containers_or_its_name(
    name: str, labels: dict[str, str], containers: list[str], part: Part
) -> None:
    assert part_of(name, labels, containers, wants_gpus=False) is part


def test_whoever_asks_for_gpus_and_is_no_part_is_a_tenant() -> None:
    assert part_of("train-0", {"app": "train"}, ["nvidia-driver-ctr"], wants_gpus=True) is Part.TENANT
    assert part_of("check", {"app": "nvidia-cuda-validator"}, ["c"], wants_gpus=True) is Part.VALIDATOR


def test_an_init_container_may_be_another_part_than_its_pod() -> None:
    assert part_of_container(Part.DRIVER, "k8s-driver-manager") is Part.DRIVER_MANAGER
    assert part_of_container(Part.DEVICE_PLUGIN, "toolkit-validation") is Part.DEVICE_PLUGIN
    assert part_of_container(Part.VALIDATOR, "cuda-validation") is Part.VALIDATOR
    assert part_of_container(Part.TENANT, "nvidia-driver-ctr") is Part.TENANT
