"""`seatrial rollout get` and `describe`: rows as kubectl has them, and everything about one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from seatrial.app.picking import Rollout
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.cli.rollout import following, getting
from tests.adapters.kube import standin
from tests.cli.served import serving

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SPRING: dict[str, Any] = {
    "metadata": {"name": "spring", "creationTimestamp": "2026-03-01T10:00:00Z", "labels": {"team": "a"}},
    "spec": {"target": {"driver": "580.105.08"}, "canary": {}},
    "status": {
        "phase": "Waving",
        "state": "progressing",
        "done": "3/8",
        "why": "PodDisruptionBudget team-a/service needs 1",
        "summarisedAt": "2026-03-01T11:59:40Z",
        "campaign": {"phase": "Waving", "canaries": ["gpu-1"], "mode": "direct"},
    },
}
NEW: dict[str, Any] = {
    "metadata": {"name": "summer", "creationTimestamp": "2026-03-01T11:59:57Z", "deletionTimestamp": "x"},
    "spec": {"target": {"driver": "580.126.09"}, "paused": True},
}


def test_a_row_says_what_kubectl_says() -> None:
    assert getting.row_of(Rollout(raw=SPRING), NOW) == (
        *("spring", "580.105.08", "Waving", "3/8"),
        *("PodDisruptionBudget team-a/service needs 1", "20 s", "2 h"),
    )
    wide = getting.row_of(Rollout(raw=SPRING), NOW, is_wide=True)
    assert wide[len(getting.HEAD) :] == ("progressing", "gpu-1", "direct", "-", "False")


def test_one_that_nobody_has_looked_at_and_that_goes_says_so() -> None:
    assert getting.row_of(Rollout(raw=NEW), NOW) == ("summer", "580.126.09", "Deleting", "-", "-", "-", "3 s")


Call = Callable[..., int]


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Call]:
    """Call `rollout get` beside an API server that has these rollouts."""
    with ExitStack() as stack:

        def start(*words: str, rollouts: tuple[dict[str, Any], ...] = (SPRING, NEW)) -> int:
            async def reply(request: web.Request) -> web.StreamResponse:
                is_ours = request.path.endswith("/gpurollouts")
                return web.json_response({"metadata": {}, "items": list(rollouts) if is_ours else []})

            where = stack.enter_context(serving(reply, tmp_path / "kubeconfig"))
            return main(["rollout", "get", *words, *where])

        yield start


def test_all_of_them_are_listed_and_chosen_by_labels(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call() == ExitCode.OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == list(getting.HEAD)
    assert [line.split()[0] for line in lines[1:]] == ["spring", "summer"]
    call("-l", "team=a", "-o", "name")
    assert capsys.readouterr().out == "gpurollout.seatrial.dev/spring\n"
    call("-o", "json")
    assert [each["metadata"]["name"] for each in json.loads(capsys.readouterr().out)] == ["spring", "summer"]


def changed(raw: dict[str, Any], **status: Any) -> Rollout:
    return Rollout(raw={**raw, "status": {**raw.get("status", {}), **status}})


def a_following(output: str = "table", *, skips_first: bool = False) -> following.Following:
    return following.Following(getting.HEAD, getting.row_of, output=output, skips_first=skips_first)


def test_whoever_watches_gets_a_row_for_every_change_and_none_for_time_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = a_following()
    told.take((Rollout(raw=SPRING), Rollout(raw=NEW)), NOW)
    told.take((changed(SPRING, summarisedAt="2026-03-01T12:00:40Z"), Rollout(raw=NEW)), NOW + timedelta(seconds=60))
    told.take((changed(SPRING, done="4/8"),), NOW + timedelta(seconds=90))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [(row[0], *row[2:4]) for row in rows] == [
        ("NAME", "PHASE", "DONE"),
        ("spring", "Waving", "3/8"),
        ("summer", "Deleting", "-"),
        ("spring", "Waving", "4/8"),
        ("summer", "Gone", "-"),
    ]


@pytest.mark.parametrize("output", ["table", "name", "json"])
def test_watch_only_leaves_out_what_is_there_already(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = a_following(output, skips_first=True)
    told.take((Rollout(raw=SPRING), Rollout(raw=NEW)), NOW)
    assert capsys.readouterr().out == ""
    told.take((changed(SPRING, done="4/8"), Rollout(raw=NEW)), NOW)
    said = capsys.readouterr().out
    assert "4/8" in said or output == "name"
    assert ("spring" in said, "summer" in said) == (True, False)
    assert output == "table" or len(said.splitlines()) == 1


@pytest.mark.parametrize("how", ["-w", "--watch-only"])
def test_a_change_in_the_cluster_is_told_until_the_time_is_up(
    how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [SPRING]

    async def reply(request: web.Request) -> web.StreamResponse:
        if request.query.get("watch"):
            now[0] = changed(SPRING, done="8/8").raw
            event = {"type": "MODIFIED", "object": now[0]}
            return await standin.streams(json.dumps(event).encode() + b"\n")(request)
        is_ours = request.path.endswith("/gpurollouts")
        return web.json_response({"metadata": {"resourceVersion": "7"}, "items": now if is_ours else []})

    with serving(reply, tmp_path / "kubeconfig") as where:
        assert main(["rollout", "get", "spring", how, "--timeout", "1s", *where]) == ExitCode.TIMEOUT
    said = capsys.readouterr()
    assert [count in said.out for count in ("3/8", "8/8")] == [how == "-w", True]
    assert said.err == "seatrial: 1 s are over; they continue without us.\n"


def test_without_any_it_says_how_to_begin(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(rollouts=()) == ExitCode.OK
    assert "begin with `seatrial rollout start`" in capsys.readouterr().err
