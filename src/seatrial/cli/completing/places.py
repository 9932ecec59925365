"""Where in a command line somebody is: which parser, which argument comes next, and what was said before.

Law of this file: it walks as argparse parses, but never fails; a line that is not finished is seldom right.
Tests: tests/cli/test_completion.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field

from seatrial.cli.completing.values import Candidate, line_of

MANY = (argparse.ONE_OR_MORE, argparse.ZERO_OR_MORE, argparse.REMAINDER)


@dataclass(slots=True, kw_only=True)
class Place:
    """The place of the last word."""

    parser: argparse.ArgumentParser
    current: str
    action: argparse.Action | None = None
    """The argument that it belongs to; None where only an option can come."""
    is_value: bool = False
    """Whether it is the value of an option, so that nothing else can come."""
    used: set[str] = field(default_factory=set)
    """Options that were given, and cannot be given again."""
    said: dict[str, str] = field(default_factory=dict)
    """The values given before, by their names in the parser."""


def options_of(parser: argparse.ArgumentParser, used: set[str] | None = None) -> list[Candidate]:
    """The options of a parser by their long names, without those that were given."""
    return [
        Candidate(action.option_strings[-1], line_of(action.help))
        for action in parser._actions
        if action.option_strings and action.help != argparse.SUPPRESS and action.dest not in (used or ())
    ]


def find(parser: argparse.ArgumentParser, done: Sequence[str], current: str) -> Place:
    """Walk along the words before the last one."""
    walk = _Walk(parser)
    for word in done:
        walk.take(word)
    return walk.end(current)


class _Walk:
    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.place = Place(parser=parser, current="")
        self._option: argparse.Action | None = None
        self._are_options_over = False
        self._enter(parser)

    def _enter(self, parser: argparse.ArgumentParser) -> None:
        self.place.parser = parser
        self.place.used = set()
        self._positionals = [action for action in parser._actions if not action.option_strings]
        self._taken = 0

    def take(self, word: str) -> None:
        if self._is_option(word):
            self._take_option(word)
        elif self._option is not None:
            self.place.said[self._option.dest] = word
            if self._option.nargs not in MANY:
                self._option = None
        elif self._positionals:
            self._take_positional(self._positionals[0], word)

    def _is_option(self, word: str) -> bool:
        if self._are_options_over or len(word) < 2 or not word.startswith("-"):
            return False
        return self._option is None or self._option.nargs in (*MANY, argparse.OPTIONAL)

    def _take_option(self, word: str) -> None:
        self._option = None
        if word == "--":
            self._are_options_over = True
            return
        name, has_value, value = word.partition("=")
        action = _action_of(self.place.parser, name)
        if action is None and not word.startswith("--"):
            action, has_value, value = _action_of(self.place.parser, word[:2]), word[2:], word[2:]
        if action is None:
            return
        if not isinstance(action, argparse._AppendAction):
            self.place.used.add(action.dest)
        if has_value:
            self.place.said[action.dest] = value
        elif action.nargs != 0:
            self._option = action

    def _take_positional(self, action: argparse.Action, word: str) -> None:
        if isinstance(action, argparse._SubParsersAction):
            self._positionals = []
            if word in action.choices:
                self._enter(action.choices[word])
            return
        self.place.said[action.dest] = word
        self._taken += 1
        if action.nargs not in MANY and self._taken >= (action.nargs if isinstance(action.nargs, int) else 1):
            self._positionals, self._taken = self._positionals[1:], 0

    def end(self, current: str) -> Place:
        place = self.place
        place.current = current
        place.action = self._option or (self._positionals[0] if self._positionals else None)
        place.is_value = self._option is not None and self._option.nargs is None
        if not self._is_option(current):
            return place
        name, has_value, value = current.partition("=")
        option = _action_of(place.parser, name) if has_value else None
        place.action, place.is_value = option, option is not None
        place.current = value if option is not None else current
        return place


def _action_of(parser: argparse.ArgumentParser, name: str) -> argparse.Action | None:
    """The option of that name, or the only one that begins so: the line is not finished, and may be put right yet."""
    known = parser._option_string_actions
    if name in known:
        return known[name]
    alike = {id(action): action for each, action in known.items() if name[:2] == "--" and each.startswith(name)}
    return next(iter(alike.values())) if len(alike) == 1 else None
