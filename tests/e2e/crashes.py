"""A campaign whose controller is killed after every single write comes to the end it would have come to anyway.

Each life of the controller writes once, to the cluster or to the remote, and dies before it learns how that went: there
is no point of the whole campaign at which it is not killed. One fleet goes through, published by commits; another one,
published directly, goes back because a gate fails. `make crashes` plays the first with six nodes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.journal.reading import first_broken_line
from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.lives import PUSH, REFUSED_PUSH, Lives
from tests.e2e.campaigns import BAD, MATRIX, NEW, OLD, Stage, left_behind, matrix_of, staged
from tests.e2e.promises import most_unavailable, most_under_way

pytestmark = [pytest.mark.cluster, pytest.mark.operator]

NODES = 3
SPEC: dict[str, Any] = {
    "gates": [{"name": "smoke", "image": "nvcr.io/nvidia/pytorch:24.03-py3", "command": ["python", "train.py"]}],
    # A bake counts what was watched between two rounds, and no life here watches for longer than a moment.
    "bake": {"durationSeconds": 0, "everySeconds": 60},
    "waves": {"growth": "percentages", "percentages": [100]},
    "limits": {"maxParallelUpgrades": 2, "maxUnavailable": 2},
}
KINDS = {
    *("PATCH nodes", "PATCH gpurollouts/status", "DELETE pods", "POST pods/eviction", "POST jobs"),
    *(PUSH, REFUSED_PUSH),
}
"""Everything a campaign writes that is published by commits."""
IDLE_SECONDS = 3.0
"""Whoever leads and has written nothing for so long has nothing to write."""
LIFE_SECONDS = 12.0
"""What a life may take on a busy machine."""


@contextmanager
def mortal(folder: Path, kind: str, **changes: Any) -> Iterator[tuple[Stage, Lives]]:
    """A stage on which the controller dies of every write; on every node a pod must leave, with room for a gate."""
    with staged(folder, kind, **changes) as stage:
        stage.controller.stop()
        count = len(stage.beside.nodes)
        stage.beside.fleet.add_workload("service", replicas=count, gpus_per_pod=7, termination_seconds=0.2)
        account = controller_process.identity(stage.plane, "mortal", has_campaigns=True)
        (folder / "mortal").mkdir()
        with Lives(plane=stage.plane, account=account, remote=stage.remote, folder=folder / "mortal") as lives:
            stage.controller = lives.controller
            yield stage, lives


def live_through(stage: Stage, lives: Lives, phase: str, *, lives_max: int) -> None:
    """Wait until the rollout is in its last phase, and a life has found nothing more to write."""

    def is_over() -> bool:
        assert len(lives.deaths) <= lives_max, f"the controller writes for ever: {lives.deaths[-10:]}"
        return lives.idle_seconds > IDLE_SECONDS and stage.status().get("phase") == phase

    waiting.wait_for(
        is_over,
        what=f"{stage.rollout} to be {phase}",
        timeout_seconds=lives_max * LIFE_SECONDS,
        pause_seconds=0.5,
        describe=lambda: json.dumps({"lives": lives.kinds(), "status": stage.status()}, indent=1) + stage.log(),
    )


def check_end(stage: Stage, lives: Lives, version: str) -> None:
    """What has to be so after every campaign, whichever way it ended."""
    names = stage.beside.nodes
    assert set(stage.beside.driver_versions().values()) == {version}
    assert stage.beside.driver_versions().keys() == set(names), "no node is lost"
    latest = stage.history.latest()
    assert {latest[name].state for name in names} <= {"", "upgrade-done"}
    assert [name for name in names if latest[name].is_cordoned] == []
    assert not left_behind(stage)
    assert stage.status().get("admitted", []) == []
    assert most_under_way(stage.history) <= SPEC["limits"]["maxParallelUpgrades"]
    assert most_unavailable(stage.history) <= SPEC["limits"]["maxUnavailable"]
    assert first_broken_line(lives.controller.journal) is None


def attempts(stage: Stage) -> dict[str, int]:
    """How often each node was begun with, as its record says; a node without one was never touched."""
    notes = {name: stage.plane.get("node", name)["metadata"].get("annotations", {}) for name in stage.beside.nodes}
    found = {name: note[keys.RECORD_ANNOTATION] for name, note in notes.items() if keys.RECORD_ANNOTATION in note}
    return {name: json.loads(text)["attempt"] for name, text in found.items()}


def check_promoted(stage: Stage, lives: Lives) -> None:
    """The end of a campaign that goes through: the same as without kills."""
    check_end(stage, lives, NEW)
    assert attempts(stage) == dict.fromkeys(stage.beside.nodes, 1), "who was killed goes on with its attempt"
    assert stage.remote_log() == [
        "The cluster as it is",
        f"Try driver {NEW} on the canary",
        f"Driver {NEW} for the canary {stage.beside.nodes[0]}",
        *([f"Driver {NEW} for the fleet"] if stage.kind == "nvidia-driver" else []),
        f"Promote driver {NEW} to production",
    ]
    assert [tag.rpartition("-")[2] for tag in stage.tags()] == ["stable"]
    assert lives.kinds().keys() >= KINDS


def play_through(stage: Stage, lives: Lives, *, lives_max: int, **spec: Any) -> float:
    commit = stage.commit(f"Try driver {NEW} on the canary", **{MATRIX: matrix_of(OLD, NEW)})
    began_at = time.monotonic()
    stage.start("mortal", NEW, commit, **{**SPEC, **spec})
    live_through(stage, lives, "Done", lives_max=lives_max)
    return time.monotonic() - began_at


def test_a_campaign_killed_after_every_write_comes_to_the_same_end(tmp_path: Path) -> None:
    with mortal(tmp_path, "nvidia-driver", node_count=NODES) as (stage, lives):
        play_through(stage, lives, lives_max=150)
        check_promoted(stage, lives)


def test_a_way_back_killed_after_every_write_leaves_everything_as_it_was(tmp_path: Path) -> None:
    with mortal(tmp_path, "cluster-policy", node_count=NODES, is_synced=False) as (stage, lives):
        stage.gates.answer = lambda _: "loss of 3.1 % against the nodes beside it"
        commit = stage.commit(f"Try driver {BAD} on the canary", **{MATRIX: matrix_of(OLD, BAD)})
        stage.start("mortal", BAD, commit, **SPEC, publish={"via": "direct"})
        live_through(stage, lives, "Reverted", lives_max=120)

        check_end(stage, lives, OLD)
        assert stage.remote_log()[1:] == [f"Try driver {BAD} on the canary", f"Mark driver {BAD} as bad"]
        assert stage.tags() == []
        assert stage.beside.offered_versions() == {"cluster-policy": OLD}
        assert KINDS | {"PATCH clusterpolicies"} <= lives.kinds().keys()
        assert attempts(stage) == {stage.beside.nodes[0]: 2}, "there and back; no other node was touched"
