"""Help as a stranger reads it: one page for every command, with examples that work; everything under --help-all."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from typing import Final

import pytest

from seatrial.cli import commands, main
from seatrial.cli.examples import EXAMPLES
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.parser import RARELY, Parser

LINES_MAX: Final = 50
WIDTH_MAX: Final = 80


def parsers() -> Iterator[tuple[str, Parser]]:
    """Every parser there is, by the words that lead to it."""
    yield "", commands.overview()
    for name in commands.COMMANDS:
        yield from _below(name, commands.parser_of(name))


def _below(name: str, parser: Parser) -> Iterator[tuple[str, Parser]]:
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, each in action.choices.items():
                yield from _below(f"{name} {word}", each)


PARSERS: Final = dict(parsers())
every = pytest.mark.parametrize("name", PARSERS)


@pytest.fixture(autouse=True)
def _a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH_MAX))


@every
def test_help_is_one_page(name: str) -> None:
    parser = PARSERS[name]
    lines = parser.format_help().splitlines()
    assert len(lines) <= LINES_MAX
    assert max(map(len, lines)) <= WIDTH_MAX
    assert max(map(len, parser.format_whole_help().splitlines())) <= WIDTH_MAX


@every
def test_help_has_an_example_of_its_own_command(name: str) -> None:
    _, _, examples = PARSERS[name].format_help().partition("\nexamples:\n")
    assert any(line.startswith(f"  seatrial {name}".rstrip()) for line in examples.splitlines())
    assert all(line.startswith(("  seatrial ", "      # ")) for line in examples.splitlines()), "none is cut in two"


@pytest.mark.parametrize("line", [line for examples in EXAMPLES.values() for line, _ in examples])
def test_an_example_is_a_command_line_that_is_taken(line: str) -> None:
    words = shlex.split(re.split(r" [|>] ", line)[0])
    assert words[0] == "seatrial"
    commands.parser_of(words[1]).parse_args(words[2:])  # SystemExit where it is not


def test_there_are_examples_of_what_there_is_and_of_nothing_else() -> None:
    assert set(EXAMPLES) == set(PARSERS)


@every
def test_all_of_it_has_every_option_and_what_the_page_has(name: str) -> None:
    parser = PARSERS[name]
    whole = parser.format_whole_help()
    options = {option for action in parser._actions for option in action.option_strings}
    assert options <= set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", whole))
    assert set(parser.format_help().split()) <= set(whole.split())
    assert name == "" or "\nexit codes:\n  0    success\n" in whole


@every
def test_what_is_rarely_needed_is_only_in_all_of_it(name: str) -> None:
    parser = PARSERS[name]
    rare = [group for group in parser._action_groups if (group.title or "").startswith(RARELY)]
    hidden = [action.option_strings[-1] for group in rare for action in group._group_actions]
    page, whole = parser.format_help(), parser.format_whole_help()
    assert all(not re.search(rf"^  (-\w, )?{option}\b(?!-)", page, re.MULTILINE) for option in hidden)
    assert all(re.search(rf"^  (-\w, )?{option}\b(?!-)", whole, re.MULTILINE) for option in hidden)
    assert "exit codes:" not in page


def test_options_of_experts_are_in_all_of_it_alone(capsys: pytest.CaptureFixture[str]) -> None:
    for asked, is_there in (("--help", False), ("-h", False), ("--help-all", True)):
        with pytest.raises(SystemExit) as ended:
            main.main(["controller", asked])
        assert ended.value.code == ExitCode.OK
        assert ("--lease-seconds" in capsys.readouterr().out) is is_there


@every
def test_no_text_shows_how_it_was_written(name: str) -> None:
    parser = PARSERS[name]
    for text in (parser.format_help(), parser.format_whole_help()):
        assert "%%" not in text
        assert "%(" not in text
        assert "In detail:" not in text
        assert "Tests:" not in text


@pytest.mark.parametrize("words", [["check", "--outp", "json"], ["rollout", "start", "--dry"], ["audit", "--help-a"]])
def test_an_option_that_is_only_begun_is_not_taken(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(words)
    assert ended.value.code == ExitCode.USAGE
    assert "did you mean --" in capsys.readouterr().err
