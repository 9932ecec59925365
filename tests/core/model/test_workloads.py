"""Which Workloads of Kueue that we switched off are switched on again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.model.seen.nodes import NodePhase, NodeSeen, RecordFault
from seatrial.core.model.seen.workloads import Suspended, due
from tests.builders import a_node

TRAIN = Suspended(namespace="ml", name="job-train", node="n1", token="spring.n1.2")
VISITED = {
    NodePhase.WAIT_FOR_JOBS_REQUIRED,
    NodePhase.POD_DELETION_REQUIRED,
    NodePhase.DRAIN_REQUIRED,
    NodePhase.POD_RESTART_REQUIRED,
    NodePhase.VALIDATION_REQUIRED,
    NodePhase.UNCORDON_REQUIRED,
}


def at(phase: NodePhase, attempt: int = 2) -> NodeSeen:
    return a_node("n1", phase, attempt=attempt)


@pytest.mark.parametrize("phase", list(NodePhase))
def test_a_workload_stays_off_while_its_node_is_visited_and_no_longer(phase: NodePhase) -> None:
    expected = () if phase in VISITED else (TRAIN,)
    assert due((TRAIN,), {"n1": at(phase)}) == expected


def test_a_visit_that_failed_gives_it_back_as_well() -> None:
    assert due((TRAIN,), {"n1": at(NodePhase.UPGRADE_FAILED)}) == (TRAIN,)


def test_a_node_that_is_gone_or_lost_its_record_keeps_nobody_off() -> None:
    assert due((TRAIN,), {}) == (TRAIN,)
    assert due((TRAIN,), {"n1": replace(at(NodePhase.POD_RESTART_REQUIRED), record=None)}) == (TRAIN,)


def test_the_mark_of_an_earlier_attempt_counts_no_more() -> None:
    assert due((TRAIN,), {"n1": at(NodePhase.POD_DELETION_REQUIRED, attempt=3)}) == (TRAIN,)


def test_a_record_that_cannot_be_read_is_waited_for() -> None:
    torn = a_node("n1", fault=RecordFault.UNREADABLE)
    assert due((TRAIN,), {"n1": torn}) == ()


def test_the_other_nodes_do_not_matter() -> None:
    assert due((TRAIN,), {"n1": at(NodePhase.DRAIN_REQUIRED), "n2": a_node("n2")}) == ()
