"""By attrition, the ledger: who is closed alone takes no slot, and is taken within every limit or given back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import EvictPods, Uncordon, WriteNodeRecord
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget import capacity, recall
from seatrial.core.budget.losses import COUNT_LABEL
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import Campaign, CampaignRecord, Growth, Mode, RolloutPhase, Waves
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.intent import Checkpoint, Domain, Intent
from seatrial.core.model.policy import Attrition, Limits, Policy, Share
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.pods import DriverRevision, Pod
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.seen.work import WorkSeen
from seatrial.core.promises.invariants import broken
from seatrial.core.words import explain
from seatrial.sim import outside as outer
from tests.builders import NEW, NOW, a_new_driver, a_node, a_snapshot, an_intent
from tests.core.words.explained import sentence

HOUR = 3600.0
ALL = Waves(growth=Growth.FIXED, first=Share(amount=100, is_percent=True))
WAVING = CampaignRecord(
    phase=RolloutPhase.WAVING, mode=Mode.DIRECT, waving_since=NOW - HOUR, baseline=(("*", "570.124.06"),)
)


def a_job(name: str, node: str, gpus: int = 8, hours: float = 9.0, **more: Any) -> Pod:
    told = PodJob(gang=f"jobs/job/{name}", line=f"jobs/{name}", started_at=NOW - hours * HOUR, **more)
    return Pod(
        namespace="jobs", name=f"{name}-{node}", uid=f"{name}-{node}", gpu=GpuUse.RESOURCE, gpu_count=gpus, job=told
    )


def node(name: str, *pods: Pod, phase: NodePhase = NodePhase.UPGRADE_REQUIRED, **changes: Any) -> NodeSeen:
    labels = {COUNT_LABEL: "8", **changes.pop("labels", {})}
    return a_node(name, phase, pods=pods, labels=labels, **changes)


def closed(name: str, *pods: Pod, **changes: Any) -> NodeSeen:
    record = {"is_cordon_ours": True, "closed_at": NOW - 60.0} | changes.pop("record", {})
    return node(name, *pods, phase=NodePhase.WAIT_FOR_JOBS_REQUIRED, is_cordoned=True, record=record, **changes)


def ahead(*names: str) -> tuple[Admission, ...]:
    return tuple(Admission(node=name, attempt=1, is_ahead=True) for name in names)


def seen(*nodes: NodeSeen, admitted: tuple[Admission, ...] = (), record: CampaignRecord = WAVING) -> Snapshot:
    operator = outer.cluster_policy(NEW.version, is_auto_upgrading=False)
    return a_snapshot(*nodes, admitted=admitted, campaign=record, operator=operator)


def wish(idle: int | str = 16, parallel_max: int = 0, **changes: Any) -> Intent:
    way = changes.pop("attrition", Attrition())
    limits = {"unavailable_max": "100%"} | changes
    return an_intent(
        parallel_max=parallel_max, idle_gpus_max=idle, attrition=way, campaign=Campaign(waves=ALL), **limits
    )


def ledger(decision: Decision) -> dict[str, bool]:
    """Who is in the ledger as it is to be, and whether closed alone."""
    (write,) = (act for act in decision.actions if isinstance(act, WriteRolloutRecord))
    return {each.node: each.is_ahead for each in write.record.admitted}


def decided(snapshot: Snapshot, intent: Intent) -> Decision:
    """What is decided, with no promise broken by it."""
    decision = decide(snapshot, intent, NOW)
    assert not broken(snapshot, intent, decision)
    return decision


def codes(decision: Decision, name: str) -> set[HoldCode]:
    return {held.code for held in decision.holds if held.subject == name}


# ── closing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_full_nodes_are_let_in_to_be_closed_alone_whatever_the_limits_on_nodes_are() -> None:
    nodes = [node(f"n{each}", a_job(f"j{each}", f"n{each}")) for each in range(1, 5)]
    intent = wish(parallel_max=1, unavailable_max=1)
    assert ledger(decided(seen(*nodes), intent)) == dict.fromkeys(("n1", "n2", "n3", "n4"), True)


def test_who_is_closed_alone_and_at_work_takes_neither_a_slot_nor_from_the_unavailable() -> None:
    nodes = {each.name: each for each in (closed("n1", a_job("j", "n1")), closed("n2"), node("n3"))}
    budget = capacity.budget_of(nodes, ahead("n1", "n2"), wish())
    assert budget.whole.under_way == frozenset()
    assert budget.whole.unavailable == {"n2"}, "an empty one stands idle"
    assert budget.idle is not None
    assert budget.idle.of(()) == 8


def test_in_a_rack_a_closed_node_that_is_at_work_does_not_count_either() -> None:
    rack = {"rack": "r1"}
    nodes = [closed("n1", a_job("j", "n1"), labels=rack), node("n2", a_job("k", "n2"), labels=rack)]
    intent = wish(domains=(Domain(label="rack", unavailable_max=Share(amount=1)),))
    assert ledger(decided(seen(*nodes, admitted=ahead("n1")), intent)) == {"n1": True, "n2": True}


def test_no_more_empty_nodes_are_closed_than_can_reload() -> None:
    found = ledger(decided(seen(*(node(f"n{each}") for each in range(1, 4))), wish(parallel_max=1)))
    assert found == {"n1": True}


def test_a_node_that_would_cost_too_much_yet_is_told_so() -> None:
    many = [a_job(f"j{each}", "n1", 1) for each in range(8)]
    wanted = replace(seen(node("n1", *many)), work=WorkSeen(waiting=((1, 1),)))
    decision = decided(wanted, wish(attrition=Attrition(evicts_early=False)))
    assert codes(decision, "n1") == {HoldCode.LEFT_OPEN}


def test_no_node_is_closed_outside_of_windows() -> None:
    intent = wish()
    assert intent.campaign is not None
    shut = replace(intent, campaign=replace(intent.campaign, openings=((NOW + HOUR, NOW + 2 * HOUR),)))
    stopped = replace(WAVING, waving_since=0.0, waved_seconds=60.0)
    decision = decided(seen(node("n1", a_job("j", "n1")), record=stopped), shut)
    assert not any(isinstance(act, WriteRolloutRecord) and act.record.admitted for act in decision.actions)


def test_a_node_whose_jobs_are_known_to_end_soon_is_closed_where_ages_alone_would_leave_it_open() -> None:
    jobs = [a_job(f"j{each}", "n1", 1, hours=0.9) for each in range(8)]
    patient = wish(attrition=Attrition(evicts_early=False))
    unknown = replace(seen(node("n1", *jobs)), work=WorkSeen(waiting=((1, 1),)))
    assert codes(decided(unknown, patient), "n1") == {HoldCode.LEFT_OPEN}
    finished = {f"jobs/j{each}": (3300.0,) * 30 for each in range(8)}
    known = replace(unknown, work=replace(unknown.work, finished=finished))
    assert ledger(decided(known, patient)) == {"n1": True}


def test_the_last_evictions_begin_as_early_as_the_stricter_of_the_limits_on_nodes_needs() -> None:
    nodes = [closed(f"n{each}", a_job(f"j{each}", f"n{each}")) for each in range(1, 5)]
    snapshot = seen(*nodes, admitted=ahead("n1", "n2", "n3", "n4"))
    until = {
        next(held.until for held in decided(snapshot, wish(idle=32, **limits)).holds)
        for limits in ({"parallel_max": 1}, {"unavailable_max": 1})
    }
    assert until == {NOW + 23 * HOUR - 5 * 360.0 - 900.0}


# ── taking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_closed_node_is_taken_when_its_last_job_has_ended() -> None:
    assert ledger(decided(seen(closed("n1"), admitted=ahead("n1")), wish())) == {"n1": False}


def test_no_more_are_taken_than_may_reload_at_once() -> None:
    decision = decided(seen(closed("n1"), closed("n2"), admitted=ahead("n1", "n2")), wish(parallel_max=1))
    assert ledger(decision) == {"n1": False, "n2": True}
    assert HoldCode.PARALLEL_LIMIT in codes(decision, "n2")


def test_at_the_deadline_a_gang_is_taken_as_one_and_its_record_states_both_costs() -> None:
    gang = [closed(name, a_job("gang", name)) for name in ("n1", "n2")]
    late = replace(WAVING, waving_since=NOW - 24 * HOUR)
    assert ledger(decided(seen(*gang, admitted=ahead("n1", "n2"), record=late), wish())) == {"n1": False, "n2": False}
    taken = (Admission(node="n1", attempt=1), Admission(node="n2", attempt=1))
    decision = decided(seen(*gang, admitted=taken, record=late), wish())
    opened = {act.node: act.record for act in decision.actions if isinstance(act, WriteNodeRecord)}
    assert {each.phase for each in opened.values()} == {NodePhase.POD_DELETION_REQUIRED}
    told = opened["n1"].taken
    assert told is not None
    assert (told.why, told.evicting_gpu_hours > 0) == ("deadline", True)


def test_a_gang_larger_than_the_idle_budget_is_not_evicted_and_the_limit_is_told() -> None:
    gang = [closed(name, a_job("gang", name)) for name in ("n1", "n2")]
    late = replace(WAVING, waving_since=NOW - 24 * HOUR)
    decision = decided(seen(*gang, admitted=ahead("n1", "n2"), record=late), wish(idle=8))
    assert codes(decision, "n1") == {HoldCode.CLOSED_AHEAD, HoldCode.IDLE_GPU_LIMIT}
    closed_ahead, limited = sorted(
        (held for held in decision.holds if held.subject == "n1"), key=lambda held: held.code
    )
    assert closed_ahead.until is None
    assert "never evicted, since its job is on more GPUs than that" in explain.next_step(closed_ahead)
    assert "(n1, n2) have 16, and 0 are taken: none" in explain.why(limited)


@pytest.mark.parametrize("hours_left", [2.0, 6.0, 20.0])
def test_who_is_evicted_early_was_to_cost_no_more_than_to_wait_for(hours_left: float) -> None:
    shared = closed("n1", a_job("small", "n1", gpus=1, hours=200.0))
    record = replace(WAVING, waving_since=NOW - (24.0 - hours_left) * HOUR)
    assert ledger(decided(seen(shared, admitted=ahead("n1"), record=record), wish())) == {"n1": False}
    decision = decided(seen(shared, admitted=(Admission(node="n1", attempt=1),), record=record), wish())
    (told,) = (act.record.taken for act in decision.actions if isinstance(act, WriteNodeRecord))
    assert told is not None
    assert told.why == "waiting-costs-more"
    assert told.waiting_gpu_hours > told.evicting_gpu_hours > 0


def test_an_early_eviction_says_in_its_hold_what_either_way_costs() -> None:
    told = {"taken": "waiting-costs-more", "waiting": "12.5", "evicting": "3.2", "pod": "a/b", "count": 1}
    words = explain.why(hold("n1", HoldCode.EVICTING, told))
    assert "evicted early: to wait costs 12.5 GPU-hours, to evict costs 3.2 GPU-hours" in words


def test_nobody_is_taken_before_the_node_is_seen_closed_or_while_the_rollout_is_stopped() -> None:
    open_still = node("n1", phase=NodePhase.CORDON_REQUIRED)
    decision = decided(seen(open_still, admitted=ahead("n1")), wish())
    assert not any(
        isinstance(act, WriteRolloutRecord) and act.record.admitted != ahead("n1") for act in decision.actions
    )
    blind = replace(seen(closed("n1"), admitted=ahead("n1")), journal_trouble="the disk is full")
    decision = decided(blind, wish())
    assert not any(
        isinstance(act, WriteRolloutRecord) and act.record.admitted != ahead("n1") for act in decision.actions
    )


def test_a_node_that_an_admin_cordoned_and_finds_no_room_keeps_no_closed_node_waiting() -> None:
    theirs = node("n1", phase=NodePhase.WAIT_FOR_JOBS_REQUIRED, is_cordoned=True)
    decision = decided(seen(theirs, closed("n2"), admitted=ahead("n1", "n2")), wish(idle=8))
    assert ledger(decision) == {"n1": True, "n2": False}
    assert HoldCode.IDLE_GPU_LIMIT in codes(decision, "n1")


# ── Kueue ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def a_queued_pod(name: str, node_name: str, **fields: Any) -> Pod:
    """A pod of a Job whose pods do not know of each other, queued by Kueue as one Workload."""
    return replace(a_job(f"{name}-{node_name}", node_name), workload=name, **fields)


def suspending(**changes: Any) -> Intent:
    return replace(wish(**changes), checkpoint=Checkpoint(kueue=True))


def test_a_workload_that_is_suspended_is_one_job_on_all_of_its_nodes() -> None:
    nodes = [node(name, a_queued_pod("sweep", name)) for name in ("n1", "n2")]
    few = Attrition(close_ahead=0.5)
    assert ledger(decided(seen(*nodes), suspending(attrition=few))) == {}
    assert ledger(decided(seen(*nodes), wish(attrition=few))) == {"n1": True}
    shut = [closed(name, a_queued_pod("sweep", name)) for name in ("n1", "n2")]
    late = replace(WAVING, waving_since=NOW - 24 * HOUR)
    decision = decided(seen(*shut, admitted=ahead("n1", "n2"), record=late), suspending())
    assert ledger(decision) == {"n1": False, "n2": False}
    (write,) = (act for act in decision.actions if isinstance(act, WriteRolloutRecord))
    assert write.record.cost is not None
    assert write.record.cost.evictions == 1, "it starts again once"


def test_a_workload_loses_what_it_has_not_saved_when_it_is_suspended_for_nobody_asks_it() -> None:
    def thrown(intent: Intent, **fields: Any) -> float:
        shut = closed("n1", a_queued_pod("sweep", "n1", **fields))
        late = replace(WAVING, waving_since=NOW - 24 * HOUR)
        decision = decided(seen(shut, admitted=ahead("n1"), record=late), intent)
        (write,) = (act for act in decision.actions if isinstance(act, WriteRolloutRecord))
        assert write.record.cost is not None
        return write.record.cost.thrown_gpu_seconds

    unsaved = 8 * (HOUR / 2 + 600)
    assert thrown(suspending()) == thrown(wish()) == unsaved
    assert thrown(suspending(), offers_checkpoint=True) == unsaved
    assert thrown(wish(), offers_checkpoint=True) == 8 * (60 + 600)


# ── giving back ──────────────────────────────────────────────────────────────────────────────────────────────────────


def given_back(decision: Decision) -> set[str]:
    return {
        act.node
        for act in decision.actions
        if isinstance(act, Uncordon) and act.record.phase is NodePhase.UPGRADE_REQUIRED
    }


def test_a_closed_node_is_given_back_when_more_stands_idle_than_may() -> None:
    nodes = [closed("n1", a_job("old", "n1", 2, hours=40)), closed("n2", a_job("young", "n2", 2, hours=0.1))]
    decision = decided(seen(*nodes, admitted=ahead("n1", "n2")), wish(idle=8))
    assert given_back(decision) == {"n1"}
    (act,) = (act for act in decision.actions if isinstance(act, Uncordon))
    assert (act.record.attempt, act.record.is_cordon_ours, act.record.returned_at) == (2, False, NOW)


def test_the_gang_on_it_is_given_back_as_a_whole() -> None:
    nodes = [closed("n1", a_job("gang", "n1", 2)), closed("n2", a_job("gang", "n2", 2))]
    assert given_back(decided(seen(*nodes, admitted=ahead("n1", "n2")), wish(idle=8))) == {"n1", "n2"}


def test_who_was_given_back_is_left_alone_for_an_hour() -> None:
    back = node("n1", a_job("j", "n1"), record={"returned_at": NOW - 60.0})
    assert codes(decided(seen(back), wish()), "n1") == {HoldCode.GIVEN_BACK}


def test_who_was_given_back_and_stays_empty_is_closed_again_after_ten_minutes() -> None:
    intent = wish()
    young, old = (node("n1", record={"returned_at": NOW - seconds}) for seconds in (300.0, 601.0))
    assert codes(decided(seen(young), intent), "n1") == {HoldCode.GIVEN_BACK}
    assert ledger(decided(seen(old), intent)) == {"n1": True}


def test_closed_nodes_are_given_back_when_too_many_have_failed_or_one_is_skipped() -> None:
    failed = node("n9", phase=NodePhase.UPGRADE_FAILED, record={"failed_revision": NEW.hash})
    nodes = [closed("n1", a_job("j", "n1")), failed]
    assert given_back(decided(seen(*nodes, admitted=ahead("n1")), wish(failed_max=0))) == {"n1"}
    skipped = closed("n1", a_job("j", "n1"), is_skipped=True)
    assert given_back(decided(seen(skipped, admitted=ahead("n1")), wish())) == {"n1"}


def test_closed_nodes_are_given_back_without_attrition_and_on_the_way_back() -> None:
    one = closed("n1", a_job("j", "n1"))
    assert given_back(decided(seen(one, admitted=ahead("n1")), replace(wish(), attrition=None))) == {"n1"}
    reverting = replace(WAVING, phase=RolloutPhase.REVERTING)
    assert given_back(decide(seen(one, admitted=ahead("n1"), record=reverting), wish(), NOW)) == {"n1"}


def test_closed_nodes_are_given_back_while_a_third_version_is_published() -> None:
    third = DriverRevision(hash="third", version="590.44.01")
    nodes = [closed(name, wanted=third) for name in ("n1", "n2")]
    decision = decided(seen(*nodes, admitted=ahead("n1", "n2")), wish(idle=8))
    assert given_back(decision) == {"n1"}
    assert codes(decision, "n2") == {HoldCode.TARGET_NOT_PUBLISHED}


def test_a_closed_node_is_not_taken_while_a_third_version_is_published() -> None:
    third = DriverRevision(hash="third", version="590.44.01")
    late = replace(WAVING, waving_since=NOW - 30 * HOUR)
    for pods in ((), (a_job("j", "n1"),)):
        waits = closed("n1", *pods, wanted=third, labels={"clique": "c1"})
        done = a_node("n2", NodePhase.UPGRADE_DONE, driver=a_new_driver("n2"), wanted=third, labels={"clique": "c1"})
        for intent in (wish(), wish(domains=(Domain(label="clique", is_unit=True),))):
            decision = decided(seen(waits, done, admitted=ahead("n1"), record=late), intent)
            assert codes(decision, "n1") == {HoldCode.TARGET_NOT_PUBLISHED}
            assert not any(isinstance(act, WriteRolloutRecord) for act in decision.actions) or ledger(decision)["n1"]


def test_who_is_opened_by_a_person_is_handed_back_and_not_closed_again() -> None:
    opened = replace(closed("n1", a_job("j", "n1")))
    opened = replace(opened, facts=replace(opened.facts, is_cordoned=False))
    assert opened.record is not None
    opened = replace(opened, record=replace(opened.record, is_cordon_ours=False))
    decision = decided(seen(opened, admitted=ahead("n1")), wish())
    (act,) = (act for act in decision.actions if isinstance(act, WriteNodeRecord))
    assert (act.record.phase, act.record.returned_at) == (NodePhase.UPGRADE_REQUIRED, NOW)


def test_a_ledger_that_lost_a_waiting_node_has_it_again_closed_alone() -> None:
    nodes = {"n1": closed("n1", a_job("j", "n1"))}
    assert capacity.still_admitted((), nodes, wish()) == ahead("n1")


# ── limits on nodes ──────────────────────────────────────────────────────────────────────────────────────────────────

RACKED: dict[str, Any] = {"labels": {"rack": "r1"}}
ONE_UNAVAILABLE = [
    pytest.param({"unavailable_max": 1}, id="of the rollout"),
    pytest.param({"domains": (Domain(label="rack", unavailable_max=Share(amount=1)),)}, id="of a rack"),
]


@pytest.mark.parametrize("limits", ONE_UNAVAILABLE)
def test_closed_nodes_that_are_empty_beyond_a_limit_on_nodes_are_given_back(limits: dict[str, Any]) -> None:
    intent = wish(idle=32, **limits)
    names = ("n1", "n2", "n3", "n4")
    over = seen(*(closed(name, **RACKED) for name in names), admitted=ahead(*names))
    decision = decided(over, intent)
    assert given_back(decision) == {"n2", "n3", "n4"}
    assert not any(
        isinstance(act, WriteRolloutRecord) and act.record.admitted != ahead(*names) for act in decision.actions
    )
    one = seen(closed("n1", **RACKED), *(node(name, **RACKED) for name in names[1:]), admitted=ahead("n1"))
    assert ledger(decided(one, intent)) == {"n1": False}, "and no other empty node is closed"


def test_a_pool_has_its_own_limit_for_closed_nodes_that_are_empty() -> None:
    pool = Policy(limits=Limits(parallel_max=0, unavailable_max=Share(amount=1)))
    intent = wish(idle=32, pools={"blue": pool})
    nodes = {name: closed(name, owner=owner) for name, owner in (("n1", "blue"), ("n2", "blue"), ("n3", "red"))}
    budget = capacity.budget_of(nodes, ahead(*nodes), intent)
    assert recall.surplus(ahead(*nodes), budget, nodes) == {"n2"}
    assert capacity.Tally(budget, nodes).why_not(["n1"]) == capacity.Why(
        HoldCode.UNAVAILABLE_LIMIT, "NVIDIADriver blue"
    )
    assert capacity.Tally(budget, nodes).why_not(["n3"]) is None


@pytest.mark.parametrize("limits", ONE_UNAVAILABLE)
def test_no_closed_node_is_taken_while_another_node_takes_up_the_limit(limits: dict[str, Any]) -> None:
    lost = node("n9", phase=NodePhase.UPGRADE_DONE, is_ready=False, **RACKED)
    decision = decided(seen(closed("n1", **RACKED), lost, admitted=ahead("n1")), wish(**limits))
    assert given_back(decision) == {"n1"}


@pytest.mark.parametrize("limits", ONE_UNAVAILABLE)
def test_a_closed_node_at_work_stays_closed_whatever_the_limit_on_nodes_is(limits: dict[str, Any]) -> None:
    nodes = [closed(f"n{each}", a_job(f"j{each}", f"n{each}"), **RACKED) for each in range(1, 4)]
    assert given_back(decided(seen(*nodes, admitted=ahead("n1", "n2", "n3")), wish(**limits))) == set()


@pytest.mark.parametrize("limits", ONE_UNAVAILABLE)
def test_at_the_deadline_a_gang_larger_than_a_limit_on_nodes_is_taken_node_by_node(limits: dict[str, Any]) -> None:
    gang = [closed(name, a_job("gang", name), **RACKED) for name in ("n1", "n2")]
    late = replace(WAVING, waving_since=NOW - 24 * HOUR)
    decision = decided(seen(*gang, admitted=ahead("n1", "n2"), record=late), wish(**limits))
    assert ledger(decision) == {"n1": False, "n2": True}
    assert HoldCode.UNAVAILABLE_LIMIT in codes(decision, "n2")


# ── units ────────────────────────────────────────────────────────────────────────────────────────────────────────────

CLIQUED: dict[str, Any] = {"labels": {"clique": "c1"}}
UNITED = (Domain(label="clique", is_unit=True),)
CORDONING = node("n2", phase=NodePhase.CORDON_REQUIRED, **CLIQUED)


@pytest.mark.parametrize(
    ("member", "is_named"),
    [
        pytest.param(closed("n2", a_job("j", "n2"), **CLIQUED), True, id="at work"),
        pytest.param(CORDONING, True, id="not seen closed yet"),
        pytest.param(node("n2", a_job("j", "n2"), record={"returned_at": NOW - 60.0}, **CLIQUED), False, id="open"),
    ],
)
def test_a_closed_node_that_is_empty_waits_for_a_member_of_its_unit_that_is(member: NodeSeen, is_named: bool) -> None:
    admitted = ahead("n1", "n2") if is_named else ahead("n1")
    decision = decided(seen(closed("n1", **CLIQUED), member, admitted=admitted), wish(domains=UNITED))
    assert False not in ledger(decision).values()
    (told,) = (held for held in decision.holds if held.code is HoldCode.UNIT_INCOMPLETE)
    assert (told.subject, told.params) == ("n1", (("nodes", "n2"),))


def test_a_unit_whose_nodes_are_all_closed_and_empty_is_taken_at_once() -> None:
    nodes = (closed("n1", **CLIQUED), closed("n2", **CLIQUED))
    decision = decided(seen(*nodes, admitted=ahead("n1", "n2")), wish(domains=UNITED))
    assert ledger(decision) == {"n1": False, "n2": False}


def test_at_the_deadline_the_job_on_one_node_of_a_unit_is_evicted_and_the_unit_goes_at_once() -> None:
    late = replace(WAVING, waving_since=NOW - 24 * HOUR)
    nodes = (closed("n1", **CLIQUED), closed("n2", a_job("j", "n2"), **CLIQUED))
    decision = decided(seen(*nodes, admitted=ahead("n1", "n2"), record=late), wish(domains=UNITED))
    assert ledger(decision) == {"n1": False, "n2": False}


# ── who is refused ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_beside_nvidias_own_controller_it_says_that_it_cannot() -> None:
    operator: OperatorFacts = outer.cluster_policy(NEW.version, is_auto_upgrading=True)
    snapshot = a_snapshot(node("n1", a_job("j", "n1")), operator=operator, campaign=CampaignRecord())
    decision = decide(snapshot, wish(), NOW)
    assert decision.stop is not None
    assert decision.stop.code is HoldCode.ATTRITION_DELEGATED


# ── what is promised ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_closed_node_that_is_not_told_until_when_breaks_a_promise() -> None:
    snapshot = seen(closed("n1", a_job("j", "n1")), admitted=ahead("n1"))
    decision = decided(snapshot, wish())
    silent = replace(decision, holds=tuple(replace(held, until=None) for held in decision.holds))
    assert [each.promise for each in broken(snapshot, wish(), silent)] == ["until_when"]
    assert [each.promise for each in broken(snapshot, replace(wish(), attrition=None), decision)] == ["until_when"]


def test_a_closed_node_that_is_to_be_evicted_at_a_time_that_has_passed_breaks_a_promise() -> None:
    snapshot = seen(closed("n1", a_job("j", "n1")), admitted=ahead("n1"))
    decision = decided(snapshot, wish())
    late = replace(decision, holds=tuple(replace(held, until=NOW) for held in decision.holds))
    assert [each.promise for each in broken(snapshot, wish(), late)] == ["until_when"]


def test_an_eviction_from_a_node_that_is_closed_alone_breaks_a_promise() -> None:
    one = closed("n1", a_job("j", "n1"))
    snapshot = seen(one, admitted=ahead("n1"))
    act = EvictPods(node="n1", attempt=1, pods=one.facts.pods)
    promises = {each.promise for each in broken(snapshot, wish(), Decision(actions=(act,), at=NOW))}
    assert "admitted" in promises


def test_closing_more_idle_gpus_than_may_stand_idle_breaks_a_promise() -> None:
    snapshot = seen(node("n1"), node("n2"))
    record = replace(snapshot.rollout, admitted=ahead("n1", "n2"))
    found = broken(snapshot, wish(idle=8), Decision(actions=(WriteRolloutRecord(record=record),), at=NOW))
    assert "16 GPUs taken, limit 8" in {each.detail for each in found}


# ── what fault schedules found ───────────────────────────────────────────────────────────────────────────────────────


def test_a_window_that_closes_over_a_closed_node_stops_the_clock_and_breaks_no_promise() -> None:
    waits = closed("n1", a_job("j", "n1"))
    campaign = Campaign(waves=ALL, openings=((NOW - 2 * HOUR, NOW - 1.0), (NOW + 9 * HOUR, NOW + 99 * HOUR)))
    intent = replace(wish(), campaign=campaign)
    decision = decided(seen(waits, admitted=ahead("n1")), intent)
    (write,) = (act for act in decision.actions if isinstance(act, WriteRolloutRecord))
    assert write.record.campaign is not None
    assert write.record.campaign.waving_since == 0.0


def test_at_the_last_call_who_finds_no_room_beside_a_failed_node_is_told_of_the_idle_budget() -> None:
    record = {"is_cordon_ours": True, "has_lost_driver": True}
    failed = node("n1", phase=NodePhase.UPGRADE_FAILED, is_cordoned=True, record=record)
    shared = node("n2", a_job("j", "n2", 4))
    late = replace(WAVING, waving_since=NOW - 30 * HOUR)
    admitted = (Admission(node="n1", attempt=1),)
    decision = decided(seen(failed, shared, admitted=admitted, record=late), wish(idle=8, failed_max=1))
    (held,) = (held for held in decision.holds if held.subject == "n2")
    assert held.code is HoldCode.IDLE_GPU_LIMIT
    assert "8 are taken: n1" in sentence(held, NOW)
