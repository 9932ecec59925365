"""How help is set: sentences wrapped to the terminal, columns kept.

Tests: tests/cli/test_help.py
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator
from typing import Any, Final

_GAP: Final = re.compile(r"(\s*\S.*?\s{2,})(\S.*)")
"""A line in two columns: what to type, and what that does."""
_ROOM_MIN: Final = 28
"""Where less is left behind a head, its text goes below it."""
_HEAD_MAX: Final = 24
"""How wide the column of the options is."""


class Help(argparse.RawDescriptionHelpFormatter):
    """A page of help."""

    def __init__(self, prog: str, **more: Any) -> None:
        super().__init__(prog, **{"max_help_position": _HEAD_MAX, **more})

    def _format_usage(self, usage: str | None, *more: Any) -> str:
        """As argparse has it; a usage that was written is wrapped, too."""
        text = super()._format_usage(usage, *more)
        if usage is None:
            return text
        return "\n".join(textwrap.wrap(text, self._width, subsequent_indent=" " * len("usage: "))) + "\n\n"

    def _format_action(self, action: argparse.Action) -> str:
        """Subcommands stand by themselves, without a line for all of them."""
        if not isinstance(action, argparse._SubParsersAction):
            return super()._format_action(action)
        return "".join(super(Help, self)._format_action(each) for each in action._get_subactions())

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """The names of an option, and its value once; choices of a subcommand have lines of their own."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = text.split("\n\n")
        return "\n\n".join("\n".join(_filled(each.split("\n"), width, indent)) for each in paragraphs)


def _filled(lines: list[str], width: int, indent: str) -> Iterator[str]:
    if lines[0].endswith(":") and all(line.startswith("  ") for line in lines[1:]):
        yield lines[0]
        yield from (part for line in lines[1:] for part in _in_columns(line, width))
        return
    if any(_GAP.fullmatch(line) for line in lines):
        yield from (part for line in lines for part in _in_columns(line, width))
        return
    text = " ".join(line.strip() for line in lines)
    yield from textwrap.wrap(text, width, initial_indent=indent, break_on_hyphens=False) or [""]


def _in_columns(line: str, width: int) -> Iterator[str]:
    """One line of a table: as it is, or with its text wrapped beside or below its head."""
    found = _GAP.fullmatch(line)
    if len(line) <= width:
        yield line
    elif found is None:
        yield from textwrap.wrap(line, width, subsequent_indent=" " * 6, break_on_hyphens=False)
    elif width - len(found[1]) >= _ROOM_MIN and not found[2].startswith("# "):
        yield from textwrap.wrap(found[2], width, initial_indent=found[1], subsequent_indent=" " * len(found[1]))
    else:
        yield from textwrap.wrap(found[1], width, subsequent_indent=" " * 6, break_on_hyphens=False)
        yield from textwrap.wrap(found[2], width, initial_indent=" " * 6, subsequent_indent=" " * 6)
