"""What is kept of each seed, what is not played again, and what is told at the end; no cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench import torture
from seatrial_lab.torture.drawing import Schedule, draw
from seatrial_lab.torture.judging import Asked
from seatrial_lab.torture.seeds import Played, _crashes

ABOUT = {"commit": "abc1234", "cores": 2}


def played(schedule: Schedule, *problems: str) -> Played:
    return Played(
        schedule=schedule,
        problems=problems,
        struck=tuple(f"1.0 s: {blow}" for blow in schedule.blows),
        met={},
        lives=2,
        ends=("The lease was lost",),
        asked=Asked(writes=200, requests=300, seconds=20.0, commits=("Promote",)),
        seconds=20.0,
        tail="",
    )


def kept(path: Path, *each: Played, commit: str = "abc1234") -> list[dict[str, Any]]:
    for one in each:
        torture._keep(torture.asked(["0", "--results", str(path)]), ABOUT | {"commit": commit}, one)
    return torture._kept(path, "abc1234")


def test_a_line_of_another_commit_counts_for_nobody(tmp_path: Path) -> None:
    path = tmp_path / "torture.jsonl"
    assert kept(path, played(draw(1)), commit="older") == []
    (line,) = kept(path, played(draw(1)))
    assert (line["seed"], line["problems"], line["lives"], line["machine"]) == (1, [], 2, ABOUT)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 2, "nothing that was kept is lost"


def test_the_run_without_faults_is_kept_for_those_to_come(tmp_path: Path) -> None:
    alone = Schedule(seed=1, mode=draw(1).mode, end=draw(1).end, has_git=draw(1).has_git, blows=(), only="without")
    (line,) = kept(tmp_path / "torture.jsonl", played(alone))
    assert line["without"]
    assert line["kind"] == draw(1).kind
    assert torture._asked_of(line) == Asked(writes=200, requests=300, seconds=20.0, commits=("Promote",))


def test_the_end_says_what_was_asked_played_and_wrong(tmp_path: Path) -> None:
    schedules = [draw(seed) for seed in range(4)]
    lines = kept(tmp_path / "torture.jsonl", played(schedules[0]), played(schedules[1], "left cordoned: a"))
    told = torture.summary(lines, schedules)
    assert (told["asked"], told["played"], told["wrong"]) == (4, 2, ["1"])
    assert (told["lives"], told["requests"]) == (4, 600)


def test_a_story_says_what_happened_what_is_wrong_and_how_to_see_it_again() -> None:
    told = played(draw(3, only="gone"), "left cordoned: a").story()
    assert "Seed gone-3" in told
    assert "1. 1.0 s: gone at" in told
    assert "wrong: left cordoned: a" in told
    assert told.endswith("again: make torture SEEDS=3 FAULT=gone")
    assert played(draw(3), "x").story().endswith("again: make torture SEEDS=3")
    assert "began anew: The lease was lost" in told


def test_a_traceback_in_the_log_is_told_by_its_last_line() -> None:
    log = 'one\nTraceback (most recent call last):\n  File "x", line 1, in y\n    z\nKeyError: 1\ntwo\n'
    assert _crashes(log) == ("KeyError: 1",)
    assert _crashes("no trouble\n") == ()
    assert json.dumps(played(draw(1)).line())
