"""Patterns over text of others take their time, and no more: none of them backtracks."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Final

from seatrial.adapters.git.credentials import Cleaner
from seatrial.core.model.seen import jobs
from tests.properties import pumped

ROOT: Final = Path(__file__).resolve().parents[2]
CPU_SECONDS: Final = 240
"""More than all patterns need together; a pattern that never looks up from its work ends the program here."""


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def test_no_pattern_of_the_package_backtracks_over_a_long_text() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", pumped.__name__],
        cwd=ROOT,
        preexec_fn=_limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2_000:]
    *slow, told = map(json.loads, ran.stdout.splitlines())
    assert slow == []
    assert told["patterns"] > 150


def test_the_texts_find_a_pattern_that_backtracks() -> None:
    for written in (r"(?:-(?:\d+|[2-9a-f]{8,}))+$", r"\b[a-z][a-z0-9+.-]*://", r"(\d+\.?\d*)s", r"(?:a|aa)+$"):
        assert pumped.slow_on(re.compile(written), "search", pumped.SIZE) is not None


def test_a_pod_that_is_named_to_freeze_us_has_the_stem_of_any_other() -> None:
    name = "a" + "-22222222" * 27 + ".x"
    assert jobs.stem(name) == name
    assert jobs.stem("a" + "-22222222" * 27) == "a"


def test_a_long_error_of_a_servers_hook_is_cleaned_all_the_same() -> None:
    told = "a." * 30_000 + " https://ci:secret@git.example/x"
    assert Cleaner().clean(told).endswith(" https://git.example/x")
