"""A callback that keeps the loop is seen from outside, while it runs and afterwards."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from seatrial_lab.testbed import waiting
from seatrial_lab.torture.callbacks import LINES, STACKS, Gauge

BUSY = """
import asyncio, pathlib, sys, time
from seatrial_lab.torture import callbacks
callbacks.measure(pathlib.Path(sys.argv[1]))
async def busy(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
async def main():
    await asyncio.sleep(0.01)
    await asyncio.create_task(busy(float(sys.argv[2])))
    print("over", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


def started(folder: Path, seconds: float) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", BUSY, str(folder), str(seconds)], stdout=subprocess.PIPE, text=True)


def wait_for(look: Callable[[], bool], what: str) -> None:
    waiting.wait_for(look, what=what, timeout_seconds=60.0, pause_seconds=0.05)


def test_the_most_that_a_callback_used_stays_known(tmp_path: Path) -> None:
    process = started(tmp_path, 0.3)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "over\n"
        assert 0.3 <= Gauge(pid=process.pid, folder=tmp_path).most() < 5.0
        assert "0.3" in (tmp_path / LINES).read_text(encoding="utf-8")
    finally:
        process.kill()
        process.wait(10)


def test_a_callback_that_does_not_end_is_seen_while_it_runs_and_says_where(tmp_path: Path) -> None:
    process = started(tmp_path, 1000.0)
    gauge = Gauge(pid=process.pid, folder=tmp_path)
    try:
        wait_for(lambda: gauge.running() > 0.5, "the callback to be seen")
        gauge.stacks()
        wait_for(lambda: "in busy" in (tmp_path / STACKS).read_text(encoding="utf-8"), "the stacks to be told")
        began, before = time.monotonic(), gauge.most()
        wait_for(lambda: gauge.most() > before, "it to go on")
        assert time.monotonic() - began < 60.0
    finally:
        process.kill()
        process.wait(10)


def test_of_a_process_that_is_gone_what_it_used_is_known_as_far_as_it_was_told(tmp_path: Path) -> None:
    assert Gauge(pid=2**22, folder=tmp_path).most() == 0.0
