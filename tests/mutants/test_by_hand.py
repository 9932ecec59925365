"""Mistakes written by hand: each is one edit of one file, and is put to the tests of that file first."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from bench.mutants import by_hand

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("mistake", by_hand.listed(), ids=lambda each: each.wrong)
def test_every_mistake_is_one_edit_after_which_the_file_can_still_be_read(mistake: by_hand.Mistake) -> None:
    text = (ROOT / mistake.file).read_text(encoding="utf-8")
    edited = mistake.mutant(text).applied(text)
    assert ast.dump(ast.parse(edited)) != ast.dump(ast.parse(text))
    assert len(mistake.wrong.split()) > 3


@pytest.mark.parametrize("text", ["a = 1\n", "b = 2\nb = 2\n"])
def test_a_mistake_whose_old_text_is_not_there_exactly_once_is_refused(text: str) -> None:
    mistake = by_hand.Mistake(file="src/a.py", before="b = 2", after="b = 3", wrong="b is another number")
    with pytest.raises(ValueError, match="write the entry again"):
        mistake.mutant(text)


def test_the_tests_that_a_file_names_are_asked_first_and_no_file_of_tests_twice() -> None:
    first, *others = by_hand.helpings("src/seatrial/core/text/names.py", ROOT)
    assert "tests/core/text/test_names.py" in first
    asked = [name for helping in others for name in helping]
    assert by_hand.CONTAINMENT in asked
    assert "tests/core/campaign/test_leaving.py" in others[-1], "at last all tests of its layer"
    assert len({*first, *asked}) == len([*first, *asked])


@pytest.mark.parametrize(
    ("line", "test"),
    [
        ("FAILED tests/a/test_b.py::test_c - assert 1 == 2", "tests/a/test_b.py::test_c"),
        ("FAILED tests/a/test_b.py::test_c[a word]", "tests/a/test_b.py::test_c"),
        ("ERROR tests/a/test_b.py - ImportError", "tests/a/test_b.py"),
    ],
)
def test_the_test_that_failed_is_read_from_the_summary(line: str, test: str) -> None:
    assert by_hand.first_in(f"F\n=== short test summary info ===\n{line}\n1 failed\n") == test
