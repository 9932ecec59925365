"""A program: every pattern that the package compiles at its top is run against long texts made for it to fail on.

It prints one line of JSON for each pattern that takes more than BUDGET_SECONDS of its own CPU time for one text. Its
tests are in test_patterns.py.
"""

from __future__ import annotations

import ast
import functools
import importlib
import json
import pkgutil
import random
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

SIZE: Final = 60_000
LONGEST: Final = {
    "cli/layout.py": 500,  # a line of our own help
    "core/compat/versions.py": 128,  # TEXT_LENGTH_MAX
    "core/model/troubles.py": 16_000,  # foreign.LINES_MAX
    "core/survey/audit/of_nodes.py": 64,  # the value of a label, or of an attribute of a device
}
"""Where texts are cut to this length before a pattern sees them, or are ours."""
BUDGET_SECONDS: Final = 0.5
"""A pattern without backtracking needs a few milliseconds for SIZE characters, one that is quadratic some seconds."""
TRIES: Final = 16
METHODS: Final = frozenset({"match", "fullmatch", "search", "sub", "subn", "finditer", "findall", "split"})
REPEATS: Final = (codes.MAX_REPEAT, codes.MIN_REPEAT)
SEEN: Final = {"DIGIT": "1", "SPACE": " ", "WORD": "a", "NOT_DIGIT": "a", "NOT_SPACE": "a", "NOT_WORD": " "}


class Slow(Exception):  # noqa: N818
    """The CPU time for one text is used up."""


def collected(package: str) -> list[tuple[str, re.Pattern[Any]]]:
    """The patterns that the modules of a package compile when they are imported, with the place of each."""
    compiled, found = re.compile, []

    def listening(pattern: Any, flags: Any = 0) -> re.Pattern[Any]:
        out, frame = compiled(pattern, flags), sys._getframe(1)
        if str(frame.f_globals.get("__name__")).startswith(f"{package}."):
            found.append((f"{frame.f_globals['__file__']}:{frame.f_lineno}", out))
        return out

    re.compile = listening
    try:
        home = importlib.import_module(package)
        for module in pkgutil.walk_packages(home.__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    finally:
        re.compile = compiled
    return found


def methods(place: str) -> Sequence[str]:
    """How a pattern is used in its module; where it has no name there, as any pattern of it is."""
    path, _, line = place.rpartition(":")
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    names = {
        ast.unparse(target)
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno <= int(line) <= (node.end_lineno or 0)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    }
    uses = [
        (ast.unparse(node.value), node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in METHODS
    ]
    used = {method for name, method in uses if name in names}
    if any(isinstance(node, ast.keyword) and node.value.lineno == int(line) for node in ast.walk(tree)):
        return ["fullmatch"]  # the form of a version
    # Texts can be split, too, and `re` is not a pattern.
    return sorted(used or {method for name, method in uses if name != "re" and method != "split"} or {"fullmatch"})


def texts(pattern: re.Pattern[Any], size: int) -> Iterator[str]:
    """Long texts: what may come before a repetition, the repeated part over and over, and an end that fits nothing."""
    dice = random.Random(7)  # noqa: S311  the same texts every time
    tree = list(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))
    pumps = {("", _sample(tree, dice)) for _ in range(TRIES)}
    for before, body in _repetitions(tree):
        # Some characters of a set may be borders of words, where a search begins anew.
        pumps |= {
            (_sample(before, dice), "".join(_sample(body, dice) for _ in range(dice.choice((1, 2, 3)))))
            for _ in range(TRIES)
        }
    for before, pump in sorted(pumps):
        if pump:
            for end in ("", "\0", "!"):
                yield before + pump * (size // len(pump)) + end


def _repetitions(tree: Sequence[Any], before: tuple[Any, ...] = ()) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
    for number, (code, about) in enumerate(tree):
        here = before + tuple(tree[:number])
        if code in REPEATS:
            if int(about[1]) > 50:
                yield here, about[2]
            yield from _repetitions(list(about[2]), here)
        elif code is codes.SUBPATTERN:
            yield from _repetitions(list(about[3]), here)
        elif code is codes.BRANCH:
            for each in about[1]:
                yield from _repetitions(list(each), here)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _repetitions(list(about[1]), here)


def _sample(tree: Sequence[Any], dice: random.Random) -> str:
    """A text that fits this part of a pattern."""
    return "".join(_one(code, about, dice) for code, about in tree)


def _one(code: Any, about: Any, dice: random.Random) -> str:
    if code is codes.LITERAL:
        return chr(about)
    if code is codes.IN:
        return _of_a_set(about, dice)
    if code in REPEATS:
        least, most, body = about
        return "".join(_sample(body, dice) for _ in range(dice.randint(least, max(least, min(int(most), least + 3)))))
    if code is codes.SUBPATTERN:
        return _sample(about[3], dice)
    if code is codes.BRANCH:
        return _sample(dice.choice(about[1]), dice)
    return "a" if code in (codes.ANY, codes.NOT_LITERAL) else ""


def _of_a_set(items: Sequence[Any], dice: random.Random) -> str:
    found: list[str] = []
    for code, about in items:
        if code is codes.LITERAL:
            found.append(chr(about))
        elif code is codes.RANGE:
            found += [chr(about[0]), chr(about[1])]
        elif code is codes.CATEGORY:
            found.append(SEEN[str(about).removeprefix("CATEGORY_")])
    if items[0][0] is codes.NEGATE:
        found = [each for each in "a1-. :/@A{" if each not in found]
    return dice.choice(found)


def slow_on(pattern: re.Pattern[Any], method: str, size: int) -> str | None:
    """The first text that a pattern takes too long for; None where there is none."""
    is_bytes = isinstance(pattern.pattern, bytes)
    nothing: Any = b"" if is_bytes else ""
    for text in texts(pattern, size):
        subject: Any = text.encode("latin-1", errors="replace") if is_bytes else text
        run = functools.partial(pattern.sub, nothing) if method in ("sub", "subn") else getattr(pattern, method)
        if not in_time(lambda: _used_up(run(subject))):  # noqa: B023  called at once
            return text
    return None


def _used_up(found: Any) -> None:
    if isinstance(found, Iterator):
        for _ in found:
            pass


def in_time(run: Callable[[], object]) -> bool:
    """Whether this ends before its CPU time is used up."""
    before = signal.signal(signal.SIGVTALRM, _give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, BUDGET_SECONDS)
    try:
        run()
    except Slow:
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
    return True


def _give_up(*_: object) -> None:
    raise Slow


def main() -> None:
    found = collected("seatrial")
    for place, pattern in found:
        size = next((longest for part, longest in LONGEST.items() if f"seatrial/{part}" in place), SIZE)
        for method in methods(place):
            text = slow_on(pattern, method, size)
            if text is not None:
                print(json.dumps({"place": place, "method": method, "text": text[:40] + "…" + text[-5:]}), flush=True)
    print(json.dumps({"patterns": len(found)}))


if __name__ == "__main__":
    main()
