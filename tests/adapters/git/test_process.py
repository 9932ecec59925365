"""One run of git ends within its time, and takes along whatever it started."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from seatrial.adapters.git import process
from seatrial.adapters.git.errors import GitUnavailable
from seatrial.adapters.git.process import run, run_told
from seatrial_lab.testbed.waiting import wait_for


def test_what_a_run_leaves_behind() -> None:
    done = run(["hash-object", "--stdin"], stdin=b"x", timeout_seconds=20)
    assert (done.code, done.line, done.err) == (0, "c1b0730e0133447badcfd47fd144e254807b06e1", "")


def test_past_its_time_git_and_what_it_started_end_together(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    alias = f"alias.stay=!sh -c 'trap \"\" TERM; echo $$ > {pid}; while :; do sleep 1; done'"
    began = time.monotonic()
    with pytest.raises(GitUnavailable, match=r"did not answer within 0\.5 s"):
        run(["-c", alias, "stay"], timeout_seconds=0.5)
    assert time.monotonic() - began < 10
    wait_for(
        lambda: (
            not Path(f"/proc/{pid.read_text().strip()}/cmdline").exists()
            or not Path(f"/proc/{pid.read_text().strip()}/cmdline").read_bytes()
        ),
        what="the program that git started to end",
        timeout_seconds=10,
    )


def test_a_git_that_does_not_listen_is_ended_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid, deaf = tmp_path / "pid", tmp_path / "git"
    deaf.write_text(f"#!/bin/sh\ntrap '' TERM\necho $$ > {pid}\nwhile :; do sleep 0.1; done\n")
    deaf.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(process, "GOODBYE_SECONDS", 0.1)
    with pytest.raises(GitUnavailable, match=r"did not answer within 0\.5 s"):
        run(["version"], timeout_seconds=0.5)
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


def test_a_program_that_stays_behind_does_not_hold_us_up(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(GitUnavailable):
        run(["-c", "alias.leave=!sleep 60 & echo", "leave"], timeout_seconds=0.5)
    assert time.monotonic() - began < 10


def test_without_git_there_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GitUnavailable, match="not installed"):
        run(["version"], timeout_seconds=5)


# ── however long it takes ────────────────────────────────────────────────────────────────────────────────────────────


def test_who_tells_that_he_goes_on_has_no_end_but_his_own() -> None:
    told: list[str] = []
    steps = 'for n in 1 2 3 4 5; do printf "at $n\\r" >&2; sleep 0.5; done; echo out; echo over >&2'
    done = run_told(["-c", f"alias.go=!{steps}; #", "go"], silent_seconds=1.5, on_line=told.append)
    assert (done.code, done.line) == (0, "out")
    assert told == ["at 1", "at 2", "at 3", "at 4", "at 5", "over"]
    assert done.err.splitlines()[-1] == "over"


def test_who_says_nothing_for_too_long_is_ended() -> None:
    began = time.monotonic()
    with pytest.raises(GitUnavailable, match=r"said nothing for 0\.5 s"):
        run_told(["-c", "alias.stay=!echo begun >&2; sleep 60; #", "stay"], silent_seconds=0.5, on_line=lambda _: None)
    assert time.monotonic() - began < 10


def test_of_what_is_told_on_the_way_the_end_is_kept() -> None:
    done = run_told(
        ["-c", "alias.talk=!seq 1 100000 >&2; echo fatal: no >&2; exit 3; #", "talk"],
        silent_seconds=20,
        on_line=lambda _: None,
    )
    assert done.code == 3
    assert "fatal: no" in done.err
    assert len(done.err) < 10_000


def test_of_a_long_error_output_whole_lines_of_its_end_are_kept() -> None:
    shown = "i=0; while [ $i -lt 20000 ]; do echo number $i; i=$((i+1)); done"
    for done in (
        run(["-c", f"alias.go=!({shown}) >&2; #", "go"], timeout_seconds=20),
        run_told(["-c", f"alias.go=!({shown}) >&2; #", "go"], silent_seconds=20, on_line=lambda _: None),
    ):
        assert len(done.err) < process.ERR_BYTES_MAX
        assert all(line.startswith("number ") for line in done.err.splitlines())
        assert done.err.splitlines()[-1] == "number 19999"


def test_a_line_without_an_end_is_not_kept() -> None:
    endless = f"head -c {4 * process.ERR_BYTES_MAX} /dev/zero | tr '\\0' x"
    told: list[str] = []
    steps = f"({endless}; echo; echo the end) >&2"
    done = run_told(["-c", f"alias.go=!{steps}; #", "go"], silent_seconds=20, on_line=told.append)
    assert (done.err.strip(), told) == ("the end", ["the end"])
    assert run(["-c", f"alias.go=!{steps}; #", "go"], timeout_seconds=20).err.strip() == "the end"


def test_output_that_is_not_utf_8_is_shown_with_signs_in_it_and_fails_nothing() -> None:
    done = run(["-c", "alias.go=!printf 'Gr\\351goire'; #", "go"], timeout_seconds=20)
    assert (done.text, done.line) == ("Gr\N{REPLACEMENT CHARACTER}goire",) * 2
