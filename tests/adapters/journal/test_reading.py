"""Reading journals: what was changed is refused by file and line, files find their order, a torn end is only told."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from seatrial.adapters.journal import lines, reading
from seatrial.adapters.journal.jsonl import JsonlJournal
from seatrial.adapters.journal.reading import JournalFile, JournalRefused

Change = Callable[[list[bytes]], list[bytes]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of three acts behind its head."""
    path = tmp_path / "journal.jsonl"
    write(path, "a", "b", "c")
    return path


def write(path: Path, *ids: str) -> None:
    with JsonlJournal(path) as journal:
        for number, name in enumerate(ids):
            journal.append(1000.0 + number, "act", {"id": name})


def change(path: Path, how: Change) -> None:
    path.write_bytes(b"".join(how(path.read_bytes().splitlines(keepends=True))))


def read(*rows: JournalFile) -> list[object]:
    return [entry.fields["id"] for file in rows for entry in reading.entries(file) if entry.kind == "act"]


def test_a_whole_file_gives_its_entries_and_where_they_stand(path: Path) -> None:
    file = reading.check(path)
    found = list(reading.entries(file))
    assert (file.line_count, file.number, file.before, file.torn_bytes) == (4, 1, lines.GENESIS, 0)
    assert [(entry.at, entry.kind, entry.fields) for entry in found[1:]] == [
        (1000.0, "act", {"id": "a"}),
        (1001.0, "act", {"id": "b"}),
        (1002.0, "act", {"id": "c"}),
    ]
    assert [entry.where for entry in found] == [f"{path}:{number}" for number in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("how", "number"),
    [
        (lambda old: [old[0], old[1], old[2].replace(b'"b"', b'"x"'), old[3]], 3),
        (lambda old: [old[0], old[1], old[2].replace(b'":', b'": ', 1), old[3]], 3),
        (lambda old: [old[0], old[1], old[2].replace(b'"chain":"', b'"chain":"0', 1), old[3]], 3),
        (lambda old: [old[0].replace(b'"file":1', b'"file":2'), *old[1:]], 1),
        (lambda old: [old[0], old[1], old[3]], 3),
        (lambda old: old[1:], 1),
        (lambda old: [old[0], old[2], old[1], old[3]], 2),
        (lambda old: [old[0], old[1], old[2], old[2], old[3]], 4),
        (lambda old: [old[0], old[1], b"nonsense\n", old[3]], 3),
        (lambda old: [old[0], old[1], b"\n", old[2], old[3]], 3),
        (lambda old: [old[0], b"[]\n", old[2]], 2),
        (lambda old: [old[0], old[1], b"{}\n"], 3),
        (lambda old: [b"dear diary\n", *old], 1),
    ],
    ids=[
        *("changed", "a blank added", "another chain", "another head", "removed", "beheaded", "swapped", "repeated"),
        *("nonsense", "an empty line", "no entry", "no chain", "no journal"),
    ],
)
def test_a_line_that_is_not_what_was_written_is_refused_by_its_number(path: Path, how: Change, number: int) -> None:
    change(path, how)
    with pytest.raises(JournalRefused, match=f"{path}:{number}: this line is not ") as refused:
        reading.check(path)
    assert refused.value.line == number
    assert reading.first_broken_line(path) == number


def test_a_line_written_by_somebody_who_knows_how_still_breaks_the_next(path: Path) -> None:
    """Whoever changes a line and its chain has to change all that follow."""

    def forge(old: list[bytes]) -> list[bytes]:
        entry = lines.read(old[2]) | {"id": "x"}
        return [*old[:2], lines.seal(lines.unseal(old[1])[1], entry)[0], old[3]]

    change(path, forge)
    with pytest.raises(JournalRefused, match=f"{path}:4: "):
        reading.check(path)


def test_a_torn_end_is_told_and_passed_over(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b'{"at": 1003.0, "ki')
    file = reading.check(path)
    assert (file.line_count, file.torn_bytes) == (4, 18)
    assert read(file) == ["a", "b", "c"]


@pytest.mark.parametrize("left", [b"", b'{"at": 10'])
def test_a_file_without_a_whole_line_is_refused(path: Path, left: bytes) -> None:
    path.write_bytes(left)
    with pytest.raises(JournalRefused, match="there is no whole line in it"):
        reading.check(path)


def test_a_compressed_file_is_read_as_it_is(path: Path) -> None:
    packed = path.with_name("old.jsonl.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(reading.check(packed)) == ["a", "b", "c"]
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(JournalRefused, match=f"The journal {packed} cannot be read: Compressed file ended"):
        reading.check(packed)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(JournalRefused, match=r"nowhere\.jsonl cannot be read: No such file or directory"):
        reading.check(tmp_path / "nowhere.jsonl")
    with pytest.raises(JournalRefused, match="cannot be read"):
        reading.first_broken_line(tmp_path / "nowhere.jsonl")


# ── several files ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """A journal in three files, the oldest first; a file holds four of its longest line."""
    path = tmp_path / "long.jsonl"
    with JsonlJournal(path, file_bytes_max=500) as journal:
        for number, name in enumerate("abcdefghi"):
            journal.turn(2000.0 + number)
            journal.append(2000.0 + number, "act", {"id": name, "why": "x" * 400})
    return [path.with_name("long.jsonl.000001"), path.with_name("long.jsonl.000002"), path]


def test_files_find_their_order_by_themselves(parts: list[Path]) -> None:
    found = reading.journals(reading.check(parts[number]) for number in (2, 0, 1, 0))
    assert [[file.path for file in row] for row in found] == [parts]
    assert read(*found[0]) == [*"abcdefghi"]


def test_several_journals_stay_apart(path: Path, parts: list[Path]) -> None:
    found = reading.journals(reading.check(each) for each in (parts[1], path, parts[0]))
    assert [[file.path for file in row] for row in found] == [[path], parts[:2]]


def test_each_file_can_be_checked_without_the_others(parts: list[Path]) -> None:
    found = reading.journals(reading.check(each) for each in (parts[0], parts[2]))
    assert [[file.path for file in row] for row in found] == [[parts[0]], [parts[2]]]


def test_lines_missing_at_the_end_of_a_file_show_in_the_next(parts: list[Path]) -> None:
    change(parts[0], lambda old: old[:-1])
    files = [reading.check(each) for each in parts]
    with pytest.raises(
        JournalRefused, match=f"{parts[1]}:1: this line is not what follows the last line of {parts[0]}"
    ):
        reading.journals(files)
