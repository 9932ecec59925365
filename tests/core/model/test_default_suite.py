"""A campaign that says no word about gates is asked what comes with seatrial, as far as its canaries can show it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.decision.decide import decide
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase, Watched
from seatrial.core.model.gates.default_suite import chosen, with_suite
from seatrial.core.model.gates.gate import READINESS, Gate, GateResult, GateVerdict
from seatrial.core.model.gates.suite import SUITE, WHOLE, LeftOut, Suite
from seatrial.core.model.intent import Intent
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.invariants import broken
from tests.builders import (
    NEW,
    NOW,
    a_campaign,
    a_campaign_record,
    a_done_node,
    a_measurement,
    a_node,
    a_snapshot,
    a_source,
    an_intent,
    an_old_node,
    an_operator,
)

IMAGE = "example.com/probes:1"
EIGHT = GpuOffer(resources=(("nvidia.com/gpu", 8),))
LINKED = {"feature.node.kubernetes.io/pci-15b3.present": "true"}
NO_LINKS = "shows no InfiniBand or RoCE device, neither by a label nor by a resource"


def facts(name: str = "n1", **changes: Any) -> NodeFacts:
    said: dict[str, Any] = {"offer": EIGHT, "labels": LINKED} | changes
    return a_node(name, **said).facts


def silent(image: str = IMAGE, **changes: Any) -> Intent:
    """A rollout that says no word about gates, and a controller with this image."""
    return an_intent(campaign=a_campaign(gates=(), suite_image=image, **changes))


def written(seen: Snapshot, intent: Intent) -> CampaignRecord:
    decision = decide(seen, intent, NOW)
    assert broken(seen, intent, decision) == ()
    records = [act.record.campaign for act in decision.actions if isinstance(act, WriteRolloutRecord)]
    assert len(records) == 1
    assert records[0] is not None
    return records[0]


def proposed(intent: Intent, **changes: Any) -> CampaignRecord:
    """What is written when the canary is chosen."""
    said: dict[str, Any] = {"offer": EIGHT, "labels": LINKED} | changes
    seen = a_snapshot(an_old_node(**said), campaign=a_campaign_record(), operator=an_operator(), source=a_source())
    return written(seen, intent)


def test_the_suite_is_chosen_with_the_canary_and_written_down() -> None:
    record = proposed(silent())
    assert (record.phase, record.suite) == (RolloutPhase.CANARY, Suite(image=IMAGE))


@pytest.mark.parametrize("image", ["", None], ids=["no image", "gates were named"])
def test_nothing_is_chosen_where_there_is_nothing_to_run_or_somebody_has_said_what(image: str | None) -> None:
    intent = an_intent(campaign=a_campaign(gates=(), suite_image=image))
    assert proposed(intent).suite is None


@pytest.mark.parametrize(
    ("node", "left_out"),
    [
        (facts(), ()),
        (facts(labels={}), (LeftOut(gate="rdma", node="n1", why=f"n1 {NO_LINKS}"),)),
        (
            facts(offer=GpuOffer(resources=(("nvidia.com/gpu", 1),))),
            (LeftOut(gate="multi-gpu", node="n1", why="n1 has one GPU"),),
        ),
        (
            facts(offer=GpuOffer(resources=(("nvidia.com/mig-1g.10gb", 7),))),
            tuple(
                LeftOut(gate=name, node="n1", why="n1 offers MIG slices, and no whole GPU")
                for name in ("distributed", "gpu-errors", "multi-gpu", "smoke-infer", "smoke-train")
            ),
        ),
        (facts(offer=GpuOffer()), ()),
    ],
    ids=["a whole node", "no links", "one GPU", "slices", "nothing on offer at the moment"],
)
def test_what_a_node_cannot_show_is_left_out_and_told(node: NodeFacts, left_out: tuple[LeftOut, ...]) -> None:
    assert chosen(IMAGE, [node]) == Suite(image=IMAGE, left_out=left_out)


def test_the_gates_are_those_of_the_suite_each_for_all_gpus_of_its_node() -> None:
    gates = with_suite(a_campaign(suite_image=""), CampaignRecord(canaries=("n1",), suite=Suite(image=IMAGE))).gates
    assert [gate.name for gate in gates] == [*SUITE, "multi-gpu"]
    assert [gate.on(8).gpus for gate in gates] == [8, 8, 0, 8, 8]
    assert [gate.on(0).gpus for gate in gates] == [1, 1, 0, 1, 1]
    assert {gate.image for gate in gates} == {IMAGE}
    assert next(gate for gate in gates if gate.name == "rdma").command == ("--expected",)


def test_a_gate_that_no_canary_can_show_is_none_of_the_campaign() -> None:
    left_out = (LeftOut(gate="rdma", node="n1", why="none"), LeftOut(gate="multi-gpu", node="n2", why="one GPU"))
    suite = Suite(image=IMAGE, left_out=left_out)
    campaign = a_campaign(suite_image="")
    alone = with_suite(campaign, CampaignRecord(canaries=("n1",), suite=suite))
    assert [gate.name for gate in alone.gates] == ["smoke-train", "smoke-infer", "gpu-errors", "multi-gpu"]
    both = with_suite(campaign, CampaignRecord(canaries=("n1", "n2"), suite=suite))
    assert [gate.name for gate in both.gates] == [*SUITE, "multi-gpu", "distributed"]


def test_whoever_names_gates_later_has_those() -> None:
    record = CampaignRecord(canaries=("n1",), suite=Suite(image=IMAGE))
    assert with_suite(a_campaign(), record) == a_campaign()


def gating(*left_out: LeftOut, canaries: tuple[str, ...] = ("n1", "n2"), **changes: Any) -> Snapshot:
    """Two canaries under their gates; n1 had eight GPUs before, n2 has one."""
    one = GpuOffer(resources=(("nvidia.com/gpu", 1),))
    record = a_campaign_record(
        RolloutPhase.GATING,
        round=1,
        round_at=900.0,
        canaries=canaries,
        suite=Suite(image=IMAGE, left_out=left_out),
        watched=(Watched(node="n1", before=EIGHT), Watched(node="n2", before=one)),
        **changes,
    )
    nodes = (
        a_done_node("n1", offer=EIGHT, canary_of="spring"),
        a_done_node("n2", offer=one, canary_of="spring"),
    )
    return a_snapshot(*nodes, campaign=record, operator=an_operator(NEW.version))


def test_each_canary_is_asked_what_it_can_show_on_as_many_gpus_as_it_had() -> None:
    seen = gating(LeftOut(gate="multi-gpu", node="n2", why="n2 has one GPU"))
    seen = replace(seen, rollout=replace(seen.rollout, campaign=written(seen, silent(""))))
    probes = [act for act in decide(seen, silent(""), NOW).actions if isinstance(act, StartProbe)]
    asked = {(probe.node, probe.gate.name): probe.gate.gpus for probe in probes}
    # One that wants all GPUs after the other: they would wait for each other, and the limit of each counts.
    assert asked == {("n1", "smoke-train"): 8, ("n1", "rdma"): 0, ("n2", "smoke-train"): 1, ("n2", "rdma"): 0}


def test_gates_for_some_gpus_of_a_node_take_turns_since_their_limits_count_while_they_queue() -> None:
    gates = (Gate(name="copy", image="example.com/copy:1", gpus=1), Gate(name="train", image="example.com/t:1", gpus=8))
    intent = an_intent(campaign=a_campaign(gates=(*gates, Gate(name="links", image="example.com/links:1", gpus=0))))
    seen = gating()

    def asked() -> set[tuple[str, str]]:
        known = replace(seen, rollout=replace(seen.rollout, campaign=written(seen, intent)))
        probes = (act for act in decide(known, intent, NOW).actions if isinstance(act, StartProbe))
        return {(probe.node, probe.gate.name) for probe in probes}

    assert asked() == {("n1", "copy"), ("n2", "copy"), ("n1", "links"), ("n2", "links")}
    seen = replace(seen, measurements=(a_measurement(gate="copy", node="n2"),))
    assert asked() == {("n1", "copy"), ("n2", "train"), ("n1", "links"), ("n2", "links")}


def test_the_next_gate_is_asked_when_the_one_before_it_has_answered() -> None:
    seen = gating(LeftOut(gate="multi-gpu", node="n2", why="n2 has one GPU"))
    for name in ("smoke-train", "smoke-infer", "gpu-errors"):
        measured = [a_measurement(gate=name, node=node) for node in ("n1", "n2")]
        seen = replace(seen, measurements=(*seen.measurements, *measured))
    seen = replace(seen, rollout=replace(seen.rollout, campaign=written(seen, silent(""))))
    probes = [act for act in decide(seen, silent(""), NOW).actions if isinstance(act, StartProbe)]
    asked = {(probe.node, probe.gate.name): probe.gate.gpus for probe in probes}
    assert asked == {("n1", "multi-gpu"): 8, ("n1", "rdma"): 0, ("n2", "rdma"): 0}


def test_a_round_is_complete_without_what_was_left_out() -> None:
    left_out = tuple(LeftOut(gate=name, node="n2", why="none") for name in WHOLE)
    suite = Suite(image=IMAGE, left_out=left_out)
    gates = with_suite(a_campaign(suite_image=""), CampaignRecord(canaries=("n1", "n2"), suite=suite)).gates
    results = [GateResult(gate=READINESS, node=node, round=1, verdict=GateVerdict.PASSED) for node in ("n1", "n2")]
    results += [
        GateResult(gate=gate.name, node="n1", round=1, verdict=GateVerdict.PASSED, asked=gate.mark) for gate in gates
    ]
    assert written(gating(*left_out, gates=tuple(results)), silent("")).phase is RolloutPhase.BAKING


def test_a_canary_that_takes_the_place_of_another_is_looked_at_before_its_upgrade() -> None:
    record = a_campaign_record(
        RolloutPhase.CANARY, suite=Suite(image=IMAGE, left_out=(LeftOut(gate="rdma", node="n1", why="none"),))
    )
    seen = a_snapshot(an_old_node("n2", offer=EIGHT), campaign=record, operator=an_operator(), source=a_source())
    after = written(seen, silent())
    assert after.canaries == ("n2",)
    assert after.suite is not None
    assert LeftOut(gate="rdma", node="n2", why=f"n2 {NO_LINKS}") in after.suite.left_out
