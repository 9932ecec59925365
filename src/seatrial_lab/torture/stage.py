"""Where seeds of one mode play, one after the other: a control plane with its nodes, a Git remote, gates, and one play.

A play has a controller of its own, a way of its own to the API server, and a folder with what it said; the stage is
mended after it, or thrown away. Tests: bench/torture.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from seatrial.adapters.kube.shapes import keys
from seatrial.core.model.seen.marks import BY_KEY
from seatrial_lab.testbed import controller_process, disks, errors, repositories
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History
from seatrial_lab.testbed.neighbours import gate_runs, syncer
from seatrial_lab.testbed.nodes import manifests
from seatrial_lab.testbed.plane.again import Again
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.plane.restoring import RestorablePlane
from seatrial_lab.torture import inside
from seatrial_lab.torture.drawing import End, Schedule
from seatrial_lab.torture.moved import NEW, OLD, PARALLEL_MAX, POLICY, PREFIX, Moved, moved
from seatrial_lab.torture.table import Mode
from seatrial_lab.torture.way import BadWay

LEASE_SECONDS: Final = 12
GATE: Final = "smoke"
FAILS_FROM_ROUND: Final = 2
UNAVAILABLE_MAX: Final = 5
DISK_SIZE: Final = "24m"
MARKS: Final = frozenset({keys.CANARY_LABEL, keys.SKIPPED_BY_ANNOTATION, keys.SKIP_LABEL, *BY_KEY})
"""What a campaign puts on nodes, and takes off again."""


@dataclass(kw_only=True)
class Play:
    """One story that is being played."""

    stage: Stage
    schedule: Schedule
    folder: Path
    way: BadWay
    controller: ControllerProcess
    disk: Path | None
    running: str
    target: str
    subjects_before: tuple[str, ...]
    histories: list[History] = field(default_factory=list)
    """What was seen, one after the other: a cluster that is restored begins a new one."""

    @property
    def rollout(self) -> str:
        return f"torture-{self.schedule.name}"

    @property
    def wanted(self) -> str:
        """The driver that all nodes run at the end."""
        return self.target if self.schedule.end is End.DONE else self.running

    def status(self) -> dict[str, Any]:
        """The rollout's, as it is now; nothing where nobody answers."""
        with suppress(errors.KubectlFailed):
            found: dict[str, Any] = self.stage.plane.get("gpurollout", self.rollout).get("status", {})
            return found
        return {}

    def commits(self) -> list[str]:
        """The subjects of what was committed for this rollout."""
        return repositories.subjects(self.stage.remote)[len(self.subjects_before) :]

    def log(self) -> str:
        return self.controller.log.read_text(encoding="utf-8") if self.controller.log.exists() else ""

    def watch(self) -> None:
        """Begin a further history."""
        self.histories.append(History(self.stage.plane, PREFIX, state_label=self.stage.moved.state_label).__enter__())

    def watch_no_more(self) -> None:
        """End the last history; what it saw stays."""
        self.histories[-1].__exit__(None, None, None)

    def begin(self) -> None:
        """Make the rollout."""
        self.stage.plane.apply([rollout_of(self)])


@dataclass(kw_only=True)
class Stage:
    """A control plane with its nodes."""

    mode: Mode
    folder: Path
    restorable: RestorablePlane
    plane: ControlPlane
    moved: Moved
    account: Path
    gates: gate_runs.GateRuns
    synced: syncer.Syncer
    remote: Path
    work: Path

    def node_items(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.plane.get("nodes", "-l", f"{manifests.FLEET_LABEL}={PREFIX}")["items"]
        return found

    @contextmanager
    def opened(
        self, schedule: Schedule, *, lease_seconds: int = LEASE_SECONDS, arguments: Sequence[str] = ()
    ) -> Iterator[Play]:
        """Begin a story: nothing of the one before is left, and the controller runs."""
        folder = self.folder / f"play-{schedule.name}-{len(list(self.folder.iterdir()))}"
        folder.mkdir()
        running, target, subjects = self._lay_out(schedule)
        self.gates.answer = _failing if schedule.end is End.REVERTED else lambda _: ""
        with ExitStack() as stack:
            way = stack.enter_context(BadWay(self.account, authority=self.plane.authority))
            program = ("-m", "seatrial_lab.torture.inside", str(folder))
            controller = ControllerProcess(
                way.kubeconfig, "", folder, lease_seconds=lease_seconds, program=program, arguments=arguments
            )
            play = Play(
                stage=self,
                schedule=schedule,
                folder=folder,
                way=way,
                controller=controller,
                disk=_disk(stack, folder, controller) if _needs_disk(schedule) else None,
                running=running,
                target=target,
                subjects_before=tuple(subjects),
            )
            inside.set_clock(folder, 0.0)
            play.watch()
            stack.callback(play.watch_no_more)
            stack.callback(controller.stop)
            yield play

    def _lay_out(self, schedule: Schedule) -> tuple[str, str, list[str]]:
        (running,) = set(self.moved.versions().values())
        target = NEW if running == OLD else OLD
        if schedule.has_git:
            files = {
                repositories.MATRIX: f"# {schedule.name}\n{repositories.matrix_of(running, target)}",
                repositories.PUBLISHED: repositories.published_policy(running),
            }
            repositories.commit(self.work, f"Try driver {target} for {schedule.name}", **files)
            return running, target, repositories.subjects(self.remote)
        self._disown(running)
        return running, target, []

    def mend(self) -> None:
        """Take away what a story left that went well: its rollout, its Jobs, the records of nodes."""
        (running,) = set(self.moved.versions().values())
        controller_process.remove_rollouts(self.plane)
        self.plane.kubectl("delete", "jobs", "--all", "-n", keys.HOME, "--wait=false")
        which = ("-l", f"{manifests.FLEET_LABEL}={PREFIX}")
        self.plane.kubectl("annotate", "nodes", *which, f"{keys.RECORD_ANNOTATION}-")
        self.plane.kubectl("label", "nodes", *which, f"{keys.STATE_LABEL}-")
        self._disown(running)

    def _disown(self, version: str) -> None:
        """Let the ClusterPolicy say what runs, and belong to nobody: what an engine manages is published by commits."""
        bodies: tuple[dict[str, Any], ...] = (
            {"metadata": {"managedFields": [{}]}},
            {"spec": {"driver": {"version": version}}},
        )
        for body in bodies:
            self.plane.kubectl("patch", "clusterpolicy", POLICY, "--type=merge", "-p", json.dumps(body))


@contextmanager
def staged(folder: Path, mode: Mode, *, node_count: int) -> Iterator[Stage]:
    """A stage for this mode, until the context ends."""
    folder.mkdir(parents=True)
    remote, work = folder / "gpu-cluster.git", folder / "work"
    repositories.make_remote(remote, work)
    published = {repositories.MATRIX: repositories.matrix_of(OLD, OLD)}
    published[repositories.PUBLISHED] = repositories.published_policy(OLD)
    repositories.commit(work, "The cluster as it is", **published)
    with ExitStack() as stack:
        restorable = stack.enter_context(RestorablePlane(folder / "plane", has_kubelets=True))
        plane = restorable.plane
        controller_process.install(plane)
        nodes = stack.enter_context(moved(plane, mode, node_count))
        gates = gate_runs.GateRuns(plane, namespace=keys.HOME)
        stack.enter_context(Again("gates", gates.look))
        where = folder / "synced"
        synced = syncer.Syncer(plane, remote=remote, folder=where, path=repositories.PUBLISHED)
        stack.enter_context(synced).poke()
        account = controller_process.identity(plane, PREFIX, has_campaigns=True)
        yield Stage(
            mode=mode,
            folder=folder,
            restorable=restorable,
            plane=plane,
            moved=nodes,
            account=account,
            gates=gates,
            synced=synced,
            remote=remote,
            work=work,
        )


def rollout_of(play: Play) -> dict[str, Any]:
    """The campaign of a story: little of it takes time of its own."""
    stage, schedule = play.stage, play.schedule
    spec: dict[str, Any] = {
        "target": {"driver": play.target},
        "mode": schedule.mode.value,
        "nodeSelector": {manifests.FLEET_LABEL: PREFIX},
        "canary": {"count": 1},
        "prepull": False,
        "gates": [{"name": GATE, "image": "example.invalid/smoke:1", "gpus": 1}],
        "bake": {"durationSeconds": 3, "everySeconds": 1},
        "waves": {"growth": "percentages", "percentages": [40, 100]},
        "limits": {"maxParallelUpgrades": PARALLEL_MAX, "maxUnavailable": UNAVAILABLE_MAX},
    }
    if schedule.has_git:
        head = repositories.git(stage.remote, "rev-parse", repositories.BRANCH).strip()
        place = {"url": str(stage.remote), "path": repositories.MATRIX, "commit": head}
        spec["matrix"] = {"git": place, "entry": "canary"}
        spec["publish"] = {"via": "git", "git": {"path": repositories.PUBLISHED}}
    return {"apiVersion": keys.API_VERSION, "kind": "GPURollout", "metadata": {"name": play.rollout}, "spec": spec}


def _failing(run: gate_runs.Run) -> str:
    return "3.1 % slower" if run.gate == GATE and run.round >= FAILS_FROM_ROUND else ""


def _needs_disk(schedule: Schedule) -> bool:
    return any(blow.fault.needs_mounts for blow in schedule.blows)


def _disk(stack: ExitStack, folder: Path, controller: ControllerProcess) -> Path:
    """A disk of its own for the journal."""
    made = stack.enter_context(disks.small_disk(folder / "disk", DISK_SIZE))
    controller.journal.symlink_to(made / controller.journal.name)
    return made
