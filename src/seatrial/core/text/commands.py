"""Commands in a sentence, between backticks: a value in a command stays one word of it, no matter what it contains.

Law of this file: a name may come from anywhere, and people paste the commands that we print. Tests:
tests/core/text/test_commands.py, which also holds every sentence of the program to it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from shlex import quote
from string import Formatter
from typing import Final

WORDS: Final = frozenset({"names", "whom"})
"""Gaps that are filled with several words, each quoted by those who name them."""


def filled(text: str, gaps: Mapping[str, str]) -> str:
    """The text with its gaps filled; in a command each is one word, and one between two backticks is all of it."""
    return "".join(_parts(text, gaps))


def _parts(text: str, gaps: Mapping[str, str]) -> Iterator[str]:
    parsed, is_command = list(Formatter().parse(text)), False
    for at, (said, name, spec, _) in enumerate(parsed):
        yield said
        is_command ^= said.count("`") % 2 == 1
        if name is None:
            continue
        after = parsed[at + 1][0] if at + 1 < len(parsed) else ""
        is_whole = said.endswith("`") and after.startswith("`")
        value = format(gaps[name], spec or "")
        yield quote(value) if is_command and not is_whole and name not in WORDS else value
