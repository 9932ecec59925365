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
