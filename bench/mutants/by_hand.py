"""Mutants written by hand (by_hand.toml): mistakes that people make, in any file of the code, and whether a test fails.

Each is put to the tests that its file names, then to those of containment, then to the files of tests that import it
or rest on one of these, and at last to all tests of its layer; all without a cluster, and without those that search for
a minute. A test counts as one that notices where it passes without the mistake, and one that does not end in time
notices nothing. Every run is a process of its own, since these mistakes are in `core` too.
Tests: tests/mutants/test_by_hand.py
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.mutants.choosing import named_in
from bench.mutants.counting import Note, Notes, Verdict, result_of
from bench.mutants.edits import Mutant
from bench.mutants.reach import MARKS, rests_on
from bench.mutants.rooms import Room

LISTED: Final = Path(__file__).parent / "by_hand.toml"
CONTAINMENT: Final = "tests/test_containment.py"
QUICK: Final = f"{MARKS} and not slow"
LIMIT_SECONDS: Final = 120.0
FILE_SECONDS: Final = 4.0
"""How long the tests of some files may take together: so long, and so much more for each file."""
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+?(?:::\w+|\.py))(?=[\s\[]|$)", re.MULTILINE)
_NONE_CHOSEN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One entry."""

    file: str
    before: str
    after: str
    wrong: str
    """What goes wrong, in one sentence."""
    equivalent: str = ""
    """Why nothing goes wrong after all, where that has turned out."""
    also: str = ""
    """A file of tests that notices it, and that nothing in the file leads to."""

    def mutant(self, text: str) -> Mutant:
        """The edit of a file with this text; ValueError where the old text is not there exactly once."""
        if (count := text.count(self.before)) != 1:
            raise ValueError(f"{self.file} has {self.before!r} {count} times; write the entry again")
        start = text.index(self.before)
        line = text.count("\n", 0, start) + 1
        return Mutant(
            file=self.file,
            within="",
            edit="by hand",
            line=line,
            run_lines=(line, line),
            is_at_import=False,
            at=len(text[:start].encode()),
            before=self.before,
            after=self.after,
        )


def listed(path: Path = LISTED) -> tuple[Mistake, ...]:
    """All entries."""
    return tuple(Mistake(**each) for each in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"])


def played(room: Room, root: Path, file: str, known: Notes) -> dict[str, Any]:
    """Try every mistake in the files whose path has `file` in it; what is kept of that."""
    chosen = [each for each in listed() if file in each.file]
    mutants = [each.mutant((root / each.file).read_text(encoding="utf-8")) for each in chosen]  # before the first runs
    notes = []
    for mistake, mutant in zip(chosen, mutants, strict=True):
        note = known.of(mutant)
        if mistake.equivalent:
            note = Note(mutant=mutant.name, verdict=Verdict.EQUIVALENT, by=mistake.equivalent)
        elif note is None:
            note = _tried(room, mutant, helpings(mistake.file, root, mistake.also))
            known.take(note)
        notes.append(note)
        print(f"{note.verdict}: {mistake.wrong} {note.by}", flush=True)
    told = [
        {"wrong": mistake.wrong, "verdict": note.verdict.value, "by": note.by}
        for mistake, note in zip(chosen, notes, strict=True)
    ]
    return {**result_of(notes), "by_hand": told}


def helpings(file: str, root: Path, also: str = "") -> Iterator[list[str]]:
    """The files of tests to ask about a file of the code, in turn, each once."""
    every = {str(path.relative_to(root)): path for path in sorted((root / "tests").rglob("test_*.py"))}
    named = named_in((root / file).read_text(encoding="utf-8"))
    first = [name for name, path in every.items() if path.name in named or name == also]
    module = file.removeprefix("src/").removesuffix(".py").replace("/", ".")
    package, _, last = module.rpartition(".")
    imports = re.compile(rf"from {re.escape(module)} import|from {re.escape(package)} import .*\b{last}\b")
    direct = {path for path in every.values() if imports.search(path.read_text(encoding="utf-8"))}
    direct |= {path for path in every.values() if path.name in named}
    importing = [name for name, path in every.items() if not direct.isdisjoint(rests_on(path, root))]
    layer = [name for name in every if name.startswith(f"tests/{module.split('.')[1]}/")]
    asked: set[str] = set()
    for helping in (first, [CONTAINMENT], importing, layer):
        yield [name for name in helping if name not in asked]
        asked.update(helping)


def _tried(room: Room, mutant: Mutant, files: Iterator[list[str]]) -> Note:
    for helping in filter(None, files):
        passed_over: list[str] = []
        while failed := _failing(room, helping, passed_over, mutant):
            if not _failing(room, [failed], [], None):
                return Note(mutant=mutant.name, verdict=Verdict.CAUGHT, by=failed)
            passed_over.append(failed)  # it fails here whatever the code says
    return Note(mutant=mutant.name, verdict=Verdict.SURVIVED)


def _failing(room: Room, tests: Sequence[str], passed_over: Sequence[str], mutant: Mutant | None) -> str:
    """The first test that fails; empty where none does, or where they do not end in time."""
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-n", "0", "-m", QUICK, "--tb=no", "-rfE"]
    command = [str(room.python), "-m", "pytest", *options, *(f"--deselect={each}" for each in passed_over), *tests]
    seconds = LIMIT_SECONDS + FILE_SECONDS * len(tests)
    with suppress(subprocess.TimeoutExpired):
        if mutant is None:
            return _first(_run(command, room, seconds))
        with room.holding(mutant):
            return _first(_run(command, room, seconds))
    return ""


def _run(command: list[str], room: Room, seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=room.work,
        env=room.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )


def _first(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode in (0, _NONE_CHOSEN):
        return ""
    if not (found := first_in(done.stdout)):
        raise RuntimeError(f"the tests could not be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return found


def first_in(said: str) -> str:
    """The first test, or file of tests, that a run's summary names as failed; empty where it names none."""
    found = _FAILED.search(said)
    return found[1] if found is not None else ""
