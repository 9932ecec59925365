"""Who is stuck, and who is torn: small stories of fleets in which one thing is wrong, and what comes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.at_home import Publish
from seatrial.core.actions.on_nodes import EvictPods, WriteNodeRecord
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import Canary, RolloutPhase, Via
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.intent import Domain, Intent
from seatrial.core.model.owners import GPU_PRESENT, DriverClaim
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operators import Carrier, OperatorFacts, Pool
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.target import Target
from seatrial.core.node.progress import Progress, by_our_record
from seatrial.core.promises.invariants import broken
from tests.builders import (
    NEW,
    NOW,
    OLD,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_driver,
    a_gpu_pod,
    a_ledger,
    a_new_driver,
    a_node,
    a_snapshot,
    a_well_node,
    an_intent,
    an_old_node,
    an_operator,
)

FORWARD = an_operator(NEW.version)
BACK = an_operator(OLD.version)
THIRD = DriverRevision(hash="third", version="590.44.01")
REQUIRED = NodePhase.UPGRADE_REQUIRED
CLIQUE = "nvidia.com/gpu.clique"
PASSED = GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.PASSED)
BASELINE = tuple((name, OLD.version) for name in (POLICY, "NVIDIADriver/a", "NVIDIADriver/b"))
PROVEN: dict[str, Any] = {"gates": (PASSED,), "round": 1, "baked_seconds": 172_800.0, "baseline": BASELINE}
POOLS = tuple(Pool(name=name, claim=DriverClaim(name=name), is_auto_upgrading=False) for name in ("a", "b"))
OLD_B = Carrier(name="NVIDIADriver/b", version=OLD.version)


def careful(campaign: dict[str, Any] | None = None, **changes: Any) -> Intent:
    """A campaign, by default with room for everybody at once."""
    room: dict[str, Any] = {"parallel_max": 0, "unavailable_max": "100%"}
    return an_intent(campaign=a_campaign(**(campaign or {})), **(room | changes))


def at(
    phase: RolloutPhase,
    *nodes: NodeSeen,
    record: dict[str, Any] | None = None,
    operator: OperatorFacts = FORWARD,
    **changes: Any,
) -> Snapshot:
    """A campaign in a phase, over these nodes."""
    written = a_campaign_record(phase, **(record or {}))
    return a_snapshot(*nodes, campaign=written, operator=operator, **changes)


def decided(seen: Snapshot, intent: Intent, now: float = NOW) -> Decision:
    """What is decided, which must keep every promise."""
    decision = decide(seen, intent, now)
    assert broken(seen, intent, decision) == ()
    return decision


def admitted_by(decision: Decision) -> list[str]:
    """Who is in the ledger that is written."""
    written = [action.record.admitted for action in decision.actions if isinstance(action, WriteRolloutRecord)]
    return [admission.node for admission in written[0]] if written else []


def phase_of(decision: Decision) -> RolloutPhase | None:
    """The phase in which the campaign is written down."""
    written = [action.record.campaign for action in decision.actions if isinstance(action, WriteRolloutRecord)]
    return written[0].phase if written and written[0] is not None else None


def opened_by(decision: Decision, name: str) -> NodePhase | None:
    """The phase that is opened for a node."""
    found = (action for action in decision.actions if isinstance(action, WriteNodeRecord) and action.node == name)
    return next((action.record.phase for action in found), None)


def codes(decision: Decision, subject: str) -> list[HoldCode]:
    return [held.code for held in decision.holds if held.subject == subject]


# ── failures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def failed(name: str, revision: DriverRevision = NEW, **changes: Any) -> NodeSeen:
    """A node that was given up on its way to a revision, under our cordon."""
    notes = {"reason": "driver-timeout", "failed_revision": revision.hash, "failures": 1}
    return a_node(name, NodePhase.UPGRADE_FAILED, is_cordon_ours=True, record=notes, **changes)


def test_failures_on_the_way_back_do_not_keep_the_others_on_a_rejected_driver() -> None:
    """Two of four did not get back, and one failure is tolerated: the other two go back all the same."""
    stuck = [failed(name, OLD, wanted=OLD, driver=a_new_driver(name)) for name in ("n1", "n2")]
    waiting = [a_node(name, REQUIRED, wanted=OLD, driver=a_new_driver(name)) for name in ("n3", "n4")]
    seen = at(RolloutPhase.REVERTING, *stuck, *waiting, operator=BACK, admitted=a_ledger("n1", "n2"))
    decision = decided(seen, careful())
    assert admitted_by(decision) == ["n1", "n2", "n3", "n4"]
    assert not [held for held in decision.holds if held.code is HoldCode.FAILURE_BUDGET]


def test_an_intent_that_went_back_is_not_stopped_by_those_who_failed_on_the_way_there() -> None:
    """They are dead, and nobody knows what is wanted there; the living have nothing to learn from their failure."""
    dead = [failed(name, NEW, wanted=None, driver=None, is_ready=False) for name in ("n1", "n2")]
    living = [a_node(name, REQUIRED, wanted=OLD, driver=a_new_driver(name)) for name in ("n3", "n4")]
    back = an_intent(target=Target.of(OLD.version), parallel_max=0, unavailable_max="100%")
    decision = decided(a_snapshot(*dead, *living, admitted=a_ledger("n1", "n2")), back)
    assert admitted_by(decision) == ["n1", "n2", "n3", "n4"]


def test_failures_still_stop_the_way_forward() -> None:
    given_up = [failed(name) for name in ("n1", "n2")]
    seen = a_snapshot(*given_up, a_node("n3", REQUIRED), admitted=a_ledger("n1", "n2"))
    decision = decided(seen, an_intent(parallel_max=0, unavailable_max="100%"))
    assert codes(decision, "n3") == [HoldCode.FAILURE_BUDGET]


def test_a_failure_that_was_tolerated_does_not_keep_the_next_rollout_from_beginning() -> None:
    """n3 failed on its way to OLD in a rollout that is done; the next one is for NEW, and has its canary."""
    left = failed("n3", OLD, wanted=OLD)
    seen = at(RolloutPhase.PROPOSED, an_old_node("n1"), an_old_node("n2"), left, operator=BACK)
    assert phase_of(decided(seen, careful(failed_max=0))) is RolloutPhase.CANARY


def test_the_next_rollout_takes_along_who_failed_in_the_one_before() -> None:
    left = failed("n3", OLD)
    seen = at(RolloutPhase.WAVING, a_done_node("n1", canary_of="spring"), left, record=PROVEN)
    decision = decided(seen, careful(failed_max=0))
    assert opened_by(decision, "n3") is REQUIRED
    assert not [held for held in decision.holds if held.code is HoldCode.FAILURE_BUDGET]


def test_who_failed_in_a_pool_that_is_not_published_yet_does_not_keep_the_version_from_it() -> None:
    """Its pool still wants what it failed with, and would do so for ever."""
    canary = a_done_node("n1", owner="a", canary_of="spring")
    operator = an_operator(carriers=(Carrier(name="NVIDIADriver/a", version=NEW.version), OLD_B), pools=POOLS)
    seen = at(RolloutPhase.WAVING, canary, failed("n2", OLD, wanted=OLD, owner="b"), operator=operator, record=PROVEN)
    decision = decided(seen, careful(failed_max=0))
    published = [action.versions for action in decision.actions if isinstance(action, Publish)]
    assert published == [(("NVIDIADriver/b", NEW.version),)]


def test_a_node_whose_last_upgrade_failed_does_not_go_first() -> None:
    seen = at(
        RolloutPhase.PROPOSED, replace(failed("n1", OLD, wanted=OLD), facts=an_old_node("n1").facts), operator=BACK
    )
    told = [
        held for held in decided(seen, careful({"canary": Canary(nodes=("n1",))})).holds if held.subject == "spring"
    ]
    assert [dict(held.params)["why"] for held in told] == ["n1: its last upgrade failed"]


# ── a third version ──────────────────────────────────────────────────────────────────────────────────────────────────

EMPTYING = (
    NodePhase.CORDON_REQUIRED,
    NodePhase.WAIT_FOR_JOBS_REQUIRED,
    NodePhase.POD_DELETION_REQUIRED,
    NodePhase.DRAIN_REQUIRED,
    NodePhase.POD_RESTART_REQUIRED,
)
USED: dict[str, Any] = {"pods": (a_gpu_pod(),), "is_cordon_ours": True}


def mid_wave(node: NodeSeen, version: str = THIRD.version, phase: RolloutPhase = RolloutPhase.WAVING) -> Snapshot:
    """The canary is done, n2 is under way, and the ClusterPolicy carries another version by now."""
    canary = a_done_node("n1", canary_of="spring", wanted=node.facts.wanted)
    operator = an_operator(version, writer="kubectl")
    return at(phase, canary, node, operator=operator, record=PROVEN, admitted=a_ledger("n2"))


@pytest.mark.parametrize("phase", EMPTYING)
def test_a_third_version_published_mid_wave_empties_nobody_further(phase: NodePhase) -> None:
    decision = decided(mid_wave(a_node("n2", phase, wanted=THIRD, **USED)), careful())
    assert [action for action in decision.actions if not isinstance(action, WriteRolloutRecord)] == []
    assert [held for held in decision.holds if held.subject == "n2"] == [
        hold("n2", HoldCode.TARGET_NOT_PUBLISHED, found=THIRD.version, target=NEW.version)
    ]
    assert not decision.is_free


@pytest.mark.parametrize("phase", EMPTYING)
def test_a_third_version_fails_nobody_by_the_clock(phase: NodePhase) -> None:
    decision = decided(mid_wave(a_node("n2", phase, wanted=THIRD, **USED)), careful(), NOW + 1e6)
    assert codes(decision, "n2") == [HoldCode.TARGET_NOT_PUBLISHED]


def test_a_node_goes_on_when_the_right_version_is_published_again() -> None:
    decision = decided(mid_wave(a_node("n2", NodePhase.POD_DELETION_REQUIRED, **USED), NEW.version), careful())
    assert [action.node for action in decision.actions if isinstance(action, EvictPods)] == ["n2"]


def test_a_proven_node_does_not_lose_its_driver_to_a_third_version() -> None:
    proven = a_well_node("n2", NodePhase.VALIDATION_REQUIRED, wanted=THIRD, is_cordon_ours=True)
    assert codes(decided(mid_wave(proven), careful()), "n2") == [HoldCode.TARGET_NOT_PUBLISHED]


def test_a_node_without_a_driver_has_no_way_but_forward_and_is_not_done_on_the_target() -> None:
    third = a_new_driver("n2", revision=THIRD.hash, version=THIRD.version)
    begun = a_node("n2", NodePhase.POD_RESTART_REQUIRED, wanted=THIRD, driver=third, is_cordon_ours=True)
    assert opened_by(decided(mid_wave(begun), careful()), "n2") is NodePhase.VALIDATION_REQUIRED
    ended = a_done_node("n2", wanted=THIRD, driver=third)
    assert by_our_record(ended, NEW.version) is Progress.AWAY
    decision = decided(mid_wave(ended), careful())
    assert phase_of(decision) is RolloutPhase.WAVING
    assert HoldCode.TAKEN_OVER in codes(decision, "spring")


def test_somebody_who_puts_the_old_version_back_lets_the_untouched_go() -> None:
    waits = a_node("n2", NodePhase.WAIT_FOR_JOBS_REQUIRED, wanted=OLD, is_cordon_ours=True)
    assert opened_by(decided(mid_wave(waits, OLD.version), careful()), "n2") is NodePhase.UNCORDON_REQUIRED


def test_an_abort_empties_nobody_further_while_the_old_version_is_not_back_yet() -> None:
    waits = a_node("n2", NodePhase.POD_DELETION_REQUIRED, **USED)
    decision = decided(mid_wave(waits, NEW.version, RolloutPhase.REVERTING), careful())
    assert [action for action in decision.actions if isinstance(action, EvictPods)] == []
    assert codes(decision, "n2") == [HoldCode.TARGET_NOT_PUBLISHED]


def test_a_cordon_that_was_lifted_is_written_down_also_under_a_third_version() -> None:
    waits = a_node("n2", NodePhase.WAIT_FOR_JOBS_REQUIRED, wanted=THIRD, is_cordon_ours=True, is_cordoned=False)
    decision = decided(mid_wave(waits), careful())
    assert opened_by(decision, "n2") is NodePhase.WAIT_FOR_JOBS_REQUIRED


def test_a_third_version_does_not_forgive_a_failed_node() -> None:
    """The rollout would not bring that version, so the node stays failed and says what has to be published."""
    decision = decided(mid_wave(failed("n2", wanted=THIRD)), careful(), NOW + 1e6)
    assert opened_by(decision, "n2") is None
    assert [held for held in decision.holds if held.subject == "n2"] == [
        hold("n2", HoldCode.TARGET_NOT_PUBLISHED, found=THIRD.version, target=NEW.version)
    ]


def test_a_closed_node_that_is_to_be_tried_again_says_that_a_third_version_keeps_it_closed() -> None:
    retried = a_node("n2", REQUIRED, wanted=THIRD, is_cordon_ours=True, record={"failed_revision": NEW.hash})
    decision = decided(mid_wave(retried, phase=RolloutPhase.CANARY), careful())
    assert [held for held in decision.holds if held.subject == "n2"] == [
        hold("n2", HoldCode.TARGET_NOT_PUBLISHED, found=THIRD.version, target=NEW.version)
    ]


def test_a_closed_node_that_is_let_in_after_its_rollout_was_undone_is_not_promised_a_turn() -> None:
    note = {"failures": 1, "has_lost_driver": True, "attempt": 2}
    kept = a_node("n1", REQUIRED, wanted=THIRD, driver=a_new_driver("n1"), is_cordon_ours=True, record=note)
    decision = decided(at(RolloutPhase.REVERTED, kept, operator=an_operator(THIRD.version)), careful())
    assert codes(decision, "n1") == [HoldCode.UNDONE]


def test_a_failed_node_is_released_by_another_revision_of_the_target() -> None:
    rebuilt = DriverRevision(hash="rebuilt", version=NEW.version)
    decision = decided(mid_wave(failed("n2", wanted=rebuilt), NEW.version), careful())
    assert opened_by(decision, "n2") is REQUIRED


@pytest.mark.parametrize("back", [OLD, THIRD], ids=["old", "somebody's"])
def test_on_the_way_back_the_version_that_stays_releases_a_failed_node(back: DriverRevision) -> None:
    """The way back leaves alone what somebody published after us, so that is where the node goes."""
    seen = mid_wave(failed("n2", wanted=back), back.version, RolloutPhase.REVERTING)
    assert opened_by(decided(seen, careful()), "n2") is REQUIRED


# ── a DaemonSet taken away from over its pods ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("phase", EMPTYING[1:])
def test_a_daemon_set_deleted_with_its_pods_orphaned_empties_nobody(phase: NodePhase) -> None:
    orphan = a_driver("n1", is_orphaned=True)
    node = a_node("n1", phase, driver=orphan, wanted=None, **USED)
    decision = decided(a_snapshot(node, admitted=a_ledger("n1")), an_intent(unavailable_max="100%"), NOW + 1e6)
    assert [action for action in decision.actions if not isinstance(action, WriteRolloutRecord)] == []
    assert codes(decision, "n1") == [HoldCode.DRIVER_ORPHANED]


def test_a_node_that_was_let_in_hands_its_place_back_when_its_daemon_set_is_deleted() -> None:
    node = a_node("n1", NodePhase.CORDON_REQUIRED, driver=a_driver("n1", is_orphaned=True), wanted=None)
    decision = decided(a_snapshot(node, admitted=a_ledger("n1")), an_intent(unavailable_max="100%"))
    assert opened_by(decision, "n1") is REQUIRED


def test_an_orphan_is_emptied_where_the_daemon_set_of_an_owning_nvidia_driver_wants_the_node() -> None:
    orphan = a_driver("n1", is_orphaned=True)
    node = a_node("n1", NodePhase.POD_DELETION_REQUIRED, driver=orphan, wanted=NEW, owner="blue", **USED)
    decision = decided(a_snapshot(node, admitted=a_ledger("n1")), an_intent(unavailable_max="100%"))
    assert [action.node for action in decision.actions if isinstance(action, EvictPods)] == ["n1"]


# ── a node that comes back without a driver ──────────────────────────────────────────────────────────────────────────


def test_a_node_that_comes_back_without_a_driver_gives_its_parallel_slot_back() -> None:
    """It was let in, reinstalled under its name, and has neither our record nor a driver pod."""
    intent = an_intent(parallel_max=1, unavailable_max="100%")
    seen = a_snapshot(a_node("n1", driver=None), a_node("n2", REQUIRED), admitted=a_ledger("n1"))
    first = decided(seen, intent)
    assert opened_by(first, "n1") is REQUIRED
    anew = next(each.record for each in first.actions if isinstance(each, WriteNodeRecord) and each.node == "n1")
    returned = replace(a_node("n1", driver=None), record=anew)
    then = decided(a_snapshot(returned, a_node("n2", REQUIRED), admitted=a_ledger("n1")), intent)
    assert admitted_by(then) == ["n2"]
    assert codes(then, "n1") == [HoldCode.DRIVER_POD_MISSING]


def test_a_node_without_its_driver_still_counts_as_unavailable() -> None:
    returned = a_node("n1", REQUIRED, attempt=2, driver=None)
    decision = decided(a_snapshot(returned, a_node("n2", REQUIRED)), an_intent(parallel_max=1, unavailable_max=1))
    assert codes(decision, "n2") == [HoldCode.UNAVAILABLE_LIMIT]


def test_a_node_that_comes_back_in_a_pause_between_waves_gives_its_slot_back_as_well() -> None:
    closed = careful({"openings": ((NOW + 60, NOW + 90),)})
    canary = a_done_node("n1", canary_of="spring")
    seen = at(RolloutPhase.WAVING, canary, a_node("n2", driver=None), record=PROVEN, admitted=a_ledger("n2"))
    assert opened_by(decided(seen, closed), "n2") is REQUIRED


def test_a_node_that_comes_back_with_the_new_driver_is_done_with_its_attempt() -> None:
    seen = a_snapshot(a_well_node("n1"), a_node("n2", REQUIRED), admitted=a_ledger("n1"))
    assert opened_by(decided(seen, an_intent(unavailable_max="100%")), "n1") is NodePhase.UPGRADE_DONE


# ── a limit of nothing ───────────────────────────────────────────────────────────────────────────────────────────────

IN_R1: dict[str, Any] = {"labels": {"rack": "r1"}}
SHUT: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"unavailable_max": 0}, {}),
    ({"unavailable_max": "0%"}, {}),
    ({"domains": (Domain(label="rack", unavailable_max=Share(amount=0)),)}, {"scope": "rack r1"}),
    ({"pools": {"blue": an_intent(unavailable_max=0).policy}}, {"scope": "NVIDIADriver blue"}),
]


@pytest.mark.parametrize(("changes", "where"), SHUT)
def test_a_limit_of_nothing_publishes_nothing(changes: dict[str, Any], where: dict[str, str]) -> None:
    operator = an_operator(carriers=(Carrier(name="NVIDIADriver/blue", version=OLD.version),))
    seen = at(RolloutPhase.PROPOSED, an_old_node("n1", owner="blue", **IN_R1), operator=operator)
    decision = decided(seen, careful(**changes))
    told = [held for held in decision.holds if held.subject == "spring"]
    assert [(held.code, dict(held.params)) for held in told] == [(HoldCode.NOBODY_MAY_START, where)]
    assert phase_of(decision) in (None, RolloutPhase.PROPOSED)


def test_a_limit_lowered_to_nothing_keeps_the_fleets_version_from_being_published() -> None:
    canary = a_done_node("n1", owner="a", canary_of="spring")
    operator = an_operator(carriers=(Carrier(name="NVIDIADriver/a", version=NEW.version), OLD_B), pools=POOLS)
    seen = at(RolloutPhase.WAVING, canary, an_old_node("n2", owner="b"), operator=operator, record=PROVEN)
    decision = decided(seen, careful(unavailable_max=0))
    assert [action for action in decision.actions if isinstance(action, Publish)] == []
    assert codes(decision, "spring") == [HoldCode.NOBODY_MAY_START]


# ── a pool without nodes ─────────────────────────────────────────────────────────────────────────────────────────────


def spare(selector: dict[str, str] | None = None, version: str = OLD.version, **changes: Any) -> OperatorFacts:
    """Pool a has the nodes, and nobody is in pool b."""
    claim = DriverClaim(name="b", selector=selector, **changes)
    pools = (POOLS[0], Pool(name="b", claim=claim, is_auto_upgrading=False))
    carriers = (Carrier(name="NVIDIADriver/a", version=NEW.version), Carrier(name="NVIDIADriver/b", version=version))
    return an_operator(carriers=carriers, pools=pools)


def ending(operator: OperatorFacts, intent: Intent, **record: Any) -> Decision:
    """What is decided when every node of pool a is through."""
    nodes = (a_done_node("n1", owner="a", canary_of="spring"), a_done_node("n2", owner="a"))
    return decided(at(RolloutPhase.WAVING, *nodes, operator=operator, record=PROVEN | record), intent)


def told_at_the_end(operator: OperatorFacts, intent: Intent) -> list[str]:
    seen = at(RolloutPhase.DONE, a_done_node("n1", owner="a"), operator=operator, record=PROVEN)
    return [dict(held.params)["pools"] for held in decided(seen, intent).holds if held.code is HoldCode.POOLS_LEFT]


def test_a_pool_without_nodes_gets_the_version_before_the_end() -> None:
    decision = ending(spare(), careful(selector=dict(GPU_PRESENT)))
    published = [action.versions for action in decision.actions if isinstance(action, Publish)]
    assert published == [(("NVIDIADriver/b", NEW.version),)]
    assert phase_of(ending(spare(version=NEW.version), careful())) is RolloutPhase.PROMOTING


def test_what_a_pool_without_nodes_carried_is_part_of_the_way_back() -> None:
    operator = spare(version=OLD.version)
    carriers = tuple(replace(carrier, version=OLD.version) for carrier in operator.carriers)
    nodes = (an_old_node("n1", owner="a"), an_old_node("n2", owner="a"))
    seen = at(RolloutPhase.PROPOSED, *nodes, operator=replace(operator, carriers=carriers))
    written = [
        each.record.campaign for each in decided(seen, careful()).actions if isinstance(each, WriteRolloutRecord)
    ]
    assert written[0] is not None
    assert written[0].baseline == (("NVIDIADriver/a", OLD.version), ("NVIDIADriver/b", OLD.version))


@pytest.mark.parametrize(
    ("operator", "intent", "named"),
    [
        (spare(), careful({"publish": Via.GIT}), ["NVIDIADriver/b (570.124.06)"]),
        (spare(version=""), careful(), ["NVIDIADriver/b (no version)"]),
        (spare(version=NEW.version), careful(), []),
        (spare({"zone": "west"}), careful(selector={"zone": "east"}), []),
        (spare(is_deleting=True), careful(), []),
    ],
)
def test_the_end_names_a_pool_without_nodes_that_did_not_get_the_version(
    operator: OperatorFacts, intent: Intent, named: list[str]
) -> None:
    assert told_at_the_end(operator, intent) == named


def test_a_pool_whose_nodes_would_be_no_members_is_not_written_to() -> None:
    decision = ending(spare({"zone": "west"}), careful(selector={"zone": "east"}))
    assert [action for action in decision.actions if isinstance(action, Publish)] == []
