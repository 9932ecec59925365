"""Measure the CPU of `seatrial check`, start-up included, and keep the result in bench/results.

Each run is a process of its own, measured by the kernel (user and system time of the child); the first runs fill the
bytecode cache and do not count.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from bench.machine import keep, machine

ROOT = Path(__file__).parents[1]
MATRIX = ROOT / "tests" / "data" / "matrix-with-errors-configmap.yaml"
RUNS, WARM_UP_RUNS = 15, 2
LIMIT_MS = {"check": 400.0, "--version": 150.0}
COMMANDS = {
    "check": ["check", str(MATRIX), "--on", "2026-03-01"],
    "check with CEL rules": ["check", str(MATRIX), "--on", "2026-03-01", "--rules", "RULES"],
    "--version": ["--version"],
}
RULES = "rules:\n- id: a\n  expression: has(stack.gpu_driver)\n  message: Name the driver.\n"


def main() -> int:
    """Measure, print, keep; exit 1 where a limit is broken."""
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.yaml"
        rules.write_text(RULES)
        # The cache is part of an installation; where it is switched off, each run would compile everything anew.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        measured = {
            name: _measure([text if text != "RULES" else str(rules) for text in arguments], environment)
            for name, arguments in COMMANDS.items()
        }
    for name, figures in measured.items():
        limit = f"(limit {LIMIT_MS[name]:.0f})" if name in LIMIT_MS else ""
        print(f"{name:22} median {figures['median']:6.1f} ms CPU, worst {figures['max']:6.1f} {limit}")
    _keep(measured)
    return int(any(measured[name]["median"] > limit for name, limit in LIMIT_MS.items()))


def _measure(arguments: list[str], environment: dict[str, str]) -> dict[str, float]:
    times = [_cpu_ms(arguments, environment) for _ in range(WARM_UP_RUNS + RUNS)][WARM_UP_RUNS:]
    return {"median": round(statistics.median(times), 1), "min": round(min(times), 1), "max": round(max(times), 1)}


def _cpu_ms(arguments: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "seatrial", *arguments], capture_output=True, check=False, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1000


def _keep(measured: dict[str, dict[str, float]]) -> None:
    result = {
        "what": "CPU milliseconds of a command, start-up included",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "runs": RUNS,
        "cpu_ms": measured,
    }
    keep("check", result)


if __name__ == "__main__":
    sys.exit(main())
