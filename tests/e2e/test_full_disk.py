"""The disk of the journal fills up in the middle of a rollout: it is held with the reason, and goes on by itself.

The real controller on a real control plane, its journal on a disk of its own that has no room left.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.cli.exit_codes import ExitCode
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.disks import fill, needs_mounts, small_disk
from tests.e2e.conftest import DRIVERS, Play

pytestmark = [pytest.mark.cluster, needs_mounts]

ROLLOUT = "full"


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    made = make_fleet(cluster, FleetSpec(prefix=ROLLOUT, node_count=3, driver_version=DRIVERS[0], reload_seconds=0.5))
    yield made
    made.remove()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one mebibyte, on which the journal of the rollout will be."""
    with small_disk(tmp_path / "disk", "1m") as made:
        (tmp_path / f"{ROLLOUT}.jsonl").symlink_to(made / "journal.jsonl")
        yield made


def test_a_full_disk_holds_the_rollout_with_its_reason_and_room_lets_it_go_on(disk: Path, play: Play) -> None:
    with play(ROLLOUT, limits={"maxParallelUpgrades": 1}) as stage:
        stage.fleet.set_driver_version(stage.target)
        stage.wait(lambda: any(stage.state(node) for node in stage.fleet.nodes), "the first node to be at work")
        ballast = fill(disk)
        stage.wait(lambda: "journal-unwritable" in json.dumps(stage.status()), "the rollout to say that it is held")
        said = stage.run("status")
        assert said.returncode == ExitCode.HELD, said.stdout
        assert "cannot write its journal" in said.stdout
        assert "No space left on device" in said.stdout

        # A new controller finds the disk full from the beginning: it stands, and says so, too.
        assert stage.controller.stop() == ExitCode.OK
        said_before = stage.controller.log.stat().st_size
        stage.controller.start()
        stage.wait(
            lambda: "code=journal-unwritable" in stage.controller.log.read_text()[said_before:],
            "the new controller to say that it is held",
        )
        assert "journal-unwritable" in json.dumps(stage.status())
        assert any(stage.state(node) != "upgrade-done" for node in stage.fleet.nodes)

        ballast.unlink()
        stage.wait_upgraded()
        stage.wait(lambda: stage.status().get("state") == "done", "the rollout to be done")
        lines = [json.loads(line) for line in (disk / "journal.jsonl").read_text().splitlines()]
        assert [each["why"].endswith("No space left on device") for each in lines if each["kind"] == "gap"]
        stage.controller.stop()
