"""Who marks a version bad, on the real control plane: what seatrial finds against it, and people where they say so.

Each story has a rollout of its own, made from an entry of a matrix in Git; what is looked at is the entry afterwards,
and what was said about it before.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests import forked
from tests.e2e.campaigns import MATRIX
from tests.e2e.light_stage import LONG_BAKE, LightStage

pytestmark = pytest.mark.cluster

PREFIX = "marks"


@pytest.fixture
def stage(shared: LightStage) -> LightStage:
    """The stage, with nothing left of the story before, and a matrix that says what is next."""
    shared.open()
    shared.lay_out()
    return shared


def marked(stage: LightStage) -> str:
    """Why the entry is marked bad; empty where it is not."""
    return str(yaml.safe_load(stage.matrix())["versions"]["canary"].get("bad", ""))


def straight(stage: LightStage) -> dict[str, object]:
    """The part of a spec that names the matrix; the version itself goes straight into the ClusterPolicy."""
    return {"matrix": stage.by_git()["matrix"]}


# ── people ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_abort_by_a_person_leaves_the_entry_unmarked_and_says_so_before_and_after(stage: LightStage) -> None:
    with stage.synced():
        stage.begin("typo", **stage.by_git(**LONG_BAKE))
        stage.wait_phase("Baking")
        head = stage.fetched()
        before = stage.do("rollout", "abort", "typo", "--mark-bad", "--dry-run")
        assert (
            f"one new commit on main of {stage.url} reverts these, and no others:\n    {head[:12]} (canary)\n" in before
        )
        assert f"is marked bad by a commit of its own to main of {stage.url}, with your reason" in before
        assert stage.fetched() == head, "nothing was written"
        said = stage.run("rollout", "abort", "typo", "--reason", "the wrong version", "-y")
        assert said.returncode == 0, said.stderr
        assert "entry canary of the matrix is not marked bad; --mark-bad marks it" in said.stderr
        stage.wait_phase("Reverted")
    assert marked(stage) == ""
    assert not [subject for subject in stage.remote_log() if subject.startswith("Mark ")]
    stage.fetched()
    told = " ".join(stage.git("log", "-1", "--format=%b", "origin/main").split())
    assert "Reverted: the wrong version." in told
    assert "The entry is not marked bad: seatrial found nothing wrong with the version." in told
    assert not stage.marks()


def test_a_person_who_rejects_the_version_says_so_and_another_takes_the_mark_off_again(
    stage: LightStage, tmp_path: Path
) -> None:
    before = stage.matrix()
    stage.begin("rejected", **straight(stage), **LONG_BAKE)
    stage.wait_phase("Baking")
    said = stage.run("rollout", "abort", "rejected", "--reason", "tenants see timeouts", "--mark-bad", "-y")
    assert said.returncode == 0, said.stderr
    how = f"by a commit of its own to main of {stage.url}"
    assert f"entry canary of the matrix is marked bad {how}, with your reason" in said.stderr
    stage.wait_phase("Reverted")
    assert marked(stage) == "tenants see timeouts"

    path = tmp_path / MATRIX
    path.write_text(stage.matrix(), encoding="utf-8")
    checked = forked.run("check", "--full", str(path))
    assert "canary-bad" in checked.stdout, checked.stdout
    assert "tenants see timeouts" in checked.stdout
    assert forked.run("matrix", "unmark", "canary", str(path)).returncode == 0
    assert path.read_text(encoding="utf-8") == before


def test_a_deletion_that_takes_the_rollout_back_marks_nothing(stage: LightStage) -> None:
    stage.begin("deleted", **straight(stage), **LONG_BAKE, onDelete="revert")
    stage.wait_phase("Baking")
    stage.plane.kubectl("delete", "gpurollout", "deleted", "--wait=true", "--timeout=120s")
    assert set(stage.fleet.driver_versions().values()) == {stage.running}
    assert marked(stage) == ""


# ── verdicts of ours ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_canary_whose_driver_does_not_load_marks_the_entry_also_when_a_person_takes_it_back(
    stage: LightStage,
) -> None:
    name = stage.fleet.nodes[0]
    stage.fleet.break_driver(name, "module-load", restart_count=11)
    try:
        stage.begin("unloaded", canary={"nodes": [name]}, approvals={"manual": ["rollback"]}, **straight(stage))
        stage.wait_held("rollback-pending")
        stage.wait(lambda: bool(stage.campaign().get("rejected")), "the verdict to be on record")
        said = stage.run("rollout", "abort", "unloaded", "--reason", "seen enough", "-y")
        assert f", for what was found: canary {name} failed" in said.stderr
        stage.wait_phase("Reverting")
    finally:
        stage.fleet.mend(name)
    stage.wait_phase("Reverted")
    assert stage.campaign()["why"] == "seen enough"
    assert marked(stage).startswith(f"canary {name} failed: ")


def test_a_canary_whose_driver_does_not_load_goes_back_by_itself_and_marks_the_entry(stage: LightStage) -> None:
    name = stage.fleet.nodes[0]
    stage.fleet.break_driver(name, "module-load", restart_count=11)
    try:
        stage.begin("crashed", canary={"nodes": [name]}, **straight(stage))
        stage.wait_phase("Reverting")
    finally:
        stage.fleet.mend(name)
    stage.wait_phase("Reverted")
    assert marked(stage) == stage.campaign()["why"]
    assert marked(stage).startswith(f"canary {name} failed: ")


def test_more_failed_nodes_than_may_be_stop_the_waves_and_who_goes_back_marks_the_entry(stage: LightStage) -> None:
    canary, *others = stage.fleet.nodes
    for name in others:
        stage.fleet.break_driver(name, "module-load", restart_count=11)
    limits = {"maxParallelUpgrades": 0, "maxUnavailable": "100%", "maxFailed": 1}
    try:
        stage.begin("budget", canary={"nodes": [canary]}, limits=limits, **straight(stage))
        told = stage.wait_held("failure-budget")
        assert "2 nodes failed" in told
        stage.wait(lambda: bool(stage.campaign().get("rejected")), "the verdict to be on record")
        assert stage.status()["phase"] == "Waving", "a person says what becomes of those that are done"
        assert marked(stage) == ""
        why = stage.run("why", "budget").stdout
        assert "`seatrial rollout abort budget --reason ...`, which marks the entry bad" in " ".join(why.split())
        assert "Left      unknown (the rollout waits: failure-budget)" in why
        stage.do("rollout", "abort", "budget", "--reason", "back to work", "-y")
        stage.wait_phase("Reverting")
    finally:
        for name in others:
            stage.fleet.mend(name)
    stage.wait_phase("Reverted")
    assert stage.campaign()["why"] == "back to work"
    assert marked(stage).startswith(
        f"2 nodes failed in the waves, and the limit is 1 (maxFailed): {', '.join(others)}; "
    )
    assert set(stage.fleet.driver_versions().values()) == {stage.running}
    assert not stage.marks()
