"""`seatrial replay` as a person meets it: no difference, a changed line refused by name, a difference shown."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.journal import lines
from seatrial.cli import main
from seatrial.cli.exit_codes import ExitCode
from tests.traces import record

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def written() -> bytes:
    """The journal of a rollout."""
    return gzip.decompress((record.FOLDER / "a-plain-upgrade.jsonl.gz").read_bytes())


@pytest.fixture
def path(tmp_path: Path, written: bytes) -> Path:
    """That journal as a file of its own."""
    path = tmp_path / "journal.jsonl"
    path.write_bytes(written)
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `replay`: its exit code, what it prints and what it says."""

    def replay(*arguments: object) -> tuple[int, str, str]:
        code = main.main(["replay", *map(str, arguments)])
        told = capsys.readouterr()
        return code, told.out, told.err

    return replay


def counts(path: Path) -> tuple[int, int]:
    kinds = [json.loads(line)["kind"] for line in path.read_text(encoding="utf-8").splitlines()]
    return kinds.count("pass"), kinds.count("act")


def rewritten(path: Path, number: int, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the entry of a line and chain everything anew, as another release would have written it."""
    chain, out = lines.GENESIS, []
    for index, line in enumerate(path.read_bytes().splitlines(keepends=True), 1):
        entry = lines.read(line)
        if index == number:
            change(entry)
        sealed, chain = lines.seal(chain, entry)
        out.append(sealed)
    path.write_bytes(b"".join(out))


def test_a_journal_is_replayed_without_difference(path: Path, run: Run) -> None:
    passes, acts = counts(path)
    assert run(path) == (ExitCode.OK, f"{passes} passes, {acts} decisions, no difference\n", "")


def test_a_journal_with_one_line_changed_is_refused_and_the_line_named(path: Path, run: Run) -> None:
    old = path.read_bytes().splitlines(keepends=True)
    number = next(index for index, line in enumerate(old, 1) if b"cordon-required" in line and b'"kind":"act"' in line)
    old[number - 1] = old[number - 1].replace(b"cordon-required", b"uncordon-required")
    path.write_bytes(b"".join(old))
    code, out, err = run(path)
    assert (code, out) == (ExitCode.ERROR, "")
    assert err.startswith(f"seatrial: {path}:{number}: this line is not what was written here: it was changed, or ")
    assert len(err.splitlines()) == 1


def test_the_first_difference_is_shown_with_both_decisions(path: Path, run: Run) -> None:
    rewritten(path, 2, lambda entry: entry["whole"]["seen"]["nodes"].pop("gpu-3"))
    code, out, err = run(path)
    assert (code, err) == (ExitCode.FINDINGS, "")
    first, *rest = out.splitlines()
    assert first.startswith(f"{path}:2: the pass of 2025-06-15T15:06:40.000Z, written by seatrial ")
    assert first.endswith(", is decided otherwise by this release:")
    assert rest[0] == "  no longer decided: gpu-3/upgrade-required/1@1"
    assert rest[-3].startswith("  recorded: spring/ledger/1, gpu-0/upgrade-required/1@1, ")
    assert rest[-2].startswith("  now:      spring/ledger/1, gpu-0/upgrade-required/1@1, ")
    assert rest[-1] == "0 passes, 0 decisions, then a difference"


def test_a_torn_end_is_told_and_the_rest_is_replayed(path: Path, run: Run) -> None:
    path.write_bytes(path.read_bytes() + b'{"at":17500')
    code, out, err = run(path)
    assert code == ExitCode.OK
    assert out.endswith(", no difference\n")
    assert err == f"seatrial: {path}: its last line is torn after 11 bytes, as a crash leaves it; passed over.\n"


def test_several_journals_are_one_suite(path: Path, run: Run) -> None:
    others = sorted(record.FOLDER.glob("[df]*.jsonl.gz"))
    code, out, _ = run("-o", "json", path, *others)
    told = json.loads(out)["journals"]
    assert code == ExitCode.OK
    assert [each["files"] for each in told] == [[str(each)] for each in (path, *others)]
    assert (told[0]["passes"], told[0]["decisions"]) == counts(path)
    assert [each["difference"] for each in told] == [None, None, None]


def test_a_difference_for_scripts(path: Path, run: Run) -> None:
    rewritten(path, 2, lambda entry: entry["whole"]["decided"].update(digest="?"))
    code, out, _ = run(path, "-o", "json")
    (told,) = json.loads(out)["journals"]
    assert code == ExitCode.FINDINGS
    assert told["difference"]["where"] == f"{path}:2"
    assert told["difference"]["what"] == ["the same acts and the same holds, but a hold says something else"]
    assert told["difference"]["recorded"] == told["difference"]["decided"]


def test_a_journal_in_several_files_is_replayed_as_one_and_from_any_of_them(tmp_path: Path, run: Run) -> None:
    path = tmp_path / "journal.jsonl"
    record.roll(record.a_plain_upgrade(), path, file_bytes_max=20_000)
    files = sorted(tmp_path.iterdir())
    assert len(files) > 2
    code, out, err = run(*files)
    assert (code, err) == (ExitCode.OK, "")
    assert out == f"{sum(counts(file)[0] for file in files)} passes, {counts_of(files)} decisions, no difference\n"
    code, out, err = run(path)
    assert code == ExitCode.OK
    assert err == f"seatrial: {path}: this is file {len(files)} of its journal; what came before it is not checked.\n"


def counts_of(files: list[Path]) -> int:
    return sum(counts(file)[1] for file in files)


def test_a_journal_without_passes_is_no_success(tmp_path: Path, run: Run) -> None:
    from seatrial.adapters.journal.jsonl import JsonlJournal

    path = tmp_path / "acts.jsonl"
    with JsonlJournal(path) as journal:
        journal.append(1.0, "act", {"id": "a"})
    said = f"seatrial: {path}:1: no pass is recorded from here on, so there is nothing to replay.\n"
    assert run(path) == (ExitCode.ERROR, "", said)
