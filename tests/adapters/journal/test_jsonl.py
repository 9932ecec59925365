"""The journal: every line hangs on the one before, a crash costs at most half a line, and a change is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seatrial.adapters.journal import jsonl
from seatrial.adapters.journal.jsonl import GENESIS, JournalUnusable, JsonlJournal, first_broken_line, link


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the journal goes; its folder does not exist yet."""
    return tmp_path / "logs" / "journal.jsonl"


def write(path: Path, *ids: str) -> None:
    """One run of a controller that does these acts."""
    with JsonlJournal(path) as journal:
        for number, name in enumerate(ids):
            journal.append(1000.0004 + number, "act", {"id": name, "attempt": 1})


def entries(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_an_entry_says_when_what_and_what_it_hangs_on(path: Path) -> None:
    write(path, "n1/cordon")
    entry = {"at": 1000.0, "kind": "act", "id": "n1/cordon", "attempt": 1}
    assert entries(path) == [entry | {"chain": link(GENESIS, entry)}]


def test_every_line_hangs_on_the_one_before(path: Path) -> None:
    write(path, "a", "b", "a")
    assert first_broken_line(path) is None
    assert len({entry["chain"] for entry in entries(path)}) == 3


def test_a_line_is_in_the_file_as_soon_as_it_is_written(path: Path) -> None:
    with JsonlJournal(path) as journal:
        journal.append(1.0, "act", {})
        assert first_broken_line(path) is None
        assert len(entries(path)) == 1


def test_an_empty_journal_is_whole(path: Path) -> None:
    write(path)
    assert first_broken_line(path) is None


def test_the_next_run_goes_on_behind_the_last(path: Path) -> None:
    write(path, "a", "b")
    write(path, "c")
    assert [entry["id"] for entry in entries(path)] == ["a", "b", "c"]
    assert first_broken_line(path) is None


def test_a_standby_that_opened_the_file_early_goes_on_behind_what_the_leader_wrote(path: Path) -> None:
    with JsonlJournal(path) as standby:
        write(path, "a", "b")
        standby.append(2000.0, "act", {"id": "c"})
    assert [entry["id"] for entry in entries(path)] == ["a", "b", "c"]
    assert first_broken_line(path) is None


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_torn_last_line_is_dropped_and_the_rest_is_kept(path: Path, kept: int) -> None:
    write(path, "a", "b", "c")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:kept]) + lines[kept][:20])
    write(path, "d")
    assert [entry["id"] for entry in entries(path)] == [*"abc"[:kept], "d"]
    assert first_broken_line(path) is None


def test_lines_longer_than_a_block_are_read_from_behind_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "_BLOCK_BYTES", 7)
    write(path, "a", "b")
    path.write_bytes(path.read_bytes() + b'{"at": 1')
    write(path, "c")
    assert [entry["id"] for entry in entries(path)] == ["a", "b", "c"]
    assert first_broken_line(path) is None


@pytest.mark.parametrize(
    ("change", "number"),
    [
        (lambda lines: [lines[0], lines[1].replace(b'"b"', b'"x"'), lines[2]], 2),
        (lambda lines: [lines[0], lines[2]], 2),
        (lambda lines: [lines[1], lines[0], lines[2]], 1),
        (lambda lines: [lines[0], lines[1], lines[1], lines[2]], 3),
        (lambda lines: [lines[0], b"nonsense\n", lines[2]], 2),
        (lambda lines: [lines[0], b"[]\n", lines[2]], 2),
        (lambda lines: [lines[0], lines[1], b"{}\n"], 3),
    ],
    ids=["changed", "removed", "swapped", "repeated", "nonsense", "no entry", "no chain"],
)
def test_a_line_that_does_not_fit_is_found_by_its_number(path: Path, change: object, number: int) -> None:
    write(path, "a", "b", "c")
    assert callable(change)
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))
    assert first_broken_line(path) == number


def test_a_file_that_is_no_journal_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("dear diary\n", encoding="utf-8")
    with pytest.raises(JournalUnusable, match="its last line is not one of ours"):
        write(path, "a")
    assert path.read_text(encoding="utf-8") == "dear diary\n"


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalUnusable, match=f"{tmp_path} cannot be written: Is a directory"):
        write(tmp_path, "a")


def test_outside_of_with_nothing_is_written(path: Path) -> None:
    with pytest.raises(RuntimeError):
        JsonlJournal(path).append(1.0, "act", {})
