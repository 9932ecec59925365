"""GPUs that may stand idle because of us: counted by node, over the whole rollout, beside the other limits."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget import capacity, recall
from seatrial.core.budget.losses import COUNT_LABEL
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.intent import Domain, Intent
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.words import explain
from tests.builders import NOW, a_ledger, a_node, a_snapshot, an_intent


def waiting(name: str, gpus: int = 8, **labels: str) -> NodeSeen:
    return a_node(name, NodePhase.UPGRADE_REQUIRED, labels={COUNT_LABEL: str(gpus), **labels})


def allowing(idle: int | str | None, **changes: Any) -> Intent:
    return an_intent(parallel_max=0, unavailable_max="100%", idle_gpus_max=idle, **changes)


def let_in(decision: Decision) -> list[str]:
    records = [action.record for action in decision.actions if isinstance(action, WriteRolloutRecord)]
    return [admission.node for record in records for admission in record.admitted]


FOUR = tuple(waiting(f"n{number}") for number in range(1, 5))


@pytest.mark.parametrize(
    ("idle", "names"),
    [
        (None, ["n1", "n2", "n3", "n4"]),
        (16, ["n1", "n2"]),
        (17, ["n1", "n2"]),
        ("50%", ["n1", "n2"]),
        ("100%", ["n1", "n2", "n3", "n4"]),
    ],
)
def test_nodes_start_until_as_many_gpus_are_taken_as_may_stand_idle(idle: int | str | None, names: list[str]) -> None:
    assert let_in(decide(a_snapshot(*FOUR), allowing(idle), NOW)) == names


def test_a_small_node_starts_where_a_large_one_would_take_too_many() -> None:
    seen = a_snapshot(waiting("n1"), waiting("n2"), waiting("n3", gpus=2))
    assert let_in(decide(seen, allowing(10), NOW)) == ["n1", "n3"]


def test_who_is_in_the_ledger_counts_whatever_it_does() -> None:
    failed = a_node("n1", NodePhase.UPGRADE_FAILED, labels={COUNT_LABEL: "8"}, is_cordon_ours=True, is_cordoned=True)
    decision = decide(a_snapshot(failed, waiting("n2"), admitted=a_ledger("n1")), allowing(8), NOW)
    assert let_in(decision) in ([], ["n1"])
    assert hold("n2", HoldCode.IDLE_GPU_LIMIT, limit=8, taken=8, gpus=8, nodes="n1") in decision.holds


def test_who_is_cordoned_by_others_takes_nothing_from_the_limit() -> None:
    theirs = a_node("n1", NodePhase.UPGRADE_DONE, labels={COUNT_LABEL: "8"}, is_cordoned=True)
    assert let_in(decide(a_snapshot(theirs, waiting("n2")), allowing(8), NOW)) == ["n2"]


def test_a_unit_counts_as_a_whole() -> None:
    pair = (waiting("n1", rack="a"), waiting("n2", rack="a"))
    united = {"domains": (Domain(label="rack", is_unit=True),)}
    assert let_in(decide(a_snapshot(*pair), allowing(8, **united), NOW)) == []
    assert let_in(decide(a_snapshot(*pair), allowing(16, **united), NOW)) == ["n1", "n2"]


def test_a_limit_that_was_lowered_calls_back_who_is_not_cordoned_yet() -> None:
    nodes = {node.name: node for node in FOUR}
    ledger = a_ledger("n1", "n2")
    assert recall.recalled(ledger, capacity.budget_of(nodes, ledger, allowing(8))) == {"n1", "n2"}
    assert recall.recalled(ledger, capacity.budget_of(nodes, ledger, allowing(16))) == frozenset()


def test_a_limit_below_the_gpus_of_one_node_says_what_to_raise_it_to() -> None:
    [held] = decide(a_snapshot(waiting("n1")), allowing(4), NOW).holds
    assert "at most 4 GPUs may stand idle" in explain.why(held)
    assert "raise maxIdleGPUs, to 8 at least" in explain.next_step(held)
