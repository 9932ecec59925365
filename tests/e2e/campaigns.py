"""The stage of a campaign: the real GPU Operator, a Git remote with a matrix, gates that kwok runs, our controller."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from seatrial.core.model.seen.marks import BY_KEY
from seatrial_lab.testbed import controller_process, repositories, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.neighbours import gate_runs, operator, operator_drivers, syncer
from seatrial_lab.testbed.neighbours.engines import Engine, Place
from seatrial_lab.testbed.neighbours.git_server import GitServer
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked

OLD, NEW, BAD = "570.124.06", "570.172.08", "580.105.08"
PREFIX = "operator"
FLEET, CANARY = "fleet", "canary"
NODES = 6
BY_POOL = (
    operator_drivers.NvidiaDriver(name=CANARY, node_count=1, version=OLD),
    operator_drivers.NvidiaDriver(name=FLEET, node_count=NODES - 1, version=OLD),
)
KINDS: dict[str, tuple[operator_drivers.NvidiaDriver, ...]] = {"cluster-policy": (), "nvidia-driver": BY_POOL}
EACH_KIND = [pytest.param(kind, marks=pytest.mark.long if drivers else ()) for kind, drivers in KINDS.items()]
"""As fixtures take them: one kind in every run of the tests, the others are played by `make stories`."""
PUBLISHED, MATRIX = repositories.PUBLISHED, repositories.MATRIX
make_remote, matrix_of = repositories.make_remote, repositories.matrix_of
LEASE_SECONDS = 20
TIMEOUT_SECONDS = 150.0
Follow: TypeAlias = Callable[[ControlPlane, Place], AbstractContextManager[Engine]]
"""Has a real engine bring the published folder into the cluster."""


@dataclass(kw_only=True)
class Ground:
    """What every stage of a campaign has, and what is looked at and done there."""

    plane: ControlPlane
    history: History
    controller: ControllerProcess
    remote: Path
    work: Path
    kind: str
    rollout: str = ""
    timeout_seconds: float = TIMEOUT_SECONDS

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
            timeout_seconds=self.timeout_seconds,
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
        return repositories.commit(self.work, subject, **files)

    def remote_log(self) -> list[str]:
        """The subjects of the remote's branch, oldest first."""
        return repositories.subjects(self.remote)

    def tags(self) -> list[str]:
        shown = subprocess.run(
            ["git", "-C", str(self.remote), "tag", "--list"], capture_output=True, text=True, check=True
        )
        return shown.stdout.split()

    def matrix(self) -> str:
        return self.shown(MATRIX)

    def shown(self, path: str) -> str:
        """A file as the remote's branch has it."""
        shown = subprocess.run(
            ["git", "-C", str(self.remote), "show", f"main:{path}"], capture_output=True, text=True, check=True
        )
        return shown.stdout

    def start(self, name: str, target: str, commit: str, **spec: Any) -> None:
        self.rollout = name
        self.plane.apply([rollout_of(name, target, self.remote, commit, **spec)])

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return forked.run(*arguments, "--kubeconfig", str(self.plane.kubeconfig))


@dataclass(kw_only=True)
class Stage(Ground):
    """Where the story plays: beside the real GPU Operator."""

    beside: operator.GpuOperator
    gates: gate_runs.GateRuns
    engine: Engine | None = None
    """Who brings commits into the cluster, where it is a real one."""


def published_of(kind: str, version: str) -> str:
    if kind == "cluster-policy":
        return repositories.published_policy(version)
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


def pool_of(driver: operator_drivers.NvidiaDriver, node_count: int) -> operator_drivers.NvidiaDriver:
    """The same pool among so many nodes: one canary, the rest is the fleet."""
    return replace(driver, node_count=node_count - 1) if driver.name == FLEET else driver


@contextmanager
def staged(
    folder: Path,
    kind: str,
    *,
    node_count: int = NODES,
    is_synced: bool = True,
    has_network: bool = False,
    follow: Follow | None = None,
    pages: str = "",
    **changes: Any,
) -> Iterator[Stage]:
    """The operator with its nodes, a remote with a matrix that is synced into the cluster, and our controller.

    With `follow` a real engine does so instead of the stand-in, over HTTP."""
    remote, work = folder / "gpu-cluster.git", folder / "work"
    make_remote(remote, work)
    spec = operator.OperatorSpec(
        driver_version=OLD,
        prefix=PREFIX,
        node_count=node_count,
        drivers=tuple(pool_of(each, node_count) for each in KINDS[kind]),
        ready_seconds=0.5,
        **{"auto_upgrade": False, **changes},
    )
    with ControlPlane.start(folder / "plane") as plane:
        controller_process.install(plane)
        with operator.GpuOperator.start(plane, spec) as beside:
            beside.wait_ready()
            account = controller_process.identity(plane, "campaign", has_campaigns=True, has_network=has_network)
            controller = ControllerProcess(account, "", folder, lease_seconds=LEASE_SECONDS, pages=pages)
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
                with ExitStack() as following:
                    if follow is not None:
                        place = following.enter_context(served(remote))
                        made.engine = following.enter_context(follow(plane, place))
                    elif is_synced:
                        synced = syncer.Syncer(plane, remote=remote, folder=folder / "synced", path=PUBLISHED)
                        following.enter_context(synced)
                    following.enter_context(controller)
                    yield made


@contextmanager
def served(remote: Path) -> Iterator[Place]:
    """The published folder of a remote, over HTTP behind a login."""
    with GitServer(root=remote.parent) as server:
        path = str(Path(PUBLISHED).parent)
        url = f"{server.url}/{remote.name}"
        yield Place(url=url, path=path, username=server.username, password=server.password)


def left_behind(stage: Stage) -> list[str]:
    """What of a campaign is still on the nodes, for neighbours too."""
    ours, found = {"seatrial.dev/canary", "seatrial.dev/skipped-by", *BY_KEY}, []
    for name in stage.beside.nodes:
        meta = stage.plane.get("node", name)["metadata"]
        keys = [*meta.get("labels", {}), *meta.get("annotations", {})]
        found += [f"{name}: {key}" for key in keys if key in ours]
    return found
