"""The commands of README run as they are printed, each block in a folder of its own.

`SEATRIAL_WRITE_PAGES=1 pytest tests/docs/test_readme.py` puts what this run printed into README where it differs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.compat.knowledge import ROOT
from tests.docs import console
from tests.testbed.caches import cache_in, go_modules

PAGE = ROOT / "README.md"


def test_the_commands_about_a_matrix_run_as_printed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with console.Shell(tmp_path, home=home, environment=console.environment(), told_home="/home/you") as shell:
        console.run_page(PAGE, shell, "## Half a minute with a matrix")


@pytest.mark.cluster
@pytest.mark.own_plane
def test_the_commands_about_a_canary_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, given = tmp_path / "home", console.environment() | go_modules()
    with (
        cache_in(home / ".cache", monkeypatch, has_operator=True),
        console.Shell(tmp_path, home=home, environment=given, told_home="/home/you") as shell,
    ):
        console.run_page(PAGE, shell, "## A rollout with a canary")
