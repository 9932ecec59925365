"""The journal of the real controller on a real control plane: replayed as it is, refused with one line changed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.adapters.files.snapshot_file import load_snapshot
from seatrial.cli.exit_codes import ExitCode
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.e2e.conftest import Play

pytestmark = pytest.mark.cluster

OLD = "570.124.06"


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    """Four nodes, jobs on two of them."""
    fleet = make_fleet(cluster, FleetSpec(prefix="replay", node_count=4, driver_version=OLD, reload_seconds=1.0))
    fleet.add_workload("service", replicas=2, gpus_per_pod=8, min_available=1, termination_seconds=0.3)
    yield fleet
    fleet.remove()


def replay(*arguments: object) -> subprocess.CompletedProcess[str]:
    return forked.run("replay", *map(str, arguments))


@pytest.mark.long
def test_the_journal_of_a_real_rollout_is_replayed_and_a_changed_one_is_refused(play: Play, tmp_path: Path) -> None:
    with play("replay", limits={"maxParallelUpgrades": 2}, lease_seconds=8) as stage:
        stage.fleet.set_driver_version(stage.target)
        stage.wait_upgraded()
        saved = tmp_path / "fleet.json"
        saved.write_text(stage.do("snapshot"), encoding="utf-8")
        # Killed and started again: the journal goes on behind what the dead one saw, told whole once more.
        stage.controller.kill()
        stage.controller.start()
        stage.patch(paused=True)
        stage.wait(lambda: stage.status().get("state") == "waiting", "the new controller to see the pause")
        stage.patch(paused=False)
        stage.wait(lambda: stage.status().get("state") == "done", "the rollout to be done again")
        stage.controller.stop()
        journal = stage.controller.journal
    answer = replay(journal)
    assert (answer.returncode, answer.stderr) == (ExitCode.OK, "")
    assert answer.stdout.endswith(" decisions, no difference\n")
    told = json.loads(replay(journal, "-o", "json").stdout)["journals"][0]
    written = journal.read_bytes().splitlines(keepends=True)
    entries = [json.loads(line) for line in written]
    assert told["decisions"] == sum(entry["kind"] == "act" for entry in entries) > 30
    assert sum("whole" in entry for entry in entries) == 2

    number = next(index for index, entry in enumerate(entries, 1) if entry.get("act") == "RestartPod")
    written[number - 1] = written[number - 1].replace(b'"subject":"replay-', b'"subject":"rebuke-')
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(b"".join(written))
    answer = replay(changed)
    assert (answer.returncode, answer.stdout) == (ExitCode.ERROR, "")
    assert answer.stderr.startswith(f"seatrial: {changed}:{number}: this line is not what was written here")

    found = load_snapshot(saved)
    assert {each["metadata"]["name"] for each in found.lists["/api/v1/nodes"]} >= set(stage.fleet.nodes)
    (rollout,) = found.lists["/apis/seatrial.dev/v1alpha1/gpurollouts"]
    assert rollout["spec"]["target"]["driver"] == stage.target
