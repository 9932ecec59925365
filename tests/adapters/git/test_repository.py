"""Looking and committing: once and only once, on what the remote has, and never over somebody else."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from seatrial.adapters.git.clone import Remote
from seatrial.adapters.git.errors import FileUnusable, GitRefused, GitUnavailable, NothingToChange, SetupInvalid, Stale
from seatrial.adapters.git.past import OurCommit, OurTag
from seatrial.adapters.git.repository import Edit, Look, NewTag, Repository
from tests.adapters.git.remotes import MATRIX, ROBOT, Bare, git


def swap(old: str, new: str) -> Edit:
    def edit(text: str | None) -> str:
        assert text is not None
        return text.replace(old, new)

    return edit


PROMOTION = {"matrix.yaml": swap("570.86.15", "580.65.06")}


def promote(repository: Repository, step: str = "promote", **more: object) -> str:
    edits = more.pop("edits", PROMOTION)
    return repository.commit(
        rollout="driver-580",
        step=step,
        edits=edits,  # type: ignore[arg-type]
        subject="Promote driver 580.65.06 to production",
        body="48 h on two canary nodes; every gate passed.",
        **more,  # type: ignore[arg-type]
    )


# ── looking ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_remote_without_anything_of_ours_shows_its_head_alone(remote: Bare) -> None:
    assert remote.ours().look(rollout="driver-580") == Look(
        head=remote.head(), commits=(), tags=(), is_pinned_kept=None
    )


def test_what_a_rollout_did_is_found_by_its_name_and_no_other_rollouts(remote: Bare) -> None:
    ours = remote.ours()
    first = promote(ours, "canary", edits={"matrix.yaml": swap("canary: 580.65.06", "canary: 580.82.07")})
    ours.commit(rollout="driver-580-b", step="canary", edits=PROMOTION, subject="Another rollout")
    second = promote(ours, "promote", edits={"matrix.yaml": swap("rollback: 565.57.01", "rollback: 570.86.15")})
    ours.tag(rollout="driver-580", base="v2026-11-stable", commit=second, message="Stable")

    seen = remote.ours("another").look(rollout="driver-580")

    assert seen.commits == (
        OurCommit(step="canary", sha=first),
        OurCommit(step="promote", sha=second),
    )
    assert seen.tags == (OurTag(name="v2026-11-stable", sha=second),)


@pytest.mark.parametrize("date", ["18446744073709551616 +0000", "-1 +0000", "tomorrow", "1e309 +0000", ""])
@pytest.mark.parametrize("branch", ["main", "seatrial/driver-580/bad"])
def test_a_commit_with_a_date_that_cannot_be_read_is_found_like_any_other(
    remote: Bare, date: str, branch: str, tmp_path: Path
) -> None:
    ours = remote.ours()
    first = promote(ours, "canary")
    who = f"Ada <ada@example.com> {date}".rstrip()
    raw = tmp_path / "commit"
    raw.write_text(
        f"tree {remote.git('rev-parse', 'main^{tree}')}\nparent {first}\nauthor {who}\ncommitter {who}\n\n"
        "Mark as bad\n\nSeatrial-Rollout: driver-580\nSeatrial-Step: bad\n"
    )
    pushed = remote.git("hash-object", "-t", "commit", "-w", "--literally", str(raw))
    remote.git("update-ref", f"refs/heads/{branch}", pushed)

    seen = ours.look(rollout="driver-580")

    steps = {each.step: each.sha for each in seen.commits} | {step: each.commit for step, each in seen.proposals}
    assert steps["canary"] == first
    if branch == "main":
        assert steps["bad"] == pushed
    ours.revert(rollout="driver-580", step="revert", commits=[first], subject="Take it back", body="", kept={})
    assert remote.text() == MATRIX


def test_a_pinned_commit_is_kept_while_the_branch_only_grows(remote: Bare) -> None:
    pinned = remote.head()
    remote.person().write("readme.md", "words")
    assert remote.ours().look(rollout="r", pinned=pinned).is_pinned_kept is True


@pytest.mark.parametrize("has_seen_it", [True, False])
def test_a_rewritten_history_is_a_fact_and_no_error(remote: Bare, has_seen_it: bool) -> None:
    ada = remote.person()
    pinned = ada.write("readme.md", "words")
    ours = remote.ours()
    if has_seen_it:
        assert ours.look(rollout="r", pinned=pinned).is_pinned_kept is True
    git(ada.clone, "commit", "-q", "--amend", "-m", "Other words")
    git(ada.clone, "push", "-q", "--force", "origin", "HEAD:main")

    seen = ours.look(rollout="r", pinned=pinned)

    assert (seen.head, seen.is_pinned_kept) == (remote.head(), False)


def test_a_text_is_that_of_the_commit(remote: Bare) -> None:
    before = remote.head()
    after = remote.person().write("matrix.yaml", "new\r\n")
    ours = remote.ours()
    assert [ours.text_at(before, "matrix.yaml"), ours.text_at(after, "matrix.yaml")] == [MATRIX, "new\r\n"]
    assert ours.text_at(before, "other.yaml") is None


def test_a_text_of_a_commit_pushed_since_is_fetched(remote: Bare) -> None:
    ours = remote.ours()
    ours.look(rollout="r")
    after = remote.person().write("matrix.yaml", "new\n")
    assert ours.text_at(after, "matrix.yaml") == "new\n"


def test_a_commit_that_nobody_has_is_said(remote: Bare) -> None:
    with pytest.raises(GitUnavailable, match="has no commit 1111111111"):
        remote.ours().text_at("1" * 40, "matrix.yaml")


# ── committing ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_commit_changes_one_line_and_says_whose_it_is(remote: Bare) -> None:
    sha = promote(remote.ours())
    assert remote.head() == sha
    assert remote.text() == MATRIX.replace("570.86.15", "580.65.06")
    assert remote.message() == (
        "Promote driver 580.65.06 to production\n\n48 h on two canary nodes; every gate passed.\n\n"
        "Seatrial-Rollout: driver-580\nSeatrial-Step: promote"
    )
    trailers = remote.git("log", "-1", "--format=%(trailers:key=Seatrial-Step,valueonly)", "main")
    assert trailers == "promote", "git itself reads them as trailers"
    assert remote.git("log", "-1", "--format=%an <%ae> %cn", "main") == "seatrial <seatrial@example.com> seatrial"


def test_a_step_asked_for_twice_is_one_commit(remote: Bare) -> None:
    ours = remote.ours()
    first = promote(ours)
    assert promote(ours) == first
    assert promote(remote.ours("after-a-crash-with-an-empty-disk")) == first
    assert remote.count() == 2


def test_a_step_is_found_below_the_commits_of_others(remote: Bare) -> None:
    ours = remote.ours()
    first = promote(ours)
    remote.person().write("readme.md", "words")
    assert promote(ours) == first


def test_a_squash_merge_that_adds_lines_is_still_the_step(remote: Bare) -> None:
    sha = remote.person().write(
        "matrix.yaml",
        "merged: true\n",
        "Promote (#12)\n\nSeatrial-Rollout: driver-580\nSeatrial-Step: promote\n\n---------\n\nAcked-by: Ada <a@b>",
    )
    assert promote(remote.ours()) == sha


def test_a_commit_is_made_on_what_others_pushed_meanwhile(remote: Bare) -> None:
    ours = remote.ours()
    ours.look(rollout="driver-580")
    remote.person().write("matrix.yaml", MATRIX + "# a comment of somebody\n")
    promote(ours)
    assert remote.text() == MATRIX.replace("570.86.15", "580.65.06") + "# a comment of somebody\n"


def test_a_push_between_our_look_and_ours_is_stale_and_nothing_is_written(remote: Bare) -> None:
    ada = remote.person()

    def edit_while_ada_pushes(text: str | None) -> str:
        ada.write("readme.md", "words")
        return "ours\n"

    ours = remote.ours()
    with pytest.raises(Stale, match="look again"):
        promote(ours, edits={"matrix.yaml": edit_while_ada_pushes})
    assert (remote.message(), remote.text()) == ("An edit by hand", MATRIX)
    promote(ours)
    assert remote.count() == 3


def test_a_branch_taken_back_between_our_look_and_ours_is_stale_too(remote: Bare) -> None:
    ada = remote.person()
    before = remote.head()
    ada.write("readme.md", "a mistake")

    def edit_while_ada_takes_it_back(text: str | None) -> str:
        git(ada.clone, "push", "-q", "--force", "origin", f"{before}:main")
        return "ours\n"

    with pytest.raises(Stale):
        promote(remote.ours(), edits={"matrix.yaml": edit_while_ada_takes_it_back})
    assert remote.head() == before, "a plain push would have brought the mistake back"


def test_two_controllers_at_once_make_one_commit(remote: Bare) -> None:
    answers: list[str] = []
    start = threading.Barrier(2)

    def work(name: str) -> None:
        ours = remote.ours(name)
        ours.look(rollout="driver-580")
        start.wait(30)
        try:
            answers.append(promote(ours))
        except Stale:
            answers.append(promote(ours))

    threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert answers == [remote.head()] * 2
    assert remote.count() == 2


def test_threads_of_one_repository_take_turns(remote: Bare) -> None:
    ours = remote.ours()
    heads: list[str] = []
    threads = [threading.Thread(target=lambda: heads.append(ours.look(rollout="r").head)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert heads == [remote.head()] * 4


def test_an_edit_that_changes_nothing_is_said(remote: Bare) -> None:
    with pytest.raises(NothingToChange, match="already say"):
        promote(remote.ours(), edits={"matrix.yaml": lambda text: text or ""})
    assert remote.count() == 1


def test_an_edit_that_refuses_leaves_nothing_behind(remote: Bare) -> None:
    def refuse(text: str | None) -> str:
        raise SetupInvalid("no such line")

    ours = remote.ours()
    with pytest.raises(SetupInvalid, match="no such line"):
        promote(ours, edits={"matrix.yaml": lambda _: "half\n", "matrix.yaml2": refuse}, new_files=["matrix.yaml2"])
    promote(ours)
    assert remote.text() == MATRIX.replace("570.86.15", "580.65.06")


def test_a_new_file_is_made_only_when_asked_for(remote: Bare) -> None:
    ours = remote.ours()
    with pytest.raises(FileUnusable, match=r"gpu/new\.yaml does not exist on main"):
        promote(ours, edits={"gpu/new.yaml": lambda _: "x\n"})
    promote(ours, edits={"gpu/new.yaml": lambda text: f"{text}\n"}, new_files=["gpu/new.yaml"])
    assert remote.text("gpu/new.yaml") == "None\n"


def test_bytes_that_are_not_ours_stay_as_they_are(remote: Bare, bare_machine: Path) -> None:
    bare_machine.write_text("[core]\n\tautocrlf = true\n")
    ada = remote.person()
    git(ada.clone, "config", "core.autocrlf", "false")
    ada.write("matrix.yaml", "\ufeffa: 1\r\nb: 570.86.15\r\n")
    promote(remote.ours())
    assert remote.ours().text_at(remote.head(), "matrix.yaml") == "\ufeffa: 1\r\nb: 580.65.06\r\n"
    assert remote.git("diff", "--numstat", "main~1", "main") == "1\t1\tmatrix.yaml"


def test_a_program_stays_a_program(remote: Bare) -> None:
    ada = remote.person()
    (ada.clone / "run.sh").write_text("echo 570.86.15\n")
    (ada.clone / "run.sh").chmod(0o755)
    git(ada.clone, "add", ".")
    git(ada.clone, "commit", "-q", "-m", "A script")
    git(ada.clone, "push", "-q", "origin", "HEAD:main")
    promote(remote.ours(), edits={"run.sh": swap("570.86.15", "580.65.06")})
    assert remote.git("ls-tree", "main", "run.sh").startswith("100755")


def test_a_commit_and_its_tag_arrive_together(remote: Bare) -> None:
    ours = remote.ours()
    tag = NewTag(base="v2026-11-stable", message="Stable: driver 580.65.06")
    sha = promote(ours, tag=tag)
    assert remote.git("rev-parse", "v2026-11-stable^{commit}") == sha == remote.head()
    assert promote(remote.ours("again"), tag=tag) == sha
    assert remote.git("tag", "--list") == "v2026-11-stable"


def test_where_the_tag_is_refused_the_commit_is_too(remote: Bare) -> None:
    before = remote.head()
    remote.hook("update", 'case "$1" in refs/tags/*) echo "tags are for people"; exit 1;; esac')
    with pytest.raises(GitRefused, match="tags are for people"):
        promote(remote.ours(), tag=NewTag(base="v2026-11-stable", message="Stable"))
    assert (remote.head(), remote.git("tag", "--list")) == (before, "")


def test_a_push_whose_answer_was_lost_is_found_and_not_repeated(remote: Bare) -> None:
    remote.ours().look(rollout="driver-580")
    remote.hook("post-receive", "sleep 60")
    hasty = Repository(remote.remote, remote.folder / "ours", author=ROBOT, remote_seconds=3)
    with pytest.raises(GitUnavailable, match="did not answer within 3 s"):
        promote(hasty)
    (remote.path / "hooks" / "post-receive").unlink()
    assert promote(hasty) == remote.head()
    assert remote.count() == 2


# ── who says no ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_protected_branch_refuses_in_its_own_words(remote: Bare) -> None:
    remote.hook("pre-receive", 'echo "main is protected: open a merge request" >&2; exit 1')
    with pytest.raises(GitRefused, match=r"pre-receive hook declined.*main is protected: open a merge request"):
        promote(remote.ours())
    assert remote.count() == 1


def test_a_hook_of_this_machine_is_asked_and_may_refuse(remote: Bare, bare_machine: Path, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text(
        "#!/bin/sh\ngrep -q 580.65.06 matrix.yaml && echo 'not on a Friday' >&2\nexit 1\n"
    )
    (hooks / "pre-commit").chmod(0o755)
    bare_machine.write_text(f"[core]\n\thooksPath = {hooks}\n")
    with pytest.raises(GitRefused, match="not on a Friday"):
        promote(remote.ours())
    assert remote.count() == 1


@pytest.mark.parametrize("is_by_request", [False, True])
def test_a_trial_shows_a_hook_of_this_machine_the_branch_and_the_message_that_will_come(
    remote: Bare, bare_machine: Path, tmp_path: Path, *, is_by_request: bool
) -> None:
    hooks, told = tmp_path / "hooks", tmp_path / "told"
    hooks.mkdir()
    (hooks / "pre-push").write_text(
        f'#!/bin/sh\nread -r _ oid ref _\necho "$ref" >{told}\ngit log -1 --format=%B "$oid" >>{told}\n'
    )
    (hooks / "pre-push").chmod(0o755)
    bare_machine.write_text(f"[core]\n\thooksPath = {hooks}\n")
    remote.ours().try_push(rollout="spring", step="canary", is_by_request=is_by_request)
    ref, *message = told.read_text().splitlines()
    assert ref.startswith("refs/heads/seatrial/spring" if is_by_request else "refs/heads/main")
    assert {line.partition(": ")[2] for line in message} >= {"spring", "canary"}
    assert remote.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_the_identity_of_the_machine_comes_first(remote: Bare, bare_machine: Path) -> None:
    bare_machine.write_text("[user]\n\tname = GPU platform\n\temail = gpu@example.com\n")
    promote(remote.ours())
    assert remote.git("log", "-1", "--format=%an <%ae>", "main") == "GPU platform <gpu@example.com>"


def test_without_any_identity_nothing_is_written(remote: Bare) -> None:
    with pytest.raises(SetupInvalid, match=r"user\.name"):
        promote(remote.ours(author=None))
    assert remote.count() == 1


@pytest.mark.parametrize("rollout", ["", "a b", "a\nSeatrial-Step: x", "../x", "-x", "x.lock"])
def test_a_name_that_could_not_be_found_again_is_refused(remote: Bare, rollout: str) -> None:
    with pytest.raises(SetupInvalid, match="not a name for a rollout"):
        remote.ours().look(rollout=rollout)


# ── the remote is away ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_remote_that_is_gone_is_unavailable_and_comes_back(remote: Bare) -> None:
    ours = remote.ours()
    ours.look(rollout="r")
    remote.path.rename(remote.path.with_name("away"))
    for _ in range(2):
        with pytest.raises(GitUnavailable, match="cannot be reached"):
            ours.look(rollout="r")
    remote.path.with_name("away").rename(remote.path)
    assert ours.look(rollout="r").head == remote.head()


def test_a_branch_that_does_not_exist_is_named(remote: Bare, tmp_path: Path) -> None:
    away = Repository(Remote(url=str(remote.path), branch="production"), tmp_path / "x", author=ROBOT)
    with pytest.raises(SetupInvalid, match="no branch 'production'"):
        away.look(rollout="r")


@pytest.mark.parametrize("branch", ["", "-f", "a..b", "a b", "refs/heads/main", "a:b", "*", "x/"])
def test_a_name_that_is_no_branch_is_refused_before_git_sees_it(remote: Bare, tmp_path: Path, branch: str) -> None:
    with pytest.raises(SetupInvalid, match="not a name of a branch"):
        Repository(Remote(url=str(remote.path), branch=branch), tmp_path / "x", author=ROBOT)
