"""A rollout that is deleted in the middle: nobody starts, nobody is left half-way, our marks go, what stays is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.action import Action
from seatrial.core.actions.of_campaigns import MarkNode, PausePool
from seatrial.core.actions.on_nodes import RestartPod, Uncordon
from seatrial.core.actions.on_rollouts import GuardRollout, ReleaseRollout
from seatrial.core.campaign import leaving
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.holds import HoldCode, Trait, having
from seatrial.core.model.campaign import Mode, PublishStep, RolloutPhase
from seatrial.core.model.intent import Intent, OnDelete, Requestor
from seatrial.core.model.seen.nodes import Maintenance, NodePhase, NodeSeen
from seatrial.core.model.seen.operators import MachinePool
from seatrial.core.model.seen.problems import UnreadableObject
from seatrial.core.model.seen.rollouts import Summary
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.invariants import broken
from tests.builders import (
    NEW,
    NOW,
    OLD,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_ledger,
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
    written,
)

RELEASE = ReleaseRollout(rollout="spring", expect="40")
MOVING = Summary(state="progressing")


def deleted(*nodes: NodeSeen, **changes: Any) -> Snapshot:
    """A rollout under way that somebody has deleted."""
    fields: dict[str, Any] = {"admitted": a_ledger("n1"), "summary": MOVING, **changes}
    return replace(a_snapshot(*nodes, **fields), is_deleting=True)


def decided(seen: Snapshot, intent: Intent | None = None) -> Decision:
    """The decision, which must keep every promise."""
    intent = intent or an_intent()
    decision = decide(seen, intent, NOW)
    assert broken(seen, intent, decision) == ()
    return decision


def acts(seen: Snapshot, intent: Intent | None = None) -> tuple[Action, ...]:
    return decided(seen, intent).actions


def written_off(seen: Snapshot, intent: Intent | None = None) -> tuple[str, ...]:
    """What is told to stay by the act that lets the rollout go."""
    (release,) = acts(seen, intent)
    assert isinstance(release, ReleaseRollout)
    return release.left


# ── before the first write ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("intent", [an_intent(), an_intent(campaign=a_campaign()), an_intent(is_paused=True)])
def test_nothing_is_written_for_a_rollout_before_it_is_guarded(intent: Intent) -> None:
    seen = replace(a_snapshot(an_old_node(), a_node("n2"), operator=an_operator()), is_guarded=False)
    decision = decided(seen, intent)
    assert decision.actions == (GuardRollout(rollout="spring", expect="40"),)
    assert decision.stop is not None
    assert decision.stop.code in (HoldCode.UNGUARDED, HoldCode.PAUSED)


def test_a_rollout_that_an_earlier_release_has_begun_is_guarded_and_goes_on() -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED)
    guard, *more = acts(replace(a_snapshot(node, admitted=a_ledger("n1")), is_guarded=False))
    assert isinstance(guard, GuardRollout)
    assert [act.subject for act in more] == ["n1"]


def test_a_finalizer_that_is_refused_is_tried_again_and_nothing_begins() -> None:
    unguarded = replace(a_snapshot(a_node(), rebuffs={"rollout/spring/guard": a_rebuff()}), is_guarded=False)
    decision = decided(unguarded)
    assert [act.subject for act in decision.actions] == ["rollout/spring"], "its status says why"
    assert decision.stop is not None
    assert dict(decision.stop.params)["why"] == "denied"
    assert acts(replace(unguarded, busy={"rollout/spring/guard": NOW + 5, "rollout/spring": None}, rebuffs={})) == ()


def test_where_the_finalizer_is_refused_what_was_begun_before_goes_on() -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED)
    seen = a_snapshot(node, admitted=a_ledger("n1"), rebuffs={"rollout/spring/guard": a_rebuff()})
    assert [act.subject for act in acts(replace(seen, is_guarded=False))] == ["rollout/spring", "n1"]


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("phase", "opens"),
    [
        (NodePhase.CORDON_REQUIRED, NodePhase.UPGRADE_DONE),
        (NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE),
        (NodePhase.WAIT_FOR_JOBS_REQUIRED, NodePhase.UNCORDON_REQUIRED),
        (NodePhase.POD_DELETION_REQUIRED, NodePhase.UNCORDON_REQUIRED),
        (NodePhase.DRAIN_REQUIRED, NodePhase.UNCORDON_REQUIRED),
        (NodePhase.NODE_MAINTENANCE_REQUIRED, NodePhase.UNCORDON_REQUIRED),
        (NodePhase.POD_RESTART_REQUIRED, NodePhase.WAIT_FOR_JOBS_REQUIRED),
    ],
)
def test_a_node_whose_driver_is_untouched_is_let_go(phase: NodePhase, opens: NodePhase) -> None:
    is_cordoned = phase not in (NodePhase.CORDON_REQUIRED, NodePhase.UPGRADE_REQUIRED)
    node = a_node(phase=phase, is_cordon_ours=is_cordoned)
    (act,) = (act for act in acts(deleted(node)) if act.subject == "n1")
    assert act == written(node, opens, old_pod=node.record.old_pod if node.record else "")


def test_it_is_opened_again_with_the_driver_it_has() -> None:
    node = a_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True)
    (act,) = (act for act in acts(deleted(node)) if act.subject == "n1")
    assert isinstance(act, Uncordon)
    assert act.record.phase is NodePhase.UPGRADE_DONE


def test_it_is_not_opened_while_its_driver_pod_cannot_be_read() -> None:
    pod = UnreadableObject(kind="pods", namespace="gpu-operator", name="driver-x", why="ValueError: a date")
    node = a_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, unreadable=(pod,))
    decision = decided(deleted(node))
    assert [act for act in decision.actions if act.subject == "n1"] == []
    assert [held.code for held in decision.holds if held.subject == "n1"] == [HoldCode.UNREADABLE_OBJECT]


def test_it_is_not_opened_while_what_it_runs_is_not_proven() -> None:
    node = a_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, validator=None)
    decision = decided(deleted(node))
    assert [act for act in decision.actions if act.subject == "n1"] == []
    assert {(held.subject, held.code) for held in decision.holds} == {
        ("n1", HoldCode.VALIDATOR_MISSING),
        ("spring", HoldCode.LEAVING),
    }


@pytest.mark.parametrize(
    ("node", "opens"),
    [
        (
            a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, driver=a_new_driver()),
            "validation-required",
        ),
        (a_well_node(phase=NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True), "uncordon-required"),
        (a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True), "upgrade-done"),
    ],
    ids=["restarted", "validated", "proven"],
)
def test_a_node_that_has_lost_its_old_driver_comes_to_its_end_first(node: NodeSeen, opens: str) -> None:
    (act,) = (act for act in acts(deleted(node)) if act.subject == "n1")
    assert act.id.split("/")[1] == opens


def test_a_node_that_waits_for_its_new_driver_is_waited_for() -> None:
    node = a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, driver=a_starting_driver())
    decision = decided(deleted(node))
    assert not any(isinstance(act, ReleaseRollout) for act in decision.actions)
    (told,) = (held for held in decision.holds if held.subject == "spring")
    assert dict(told.params)["why"] == "waiting for nodes to be released or to finish: n1"


def test_nobody_starts_any_more_and_no_driver_is_taken() -> None:
    about_to = a_node("n1", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True)
    found = acts(deleted(about_to, a_node("n2"), a_node("n3", NodePhase.UPGRADE_REQUIRED)))
    assert not any(isinstance(act, RestartPod) for act in found)
    assert [act.subject for act in found if act.subject.startswith("n")] == ["n1", "n3"]


def test_a_node_that_failed_stays_cordoned_and_is_told() -> None:
    failed = a_node(phase=NodePhase.UPGRADE_FAILED, is_cordon_ours=True, record={"failed_revision": NEW.hash})
    again = a_node("n2", NodePhase.UPGRADE_REQUIRED, is_cordon_ours=True, record={"failures": 1})
    told = written_off(deleted(failed, again))
    assert told == ("nodes stay cordoned, since their driver is not validated: n1, n2",)


def test_a_dead_node_that_a_person_left_out_is_not_waited_for() -> None:
    dead = a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, is_ready=False, driver=None)
    assert not any(isinstance(act, ReleaseRollout) for act in acts(deleted(dead)))
    skipped = replace(dead, facts=replace(dead.facts, is_skipped=True))
    assert written_off(deleted(skipped)) == ("nodes stay cordoned, since their driver is not validated: n1",)


def test_a_node_that_another_rollout_moves_is_left_to_it() -> None:
    theirs = a_node(phase=NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, attempt=7)
    assert acts(deleted(theirs, summary=Summary(state="done"))) == (RELEASE,)


def test_a_maintenance_that_we_asked_for_is_given_back() -> None:
    asked = Maintenance(namespace="default", name="x-n1", uid="m1", resource_version="3", requestor="us")
    intent = an_intent(requestor=Requestor(id="us"))
    (act,) = (act for act in acts(deleted(a_done_node(maintenance=asked)), intent) if act.subject == "n1")
    assert act.id == "n1/release-maintenance/1/m1@3"


# ── the rollout ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_plain_rollout_goes_when_nobody_is_under_way_and_says_who_runs_what() -> None:
    seen = deleted(a_done_node("n1"), an_old_node("n2", NodePhase.UPGRADE_DONE), admitted=())
    assert written_off(seen) == (f"1 of 2 nodes run {NEW.version}: n1",)


@pytest.mark.parametrize("changes", [{"summary": Summary(state="done")}, {"summary": None}], ids=["ended", "not begun"])
def test_a_rollout_that_is_not_under_way_goes_at_once(changes: dict[str, Any]) -> None:
    assert acts(deleted(a_done_node("n1"), admitted=(), **changes)) == (RELEASE,)


def test_it_does_not_go_while_a_write_of_ours_is_not_seen() -> None:
    seen = deleted(a_done_node("n1"), admitted=(), busy={"n1": NOW + 5})
    assert not any(isinstance(act, ReleaseRollout) for act in acts(seen))


def test_nothing_is_done_to_a_rollout_that_nothing_of_ours_holds() -> None:
    assert acts(replace(deleted(a_done_node("n1"), admitted=()), is_guarded=False)) == ()


def test_a_pause_does_not_keep_a_deleted_rollout() -> None:
    assert acts(deleted(a_done_node("n1"), admitted=(), summary=None), an_intent(is_paused=True)) == (RELEASE,)


@pytest.mark.parametrize("wanted", [OLD, NEW])
def test_a_version_that_nobody_published_does_not_keep_it_either(wanted: Any) -> None:
    node = a_node(phase=NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, wanted=wanted)
    (act,) = (act for act in acts(deleted(node)) if act.subject == "n1")
    assert act.id.split("/")[1] == "uncordon-required"


# ── campaigns ────────────────────────────────────────────────────────────────────────────────────────────────────────

LEAVE = an_intent(campaign=a_campaign())
REVERT = an_intent(campaign=a_campaign(), on_delete=OnDelete.REVERT)


def a_deleted_campaign(phase: RolloutPhase, *nodes: NodeSeen, **changes: Any) -> Snapshot:
    record = a_campaign_record(phase, **changes.pop("record", {}))
    changes = {"admitted": (), "operator": an_operator(NEW.version)} | changes
    return deleted(*(nodes or (a_done_node(canary_of="spring"), a_node("n2"))), campaign=record, **changes)


def test_what_keeps_a_rollout_from_beginning_does_not_keep_it_from_leaving() -> None:
    """A new reason to stop has to be on one side: what remains is who moves the nodes, and whether we see and tell."""
    assert set(having(Trait.STOPS)) - leaving.NO_MATTER == {
        HoldCode.PAUSED,
        HoldCode.MODE_CONTRADICTION,
        HoldCode.SANDBOXED,
        HoldCode.STALE_VIEW,
        HoldCode.UNREADABLE_OBJECT,
        HoldCode.JOURNAL_UNWRITABLE,
    }


def test_a_campaign_that_leaves_takes_its_marks_off_and_tells_what_stays() -> None:
    seen = a_deleted_campaign(RolloutPhase.WAVING)
    assert MarkNode(node="n1", rollout="spring", expect="7", canary=False) in acts(seen, LEAVE)
    steps = ((PublishStep.CANARY, "c1"),)
    clean = a_deleted_campaign(RolloutPhase.WAVING, a_done_node(), a_node("n2"), source=a_source(steps=steps))
    assert written_off(clean, LEAVE) == (
        f"{POLICY} has {NEW.version}, and had {OLD.version} before",
        "the commits c1 stay in the repository",
        f"1 of 2 nodes run {NEW.version}: n1",
    )


@pytest.mark.parametrize(
    ("phase", "intent", "is_back"),
    [
        (RolloutPhase.WAVING, REVERT, True),
        (RolloutPhase.CANARY, REVERT, True),
        (RolloutPhase.WAVING, LEAVE, False),
        (RolloutPhase.WAVING, an_intent(campaign=a_campaign(abort="Xid 79")), True),
        (RolloutPhase.REVERTING, LEAVE, True),
        (RolloutPhase.DONE, REVERT, False),
        (RolloutPhase.PROPOSED, REVERT, False),
        (RolloutPhase.REVERTED, REVERT, False),
    ],
)
def test_a_campaign_is_led_back_where_its_spec_says_so_or_it_is_on_its_way(
    phase: RolloutPhase, intent: Intent, is_back: bool
) -> None:
    assert leaving.goes_back(a_deleted_campaign(phase), intent) is is_back


def test_a_campaign_that_is_led_back_walks_the_way_of_an_abort_and_then_goes() -> None:
    record = decided(a_deleted_campaign(RolloutPhase.WAVING), REVERT).actions[0].record  # type: ignore[union-attr]
    assert (record.campaign.phase, record.campaign.why) == (RolloutPhase.REVERTING, leaving.WHY)  # type: ignore[union-attr]
    undone = a_deleted_campaign(
        RolloutPhase.REVERTED, an_old_node(phase=NodePhase.UPGRADE_DONE), operator=an_operator(OLD.version)
    )
    assert acts(undone, REVERT) == (RELEASE,)


def test_a_pause_ends_before_a_campaign_is_led_back() -> None:
    paused = a_deleted_campaign(RolloutPhase.PAUSED, record={"paused_in": RolloutPhase.BAKING})
    record = decided(paused, replace(REVERT, is_paused=True)).actions[0].record  # type: ignore[union-attr]
    assert record.campaign.phase is RolloutPhase.BAKING  # type: ignore[union-attr]


def test_a_node_that_nvidias_controller_would_move_stays_kept_out_as_if_a_person_had_done_it() -> None:
    """Taken off, the label would send the whole fleet to a version that nobody has proved."""
    out: dict[str, Any] = {"is_skipped": True, "skipped_by": "spring"}
    nodes = (
        a_done_node(canary_of="spring", nvidia_state="upgrade-done"),
        a_node("n2", nvidia_state="upgrade-required", **out),
        an_old_node("n3", nvidia_state="upgrade-done", **out),
    )
    nvidia = an_operator(NEW.version, is_auto_upgrading=True)
    seen = a_deleted_campaign(RolloutPhase.BAKING, *nodes, record={"mode": Mode.DELEGATED}, operator=nvidia)
    assert [act for act in acts(seen, LEAVE) if isinstance(act, MarkNode)] == [
        MarkNode(node="n1", rollout="spring", expect="7", canary=False),
        MarkNode(node="n2", rollout="spring", expect="7", is_handed_over=True),
        MarkNode(node="n3", rollout="spring", expect="7", skip=False),
    ]


def test_a_node_that_was_let_in_and_not_started_is_closed_out_for_good() -> None:
    nvidia = an_operator(NEW.version, is_auto_upgrading=True)
    at_work = a_node("n1", nvidia_state="pod-restart-required")
    free = a_node("n2", nvidia_state="upgrade-required")
    story: dict[str, Any] = {"record": {"mode": Mode.DELEGATED}, "operator": nvidia}
    first = acts(a_deleted_campaign(RolloutPhase.WAVING, at_work, free, **story), LEAVE)
    marked = [act for act in first if isinstance(act, MarkNode)]
    assert marked == [MarkNode(node="n2", rollout="spring", expect="7", skip=True)]
    closed = a_node("n2", nvidia_state="upgrade-required", is_skipped=True, skipped_by="spring")
    then = acts(a_deleted_campaign(RolloutPhase.WAVING, at_work, closed, **story), LEAVE)
    assert MarkNode(node="n2", rollout="spring", expect="7", is_handed_over=True) in then
    given = a_node("n2", nvidia_state="upgrade-required", is_skipped=True)
    last = written_off(a_deleted_campaign(RolloutPhase.WAVING, at_work, given, **story), LEAVE)
    assert last[-1] == "nodes keep the skip label, otherwise NVIDIA's controller may move them: n2"


def test_a_pool_whose_change_nobody_has_proved_stays_paused_and_the_canarys_own_goes() -> None:
    still = MachinePool(name="worker", is_paused=True, paused_by="spring", resource_version="3")
    own = MachinePool(name="gpu-canary", is_ours=True, resource_version="4")
    first = a_deleted_campaign(RolloutPhase.BAKING, an_old_node(), machine_pools=(own, still))
    assert [act.id for act in acts(first, LEAVE) if act.subject != "rollout/spring"] == [
        "spring/remove-pool/gpu-canary@4"
    ]
    then = a_deleted_campaign(RolloutPhase.BAKING, an_old_node(), machine_pools=(still,), operator=an_operator())
    assert written_off(then, LEAVE) == ("pools stay paused, since what they would get is unproven: worker",)
    proved = a_deleted_campaign(RolloutPhase.WAVING, an_old_node(), machine_pools=(still,))
    assert not any(isinstance(act, PausePool) for act in acts(first, LEAVE))
    assert leaving.course_of(proved, LEAVE, NOW, None).acts != ()


# ── uninstalled ──────────────────────────────────────────────────────────────────────────────────────────────────────


def uninstalled(seen: Snapshot) -> Snapshot:
    """The same, where seatrial goes and nobody has deleted the rollout."""
    return replace(seen, is_deleting=False, is_uninstalling=True)


@pytest.mark.parametrize("phase", NodePhase)
@pytest.mark.parametrize("build", [a_node, a_well_node])
def test_a_rollout_is_left_by_an_uninstall_as_by_its_deletion(build: Any, phase: NodePhase) -> None:
    seen = deleted(build(phase=phase, is_cordoned=True), a_node("n2"))
    assert acts(uninstalled(seen)) == acts(seen)


def test_an_uninstall_undoes_nothing_although_a_deletion_would() -> None:
    intent = an_intent(campaign=a_campaign(), on_delete=OnDelete.REVERT)
    record = a_campaign_record(phase=RolloutPhase.WAVING)
    seen = deleted(an_old_node(), campaign=record, operator=an_operator(), source=a_source())
    assert leaving.goes_back(seen, intent)
    assert not leaving.goes_back(uninstalled(seen), intent)


def test_an_uninstall_has_left_a_rollout_once_our_finalizer_is_off_and_nothing_is_under_way() -> None:
    seen = uninstalled(deleted(a_done_node(), admitted=()))
    assert not has_left(seen), "our finalizer is on it"
    assert has_left(replace(seen, is_guarded=False))
    assert not has_left(replace(seen, is_guarded=False, busy={"n1": None})), "an answer is waited for"
    assert not has_left(replace(uninstalled(deleted(a_node(phase=NodePhase.CORDON_REQUIRED))), is_guarded=False))


def has_left(seen: Snapshot) -> bool:
    decision = decided(seen)
    return leaving.has_left(seen, decision.actions, decision.holds, decision.stop)
