"""The hidden call that shells and kubectl make: words in, candidates and a directive out.

    seatrial __complete rollout st
    start<Tab>start a rollout: canary first, then waves
    status<Tab>show where it stands, as a tree
    :4

The form is that of cobra, which kubectl speaks, so one call serves everybody. Nothing is ever said on stderr, and
whatever goes wrong is no candidate: nobody reads an error in the middle of a line. Tests: tests/cli/test_completion.py
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from seatrial.cli import commands
from seatrial.cli.completing import places, values
from seatrial.cli.completing.values import Candidate, Directive
from seatrial.core.errors import SeatrialError


def run(words: Sequence[str]) -> int:
    """Print how the last word can go on."""
    try:
        found, directive = answer(words or [""], os.environ)
    except (SeatrialError, OSError, ValueError, SystemExit):
        found, directive = [], Directive.NO_FILES
    for each in found:
        print(f"{each.word}\t{each.text}" if each.text else each.word)
    print(f":{int(directive)}")
    return 0


def answer(words: Sequence[str], environ: Mapping[str, str]) -> tuple[list[Candidate], Directive]:
    """What the last word can become, and what the shell is to do besides."""
    *done, current = words
    if not done:
        every = [Candidate(name, each.text) for name, each in commands.COMMANDS.items() if commands.is_here(each)]
        return _fitting([*every, *places.options_of(commands.overview())], current), Directive.NO_FILES
    if done[0] not in commands.COMMANDS or not commands.is_here(commands.COMMANDS[done[0]]):
        return [], Directive.NO_FILES
    place = places.find(commands.parser_of(done[0]), done[1:], current)
    if place.action is not None:
        found, directive = values.of(place.action, place.said, environ)
        fitting = _fitting(found, place.current)
        if fitting or directive is not Directive.NO_FILES or place.is_value:
            return fitting, directive
    return _fitting(places.options_of(place.parser, place.used), place.current), Directive.NO_FILES


def _fitting(found: Sequence[Candidate], current: str) -> list[Candidate]:
    # An option is offered to who has begun one, or where there is nothing else to say.
    is_option = current.startswith("-")
    words = [each for each in found if each.word.startswith("-") is is_option]
    return [each for each in words or found if each.word.startswith(current)]
