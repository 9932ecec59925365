"""Colour is asked for in one place, and NO_COLOR and FORCE_COLOR count for every command that colours."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final

import pytest

from seatrial.cli import main, terminal
from seatrial.cli.show import watch

CODE: Final = "\033["
SOURCES: Final = Path(main.__file__).parent


class Terminal(io.StringIO):
    """A stream to a person."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environ", "on_a_terminal", "elsewhere"),
    [
        ({}, True, False),
        ({"TERM": "dumb"}, False, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"FORCE_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_who_says_no_is_heard_before_who_says_yes_and_both_before_the_terminal(
    environ: dict[str, str], on_a_terminal: bool, elsewhere: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert terminal.has_colour(Terminal()) is on_a_terminal
    assert terminal.has_colour(io.StringIO()) is elsewhere
    assert watch.ink_of(Terminal()).has_colour is on_a_terminal


@pytest.mark.parametrize(
    "command",
    [
        ["check"],
        ["forecast", "--nodes", "4", "--samples", "2"],
        ["plan", "--from", "rollback", "--to", "current", "--impact"],
    ],
)
@pytest.mark.parametrize(
    ("environ", "is_coloured"),
    [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
)
def test_every_command_that_colours_keeps_to_it(
    command: list[str],
    environ: dict[str, str],
    is_coloured: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    main.main(["init"])
    main.main(["matrix", "set", "rollback", "cuda", "12.0"])
    capsys.readouterr()
    main.main(command)
    assert (CODE in capsys.readouterr().out) is is_coloured


def test_nobody_else_looks_for_colour() -> None:
    looking = re.compile(r"NO_COLOR|FORCE_COLOR|color_system")
    found = {path.name for path in SOURCES.rglob("*.py") if looking.search(path.read_text(encoding="utf-8"))}
    assert found == {"terminal.py"}
