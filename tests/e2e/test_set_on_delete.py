"""A rollout that sets OnDelete itself, beside the real GPU Operator whose DaemonSets roll on their own before.

The strategy and the new versions are one write. The operator gives its DaemonSets both at once, so nobody but the
canary may move, although every DaemonSet was RollingUpdate a moment earlier.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.campaigns import OLD, Stage, left_behind, staged
from tests.e2e.test_operands import RELEASE, moved, pods, strategies, tags

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane, pytest.mark.operator]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Three nodes under a ClusterPolicy that says nothing about how DaemonSets replace pods."""
    folder = tmp_path_factory.mktemp("on-delete")
    with staged(folder, "cluster-policy", node_count=3, is_synced=False) as made:
        yield made


def test_the_write_that_sets_it_moves_nobody_and_the_canary_goes_alone(stage: Stage) -> None:
    before, canary = pods(stage), stage.beside.nodes[0]
    assert set(strategies(stage).values()) == {"RollingUpdate"}
    during: list[set[str]] = []

    def passing(_run: object) -> str:
        during.append(moved(before, pods(stage)))
        return ""

    stage.gates.answer = passing
    stage.rollout = "quiet"
    spec = {
        "target": {"driver": OLD, **RELEASE},
        "publish": {"via": "direct", "setOnDelete": True},
        "canary": {"count": 1},
        "gates": [{"name": "smoke-train", "image": "example.org/train:1", "command": ["python", "train.py"]}],
        "bake": {"durationSeconds": 4, "everySeconds": 2},
        "waves": {"growth": "percentages", "percentages": [100]},
        "limits": {"maxParallelUpgrades": 2, "maxUnavailable": 2},
    }
    kind = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout"}
    stage.plane.apply([{**kind, "metadata": {"name": "quiet"}, "spec": spec}])
    stage.wait_phase("Done")
    assert during
    assert all(each == {canary} for each in during), "while gates ran, the canary alone had moved"
    assert set(strategies(stage).values()) == {"OnDelete"}
    assert tags(stage)["nvidia-container-toolkit-daemonset"] == {RELEASE["container_toolkit"]}
    assert not left_behind(stage)
