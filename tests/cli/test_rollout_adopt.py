"""What `seatrial rollout adopt` shows and writes, on a real API server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from seatrial.adapters.kube import keys, records
from seatrial.cli import rollout_adopt
from seatrial.core.adopt import Clearing
from seatrial.core.snapshot import NodePhase, NodeRecord
from seatrial.testbed import controller_process
from seatrial.testbed.control_plane import ControlPlane
from seatrial.testbed.fleet import Fleet, FleetSpec, make_fleet

PREFIX = "orphan"


def test_everything_is_cleared_in_one_patch_bound_to_what_was_seen() -> None:
    clearing = Clearing(
        uncordon=True,
        forget_record=True,
        forget_state=True,
        unmark=True,
        unskip=True,
        give_back=(("nvidia.com/gpu.deploy.dcgm", "true"),),
    )
    assert rollout_adopt.patch_of(clearing, "7") == {
        "metadata": {
            "resourceVersion": "7",
            "labels": {
                "nvidia.com/gpu.deploy.dcgm": "true",
                keys.STATE_LABEL: None,
                keys.NVIDIA_STATE_LABEL: None,
                keys.CANARY_LABEL: None,
                keys.SKIP_LABEL: None,
            },
            "annotations": {
                keys.RECORD_ANNOTATION: None,
                rollout_adopt.INITIALLY_CORDONED: None,
                keys.SKIPPED_BY_ANNOTATION: None,
            },
        },
        "spec": {"unschedulable": None},
    }
    assert "spec" not in rollout_adopt.patch_of(Clearing(forget_record=True), "7")


@pytest.fixture(scope="module")
def fleet(plane: ControlPlane) -> Iterator[Fleet]:
    controller_process.install(plane)
    yield make_fleet(plane, FleetSpec(prefix=PREFIX, node_count=5, reload_seconds=0.3))
    plane.kubectl("uncordon", "-l", f"testbed.seatrial.dev/fleet={PREFIX}")


def adopt(plane: ControlPlane, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "seatrial", "rollout", "adopt", *arguments, "--kubeconfig", str(plane.kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, input="", timeout=60, check=False)


@pytest.mark.cluster
def test_a_cluster_that_was_left_half_way_is_put_in_order(plane: ControlPlane, fleet: Fleet) -> None:
    ours, theirs, marked, person, well = fleet.nodes
    record = NodeRecord(phase=NodePhase.POD_DELETION_REQUIRED, attempt=1, entered_at=1000.0, is_cordon_ours=True)
    plane.kubectl("cordon", ours, theirs, person)
    plane.kubectl("annotate", "node", ours, f"{keys.RECORD_ANNOTATION}={records.annotation_of(record)}")
    plane.kubectl("label", "node", ours, f"{keys.STATE_LABEL}=pod-deletion-required")
    plane.kubectl("label", "node", theirs, f"{keys.NVIDIA_STATE_LABEL}=drain-required")
    plane.kubectl("label", "node", marked, f"{keys.CANARY_LABEL}=gone", f"{keys.SKIP_LABEL}=true")
    plane.kubectl("annotate", "node", marked, f"{keys.SKIPPED_BY_ANNOTATION}=gone")
    before = {name: plane.get("node", name)["metadata"]["resourceVersion"] for name in fleet.nodes}

    tried = adopt(plane, "--dry-run", "-o", "json")
    assert tried.returncode == 12, tried.stderr
    told = {each["node"]: (each["fate"], each["writes"]) for each in json.loads(tried.stdout)}
    assert {name: told[name] for name in fleet.nodes} == {
        ours: ("undo", ["uncordon", "our record off"]),
        theirs: ("undo", ["uncordon", "NVIDIA's state label off"]),
        marked: ("undo", ["canary label off", "skip label off"]),
        person: ("leave to a person", []),
        well: ("nothing to do", []),
    }
    assert {name: plane.get("node", name)["metadata"]["resourceVersion"] for name in fleet.nodes} == before
    assert adopt(plane).returncode == 2  # nobody can be asked

    done = adopt(plane, "-y")
    assert done.returncode == 12, done.stderr
    for name in (ours, theirs, marked):
        node = plane.get("node", name)
        assert not node["spec"].get("unschedulable")
        left = {keys.STATE_LABEL, keys.NVIDIA_STATE_LABEL, keys.CANARY_LABEL, keys.SKIP_LABEL}
        assert not left & node["metadata"]["labels"].keys()
        assert not {keys.RECORD_ANNOTATION, keys.SKIPPED_BY_ANNOTATION} & node["metadata"]["annotations"].keys()
    assert plane.get("node", person)["spec"]["unschedulable"] is True
    again = adopt(plane, "--dry-run", "-o", "json")
    fates = {each["node"]: each["fate"] for each in json.loads(again.stdout)}
    assert [fates[name] for name in (ours, theirs, marked)] == ["nothing to do"] * 3
