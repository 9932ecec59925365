"""The steps of a plan on a real control plane: a driver, then firmware that people flash, one after the other.

Nobody plays the GPU Operator here: the driver's DaemonSet is changed by the test, and so is what people say of the
firmware, with our own commands. One fleet and one plan: the story is told in the order of the tests.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.cli.exit_codes import ExitCode
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked

pytestmark = pytest.mark.cluster

PREFIX = "steps"
OLD, NEW = "570.124.06", "570.172.08"
OLD_FIRMWARE, NEW_FIRMWARE = "28.40.1000", "28.44.1036"
MATRIX = f"""versions:
  current:
    gpu_operator: "v25.3.2"
    driver: "{OLD}"
    firmware: "{OLD_FIRMWARE}"
  canary:
    gpu_operator: "v25.3.2"
    driver: "{NEW}"
    firmware: "{NEW_FIRMWARE}"
"""
DRIVER, FIRMWARE = "spring-1-driver", "spring-2-firmware-cx7"
HOW = (
    *("--selector", f"testbed.seatrial.dev/fleet={PREFIX}", "--publish", "none", "--no-prepull"),
    *("--bake", "1s", "--bake-every", "1s", "--wave", "50%", "--max-parallel", "4", "--max-unavailable", "4"),
)
TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where the story plays."""

    plane: ControlPlane
    fleet: Fleet
    controller: ControllerProcess
    folder: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return forked.run(*words, "--kubeconfig", str(self.plane.kubeconfig), cwd=self.folder)

    def do(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run("rollout", "start", "spring", "--plan", "plan.json", *HOW, *words)

    def names(self) -> list[str]:
        return [each["metadata"]["name"] for each in self.plane.get("gpurollouts")["items"]]

    def status(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.plane.get("gpurollout", name).get("status", {})
        return found

    def phase(self, name: str) -> str:
        return str(self.status(name).get("phase", ""))

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        def look() -> bool:
            self.controller.check()
            return is_so()

        waiting.wait_for(
            look,
            what=what,
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.2,
            describe=lambda: json.dumps({name: self.status(name) for name in self.names()}, indent=1),
        )

    def wait_phase(self, name: str, phase: str) -> None:
        self.wait(lambda: self.phase(name) == phase, f"{name} to be {phase}")

    def wait_held(self, name: str, code: str) -> None:
        self.wait(lambda: code in self.status(name).get("holds", {}), f"{name} to be held by {code}")

    def canary(self, name: str) -> str:
        (found,) = self.status(name)["campaign"]["canaries"]
        return str(found)


@pytest.fixture(scope="module")
def stage(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Four nodes, a controller that works on whichever rollout is due, and a plan of two steps."""
    folder = tmp_path_factory.mktemp(PREFIX)
    (folder / "gpu-version-matrix.yaml").write_text(MATRIX, encoding="utf-8")
    fleet = make_fleet(cluster, FleetSpec(prefix=PREFIX, node_count=4, driver_version=OLD, reload_seconds=0.3))
    account = controller_process.identity(cluster, PREFIX, has_campaigns=True)
    with ControllerProcess(account, "", folder) as controller:
        made = Stage(plane=cluster, fleet=fleet, controller=controller, folder=folder)
        planned = subprocess.run(
            [sys.executable, "-m", "seatrial", "plan", "gpu-version-matrix.yaml", "--on", "2025-09-01", "-o", "json"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,  # 11: there are warnings that nobody accepted
        )
        (folder / "plan.json").write_text(planned.stdout, encoding="utf-8")
        yield made
    controller_process.remove_rollouts(cluster, DRIVER, FIRMWARE)
    fleet.remove()


def test_the_chain_is_shown_first_and_a_start_cut_short_is_completed(stage: Stage) -> None:
    shown = stage.start("--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.split() == [f"gpurollout.seatrial.dev/{name}" for name in (DRIVER, FIRMWARE)]
    assert f"moves   firmware_cx7 {OLD_FIRMWARE} to {NEW_FIRMWARE}, by hand; ONE-WAY" in shown.stderr
    assert stage.names() == []

    assert stage.start("-y", "--paused").returncode == 0
    assert stage.names() == [DRIVER, FIRMWARE]
    controller_process.remove_rollouts(stage.plane, FIRMWARE)
    again = stage.start("-y", "--paused")
    assert again.returncode == 0, again.stderr
    assert stage.names() == [DRIVER, FIRMWARE]
    assert f"{DRIVER}  (there already)" in again.stderr

    other = stage.start("-y", "--gate", "smoke=registry.example/smoke:1")
    assert other.returncode == ExitCode.ERROR
    assert f"rollout {DRIVER} already exists, and its spec.gates differs" in other.stderr


def test_the_driver_goes_first_and_the_firmware_waits_for_it(stage: Stage) -> None:
    stage.do("rollout", "resume", DRIVER)
    stage.wait_phase(DRIVER, "Canary")
    assert stage.phase(FIRMWARE) == ""
    why = stage.run("why", "--rollout", FIRMWARE, FIRMWARE).stdout
    assert f"it comes after rollout {DRIVER}" in why
    stage.fleet.set_driver_version(NEW)
    stage.wait_phase(DRIVER, "Done")
    assert set(stage.fleet.driver_versions().values()) == {NEW}


def test_people_are_told_whose_turn_it_is_and_the_canary_bakes_before_the_others(stage: Stage) -> None:
    pods = {pod["metadata"]["uid"] for pod in stage.fleet.driver_pods().values()}
    stage.wait_held(FIRMWARE, "by-hand-pending")
    canary = stage.canary(FIRMWARE)
    progressing = next(each for each in stage.status(FIRMWARE)["conditions"] if each["type"] == "Progressing")
    assert (progressing["status"], progressing["reason"]) == ("False", "ByHandPending")
    why = " ".join(stage.run("why", "--rollout", FIRMWARE, FIRMWARE).stdout.split())
    assert (
        f"firmware_cx7 is upgraded manually, from {OLD_FIRMWARE} to {NEW_FIRMWARE}, and not there yet on {canary}"
        in why
    )
    assert f"`seatrial rollout observed firmware_cx7 {NEW_FIRMWARE} {canary}`" in why

    stage.do("rollout", "observed", "firmware_cx7", NEW_FIRMWARE, canary)
    stage.wait_phase(FIRMWARE, "Waving")
    been = [turn["phase"] for turn in stage.status(FIRMWARE)["campaign"]["history"]]
    assert been[:5] == ["Proposed", "Canary", "Gating", "Baking", "Waving"]
    stage.do("rollout", "observed", "firmware", NEW_FIRMWARE, "--all")
    stage.wait_phase(FIRMWARE, "Done")

    assert {pod["metadata"]["uid"] for pod in stage.fleet.driver_pods().values()} == pods, "no driver pod was touched"
    for name in stage.fleet.nodes:
        meta = stage.plane.get("node", name)["metadata"]
        assert meta["annotations"][f"{keys.OBSERVED_PREFIX}firmware_cx7"] == NEW_FIRMWARE
        assert keys.CANARY_LABEL not in meta["labels"]
        assert not stage.plane.get("node", name)["spec"].get("unschedulable")
    assert stage.status(FIRMWARE)["campaign"]["mode"] == "by-hand"


def test_a_step_without_a_way_back_ends_when_a_person_says_that_it_stays(stage: Stage) -> None:
    stage.do("rollout", "rollback", FIRMWARE, "--reason", "links flap", "-y")
    stage.wait_held(FIRMWARE, "no-way-back-by-hand")
    stage.do("rollout", "approve", FIRMWARE, "rollback")
    stage.wait_phase(FIRMWARE, "Reverted")
    assert stage.status(FIRMWARE)["campaign"]["why"] == "links flap"
