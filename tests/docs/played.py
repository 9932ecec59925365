"""A page of the documentation whose commands are run, and whose answers are those of a run.

    ```console
    $ seatrial why gpu-004          the command; lines that follow are what it said
    Node      gpu-004
    …                               stands for lines that are left out
    ```

The page is the only place where its commands stand. A run compares what is shown with what was said, but for what is
never the same twice (times, spans, hashes, names that a cluster makes up); with SEATRIAL_WRITE_PAGES=1 it writes the
page anew instead. Tests: tests/docs/test_played.py
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Final

FENCE, PROMPT, GAP = "```", "$ ", "…"
WRITES: Final = "SEATRIAL_WRITE_PAGES"
NEVER_TWICE: Final = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( UTC)?"), "TIME"),
    (
        re.compile(r"\b\d+ d( \d+ h)?\b|\b\d+ h( \d+ min)?\b|\b\d+ min( \d+ s)?\b|\b\d+ s\b|\b\d+m\d+s\b|\b\d+[smh]\b"),
        "SPAN",
    ),
    (re.compile(r"\b[0-9a-f]{7,40}\b"), "HASH"),
    (re.compile(r"(?<=-)[a-z0-9]{8,10}-[a-z0-9]{5}\b|(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}\b"), "POD"),
    (re.compile(r"\b[\w.]+-\d+-[0-9a-f]{8}\b"), "HOLDER"),
    (re.compile(r"\b\d+\.\d+ GPU-hours?"), "COST"),
    (re.compile(r"(?<=@)\d+\b"), "REVISION"),
    (re.compile(r"\bround \d+\b"), "ROUND"),
    (re.compile(r"[█▒░]+"), "BAR"),
    (re.compile(r", looks again or gives up within SPAN"), ""),  # between two tries there is nothing to wait for
    (re.compile(r"/tmp/\S+?(?=[\s)]|$)"), "FOLDER"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command of a page, and what it shows as the answer."""

    line: int
    """Which line of the page it is."""
    text: str
    shown: tuple[str, ...]


def commands_of(page: str) -> Iterator[Command]:
    """The commands of a page, in order; those that go over several lines are one."""
    lines = page.splitlines()
    is_inside, at = False, 0
    while at < len(lines):
        if lines[at].startswith(FENCE):
            is_inside = not is_inside and lines[at] == f"{FENCE}console"
        elif is_inside and lines[at].startswith(PROMPT):
            first, last = at, at + _length(lines[at:])
            end = next(
                (number for number in range(last, len(lines)) if lines[number].startswith((FENCE, PROMPT))), len(lines)
            )
            text = "\n".join([lines[first].removeprefix(PROMPT), *lines[first + 1 : last]])
            yield Command(line=first, text=text, shown=tuple(lines[last:end]))
            at = end
            continue
        at += 1


def _length(lines: list[str]) -> int:
    """How many lines a command takes: a here-document goes to its end, and a backslash to the next line."""
    mark = re.search(r"<<'?(\w+)'?", lines[0])
    if mark:
        return 1 + next(number for number, line in enumerate(lines[1:], 1) if line == mark[1])
    return 1 + next(number for number, line in enumerate(lines) if not line.endswith("\\"))


def masked(text: str) -> str:
    """What is left of an answer when everything is taken out that is never the same twice, and how it is laid out."""
    for found, word in NEVER_TWICE:
        text = found.sub(word, text)
    return " ".join(text.split())


def is_said(shown: tuple[str, ...], said: str) -> bool:
    """Whether an answer is what the page shows of it; a gap of the page may stand for anything."""
    parts = [masked("\n".join(group)) for is_gap, group in groupby(shown, GAP.__eq__) if not is_gap]
    gap = re.escape(GAP)
    pattern = ".*".join(re.sub(gap, ".*", re.escape(part)) for part in parts)
    begin, end = (".*" if shown[:1] == (GAP,) else ""), (".*" if shown[-1:] == (GAP,) else "")
    return re.fullmatch(f"{begin}{pattern}{end}", masked(said)) is not None


def play(path: Path, run: Callable[[Command], str]) -> None:
    """Run the commands of a page in order and compare, or write the page anew where that is asked for."""
    page = path.read_text(encoding="utf-8")
    answers = [(command, run(command).rstrip()) for command in commands_of(page)]
    if os.environ.get(WRITES):
        path.write_text(_with(page, answers), encoding="utf-8")
        return
    wrong = [
        f"{path.name}:{command.line + 1}: $ {command.text}\n--- shown\n{chr(10).join(command.shown)}\n--- said\n{said}"
        for command, said in answers
        if not is_said(command.shown, said)
    ]
    assert not wrong, "\n\n".join([*wrong, f"{WRITES}=1 writes the page anew; look at what changed."])


def _with(page: str, answers: list[tuple[Command, str]]) -> str:
    """The page with these answers; one that is right stays as it is, and one with gaps is a person's to change."""
    lines = page.splitlines()
    for command, said in reversed(answers):
        if is_said(command.shown, said) or GAP in command.shown:
            continue
        begin = command.line + command.text.count("\n") + 1
        lines[begin : begin + len(command.shown)] = said.splitlines()
    return "\n".join(lines) + "\n"
