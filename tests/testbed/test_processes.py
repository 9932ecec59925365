"""Programs we start: found again, ended by their id, and never left behind."""

import dataclasses
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.plane import boot, processes

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)",
]


def test_a_program_lives_until_it_is_ended(tmp_path: Path) -> None:
    program = processes.start("sleeper", SLEEP, folder=tmp_path, is_leashed=True)
    assert processes.is_alive(program)
    processes.end([program], grace_seconds=5)
    assert not processes.is_alive(program)


def test_a_program_that_does_not_listen_is_killed_after_the_grace(tmp_path: Path) -> None:
    program = processes.start("stubborn", STUBBORN, folder=tmp_path, is_leashed=True)
    waiting.wait_for(lambda: "deaf" in program.log.read_text(), what="it to be deaf", timeout_seconds=10)
    processes.end([program], grace_seconds=0.1)
    assert not processes.is_alive(program)


def test_an_id_that_now_belongs_to_somebody_else_is_left_alone(tmp_path: Path) -> None:
    program = processes.start("somebody", SLEEP, folder=tmp_path, is_leashed=True)
    ours_once = dataclasses.replace(program, born_ticks=program.born_ticks - 1)
    processes.end([ours_once], grace_seconds=5)
    assert not processes.is_alive(ours_once)
    assert processes.is_alive(program)
    processes.end([program], grace_seconds=5)


def test_a_leashed_program_dies_with_the_one_who_started_it(tmp_path: Path) -> None:
    script = textwrap.dedent(f"""\
        import os, pathlib
        from seatrial_lab.testbed.plane import processes
        started = processes.start("sleeper", {SLEEP!r}, folder=pathlib.Path({str(tmp_path)!r}), is_leashed=True)
        print(started.pid, started.born_ticks, flush=True)
        os._exit(1)  # no chance to tidy up
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    pid, born_ticks = map(int, done.stdout.split())
    orphan = processes.Program(name="sleeper", pid=pid, born_ticks=born_ticks, log=tmp_path / "sleeper.log")
    waiting.wait_for(lambda: not processes.is_alive(orphan), what="the orphan to be gone", timeout_seconds=10)


def test_a_program_that_dies_at_once_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('unknown flag: --sails')"]
    program = processes.start("schooner", command, folder=tmp_path, is_leashed=True)
    waiting.wait_for(lambda: not processes.is_alive(program), what="it to end", timeout_seconds=10)
    with pytest.raises(errors.ProcessDied, match=r"(?s)schooner ended.*unknown flag: --sails"):
        boot.ensure_alive(program)


def test_waiting_too_long_says_for_what_and_what_was_seen_last() -> None:
    with pytest.raises(errors.WaitedTooLong, match=r"Waited 0.01 s for the tide\. Last seen: ebb"):
        waiting.wait_for(lambda: None, what="the tide", timeout_seconds=0.01, describe=lambda: "ebb")
