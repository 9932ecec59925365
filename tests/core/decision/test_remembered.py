"""What is reused of the pass before, and what is worked out anew: by counting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.campaign.course import plain
from seatrial.core.decision import turns
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.decision.remembered import Chosen, Common, PerNode, Remembered
from seatrial.core.model.campaign import Mode, RolloutPhase
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.node.writing import NOTHING
from tests.builders import (
    NEW,
    NOW,
    a_campaign,
    a_campaign_record,
    a_driver,
    a_fleet,
    a_gpu_pod,
    a_ledger,
    a_node,
    a_rebuff,
    a_snapshot,
    a_starting_driver,
    an_intent,
    an_old_node,
    an_operator,
    some_orders,
)

WAITING = NodePhase.UPGRADE_REQUIRED
AT_WORK: dict[str, Any] = {"phase": NodePhase.POD_RESTART_REQUIRED, "is_cordoned": True, "is_cordon_ours": True}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the nodes whose step was worked out, in the order of the asking."""
    names: list[str] = []
    real = turns._step

    def counted(node: NodeSeen, *args: object, **more: object) -> object:
        names.append(node.name)
        return real(node, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(turns, "_step", counted)
    return names


class Passes:
    """One pass after the other with a memory; each has to say what one without it says."""

    def __init__(self, asked: list[str]) -> None:
        self.asked, self.remembered = asked, Remembered()

    def look(self, seen: Snapshot, intent: Intent, now: float = NOW) -> list[str]:
        """Whose step was worked out."""
        del self.asked[:]
        found = decide(seen, intent, now, self.remembered)
        names = sorted(self.asked)
        assert found == decide(seen, intent, now)
        return names


@pytest.fixture
def passes(asked: list[str]) -> Passes:
    return Passes(asked)


def with_node(seen: Snapshot, node: NodeSeen) -> Snapshot:
    return replace(seen, nodes={**seen.nodes, node.name: node})


def a_common() -> Common:
    return Common(
        intent=an_intent(),
        attentive_since=0.0,
        stop=None,
        operator=OperatorFacts(),
        course=None,
        campaign=None,
        leaving=None,
    )


def a_told(**changes: Any) -> PerNode:
    nobody: frozenset[str] = frozenset()
    nothing = PerNode(admitted={}, recalled=nobody, rebuffs={}, busy={}, open=nobody, closed=nobody, marked=nobody)
    return replace(nothing, **changes)


def chose(node: NodeSeen, noted: list[str]) -> Chosen:
    noted.append(node.name)
    return NOTHING, NOTHING


def test_after_one_node_changed_one_step_is_worked_out(passes: Passes) -> None:
    seen = a_snapshot(*a_fleet(50, WAITING))
    assert len(passes.look(seen, an_intent())) == 50
    assert passes.look(seen, an_intent()) == []
    changed = with_node(seen, a_node("n7", WAITING, is_ready=False))
    assert passes.look(changed, an_intent()) == ["n7"]


def test_where_nvidias_controller_moves_the_nodes_it_is_the_same(passes: Passes) -> None:
    operator = an_operator(NEW.version, is_auto_upgrading=True)
    record = a_campaign_record(RolloutPhase.WAVING, mode=Mode.DELEGATED)
    kept_out: dict[str, Any] = {"nvidia_state": "upgrade-required", "is_skipped": True, "skipped_by": "spring"}
    nodes = [an_old_node(f"n{number}", wanted=NEW, **kept_out) for number in range(50)]
    intent = an_intent(campaign=a_campaign())
    seen = a_snapshot(*nodes, campaign=record, operator=operator)
    assert len(passes.look(seen, intent)) > 40
    assert passes.look(seen, intent) == []
    changed = with_node(seen, an_old_node("n7", wanted=NEW, is_ready=False, **kept_out))
    assert passes.look(changed, intent) == ["n7"]


def test_who_came_and_who_went_leave_the_others_alone(passes: Passes) -> None:
    seen = a_snapshot(*a_fleet(9, WAITING))
    passes.look(seen, an_intent())
    assert passes.look(with_node(seen, a_node("m", WAITING)), an_intent()) == ["m"]
    assert passes.look(seen, an_intent()) == []


def test_steps_stand_in_the_order_of_names_whoever_came_last() -> None:
    remembered, intent = Remembered(), an_intent()
    rows = []
    for names in (("n1", "n3"), ("n1", "n3", "n2"), ("n2", "n1")):
        seen = a_snapshot(*(a_node(name, WAITING) for name in names))
        orders = some_orders(intent=intent, admitted={})
        rows.append(list(turns.steps(seen, seen.nodes, orders, plain(), None, NOW, remembered)))
    assert rows == [["n1", "n3"], ["n1", "n2", "n3"], ["n1", "n2"]]


def test_a_step_that_acts_is_made_anew_for_it_carries_the_time(passes: Passes) -> None:
    seen = a_snapshot(*a_fleet(3, WAITING), a_node("m"))
    passes.look(seen, an_intent())
    assert passes.look(seen, an_intent(), NOW + 1) == ["m"]


def test_a_hold_counts_until_its_time_has_come(passes: Passes) -> None:
    node = a_node("n1", driver=a_starting_driver("n1"), entered_at=NOW, **AT_WORK)
    seen, intent = a_snapshot(node, admitted=a_ledger("n1")), an_intent(restart_timeout_seconds=60.0)
    passes.look(seen, intent)
    assert passes.look(seen, intent, NOW + 59) == []
    assert passes.look(seen, intent, NOW + 60) == ["n1"]


def test_a_clock_that_was_put_back_makes_everything_anew(passes: Passes) -> None:
    seen = a_snapshot(*a_fleet(3, WAITING))
    passes.look(seen, an_intent())
    assert len(passes.look(seen, an_intent(), NOW - 1)) == 3


def test_an_edit_or_a_pause_makes_everything_anew(passes: Passes) -> None:
    seen, intent = a_snapshot(*a_fleet(3, WAITING)), an_intent()
    passes.look(seen, intent)
    assert len(passes.look(seen, replace(intent, is_paused=True))) == 3
    assert len(passes.look(seen, replace(intent, failed_max=0))) == 3


def test_what_one_node_is_told_concerns_it_alone(passes: Passes) -> None:
    seen, intent = a_snapshot(*a_fleet(4, WAITING)), an_intent()
    first, second, *_ = sorted(seen.nodes)
    passes.look(seen, intent)
    assert passes.look(replace(seen, busy={first: NOW + 5}), intent) == [first]
    assert passes.look(replace(seen, rebuffs={second: a_rebuff()}), intent) == [first, second]
    ledger = replace(seen.rollout, admitted=a_ledger(first))
    assert first in passes.look(replace(seen, rollout=ledger), intent)


def test_who_is_called_back_is_asked_again_though_nothing_of_it_changed(passes: Passes) -> None:
    seen = a_snapshot(*a_fleet(4, WAITING), admitted=a_ledger("n1"))
    intent = an_intent(unavailable_max=1)
    passes.look(replace(seen, busy={"n1": None}), intent)
    passes.look(seen, intent)
    cordoned = with_node(seen, a_node("n4", NodePhase.CORDON_REQUIRED, is_cordoned=True))
    assert passes.look(cordoned, intent) == ["n1", "n4"]


@pytest.mark.parametrize("what", ["recalled", "open", "closed", "marked"])
def test_who_is_told_something_else_is_asked_again(what: str) -> None:
    nodes, remembered, chosen = a_snapshot(*a_fleet(3)).nodes, Remembered(), list[str]()
    for names in (frozenset[str](), frozenset({"n2"}), frozenset({"n2", "n3"})):
        chosen.clear()
        told = a_told(**{what: names})
        remembered.steps(nodes, a_common(), told, NOW, lambda node: chose(node, chosen))
    assert chosen == ["n3"]


def test_an_eviction_that_was_turned_down_concerns_the_node_of_the_pod(passes: Passes) -> None:
    pod = a_gpu_pod(1)
    node = a_node("n1", NodePhase.POD_DELETION_REQUIRED, is_cordoned=True, is_cordon_ours=True, pods=(pod,))
    seen = a_snapshot(node, *a_fleet(3)[1:], admitted=a_ledger("n1"))
    passes.look(replace(seen, busy={"n1": None}), an_intent())
    passes.look(seen, an_intent())
    found = passes.look(replace(seen, rebuffs={pod.uid: a_rebuff(code="blocked")}), an_intent())
    assert "n1" in found


def test_a_step_kept_back_by_a_stop_lasts_no_longer_than_the_step_itself(passes: Passes) -> None:
    """Its hold has no end of its own: what is kept back, an eviction, gives way to the end of the node's patience."""
    pod = a_gpu_pod(1)
    node = a_node(
        "n1",
        NodePhase.POD_DELETION_REQUIRED,
        is_cordoned=True,
        is_cordon_ours=True,
        pods=(pod,),
        entered_at=NOW,
        driver=a_driver("n1"),
    )
    seen, intent = a_snapshot(node, admitted=a_ledger("n1")), an_intent(is_paused=True)
    passes.look(seen, intent)
    assert passes.look(seen, intent, NOW + 10_000) == ["n1"]


def test_a_pass_that_did_not_come_to_its_end_leaves_nothing_behind(
    passes: Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = a_snapshot(*a_fleet(3, WAITING))
    passes.look(seen, an_intent())
    changed = with_node(seen, a_node("n2", WAITING, is_ready=False))

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    with monkeypatch.context() as patched:
        patched.setattr(turns, "_step", broken)
        with pytest.raises(RuntimeError):
            decide(changed, an_intent(), NOW, passes.remembered)
    assert len(passes.look(changed, an_intent())) == len(changed.nodes)


def test_a_lost_memory_changes_nothing() -> None:
    seen, intent = a_snapshot(*a_fleet(5, WAITING)), an_intent()
    remembered = Remembered()
    decisions: list[Decision] = [decide(seen, intent, NOW, remembered), decide(seen, intent, NOW, Remembered())]
    assert decisions == [decide(seen, intent, NOW, remembered), decide(seen, intent, NOW)]
