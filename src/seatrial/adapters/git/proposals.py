"""A change that a person merges: where the branch protects itself, we push a branch of our own and write the request.

Law of this file: text only; the pushing is in repository.py.

Tests: tests/adapters/git/test_proposals.py
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from seatrial.adapters.git import messages
from seatrial.adapters.git.clone import OURS
from seatrial.core.base.values import dataclass
from seatrial.core.text import foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change waiting for a person, or already merged by one."""

    commit: str
    """The commit on our branch; once merged, the one on the remote's branch."""
    title: str
    body: str
    commands: tuple[str, ...]
    """What a person types who merges without a web page."""

    @property
    def text(self) -> str:
        """All of it, for a person to read or to paste."""
        typed = "\n".join(f"    {command}" for command in self.commands)
        return f"{self.title}\n\n{self.body}\n\nWithout a pull request:\n\n{typed}\n"


def branch_of(rollout: str, step: str) -> str:
    """The branch on which a step is proposed."""
    return f"{OURS}/{rollout}/{step}"


def describe(message: str, *, branch: str, base: str, commit: str) -> Proposal:
    """The request for a commit that was made for this purpose."""
    title, _, rest = foreign.lines(message).partition("\n")
    kept = f"Keep the {messages.ROLLOUT} and {messages.STEP} lines when merging: they identify the change."
    return Proposal(
        commit=commit,
        title=title.strip(),
        body=f"{rest.strip()}\n\n{messages.wrapped(kept)}",
        commands=(
            "git fetch origin",
            f"git log --patch {_words(f'origin/{base}..origin/{branch}')}",
            f"git switch {_words(base)}",
            f"git merge --ff-only {_words(f'origin/{base}')}",
            f"git merge --no-edit {_words(f'origin/{branch}')}",
            f"git push origin {_words(base)}",
        ),
    )


def revert_commands(
    commits: Sequence[str], *, stopped_at: str, files: Sequence[str], base: str, rollout: str, step: str, message: str
) -> tuple[str, ...]:
    """What a person types to undo commits, newest first, with a conflict on the way."""
    branch = branch_of(rollout, step)
    lines = ["git fetch origin", f"git switch --create {_words(branch)} {_words(f'origin/{base}')}"]
    for commit in commits:
        lines.append(f"git revert --no-commit {commit}")
        if commit == stopped_at:
            lines.append(f"# resolve the conflicts in: {_words(*map(foreign.line, files))}")
            lines.append(f"git add {_words(*files)}")
    said, _, _ = message.partition("\n\n" + messages.trailers(rollout)[0])
    words = [word for part in said.split("\n\n") for word in ("-m", part)]
    for trailer in messages.trailers(rollout, step):
        words += ["--trailer", trailer]
    return (*lines, f"git commit {_words(*words)}", f"git push origin {_words(f'HEAD:{base}')}")


def _words(*words: str) -> str:
    return shlex.join(words)
