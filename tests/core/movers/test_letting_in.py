"""Who is let in to NVIDIA's controller: what binds our own machine binds it too, as far as a skip label reaches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import Publish
from seatrial.core.actions.of_campaigns import MarkNode
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget.losses import COUNT_LABEL
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import Campaign, Growth, Mode, RolloutPhase, Waves
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.intent import Domain, Intent
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.rollouts import Rebuff
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.sim import outside as outer
from tests.builders import (
    NEW,
    NOW,
    OLD,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_ledger,
    a_node,
    a_snapshot,
    a_starting_driver,
    a_well_node,
    an_intent,
    an_operator,
)

FORWARD = an_operator(NEW.version, is_auto_upgrading=True)
BACK = an_operator(OLD.version, is_auto_upgrading=True)
OURS: dict[str, Any] = {"is_skipped": True, "skipped_by": "spring"}
REQUIRED: dict[str, Any] = {"nvidia_state": "upgrade-required"}
PROVEN: dict[str, Any] = {
    "gates": (GateResult(gate="readiness", node="n1", round=1, verdict=GateVerdict.PASSED, at=900.0),),
    "round": 1,
    "baked_seconds": 48 * 3600.0,
}
WAVE = Waves(growth=Growth.FIXED, first=Share(amount=20))


def canary() -> NodeSeen:
    return a_well_node(canary_of="spring", nvidia_state="upgrade-done")


def kept_out(name: str, **changes: Any) -> NodeSeen:
    """Waits with our skip label on."""
    return a_node(name, **(REQUIRED | OURS | changes))


def let_in(name: str, **changes: Any) -> NodeSeen:
    """Waits without it: NVIDIA's controller may start it at any moment."""
    return a_node(name, **(REQUIRED | changes))


def at_work(name: str, state: str = "pod-restart-required", **changes: Any) -> NodeSeen:
    facts: dict[str, Any] = {"nvidia_state": state, "is_cordoned": True, "driver": a_starting_driver(name)}
    return a_node(name, **(facts | changes))


def failed(name: str) -> NodeSeen:
    return at_work(name, "upgrade-failed")


def done(name: str, **changes: Any) -> NodeSeen:
    return a_well_node(name, **({"nvidia_state": "upgrade-done"} | changes))


def waving(*nodes: NodeSeen, admitted: tuple[str, ...] = (), record: dict[str, Any] | None = None) -> Snapshot:
    campaign = a_campaign_record(RolloutPhase.WAVING, mode=Mode.DELEGATED, **(PROVEN | (record or {})))
    return a_snapshot(canary(), *nodes, campaign=campaign, operator=FORWARD, admitted=a_ledger(*admitted, attempt=0))


def in_phase(seen: Snapshot, phase: RolloutPhase, **changes: Any) -> Snapshot:
    assert seen.rollout.campaign is not None
    record = replace(seen.rollout.campaign, phase=phase, **changes)
    return replace(seen, rollout=replace(seen.rollout, campaign=record))


def asked(parallel_max: int = 2, unavailable_max: int = 10, **changes: Any) -> Intent:
    campaign: Campaign = replace(a_campaign(), **({"waves": WAVE} | changes))
    return an_intent(parallel_max=parallel_max, unavailable_max=unavailable_max, campaign=campaign)


def look(seen: Snapshot, intent: Intent | None = None, now: float = NOW) -> Decision:
    return decide(seen, intent or asked(), now)


def ledger(decision: Decision) -> list[str] | None:
    """Who the ledger is to name; None where it is not written."""
    written = [act.record.admitted for act in decision.actions if isinstance(act, WriteRolloutRecord)]
    return [admission.node for admission in written[0]] if written else None


def marked(decision: Decision) -> dict[str, bool | None]:
    """Whose skip label is set, and whose is taken away."""
    return {act.node: act.skip for act in decision.actions if isinstance(act, MarkNode)}


def told(decision: Decision) -> dict[str, HoldCode]:
    return {held.subject: held.code for held in decision.holds}


# ── letting in ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_node_whose_wave_is_open_is_let_in_only_when_the_ledger_is_seen_to_name_it() -> None:
    asks = look(waving(kept_out("n2")))
    assert (ledger(asks), marked(asks)) == (["n2"], {})
    assert marked(look(waving(kept_out("n2"), admitted=("n2",)))) == {"n2": False}


def test_as_many_are_let_in_as_the_limits_allow_and_the_others_are_told_which() -> None:
    nodes = [kept_out(f"n{number}") for number in range(2, 6)]
    decision = look(waving(*nodes))
    assert ledger(decision) == ["n2", "n3"]
    assert told(decision)["n4"] is HoldCode.PARALLEL_LIMIT


def test_who_is_at_work_and_who_is_let_in_spend_the_same_budget() -> None:
    decision = look(waving(at_work("n2"), let_in("n3"), kept_out("n4"), admitted=("n2", "n3")))
    assert (ledger(decision), marked(decision)) == (["n2", "n3"], {})
    assert told(decision)["n4"] is HoldCode.PARALLEL_LIMIT


def test_a_node_at_work_that_the_ledger_does_not_name_is_put_back_and_counted() -> None:
    assert ledger(look(waving(at_work("n2"), kept_out("n3"), kept_out("n4")))) == ["n2", "n3"]


def test_a_node_that_somebody_else_made_unavailable_counts() -> None:
    decision = look(waving(done("n2", is_cordoned=True), kept_out("n3")), asked(unavailable_max=1))
    assert told(decision)["n3"] is HoldCode.UNAVAILABLE_LIMIT


def test_gpus_that_may_stand_idle_bind_whom_nvidias_controller_gets_too() -> None:
    eight: dict[str, Any] = {"labels": {COUNT_LABEL: "8"}}
    limits = replace(asked().policy.limits, idle_gpus_max=Share(amount=8))
    intent = replace(asked(), policy=replace(asked().policy, limits=limits))
    decision = look(waving(kept_out("n3", **eight), kept_out("n4", **eight)), intent)
    assert ledger(decision) == ["n3"]
    assert told(decision)["n4"] is HoldCode.IDLE_GPU_LIMIT


def test_the_next_is_let_in_when_one_is_seen_done() -> None:
    seen = waving(done("n2"), at_work("n3"), kept_out("n4"), kept_out("n5"), admitted=("n2", "n3"))
    assert ledger(look(seen)) == ["n3", "n4"]


def test_one_whose_validator_has_not_passed_yet_is_not_done() -> None:
    seen = waving(done("n2", validator=None), kept_out("n3"), admitted=("n2",))
    assert ledger(look(seen, asked(parallel_max=1))) in (None, ["n2"])


def test_a_unit_is_let_in_as_a_whole_or_not_at_all() -> None:
    clique: dict[str, Any] = {"labels": {"clique": "a"}}
    intent = replace(asked(parallel_max=2), domains=(Domain(label="clique", is_unit=True),))
    pair = (kept_out("n3", **clique), kept_out("n4", **clique))
    assert ledger(look(waving(*pair), intent)) == ["n3", "n4"]
    decision = look(waving(at_work("n2"), *pair, admitted=("n2",)), intent)
    assert ledger(decision) in (None, ["n2"])
    assert told(decision)["n3"] is HoldCode.PARALLEL_LIMIT


def test_before_a_unit_gets_its_version_all_others_of_its_nvidiadrivers_are_kept_out() -> None:
    idle: dict[str, Any] = {"wanted": OLD, "nvidia_state": "upgrade-done"}
    clique: dict[str, Any] = idle | {"labels": {"clique": "c1"}}
    seen = a_snapshot(
        a_node("n1", owner="a", canary_of="spring", **clique),
        a_node("n2", owner="b", **clique),
        a_node("n3", owner="b", **idle),
        a_node("n4", owner="c", **idle),
        campaign=a_campaign_record(RolloutPhase.CANARY, mode=Mode.DELEGATED),
        operator=outer.driver_pools(OLD.version, "a", "b", "c", is_auto_upgrading=True),
    )
    decision = look(seen, replace(asked(), domains=(Domain(label="clique", is_unit=True),)))
    assert marked(decision) == {"n1": True, "n2": True, "n3": True}
    assert not [act for act in decision.actions if isinstance(act, Publish)]


def test_a_node_that_the_ledger_names_is_let_in_although_the_waves_were_drawn_again_since() -> None:
    # A canary's unit of which the canary was deleted, or a wave that a new node has pushed another one out of.
    seen = waving(kept_out("n2"), kept_out("n3"), admitted=("n3",))
    decision = look(seen, asked(parallel_max=1, waves=replace(WAVE, first=Share(amount=1))))
    assert marked(decision) == {"n3": False}
    assert told(decision)["n2"] is HoldCode.PARALLEL_LIMIT


def test_a_node_that_is_not_ready_is_not_let_in() -> None:
    decision = look(waving(kept_out("n2", is_ready=False)))
    assert ledger(decision) in (None, [])
    assert told(decision)["n2"] is HoldCode.NODE_NOT_READY


@pytest.mark.parametrize(
    ("node", "code"),
    [
        (let_in("n2", is_skipped=True, wanted=OLD), HoldCode.SKIPPED),
        (at_work("n2", is_ready=False), HoldCode.NODE_NOT_READY),
    ],
    ids=["kept out by a person", "dead"],
)
def test_a_node_in_the_hands_of_nvidias_controller_says_what_it_will_not_say_itself(
    node: NodeSeen, code: HoldCode
) -> None:
    seen = waving(node, admitted=("n2",))
    assert told(look(seen))["n2"] is code
    over = in_phase(replace(seen, rollout=replace(seen.rollout, admitted=())), RolloutPhase.REVERTED)
    assert told(look(over))["n2"] is code


def test_a_node_that_a_person_marked_skip_gives_its_place_back() -> None:
    decision = look(waving(let_in("n2", is_skipped=True), kept_out("n3"), admitted=("n2",)), asked(parallel_max=1))
    assert ledger(decision) == ["n3"]
    assert told(decision)["n2"] is HoldCode.SKIPPED


def test_everybody_is_kept_out_before_the_fleet_gets_the_version_and_also_who_is_in_the_wave() -> None:
    unmarked = a_node("n2", wanted=OLD, nvidia_state="upgrade-done")
    decision = look(waving(unmarked))
    assert marked(decision) == {"n2": True}
    assert not [act for act in decision.actions if isinstance(act, Publish)]


def test_a_canary_is_let_in_by_the_ledger_as_well() -> None:
    seen = in_phase(waving(kept_out("n2")), RolloutPhase.CANARY)
    waits = kept_out("n1", canary_of="spring")
    seen = replace(seen, nodes={**seen.nodes, "n1": waits})
    asks = look(seen)
    assert (ledger(asks), marked(asks)) == (["n1"], {})
    named = replace(seen, rollout=replace(seen.rollout, admitted=a_ledger("n1", attempt=0)))
    assert marked(look(named)) == {"n1": False}


# ── closing out ──────────────────────────────────────────────────────────────────────────────────────────────────────

OPEN_AND_BUSY = (let_in("n2"), at_work("n3"), kept_out("n4"))
SHUT: dict[str, Any] = {"openings": ((0.0, NOW - 1), (NOW + 9000, NOW + 9900))}


def test_when_a_window_closes_who_waits_is_closed_out_and_who_is_under_way_goes_on() -> None:
    decision = look(waving(*OPEN_AND_BUSY, admitted=("n2", "n3")), asked(**SHUT))
    assert marked(decision) == {"n2": True}
    shut = look(waving(kept_out("n2"), at_work("n3"), admitted=("n2", "n3")), asked(**SHUT))
    assert (marked(shut), told(shut)["spring"]) == ({}, HoldCode.OUTSIDE_WINDOW)


@pytest.mark.parametrize(
    "waits",
    [let_in("n2"), let_in("n2", nvidia_state=""), let_in("n2", nvidia_state="upgrade-done")],
    ids=["upgrade-required", "no state", "done, and out of sync"],
)
def test_whoever_may_still_be_started_counts_as_waiting(waits: NodeSeen) -> None:
    assert marked(look(waving(waits, admitted=("n2",)), asked(**SHUT))) == {"n2": True}


def test_a_window_closes_early_by_as_long_as_nvidias_controller_may_take_to_start_a_node() -> None:
    ends_at = NOW + 100
    intent = asked(openings=((0.0, ends_at), (ends_at + 9000, ends_at + 9900)))
    decision = look(waving(*OPEN_AND_BUSY, admitted=("n2", "n3")), intent)
    assert marked(decision) == {"n2": True}
    shut = look(waving(kept_out("n2"), admitted=("n2",)), intent)
    assert told(shut)["spring"] is HoldCode.WINDOW_CLOSING
    assert shut.wake_at == ends_at + 9000
    early = look(waving(*OPEN_AND_BUSY, admitted=("n2", "n3")), intent, now=NOW - 30)
    assert (marked(early), early.wake_at) == ({}, ends_at - 120)


def test_a_short_window_is_open_for_half_of_its_time() -> None:
    intent = asked(openings=((NOW - 10, NOW + 50),))
    assert marked(look(waving(kept_out("n2"), admitted=("n2",)), intent)) == {"n2": False}
    assert marked(look(waving(let_in("n2"), admitted=("n2",)), intent, now=NOW + 25)) == {"n2": True}


def test_a_pause_closes_out_who_waits_and_writes_nothing_else_on_any_node() -> None:
    seen = waving(*OPEN_AND_BUSY, admitted=("n2", "n3"))
    paused = replace(asked(), is_paused=True)
    assert marked(look(seen, paused)) == {}  # the record first
    seen = in_phase(seen, RolloutPhase.PAUSED, paused_in=RolloutPhase.WAVING)
    decision = look(seen, paused)
    assert marked(decision) == {"n2": True}
    assert {act.node for act in decision.actions if not isinstance(act, WriteRolloutRecord)} == {"n2"}  # type: ignore[union-attr]


def test_a_rollout_that_goes_on_lets_in_again_who_was_closed_out() -> None:
    assert marked(look(waving(kept_out("n2"), at_work("n3"), admitted=("n2", "n3")))) == {"n2": False}


def test_while_the_gates_are_asked_after_a_pause_nobody_is_let_in_and_who_waits_is_closed_out() -> None:
    asking = {"round": 2, "round_at": 950.0, "baked_until": 900.0, "gates": ()}
    first = look(waving(*OPEN_AND_BUSY, admitted=("n2", "n3"), record=asking))
    written = next(act.record.campaign for act in first.actions if isinstance(act, WriteRolloutRecord))
    assert written is not None
    decision = look(waving(*OPEN_AND_BUSY, admitted=("n2", "n3"), record=asking | {"gates": written.gates}))
    assert marked(decision) == {"n2": True}
    assert told(decision)["spring"] is HoldCode.GATES_RUNNING


def test_more_failures_than_tolerated_let_nobody_in_and_close_out_who_waits() -> None:
    decision = look(waving(failed("n2"), failed("n3"), let_in("n4"), kept_out("n5"), admitted=("n2", "n3", "n4")))
    assert marked(decision) == {"n4": True}
    assert ledger(decision) in (None, ["n2", "n3", "n4"])
    assert told(decision)["spring"] is HoldCode.FAILURE_BUDGET


def test_a_failure_that_is_tolerated_gives_its_slot_back() -> None:
    seen = waving(failed("n2"), kept_out("n3"), admitted=("n2",))
    assert ledger(look(seen, asked(parallel_max=1))) == ["n2", "n3"]


def test_a_limit_that_was_lowered_closes_out_as_many_as_do_not_fit_any_more() -> None:
    seen = waving(at_work("n2"), let_in("n3"), let_in("n4"), admitted=("n2", "n3", "n4"))
    assert marked(look(seen, asked(parallel_max=2))) == {"n4": True}
    assert marked(look(seen, asked(parallel_max=1))) == {"n3": True, "n4": True}


def test_a_unit_that_is_too_large_since_a_limit_was_lowered_is_closed_out_and_says_so() -> None:
    clique: dict[str, Any] = {"labels": {"clique": "a"}}
    intent = replace(asked(parallel_max=1), domains=(Domain(label="clique", is_unit=True),))
    pair = (kept_out("n2", **clique), kept_out("n3", **clique))
    decision = look(waving(*pair, admitted=("n2", "n3")), intent)
    codes = {(held.subject, held.code) for held in decision.holds}
    assert {("n2", HoldCode.UNIT_TOO_LARGE), ("n3", HoldCode.UNIT_TOO_LARGE)} <= codes
    assert marked(decision) == {}


def test_nobody_is_let_in_in_the_pass_that_closes_somebody_out() -> None:
    seen = waving(let_in("n2"), kept_out("n3"), let_in("n4"), admitted=("n2", "n3"))
    assert marked(look(seen)) == {"n4": True}


# ── the way back ─────────────────────────────────────────────────────────────────────────────────────────────────────


def reverting(*nodes: NodeSeen, operator: Any = FORWARD, admitted: tuple[str, ...] = ()) -> Snapshot:
    record = {"baseline": ((POLICY, OLD.version),), "why": "not today"}
    seen = in_phase(waving(*nodes, admitted=admitted, record=record), RolloutPhase.REVERTING)
    return replace(seen, operator=operator)


def test_an_abort_closes_out_who_waits_before_the_version_goes_back() -> None:
    seen = waving(*OPEN_AND_BUSY, admitted=("n2", "n3"))
    aborted = asked(abort="not today")
    assert marked(look(seen, aborted)) == {}  # the record first
    seen = reverting(*OPEN_AND_BUSY, admitted=("n2", "n3"))
    decision = look(seen, aborted)
    assert marked(decision) == {"n1": True, "n2": True}
    assert not published(decision)
    closed = replace(seen, nodes={**seen.nodes, "n1": replace_facts(canary(), **OURS), "n2": kept_out("n2")})
    assert [act.versions for act in published(look(closed, aborted))] == [((POLICY, OLD.version),)]


@pytest.mark.parametrize(("count", "goes_back"), [(1, False), (6, True)])
def test_a_way_back_waits_for_a_mark_that_was_refused_and_not_for_one_that_is_refused_for_good(
    count: int, goes_back: bool
) -> None:
    seen = reverting(kept_out("n2"))
    refused = {
        "n1": Rebuff(at=NOW, count=count, code="failed", detail="not today"),
        "n2": Rebuff(at=NOW, count=1, code="failed", detail="long ago, of a node that is closed out since"),
    }
    decision = look(replace(seen, rebuffs=refused), asked(abort="not today"))
    assert (marked(decision), bool(published(decision))) == ({}, goes_back)


def published(decision: Decision) -> list[Publish]:
    return [act for act in decision.actions if isinstance(act, Publish)]


def replace_facts(node: NodeSeen, **changes: Any) -> NodeSeen:
    return replace(node, facts=replace(node.facts, **changes))


def upgraded(name: str, **changes: Any) -> NodeSeen:
    """Runs the new driver, and is wanted to run the old one again."""
    return a_well_node(name, **({"wanted": OLD} | REQUIRED | OURS | changes))


def test_the_way_back_is_bound_by_the_limits_too() -> None:
    nodes = [upgraded(f"n{number}") for number in range(2, 5)]
    seen = reverting(*nodes, operator=BACK)
    seen = replace(seen, nodes={**seen.nodes, "n1": upgraded("n1", canary_of="spring")})
    decision = look(seen, asked(abort="not today"))
    assert (ledger(decision), marked(decision)) == (["n1", "n2"], {})
    named = replace(seen, rollout=replace(seen.rollout, admitted=a_ledger("n1", "n2", attempt=0)))
    assert marked(look(named, asked(abort="not today"))) == {"n1": False, "n2": False}


def test_a_way_back_does_not_wait_for_a_window() -> None:
    seen = reverting(upgraded("n2"), operator=BACK, admitted=("n2",))
    seen = replace(seen, nodes={"n2": seen.nodes["n2"]})
    assert marked(look(seen, asked(abort="not today", **SHUT)))["n2"] is False


def test_failed_nodes_are_tried_again_on_the_way_back_after_the_others() -> None:
    broken = at_work("n2", "upgrade-failed", wanted=OLD)
    others = replace_facts(canary(), wanted=OLD, **REQUIRED, **OURS)
    seen = reverting(broken, operator=replace(BACK, policy=outer.NO_LIMIT))
    seen = replace(seen, nodes={**seen.nodes, "n1": others})
    assert ledger(look(seen, asked(abort="not today"))) == ["n1"]
    alone = replace(seen, nodes={"n2": broken})
    assert ledger(look(alone, asked(abort="not today"))) == ["n2"]
    before = replace(alone, rollout=replace(alone.rollout, admitted=a_ledger("n2", attempt=0)))
    asks = look(before, asked(abort="not today"))
    assert (ledger(asks), marked(asks)) == (["n2"], {}), "the admission with which it failed is not one to try it again"
    named = replace(alone, rollout=replace(alone.rollout, admitted=a_ledger("n2", attempt=1)))
    retries: list[Action] = [act for act in look(named, asked(abort="not today")).actions if isinstance(act, MarkNode)]
    assert retries == [MarkNode(node="n2", rollout="spring", expect="7", is_retry=True)]


def test_failed_nodes_go_back_first_where_nvidias_controller_has_no_room_beside_them() -> None:
    broken = at_work("n2", "upgrade-failed", wanted=OLD)
    seen = reverting(broken, operator=BACK)
    seen = replace(seen, nodes={**seen.nodes, "n1": upgraded("n1", canary_of="spring")})
    assert ledger(look(seen, asked(abort="not today"))) == ["n2"]
    dead = replace(seen, nodes={**seen.nodes, "n2": replace_facts(broken, is_ready=False)})
    assert "n1" in (ledger(look(dead, asked(abort="not today"))) or [])
