"""A canary is measured before it takes work: it stays closed until the gates that want its GPUs have passed there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.at_home import Publish
from seatrial.core.actions.of_campaigns import EndProbe, StartProbe
from seatrial.core.actions.on_nodes import Uncordon, WriteNodeRecord
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase, Watched
from seatrial.core.model.gates.closed import kept_closed
from seatrial.core.model.gates.gate import PREPULL, READINESS, Attest, Gate, GateResult, GateVerdict
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.invariants import broken
from tests.builders import (
    NEW,
    NOW,
    OLD,
    SEEN_DONE,
    SMOKE,
    a_campaign,
    a_campaign_record,
    a_driver,
    a_gpu_pod,
    a_ledger,
    a_measurement,
    a_node,
    a_snapshot,
    a_well_node,
    an_intent,
    an_operator,
    proving,
)
from tests.core.words.explained import sentence

CAREFUL = an_intent(campaign=a_campaign())
WORD = Gate(name="signed", attest=Attest(asks="the tenants are content"))
LINKS = Gate(name="links", image="example.com/links:1", gpus=0)
GATING: dict[str, Any] = {"round": 1, "round_at": 900.0}


def passed(gate: Gate, node: str = "n1") -> GateResult:
    return GateResult(gate=gate.name, node=node, round=1, verdict=GateVerdict.PASSED, at=900.0, asked=gate.mark)


def closed_canary(**changes: Any) -> NodeSeen:
    """A canary whose new driver is proven, and that nobody was let back to."""
    fields = {"is_cordon_ours": True, "canary_of": "spring"} | changes
    return a_well_node("n1", NodePhase.UNCORDON_REQUIRED, **fields)


def at(phase: RolloutPhase, *nodes: NodeSeen, record: dict[str, Any] | None = None, **changes: Any) -> Snapshot:
    written = a_campaign_record(phase, **(record or {}))
    fields: dict[str, Any] = {"operator": an_operator(NEW.version), "admitted": a_ledger("n1")} | changes
    return a_snapshot(*(nodes or (closed_canary(), a_node("n2"))), campaign=written, **fields)


def decided(seen: Snapshot, intent: Intent = CAREFUL) -> Decision:
    """What is decided, which must keep every promise."""
    decision = decide(seen, intent, NOW)
    assert broken(seen, intent, decision) == ()
    return decision


def of(decision: Decision, name: str) -> list[str]:
    return [held.code for held in decision.holds if held.subject == name]


def written(decision: Decision) -> CampaignRecord:
    records = [act.record.campaign for act in decision.actions if isinstance(act, WriteRolloutRecord)]
    assert records
    assert records[0] is not None
    return records[0]


def opened(decision: Decision) -> bool:
    return any(isinstance(act, Uncordon) for act in decision.actions)


def test_a_canary_that_is_proven_stays_closed_and_its_gates_are_asked() -> None:
    decision = decided(at(RolloutPhase.CANARY))
    assert not opened(decision)
    assert of(decision, "n1") == [HoldCode.CANARY_CLOSED]
    assert written(decision).phase is RolloutPhase.GATING


def test_a_canary_that_was_never_closed_is_done_and_frees_its_place_before_its_gates_have_passed() -> None:
    """Its operands are new, and nobody had to leave: two of them waited for each other's place in the ledger."""
    decision = decided(at(RolloutPhase.CANARY, closed_canary(is_cordon_ours=False), a_node("n2")))
    steps = [act.record.phase for act in decision.actions if isinstance(act, WriteNodeRecord)]
    assert (steps, of(decision, "n1")) == ([NodePhase.UPGRADE_DONE], [])
    assert written(decision).phase is RolloutPhase.GATING


def test_the_probe_is_started_on_the_closed_canary() -> None:
    seen = at(RolloutPhase.GATING, record=GATING)
    decision = decided(replace(seen, rollout=replace(seen.rollout, campaign=written(decided(seen)))))
    assert [act.node for act in decision.actions if isinstance(act, StartProbe)] == ["n1"]
    assert not opened(decision)


def test_a_canary_whose_gates_have_passed_bakes_and_is_opened_by_the_next_pass() -> None:
    seen = at(RolloutPhase.GATING, record=GATING, measurements=(a_measurement(),))
    baking = written(decided(seen))
    assert baking.phase is RolloutPhase.BAKING
    after = decided(replace(seen, rollout=replace(seen.rollout, campaign=baking)))
    assert opened(after)
    # That it is still to be opened is no reason to call it unwell.
    assert HoldCode.CANARY_UNWELL not in of(after, "spring")


def test_a_gate_that_fails_sends_a_closed_canary_back_without_opening_it() -> None:
    seen = at(RolloutPhase.GATING, record=GATING, measurements=(a_measurement(GateVerdict.FAILED, detail="slow"),))
    assert written(decided(seen)).phase is RolloutPhase.REVERTING
    going = replace(
        at(RolloutPhase.REVERTING, closed_canary(wanted=OLD), a_node("n2", wanted=OLD)), operator=an_operator()
    )
    decision = decided(going)
    steps = [act for act in decision.actions if isinstance(act, WriteNodeRecord)]
    assert [step.record.phase for step in steps] == [NodePhase.VALIDATION_REQUIRED]
    assert not opened(decision)


FAILED = GateResult(gate=SMOKE.name, node="n1", round=1, verdict=GateVerdict.FAILED, asked=SMOKE.mark)


def test_a_canary_whose_gate_failed_stays_closed_until_the_old_driver_is_wanted_again() -> None:
    decision = decided(at(RolloutPhase.REVERTING, record=GATING | {"gates": (FAILED,)}))
    assert not opened(decision)
    (held,) = (each for each in decision.holds if each.subject == "n1")
    assert held.code is HoldCode.CANARY_CLOSED
    assert f"stays cordoned until it runs {OLD.version} again" in sentence(held, NOW)


def test_a_gate_that_another_ones_failure_overtakes_is_not_pending_for_ever() -> None:
    other = replace(SMOKE, name="copy")
    seen = at(RolloutPhase.GATING, record=GATING, measurements=(a_measurement(GateVerdict.FAILED, detail="slow"),))
    going = written(decided(seen, an_intent(campaign=a_campaign(gates=(SMOKE, other)))))
    assert going.phase is RolloutPhase.REVERTING
    said = {each.gate: (each.verdict, each.detail) for each in going.gates}
    assert said["smoke"][0] is GateVerdict.FAILED
    assert said["copy"] == (GateVerdict.UNKNOWN, "not measured: the rollout was undone first")


def test_gates_that_have_not_answered_are_ended_on_the_way_back() -> None:
    waits = a_measurement(GateVerdict.PENDING, gate="copy", job="gates/gate-copy")
    pulls = a_measurement(GateVerdict.PENDING, gate=PREPULL)
    going = at(RolloutPhase.REVERTING, record=GATING, measurements=(a_measurement(GateVerdict.FAILED), waits, pulls))
    assert [act for act in decided(going).actions if isinstance(act, EndProbe)] == [
        EndProbe(rollout="spring", gate="copy", node="n1", round=1, attempt=1, job="gates/gate-copy")
    ]


def test_a_gate_that_cannot_be_ended_does_not_keep_the_nodes_waiting() -> None:
    waits = a_measurement(GateVerdict.PENDING, gate="copy", job="gates/gate-copy")
    subject = "rollout/spring/gate/copy/n1"
    going = at(RolloutPhase.REVERTING, record=GATING, measurements=(waits,), busy={subject: None})
    assert any(isinstance(act, Publish) for act in decided(going).actions)


def test_a_canary_whose_old_driver_is_back_and_proven_is_opened_on_the_way_back() -> None:
    back = closed_canary(driver=a_driver("n1"), validator=proving(), wanted=OLD)
    going = at(RolloutPhase.REVERTING, back, a_node("n2", wanted=OLD), record=GATING | {"gates": (FAILED,)})
    assert opened(decided(replace(going, operator=an_operator())))


def test_a_pause_on_the_way_back_does_not_open_the_canary() -> None:
    record = {**GATING, "gates": (FAILED,), "paused_in": RolloutPhase.REVERTING}
    assert not opened(decided(at(RolloutPhase.PAUSED, record=record), replace(CAREFUL, is_paused=True)))


@pytest.mark.parametrize("gate", [WORD, LINKS], ids=["a word", "a Job without GPUs"])
def test_gates_that_want_no_gpu_keep_nobody_closed(gate: Gate) -> None:
    decision = decided(at(RolloutPhase.CANARY), an_intent(campaign=a_campaign(gates=(gate,))))
    assert opened(decision)


def test_a_canary_is_opened_for_a_word_about_the_work_on_it_once_its_gpus_are_measured() -> None:
    seen = at(RolloutPhase.GATING, record=GATING | {"gates": (passed(SMOKE),)})
    decision = decided(seen, an_intent(campaign=a_campaign(gates=(SMOKE, WORD))))
    assert opened(decision)
    assert HoldCode.GATE_UNATTESTED in of(decision, "spring")


def test_a_pause_while_gates_run_does_not_open_the_canary() -> None:
    record = {**GATING, "paused_in": RolloutPhase.GATING}
    decision = decided(at(RolloutPhase.PAUSED, record=record), replace(CAREFUL, is_paused=True))
    assert not opened(decision)


def test_who_deletes_the_rollout_gets_the_canary_back() -> None:
    decision = decided(replace(at(RolloutPhase.GATING, record=GATING), is_deleting=True, is_guarded=True))
    assert HoldCode.CANARY_CLOSED not in of(decision, "n1")


def test_a_closed_canary_that_is_not_well_any_more_is_proven_again_first() -> None:
    decision = decided(at(RolloutPhase.GATING, closed_canary(validator=None), a_node("n2"), record=GATING))
    assert [act.record.phase for act in decision.actions if isinstance(act, WriteNodeRecord)] == [
        NodePhase.VALIDATION_REQUIRED
    ]


def test_the_pod_of_a_gate_is_nobody_who_slipped_in() -> None:
    probe: Pod = a_gpu_pod(labels=(("seatrial.dev/gate", "smoke"),))
    node = closed_canary(pods=(probe,), record={"reopened_count": 1, "has_lost_driver": True})
    assert of(decided(at(RolloutPhase.GATING, node, a_node("n2"), record=GATING)), "n1") == [HoldCode.CANARY_CLOSED]


def test_another_version_published_meanwhile_keeps_nobody_closed_for_gates() -> None:
    node = closed_canary(wanted=OLD, driver=a_node().facts.driver)
    decision = decided(at(RolloutPhase.CANARY, node, a_node("n2")))
    assert HoldCode.CANARY_CLOSED not in of(decision, "n1")


@pytest.mark.parametrize(
    ("phase", "gates", "closed"),
    [
        (RolloutPhase.CANARY, (), {"n1"}),
        (RolloutPhase.GATING, (), {"n1"}),
        (RolloutPhase.GATING, (passed(SMOKE),), set()),
        (RolloutPhase.GATING, (passed(replace(SMOKE, image="example.com/smoke:0")),), {"n1"}),
        (RolloutPhase.BAKING, (), set()),
        (RolloutPhase.REVERTING, (), {"n1"}),
        (RolloutPhase.REVERTING, (passed(SMOKE),), set()),
        (RolloutPhase.WAVING, (), set()),
    ],
)
def test_who_stays_closed(phase: RolloutPhase, gates: tuple[GateResult, ...], closed: set[str]) -> None:
    assert kept_closed(a_campaign_record(phase, gates=gates), a_campaign()) == closed


@pytest.mark.parametrize("phase", [RolloutPhase.CANARY, RolloutPhase.GATING, RolloutPhase.REVERTING])
def test_a_pause_leaves_closed_what_was_closed(phase: RolloutPhase) -> None:
    paused = a_campaign_record(RolloutPhase.PAUSED, paused_in=phase)
    assert kept_closed(paused, a_campaign()) == {"n1"}
    assert kept_closed(replace(paused, paused_in=RolloutPhase.BAKING), a_campaign()) == frozenset()


def test_evidence_begins_on_a_canary_that_is_still_to_be_opened() -> None:
    well = GateResult(gate=READINESS, node="n1", round=1, verdict=GateVerdict.PASSED, at=900.0)
    record = {"round": 1, "round_at": 800.0, "baked_until": 900.0, "gates": (well, passed(SMOKE))}
    record["watched"] = (Watched(node="n1", **SEEN_DONE),)
    decision = decided(at(RolloutPhase.BAKING, record=record))
    assert opened(decision)
    assert HoldCode.CANARY_UNWELL not in of(decision, "spring")
