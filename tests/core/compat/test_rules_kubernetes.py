"""Kubernetes: minors are not skipped, they end, documents differ by platform; no support beyond the day it was read."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from seatrial.core.compat.matrix import Component
from tests.core.compat.knowledge import facts, judged, judged_change

V267, V249 = "v26.7.0", "v24.9.2"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ({"kubernetes": "v1.31.6"}, {"kubernetes": "v1.34.5"}, "fail"),
        ({"kubernetes": "v1.33.6"}, {"kubernetes": "v1.34.5"}, "ok"),
        ({"kubernetes": "v1.34.5"}, {"kubernetes": "v1.34.9"}, "ok"),
        ({"kubernetes": "v1.34.5"}, {"kubernetes": "v1.33.9"}, "unknown"),
        ({"openshift": "4.16.23"}, {"openshift": "4.20.30"}, "fail"),
        ({"openshift": "4.19.1", "kubernetes": "v1.32.1"}, {"openshift": "4.20.1", "kubernetes": "v1.33.1"}, "ok"),
    ],
)
def test_minors_are_not_skipped(before: dict[str, str], after: dict[str, str], verdict: str) -> None:
    found = judged_change("upgrade-path", before, after)
    assert found is not None
    assert found.verdict.value == verdict, found.message


def test_a_skip_names_the_stations() -> None:
    found = judged_change("upgrade-path", {"kubernetes": "v1.31.6"}, {"kubernetes": "v1.34.5"})
    assert found is not None
    assert found.next_step == "Go 1.31 → 1.32 → 1.33 → 1.34."


@pytest.mark.parametrize(
    ("version", "on", "verdict"),
    [
        ("v1.34.5", date(2026, 10, 27), "ok"),
        ("v1.34.5", date(2026, 10, 28), "warn"),
        ("v1.33.9", date(2026, 8, 21), "warn"),
        ("v1.33.9-eks-113cf36", date(2026, 7, 29), "ok"),
        ("v1.33.9-eks-113cf36", date(2027, 7, 29), "ok"),
        ("v1.33.9-eks-113cf36", date(2027, 7, 30), "warn"),
        ("v1.33.13-gke.1499000", date(2026, 8, 3), "ok"),
        ("v1.33.13-gke.1499000", date(2026, 8, 4), "warn"),
        ("v1.34.9+rke2r1", date(2026, 10, 28), "warn"),
        ("v1.37.0-eks-3abbec1", date(2026, 8, 21), "unknown"),
        ("v1.52.0", date(2026, 8, 21), "unknown"),
    ],
)
def test_a_minor_of_kubernetes_ends(version: str, on: date, verdict: str) -> None:
    found = judged("lifecycle", {"kubernetes": version}, on=on)
    assert found is not None
    assert found.verdict.value == verdict, found.message


def test_on_openshift_its_own_end_counts() -> None:
    found = judged("lifecycle", {"openshift": "4.20.30", "kubernetes": "v1.33.6"})
    assert found is not None
    assert found.verdict.value == "ok", found.message


@pytest.mark.parametrize(
    ("operator", "texts", "verdict", "told"),
    [
        (V267, {"kubernetes": "v1.32.9"}, "warn", "Ubuntu 22.04 1.33"),
        (V267, {"kubernetes": "v1.33.9"}, "ok", "1.32 to 1.36"),
        (V267, {"kubernetes": "v1.32.9-eks-113cf36"}, "fail", "on Amazon EKS"),
        (V267, {"kubernetes": "v1.31.9"}, "fail", "does not support"),
        (V249, {"kubernetes": "v1.30.4"}, "ok", "1.24 to 1.31"),
        (V249, {"kubernetes": "v1.30.4-gke.1000"}, "warn", "not for Kubernetes 1.30 on Google GKE"),
        (V249, {"kubernetes": "v1.28.4-gke.1000"}, "ok", "on Google GKE"),
        (V249, {"kubernetes": "v1.30.4", "kernel": "5.15.0-1084-azure"}, "warn", "on Azure AKS"),
        ("v25.10.0", {"kubernetes": "v1.35.2"}, "warn", "1.30 to 1.34"),
        ("v25.10.1", {"kubernetes": "v1.35.2"}, "ok", "1.30 to 1.35"),
    ],
)
def test_documents_differ_by_platform(operator: str, texts: dict[str, str], verdict: str, told: str) -> None:
    found = judged("gpuop-kubernetes", {"gpu_operator": operator, **texts})
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message


READ, NETWORK_READ = (facts().newest_lines[each].as_of for each in (Component.GPU_OPERATOR, Component.NETWORK_OPERATOR))
LATER = READ + timedelta(days=1)


@pytest.mark.parametrize(
    ("texts", "on", "verdict"),
    [
        ({"gpu_operator": "v26.3.3"}, READ, "ok"),
        ({"gpu_operator": "v26.3.3"}, LATER, "unknown"),
        ({"gpu_operator": "v26.7.0"}, LATER, "ok"),
        ({"gpu_operator": "v25.10.1"}, READ, "warn"),
        ({"network_operator": "v26.4.1"}, NETWORK_READ, "ok"),
        ({"network_operator": "v26.4.1"}, date(2026, 11, 15), "unknown"),
    ],
)
def test_support_is_said_up_to_the_day_the_sources_were_read(texts: dict[str, str], on: date, verdict: str) -> None:
    found = judged("lifecycle", texts, on=on)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert str(on) not in found.message or on <= max(READ, NETWORK_READ)


@pytest.mark.parametrize(
    ("driver", "on", "verdict"),
    [
        ("590.48.01", date(2026, 8, 21), "warn"),
        ("590.48.01", date(2026, 2, 1), "ok"),
        ("580.173.02", date(2026, 8, 21), "ok"),
        ("595.91.07", date(2026, 8, 21), "ok"),
        ("610.57.04", date(2026, 8, 21), "ok"),
        ("570.211.01", date(2026, 8, 21), "warn"),
        ("550.144.03", date(2025, 1, 10), "ok"),
    ],
)
def test_a_branch_that_left_the_vendors_table_is_told(driver: str, on: date, verdict: str) -> None:
    found = judged("lifecycle", {"gpu_driver": driver}, on=on)
    assert found is not None
    assert found.verdict.value == verdict, found.message


def test_a_branch_that_left_is_told_with_those_that_stayed() -> None:
    found = judged("lifecycle", {"gpu_driver": "590.48.01"}, on=date(2026, 8, 21))
    assert found is not None
    assert "not among the branches that NVIDIA lists as supported (535, 580, 595, 610" in found.message


def test_the_newest_major_of_a_page_says_nothing_where_somebody_knows_a_newer_one() -> None:
    lines = {**facts().release_lines, Component.GPU_OPERATOR: ("26.3", "26.7", "26.11")}
    assert facts().newest_line(Component.GPU_OPERATOR) is not None
    assert replace(facts(), release_lines=lines).newest_line(Component.GPU_OPERATOR) is None


def test_what_is_not_known_any_more_says_when_it_was() -> None:
    found = judged("lifecycle", {"gpu_operator": "v26.3.3"}, on=LATER)
    assert found is not None
    assert f"was supported on {READ}" in found.message


def test_a_major_ends_when_the_second_one_after_it_is_out() -> None:
    found = judged("lifecycle", {"network_operator": "v26.1.1"}, on=date(2026, 11, 15))
    assert found is not None
    assert (found.verdict.value, found.next_step) == ("warn", "Plan the way to 26.4 or 26.7.")
