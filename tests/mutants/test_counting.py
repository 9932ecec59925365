"""Verdicts: they are kept while they are true, and what is left to be caught is counted without what cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.mutants.counting import Note, Notes, Verdict, result_of, share_of
from bench.mutants.edits import Mutant, mutants_of

MUTANT: Mutant = mutants_of("src/a.py", "x = a == b\n")[0]


def a_note(verdict: Verdict, mutant: str = MUTANT.name, *, asked: int = 0, left_out: int = 0) -> Note:
    return Note(mutant=mutant, verdict=verdict, asked=asked, left_out=left_out)


@pytest.mark.parametrize(
    ("verdict", "code", "tests", "is_kept"),
    [
        (Verdict.CAUGHT, "1", "1", True),
        (Verdict.CAUGHT, "1", "2", True),
        (Verdict.HUNG, "1", "2", True),
        (Verdict.CAUGHT, "2", "1", False),
        (Verdict.SURVIVED, "1", "1", True),
        (Verdict.SURVIVED, "1", "2", False),
        (Verdict.UNREACHED, "1", "2", False),
    ],
)
def test_a_verdict_counts_while_the_code_is_the_same_and_a_survivor_while_the_tests_are_too(
    tmp_path: Path, verdict: Verdict, code: str, tests: str, is_kept: bool
) -> None:
    path = tmp_path / "kept" / "verdicts.jsonl"
    Notes(path, code="1", tests="1").take(a_note(verdict))
    assert (Notes(path, code=code, tests=tests).of(MUTANT) is not None) is is_kept


def test_a_line_that_was_cut_by_a_kill_is_one_verdict_less(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.jsonl"
    Notes(path, code="1", tests="1").take(a_note(Verdict.CAUGHT))
    with path.open("a") as file:
        file.write('{"code": "1", "tests": "1", "mut')
    assert Notes(path, code="1", tests="1").of(MUTANT) == a_note(Verdict.CAUGHT)


def test_what_hangs_is_caught_what_nobody_runs_is_not_and_equivalents_do_not_count() -> None:
    verdicts = [Verdict.CAUGHT] * 6 + [Verdict.HUNG] + [Verdict.SURVIVED] * 2 + [Verdict.UNREACHED]
    notes = [a_note(each, f"src/{number}.py:1 x") for number, each in enumerate([*verdicts, Verdict.EQUIVALENT])]
    assert share_of(notes) == 0.7
    result = result_of(notes)
    assert (result["mutants"], result["files"], result["caught_share"]) == (11, 11, 0.7)
    assert result["unreached"] == ["src/9.py:1 x"]


def test_a_survivor_says_how_many_were_asked_and_how_many_were_not() -> None:
    assert result_of([a_note(Verdict.SURVIVED, "m", asked=9, left_out=2)])["survived"] == [
        "m (9 asked, 2 more would take too long)"
    ]
