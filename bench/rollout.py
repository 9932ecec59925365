"""R, the overhead ratio of a rollout on the real control plane: T / max(max tᵢ, Σtᵢ/p).

T is the time from the change of the driver DaemonSet to the last node done; tᵢ is what the environment itself needs on
node i, from the delete of its driver pod until driver and validator are Ready, both as seen on a watch; p is the
parallel limit. The result is kept in bench/results with date and machine. `make bench` runs the figure of the product:
20 nodes, 4 at a time, 20 s reload. With --real-nodes some of them have a real kubelet besides, and what each of those
needed is told apart. What it does not show: a real driver, GPU pods to evict, a network between us and the API server.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.machine import keep, machine, run

from seatrial.core.movers import driver_manager
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.building import operator_parts
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History, PodMoment
from seatrial_lab.testbed.nodes import manifests
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.real_node import node as real_node

OLD, NEW = "570.124.06", "580.105.08"
PREFIX = "bench"


def main() -> int:
    """Run one benchmark and keep its result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--real-nodes", type=int, default=0, help="nodes with a real kubelet besides; needs root (0)")
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--reload-seconds", type=float, default=20.0)
    parser.add_argument("--validator-seconds", type=float, default=1.0)
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="seatrial-bench-") as folder:
        result = measure(args, Path(folder))
    print(json.dumps(result, indent=2))
    if not args.no_keep:
        real = f"-{args.real_nodes}-real" if args.real_nodes else ""
        path = keep(f"rollout-{args.nodes}x{args.parallel}-{args.reload_seconds:g}s{real}", result)
        say(f"kept as bench/results/{path.name}")
    return 0


def measure(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One rollout, from the change to the last node."""
    with ControlPlane.start(folder / "plane") as plane:
        plane.load_nvidia_crds()
        controller_process.install(plane)
        real = tuple(f"{PREFIX}-real-{each:03}" for each in range(args.real_nodes))
        for name in real:
            real_node.start(plane, name, driver_versions=(OLD, NEW), say=say)
        say(f"making {args.nodes} nodes")
        spec = FleetSpec(
            prefix=PREFIX,
            node_count=args.nodes,
            driver_version=OLD,
            reload_seconds=args.reload_seconds,
            validator_seconds=args.validator_seconds,
            real_nodes=real,
        )
        fleet = make_fleet(plane, spec)
        plane.apply([rollout_of(args.parallel)])
        account = controller_process.identity(plane, PREFIX)
        with History(plane, PREFIX) as history, ControllerProcess(account, PREFIX, folder) as controller:
            wait_settled(history, controller)
            started_at = publish(plane, fleet)
            least_seconds = args.reload_seconds * fleet.spec.size / args.parallel
            say(f"upgrading, at least {least_seconds:.0f} s by the reload time alone")
            wait_upgraded(history, controller, timeout_seconds=least_seconds * 3 + 120)
            memory_kib = peak_memory_kib(controller.pid)
        return result_of(args, plane, history, started_at, memory_kib) | real_results(history, real, started_at)


def rollout_of(parallel: int) -> dict[str, Any]:
    """The rollout under measurement."""
    return {
        "apiVersion": "seatrial.dev/v1alpha1",
        "kind": "GPURollout",
        "metadata": {"name": PREFIX},
        "spec": {
            "target": {"driver": NEW},
            "nodeSelector": {manifests.FLEET_LABEL: PREFIX},
            "limits": {"maxParallelUpgrades": parallel, "maxUnavailable": "100%"},
        },
    }


def wait_settled(history: History, controller: ControllerProcess) -> None:
    """Every node was seen and found in order, so that the start is not part of what is measured."""
    history.wait_for(
        lambda: all(node.state == "upgrade-done" for node in history.latest().values()),
        what="the controller to have seen every node",
        timeout_seconds=120,
        check=controller.check,
    )


def publish(plane: ControlPlane, fleet: Fleet) -> float:
    """Change the driver's DaemonSet; the moment is the API server's own."""
    # Its driver manager leaves cordons alone: on a real node there is one.
    quiet = dict.fromkeys(driver_manager.SWITCHES, driver_manager.OFF) if fleet.spec.real_nodes else None
    fleet.set_driver_version(NEW, manager_env=quiet)
    patches = [
        request for request in plane.requests("kubectl") if request.verb == "patch" and request.resource == "daemonsets"
    ]
    return datetime.fromisoformat(patches[-1].at).timestamp()


def wait_upgraded(history: History, controller: ControllerProcess, *, timeout_seconds: float) -> None:
    """The last node is done."""
    history.wait_for(
        lambda: all(
            node.state == "upgrade-done" and "uncordon-required" in history.states(name)
            for name, node in history.latest().items()
        ),
        what="every node to be done",
        timeout_seconds=timeout_seconds,
        check=controller.check,
    )


def result_of(
    args: argparse.Namespace, plane: ControlPlane, history: History, started_at: float, memory_kib: int
) -> dict[str, Any]:
    """Everything that was measured, with how and where."""
    ended_at = max(moment.at for moment in history.nodes() if moment.state == "upgrade-done")
    own_seconds = [environment_seconds(history, name, started_at) for name in history.latest()]
    floor_seconds = max(max(own_seconds), sum(own_seconds) / args.parallel)
    waits_ms = [milliseconds for name in history.latest() for milliseconds in reaction_ms(history, name, started_at)]
    requests = Counter(
        f"{request.verb} {'/'.join(filter(None, (request.resource, request.subresource)))}"
        for request in plane.requests("seatrial")
        if datetime.fromisoformat(request.at).timestamp() >= started_at
    )
    writes = {kind: count for kind, count in requests.items() if kind.split()[0] not in ("list", "watch")}
    events = sum(count for kind, count in writes.items() if kind.endswith(" events"))
    leases = sum(count for kind, count in writes.items() if kind.endswith(" leases"))
    return {
        "what": "overhead ratio R of a rollout on the real control plane",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "kubernetes": plane.status().versions,
        "nvidia_definitions": operator_parts.find().release,
        "nodes": args.nodes,
        "parallel": args.parallel,
        "reload_seconds": args.reload_seconds,
        "validator_seconds": args.validator_seconds,
        "R": round((ended_at - started_at) / floor_seconds, 4),
        "T_seconds": round(ended_at - started_at, 3),
        "floor_seconds": round(floor_seconds, 3),
        "t_seconds": {"min": round(min(own_seconds), 3), "max": round(max(own_seconds), 3)},
        "pod_ready_to_next_state_ms": {
            "median": round(statistics.median(waits_ms), 1),
            "p99": round(sorted(waits_ms)[int(len(waits_ms) * 0.99)], 1),
            "max": round(max(waits_ms), 1),
        },
        "requests": dict(sorted(requests.items())),
        "writes_per_node": round((sum(writes.values()) - events - leases) / len(own_seconds), 2),
        "events_per_node": round(events / len(own_seconds), 2),
        "lease_renewals": leases,
        "reads_but_lists_and_watches": sum(count for kind, count in requests.items() if kind.startswith("get ")),
        "controller_peak_memory_mib": round(memory_kib / 1024, 1),
    }


def real_results(history: History, names: tuple[str, ...], started_at: float) -> dict[str, Any]:
    """What each real node needed, and its own R: from its cordon to its uncordon, over what the environment needs."""
    found = {name: real_result(history, name, started_at) for name in names}
    return {"real_nodes": found} if found else {}


def real_result(history: History, name: str, started_at: float) -> dict[str, float]:
    """The timings of one real node."""
    moments = [moment for moment in history.nodes() if moment.name == name and moment.at >= started_at]
    closed_at = next(moment.at for moment in moments if moment.is_cordoned)
    driver_at, validator_at = ready_at(history, name, started_at)
    opened_at = next(moment.at for moment in moments if moment.at > validator_at and not moment.is_cordoned)
    own_seconds = environment_seconds(history, name, started_at)
    return {
        "R": round((opened_at - closed_at) / own_seconds, 4),
        "t_seconds": round(own_seconds, 3),
        "driver_ready_to_uncordon_seconds": round(opened_at - driver_at, 3),
        "validator_ready_to_uncordon_seconds": round(opened_at - validator_at, 3),
    }


def environment_seconds(history: History, node: str, started_at: float) -> float:
    """From the delete of the driver pod until the new driver and its validator are Ready."""
    drivers = _of(history, manifests.DRIVER_APP, node, started_at)
    left_at = next(pod.at for pod in drivers if pod.is_leaving or pod.is_gone)
    return ready_at(history, node, started_at)[1] - left_at


def ready_at(history: History, node: str, started_at: float) -> tuple[float, float]:
    """When the new driver, and after it the validator, became Ready."""
    drivers = _of(history, manifests.DRIVER_APP, node, started_at)
    driver_at = next(pod.at for pod in drivers if pod.is_ready and NEW in pod.image)
    validators = _of(history, manifests.VALIDATOR_APP, node, driver_at)
    old = {pod.uid for pod in validators if pod.is_leaving or pod.is_gone}
    return driver_at, next(pod.at for pod in validators if pod.is_ready and pod.uid not in old)


def reaction_ms(history: History, node: str, started_at: float) -> tuple[float, float]:
    """How long after a pod became Ready the next state was written."""
    driver_at, validator_at = ready_at(history, node, started_at)
    states = [moment for moment in history.nodes() if moment.name == node and moment.at >= started_at]
    validating_at = next(moment.at for moment in states if moment.state == "validation-required")
    uncordoning_at = next(moment.at for moment in states if moment.state in ("uncordon-required", "upgrade-done"))
    return (validating_at - driver_at) * 1000, (uncordoning_at - validator_at) * 1000


def _of(history: History, app: str, node: str, since: float) -> list[PodMoment]:
    return [pod for pod in history.pods(app) if pod.node == node and pod.at >= since]


def peak_memory_kib(pid: int) -> int:
    """The most memory the controller ever held."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def say(text: str) -> None:
    """Progress, beside the data."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(run(main))
