"""What a rollout costs: the GPUs of the nodes in its ledger, for as long as they are in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget.losses import COUNT_LABEL, GPU, gpu_count, lost_gpu_seconds
from seatrial.core.decision.decide import decide
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.snapshot import Snapshot
from tests.builders import NOW, a_ledger, a_node, a_snapshot, an_intent

EIGHT = GpuOffer(resources=((GPU, 8), ("nvidia.com/mig-1g.10gb", 7)))


def out(name: str, **facts: Any) -> NodeSeen:
    """A node under way that offered eight GPUs before, and offers none now."""
    return a_node(name, NodePhase.POD_RESTART_REQUIRED, record={"before": EIGHT}, **facts)


def fleet(*nodes: NodeSeen, lost: float = 0.0, **changes: Any) -> Snapshot:
    """A fleet whose ledger was last written a hundred seconds ago."""
    seen = a_snapshot(*nodes, **changes)
    return replace(seen, rollout=replace(seen.rollout, summarised_at=NOW - 100, lost_gpu_seconds=lost))


@pytest.mark.parametrize(
    ("node", "count"),
    [
        (out("n1"), 8),
        (a_node("n1", offer=EIGHT), 8),
        (a_node("n1", labels={COUNT_LABEL: "4"}), 4),
        (a_node("n1", labels={COUNT_LABEL: "four"}), 1),
        (a_node("n1", claimable=8), 8),
        (a_node("n1", labels={COUNT_LABEL: "4"}, claimable=8), 4),
        (a_node("n1"), 1),
    ],
    ids=["offered before", "offered now", "labelled", "mislabelled", "in slices", "labelled and in slices", "unknown"],
)
def test_a_node_has_the_gpus_it_had_before_the_work(node: NodeSeen, count: int) -> None:
    assert gpu_count(node) == count


def test_who_is_in_the_ledger_costs_and_who_is_not_does_not() -> None:
    seen = fleet(out("n1"), out("n2"), a_node("n3", offer=EIGHT), admitted=a_ledger("n1", "n2"), lost=50.0)
    assert lost_gpu_seconds(seen, NOW) == 50 + 2 * 8 * 100
    assert lost_gpu_seconds(replace(seen, rollout=replace(seen.rollout, admitted=())), NOW) == 50


def test_a_node_that_is_gone_costs_nothing_any_more() -> None:
    assert lost_gpu_seconds(fleet(out("n1"), admitted=a_ledger("n1", "gone")), NOW) == 800


def test_a_ledger_of_which_nobody_knows_when_it_was_written_adds_nothing() -> None:
    seen = fleet(out("n1"), admitted=a_ledger("n1"), lost=7.0)
    assert lost_gpu_seconds(replace(seen, rollout=replace(seen.rollout, summarised_at=0.0)), NOW) == 7


def test_a_clock_that_went_back_takes_nothing_away() -> None:
    assert lost_gpu_seconds(fleet(out("n1"), admitted=a_ledger("n1"), lost=7.0), NOW - 500) == 7


def test_every_write_of_the_ledger_says_what_it_cost_until_then() -> None:
    seen = fleet(a_node("n1", NodePhase.UPGRADE_DONE), out("n2"), admitted=a_ledger("n1", "n2"), lost=3.0)
    (written,) = (act.record for act in decide(seen, an_intent(), NOW).actions if isinstance(act, WriteRolloutRecord))
    assert [admission.node for admission in written.admitted] == ["n2"]
    assert written.lost_gpu_seconds == 3 + 100 + 800
    after = replace(seen, rollout=written)
    assert lost_gpu_seconds(after, NOW) == written.lost_gpu_seconds
    assert lost_gpu_seconds(after, NOW + 10) == written.lost_gpu_seconds + 80
