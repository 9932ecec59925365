"""What a clone has of a rollout: its commits, its tags and what waits on its branches. Reads only, inside of `within`.

Every commit and tag of ours names its rollout and step (messages.py): that is how they are found again.
Tests: tests/adapters/git/test_repository.py, test_tags.py, test_proposals.py
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from seatrial.adapters.git import messages, proposals
from seatrial.adapters.git.clone import Clone, Remote
from seatrial.adapters.git.errors import SetupInvalid
from seatrial.adapters.git.proposals import Proposal
from seatrial.core.base.values import dataclass
from seatrial.core.text import foreign

_SHA: Final = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class OurCommit:
    """A commit of a rollout on the remote's branch."""

    step: str
    sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OurTag:
    """A tag of a rollout, and the commit that it names."""

    name: str
    sha: str


class Past:
    """Questions to the clone of one remote branch."""

    def __init__(self, clone: Clone, remote: Remote) -> None:
        self._clone = clone
        self._remote = remote

    def head(self) -> str:
        """The commit that the remote's branch is at."""
        return self._clone.git("rev-parse", "--verify", "--end-of-options", self._clone.tracking).line

    def resolve(self, ref: str) -> str:
        """What a ref names; empty when there is none."""
        return self._clone.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", ref).line

    def is_known(self, commit: str) -> bool:
        """Whether the clone has a commit."""
        return self._clone.attempt("cat-file", "-e", "--end-of-options", f"{commit}^{{commit}}").is_good

    def is_part_of(self, commit: str, head: str) -> bool:
        """Whether a commit is part of the history that ends at a head."""
        # A commit that is not even known is no part either: all of the branch's history is here.
        asked = ("merge-base", "--is-ancestor", "--end-of-options", commit, head)
        return self.is_known(commit) and self._clone.attempt(*asked).is_good

    def commits(self, rollout: str, revisions: str) -> tuple[OurCommit, ...]:
        """A rollout's commits among revisions, oldest first."""
        listed = self._clone.git(
            *("log", "-z", "--topo-order", "--reverse", "--encoding=UTF-8", "--format=%H%n%B"),
            *("--fixed-strings", f"--grep={messages.ROLLOUT}: {rollout}", "--end-of-options", revisions, "--"),
        )
        found = []
        for record in listed.text.split("\0"):
            sha, _, message = record.partition("\n")
            found += [
                OurCommit(step=step, sha=sha) for whose, step in messages.marks(message) if whose == rollout and step
            ]
        return tuple(found)

    def find(self, rollout: str, step: str, revisions: str) -> str | None:
        """The commit of one step among revisions; None when there is none."""
        return next((each.sha for each in self.commits(rollout, revisions) if each.step == step), None)

    def parents(self, commit: str) -> list[str]:
        """What a commit was made on; several for a merge."""
        return self._clone.git("show", "--no-patch", "--format=%P", "--end-of-options", commit).line.split()

    def waiting(self, rollout: str, head: str) -> tuple[tuple[str, str], ...]:
        """The steps with a branch that bears this rollout's name, not part of the remote's branch yet, and its tip.

        Anybody may have pushed it: whether it is ours is another question.
        """
        under = f"refs/remotes/origin/{proposals.branch_of(rollout, '')}"
        waiting = []
        for ref in self._clone.git("for-each-ref", "--format=%(refname)", "--end-of-options", under).text.split():
            step = ref.removeprefix(under)
            if self.find(rollout, step, head) is None and not self.is_brought_in(ref, head):
                waiting.append((step, self.resolve(ref)))
        return tuple(waiting)

    def is_brought_in(self, branch: str, head: str) -> bool:
        """Whether merging would change nothing: merged in a way that left the name of the step behind."""
        merged = self._clone.attempt("merge-tree", "--write-tree", "--end-of-options", head, branch)
        return merged.is_good and merged.line == self.resolve(f"{head}^{{tree}}")

    def tags(self, rollout: str) -> tuple[OurTag, ...]:
        """A rollout's tags, oldest first."""
        listed = self._clone.git(
            "for-each-ref",
            "--sort=creatordate",
            "--format=%00%(refname:strip=2)%00%(*objectname)%00%(contents:body)%00",
            "refs/tags",
        )
        fields = listed.text.split("\0")
        records = zip(fields[1::4], fields[2::4], fields[3::4], strict=True)
        return tuple(
            OurTag(name=foreign.line(name), sha=sha)
            for name, sha, body in records
            if sha and any(whose == rollout for whose, _ in messages.marks(body))
        )

    def newest_first(self, head: str, commits: Sequence[str]) -> list[str]:
        """These commits in the order of history; refused where one is not part of it."""
        # By the order of history and not by date: two commits of one second have the same date.
        wanted = set(commits)
        every = self._clone.git("rev-list", "--topo-order", "--end-of-options", head).text.split()
        ordered = [sha for sha in every if sha in wanted]
        if missing := [sha for sha in dict.fromkeys(commits) if sha not in set(ordered)]:
            raise SetupInvalid(
                f"{short(missing)} cannot be undone: not part of {self._remote.branch} of {self._clone.shown_url}. "
                "Its history may have been rewritten; look again."
            )
        return ordered

    def proposal(self, branch: str, commit: str, *, said: str = "") -> Proposal:
        """What a branch of ours proposes, in the words of that commit, or of `said`."""
        message = self._clone.git("show", "--no-patch", "--format=%B", "--end-of-options", said or commit).text
        return proposals.describe(message, branch=branch, base=self._remote.branch, commit=commit)


def short(commits: Sequence[str]) -> str:
    """Names of commits, as people read them."""
    return ", ".join(sha[:12] for sha in commits)


def check_sha(commit: str) -> None:
    """Refuse what is not the full name of a commit."""
    if not _SHA.fullmatch(commit):
        raise SetupInvalid(f"{commit!r} is not a full commit hash: 40 hexadecimal digits.")


def check_commits(commits: Sequence[str]) -> None:
    """Refuse commits that could not be undone."""
    if not commits:
        raise SetupInvalid("A revert needs the commits that it undoes.")
    for commit in commits:
        check_sha(commit)
