"""The whole decision: what stops a rollout, who is let in, what is written, and when to ask again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import EvictPods, ReleaseMaintenance, Uncordon, WriteNodeRecord
from seatrial.core.actions.on_rollouts import WriteRolloutRecord, rollout_subject
from seatrial.core.decision.decide import ACTIONS_MAX, Decision, decide
from seatrial.core.decision.stops import why_stopped
from seatrial.core.decision.summary import SUMMARY_SECONDS, summarise, waiting_of, waits_of
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.intent import Domain, Intent, Order, Requestor
from seatrial.core.model.owners import DriverClaim
from seatrial.core.model.policy import Limits, Policy, Share
from seatrial.core.model.seen.nodes import Maintenance, NodePhase, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts, Pool
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.seen.rollouts import Admission, Rebuff, RolloutRecord, Summary
from seatrial.core.model.seen.snapshot import STALE_SECONDS, Freshness, Snapshot
from seatrial.core.model.target import Target
from tests.builders import (
    NOW,
    OLD,
    TARGET,
    a_driver,
    a_fleet,
    a_gpu_pod,
    a_ledger,
    a_node,
    a_rebuff,
    a_snapshot,
    a_starting_driver,
    a_well_node,
    an_intent,
    written,
)

LEDGER = rollout_subject("spring")
TIMED_OUT = {"failed_revision": "new", "reason": "driver-timeout", "failures": 1}


def settled(seen: Snapshot, intent: Intent, now: float = NOW) -> Snapshot:
    """The snapshot with the summary that this decision would write, so that only the rest of it shows."""
    decision = decide(seen, intent, now)
    return replace(seen, rollout=replace(seen.rollout, summary=summarise(seen, decision.holds, decision.stop, intent)))


def ledger_write(
    seen: Snapshot, admitted: tuple[Admission, ...], *holds: Hold, stop: Hold | None = None, now: float = NOW
) -> WriteRolloutRecord:
    return WriteRolloutRecord(
        record=RolloutRecord(
            name="spring",
            resource_version="40",
            admitted=admitted,
            summary=replace(summarise(seen, holds, stop, an_intent()), waiting=waiting_of(waits_of(holds, stop))),
            summarised_at=now,
            rebuffs=tuple(sorted(seen.rebuffs.items())),
            attentive_since=seen.attentive_since,
        )
    )


# ── the ordinary way ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_nodes_in_need_are_let_in_by_the_ledger_first() -> None:
    seen = a_snapshot(*a_fleet(3, NodePhase.UPGRADE_REQUIRED))
    holds = (
        hold("n1", HoldCode.LEDGER_PENDING),
        hold("n2", HoldCode.PARALLEL_LIMIT, limit=1, nodes="n1"),
        hold("n3", HoldCode.PARALLEL_LIMIT, limit=1, nodes="n1"),
    )
    assert decide(seen, an_intent(), NOW) == Decision(
        actions=(ledger_write(seen, a_ledger("n1"), *holds),), holds=holds
    )


def test_a_node_starts_once_its_name_is_seen_in_the_ledger() -> None:
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED)
    seen = settled(a_snapshot(node, admitted=a_ledger("n1")), an_intent(unavailable_max=1))
    assert decide(seen, an_intent(unavailable_max=1), NOW) == Decision(
        actions=(written(node, NodePhase.CORDON_REQUIRED),)
    )


def test_a_node_that_is_done_leaves_the_ledger_and_the_next_is_let_in_with_the_same_write() -> None:
    seen = a_snapshot(
        a_well_node("n1", NodePhase.UPGRADE_DONE), a_node("n2", NodePhase.UPGRADE_REQUIRED), admitted=a_ledger("n1")
    )
    holds = (hold("n2", HoldCode.LEDGER_PENDING),)
    assert decide(seen, an_intent(), NOW) == Decision(
        actions=(ledger_write(seen, a_ledger("n2"), *holds),), holds=holds
    )


def test_a_fleet_that_is_done_is_left_in_peace() -> None:
    nodes = [a_well_node(f"n{number}", NodePhase.UPGRADE_DONE) for number in (1, 2)]
    seen = settled(a_snapshot(*nodes), an_intent())
    assert decide(seen, an_intent(), NOW) == Decision()


def test_an_empty_cluster_is_waiting() -> None:
    seen = a_snapshot()
    assert decide(seen, an_intent(), NOW) == Decision(actions=(ledger_write(seen, ()),))
    assert summarise(seen, (), None) == Summary(state="waiting")


def test_capacity_is_given_back_before_anything_is_taken() -> None:
    taking = a_node("n1", NodePhase.CORDON_REQUIRED)
    giving = a_well_node("n2", NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True)
    intent = an_intent(parallel_max=2, unavailable_max=2)
    seen = settled(a_snapshot(taking, giving, admitted=a_ledger("n1", "n2")), intent)
    kinds = [(type(action).__name__, action.subject) for action in decide(seen, intent, NOW).actions]
    assert kinds == [("Uncordon", "n2"), ("Cordon", "n1")]


def test_the_same_question_has_the_same_answer_in_any_order() -> None:
    nodes = a_fleet(6, NodePhase.UPGRADE_REQUIRED)
    intent = an_intent(parallel_max=3, unavailable_max="50%")
    assert decide(a_snapshot(*nodes), intent, NOW) == decide(a_snapshot(*reversed(nodes)), intent, NOW)


# ── the budget looked at once more ───────────────────────────────────────────────────────────────────────────────────


def test_a_node_admitted_before_the_fleet_lost_others_hands_its_admission_back() -> None:
    about_to_start = a_node("n1", NodePhase.CORDON_REQUIRED)
    seen = a_snapshot(about_to_start, a_node("n2", NodePhase.UPGRADE_REQUIRED, is_ready=False), admitted=a_ledger("n1"))
    intent = an_intent(unavailable_max=1)
    moves = [action for action in decide(seen, intent, NOW).actions if isinstance(action, WriteNodeRecord)]
    assert moves == [written(about_to_start, NodePhase.UPGRADE_REQUIRED, attempt=2)]


def test_a_node_under_way_that_the_ledger_lost_is_named_again_and_waits_for_it() -> None:
    seen = a_snapshot(a_node(phase=NodePhase.POD_RESTART_REQUIRED, attempt=3, is_cordon_ours=True))
    holds = (hold("n1", HoldCode.LEDGER_PENDING),)
    assert decide(seen, an_intent(unavailable_max=0), NOW) == Decision(
        actions=(ledger_write(seen, (Admission(node="n1", attempt=3),), *holds),), holds=holds
    )


def test_a_failed_node_stays_in_the_ledger_until_our_cordon_is_off() -> None:
    failed = a_node("n1", NodePhase.UPGRADE_FAILED, is_cordon_ours=True, record=TIMED_OUT)
    intent = an_intent(unavailable_max=1)
    seen = settled(a_snapshot(failed, a_node("n2", NodePhase.UPGRADE_REQUIRED), admitted=a_ledger("n1")), intent)
    assert decide(seen, intent, NOW) == Decision(
        holds=(
            hold("n1", HoldCode.FAILED, since=900.0, why="driver-timeout", diagnosis=""),
            hold("n2", HoldCode.UNAVAILABLE_LIMIT, limit=1, taken=1, nodes="n1"),
        )
    )


# ── what stops a rollout ─────────────────────────────────────────────────────────────────────────────────────────────

FRESH = Freshness(source="nodes", is_synced=True, heard_at=NOW - STALE_SECONDS)
UNHEARD = Freshness(source="pods", is_synced=True, heard_at=NOW - STALE_SECONDS - 1)
UNLISTED = Freshness(source="pods", is_synced=False, heard_at=NOW)
DELEGATED = OperatorFacts(kind="ClusterPolicy/cluster-policy", is_auto_upgrading=True)

STOPS: list[tuple[dict[str, Any], Intent, Hold]] = [
    ({}, an_intent(is_paused=True), hold("spring", HoldCode.PAUSED, rollout="spring")),
    (
        {},
        an_intent(is_paused=True, paused_because="the storage is down"),
        hold("spring", HoldCode.PAUSED, rollout="spring", why="the storage is down"),
    ),
    (
        {"operator": DELEGATED},
        an_intent(),
        hold("spring", HoldCode.MODE_CONTRADICTION, owner="ClusterPolicy/cluster-policy"),
    ),
    (
        {"freshness": (FRESH, UNHEARD)},
        an_intent(),
        hold("spring", HoldCode.STALE_VIEW, source="pods", since=UNHEARD.heard_at),
    ),
    ({"freshness": (UNLISTED,)}, an_intent(), hold("spring", HoldCode.STALE_VIEW, source="pods", since=NOW)),
]


@pytest.mark.parametrize(("changes", "intent", "stop"), STOPS)
class TestAStoppedRollout:
    def test_lets_nobody_in(self, changes: dict[str, Any], intent: Intent, stop: Hold) -> None:
        seen = settled(a_snapshot(a_node(phase=NodePhase.UPGRADE_REQUIRED), **changes), intent)
        assert decide(seen, intent, NOW) == Decision(holds=(replace(stop, subject="n1"),), stop=stop)

    @pytest.mark.parametrize(
        "phase", [NodePhase.CORDON_REQUIRED, NodePhase.POD_DELETION_REQUIRED, NodePhase.POD_RESTART_REQUIRED]
    )
    def test_disrupts_nobody(self, phase: NodePhase, changes: dict[str, Any], intent: Intent, stop: Hold) -> None:
        node = a_node(phase=phase, is_cordon_ours=phase is not NodePhase.CORDON_REQUIRED, pods=(a_gpu_pod(),))
        seen = settled(a_snapshot(node, admitted=a_ledger("n1"), **changes), intent)
        assert decide(seen, intent, NOW) == Decision(holds=(replace(stop, subject="n1"),), stop=stop)

    def test_opens_no_attempt(self, changes: dict[str, Any], intent: Intent, stop: Hold) -> None:
        seen = settled(a_snapshot(a_node(), **changes), intent)
        assert decide(seen, intent, NOW) == Decision(holds=(replace(stop, subject="n1"),), stop=stop)


@pytest.mark.parametrize("phase", [NodePhase.UNCORDON_REQUIRED, NodePhase.VALIDATION_REQUIRED])
@pytest.mark.parametrize(("changes", "intent", "stop"), STOPS[2:])
def test_half_blind_we_give_nothing_back_since_what_was_proven_may_be_gone(
    changes: dict[str, Any], intent: Intent, stop: Hold, phase: NodePhase
) -> None:
    node = a_well_node(phase=phase, is_cordon_ours=True)
    seen = settled(a_snapshot(node, admitted=a_ledger("n1"), **changes), intent)
    assert decide(seen, intent, NOW) == Decision(holds=(replace(stop, subject="n1"),), stop=stop)


def test_while_the_target_is_not_published_what_is_proven_is_given_back() -> None:
    node = a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True)
    intent = an_intent(target=Target.of("580.126.20"))
    seen = settled(a_snapshot(node, admitted=a_ledger("n1")), intent)
    done = written(node, NodePhase.UPGRADE_DONE, Uncordon, is_cordon_ours=False)
    assert done in decide(seen, intent, NOW).actions


@pytest.mark.parametrize(("changes", "intent", "stop"), STOPS[:2])
def test_frozen_we_do_not_write_to_a_node_at_all(changes: dict[str, Any], intent: Intent, stop: Hold) -> None:
    node = a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True)
    seen = settled(a_snapshot(node, admitted=a_ledger("n1"), **changes), intent)
    assert decide(seen, intent, NOW) == Decision(holds=(replace(stop, subject="n1"),), stop=stop)


@pytest.mark.parametrize("stream", [UNHEARD, UNLISTED])
def test_nodes_missing_from_a_view_that_is_not_current_keep_their_place_in_the_ledger(stream: Freshness) -> None:
    seen = settled(a_snapshot(admitted=a_ledger("n1", "n2"), freshness=(stream,)), an_intent())
    assert decide(seen, an_intent(), NOW).actions == ()


def test_pausing_forgets_nothing() -> None:
    nodes = [a_node(f"n{place}", phase, is_cordoned=True) for place, phase in enumerate(NodePhase)]
    admitted = a_ledger(*(node.name for node in nodes))
    paused = decide(a_snapshot(*nodes, admitted=admitted), an_intent(is_paused=True), NOW)
    assert [action for action in paused.actions if not isinstance(action, WriteRolloutRecord)] == []


@pytest.mark.parametrize(
    ("version", "found"), [("570.124.06", "570.124.06"), ("", "an image without a driver version in its tag")]
)
def test_nothing_starts_before_the_target_is_published(version: str, found: str) -> None:
    wanted = DriverRevision(hash="other", version=version)
    seen = a_snapshot(a_node("n1", NodePhase.UPGRADE_REQUIRED), a_node("n2", NodePhase.UPGRADE_REQUIRED, wanted=wanted))
    stop = hold("spring", HoldCode.TARGET_NOT_PUBLISHED, found=found, target=TARGET)
    decision = decide(settled(seen, an_intent()), an_intent(), NOW)
    assert decision == Decision(
        holds=(replace(stop, subject="n1"), replace(stop, subject="n2")),
        stop=stop,
    )


def test_a_version_reverted_before_the_start_releases_the_node_and_its_admission() -> None:
    waiting = a_node(phase=NodePhase.UPGRADE_REQUIRED, wanted=OLD)
    seen = settled(a_snapshot(waiting, admitted=a_ledger("n1")), an_intent())
    assert decide(seen, an_intent(), NOW).actions == (written(waiting, NodePhase.UPGRADE_DONE),)
    released = a_snapshot(a_node(phase=NodePhase.UPGRADE_DONE, wanted=OLD), admitted=a_ledger("n1"))
    stop = hold("spring", HoldCode.TARGET_NOT_PUBLISHED, found=OLD.version, target=TARGET)
    assert decide(released, an_intent(), NOW).actions == (ledger_write(released, (), stop=stop),)


def test_a_fault_of_one_node_is_told_even_while_everything_is_stopped() -> None:
    seen = a_snapshot(a_node(phase=NodePhase.UPGRADE_FAILED, record=TIMED_OUT))
    held = decide(seen, an_intent(is_paused=True), NOW).holds
    assert held == (hold("n1", HoldCode.FAILED, since=900.0, why="driver-timeout", diagnosis=""),)


def a_pool(name: str, *, is_auto_upgrading: bool) -> Pool:
    return Pool(name=name, claim=DriverClaim(name=name), is_auto_upgrading=is_auto_upgrading)


@pytest.mark.parametrize(
    ("operator", "owner"),
    [
        (OperatorFacts(pools=(a_pool("blue", is_auto_upgrading=False),)), None),
        (OperatorFacts(pools=(a_pool("red", is_auto_upgrading=True),)), None),
        (OperatorFacts(is_auto_upgrading=True, pools=(a_pool("blue", is_auto_upgrading=False),)), None),
        (OperatorFacts(pools=(a_pool("blue", is_auto_upgrading=True),)), "NVIDIADriver/blue"),
    ],
)
def test_only_an_nvidia_driver_that_owns_members_and_moves_them_itself_contradicts_us(
    operator: OperatorFacts, owner: str | None
) -> None:
    stop = why_stopped(a_snapshot(a_node(owner="blue"), operator=operator), an_intent(), NOW)
    assert stop == (hold("spring", HoldCode.MODE_CONTRADICTION, owner=owner) if owner else None)


REQUESTOR = Requestor(id="seatrial")


@pytest.mark.parametrize("stream", [UNHEARD, UNLISTED])
def test_half_blind_no_maintenance_is_begun_or_asked_for(stream: Freshness) -> None:
    # Room for both: a node called back would hold for another reason.
    intent = an_intent(parallel_max=2, unavailable_max=2, requestor=REQUESTOR)
    nodes = [a_node("n1", NodePhase.UPGRADE_REQUIRED), a_node("n2", NodePhase.NODE_MAINTENANCE_REQUIRED)]
    seen = settled(a_snapshot(*nodes, admitted=a_ledger("n1", "n2")), intent)
    assert [action.id for action in decide(seen, intent, NOW).actions] == [
        "n1/node-maintenance-required/1@7",
        "n2/request-maintenance/1@new",
    ]
    blind = settled(replace(seen, freshness=(stream,)), intent)
    assert decide(blind, intent, NOW).actions == ()


def test_half_blind_we_do_not_release_a_maintenance_either() -> None:
    found = Maintenance(namespace="default", name="m", uid="u", resource_version="1", requestor="seatrial")
    intent = an_intent(requestor=REQUESTOR)
    seen = a_snapshot(a_well_node(phase=NodePhase.UPGRADE_DONE, maintenance=found), freshness=(UNLISTED,))
    current = replace(seen, freshness=(FRESH,))
    kinds = [
        [type(action) for action in decide(settled(each, intent), intent, NOW).actions] for each in (seen, current)
    ]
    assert kinds == [[], [ReleaseMaintenance]]


# ── scopes, units and orders ─────────────────────────────────────────────────────────────────────────────────────────

RACK = "example.com/rack"


def racked(name: str, rack: str, phase: NodePhase | None = NodePhase.UPGRADE_REQUIRED, **changes: Any) -> NodeSeen:
    return a_node(name, phase, labels={RACK: rack}, **changes)


def newly_admitted(seen: Snapshot, intent: Intent) -> list[str]:
    writes = [act for act in decide(seen, intent, NOW).actions if isinstance(act, WriteRolloutRecord)]
    return [admission.node for write in writes for admission in write.record.admitted]


def test_a_limit_of_a_domain_or_a_pool_keeps_nodes_waiting_and_says_which() -> None:
    seen = a_snapshot(
        *(racked(f"n{number}", "r1") for number in (1, 2)),
        *(racked(f"n{number}", "r2", owner="blue") for number in (3, 4)),
    )
    intent = an_intent(
        parallel_max=0,
        unavailable_max=4,
        domains=(Domain(label=RACK, unavailable_max=Share.parse("50%")),),
        pools={"blue": Policy(limits=Limits(parallel_max=0, unavailable_max=Share(amount=0)))},
    )
    assert newly_admitted(seen, intent) == ["n1"]
    assert decide(seen, intent, NOW).holds == (
        hold("n1", HoldCode.LEDGER_PENDING),
        hold("n2", HoldCode.UNAVAILABLE_LIMIT, scope=f"{RACK} r1", limit=1, taken=1, nodes="n1"),
        *(
            hold(name, HoldCode.UNAVAILABLE_LIMIT, scope="NVIDIADriver blue", limit=0, taken=0, nodes="none")
            for name in ("n3", "n4")
        ),
    )


def test_the_order_says_who_is_let_in_first() -> None:
    seen = a_snapshot(racked("n1", "r2", pods=(a_gpu_pod(),)), racked("n2", "r1"), racked("n3", "r2"))
    orders = {order: newly_admitted(seen, an_intent(order=order, domains=(Domain(label=RACK),))) for order in Order}
    assert orders == {
        Order.NAME: ["n1"],
        Order.IDLE_FIRST: ["n2"],
        Order.DOMAIN_BY_DOMAIN: ["n2"],
        Order.PRIORITY: ["n1"],
    }


UNITED = an_intent(parallel_max=0, unavailable_max=4, domains=(Domain(label=RACK, is_unit=True),))


def test_a_unit_is_let_in_as_a_whole() -> None:
    assert newly_admitted(a_snapshot(racked("n1", "r1"), racked("n2", "r1")), UNITED) == ["n1", "n2"]


@pytest.mark.parametrize(
    ("late", "changes"),
    [
        (racked("n2", "r1", phase=None), {}),
        (racked("n2", "r1"), {"busy": {"n2": None}}),
        (racked("n2", "r1"), {"rebuffs": {"n2": a_rebuff()}}),
    ],
)
def test_a_unit_waits_for_members_that_are_about_to_ask(late: NodeSeen, changes: dict[str, Any]) -> None:
    seen = a_snapshot(racked("n1", "r1"), late, racked("n3", "r2"), **changes)
    assert newly_admitted(seen, UNITED) == ["n3"]
    assert hold("n1", HoldCode.UNIT_INCOMPLETE, nodes="n2") in decide(seen, UNITED, NOW).holds


def test_a_unit_does_not_wait_for_members_that_are_through() -> None:
    through = a_well_node("n2", NodePhase.UPGRADE_DONE, labels={RACK: "r1"})
    assert newly_admitted(a_snapshot(racked("n1", "r1"), through), UNITED) == ["n1"]


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_pass_is_bounded_and_asks_again_at_once() -> None:
    nodes = [a_node(f"n{number:04}") for number in range(ACTIONS_MAX + 2)]
    intent = an_intent()
    decision = decide(settled(a_snapshot(*nodes), intent), intent, NOW)
    assert (len(decision.actions), decision.holds, decision.wake_at) == (
        ACTIONS_MAX,
        tuple(hold(node.name, HoldCode.PASS_FULL, until=NOW, limit=ACTIONS_MAX) for node in nodes[-2:]),
        NOW,
    )


# ── waiting and waking ───────────────────────────────────────────────────────────────────────────────────────────────


def test_we_wake_for_the_earliest_deadline() -> None:
    late = a_node("n1", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, driver=a_starting_driver("n1"))
    soon = a_node("n2", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, driver=a_starting_driver("n2"))
    soon = replace(soon, record=replace(soon.record, entered_at=800.0)) if soon.record else soon
    intent = an_intent(parallel_max=2, unavailable_max=2)
    seen = settled(a_snapshot(late, soon, admitted=a_ledger("n1", "n2")), intent)
    assert decide(seen, intent, NOW).wake_at == 2600.0


def test_wake_at_is_never_later_than_any_hold_says() -> None:
    nodes = [
        a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=(a_gpu_pod(),)),
        a_node("n2", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, driver=a_driver("n2", is_terminating=True)),
        a_node("n3"),
    ]
    rebuffs = {"pod-0": a_rebuff(), "n3": a_rebuff(count=3)}
    intent = an_intent(parallel_max=3, unavailable_max=3)
    decision = decide(a_snapshot(*nodes, admitted=a_ledger("n1", "n2"), rebuffs=rebuffs), intent, NOW)
    assert decision.wake_at == min(held.until for held in decision.holds if held.until is not None) == 1005.0


@pytest.mark.parametrize("until", [None, NOW + 5])
def test_a_node_whose_last_write_is_not_seen_yet_is_left_alone(until: float | None) -> None:
    seen = settled(a_snapshot(a_node(), busy={"n1": until}), an_intent())
    assert decide(seen, an_intent(), NOW) == Decision(
        holds=(hold("n1", HoldCode.WRITE_IN_FLIGHT, until=until),), wake_at=until
    )


@pytest.mark.parametrize("until", [None, NOW + 5])
def test_the_ledger_is_not_written_twice_on_one_view(until: float | None) -> None:
    seen = a_snapshot(a_node(phase=NodePhase.UPGRADE_REQUIRED), busy={LEDGER: until})
    assert decide(seen, an_intent(unavailable_max=1), NOW) == Decision(
        holds=(hold("n1", HoldCode.LEDGER_PENDING),), wake_at=until
    )


def test_a_refused_ledger_write_backs_off() -> None:
    seen = a_snapshot(a_node(phase=NodePhase.UPGRADE_REQUIRED), rebuffs={LEDGER: a_rebuff()})
    assert decide(seen, an_intent(unavailable_max=1), NOW) == Decision(
        holds=(hold("n1", HoldCode.LEDGER_PENDING),), wake_at=1005.0
    )
    assert decide(seen, an_intent(unavailable_max=1), 1005.0).actions != ()


def test_an_eviction_is_one_act_for_the_whole_node() -> None:
    pods = (a_gpu_pod(0), a_gpu_pod(1))
    node = a_node(phase=NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=pods)
    intent = an_intent(unavailable_max=1)
    seen = settled(a_snapshot(node, admitted=a_ledger("n1")), intent)
    assert decide(seen, intent, NOW).actions == (EvictPods(node="n1", attempt=1, pods=pods),)


# ── the summary ──────────────────────────────────────────────────────────────────────────────────────────────────────

DONE = a_well_node(phase=NodePhase.UPGRADE_DONE)
SKIPPED = a_node(phase=NodePhase.UPGRADE_REQUIRED, is_skipped=True)


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (a_snapshot(DONE), "done"),
        (a_snapshot(a_node(phase=NodePhase.UPGRADE_DONE, driver=None)), "waiting"),
        (a_snapshot(a_node(phase=NodePhase.UPGRADE_FAILED, record=TIMED_OUT)), "waiting"),
        (a_snapshot(SKIPPED), "waiting"),
        (a_snapshot(a_node(phase=NodePhase.UPGRADE_REQUIRED), a_node("n2", NodePhase.UPGRADE_REQUIRED)), "progressing"),
        (a_snapshot(a_node(phase=NodePhase.CORDON_REQUIRED), admitted=a_ledger("n1")), "progressing"),
        (
            a_snapshot(
                a_node(phase=NodePhase.UPGRADE_FAILED, is_cordon_ours=True, record=TIMED_OUT),
                admitted=a_ledger("n1"),
            ),
            "waiting",
        ),
    ],
)
def test_the_summary_says_how_the_rollout_stands(seen: Snapshot, state: str) -> None:
    assert summarise(seen, decide(seen, an_intent(), NOW).holds, None).state == state


def test_the_summary_counts_nodes_by_phase_and_holds_by_code() -> None:
    seen = a_snapshot(DONE, a_node("n2"), replace(SKIPPED, facts=replace(SKIPPED.facts, name="n3")))
    holds = (hold("n2", HoldCode.WRITE_IN_FLIGHT), hold("n3", HoldCode.SKIPPED))
    assert summarise(seen, holds, None, an_intent()) == Summary(
        state="waiting",
        counts=(("unknown", 1), ("upgrade-done", 1), ("upgrade-required", 1)),
        holds=(("skipped", 1),),
        done=1,
        total=3,
    )


def test_a_node_that_is_done_for_an_earlier_target_is_not_done_for_this_one() -> None:
    before = replace(DONE, facts=replace(DONE.facts, name="n2", wanted=OLD, driver=a_driver("n2")))
    found = summarise(a_snapshot(DONE, before), (), None, an_intent())
    assert (dict(found.counts), found.done, found.total) == ({"upgrade-done": 2}, 1, 2)


def test_a_summary_that_only_counts_differently_is_written_every_fifteen_seconds_at_most() -> None:
    seen = a_snapshot(SKIPPED, summary=Summary(state="waiting"), summarised_at=NOW - 9)
    holds = (hold("n1", HoldCode.SKIPPED),)
    assert decide(seen, an_intent(), NOW) == Decision(holds=holds, wake_at=NOW + 6)
    assert decide(seen, an_intent(), NOW + 6) == Decision(
        actions=(ledger_write(seen, (), *holds, now=NOW + 6),), holds=holds
    )


def test_a_rollout_whose_target_nobody_published_is_not_done_though_every_node_is_in_order() -> None:
    seen = a_snapshot(a_node(phase=NodePhase.UPGRADE_DONE, wanted=OLD))
    decision = decide(seen, an_intent(), NOW)
    stop = hold("spring", HoldCode.TARGET_NOT_PUBLISHED, found=OLD.version, target=TARGET)
    assert (decision.holds, decision.waits) == ((), (stop,))
    assert summarise(seen, decision.holds, decision.stop).state == "waiting"


def test_a_paused_rollout_waits_though_nodes_are_under_way() -> None:
    seen = a_snapshot(a_node(phase=NodePhase.CORDON_REQUIRED), admitted=a_ledger("n1"))
    decision = decide(seen, an_intent(is_paused=True), NOW)
    assert decision.waits == decision.holds
    assert summarise(seen, decision.holds, decision.stop).state == "waiting"


def test_what_was_turned_down_is_told_in_the_status() -> None:
    blocked = Rebuff(at=NOW - 1, count=2, code="blocked", detail="the budget needs every pod")
    seen = settled(a_snapshot(a_node(phase=NodePhase.UPGRADE_DONE), rebuffs={"pod-1": blocked}), an_intent())
    later = NOW + SUMMARY_SECONDS
    [write] = [act for act in decide(seen, an_intent(), later).actions if isinstance(act, WriteRolloutRecord)]
    assert write.record.rebuffs == (("pod-1", blocked),)


def test_news_are_written_at_once() -> None:
    seen = a_snapshot(DONE, summary=Summary(state="progressing"), summarised_at=NOW - 1)
    assert decide(seen, an_intent(), NOW) == Decision(actions=(ledger_write(seen, ()),))


def test_a_summary_that_says_the_same_is_not_written_again() -> None:
    seen = settled(a_snapshot(SKIPPED), an_intent())
    assert decide(seen, an_intent(), NOW + 3600).actions == ()
