"""What is done to processes and remotes is done for real, and undone; no cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seatrial_lab.testbed import repositories
from seatrial_lab.torture import blows, way
from seatrial_lab.torture.table import FAULTS

OPENER = """
import os, sys
for line in sys.stdin:
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
        print("opened", flush=True)
    except OSError as err:
        print(err.strerror, flush=True)
"""


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    made = tmp_path / "gpu-cluster.git"
    repositories.make_remote(made, tmp_path / "work")
    for number in range(3):
        repositories.commit(tmp_path / "work", f"Commit {number}", **{"a.txt": f"{number}\n"})
    return made


def test_every_fault_has_somebody_who_does_it() -> None:
    elsewhere = {fault.name for fault in FAULTS if fault.where not in blows.ON_THE_WAY}
    assert set(blows.DEEDS) == elsewhere
    assert {fault.code for fault in FAULTS if fault.code} == set(way.REASONS)


def test_a_process_that_may_open_no_further_file_is_told_so_until_it_may_again() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OPENER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def opens() -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("again\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        assert opens() == "opened"
        undo = blows.exhaust_files(process.pid)
        assert opens() == "Too many open files"
        undo()
        assert opens() == "opened"
        process.kill()
    blows.exhaust_files(process.pid)()  # one that is gone is nobody's trouble


def test_a_remote_that_is_away_cannot_be_fetched_until_it_is_back(remote: Path, tmp_path: Path) -> None:
    undo = blows.take_away(remote)
    with pytest.raises(RuntimeError, match="does not appear to be a git repository"):
        repositories.git(tmp_path / "work", "fetch", "origin")
    undo()
    repositories.git(tmp_path / "work", "fetch", "origin")


def test_a_remote_that_rejects_takes_no_push_until_it_does(remote: Path, tmp_path: Path) -> None:
    undo = blows.reject(remote)
    with pytest.raises(RuntimeError, match="this branch is closed for now"):
        repositories.commit(tmp_path / "work", "Refused", **{"b.txt": "b\n"})
    undo()
    repositories.git(tmp_path / "work", "push", "--quiet", "origin", "HEAD:main")
    assert repositories.subjects(remote)[-1] == "Refused"


def test_a_rewritten_branch_has_the_same_files_and_another_past_until_it_is_put_back(remote: Path) -> None:
    before, tree = repositories.subjects(remote), repositories.git(remote, "rev-parse", "main^{tree}")
    undo = blows.rewrite(remote)
    assert repositories.subjects(remote) == ["All of it in one"]
    assert repositories.git(remote, "rev-parse", "main^{tree}") == tree
    undo()
    assert repositories.subjects(remote) == before


def test_faults_of_a_remote_overlap_and_each_is_undone_while_it_is_away(remote: Path, tmp_path: Path) -> None:
    open_again = blows.reject(remote)
    come_back = blows.take_away(remote)
    put_back = blows.rewrite(remote)
    before = repositories.subjects(remote.with_suffix(".away"))
    open_again()
    put_back()
    come_back()
    assert before == ["All of it in one"] != repositories.subjects(remote)
    repositories.commit(tmp_path / "work", "Taken", **{"b.txt": "b\n"})
    assert repositories.subjects(remote)[-1] == "Taken"


def test_a_process_that_is_ending_has_no_files_left_to_take_from_it() -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and nobody has asked after it yet
        blows.exhaust_files(process.pid)()
