"""Facts that were found wrong or missing, each held to what its source says."""

from __future__ import annotations

import pytest

from seatrial.core.compat.versions import DriverVersion
from tests.core.knowledge import facts, judged


@pytest.mark.parametrize(("product", "driver"), [("GH200", "535.129.03"), ("GB200", "570.124.04")])
def test_a_product_is_first_listed_where_the_release_notes_say(product: str, driver: str) -> None:
    found = judged("arch-driver", {"gpu_driver": driver}, {"product": product, "kernel_module": "open"})
    assert found is not None
    assert found.verdict.value == "ok", found.message


@pytest.mark.parametrize(
    ("openshift", "operator", "verdict", "next_step"),
    [
        ("4.21.4", "v26.4.1", "ok", ""),
        ("4.20.4", "v26.4.1", "ok", ""),
        ("4.21.4", "v26.1.1", "fail", "Take network_operator v26.4.0"),
    ],
)
def test_the_network_operator_of_26_4_has_documents(
    openshift: str, operator: str, verdict: str, next_step: str
) -> None:
    found = judged("netop-openshift", {"openshift": openshift, "network_operator": operator})
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert next_step in found.next_step


@pytest.mark.parametrize("driver", ["615.71.09", "620.70.06"])
def test_drivers_of_the_autumn_are_known(driver: str) -> None:
    assert facts().driver(DriverVersion.parse(driver)) is not None


def test_neighbouring_patches_ship_one_driver_manager() -> None:
    """24.6.0 and 24.6.1: a plan must not call it another one."""
    first, second = judged("exists", {"gpu_operator": "v24.6.0"}), judged("exists", {"gpu_operator": "v24.6.1"})
    assert first is not None
    assert second is not None
    assert first.verdict.value == second.verdict.value == "ok"


def test_what_is_not_known_says_how_far_knowledge_reaches_and_not_that_the_newest_is_none() -> None:
    found = judged("exists", {"vgpu": "17.4"})
    assert found is not None
    assert "none" not in found.message
    assert f"knowledge reaches up to {facts().known_until}" in found.message
