"""R of NVIDIA's own upgrade controller, with and without `seatrial pace` beside it, in one run.

Both upgrades go over the same nodes of the same real GPU Operator on a real control plane, one there and one back, with
gpu-feature-discovery off: its labels would wake an operator of the testbed's age, and wake none of today's. R is
T / max(max tᵢ, Σtᵢ/p): T from the change of the ClusterPolicy to the last node done, tᵢ from the delete of a node's
driver pod until driver and validator are Ready, both as seen on a watch, p the parallel limit. The product's figure is
that of 40 nodes, 8 at a time, 10 s reload. What it does not show: a real kubelet, a real driver, GPU pods to evict.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from bench.machine import keep, machine, run

from seatrial import manifests as shipped
from seatrial.adapters.kube.shapes import keys
from seatrial.core.node import phases
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.history import History, Moment, NodeMoment, PodMoment
from seatrial_lab.testbed.neighbours import operator
from seatrial_lab.testbed.nodes import manifests, stages
from seatrial_lab.testbed.plane.control_plane import ControlPlane

OLD, NEW = "570.124.06", "570.172.08"
PREFIX = "operator"
ACCOUNT = "pace"
LOG_LINES = {
    "begun": "Reconciling Upgrade",
    "failed_for_a_missing_pod": "Failed to build cluster upgrade state",
    "left_out_an_unbound_pod": "Driver Pod has no NodeName, skipping",
}
"""What the operator's controller says of its looks; each node left out lets one more begin than the limit."""


def main() -> int:
    """Run both upgrades and keep their result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--reload-seconds", type=float, default=10.0)
    parser.add_argument("--validator-seconds", type=float, default=1.0)
    parser.add_argument("--only-with", action="store_true", help="leave out the long run without it; nothing is kept")
    parser.add_argument("--folder", type=Path, help="keep the logs here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="seatrial-bench-") as folder:
        result = measure(args, args.folder or Path(folder))
    print(json.dumps(result, indent=2))
    if not args.only_with:
        path = keep(f"pace-{args.nodes}x{args.parallel}-{args.reload_seconds:g}s", result)
        say(f"kept as bench/results/{path.name}")
    return 0


def measure(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Both upgrades on one control plane."""
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
        account = identity(plane)
        say(f"making {args.nodes} nodes")
        with operator.GpuOperator.start(plane, spec) as beside:
            prepare(plane, beside, args)
            say("upgrading with seatrial pace beside the operator")
            with pacing(account, folder) as told:
                with_it = upgrade(plane, beside, args, NEW)
            with_it["pace"] = told
            result = {
                "what": "overhead ratio R of NVIDIA's upgrade controller, with and without seatrial pace",
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
                "machine": machine(),
                "kubernetes": plane.status().versions,
                "gpu_operator": beside.release,
                "nodes": args.nodes,
                "parallel": args.parallel,
                "reload_seconds": args.reload_seconds,
                "validator_seconds": args.validator_seconds,
                "with": with_it,
            }
            if not args.only_with:
                say("upgrading back without it")
                result["without"] = upgrade(plane, beside, args, OLD)
            return result


def identity(plane: ControlPlane) -> Path:
    """A kubeconfig with exactly the rights of the shipped manifest."""
    objects = [item for item in yaml.safe_load_all(shipped.pace()) if "rules" in item]
    by_kind = {item["kind"]: item["rules"] for item in objects}
    return plane.service_account(
        "seatrial",
        ACCOUNT,
        cluster_rules=by_kind["ClusterRole"],
        namespaced_rules={shipped.OPERATOR_NAMESPACE: by_kind["Role"]},
    )


def prepare(plane: ControlPlane, beside: operator.GpuOperator, args: argparse.Namespace) -> None:
    """Have everything ready, feature discovery off, and validators that are as quick as they are said to be."""
    off = {"spec": {"gfd": {"enabled": False}}}
    plane.kubectl("patch", "clusterpolicy", operator.CLUSTER_POLICY, "--type=merge", "-p", json.dumps(off))
    quicken(plane, beside, args)


def quicken(
    plane: ControlPlane,
    beside: operator.GpuOperator,
    args: argparse.Namespace,
    apps: tuple[str, ...] = (manifests.VALIDATOR_APP,),
) -> None:
    """Have everything ready, and these operands as quick as validators are said to be; else all take a reload."""
    beside.wait_ready(300)
    quick = {stages.READY_AFTER: f"{args.validator_seconds:g}s"}
    template = json.dumps({"spec": {"template": {"metadata": {"annotations": quick}}}})
    where = ("-n", operator.NAMESPACE)
    for app in apps:
        plane.kubectl("patch", "daemonset", app, *where, "--type=merge", "-p", template)
        plane.kubectl("delete", "pods", *where, "-l", f"app={app}", "--wait=false")
    for app in apps:
        rolled = ("rollout", "status", f"daemonset/{app}", *where, "--watch=false")
        waiting.wait_for(
            partial(_says, plane, rolled, "successfully rolled out"),
            what=f"a quick {app}",
            timeout_seconds=300,
            pause_seconds=1.0,
        )
    plane.kubectl("label", "nodes", "--all", f"{keys.SKIP_LABEL}=false")
    plane.kubectl("label", "nodes", "--all", f"{keys.SKIP_LABEL}-")
    done = dict.fromkeys(beside.nodes, "upgrade-done")
    waiting.wait_for(
        lambda: beside.upgrade_states() == done,
        what="the operator to have seen its nodes",
        timeout_seconds=180,
        pause_seconds=1.0,
    )


def _says(plane: ControlPlane, command: tuple[str, ...], text: str) -> bool:
    return text in plane.kubectl(*command)


@contextmanager
def pacing(account: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """`seatrial pace` as a process; afterwards what it said in the end."""
    told: dict[str, Any] = {}
    command = [sys.executable, "-m", "seatrial", "pace", "-o", "json", "--kubeconfig", str(account)]
    with (folder / "pace.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        try:
            yield told
        finally:
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=30)
            found = json.loads(said)
            told |= {key: value for key, value in found.items() if key not in ("nodes", "waits")}


def upgrade(
    plane: ControlPlane, beside: operator.GpuOperator, args: argparse.Namespace, version: str
) -> dict[str, Any]:
    """One upgrade by the operator's own controller, from the change to the last node."""
    began, log_bytes = time.time(), beside.log.stat().st_size
    with History(plane, PREFIX, state_label=keys.NVIDIA_STATE_LABEL) as history:
        progress = Progress()
        history.listen(progress.take)
        beside.set_driver_version(version)
        started_at = changed_at(plane)
        history.wait_for(
            lambda: len(progress.done) == args.nodes,
            what="every node to be done",
            timeout_seconds=180 + 300 * args.nodes / args.parallel,
        )
    said = beside.log.read_bytes()[log_bytes:].decode()
    looks = {name: said.count(words) for name, words in LOG_LINES.items()}
    return result_of(plane, history, args, version, started_at, began) | {"operator_looks": looks}


class Progress:
    """Who has gone the whole way; noted as it happens, so that watching costs the machine little."""

    def __init__(self) -> None:
        self._restarted: set[str] = set()
        self.done: set[str] = set()

    def take(self, moment: Moment) -> None:
        if isinstance(moment, NodeMoment) and moment.state == "pod-restart-required":
            self._restarted.add(moment.name)
        if isinstance(moment, NodeMoment) and moment.state == "upgrade-done" and moment.name in self._restarted:
            self.done.add(moment.name)


def changed_at(plane: ControlPlane) -> float:
    """When the ClusterPolicy was changed, by the API server's own account."""
    patches = [
        each for each in plane.requests("kubectl") if each.resource == "clusterpolicies" and each.verb == "patch"
    ]
    return datetime.fromisoformat(patches[-1].at).timestamp()


def result_of(
    plane: ControlPlane, history: History, args: argparse.Namespace, version: str, started_at: float, began: float
) -> dict[str, Any]:
    """Everything that was measured of one upgrade."""
    ended_at = max(moment.at for moment in history.nodes() if moment.state == "upgrade-done")
    own_seconds = [environment_seconds(history, name, version, started_at) for name in history.latest()]
    floor_seconds = max(max(own_seconds), sum(own_seconds) / args.parallel)
    requests = [each for each in plane.requests("") if datetime.fromisoformat(each.at).timestamp() >= began]
    counts = {
        who: Counter(f"{each.verb} {each.resource}" for each in requests if each.user.endswith(f":{who}"))
        for who in (operator.NAME, ACCOUNT)
    }
    return {
        "R": round((ended_at - started_at) / floor_seconds, 3),
        "T_seconds": round(ended_at - started_at, 1),
        "floor_seconds": round(floor_seconds, 1),
        "t_seconds": {"min": round(min(own_seconds), 2), "max": round(max(own_seconds), 2)},
        "under_way_most": most_under_way(history),
        "operator_requests_per_node": {
            kind: round(count / args.nodes, 1) for kind, count in counts[operator.NAME].most_common(6)
        },
        "pace_requests": dict(counts[ACCOUNT]),
    }


def environment_seconds(history: History, node: str, version: str, started_at: float) -> float:
    """From the delete of the driver pod until the new driver and a validator younger than it are Ready."""
    drivers = _of(history, manifests.DRIVER_APP, node, started_at)
    left_at = next(pod.at for pod in drivers if pod.is_leaving or pod.is_gone)
    driver_at = next(pod.at for pod in drivers if pod.is_ready and version in pod.image)
    validators = _of(history, manifests.VALIDATOR_APP, node, driver_at)
    old = {pod.uid for pod in validators if pod.is_leaving or pod.is_gone}
    return next((pod.at for pod in validators if pod.is_ready and pod.uid not in old), driver_at) - left_at


def _of(history: History, app: str, node: str, since: float) -> list[PodMoment]:
    return [pod for pod in history.pods(app) if pod.node == node and pod.at >= since]


def most_under_way(history: History) -> int:
    """The most nodes that were under way at any one moment."""
    return max(sum(_is_under_way(node) for node in fleet.values()) for fleet in history.fleets())


def _is_under_way(node: NodeMoment) -> bool:
    return node.state in phases.UNDER_WAY


def say(text: str) -> None:
    """Progress, beside the data."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(run(main))
