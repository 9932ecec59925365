"""Whom to ask about a mutant: who runs its line, the file's own tests first, the quickest of them first."""

from __future__ import annotations

from bench.mutants.choosing import ALL_SECONDS, FIRST_COUNT, Choice, Chosen
from bench.mutants.edits import Mutant, mutants_of
from bench.mutants.reach import Reached

FILE, TABLE = "src/seatrial/adapters/lamp.py", "src/seatrial/adapters/table.py"
TEXTS = {
    FILE: '"""Tests: tests/adapters/test_lamp.py"""\nfrom seatrial.adapters import table\ndef f(a):\n    return a\n',
    TABLE: "ROWS = 3\n",
}


def reached(test: str, seconds: float, *lines: int, file: str = FILE) -> Reached:
    return Reached(test=test, seconds=seconds, lines={file: sum(1 << line for line in lines)})


def a_mutant(file: str = FILE) -> Mutant:
    return mutants_of(file, TEXTS[file])[0]


def asked(chosen: Chosen) -> list[str]:
    return [each.test for each in (*chosen.first, *chosen.others)]


def test_who_runs_the_line_is_asked_and_the_files_own_tests_come_first() -> None:
    tests = [
        reached("tests/cli/test_all.py::quick", 0.1, 4),
        reached("tests/adapters/test_lamp.py::slow", 0.9, 4),
        reached("tests/adapters/test_lamp.py::quick", 0.2, 3, 4),
        reached("tests/adapters/test_lamp.py::elsewhere", 0.1, 3, 5),
    ]
    assert asked(Choice(tests, TEXTS).of(a_mutant())) == [
        "tests/adapters/test_lamp.py::quick",
        "tests/adapters/test_lamp.py::slow",
        "tests/cli/test_all.py::quick",
    ]


def test_where_nobody_runs_the_line_nobody_is_asked() -> None:
    assert Choice([reached("tests/a.py::a", 0.1, 3)], TEXTS).of(a_mutant()) == Chosen()


def test_about_a_program_the_tests_are_asked_that_it_names() -> None:
    """It runs in a process of its own, where nobody sees which lines."""
    text = f'{TEXTS[FILE]}\n\nif __name__ == "__main__":\n    f(1)\n'
    own, other = reached("tests/adapters/test_lamp.py::a", 0.1, 3), reached("tests/a.py::a", 0.1, 3)
    assert asked(Choice([own, other], {FILE: text}).of(a_mutant())) == ["tests/adapters/test_lamp.py::a"]


def test_about_what_is_run_at_import_those_are_asked_who_run_the_file_or_else_its_importers() -> None:
    above = reached("tests/adapters/test_lamp.py::a", 0.1, 4)
    assert asked(Choice([above], TEXTS).of(a_mutant(TABLE))) == ["tests/adapters/test_lamp.py::a"]
    own = reached("tests/adapters/test_table.py::a", 0.1, 9, file=TABLE)
    assert asked(Choice([above, own], TEXTS).of(a_mutant(TABLE))) == ["tests/adapters/test_table.py::a"]


def test_a_function_that_a_table_is_made_with_is_run_at_import_and_one_that_waits_to_be_called_is_not() -> None:
    text = "def row(a):\n    return cell(a)\ndef cell(a):\n    return a\ndef later(a):\n    return a\nROWS = [row(1)]\n"
    own = reached("tests/adapters/test_table.py::a", 0.1, 9, file=TABLE)
    mutants = {each.within: each for each in mutants_of(TABLE, text) if each.edit == "return"}
    found = {name: asked(Choice([own], {TABLE: text}).of(each)) for name, each in mutants.items()}
    assert found == {
        "row": ["tests/adapters/test_table.py::a"],
        "cell": ["tests/adapters/test_table.py::a"],
        "later": [],
    }


def test_the_first_helping_is_small_and_the_slowest_test_is_asked_where_it_is_the_only_one() -> None:
    many = [reached(f"tests/adapters/test_lamp.py::{number}", 0.01, 4) for number in range(100)]
    chosen = Choice(many, TEXTS).of(a_mutant())
    assert (len(chosen.first), len(chosen.others), chosen.left_out) == (FIRST_COUNT, 100 - FIRST_COUNT, 0)
    alone = Choice([reached("tests/a.py::a", 20.0, 4)], TEXTS).of(a_mutant())
    assert (len(alone.first), alone.others) == (1, ())


def test_who_is_left_out_for_want_of_time_is_counted() -> None:
    slow = [reached(f"tests/a.py::{number}", ALL_SECONDS / 2, 4) for number in range(5)]
    chosen = Choice(slow, TEXTS).of(a_mutant())
    assert (len(asked(chosen)), chosen.left_out) == (2, 3)


def test_slow_tests_of_the_files_own_do_not_keep_quick_ones_of_others_from_being_asked() -> None:
    own = [reached(f"tests/adapters/test_lamp.py::{number}", ALL_SECONDS * 0.4, 4) for number in range(5)]
    chosen = Choice([*own, reached("tests/a.py::quick", 0.1, 4)], TEXTS).of(a_mutant())
    assert asked(chosen)[-1] == "tests/a.py::quick"
    assert (len(asked(chosen)), chosen.left_out) == (3, 3)
