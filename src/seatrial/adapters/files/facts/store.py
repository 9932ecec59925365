"""Bundles that were taken over: vendored beside the matrix, so that a check asks nobody and says the same tomorrow.

    seatrial-facts/
      mine.yaml                  facts of the team's own
      allowed-signers            whose signatures count (man ssh-keygen, ALLOWED SIGNERS)
      bundles.lock.json          which bundles count: source, digest, who vouched for it, day, checksums
      bundles/NAME-DIGEST/       the files of one, as they were published

    a new folder, complete ──▶ the lock, in one step ──▶ folders that no lock names are removed

Law of this file: the lock says what counts, and a folder that it does not name counts for nothing; so whatever happens
between two of these steps, either the old bundle is there as a whole or the new one. Every file that is read is
compared with its checksum. Tests: tests/adapters/files/test_bundle_store.py
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from seatrial.adapters.files import matrix_file
from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat.facts.bundles import (
    Bundle,
    BundleTampered,
    BundleUnreadable,
    digest_of,
    is_digest,
    sums_of,
)

LOCK: Final = "bundles.lock.json"
ALLOWED: Final = "allowed-signers"
BUNDLES: Final = "bundles"
LOCK_VERSION: Final = 1
NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,60}[a-z0-9])?")
_AGAIN: Final = "Take it from Git again, or run `seatrial facts update` with its source."
_DIGITS: Final = 12
_AS_IT_IS: Final = {".gitattributes": b"* -text\n"}
"""Git must not change line ends: these files are compared byte by byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """One bundle that counts."""

    source: str
    digest: str
    files: Mapping[str, str]
    """The checksum of each file of facts."""
    on: date
    """The day it was taken over."""
    commit: str = ""
    signer: str = ""
    """Who signed it; empty where it is pinned by digest."""
    pin: str = ""
    """The digest that somebody named for it; empty where it is signed."""

    def folder(self, name: str) -> str:
        """Where its files are, below seatrial-facts/."""
        return f"{BUNDLES}/{name}-{self.digest.partition(':')[2][:_DIGITS]}"


def locked_in(facts: Path) -> dict[str, Locked]:
    """Every bundle that counts, by name; BundleTampered where the lock is not what we wrote."""
    text = _lock_text(facts)
    if not text:
        return {}
    path = facts / LOCK
    try:
        data = json.loads(text)
        version = data["version"]
        if version != LOCK_VERSION:
            raise BundleUnreadable(
                f"{path} is of version {version}, and this seatrial reads {LOCK_VERSION}. Update seatrial.", str(path)
            )
        return {str(name): _locked(row) for name, row in sorted(data["bundles"].items()) if _fits(name)}
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise BundleTampered(f"{path} is not what seatrial wrote: {err!r}. {_AGAIN}", str(path)) from err


def files_of(facts: Path, name: str, locked: Locked) -> dict[str, bytes]:
    """The files of a bundle, each compared with its checksum; BundleTampered where one is another, or missing."""
    folder = facts / locked.folder(name)
    found: dict[str, bytes] = {}
    for file, wanted in locked.files.items():
        path = folder / file
        try:
            content = path.read_bytes()
        except OSError as err:
            raise BundleTampered(
                f"{path} cannot be read, and {facts / LOCK} names it: {err.strerror or err}. {_AGAIN}", str(path)
            ) from err
        has = sha256(content).hexdigest()
        if has != wanted:
            raise BundleTampered(
                f"{path} was changed after bundle {name} was taken over: {LOCK} says sha256 {wanted}, it has {has}. "
                f"{_AGAIN} Facts of your own belong into {facts}/, in a file of their own.",
                str(path),
            )
        found[file] = content
    return found


def store(facts: Path, name: str, locked: Locked, bundle: Bundle) -> Locked:
    """Put a bundle in the place of the one of that name, as a whole or not at all."""
    before = _lock_text(facts)
    rows = {**locked_in(facts), name: replace(locked, files=sums_of(bundle.files), digest=bundle.digest)}
    folder = facts / rows[name].folder(name)
    matrix_file.make_folder(folder.parent)
    try:
        _write_folder(folder, {**bundle.files, **bundle.beside, **_AS_IT_IS})
    except OSError as err:
        raise matrix_file.MatrixFileError(
            f"{folder} cannot be written: {err.strerror or err}. Check the rights and the room of its disk."
        ) from err
    _write_lock(facts, before, rows)
    _sweep(facts, rows)
    return rows[name]


def remove(facts: Path, name: str) -> None:
    """Let a bundle count no more; BundleUnreadable where there is none of that name."""
    before, rows = _lock_text(facts), locked_in(facts)
    if name not in rows:
        there = ", ".join(rows) or "none"
        raise BundleUnreadable(f"{facts / LOCK} has no bundle {name!r}; it has {there}. Name one of them.")
    del rows[name]
    _write_lock(facts, before, rows)
    _sweep(facts, rows)


def _locked(row: Mapping[str, Any]) -> Locked:
    found = Locked(**{**row, "on": date.fromisoformat(row["on"])})
    if not is_digest(found.digest) or digest_of(found.files) != found.digest:
        raise ValueError(f"the digest {found.digest} is not that of its files")
    if any("/" in file or file.startswith(".") for file in found.files):
        raise ValueError("a file is outside of its folder")
    return found


def _fits(name: str) -> bool:
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a name of a bundle")
    return True


def _lock_text(facts: Path) -> str:
    path = facts / LOCK
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as err:
        why = err.strerror if isinstance(err, OSError) else "it is not UTF-8"
        raise BundleTampered(f"{path} cannot be read: {why}. {_AGAIN}", str(path)) from err


def _write_lock(facts: Path, before: str, rows: Mapping[str, Locked]) -> None:
    told = {name: {key: value for key, value in asdict(row).items() if value} for name, row in sorted(rows.items())}
    text = json.dumps({"version": LOCK_VERSION, "bundles": told}, indent=2, default=str) + "\n"
    if before:
        matrix_file.replace_text(facts / LOCK, before, text)
    else:
        _write_first(facts / LOCK, text)


def _write_first(path: Path, text: str) -> None:
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(beside).chmod(0o644)
        Path(beside).replace(path)
    except OSError as err:
        raise matrix_file.MatrixFileError(f"{path} cannot be written: {err.strerror or err}. Try again.") from err
    finally:
        Path(beside).unlink(missing_ok=True)


def _write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    new = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".new-"))
    try:
        for name, content in files.items():
            with (new / name).open("xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        new.chmod(0o755)
        if folder.exists():  # left by a run that was ended, or changed by somebody: its bytes are no loss
            shutil.rmtree(folder)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _sweep(facts: Path, rows: Mapping[str, Locked]) -> None:
    """Remove the folders that no lock names; that one stays is no harm, so no failure is."""
    kept = {facts / row.folder(name) for name, row in rows.items()}
    for folder in (facts / BUNDLES).iterdir() if (facts / BUNDLES).is_dir() else ():
        if folder not in kept and folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)
    if not rows:
        with contextlib.suppress(OSError):
            (facts / BUNDLES).rmdir()
