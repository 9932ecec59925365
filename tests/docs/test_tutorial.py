"""The tutorial is what a run of it prints: its commands, in its order, in a shell, on a testbed of their own.

`SEATRIAL_WRITE_PAGES=1 pytest tests/docs/test_tutorial.py` puts what this run printed into the page where it differs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.compat.knowledge import ROOT
from tests.docs import console
from tests.testbed.caches import cache_in, go_modules

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

PAGE = ROOT / "docs" / "tutorial" / "first-upgrade.md"


def test_the_tutorial_shows_what_a_run_of_it_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, given = tmp_path / "home", console.environment() | go_modules()
    with (
        cache_in(home / ".cache", monkeypatch, has_operator=True),
        console.Shell(tmp_path, home=home, environment=given, told_home="/home/you") as shell,
    ):
        console.run_page(PAGE, shell)
