"""R, the overhead ratio of a rollout of operands alone: T / max(max tᵢ, Σtᵢ/p).

T is the time from the new templates to the last node done; tᵢ is what node i needs, from the delete of its first
operand until its validator is Ready, one operand after the other; p is the parallel limit. The figure of the product:
20 nodes, 4 at a time, 5 s per operand, at most 1.05; and besides the deletes at most 10 writes per node. Nobody is
evicted. Beside R it tells the ratio to what the operands alone take, for tᵢ has our own writes between two operands in
it. There are two clocks:

    python -m bench.operands             the simulated cluster's: the loop is the real one, and so is what it writes;
                                         each write takes its time. No API server, and what the loop computes is free.
    python -m bench.operands --cluster   the real control plane's, on simulated nodes: our controller as a process,
                                         real DaemonSets and their revisions, moments as seen on a watch. No kubelets.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from bench.machine import keep, machine, run
from bench.rollout import OLD, PREFIX, say, wait_settled

from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import EvictPods, RestartPod
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Limits, Policy, Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operands import APPS, COMPONENTS, ORDER, Operand
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.target import Target
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim.nodes import new_node
from seatrial.sim.operand_pods import carrying, with_operands
from seatrial.sim.world import DELAYS, Delay, World
from seatrial_lab.schedules.operands import AFTER, BEFORE
from seatrial_lab.schedules.schedules import NoJournal
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.nodes import manifests
from seatrial_lab.testbed.nodes.fleet import make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane

DRIVER = DriverRevision(hash="driver", version="580.105.08")
R_MAX, WRITES_MAX = 1.05, 10
PUBLISHED_AT = 100.0
DONE = NodePhase.UPGRADE_DONE.value
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
    parser.add_argument("--cluster", action="store_true", help="on the real control plane of the testbed")
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    args = parser.parse_args()
    if args.cluster:
        with tempfile.TemporaryDirectory(prefix="seatrial-bench-") as folder:
            result = measure_cluster(args.nodes, args.parallel, args.operand_seconds, Path(folder))
    else:
        result = measure(args.nodes, args.parallel, args.operand_seconds)
    print(json.dumps(result, indent=2))
    if not args.no_keep:
        where = "-cluster" if args.cluster else ""
        path = keep(f"operands{where}-{args.nodes}x{args.parallel}-{args.operand_seconds:g}s", result)
        print(f"bench: kept as bench/results/{path.name}", file=sys.stderr)
    is_met = result["R"] <= R_MAX and _writes(result) <= WRITES_MAX and result.get("in_order", True)
    return 0 if is_met else 1


def _writes(result: dict[str, Any]) -> float:
    """Writes per node besides the deletes: of the node with most, or on a real control plane their mean."""
    return float(result["writes_per_node" if "writes_per_node" in result else "writes_per_node_max"])


def measure(node_count: int = 20, parallel: int = 4, operand_seconds: float = 5.0) -> dict[str, Any]:
    """One rollout, from the new templates to the last node."""
    world = SlowWorld(_nodes(node_count), _wish(parallel), operand_seconds)
    for name in world.nodes:
        world.at(PUBLISHED_AT, partial(_publish, name))
    ports = world.ports(NoJournal())
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


# ── on the real control plane ────────────────────────────────────────────────────────────────────────────────────────

BY_OPERAND = {operand: app for app, operand in APPS.items()}


def measure_cluster(node_count: int, parallel: int, operand_seconds: float, folder: Path) -> dict[str, Any]:
    """One rollout by our controller on a real control plane, from the first new template to the last node."""
    with ControlPlane.start(folder / "plane") as plane:
        plane.load_nvidia_crds()
        controller_process.install(plane)
        say(f"making {node_count} nodes")
        spec = FleetSpec(prefix=PREFIX, node_count=node_count, driver_version=OLD, validator_seconds=operand_seconds)
        operands = [operand for operand in BEFORE if operand is not Operand.VALIDATOR]
        accounts = [manifests.service_account(BY_OPERAND[operand], spec.namespace) for operand in operands]
        make_fleet(plane, spec)
        plane.apply([*accounts, *_sets(spec, BEFORE)])
        plane.apply([_rollout(parallel)])
        account = controller_process.identity(plane, PREFIX)
        with History(plane, PREFIX) as history, ControllerProcess(account, PREFIX, folder) as controller:
            wait_settled(history, controller)
            history.wait_for(
                lambda: _ready_count(history) == node_count * len(BEFORE),
                what="every operand to run",
                timeout_seconds=120,
                check=controller.check,
            )
            asked_at = time.time()
            plane.apply(_sets(spec, AFTER))
            least_seconds = operand_seconds * len(AFTER) * node_count / parallel
            say(f"moving operands, at least {least_seconds:.0f} s by their own time alone")
            history.wait_for(
                lambda: all(len(found := history.states(name)) > 1 and found[-1] == DONE for name in history.latest()),
                what="every node to be done",
                timeout_seconds=least_seconds * 3 + 120,
                check=controller.check,
            )
        return cluster_result(plane, history, parallel, operand_seconds, asked_at)


def cluster_result(
    plane: ControlPlane, history: History, parallel: int, operand_seconds: float, asked_at: float
) -> dict[str, Any]:
    """Everything that was measured, with how and where. The first new template counts, by the API server's own time."""
    patches = (each for each in plane.requests("kubectl") if (each.verb, each.resource) == ("patch", "daemonsets"))
    moments = (datetime.fromisoformat(each.at).timestamp() for each in patches)
    published_at = min(at for at in moments if at >= asked_at)
    names = list(history.latest())
    own_seconds = [_own_seconds(history, name, published_at) for name in names]
    floor_seconds = max(max(own_seconds), sum(own_seconds) / parallel)
    ended_at = max(moment.at for moment in history.nodes() if moment.state == DONE)
    bare_seconds = len(AFTER) * operand_seconds * -(-len(names) // parallel)
    requests = Counter(
        f"{request.verb} {'/'.join(filter(None, (request.resource, request.subresource)))}"
        for request in plane.requests("seatrial")
        if datetime.fromisoformat(request.at).timestamp() >= published_at
    )
    deletes = requests["delete pods"]
    writes = {
        kind: count
        for kind, count in requests.items()
        if kind.split()[0] not in ("list", "watch", "get") and not kind.endswith((" events", " leases"))
    }
    return {
        "what": "overhead ratio R of a rollout of operands, on the real control plane",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "kubernetes": plane.status().versions,
        "nodes": len(names),
        "parallel": parallel,
        "operands": [operand.value for operand in AFTER],
        "operand_seconds": operand_seconds,
        "R": round((ended_at - published_at) / floor_seconds, 4),
        "R_to_operands_alone": round((ended_at - published_at) / bare_seconds, 4),
        "T_seconds": round(ended_at - published_at, 3),
        "floor_seconds": round(floor_seconds, 3),
        "t_seconds": {"min": round(min(own_seconds), 3), "max": round(max(own_seconds), 3)},
        "in_order": all(_is_in_order(history, name, published_at) for name in names),
        "requests": dict(sorted(requests.items())),
        "deletes_per_node": round(deletes / len(names), 2),
        "writes_per_node": round((sum(writes.values()) - deletes) / len(names), 2),
        "evictions": requests["create pods/eviction"],
    }


def _sets(spec: FleetSpec, versions: Mapping[Operand, str]) -> list[dict[str, Any]]:
    """The DaemonSets of the operands in these versions, OnDelete; the validator's is the fleet's own, as it began."""
    seconds, where = spec.validator_seconds, spec.namespace
    made = [
        manifests.governed_daemon_set(PREFIX, where, app=BY_OPERAND[operand], version=version, ready_seconds=seconds)
        for operand, version in versions.items()
        if operand is not Operand.VALIDATOR
    ]
    validator = manifests.validator_daemon_set(PREFIX, where, validator_seconds=seconds)
    validator["spec"]["updateStrategy"] = {"type": "OnDelete"}
    if versions is AFTER:
        container = validator["spec"]["template"]["spec"]["containers"][0]
        container["image"] = f"{container['image'].rpartition(':')[0]}:{AFTER[Operand.VALIDATOR]}"
    return [*made, validator]


def _ready_count(history: History) -> int:
    """How many operands are ready, over all nodes."""
    newest = {(pod.node, pod.app): pod for pod in history.pods() if pod.app in APPS}
    return sum(pod.is_ready and not pod.is_leaving for pod in newest.values())


def _own_seconds(history: History, node: str, since: float) -> float:
    """From the delete of a node's first operand until its new validator is Ready."""
    pods = [pod for pod in history.pods() if pod.node == node and pod.app in APPS and pod.at >= since]
    left_at = next(pod.at for pod in pods if pod.is_leaving or pod.is_gone)
    return _starts(history, node, since)[Operand.VALIDATOR][1] - left_at


def _starts(history: History, node: str, since: float) -> dict[Operand, tuple[float, float]]:
    """When the new pod of each operand was first seen on a node, and when it became Ready."""
    found: dict[Operand, tuple[float, float]] = {}
    for operand, version in AFTER.items():
        pods = [pod for pod in history.pods(BY_OPERAND[operand]) if pod.node == node and pod.at >= since]
        new = [pod for pod in pods if pod.image.endswith(f":{version}")]
        found[operand] = (new[0].at, next(pod.at for pod in new if pod.is_ready))
    return found


def _is_in_order(history: History, node: str, since: float) -> bool:
    """Whether each operand of a node was started once the one before it was Ready."""
    starts = [_starts(history, node, since)[operand] for operand in sorted(AFTER, key=ORDER.__getitem__)]
    return all(before[1] <= after[0] for before, after in itertools.pairwise(starts))


def _rollout(parallel: int) -> dict[str, Any]:
    parts = {COMPONENTS[operand].value: text for operand, text in AFTER.items()}
    spec = {
        "target": {"driver": OLD, **parts},
        "nodeSelector": {manifests.FLEET_LABEL: PREFIX},
        "limits": {"maxParallelUpgrades": parallel, "maxUnavailable": "100%"},
    }
    return {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout", "metadata": {"name": PREFIX}, "spec": spec}


if __name__ == "__main__":
    sys.exit(run(main))
