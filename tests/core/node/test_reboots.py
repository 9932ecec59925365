"""A node that reboots while it is emptied: its driver manager opens it, and its visit begins anew."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from seatrial.core.actions.on_nodes import Cordon, WriteNodeRecord
from seatrial.core.holds import HoldCode
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.node.phases import BEFORE_THE_DRIVER, FailureCode
from seatrial.core.node.step import step_node
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim.nodes import HEALTHY, Fate, new_node, rebooted
from seatrial.sim.world import World
from tests.builders import NEW, NOW, OLD, a_gpu_pod, a_node, an_intent, some_orders

EMPTIED = [
    NodePhase.WAIT_FOR_JOBS_REQUIRED,
    NodePhase.POD_DELETION_REQUIRED,
    NodePhase.DRAIN_REQUIRED,
    NodePhase.POD_RESTART_REQUIRED,
]


def test_the_write_that_closes_a_node_notes_its_boot() -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED, boot_id="first")
    action = step_node(node, some_orders(), NOW).action
    assert isinstance(action, Cordon)
    assert action.record.boot_id == "first"


@pytest.mark.parametrize("phase", EMPTIED)
def test_a_node_that_a_reboot_opened_begins_a_new_attempt(phase: NodePhase) -> None:
    node = a_node(phase=phase, pods=(a_gpu_pod(),), boot_id="second", record={"boot_id": "first", "closed_at": 900.0})
    action = step_node(node, some_orders(), NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert (action.record.phase, action.record.attempt) == (NodePhase.UPGRADE_REQUIRED, 2)


def test_a_node_that_is_still_closed_after_a_reboot_goes_on() -> None:
    record = {"boot_id": "first", "closed_at": 900.0}
    node = a_node(phase=NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, boot_id="second", record=record)
    action = step_node(node, some_orders(), NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert action.record.phase is NodePhase.POD_RESTART_REQUIRED


@pytest.mark.parametrize("phase", [NodePhase.POD_DELETION_REQUIRED, NodePhase.POD_RESTART_REQUIRED])
def test_a_person_who_opens_the_node_is_named_as_the_reason_it_is_given_up(phase: NodePhase) -> None:
    record = {"boot_id": "first", "closed_at": 900.0}
    pods = () if phase is NodePhase.POD_RESTART_REQUIRED else (a_gpu_pod(),)
    node = a_node(phase=phase, pods=pods, boot_id="first", record=record)
    waiting = step_node(node, some_orders(), NOW).hold
    assert waiting is not None
    assert waiting.code is HoldCode.CORDON_LOST
    late = step_node(node, some_orders(), NOW + 10_000).action
    assert isinstance(late, WriteNodeRecord)
    assert (late.record.phase, late.record.reason) == (NodePhase.UPGRADE_FAILED, FailureCode.CORDON_LOST)
    assert FailureCode.CORDON_LOST in BEFORE_THE_DRIVER, "it says nothing about the version"


class _Silent:
    def append(self, at: float, kind: str, fields: object) -> None:
        """Forget."""


def test_a_node_that_reboots_while_it_is_emptied_is_upgraded_all_the_same() -> None:
    world = World(
        [new_node("n1", running=OLD, wanted=NEW, gpu_pod_count=1)],
        an_intent(),
        everybody=Fate(manager_env=()),
        fates={"n1": Fate(is_eviction_blocked=True)},
    )
    seen: set[NodePhase] = set()

    def reboot(it: World) -> None:
        record = it.nodes["n1"].record
        assert record is not None
        assert record.phase is NodePhase.POD_DELETION_REQUIRED
        it.change("n1", lambda node: replace(node, facts=rebooted(node.facts, it.time)))

    world.at(60.0, reboot)
    world.at(200.0, lambda it: it.change("n1", lambda node: replace(node, facts=replace(node.facts, pods=()))))
    world.at(300.0, lambda it: it.befall("n1", lambda _: HEALTHY))
    world.watchers.append(lambda _before, after: seen.add(after.record.phase) if after.record is not None else None)

    def look(report: Report) -> None:
        assert not report.breaches, report.breaches

    over = lambda _report: world.time > 6 * 3600.0  # noqa: E731
    asyncio.run(run_forever(world.ports(_Silent()), Memory(world.time), on_report=look, is_over=over))
    node = world.nodes["n1"]
    assert NodePhase.UPGRADE_FAILED not in seen
    assert node.record is not None
    assert node.record.phase is NodePhase.UPGRADE_DONE
    assert not node.facts.is_cordoned
    assert node.facts.driver is not None
    assert node.facts.driver.version == NEW.version
