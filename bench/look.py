"""What a look costs: CPU seconds of `seatrial status`, `status -o json` and `why NODE` on the real control plane.

20 nodes in the middle of a rollout, paused so that every look sees the same; the controller runs beside it. Each
figure is user and system time of the whole process, from the start of the interpreter to its end, as the least and the
median of seven runs. CPU time on a machine where others work is longer than on a quiet one, so each result has what a
loop of three million turns took in the same minute. Aim: at most 0.6 s. What it does not show: a large cluster, a slow
network.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.machine import keep, machine, run
from bench.rollout import OLD, PREFIX, publish, rollout_of, wait_settled

from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.nodes.fleet import make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane

PARALLEL: Final = 4
RELOAD_SECONDS: Final = 5.0
PAUSE: Final = '{"spec": {"paused": true}}'
COUNT: Final = 7
LOOP: Final = "for _ in range(3_000_000): pass"
LOOKS: Final = {
    "status": ("status",),
    "status_json": ("status", "-o", "json"),
    "why": ("why", f"{PREFIX}-019"),
}


def main() -> int:
    """Run the benchmark and keep its result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20)
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="seatrial-bench-") as folder:
        result = measure(args.nodes, Path(folder))
    print(json.dumps(result, indent=2))
    if not args.no_keep:
        print(f"bench: kept as bench/results/{keep(f'look-{args.nodes}', result).name}", file=sys.stderr)
    return 0


def measure(nodes: int, folder: Path) -> dict[str, Any]:
    """Every look of LOOKS, in the middle of a paused rollout."""
    with ControlPlane.start(folder / "plane") as plane:
        plane.load_nvidia_crds()
        controller_process.install(plane)
        spec = FleetSpec(prefix=PREFIX, node_count=nodes, driver_version=OLD, reload_seconds=RELOAD_SECONDS)
        fleet = make_fleet(plane, spec)
        plane.apply([rollout_of(PARALLEL)])
        account = controller_process.identity(plane, PREFIX)
        with History(plane, PREFIX) as history, ControllerProcess(account, PREFIX, folder) as controller:
            wait_settled(history, controller)
            publish(plane, fleet)
            history.wait_for(
                lambda: any(node.state == "pod-restart-required" for node in history.latest().values()),
                what="a node to be under way",
                timeout_seconds=120,
                check=controller.check,
            )
            plane.kubectl("patch", "gpurollout", PREFIX, "--type=merge", "-p", PAUSE)
            waiting.wait_for(
                lambda: (
                    "paused"
                    in {each["code"] for each in plane.get("gpurollouts")["items"][0]["status"]["nodesWaiting"]}
                ),
                what="the pause to be written down",
                timeout_seconds=60,
            )
            looks = {name: cpu_of(("-m", "seatrial", *words), plane.kubeconfig) for name, words in LOOKS.items()}
        return {
            "what": "CPU seconds of a look on the real control plane",
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "kubernetes": plane.status().versions,
            "nodes": nodes,
            "loop_cpu_seconds": cpu_of(("-c", LOOP), plane.kubeconfig),
            "cpu_seconds": looks,
        }


def cpu_of(words: Sequence[str], kubeconfig: Path) -> dict[str, float]:
    """What a Python process needs to its end; the first run, which may write bytecode, is not counted."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    found = []
    for _ in range(COUNT + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, *words],
            stdout=subprocess.DEVNULL,
            check=False,
            env={**environment, "KUBECONFIG": str(kubeconfig)},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return {"least": round(min(found[1:]), 3), "median": round(statistics.median(found[1:]), 3)}


if __name__ == "__main__":
    sys.exit(run(main))
