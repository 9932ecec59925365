"""What a campaign does to the home of a matrix, with real repositories and a real API server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.files import switched
from seatrial.adapters.files.matrix_edit import EditRefused
from seatrial.adapters.git.errors import FileUnusable, GitRefused, NothingToChange, RevertConflict
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.writing import config_maps
from seatrial.controller.config_map_home import BEFORE_ANNOTATION, ROLLOUTS_MAX, STEPS_ANNOTATION, ConfigMapHome
from seatrial.controller.homes import Apart, CannotWrite
from seatrial.controller.matrix_text import EntrySeen, MatrixPlace, look_at, marked_bad, promoted, undo_of, undone
from seatrial.core.actions.at_home import HomeAct, RevertCommits
from seatrial.core.model.campaign import PublishStep, SourceFacts
from seatrial.core.model.instants import Instant
from seatrial.core.movers import driver_manager
from seatrial.core.words.commits import message_of
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.adapters.git.remotes import Bare, Person, git
from tests.adapters.kube import standin
from tests.adapters.kube.versioned import Objects
from tests.builders import NEW, OLD
from tests.controller.git_stage import (
    BAD,
    CANARY,
    INTENT,
    MATRIX,
    NOW,
    PROMOTE,
    PUBLISHED,
    RECORD,
    ROLLOUT,
    WHY,
    a_home,
    a_machine_of_its_own,
    a_remote,
    a_revert,
    matrix_of,
    policy_of,
    worded,
)

BRANCH = f"seatrial/{ROLLOUT}"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_machine_of_its_own(tmp_path, monkeypatch)


@pytest.fixture
def stage(tmp_path: Path) -> tuple[Bare, Person]:
    return a_remote(tmp_path / "git")


def subjects(remote: Bare, count: int = 9) -> list[str]:
    """The newest subjects of the branch, oldest first."""
    return remote.git("log", f"-{count}", "--reverse", "--format=%s", "main").splitlines()


# ── the entry as it stands ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (matrix_of(), EntrySeen(driver=NEW.version)),
        (
            matrix_of(more="    container_toolkit: v1.18.1\n    firmware_cx7: 28.43.2026\n"),
            EntrySeen(driver=NEW.version, parts=(("container_toolkit", "v1.18.1"),)),
        ),
        (matrix_of(more="    bad: too slow\n"), EntrySeen(driver=NEW.version, bad="too slow")),
        (None, EntrySeen(problem="m.yaml is gone")),
        (matrix_of().partition("  canary")[0], EntrySeen(problem="m.yaml no longer has an entry 'canary'")),
        (
            matrix_of().partition("  canary")[0] + "  canary:\n    status: testing\n",
            EntrySeen(problem="m.yaml: canary names no driver"),
        ),
    ],
)
def test_an_entry_is_read_or_its_problem_told(text: str | None, seen: EntrySeen) -> None:
    assert look_at(text, MatrixPlace(file="m.yaml", entry="canary")) == seen


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "cannot be read"),
        ("versions: [", "cannot be read"),
        (matrix_of(more='    driver: "570.1"\n'), "cannot be read: line 8"),
        (matrix_of(canary="soon"), "soon"),
        (matrix_of().partition("  canary")[0] + "  canary: 580.105.08\n", "canary"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text: str, told: str) -> None:
    problem = look_at(text, MatrixPlace(file="m.yaml", entry="canary")).problem
    assert problem.startswith("m.yaml")
    assert told in problem


@pytest.mark.parametrize(("toolkit", "is_marked"), [("v1.18.1", True), ("v1.19.0", False), ("", True)])
def test_an_entry_is_rejected_for_the_versions_that_were_tried_and_no_others(toolkit: str, is_marked: bool) -> None:
    text = matrix_of(more=f"    container_toolkit: {toolkit}\n" if toolkit else "")
    place = MatrixPlace(file="m.yaml", entry="canary")
    after = marked_bad(text, "too slow", f"{NEW.version}, container_toolkit v1.18.1", place)
    assert (look_at(after, place).bad == "too slow") is is_marked
    assert (after == text) is not is_marked


@pytest.mark.parametrize("entry", ["planned", "rollback"])
def test_an_entry_that_cannot_be_promoted_is_refused_before_anything_moves(entry: str) -> None:
    assert "cannot be promoted" in look_at(matrix_of(), MatrixPlace(file="m.yaml", entry=entry)).problem


# ── a repository: looking ────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_look_shows_the_entry_and_nothing_of_ours_yet(stage: tuple[Bare, Person]) -> None:
    remote, _ = stage
    pinned = remote.git("rev-parse", "main~1")
    assert await a_home(remote, pinned=pinned).look(NOW) == SourceFacts(
        since=NOW, head=remote.head(), driver=NEW.version
    )


async def test_a_force_push_that_drops_the_commit_of_the_rollout_is_seen(stage: tuple[Bare, Person]) -> None:
    remote, ada = stage
    home = a_home(remote, pinned=remote.head())
    assert not (await home.look(NOW)).is_rewritten
    git(ada.clone, "commit", "-q", "--amend", "-m", "Never mind")
    git(ada.clone, "push", "-q", "--force", "origin", "HEAD:main")
    assert (await home.look(NOW)).is_rewritten


async def test_a_matrix_that_became_a_link_is_the_matrix_s_problem_and_no_trouble_of_the_remote(
    stage: tuple[Bare, Person],
) -> None:
    remote, ada = stage
    (ada.clone / MATRIX).unlink()
    (ada.clone / MATRIX).symlink_to("elsewhere.yaml")
    git(ada.clone, "commit", "-q", "-a", "-m", "A link")
    git(ada.clone, "push", "-q", "origin", "HEAD:main")
    facts = await a_home(remote).look(NOW)
    assert "is a link" in facts.problem
    assert facts.head == remote.head()


# ── a repository: publishing ─────────────────────────────────────────────────────────────────────────────────────────


async def test_publishing_changes_one_value_in_one_commit(stage: tuple[Bare, Person]) -> None:
    remote, _ = stage
    home = a_home(remote)
    await home.do(CANARY)
    assert remote.text(PUBLISHED) == policy_of(NEW.version)
    assert remote.message() == (
        f"Driver {NEW.version} for the canary n1\n\n"
        f"It replaces {OLD.version}. Only n1 moves now; the others follow once it has\n"
        "passed smoke and has been healthy for 48 hours.\n\n"
        f"Seatrial-Rollout: {ROLLOUT}\nSeatrial-Step: canary"
    )
    assert (await home.look(NOW)).steps == ((PublishStep.CANARY, remote.head()),)


async def test_what_the_driver_manager_is_told_is_in_the_same_commit_and_goes_with_it(
    stage: tuple[Bare, Person],
) -> None:
    remote, _ = stage
    home = a_home(remote)
    before, count = remote.text(PUBLISHED), remote.count()
    quiet = tuple(each for resource, _ in CANARY.versions for each in driver_manager.off(resource))
    await home.do(worded(replace(CANARY, switches=quiet)))
    assert remote.count() == count + 1
    assert switched.manager_env(remote.text(PUBLISHED), CANARY.versions[0][0]) == dict.fromkeys(
        driver_manager.SWITCHES, "false"
    )
    assert "so that the driver manager does not uncordon" in " ".join(remote.message().split())
    commits = ((await home.look(NOW)).commit_of(PublishStep.CANARY),)
    await home.do(RevertCommits(rollout=ROLLOUT, commits=commits, driver=NEW.version))
    assert remote.text(PUBLISHED) == before


async def test_a_step_that_two_controllers_write_is_one_commit(stage: tuple[Bare, Person]) -> None:
    remote, _ = stage
    before = remote.count()
    first, second = a_home(remote, "one"), a_home(remote, "two")
    await first.do(CANARY)
    await second.do(CANARY)
    await first.do(CANARY)
    assert remote.count() == before + 1
    assert (await first.look(NOW)).steps == (await second.look(NOW)).steps


async def test_what_somebody_published_already_is_not_taken_for_ours(stage: tuple[Bare, Person]) -> None:
    remote, ada = stage
    theirs = ada.write(PUBLISHED, policy_of(NEW.version), "By hand")
    home = a_home(remote)
    with pytest.raises(NothingToChange):
        await home.do(CANARY)
    assert remote.head() == theirs
    assert (await home.look(NOW)).steps == ()


async def test_a_values_file_has_one_place_for_the_cluster_policy(stage: tuple[Bare, Person]) -> None:
    remote, ada = stage
    ada.write("values.yaml", f"driver:\n  enabled: true\n  version: {OLD.version}\n")
    await a_home(remote, published="values.yaml").do(CANARY)
    assert remote.text("values.yaml") == f"driver:\n  enabled: true\n  version: {NEW.version}\n"


async def test_a_values_file_is_never_written_for_one_pool(stage: tuple[Bare, Person]) -> None:
    remote, ada = stage
    head = ada.write("values.yaml", f"driver:\n  version: {OLD.version}\n")
    one = replace(CANARY, versions=(("NVIDIADriver/pool-a", NEW.version),))
    with pytest.raises(EditRefused, match=r"values\.yaml.*NVIDIADriver/pool-a is not in this file"):
        await a_home(remote, published="values.yaml").do(one)
    assert remote.head() == head
    default = replace(CANARY, versions=(("NVIDIADriver/default", NEW.version),))
    await a_home(remote, published="values.yaml").do(default)
    assert NEW.version in remote.text("values.yaml")


async def test_a_resource_that_is_not_in_the_file_is_named(stage: tuple[Bare, Person]) -> None:
    remote, _ = stage
    other = replace(CANARY, versions=(("ClusterPolicy/another", NEW.version),))
    with pytest.raises(EditRefused, match=r"cluster/gpu\.yaml.*ClusterPolicy/another is not in this file"):
        await a_home(remote).do(other)


RELEASE = (
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: gpu, namespace: gpu-operator}\n"
    "spec:\n  chart: {spec: {chart: gpu-operator, version: v25.3.4}}  # by the matrix\n"
)


async def test_a_release_and_a_driver_in_two_files_of_a_folder_are_one_commit_and_go_back_together(
    stage: tuple[Bare, Person],
) -> None:
    remote, ada = stage
    ada.write("cluster/release.yaml", RELEASE)
    home, count = a_home(remote, published="cluster"), remote.count()
    both = replace(CANARY, versions=((CANARY.versions[0][0], f"{NEW.version}, gpu_operator v25.10.0"),))
    await home.do(both)
    assert remote.count() == count + 1
    assert remote.text(PUBLISHED) == policy_of(NEW.version)
    assert remote.text("cluster/release.yaml") == RELEASE.replace("v25.3.4", "v25.10.0")
    with pytest.raises(NothingToChange):
        await a_home(remote, "another", published="cluster").do(replace(both, step=PublishStep.FLEET))
    await home.do(a_revert(await home.look(NOW)))
    assert (remote.text(PUBLISHED), remote.text("cluster/release.yaml")) == (policy_of(OLD.version), RELEASE)


async def test_a_release_that_two_files_declare_is_committed_nowhere(stage: tuple[Bare, Person]) -> None:
    remote, ada = stage
    ada.write("cluster/a.yaml", RELEASE)
    head = ada.write("cluster/b.yaml", RELEASE)
    both = replace(CANARY, versions=((CANARY.versions[0][0], f"{NEW.version}, gpu_operator v25.10.0"),))
    with pytest.raises(EditRefused, match=r"2 places: cluster/a\.yaml:5 and cluster/b\.yaml:5"):
        await a_home(remote, published="cluster").do(both)
    assert remote.head() == head


async def test_without_a_file_to_publish_to_nothing_is_published(stage: tuple[Bare, Person]) -> None:
    remote, _ = stage
    with pytest.raises(CannotWrite, match=r"spec\.publish\.git\.path"):
        await a_home(remote, published="").do(CANARY)
    with pytest.raises(FileUnusable, match="does not exist"):
        await a_home(remote, published="nowhere.yaml").do(CANARY)


# ── a repository: promotion ──────────────────────────────────────────────────────────────────────────────────────────


async def test_a_promotion_is_a_commit_and_its_tag(stage: tuple[Bare, Person]) -> None:
    remote, _ = stage
    home = a_home(remote)
    await home.do(PROMOTE)
    await home.do(PROMOTE)
    facts = await home.look(NOW)
    assert facts.commit_of(PublishStep.PROMOTION) == remote.head()
    assert (facts.tag, remote.git("tag", "--list")) == ("v2026-10-stable", "v2026-10-stable")
    assert f'current:\n    driver: "{NEW.version}"' in remote.text(MATRIX)
    assert remote.git("tag", "--list", "--format=%(contents)").startswith(
        f"Driver {NEW.version} in production since 2026-10-01\n\nn1 was healthy on it for 48 hours.\n"
    )


async def test_a_promotion_by_hand_gets_our_tag_and_no_second_commit(stage: tuple[Bare, Person]) -> None:
    remote, ada = stage
    theirs = ada.write(MATRIX, matrix_of(current=NEW.version), "Promoted by hand")
    home = a_home(remote)
    await home.do(PROMOTE)
    facts = await a_home(remote, "after-a-restart").look(NOW)
    assert (remote.head(), facts.tag, facts.commit_of(PublishStep.PROMOTION)) == (theirs, "v2026-10-stable", theirs)
    await home.do(a_revert(facts))
    assert remote.head() == theirs, "what somebody else did is theirs to undo"
    assert (await home.look(NOW)).commit_of(PublishStep.REVERT)


async def test_a_rollout_of_what_production_says_is_tagged_and_moves_no_entry(stage: tuple[Bare, Person]) -> None:
    remote, ada = stage
    head = ada.write(MATRIX, matrix_of(current=NEW.version, canary="590.44.01"), "Straight to production")
    home = a_home(remote, entry="production")
    await home.do(PROMOTE)
    facts = await home.look(NOW)
    assert (remote.head(), facts.tag, facts.driver) == (head, "v2026-10-stable", NEW.version)


# ── a repository: the way back ───────────────────────────────────────────────────────────────────────────────────────


async def test_a_revert_takes_back_our_commits_and_no_others(stage: tuple[Bare, Person]) -> None:
    remote, ada = stage
    home = a_home(remote)
    await home.do(CANARY)
    ada.write("README.md", "In between.\n", "A note")
    await home.do(PROMOTE)
    await home.do(a_revert(await home.look(NOW)))
    assert (remote.text(PUBLISHED), remote.text(MATRIX)) == (policy_of(), matrix_of())
    assert remote.text("README.md") == "In between.\n"
    assert subjects(remote, 1) == [f'Revert "Promote driver {NEW.version} to production" and 1 more']
    assert f"Reverted: {WHY}." in remote.message()
    await home.do(BAD)
    facts = await home.look(NOW)
    assert {step for step, _ in facts.steps} == {
        PublishStep.CANARY,
        PublishStep.PROMOTION,
        PublishStep.REVERT,
        PublishStep.BAD,
    }
    assert facts.bad == WHY


async def test_whatever_a_gate_said_last_its_work_is_taken_back_and_the_entry_marked(
    stage: tuple[Bare, Person],
) -> None:
    """Git makes no commit with a NUL in its message, and what cannot be committed is tried for ever."""
    remote, _ = stage
    home = a_home(remote)
    await home.do(CANARY)
    said = "gate smoke failed on n1: \x1b[31mXid 79\x1b[0m\0\0 \x9b2J\u202egone"
    revert = a_revert(await home.look(NOW))
    await home.do(replace(revert, message=message_of(revert, INTENT, replace(RECORD, why=said))))
    assert remote.text(PUBLISHED) == policy_of()
    assert "Reverted: gate smoke failed on n1: Xid 79�� �gone." in " ".join(remote.message().split())
    await home.do(replace(BAD, why=said))
    assert (await home.look(NOW)).bad == "gate smoke failed on n1: Xid 79�� �gone"
    assert not any(char < " " for char in remote.text(MATRIX).replace("\n", ""))


async def test_a_conflict_is_told_for_this_head_and_asked_anew_after_the_next_push(stage: tuple[Bare, Person]) -> None:
    remote, ada = stage
    home = a_home(remote)
    await home.do(CANARY)
    ada.write(PUBLISHED, policy_of("590.44.01"), "Another one by hand")
    revert = a_revert(await home.look(NOW))
    with pytest.raises(RevertConflict):
        await home.do(revert)
    assert "git revert --no-commit" in (await home.look(NOW)).conflict
    ada.write("README.md", "Something else.\n")
    assert (await home.look(NOW)).conflict == "", "the next try says whether it is still so"
    with pytest.raises(RevertConflict):
        await home.do(revert)
    ada.write(PUBLISHED, policy_of(), "Back by hand, without our lines")
    await home.do(revert)
    facts = await home.look(NOW)
    assert (facts.conflict, bool(facts.commit_of(PublishStep.REVERT))) == ("", True)


async def test_a_revert_leaves_daemon_sets_told_to_restart_nobody_by_themselves(stage: tuple[Bare, Person]) -> None:
    remote, _ = stage
    home = a_home(remote)
    await home.do(replace(CANARY, on_delete=True))
    told = "daemonsets:\n    updateStrategy: OnDelete\n"
    assert told in remote.text(PUBLISHED)
    await home.do(replace(a_revert(await home.look(NOW)), on_delete=("ClusterPolicy/gpu",)))
    assert remote.text(PUBLISHED) == policy_of() + f"  {told}"


async def test_a_file_that_somebody_rewrote_goes_back_whatever_it_keeps(stage: tuple[Bare, Person]) -> None:
    remote, _ = stage
    home = a_home(remote)
    await home.do(CANARY)
    await home.do(replace(a_revert(await home.look(NOW)), on_delete=("ClusterPolicy/another",)))
    assert remote.text(PUBLISHED) == policy_of()


async def test_what_somebody_reverted_by_hand_is_done(stage: tuple[Bare, Person]) -> None:
    remote, ada = stage
    home = a_home(remote)
    await home.do(CANARY)
    theirs = ada.write(PUBLISHED, policy_of(), 'Revert "Driver for the canary"')
    await home.do(replace(a_revert(await home.look(NOW)), on_delete=("ClusterPolicy/gpu",)))
    facts = await home.look(NOW)
    assert (remote.head(), facts.commit_of(PublishStep.REVERT)) == (theirs, theirs)


async def test_a_person_s_mark_stays_as_it_is(stage: tuple[Bare, Person]) -> None:
    remote, ada = stage
    ada.write(MATRIX, matrix_of(more="    bad: the vendor called it back\n"))
    assert (await a_home(remote).look(NOW)).bad == "the vendor called it back"


@pytest.mark.parametrize("text", [matrix_of(canary="590.44.01"), matrix_of().partition("  canary")[0], None])
async def test_an_entry_that_is_not_ours_any_more_is_not_marked(stage: tuple[Bare, Person], text: str | None) -> None:
    remote, ada = stage
    head = ada.write(MATRIX, text) if text else ""
    if not head:
        git(ada.clone, "rm", "-q", MATRIX)
        git(ada.clone, "commit", "-q", "-m", "No matrix any more")
        git(ada.clone, "push", "-q", "origin", "HEAD:main")
        head = remote.head()
    home = a_home(remote)
    await home.do(BAD)
    assert remote.head() == head
    assert (await home.look(NOW)).commit_of(PublishStep.BAD) == head, "there is nothing to wait for"


async def test_evidence_of_any_shape_fits_into_one_line_of_the_matrix(stage: tuple[Bare, Person]) -> None:
    remote, _ = stage
    home = a_home(remote)
    await home.do(replace(BAD, why="gate smoke failed:\n" + 'Traceback "x": # {y}\n' * 90))
    bad = (await home.look(NOW)).bad
    assert bad.startswith('gate smoke failed: Traceback "x": # {y} ')
    assert len(bad) == 300


# ── a protected branch ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def protected(stage: tuple[Bare, Person]) -> tuple[Bare, Person]:
    """Only people may push to main, by a merge that they make where nobody checks."""
    stage[0].hook("update", f'[ "$1" = refs/heads/main ] && [ ! -e {stage[0].folder}/open ] && exit 1; exit 0')
    return stage


def merge(remote: Bare, ada: Person, step: str, *how: str, subject: str = "") -> None:
    """Merge a proposal as a person does: whole, or squashed into a commit of their own words."""
    (remote.folder / "open").touch()
    git(ada.clone, "fetch", "-q", "origin")
    git(ada.clone, "reset", "-q", "--hard", "origin/main")
    git(ada.clone, "merge", "-q", "--no-edit", *how, f"origin/{BRANCH}/{step}")
    if subject:
        git(ada.clone, "commit", "-q", "-m", subject)
    git(ada.clone, "push", "-q", "origin", "HEAD:main")
    (remote.folder / "open").unlink()


async def test_after_a_restart_a_proposal_is_ours_once_its_step_was_asked_for_again(
    protected: tuple[Bare, Person],
) -> None:
    remote, ada = protected
    head = remote.head()
    home = a_home(remote, is_by_request=True)
    await home.do(CANARY)
    assert remote.head() == head
    restarted = a_home(remote, "after-a-restart", is_by_request=True)
    assert (await restarted.look(NOW)).proposals == (), "anybody may have pushed it"
    await restarted.do(CANARY)
    for each in (home, restarted):
        facts = await each.look(NOW)
        assert facts.steps == ()
        ((step, text),) = facts.proposals
        assert step is PublishStep.CANARY
        assert text.startswith(f"Driver {NEW.version} for the canary n1\n")
        assert f"origin/{BRANCH}/canary" in text
    merge(remote, ada, "canary", "--no-ff")
    facts = await home.look(NOW)
    assert (facts.proposals, facts.commit_of(PublishStep.CANARY)) == ((), remote.git("rev-parse", f"{BRANCH}/canary"))


async def test_a_branch_with_our_lines_and_another_change_is_never_shown_as_our_proposal(
    protected: tuple[Bare, Person],
) -> None:
    remote, ada = protected
    git(ada.clone, "switch", "-q", "--create", "theirs")
    (ada.clone / PUBLISHED).write_text(policy_of("999.99.99"))
    subject = f"Driver {NEW.version}\n\nSeatrial-Rollout: {ROLLOUT}\nSeatrial-Step: canary"
    git(ada.clone, "commit", "-q", "-a", "-m", subject)
    git(ada.clone, "push", "-q", "origin", f"HEAD:{BRANCH}/canary")
    home = a_home(remote, is_by_request=True)
    with pytest.raises(GitRefused, match="somebody else's"):
        await home.do(CANARY)
    assert (await home.look(NOW)).proposals == ()


async def test_a_tag_with_our_line_on_what_was_never_promoted_counts_for_nothing(stage: tuple[Bare, Person]) -> None:
    remote, ada = stage
    git(ada.clone, "tag", "-a", "-m", f"Stable\n\nSeatrial-Rollout: {ROLLOUT}", "v0", "origin/main")
    git(ada.clone, "push", "-q", "origin", "v0")
    theirs = ada.write(MATRIX, matrix_of(current=NEW.version), "Promoted by hand")
    home = a_home(remote)
    facts = await home.look(NOW)
    assert (facts.tag, facts.commit_of(PublishStep.PROMOTION)) == ("", "")
    await home.do(PROMOTE)
    facts = await home.look(NOW)
    assert (facts.tag, facts.commit_of(PublishStep.PROMOTION)) == ("v2026-10-stable", theirs)


async def test_a_squash_that_keeps_our_lines_is_the_step(protected: tuple[Bare, Person]) -> None:
    remote, ada = protected
    home = a_home(remote, is_by_request=True)
    await home.do(CANARY)
    merge(remote, ada, "canary", "--squash", subject=remote.message(f"{BRANCH}/canary") + "\n\nCo-authored-by: Ada")
    facts = await home.look(NOW)
    assert (facts.proposals, facts.commit_of(PublishStep.CANARY)) == ((), remote.head())


async def test_a_squash_that_drops_our_lines_does_not_wait_for_ever(protected: tuple[Bare, Person]) -> None:
    remote, ada = protected
    home = a_home(remote, is_by_request=True)
    await home.do(PROMOTE)
    merge(remote, ada, "promotion", "--squash", subject="Squashed")
    assert (await home.look(NOW)).proposals == ()
    await home.do(PROMOTE)
    facts = await home.look(NOW)
    assert (facts.tag, facts.commit_of(PublishStep.PROMOTION)) == ("v2026-10-stable", remote.head())


async def test_a_promotion_gets_its_tag_once_it_is_merged(protected: tuple[Bare, Person]) -> None:
    remote, ada = protected
    home = a_home(remote, is_by_request=True)
    await home.do(PROMOTE)
    assert [step for step, _ in (await home.look(NOW)).proposals] == [PublishStep.PROMOTION]
    assert remote.git("tag", "--list") == ""
    merge(remote, ada, "promotion")
    await a_home(remote, "after-a-restart", is_by_request=True).do(PROMOTE)
    facts = await home.look(NOW)
    assert (facts.tag, remote.git("rev-parse", "v2026-10-stable^{commit}")) == ("v2026-10-stable", remote.head())


async def test_a_revert_is_proposed_and_merged_like_any_step(protected: tuple[Bare, Person]) -> None:
    remote, ada = protected
    home = a_home(remote, is_by_request=True)
    await home.do(CANARY)
    merge(remote, ada, "canary")
    await home.do(a_revert(await home.look(NOW)))
    assert [step for step, _ in (await home.look(NOW)).proposals] == [PublishStep.REVERT]
    merge(remote, ada, "revert", "--squash", subject="Back, in our own words")
    await home.do(a_revert(await home.look(NOW)))
    facts = await home.look(NOW)
    assert (facts.proposals, bool(facts.commit_of(PublishStep.REVERT))) == ((), True)
    assert remote.text(PUBLISHED) == policy_of()


# ── two homes ────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_matrix_and_a_cluster_in_two_repositories_are_one_home(tmp_path: Path) -> None:
    (one, _), (two, bob) = a_remote(tmp_path / "one"), a_remote(tmp_path / "two")
    home = Apart(matrix=a_home(one, published=""), files=a_home(two, matrix="", entry=""))
    await home.do(CANARY)
    await home.do(PROMOTE)
    facts = await home.look(NOW)
    assert facts.steps == ((PublishStep.CANARY, two.head()), (PublishStep.PROMOTION, one.head()))
    assert (facts.head, facts.driver, facts.tag) == (one.head(), NEW.version, "v2026-10-stable")

    bob.write(PUBLISHED, policy_of("590.44.01"))
    with pytest.raises(RevertConflict):
        await home.do(a_revert(facts))
    assert one.text(MATRIX) == matrix_of(), "one conflict does not keep the other from going back"
    stuck = await home.look(NOW)
    assert (bool(stuck.conflict), stuck.commit_of(PublishStep.REVERT)) == (True, "")
    bob.write(PUBLISHED, policy_of(NEW.version))
    await home.do(a_revert(facts))
    assert (await home.look(NOW)).commit_of(PublishStep.REVERT) == two.head()
    assert two.text(PUBLISHED) == policy_of()


# ── what a promotion changed ─────────────────────────────────────────────────────────────────────────────────────────

LARGE = "# what we know about our nodes\n" + "".join(f"# node gpu-{number:05}: {'x' * 60}\n" for number in range(8000))
"""More than all annotations of an object may have together."""


@pytest.mark.parametrize(
    "text",
    [
        matrix_of(),
        LARGE + matrix_of(),
        matrix_of() + LARGE,
        matrix_of().replace("  canary:\n", f"{LARGE}  canary:\n"),
        matrix_of().rstrip("\n"),
        matrix_of().replace("\n", "\r\n"),
    ],
    ids=["short", "above", "below", "between", "no last line", "other lines"],
)
def test_a_promotion_is_undone_by_the_few_lines_that_it_changed(text: str) -> None:
    after = promoted(text, "2026-10-20", MatrixPlace(file="m.yaml", entry="canary"))
    note = undo_of(text, after)
    assert undone(after, note) == text
    assert len(note) < 1000


def test_any_edit_can_be_undone_by_its_note() -> None:
    texts = ("", "a\n", "a\na\n", "a\nb\nc\n", "c\nb\na", "b\n", "x\na\nb\nb\ny\n", "\n\n\na")
    for before, after in product(texts, texts):
        assert undone(after, undo_of(before, after)) == before


@pytest.mark.parametrize("note", ["", "what", "{}", '[["a", 1, "x"]]', '[[7, 1, "x"]]', '[[1, 1, "x"], [0, 1, "y"]]'])
def test_a_note_that_is_not_ours_undoes_nothing(note: str) -> None:
    assert undone("a\nb\n", note) is None


class Told:
    """A home that shows what it was given."""

    def __init__(self, facts: SourceFacts) -> None:
        self._facts = facts

    async def look(self, now: Instant) -> SourceFacts:  # noqa: ARG002  the port has it
        return self._facts

    async def do(self, act: HomeAct, /) -> None: ...


async def test_of_two_homes_everything_is_shown_and_what_both_ask_for_is_asked_together() -> None:
    canary, revert, bad = PublishStep.CANARY, PublishStep.REVERT, PublishStep.BAD
    files = SourceFacts(
        head="f",
        proposals=((canary, "merge f"), (revert, "undo f")),
        unasked=(canary,),
        forge_trouble="no f",
        conflict="a",
    )
    matrix = SourceFacts(head="m", proposals=((revert, "undo m"),), unasked=(canary, bad), conflict="b")
    seen = await Apart(matrix=Told(matrix), files=Told(files)).look(NOW)
    assert seen.head == "m"
    assert seen.proposals == ((canary, "merge f"), (revert, "undo f\nundo m"))
    assert (seen.unasked, seen.forge_trouble, seen.conflict) == ((canary, bad), "no f", "a\nb")


@pytest.mark.parametrize(
    ("files", "matrix", "is_reverted"),
    [
        ((PublishStep.CANARY, PublishStep.REVERT), (PublishStep.PROMOTION, PublishStep.REVERT), True),
        ((PublishStep.CANARY, PublishStep.REVERT), (PublishStep.PROMOTION,), False),
        ((PublishStep.CANARY,), (PublishStep.PROMOTION, PublishStep.REVERT), False),
        ((PublishStep.CANARY, PublishStep.REVERT), (), True),
        ((), (PublishStep.PROMOTION, PublishStep.REVERT), True),
        ((), (PublishStep.REVERT,), False),
    ],
)
async def test_a_revert_is_done_where_each_has_taken_back_what_it_had(
    files: tuple[PublishStep, ...], matrix: tuple[PublishStep, ...], is_reverted: bool
) -> None:
    told = (SourceFacts(steps=tuple((step, step.value) for step in steps)) for steps in (files, matrix))
    seen = await Apart(files=Told(next(told)), matrix=Told(next(told))).look(NOW)
    assert (PublishStep.REVERT in dict(seen.steps)) is is_reverted


# ── a ConfigMap ──────────────────────────────────────────────────────────────────────────────────────────────────────

NAMESPACE, NAME, KEY = "matrix-homes", "gpu-matrix", "matrix.yaml"


PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}"


@pytest.fixture(scope="module")
def place(plane: ControlPlane) -> Iterator[ControlPlane]:
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}])
    yield plane
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


class Shelf:
    """A ConfigMap of an API server, and who looks at it."""

    def __init__(self, client: Client, put: Callable[[dict[str, Any]], None], remove: Callable[[], None]) -> None:
        self.client = client
        self.remove = remove
        self._put = put

    def put(self, text: str, **annotations: str) -> None:
        """As somebody does who applies a manifest."""
        metadata: dict[str, Any] = {"name": NAME, "namespace": NAMESPACE, "annotations": annotations}
        self._put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {KEY: text}})

    def home(self, rollout: str = ROLLOUT, entry: str = "canary") -> ConfigMapHome:
        return ConfigMapHome(self.client, rollout=rollout, namespace=NAMESPACE, name=NAME, key=KEY, entry=entry)

    async def found(self) -> config_maps.ConfigMap:
        return await config_maps.read(self.client, NAMESPACE, NAME)

    async def text(self) -> str:
        return (await self.found()).data[KEY]


@asynccontextmanager
async def really(plane: ControlPlane) -> AsyncIterator[Shelf]:
    config = configs.load_config(kubeconfig=str(plane.kubeconfig), environ={})
    async with Client(config, user_agent="test-homes") as opened:
        remove = partial(plane.kubectl, "delete", "configmap", NAME, "-n", NAMESPACE, "--ignore-not-found")
        yield Shelf(opened, lambda thing: plane.apply([thing]), lambda: void(remove()))


@asynccontextmanager
async def stood_in() -> AsyncIterator[Shelf]:
    there = Objects()
    async with standin.running() as server, Client(server.config(), user_agent="test-homes") as opened:
        server.will(there.answer)
        yield Shelf(opened, lambda thing: void(there.put(PATH, thing)), lambda: there.remove(PATH))


def void(_: object) -> None:
    """What was answered is of no interest."""


@pytest.fixture(scope="module", params=["stand-in", pytest.param("real", marks=pytest.mark.cluster)])
def server(request: pytest.FixtureRequest) -> ControlPlane | None:
    """A real one, or none; of the module, for a test has a home of its own, in which no program was built yet."""
    found: ControlPlane | None = request.getfixturevalue("place") if request.param == "real" else None
    return found


@pytest.fixture
async def shelf(server: ControlPlane | None) -> AsyncIterator[Shelf]:
    """The same of both: the stand-in is held against the real server."""
    async with really(server) if server is not None else stood_in() as made:
        made.remove()
        made.put(matrix_of())
        yield made


async def test_a_config_map_is_promoted_once_and_taken_back(shelf: Shelf) -> None:
    home = shelf.home()
    await home.do(PROMOTE)
    version = (await shelf.found()).metadata.resource_version
    await home.do(PROMOTE)
    assert (await shelf.found()).metadata.resource_version == version, "a step is written once"
    facts = await shelf.home().look(NOW)
    assert (facts.driver, facts.tag, facts.head) == (NEW.version, "v2026-10-stable", version)
    assert f'current:\n    driver: "{NEW.version}"' in await shelf.text()

    await home.do(a_revert(facts))
    assert await shelf.text() == matrix_of()
    await home.do(BAD)
    facts = await home.look(NOW)
    assert facts.bad == WHY
    assert {step for step, _ in facts.steps} == {PublishStep.PROMOTION, PublishStep.REVERT, PublishStep.BAD}
    assert BEFORE_ANNOTATION not in (await shelf.found()).metadata.annotations


async def test_a_rollout_that_writes_again_pushes_no_other_out_of_what_is_remembered(shelf: Shelf) -> None:
    others = [f"r{number}" for number in range(ROLLOUTS_MAX)]
    for name in others:
        await shelf.home(rollout=name).do(BAD)
    noted = json.loads((await shelf.found()).metadata.annotations[STEPS_ANNOTATION])
    assert list(noted) == others
    await shelf.home(rollout=others[-1]).do(a_revert(await shelf.home(rollout=others[-1]).look(NOW)))
    noted = json.loads((await shelf.found()).metadata.annotations[STEPS_ANNOTATION])
    assert list(noted) == others
    await shelf.home(rollout="new").do(BAD)
    noted = json.loads((await shelf.found()).metadata.annotations[STEPS_ANNOTATION])
    assert list(noted) == [*others[1:], "new"], "the oldest goes"


@pytest.mark.cluster
@pytest.mark.parametrize("where", ["above", "below"])
async def test_a_matrix_that_no_annotation_could_hold_is_promoted_and_taken_back(shelf: Shelf, where: str) -> None:
    """The whole text before it was kept in an annotation, and the API server refused the promotion."""
    text = LARGE + matrix_of() if where == "above" else matrix_of() + LARGE
    assert len(text) > 2 * 256 * 1024
    await config_maps.write(shelf.client, await shelf.found(), {KEY: text}, {})
    home = shelf.home()
    await home.do(PROMOTE)
    facts = await home.look(NOW)
    assert (facts.driver, facts.tag) == (NEW.version, "v2026-10-stable")
    assert len(await shelf.text()) > 2 * 256 * 1024
    await home.do(a_revert(facts))
    assert await shelf.text() == text


async def test_a_config_map_that_somebody_changed_goes_on_once_it_is_put_right(shelf: Shelf) -> None:
    home = shelf.home()
    await home.do(PROMOTE)
    revert = a_revert(await home.look(NOW))
    changed = f"# moved down\n{await shelf.text()}"
    await config_maps.write(shelf.client, await shelf.found(), {KEY: changed}, {})
    with pytest.raises(CannotWrite, match="was changed after its promotion"):
        await home.do(revert)
    assert await shelf.text() == changed
    by_hand = changed.replace(f'current:\n    driver: "{NEW.version}"', f'current:\n    driver: "{OLD.version}"')
    await config_maps.write(shelf.client, await shelf.found(), {KEY: by_hand}, {})
    await home.do(revert)
    assert await shelf.text() == by_hand
    assert (await home.look(NOW)).commit_of(PublishStep.REVERT)


@pytest.mark.cluster
async def test_what_somebody_changed_beside_the_promotion_stays_when_it_is_taken_back(shelf: Shelf) -> None:
    home = shelf.home()
    await home.do(PROMOTE)
    revert = a_revert(await home.look(NOW))
    changed = (await shelf.text()).replace("status: testing", "status: tried")
    await config_maps.write(shelf.client, await shelf.found(), {KEY: changed}, {})
    await home.do(revert)
    assert await shelf.text() == matrix_of().replace("status: testing", "status: tried")


async def test_a_config_map_that_changed_between_reading_and_writing_is_left_alone(shelf: Shelf) -> None:
    read = await shelf.found()
    shelf.put(matrix_of(canary="590.44.01"))
    with pytest.raises(errors.Conflict):
        await config_maps.write(shelf.client, read, {KEY: "ours"}, {})
    shelf.remove()
    shelf.put(matrix_of())
    with pytest.raises(errors.ServerRefused):
        await config_maps.write(shelf.client, read, {KEY: "ours"}, {})
    assert await shelf.text() == matrix_of()


async def test_a_config_map_that_is_gone_is_a_problem_and_keeps_nobody_from_ending(shelf: Shelf) -> None:
    shelf.remove()
    home = shelf.home()
    assert (await home.look(NOW)).problem == f"ConfigMap {NAMESPACE}/{NAME}, {KEY} is gone"
    with pytest.raises(errors.NotFound):
        await home.do(PROMOTE)
    await home.do(BAD)
    assert (await home.look(NOW)).commit_of(PublishStep.BAD)


async def test_notes_of_other_rollouts_stay_and_notes_of_strangers_say_nothing(shelf: Shelf) -> None:
    await shelf.home("first-0").do(BAD)
    shelf_text = await shelf.text()
    await config_maps.write(shelf.client, await shelf.found(), {KEY: shelf_text.replace(f'    bad: "{WHY}"\n', "")}, {})
    for number in range(1, 7):
        await shelf.home(f"next-{number}").do(replace(BAD, why=f"no {number}"))
    notes = json.loads((await shelf.found()).metadata.annotations[STEPS_ANNOTATION])
    assert list(notes) == [f"next-{number}" for number in range(2, 7)]
    await config_maps.write(shelf.client, await shelf.found(), {}, {STEPS_ANNOTATION: "[1, 2"})
    assert (await shelf.home("next-6").look(NOW)).steps == ()


async def test_a_config_map_publishes_nothing_and_a_repository_beside_it_does(
    shelf: Shelf, stage: tuple[Bare, Person]
) -> None:
    remote, _ = stage
    with pytest.raises(CannotWrite, match="Publish directly"):
        await shelf.home().do(CANARY)
    home = Apart(matrix=shelf.home(), files=a_home(remote, matrix="", entry=""))
    await home.do(CANARY)
    await home.do(PROMOTE)
    facts = await home.look(NOW)
    assert [step for step, _ in facts.steps] == [PublishStep.CANARY, PublishStep.PROMOTION]
    await home.do(a_revert(facts))
    assert (await home.look(NOW)).commit_of(PublishStep.REVERT) == remote.head()
    assert (remote.text(PUBLISHED), await shelf.text()) == (policy_of(), matrix_of())


async def test_a_config_map_of_the_production_entry_is_noted_and_not_moved(shelf: Shelf) -> None:
    shelf.put(matrix_of(current=NEW.version, canary="590.44.01"))
    home = shelf.home(entry="production")
    await home.do(PROMOTE)
    facts = await home.look(Instant(NOW))
    assert (facts.tag, await shelf.text()) == ("v2026-10-stable", matrix_of(current=NEW.version, canary="590.44.01"))
