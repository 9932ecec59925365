"""The words of a commit or a tag, and whose it is. Two lines at the end say so; everything we did is found by them.

    Promote driver 580.65.06 to production          subject, at most 72 characters

    48 h on 2 canary nodes, every gate passed.      body, wrapped at 72

    Seatrial-Rollout: driver-580                    trailers
    Seatrial-Step: promote

They are looked for anywhere in a message, not only at its end: a squash merge puts other lines below them.

Tests: tests/adapters/git/test_messages.py
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from seatrial.adapters.git.errors import SetupInvalid
from seatrial.core.text import foreign

WIDTH: Final = 72
ROLLOUT: Final = "Seatrial-Rollout"
STEP: Final = "Seatrial-Step"

_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_OURS: Final = re.compile(rf"\s*({ROLLOUT}|{STEP})\s*:", re.IGNORECASE)
_AS_IT_IS: Final = re.compile(r"(    |\t|\||```)")
_ITEM: Final = re.compile(r"([-*]|\d+\.) ")


def check_name(what: str, name: str) -> None:
    """Refuse a name of a rollout or a step that could not stand on one line, or not in the name of a branch."""
    if not _NAME.fullmatch(name) or ".." in name or name.endswith(".lock"):
        raise SetupInvalid(f"{name!r} is not a name for a {what}: letters, digits, `-`, `_` and `.` only.")


def check_step(rollout: str, step: str) -> None:
    """Refuse the names of a step of a rollout where one of them is none."""
    check_name("rollout", rollout)
    check_name("step", step)


def trailers(rollout: str, step: str = "") -> tuple[str, ...]:
    """The lines that say whose a commit or a tag is."""
    lines = (f"{ROLLOUT}: {rollout}",)
    return (*lines, f"{STEP}: {step}") if step else lines


def compose(subject: str, body: str, last: Sequence[str], *, first: str = "") -> str:
    """A whole message: subject, `first` as it is, wrapped body, trailers."""
    # Git refuses a message with a NUL, and a step that cannot be committed would be tried for ever.
    whole, body = " ".join(foreign.line(subject).split()), foreign.lines(body)
    if not whole:
        raise SetupInvalid("A commit needs a subject: say in a few words what changes.")
    short = shortened(whole)
    parts = [short]
    if short != whole:
        parts.append(wrapped(whole))
    if first:
        parts.append(first)
    if body.strip():
        parts.append(wrapped(body))
    return "\n\n".join([*parts, "\n".join(last)]) + "\n"


def shortened(subject: str, width: int = WIDTH) -> str:
    """A subject that fits, cut behind a word."""
    if len(subject) <= width:
        return subject
    cut = subject[: width - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space else cut).rstrip(" ,;:") + "…"


def wrapped(body: str) -> str:
    """Paragraphs wrapped at 72; lists keep their items, and what is indented or a table stays as it is."""
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n\s*\n", body.strip("\n").replace("\r", "")))


def _paragraph(text: str) -> str:
    flowing: list[str] = []
    lines: list[str] = []

    def pour() -> None:
        if flowing:
            indent = " " * len(found[0]) if (found := _ITEM.match(flowing[0])) else ""
            lines.extend(_fill(" ".join(flowing), indent))
            flowing.clear()

    for line in text.split("\n"):
        if _AS_IT_IS.match(line):
            pour()
            lines.append(line.rstrip())
            continue
        if _ITEM.match(line):
            pour()
        flowing.append(line.strip())
    pour()
    # A quoted line of ours must not be read as ours.
    return "\n".join(f"> {line}" if _OURS.match(line) else line for line in lines)


def _fill(text: str, indent: str) -> list[str]:
    # Addresses and digests are never broken: a person copies them.
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def marks(message: str) -> Iterator[tuple[str, str]]:
    """Every rollout and step that a message names as its own; the step of a tag is empty."""
    rollout, is_told = "", True
    for line in message.splitlines():
        name, colon, value = line.partition(":")
        if colon and name == ROLLOUT:
            if not is_told:
                yield rollout, ""
            rollout, is_told = value.strip(), False
        elif colon and name == STEP and rollout:
            yield rollout, value.strip()
            is_told = True
    if not is_told:
        yield rollout, ""


def revert_subject(subjects: Sequence[str]) -> str:
    """What `git revert` would say of the newest commit, and how many more there are."""
    more = f" and {len(subjects) - 1} more" if len(subjects) > 1 else ""
    return f'Revert "{shortened(subjects[0], WIDTH - len(more) - 9)}"{more}'


def reverted_lines(commits: Sequence[str]) -> str:
    """The sentences by which tools find out what a revert undoes."""
    return "\n".join(f"This reverts commit {commit}." for commit in commits)
