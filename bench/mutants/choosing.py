"""Whom to ask about a mutant: the tests that run its line, those of the file's own first, the quickest of them first.

What is run at import is run by every test of the file, or, where nothing of the file is called (tables, shapes), of
those files that import it; so is a function that only a table is made with. A program of ours runs in a process that
nobody measures: the tests that its folder names are asked. Law of this file: no test that runs the line is left out but
for want of time, and that is told. Tests: tests/mutants/test_choosing.py
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Final

from bench.mutants.edits import Mutant
from bench.mutants.reach import Reached

FIRST_SECONDS: Final = 3.0
"""So much is asked first: most mutants are caught by it, and nothing else has to be imported."""
FIRST_COUNT: Final = 30
ALL_SECONDS: Final = 30.0

_PROGRAM: Final = 'if __name__ == "__main__":'
_NAMED: Final = re.compile(r"\b(?:tests/[\w/]+/)?test_\w+\.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The tests to ask, in two helpings, and how many were left out for want of time."""

    first: tuple[Reached, ...] = ()
    others: tuple[Reached, ...] = ()
    left_out: int = 0


class Choice:
    """Knows all tests, and which file imports which."""

    def __init__(self, tests: Iterable[Reached], texts: Mapping[str, str]) -> None:
        self._tests = tuple(tests)
        self._texts = texts

    def of(self, mutant: Mutant) -> Chosen:
        """The tests to ask about a mutant; none where nobody runs it."""
        found = [each for each in self._tests if each.runs(mutant.file, *mutant.run_lines)]
        if not found and (mutant.is_at_import or mutant.within in _called_at_import(self._texts[mutant.file])):
            found = self._touching({mutant.file}) or self._touching(self._importers.get(mutant.file, set()))
        named = named_in(self._texts[mutant.file])
        if not found and _PROGRAM in self._texts[mutant.file]:
            beside = {
                name for file, text in self._texts.items() if _is_beside(file, mutant.file) for name in named_in(text)
            }
            found = [each for each in self._tests if PurePosixPath(each.test.partition("::")[0]).name in beside]
        found.sort(key=lambda each: (PurePosixPath(each.test.partition("::")[0]).name not in named, each.seconds))
        return _helped(found)

    def _touching(self, files: set[str]) -> list[Reached]:
        return [each for each in self._tests if not files.isdisjoint(each.lines)]

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        """By file: those that import it, also by way of others."""
        direct: dict[str, set[str]] = {}
        for file, text in self._texts.items():
            for name in _imported(text):
                direct.setdefault(name, set()).add(file)
        return {file: _all_above(file, direct) for file in self._texts}


def _all_above(file: str, direct: Mapping[str, set[str]]) -> set[str]:
    above: set[str] = set()
    due = set(direct.get(file, ()))
    while due:
        above |= due
        due = {upper for each in due for upper in direct.get(each, ())} - above
    return above


def _helped(found: list[Reached]) -> Chosen:
    first: list[Reached] = []
    others: list[Reached] = []
    seconds = 0.0
    for each in found:
        if seconds + each.seconds > ALL_SECONDS:
            continue  # a quick one behind it may still have its turn
        seconds += each.seconds
        is_first = seconds <= FIRST_SECONDS and len(first) < FIRST_COUNT and not others
        (first if is_first or not first else others).append(each)
    return Chosen(first=tuple(first), others=tuple(others), left_out=len(found) - len(first) - len(others))


def _is_beside(file: str, other: str) -> bool:
    return PurePosixPath(file).parent == PurePosixPath(other).parent


def named_in(text: str) -> set[str]:
    """The files of tests that a file names."""
    return {PurePosixPath(each).name for each in _NAMED.findall(text)}


@lru_cache(maxsize=16)
def _called_at_import(text: str) -> frozenset[str]:
    """The functions of a file that it calls itself when it is imported, also by way of others."""
    body = ast.parse(text).body
    functions = {each.name: each for each in body if isinstance(each, ast.FunctionDef)}
    found: set[str] = set()
    run = (each for each in body if not isinstance(each, ast.FunctionDef | ast.ClassDef | ast.If))
    due = {name for each in run for name in _called(each)}
    while new := (due & functions.keys()) - found:
        found |= new
        due = {name for each in new for name in _called(functions[each])}
    return frozenset(found)


def _called(node: ast.AST) -> set[str]:
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return {each.id for each in calls if isinstance(each, ast.Name)}


def _imported(text: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return {f"src/{name.replace('.', '/')}.py" for name in found if name.startswith("seatrial.")}
