"""Every reachable state of small campaigns: each comes to its end, and nobody is touched before their turn.

Canary, gates, waves, promotion and the way back, with acts in any order, lost answers, crashes after any write, and old
views of nodes, rollout, operator, repository and gates, each by itself. Time stands still, so the bake is of 0 s:
how hours are counted is in tests/properties/test_campaign_properties.py. The mutations take one protection away each,
and the explorer answers with the story of the harm.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.at_home import Promote, Publish
from seatrial.core.actions.of_campaigns import CampaignAct, OuterAct
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.campaign import step as rollout
from seatrial.core.campaign.course import Course
from seatrial.core.decision import turns
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.model.campaign import Bake, Campaign, Canary, Growth, Point, PublishStep, RolloutPhase, Via, Waves
from seatrial.core.model.gates.gate import Gate, GateVerdict
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.operators import MachinePool
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers import letting_in, machine_pools, marks, returning
from seatrial.core.movers.view import View
from seatrial.sim import outside as outer
from seatrial.sim.acts import Refused
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.outside import GateFate, Outside
from seatrial_lab.explore.coarse import AT_ONCE
from seatrial_lab.explore.explore import Exploration, explore
from seatrial_lab.explore.model import LISTING
from tests.builders import NEW, OLD, an_intent, with_repository

pytestmark = pytest.mark.slow

POOLS = ("canary", "fleet")
ON_OPENSHIFT: dict[str, Any] = {"pool": "gpu-canary", "still": ("worker",)}
FAILING = {"smoke": GateFate(fails_on=NEW.version)}
MUTE = {"smoke": GateFate(unknown_rounds=frozenset({1}))}


def some_nodes(count: int, *, has_pools: bool = False, canaries: int = 1) -> tuple[NodeSeen, ...]:
    nodes = (new_node(f"n{number}", running=OLD, wanted=OLD) for number in range(1, count + 1))
    if not has_pools:
        return tuple(nodes)
    return tuple(
        replace(node, facts=replace(node.facts, owner=POOLS[number >= canaries])) for number, node in enumerate(nodes)
    )


def a_wish(via: Via = Via.DIRECT, *, canaries: int = 1, **changes: Any) -> Intent:
    campaign = Campaign(
        canary=Canary(count=canaries),
        gates=(Gate(name="smoke", image="smoke:1"),),
        bake=Bake(seconds=0.0),
        waves=Waves(growth=Growth.FIXED, first=Share(amount=5)),
        publish=via,
        has_source=via is Via.GIT,
    )
    return an_intent(parallel_max=0, unavailable_max=2, campaign=replace(campaign, **changes))


def an_outside(via: Via = Via.DIRECT, *, has_pools: bool = False, is_delegated: bool = False) -> Outside:
    if has_pools:
        operator = outer.driver_pools(OLD.version, *POOLS, is_auto_upgrading=is_delegated)
    else:
        operator = outer.cluster_policy(OLD.version, is_auto_upgrading=is_delegated)
    plain = Outside(operator=operator)
    return with_repository(plain, NEW.version) if via is Via.GIT else plain


def on_openshift() -> Outside:
    return replace(an_outside(), machine_pools=(MachinePool(name="worker", resource_version="1"),))


def walk(count: int, via: Via = Via.DIRECT, *, has_pools: bool = False, **settings: Any) -> Exploration:
    """A controller that lists everything when it starts again, as the live one does."""
    wish = settings.pop("wish", a_wish(via))
    defaults: dict[str, Any] = {"outside": an_outside(via, has_pools=has_pools), "restarts": frozenset({LISTING})}
    canaries = wish.campaign.canary.count
    return explore(some_nodes(count, has_pools=has_pools, canaries=canaries), wish, **(defaults | settings))


def assert_all_is_well(found: Exploration, *, states_min: int) -> None:
    assert found.counterexample is None, f"\n{found.counterexample}"
    assert found.end_count > 0
    assert found.state_count >= states_min


# ── worlds ───────────────────────────────────────────────────────────────────────────────────────────────────────────

VIAS = [Via.DIRECT, Via.GIT]


@pytest.mark.parametrize(
    "has_pools",
    [pytest.param(False, id="ClusterPolicy"), pytest.param(True, id="two NVIDIADrivers", marks=pytest.mark.long)],
)
@pytest.mark.parametrize("via", VIAS)
def test_a_canary_and_two_more_nodes(via: Via, has_pools: bool) -> None:
    assert_all_is_well(walk(3, via, has_pools=has_pools), states_min=12_000)


@pytest.mark.parametrize("has_pools", [False, True], ids=["ClusterPolicy", "two NVIDIADrivers"])
@pytest.mark.parametrize("via", VIAS)
def test_a_gate_that_fails_brings_everything_back(via: Via, has_pools: bool) -> None:
    assert_all_is_well(walk(3, via, has_pools=has_pools, gate_fates=FAILING), states_min=500)


@pytest.mark.parametrize("via", VIAS)
def test_a_canary_whose_driver_fails_goes_back(via: Via) -> None:
    found = walk(2, via, fates={"n1": Fate(driver_fails_on=NEW.version)})
    assert_all_is_well(found, states_min=500)


def test_a_gate_that_cannot_be_measured_is_waited_for() -> None:
    assert_all_is_well(walk(2, gate_fates=MUTE), states_min=200)


@pytest.mark.parametrize(
    ("count", "via", "fates"),
    [
        pytest.param(1, Via.DIRECT, {}, id="direct"),
        pytest.param(1, Via.GIT, {}, id="git", marks=pytest.mark.long),
        pytest.param(1, Via.GIT, FAILING, id="git, failing", marks=pytest.mark.long),
    ],
)
def test_somebody_wants_it_undone_at_any_moment(count: int, via: Via, fates: dict[str, GateFate]) -> None:
    undone = ("somebody wants it undone", a_wish(via, abort="not today"))
    found = walk(count, via, gate_fates=fates, changes=(undone,), world=AT_ONCE, has_memory=True, restarts_max=0)
    assert_all_is_well(found, states_min=1_000)


def test_every_yes_is_waited_for_and_may_come_at_any_moment() -> None:
    points = (Point.CANARY, Point.WAVES, Point.PROMOTION)
    changes = tuple(
        (f"somebody approves {points[count - 1]}", a_wish(Via.GIT, manual=points, approved=points[:count]))
        for count in range(1, 4)
    )
    found = walk(2, Via.GIT, wish=a_wish(Via.GIT, manual=points), changes=changes, world=AT_ONCE)
    assert_all_is_well(found, states_min=1_000)


def test_a_way_back_that_a_person_has_to_allow() -> None:
    asked: dict[str, Any] = {"manual": (Point.ROLLBACK,)}
    allowed = ("somebody approves the way back", a_wish(Via.GIT, **asked, approved=(Point.ROLLBACK,)))
    found = walk(2, Via.GIT, wish=a_wish(Via.GIT, **asked), changes=(allowed,), gate_fates=FAILING)
    assert_all_is_well(found, states_min=1_000)


def test_waves_of_one_node_each_and_a_node_of_the_fleet_that_fails() -> None:
    small = Waves(growth=Growth.FIXED, first=Share(amount=1))
    found = walk(3, wish=a_wish(waves=small), fates={"n2": Fate(driver_fails_on=NEW.version)})
    assert_all_is_well(found, states_min=500)


@pytest.mark.parametrize("has_pools", [False, True], ids=["ClusterPolicy", "two NVIDIADrivers"])
@pytest.mark.parametrize("fates", [{}, FAILING], ids=["passing", "failing"])
def test_nodes_that_are_left_to_nvidias_controller(fates: dict[str, GateFate], has_pools: bool) -> None:
    outside = an_outside(has_pools=has_pools, is_delegated=True)
    found = walk(2, has_pools=has_pools, outside=outside, gate_fates=fates, world=AT_ONCE)
    assert_all_is_well(found, states_min=500)


def slowly(*, failed_max: int = 1, **changes: Any) -> Intent:
    """One node at a time, while NVIDIA's controller would begin with everybody."""
    limits = an_intent(parallel_max=1, unavailable_max=3).policy
    return replace(a_wish(**changes), policy=limits, failed_max=failed_max)


def delegated() -> Outside:
    return Outside(operator=outer.cluster_policy(OLD.version, is_auto_upgrading=True, policy=outer.NO_LIMIT))


CHANGES = {
    "closed": (("the window closes", slowly(openings=())), ("it opens again", slowly(openings=((0.0, 9e9),)))),
    "paused": (("somebody pauses", replace(slowly(), is_paused=True)), ("somebody resumes", slowly())),
    "undone": (("somebody wants it undone", slowly(abort="not today")),),
}


@pytest.mark.parametrize("change", ["closed", pytest.param("paused", marks=pytest.mark.long)])
def test_what_people_want_binds_nvidias_controller_at_any_moment(change: str) -> None:
    found = walk(2, outside=delegated(), wish=slowly(), changes=CHANGES[change], world=AT_ONCE)
    assert_all_is_well(found, states_min=500)


@pytest.mark.parametrize("fates", [("n2",), ("n2", "n3")], ids=["one", "two"])
def test_nodes_that_fail_under_nvidias_controller(fates: tuple[str, ...]) -> None:
    broken = {name: Fate(driver_fails_on=NEW.version) for name in fates}
    found = walk(3, outside=delegated(), wish=slowly(), fates=broken, world=AT_ONCE, restarts_max=0)
    assert_all_is_well(found, states_min=300)


@pytest.mark.parametrize("fates", [{}, FAILING], ids=["passing", "failing"])
def test_pools_that_stand_still_meanwhile(fates: dict[str, GateFate]) -> None:
    """Of OpenShift: the fleet's is paused and resumed, the canary's made and removed."""
    found = walk(2, wish=a_wish(**ON_OPENSHIFT), outside=on_openshift(), gate_fates=fates)
    assert_all_is_well(found, states_min=400)


def test_somebody_wants_it_undone_while_pools_stand_still() -> None:
    undone = ("somebody wants it undone", a_wish(abort="not today", **ON_OPENSHIFT))
    found = walk(
        1,
        wish=a_wish(**ON_OPENSHIFT),
        outside=on_openshift(),
        changes=(undone,),
        world=AT_ONCE,
        has_memory=True,
        restarts_max=0,
    )
    assert_all_is_well(found, states_min=300)


# ── mutations ────────────────────────────────────────────────────────────────────────────────────────────────────────


def told(found: Exploration) -> str:
    assert found.counterexample is not None
    print(f"\n{found.counterexample}")
    return str(found.counterexample)


def acting_at_once(seen: Snapshot, intent: Intent, now: float) -> Decision:
    """Acts upon the record it is about to write, as if it had been seen."""
    decision = decide(seen, intent, now)
    written = next((act.record for act in decision.actions if isinstance(act, WriteRolloutRecord)), None)
    if written is None:
        return decision
    further = acting_at_once(replace(seen, rollout=written), intent, now)
    acts = tuple(act for act in further.actions if isinstance(act, CampaignAct))
    return replace(decision, actions=(*decision.actions, *acts))


PUBLISHED = "ClusterPolicy/cluster-policy driver version 580.105.08 (step canary)"


def test_without_the_record_first_a_version_is_published_that_nobody_knows_the_way_back_from() -> None:
    found = walk(1, decider=acting_at_once, promises=())
    first, second, third, end = told(found).splitlines()
    assert (first, second) == (
        "  1. node/n1: label seatrial.dev/canary=spring",
        "  2. the view of n1 catches up",
    )
    assert PUBLISHED in third
    assert end == "  => a version is published, and the record does not say so"


def committing_anew(outside: Outside, act: OuterAct) -> Outside | Refused:
    """A repository in which nobody looks for what is there already."""
    if isinstance(act, Publish) and act.via is Via.GIT:
        return outer.commit_anyway(outside, act.step, act.versions)
    return outer.apply(outside, act)


def test_a_repository_in_which_steps_are_not_found_again_has_two_commits_after_a_lost_answer() -> None:
    found = walk(1, Via.GIT, outer_answerer=committing_anew)
    *_, one, other, end = told(found).splitlines()
    assert PUBLISHED in one
    assert PUBLISHED in other
    assert end == "  => 2 commits of step canary"


def tagging_anew(outside: Outside, act: OuterAct) -> Outside | Refused:
    if isinstance(act, Promote):
        return replace(outer.commit_anyway(outside, PublishStep.PROMOTION), tags=(*outside.tags, act.tag_base))
    return outer.apply(outside, act)


def test_a_promotion_that_is_not_found_again_is_made_twice() -> None:
    found = walk(1, Via.GIT, outer_answerer=tagging_anew)
    assert told(found).endswith("=> 2 commits of step promotion")


def blind_to_steps(seen: Snapshot, intent: Intent, now: float) -> Decision:
    """Does not look at what its repository has of it already."""
    source = replace(seen.source, steps=()) if seen.source is not None else None
    return decide(replace(seen, source=source), intent, now)


def test_a_controller_that_does_not_look_for_its_commits_never_ends() -> None:
    found = walk(1, Via.GIT, decider=blind_to_steps)
    assert "no end can be reached" in told(found)


def believing(seen: Snapshot, intent: Intent, now: float) -> Decision:
    """Takes every measurement for a pass."""
    passed = tuple(replace(each, verdict=GateVerdict.PASSED) for each in seen.measurements)
    return decide(replace(seen, measurements=passed), intent, now)


@pytest.mark.parametrize("fates", [FAILING, MUTE], ids=["failed", "unknown"])
def test_a_gate_that_did_not_pass_and_is_believed_is_found(fates: dict[str, GateFate]) -> None:
    found = walk(1, gate_fates=fates, decider=believing)
    assert told(found).endswith("=> the campaign is Waving, and smoke on n1 has not passed")


def test_a_node_that_moves_before_its_turn_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "may_move", lambda _node, _course: True)
    found = walk(2)
    assert "and its turn has not come (Proposed)" in told(found)


def test_a_node_that_nobody_keeps_out_is_moved_by_nvidias_controller_before_its_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(marks, "_kept_out", lambda _view, _open: set())
    settings: dict[str, Any] = {"outside": an_outside(is_delegated=True), "world": AT_ONCE}
    assert "=> let_in broken at n1: it is not kept out of what is published" in told(walk(2, **settings))
    found = walk(2, **settings, promises=())
    assert told(found).endswith("=> n1 is let in to NVIDIA's controller, and the ledger does not name it")


# What keeps a delegated campaign within its limits, taken away one by one.


def test_a_wave_that_is_let_in_as_a_whole_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it was: whose wave is open is let in, whatever the ledger says."""
    monkeypatch.setattr(letting_in, "let_in", lambda view, turn: frozenset(turn) & letting_in.startable(view))
    settings: dict[str, Any] = {"outside": delegated(), "wish": slowly(), "world": AT_ONCE}
    assert "=> let_in broken at n1: it is not kept out of what is published" in told(walk(3, **settings))
    found = walk(3, **settings, promises=())
    assert told(found).endswith("is let in to NVIDIA's controller, and the ledger does not name it")


def test_a_ledger_that_does_not_see_what_nvidias_controller_does_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody in it is taken for done, so that places are given twice."""
    settled = letting_in.recorded

    def blind(seen: Snapshot, intent: Intent) -> Mapping[str, NodeSeen]:
        done = NodeRecord(phase=NodePhase.UPGRADE_DONE, attempt=0, entered_at=0.0)
        return {
            name: replace(node, record=done) if node.record is not None else node
            for name, node in settled(seen, intent).items()
        }

    monkeypatch.setattr(letting_in, "recorded", blind)
    found = walk(3, outside=delegated(), wish=slowly(), world=AT_ONCE, promises=())
    assert "2 nodes under way at a limit of 1" in told(found)


@pytest.mark.parametrize("change", ["paused", "closed"])
def test_a_pause_and_a_window_that_nobody_looks_at_are_found(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = letting_in.let_in

    def heedless(view: View, turn: AbstractSet[str]) -> frozenset[str]:
        everybody = set(turn) or {name for name in view.nodes if name not in view.record.canaries}
        intent = replace(view.intent, is_paused=False)
        return usual(replace(view, intent=intent, campaign=replace(view.campaign, openings=None)), everybody)

    def let_in_anyway(view: View) -> Course:
        return Course(record=view.record, acts=marks.let_in(view, frozenset()))

    monkeypatch.setattr(letting_in, "let_in", heedless)
    if change == "paused":
        monkeypatch.setattr(rollout, "_pause", lambda view: let_in_anyway(view) if is_paused(view) else paused(view))
    else:
        monkeypatch.setattr(View, "closed", lambda _view: None)
    found = walk(2, outside=delegated(), wish=slowly(), changes=CHANGES[change][:1], world=AT_ONCE)
    assert "on_time broken at n" in told(found)


paused = rollout._pause


def is_paused(view: View) -> bool:
    return view.record.phase is RolloutPhase.PAUSED


def uncounted(seen: Snapshot, intent: Intent, now: float) -> Decision:
    """Tolerates whatever fails."""
    return decide(seen, replace(intent, failed_max=9), now)


def test_failures_that_nobody_counts_are_found() -> None:
    fates = {name: Fate(driver_fails_on=NEW.version) for name in ("n2", "n3")}
    settings: dict[str, Any] = {"outside": delegated(), "wish": slowly(failed_max=0), "fates": fates}
    found = walk(3, **settings, world=AT_ONCE, restarts_max=0, decider=uncounted)
    assert told(found).endswith("=> capacity broken at spring: 1 failed, limit 0")
    found = walk(3, **settings, world=AT_ONCE, restarts_max=0, decider=uncounted, promises=())
    assert told(found).endswith("=> n2, n3 have failed at a limit of 0, 1 at a time")


def test_an_abort_that_does_not_close_out_who_waits_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marks, "close_out", lambda _view, _open: ((), ()))
    found = walk(2, outside=delegated(), wish=slowly(), changes=CHANGES["undone"], world=AT_ONCE)
    assert "is let in to NVIDIA's controller, and the ledger does not name it" in told(found)


def test_a_way_back_that_waits_for_nobody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(returning, "_is_back", lambda _view, _name: True)
    found = walk(2, gate_fates=FAILING)
    assert told(found).endswith("=> the campaign is Reverted, and n1 runs 580.105.08")


def test_a_pool_that_is_not_let_go_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_pools, "let_go", lambda _view: ((), ()))
    found = walk(1, wish=a_wish(**ON_OPENSHIFT), outside=on_openshift())
    assert told(found).endswith("=> the campaign is Done, and pool worker is still ours")


def forgetful(seen: Snapshot, intent: Intent, now: float) -> Decision:
    """Does not know which of its writes it cannot see yet."""
    return decide(replace(seen, busy={}), intent, now)


def test_a_controller_that_forgets_its_writes_would_end_with_one_of_them_left_behind() -> None:
    undone = ("somebody wants it undone", a_wish(abort="not today"))
    found = walk(1, changes=(undone,), has_memory=True, decider=forgetful, restarts_max=0)
    story = told(found)
    assert "node/n1: label seatrial.dev/canary=spring" in story
    assert "somebody wants it undone" in story
    assert story.endswith("=> the campaign is Reverted, and n1 is still marked")


def test_a_controller_that_started_with_an_old_list_would_end_too_early() -> None:
    """Why the live one lists consistently, and not from the watch cache: absence in an old view proves nothing."""
    found = walk(2, gate_fates=FAILING, restarts=None)
    story = told(found)
    assert "the controller crashes and starts again with the oldest view there is" in story
    assert story.endswith("=> the campaign is Reverted, and n1 is still marked")
