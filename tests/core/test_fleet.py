"""Fleet: what a change costs, by counting; and the few things that random small fleets do not show."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import FrameType
from typing import Any

import pytest

from seatrial.core import decide as definition
from seatrial.core import node as machine
from seatrial.core.actions import AskCheckpoint, EvictPods, Uncordon, WriteNodeRecord
from seatrial.core.decide import ACTIONS_MAX, decide
from seatrial.core.fleet import Fleet, Moves
from seatrial.core.holds import HoldCode
from seatrial.core.intent import Domain, Intent, Order, Requestor
from seatrial.core.policy import Share
from seatrial.core.snapshot import Freshness, Instant, Keeper, Maintenance, NodePhase, NodeSeen, Snapshot
from seatrial.core.steps import Orders, Step
from tests.builders import (
    NOW,
    a_fleet,
    a_gpu_pod,
    a_ledger,
    a_node,
    a_rebuff,
    a_snapshot,
    a_starting_driver,
    a_well_node,
    an_intent,
)

SMALL, LARGE = 100, 10_000
RACK = "example.com/rack"
AT_WORK = ("n00001", "n00002", "n00003")


def a_rollout_under_way(size: int, **intent: Any) -> tuple[Snapshot, Intent]:
    """Three at work as allowed, a few done, all others in line; every tenth is cordoned by somebody else."""
    wanted: dict[str, Any] = {"parallel_max": 3, "unavailable_max": "25%"}
    return a_snapshot(*some_nodes(size), admitted=a_ledger(*AT_WORK)), an_intent(**(wanted | intent))


@cache
def some_nodes(size: int) -> tuple[NodeSeen, ...]:
    nodes = [
        a_node(name, NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, driver=a_starting_driver(name))
        for name in AT_WORK
    ]
    for number in range(len(AT_WORK) + 1, size + 1):
        name = f"n{number:05}"
        facts: dict[str, Any] = {"labels": {RACK: f"r{number % 4}"}, "is_cordoned": number % 10 == 0}
        node = a_well_node(name, NodePhase.UPGRADE_DONE) if number < 10 else None
        nodes.append(node or a_node(name, NodePhase.UPGRADE_REQUIRED, pods=(a_gpu_pod(number),), **facts))
    return tuple(nodes)


# ── what a change costs ──────────────────────────────────────────────────────────────────────────────────────────────


def cordoned(fleet: Fleet, seen: Snapshot) -> None:
    node = seen.nodes["n00050"]
    fleet.update({"n00050": replace(node, facts=replace(node.facts, is_cordoned=not node.facts.is_cordoned))})


def ready_at_last(fleet: Fleet, seen: Snapshot) -> None:
    fleet.update({"n00002": replace(seen.nodes["n00002"], facts=a_well_node("n00002", is_cordoned=True).facts)})


def through(fleet: Fleet, seen: Snapshot) -> None:
    fleet.update({"n00002": a_well_node("n00002", NodePhase.UPGRADE_DONE)})


def failed(fleet: Fleet, seen: Snapshot) -> None:
    node = a_node("n00002", NodePhase.UPGRADE_FAILED, is_cordon_ours=True, record={"failed_revision": "new"})
    fleet.update({"n00002": node})


def gone(fleet: Fleet, seen: Snapshot) -> None:
    fleet.update({"n00050": None})


def come(fleet: Fleet, seen: Snapshot) -> None:
    fleet.update({"n00050-b": a_node("n00050-b", NodePhase.UPGRADE_REQUIRED)})


def turned_down(fleet: Fleet, seen: Snapshot) -> None:
    fleet.update(rebuffs={"n00002": a_rebuff()}, busy={"n00003": None})


def admitted(fleet: Fleet, seen: Snapshot) -> None:
    fleet.update(rollout=replace(seen.rollout, admitted=a_ledger(*AT_WORK[:2], "n00050")))


def nothing(fleet: Fleet, seen: Snapshot) -> None:
    fleet.update()


CHANGES = [cordoned, ready_at_last, through, failed, gone, come, turned_down, admitted, nothing]


class Count:
    """Counts the instructions of Python that run, and the steps that are taken."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.instructions = 0
        self.steps = 0
        taken = machine.step_node

        def step_node(node: NodeSeen, orders: Orders, now: Instant) -> Step:
            self.steps += 1
            return taken(node, orders, now)

        monkeypatch.setattr(definition, "step_node", step_node)

    def of(self, work: Callable[[], object]) -> tuple[int, int]:
        """How many instructions and steps a piece of work takes."""
        self.instructions = self.steps = 0
        before = sys.gettrace()
        sys.settrace(self._trace)
        try:
            work()
        finally:
            sys.settrace(before)
        return self.instructions, self.steps

    def _trace(self, frame: FrameType, event: str, _argument: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self.instructions += event == "opcode"
        return self._trace


def cost(count: Count, size: int, change: Callable[[Fleet, Snapshot], None], **intent: Any) -> tuple[int, int]:
    """What a change and the decision after it cost, and that it was the right one."""
    seen, wanted = a_rollout_under_way(size, **intent)
    fleet = Fleet(seen, wanted)
    fleet.moves(NOW)

    def change_and_decide() -> None:
        change(fleet, seen)
        fleet.moves(NOW + 1)

    return count.of(change_and_decide)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_costs_the_same_in_a_fleet_of_ten_thousand_as_in_one_of_a_hundred(
    change: Callable[[Fleet, Snapshot], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    count = Count(monkeypatch)
    small, large = cost(count, SMALL, change), cost(count, LARGE, change)
    # Sets of another size hand out their names in another order, which moves a comparison here and there.
    assert large[0] == pytest.approx(small[0], rel=0.02)
    assert large[1] == small[1] <= 4


@pytest.mark.parametrize("order", list(Order))
def test_nor_does_it_cost_more_by_racks_and_in_any_order(order: Order, monkeypatch: pytest.MonkeyPatch) -> None:
    count, floor = Count(monkeypatch), Domain(label=RACK, unavailable_max=Share.parse("30%"))
    small = cost(count, SMALL, through, order=order, domains=(floor,))
    large = cost(count, LARGE, through, order=order, domains=(floor,))
    assert large[0] == pytest.approx(small[0], rel=0.02)


def test_counting_notices_when_the_fleet_is_walked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    count = Count(monkeypatch)
    small, few = count.of(lambda: decide(*a_rollout_under_way(SMALL), NOW))
    large, many = count.of(lambda: decide(*a_rollout_under_way(4 * SMALL), NOW))
    assert (large > 3 * small, few, many) == (True, SMALL, 4 * SMALL)


def test_a_change_copies_nothing_that_grows_with_the_fleet() -> None:
    small, large = bytes_of_a_change(SMALL), bytes_of_a_change(LARGE)
    assert large - small < (LARGE - SMALL) * 8 / 2, "a list of the fleet has eight bytes for each node"


def bytes_of_a_change(node_count: int) -> int:
    """The most memory that one change takes; two are compared, since whoever measures the tests takes some, too."""
    seen, intent = a_rollout_under_way(node_count)
    fleet = Fleet(seen, intent)
    fleet.moves(NOW)
    tracemalloc.start()
    through(fleet, seen)
    fleet.moves(NOW + 1)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak_bytes


def test_time_that_passes_costs_only_those_who_are_due(monkeypatch: pytest.MonkeyPatch) -> None:
    count = Count(monkeypatch)
    seen, intent = a_rollout_under_way(SMALL, restart_timeout_seconds=200.0)
    fleet = Fleet(seen, intent)
    fleet.moves(NOW)
    assert count.of(lambda: fleet.moves(NOW + 99))[1] == 0
    assert count.of(lambda: fleet.moves(NOW + 100))[1] == len(AT_WORK)


# ── what random small fleets do not show ─────────────────────────────────────────────────────────────────────────────


def test_more_acts_than_a_pass_may_have_wait_for_the_next_and_those_that_go_are_of_now() -> None:
    nodes = (*a_fleet(ACTIONS_MAX + 40), a_well_node("z1", NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True))
    seen, intent = a_snapshot(*nodes, admitted=a_ledger("z1")), an_intent()
    fleet = Fleet(seen, intent)
    for now in (NOW, NOW + 7):
        assert fleet.decide(now) == decide(seen, intent, now)
    moves = fleet.moves(NOW + 9)
    acts = [action for action in moves.actions if isinstance(action, WriteNodeRecord)]
    assert isinstance(acts[0], Uncordon)
    assert {action.record.entered_at for action in acts} == {NOW + 9}
    assert (len(acts), moves.held[HoldCode.PASS_FULL], moves.wake_at) == (ACTIONS_MAX, 41, NOW + 9)


def test_acts_that_wait_for_another_pass_are_not_made_anew_in_each(monkeypatch: pytest.MonkeyPatch) -> None:
    count = Count(monkeypatch)
    fleet = Fleet(a_snapshot(*a_fleet(1000)), an_intent())
    fleet.moves(NOW)
    assert count.of(lambda: fleet.moves(NOW + 1))[1] == ACTIONS_MAX


def test_how_many_wait_for_what_is_known_without_anybodys_words() -> None:
    seen, intent = a_rollout_under_way(SMALL)
    assert Fleet(seen, intent).moves(NOW).held == {HoldCode.PARALLEL_LIMIT: 91, HoldCode.DRIVER_STARTING: 3}


def test_an_empty_fleet_waits() -> None:
    seen, intent = a_snapshot(), an_intent()
    fleet = Fleet(seen, intent)
    moves = fleet.moves(NOW)
    assert moves == Moves(actions=decide(seen, intent, NOW).actions)
    fleet.update({"n9": None})
    assert fleet.decide(NOW) == decide(seen, intent, NOW)


def test_what_is_handed_over_may_be_changed_afterwards() -> None:
    rebuffs, busy = {"n1": a_rebuff()}, {"n2": NOW + 5}
    seen, intent = a_snapshot(*a_fleet(3), rebuffs=rebuffs, busy=busy), an_intent()
    fleet, expected = Fleet(seen, intent), decide(seen, intent, NOW)
    rebuffs.clear()
    busy.clear()
    assert fleet.decide(NOW) == expected


def test_deadlines_that_move_with_every_pass_do_not_pile_up() -> None:
    seen, intent = a_rollout_under_way(20, is_paused=True)
    fleet = Fleet(seen, intent)
    for number in range(1000):
        fleet.update(attentive_since=NOW + number)
        fleet.moves(NOW + number)
    assert len(fleet._deadlines._heap) < 100


def test_an_act_of_the_moment_becomes_a_hold_when_its_time_is_over() -> None:
    pod = a_gpu_pod(offers_checkpoint=True, keeper=Keeper.NOBODY)
    node = a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, record={"is_saving": True}, pods=(pod,))
    seen, intent = a_snapshot(node, admitted=a_ledger("n1")), an_intent()
    fleet = Fleet(seen, intent)
    assert isinstance(fleet.moves(NOW).actions[-1], AskCheckpoint)
    saved_by = 900.0 + intent.checkpoint.timeout_seconds
    assert decide(seen, intent, saved_by).holds[0].code is HoldCode.POD_WITHOUT_CONTROLLER
    assert fleet.decide(saved_by) == decide(seen, intent, saved_by)


def test_clients_that_may_not_be_paused_are_given_up_when_their_time_is_over() -> None:
    label = "nvidia.com/gpu.deploy.dcgm"
    client = a_gpu_pod(keeper=Keeper.DAEMON_SET, deploy_label=label)
    node = a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=(client,), labels={label: "true"})
    blind = (Freshness(source="pods", is_synced=False, heard_at=NOW),)
    seen, intent = a_snapshot(node, admitted=a_ledger("n1"), freshness=blind), an_intent()
    fleet = Fleet(seen, intent)
    assert fleet.moves(NOW).held == {HoldCode.STALE_VIEW: 1}
    left_by = 900.0 + intent.policy.eviction.timeout_seconds
    assert decide(seen, intent, left_by).holds == ()
    assert fleet.decide(left_by) == decide(seen, intent, left_by)


def test_the_domain_that_has_begun_since_goes_first() -> None:
    intent = an_intent(parallel_max=2, unavailable_max=3, order=Order.DOMAIN_BY_DOMAIN, domains=(Domain(label=RACK),))
    waiting = [
        a_node(name, NodePhase.UPGRADE_REQUIRED, labels={RACK: rack})
        for name, rack in (("n1", "r1"), ("n2", "r1"), ("n3", "r2"), ("n4", "r2"))
    ]
    fleet = Fleet(a_snapshot(*waiting), intent)
    fleet.moves(NOW)
    begun = a_node("n4", NodePhase.CORDON_REQUIRED, labels={RACK: "r2"})
    seen = a_snapshot(*waiting[:3], begun, admitted=a_ledger("n4"))
    fleet.update({"n4": begun}, rollout=seen.rollout)
    expected = decide(seen, intent, NOW)
    assert [held.subject for held in expected.holds if held.code is HoldCode.LEDGER_PENDING] == ["n3"]
    assert fleet.decide(NOW) == expected


def test_a_clock_that_was_set_back_makes_deadlines_come_again() -> None:
    seen, intent = a_rollout_under_way(SMALL, restart_timeout_seconds=200.0)
    fleet = Fleet(seen, intent)
    for now in (NOW, NOW + 100, NOW + 50):
        assert fleet.decide(now) == decide(seen, intent, now)


def test_a_pod_that_may_be_asked_again_is_asked() -> None:
    node = a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=(a_gpu_pod(),))
    seen, intent = a_snapshot(node, admitted=a_ledger("n1"), rebuffs={"pod-0": a_rebuff(code="blocked")}), an_intent()
    fleet = Fleet(seen, intent)
    assert fleet.moves(NOW).held == {HoldCode.EVICTION_BLOCKED: 1}
    fleet.update(rebuffs={})
    assert isinstance(fleet.moves(NOW).actions[-1], EvictPods)


def test_a_node_that_changed_while_we_were_blind_is_not_taken_for_one_that_is_admitted() -> None:
    """Blind, the ledger stands as it is written, and an admission of an attempt that is over still counts."""
    blind, sighted = ((Freshness(source="nodes", is_synced=is_synced, heard_at=NOW),) for is_synced in (False, True))
    nodes = (
        a_node("n1", NodePhase.UPGRADE_REQUIRED, attempt=2),
        a_node("n3", NodePhase.UPGRADE_REQUIRED, is_cordoned=True),
    )
    seen, intent = a_snapshot(*nodes, admitted=a_ledger("n1"), freshness=blind), an_intent(unavailable_max=1)
    fleet = Fleet(seen, intent)
    assert fleet.decide(NOW) == decide(seen, intent, NOW)
    fleet.update(freshness=sighted)
    expected = decide(replace(seen, freshness=sighted), intent, NOW)
    assert [held.code for held in expected.holds] == [HoldCode.PARALLEL_LIMIT, HoldCode.LEDGER_PENDING]
    assert fleet.decide(NOW) == expected


def test_who_is_recalled_while_it_holds_gives_its_admission_back() -> None:
    leaving = Maintenance(
        namespace="default",
        name="nvidia-operator-n1",
        uid="m",
        resource_version="1",
        requestor="somebody",
        is_deleting=True,
    )
    held = a_node("n1", NodePhase.NODE_MAINTENANCE_REQUIRED, maintenance=leaving)
    seen = a_snapshot(held, a_node("n2", NodePhase.UPGRADE_DONE), admitted=a_ledger("n1"))
    intent = an_intent(requestor=Requestor(id="seatrial"), unavailable_max=1)
    fleet = Fleet(seen, intent)
    assert fleet.moves(NOW).held == {HoldCode.MAINTENANCE_PENDING: 1}
    cordoned = a_node("n2", NodePhase.UPGRADE_DONE, is_cordoned=True)
    fleet.update({"n2": cordoned})
    expected = decide(replace(seen, nodes={"n1": held, "n2": cordoned}), intent, NOW + 1)
    assert expected.holds == ()
    assert fleet.decide(NOW + 1) == expected
