"""How people call this program: `seatrial`, or `kubectl seatrial` where kubectl runs it.

Every text names commands as `seatrial …`, whoever wrote it: core, a rule, the controller into a status. They are turned
here, at the last moment before a person reads them. What is data stays as it is: a document is the same whoever asks.
Tests: tests/cli/test_program.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, Final, TextIO, cast

SEATRIAL: Final = "seatrial"
PLUGIN: Final = "kubectl seatrial"

# A command in backticks, and one at the head of a line of help that says behind a gap what it does.
_NAMED: Final = re.compile(r"(?m)`seatrial(?= )|^[ \t]*seatrial(?= [a-z].*\S {2,}\S)")
_SPEAKING: Final = re.compile(r"(?m)^seatrial(?=: )")
"""Who says it, at the head of an error or a remark; only there, since a line of YAML may begin so."""


def said(text: str, called: str) -> str:
    """A text whose commands are called as the program is."""
    return text if called == SEATRIAL else _NAMED.sub(lambda found: found[0].replace(SEATRIAL, called), text)


class _Turned:
    """A stream to a person who calls the program otherwise."""

    def __init__(self, beneath: TextIO, called: str, *, has_prefix: bool) -> None:
        self.beneath, self.called, self.has_prefix = beneath, called, has_prefix

    def write(self, text: str) -> int:
        return self.beneath.write(said(_SPEAKING.sub(self.called, text) if self.has_prefix else text, self.called))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


@contextmanager
def speaking(called: str) -> Iterator[None]:
    """Turn what is printed meanwhile."""
    if called == SEATRIAL:
        yield
        return
    out, err = _Turned(sys.stdout, called, has_prefix=False), _Turned(sys.stderr, called, has_prefix=True)
    with redirect_stdout(cast("TextIO", out)), redirect_stderr(cast("TextIO", err)):
        yield


def room(stream: TextIO, width: int) -> int:
    """How long a line may be that is to fit after one command in it was turned."""
    return width - len(stream.called) + len(SEATRIAL) if isinstance(stream, _Turned) else width


def print_data(text: str, *, end: str = "\n", is_last: bool = False) -> None:
    """Print what scripts read: never turned; at once, where it is the last for a while."""
    stream = sys.stdout
    print(text, end=end, file=stream.beneath if isinstance(stream, _Turned) else stream, flush=is_last)
