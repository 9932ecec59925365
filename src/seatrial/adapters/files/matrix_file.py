"""Matrix files on disk: found, read, and replaced in one step. What is in them is matrix_yaml's business.

    MatrixFileError         the file could not be found, read or written; the message says what to do

Tests: tests/adapters/files/test_matrix_file.py
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Final

from seatrial.adapters.files import matrix_keys
from seatrial.adapters.files.matrix_place import LENGTH_MAX
from seatrial.adapters.files.matrix_yaml import Reading, read_matrix
from seatrial.core.base.values import dataclass
from seatrial.core.compat.findings import Finding, Verdict
from seatrial.core.compat.matrix import Span
from seatrial.core.errors import SeatrialError

FILE_NAMES: Final = (matrix_keys.FILE_NAME, "gpu-version-matrix.yml")

BYTES_MAX: Final = 4 * LENGTH_MAX
"""As many bytes as the characters allowed can take."""


class MatrixFileError(SeatrialError):
    """A matrix file could not be found, read or written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A file's text as it is on disk, byte for byte, and what it says; the text is empty where it is no text."""

    path: Path
    text: str
    reading: Reading


def find_matrix(given: str | None, start: Path) -> Path:
    """The file that is meant: the one given, the one in the folder given, or the nearest from `start` upwards."""
    path = Path(given) if given is not None else None
    if path is not None and not path.is_dir():
        return path
    folder = path or start
    for candidate in (folder,) if path is not None else _upwards(folder):
        for name in FILE_NAMES:
            if (candidate / name).is_file():
                return candidate / name
    raise MatrixFileError(
        f"there is no {matrix_keys.FILE_NAME} in {folder}"
        + ("." if path is not None else " or above it.")
        + " Name the file, or write one with `seatrial init`."
    )


def _upwards(folder: Path) -> tuple[Path, ...]:
    """The folder and those above it, up to the root of its repository."""
    walked: list[Path] = []
    for candidate in (folder, *folder.absolute().parents):
        walked.append(candidate)
        if (candidate / ".git").exists():
            break
    return tuple(walked)


def load_matrix(path: Path) -> Loaded:
    """Read a matrix file; what is wrong with its content is in the findings."""
    file = str(path)
    raw = _read_bytes(path)
    if len(raw) > BYTES_MAX:
        return _not_text(
            path,
            "file-too-large",
            f"The file has more than {BYTES_MAX:,} bytes; a matrix has a few thousand.",
            "Check that this is the right file.",
            Span(file=file, line=1, column=1),
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as err:
        before = raw[: err.start].decode("utf-8", errors="replace")
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        return _not_text(
            path,
            "not-utf-8",
            f"The file is not UTF-8: the byte 0x{raw[err.start]:02x} cannot stand here.",
            "Save it as UTF-8.",
            Span(file=file, line=line, column=column),
        )
    return Loaded(path=path, text=text, reading=read_matrix(text, file))


def _not_text(path: Path, rule: str, message: str, next_step: str, span: Span) -> Loaded:
    finding = Finding(rule=rule, verdict=Verdict.FAIL, message=message, next_step=next_step, spans=(span,))
    return Loaded(path=path, text="", reading=Reading(matrix=None, findings=(finding,)))


def _read_bytes(path: Path) -> bytes:
    """At most one byte more than allowed: enough to tell that it is too much."""
    try:
        with path.open("rb") as stream:
            return stream.read(BYTES_MAX + 1)
    except OSError as err:
        raise MatrixFileError(f"{path} cannot be read: {err.strerror or err}. Check the name and its rights.") from err


def replace_text(path: Path, before: str, after: str) -> None:
    """Replace a file's text in one step: a reader sees the old or the new one, a crash leaves the old one.

    Refused when the file no longer holds `before`: somebody else wrote meanwhile, and their change would be lost.
    """
    real = path.resolve()  # a symbolic link stays one
    if _read_bytes(real) != before.encode("utf-8"):
        raise MatrixFileError(f"{path} was changed by somebody else meanwhile. Look at it, and run this again.")
    try:
        _write_beside_and_rename(real, after.encode("utf-8"), stat.S_IMODE(real.stat().st_mode))
    except OSError as err:
        raise MatrixFileError(
            f"{path} cannot be written: {err.strerror or err}. Check the rights of its folder."
        ) from err


def make_folder(folder: Path) -> None:
    """Make a folder, with those above it, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise MatrixFileError(f"{folder} cannot be made: {err.strerror or err}. Choose another folder.") from err


def write_new(path: Path, text: str, *, is_forced: bool = False) -> None:
    """Write a file that must not exist yet, unless forced."""
    try:
        if is_forced and path.exists():
            _write_beside_and_rename(path.resolve(), text.encode("utf-8"), stat.S_IMODE(path.stat().st_mode))
            return
        with path.open("xb") as stream:
            stream.write(text.encode("utf-8"))
    except FileExistsError as err:
        raise MatrixFileError(f"{path} exists already. Use --force to replace it.") from err
    except OSError as err:
        raise MatrixFileError(
            f"{path} cannot be written: {err.strerror or err}. Check the rights of its folder."
        ) from err


def _write_beside_and_rename(path: Path, content: bytes, mode: int) -> None:
    handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        Path(beside).chmod(mode)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
