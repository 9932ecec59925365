"""What is edited, and what is left alone: each edit makes the text it says, and none touches what people read."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
from bench.mutants.edits import is_another, mutants_of


def edits(text: str) -> set[tuple[str, str, str]]:
    """What is made of a text: which edit, of what, and what of it."""
    clean = dedent(text).strip() + "\n"
    found = [each for each in mutants_of("f.py", clean) if is_another(each, clean)]
    for each in found:
        ast.parse(each.applied(clean))
    return {(each.edit, " ".join(each.before.split()), each.after) for each in found}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = a == b", {("comparison", "==", "!=")}),
        ("x = a is not b", {("comparison", "is not", "is")}),
        ("x = a not in b", {("comparison", "not in", "in")}),
        ("x = a < b <= c", {("boundary", "<", "<="), ("boundary", "<=", "<")}),
        ("x = a and b", {("and-or", "and", "or")}),
        ("x = not a", {("not", "not a", "(a)")}),
        ("x = a * b", {("arithmetic", "*", "/")}),
        ("x = a[:b]", {("bound", "b", "(b) + 1")}),
        ("x = 3", {("number", "3", "4"), ("number", "3", "2")}),
        ("x = 0", {("number", "0", "1"), ("number", "0", "(-1)")}),
        ("x = True", {("truth", "True", "False")}),
        ("f(a, b=c)", {("statement", "f(a, b=c)", "pass"), ("argument", "b=c", "")}),
        ('x = {"a": b, "c": d}', {("entry", '"a": b,', ""), ("entry", '"c": d', "")}),
        ('x = {"a": b, **c}', {("entry", '"a": b,', "")}),
        ("f(*a, b=c, **d)", {("statement", "f(*a, b=c, **d)", "pass"), ("argument", "b=c,", "")}),
        ("self.x = a", {("statement", "self.x = a", "pass")}),
        ("x += a", {("statement", "x += a", "pass"), ("arithmetic", "+=", "-=")}),
    ],
)
def test_each_edit_changes_one_thing(text: str, found: set[tuple[str, str, str]]) -> None:
    assert edits(text) == found


def test_what_a_function_does_is_edited() -> None:
    assert edits(
        """
        async def f(a):
            if a:
                await g(a)
            try:
                return h(a)
            except (OSError, ValueError):
                raise
        """
    ) == {
        ("condition", "a", "(not (a))"),
        ("statement", "await g(a)", "pass"),
        ("return", "return h(a)", "return None"),
        ("handler", "OSError", "()"),
        ("handler", "ValueError", "()"),
        ("statement", "raise", "pass"),
    }


def test_a_condition_of_several_parts_is_turned_round_part_by_part() -> None:
    found = edits("while a and (b or c == d):\n    pass")
    assert {each for each in found if each[0] == "condition"} == {
        ("condition", "a", "(not (a))"),
        ("condition", "b", "(not (b))"),
    }
    assert ("comparison", "==", "!=") in found


@pytest.mark.parametrize(
    "text",
    [
        '"""A text about 3 == 4."""',
        'x = "a text"',
        'x = f"{a + 1} of {b == c}"',
        'x = "a" + b',
        "log.say('began', count=3)",
        "self._log.info('ended', is_over=True)",
        "assert a == 1",
        "assert_never(a)",
        "X: TypeAlias = A | B",
        "def f(a: int | None) -> dict[str, int]: ...",
        "WAIT_SECONDS: Final = 30.0",
        "PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.5, 1.0",
        "READ_BYTES_MAX: Final = 32 * 1024",
        "NAME_MAX: Final = 63",
        "def f(*, wait_seconds: float = 30.0): ...",
        "@dataclass(frozen=True, slots=True)\nclass A:\n    a: int",
        "class A(Model, frozen=True):\n    a: str",
        "if TYPE_CHECKING:\n    f(a, b=1)",
        "__all__ = ['a']",
        'x = {"description": a}',
        'ADVICE = {"quoted scalar": "Close the quote."}',
        "def f(a):\n    return ()",
    ],
)
def test_what_nobody_should_be_asked_to_test_is_left_alone(text: str) -> None:
    assert edits(text) == set()


def test_what_only_names_or_spells_something_is_left_alone() -> None:
    found = edits("x = open(a, encoding=b, mode=c)")
    assert found == {("argument", "mode=c", "")}


def test_a_small_count_is_what_it_is() -> None:
    assert edits("ROLLOUTS_MAX: Final = 5") == {("number", "5", "6"), ("number", "5", "4")}


def test_a_union_of_classes_is_no_arithmetic_and_one_of_sets_is() -> None:
    assert edits("def f(a, b):\n    if isinstance(a, A | B):\n        pass") == {
        ("condition", "isinstance(a, A | B)", "(not (isinstance(a, A | B)))")
    }
    assert ("arithmetic", "|", "&") in edits("def f(a, b):\n    c(a | b)")


def test_a_mutant_says_where_it_is_and_what_is_run_with_it() -> None:
    text = dedent(
        """
        LIMIT = 3
        class A:
            def f(self, a):
                if g(
                    a,
                    b=4,
                ):
                    self.x = 5
        """
    ).lstrip()
    by = {each.before: each for each in mutants_of("f.py", text) if each.edit in ("number", "argument")}
    assert (by["3"].within, by["3"].run_lines, by["3"].is_at_import) == ("", (1, 1), True)
    assert (by["b=4,"].within, by["b=4,"].run_lines, by["b=4,"].is_at_import) == ("A.f", (4, 7), False)
    assert (by["5"].line, by["5"].run_lines) == (8, (8, 8))


def test_letters_of_any_alphabet_stand_before_an_edit() -> None:
    text = 'x = {"größe": "▶", "b": a == c}\n'
    mutated = {each.applied(text) for each in mutants_of("f.py", text) if each.edit == "comparison"}
    assert mutated == {'x = {"größe": "▶", "b": a != c}\n'}


def test_the_log_itself_has_no_mutants() -> None:
    assert mutants_of("src/seatrial/controller/log.py", "x = 3\n") == ()
