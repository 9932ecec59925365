"""A gate that real work answers: it passes when pods of tenants have run on the canary for so long without a break."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.campaign.course import Course
from seatrial.core.campaign.step import step_rollout
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode
from seatrial.core.judging.kinds.tenanting import measured
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase
from seatrial.core.model.gates.gate import Gate, GateResult, GateVerdict, Measurement, Tenant
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.invariants import broken
from tests.builders import (
    NEW,
    NOW,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_gpu_pod,
    a_ledger,
    a_node,
    a_snapshot,
    a_well_node,
    an_intent,
    an_operator,
)

VISION = Gate(name="vision", tenant=Tenant(pod_selector="team=vision"))
THEIRS = (("team", "vision"),)
CAREFUL = an_intent(campaign=a_campaign(gates=(VISION,)))


def work(number: int = 0, **changes: Any) -> Pod:
    fields: dict[str, Any] = {"labels": THEIRS, "is_running": True} | changes
    return a_gpu_pod(number, **fields)


def on(*pods: Pod) -> NodeFacts:
    return a_done_node(pods=pods).facts


def asked(*pods: Pod, before: GateResult | None = None, at: float = 0.0, gate: Gate = VISION) -> Measurement:
    return measured(gate, on(*pods), 1, before, since=0.0, now=at)


def row(detail: str, at: float) -> GateResult:
    return GateResult(gate="vision", node="n1", round=1, verdict=GateVerdict.PENDING, detail=detail, at=at)


def test_nobody_there_is_waited_for_and_then_unknown() -> None:
    assert (asked().verdict, asked().detail) == (GateVerdict.PENDING, "0 of 1 pod with team=vision running there")
    assert asked(at=1199.0).verdict is GateVerdict.PENDING
    assert asked(at=1200.0).verdict is GateVerdict.UNKNOWN


def test_who_runs_has_to_go_on_for_so_long() -> None:
    first = asked(work(), at=10.0)
    assert (first.verdict, first.detail) == (
        GateVerdict.PENDING,
        "1 of 1 pod with team=vision running there: jobs/train-0",
    )
    seen = row(first.detail, 10.0)
    assert asked(work(), before=seen, at=609.0).verdict is GateVerdict.PENDING
    assert asked(work(), before=seen, at=610.0).verdict is GateVerdict.PASSED


def test_when_it_is_another_pod_the_time_begins_anew() -> None:
    seen = row(asked(work(), at=10.0).detail, 10.0)
    assert asked(work(1), before=seen, at=700.0).verdict is GateVerdict.PENDING


@pytest.mark.parametrize(
    "pod",
    [
        work(labels=(("team", "speech"),)),
        work(is_running=False),
        work(is_terminating=True),
        work(gpu=None),
        work(labels=(*THEIRS, ("seatrial.dev/gate", "smoke"))),
    ],
    ids=["somebody else's", "not ready", "leaving", "without a GPU", "a probe of ours"],
)
def test_pods_that_do_not_count(pod: Pod) -> None:
    assert asked(pod).detail == "0 of 1 pod with team=vision running there"


def test_as_many_as_are_asked_for_have_to_run_at_once() -> None:
    two = replace(VISION, tenant=Tenant(pod_selector="team=vision", pods=2))
    assert asked(work(), gate=two).detail == "1 of 2 pods with team=vision running there"
    assert asked(work(0), work(1), gate=two).detail.endswith("jobs/train-0, jobs/train-1")


def test_work_that_was_started_again_on_the_new_driver_fails_the_gate() -> None:
    driver = on().driver
    assert driver is not None
    loaded_at = driver.loaded_at
    assert loaded_at is not None
    found = asked(work(restarted_at=loaded_at + 60))
    assert (found.verdict, found.detail) == (
        GateVerdict.FAILED,
        "jobs/train-0 restarted since the driver was loaded",
    )
    assert asked(work(restarted_at=loaded_at - 60)).verdict is GateVerdict.PENDING


def gating(*pods: Pod, **changes: Any) -> Snapshot:
    record = a_campaign_record(RolloutPhase.GATING, **({"round": 1, "round_at": 900.0} | changes))
    canary = a_done_node(canary_of="spring", pods=pods)
    return a_snapshot(canary, a_node("n2"), campaign=record, operator=an_operator(NEW.version))


def course_of(seen: Snapshot, now: float = NOW) -> Course:
    assert broken(seen, CAREFUL, decide(seen, CAREFUL, now)) == ()
    return step_rollout(seen, CAREFUL, now)


def known(seen: Snapshot, record: CampaignRecord) -> Snapshot:
    return replace(seen, rollout=replace(seen.rollout, campaign=record))


def test_a_campaign_says_whose_work_it_waits_for_and_looks_again_when_it_is_enough() -> None:
    seen = gating(work())
    seen = known(seen, course_of(seen).record)
    waiting = course_of(seen)
    assert [held.code for held in waiting.holds] == [HoldCode.TENANTS_AWAITED]
    assert waiting.wake_at == NOW + 600
    assert course_of(seen, NOW + 600).record.phase is RolloutPhase.BAKING


def test_a_canary_that_is_still_closed_is_given_its_time_from_when_it_opens() -> None:
    closed = a_well_node("n1", NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, canary_of="spring")
    record = a_campaign_record(RolloutPhase.GATING, round=1, round_at=900.0)
    seen = a_snapshot(closed, a_node("n2"), campaign=record, operator=an_operator(NEW.version), admitted=a_ledger("n1"))
    late = step_rollout(seen, CAREFUL, NOW + 90_000).record
    assert [each.verdict for each in late.gates] == [GateVerdict.PASSED, GateVerdict.PENDING]
