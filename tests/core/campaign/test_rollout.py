"""The campaign, phase by phase: what it does next, what it waits for, and that it never writes and acts in one pass."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from seatrial import codec
from seatrial.core.actions.at_home import MarkBad, Promote, Publish, RevertCommits
from seatrial.core.actions.of_campaigns import MarkNode, SetAutoUpgrade, StartProbe
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.campaign.course import HISTORY_MAX, TRANSITIONS, Course
from seatrial.core.campaign.step import step_rollout
from seatrial.core.decision.decide import decide
from seatrial.core.errors import CoreBug
from seatrial.core.holds import HoldCode, hold
from seatrial.core.judging.tries import TRIES_MAX
from seatrial.core.model.campaign import (
    ENDED,
    Bake,
    CampaignRecord,
    Canary,
    GitPlace,
    Growth,
    Mode,
    Places,
    Point,
    PublishStep,
    RolloutPhase,
    Switch,
    Turn,
    Via,
    Waves,
)
from seatrial.core.model.gates.gate import READINESS, GateResult, GateVerdict
from seatrial.core.model.intent import Domain, Intent, Order, Retries
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen, RecordFault
from seatrial.core.model.seen.operators import Carrier, MachinePool, OperatorFacts
from seatrial.core.model.seen.snapshot import Freshness, Snapshot
from seatrial.core.model.troubles import Symptom
from seatrial.core.movers import driver_manager
from seatrial.core.promises.invariants import broken
from seatrial.core.words import explain
from tests.builders import (
    NEW,
    NOW,
    OLD,
    POLICY,
    SMOKE,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_ledger,
    a_measurement,
    a_new_driver,
    a_node,
    a_rebuff,
    a_snapshot,
    a_source,
    a_starting_driver,
    a_well_node,
    an_intent,
    an_old_node,
    an_operator,
    published,
)

FORWARD = an_operator(NEW.version)
BACK = an_operator(OLD.version)
NVIDIA_FORWARD = an_operator(NEW.version, is_auto_upgrading=True)
NVIDIA_BACK = an_operator(OLD.version, is_auto_upgrading=True)
RACK = "nvidia.com/gpu.clique"
FAILURE = {"reason": "driver-timeout", "failed_revision": NEW.hash, "failures": 1}
UNDER_WAY = frozenset(RolloutPhase) - ENDED - {RolloutPhase.PROPOSED, RolloutPhase.PAUSED}
IN_GIT = a_source(steps=((PublishStep.CANARY, "c1"), (PublishStep.FLEET, "c2")))


def careful(**changes: Any) -> Intent:
    return an_intent(campaign=a_campaign(**changes))


def canary(name: str = "n1", **changes: Any) -> NodeSeen:
    """The canary with its mark, done."""
    return a_done_node(name, **({"canary_of": "spring"} | changes))


def waiting(name: str = "n2", **changes: Any) -> NodeSeen:
    """A node that runs the old driver and is wanted to run the new one."""
    return a_node(name, **changes)


def two_drivers(first: str, second: str) -> tuple[Carrier, ...]:
    """NVIDIADrivers a and b, and the versions they carry."""
    return (Carrier(name="NVIDIADriver/a", version=first), Carrier(name="NVIDIADriver/b", version=second))


def at(
    phase: RolloutPhase,
    *nodes: NodeSeen,
    record: dict[str, Any] | None = None,
    operator: OperatorFacts = FORWARD,
    **changes: Any,
) -> Snapshot:
    """A campaign in a phase; without nodes its canary is done, and n2 waits."""
    written = a_campaign_record(phase, **(record or {}))
    return a_snapshot(*(nodes or (canary(), waiting())), campaign=written, operator=operator, **changes)


def proposed(*nodes: NodeSeen, **changes: Any) -> Snapshot:
    return at(RolloutPhase.PROPOSED, *(nodes or (an_old_node(), an_old_node("n2"))), operator=BACK, **changes)


def course_of(seen: Snapshot, intent: Intent | None = None, now: float = NOW) -> Course:
    """The next step, which must keep every promise."""
    intent = intent or careful()
    assert broken(seen, intent, decide(seen, intent, now)) == ()
    return step_rollout(seen, intent, now)


def codes(course: Course) -> list[HoldCode]:
    return [held.code for held in course.holds]


def phase_after(seen: Snapshot, intent: Intent | None = None, now: float = NOW) -> RolloutPhase:
    """The phase that is opened; a pass that opens one does nothing else."""
    course = course_of(seen, intent, now)
    assert (course.acts, course.open) == ((), frozenset())
    return course.record.phase


# ── beginning ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_rollout_without_a_campaign_is_not_ours_to_step() -> None:
    with pytest.raises(CoreBug, match="spring is no campaign"):
        step_rollout(a_snapshot(), an_intent(), NOW)


def test_a_campaign_is_written_down_before_anything_else() -> None:
    course = course_of(a_snapshot(an_old_node(), operator=BACK))
    assert course == Course(record=CampaignRecord(entered_at=NOW, history=(Turn(phase=RolloutPhase.PROPOSED, at=NOW),)))


def test_a_campaign_that_may_begin_writes_down_its_canaries_its_way_back_and_who_moves_the_nodes() -> None:
    course = course_of(proposed())
    assert course.record == a_campaign_record(
        RolloutPhase.CANARY,
        entered_at=NOW,
        history=(Turn(phase=RolloutPhase.PROPOSED, at=500.0), Turn(phase=RolloutPhase.CANARY, at=NOW)),
        switches=tuple(Switch(resource=POLICY, name=name) for name in driver_manager.SWITCHES),
    )
    assert course.acts == ()


HERE = Places(
    matrix=GitPlace(url="https://git.example/gpu", branch="main", path="matrix.yaml"),
    published=GitPlace(url="https://git.example/gpu", branch="main", path="gpu.yaml"),
)
THERE = replace(HERE, published=GitPlace(url="https://git.example/gpu", branch="other", path="gpu.yaml"))
BY_GIT: dict[str, Any] = {"publish": Via.GIT, "has_source": True}


def test_a_campaign_that_begins_writes_down_where_it_works_in_git() -> None:
    course = course_of(proposed(source=a_source()), careful(**BY_GIT, places=HERE))
    assert (course.record.phase, course.record.places) == (RolloutPhase.CANARY, HERE)


def test_places_that_change_before_the_campaign_begins_are_those_it_begins_with() -> None:
    course = course_of(proposed(source=a_source()), careful(**BY_GIT, places=THERE))
    assert course.record.places == THERE


@pytest.mark.parametrize("phase", [RolloutPhase.CANARY, RolloutPhase.WAVING, RolloutPhase.PROMOTING])
def test_a_campaign_whose_places_changed_publishes_starts_and_promotes_nothing_and_says_so(phase: RolloutPhase) -> None:
    nodes = (waiting("n1"), waiting()) if phase is RolloutPhase.CANARY else (canary(), waiting())
    seen = at(phase, *nodes, record={"places": HERE}, source=IN_GIT, operator=BACK)
    course = course_of(seen, careful(**BY_GIT, places=THERE))
    assert (course.acts, course.open, codes(course)) == ((), frozenset(), [HoldCode.PLACES_CHANGED])
    assert dict(course.holds[0].params) == {
        "field": "spec.publish.git",
        "began": "gpu.yaml on main of https://git.example/gpu",
        "asked": "gpu.yaml on other of https://git.example/gpu",
    }
    assert course.record.places == HERE


def test_a_bake_goes_on_while_the_places_have_changed_and_tells_it() -> None:
    seen = at(RolloutPhase.BAKING, record={"round": 1, "baked_until": 900.0, "places": HERE}, source=IN_GIT)
    course = course_of(seen, careful(**BY_GIT, places=THERE))
    assert codes(course)[-2:] == [HoldCode.BAKING, HoldCode.PLACES_CHANGED]


def test_a_campaign_goes_back_whatever_its_spec_names_by_then() -> None:
    """The home that it is shown is the one it began at: who looks has read the same record."""
    seen = reverting(canary(), source=IN_GIT, operator=FORWARD, record={"places": HERE})
    course = course_of(seen, careful(**BY_GIT, places=THERE))
    assert course.acts == (RevertCommits(rollout="spring", commits=("c2", "c1"), driver=NEW.version),)
    assert HoldCode.PLACES_CHANGED not in codes(course)


def test_the_way_back_by_git_keeps_daemon_sets_from_restarting_pods() -> None:
    baseline = {"baseline": (("ClusterPolicy/cluster-policy", OLD.version), ("NVIDIADriver/fleet", OLD.version))}
    seen = reverting(canary(), source=IN_GIT, operator=FORWARD, record={"places": HERE, **baseline})
    [act] = course_of(seen, careful(**BY_GIT, places=THERE, sets_on_delete=True)).acts
    assert isinstance(act, RevertCommits)
    assert act.on_delete == ("ClusterPolicy/cluster-policy",)


def test_an_act_carries_the_words_of_its_commit() -> None:
    (act,) = course_of(reverting(canary(), source=IN_GIT, operator=FORWARD), careful(**BY_GIT)).acts
    assert isinstance(act, RevertCommits)
    told, summary = act.message.body.split("\n\n")
    assert told == "Reverted: Xid 79. The entry is marked bad."
    assert summary.endswith(f" of 1 node is upgraded to {NEW.version}.")


def test_a_record_of_an_earlier_release_gets_the_places_of_now_before_anything_else() -> None:
    seen = at(RolloutPhase.CANARY, waiting("n1"), waiting(), source=a_source(), operator=BACK)
    course = course_of(seen, careful(**BY_GIT, places=HERE))
    assert (course.record.places, course.acts, course.record.phase) == (HERE, (), RolloutPhase.CANARY)


def test_a_campaign_that_may_not_begin_says_every_reason_at_once() -> None:
    seen = proposed(an_old_node(is_ready=False), others=("winter",), denied=("patch nodes",))
    course = course_of(seen, careful(manual=(Point.CANARY,), openings=((NOW + 60, NOW + 90),)))
    assert codes(course) == [
        HoldCode.OTHER_ROLLOUT,
        HoldCode.ACCESS_DENIED,
        HoldCode.NO_CANARY,
        HoldCode.APPROVAL_PENDING,
        HoldCode.OUTSIDE_WINDOW,
    ]
    assert course.wake_at == NOW + 60
    assert course.record == seen.rollout.campaign


def test_nothing_is_decided_on_a_view_that_is_not_to_be_trusted() -> None:
    seen = proposed(freshness=(Freshness(source="nodes", is_synced=False, heard_at=NOW),))
    decision = decide(seen, careful(), NOW)
    assert decision.stop == hold("spring", HoldCode.STALE_VIEW, source="nodes", since=NOW)
    written = [action for action in decision.actions if isinstance(action, WriteRolloutRecord)]
    assert [action.record.campaign for action in written] == [seen.rollout.campaign]


# ── the canary ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_canary_is_marked_before_its_version_is_published() -> None:
    course = course_of(at(RolloutPhase.CANARY, an_old_node(), operator=BACK))
    assert course.acts == (MarkNode(node="n1", rollout="spring", expect="7", canary=True),)
    assert codes(course) == [HoldCode.MARKS_PENDING]
    assert course.open == frozenset()


def test_the_version_is_published_once_the_canary_is_marked() -> None:
    course = course_of(at(RolloutPhase.CANARY, an_old_node(canary_of="spring"), operator=BACK))
    versions = ((POLICY, NEW.version),)
    assert course.acts == (published(PublishStep.CANARY, *versions),)
    assert codes(course) == [HoldCode.PUBLISH_PENDING]


def test_the_canary_moves_once_its_version_is_published_and_nobody_else_does() -> None:
    course = course_of(at(RolloutPhase.CANARY, a_node(canary_of="spring"), waiting()))
    assert (course.open, course.acts) == (frozenset({"n1"}), ())
    assert codes(course) == [HoldCode.CANARY_AT_WORK]


def test_those_that_are_upgraded_as_one_with_the_canary_move_with_it() -> None:
    labels = {RACK: "c1"}
    seen = at(
        RolloutPhase.CANARY, a_node(canary_of="spring", labels=labels), waiting(labels=labels), waiting("n3", labels={})
    )
    intent = replace(careful(), domains=(Domain(label=RACK, is_unit=True),))
    assert course_of(seen, intent).open == frozenset({"n1", "n2"})


def test_a_canary_gets_its_version_together_with_the_rest_of_its_unit_in_another_nvidiadriver() -> None:
    clique = {RACK: "c1"}
    carriers = (*two_drivers(OLD.version, OLD.version), Carrier(name="NVIDIADriver/c", version=OLD.version))
    seen = at(
        RolloutPhase.CANARY,
        an_old_node(canary_of="spring", owner="a", labels=clique),
        an_old_node("n2", owner="b", labels=clique),
        an_old_node("n3", owner="c"),
        record={"baseline": tuple((each.name, OLD.version) for each in carriers)},
        operator=OperatorFacts(carriers=carriers),
    )
    intent = replace(careful(), domains=(Domain(label=RACK, is_unit=True),))
    versions = (("NVIDIADriver/a", NEW.version), ("NVIDIADriver/b", NEW.version))
    assert course_of(seen, intent).acts == (published(PublishStep.CANARY, *versions),)


def test_the_canary_does_not_start_outside_of_a_window() -> None:
    seen = at(RolloutPhase.CANARY, a_node(canary_of="spring"))
    course = course_of(seen, careful(openings=((NOW - 60, NOW), (NOW + 60, NOW + 120))))
    assert (course.open, codes(course), course.wake_at) == (frozenset(), [HoldCode.OUTSIDE_WINDOW], NOW + 60)


def test_nothing_is_published_for_a_canary_while_the_matrix_does_not_stand_behind_it() -> None:
    seen = at(RolloutPhase.CANARY, an_old_node(canary_of="spring"), operator=BACK, source=a_source(bad="Xid 79"))
    course = course_of(seen, careful(has_source=True))
    assert (course.acts, codes(course)) == ((), [HoldCode.ENTRY_BAD])


def test_a_done_canary_has_its_gates_asked_in_a_round_that_was_never_asked_before() -> None:
    course = course_of(at(RolloutPhase.CANARY, canary(), record={"round": 4, "baked_seconds": 60.0}))
    record = course.record
    assert (record.phase, record.round, record.round_at) == (RolloutPhase.GATING, 5, NOW)
    assert (record.gates, record.baked_seconds) == ((), 0.0)


def test_a_canary_that_left_the_cluster_is_replaced_by_one_that_runs_what_is_published() -> None:
    carriers = two_drivers(OLD.version, NEW.version)
    seen = at(
        RolloutPhase.CANARY,
        an_old_node("n2", owner="a"),
        waiting("n3", owner="b"),
        operator=OperatorFacts(carriers=carriers),
    )
    record = course_of(seen).record
    assert (record.phase, record.canaries) == (RolloutPhase.CANARY, ("n3",))
    assert record.history[-1] == Turn(phase=RolloutPhase.CANARY, at=NOW, why="canary n1 is gone; n3 goes first instead")


def test_a_canary_that_left_is_not_replaced_while_others_are_left_and_nobody_will_do() -> None:
    seen = at(RolloutPhase.CANARY, canary("n2"), waiting("n3", is_ready=False), record={"canaries": ("n1", "n2")})
    record = course_of(seen).record
    assert (record.canaries, record.history[-1].why) == (("n2",), "canary n1 is gone")


def test_a_campaign_without_any_node_fit_to_go_first_waits() -> None:
    course = course_of(at(RolloutPhase.CANARY, waiting("n2", is_ready=False)))
    assert codes(course) == [HoldCode.NO_CANARY]


def test_a_failed_canary_is_the_end_of_the_way_forward() -> None:
    seen = at(RolloutPhase.CANARY, a_node(phase=NodePhase.UPGRADE_FAILED, record=FAILURE))
    record = course_of(seen).record
    assert (record.phase, record.why) == (RolloutPhase.REVERTING, "canary n1 failed: driver-timeout")


def test_a_failed_canary_of_nvidias_controller_has_no_reason_to_tell() -> None:
    seen = at(
        RolloutPhase.CANARY,
        a_node(nvidia_state="upgrade-failed"),
        record={"mode": Mode.DELEGATED},
        operator=NVIDIA_FORWARD,
    )
    assert course_of(seen).record.why == "canary n1 failed: its upgrade failed"


def test_a_failed_canary_waits_for_a_person_where_one_decides_about_going_back() -> None:
    seen = at(RolloutPhase.CANARY, a_node(phase=NodePhase.UPGRADE_FAILED, record=FAILURE))
    intent = careful(manual=(Point.ROLLBACK,))
    course = course_of(seen, intent)
    record = course.record
    assert (record.phase, codes(course)) == (RolloutPhase.CANARY, [HoldCode.ROLLBACK_PENDING])
    assert record.rejected == dict(course.holds[0].params)["why"] == "canary n1 failed: driver-timeout"
    approved = careful(manual=(Point.ROLLBACK,), approved=(Point.ROLLBACK,))
    assert phase_after(seen, approved) is RolloutPhase.REVERTING


@pytest.mark.parametrize(
    ("changes", "retries"),
    [({"is_retry_asked": True}, Retries()), ({}, Retries(count_max=1))],
    ids=["somebody asks", "the rollout does"],
)
def test_a_failed_canary_that_is_tried_again_has_not_failed_yet(changes: dict[str, Any], retries: Retries) -> None:
    node = a_node(phase=NodePhase.UPGRADE_FAILED, record=FAILURE, canary_of="spring", **changes)
    course = course_of(at(RolloutPhase.CANARY, node), replace(careful(), retries=retries))
    assert codes(course) == [HoldCode.CANARY_AT_WORK]


# ── gates and bake ───────────────────────────────────────────────────────────────────────────────────────────────────

GATING: dict[str, Any] = {"round": 1, "round_at": 900.0}
WELL = GateResult(gate=READINESS, node="n1", round=1, verdict=GateVerdict.PASSED, at=900.0)
ASKED = GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.PENDING, at=900.0, asked=SMOKE.mark)
PASSED = replace(ASKED, verdict=GateVerdict.PASSED)
PROBE = StartProbe(rollout="spring", gate=SMOKE, node="n1", round=1, attempt=1)


def test_a_gate_is_asked_once_the_round_is_written_down() -> None:
    first = course_of(at(RolloutPhase.GATING, record=GATING))
    assert (first.acts, codes(first)) == ((), [HoldCode.GATES_RUNNING])
    assert first.record.gates == (replace(WELL, at=NOW), replace(ASKED, at=NOW))
    then = course_of(at(RolloutPhase.GATING, record=GATING | {"gates": (WELL, ASKED)}))
    assert then.acts == (PROBE,)
    assert then.record.gates == (WELL, ASKED)


def test_a_gate_under_way_is_not_asked_again() -> None:
    seen = at(RolloutPhase.GATING, record=GATING | {"gates": (WELL, ASKED)}, busy={PROBE.subject: None})
    assert course_of(seen).acts == ()


def test_a_gate_that_passes_opens_the_bake() -> None:
    record = course_of(at(RolloutPhase.GATING, record=GATING, measurements=(a_measurement(),))).record
    assert (record.phase, record.baked_until) == (RolloutPhase.BAKING, NOW)
    assert {each.verdict for each in record.gates} == {GateVerdict.PASSED}


def test_a_gate_that_fails_is_the_end_of_the_way_forward() -> None:
    failed = a_measurement(GateVerdict.FAILED, detail="2 of 8 GPUs are gone")
    record = course_of(at(RolloutPhase.GATING, record=GATING, measurements=(failed,))).record
    assert (record.phase, record.why) == (
        RolloutPhase.REVERTING,
        "gate smoke failed on n1: 2 of 8 GPUs are gone",
    )


def test_a_hundred_canaries_that_fail_sixteen_gates_with_many_words_fit_into_a_status() -> None:
    """An API server takes one and a half megabytes. Whoever writes more is refused, and never goes back."""
    names = tuple(f"node-{number:03}" for number in range(100))
    gates = tuple(replace(SMOKE, name=f"gate-{number:02}") for number in range(16))
    failed = tuple(
        a_measurement(GateVerdict.FAILED, gate=gate.name, node=name, detail="ä" * 400)
        for name in names
        for gate in gates
    )
    seen = at(RolloutPhase.GATING, *map(canary, names), record=GATING | {"canaries": names}, measurements=failed)
    asked = careful(gates=gates)
    course = course_of(seen, asked)
    assert course.record.phase is RolloutPhase.REVERTING
    assert course.record.why.startswith("gate gate-00 failed on node-000: ä")
    assert course.record.why.endswith(" more")
    assert len(course.record.why) < 3_000
    assert len(json.dumps(codec.encode(course.record), ensure_ascii=False).encode()) < 500_000
    undecided = replace(seen.rollout, campaign=replace(course.record, phase=RolloutPhase.GATING))
    again = course_of(replace(seen, rollout=undecided), asked, now=NOW + 1)
    assert again.record.gates == course.record.gates, "what was cut is not taken for news"


def test_a_gate_that_cannot_be_measured_is_asked_anew_in_the_next_round() -> None:
    tries = tuple(
        a_measurement(GateVerdict.UNKNOWN, attempt=number + 1, detail="no image") for number in range(TRIES_MAX)
    )
    gates = (WELL, replace(ASKED, verdict=GateVerdict.UNKNOWN, detail="no image"))
    seen = at(RolloutPhase.GATING, record=GATING | {"gates": gates}, measurements=tries)
    course = course_of(seen)
    assert (codes(course), course.wake_at) == ([HoldCode.GATE_UNKNOWN], 900.0 + 3600)
    assert dict(course.holds[0].params)["why"] == "no image"
    later = course_of(seen, now=900.0 + 3600)
    assert (later.record.round, later.record.round_at, later.record.gates) == (2, 4500.0, ())


def test_a_gate_whose_pod_is_not_let_in_is_named_with_the_reason_and_not_asked_twice() -> None:
    refused = a_measurement(GateVerdict.PENDING, detail="violates PodSecurity", kept_out_of="trials")
    course = course_of(at(RolloutPhase.GATING, record=GATING, measurements=(refused,)))
    assert (codes(course), course.acts) == ([HoldCode.GATE_REFUSED], ())
    assert "the pod of gate smoke for n1 is not admitted to namespace trials: violates" in explain.why(course.holds[0])
    assert course.holds[0].until is not None, "it is known when we give up on it"
    again = a_measurement(GateVerdict.UNKNOWN, detail="no image")
    tried = course_of(at(RolloutPhase.GATING, record=GATING, measurements=(again,)))
    assert codes(tried) == [HoldCode.GATES_RUNNING], "what an ended try said is no refusal of the next"


def test_a_gate_whose_job_is_itself_turned_down_says_so_and_when_it_is_tried_again() -> None:
    due = at(RolloutPhase.GATING, record=GATING | {"gates": (WELL, ASKED)})
    (probe,) = course_of(due).acts
    course = course_of(replace(due, rebuffs={probe.subject: a_rebuff(detail="exceeded quota")}))
    assert (codes(course), course.acts) == ([HoldCode.WRITE_REFUSED], ()), "there is no Job that anybody could look at"
    assert dict(course.holds[0].params) == {"why": "exceeded quota"}
    again_at = course.holds[0].until
    assert again_at is not None
    later = course_of(replace(due, rebuffs={probe.subject: a_rebuff(detail="exceeded quota")}), now=again_at)
    assert later.acts == (probe,)


def test_a_canary_that_is_not_well_has_as_long_as_a_validation_may_take() -> None:
    seen = at(
        RolloutPhase.GATING, canary(driver=a_new_driver(is_ready=False)), record=GATING, measurements=(a_measurement(),)
    )
    course = course_of(seen)
    assert (codes(course), course.acts) == ([HoldCode.GATES_RUNNING], ())
    assert phase_after(seen, now=900.0 + 600) is RolloutPhase.REVERTING


def test_a_canary_whose_validator_complains_is_not_well() -> None:
    node = canary(validator=replace(canary().facts.validator, is_ready=False))  # type: ignore[type-var]
    seen = at(RolloutPhase.GATING, node, record=GATING, measurements=(a_measurement(),))
    assert codes(course_of(seen)) == [HoldCode.GATES_RUNNING]


def test_an_outage_of_ours_fails_no_canary() -> None:
    node = canary(driver=a_new_driver(is_ready=False))
    seen = at(RolloutPhase.GATING, node, record=GATING, attentive_since=5000.0)
    course = course_of(seen, now=5001.0)
    assert codes(course) == [HoldCode.GATES_RUNNING]
    assert course.wake_at == 5000.0 + TRIES_MAX * 600


def test_a_round_that_takes_longer_than_it_may_is_not_looked_at_without_a_pause() -> None:
    course = course_of(at(RolloutPhase.GATING, record=GATING), now=900.0 + TRIES_MAX * 600)
    assert (codes(course), course.wake_at) == ([HoldCode.GATES_RUNNING], None)


@pytest.mark.parametrize("phase", [RolloutPhase.GATING, RolloutPhase.BAKING])
@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ((waiting(),), "canary n1 is gone"),
        ((canary(is_requested=True),), "somebody asked for another upgrade of canary n1"),
        ((a_node(phase=NodePhase.UPGRADE_REQUIRED),), "canary n1 is being upgraded again"),
        ((an_old_node(phase=NodePhase.UPGRADE_DONE),), "canary n1 no longer runs 580.105.08"),
    ],
)
def test_a_canary_that_is_another_than_it_was_begins_anew(
    phase: RolloutPhase, nodes: tuple[NodeSeen, ...], why: str
) -> None:
    record = course_of(at(phase, *nodes, record=GATING | {"gates": (WELL,)})).record
    assert (record.phase, record.gates, record.round) == (RolloutPhase.CANARY, (), 1)
    assert record.history[-1].why == why


BAKING: dict[str, Any] = {"round": 1, "round_at": 800.0, "baked_until": 900.0, "gates": (WELL, PASSED)}


def test_the_bake_tells_how_much_evidence_there_is() -> None:
    course = course_of(at(RolloutPhase.BAKING, record=BAKING | {"baked_seconds": 24 * 3600.0}))
    assert course.holds[0] == hold(
        "spring", HoldCode.BAKING, well="24 h", asked="2 d", left="24 h", since=900.0, until=900.0 + 3600
    )
    assert course.wake_at == 900.0 + 3600


def test_a_round_is_asked_when_its_time_has_come() -> None:
    record = course_of(at(RolloutPhase.BAKING, record=BAKING), now=900.0 + 3600).record
    assert (record.phase, record.round, record.round_at, record.gates) == (RolloutPhase.BAKING, 2, 4500.0, ())


def baking(*measurements: Any, now: float, **changes: Any) -> CampaignRecord:
    """The second round of a bake, asked at 4500."""
    record = BAKING | {"round": 2, "round_at": 4500.0, "gates": (), **changes}
    return course_of(at(RolloutPhase.BAKING, record=record, measurements=measurements), now=now).record


def test_a_round_that_passes_counts_the_time_since_the_one_before() -> None:
    record = baking(a_measurement(round=2), now=4600.0)
    assert (record.baked_seconds, record.baked_until) == (3700.0, 4600.0)


def test_a_round_without_a_verdict_counts_nothing() -> None:
    tries = tuple(a_measurement(GateVerdict.UNKNOWN, round=2, attempt=number + 1) for number in range(TRIES_MAX))
    record = baking(*tries, now=4600.0)
    assert (record.baked_seconds, record.baked_until) == (0.0, 4600.0)
    course = course_of(a_snapshot(canary(), waiting(), campaign=record, operator=FORWARD), now=4601.0)
    assert (codes(course), course.wake_at) == ([HoldCode.GATE_UNKNOWN], 4600.0 + 3600)


def test_a_round_that_fails_is_the_end_of_the_way_forward() -> None:
    record = baking(a_measurement(GateVerdict.FAILED, round=2), now=4600.0)
    assert (record.phase, record.why) == (RolloutPhase.REVERTING, "gate smoke failed on n1")


def test_a_round_under_way_is_waited_for() -> None:
    course = course_of(at(RolloutPhase.BAKING, record=BAKING | {"round": 2, "round_at": 950.0, "gates": ()}))
    assert codes(course) == [HoldCode.BAKING, HoldCode.GATES_RUNNING]


def test_a_pause_is_no_evidence() -> None:
    paused = at(RolloutPhase.PAUSED, record=BAKING | {"paused_in": RolloutPhase.BAKING})
    record = course_of(paused, now=90_000.0).record
    assert (record.phase, record.paused_in, record.well_since) == (RolloutPhase.BAKING, None, 90_000.0)
    assert (record.baked_seconds, record.round, record.gates) == (0.0, 2, ())


BAKED = BAKING | {"baked_seconds": 48 * 3600.0}


def test_the_fleet_follows_when_there_is_evidence_for_as_long_as_was_asked() -> None:
    assert phase_after(at(RolloutPhase.BAKING, record=BAKED)) is RolloutPhase.WAVING


def test_the_fleet_waits_for_a_person_where_one_has_to_say_yes_and_the_gates_are_asked_meanwhile() -> None:
    intent = careful(manual=(Point.WAVES,))
    course = course_of(at(RolloutPhase.BAKING, record=BAKED), intent)
    assert (codes(course), course.wake_at) == ([HoldCode.APPROVAL_PENDING], 900.0 + 3600)
    assert course_of(at(RolloutPhase.BAKING, record=BAKED), intent, now=4500.0).record.round == 2
    approved = careful(manual=(Point.WAVES,), approved=(Point.WAVES,))
    assert phase_after(at(RolloutPhase.BAKING, record=BAKED), approved) is RolloutPhase.WAVING


def test_a_round_that_a_pause_cut_short_is_no_pass() -> None:
    course = course_of(at(RolloutPhase.BAKING, record=BAKED | {"gates": ()}))
    assert (course.record.phase, codes(course)) == (RolloutPhase.BAKING, [HoldCode.BAKING])


def test_a_canary_is_kept_marked_while_it_bakes() -> None:
    course = course_of(at(RolloutPhase.BAKING, a_done_node(), record=BAKING))
    assert course.acts == (MarkNode(node="n1", rollout="spring", expect="7", canary=True),)
    assert codes(course) == [HoldCode.BAKING, HoldCode.MARKS_PENDING]


def test_a_paused_pool_of_machines_is_told_of_with_its_clock() -> None:
    pools = (MachinePool(name="gpu", is_paused=True, certificate_at=NOW + 60), MachinePool(name="x", is_paused=True))
    course = course_of(at(RolloutPhase.BAKING, record=BAKING, machine_pools=pools))
    assert (codes(course), course.wake_at) == ([HoldCode.BAKING, HoldCode.POOL_PAUSED], NOW + 60)


# ── waves ────────────────────────────────────────────────────────────────────────────────────────────────────────────

PROVEN: dict[str, Any] = {"gates": (WELL,), "baked_seconds": 48 * 3600.0, "round": 2}
ONE_BY_ONE = Waves(growth=Growth.FIXED, first=Share(amount=1))


def waving(*nodes: NodeSeen, record: dict[str, Any] | None = None, **changes: Any) -> Snapshot:
    return at(RolloutPhase.WAVING, canary(), *nodes, record=PROVEN | (record or {}), **changes)


def one_by_one(**changes: Any) -> Intent:
    return careful(waves=ONE_BY_ONE, **changes)


def test_a_wave_opens_as_many_nodes_as_it_has_and_those_before_it() -> None:
    seen = waving(waiting("n2"), waiting("n3"), waiting("n4"))
    course = course_of(seen, one_by_one())
    assert course.open == frozenset({"n1", "n2"})
    assert course.holds == (hold("spring", HoldCode.WAVE_AT_WORK, wave=1, waves=3, left=1, since=900.0),)
    second = waving(a_done_node("n2"), waiting("n3"), waiting("n4"), record={"wave": 1})
    assert course_of(second, one_by_one()).open == frozenset({"n1", "n2", "n3"})


def test_a_wave_follows_the_order_that_was_asked_for() -> None:
    last = waiting("n2", labels={"seatrial.dev/upgrade-priority": "1"})
    seen = waving(last, waiting("n3", labels={"seatrial.dev/upgrade-priority": "9"}))
    assert course_of(seen, replace(one_by_one(), order=Order.PRIORITY)).open == frozenset({"n1", "n3"})


def test_a_wave_takes_in_whole_units() -> None:
    clique = {RACK: "c1"}
    seen = waving(waiting("n2", labels=clique), waiting("n3"), waiting("n4", labels=clique))
    intent = replace(one_by_one(), domains=(Domain(label=RACK, is_unit=True),))
    assert course_of(seen, intent).open == frozenset({"n1", "n2", "n4"})


def test_a_node_that_the_ledger_names_keeps_its_turn_when_the_waves_are_drawn_again() -> None:
    seen = waving(waiting("n2"), waiting("n3"), waiting("n4"), admitted=a_ledger("n4", attempt=1))
    assert course_of(seen, one_by_one()).open == frozenset({"n1", "n2", "n4"})


def test_a_canary_that_left_the_cluster_does_not_stop_the_waves() -> None:
    seen = at(RolloutPhase.WAVING, waiting("n2"), waiting("n3"), record=PROVEN)
    assert course_of(seen, one_by_one()).open == frozenset({"n2"})


def test_what_other_resources_own_is_published_with_the_first_wave() -> None:
    carriers = two_drivers(NEW.version, OLD.version)
    baseline = (("NVIDIADriver/a", OLD.version), ("NVIDIADriver/b", OLD.version))
    seen = at(
        RolloutPhase.WAVING,
        canary(owner="a"),
        an_old_node("n2", owner="b"),
        record=PROVEN | {"baseline": baseline},
        operator=OperatorFacts(carriers=carriers),
    )
    course = course_of(seen)
    versions = (("NVIDIADriver/b", NEW.version),)
    assert course.acts == (published(PublishStep.FLEET, *versions),)
    assert (course.open, codes(course)) == (frozenset(), [HoldCode.PUBLISH_PENDING])


def test_a_wave_waits_while_the_matrix_does_not_stand_behind_it() -> None:
    course = course_of(waving(waiting(), source=a_source(driver="550.54.15")), careful(has_source=True))
    assert (course.open, codes(course)) == (frozenset(), [HoldCode.MATRIX_CHANGED])


def test_a_window_that_closes_in_a_wave_lets_those_under_way_end_and_nobody_start() -> None:
    at_work = a_node("n2", NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True)
    seen = waving(at_work, waiting("n3"))
    course = course_of(seen, careful(waves=Waves(first=Share.parse("100%")), openings=((NOW - 9, NOW),)))
    assert (course.open, codes(course)) == (frozenset(), [HoldCode.OUTSIDE_WINDOW])
    assert course.wake_at is None


def test_more_failures_than_are_tolerated_stop_the_waves_and_a_retry_goes_on() -> None:
    broken_node = a_node("n2", NodePhase.UPGRADE_FAILED, record=FAILURE)
    intent = replace(one_by_one(), failed_max=0)
    course = course_of(waving(broken_node, waiting("n3")), intent)
    assert course.holds == (
        hold("spring", HoldCode.FAILURE_BUDGET, failed=1, limit=0, nodes="n2", since=900.0, undo="leaves"),
    )
    retried = decide(waving(replace(broken_node, is_retry_asked=True), waiting("n3")), intent, NOW)
    assert [action.id for action in retried.actions if action.subject == "n2"] == ["n2/upgrade-required/2@7"]


def test_failures_that_are_tolerated_and_nodes_to_be_left_alone_do_not_keep_a_wave_open() -> None:
    failed = a_node("n2", NodePhase.UPGRADE_FAILED, record=FAILURE)
    record = course_of(waving(failed, waiting("n3", is_skipped=True), waiting("n4")), one_by_one()).record
    assert record.wave == 1
    assert record.history[-1] == Turn(phase=RolloutPhase.WAVING, at=NOW, why="wave 2 of 3")


def test_a_wave_that_is_over_is_watched_before_the_next_begins() -> None:
    intent = careful(waves=replace(ONE_BY_ONE, pause_seconds=600.0))
    nodes = (a_done_node("n2"), waiting("n3"))
    assert course_of(waving(*nodes), intent).record.settled_at == NOW
    settled = waving(*nodes, record={"settled_at": NOW})
    course = course_of(settled, intent, now=NOW + 599)
    assert (codes(course), course.wake_at) == ([HoldCode.WAVE_PAUSE], NOW + 600)
    assert course_of(settled, intent, now=NOW + 600).record.wave == 1


def test_the_last_wave_leads_to_promotion_under_a_name_that_is_written_down() -> None:
    record = course_of(waving(a_done_node("n2")), one_by_one(), now=1_794_700_800.0).record
    assert (record.phase, record.date, record.tag_base) == (
        RolloutPhase.PROMOTING,
        "2026-11-15",
        "v2026-11-stable",
    )


def test_a_fleet_of_canaries_has_no_waves() -> None:
    assert phase_after(waving()) is RolloutPhase.PROMOTING


def test_promotion_waits_for_a_person_where_one_has_to_say_yes() -> None:
    seen = waving(a_done_node("n2"))
    assert codes(course_of(seen, one_by_one(manual=(Point.PROMOTION,)))) == [HoldCode.APPROVAL_PENDING]


# ── promotion ────────────────────────────────────────────────────────────────────────────────────────────────────────

NAMED: dict[str, Any] = PROVEN | {"date": "2026-11-15", "tag_base": "v2026-11-stable"}
PROMOTION = Promote(rollout="spring", date="2026-11-15", tag_base="v2026-11-stable")
PROMOTED = a_source(steps=((PublishStep.PROMOTION, "c3"),), tag="v2026-11-stable")


def promoting(*nodes: NodeSeen, **changes: Any) -> Snapshot:
    return at(RolloutPhase.PROMOTING, *(nodes or (canary(), a_done_node("n2"))), record=NAMED, **changes)


def test_the_matrix_is_promoted_and_tagged() -> None:
    course = course_of(promoting(source=a_source()), careful(has_source=True))
    assert (course.acts, codes(course)) == ((PROMOTION,), [HoldCode.PROMOTION_PENDING])


STALE = a_source(every_seconds=30, seen_at=NOW - 301)
"""A matrix that nobody has looked at for too long."""


def test_no_canary_and_no_wave_starts_on_a_matrix_that_was_seen_too_long_ago() -> None:
    wish = careful(has_source=True)
    canaries = course_of(at(RolloutPhase.CANARY, an_old_node(canary_of="spring"), source=STALE), wish)
    wave = course_of(waving(waiting(), source=STALE), wish)
    for course in (canaries, wave):
        assert (course.acts, codes(course), course.open) == ((), [HoldCode.SOURCE_STALE], frozenset())
    seen_again = replace(STALE, seen_at=NOW - 1)
    assert codes(course_of(waving(waiting(), source=seen_again), wish)) != [HoldCode.SOURCE_STALE]


def test_the_way_back_does_not_wait_for_a_matrix_that_was_seen_too_long_ago() -> None:
    published = replace(STALE, steps=((PublishStep.CANARY, "c1"),))
    course = course_of(reverting(an_old_node(), source=published), careful(publish=Via.GIT, has_source=True))
    assert [type(act) for act in course.acts] == [RevertCommits]
    assert HoldCode.SOURCE_STALE not in codes(course)
    marking = course_of(reverting(an_old_node(), source=STALE), careful(has_source=True))
    assert [type(act) for act in marking.acts] == [MarkBad]


def test_a_promotion_without_its_tag_is_asked_for_again() -> None:
    course = course_of(promoting(source=replace(PROMOTED, tag="", driver="")), careful(has_source=True))
    assert course.acts == (PROMOTION,)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (None, HoldCode.SOURCE_UNREACHABLE),
        (a_source(trouble="no route to host"), HoldCode.SOURCE_UNREACHABLE),
        (STALE, HoldCode.SOURCE_STALE),
        (replace(STALE, steps=((PublishStep.PROMOTION, "p1"),)), HoldCode.SOURCE_STALE),
        (a_source(bad="Xid 79"), HoldCode.ENTRY_BAD),
        (a_source(is_rewritten=True), HoldCode.HISTORY_REWRITTEN),
    ],
)
def test_an_entry_that_the_matrix_does_not_stand_behind_is_not_promoted(source: Any, code: HoldCode) -> None:
    course = course_of(promoting(source=source), careful(has_source=True))
    assert (course.acts, codes(course)) == ((), [code])


def test_a_promotion_that_a_person_has_to_merge_is_waited_for() -> None:
    source = a_source(proposals=((PublishStep.PROMOTION, "https://git.example.com/pulls/7"),))
    course = course_of(promoting(source=source), careful(has_source=True))
    assert (course.acts, codes(course)) == ((), [HoldCode.MERGE_PENDING])


def test_a_promotion_that_was_turned_down_is_tried_again_after_a_while() -> None:
    rebuffs = {PROMOTION.subject: a_rebuff(detail="push rejected")}
    seen = promoting(source=a_source(), rebuffs=rebuffs)
    course = course_of(seen, careful(has_source=True))
    assert (course.acts, codes(course), course.wake_at) == ((), [HoldCode.WRITE_REFUSED], NOW + 5)
    assert course_of(seen, careful(has_source=True), now=NOW + 5).acts == (PROMOTION,)


def test_the_marks_are_taken_away_before_a_campaign_is_done() -> None:
    seen = promoting(source=PROMOTED)
    course = course_of(seen, careful(has_source=True))
    assert course.acts == (MarkNode(node="n1", rollout="spring", expect="7", canary=False),)
    assert course.open == frozenset({"n1", "n2"})
    clean = promoting(a_done_node(), a_done_node("n2"), source=PROMOTED)
    assert phase_after(clean, careful(has_source=True)) is RolloutPhase.DONE


def test_a_campaign_does_not_end_while_a_write_of_ours_is_not_seen() -> None:
    seen = promoting(a_done_node(), a_done_node("n2"), busy={"n1": NOW + 5})
    course = course_of(seen)
    assert (course.record, codes(course)) == (seen.rollout.campaign, [HoldCode.WRITE_IN_FLIGHT])


def test_a_node_that_failed_or_came_late_may_follow_after_the_end() -> None:
    seen = at(RolloutPhase.DONE, a_done_node(), waiting(), an_old_node("n3"), record=NAMED)
    assert course_of(seen).open == frozenset({"n1", "n2"})


def test_after_the_end_nobody_follows_while_another_campaign_is_under_way() -> None:
    seen = at(RolloutPhase.DONE, a_done_node(), waiting(), record=NAMED, others=("winter",))
    assert course_of(seen).open == frozenset()


# ── promotion with failed nodes ──────────────────────────────────────────────────────────────────────────────────────

CRASHED = a_node("n2", NodePhase.UPGRADE_FAILED, is_cordon_ours=True, record=FAILURE)
TOLERANT = careful(has_source=True)


@pytest.mark.parametrize("has_source", [True, False])
def test_a_failed_node_keeps_its_campaign_from_promotion_until_a_person_accepts_it(has_source: bool) -> None:
    seen = promoting(canary(), CRASHED, source=a_source() if has_source else None)
    waits = course_of(seen, careful(has_source=has_source))
    assert (waits.acts, codes(waits)) == ((), [HoldCode.NODES_FAILED])
    assert dict(waits.holds[0].params) == {"count": "1", "nodes": "n2"}
    for accepted in ({"approved": (Point.PROMOTION,)}, {"tags_with_failures": True}):
        course = course_of(seen, careful(has_source=has_source, **accepted))
        assert [type(act) for act in course.acts] == [Promote if has_source else MarkNode]
        assert codes(course)[-1] is HoldCode.MEMBERS_LEFT


@pytest.mark.parametrize(
    "node",
    [
        a_done_node("n2"),
        a_node("n2", NodePhase.UPGRADE_FAILED, is_skipped=True, record=FAILURE),
    ],
    ids=["mended", "left out"],
)
def test_a_failed_node_that_was_mended_or_left_out_lets_its_campaign_continue(node: NodeSeen) -> None:
    assert course_of(promoting(canary(), node, source=a_source()), TOLERANT).acts == (PROMOTION,)


def test_a_failed_node_that_is_tried_again_may_start_and_is_waited_for() -> None:
    again = a_node("n2", NodePhase.UPGRADE_REQUIRED, is_cordon_ours=True, record=FAILURE)
    course = course_of(promoting(canary(), again, source=a_source()), TOLERANT)
    assert (course.acts, codes(course)) == ((), [HoldCode.WAVE_AT_WORK])
    assert "n2" in course.open


def test_with_more_failures_than_are_allowed_no_node_starts_before_the_promotion() -> None:
    seen = promoting(canary(), CRASHED, waiting("n3"), source=a_source())
    assert course_of(seen, replace(TOLERANT, failed_max=0)).open == frozenset()
    assert "n3" in course_of(seen, TOLERANT).open


def test_the_history_says_which_nodes_were_left_behind_once_that_is_settled() -> None:
    ended = course_of(waving(CRASHED), TOLERANT).record
    assert (ended.phase, ended.history[-1].why) == (
        RolloutPhase.PROMOTING,
        "the last wave is over, and these nodes are left: n2 (failed)",
    )
    written: dict[str, Any] = NAMED | {"history": ended.history}
    seen = at(RolloutPhase.PROMOTING, canary(), CRASHED, record=written, source=a_source())
    assert course_of(seen, TOLERANT).record == seen.rollout.campaign
    accepted = course_of(seen, replace(TOLERANT, campaign=a_campaign(has_source=True, tags_with_failures=True))).record
    assert accepted.history[-1].why == "without n2 (failed)"
    mended = at(RolloutPhase.PROMOTING, canary(), a_done_node("n2"), record=written, source=a_source())
    assert course_of(mended, TOLERANT).record.history[-1].why == ""


def test_a_promotion_that_has_begun_is_finished_whatever_fails_meanwhile() -> None:
    assert codes(course_of(promoting(canary(), CRASHED, source=PROMOTED), TOLERANT))[0] is HoldCode.MARKS_PENDING


def test_a_person_who_approves_the_promotion_reads_which_nodes_failed() -> None:
    seen = waving(CRASHED)
    course = course_of(seen, one_by_one(manual=(Point.PROMOTION,)))
    assert codes(course) == [HoldCode.APPROVAL_PENDING, HoldCode.NODES_FAILED]
    approved = one_by_one(manual=(Point.PROMOTION,), approved=(Point.PROMOTION,))
    assert phase_after(seen, approved) is RolloutPhase.PROMOTING


def test_a_node_that_nvidias_controller_gave_up_keeps_its_campaign_from_promotion() -> None:
    failed = a_well_node("n2", nvidia_state="upgrade-failed")
    moved = a_well_node("n1", nvidia_state="upgrade-done")
    operator = an_operator(NEW.version, is_auto_upgrading=True)
    record = NAMED | {"mode": Mode.DELEGATED}
    seen = at(RolloutPhase.PROMOTING, moved, failed, record=record, source=a_source(), operator=operator)
    assert HoldCode.NODES_FAILED in codes(course_of(seen, TOLERANT))


# ── back ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

UNDONE: dict[str, Any] = PROVEN | {"why": "Xid 79", "rejected": "Xid 79"}


def reverting(*nodes: NodeSeen, record: dict[str, Any] | None = None, **changes: Any) -> Snapshot:
    changes = {"operator": BACK} | changes
    return at(RolloutPhase.REVERTING, *nodes, record=UNDONE | (record or {}), **changes)


@pytest.mark.parametrize("phase", [*sorted(UNDER_WAY - {RolloutPhase.REVERTING}), RolloutPhase.DONE])
def test_a_campaign_is_undone_from_every_phase(phase: RolloutPhase) -> None:
    record = course_of(at(phase, record=NAMED | GATING), careful(abort="Xid 79")).record
    assert (record.phase, record.why) == (RolloutPhase.REVERTING, "Xid 79")
    assert record.history[-1] == Turn(phase=RolloutPhase.REVERTING, at=NOW, why="Xid 79")


def test_a_campaign_that_has_not_begun_is_undone_at_once() -> None:
    record = course_of(proposed(), careful(abort="not now")).record
    assert (record.phase, record.why) == (RolloutPhase.REVERTED, "not now")


@pytest.mark.parametrize("phase", [RolloutPhase.REVERTING, RolloutPhase.REVERTED])
def test_a_campaign_is_undone_once(phase: RolloutPhase) -> None:
    seen = at(phase, canary(wanted=OLD), record=UNDONE, operator=BACK)
    assert course_of(seen, careful(abort="again")).record == seen.rollout.campaign


def test_what_was_published_goes_back_first() -> None:
    course = course_of(reverting(canary(), waiting(), operator=FORWARD))
    versions = ((POLICY, OLD.version),)
    assert course.acts == (published(PublishStep.REVERT, *versions, note="spring/revert/900"),)
    assert (course.open, codes(course)) == (frozenset(), [HoldCode.PUBLISH_PENDING, HoldCode.NODES_GOING_BACK])


def test_nodes_go_back_once_the_old_version_is_wanted_again_and_the_others_stay() -> None:
    upgraded = canary(wanted=OLD)
    course = course_of(reverting(upgraded, an_old_node("n2", NodePhase.UPGRADE_DONE), an_old_node("n3")))
    assert (course.open, codes(course)) == (frozenset({"n1"}), [HoldCode.NODES_GOING_BACK])


def test_a_campaign_is_reverted_when_everybody_is_back_and_nothing_of_ours_is_left() -> None:
    back = an_old_node(phase=NodePhase.UPGRADE_DONE, canary_of="spring")
    course = course_of(reverting(back, an_old_node("n2")))
    assert course.acts == (MarkNode(node="n1", rollout="spring", expect="7", canary=False),)
    clean = reverting(an_old_node(phase=NodePhase.UPGRADE_DONE), an_old_node("n2"))
    record = course_of(clean).record
    assert (record.phase, record.why) == (RolloutPhase.REVERTED, "Xid 79")


def test_a_node_whose_resource_ran_the_target_before_us_stays_on_it() -> None:
    seen = reverting(a_done_node(owner="b"), record={"baseline": ()}, operator=OperatorFacts(kind=POLICY))
    assert phase_after(seen) is RolloutPhase.REVERTED


DEAD: dict[str, Any] = {"is_ready": False, "wanted": OLD, "driver": None}


@pytest.mark.parametrize(
    "dead",
    [
        a_node(phase=NodePhase.UPGRADE_REQUIRED, is_cordon_ours=True, **DEAD),
        a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, **DEAD),
        a_node(phase=NodePhase.UPGRADE_FAILED, is_cordon_ours=True, **(DEAD | {"is_ready": True})),
    ],
    ids=["it waits", "it is under way", "its driver cannot come back"],
)
def test_a_dead_canary_keeps_the_way_back_open_only_until_a_person_takes_it_out(dead: NodeSeen) -> None:
    waits = course_of(reverting(dead, an_old_node("n2")))
    assert codes(waits) == [HoldCode.NODES_GOING_BACK]
    record = course_of(reverting(skipped(dead), an_old_node("n2"))).record
    assert record.phase is RolloutPhase.REVERTED
    how = (
        "no driver pod, still cordoned by us"
        if dead.facts.is_ready
        else "not Ready, no driver pod, still cordoned by us"
    )
    assert record.history[-1].why == f"Xid 79; skipped by somebody and left as they are: n1 ({how})"


def test_the_end_of_a_way_back_names_the_tag_that_still_stands_and_how_to_take_it_away() -> None:
    url = "https://git.example/gpu cluster.git"
    matrix = GitPlace(url=url, branch="main", path="matrix.yaml")
    taken_back = ((PublishStep.PROMOTION, "c3"), (PublishStep.REVERT, "c4"), (PublishStep.BAD, "c5"))
    source = a_source(steps=taken_back, tag="v2026-11-stable")
    at_home = {"places": Places(matrix=matrix)}
    record = course_of(reverting(an_old_node(), source=source, record=at_home), careful(has_source=True)).record
    assert (record.phase, record.why) == (RolloutPhase.REVERTED, "Xid 79")
    assert record.ending == record.history[-1].why
    assert record.ending == (
        f"Xid 79; tag v2026-11-stable in {url} still stands on this version: delete it with `git push '{url}' "
        f":refs/tags/v2026-11-stable`, or move it with `git push --force '{url}' COMMIT:refs/tags/v2026-11-stable`"
    )
    for untagged in (replace(source, tag=""), replace(source, steps=taken_back[1:])):
        seen = reverting(an_old_node(), source=untagged, record=at_home)
        assert course_of(seen, careful(has_source=True)).record.ending == "Xid 79"


def test_any_node_on_the_way_back_can_be_taken_out_and_the_others_are_waited_for() -> None:
    dead = skipped(a_node("n3", phase=NodePhase.UPGRADE_REQUIRED, **DEAD))
    course = course_of(reverting(canary(wanted=OLD), dead))
    assert (course.open, codes(course)) == (frozenset({"n1"}), [HoldCode.NODES_GOING_BACK])
    assert dict(course.holds[0].params)["nodes"] == "n1"


def test_a_node_that_is_well_and_under_way_comes_to_its_end_although_it_is_left_out() -> None:
    moving = a_node(phase=NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, wanted=OLD, driver=a_new_driver())
    assert codes(course_of(reverting(skipped(moving)))) == [HoldCode.NODES_GOING_BACK]


def test_a_node_that_we_keep_out_ourselves_is_not_taken_out_by_that() -> None:
    ours = replace(
        skipped(canary(wanted=OLD)), facts=replace(canary(wanted=OLD, is_skipped=True).facts, skipped_by="spring")
    )
    assert HoldCode.NODES_GOING_BACK in codes(course_of(reverting(ours)))


def test_a_dead_node_that_nvidias_controller_left_half_way_is_taken_out_by_a_person() -> None:
    dead = a_node(nvidia_state="pod-restart-required", **DEAD)
    waits = course_of(reverting(dead, record=DELEGATED, operator=NVIDIA_BACK))
    assert HoldCode.NODES_GOING_BACK in codes(waits)
    assert phase_after(reverting(skipped(dead), record=DELEGATED, operator=NVIDIA_BACK)) is RolloutPhase.REVERTED


def skipped(node: NodeSeen) -> NodeSeen:
    """The node with a person's skip label."""
    return replace(node, facts=replace(node.facts, is_skipped=True))


def test_many_nodes_on_their_way_back_are_counted() -> None:
    nodes = [canary(f"n{number}", wanted=OLD) for number in range(7)]
    told = dict(course_of(reverting(*nodes)).holds[0].params)["nodes"]
    assert told == "n0, n1, n2, n3, n4 and 2 more"


def test_an_entry_is_marked_bad_with_the_reason() -> None:
    course = course_of(reverting(an_old_node(), source=a_source()), careful(has_source=True))
    assert (course.acts, codes(course)) == (
        (MarkBad(rollout="spring", driver=NEW.version, why="Xid 79"),),
        [HoldCode.REVERT_PENDING],
    )
    marked = reverting(an_old_node(), source=a_source(bad="Xid 79"))
    assert phase_after(marked, careful(has_source=True)) is RolloutPhase.REVERTED


def test_an_entry_is_marked_bad_while_nodes_go_back_and_that_is_told_once() -> None:
    course = course_of(reverting(canary(wanted=OLD), source=a_source()), careful(has_source=True))
    assert [type(act) for act in course.acts] == [MarkBad]
    assert codes(course) == [HoldCode.REVERT_PENDING, HoldCode.NODES_GOING_BACK]


def test_an_entry_is_not_marked_before_our_commits_are_reverted() -> None:
    """A mark changes the lines that the revert is about: after it, our own commit would be the conflict."""
    steps = ((PublishStep.CANARY, "c1"),)
    wish = careful(publish=Via.GIT, has_source=True)
    refused = {"rollout/spring/revert": a_rebuff(at=NOW)}
    waiting = reverting(an_old_node(), source=a_source(steps=steps), rebuffs=refused, operator=an_operator())
    assert course_of(waiting, wish).acts == ()
    undone = a_source(steps=(*steps, (PublishStep.REVERT, "c2")))
    course = course_of(reverting(an_old_node(), source=undone, operator=an_operator()), wish)
    assert course.acts == (MarkBad(rollout="spring", driver=NEW.version, why="Xid 79"),)


def test_a_campaign_is_not_reverted_while_a_write_of_ours_is_not_seen() -> None:
    busy = {"rollout/spring/canary": NOW + 5, "rollout/winter/canary": None}
    course = course_of(reverting(an_old_node(), busy=busy))
    assert (course.record.phase, codes(course)) == (RolloutPhase.REVERTING, [HoldCode.WRITE_IN_FLIGHT])
    assert course.wake_at == NOW + 5


def test_nodes_go_back_while_the_matrix_cannot_be_reached() -> None:
    seen = reverting(canary(wanted=OLD), source=a_source(trouble="no route to host"))
    course = course_of(seen, careful(has_source=True))
    assert course.open == frozenset({"n1"})
    assert codes(course) == [HoldCode.SOURCE_UNREACHABLE, HoldCode.NODES_GOING_BACK]


def test_our_commits_are_reverted_the_newest_first() -> None:
    seen = reverting(canary(), source=IN_GIT, operator=FORWARD)
    course = course_of(seen, careful(publish=Via.GIT))
    assert course.acts == (RevertCommits(rollout="spring", commits=("c2", "c1"), driver=NEW.version),)
    assert codes(course) == [HoldCode.REVERT_PENDING, HoldCode.NODES_GOING_BACK]


def test_reverted_commits_are_waited_for_in_the_cluster() -> None:
    reverted = replace(IN_GIT, steps=(*IN_GIT.steps, (PublishStep.REVERT, "c4")))
    course = course_of(reverting(canary(), source=reverted, operator=FORWARD), careful(publish=Via.GIT))
    assert (course.acts, codes(course)) == ((), [HoldCode.PUBLISH_PENDING, HoldCode.NODES_GOING_BACK])


def test_commits_that_conflict_with_those_of_others_wait_for_a_person() -> None:
    source = replace(IN_GIT, conflict="values.yaml was changed by 1234abc")
    course = course_of(reverting(canary(), source=source, operator=FORWARD), careful(publish=Via.GIT))
    assert (course.acts, codes(course)) == ((), [HoldCode.REVERT_CONFLICT, HoldCode.NODES_GOING_BACK])


def test_after_a_conflict_the_old_version_put_there_by_hand_will_do_unless_the_matrix_was_promoted() -> None:
    source = replace(IN_GIT, steps=((PublishStep.CANARY, "c1"),), conflict="values.yaml was changed by 1234abc")
    by_hand = course_of(reverting(an_old_node(), source=source), careful(publish=Via.GIT))
    assert HoldCode.REVERT_CONFLICT not in codes(by_hand)
    promoted = replace(source, steps=(*source.steps, (PublishStep.PROMOTION, "c3")))
    held = course_of(reverting(an_old_node(), source=promoted), careful(publish=Via.GIT))
    assert HoldCode.REVERT_CONFLICT in codes(held)


def test_a_repository_out_of_reach_is_told_of_once() -> None:
    seen = reverting(canary(), source=None, operator=FORWARD)
    course = course_of(seen, careful(publish=Via.GIT, has_source=True))
    assert codes(course) == [HoldCode.SOURCE_UNREACHABLE, HoldCode.NODES_GOING_BACK]


def test_a_promotion_is_taken_back_after_what_we_wrote_ourselves() -> None:
    promoted = replace(PROMOTED, bad="Xid 79")
    first = course_of(reverting(canary(), source=promoted, operator=FORWARD), careful(has_source=True))
    assert [type(act) for act in first.acts] == [Publish]
    then = course_of(reverting(canary(wanted=OLD), source=promoted), careful(has_source=True))
    assert then.acts == (RevertCommits(rollout="spring", commits=("c3",), driver=NEW.version),)
    assert then.open == frozenset({"n1"})


# ── NVIDIA's controller moves the nodes ──────────────────────────────────────────────────────────────────────────────

DELEGATED: dict[str, Any] = {"mode": Mode.DELEGATED}


def test_everybody_is_kept_out_before_nvidias_controller_sees_the_version() -> None:
    nodes = (an_old_node(canary_of="spring"), an_old_node("n2"), an_old_node("n3", is_skipped=True))
    course = course_of(at(RolloutPhase.CANARY, *nodes, record=DELEGATED, operator=NVIDIA_BACK))
    assert course.acts == tuple(MarkNode(node=name, rollout="spring", expect="7", skip=True) for name in ("n1", "n2"))


def test_a_wave_is_let_in_by_taking_our_skip_labels_away_and_a_persons_stay() -> None:
    kept_out = {"is_skipped": True, "skipped_by": "spring", "nvidia_state": "upgrade-required"}
    nodes = (
        a_well_node(canary_of="spring", nvidia_state="upgrade-done"),
        waiting("n2", **kept_out),
        waiting("n3", **kept_out),
        waiting("n4", is_skipped=True, nvidia_state="upgrade-required"),
    )
    ledger = a_ledger("n2", "n3", "n4", attempt=0)
    seen = at(RolloutPhase.WAVING, *nodes, record=PROVEN | DELEGATED, operator=NVIDIA_FORWARD, admitted=ledger)
    course = course_of(seen, one_by_one())
    assert course.acts == (MarkNode(node="n2", rollout="spring", expect="7", skip=False),)


def test_a_node_kept_out_that_got_the_new_driver_anyhow_is_let_back() -> None:
    leaked = a_well_node("n2", wanted=OLD, is_skipped=True, skipped_by="spring", nvidia_state="upgrade-required")
    ledger = a_ledger("n2", attempt=0)
    course = course_of(reverting(an_old_node(), leaked, record=DELEGATED, operator=NVIDIA_BACK, admitted=ledger))
    assert course.acts == (MarkNode(node="n2", rollout="spring", expect="7", skip=False),)
    assert codes(course) == [HoldCode.NODES_GOING_BACK]


def test_states_that_would_empty_nodes_in_vain_are_forgotten_before_the_skip_labels_go() -> None:
    waits = an_old_node("n2", is_skipped=True, skipped_by="spring", nvidia_state="upgrade-required")
    begun = course_of(reverting(an_old_node(), waits, record=DELEGATED, operator=NVIDIA_BACK))
    assert (begun.record.is_forgetting, begun.acts) == (True, ())
    forgetting = DELEGATED | {"is_forgetting": True}
    off = course_of(reverting(an_old_node(), waits, record=forgetting, operator=NVIDIA_BACK))
    assert off.acts == (SetAutoUpgrade(rollout="spring", resource=POLICY, value=False),)
    stripped = an_old_node("n2", is_skipped=True, skipped_by="spring")
    on = course_of(reverting(an_old_node(), stripped, record=forgetting, operator=BACK))
    assert on.acts == (SetAutoUpgrade(rollout="spring", resource=POLICY, value=True),)
    again = reverting(an_old_node(), stripped, record=forgetting, operator=NVIDIA_BACK)
    assert course_of(again).record.is_forgetting is False
    clear = course_of(reverting(an_old_node(), stripped, record=DELEGATED, operator=NVIDIA_BACK))
    assert clear.acts == (MarkNode(node="n2", rollout="spring", expect="7", skip=False),)


# ── what nodes are told ──────────────────────────────────────────────────────────────────────────────────────────────


def told(seen: Snapshot, intent: Intent | None = None) -> dict[str, HoldCode]:
    """The holds of nodes."""
    found = decide(seen, intent or careful(), NOW).holds
    return {held.subject: held.code for held in found if held.subject != "spring"}


def test_a_node_waits_for_its_turn_and_says_so_whether_or_not_its_daemon_set_has_the_target_yet() -> None:
    nodes = (canary(), waiting("n2"), an_old_node("n3"), an_old_node("n4", NodePhase.UPGRADE_REQUIRED))
    queued = dict.fromkeys(("n2", "n3", "n4"), HoldCode.NOT_ITS_TURN)
    assert told(at(RolloutPhase.BAKING, *nodes, record=BAKING)) == queued
    assert told(at(RolloutPhase.DONE, canary(), an_old_node("n3"), record=BAKING)) == {}


@pytest.mark.parametrize("phase", [RolloutPhase.BAKING, RolloutPhase.PAUSED, RolloutPhase.PROMOTING])
def test_a_node_with_a_skip_label_of_a_person_does_not_wait_for_its_turn(phase: RolloutPhase) -> None:
    skip = an_old_node("n2", NodePhase.UPGRADE_REQUIRED, is_skipped=True)
    record = BAKING | ({"paused_in": RolloutPhase.BAKING} if phase is RolloutPhase.PAUSED else {})
    assert told(at(phase, canary(), skip, record=record)) == {"n2": HoldCode.SKIPPED}


def test_before_the_canary_is_approved_every_node_says_what_it_waits_for() -> None:
    decision = decide(proposed(), careful(manual=(Point.CANARY,)), NOW)
    assert {held.subject for held in decision.holds if held.code is HoldCode.NOT_ITS_TURN} == {"n1", "n2"}


def test_a_node_that_got_the_new_driver_before_its_turn_is_told_and_one_that_had_its_turn_is_not() -> None:
    earlier = a_done_node("n3", entered_at=300.0)
    seen = at(RolloutPhase.BAKING, canary(), a_well_node("n2"), earlier, a_done_node("n4"), record=BAKING)
    assert told(seen) == {"n2": HoldCode.LEAKED, "n3": HoldCode.LEAKED}


def test_a_new_driver_that_came_before_its_turn_and_cannot_start_is_not_said_to_run() -> None:
    driver = a_new_driver("n2", is_ready=False, ready_since=None, trouble="ImagePullBackOff")
    seen = at(RolloutPhase.BAKING, canary(), a_well_node("n2", driver=driver), record=BAKING)
    assert told(seen) == {"n2": HoldCode.DRIVER_NOT_READY}


def test_a_note_of_ours_that_somebody_changed_is_told_of_whoever_waits_too() -> None:
    edited = replace(canary(), fault=RecordFault.EDITED, fault_text="cordon-required")
    garbled = replace(waiting("n2"), fault=RecordFault.UNREADABLE, fault_text="no JSON")
    assert told(at(RolloutPhase.BAKING, edited, garbled, record=BAKING)) == {
        "n1": HoldCode.RECORD_EDITED,
        "n2": HoldCode.RECORD_UNREADABLE,
    }


def test_a_node_of_nvidias_controller_is_told_with_its_state() -> None:
    nodes = (
        a_well_node(canary_of="spring", nvidia_state="upgrade-done"),
        waiting("n2", nvidia_state="drain-required"),
        a_well_node("n3", is_skipped=True, skipped_by="spring", nvidia_state="upgrade-done"),
        an_old_node("n4"),
    )
    seen = at(RolloutPhase.GATING, *nodes, record=GATING | DELEGATED, operator=NVIDIA_FORWARD)
    assert told(seen) == {"n2": HoldCode.MOVED_BY_NVIDIA, "n3": HoldCode.LEAKED, "n4": HoldCode.NOT_ITS_TURN}


@pytest.mark.parametrize("phase", [RolloutPhase.BAKING, RolloutPhase.WAVING])
def test_a_node_that_nvidias_controller_gave_up_is_told_as_failed_with_what_to_do(phase: RolloutPhase) -> None:
    in_use = Symptom(source="container", reason="Error", message="rmmod: ERROR: Module nvidia is in use by: nvidia_uvm")
    driver = a_starting_driver(symptoms=(in_use,))
    nodes = (
        a_well_node(canary_of="spring", nvidia_state="upgrade-done"),
        waiting("n2", nvidia_state="upgrade-failed", driver=driver),
    )
    seen = at(phase, *nodes, record=BAKING | PROVEN | DELEGATED, operator=NVIDIA_FORWARD)
    held = next(held for held in decide(seen, careful(), NOW).holds if held.subject == "n2")
    assert held.code is HoldCode.FAILED
    assert "NVIDIA's own upgrade controller has it at upgrade-failed, without a reason" in explain.why(held)
    assert "Module nvidia is in use" in explain.why(held)
    assert "`seatrial node retry n2`" in explain.next_step(held)
    assert "nvidia.com/gpu-driver-upgrade-state to upgrade-required" in explain.next_step(held)


def test_a_node_whose_turn_it_is_waits_for_nvidias_controller_to_see_it() -> None:
    nodes = (a_well_node(canary_of="spring", nvidia_state="upgrade-done"), waiting("n2"))
    ledger = a_ledger("n2", attempt=0)
    seen = at(RolloutPhase.WAVING, *nodes, record=PROVEN | DELEGATED, operator=NVIDIA_FORWARD, admitted=ledger)
    held = [held for held in decide(seen, careful(), NOW).holds if held.subject != "spring"]
    assert held == [hold("n2", HoldCode.MOVED_BY_NVIDIA, state="none")]


@pytest.mark.parametrize("phase", RolloutPhase)
def test_nvidias_controller_is_missed_while_it_is_to_move_the_nodes_and_not_after_the_end(phase: RolloutPhase) -> None:
    seen = at(phase, canary(), record=NAMED | DELEGATED, operator=FORWARD)
    stop = decide(seen, careful(), NOW).stop
    is_missed = phase not in {RolloutPhase.REVERTING, *ENDED}
    assert stop == (hold("spring", HoldCode.NOBODY_MOVES, owner=POLICY) if is_missed else None)


def test_a_failed_node_says_why_in_any_phase() -> None:
    failed = a_well_node("n2", NodePhase.UPGRADE_FAILED, record=FAILURE, validator=None)
    assert told(at(RolloutPhase.BAKING, canary(), failed, record=BAKING)) == {"n2": HoldCode.FAILED}


# ── pauses, and the table ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("phase", sorted(frozenset(RolloutPhase) - ENDED - {RolloutPhase.PAUSED}))
def test_a_campaign_is_paused_and_resumed_in_every_phase(phase: RolloutPhase) -> None:
    seen = at(phase, record=GATING)
    paused = course_of(seen, replace(careful(), is_paused=True)).record
    assert (paused.phase, paused.paused_in) == (RolloutPhase.PAUSED, phase)
    stays = a_snapshot(*seen.nodes.values(), campaign=paused, operator=FORWARD)
    assert course_of(stays, replace(careful(), is_paused=True)) == Course(record=paused)
    resumed = course_of(stays).record
    assert (resumed.phase, resumed.paused_in) == (phase, None)


@pytest.mark.parametrize("phase", sorted(ENDED))
def test_what_has_ended_is_not_paused(phase: RolloutPhase) -> None:
    seen = at(phase, record=NAMED)
    assert course_of(seen, replace(careful(), is_paused=True)).record == seen.rollout.campaign


def test_what_was_reverted_stays_so() -> None:
    seen = at(RolloutPhase.REVERTED, an_old_node(), record=UNDONE, operator=BACK)
    assert course_of(seen) == Course(record=seen.rollout.campaign)  # type: ignore[arg-type]


def test_an_abort_is_heard_after_the_pause() -> None:
    seen = at(RolloutPhase.PAUSED, record={"paused_in": RolloutPhase.WAVING})
    assert phase_after(seen, careful(abort="Xid 79")) is RolloutPhase.WAVING


def test_the_status_remembers_the_last_changes_of_phase() -> None:
    turns = tuple(Turn(phase=RolloutPhase.CANARY, at=float(number)) for number in range(HISTORY_MAX))
    record = course_of(at(RolloutPhase.CANARY, canary(), record={"history": turns})).record
    assert len(record.history) == HISTORY_MAX
    assert record.history[-2:] == (turns[-1], Turn(phase=RolloutPhase.GATING, at=NOW))


def test_every_phase_is_in_the_table_and_only_the_end_is_final() -> None:
    assert set(TRANSITIONS) == set(RolloutPhase)
    assert [phase for phase, following in TRANSITIONS.items() if not following] == [RolloutPhase.REVERTED]
    assert all(phase not in following for phase, following in TRANSITIONS.items())


def test_whatever_is_asked_to_go_first_is_asked_by_name() -> None:
    record = course_of(proposed(), careful(canary=Canary(nodes=("n2",)), bake=Bake(seconds=0))).record
    assert record.canaries == ("n2",)


NOT_FOR_THIS_KERNEL = Symptom(source="container", reason="Error", message="Could not resolve Linux kernel version")


@pytest.mark.parametrize("phase", [NodePhase.POD_RESTART_REQUIRED, NodePhase.UPGRADE_FAILED])
def test_on_the_way_back_no_other_driver_is_advised_since_the_old_one_is_wanted(phase: NodePhase) -> None:
    driver = a_starting_driver(revision="old", version=OLD.version, symptoms=(NOT_FOR_THIS_KERNEL,))
    old_pod = driver.uid if phase is NodePhase.UPGRADE_FAILED else "before"
    record = {"attempt": 1, "old_pod": old_pod, "trouble": "module-load", "failed_revision": "old"}
    node = an_old_node("n2", phase, is_cordon_ours=True, driver=driver, record=record)
    back = decide(reverting(an_old_node(), node, admitted=a_ledger("n2")), careful(), NOW)
    (held,) = [each for each in back.holds if each.subject == "n2"]
    step = explain.next_step(held)
    assert f"Choose no other driver: {OLD.version} is wanted here again, and n2 ran it before" in step
    assert "choose a driver" not in step
