"""What people want binds NVIDIA's controller too: it starts nobody after a window closed, a pause, an abort, failures.

Beside the real GPU Operator, which moves one node at a time while our limit is three: so two that we let in wait behind
one that is at work, and stays so because its driver's image cannot be pulled. Then the moment comes. What counts is the
watch history: nobody reaches cordon-required after our skip label was stored on it, and who waited then is not touched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.history import History, NodeMoment
from seatrial_lab.testbed.neighbours import operator
from seatrial_lab.testbed.plane.control_plane import ControlPlane

pytestmark = [pytest.mark.cluster, pytest.mark.operator, pytest.mark.long]

OLD, NEW = "570.124.06", "570.172.08"
PREFIX = "bound"
NODES = 6
LIMIT = 3
TIMEOUT_SECONDS = 150.0
START = "cordon-required"


@dataclass(kw_only=True)
class Stage:
    """Where the stories play, one after the other."""

    plane: ControlPlane
    beside: operator.GpuOperator
    history: History
    controller: ControllerProcess
    rollout: str = ""
    begun_at: int = 0
    """How much of the history was there before the story began."""

    def begin(self, name: str, target: str, **spec: Any) -> None:
        self.rollout, self.begun_at = name, len(self.history.nodes())
        whole = {
            "target": {"driver": target},
            "mode": "delegated",
            "canary": {"nodes": [self.beside.nodes[0]]},
            "prepull": False,
            "bake": {"durationSeconds": 0, "everySeconds": 1},
            "waves": {"growth": "percentages", "percentages": [100]},
            "limits": {"maxParallelUpgrades": LIMIT, "maxUnavailable": "100%"},
        }
        metadata = {"name": name}
        self.plane.apply(
            [{"apiVersion": keys.API_VERSION, "kind": "GPURollout", "metadata": metadata, "spec": whole | spec}]
        )

    def patch(self, **spec: Any) -> None:
        self.plane.kubectl("patch", "gpurollout", self.rollout, "--type=merge", "-p", json.dumps({"spec": spec}))

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.plane.get("gpurollout", self.rollout).get("status", {})
        return found

    def wait(self, what: str, is_so: Any) -> None:
        def look() -> bool:
            self.controller.check()
            return bool(is_so())

        waiting.wait_for(
            look,
            what=what,
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.3,
            describe=lambda: json.dumps(self.status(), indent=1) + str(self.history.latest()),
        )

    def wait_phase(self, phase: str) -> None:
        self.wait(f"{self.rollout} to be {phase}", lambda: self.status().get("phase") == phase)

    def wait_held(self, code: str) -> None:
        self.wait(f"{self.rollout} to be held: {code}", lambda: code in self.status().get("holds", {}))

    def break_the_wave(self) -> None:
        """Whoever is started first gets stuck: whom its controller takes first is chance."""
        for name in self.beside.nodes[1:]:
            self.beside.fleet.break_driver(name, "image-pull")

    def mend_the_wave(self) -> None:
        for name in self.beside.nodes[1:]:
            self.beside.fleet.mend(name)

    def wait_until_some_wait_behind(self) -> tuple[str, set[str]]:
        """Who of the wave is stuck, and who is let in and waits behind it."""
        self.wait("nodes to wait behind one that is at work", lambda: bool(self.stuck() and self.let_in()))
        return self.stuck()[0], self.let_in()

    def stuck(self) -> list[str]:
        wave, latest = self.beside.nodes[1:], self.history.latest()
        return [name for name in wave if latest[name].state == "pod-restart-required"]

    def latest(self, name: str) -> NodeMoment:
        return self.history.latest()[name]

    def let_in(self) -> set[str]:
        """Who waits, and may be started at any moment."""
        found = self.history.latest().values()
        return {each.name for each in found if each.state == "upgrade-required" and not each.is_skipped}

    def wait_closed_out(self, names: set[str]) -> set[str]:
        """Who of these is kept out after the moment; the others were started before it."""
        self.wait(f"{names} to be closed out or at work", lambda: not self.let_in())
        return {name for name in names if self.latest(name).is_skipped}

    def wake(self) -> None:
        """Let NVIDIA's controller look now, by a change that it watches and that means nothing."""
        name = self.beside.nodes[0]
        self.plane.kubectl("label", "node", name, f"{keys.SKIP_LABEL}=false", "--overwrite")
        self.plane.kubectl("label", "node", name, f"{keys.SKIP_LABEL}-")

    def wait_settled(self) -> None:
        """Until nobody is at work any more, so that its controller has a slot for whomever it may start."""
        idle = ("", "upgrade-required", "upgrade-done", "upgrade-failed")

        def is_idle() -> bool:
            self.wake()  # while a rollout is paused nobody else does, and by itself it looks every two minutes
            return all(each.state in idle for each in self.history.latest().values())

        self.wait("nobody to be at work", is_idle)
        self.wake()

    def story(self, name: str) -> list[NodeMoment]:
        return [moment for moment in self.history.nodes()[self.begun_at :] if moment.name == name]

    def started(self) -> set[str]:
        return {name for name in self.beside.nodes if any(each.state == START for each in self.story(name))}

    def started_in_spite_of_us(self) -> list[str]:
        """Who reached cordon-required after our skip label was stored, and before it was gone again."""
        return [
            name
            for name in self.beside.nodes
            if any(before.is_skipped and after.state == START for before, after in pairwise(self.story(name)))
        ]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The operator with its nodes, and our controller; each story goes on where the one before left it."""
    folder = tmp_path_factory.mktemp(PREFIX)
    spec = operator.OperatorSpec(auto_upgrade=True, prefix=PREFIX, driver_version=OLD, node_count=NODES)
    with ControlPlane.start(folder / "plane") as plane:
        controller_process.install(plane)
        account: Path = controller_process.identity(plane, PREFIX, has_campaigns=True)
        with operator.GpuOperator.start(plane, spec) as beside:
            beside.wait_ready()
            beside.set_upgrade_policy(maxUnavailable="100%")
            with (
                History(plane, PREFIX, state_label=keys.NVIDIA_STATE_LABEL) as history,
                ControllerProcess(account, "", folder) as controller,
            ):
                yield Stage(plane=plane, beside=beside, history=history, controller=controller)


def test_after_a_pause_nobody_is_started_until_somebody_resumes(stage: Stage) -> None:
    stage.break_the_wave()
    stage.begin("paused", NEW)
    stuck, behind = stage.wait_until_some_wait_behind()
    stage.patch(paused=True)
    stage.wait_phase("Paused")
    kept_out = stage.wait_closed_out(behind)
    started = stage.started()
    stage.mend_the_wave()
    stage.wait_settled()
    assert stage.started() == started
    assert stage.latest(stuck).state == "upgrade-done", "who is under way goes on"
    assert kept_out, "somebody waited"
    assert not kept_out & started
    stage.patch(paused=False)
    stage.wait_phase("Done")
    assert not stage.started_in_spite_of_us()
    assert set(stage.beside.driver_versions().values()) == {NEW}


def test_after_a_window_closed_nobody_is_started_until_the_next_opens(stage: Stage) -> None:
    stage.break_the_wave()
    stage.begin("at-night", OLD, windows={"open": [{"start": "00:00", "minutes": 1440}]})
    _, behind = stage.wait_until_some_wait_behind()
    soon = datetime.now(UTC) + timedelta(hours=3)
    stage.patch(windows={"open": [{"start": f"{soon:%H:%M}", "minutes": 60}]})
    stage.wait_held("outside-window")
    kept_out = stage.wait_closed_out(behind)
    started = stage.started()
    stage.mend_the_wave()
    stage.wait_settled()
    assert stage.started() == started
    assert kept_out, "somebody waited"
    assert not kept_out & started
    stage.patch(windows=None)
    stage.wait_phase("Done")
    assert not stage.started_in_spite_of_us()
    assert set(stage.beside.driver_versions().values()) == {OLD}


def test_after_an_abort_nobody_is_emptied_who_had_not_begun(stage: Stage) -> None:
    stage.break_the_wave()
    stage.begin("undone", NEW)
    _, behind = stage.wait_until_some_wait_behind()
    stage.patch(abort="not today")
    stage.wait_phase("Reverting")
    kept_out = stage.wait_closed_out(behind)
    started = stage.started()
    stage.mend_the_wave()
    stage.wait_phase("Reverted")
    assert stage.started() == started
    assert kept_out, "somebody waited"
    assert not kept_out & started
    assert not stage.started_in_spite_of_us()
    assert set(stage.beside.driver_versions().values()) == {OLD}


def test_after_two_failures_where_one_is_tolerated_nobody_is_started(stage: Stage) -> None:
    broken = stage.beside.nodes[1:3]
    stage.beside.set_upgrade_policy(maxParallelUpgrades=0)  # a failed node keeps its slot
    for name in broken:
        stage.beside.fleet.break_driver(name, "module-load", restart_count=11)
    limits = {"maxParallelUpgrades": 2, "maxUnavailable": "100%", "maxFailed": 1}
    stage.begin("failing", NEW, limits=limits)
    stage.wait_held("failure-budget")
    stage.wait_settled()
    first = {stage.beside.nodes[0], *broken}
    assert {name for name in broken if stage.latest(name).state == "upgrade-failed"} == set(broken)
    # One more may have been let in when the first had failed, which is tolerated.
    assert first <= stage.started()
    assert len(stage.started() - first) <= 1
    assert not stage.started_in_spite_of_us()
    started = stage.started()
    stage.patch(abort="two failures")
    stage.wait_phase("Reverting")
    for name in broken:  # not before: nodes that heal are no failures any more, and the wave would rightly go on
        stage.beside.fleet.mend(name)
    stage.wait_phase("Reverted")
    assert stage.started() == started, "only who had begun goes back"
    assert not stage.started_in_spite_of_us()
    assert set(stage.beside.driver_versions().values()) == {OLD}


def test_while_a_node_is_not_ready_nvidias_controller_moves_none_and_the_rollout_says_so(stage: Stage) -> None:
    dead = stage.beside.nodes[-1]
    stage.beside.fleet.set_node_ready(dead, is_ready=False)
    said = len(stage.beside.log.read_text(encoding="utf-8"))
    stage.begin("one-dead", NEW, driverTimeoutSeconds=20, validationTimeoutSeconds=10)
    stage.wait_held("nvidia-stalled")
    stage.wait_phase("Canary")
    stage.wake()
    why = "driver DaemonSet should not have Unscheduled pods"
    stage.wait("NVIDIA's controller to give up", lambda: why in stage.beside.log.read_text(encoding="utf-8")[said:])
    assert not stage.started()
    stage.beside.fleet.set_node_ready(dead, is_ready=True)
    stage.wait_phase("Done")
    assert set(stage.beside.driver_versions().values()) == {NEW}
    assert "promise about to be broken" not in stage.controller.log.read_text(encoding="utf-8")
