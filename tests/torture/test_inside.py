"""A process whose clock is off, and nobody else's."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from seatrial_lab.torture import inside

HOUR = 3600.0
TOLD = """
import asyncio, sys, time, pathlib
from seatrial_lab.torture import inside
folder = pathlib.Path(sys.argv[1])
inside._follow_clock(folder)
from seatrial.controller.main import SystemClock
inside.set_clock(folder, float(sys.argv[2]))
print(SystemClock().now(), time.monotonic())
"""


def told(folder: Path, seconds: float) -> tuple[float, float]:
    command = [sys.executable, "-c", TOLD, str(folder), str(seconds)]
    wall, monotonic = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(wall), float(monotonic)


def test_the_controllers_clock_is_off_by_what_it_was_told_and_ours_is_not(tmp_path: Path) -> None:
    before, began = time.time(), time.monotonic()
    for seconds in (HOUR, -HOUR, 0.0):
        wall, monotonic = told(tmp_path, seconds)
        assert before <= wall - seconds + 0.001 <= time.time() + 0.001
        assert began <= monotonic <= time.monotonic(), "what measures how long something takes is left alone"
    assert time.time() - before < HOUR


def test_a_clock_that_is_off_is_still_off_in_the_next_life(tmp_path: Path) -> None:
    inside.set_clock(tmp_path, HOUR)
    assert inside.read_clock(tmp_path) == HOUR
    command = [sys.executable, "-m", "seatrial_lab.torture.inside", str(tmp_path), "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert inside.read_clock(tmp_path) == HOUR


def test_tasks_are_counted_while_the_program_runs(tmp_path: Path) -> None:
    counted = """
import asyncio, pathlib, sys
from seatrial_lab.torture import inside
inside.EVERY_SECONDS = 0.01
inside._count_tasks(pathlib.Path(sys.argv[1]))
async def main():
    others = [asyncio.create_task(asyncio.Event().wait()) for _ in range(6)]
    while inside.task_count(pathlib.Path(sys.argv[1])) != 7:
        await asyncio.sleep(0.01)
asyncio.run(main())
"""
    assert inside.task_count(tmp_path) is None
    # It ends once it has read 7 itself; what stands there after its loop has ended depends on who is faster.
    subprocess.run([sys.executable, "-c", counted, str(tmp_path)], check=True, timeout=60)
