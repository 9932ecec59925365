"""The Pythons that the test suite runs on: found by what they are, and named where they are missing."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from seatrial_lab.pythons import VERSIONS, Ran, code_of, found, is_python, told

ROOT = Path(__file__).parents[1]


def test_the_last_line_names_what_passed_what_failed_and_what_is_missing() -> None:
    ran = [Ran(version="3.11", code=0), Ran(version="3.12", code=1), Ran(version="3.13", code=0), Ran(version="3.14")]
    assert told(ran) == "passed on 3.11, 3.13; failed on 3.12; missing: 3.14"
    assert code_of(ran) == 1


def test_a_missing_python_is_no_failure_and_none_at_all_is() -> None:
    assert code_of([Ran(version="3.11", code=0), Ran(version="3.14")]) == 0
    assert code_of([Ran(version="3.14")]) == 1


def test_a_program_is_known_by_what_it_says_and_not_by_its_name(tmp_path: Path) -> None:
    """Where pyenv keeps them, python3.12 is there and only says that there is no such command."""
    here = "{}.{}".format(*sys.version_info)
    shim = tmp_path / f"python{here}"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o700)
    assert [is_python(each, here) for each in (shim, tmp_path / "nothing", Path(sys.executable))] == [
        False,
        False,
        True,
    ]
    assert not is_python(Path(sys.executable), "3.99")
    assert found(here, [shim, Path(sys.executable)], is_python) == Path(sys.executable)
    assert found("3.99", [shim, Path(sys.executable)], is_python) is None


def test_it_begins_with_the_oldest_python_that_we_take_and_names_each_we_say_we_run_on() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">={VERSIONS[0]}"
    words = "Programming Language :: Python :: 3."
    said = [each.rpartition(" ")[2] for each in project["classifiers"] if each.startswith(words)]
    assert said == list(VERSIONS[: len(said)]), "nobody says that it runs where it was not tried"
