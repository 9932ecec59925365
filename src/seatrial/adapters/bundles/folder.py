"""A bundle as a folder: written as a whole or not at all, and never over what is not ours.

    seatrial-bundle.yaml      that it is a bundle, with which wishes it was written, and the digest of every other file

Law of this file: a file that somebody else put there, or edited, is theirs. What is written is written beside, and
takes the old folder's place in one step. Tests: tests/adapters/test_bundles.py
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from seatrial.adapters.bundles.texts import Content, yaml_text
from seatrial.core.base.values import dataclass, field
from seatrial.core.compat.bundles.values import BundleRefused
from seatrial.core.text.names import a_few

MARK: Final = "seatrial-bundle.yaml"
KIND: Final = "seatrial-bundle"
SCHEMA: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A bundle that is there."""

    wishes: Mapping[str, Any]
    """With what it was written, as we wrote it down."""
    files: Mapping[str, Content]
    """Every file but the mark."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """What the files were when they were written."""

    @property
    def strange(self) -> tuple[str, ...]:
        """Files that are not as we wrote them, and files that we never wrote."""
        return tuple(path for path, each in sorted(self.files.items()) if self.digests.get(path) != _digest(each))


def marked(wishes: Mapping[str, Any], files: Mapping[str, Content]) -> dict[str, Content]:
    """The files of a bundle with its mark."""
    digests = {path: _digest(each) for path, each in sorted(files.items())}
    mark = yaml_text({"kind": KIND, "schema": SCHEMA, "wishes": dict(wishes), "files": digests})
    note = "# Marks a bundle of seatrial, and what its files were when it was written.\n"
    return {**files, MARK: Content(data=(note + mark).encode())}


def read(folder: Path) -> Found:
    """The bundle in a folder; BundleRefused where there is none."""
    mark = folder / MARK
    try:
        said = yaml.safe_load(mark.read_bytes())
        files = {path: each for path, each in _walked(folder).items() if path != MARK}
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as err:
        raise BundleRefused(f"{folder} is not a bundle of seatrial: its {MARK} cannot be read.") from err
    if not isinstance(said, dict) or said.get("kind") != KIND or not isinstance(said.get("files"), dict):
        raise BundleRefused(f"{folder} is not a bundle of seatrial: its {MARK} does not say so.")
    if said.get("schema") != SCHEMA or not isinstance(said.get("wishes"), dict):
        raise BundleRefused(f"{mark} was written by another release of seatrial. Write the bundle again.")
    return Found(wishes=said["wishes"], files=files, digests=said["files"])


def mark_of(folder: Path) -> Content:
    """The mark as it is there."""
    return _content(folder / MARK)


def write(folder: Path, files: Mapping[str, Content], *, is_forced: bool = False) -> bool:
    """Have the folder be exactly these files; False where it is so already."""
    try:
        if _is_there(folder):
            found = _ours(folder, is_forced=is_forced)
            if found is not None and {**found.files, MARK: mark_of(folder)} == dict(files):
                return False
        _replace(folder, files)
    except OSError as err:
        raise BundleRefused(f"{folder} cannot be written: {err.strerror or err}. Nothing was changed.") from err
    return True


def _is_there(folder: Path) -> bool:
    """Whether something is there that has to be looked at; an empty folder is as good as none."""
    if not folder.is_dir():
        if folder.exists() or folder.is_symlink():
            raise BundleRefused(f"{folder} is not a folder. Name another one.")
        return False
    return any(folder.iterdir())


def _ours(folder: Path, *, is_forced: bool) -> Found | None:
    try:
        found = read(folder)
    except BundleRefused as err:
        raise BundleRefused(f"{err} Nothing was written: name an empty folder.") from err
    added = [path for path in found.strange if path not in found.digests]
    if added:
        raise BundleRefused(
            f"{folder} has files that do not belong to the bundle: {a_few(added)}. Nothing was written: move "
            "them elsewhere, "
            "since writing it again would remove them."
        )
    if found.strange and not is_forced:
        raise BundleRefused(
            f"{folder} was edited: {a_few(found.strange)}. Nothing was written: put values into a file of your own "
            "(--values RELEASE=FILE), or let the edits go with --force."
        )
    return found


def _replace(folder: Path, files: Mapping[str, Content]) -> None:
    """Written beside and renamed: whoever looks sees the old bundle, for a moment none, or the new one whole."""
    target = folder.resolve() if folder.is_symlink() else folder.absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        new, old = beside / "new", beside / "old"
        new.mkdir()
        for path, content in files.items():
            _put(new / path, content)
        if target.exists():
            target.rename(old)
        try:
            new.rename(target)
        except OSError:
            if old.exists():
                old.rename(target)
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _put(path: Path, content: Content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        stream.write(content.data)
        stream.flush()
        os.fsync(stream.fileno())
    path.chmod(0o755 if content.is_executable else 0o644)


def _walked(folder: Path) -> dict[str, Content]:
    """Every file below, a link too: that it is one is a difference, whatever it points to."""
    found: dict[str, Content] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[path.relative_to(folder).as_posix()] = Content(data=b"link to " + os.fsencode(path.readlink()))
        elif path.is_file():
            found[path.relative_to(folder).as_posix()] = _content(path)
    return found


def _content(path: Path) -> Content:
    return Content(data=path.read_bytes(), is_executable=os.access(path, os.X_OK))


def _digest(content: Content) -> str:
    return f"sha256:{hashlib.sha256(content.data).hexdigest()}{' x' if content.is_executable else ''}"
