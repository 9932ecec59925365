"""Workloads of Kueue in whole stories: suspended before their pods leave, and active again however the visit ended.

World has the pods, and Kueue that ends them; who switches Workloads on again looks at every change, as the controller's
resumer does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import KUEUE, AskCheckpoint, EvictPods
from seatrial.core.model.intent import Checkpoint, Intent
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.workloads import Suspended, due
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim.nodes import HEALTHY, Fate, new_node
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent

GONE_AT = 3600.0


class _NoJournal:
    def append(self, at: float, kind: str, fields: Any) -> None:
        """Forget."""


class Queued(World):
    """A World in which the marks on Workloads are kept, and those that are due are switched on at once."""

    def __init__(self, fate: Fate, *, intent: Intent) -> None:
        nodes = [new_node(name, running=OLD, wanted=NEW, gpu_pod_count=2) for name in ("n1", "n2")]
        super().__init__([_queued(node) for node in nodes], intent, fates={"n1": fate})
        self.off: dict[str, Suspended] = {}
        self.suspended: list[str] = []
        self.early: list[str] = []
        """Switched on while the node was visited still."""
        self.watchers.append(lambda _before, _after: self.resume())

    def execute(self, action: Action) -> Any:
        if isinstance(action, AskCheckpoint) and action.webhook == KUEUE:
            self.suspended.append(action.node)
            for pod in action.pods:
                name = Suspended(namespace=pod.namespace, name=pod.workload, node=action.node, token=action.token)
                self.off[name.full_name] = name
        return super().execute(action)

    def resume(self) -> None:
        for each in due(self.off.values(), self.nodes):
            node = self.nodes.get(each.node)
            if node is not None and node.record is not None and node.record.phase is NodePhase.POD_RESTART_REQUIRED:
                self.early.append(each.full_name)
            del self.off[each.full_name]


def _queued(node: NodeSeen) -> NodeSeen:
    pods = tuple(replace(pod, workload=f"job-{node.name}") for pod in node.facts.pods)
    return replace(node, facts=replace(node.facts, pods=pods))


def play(world: Queued, memory: Memory, is_over: Callable[[Report], bool] = lambda _report: False) -> list[Action]:
    acts: list[Action] = []

    def note(report: Report) -> None:
        assert not report.breaches, report.breaches[0]
        acts.extend(report.decision.actions if report.decision is not None else ())

    asyncio.run(run_forever(world.ports(_NoJournal()), memory, on_report=note, is_over=is_over))
    return acts


def wish(**changes: Any) -> Intent:
    return an_intent(parallel_max=2, unavailable_max=2, checkpoint=Checkpoint(kueue=True), **changes)


FATES = {
    "all goes well": HEALTHY,
    "its new driver does not work": Fate(cuda_fails_on=NEW.version),
    "Kueue does not end the pods": Fate(is_work_unsaved=True),
    "a pod hangs": Fate(is_pod_stuck=True),
}


@pytest.mark.parametrize("fate", FATES)
def test_what_was_suspended_for_a_visit_is_active_again_at_its_end_however_it_ends(fate: str) -> None:
    world = Queued(FATES[fate], intent=wish())
    acts = play(world, Memory(0.0), lambda _report: world.time > 48 * GONE_AT)
    assert set(world.suspended) == {"n1", "n2"}
    assert world.off == {}
    assert world.early == []
    evicted = {act.node for act in acts if isinstance(act, EvictPods)}
    assert evicted == ({"n1"} if fate == "Kueue does not end the pods" else set()), "who is ended is not evicted"


@pytest.mark.parametrize("passes", range(1, 40, 3))
def test_a_crash_after_any_pass_leaves_no_workload_off(passes: int) -> None:
    world, made = Queued(HEALTHY, intent=wish()), [0]

    def crash(_report: Report) -> bool:
        made[0] += 1
        return made[0] >= passes

    play(world, Memory(0.0), crash)
    play(world, Memory(world.time))
    assert world.off == {}
    assert {node.record.phase for node in world.nodes.values() if node.record} == {NodePhase.UPGRADE_DONE}


def test_a_node_that_is_taken_away_in_its_visit_keeps_no_workload_off() -> None:
    world = Queued(HEALTHY, intent=wish())
    play(world, Memory(0.0), lambda _report: "n1" in world.suspended)
    del world.nodes["n1"]
    world.resume()
    assert [each.node for each in world.off.values()] in ([], ["n2"])
