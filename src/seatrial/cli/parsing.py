"""The parser of every command: errors that say what to do next, and help that fits the terminal.

Tests: tests/cli/test_main.py
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final, NoReturn

from seatrial.cli import program
from seatrial.cli.exit_codes import ExitCode

_GAP: Final = re.compile(r"(\s*\S.*?\s{2,})(\S.*)")
"""A line in two columns: what to type, and what that does."""
_ROOM_MIN: Final = 28
"""Where less is left behind a head, its text goes below it."""


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors say what to do next."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{"formatter_class": Help, **more})  # argparse makes those of subcommands by itself

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        end = "" if message.endswith("?") else "."
        self.exit(ExitCode.USAGE, f"seatrial: {message}{end} See `{self.prog} --help`.\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        # As argparse has it, but in words that are the same with every Python, and with what may have been meant.
        if action.choices is not None and value not in action.choices:
            choices = list(map(str, action.choices))
            text = f"there is no {value!r} here, but {', '.join(choices)}{alike(str(value), choices)}"
            raise argparse.ArgumentError(action, text)


def alike(word: str, among: Iterable[str]) -> str:
    """What may have been meant by a word that is not there; empty where nothing comes near."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(among), n=1)
    return f"; did you mean {near[0]}?" if near else ""


class Help(argparse.RawDescriptionHelpFormatter):
    """Sentences are wrapped to the terminal; lines in columns keep their columns; commands are named as we are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = self._said(text).split("\n\n")
        return "\n\n".join("\n".join(_filled(each.split("\n"), width, indent)) for each in paragraphs)

    def _expand_help(self, action: argparse.Action) -> str:
        return self._said(super()._expand_help(action))

    def _said(self, text: str) -> str:
        return program.said(text, program.PLUGIN if self._prog.startswith(program.PLUGIN) else program.SEATRIAL)


def _filled(lines: list[str], width: int, indent: str) -> Iterator[str]:
    import textwrap

    if not any(_GAP.fullmatch(line) for line in lines):
        yield from textwrap.wrap(" ".join(line.strip() for line in lines), width, initial_indent=indent) or [""]
        return
    for line in lines:
        found = _GAP.fullmatch(line)
        if found is None or len(line) <= width:
            yield line
        elif width - len(found[1]) >= _ROOM_MIN:
            yield from textwrap.wrap(found[2], width, initial_indent=found[1], subsequent_indent=" " * len(found[1]))
        else:
            yield found[1].rstrip()
            yield from textwrap.wrap(found[2], width, initial_indent=" " * 8, subsequent_indent=" " * 8)
