"""`seatrial testbed up --operator`: the real GPU Operator outlives the command, is found again, and ends with all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from seatrial_lab.testbed import record
from seatrial_lab.testbed.neighbours.operator import CLUSTER_POLICY, GpuOperator
from seatrial_lab.testbed.plane import lifecycle
from tests import forked
from tests.testbed.caches import cache_in

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane, pytest.mark.operator]

UP_SECONDS = 240.0


def test_the_operator_goes_up_with_its_nodes_is_found_again_and_goes_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cache_in(tmp_path, monkeypatch, has_operator=True):
        asked = ("testbed", "up", "--operator", "--nodes", "2", "--reload-seconds", "0.5")
        assert "looks after simulated nodes alone" in forked.run(*asked, "--real-nodes", "1").stderr
        up = forked.run(*asked, timeout_seconds=UP_SECONDS)
        assert up.returncode == 0, up.stderr

        plane = lifecycle.find()
        assert plane is not None
        assert GpuOperator.runs_beside(plane)
        assert plane.get("clusterpolicy", CLUSTER_POLICY)["status"]["state"] == "ready"
        assert len(plane.get("nodes")["items"]) == 2
        pids = re.findall(r"pid (\d+)", forked.run("testbed", "status").stdout)
        assert "gpu-operator" in forked.run("testbed", "status").stdout

        for again in (asked, ("testbed", "up")):
            assert forked.run(*again, timeout_seconds=UP_SECONDS).returncode == 0
        assert re.findall(r"pid (\d+)", forked.run("testbed", "status").stdout) == pids

        known = record.load(plane.folder)
        assert known is not None
        assert [str(each.pid) for each in known.alive] == pids
        assert forked.run("testbed", "down").stdout == "The testbed is gone.\n"
        assert not [each.name for each in known.alive]
