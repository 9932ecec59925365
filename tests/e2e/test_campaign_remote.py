"""The repository of a campaign fails it at every step: away, changed, rewritten, protected. It waits, says so, goes on.

One rollout lives from its matrix commit to its rollback, through these tests in their order; nothing is done twice and
nothing is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.campaigns import MATRIX, PUBLISHED
from tests.e2e.light_stage import LONG_BAKE, POLICY, LightStage, light_stage

pytestmark = pytest.mark.cluster

PREFIX = "remote"
LIFE = "life"
REPORTS = "https://reports.example/{rollout}"


@pytest.fixture(scope="module")
def stage(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    """The stage, with a rollout that waits for a person before the waves and before the promotion."""
    arguments = ("--report-url", REPORTS)
    with light_stage(cluster, tmp_path_factory.mktemp(PREFIX), PREFIX, arguments=arguments) as made:
        made.open()
        made.lay_out()
        yield made


def test_a_remote_that_is_away_keeps_the_canary_from_starting(stage: LightStage) -> None:
    stage.begin(LIFE, **stage.by_git(approvals={"manual": ["waves", "promotion"]}))
    stage.wait(lambda: len(stage.remote_log()) == 2, "the canary's commit")
    stage.wait_held("publish-pending")
    with stage.remote_away():
        told = stage.wait_held("source-unreachable")
        assert str(stage.remote) in told
        stage.set_version(stage.target)  # as if the commit had been brought into the cluster before
        stage.wait_held("not-its-turn", stage.canary)
        assert stage.wait_holds("source-unreachable")["phase"] == "Canary"
        answer = stage.run("why", LIFE)
        assert "the matrix cannot be read" in answer.stdout, answer.stdout
        assert not stage.touched()
    with stage.synced():
        stage.wait_phase("Baking")
    assert stage.touched() == {stage.canary}
    assert stage.remote_log().count(f"Driver {stage.target} for the canary {stage.canary}") == 1


def test_a_matrix_that_no_longer_stands_behind_the_target_stops_the_fleet(stage: LightStage) -> None:
    with stage.synced():
        stage.wait_held("approval-pending", saying="before the fleet follows the canary")
        good = stage.matrix()
        stage.commit("Another one", **{MATRIX: good.replace(stage.target, "575.57.08")})
        stage.wait_looked()  # a wave begins on what was last seen of the repository
        stage.do("rollout", "approve", LIFE, "waves")
        told = stage.wait_held("matrix-changed")
        assert f"the matrix now says 575.57.08, and the rollout was made for {stage.target}" in told
        stage.wait_holds("matrix-changed", "not-its-turn")
        said = stage.run("why", max(set(stage.fleet.nodes) - {stage.canary})).stdout
        assert "the rollout waits (matrix-changed): the matrix now says 575.57.08" in said
        assert "on its own" not in said

        stage.commit("No canary any more", **{MATRIX: good.partition("  canary:")[0]})
        assert "canary" in stage.wait_held("matrix-problem")

        stage.commit("Somebody knows better", **{MATRIX: f'{good}    bad: "it hangs under load"\n'})
        assert "it hangs under load" in stage.wait_held("entry-bad")
        stage.commit("As it was", **{MATRIX: good})

        head = stage.git("rev-parse", "HEAD").strip()
        tree = stage.git("rev-parse", "HEAD^{tree}").strip()
        alone = stage.git("commit-tree", tree, "-m", "All of it in one").strip()
        stage.git("push", "--quiet", "--force", "origin", f"{alone}:main")
        stage.wait_held("history-rewritten")
        assert stage.wait_holds("history-rewritten")["phase"] == "Waving"
        assert stage.condition("Progressing") == ("False", "HistoryRewritten")
        with stage.remote_away():
            stage.wait_held("source-unreachable", count=2)
        stage.wait_held("history-rewritten", count=2)
        assert stage.touched() == {stage.canary}, "nobody of the fleet moved"

        stage.git("push", "--quiet", "--force", "origin", f"{head}:main")
        stage.wait_held("approval-pending", saying="before the matrix is promoted")
    assert stage.touched() == set(stage.fleet.nodes)
    assert set(stage.fleet.driver_versions().values()) == {stage.target}


def test_a_remote_that_is_away_holds_the_promotion_and_it_is_done_once(stage: LightStage) -> None:
    with stage.remote_away():
        stage.do("rollout", "approve", LIFE, "promotion")
        stage.wait_phase("Promoting")
        stage.wait_held("source-unreachable", count=3)
        refuse(stage.remote.with_suffix(".away"), "this branch is closed until Monday")
    stage.wait(
        lambda: any("this branch is closed until Monday" in each["why"] for each in stage.status()["waits"]),
        "the status to say what the remote says",
    )
    assert not stage.tags()
    (stage.remote / "hooks" / "pre-receive").unlink()
    stage.wait_phase("Done")
    assert stage.remote_log().count(f"Promote driver {stage.target} to production") == 1
    assert [tag.rpartition("-")[2] for tag in stage.tags()] == ["stable"]
    assert not stage.marks()
    assert f"Report: https://reports.example/{LIFE}\n" in last_message(stage)
    data = json.loads(stage.run("report", LIFE, "-o", "json").stdout)
    assert [each["what"] for each in data["said"]] == ["approved waves", "approved promotion"]
    assert all(each["who"].endswith(" (claimed)") for each in data["said"]), data["said"]


def test_a_rollback_of_what_is_done_waits_for_the_remote_and_takes_all_of_it_back(stage: LightStage) -> None:
    tags = stage.tags()
    before = stage.do("rollout", "rollback", "--dry-run")
    assert "one new commit on main of " in before
    listed = [line.split()[1] for line in before.splitlines() if line.startswith("    ")]
    assert listed == ["(promotion)", "(canary)"], before
    with stage.synced():
        with stage.remote_away():
            said = stage.do("rollout", "rollback", "--reason", "two nodes lost their NVLink", "-y")
            assert "life is being undone" in said
            stage.wait_phase("Reverting")
            stage.wait_held("source-unreachable", count=4)
            assert stage.plane.get("clusterpolicy", POLICY)["spec"]["driver"]["version"] == stage.target
            assert set(stage.fleet.driver_versions().values()) == {stage.target}
        stage.wait_phase("Reverted")
    assert set(stage.fleet.driver_versions().values()) == {stage.running}
    reverts = [subject for subject in stage.remote_log() if subject.startswith(("Revert ", "Mark "))]
    assert len(reverts) == 1, reverts
    assert f"Report: https://reports.example/{LIFE}\n" in last_message(stage)
    head, _, rest = stage.matrix().partition("canary:")
    assert f'driver: "{stage.running}"' in head, "production is what it was"
    assert "bad:" not in rest, "a person undid it, and did not reject the version"
    assert f'version: "{stage.running}"' in stage.shown(PUBLISHED)
    assert stage.tags() == tags, "what was tagged was tagged"
    assert not stage.marks()
    data = json.loads(stage.run("status", "-o", "json").stdout)
    assert data["rollout"]["state"] == "reverted"


# ── rollouts of their own ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def fresh(stage: LightStage) -> LightStage:
    """The stage with nothing left of what was before, and a matrix that says what is next."""
    stage.open()
    stage.lay_out()
    return stage


def test_nodes_go_back_while_the_matrix_cannot_be_reached_where_we_publish_ourselves(fresh: LightStage) -> None:
    by_git = fresh.by_git()
    fresh.begin("straight", matrix=by_git["matrix"], **LONG_BAKE)
    fresh.wait_phase("Baking")
    before = fresh.remote_log()
    with fresh.remote_away():
        fresh.do("rollout", "abort", "straight", "--reason", "no time for Git", "--mark-bad", "-y")
        fresh.wait(
            lambda: set(fresh.fleet.driver_versions().values()) == {fresh.running}, "the canary to run the old driver"
        )
        fresh.wait_held("source-unreachable")
        fresh.wait(lambda: not fresh.cordoned(), "the canary to be back")
        assert fresh.status()["phase"] == "Reverting", "what is owed to the matrix is not forgotten"
    fresh.wait_phase("Reverted")
    assert fresh.remote_log() == [*before, f"Mark driver {fresh.target} as bad"]
    assert "no time for Git" in fresh.matrix()
    assert not fresh.marks()


@pytest.mark.long
def test_a_revert_that_conflicts_says_what_to_type_and_goes_on_once_the_old_version_is_there(fresh: LightStage) -> None:
    with fresh.synced():
        fresh.begin("conflict", **fresh.by_git(**LONG_BAKE))
        fresh.wait_phase("Baking")
        moved = fresh.shown(PUBLISHED).replace(f'version: "{fresh.target}"', f'version: "{fresh.target}" # keep')
        moved = moved.replace("# keep  # by the matrix", "# keep")
        fresh.commit("A remark on the same line", **{PUBLISHED: moved})
        fresh.do("rollout", "abort", "conflict", "--reason", "not so", "-y")
        told = fresh.wait_held("revert-conflict")
        assert "git revert" in told
        assert fresh.fleet.driver_versions()[fresh.canary] == fresh.target
        fresh.commit("Back by hand", **{PUBLISHED: moved.replace(fresh.target, fresh.running)})
        fresh.wait_phase("Reverted")
    assert set(fresh.fleet.driver_versions().values()) == {fresh.running}
    assert not fresh.marks()


@pytest.mark.long
def test_an_abort_after_our_commits_were_rewritten_away_waits_for_the_old_version(fresh: LightStage) -> None:
    with fresh.synced():
        fresh.begin("rewritten", **fresh.by_git(**LONG_BAKE))
        fresh.wait_phase("Baking")
        tree = fresh.git("rev-parse", f"{fresh.fetched()}^{{tree}}").strip()
        alone = fresh.git("commit-tree", tree, "-m", "All of it in one").strip()
        fresh.git("push", "--quiet", "--force", "origin", f"{alone}:main")
        fresh.git("reset", "--quiet", "--hard", alone)
        fresh.do("rollout", "abort", "rewritten", "--reason", "history", "-y")
        fresh.wait_phase("Reverting")
        fresh.wait_held("publish-pending", count=2)
        assert fresh.fleet.driver_versions()[fresh.canary] == fresh.target
        text = fresh.shown(PUBLISHED).replace(fresh.target, fresh.running)
        fresh.commit("Back by hand", **{PUBLISHED: text})
        fresh.wait_phase("Reverted")
    assert set(fresh.fleet.driver_versions().values()) == {fresh.running}
    assert not fresh.marks()


def last_message(stage: LightStage) -> str:
    """What the newest commit of the remote says."""
    stage.git("fetch", "--quiet", "origin")
    return stage.git("log", "-1", "--format=%B", "origin/main")


def refuse(remote: Path, why: str) -> None:
    """Let a remote turn every push down."""
    hook = remote / "hooks" / "pre-receive"
    hook.write_text(f"#!/bin/sh\necho '{why}' >&2\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
