"""Kernels of systems that no table names are real: what is not known about them is unknown, and never a fail."""

from __future__ import annotations

import pytest

from tests.core.compat.knowledge import judged

R580, R570 = "580.173.02", "570.211.01"


@pytest.mark.parametrize(
    "kernel",
    [
        "6.6.113+",
        "6.4.0-150600.23.47-default",
        "6.12.40-talos",
        "6.6.95-flatcar",
        "6.6.92.2-2.azl3",
        "6.1.141-155.222.amzn2023.x86_64",
        "6.12.40",
        "6.8.0-1028-nvidia-64k",
    ],
)
def test_a_kernel_of_another_system_is_unknown_with_what_would_settle_it(kernel: str) -> None:
    for rule, texts in (
        ("driver-kernel", {"gpu_driver": R580, "kernel": kernel}),
        ("mofed-kernel", {"network_operator": "v26.1.1", "kernel": kernel}),
    ):
        found = judged(rule, texts)
        assert found is not None
        assert found.verdict.value == "unknown", found.message
        assert kernel[:5] in found.message
        assert "canary" in found.next_step


@pytest.mark.parametrize(
    ("kernel", "driver"),
    [
        ("5.15.0-142-generic", R570),
        ("6.8.0-60-generic", R580),
        ("6.8.0-1028-nvidia", R580),
        ("6.8.0-1028-azure-fde", "595.91.07"),
        ("7.0.0-12-generic", "595.91.07"),
    ],
)
def test_a_kernel_with_precompiled_drivers_is_ok_and_says_where_they_are_listed(kernel: str, driver: str) -> None:
    found = judged("driver-kernel", {"gpu_driver": driver, "kernel": kernel})
    assert found is not None
    assert found.verdict.value == "ok", found.message
    assert any("Supported Precompiled Drivers" in source for source in found.sources)


def test_what_is_precompiled_for_another_branch_is_told() -> None:
    found = judged("driver-kernel", {"gpu_driver": R570, "kernel": "7.0.0-12-generic"})
    assert found is not None
    assert found.verdict.value == "unknown"
    assert "precompiled ones exist for 5.15 on Ubuntu 22.04, 6.8 on Ubuntu 22.04, 6.8 on Ubuntu 24.04" in found.message


def test_a_kernel_below_the_floor_of_the_driver_fails_whatever_system_it_is_of() -> None:
    found = judged("driver-kernel", {"gpu_driver": R580, "kernel": "4.4.0-flatcar"})
    assert found is not None
    assert found.verdict.value == "fail"


def test_a_kernel_of_another_system_cannot_be_on_openshift() -> None:
    found = judged("openshift-kernel", {"openshift": "4.20.30", "kernel": "6.6.113+"})
    assert found is not None
    assert found.verdict.value == "fail"


def test_flavours_count_their_builds_by_themselves() -> None:
    same = judged("mofed-kernel", {"network_operator": "v26.1.0", "kernel": "6.8.0-1028-nvidia"})
    older = judged("mofed-kernel", {"network_operator": "v26.1.0", "kernel": "5.15.0-1084-aws"})
    assert same is not None
    assert older is not None
    assert (same.verdict.value, older.verdict.value) == ("unknown", "ok")


@pytest.mark.parametrize(
    ("system", "kernel", "verdict"),
    [
        ("rhel9.7", "5.14.0-611.5.1.el9_7.x86_64", "ok"),
        ("rhel10.1", "6.12.0-124.8.1.el10_1.x86_64", "ok"),
        ("rocky9.7", "5.14.0-611.5.1.el9_7.x86_64", "ok"),
        ("rocky9.6", "5.14.0-611.5.1.el9_7.x86_64", "unknown"),
        ("rhel9.7", "5.14.0-611.5.1.el9_7.x86_64+rt", "unknown"),
        ("rhel10.1", "6.12.0-124.8.1.el10_1.aarch64+64k", "unknown"),
    ],
)
def test_a_listed_minor_of_rhel_means_its_kernels(system: str, kernel: str, verdict: str) -> None:
    found = judged("driver-kernel", {"gpu_operator": "v26.7.0", "gpu_driver": R580, "os": system, "kernel": kernel})
    assert found is not None
    assert found.verdict.value == verdict, found.message
