"""Matrix files on disk: found from anywhere in the repository, replaced in one step, never half."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from seatrial.adapters.files import matrix_file
from seatrial.adapters.files.matrix_file import MatrixFileError

GOOD = "versions:\n  current:\n    driver: '565.77'\n"


def test_the_nearest_matrix_is_found_from_a_folder_below_but_not_from_another_repository(tmp_path: Path) -> None:
    inside = tmp_path / "repository" / "clusters" / "west"
    inside.mkdir(parents=True)
    outer = tmp_path / "gpu-version-matrix.yaml"
    outer.write_text(GOOD)
    (tmp_path / "repository" / ".git").mkdir()

    with pytest.raises(MatrixFileError, match="seatrial init"):
        matrix_file.find_matrix(None, inside)
    nearest = tmp_path / "repository" / "gpu-version-matrix.yml"
    nearest.write_text(GOOD)
    assert matrix_file.find_matrix(None, inside) == nearest
    assert matrix_file.find_matrix(str(tmp_path), inside) == outer
    assert matrix_file.find_matrix("other.yaml", inside) == Path("other.yaml")


def test_a_file_that_is_not_utf_8_is_a_finding_at_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes("versions:\n  # ü ".encode() + b"\xff\n")

    (finding,) = matrix_file.load_matrix(path).reading.findings

    assert (finding.rule, finding.spans[0].line, finding.spans[0].column) == ("not-utf-8", 2, 7)
    assert "0xff" in finding.message


def test_a_file_of_ten_megabytes_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_bytes(b"a: b\n" * 2_000_000)

    (finding,) = matrix_file.load_matrix(path).reading.findings

    assert finding.rule == "file-too-large"


def test_a_file_that_is_not_there_is_an_error_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(MatrixFileError, match="cannot be read: No such file"):
        matrix_file.load_matrix(tmp_path / "none.yaml")


def test_a_replaced_file_keeps_its_mode_its_bytes_and_its_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    before, after = "\ufeffa: ü\r\n", "\ufeffa: ö\r\n"
    real.write_bytes(before.encode())
    real.chmod(0o640)
    link.symlink_to(real)

    matrix_file.replace_text(link, before, after)

    assert link.is_symlink()
    assert real.read_bytes() == after.encode()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.yaml", "real.yaml"]


def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("theirs")

    with pytest.raises(MatrixFileError, match="somebody else"):
        matrix_file.replace_text(path, "as it was", "ours")
    assert path.read_text() == "theirs"


def test_a_write_that_fails_leaves_the_old_text_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("old")

    with pytest.raises(UnicodeEncodeError):
        matrix_file.replace_text(path, "old", "\ud800")
    assert path.read_text() == "old"
    assert [found.name for found in tmp_path.iterdir()] == ["m.yaml"]


def test_a_rename_that_fails_leaves_the_old_text_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.yaml"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for write in (replaced, forced):
        with pytest.raises(MatrixFileError, match="cannot be written: No space left on device"):
            write(path)
        assert path.read_text() == "old"
        assert [found.name for found in tmp_path.iterdir()] == ["m.yaml"]


def replaced(path: Path) -> None:
    matrix_file.replace_text(path, "old", "new")


def forced(path: Path) -> None:
    matrix_file.write_new(path, "new", is_forced=True)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    matrix_file.make_folder(tmp_path / "a" / "b")
    matrix_file.make_folder(tmp_path / "a" / "b")
    (tmp_path / "file").write_text("x")
    with pytest.raises(MatrixFileError, match=r"cannot be made: Not a directory\. Choose another folder"):
        matrix_file.make_folder(tmp_path / "file" / "below")
    with pytest.raises(MatrixFileError, match="cannot be written: Not a directory"):
        matrix_file.write_new(tmp_path / "file" / "m.yaml", "text")


def test_a_new_file_replaces_another_only_when_forced(tmp_path: Path) -> None:
    path = tmp_path / "m.yaml"
    matrix_file.write_new(path, "one")

    with pytest.raises(MatrixFileError, match="--force"):
        matrix_file.write_new(path, "two")
    assert path.read_text() == "one"
    matrix_file.write_new(path, "two", is_forced=True)
    assert path.read_text() == "two"
