"""The test suite on every Python that we say we run on, without a control plane.

    make test-pythons [PYTHONS="3.12 3.13"] [TESTS=tests/adapters]

Each has an environment of its own in .pythons/, as uv.lock says, made once. A Python that is not on this machine is
asked of uv; one that cannot be had either is named in the last line, and is no failure: nothing is said about it.

Tests: tests/test_pythons.py
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
UV: Final = str(Path(sys.executable).parent / "uv")
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")
"""From the oldest that pyproject.toml takes to the newest that there is."""
LOOK_SECONDS: Final = 30.0
FETCH_SECONDS: Final = 300.0
CHOSEN: Final = "not cluster and not slow and not long"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How the tests ended on one Python; no code where it could not be had."""

    version: str
    code: int | None = None

    @property
    def is_missing(self) -> bool:
        return self.code is None


def told(ran: Sequence[Ran]) -> str:
    """The last line: where they passed, where they failed, and which Python is missing."""
    parts = [
        ("passed on", [each.version for each in ran if each.code == 0]),
        ("failed on", [each.version for each in ran if each.code]),
        ("missing:", [each.version for each in ran if each.is_missing]),
    ]
    return "; ".join(f"{what} {', '.join(versions)}" for what, versions in parts if versions)


def code_of(ran: Sequence[Ran]) -> int:
    """0 where they passed wherever they ran, and ran somewhere."""
    return 0 if any(each.code == 0 for each in ran) and not any(each.code for each in ran) else 1


def found(version: str, places: Sequence[Path], is_python: Callable[[Path, str], bool]) -> Path | None:
    """The first of these programs that is this Python: a name proves nothing."""
    return next((place for place in places if is_python(place, version)), None)


def is_python(program: Path, version: str) -> bool:
    """Whether a program is this Python, and can make environments."""
    asked = [str(program), "-c", "import sys, venv; print('.'.join(map(str, sys.version_info[:2])))"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=LOOK_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.strip() == version


def places(version: str) -> Iterator[Path]:
    """Where a Python may be on this machine."""
    named = shutil.which(f"python{version}")
    yield from [Path(named)] if named else []
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(kept.glob(f"{version}.*/bin/python{version}"), reverse=True)
    yield from _asked("find", "--no-python-downloads", version, seconds=LOOK_SECONDS)


def _asked(*words: str, seconds: float) -> list[Path]:
    try:
        done = subprocess.run(
            [UV, "python", *words], capture_output=True, text=True, timeout=seconds, check=False, cwd=ROOT
        )
    except subprocess.TimeoutExpired:
        return []
    return [Path(done.stdout.strip())] if done.returncode == 0 and done.stdout.strip() else []


def had(version: str) -> Path | None:
    """This Python, from this machine or by uv; None where neither has it."""
    here = found(version, tuple(places(version)), is_python)
    if here is not None:
        return here
    _asked("install", "--quiet", version, seconds=FETCH_SECONDS)
    return found(version, _asked("find", "--no-python-downloads", version, seconds=LOOK_SECONDS), is_python)


def run(version: str, tests: Sequence[str]) -> Ran:
    """Run the tests on one Python."""
    python = had(version)
    if python is None:
        return Ran(version=version)
    home = ROOT / ".pythons" / version
    print(f"Python {version}: {python}", flush=True)
    environment = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(home), "UV_PYTHON": str(python)}
    environment.pop("VIRTUAL_ENV", None)
    made = subprocess.run(
        [UV, "sync", "--quiet", "--frozen", "--inexact", "--extra", "testbed"], cwd=ROOT, env=environment, check=False
    )
    if made.returncode:
        return Ran(version=version, code=made.returncode)
    asked = ["-m", "pytest", *tests, "-m", CHOSEN, "-q", "-n", "auto", "-p", "no:cacheprovider"]
    return Ran(
        version=version, code=subprocess.run([str(home / "bin/python"), *asked], cwd=ROOT, check=False).returncode
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pythons", default="", metavar="VERSIONS", help="only these, separated by spaces")
    parser.add_argument("tests", nargs="*", metavar="PATH", help="only these tests (all)")
    asked = parser.parse_args()
    ran = [run(version, asked.tests or ["tests"]) for version in asked.pythons.split() or VERSIONS]
    print(told(ran))
    return code_of(ran)


if __name__ == "__main__":
    sys.exit(main())
