"""What is vulnerable fails, by ranges of the vulnerable component and with the conditions of the vendor's record."""

from __future__ import annotations

from datetime import date

import pytest

from seatrial.core.compat.findings import Verdict
from seatrial.core.compat.plan import Plan, Refusal, make_plan
from seatrial.core.compat.rules import kept_holes
from tests.core.compat.knowledge import ON, facts, judged, stack


@pytest.mark.parametrize(
    ("texts", "verdict", "told"),
    [
        ({"container_toolkit": "v1.17.7"}, "fail", "CVE-2025-23266: a crafted image"),
        ({"container_toolkit": "v1.17.5-ubuntu20.04"}, "fail", "CVE-2025-23266"),
        ({"container_toolkit": "v1.17.8"}, "ok", "container_toolkit v1.17.8"),
        ({"container_toolkit": "v1.17.4"}, "warn", "CVE-2025-23266 in CDI mode"),
        ({"container_toolkit": "v1.17.3"}, "fail", "CVE-2025-23359 in legacy mode"),
        ({"container_toolkit": "v1.17.0"}, "fail", "CVE-2024-0135: a crafted image changes a program of the node"),
        ({"gpu_operator": "v25.3.0"}, "fail", "which GPU Operator v25.3.0 ships"),
        ({"gpu_operator": "v25.3.1"}, "fail", "CVE-2025-23266"),
        ({"gpu_operator": "v25.3.2"}, "ok", ""),
        ({"gpu_operator": "v25.3.0", "container_toolkit": "v1.17.8"}, "warn", "which the matrix replaces, is not"),
        ({"gpu_operator": "v24.9.0"}, "fail", "CVE-2024-0135"),
        ({"gpu_operator": "v26.7.0", "container_toolkit": "v1.17.6"}, "fail", "v1.17.6"),
        ({"device_plugin": "v0.17.2"}, "warn", "in device-list-strategy cdi-annotations or cdi-cri"),
        ({"device_plugin": "v0.17.3"}, "ok", ""),
    ],
)
def test_a_vulnerable_toolkit_was_known_to_be_bad_in_2025(texts: dict[str, str], verdict: str, told: str) -> None:
    found = judged("known-bad", texts, on=date(2025, 9, 1))
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message
    assert verdict == "ok" or all("product-security" in source for source in found.sources)


@pytest.mark.parametrize(
    ("texts", "verdict", "told"),
    [
        ({"container_toolkit": "v1.19.0"}, "fail", "CVE-2026-24260"),
        ({"container_toolkit": "v1.17.8"}, "fail", "CVE-2026-24260"),
        ({"container_toolkit": "v1.19.1"}, "ok", ""),
        ({"gpu_operator": "v26.3.1"}, "fail", "gpu_operator v26.3.1 is vulnerable"),
        ({"gpu_operator": "v26.3.2"}, "ok", ""),
        ({"gpu_operator": "v26.3.1", "container_toolkit": "v1.19.1"}, "warn", "which the matrix replaces, is not"),
        ({"dcgm": "4.5.1-4.8.0"}, "warn", "CVE-2026-47483"),
        ({"dcgm": "4.5.3-4.8.2"}, "ok", ""),
        ({"gpu_driver": "580.126.20"}, "warn", "CVE-2026-24187"),
        ({"gpu_driver": "580.159.03"}, "ok", ""),
        ({"gpu_driver": "595.45.04"}, "warn", "CVE-2026-24187"),
        ({"gpu_driver": "570.207"}, "warn", "CVE-2025-33219"),
        ({"gpu_driver": "570.211.01"}, "warn", "its branch is not in the bulletin"),
        ({"gpu_driver": "590.48.01"}, "warn", "its branch is not in the bulletin"),
        ({"gpu_driver": "610.57.04"}, "ok", ""),
        ({"firmware_cx7": "28.43.2566"}, "warn", "virtual functions"),
        ({"firmware_cx7": "28.43.8002"}, "ok", ""),
        ({"firmware_cx7": "28.44.1036"}, "warn", "CVE-2025-23351"),
        ({"firmware_cx7": "28.47.1026"}, "ok", ""),
        ({"firmware_cx6": "20.43.1014"}, "warn", "CVE-2025-23351"),
        ({"firmware_cx6": "20.43.8002"}, "ok", ""),
        ({"mofed": "24.10-2.1.8.0"}, "warn", "VGT+"),
        ({"mofed": "24.10-3.2.5.0"}, "ok", ""),
        ({"mofed": "25.04-0.6.1.0"}, "ok", ""),
    ],
)
def test_every_component_of_a_bulletin_is_known(texts: dict[str, str], verdict: str, told: str) -> None:
    found = judged("known-bad", texts)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message


@pytest.mark.parametrize(
    ("texts", "verdict", "told"),
    [
        ({"gpu_driver": "580.173.02"}, "warn", "CVE-2026-47601"),
        ({"gpu_driver": "580.178.04"}, "ok", ""),
        ({"gpu_driver": "595.71.05"}, "warn", "CVE-2026-47601"),
        ({"gpu_driver": "595.91.07"}, "ok", ""),
        ({"gpu_driver": "610.43.02"}, "warn", "CVE-2026-47601"),
        ({"gpu_driver": "610.57.04"}, "ok", ""),
        ({"gpu_driver": "615.71.09"}, "ok", ""),
        ({"gpu_driver": "535.309.01"}, "warn", "its branch is not in the bulletin"),
        ({"vgpu": "20.1"}, "warn", "CVE-2026-47601"),
        ({"vgpu": "20.2"}, "ok", ""),
        ({"vgpu": "19.6"}, "ok", ""),
        ({"vgpu": "16.14"}, "warn", "its branch is not in the bulletin"),
        ({"firmware_cx6": "22.46.3008"}, "warn", "CVE-2025-33207"),
        ({"firmware_cx6": "22.47.1020"}, "ok", ""),
        ({"firmware_cx6": "22.43.8002"}, "ok", ""),
        ({"firmware_cx6": "20.46.3008"}, "ok", ""),
    ],
)
def test_what_september_2026_found_counts_from_its_day_on(texts: dict[str, str], verdict: str, told: str) -> None:
    found, before = (judged("known-bad", texts, on=day) for day in (date(2026, 9, 30), date(2026, 9, 28)))
    assert found is not None
    assert before is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message
    assert "CVE-2026-47601" not in before.message


def test_the_remedy_stays_on_the_branch() -> None:
    found = judged("known-bad", {"gpu_driver": "580.126.20"})
    assert found is not None
    assert "Take gpu_driver 580.159.03 or newer of branch 580." in found.next_step


def test_what_is_told_of_the_operator_is_not_told_of_its_parts_again() -> None:
    found = judged("known-bad", {"gpu_operator": "v26.3.0"}, on=date(2026, 7, 1))
    assert found is not None
    assert found.message.count("CVE-2026-24260") == 1


def test_only_what_breaks_out_in_every_mode_blocks() -> None:
    for row in facts().vulnerabilities:
        if row.only_in or not row.breaks_out:
            continue
        assert row.component.value in ("gpu_operator", "container_toolkit"), row


def test_nobody_knew_before_it_was_published() -> None:
    found = judged("known-bad", {"container_toolkit": "v1.17.7"}, on=date(2025, 7, 14))
    assert found is not None
    assert found.verdict.value == "ok"


def test_the_way_out_may_lead_over_releases_that_are_vulnerable_too() -> None:
    plan = make_plan(stack({"gpu_operator": "v24.6.2"}), stack({"gpu_operator": "v25.3.4"}), facts(), ON)
    assert isinstance(plan, Plan)
    assert plan.steps[0].changes[0].after.startswith("v24.9")


def test_a_plan_between_two_releases_with_the_same_hole_is_made() -> None:
    assert isinstance(
        make_plan(stack({"gpu_operator": "v25.3.4"}), stack({"gpu_operator": "v25.10.1"}), facts(), ON), Plan
    )


def test_a_plan_whose_end_stays_vulnerable_says_so() -> None:
    plan = make_plan(stack({"gpu_operator": "v25.3.4"}), stack({"gpu_operator": "v25.10.1"}), facts(), ON)
    assert isinstance(plan, Plan)
    assert [each.rule for each in plan.doubts if "gpu_operator v25.10.1 (CVE-2026-24260)" in each.message] == [
        "known-bad"
    ]


def test_a_plan_that_ends_on_a_vulnerable_release_is_refused() -> None:
    answer = make_plan(stack({"gpu_operator": "v24.9.2"}), stack({"gpu_operator": "v25.3.0"}), facts(), ON)
    assert isinstance(answer, Refusal)
    assert answer.conflict == ("known-bad",)


def test_what_is_vulnerable_and_stays_does_not_stop_a_plan_for_something_else() -> None:
    running = {"gpu_operator": "v24.9.0", "network_operator": "v25.1.0"}
    answer = make_plan(stack(running), stack({**running, "network_operator": "v24.10.1"}), facts(), ON)
    assert not isinstance(answer, Refusal) or "known-bad" not in answer.conflict


@pytest.mark.parametrize(
    ("running", "wanted", "told"),
    [
        ({"gpu_operator": "v25.3.2"}, {"gpu_operator": "v25.3.4"}, "gpu_operator v25.3.4 (CVE-2026-24260)"),
        (
            {"gpu_operator": "v25.3.2", "gpu_driver": "570.172.08"},
            {"gpu_operator": "v25.3.2", "gpu_driver": "580.159.03"},
            "gpu_operator v25.3.2 (CVE-2026-24260)",
        ),
    ],
)
def test_a_hole_that_runs_already_warns_whoever_plans(
    running: dict[str, str], wanted: dict[str, str], told: str
) -> None:
    found = kept_holes(stack(running), stack(wanted), facts(), date(2026, 11, 1))
    assert found is not None
    assert (found.verdict, found.rule) == (Verdict.WARN, "known-bad")
    assert told in found.message
    assert "v26.3.2 or newer next" in found.next_step


@pytest.mark.parametrize(
    ("running", "wanted"),
    [
        ({"gpu_operator": "v26.3.3"}, {"gpu_operator": "v25.3.4"}),
        ({"gpu_operator": "v25.3.4"}, {"gpu_operator": "v26.3.3"}),
        ({"gpu_operator": "v25.3.4"}, {"gpu_operator": "v25.3.0"}),
        ({"gpu_operator": "v26.3.3"}, {"gpu_operator": "v26.3.3", "container_toolkit": "v1.17.6"}),
    ],
    ids=["opened", "closed", "one more", "by its toolkit"],
)
def test_a_hole_that_opens_is_not_taken_for_one_that_stays(running: dict[str, str], wanted: dict[str, str]) -> None:
    assert kept_holes(stack(running), stack(wanted), facts(), date(2026, 11, 1)) is None


@pytest.mark.parametrize(("operator", "verdict"), [("v24.12.0", "ok"), ("v22.9.0", "fail")])
def test_what_was_never_released_has_no_holes_and_what_is_older_than_our_list_has(operator: str, verdict: str) -> None:
    found = judged("known-bad", {"gpu_operator": operator})
    assert found is not None
    assert found.verdict.value == verdict, found.message
