"""Files of one commit, read from Git's own objects: no checkout, so no link, filter or line ending comes in between.

A path is what a person wrote into a rollout. It must name one plain text file inside of the repository; everything else
is refused by name, because the next thing that happens to it is an edit.

Tests: tests/adapters/git/test_trees.py
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from seatrial.adapters.git.clone import Clone
from seatrial.adapters.git.errors import FileUnusable
from seatrial.core.base.values import dataclass

BYTES_MAX: Final = 10 * 1024 * 1024
_LFS: Final = b"version https://git-lfs.github.com/spec/"


class Mode(StrEnum):
    """What Git calls the things in a folder that are no plain files."""

    LINK = "120000"
    SUBMODULE = "160000"
    FOLDER = "040000"


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A text file of a commit."""

    mode: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    mode: str
    sha: str
    size: int


def check_path(path: str) -> None:
    """Refuse a path that is not inside of the repository."""
    parts = path.split("/")
    if not path or path.startswith("/") or any(ord(char) < 32 for char in path) or "\\" in path:
        raise FileUnusable(f"{path!r} is not a path inside of a repository. Write it from its root: gpu/matrix.yaml.")
    if any(part in ("", ".", "..") or part.lower() == ".git" for part in parts):
        raise FileUnusable(f"{path!r} leaves the repository or its files. Write it from its root: gpu/matrix.yaml.")


def file_at(clone: Clone, commit: str, path: str) -> File | None:
    """The file as of a commit; None where it did not exist then."""
    check_path(path)
    entry = _entry(clone, commit, path)
    if entry is None:
        _refuse_odd_parents(clone, commit, path)
        return None
    _refuse_odd(clone, commit, path, entry)
    if entry.size > BYTES_MAX:
        raise FileUnusable(f"{path} at {commit[:12]} has {entry.size} bytes; a text of versions has a few thousand.")
    return File(
        mode=entry.mode, text=_text(clone.git("cat-file", "blob", "--end-of-options", entry.sha).out, path, commit)
    )


def paths_under(clone: Clone, commit: str, folder: str) -> tuple[str, ...]:
    """Every plain file below a folder as of a commit; none where there is no such folder."""
    check_path(folder)
    listed = clone.git("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit, "--", f"{folder}/").out
    # A name may be in any encoding: its bytes go back to git as they came.
    rows = [row.decode("utf-8", errors="surrogateescape").split("\t", 1) for row in listed.split(b"\0") if row]
    return tuple(path for about, path in rows if about.split()[0] not in (Mode.LINK, Mode.SUBMODULE))


def _text(raw: bytes, path: str, commit: str) -> str:
    if raw.startswith(_LFS):
        raise FileUnusable(f"{path} at {commit[:12]} is kept in Git LFS. Keep the file itself in Git: it is a text.")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as err:
        line = raw.count(b"\n", 0, err.start) + 1
        raise FileUnusable(
            f"{path}:{line} at {commit[:12]} is not UTF-8: byte 0x{raw[err.start]:02x}. Save the file as UTF-8."
        ) from err


def _entry(clone: Clone, commit: str, path: str) -> _Entry | None:
    listed = clone.git("ls-tree", "-z", "-l", "--full-tree", "--end-of-options", commit, "--", path).out
    if not listed:
        return None
    mode, _, sha, size = listed.split(b"\t", 1)[0].decode("ascii").split()
    return _Entry(mode=mode, sha=sha, size=int(size) if size.isdigit() else 0)


def _refuse_odd(clone: Clone, commit: str, path: str, entry: _Entry) -> None:
    match entry.mode:
        case Mode.LINK:
            target = clone.git("cat-file", "blob", "--end-of-options", entry.sha).text
            raise FileUnusable(f"{path} at {commit[:12]} is a link to {target!r}. Name the file itself.")
        case Mode.SUBMODULE:
            raise FileUnusable(f"{path} at {commit[:12]} is a submodule. Name its own repository, and a file in it.")
        case Mode.FOLDER:
            raise FileUnusable(f"{path} at {commit[:12]} is a folder. Name a file in it.")
        case _:
            return


def _refuse_odd_parents(clone: Clone, commit: str, path: str) -> None:
    """A file is not there because something above it is no folder: say that, and not that it is missing."""
    for parent in PurePosixPath(path).parents:
        entry = _entry(clone, commit, str(parent)) if str(parent) != "." else None
        if entry is not None and entry.mode != Mode.FOLDER:
            if entry.mode in (Mode.LINK, Mode.SUBMODULE):
                _refuse_odd(clone, commit, str(parent), entry)
            raise FileUnusable(f"{parent} at {commit[:12]} is a file, so there is no {path}. Check the path.")
