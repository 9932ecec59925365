"""R of one campaign in both modes beside the same real GPU Operator, in one run: our machine, then NVIDIA's, woken.

A campaign goes there with automatic upgrades off (direct mode), another goes back with them on (delegated mode): one
canary, no gates, no bake, one wave with all the others. R is T / max(max tᵢ, Σtᵢ/p) of that wave: T from its opening
(as the rollout's history says) to the last node done, tᵢ from the delete of a node's driver pod until driver and
validator are Ready, as seen on a watch, p the parallel limit. What it does not show: a real kubelet, a real driver, GPU
pods to evict; and the operator that the testbed builds is of mid-2025, which the labels of feature discovery wake as
well (our own machine does not call a driver proven without them). SEATRIAL_GPU_OPERATOR names another.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.machine import keep, machine, run
from bench.pace import NEW, OLD, PREFIX, environment_seconds, most_under_way, quicken, say

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.neighbours import operator
from seatrial_lab.testbed.nodes import manifests
from seatrial_lab.testbed.plane.control_plane import ControlPlane

ACCOUNT = "modes"
QUICK = (manifests.VALIDATOR_APP, manifests.DEVICE_PLUGIN_APP, manifests.FEATURE_DISCOVERY_APP)
"""What starts after a driver and does not load one; a node of ours is done when all of it is back."""


def main() -> int:
    """Run both campaigns and keep their result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=17, help="one canary, and the wave")
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--reload-seconds", type=float, default=10.0)
    parser.add_argument("--validator-seconds", type=float, default=1.0)
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="seatrial-bench-") as folder:
        result = measure(args, Path(folder))
    print(json.dumps(result, indent=2))
    if not args.no_keep:
        path = keep(f"modes-{args.nodes}x{args.parallel}-{args.reload_seconds:g}s", result)
        say(f"kept as bench/results/{path.name}")
    return 0


def measure(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Both campaigns on one control plane."""
    spec = operator.OperatorSpec(
        auto_upgrade=True,
        prefix=PREFIX,
        driver_version=OLD,
        node_count=args.nodes,
        parallel_upgrades_max=args.parallel,
        ready_seconds=args.reload_seconds,
    )
    with ControlPlane.start(folder / "plane") as plane:
        controller_process.install(plane)
        account = controller_process.identity(plane, ACCOUNT, has_campaigns=True)
        say(f"making {args.nodes} nodes")
        with operator.GpuOperator.start(plane, spec) as beside:
            quicken(plane, beside, args, QUICK)
            with ControllerProcess(account, "", folder) as controller:
                beside.set_auto_upgrade(is_on=False)
                direct = campaign(plane, beside, controller, args, "direct", NEW)
                beside.set_auto_upgrade(is_on=True)
                delegated = campaign(plane, beside, controller, args, "delegated", OLD)
        return {
            "what": "overhead ratio R of a campaign's wave, moved by us and by NVIDIA's controller",
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "kubernetes": plane.status().versions,
            "gpu_operator": beside.release,
            "nodes_in_the_wave": args.nodes - 1,
            "parallel": args.parallel,
            "reload_seconds": args.reload_seconds,
            "validator_seconds": args.validator_seconds,
            "direct": direct,
            "delegated": delegated,
        }


def campaign(
    plane: ControlPlane,
    beside: operator.GpuOperator,
    controller: ControllerProcess,
    args: argparse.Namespace,
    mode: str,
    version: str,
) -> dict[str, Any]:
    """One campaign, from its proposal to its end."""
    say(f"a campaign to {version}, {mode}")
    label = keys.STATE_LABEL if mode == "direct" else keys.NVIDIA_STATE_LABEL
    with History(plane, PREFIX, state_label=label) as history:
        plane.apply([rollout_of(mode, version, args.parallel)])
        seconds = 300 + 120 * args.nodes / args.parallel
        waiting.wait_for(
            lambda: _phase(plane, mode, controller) == "Done",
            what=f"the campaign in {mode} mode to be done",
            timeout_seconds=seconds,
            pause_seconds=1.0,
            describe=lambda: json.dumps(plane.get("gpurollout", mode).get("status", {})),
        )
        status = plane.get("gpurollout", mode)["status"]
        turns = status["campaign"]["history"]
        opened_at = datetime.fromisoformat(next(turn["at"] for turn in turns if turn["phase"] == "Waving")).timestamp()
        names = [name for name in beside.nodes if name not in status["campaign"]["canaries"]]
        own_seconds = [environment_seconds(history, name, version, opened_at) for name in names]
        done = [moment for moment in history.nodes() if moment.name in names and moment.state == "upgrade-done"]
        ended_at = max(
            min(moment.at for moment in done if moment.name == name and moment.at > _restarted_at(history, name))
            for name in names
        )
    floor_seconds = max(max(own_seconds), sum(own_seconds) / args.parallel)
    return {
        "R": round((ended_at - opened_at) / floor_seconds, 3),
        "T_seconds": round(ended_at - opened_at, 1),
        "floor_seconds": round(floor_seconds, 1),
        "under_way_most": most_under_way(history),
    }


def _restarted_at(history: History, name: str) -> float:
    return max(
        moment.at for moment in history.nodes() if moment.name == name and moment.state == "pod-restart-required"
    )


def _phase(plane: ControlPlane, name: str, controller: ControllerProcess) -> str:
    controller.check()
    phase: str = plane.get("gpurollout", name).get("status", {}).get("phase", "")
    return phase


def rollout_of(mode: str, version: str, parallel: int) -> dict[str, Any]:
    """The campaign under measurement: nothing in it takes time of its own."""
    return {
        "apiVersion": keys.API_VERSION,
        "kind": "GPURollout",
        "metadata": {"name": mode},
        "spec": {
            "target": {"driver": version},
            "mode": mode,
            "canary": {"count": 1},
            "prepull": False,
            "bake": {"durationSeconds": 0, "everySeconds": 1},
            "waves": {"growth": "percentages", "percentages": [100]},
            "limits": {"maxParallelUpgrades": parallel, "maxUnavailable": "100%"},
        },
    }


if __name__ == "__main__":
    sys.exit(run(main))
