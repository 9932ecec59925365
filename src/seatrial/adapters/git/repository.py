"""A remote repository as a rollout uses it: look, commit, revert, tag, propose. Blocking; call it in a thread.

    look ── one fetch ──▶ the head, and everything this rollout has ever done there
    write ─ fetch ─▶ is it there already? ── yes ──▶ the same answer again, nothing is written
                                          └─ no ───▶ commit on the remote's head ─▶ push once ─▶ Stale | GitRefused

Every commit and tag of ours names its rollout and step (messages.py). So a crash between the push and the note of it
changes nothing: asked again, the step is found. The remote is the only memory; the clone may be lost at any time.
A push is bound to the head we have seen: it is refused when anybody pushed, or took something back, in between.

Tests: tests/adapters/git/test_repository.py, test_revert.py, test_tags.py, test_proposals.py
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from seatrial.adapters.git import answers, messages, proposals, signatures, trees
from seatrial.adapters.git.clone import REMOTE_SECONDS, Clone, Remote
from seatrial.adapters.git.errors import (
    FileUnusable,
    GitRefused,
    GitUnavailable,
    NothingToChange,
    RevertConflict,
    SetupInvalid,
    Stale,
)
from seatrial.adapters.git.past import OurCommit, OurTag, Past, check_commits, check_sha, short
from seatrial.adapters.git.proposals import Proposal
from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError

Edit: TypeAlias = Callable[[str | None], str]
"""The file's text at the remote's head in, its new text out; None where the file is to be made."""

_TAG: Final = re.compile(r"(?!.*(\.\.|\.lock$))[A-Za-z0-9][A-Za-z0-9._+-]*(?<!\.)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Whose name commits bear where Git itself has none."""

    name: str
    email: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What the remote had at one moment."""

    head: str
    commits: tuple[OurCommit, ...]
    """This rollout's, oldest first."""
    tags: tuple[OurTag, ...]
    is_pinned_kept: bool | None
    """Whether the pinned commit is still part of the branch; None when none was named."""
    proposals: tuple[tuple[str, Proposal], ...] = ()
    """The steps that wait on a branch of ours for a person to merge them; after a start, once they were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTag:
    """A tag that goes along with a commit, in the same push."""

    base: str
    message: str


class Repository:
    """One branch of one remote, through a private clone."""

    def __init__(
        self,
        remote: Remote,
        folder: Path,
        *,
        author: Author | None = None,
        remote_seconds: float = REMOTE_SECONDS,
        on_progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`on_progress` is told how far the first clone is."""
        self._remote = remote
        self._clone = Clone(remote, folder, remote_seconds=remote_seconds, on_progress=on_progress)
        self._past = Past(self._clone, remote)
        self._author = author
        self._vouched: dict[str, Proposal] = {}
        """What waits on branches that we pushed, or found to be exactly what we would push."""

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def look(self, *, rollout: str, pinned: str = "") -> Look:
        """Fetch once, and say what is there."""
        messages.check_name("rollout", rollout)
        if pinned:
            check_sha(pinned)
        return self._clone.within(lambda: self._look(rollout, pinned))

    def text_at(self, commit: str, path: str) -> str | None:
        """A file's text at a commit; None where it did not exist then. Fetches only a commit not seen before."""
        check_sha(commit)
        trees.check_path(path)
        return self._clone.within(lambda: self._text_at(commit, path), is_fetching=False)

    def texts_under(self, commit: str, folder: str, endings: tuple[str, ...] = ("",)) -> Mapping[str, str]:
        """The texts of all files below a folder at a commit whose names end so, by their paths from the root."""
        check_sha(commit)
        paths = self._clone.within(lambda: trees.paths_under(self._clone, commit, folder), is_fetching=False)
        meant = (path for path in paths if path.endswith(endings))
        return {path: text for path in meant if (text := self.text_at(commit, path)) is not None}

    def _look(self, rollout: str, pinned: str) -> Look:
        head = self._past.head()
        return Look(
            head=head,
            commits=self._past.commits(rollout, head),
            tags=self._tags(rollout, head),
            is_pinned_kept=self._past.is_part_of(pinned, head) if pinned else None,
            proposals=tuple(
                (step, known)
                for step, tip in self._past.waiting(rollout, head)
                if (known := self._vouched.get(proposals.branch_of(rollout, step))) and known.commit == tip
            ),
        )

    def _tags(self, rollout: str, head: str) -> tuple[OurTag, ...]:
        """A rollout's tags of commits of the branch; where tags are signed here, those that our key signed."""
        found = tuple(each for each in self._past.tags(rollout) if self._past.is_part_of(each.sha, head))
        if not found or not signatures.signs_tags(self._clone):
            return found
        key = signatures.own_key(self._clone, self._past.resolve(f"{head}^{{tree}}"), self._identity())
        return tuple(each for each in found if key and signatures.key_of(self._clone, "tag", each.name) == key)

    def _text_at(self, commit: str, path: str) -> str | None:
        if not self._past.is_known(commit):
            self._clone.fetch()
        if not self._past.is_known(commit):
            raise GitUnavailable(
                f"{self._clone.shown_url} has no commit {commit} on {self._remote.branch}. "
                "It was removed, or never pushed: look again."
            )
        found = trees.file_at(self._clone, commit, path)
        return found.text if found is not None else None

    # ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def commit(
        self,
        *,
        rollout: str,
        step: str,
        edits: Mapping[str, Edit],
        subject: str,
        body: str = "",
        new_files: Collection[str] = (),
        tag: NewTag | None = None,
    ) -> str:
        """Edit files at the remote's head, push one commit, and return its name; a step already there is not repeated.

        A file that is missing is refused unless it is among `new_files`.
        """
        messages.check_step(rollout, step)
        message = messages.compose(subject, body, messages.trailers(rollout, step))
        return self._clone.within(
            lambda: self._once(rollout, step, lambda head: self._edited(head, edits, new_files, message), tag)
        )

    def revert(
        self,
        *,
        rollout: str,
        step: str,
        commits: Sequence[str],
        subject: str = "",
        body: str = "",
        kept: Mapping[str, Edit] | None = None,
    ) -> str:
        """Undo exactly these commits in one new one, pushed; without a subject it gets the one `git revert` gives.

        `kept` edits files as they are after that: what the commits brought and is to stay.
        """
        make = self._undoing(rollout, step, commits, subject, body, kept or {})
        return self._clone.within(lambda: self._once(rollout, step, make))

    def tag(self, *, rollout: str, base: str, commit: str, message: str) -> str:
        """Push an annotated tag and return its name: `base`, or `base.2` and so on where taken; one per commit."""
        messages.check_name("rollout", rollout)
        check_sha(commit)
        return self._clone.within(lambda: self._tagged(rollout, base, commit, message))

    def propose(
        self,
        *,
        rollout: str,
        step: str,
        edits: Mapping[str, Edit],
        subject: str = "",
        body: str = "",
        new_files: Collection[str] = (),
    ) -> Proposal:
        """Push the same change to a branch of our own, for a person to merge."""
        messages.check_step(rollout, step)
        message = messages.compose(subject, body, messages.trailers(rollout, step))
        return self._clone.within(
            lambda: self._proposed(rollout, step, lambda head: self._edited(head, edits, new_files, message))
        )

    def propose_revert(
        self,
        *,
        rollout: str,
        step: str,
        commits: Sequence[str],
        subject: str = "",
        body: str = "",
        kept: Mapping[str, Edit] | None = None,
    ) -> Proposal:
        """Push the same revert to a branch of our own, for a person to merge."""
        make = self._undoing(rollout, step, commits, subject, body, kept or {})
        return self._clone.within(lambda: self._proposed(rollout, step, make))

    def try_push(self, *, rollout: str, step: str, is_by_request: bool = False) -> None:
        """Ask whether a commit of this step could be pushed, and push none; GitRefused where the server says no.

        This is `git push --dry-run`: the login and the right to push are the server's answer. Rules of a branch and
        hooks are asked by a server when something arrives, and nothing does.
        """
        messages.check_step(rollout, step)
        self._clone.within(lambda: self._tried(rollout, step, is_by_request=is_by_request))

    def _tried(self, rollout: str, step: str, *, is_by_request: bool) -> None:
        head = self._past.head()
        message = messages.compose("A trial that is not pushed", "", messages.trailers(rollout, step))
        nobody = Author(name="seatrial", email="seatrial@localhost")
        tree = self._clone.git("rev-parse", "--verify", "--end-of-options", f"{head}^{{tree}}").line
        made = self._clone.git(
            "commit-tree", tree, "-p", head, "-F", "-", stdin=message.encode(), env=_variables(nobody)
        ).line
        branch = proposals.branch_of(rollout, step) if is_by_request else self._remote.branch
        old = self._past.resolve(f"refs/remotes/origin/{branch}")
        self._push({f"refs/heads/{branch}": (made, old)}, head, "--dry-run")

    def _once(self, rollout: str, step: str, make: Callable[[str], str], tag: NewTag | None = None) -> str:
        head = self._past.head()
        found = self._past.find(rollout, step, head)
        if found is not None:
            if tag is not None:
                self._tagged(rollout, tag.base, found, tag.message)
            return found
        try:
            made = make(head)
            pushed = {f"refs/heads/{self._remote.branch}": (made, head)}
            if tag is not None:
                pushed |= self._new_tag(rollout, tag.base, made, tag.message)
            self._push(pushed, head)
        finally:
            self._clean(head)
        return made

    def _tagged(self, rollout: str, base: str, commit: str, message: str) -> str:
        head = self._past.head()
        for each in self._tags(rollout, head):
            if each.sha == commit:
                return each.name
        if not self._past.is_part_of(commit, head):
            raise SetupInvalid(
                f"{commit} is not part of {self._remote.branch} of {self._clone.shown_url}, so it gets no tag. "
                "Look again."
            )
        try:
            new = self._new_tag(rollout, base, commit, message)
            self._push(new, head)
        finally:
            self._clean(head)
        return next(iter(new)).removeprefix("refs/tags/")

    def _proposed(self, rollout: str, step: str, make: Callable[[str], str]) -> Proposal:
        head = self._past.head()
        branch = proposals.branch_of(rollout, step)
        found = self._past.find(rollout, step, head)
        if found is not None:
            return self._past.proposal(branch, found)
        theirs = self._past.resolve(f"refs/remotes/origin/{branch}")
        is_theirs, known = bool(theirs) and not self._past.is_brought_in(theirs, head), self._vouched.get(branch)
        if known is not None and is_theirs and known.commit == theirs:
            return known
        try:
            made = self._made_again(rollout, step, theirs, head, make) if is_theirs else make(head)
            if not is_theirs:
                self._push({f"refs/heads/{branch}": (made, theirs)}, head)
            # In our words, also where the commit of a branch has others.
            self._vouched[branch] = self._past.proposal(branch, theirs if is_theirs else made, said=made)
            return self._vouched[branch]
        finally:
            self._clean(head)

    def _made_again(self, rollout: str, step: str, theirs: str, head: str, make: Callable[[str], str]) -> str:
        """The step, made again where a branch was made; GitRefused where that branch has anything else."""
        parents, made = self._past.parents(theirs), ""
        is_step = self._past.find(rollout, step, f"{head}..{theirs}") == theirs
        if is_step and len(parents) == 1 and self._past.is_part_of(parents[0], head):
            try:
                made = make(parents[0])
            except (GitRefused, GitUnavailable):
                raise
            except SeatrialError:
                made = ""  # what cannot be made there was not made there by us
        is_same = bool(made) and self._past.resolve(f"{made}^{{tree}}") == self._past.resolve(f"{theirs}^{{tree}}")
        is_signing = signatures.signs_commits(self._clone)
        keys = [signatures.key_of(self._clone, "commit", each) for each in (made, theirs)] if is_signing else []
        if is_same and (not keys or keys[0] == keys[1] != ""):
            return made
        branch = proposals.branch_of(rollout, step)
        raise GitRefused(
            f"The branch {branch} of {self._clone.shown_url} is somebody else's: it is not exactly the one commit of "
            f"this step{', signed by our key' if is_signing else ''}. Look at it, then have it made by us: "
            f"git push origin --delete {shlex.quote(branch)}"
        )

    # ── the parts of a write ─────────────────────────────────────────────────────────────────────────────────────────

    def _edited(self, head: str, edits: Mapping[str, Edit], new_files: Collection[str], message: str) -> str:
        self._clean(head)
        for path, edit in edits.items():
            self._stage(head, path, edit, may_create=path in new_files)
        return self._write(message, "The files already say what this step would write")

    def _stage(self, head: str, path: str, edit: Edit, *, may_create: bool) -> None:
        """Put the edited text into the index as it is: no filter and no line ending of this machine touches it."""
        found = trees.file_at(self._clone, head, path)
        if found is None and not may_create:
            raise FileUnusable(
                f"{path} does not exist on {self._remote.branch} of {self._clone.shown_url} (at {head[:12]}). "
                "Check the path, or add the file first."
            )
        raw = edit(found.text if found is not None else None).encode("utf-8")
        sha = self._clone.git("hash-object", "-w", "--stdin", stdin=raw).line
        mode = found.mode if found is not None else "100644"
        self._clone.git("update-index", "--add", "--cacheinfo", f"{mode},{sha},{path}")
        self._clone.git("checkout-index", "--force", "--quiet", "--", path)  # hooks look at the files

    def _undoing(
        self, rollout: str, step: str, commits: Sequence[str], subject: str, body: str, kept: Mapping[str, Edit]
    ) -> Callable[[str], str]:
        messages.check_step(rollout, step)
        check_commits(commits)
        return lambda head: self._undone(head, rollout, step, commits, subject, body, kept)

    def _undone(
        self,
        head: str,
        rollout: str,
        step: str,
        commits: Sequence[str],
        subject: str,
        body: str,
        kept: Mapping[str, Edit],
    ) -> str:
        ordered = self._past.newest_first(head, commits)
        subjects = [
            self._clone.git("show", "--no-patch", "--format=%s", "--end-of-options", sha).line for sha in ordered
        ]
        message = messages.compose(
            subject or messages.revert_subject(subjects),
            body,
            messages.trailers(rollout, step),
            first=messages.reverted_lines(ordered),
        )
        self._clean(head)
        for sha in ordered:
            mainline = ("--mainline", "1") if len(self._past.parents(sha)) > 1 else ()
            done = self._clone.attempt("revert", "--no-commit", *mainline, "--end-of-options", sha)
            if not done.is_good:
                raise self._conflict(done.err, sha, ordered, rollout, step, message)
        if not self._clone.attempt("diff", "--cached", "--quiet").is_good:
            tree = self._clone.git("write-tree").line
            for path, edit in kept.items():
                self._stage(tree, path, edit, may_create=False)
        return self._write(message, f"Nothing is left to undo of {short(ordered)}: it was undone already")

    def _conflict(
        self, err: str, sha: str, ordered: Sequence[str], rollout: str, step: str, message: str
    ) -> RevertConflict:
        listed = self._clone.git("ls-files", "--unmerged", "-z").text.split("\0")
        files = tuple(dict.fromkeys(line.partition("\t")[2] for line in listed if line))
        commands = proposals.revert_commands(
            ordered,
            stopped_at=sha,
            files=files,
            base=self._remote.branch,
            rollout=rollout,
            step=step,
            message=message,
        )
        where = f"in {', '.join(files)}" if files else f"({answers.reason(err)})"
        typed = "\n".join(f"    {line}" for line in commands)
        return RevertConflict(
            f"{sha[:12]} cannot be undone on {self._remote.branch} of {self._clone.shown_url}: later commits changed "
            f"the same lines {where}. Nothing was written. In a clone of your own:\n\n{typed}\n",
            files=files,
            commands=commands,
        )

    def _write(self, message: str, unchanged: str) -> str:
        if self._clone.attempt("diff", "--cached", "--quiet").is_good:
            raise NothingToChange(f"{unchanged} ({self._remote.branch} of {self._clone.shown_url}).")
        done = self._clone.attempt(
            "commit", "--quiet", "--cleanup=whitespace", "--file=-", stdin=message.encode(), env=self._identity()
        )
        if not done.is_good:
            raise GitRefused(
                f"Git made no commit for {self._clone.shown_url}: {_all(done.err)}. "
                "A hook or the signing key of this machine said no; nothing was written."
            )
        return self._clone.git("rev-parse", "--verify", "HEAD").line

    def _new_tag(self, rollout: str, base: str, commit: str, message: str) -> dict[str, tuple[str, str]]:
        """Make a tag in the clone; gives what to push."""
        if not _TAG.fullmatch(base):
            raise SetupInvalid(f"{base!r} is not a name for a tag: letters, digits, `.`, `-`, `_` and `+` only.")
        taken = set(self._clone.git("for-each-ref", "--format=%(refname:strip=2)", "refs/tags").text.splitlines())
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}.{number}"
        subject, _, body = message.strip().partition("\n")
        text = messages.compose(subject, body, messages.trailers(rollout))
        is_signed = signatures.signs_tags(self._clone)
        done = self._clone.attempt(
            # To git, `--annotate` on the command line outranks tag.forceSignAnnotated.
            *("tag", "--sign" if is_signed else "--annotate", "--cleanup=whitespace", "--file=-"),
            *("--end-of-options", name, commit),
            stdin=text.encode(),
            env=self._identity(),
        )
        # Git 2.39 makes an unsigned tag, and says so in passing, when an SSH key that should sign it is missing.
        if not done.is_good or (is_signed and not signatures.key_of(self._clone, "tag", name)):
            raise GitRefused(
                f"Git made no tag {name} for {self._clone.shown_url}: {_all(done.err)}. "
                "The signing key of this machine may be missing; nothing was written."
            )
        made = self._clone.git("rev-parse", "--verify", "--end-of-options", f"refs/tags/{name}").line
        return {f"refs/tags/{name}": (made, "")}

    def _push(self, refs: Mapping[str, tuple[str, str]], head: str, *options: str) -> None:
        """Push every ref from what we saw (nothing, if empty) to what we made; all of them or none."""
        leases = [f"--force-with-lease={ref}:{old}" for ref, (_, old) in refs.items()]
        atomic = ("--atomic",) if len(refs) > 1 else ()
        pushed = (f"{new}:{ref}" for ref, (new, _) in refs.items())
        done = self._clone.push(*options, *atomic, *leases, "--end-of-options", "origin", *pushed)
        rejected = answers.rejection(done.text, done.err) if not done.is_good else None
        if rejected is None:
            return
        if rejected.is_unclear:
            self._clone.fetch()
        if rejected.is_moved or self._past.head() != head:
            raise Stale(
                f"Somebody else pushed to {self._clone.shown_url} in between ({rejected.why}). "
                "Nothing was written; look again."
            )
        names = ", ".join(ref.removeprefix("refs/heads/").removeprefix("refs/") for ref in refs)
        raise GitRefused(
            f"{self._clone.shown_url} refuses the push to {names}: {rejected.why}. "
            "Let this account push there, or have changes proposed on a branch instead. Nothing was written."
        )

    def _clean(self, head: str) -> None:
        """Bring the files and the index of the clone back to the remote's; tags go with the next fetch."""
        self._clone.git("checkout", "--quiet", "--force", "--detach", head, "--")  # it knows no --end-of-options
        self._clone.git("clean", "--quiet", "-ffdx")

    def _identity(self) -> dict[str, str]:
        """Git's own identity, or the author we were given, as variables for git."""
        if self._clone.attempt("var", "GIT_COMMITTER_IDENT").is_good:
            return {}
        if self._author is None:
            raise SetupInvalid(
                "There is no author for commits. Set user.name and user.email in Git's configuration, "
                "or name an author in the settings."
            )
        return _variables(self._author)


def _variables(author: Author) -> dict[str, str]:
    """An identity as variables for git."""
    return {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", author.name), ("EMAIL", author.email))
    }


def _all(err: str) -> str:
    """Everything a hook or a signing program said, on one line."""
    return " ".join(line.strip() for line in err.splitlines() if line.strip())[: answers.REASON_MAX].rstrip(".")
