"""How a gate's pod asks for GPUs: as it always did, or by a claim where a node gives them out through DRA only."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.campaign.proving import starting
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.gates.gate import Gate, in_words, is_by_claim
from seatrial.core.model.offers import GpuOffer
from tests.builders import NOW, SMOKE, a_campaign_record, a_node, a_snapshot, a_view, an_operator
from tests.builders import an_old_node as old_node
from tests.core.campaign.test_comparing import SPEED
from tests.core.campaign.test_evidence import canary, careful, course_of, seen_at

COUNTED = GpuOffer(resources=(("nvidia.com/gpu", 8),))
THROUGH_DRA: dict[str, Any] = {"published": ("580.105.8",), "offer": GpuOffer(resources=())}


@pytest.mark.parametrize(
    ("resources", "has_slices", "by_claim"),
    [
        (("nvidia.com/gpu",), False, False),
        (("nvidia.com/gpu",), True, False),
        ((), True, True),
        (("nvidia.com/mig-1g.10gb",), True, True),
        ((), False, False),
    ],
    ids=["device plugin", "both", "DRA", "DRA beside slices of the device plugin", "neither"],
)
def test_gpus_are_claimed_where_nobody_counts_them_and_they_are_published(
    resources: tuple[str, ...], has_slices: bool, by_claim: bool
) -> None:
    assert is_by_claim(resources, has_slices=has_slices) is by_claim


def test_a_node_says_which_way_its_gpus_are_had() -> None:
    assert a_node(**THROUGH_DRA).facts.gives_by_claim
    assert not a_node(published=("580.105.8",), offer=COUNTED).facts.gives_by_claim
    assert not a_node(offer=COUNTED).facts.gives_by_claim


@pytest.mark.parametrize("facts", [{"offer": COUNTED}, THROUGH_DRA], ids=["counted", "through DRA"])
def test_a_gate_of_a_canary_asks_as_the_canary_gives(facts: dict[str, Any]) -> None:
    record = a_campaign_record(RolloutPhase.GATING, round=1, round_at=NOW)
    nodes = (canary(**facts), a_node("n2"))
    record = course_of(seen_at(record, *nodes), careful()).record  # written down first
    course = course_of(seen_at(record, *nodes), careful())
    (probe,) = (act for act in course.acts if isinstance(act, StartProbe))
    assert (probe.gate, probe.node, probe.by_claim) == (SMOKE, "n1", facts is THROUGH_DRA)


def test_so_does_one_that_is_measured_before_the_upgrade() -> None:
    fleet = (old_node("n1", canary_of="spring", **THROUGH_DRA), old_node("n2", offer=COUNTED))
    record = a_campaign_record(RolloutPhase.CANARY)
    asked: dict[str, bool] = {}
    for _ in range(2):  # the round is written down first
        seen = a_snapshot(*fleet, campaign=record, operator=an_operator())
        course = course_of(seen, careful(gates=(SPEED,)))
        asked |= {act.node: act.by_claim for act in course.acts if isinstance(act, StartProbe)}
        record = course.record
    assert asked == {"n1": True, "n2": False}


@pytest.mark.parametrize("gate", [Gate(name="links", image="i", gpus=0), Gate(name="even", expression="true")])
def test_who_wants_no_gpu_claims_none(gate: Gate) -> None:
    view = a_view(seen_at(a_campaign_record(RolloutPhase.GATING), canary(**THROUGH_DRA)))
    assert not starting.probe(view, gate, "n1").by_claim


def test_the_words_say_which_way_was_taken() -> None:
    assert in_words(1, by_claim=False) == "1 GPU"
    assert in_words(8, by_claim=True) == "8 GPUs by a ResourceClaim"
    assert in_words(0, by_claim=True) == "0 GPUs"
