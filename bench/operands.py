"""R, the overhead ratio of a rollout of operands alone, on the clock of the simulated cluster: T / max(max tᵢ, Σtᵢ/p).

T is the time from the new templates to the last node done; tᵢ is what node i needs, from the delete of its first
operand until its validator is Ready, one operand after the other; p is the parallel limit. The figure of the product:
20 nodes, 4 at a time, 5 s per operand, at most 1.05; and besides the deletes at most 10 writes per node. Nobody is
evicted. The loop is the real one, and so is what it writes; each write takes its time, and so does seeing it. Beside R
it tells the ratio to what the operands alone take, for tᵢ has our own writes between two operands in it. What it does
not show: an API server, kubelets, and what the loop itself computes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from bench.machine import keep, machine

from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import EvictPods, RestartPod
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Limits, Policy, Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operands import COMPONENTS
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.target import Target
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim.nodes import new_node
from seatrial.sim.operand_pods import carrying, with_operands
from seatrial.sim.world import DELAYS, Delay, World
from seatrial_lab.schedules.operands import AFTER, BEFORE

DRIVER = DriverRevision(hash="driver", version="580.105.08")
R_MAX, WRITES_MAX = 1.05, 10
PUBLISHED_AT = 100.0
WRITE_SECONDS = 0.05
"""How long a write takes until it is done and seen: about as long as bench.rollout finds between the word of a pod and
the next state of its node."""


class SlowWorld(World):
    """A simulated cluster in which a write takes a moment, and what was done when is noted."""

    def __init__(self, nodes: list[NodeSeen], intent: Intent, operand_seconds: float) -> None:
        same = dict.fromkeys(DELAYS, Delay(seconds=0.0))
        starting = dict.fromkeys(("operand starts", "validator passes"), Delay(seconds=operand_seconds))
        super().__init__(nodes, intent, delays={**same, **starting})
        self._flying: Counter[str] = Counter()
        self.writes: list[tuple[float, Action]] = []
        self.proven: dict[str, float] = {}
        self.done: dict[str, float] = {}
        self.watchers.append(self._on_change)

    def submit(self, action: Action) -> None:
        self._flying[action.subject] += 1
        self.writes.append((self.time, action))
        self.at(self.time + WRITE_SECONDS, lambda _world: self._land(action))

    def _land(self, action: Action) -> None:
        self._flying[action.subject] -= 1
        super().submit(action)

    def in_flight(self) -> frozenset[str]:
        return frozenset(+self._flying)

    def _on_change(self, before: NodeSeen, after: NodeSeen) -> None:
        was, is_now = before.facts.validator, after.facts.validator
        if is_now is not None and is_now.is_ready and (was is None or not was.is_ready):
            self.proven[after.name] = self.time
        if after.record is not None and after.record.phase is NodePhase.UPGRADE_DONE:
            self.done[after.name] = self.time


def main() -> int:
    """Measure, print, keep; 1 when a figure is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--operand-seconds", type=float, default=5.0)
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    args = parser.parse_args()
    result = measure(args.nodes, args.parallel, args.operand_seconds)
    print(json.dumps(result, indent=2))
    if not args.no_keep:
        path = keep(f"operands-{args.nodes}x{args.parallel}-{args.operand_seconds:g}s", result)
        print(f"bench: kept as bench/results/{path.name}", file=sys.stderr)
    return 0 if result["R"] <= R_MAX and result["writes_per_node_max"] <= WRITES_MAX else 1


def measure(node_count: int = 20, parallel: int = 4, operand_seconds: float = 5.0) -> dict[str, Any]:
    """One rollout, from the new templates to the last node."""
    world = SlowWorld(_nodes(node_count), _wish(parallel), operand_seconds)
    for name in world.nodes:
        world.at(PUBLISHED_AT, partial(_publish, name))
    ports = world.ports(_NoJournal())
    asyncio.run(run_forever(ports, Memory(0.0), on_report=_look, is_over=lambda _report: False))
    return result_of(world, parallel, operand_seconds)


def result_of(world: SlowWorld, parallel: int, operand_seconds: float) -> dict[str, Any]:
    """Everything that was measured, with how and where."""
    since = [(at, action) for at, action in world.writes if at >= PUBLISHED_AT and action.subject in world.nodes]
    deletes = [(at, action) for at, action in since if isinstance(action, RestartPod)]
    began = {action.node: at + WRITE_SECONDS for at, action in reversed(deletes)}
    own_seconds = [world.proven[name] - began[name] for name in world.nodes]
    floor_seconds = max(max(own_seconds), sum(own_seconds) / parallel)
    took_seconds = max(world.done.values()) - PUBLISHED_AT
    bare_seconds = len(BEFORE) * operand_seconds * -(-len(world.nodes) // parallel)
    writes = Counter(action.subject for _, action in since if not isinstance(action, RestartPod))
    return {
        "what": "overhead ratio R of a rollout of operands, on the clock of the simulated cluster",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "nodes": len(world.nodes),
        "parallel": parallel,
        "operands": [operand.value for operand in BEFORE],
        "operand_seconds": operand_seconds,
        "write_seconds": WRITE_SECONDS,
        "R": round(took_seconds / floor_seconds, 4),
        "R_to_operands_alone": round(took_seconds / bare_seconds, 4),
        "T_seconds": round(took_seconds, 3),
        "floor_seconds": round(floor_seconds, 3),
        "t_seconds": {"min": round(min(own_seconds), 3), "max": round(max(own_seconds), 3)},
        "deletes_per_node": round(len(deletes) / len(world.nodes), 2),
        "writes_per_node_max": max(writes.values()),
        "evictions": sum(isinstance(action, EvictPods) for _, action in since),
    }


def _nodes(count: int) -> list[NodeSeen]:
    nodes = (new_node(f"n{number:02}", running=DRIVER, wanted=DRIVER, gpu_pod_count=1) for number in range(count))
    return [replace(node, facts=with_operands(node.facts, BEFORE.items())) for node in nodes]


def _wish(parallel: int) -> Intent:
    limits = Limits(parallel_max=parallel, unavailable_max=Share(amount=100, is_percent=True))
    others = ((COMPONENTS[operand], text) for operand, text in AFTER.items())
    return Intent(rollout="bench", target=Target.of(DRIVER.version, *others), policy=Policy(limits=limits))


def _publish(name: str, world: World) -> None:
    parts = {COMPONENTS[operand].value: text for operand, text in AFTER.items()}
    world.change(name, lambda node: replace(node, facts=carrying(node.facts, parts)))


def _look(report: Report) -> None:
    if report.breaches:
        raise RuntimeError(f"{report.breaches[0]}")


class _NoJournal:
    def append(self, at: float, kind: str, fields: Any) -> None:
        """Forget."""


if __name__ == "__main__":
    sys.exit(main())
