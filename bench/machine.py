"""Where something was measured, where its result is kept, and how a failure is told; shared by the benchmarks."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seatrial_lab.testbed import errors

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    """The machine, how busy it is, and the code."""
    commit, changes = (
        _git("rev-parse", "--short", "HEAD"),
        _git("status", "--porcelain", "--", "src", "bench", ":!bench/results"),
    )
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "load_1min": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "commit": f"{commit} and changes" if changes else commit,
    }


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=False).stdout.strip()


def keep(name: str, result: dict[str, Any]) -> Path:
    """Write a result beside the others, with the time in its name."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}-{datetime.now(UTC):%Y-%m-%dT%H%M}.json"
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return path


def run(main: Callable[[], int]) -> int:
    """Run a benchmark; what the testbed cannot do is said in one line."""
    try:
        return main()
    except errors.TestbedFailure as err:
        print(f"bench: {err}", file=sys.stderr)
        return 1


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    named = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or "unknown")
