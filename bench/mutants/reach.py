"""Which test runs which lines, and how long it takes: measured in a room, and kept for as long as it is true.

What was measured of a file of tests counts until that file changes, or what it imports of other tests; all is measured
anew when the code changes. Only tests that pass where nothing was edited are asked about mutants.

Run as a program, in a room: python -m bench.mutants.reach RESULT FILE ... Tests: tests/mutants/test_reach.py
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import coverage
import pytest

SUITES: Final = ("adapters", "controller", "run", "app", "cli")
MARKS: Final = "not cluster and not own_plane and not gitops and not operator and not long"
EDITED: Final = ("src/seatrial/adapters", "src/seatrial/controller", "src/seatrial/run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """One test: how long it took, and the lines it ran, of each file as the bits of a number."""

    test: str
    seconds: float
    lines: dict[str, int]

    def runs(self, file: str, first: int, last: int) -> bool:
        """Whether it ran one of these lines of a file."""
        return bool(self.lines.get(file, 0) >> first & (1 << last - first + 1) - 1)


def digest(paths: Iterable[Path], root: Path) -> str:
    """What these files say, as one number."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:16]


def test_files(root: Path) -> tuple[Path, ...]:
    """The files of tests that may be asked."""
    return tuple(sorted(path for each in SUITES for path in (root / "tests" / each).rglob("test_*.py")))


def code_of(root: Path) -> str:
    """The code, as one number."""
    return digest((root / "src" / "seatrial").rglob("*.py"), root)


def rests_on(path: Path, root: Path) -> set[Path]:
    """A file of tests, and all that it imports of ours that is not the code."""
    found: set[Path] = set()
    due = {path, *(parent / "conftest.py" for parent in path.parents if parent.is_relative_to(root / "tests"))}
    while due:
        new = {each for each in due if each.is_file()} - found
        found |= new
        due = {root / f"{name.replace('.', '/')}.py" for each in new for name in _imported(each)}
    return found


@cache
def _imported_at(path: Path, _: int) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
    return frozenset(name for name in names if name.startswith("tests."))


def _imported(path: Path) -> frozenset[str]:
    return _imported_at(path, path.stat().st_mtime_ns)


class Kept:
    """What is known, in a file: per file of tests what it said when it was measured, and what was found."""

    def __init__(self, path: Path, root: Path) -> None:
        self._path = path
        told = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        self._code = code_of(root)
        self._files: dict[str, Any] = told.get("files", {}) if told.get("code") == self._code else {}
        self._now = {str(each.relative_to(root)): digest(rests_on(each, root), root) for each in test_files(root)}

    def missing(self) -> list[str]:
        """Files of tests that have to be measured, or to be measured again."""
        return [name for name, said in self._now.items() if self._files.get(name, {}).get("digest") != said]

    def take(self, files: Iterable[str], found: dict[str, Any]) -> None:
        """Keep what was measured of these files."""
        for name in files:
            mine = {test: told for test, told in found.items() if test.partition("::")[0] == name}
            self._files[name] = {"digest": self._now[name], "tests": mine}
        self._path.parent.mkdir(exist_ok=True)
        self._path.write_text(json.dumps({"code": self._code, "files": self._files}), encoding="utf-8")

    def reached(self) -> Iterator[Reached]:
        """Every test that passed."""
        for name in self._now:
            for test, told in self._files.get(name, {}).get("tests", {}).items():
                if told["passed"]:
                    lines = {file: int(bits, 16) for file, bits in told["lines"].items()}
                    yield Reached(test=test, seconds=told["seconds"], lines=lines)

    def broken(self) -> list[str]:
        """Tests that do not pass where nothing was edited."""
        return [
            test for each in self._files.values() for test, told in each["tests"].items() if told["passed"] is False
        ]


def read(path: Path) -> dict[str, Any]:
    """What was measured in a room."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


# ── in a room ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Measuring:
    """Notes of every test its lines, how long it took, and whether it passed; None for one that was left out."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured
        self.found: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._measured.switch_context(item.nodeid)
        self.found[item.nodeid] = {"passed": None, "seconds": 0.0, "lines": {}}
        try:
            return (yield)
        finally:
            self._measured.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told = self.found[report.nodeid]
        told["seconds"] = round(told["seconds"] + report.duration, 3)
        if report.failed:
            told["passed"] = False
        elif report.when == "call" and told["passed"] is None and report.passed:
            told["passed"] = True


def main(arguments: list[str]) -> None:
    """Measure some files of tests, and write what was found."""
    result, *files = arguments
    root = Path.cwd()
    measured = coverage.Coverage(data_file=None, config_file=False, include=[f"{root / each}/*" for each in EDITED])
    measuring = Measuring(measured)
    measured.start()
    pytest.main([*files, "-q", "--no-header", "-p", "no:cacheprovider", "-m", MARKS, "--tb=line"], plugins=[measuring])
    measured.stop()
    data = measured.get_data()
    for file in data.measured_files():
        name = str(Path(file).relative_to(root))
        for line, tests in data.contexts_by_lineno(file).items():
            for test in filter(None, tests):
                lines = measuring.found[test]["lines"]
                lines[name] = lines.get(name, 0) | 1 << line
    for told in measuring.found.values():
        told["lines"] = {name: f"{bits:x}" for name, bits in told["lines"].items()}
    Path(result).write_text(json.dumps(measuring.found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
