"""Which nodes lose our marks when seatrial goes, and which stay closed and are named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.model.seen.nodes import NodePhase, NodeSeen, RecordFault
from seatrial.core.node.phases import is_under_way
from seatrial.core.survey.adoption.giving_back import why_kept
from tests.builders import a_done_node, a_node

UNDER_WAY = [phase for phase in NodePhase if is_under_way(a_node(phase=phase).record)]


@pytest.mark.parametrize(
    "node",
    [
        a_node(),
        a_done_node(),
        a_node(phase=NodePhase.UPGRADE_REQUIRED),
        a_node(phase=NodePhase.UPGRADE_FAILED, is_cordoned=False),
        a_node(phase=NodePhase.UPGRADE_DONE, is_cordoned=True),
    ],
    ids=["never touched", "done", "waits", "failed and opened by somebody", "done, and closed by somebody"],
)
def test_our_marks_go(node: NodeSeen) -> None:
    assert why_kept(node) == ""


def test_a_failed_node_that_we_closed_stays_closed_and_says_how_to_open_it() -> None:
    node = a_node(phase=NodePhase.UPGRADE_FAILED, is_cordoned=True)
    assert node.record is not None
    why = why_kept(replace(node, record=replace(node.record, is_cordon_ours=True, reason="validation-timeout")))
    assert "not validated: validation-timeout" in why
    assert "kubectl uncordon n1" in why


@pytest.mark.parametrize("phase", UNDER_WAY)
def test_a_node_that_is_half_way_keeps_its_record(phase: NodePhase) -> None:
    assert f"half-way ({phase})" in why_kept(a_node(phase=phase))


@pytest.mark.parametrize("fault", RecordFault)
def test_a_record_that_contradicts_itself_is_left_to_people(fault: RecordFault) -> None:
    assert "its record" in why_kept(replace(a_done_node(), fault=fault, fault_text="it is not JSON"))
    assert "its record" in why_kept(replace(a_done_node(), fault=fault))
