"""What an undo would write in Git: which commits of which branch are reverted, and where the entry is marked.

Law of this file: it reads the branches, and writes nothing. A branch that cannot be read from here is named all the
same, with the reason. Tests: tests/app/rollout/test_reverting.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError
from seatrial.core.model.campaign import PUBLISHING, GitPlace, PublishStep

if TYPE_CHECKING:
    from seatrial.adapters.git.repository import Look
    from seatrial.app.picking import Rollout

SHORT: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Reverted:
    """What an undo would do on one branch."""

    url: str
    branch: str
    commits: tuple[tuple[str, str], ...] = ()
    """The commits that it reverts, the newest first: the step of each, and its name."""
    is_by_request: bool = False
    """Whether the branch is protected, and a person merges what is proposed."""
    is_done: bool = False
    """Whether they are reverted already."""
    trouble: str = ""
    """Why the branch cannot be read from here."""

    @property
    def lines(self) -> list[str]:
        """The same for people."""
        where = f"{self.branch} of {self.url}"
        if self.is_done:
            return [f"  the commits on {where} are reverted already"]
        how = f"one new commit on {where} reverts"
        if self.is_by_request:
            how = f"a branch for a pull request to {where}, which a person has to merge, reverts"
        if self.trouble:
            return [f"  {how} the rollout's commits, and no others; they cannot be listed here: {self.trouble}"]
        if not self.commits:
            return [f"  no commit of the rollout is on {where}, so nothing is reverted there"]
        return [f"  {how} these, and no others:", *(f"    {sha[:SHORT]} ({step})" for step, sha in self.commits)]


def in_git(rollout: Rollout) -> tuple[Reverted, ...]:
    """What an undo would revert, branch by branch; none where the rollout has no place in Git."""
    import msgspec

    from seatrial.adapters.kube.reading.rollout_intent import identity_of, places_kept
    from seatrial.adapters.kube.shapes import models

    found = msgspec.convert(rollout.raw, models.Rollout)
    publish, known = found.spec.publish, places_kept(found)
    is_by_request = publish.git is not None and publish.git.pull_requests
    branches = {(each.url, each.branch): each for each in (known.published, known.matrix) if each is not None}
    read = [_read(each, identity_of(found), is_by_request=is_by_request) for each in branches.values()]
    # Without commits to publish, only a promotion is there to be reverted.
    is_in_git = known.published is not None
    return tuple(each for each in read if is_in_git or each.commits or each.is_done or each.trouble)


def _read(place: GitPlace, rollout: str, *, is_by_request: bool) -> Reverted:
    import tempfile
    from pathlib import Path

    from seatrial.adapters.git.clone import Remote
    from seatrial.adapters.git.repository import Repository

    said = Reverted(url=place.url, branch=place.branch, is_by_request=is_by_request)
    with tempfile.TemporaryDirectory(prefix="seatrial-") as folder:
        try:
            seen = Repository(Remote(url=place.url, branch=place.branch), Path(folder) / "clone").look(rollout=rollout)
        except (SeatrialError, OSError) as err:
            return Reverted(url=said.url, branch=said.branch, is_by_request=is_by_request, trouble=str(err).rstrip("."))
    commits, is_done = _ours(seen)
    return Reverted(url=said.url, branch=said.branch, is_by_request=is_by_request, commits=commits, is_done=is_done)


def _ours(seen: Look) -> tuple[tuple[tuple[str, str], ...], bool]:
    """The commits that a revert takes back, the newest first, and whether that is done."""
    steps = {each.step: each.sha for each in reversed(seen.commits)}
    commits = tuple((step.value, steps[step.value]) for step in reversed(PUBLISHING) if step.value in steps)
    return commits, PublishStep.REVERT.value in steps
