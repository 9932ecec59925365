"""Keys that clusters have: runtimes, DRA, Fabric Manager, newer NICs, forward compatibility, and pools that differ."""

from __future__ import annotations

import pytest

from tests.core.compat.knowledge import facts, judged

MIXED = [{"pool": "new", "product": "H100"}, {"pool": "old", "product": "V100"}]


@pytest.mark.parametrize(
    ("rule", "texts", "verdict", "told"),
    [
        ("firmware-mofed", {"mofed": "26.01-1.0.0.0", "firmware_cx8": "40.48.1000"}, "ok", "ConnectX-8"),
        ("firmware-family", {"firmware_cx8": "40.48.1000", "firmware_bf3": "32.48.1000"}, "ok", "BlueField-3"),
        ("firmware-family", {"firmware_cx8": "28.48.1000"}, "fail", "ConnectX-7, not for ConnectX-8"),
        (
            "dra-driver",
            {"dra_driver": "managed", "gpu_operator": "v26.7.0", "kubernetes": "v1.33.6", "gpu_driver": "570.211.01"},
            "fail",
            "needs Kubernetes 1.34.2 or newer, found v1.33.6. A managed DRA driver (GPUCluster) needs driver branch",
        ),
        ("dra-driver", {"dra_driver": "managed", "gpu_operator": "v26.7.0"}, "unknown", "does not say it"),
        (
            "dra-driver",
            {"dra_driver": "0.4.1", "gpu_operator": "v26.3.3", "kubernetes": "v1.35.7", "gpu_driver": "580.173.02"},
            "ok",
            "GPU Operator 26.3 documents DRA driver 0.4.1",
        ),
        (
            "dra-driver",
            {"dra_driver": "0.4.1", "kubernetes": "v1.34.1", "gpu_driver": "570.211.01"},
            "fail",
            "DRA driver 0.4.1 needs Kubernetes 1.34.2 or newer, found v1.34.1. DRA driver 0.4.1 needs driver branch",
        ),
        (
            "dra-driver",
            {"dra_driver": "0.4.1", "gpu_operator": "v26.7.0", "kubernetes": "v1.35.7", "gpu_driver": "580.173.02"},
            "unknown",
            "documented with GPU Operator 26.3",
        ),
        ("dra-driver", {"dra_driver": "25.8.0", "kubernetes": "v1.35.7"}, "unknown", "chart of its own (25.8.0)"),
        ("dra-driver", {"dra_driver": "0.9.0", "kubernetes": "v1.35.7"}, "unknown", "chart of its own (0.9.0)"),
        ("gpuop-runtime", {"gpu_operator": "v26.7.0", "containerd": "1.7.27"}, "warn", "never was a containerd 1.8"),
        ("gpuop-runtime", {"gpu_operator": "v25.10.1", "containerd": "1.7.27"}, "ok", "1.7 to 2.2"),
        (
            "gpuop-runtime",
            {"gpu_operator": "v24.6.2", "containerd": "1.7.27"},
            "unknown",
            "containerd of GPU Operator 24.6",
        ),
        (
            "driver-cuda",
            {"gpu_driver": "570.172.08", "cuda": "13.0", "cuda_compat": "13.0"},
            "warn",
            "forward compatibility",
        ),
        ("driver-cuda", {"gpu_driver": "570.172.08", "cuda": "13.0"}, "fail", "needs driver 580.65.06"),
        (
            "driver-cuda",
            {"gpu_driver": "570.172.08", "cuda": "13.0", "cuda_compat": "12.9"},
            "fail",
            "cuda-compat-13-0, found 12.9",
        ),
        (
            "gpuop-operands",
            {"gpu_operator": "v26.7.0", "gds": "2.29.4", "gdrcopy": "v2.6", "nfd": "0.19.0"},
            "ok",
            "gds",
        ),
        ("gpuop-operands", {"gpu_operator": "v26.7.0", "gds": "2.17.5"}, "warn", "ships gds 2.29.4"),
        ("exists", {"vgpu": "17.4"}, "ok", "vGPU 17.4 exists"),
        ("exists", {"vgpu": "21.3"}, "unknown", "vGPU 21.3; the newest known is 20.2"),
        ("known-bad", {"vgpu": "19.4"}, "warn", "CVE-2026-24187"),
        ("known-bad", {"vgpu": "18.6"}, "warn", "its branch is not in the bulletin"),
        ("known-bad", {"vgpu": "19.5"}, "ok", "vgpu 19.5"),
        ("known-bad", {"vgpu": "16.14"}, "ok", "vgpu 16.14"),
        ("known-bad", {"gpu_operator": "v26.3.2", "network_operator": "v26.1.1"}, "warn", "every ibverbs device"),
        ("known-bad", {"gpu_operator": "v26.3.3", "network_operator": "v26.1.1"}, "ok", "No issue is known"),
        (
            "gpuop-vgpu",
            {"vgpu": "20.1", "gpu_operator": "v26.3.3", "gpu_driver": "595.71.05"},
            "ok",
            "Driver 595.71.05 is the Linux guest driver of vGPU 20.1",
        ),
        (
            "gpuop-vgpu",
            {"vgpu": "20.1", "gpu_operator": "v26.3.3", "gpu_driver": "580.173.02"},
            "warn",
            "is 595.71.05, found 580.173.02",
        ),
        ("gpuop-vgpu", {"vgpu": "17.4", "gpu_operator": "v26.7.0"}, "ok", "12.0 or newer, and 17.4 is"),
        ("gpuop-vgpu", {"vgpu": "11.13", "gpu_operator": "v26.7.0"}, "fail", "found 11.13"),
        ("fabric-manager", {"fabric_manager": "580.167.08", "gpu_driver": "580.173.02"}, "fail", "580.173.02"),
        ("firmware-mofed", {"mofed": "24.10-2.1.8.0", "firmware_cx7": "28.43.2566"}, "ok", "partner"),
        (
            "firmware-mofed",
            {"mofed": "24.10-2.1.8.0", "firmware_cx8": "40.47.1026"},
            "fail",
            "do not support ConnectX-8",
        ),
        ("firmware-mofed", {"mofed": "24.10-2.1.8.0", "firmware_bf3": "32.43.2402"}, "warn", "MLNX_OFED"),
        (
            "firmware-mofed",
            {"mofed": "24.10-2.1.8.0", "firmware_bf3": "32.43.2402", "network_operator": "v25.1.0"},
            "warn",
            "older, but among those NVIDIA tested (32.43.2566, 32.43.2402, 32.43.1014)",
        ),
        (
            "firmware-mofed",
            {"mofed": "25.01-0.6.0.0", "firmware_bf3": "32.43.2566"},
            "warn",
            "older, and none of those NVIDIA tested",
        ),
        ("gpuop-kubernetes", {"gpu_operator": "v26.7.0", "kubernetes": "v1.32.9", "os": "ubuntu24.04"}, "ok", "24.04"),
        ("gpuop-kubernetes", {"gpu_operator": "v26.7.0", "kubernetes": "v1.32.9", "os": "rhel9.6"}, "fail", "on RHEL"),
    ],
)
def test_what_an_expert_says(rule: str, texts: dict[str, str], verdict: str, told: str) -> None:
    found = judged(rule, texts)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message


@pytest.mark.parametrize(
    ("texts", "hardware", "verdict"),
    [
        ({"gds": "2.29.4"}, {"kernel_module": "open"}, "ok"),
        ({"gds": "2.29.4"}, {"kernel_module": "proprietary"}, "fail"),
        ({"gds": "2.16.1"}, {"kernel_module": "proprietary"}, "ok"),
        ({"gds": "2.29.4", "gpu_operator": "v26.7.0", "gpu_driver": "595.91.07"}, {"product": "H100"}, "ok"),
        ({"gds": "2.29.4", "gpu_operator": "v26.7.0", "gpu_driver": "580.173.02"}, {"product": "V100"}, "fail"),
        ({"gds": "2.29.4"}, {}, "unknown"),
    ],
)
def test_gpudirect_storage_needs_the_open_modules(
    texts: dict[str, str], hardware: dict[str, str], verdict: str
) -> None:
    found = judged("gds-modules", texts, hardware)
    assert found is not None
    assert found.verdict.value == verdict, found.message


@pytest.mark.parametrize(("product", "verdict"), [("V100", "fail"), ("T4", "ok"), ("L40S", "ok")])
def test_vgpu_is_not_for_gpus_before_turing(product: str, verdict: str) -> None:
    found = judged("gpuop-vgpu", {"vgpu": "19.5", "gpu_operator": "v26.7.0"}, {"product": product})
    assert found is not None
    assert found.verdict.value == verdict, found.message


@pytest.mark.parametrize(
    ("hardware", "verdict"),
    [
        ({"product": "GeForce RTX 4090"}, "fail"),
        ([{"product": "H100"}, {"product": "GeForce RTX 5090"}], "fail"),
        ({"product": "H100"}, "warn"),
        ({}, "warn"),
    ],
)
def test_forward_compatibility_is_not_for_geforce(
    hardware: dict[str, str] | list[dict[str, str]], verdict: str
) -> None:
    texts = {"gpu_driver": "570.211.01", "cuda": "13.1", "cuda_compat": "13.1"}
    found = judged("driver-cuda", texts, hardware)
    assert found is not None
    assert found.verdict.value == verdict, found.message


@pytest.mark.parametrize(
    ("product", "arch"),
    [("GeForce RTX 4090", "Ada"), ("NVIDIA GeForce RTX 4070 Ti", "Ada"), ("GeForce RTX 5060", "Blackwell")],
)
def test_geforce_has_its_architecture(product: str, arch: str) -> None:
    found = facts().gpu_product(product)
    assert found is not None
    assert found.arch == arch
    assert found.name == product.removeprefix("NVIDIA ")


@pytest.mark.parametrize(
    ("texts", "verdict"),
    [
        ({"os": "ubuntu24.04", "gpu_driver": "580.173.02"}, "ok"),
        ({"os": "ubuntu20.04", "gpu_driver": "580.173.02"}, "unknown"),
        ({"os": "rhel9.6", "gpu_driver": "580.173.02"}, "unknown"),
        ({"gpu_driver": "580.173.02"}, "unknown"),
        ({"kernel": "6.8.0-60-generic", "gpu_driver": "580.173.02"}, "ok"),
        ({"kernel": "6.8.0-60-generic", "gpu_driver": "515.105.01"}, "unknown"),
        ({"kernel": "6.8.0-60-generic"}, "unknown"),
        ({"kernel": "6.8.0-60-generic", "gpu_driver": "580.173.02", "cuda": "11.4"}, "fail"),
    ],
)
def test_what_dma_buf_asks_of_a_matrix_that_does_not_say_it(texts: dict[str, str], verdict: str) -> None:
    found = judged("rdma", texts, {"product": "H100", "kernel_module": "open", "rdma": "dmabuf"})
    assert found is not None
    assert found.verdict.value == verdict, found.message


@pytest.mark.parametrize(
    ("product", "driver", "verdict"),
    [
        ("RTX PRO 6000", "570.211.01", "fail"),
        ("RTX PRO 6000", "575.57.08", "ok"),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "570.211.01", "fail"),
        ("RTX PRO 6000 Blackwell Workstation Edition", "570.211.01", "ok"),
        ("RTX PRO 6000 Blackwell Workstation Edition", "570.124.06", "warn"),
        ("RTX PRO 6000 Blackwell Max-Q Workstation Edition", "570.211.01", "ok"),
        ("RTX PRO 4500", "575.57.08", "fail"),
        ("RTX PRO 4500 Blackwell", "575.57.08", "ok"),
    ],
)
def test_a_card_without_an_edition_is_the_servers(product: str, driver: str, verdict: str) -> None:
    found = judged("arch-driver", {"gpu_driver": driver}, {"product": product, "kernel_module": "open"})
    assert found is not None
    assert found.verdict.value == verdict, found.message


def test_the_first_drivers_of_products_are_read_off_the_open_modules() -> None:
    named = {row.name: row.min_driver for row in facts().products if not row.is_documented}
    first = {"GH200": "535.129.03", "GB200": "570.124.04", "RTX PRO 4500 Blackwell Server Edition": "580.142"}
    assert {name: str(named[name]) for name in first} == first


def test_of_a_mixed_fleet_only_the_pool_that_fails_is_named() -> None:
    found = judged("arch-cuda", {"cuda": "13.0"}, MIXED)
    assert found is not None
    assert found.verdict.value == "fail"
    assert found.message.startswith("old: The last CUDA for Volta")
    assert "new" not in found.message.split()


def test_pools_that_are_all_right_are_all_told() -> None:
    found = judged("arch-cuda", {"cuda": "12.9"}, MIXED)
    assert found is not None
    assert found.verdict.value == "ok"
    assert "new: " in found.message
    assert "old: " in found.message


def test_a_pool_alone_is_judged_as_ever() -> None:
    assert judged("arch-cuda", {"cuda": "13.0"}, MIXED[1:]) == judged(
        "arch-cuda", {"cuda": "13.0"}, {"product": "V100"}
    )


def test_every_line_of_the_gpu_operator_that_is_supported_has_its_runtimes() -> None:
    lines = {row.operator_line for row in facts().runtimes}
    assert lines >= {"26.3", "26.7"}


@pytest.mark.parametrize(
    ("texts", "verdict", "told"),
    [
        ({"kubernetes": "v1.34.10", "containerd": "1.7.34"}, "ok", "1.7.28+"),
        ({"kubernetes": "v1.34.10", "containerd": "1.7.27"}, "warn", "found 1.7.27"),
        ({"kubernetes": "v1.34.10", "containerd": "2.3.4"}, "ok", "2.1.3+"),
        ({"kubernetes": "v1.35.7", "containerd": "2.1.9"}, "ok", "2.1.5+"),
        ({"kubernetes": "v1.36.2", "containerd": "2.1.9"}, "warn", "2.3.0+, 2.2.0+"),
        ({"kubernetes": "v1.36.2", "containerd": "1.7.34"}, "fail", "Kubernetes 1.35 is the last"),
        ({"kubernetes": "v1.37.1", "containerd": "1.7.34"}, "fail", "Kubernetes 1.35 is the last"),
        ({"kubernetes": "v1.34.10", "cri_o": "1.34.2"}, "ok", "Kubernetes' own minor"),
        ({"kubernetes": "v1.34.10", "cri_o": "1.32.9"}, "warn", "made for Kubernetes 1.32"),
    ],
)
def test_a_runtime_is_for_some_minors_of_kubernetes(texts: dict[str, str], verdict: str, told: str) -> None:
    found = judged("runtime-kubernetes", texts)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message
