"""What is missing before a rollout can be promoted."""

from __future__ import annotations

import pytest

from seatrial.app import promoting
from seatrial.core.model.campaign import Point, RolloutPhase
from seatrial.core.model.seen.nodes import NodePhase
from tests import builders
from tests.cli.test_rollout_tree import a_picture


@pytest.mark.parametrize(
    ("phase", "says"),
    [
        (RolloutPhase.PROPOSED, "it is in Proposed"),
        (RolloutPhase.BAKING, "the canary bakes"),
        (RolloutPhase.WAVING, "to go"),
        (RolloutPhase.REVERTED, "it is undone"),
    ],
)
def test_nothing_is_promoted_while_evidence_is_missing(phase: RolloutPhase, says: str) -> None:
    assert says in promoting.why_not(a_picture(phase))


def test_a_yes_is_all_that_is_missing_when_the_fleet_is_through() -> None:
    done = tuple(builders.a_well_node(name, NodePhase.UPGRADE_DONE) for name in ("n1", "n2"))
    picture = a_picture(RolloutPhase.WAVING, nodes=done, manual=(Point.PROMOTION,), record={"wave": 5})
    assert promoting.why_not(picture) == ""


def test_a_yes_is_all_that_is_missing_when_nodes_have_failed_at_the_end() -> None:
    failed = builders.a_node("n2", NodePhase.UPGRADE_FAILED, record={"failed_revision": builders.NEW.hash})
    done = builders.a_well_node("n1", NodePhase.UPGRADE_DONE)
    assert promoting.why_not(a_picture(RolloutPhase.PROMOTING, nodes=(done, failed), record={"wave": 5})) == ""
    assert promoting.why_not(a_picture(RolloutPhase.PROMOTING, nodes=(done,), record={"wave": 5})) != ""
