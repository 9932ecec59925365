"""What is vulnerable fails, by ranges of the vulnerable component and with the conditions of the vendor's record."""

from __future__ import annotations

from datetime import date

import pytest

from seatrial.core.compat.plan import Plan, Refusal, make_plan
from tests.core.knowledge import ON, facts, judged, stack


@pytest.mark.parametrize(
    ("texts", "verdict", "told"),
    [
        ({"container_toolkit": "v1.17.7"}, "fail", "CVE-2025-23266: a crafted image"),
        ({"container_toolkit": "v1.17.5-ubuntu20.04"}, "fail", "CVE-2025-23266"),
        ({"container_toolkit": "v1.17.8"}, "ok", "container_toolkit v1.17.8"),
        ({"container_toolkit": "v1.17.4"}, "warn", "CVE-2025-23266 in CDI mode"),
        ({"container_toolkit": "v1.17.3"}, "fail", "CVE-2025-23359 in legacy mode"),
        ({"gpu_operator": "v25.3.0"}, "fail", "which GPU Operator v25.3.0 ships"),
        ({"gpu_operator": "v25.3.1"}, "ok", ""),
        ({"gpu_operator": "v25.3.0", "container_toolkit": "v1.17.8"}, "ok", ""),
        ({"gpu_operator": "v24.9.0"}, "fail", "v1.17.0"),
        ({"gpu_operator": "v26.7.0", "container_toolkit": "v1.17.6"}, "fail", "v1.17.6"),
    ],
)
def test_a_vulnerable_toolkit_is_known_to_be_bad(texts: dict[str, str], verdict: str, told: str) -> None:
    found = judged("known-bad", texts)
    assert found is not None
    assert found.verdict.value == verdict, found.message
    assert told in found.message
    assert verdict == "ok" or any("CVE" in source or "custhelp" in source for source in found.sources)


def test_nobody_knew_before_it_was_published() -> None:
    found = judged("known-bad", {"container_toolkit": "v1.17.7"}, on=date(2025, 7, 16))
    assert found is not None
    assert found.verdict.value == "ok"


def test_the_way_out_may_lead_over_releases_that_are_vulnerable_too() -> None:
    plan = make_plan(stack({"gpu_operator": "v24.6.2"}), stack({"gpu_operator": "v25.3.4"}), facts(), ON)
    assert isinstance(plan, Plan)
    assert plan.steps[0].changes[0].after.startswith("v24.9")


def test_a_plan_that_ends_on_a_vulnerable_release_is_refused() -> None:
    answer = make_plan(stack({"gpu_operator": "v24.9.2"}), stack({"gpu_operator": "v25.3.0"}), facts(), ON)
    assert isinstance(answer, Refusal)
    assert answer.conflict == ("known-bad",)


def test_what_is_vulnerable_and_stays_does_not_stop_a_plan_for_something_else() -> None:
    running = {"gpu_operator": "v24.9.0", "network_operator": "v25.1.0"}
    answer = make_plan(stack(running), stack({**running, "network_operator": "v24.10.1"}), facts(), ON)
    assert not isinstance(answer, Refusal) or "known-bad" not in answer.conflict
