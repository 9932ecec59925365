"""What came of the mutants: noted one by one as it comes, so that a run that was broken off goes on, and counted.

A verdict counts while the code is the same, and one that nobody caught it only while the tests are the same, too: who
has written a test for a survivor asks about survivors alone. Tests: tests/mutants/test_counting.py
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from bench.mutants.edits import Mutant

ASKED_SHARE: Final = 0.9


class Verdict(StrEnum):
    """How it went with a mutant."""

    CAUGHT = "caught"
    HUNG = "hung"
    """Caught, too: the tests did not come to an end."""
    SURVIVED = "survived"
    UNREACHED = "unreached"
    """Survived, too: no test runs the line."""
    EQUIVALENT = "equivalent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One verdict."""

    mutant: str
    verdict: Verdict
    by: str = ""
    """The test that caught it, or why it counts as equivalent."""
    asked: int = 0
    left_out: int = 0
    seconds: float = 0.0


class Notes:
    """Verdicts in a file, each on a line of its own, with what the code and the tests were."""

    def __init__(self, path: Path, *, code: str, tests: str) -> None:
        self._path, self._code, self._tests = path, code, tests
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        told = [json.loads(line) for line in lines if line.endswith("}")]
        self._known = {note.mutant: note for row in told if (note := self._still(row)) is not None}

    def of(self, mutant: Mutant) -> Note | None:
        """What is known of a mutant."""
        return self._known.get(mutant.name)

    def take(self, note: Note) -> None:
        """Keep a verdict."""
        self._known[note.mutant] = note
        self._path.parent.mkdir(exist_ok=True)
        row = {"code": self._code, "tests": self._tests, **asdict(note)}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def _still(self, row: dict[str, Any]) -> Note | None:
        code, tests = row.pop("code"), row.pop("tests")
        note = Note(**{**row, "verdict": Verdict(row["verdict"])})
        is_caught = note.verdict in (Verdict.CAUGHT, Verdict.HUNG)
        return note if code == self._code and (is_caught or tests == self._tests) else None


def share_of(notes: Iterable[Note]) -> float:
    """How many of a hundred, of those that can be told from the code, were caught; as a fraction."""
    counted = Counter(note.verdict for note in notes if note.verdict is not Verdict.EQUIVALENT)
    caught = counted[Verdict.CAUGHT] + counted[Verdict.HUNG]
    return caught / counted.total() if counted.total() else 1.0


def result_of(notes: Iterable[Note]) -> dict[str, Any]:
    """What is kept of a run: the figures, and every one that was not caught."""
    known = list(notes)
    by = {verdict: [note for note in known if note.verdict is verdict] for verdict in Verdict}
    by_file = Counter(note.mutant.partition(":")[0] for note in known)
    return {
        "mutants": len(known),
        "files": len(by_file),
        "verdicts": {verdict.value: len(some) for verdict, some in by.items()},
        "caught_share": round(share_of(known), 4),
        "test_seconds": round(sum(note.seconds for note in known)),
        "survived": [_told(note) for note in by[Verdict.SURVIVED]],
        "unreached": [note.mutant for note in by[Verdict.UNREACHED]],
        "hung": [note.mutant for note in by[Verdict.HUNG]],
        "equivalent": {note.mutant: note.by for note in by[Verdict.EQUIVALENT]},
    }


def _told(note: Note) -> str:
    some = f", {note.left_out} more would take too long" if note.left_out else ""
    return f"{note.mutant} ({note.asked} asked{some})"
