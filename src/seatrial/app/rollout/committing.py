"""The first commit of a rollout, before anything begins: the real files in the real repository, and what would change.

Law of this file: it reads, and writes nothing. A file that is not there is told before the start, by its address, and
the change is worked out by the code that makes the commit. Whether the controller may push there is
checks/pushing.py's. Tests: tests/app/rollout/test_committing.py
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial.core.actions.at_home import Publish

SHORT: Final = 12


class FileMissing(SeatrialError):  # noqa: N818  the message says what to do
    """The file that is to be published to is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFile:
    """The file that a deployer brings into the cluster, or the files of a folder, as the branch has them now."""

    url: str
    branch: str
    path: str
    head: str
    texts: tuple[tuple[str, str], ...]
    """Each file by its path from the root, with its text."""

    @property
    def where(self) -> str:
        return f"{self.path} of {self.url} {self.branch}@{self.head[:SHORT]}"


def published_file(spec: dict[str, Any], rollout: str, folder: Path) -> PublishedFile | None:
    """The file that a rollout publishes to, by a clone in this folder; None where it publishes by no commit."""
    publish, matrix = spec.get("publish") or {}, (spec.get("matrix") or {}).get("git") or {}
    if publish.get("via") != "git":
        return None
    git = publish.get("git") or {}
    url, path = str(git.get("url") or matrix.get("url") or ""), str(git.get("path") or "")
    branch = str(git.get("branch") or (matrix.get("branch") if not git.get("url") else "") or "main")
    head, texts = _read(url, branch, path, rollout, folder)
    if not texts:
        raise FileMissing(
            f"{url} has no {path} on {branch} ({head[:SHORT]}), and that is what the rollout would publish to. "
            "Name the file that is brought into the cluster, or its folder, with --publish-path "
            "(spec.publish.git.path)."
        )
    return PublishedFile(url=url, branch=branch, path=path, head=head, texts=tuple(texts.items()))


def _read(url: str, branch: str, path: str, rollout: str, folder: Path) -> tuple[str, dict[str, str]]:
    from seatrial.adapters.files import switched
    from seatrial.adapters.git.clone import Remote
    from seatrial.adapters.git.repository import Repository

    repository = Repository(Remote(url=url, branch=branch), folder)
    head = repository.look(rollout=rollout).head
    below = repository.texts_under(head, path, switched.ENDINGS)
    text = None if below else repository.text_at(head, path)
    return head, dict(below) if text is None else {path: text}


def diff_of(file: PublishedFile, act: Publish) -> tuple[str, ...]:
    """What the commit of an act changes there; a SeatrialError where it cannot be written."""
    from seatrial.adapters.files import switched

    texts = dict(file.texts)
    return tuple(
        line
        for path, after in switched.changed_by(act, texts).items()
        for line in difflib.unified_diff(
            texts[path].splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm=""
        )
    )
