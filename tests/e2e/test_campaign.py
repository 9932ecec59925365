"""From a matrix commit to the tag, and back: a campaign beside the real GPU Operator, with a real Git remote.

One fleet under a ClusterPolicy, one under two NVIDIADrivers; our controller moves the nodes (direct mode), publishes by
commits that a syncer brings into the cluster, and its gates are real Jobs whose pods kwok runs. First a rollout that
goes through, then one whose gate fails during the bake.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from seatrial.testbed import controller_process, gate_runs, operator, operator_drivers, syncer, waiting
from seatrial.testbed.control_plane import ControlPlane
from seatrial.testbed.controller_process import ControllerProcess
from seatrial.testbed.history import History

pytestmark = [pytest.mark.cluster, pytest.mark.operator]

OLD, NEW, BAD = "570.124.06", "570.172.08", "580.105.08"
PREFIX = "operator"
FLEET, CANARY = "fleet", "canary"
NODES = 6
BY_POOL = (
    operator_drivers.NvidiaDriver(name=CANARY, node_count=1, version=OLD),
    operator_drivers.NvidiaDriver(name=FLEET, node_count=NODES - 1, version=OLD),
)
KINDS: dict[str, tuple[operator_drivers.NvidiaDriver, ...]] = {"cluster-policy": (), "nvidia-driver": BY_POOL}
PUBLISHED, MATRIX = "cluster/gpu.yaml", "gpu-version-matrix.yaml"
LEASE_SECONDS = 4
TIMEOUT_SECONDS = 150.0


@dataclass(kw_only=True)
class Stage:
    """Where the story plays."""

    plane: ControlPlane
    beside: operator.GpuOperator
    history: History
    gates: gate_runs.GateRuns
    controller: ControllerProcess
    remote: Path
    work: Path
    kind: str
    rollout: str = ""
    starts: dict[str, float] = field(default_factory=dict)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.plane.get("gpurollout", self.rollout).get("status", {})
        return found

    def wait_phase(self, phase: str) -> None:
        self.wait(lambda: self.status().get("phase") == phase, f"{self.rollout} to be {phase}")

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        def look() -> bool:
            self.controller.check()
            return is_so()

        waiting.wait_for(
            look,
            what=what,
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.3,
            describe=lambda: json.dumps(self.status(), indent=1) + self.log(),
        )

    def log(self) -> str:
        return "\n".join(self.controller.log.read_text(encoding="utf-8").splitlines()[-15:])

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.work), *arguments], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commit(self, subject: str, **files: str) -> str:
        """A person's commit, pushed."""
        if self.git("ls-remote", "--heads", "origin", "main"):
            self.git("pull", "--quiet", "--rebase", "origin", "main")
        for path, text in files.items():
            (self.work / path).parent.mkdir(parents=True, exist_ok=True)
            (self.work / path).write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", subject)
        self.git("push", "--quiet", "origin", "HEAD:main")
        return self.git("rev-parse", "HEAD").strip()

    def remote_log(self) -> list[str]:
        """The subjects of the remote's branch, oldest first."""
        shown = subprocess.run(
            ["git", "-C", str(self.remote), "log", "--reverse", "--format=%s", "main"],
            capture_output=True,
            text=True,
            check=True,
        )
        return shown.stdout.splitlines()

    def tags(self) -> list[str]:
        shown = subprocess.run(
            ["git", "-C", str(self.remote), "tag", "--list"], capture_output=True, text=True, check=True
        )
        return shown.stdout.split()

    def matrix(self) -> str:
        shown = subprocess.run(
            ["git", "-C", str(self.remote), "show", f"main:{MATRIX}"], capture_output=True, text=True, check=True
        )
        return shown.stdout

    def start(self, name: str, target: str, commit: str, **spec: Any) -> None:
        self.rollout = name
        self.plane.apply([rollout_of(name, target, self.remote, commit, **spec)])

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "seatrial", *arguments, "--kubeconfig", str(self.plane.kubeconfig)]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def matrix_of(current: str, canary: str) -> str:
    return f"""# What runs, and what is next.
versions:
  current:
    gpu_operator: "v25.3.2"
    driver: "{current}"
    status: "production"
  canary:
    gpu_operator: "v25.3.2"
    driver: "{canary}"
    status: "testing"
"""


def published_of(kind: str, version: str) -> str:
    if kind == "cluster-policy":
        return f"""apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata:
  name: cluster-policy
spec:
  driver:
    version: "{version}"  # by the matrix
"""
    one = """apiVersion: nvidia.com/v1alpha1
kind: NVIDIADriver
metadata:
  name: {name}
spec:
  version: "{version}"
"""
    return "---\n".join(one.format(name=name, version=version) for name in (CANARY, FLEET))


def rollout_of(name: str, target: str, remote: Path, commit: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "seatrial.dev/v1alpha1",
        "kind": "GPURollout",
        "metadata": {"name": name},
        "spec": {
            "target": {"driver": target},
            "matrix": {"git": {"url": str(remote), "path": MATRIX, "commit": commit}, "entry": "canary"},
            "publish": {"via": "git", "git": {"path": PUBLISHED}},
            "canary": {"count": 1},
            "gates": [
                {"name": "smoke-train", "image": "nvcr.io/nvidia/pytorch:24.03-py3", "command": ["python", "train.py"]},
                {"name": "rdma", "image": "nvcr.io/nvidia/doca:2.9", "command": ["ibstat"], "gpus": 0},
            ],
            "bake": {"durationSeconds": 6, "everySeconds": 2},
            "waves": {"growth": "percentages", "percentages": [40, 100]},
            "limits": {"maxParallelUpgrades": 2, "maxUnavailable": 3},
            **spec,
        },
    }


@pytest.fixture(scope="module", params=KINDS)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The operator with six nodes, automatic upgrades off, a remote with a matrix, and our controller at work."""
    kind: str = request.param
    folder = tmp_path_factory.mktemp(f"campaign-{kind}")
    remote, work = folder / "gpu-cluster.git", folder / "work"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(remote)], check=True)
    subprocess.run(["git", "clone", "--quiet", str(remote), str(work)], check=True, capture_output=True)
    for key, value in (("user.name", "An Operator"), ("user.email", "ops@example.org")):
        subprocess.run(["git", "-C", str(work), "config", key, value], check=True)
    spec = operator.OperatorSpec(
        auto_upgrade=False, driver_version=OLD, prefix=PREFIX, node_count=NODES, drivers=KINDS[kind], ready_seconds=0.5
    )
    with ControlPlane.start(folder / "plane") as plane:
        controller_process.install(plane)
        with operator.GpuOperator.start(plane, spec) as beside:
            beside.wait_ready()
            account = controller_process.identity(plane, "campaign", has_campaigns=True)
            controller = ControllerProcess(account, "", folder, lease_seconds=LEASE_SECONDS)
            gates = gate_runs.GateRuns(plane, namespace="seatrial")
            with History(plane, PREFIX) as history, gates:
                made = Stage(
                    plane=plane,
                    beside=beside,
                    history=history,
                    gates=gates,
                    controller=controller,
                    remote=remote,
                    work=work,
                    kind=kind,
                )
                files = {MATRIX: matrix_of(OLD, OLD), PUBLISHED: published_of(kind, OLD)}
                made.commit("The cluster as it is", **files)
                with syncer.Syncer(plane, remote=remote, folder=folder / "synced", path=PUBLISHED), controller:
                    yield made


def test_a_matrix_commit_goes_through_canary_gates_bake_and_waves_to_the_tag(stage: Stage) -> None:
    commit = stage.commit(f"Try driver {NEW} on the canary", **{MATRIX: matrix_of(OLD, NEW)})
    stage.start("first", NEW, commit)
    stage.wait_phase("Done")

    assert set(stage.beside.driver_versions().values()) == {NEW}
    expected = [
        "The cluster as it is",
        f"Try driver {NEW} on the canary",
        f"Driver {NEW} for the canary {stage.beside.nodes[0]}",
        *([f"Driver {NEW} for the fleet"] if stage.kind == "nvidia-driver" else []),
        f"Promote driver {NEW} to production",
    ]
    assert stage.remote_log() == expected
    assert [tag.rpartition("-")[2] for tag in stage.tags()] == ["stable"]
    assert f'driver: "{NEW}"' in stage.matrix().partition("canary:")[0], "production has the new set"
    assert f'driver: "{OLD}"' in stage.matrix().partition("rollback")[2], "the set before it is the one to go back to"
    assert not left_behind(stage)
    canary = stage.beside.nodes[0]
    assert {run.node for run in stage.gates.runs} == {canary}
    assert {run.gate for run in stage.gates.runs} == {"smoke-train", "rdma"}
    assert max(run.round for run in stage.gates.runs) >= 3, "the bake asks the gates again"


def test_a_gate_that_fails_in_the_bake_reverts_everything_and_touches_nobody_else(stage: Stage) -> None:
    head, canary_key, rest = stage.matrix().partition("canary:")
    wanted = head + canary_key + rest.replace(f'"{NEW}"', f'"{BAD}"', 1)
    commit = stage.commit(f"Try driver {BAD} on the canary", **{MATRIX: wanted})
    why = "loss of 3.1 % against the nodes beside it"
    stage.gates.answer = lambda run: why if run.gate == "smoke-train" and run.round >= 3 else ""
    seen_before = len(stage.history.nodes())
    pods_before = {pod.uid for pod in stage.history.pods()}
    stage.start("second", BAD, commit)
    stage.wait_phase("Reverted")

    assert set(stage.beside.driver_versions().values()) == {NEW}
    canary = stage.beside.nodes[0]
    log = stage.remote_log()
    assert log[-3:] == [
        f"Driver {BAD} for the canary {canary}",
        f'Revert "Driver {BAD} for the canary {canary}"',
        f"Mark driver {BAD} as bad",
    ]
    assert "bad:" in stage.matrix().partition("canary:")[2]
    assert "smoke-train failed" in stage.matrix()
    assert len(stage.tags()) == 1
    moments = stage.history.nodes()[seen_before:]
    assert {moment.name for moment in moments if moment.is_cordoned} == {canary}
    assert {moment.state for moment in moments if moment.name != canary} <= {"upgrade-done"}
    new_pods = {pod.node for pod in stage.history.pods() if "driver" in pod.name and pod.uid not in pods_before}
    assert new_pods == {canary}, "no other node ever got another driver pod"
    assert not left_behind(stage)
    assert stage.status()["campaign"]["why"].startswith("gate smoke-train failed")


def left_behind(stage: Stage) -> list[str]:
    """What of a campaign is still on the nodes."""
    found = []
    for name in stage.beside.nodes:
        meta = stage.plane.get("node", name)["metadata"]
        keys = [*meta.get("labels", {}), *meta.get("annotations", {})]
        found += [f"{name}: {key}" for key in keys if key in ("seatrial.dev/canary", "seatrial.dev/skipped-by")]
    return found
