"""The table of the node machine: complete, connected, and with a way out of everything."""

from __future__ import annotations

import pytest

from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.node.phases import ENDED, NOT_STARTED, TRANSITIONS, is_under_way
from tests.builders import a_node

UNDER_WAY = frozenset(NodePhase) - NOT_STARTED - ENDED


def test_every_phase_has_a_row_in_the_table() -> None:
    assert set(TRANSITIONS) == {None, *NodePhase}


def test_every_phase_can_reach_done() -> None:
    reaching: set[NodePhase | None] = {NodePhase.UPGRADE_DONE}
    for _ in NodePhase:
        reaching |= {phase for phase, after in TRANSITIONS.items() if after & reaching}
    assert reaching == {None, *NodePhase}


def test_every_phase_can_be_reached() -> None:
    assert frozenset().union(*TRANSITIONS.values()) == set(NodePhase)


def test_a_node_is_cordoned_first_unless_somebody_else_does_it_or_nobody_has_to_leave() -> None:
    starts = {phase for phase in UNDER_WAY if phase in TRANSITIONS[NodePhase.UPGRADE_REQUIRED]}
    assert starts == {
        NodePhase.CORDON_REQUIRED,
        NodePhase.NODE_MAINTENANCE_REQUIRED,
        NodePhase.POD_RESTART_REQUIRED,
    }


def test_a_node_is_given_up_only_where_something_was_waited_for_in_vain() -> None:
    assert {phase for phase, after in TRANSITIONS.items() if NodePhase.UPGRADE_FAILED in after} == {
        NodePhase.POD_DELETION_REQUIRED,
        NodePhase.DRAIN_REQUIRED,
        NodePhase.NODE_MAINTENANCE_REQUIRED,
        NodePhase.POD_RESTART_REQUIRED,
        NodePhase.VALIDATION_REQUIRED,
    }


def test_once_the_driver_was_touched_the_only_way_to_done_is_a_proof() -> None:
    touched = {NodePhase.POD_RESTART_REQUIRED, NodePhase.VALIDATION_REQUIRED}
    assert {NodePhase.UPGRADE_DONE} & frozenset().union(*(TRANSITIONS[phase] for phase in touched)) == set()
    assert {phase for phase in touched if NodePhase.UNCORDON_REQUIRED in TRANSITIONS[phase]} == {
        NodePhase.VALIDATION_REQUIRED
    }


@pytest.mark.parametrize("phase", NodePhase)
def test_a_node_is_under_way_when_it_has_started_and_not_ended(phase: NodePhase) -> None:
    assert is_under_way(a_node(phase=phase).record) is (phase not in NOT_STARTED and phase not in ENDED)


def test_a_node_without_a_record_is_not_under_way() -> None:
    assert not is_under_way(None)
