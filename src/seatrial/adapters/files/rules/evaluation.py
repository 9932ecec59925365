"""One expression of a rule of the user's own: whether it is small enough, compiled, and evaluated for an entry.

It is evaluated in this process, where nothing can interrupt the library. So what could take long is refused before it
is compiled; what passes takes about a tenth of a second of CPU at most:

    BYTES_MAX     a short expression writes down short lists only, and adds few of them
    LOOPS         one of them, in LOOP_BYTES_MAX: a loop within a loop multiplies, and so does a long one
    map, filter   none: each step copies the list that the steps before have built
    matches       none: the pattern `\\w{999}` is short, and the library compiles it at every call, for 0.1 s
    TEXT_MAX      a matrix may hold long texts, and `+` makes them longer

These names are counted wherever they stand, also in a text or a comment: that needs no grammar which could differ from
the library's. The library has no other macro, and no function that repeats, splits or builds. Decision 0071.
Tests: tests/adapters/files/test_rule_limits.py, tests/adapters/files/test_cel_rules.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from seatrial.adapters.cel_library import library
from seatrial.core.compat.matrix import Component, Value, component_of
from seatrial.core.compat.versions import LinedVersion, Version
from seatrial.core.errors import SeatrialError

BYTES_MAX: Final = 1000
LOOP_BYTES_MAX: Final = 150
TEXT_MAX: Final = 256
LOOPS: Final = ("all", "exists", "exists_one", "existsOne")
INSTEAD: Final = {
    "map": "Ask with all, exists or exists_one.",
    "filter": "Ask with all, exists or exists_one.",
    "matches": "Compare versions with at_least, older, same or line, texts with startsWith, endsWith or contains.",
}
"""What is not evaluated, and what to write in its place."""
TROUBLE_MAX: Final = 200
_WORD: Final = re.compile(r"[A-Za-z0-9_]+")

Program = Any
"""What the library has compiled."""


class Unjudged(SeatrialError):  # noqa: N818  the message says why, and the caller of which rule
    """An expression that cannot be compiled, or says neither true nor false of an entry."""


def too_much(text: str) -> tuple[str, str] | None:
    """What about an expression could take too long, and what to write in its place; None where it is small enough."""
    words = _WORD.findall(text)
    size, loops = len(text.encode()), [word for word in words if word in LOOPS]
    if size > BYTES_MAX:
        return f"has {size:,} bytes, and at most {BYTES_MAX:,} are evaluated", "Write several rules."
    if len(loops) > 1:
        return f"has {len(loops)} loops ({', '.join(loops)}), and one is evaluated", "Write a rule for each loop."
    if loops and size > LOOP_BYTES_MAX:
        why = f"has {size:,} bytes, and with a loop ({loops[0]}) at most {LOOP_BYTES_MAX} are evaluated"
        return why, "Write several rules, or do without the loop."
    for word in words:
        if word in INSTEAD:
            return f"has {word}, which is not evaluated", INSTEAD[word]
    return None


def too_long(about: Mapping[str, Any]) -> str:
    """The first text of an entry that no expression is shown, and how long it is; empty where there is none."""
    for group, value in about.items():
        for name, text in value.items() if isinstance(value, Mapping) else ():
            if len(text) > TEXT_MAX:
                return f"{group}.{name} has {len(text):,} characters, and a rule is shown at most {TEXT_MAX}"
    return ""


def compiled(text: str) -> Program:
    """The expression, for `holds`."""
    try:
        return library().compile(text)
    except Exception as err:  # the library raises what it likes
        raise Unjudged(_one_line(err)) from err


def holds(program: Program, about: Mapping[str, Any]) -> bool:
    """Whether it is true of an entry."""
    try:
        answer = program.execute(_context(about))
    except Exception as err:  # the library raises what it likes; an error is never a pass
        raise Unjudged(_one_line(err)) from err
    if not isinstance(answer, bool):
        raise Unjudged(f"the expression gives {_shown(repr(answer))}, not true or false")
    return answer


def _one_line(err: Exception) -> str:
    said = f"there is no {err}" if isinstance(err, KeyError) else str(err) or type(err).__name__
    return _shown(" ".join(said.split()).rstrip("."))


def _shown(text: str) -> str:
    return text if len(text) <= TROUBLE_MAX else f"{text[:TROUBLE_MAX]}…"


def _context(about: Mapping[str, Any]) -> Any:
    stack: Mapping[str, str] = about["stack"]

    def own(name: str) -> Version:
        component = _component(name)
        text = stack.get(component.value)
        if text is None:
            raise LookupError(f"this entry names no {name}")
        return _version(component, text)

    def other(name: str, text: str) -> Version:
        return _version(_component(name), text)

    def line(name: str) -> str:
        version = own(name)
        if not isinstance(version, LinedVersion):
            raise TypeError(f"{name} has no release lines")
        return version.line

    functions = {
        "at_least": lambda name, text: own(name) >= other(name, text),
        "older": lambda name, text: own(name) < other(name, text),
        "same": lambda name, text: own(name) == other(name, text),
        "line": line,
    }
    return library().Context(variables=dict(about), functions=functions)


def _component(name: str) -> Component:
    found = component_of(name)
    if found is None:
        raise LookupError(f"there is no component {name!r}")
    return found


_read: Final = lru_cache(maxsize=1024)(Value.read)
"""A loop asks for the same version again and again."""


def _version(component: Component, text: str) -> Version:
    value = _read(component, text)
    if value.version is None:
        raise ValueError(value.problem)
    return value.version
