"""Facts that were found wrong or missing, each held to what its source says."""

from __future__ import annotations

import pytest

from seatrial.core.compat.plan import Plan, make_plan
from seatrial.core.compat.versions import DriverVersion, OperatorVersion
from tests.core.compat.knowledge import ON, facts, judged, stack


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


@pytest.mark.parametrize(
    ("before", "after", "is_another"), [("v26.3.2", "v26.3.3", False), ("v26.3.3", "v26.7.0", True)]
)
def test_a_driver_manager_that_stays_is_not_called_another_one(before: str, after: str, is_another: bool) -> None:
    kept = {"gpu_driver": "580.173.02"}
    plan = make_plan(stack({"gpu_operator": before, **kept}), stack({"gpu_operator": after, **kept}), facts(), ON)
    assert isinstance(plan, Plan)
    told = [each.code for each in plan.steps[0].preparations]
    assert ("pin-driver-manager" in told) is is_another


def test_24_6_0_and_24_6_1_ship_one_driver_manager() -> None:
    rows = [facts().gpu_operators[OperatorVersion.parse(text)] for text in ("v24.6.0", "v24.6.1")]
    assert [row.driver_manager for row in rows] == ["v0.6.10", "v0.6.10"]


def test_kubernetes_without_a_kernel_is_neither_a_reboot_nor_a_new_mofed() -> None:
    kept = {"gpu_operator": "v26.7.0", "network_operator": "v26.4.1", "mofed": "26.04-1.1.0.0"}
    plan = make_plan(stack({"kubernetes": "v1.34.5", **kept}), stack({"kubernetes": "v1.35.4", **kept}), facts(), ON)
    assert isinstance(plan, Plan)
    assert "no reboot" in plan.steps[0].evicts
    assert [each.code for each in plan.steps[0].preparations if "mofed" in each.code] == []


def test_what_is_not_known_says_how_far_knowledge_reaches_and_not_that_the_newest_is_none() -> None:
    found = judged("exists", {"vgpu": "99.4"})
    assert found is not None
    assert "none" not in found.message
    assert f"knowledge reaches up to {facts().known_until}" in found.message
