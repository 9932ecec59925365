"""The journal: every line hangs on the one before, a crash costs at most half a line, and a change is found."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial import __version__
from seatrial.adapters.journal import jsonl, lines, reading
from seatrial.adapters.journal.jsonl import JournalUnusable, JsonlJournal
from seatrial.adapters.journal.lines import GENESIS
from seatrial.adapters.journal.reading import first_broken_line
from seatrial.ports import JournalUnwritable
from tests.disks import fill, needs_mounts, small_disk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the journal goes; its folder does not exist yet."""
    return tmp_path / "logs" / "journal.jsonl"


def write(path: Path, *ids: str) -> None:
    """One run of a controller that does these acts."""
    with JsonlJournal(path) as journal:
        for number, name in enumerate(ids):
            journal.append(1000.0 + number, "act", {"id": name, "attempt": 1})


def entries(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def ids(path: Path) -> list[object]:
    return [entry["id"] for entry in entries(path) if entry["kind"] == "act"]


# ── lines ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_begins_with_what_it_hangs_on_and_an_entry_says_when_and_what(path: Path) -> None:
    write(path, "n1/cordon")
    head = {"at": 1000.0, "kind": "head", "version": __version__, "file": 1, "before": GENESIS}
    act = {"at": 1000.0, "kind": "act", "id": "n1/cordon", "attempt": 1}
    first, chain = lines.seal(GENESIS, head)
    assert path.read_bytes() == first + lines.seal(chain, act)[0]


def test_every_line_hangs_on_the_one_before(path: Path) -> None:
    write(path, "a", "b", "a")
    assert first_broken_line(path) is None
    assert len({entry["chain"] for entry in entries(path)}) == 4


def test_the_time_is_kept_to_the_last_digit(path: Path) -> None:
    """A replay decides at that very moment."""
    with JsonlJournal(path) as journal:
        journal.append(0.1 + 0.2, "act", {})
    assert entries(path)[-1]["at"] == 0.1 + 0.2


def test_a_line_is_in_the_file_as_soon_as_it_is_written(path: Path) -> None:
    with JsonlJournal(path) as journal:
        journal.append(1.0, "act", {})
        assert first_broken_line(path) is None
        assert [entry["kind"] for entry in entries(path)] == ["head", "act"]


def test_an_empty_journal_is_whole(path: Path) -> None:
    write(path)
    assert first_broken_line(path) is None


def test_the_next_run_goes_on_behind_the_last(path: Path) -> None:
    write(path, "a", "b")
    write(path, "c")
    assert ids(path) == ["a", "b", "c"]
    assert first_broken_line(path) is None


def test_a_standby_that_opened_the_file_early_goes_on_behind_what_the_leader_wrote(path: Path) -> None:
    with JsonlJournal(path) as standby:
        write(path, "a", "b")
        standby.append(2000.0, "act", {"id": "c"})
    assert ids(path) == ["a", "b", "c"]
    assert first_broken_line(path) is None


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_torn_last_line_is_cut_off_and_told_and_the_rest_is_kept(path: Path, kept: int) -> None:
    write(path, "a", "b", "c")
    whole = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole[: kept + 1]) + whole[kept + 1][:20])
    write(path, "d")
    assert ids(path) == [*"abc"[:kept], "d"]
    assert [entry["bytes"] for entry in entries(path) if entry["kind"] == "torn"] == [20]
    assert first_broken_line(path) is None


def test_a_file_torn_in_its_first_line_is_begun_anew(path: Path) -> None:
    write(path, "a")
    path.write_bytes(path.read_bytes()[:30])
    write(path, "b")
    assert [entry["kind"] for entry in entries(path)] == ["head", "torn", "act"]
    assert first_broken_line(path) is None


def test_lines_longer_than_a_block_are_read_from_behind_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "_BLOCK_BYTES", 7)
    write(path, "a", "b")
    path.write_bytes(path.read_bytes() + b'{"at": 1')
    write(path, "c")
    assert ids(path) == ["a", "b", "c"]
    assert first_broken_line(path) is None


@pytest.mark.parametrize("text", ["dear diary\n", "dear diary", '{"at": 7}\n', "a\nb"])
def test_a_file_that_is_no_journal_is_left_alone(path: Path, text: str) -> None:
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    with pytest.raises(JournalUnusable, match=r"journal\.jsonl is not a journal of ours"):
        write(path, "a")
    assert path.read_text(encoding="utf-8") == text


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalUnusable, match=f"{tmp_path} cannot be written: Is a directory"):
        write(tmp_path, "a")


def test_outside_of_with_nothing_is_written(path: Path) -> None:
    with pytest.raises(RuntimeError):
        JsonlJournal(path).append(1.0, "act", {})


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_files(path: Path, *ids: str, files_kept: int = 9) -> None:
    """One run whose files hold four acts each: so many of its longest line a file has to hold."""
    with JsonlJournal(path, file_bytes_max=500, files_kept=files_kept) as journal:
        for number, name in enumerate(ids):
            journal.turn(1000.0 + number)
            journal.append(1000.0 + number, "act", {"id": name, "why": "x" * 400})


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


def test_a_full_file_is_put_aside_and_the_chain_goes_on_in_the_next(path: Path) -> None:
    write_files(path, *"abcdefghijklm")
    assert names(path) == ["journal.jsonl", *(f"journal.jsonl.00000{number}" for number in (1, 2, 3))]
    files = [reading.check(path.parent / name) for name in names(path)]
    (row,) = reading.journals(files)
    assert [file.number for file in row] == [1, 2, 3, 4]
    assert [id_ for file in row for id_ in ids(file.path)] == [*"abcdefghijklm"]


def test_a_file_that_is_not_full_is_gone_on_with(path: Path) -> None:
    with JsonlJournal(path) as journal:
        assert not journal.turn(1000.0)
        journal.append(1000.0, "act", {"id": "a"})
        assert not journal.turn(1001.0)
    assert names(path) == ["journal.jsonl"]


def test_a_file_holds_at_least_a_few_of_its_longest_line(path: Path) -> None:
    """Otherwise a large fleet, told whole at the beginning of each file, would leave no room for anything else."""
    with JsonlJournal(path, file_bytes_max=500) as journal:
        turned = []
        for number in range(8):
            turned.append(journal.turn(1000.0 + number))
            journal.append(1000.0 + number, "pass", {"whole": "x" * 2000})
    assert turned == [False, False, False, False, True, False, False, False]


def test_the_oldest_files_are_deleted(path: Path) -> None:
    write_files(path, *"abcdefghijklmnopq", files_kept=2)
    assert names(path) == ["journal.jsonl", "journal.jsonl.000003", "journal.jsonl.000004"]
    (row,) = reading.journals([reading.check(path.parent / name) for name in names(path)])
    assert [file.number for file in row] == [3, 4, 5]


def test_the_next_run_goes_on_with_the_number_and_the_chain(path: Path) -> None:
    write_files(path, *"abcde")
    write_files(path, *"fgh")
    assert names(path) == ["journal.jsonl", "journal.jsonl.000001", "journal.jsonl.000002"]
    (row,) = reading.journals([reading.check(path.parent / name) for name in names(path)])
    assert [id_ for file in row for id_ in ids(file.path)] == [*"abcdefgh"]


@pytest.mark.parametrize("left", [None, b"", b'{"at": 10'], ids=["no file", "an empty one", "half a line"])
def test_a_crash_after_a_file_was_put_aside_loses_nothing(path: Path, left: bytes | None) -> None:
    write_files(path, *"abcde")
    path.rename(path.with_name("journal.jsonl.000002"))
    if left is not None:
        path.write_bytes(left)
    write(path, "f")
    (row,) = reading.journals([reading.check(path.parent / name) for name in names(path)])
    assert [id_ for file in row for id_ in ids(file.path)] == [*"abcdef"]


def test_no_file_put_aside_is_ever_written_over(path: Path) -> None:
    path.parent.mkdir()
    path.with_name("journal.jsonl.000001").write_text("kept", encoding="utf-8")
    path.write_bytes(lines.seal(GENESIS, {"at": 1.0, "kind": "head", "file": 1, "before": GENESIS})[0])
    with pytest.raises(JournalUnusable, match=r"it is full, and journal\.jsonl\.000001, where it belongs, is taken"):
        write_files(path, *"abcde")
    assert path.with_name("journal.jsonl.000001").read_text(encoding="utf-8") == "kept"


def test_a_standby_follows_the_leader_into_its_next_file(path: Path) -> None:
    with JsonlJournal(path) as standby:
        write_files(path, *"abcde")
        standby.append(2000.0, "act", {"id": "f"})
    assert ids(path) == ["e", "f"]
    assert first_broken_line(path) is None


# ── whose it is ──────────────────────────────────────────────────────────────────────────────────────────────────────


def modes(path: Path) -> dict[str, int]:
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in sorted(path.parent.iterdir())}


def test_nobody_but_its_owner_reads_a_journal_nor_what_was_put_aside_of_it(path: Path) -> None:
    before = os.umask(0)
    try:
        with JsonlJournal(path, file_bytes_max=1) as journal:
            for number in range(9):
                journal.append(1000.0 + number, "act", {"id": f"a{number}"})
                journal.turn(1000.0 + number)
    finally:
        os.umask(before)
    found = modes(path)
    assert len(found) > 1
    assert set(found.values()) == {0o600}


def test_files_of_a_release_that_left_them_open_are_closed(path: Path) -> None:
    with JsonlJournal(path, file_bytes_max=1) as journal:
        for number in range(6):
            journal.append(1000.0 + number, "act", {"id": f"a{number}"})
            journal.turn(1000.0 + number)
    for each in path.parent.iterdir():
        each.chmod(0o644)
    write(path, "b")
    assert set(modes(path).values()) == {0o600}


# ── a full disk ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, of sixteen pages."""
    with small_disk(tmp_path / "small", "64k") as made:
        yield made


@needs_mounts
def test_a_full_disk_is_told_and_once_there_is_room_the_chain_goes_on_with_no_line_torn(small: Path) -> None:
    path = small / "journal.jsonl"
    with JsonlJournal(path) as journal:
        journal.append(1000.0, "act", {"id": "a"})
        ballast = fill(small)
        for _ in range(2):
            with pytest.raises(JournalUnwritable, match=f"{path}: No space left on device"):
                journal.append(1001.0, "act", {"id": "lost", "long": "x" * 5000})
        ballast.unlink()
        journal.append(1002.0, "act", {"id": "b"})
    assert ids(path) == ["a", "b"]
    assert first_broken_line(path) is None


@needs_mounts
def test_a_full_disk_keeps_nobody_from_starting(small: Path) -> None:
    ballast, path = fill(small), small / "journal.jsonl"
    with JsonlJournal(path) as journal:
        with pytest.raises(JournalUnwritable):
            journal.append(1000.0, "act", {"id": "lost"})
        ballast.unlink()
        journal.append(1001.0, "act", {"id": "a"})
        ballast = fill(small)
        with pytest.raises(JournalUnwritable):
            journal.append(1002.0, "act", {"id": "lost", "long": "x" * 5000})
        ballast.unlink()
        journal.append(1003.0, "act", {"id": "b"})
    assert ids(path) == ["a", "b"]
    assert [entry["file"] for entry in entries(path) if entry["kind"] == "head"] == [1]
    assert first_broken_line(path) is None
