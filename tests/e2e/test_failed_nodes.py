"""A crash in the last wave, on the real control plane: the version is not promoted until a person accepts that.

Each story has a rollout of its own, made from an entry of a matrix in Git; what is looked at is the phase, the tags of
the repository, the conditions, and what `kubectl get` prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.light_stage import LightStage, light_stage

pytestmark = pytest.mark.cluster

PREFIX, NODES = "crash", 6
LIMITS = {"maxParallelUpgrades": 0, "maxUnavailable": "100%", "maxFailed": 1}
NODES_FAILED = ("False", "NodesFailed")


@pytest.fixture(scope="module")
def shared(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    """The stage of all stories."""
    with light_stage(cluster, tmp_path_factory.mktemp(PREFIX), PREFIX, node_count=NODES) as made:
        yield made


@pytest.fixture
def stage(shared: LightStage) -> LightStage:
    """The stage, with nothing left of the story before, and a matrix that says what is next."""
    shared.open()
    shared.lay_out()
    return shared


@contextmanager
def crashed(stage: LightStage, name: str) -> Iterator[str]:
    """A rollout whose last wave is over, with a node on which the new driver does not load."""
    broken = stage.fleet.nodes[-1]
    stage.fleet.break_driver(broken, "module-load", restart_count=11)
    try:
        matrix = stage.by_git()["matrix"]
        waves = {"growth": "percentages", "percentages": [40, 100]}
        stage.begin(name, canary={"nodes": [stage.fleet.nodes[0]]}, waves=waves, limits=LIMITS, matrix=matrix)
        stage.wait_holds("nodes-failed", "failed")
        yield broken
    finally:
        if broken in stage.fleet.driver_faults():
            stage.fleet.mend(broken)


def row(stage: LightStage) -> list[str]:
    """What `kubectl get` prints of the rollout, cut where the titles begin: a cell may have blanks."""
    titles, cells = stage.plane.kubectl("get", "gpurollout", stage.rollout).splitlines()
    begins = [titles.index(title) for title in ("PHASE", "DONE", "FAILED", "WHY", "LOOKED")]
    return [cells[begin:end].strip() for begin, end in pairwise(begins)]


def test_a_crash_in_the_last_wave_keeps_the_version_untagged_until_a_person_accepts_it(stage: LightStage) -> None:
    tags = set(stage.tags())
    with crashed(stage, "crashing") as broken:
        assert stage.status()["phase"] == "Promoting"
        assert (stage.condition("Ready"), stage.condition("Stalled")) == (NODES_FAILED, ("True", "NodesFailed"))
        assert row(stage)[:3] == ["Promoting", "5/6", f"1 ({broken})"]
        assert row(stage)[3].startswith("every wave is over, and 1 node failed")
        assert stage.run("status").returncode == 12
        assert set(stage.tags()) == tags

        said = stage.do("rollout", "promote", "crashing")
        assert said.startswith("crashing: promotion is approved.")
        assert "would not have asked" not in said
        stage.wait_phase("Done")
        (tag,) = set(stage.tags()) - tags
        assert (stage.condition("Ready"), stage.condition("Healthy")) == (NODES_FAILED, NODES_FAILED)
        assert row(stage)[:3] == ["Done", "5/6", f"1 ({broken})"]
        assert row(stage)[3]
        assert stage.run("status").returncode == 8
        assert stage.run("status", "crashing").returncode == 8

        stage.fleet.mend(broken)
        stage.wait(lambda: stage.condition("Ready") == ("True", "Done"), "the node that works to count")
        assert row(stage) == ["Done", "6/6", "", ""]
    stage.do("rollout", "rollback", "crashing", "--reason", "3 % slower", "-y")
    stage.wait_phase("Reverted")
    told = stage.campaign()["history"][-1]["why"]
    assert f"tag {tag} in {stage.url} still stands on this version" in told
    assert f"`git push {stage.url} :refs/tags/{tag}`" in told
    assert tag in stage.tags()


def test_a_failed_node_that_is_left_out_lets_the_rollout_end_green(stage: LightStage) -> None:
    with crashed(stage, "left-out") as broken:
        stage.do("node", "skip", broken)
        stage.wait_phase("Done")
        assert stage.condition("Ready") == ("True", "Done")
        stage.do("node", "unskip", broken)
        stage.wait(lambda: stage.condition("Ready") == NODES_FAILED, "the node to count again")


def test_a_failed_node_that_is_retried_is_upgraded_before_the_promotion(stage: LightStage) -> None:
    with crashed(stage, "retried") as broken:
        stage.fleet.mend(broken)
        stage.wait_phase("Done")
        assert stage.condition("Ready") == ("True", "Done")
        assert "promotion" not in str(stage.plane.get("gpurollout", "retried")["spec"].get("approvals"))
