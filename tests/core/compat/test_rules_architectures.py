"""The architecture follows from the product, and with it the drivers, the modules and the CUDA that the GPUs take."""

from __future__ import annotations

import pytest

from seatrial.core.compat.facts import GpuProduct
from seatrial.core.compat.findings import Confidence
from tests.core.compat.knowledge import facts, judged

PRODUCTS = sorted(facts().gpu_products.values(), key=lambda row: row.name)
DRIVERS = ("470.256.02", "535.309.01", "570.211.01", "580.173.02", "595.91.07")
TOOLKITS = ("11.0", "11.8", "12.6", "12.8", "12.9", "13.0")
MODULES = ("", "open", "proprietary", "auto")


@pytest.mark.parametrize(
    ("rule", "texts", "hardware", "verdict", "told"),
    [
        (
            "arch-driver",
            {"gpu_driver": "580.105.08"},
            {"product": "B200", "kernel_module": "proprietary"},
            "fail",
            "Blackwell GPUs need the open kernel modules",
        ),
        ("arch-cuda", {"cuda": "12.4"}, {"product": "B200", "kernel_module": "open"}, "warn", "is 12.8, found 12.4"),
        ("arch-cuda", {"cuda": "12.8"}, {"product": "B300", "kernel_module": "open"}, "warn", "is 12.9, found 12.8"),
        ("arch-cuda", {"cuda": "12.8"}, {"product": "GB10"}, "warn", "is 12.9"),
        ("arch-cuda", {"cuda": "12.8"}, {"product": "B200"}, "ok", "the first that does is 12.8"),
        ("arch-cuda", {"cuda": "13.0"}, {"product": "V100"}, "fail", "is 12.x, found 13.0"),
        ("arch-cuda", {"cuda": "12.9"}, {"product": "V100"}, "ok", "Volta"),
        ("arch-driver", {"gpu_driver": "595.91.07"}, {"product": "V100"}, "fail", "dropped after driver branch 580"),
        (
            "arch-driver",
            {"gpu_driver": "580.173.02"},
            {"product": "V100", "kernel_module": "open"},
            "fail",
            "do not work with the open kernel modules",
        ),
        ("arch-driver", {"gpu_driver": "580.173.02"}, {"product": "Tesla-V100-SXM2-32GB"}, "ok", "Volta"),
        ("arch-driver", {"gpu_driver": "580.173.02"}, {"product": "A10", "kernel_module": "proprietary"}, "ok", ""),
        (
            "arch-driver",
            {"gpu_driver": "580.173.02"},
            {"product": "GH200", "kernel_module": "proprietary"},
            "fail",
            "open kernel modules",
        ),
    ],
)
def test_what_an_expert_says(
    rule: str, texts: dict[str, str], hardware: dict[str, str], verdict: str, told: str
) -> None:
    found = judged(rule, texts, hardware)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message
    assert found.sources


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda row: row.name)
def test_with_and_without_the_architecture_written_the_verdict_is_the_same(product: GpuProduct) -> None:
    def same(rule: str, texts: dict[str, str], **more: str) -> bool:
        bare = {"product": product.name, **more}
        return judged(rule, texts, bare) == judged(rule, texts, {**bare, "arch": product.arch})

    # Modules matter to drivers and to RDMA, the toolkit to CUDA and to RDMA: each pair that a rule looks at, once.
    for module in MODULES:
        assert all(same("arch-driver", {"gpu_driver": driver}, kernel_module=module) for driver in DRIVERS)
        assert same("rdma", {"openshift": "4.20.30", "cuda": "12.9"}, kernel_module=module, rdma="dmabuf")
    for cuda in TOOLKITS:
        assert same("arch-cuda", {"cuda": cuda}, kernel_module="open")
        assert same("rdma", {"openshift": "4.20.30", "cuda": cuda}, kernel_module="open", rdma="dmabuf")


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda row: row.name)
def test_every_product_is_of_an_architecture_we_know(product: GpuProduct) -> None:
    arch = facts().architecture(product.arch)
    assert arch is not None
    assert not product.compute or product.compute in arch.first_cuda
    assert facts().gpu_product(product.name) == product, "found under its own name, not under a shorter one"


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("NVIDIA-H100-80GB-HBM3", "Hopper"),
        ("NVIDIA-GH200-480GB", "Grace-Hopper"),
        ("NVIDIA-A100-SXM4-80GB", "Ampere"),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "Blackwell"),
        ("NVIDIA RTX 6000 Ada Generation", "Ada"),
        ("Quadro RTX 6000", "Turing"),
        ("HGX B200", "Blackwell"),
        ("NVIDIA-GB200-NVL72", "Blackwell"),
        ("Tesla-T4", "Turing"),
    ],
)
def test_a_product_is_known_by_the_names_that_labels_and_shops_use(name: str, arch: str) -> None:
    product = facts().gpu_product(name)
    assert product is not None
    assert product.arch == arch


def test_an_architecture_that_its_product_contradicts_fails() -> None:
    found = judged("arch-driver", {"gpu_driver": "580.173.02"}, {"product": "B200", "arch": "Hopper"})
    assert found is not None
    assert found.verdict.value == "fail"
    assert "B200 is Blackwell, and the matrix says Hopper" in found.message


def test_a_grace_hopper_may_be_called_hopper() -> None:
    found = judged("arch-cuda", {"cuda": "12.8"}, {"product": "GH200", "arch": "Hopper"})
    assert found is not None
    assert found.verdict.value == "ok"


def test_an_architecture_alone_does_not_settle_what_differs_within_it() -> None:
    found = judged("arch-cuda", {"cuda": "12.8"}, {"arch": "Blackwell"})
    assert found is not None
    assert found.verdict.value == "unknown"
    assert found.next_step == "Write hardware.product."


def test_the_ends_of_the_old_architectures_are_verified_facts() -> None:
    for name in ("Maxwell", "Pascal", "Volta"):
        arch = facts().architecture(name)
        assert arch is not None
        assert (arch.last_branch, arch.last_cuda_major, arch.open_modules) == (580, 12, "unsupported")
        assert arch.cite.confidence is arch.modules_cite.confidence is Confidence.VERIFIED
