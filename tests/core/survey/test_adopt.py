"""What becomes of a node that somebody left half-way, of every kind of half-way; and which version is meant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from seatrial.core.budget import capacity
from seatrial.core.decision import decide
from seatrial.core.model.owners import DriverClaim
from seatrial.core.model.seen.nodes import Maintenance, NodePhase, NodeSeen, RecordFault
from seatrial.core.model.seen.operators import OperatorFacts, Pool
from seatrial.core.movers.pace import ways as pace_ways
from seatrial.core.node.writing import PAUSED
from seatrial.core.survey.adoption import cordons
from seatrial.core.survey.adoption import fleet as adopt_plan
from seatrial.core.survey.adoption import traces as values
from seatrial.core.survey.adoption.fleet import Refusal, RefusalCode, Rollout
from seatrial.core.survey.adoption.node import classify
from seatrial.core.survey.adoption.traces import Adoption, Trace, Traces, Treatment, Whose, Wish
from tests import builders
from tests.builders import NEW, NOW, OLD, POLICY

TO = Wish(target=NEW.version, now=NOW)
BACK = Wish(target=OLD.version, now=NOW, is_back=True)
BY_NVIDIA, BY_US, BY_A_PERSON = (
    Traces(cordoned_by="gpu-operator"),
    Traces(cordoned_by="seatrial"),
    Traces(cordoned_by="kubectl"),
)
UNKNOWN = Traces()
PLUGIN = "nvidia.com/gpu.deploy.device-plugin"


def left(state: str = "", **facts: Any) -> NodeSeen:
    """A node that NVIDIA's controller left in a state, with the old driver."""
    return builders.a_node(nvidia_state=state, **facts)


def reloaded(state: str = "", **facts: Any) -> NodeSeen:
    """The same with the new driver, Ready and proven."""
    return builders.a_well_node(nvidia_state=state, **facts)


def noted(*found: Trace, by: str = "") -> Traces:
    return Traces(cordoned_by=by, found=frozenset(found))


def ends(adoption: Adoption) -> tuple[Treatment, NodePhase | None]:
    return adoption.fate, adoption.phase


def is_cordon_taken(adoption: Adoption) -> bool:
    return adoption.write is not None and adoption.write.record is not None and adoption.write.record.is_cordon_ours


# ── NVIDIA's controller ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        ("cordon-required", NodePhase.WAIT_FOR_JOBS_REQUIRED),
        ("wait-for-jobs-required", NodePhase.WAIT_FOR_JOBS_REQUIRED),
        ("pod-deletion-required", NodePhase.POD_DELETION_REQUIRED),
        ("drain-required", NodePhase.DRAIN_REQUIRED),
        ("pod-restart-required", NodePhase.POD_RESTART_REQUIRED),
    ],
)
def test_a_node_that_was_being_cleared_goes_on_where_it_was_left(state: str, phase: NodePhase) -> None:
    found = classify(left(state, is_cordoned=True), BY_NVIDIA, TO)
    assert ends(found) == (Treatment.FINISH, phase)
    assert is_cordon_taken(found)


@pytest.mark.parametrize(
    "state", ["", "upgrade-required", "validation-required", "uncordon-required", "upgrade-failed"]
)
def test_a_label_that_the_driver_contradicts_is_not_believed_and_the_node_begins_anew(state: str) -> None:
    found = classify(left(state, is_cordoned=True), BY_NVIDIA, TO)
    assert ends(found) == (Treatment.START, NodePhase.UPGRADE_REQUIRED)
    assert is_cordon_taken(found)


@pytest.mark.parametrize(
    "state",
    ["", "cordon-required", "pod-deletion-required", "pod-restart-required", "upgrade-failed", "pod-restart-requird"],
)
def test_a_node_that_nothing_was_taken_from_waits_for_its_turn_whatever_its_label_says(state: str) -> None:
    found = classify(left(state), UNKNOWN, TO)
    assert ends(found) == (Treatment.START, None)
    assert (found.write is None) is (state == "")
    assert state == "" or found.write == values.Write(node="n1", expect="7", drops=frozenset({Trace.STATE}))


@pytest.mark.parametrize(
    "state", ["", "upgrade-done", "pod-restart-required", "validation-required", "uncordon-required", "upgrade-failed"]
)
def test_a_node_whose_new_driver_runs_is_proven_and_uncordoned(state: str) -> None:
    found = classify(reloaded(state, is_cordoned=True), BY_NVIDIA, TO)
    assert ends(found) == (Treatment.FINISH, NodePhase.VALIDATION_REQUIRED)
    assert is_cordon_taken(found)


def test_the_label_names_whose_the_cordon_is_where_the_server_does_not() -> None:
    node = reloaded("validation-required", is_cordoned=True)
    assert cordons.whose_cordon(node, UNKNOWN, TO) is Whose.NVIDIAS
    assert cordons.whose_cordon(node, noted(Trace.INITIAL_STATE), TO) is Whose.SOMEBODYS
    assert cordons.whose_cordon(reloaded(is_cordoned=True), UNKNOWN, TO) is Whose.SOMEBODYS


def test_a_cordon_that_was_there_before_stays_and_its_note_goes() -> None:
    found = classify(left("pod-restart-required", is_cordoned=True), noted(Trace.INITIAL_STATE, by="kubectl"), TO)
    assert ends(found) == (Treatment.FINISH, NodePhase.POD_RESTART_REQUIRED)
    assert not is_cordon_taken(found)
    assert "somebody else's cordon (kubectl) stays" in found.why
    assert found.write is not None
    assert Trace.INITIAL_STATE in found.write.drops


def test_a_cordon_of_nvidias_own_is_lifted_although_it_took_it_for_an_administrators() -> None:
    node = reloaded("upgrade-done", is_cordoned=True)
    found = classify(node, noted(Trace.INITIAL_STATE, by="gpu-operator"), TO)
    assert ends(found) == (Treatment.FINISH, NodePhase.VALIDATION_REQUIRED)
    assert is_cordon_taken(found)


def test_a_cordon_is_lifted_for_whom_a_person_says_that_it_is_of_the_upgrade() -> None:
    node = reloaded(is_cordoned=True)
    assert ends(classify(node, BY_A_PERSON, TO)) == (Treatment.NOTHING, None)
    assert is_cordon_taken(classify(node, BY_A_PERSON, replace(TO, released=frozenset({"n1"}))))


def test_timers_of_nvidias_go() -> None:
    found = classify(left("validation-required"), noted(Trace.VALIDATION_TIMER, Trace.JOBS_TIMER), TO)
    assert found.write is not None
    assert found.write.drops == {Trace.STATE, Trace.VALIDATION_TIMER, Trace.JOBS_TIMER}


def test_beside_an_operator_its_label_goes_and_without_one_it_mirrors_our_record() -> None:
    node = left("pod-deletion-required", is_cordoned=True)
    mirrored, removed = classify(node, BY_NVIDIA, TO), classify(node, BY_NVIDIA, replace(TO, has_operator=True))
    assert mirrored.write is not None
    assert removed.write is not None
    assert (set(mirrored.write.drops), set(removed.write.drops)) == (set(), {Trace.STATE})


# ── the driver pod ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_driver_that_starts_is_waited_for_cordoned_or_not() -> None:
    starting = builders.a_starting_driver()
    assert ends(classify(left(driver=starting), UNKNOWN, TO)) == (Treatment.FINISH, NodePhase.POD_RESTART_REQUIRED)
    found = classify(left("pod-restart-required", driver=starting, is_cordoned=True), BY_NVIDIA, TO)
    assert ends(found) == (Treatment.FINISH, NodePhase.POD_RESTART_REQUIRED)


def test_a_driver_that_keeps_crashing_is_tried_once_more_with_a_fresh_pod() -> None:
    crashing = builders.a_starting_driver(restart_count=11)
    found = classify(left("upgrade-failed", driver=crashing, is_cordoned=True), BY_NVIDIA, TO)
    assert ends(found) == (Treatment.START, NodePhase.UPGRADE_REQUIRED)
    assert found.write is not None
    assert found.write.record is not None
    assert found.write.record.old_pod == crashing.uid


def test_a_driver_pod_that_goes_is_not_mistaken_for_its_successor() -> None:
    going = builders.a_driver(is_terminating=True)
    found = classify(left("pod-restart-required", driver=going, is_cordoned=True), BY_NVIDIA, TO)
    assert ends(found) == (Treatment.FINISH, NodePhase.POD_RESTART_REQUIRED)
    assert found.write is not None
    assert found.write.record is not None
    assert found.write.record.old_pod == going.uid


def test_a_missing_driver_pod_is_waited_for_if_somebody_took_it() -> None:
    gone = left("pod-restart-required", driver=None, wanted=None, is_cordoned=True)
    assert ends(classify(gone, BY_NVIDIA, TO)) == (Treatment.FINISH, NodePhase.POD_RESTART_REQUIRED)
    assert ends(classify(left(driver=None, wanted=None), UNKNOWN, TO)) == (Treatment.START, None)


def test_what_comes_before_the_target_is_published_is_not_waited_for_without_a_cordon() -> None:
    gone = left("pod-restart-required", driver=None, wanted=None)
    found = classify(gone, UNKNOWN, replace(TO, is_published=False))
    assert ends(found) == (Treatment.START, NodePhase.UPGRADE_REQUIRED)


def test_an_orphaned_driver_pod_is_another_driver_even_of_the_target() -> None:
    orphan = builders.a_new_driver(is_orphaned=True)
    found = classify(left("pod-restart-required", driver=orphan, wanted=None, is_cordoned=True), BY_NVIDIA, TO)
    assert ends(found) == (Treatment.FINISH, NodePhase.POD_RESTART_REQUIRED)


def test_a_node_whose_kubelet_is_silent_begins_anew_once_it_is_ready_and_keeps_its_cordon_in_mind() -> None:
    found = classify(left("pod-restart-required", is_cordoned=True, is_ready=False), BY_NVIDIA, TO)
    assert ends(found) == (Treatment.START, NodePhase.UPGRADE_REQUIRED)
    assert is_cordon_taken(found)


# ── the driver manager ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("paused", "value"), [(PAUSED, "true"), (f"custom_{PAUSED}", "custom")])
def test_labels_that_the_driver_manager_left_paused_come_back_once_a_driver_runs(paused: str, value: str) -> None:
    node = reloaded(labels={PLUGIN: paused}, paused_labels=(PLUGIN,))
    found = classify(node, UNKNOWN, TO)
    assert ends(found) == (Treatment.FINISH, NodePhase.VALIDATION_REQUIRED)
    assert found.write is not None
    assert found.write.labels == ((PLUGIN, value),)


def test_labels_that_the_driver_manager_may_need_still_come_back_with_the_driver() -> None:
    node = left(driver=builders.a_starting_driver(), labels={PLUGIN: PAUSED}, paused_labels=(PLUGIN,))
    found = classify(node, UNKNOWN, TO)
    assert found.write is not None
    assert found.write.record is not None
    assert (found.write.labels, found.write.record.paused) == ((), ((PLUGIN, "true"),))


# ── people ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_person_who_marks_a_node_skip_is_obeyed() -> None:
    for node, traces in (
        (left(is_skipped=True), UNKNOWN),
        (left("drain-required", is_skipped=True, is_cordoned=True), BY_NVIDIA),
    ):
        found = classify(node, traces, TO)
        assert (found.fate, found.write) == (Treatment.LEAVE, None)
        assert "`seatrial node unskip n1`" in found.why


def test_a_cordon_with_nobodys_name_keeps_nobody_from_being_upgraded_and_stays() -> None:
    found = classify(left(is_cordoned=True), UNKNOWN, TO)
    assert ends(found) == (Treatment.START, None)
    assert found.why.endswith("somebody else's cordon stays")


def test_an_upgrade_that_somebody_asked_for_is_no_left_over() -> None:
    found = classify(reloaded(is_requested=True), UNKNOWN, TO)
    assert (found.fate, found.write) == (Treatment.START, None)
    assert "somebody asked for its upgrade" in found.why


def test_a_node_of_two_owners_is_left() -> None:
    found = classify(left(owner_conflict="a and b both match"), UNKNOWN, TO)
    assert (found.fate, found.write) == (Treatment.LEAVE, None)


def test_somebody_elses_maintenance_is_named() -> None:
    kept = Maintenance(namespace="ops", name="m1", uid="u", resource_version="1", requestor="ofed")
    assert "NodeMaintenance ops/m1 stays" in classify(left(maintenance=kept), UNKNOWN, TO).why


# ── ourselves ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_record_of_ours_that_is_under_way_goes_on_and_is_not_written() -> None:
    node = builders.a_node(phase=NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, is_skipped=True)
    found = classify(node, BY_US, TO)
    assert (ends(found), found.write) == ((Treatment.FINISH, NodePhase.POD_DELETION_REQUIRED), None)


def test_a_record_of_ours_takes_a_cordon_over_that_it_did_not_know_to_be_the_upgrades() -> None:
    node = builders.a_node(phase=NodePhase.POD_DELETION_REQUIRED, is_cordoned=True)
    found = classify(node, BY_NVIDIA, TO)
    assert found.write is not None
    assert found.write.record == replace(node.record, is_cordon_ours=True)  # type: ignore[type-var]


def test_a_record_of_ours_whose_cordon_somebody_lifted_begins_anew() -> None:
    found = classify(builders.a_node(phase=NodePhase.POD_DELETION_REQUIRED), UNKNOWN, TO)
    assert ends(found) == (Treatment.START, NodePhase.UPGRADE_REQUIRED)
    waiting = classify(builders.a_node(phase=NodePhase.CORDON_REQUIRED), UNKNOWN, TO)
    assert ends(waiting) == (Treatment.FINISH, NodePhase.CORDON_REQUIRED)


def test_a_failed_node_of_ours_is_tried_again_as_another_attempt() -> None:
    node = builders.a_node(
        phase=NodePhase.UPGRADE_FAILED, attempt=4, is_cordon_ours=True, record={"reason": "driver-timeout"}
    )
    found = classify(node, BY_US, replace(TO, admitted={"n1": 6}))
    assert ends(found) == (Treatment.START, NodePhase.UPGRADE_REQUIRED)
    assert found.write is not None
    assert found.write.record is not None
    assert (found.write.record.attempt, found.write.record.reason) == (7, "")


def test_a_failed_node_of_ours_whose_driver_runs_after_all_is_proven() -> None:
    node = builders.a_well_node(phase=NodePhase.UPGRADE_FAILED, is_cordon_ours=True)
    assert ends(classify(node, BY_US, TO)) == (Treatment.FINISH, NodePhase.VALIDATION_REQUIRED)


def test_an_unreadable_record_is_rebuilt_from_what_is_seen() -> None:
    node = left(is_cordoned=True, fault=RecordFault.UNREADABLE)
    found = classify(node, BY_US, TO)
    assert ends(found) == (Treatment.START, NodePhase.UPGRADE_REQUIRED)
    assert is_cordon_taken(found)
    assert ends(classify(reloaded(fault=RecordFault.UNREADABLE), UNKNOWN, TO)) == (
        Treatment.FINISH,
        NodePhase.VALIDATION_REQUIRED,
    )


def test_a_record_of_a_later_release_is_left_to_it() -> None:
    found = classify(left(fault=RecordFault.UNREADABLE), Traces(is_record_newer=True), TO)
    assert (found.fate, found.write) == (Treatment.LEAVE, None)


def test_a_label_that_somebody_edited_is_written_again_as_the_record_has_it() -> None:
    node = builders.a_node(phase=NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, fault=RecordFault.EDITED)
    found = classify(node, BY_US, TO)
    assert found.write is not None
    assert found.write.record == node.record


def test_a_label_of_ours_without_a_record_gets_one() -> None:
    found = classify(left(fault=RecordFault.EDITED, fault_text="drain-required"), UNKNOWN, TO)
    assert found.write is not None
    assert found.write.record is not None
    assert found.write.record.phase is NodePhase.UPGRADE_REQUIRED


def test_marks_of_rollouts_that_are_over_go_and_those_of_others_stay() -> None:
    node = left(is_skipped=True, skipped_by="spring", canary_of="spring")
    over, alive = classify(node, UNKNOWN, TO), classify(node, UNKNOWN, replace(TO, alive=frozenset({"spring"})))
    assert over.write is not None
    assert (set(over.write.drops), alive.write) == ({Trace.SKIP, Trace.CANARY}, None)


def test_the_label_of_a_pace_that_was_killed_goes() -> None:
    found = classify(left(labels={pace_ways.WAKE_LABEL: pace_ways.WAKE_VALUE}), UNKNOWN, TO)
    assert found.write is not None
    assert found.write.drops == {Trace.WAKE}


# ── going back ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_untouched_driver_stays_when_the_upgrade_is_undone() -> None:
    published = left("pod-deletion-required", is_cordoned=True, wanted=OLD)
    assert ends(classify(published, BY_NVIDIA, BACK)) == (Treatment.UNDO, NodePhase.VALIDATION_REQUIRED)
    unpublished = left("pod-deletion-required", is_cordoned=True)
    found = classify(unpublished, BY_NVIDIA, BACK)
    assert ends(found) == (Treatment.UNDO, NodePhase.UPGRADE_REQUIRED)
    assert is_cordon_taken(found)


def test_a_record_of_ours_does_not_restart_a_driver_that_is_to_stay() -> None:
    node = builders.a_node(
        phase=NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, record={"old_pod": builders.a_driver().uid}
    )
    found = classify(node, BY_US, BACK)
    assert ends(found) == (Treatment.UNDO, NodePhase.UPGRADE_REQUIRED)
    assert found.write is not None
    assert found.write.record is not None
    assert (found.write.record.old_pod, found.write.record.attempt) == ("", 2)


def test_a_new_driver_goes_back_when_its_turn_comes() -> None:
    assert ends(classify(reloaded(), UNKNOWN, BACK)) == (Treatment.UNDO, None)
    assert ends(classify(reloaded("validation-required", is_cordoned=True), BY_NVIDIA, BACK)) == (
        Treatment.UNDO,
        NodePhase.UPGRADE_REQUIRED,
    )


def test_a_node_that_never_left_has_nothing_to_undo() -> None:
    assert ends(classify(left(), UNKNOWN, BACK)) == (Treatment.NOTHING, None)


# ── what holds for all ───────────────────────────────────────────────────────────────────────────────────────────────

STATES = ["", *(phase.value for phase in NodePhase), "pod-restart-requird"]
DRIVERS = [
    None,
    builders.a_driver(),
    builders.a_driver(is_terminating=True),
    builders.a_driver(is_orphaned=True),
    builders.a_new_driver(),
    builders.a_starting_driver(),
    builders.a_starting_driver(restart_count=12),
]


@some.composite
def half_done(draw: Any) -> tuple[NodeSeen, Traces, Wish]:
    driver = draw(some.sampled_from(DRIVERS))
    phase = draw(some.sampled_from([None, *NodePhase]))
    is_cordoned = draw(some.booleans())
    is_paused, is_back = draw(some.booleans()), draw(some.booleans())
    fault = draw(some.sampled_from([None, None, *RecordFault]))
    node = builders.a_node(
        phase=None if fault is RecordFault.UNREADABLE else phase,
        is_cordoned=is_cordoned,
        is_cordon_ours=is_cordoned and draw(some.booleans()),
        driver=driver,
        validator=builders.proving(),
        wanted=None if driver is None else draw(some.sampled_from([OLD, NEW])),
        nvidia_state=draw(some.sampled_from(STATES)),
        is_ready=draw(some.booleans()),
        is_skipped=draw(some.booleans()),
        labels={PLUGIN: PAUSED} if is_paused else {},
        paused_labels=(PLUGIN,) if is_paused else (),
        fault=fault,
    )
    traces = Traces(
        cordoned_by=draw(some.sampled_from(["", "gpu-operator", "seatrial", "kubectl"])) if is_cordoned else "",
        found=frozenset(draw(some.sets(some.sampled_from([Trace.INITIAL_STATE, Trace.JOBS_TIMER])))),
    )
    wish = replace(BACK if is_back else TO, has_operator=draw(some.booleans()), is_published=draw(some.booleans()))
    return node, traces, wish


def after(node: NodeSeen, traces: Traces, wish: Wish, write: values.Write) -> tuple[NodeSeen, Traces]:
    """The node as the write leaves it."""
    record = write.record or node.record
    state = "" if Trace.STATE in write.drops else node.facts.nvidia_state
    if write.record is not None and not wish.has_operator:
        state = write.record.phase.value
    labels = {**node.facts.labels, **dict(write.labels)}
    paused = tuple(key for key in node.facts.paused_labels if PAUSED in labels[key])
    facts = replace(node.facts, labels=labels, paused_labels=paused, nvidia_state=state, resource_version="8")
    is_mended = write.record is not None or Trace.LABEL in write.drops
    seen = replace(node, facts=facts, record=record, fault=None if is_mended else node.fault)
    return seen, replace(traces, found=traces.found - write.drops)


@given(half_done())
def test_what_was_written_is_not_written_again(world: tuple[NodeSeen, Traces, Wish]) -> None:
    node, traces, wish = world
    write = classify(node, traces, wish).write
    if write is not None:
        assert classify(*after(node, traces, wish, write), wish).write is None


@given(half_done())
def test_somebodys_cordon_is_never_taken_over(world: tuple[NodeSeen, Traces, Wish]) -> None:
    node, traces, wish = world
    found = classify(node, traces, wish)
    is_ours = found.write is not None and found.write.record is not None and found.write.record.is_cordon_ours
    assert not is_ours or cordons.whose_cordon(node, traces, wish) in (Whose.OURS, Whose.NVIDIAS)
    assert found.fate is not Treatment.LEAVE or found.write is None


@given(half_done())
def test_the_node_machine_understands_every_record_that_is_written(world: tuple[NodeSeen, Traces, Wish]) -> None:
    node, traces, wish = world
    write = classify(node, traces, wish).write
    if write is None or write.record is None:
        return
    seen, _ = after(node, traces, wish, write)
    snapshot = builders.a_snapshot(seen)
    ledger = capacity.still_admitted((), snapshot.nodes, builders.an_intent())
    decided = decide.decide(
        replace(snapshot, rollout=replace(snapshot.rollout, admitted=ledger)), builders.an_intent(), NOW
    )
    is_done = seen.facts.is_in_sync and write.record.phase is NodePhase.UPGRADE_REQUIRED
    assert decided.actions or decided.holds or is_done


# ── which version, and who stands in the way ─────────────────────────────────────────────────────────────────────────


def fleet(*nodes: NodeSeen) -> dict[str, NodeSeen]:
    return {node.name: node for node in nodes}


def refused(found: str | tuple[str, ...] | Refusal | None) -> RefusalCode | None:
    return found.code if isinstance(found, Refusal) else None


def test_the_version_is_what_the_daemon_sets_carry() -> None:
    assert adopt_plan.carried_target(fleet(builders.a_node("n1"), builders.a_well_node("n2"))) == NEW.version


def test_pools_of_several_versions_are_adopted_one_by_one() -> None:
    nodes = fleet(builders.a_node("n1", owner="a"), builders.an_old_node("n2", owner="b"))
    found = adopt_plan.carried_target(nodes)
    assert refused(found) is RefusalCode.MIXED_TARGETS
    assert isinstance(found, Refusal)
    assert "--selector nvidia.com/gpu-operator.driver.owner=b" in found.text


def test_a_version_that_nothing_tells_has_to_be_said() -> None:
    nameless = builders.a_node(wanted=replace(NEW, version=""))
    for nodes in (fleet(nameless), fleet(builders.a_node(driver=None, wanted=None))):
        assert refused(adopt_plan.carried_target(nodes)) is RefusalCode.NO_TARGET


def test_the_way_back_is_what_most_nodes_run_that_is_not_wanted_any_more() -> None:
    older = builders.a_driver("n4", version="560.35.03", revision="older")
    nodes = fleet(*builders.a_fleet(2), builders.a_well_node("n3"), builders.a_node("n4", driver=older))
    assert adopt_plan.former_target(nodes) == OLD.version


def test_an_unclear_way_back_has_to_be_said() -> None:
    older = builders.a_driver("n2", version="560.35.03", revision="older")
    for nodes in (fleet(builders.a_node("n1"), builders.a_node("n2", driver=older)), fleet(builders.a_well_node())):
        assert refused(adopt_plan.former_target(nodes)) is RefusalCode.NO_TARGET


def test_an_adoption_that_was_begun_says_the_version() -> None:
    begun = Rollout(
        name="adopt", target=OLD.version, is_campaign=False, is_begun=False, is_ended=False, is_adoption=True
    )
    mine = replace(begun, members=frozenset({"n1"}))
    assert adopt_plan.begun_target([mine]) == OLD.version
    assert adopt_plan.begun_target([begun, replace(mine, is_ended=True), replace(mine, is_adoption=False)]) == ""


def test_nothing_is_adopted_while_nvidias_controller_moves_any_of_the_nodes() -> None:
    nodes = fleet(builders.a_node("n1", owner="a"))
    on = OperatorFacts(kind=POLICY, is_auto_upgrading=True)
    assert refused(adopt_plan.why_not(nodes, on, [])) is RefusalCode.NVIDIA_MOVES
    pools = (Pool(name="a", claim=DriverClaim(name="a")), Pool(name="b", claim=DriverClaim(name="b")))
    assert refused(adopt_plan.why_not(nodes, OperatorFacts(kind=POLICY, pools=pools), [])) is RefusalCode.NVIDIA_MOVES
    off = (replace(pools[0], is_auto_upgrading=False), pools[1])
    assert adopt_plan.why_not(nodes, OperatorFacts(kind=POLICY, pools=off), []) is None


def test_nothing_is_adopted_where_no_node_is_meant() -> None:
    assert refused(adopt_plan.why_not({}, OperatorFacts(), [])) is RefusalCode.NOBODY


def test_a_campaign_that_has_begun_keeps_its_nodes_and_one_that_waits_does_not() -> None:
    nodes = fleet(builders.a_node("n1"))
    campaign = Rollout(
        name="spring", target=NEW.version, is_campaign=True, is_begun=True, is_ended=False, members=frozenset({"n1"})
    )
    assert refused(adopt_plan.why_not(nodes, OperatorFacts(), [campaign])) is RefusalCode.OTHER_ROLLOUT
    others = [
        replace(campaign, is_begun=False),
        replace(campaign, is_ended=True),
        replace(campaign, members=frozenset()),
    ]
    assert adopt_plan.why_not(nodes, OperatorFacts(), others) is None


def test_two_rollouts_do_not_share_nodes() -> None:
    nodes = fleet(builders.a_node("n1"), builders.a_node("n2"))
    same = Rollout(
        name="x", target=NEW.version, is_campaign=False, is_begun=False, is_ended=False, members=frozenset({"n1", "n2"})
    )
    assert adopt_plan.why_not_beside(NEW.version, nodes, [same, replace(same, members=frozenset())]) is None
    for other in (replace(same, target=OLD.version), replace(same, members=frozenset({"n1"}))):
        assert refused(adopt_plan.why_not_beside(NEW.version, nodes, [other])) is RefusalCode.OTHER_ROLLOUT


def test_a_version_is_published_where_it_is_not_carried_yet_and_only_into_resources() -> None:
    nodes = fleet(builders.an_old_node("n1"), builders.a_well_node("n2"))
    assert adopt_plan.unpublished(nodes, NEW.version) == ("n1",)
    assert adopt_plan.to_publish(nodes, builders.an_operator(), NEW.version) == (POLICY,)
    assert adopt_plan.to_publish(nodes, builders.an_operator(NEW.version), NEW.version) == ()
    assert refused(adopt_plan.to_publish(nodes, OperatorFacts(), NEW.version)) is RefusalCode.NOT_PUBLISHABLE


# ── in words ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_node_is_told_as_it_was_found_and_as_it_is_written() -> None:
    node = left(
        "drain-required", is_cordoned=True, labels={PLUGIN: PAUSED}, paused_labels=(PLUGIN,), canary_of="spring"
    )
    found = classify(node, noted(Trace.JOBS_TIMER, by="gpu-operator"), TO)
    assert found.found == (
        f"NVIDIA's: drain-required, cordoned by gpu-operator, driver {OLD.version} (Ready), 1 deploy labels paused, "
        "canary label of spring"
    )
    assert found.why == "NVIDIA's controller left it at drain-required: it continues from drain-required"
    assert found.write is not None
    assert values.content(found.write) == (
        "record drain-required, attempt 1, the cordon is ours",
        "remove NVIDIA's note since when it waits for jobs",
        "remove the canary label of a rollout that is over",
    )


def test_another_look_at_another_time_is_as_announced_and_another_fate_is_not() -> None:
    node = left("drain-required", is_cordoned=True)
    announced = classify(node, BY_NVIDIA, TO)
    later = replace(node, facts=replace(node.facts, resource_version="9"))
    assert announced.is_as_announced(classify(later, BY_NVIDIA, replace(TO, now=NOW + 60)))
    assert not announced.is_as_announced(classify(later, BY_A_PERSON, TO))
