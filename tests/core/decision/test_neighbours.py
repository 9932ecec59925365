"""Marks for neighbours: set with the write that begins a visit, gone with the one that ends it, and never another's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import Cordon, Uncordon, WriteNodeRecord
from seatrial.core.actions.on_rollouts import ReleaseRollout
from seatrial.core.decision import neighbours
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.decision.remembered import Remembered
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent, Requestor
from seatrial.core.model.seen import marks
from seatrial.core.model.seen.marks import BY_KEY, DAY_SECONDS, NEIGHBOURS, Mark, Place
from seatrial.core.model.seen.nodes import Maintenance, NodePhase, NodeSeen, RecordFault
from seatrial.core.model.seen.rollouts import Summary
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.invariants import broken
from tests.builders import (
    NOW,
    a_campaign,
    a_campaign_record,
    a_decision,
    a_ledger,
    a_new_driver,
    a_node,
    a_rebuff,
    a_snapshot,
    a_starting_driver,
    a_well_node,
    an_intent,
    an_operator,
)

AUTOSCALER, KARPENTER, NVSENTINEL = (each.mark for each in NEIGHBOURS)
THERE = {"karpenter.sh/registered": "true", "nvsentinel.dgxc.nvidia.com/driver.installed": "true"}
"""Labels of a node on which every neighbour is at work."""
ALL = tuple((each.mark.key, each.mark.value) for each in NEIGHBOURS)
OURS: dict[str, Any] = {"marks": tuple(sorted((key, 900.0) for key, _ in ALL)), "marked_by": "spring"}
"""What a record says of marks that this rollout set."""


def decided(seen: Snapshot, intent: Intent | None = None, now: Instant = NOW) -> Decision:
    """The decision, which must keep every promise."""
    intent = intent or an_intent(unavailable_max=1)
    decision = decide(seen, intent, now)
    assert broken(seen, intent, decision) == ()
    return decision


def write_of(*nodes: NodeSeen, now: Instant = NOW, **changes: Any) -> WriteNodeRecord:
    """The one write to a node that is decided."""
    seen = a_snapshot(*nodes, **({"admitted": a_ledger("n1")} | changes))
    (act,) = (each for each in decided(seen, now=now).actions if isinstance(each, WriteNodeRecord))
    return act


def writes(decision: Decision) -> list[WriteNodeRecord]:
    return [each for each in decision.actions if isinstance(each, WriteNodeRecord)]


# ── the visit begins ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_write_that_cordons_a_node_keeps_the_autoscalers_off_it_and_says_whose_marks_they_are() -> None:
    act = write_of(a_node(phase=NodePhase.CORDON_REQUIRED, labels=THERE))
    assert isinstance(act, Cordon)
    assert act.marks == (AUTOSCALER, KARPENTER)
    assert act.record.marks == ((AUTOSCALER.key, NOW), (KARPENTER.key, NOW))
    assert act.record.marked_by == "spring"


def test_nvsentinel_is_kept_off_from_the_write_before_its_gpus_go() -> None:
    kept = ((AUTOSCALER.key, 900.0), (KARPENTER.key, 900.0))
    act = write_of(
        a_node(
            phase=NodePhase.POD_DELETION_REQUIRED,
            is_cordon_ours=True,
            labels=THERE,
            marks=ALL[:2],
            record={"marks": kept, "marked_by": "spring"},
        )
    )
    assert act.record.phase is NodePhase.POD_RESTART_REQUIRED
    assert act.marks == (NVSENTINEL,)
    assert act.record.marks == tuple(sorted((*kept, (NVSENTINEL.key, NOW))))


def test_where_nothing_shows_karpenter_or_nvsentinel_only_the_autoscaler_is_kept_off() -> None:
    assert write_of(a_node(phase=NodePhase.CORDON_REQUIRED)).marks == (AUTOSCALER,)
    act = write_of(a_node(phase=NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True))
    assert (act.record.phase, act.marks) == (NodePhase.POD_RESTART_REQUIRED, ())


def test_a_node_that_somebody_else_cordoned_is_marked_all_the_same() -> None:
    act = write_of(a_node(phase=NodePhase.CORDON_REQUIRED, is_cordoned=True))
    assert type(act) is WriteNodeRecord
    assert act.marks == (AUTOSCALER,)


@pytest.mark.parametrize("value", ["true", "false"])
def test_what_somebody_else_put_under_a_key_stays_and_is_not_called_ours(value: str) -> None:
    theirs = ((AUTOSCALER.key, value),)
    act = write_of(a_node(phase=NodePhase.CORDON_REQUIRED, marks=theirs))
    assert (act.marks, act.record.marks, act.record.marked_by) == ((), (), "")
    done = write_of(a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, marks=theirs))
    assert (type(done), done.lifted) == (Uncordon, ())


def test_nobody_is_marked_before_something_is_taken_from_the_node() -> None:
    act = write_of(a_node(phase=NodePhase.UPGRADE_REQUIRED))
    assert act.record.phase is NodePhase.CORDON_REQUIRED
    assert act.marks == ()


def test_where_a_maintenance_operator_empties_the_node_the_visit_begins_when_it_is_empty() -> None:
    requestor = Requestor(id="seatrial.dev")
    ready = Maintenance(
        namespace=requestor.namespace,
        name=f"{requestor.prefix}-n1",
        uid="m1",
        resource_version="1",
        requestor=requestor.id,
        is_ready=True,
    )
    node = a_node(phase=NodePhase.NODE_MAINTENANCE_REQUIRED, is_cordoned=True, maintenance=ready)
    seen = a_snapshot(node, admitted=a_ledger("n1"))
    (act,) = writes(decided(seen, an_intent(unavailable_max=1, requestor=requestor)))
    assert act.record.phase is NodePhase.POD_RESTART_REQUIRED
    assert act.marks == (AUTOSCALER,)


# ── and ends ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_write_that_gives_a_node_back_takes_every_mark_of_ours_off() -> None:
    node = a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, labels=THERE, marks=ALL, record=OURS)
    act = write_of(node)
    assert isinstance(act, Uncordon)
    assert {mark.key for mark in act.lifted} == dict(ALL).keys()
    assert (act.record.marks, act.record.marked_by) == ((), "")


def test_a_mark_that_somebody_has_changed_or_taken_away_is_theirs_by_then() -> None:
    found = ((AUTOSCALER.key, "false"), (NVSENTINEL.key, "false"))
    node = a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, marks=found, record=OURS)
    assert write_of(node).lifted == (NVSENTINEL,)


def failed(**changes: Any) -> NodeSeen:
    fields: dict[str, Any] = {
        "driver": a_starting_driver(),
        "is_cordon_ours": True,
        "marks": ALL,
        "labels": THERE,
        "record": OURS | {"failed_revision": "new", "has_lost_driver": True, "entered_at": 900.0},
    }
    return a_node(**({"phase": NodePhase.UPGRADE_FAILED} | fields | changes))


def test_a_failed_node_keeps_them_while_it_waits_for_a_retry() -> None:
    decision = decided(a_snapshot(failed()))
    assert writes(decision) == []
    retried = write_of(failed(is_retry_asked=True))
    assert retried.record.phase is NodePhase.UPGRADE_REQUIRED
    assert (retried.record.marks, retried.lifted) == (OURS["marks"], ())


def test_another_attempt_begins_the_time_of_its_marks_anew() -> None:
    act = write_of(failed(phase=NodePhase.CORDON_REQUIRED))
    assert dict(act.record.marks) == {AUTOSCALER.key: NOW, KARPENTER.key: NOW, NVSENTINEL.key: 900.0}
    assert act.marks == ()


def test_nvsentinel_is_kept_off_a_failed_node_for_a_day_at_most_and_the_autoscalers_for_as_long_as_it_waits() -> None:
    late = 900.0 + DAY_SECONDS
    assert writes(decided(a_snapshot(failed()), now=late - 1)) == []
    (act,) = writes(decided(a_snapshot(failed()), now=late))
    assert (act.record.phase, act.lifted) == (NodePhase.UPGRADE_FAILED, (NVSENTINEL,))
    assert dict(act.record.marks).keys() == {AUTOSCALER.key, KARPENTER.key}
    assert act.record.marked_by == "spring"


def test_the_end_of_a_mark_is_not_forgotten_by_who_remembers_steps() -> None:
    node, remembered = failed(), Remembered()
    seen, intent, late = a_snapshot(node), an_intent(), 900.0 + DAY_SECONDS
    decide(seen, intent, NOW, remembered)
    assert decide(seen, intent, late, remembered).actions == decide(seen, intent, late).actions != ()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"is_skipped": True}, id="marked skip"),
        pytest.param({"is_cordoned": False, "record": OURS | {"failed_revision": "new"}}, id="opened"),
    ],
)
def test_a_failed_node_that_a_person_takes_back_is_given_to_its_neighbours(changes: dict[str, Any]) -> None:
    seen = a_snapshot(failed(**changes))
    acts = writes(decided(seen))
    if not acts[0].lifted:  # that the cordon is not ours any more is written down first
        seen = a_snapshot(replace(seen.nodes["n1"], record=acts[0].record))
        acts = writes(decided(seen))
    assert {mark.key for mark in acts[0].lifted} == dict(ALL).keys()


def test_once_a_rollout_is_rolled_back_nobody_it_gave_up_keeps_a_mark() -> None:
    down = failed(is_ready=False, record=OURS | {"failed_revision": "new"})
    campaign = a_campaign_record(RolloutPhase.REVERTED)
    seen = a_snapshot(down, campaign=campaign, operator=an_operator())
    (act,) = writes(decided(seen, an_intent(campaign=a_campaign(abort="it is slow"))))
    assert {mark.key for mark in act.lifted} == dict(ALL).keys()
    theirs = replace(down, record=replace(down.record, marked_by="autumn")) if down.record else down
    seen = a_snapshot(theirs, campaign=campaign, operator=an_operator())
    assert writes(decided(seen, an_intent(campaign=a_campaign(abort="it is slow")))) == [], "another rollout's stay"


def test_a_rollout_that_is_deleted_takes_its_marks_off_a_node_that_stays_closed() -> None:
    seen = replace(a_snapshot(failed(), summary=Summary(state="progressing")), is_deleting=True)
    decision = decided(seen)
    (act,) = writes(decision)
    assert {mark.key for mark in act.lifted} == dict(ALL).keys()
    assert act.record.phase is NodePhase.UPGRADE_FAILED
    assert not any(isinstance(each, ReleaseRollout) for each in decision.actions), "not before they are off"


def test_marks_left_on_a_node_that_is_on_record_as_done_go() -> None:
    done = a_well_node(phase=NodePhase.UPGRADE_DONE, marks=ALL, record=OURS)
    assert {mark.key for mark in write_of(done).lifted} == dict(ALL).keys()


# ── when nothing may be written ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"busy": {"n1": NOW + 5}}, id="an answer is awaited"),
        pytest.param({"rebuffs": {"n1": a_rebuff(at=900.0 + DAY_SECONDS)}}, id="a write was refused just now"),
    ],
)
def test_an_end_waits_like_every_write(changes: dict[str, Any]) -> None:
    assert writes(decided(a_snapshot(failed(), **changes), now=900.0 + DAY_SECONDS)) == []


def test_a_refused_end_is_tried_again() -> None:
    late, remembered = 900.0 + DAY_SECONDS, Remembered()
    seen, intent = a_snapshot(failed(), rebuffs={"n1": a_rebuff(at=late)}), an_intent()
    assert writes(decide(seen, intent, late, remembered)) == []
    assert len(writes(decide(seen, intent, late + 6, remembered))) == 1


def test_a_record_that_somebody_edited_is_not_written_over() -> None:
    node = replace(failed(), fault=RecordFault.EDITED, fault_text="done")
    assert writes(decided(a_snapshot(node), now=900.0 + DAY_SECONDS)) == []


def test_while_a_rollout_is_paused_no_mark_is_taken_off() -> None:
    seen = a_snapshot(failed())
    assert writes(decided(seen, an_intent(is_paused=True), now=900.0 + DAY_SECONDS)) == []


# ── promises ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def breaches(node: NodeSeen, act: WriteNodeRecord) -> list[str]:
    seen = a_snapshot(node, admitted=a_ledger("n1"))
    return [each.detail for each in broken(seen, an_intent(), a_decision(act, at=NOW)) if each.promise == "hands_off"]


def test_it_is_a_breach_to_take_off_what_is_not_on_record_to_set_what_is_there_and_to_forget_what_is_ours() -> None:
    bare = failed(record={"failed_revision": "new"})
    assert bare.record is not None
    write = WriteNodeRecord(node="n1", record=bare.record, expect="7")
    assert breaches(bare, replace(write, lifted=(AUTOSCALER,))) == [
        f"{AUTOSCALER.key} is taken off and is somebody else's"
    ]
    noted = replace(write, marks=(AUTOSCALER,), record=replace(bare.record, marks=((AUTOSCALER.key, NOW),)))
    assert breaches(bare, noted) == [f"{AUTOSCALER.key} is set that was there, or is not on record"]
    assert len(breaches(failed(), write)) == len(NEIGHBOURS)
    assert breaches(failed(), neighbours.without(failed())) == []


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_key_is_there_once_and_ours_alone_are_told_with_owner_and_end() -> None:
    assert len(BY_KEY) == len(NEIGHBOURS)
    node = failed(marks=(*ALL[1:], (AUTOSCALER.key, "false")))
    told = {each.neighbour: each for each in marks.told(node.facts, node.record)}
    assert (told["Karpenter"].by, told["Karpenter"].until) == ("spring", None)
    assert (told["NVSentinel"].by, told["NVSentinel"].until) == ("spring", 900.0 + DAY_SECONDS)
    assert (told["Cluster Autoscaler"].by, told["Cluster Autoscaler"].value) == ("", "false")


def test_what_a_node_carries_under_the_keys_is_found_where_each_of_them_stands() -> None:
    value = {mark.key: "x" for mark in (AUTOSCALER, KARPENTER, NVSENTINEL)}
    assert marks.found(value, {}) == ((NVSENTINEL.key, "x"),)
    assert marks.found({}, value) == ((AUTOSCALER.key, "x"), (KARPENTER.key, "x"))
    assert Mark(place=Place.LABEL, key="k8saas.nvidia.com/ManagedByNVSentinel", value="false") == NVSENTINEL


def test_a_driver_that_comes_back_keeps_nobody_off_for_longer() -> None:
    node = failed(driver=a_new_driver(), validator=a_well_node().facts.validator)
    act = write_of(node)
    assert (act.record.phase, len(act.lifted)) == (NodePhase.UPGRADE_DONE, len(NEIGHBOURS))
