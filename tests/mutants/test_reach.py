"""What was measured of tests: kept per file of tests, and forgotten when that file, or what all rest on, changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench.mutants.reach import Kept, Reached

ONE, TWO = "tests/run/test_one.py", "tests/run/test_two.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout of four files."""
    for name in ("src/seatrial/run/loop.py", "tests/builders.py", ONE, TWO):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"# {name}\n")
    return tmp_path


def kept(root: Path) -> Kept:
    return Kept(root / ".mutants" / "reach.json", root)


def told(*, passed: bool | None = True) -> dict[str, Any]:
    return {"passed": passed, "seconds": 0.5, "lines": {"src/seatrial/run/loop.py": f"{1 << 7 | 1 << 9:x}"}}


def test_what_was_measured_is_known_until_its_file_changes_or_what_it_imports(root: Path) -> None:
    assert kept(root).missing() == [ONE, TWO]
    kept(root).take([ONE, TWO], {f"{ONE}::test_a": told(), f"{TWO}::test_b": told()})
    assert kept(root).missing() == []
    assert [each.test for each in kept(root).reached()] == [f"{ONE}::test_a", f"{TWO}::test_b"]
    (root / ONE).write_text("from tests import builders\n")
    assert kept(root).missing() == [ONE]
    kept(root).take([ONE], {})
    (root / "tests/builders.py").write_text("# changed\n")
    assert kept(root).missing() == [ONE]
    (root / "tests/run/conftest.py").write_text("# all of them have it\n")
    assert kept(root).missing() == [ONE, TWO]


def test_all_of_it_is_measured_anew_when_the_code_changes(root: Path) -> None:
    kept(root).take([ONE, TWO], {})
    (root / "src/seatrial/run/loop.py").write_text("# changed\n")
    assert kept(root).missing() == [ONE, TWO]


def test_who_fails_or_is_left_out_as_it_is_is_not_asked_and_the_first_is_told(root: Path) -> None:
    found = {f"{ONE}::a": told(passed=False), f"{ONE}::b": told(passed=None), f"{ONE}::c": told()}
    known = kept(root)
    known.take([ONE], found)
    assert [each.test for each in known.reached()] == [f"{ONE}::c"]
    assert known.broken() == [f"{ONE}::a"]


def test_a_test_runs_the_lines_it_ran() -> None:
    reached = Reached(test="a", seconds=0.1, lines={"f.py": 1 << 7 | 1 << 9})
    assert [reached.runs("f.py", line, line) for line in (6, 7, 8, 9, 10)] == [False, True, False, True, False]
    assert reached.runs("f.py", 8, 12)
    assert not reached.runs("f.py", 10, 12)
    assert not reached.runs("g.py", 7, 7)
