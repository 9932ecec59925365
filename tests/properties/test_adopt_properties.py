"""Whatever a node was left like: adopted, our machine brings it to the target, and gives back what is the upgrade's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some

from seatrial.core.model.seen.nodes import NodePhase, NodeRecord, NodeSeen, RecordFault
from seatrial.core.model.seen.pods import DriverPod
from seatrial.core.node.phases import is_under_way
from seatrial.core.survey.adoption import cordons
from seatrial.core.survey.adoption import node as adopt
from seatrial.core.survey.adoption.traces import Trace, Traces, Whose, Wish
from seatrial.run.loop import run_forever
from seatrial.run.memory import Memory
from seatrial.sim.nodes import new_node
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent

STATES = ["", *(phase.value for phase in NodePhase), "pod-restart-requird"]
WISH = Wish(target=NEW.version, now=0.0)


class NoPages:
    """A journal that keeps nothing."""

    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        del at, kind, fields


def drivers(old: DriverPod) -> list[DriverPod]:
    """The driver of a node in every way it can be left, from one that runs the old version."""
    fresh = replace(old, uid=old.uid.replace("-0", "-1"), revision=NEW.hash, version=NEW.version)
    starting = replace(fresh, is_ready=False, ready_since=None)
    return [old, replace(old, is_terminating=True), fresh, starting, replace(starting, restart_count=12)]


@some.composite
def left(draw: Any) -> tuple[NodeSeen, Traces]:
    """One node, left by anybody in any way."""
    node = new_node("n1", running=OLD, wanted=NEW, gpu_pod_count=draw(some.integers(0, 2)))
    assert node.facts.driver is not None
    is_cordoned = draw(some.booleans())
    facts = replace(
        node.facts,
        driver=draw(some.sampled_from(drivers(node.facts.driver))),
        is_cordoned=is_cordoned,
        nvidia_state=draw(some.sampled_from(STATES)),
    )
    phase = draw(some.sampled_from([None, *NodePhase]))
    record = None
    if phase is not None:
        is_ours = is_cordoned and draw(some.booleans())
        record = NodeRecord(phase=phase, attempt=draw(some.integers(1, 3)), entered_at=0.0, is_cordon_ours=is_ours)
    fault = draw(some.sampled_from([None, RecordFault.UNREADABLE, RecordFault.EDITED]))
    seen = NodeSeen(facts=facts, record=None if fault is RecordFault.UNREADABLE else record, fault=fault)
    writer = draw(some.sampled_from(["", "gpu-operator", "driver-manager", "seatrial", "kubectl"]))
    noted = draw(some.sets(some.sampled_from([Trace.INITIAL_STATE, Trace.VALIDATION_TIMER])))
    return seen, Traces(cordoned_by=writer if is_cordoned else "", found=frozenset(noted))


def adopted(node: NodeSeen, traces: Traces) -> NodeSeen:
    """The node as its adoption leaves it."""
    write = adopt.classify(node, traces, WISH).write
    if write is None:
        return node
    is_mended = write.record is not None or Trace.LABEL in write.drops
    return replace(node, record=write.record or node.record, fault=None if is_mended else node.fault)


@settings(max_examples=150, deadline=None)
@given(left())
def test_an_adopted_node_ends_on_the_target_with_nobodys_cordon_but_somebodys(found: tuple[NodeSeen, Traces]) -> None:
    node, traces = found
    world = World([adopted(node, traces)], an_intent(unavailable_max=1))
    asyncio.run(
        run_forever(world.ports(NoPages()), Memory(world.time), on_report=lambda _: None, is_over=lambda _: False)
    )
    end = world.nodes["n1"]
    assert end.record is not None
    assert not is_under_way(end.record)
    assert end.record.phase is NodePhase.UPGRADE_DONE
    assert end.facts.driver is not None
    assert (end.facts.driver.version, end.facts.driver.is_ready) == (NEW.version, True)
    assert end.facts.is_cordoned is (cordons.whose_cordon(node, traces, WISH) is Whose.SOMEBODYS)
