"""core/node/hearing.py: a driver goes only on word of pods that is newer than the node's closing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import RestartPod
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.decision.remembered import Remembered
from seatrial.core.holds import HoldCode
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.snapshot import STALE_SECONDS, Freshness, Snapshot
from seatrial.core.node.hearing import PATIENCE_SECONDS_PER_NODE, waited_for
from seatrial.core.promises.invariants import broken
from tests.builders import NEW, NOW, a_driver, a_ledger, a_node, a_snapshot, an_intent

CLOSED_AT = NOW - 10


def emptied(**changes: Any) -> NodeSeen:
    """A node that was closed a while ago, and of which nobody is seen any more: its driver is next."""
    record = {"old_pod": "driver-n1-0", "closed_at": CLOSED_AT} | changes.pop("record", {})
    fields: dict[str, Any] = {"driver": a_driver(uid="driver-n1-0"), "is_cordon_ours": True, "is_cordoned": True}
    return a_node(phase=NodePhase.POD_RESTART_REQUIRED, record=record, **(fields | changes))


def heard(node: NodeSeen, at: Instant, source: str = "pods") -> Snapshot:
    """A look at a node, when pods were last heard of then."""
    freshness = (
        Freshness(source="nodes", is_synced=True, heard_at=NOW),
        Freshness(source=source, is_synced=True, heard_at=at),
    )
    return a_snapshot(node, admitted=a_ledger("n1"), freshness=freshness)


def taken(decision: Decision) -> list[str]:
    """Whose driver is deleted."""
    acts = (act for act in decision.actions if isinstance(act, RestartPod))
    return [act.node for act in acts if act.operand is Operand.DRIVER]


def held(decision: Decision) -> list[HoldCode]:
    return [each.code for each in decision.holds if each.subject == "n1"]


@pytest.mark.parametrize("after", [0.0, 3.0])
def test_a_driver_goes_once_pods_were_heard_of_since_its_node_was_closed(after: float) -> None:
    assert taken(decide(heard(emptied(), CLOSED_AT + after), an_intent(), NOW)) == ["n1"]


def test_a_driver_stays_while_pods_were_last_heard_of_before_its_node_was_closed() -> None:
    decision = decide(heard(emptied(), CLOSED_AT - 1), an_intent(), NOW)
    assert (taken(decision), held(decision)) == ([], [HoldCode.PODS_UNHEARD])


def test_a_node_that_was_closed_again_waits_for_word_since_then() -> None:
    """Its driver manager opened it, a job came, and a hanging watch shows it empty when its version is taken back."""
    again = {"closed_at": NOW - 5, "reopened_count": 1, "has_lost_driver": True}
    decision = decide(heard(emptied(record=again), CLOSED_AT + 1), an_intent(), NOW)
    assert (taken(decision), held(decision)) == ([], [HoldCode.PODS_UNHEARD])


def test_where_somebody_else_closed_the_node_word_since_the_phase_began_is_needed() -> None:
    node = emptied(record={"closed_at": None})
    assert node.record is not None
    assert taken(decide(heard(node, node.record.entered_at - 1), an_intent(), NOW)) == []
    assert taken(decide(heard(node, node.record.entered_at), an_intent(), NOW)) == ["n1"]


@pytest.mark.parametrize(("heard_at", "gone"), [(NOW - 30, []), (NOW - 21, []), (NOW - 20, ["n1"]), (NOW, ["n1"])])
def test_a_node_that_was_closed_before_the_clock_was_put_back_waits_for_word_since_then(
    heard_at: Instant, gone: list[str]
) -> None:
    """By its record it is closed in an hour; until then no word of pods would have been new enough."""
    seen = replace(heard(emptied(record={"closed_at": NOW + 3600}), heard_at), put_back_at=NOW - 20)
    decision = decide(seen, an_intent(), NOW)
    assert taken(decision) == gone
    assert held(decision) == ([] if gone else [HoldCode.PODS_UNHEARD])
    assert broken(seen, an_intent(), decision) == ()


def test_a_node_that_somebody_with_another_clock_closed_waits_for_word_since_then() -> None:
    seen = heard(emptied(record={"closed_at": NOW + 3600}), NOW)
    assert taken(decide(seen, an_intent(), NOW)) == []


def test_a_node_that_was_closed_after_the_clock_was_put_back_waits_for_word_since_it_was_closed() -> None:
    seen = replace(heard(emptied(), CLOSED_AT - 1), put_back_at=NOW - 20)
    assert taken(decide(seen, an_intent(), NOW)) == []


def test_word_of_another_kind_says_nothing_about_pods_and_a_world_seen_whole_needs_none() -> None:
    assert taken(decide(heard(emptied(), NOW - STALE_SECONDS, source="claims"), an_intent(), NOW)) == ["n1"]


def test_a_restart_under_its_users_waits_for_no_word_of_them() -> None:
    same = a_driver(uid="driver-n1-0", digest="sha256:1")
    node = emptied(driver=same, wanted=replace(NEW, digest="sha256:1"), record={"is_restart_only": True})
    assert taken(decide(heard(node, CLOSED_AT - 1), an_intent(), NOW)) == ["n1"]


def test_the_wait_looks_again_soon_and_then_until_the_view_as_a_whole_is_too_old() -> None:
    closed_now = emptied(record={"closed_at": NOW})
    (first,) = [each for each in decide(heard(closed_now, NOW - 3), an_intent(), NOW).holds if each.subject == "n1"]
    assert first.until == NOW + PATIENCE_SECONDS_PER_NODE
    (later,) = [each for each in decide(heard(emptied(), NOW - 30), an_intent(), NOW).holds if each.subject == "n1"]
    assert (later.since, later.until) == (CLOSED_AT, NOW - 30 + STALE_SECONDS)


def test_who_waits_for_word_is_not_kept_waiting_by_what_the_pass_before_remembers() -> None:
    node, remembered = emptied(), Remembered()
    assert taken(decide(heard(node, CLOSED_AT - 1), an_intent(), NOW, remembered)) == []
    assert taken(decide(heard(node, CLOSED_AT + 1), an_intent(), NOW, remembered)) == ["n1"]


@pytest.mark.parametrize(("others", "seconds"), [(0, 0.001), (999, 1.0)])
def test_word_that_does_not_come_by_itself_is_asked_for_the_sooner_the_smaller_the_cluster(
    others: int, seconds: float
) -> None:
    for waited, streams in ((seconds * 0.5, set()), (seconds * 1.5, {"pods"})):
        closed_at = NOW - waited
        seen = heard(emptied(record={"closed_at": closed_at}), closed_at - 1)
        more = {f"x{number}": a_node(f"x{number}", phase=NodePhase.UPGRADE_DONE) for number in range(others)}
        seen = replace(seen, nodes={**seen.nodes, **more})
        assert waited_for(decide(seen, an_intent(), NOW).holds, seen, NOW) == streams


def test_nobody_is_asked_for_word_that_is_there() -> None:
    seen = heard(emptied(), NOW)
    assert waited_for(decide(seen, an_intent(), NOW).holds, seen, NOW) == set()
