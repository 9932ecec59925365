"""How a node stands towards a version: done means seen to be done, whoever moves it."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operators import Carrier, OperatorFacts, Pool
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.target import text_of
from seatrial.core.node.progress import (
    ANY,
    Progress,
    back_to,
    by_nvidias_word,
    by_our_record,
    carried,
    is_same,
    resource_of,
    runs,
    wants,
)
from tests.builders import (
    NEW,
    OLD,
    POLICY,
    a_done_node,
    a_new_driver,
    a_node,
    a_validator,
    a_well_node,
    an_old_node,
    an_operator,
)


@pytest.mark.parametrize(
    ("node", "found"),
    [
        (a_done_node(), Progress.DONE),
        (a_done_node(is_requested=True), Progress.AWAY),
        (a_done_node(driver=a_new_driver(is_ready=False)), Progress.AWAY),
        (a_well_node(), Progress.AWAY),
        (an_old_node(phase=NodePhase.UPGRADE_DONE), Progress.AWAY),
        (a_node(is_skipped=True), Progress.SKIPPED),
        (a_done_node(is_skipped=True), Progress.DONE),
        (a_node(phase=NodePhase.UPGRADE_REQUIRED), Progress.AWAY),
        (a_node(phase=NodePhase.DRAIN_REQUIRED), Progress.MOVING),
        (a_node(phase=NodePhase.UPGRADE_FAILED), Progress.FAILED),
    ],
)
def test_where_we_move_the_nodes_our_record_says_so_and_the_facts_agree(node: NodeSeen, found: Progress) -> None:
    assert by_our_record(node, NEW.version) is found


def labelled(state: str, **changes: Any) -> NodeSeen:
    return a_well_node(nvidia_state=state, **changes)


@pytest.mark.parametrize(
    ("node", "found"),
    [
        (labelled("upgrade-done"), Progress.DONE),
        (labelled("upgrade-done", validator=None), Progress.AWAY),
        (labelled("upgrade-done", validator=a_validator(is_ready=False)), Progress.AWAY),
        (labelled("", is_skipped=True), Progress.SKIPPED),
        (labelled("upgrade-required", is_skipped=True, skipped_by="spring"), Progress.AWAY),
        (labelled("upgrade-required"), Progress.AWAY),
        (labelled("drain-required"), Progress.MOVING),
        (labelled("upgrade-failed"), Progress.FAILED),
    ],
)
def test_where_nvidias_controller_moves_them_its_label_says_so_and_the_facts_agree(
    node: NodeSeen, found: Progress
) -> None:
    assert by_nvidias_word(node.facts, NEW.version) is found


def test_a_node_runs_a_version_when_its_driver_is_ready_and_wanted() -> None:
    assert runs(a_well_node().facts, NEW.version)
    assert not runs(a_node().facts, NEW.version)
    assert not runs(a_well_node(wanted=None).facts, NEW.version)
    assert not wants(a_node(wanted=DriverRevision(hash="x", version="")).facts, NEW.version)


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("580.105.08", "580.105.08", True),
        ("580.105.08", "570.124.06", False),
        ("", "", False),
        ("latest", "latest", False),
    ],
)
def test_what_cannot_be_read_is_the_same_as_nothing(one: str, other: str, found: bool) -> None:
    assert is_same(one, other) is found


def test_every_node_has_a_resource_that_says_which_driver_it_runs_unless_it_cannot_be_told() -> None:
    pooled = OperatorFacts(kind=POLICY, pools=(Pool(name="blue", claim=None),))  # type: ignore[arg-type]
    assert resource_of(a_node(owner="blue").facts, pooled) == "NVIDIADriver/blue"
    assert resource_of(a_node().facts, pooled) == ""
    assert resource_of(a_node().facts, an_operator()) == POLICY
    assert resource_of(a_node().facts, OperatorFacts()) == ANY


def test_a_resource_carries_what_it_says() -> None:
    assert carried(POLICY, an_operator(OLD.version)) == OLD.version
    assert carried("NVIDIADriver/blue", an_operator()) == ""


def test_the_way_back_leaves_each_part_that_somebody_wrote_after_us() -> None:
    def version(driver: str, toolkit: str) -> str:
        return text_of(driver, [(Component.CONTAINER_TOOLKIT, toolkit)])

    def back(driver: str, toolkit: str) -> str:
        carrier = Carrier(name=POLICY, version=driver, parts=((Component.CONTAINER_TOOLKIT.value, toolkit),))
        baseline = ((POLICY, version(OLD.version, "1.18.0")),)
        return dict(back_to(baseline, OperatorFacts(carriers=(carrier,)), version(NEW.version, "1.19.0")))[POLICY]

    assert back(NEW.version, "1.19.0") == version(OLD.version, "1.18.0")
    assert back(OLD.version, "1.18.0") == version(OLD.version, "1.18.0")
    assert back("590.44.01", "1.19.0") == version("590.44.01", "1.18.0")
    assert back(NEW.version, "1.20.0") == version(OLD.version, "1.20.0")
    assert back("", "1.19.0") == version(OLD.version, "1.18.0")
