"""The tutorial is what a run of it prints: its commands, in its order, in a shell, on a testbed of their own.

`SEATRIAL_WRITE_PAGES=1 pytest tests/docs/test_tutorial.py` puts what this run printed into the page where it differs.
"""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial_lab.testbed.building import toolchain
from tests.core.knowledge import ROOT
from tests.docs import console
from tests.testbed.caches import cache_in

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

PAGE = ROOT / "docs" / "tutorial" / "first-upgrade.md"
COMMAND_SECONDS = 120.0
BROKEN_CODES = (1, 2, 126, 127)
"""Of a command that did not do what it is there for, whatever it printed."""


def environment() -> dict[str, str]:
    """What a person's shell has: our programs, Go's modules where they are, a name to commit by."""
    asked = [str(toolchain.find_go()), "env", "GOMODCACHE"]
    modules = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    you = {"NAME": "You", "EMAIL": "you@example.org"}
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "GOMODCACHE": modules,
        **{f"GIT_{who}_{what}": told for who in ("AUTHOR", "COMMITTER") for what, told in you.items()},
    }


def test_the_tutorial_shows_what_a_run_of_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, home = PAGE.read_text(encoding="utf-8"), tmp_path / "home"
    is_written = bool(os.environ.get(console.VARIABLE))
    differs: dict[int, str] = {}
    given = environment()
    with (
        cache_in(home / ".cache", monkeypatch, has_operator=True),
        console.Shell(tmp_path, home=home, environment=given, told_home="/home/you") as shell,
    ):
        for number, entry in enumerate(console.entries_of(text)):
            code, printed = shell.run(entry.command, timeout_seconds=COMMAND_SECONDS)
            print(f"$ {entry.command}\n{printed}", end="")
            if not console.is_as_shown(entry.shown, printed):
                differs[number] = printed
                shown, fresh = console.masked(entry.shown).split("\n"), console.masked(printed).split("\n")
                told = "\n".join(difflib.unified_diff(shown, fresh, "the page", "this run", lineterm=""))
                assert is_written, f"$ {entry.command}\n{told}"
            assert code not in BROKEN_CODES, f"$ {entry.command}\n{printed}(exit code {code})"
    if differs:
        PAGE.write_text(console.rewritten(text, differs), encoding="utf-8")
