"""`seatrial rollout get` and `describe`: rows as kubectl has them, and everything about one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from seatrial.app.rollout.picking import Rollout
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.cli.rollout import getting
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
        *("PodDisruptionBudget team-a/service needs 1", "20 s", "2 h 0 min"),
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


def test_without_any_it_says_how_to_begin(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(rollouts=()) == ExitCode.OK
    assert "begin with `seatrial rollout start`" in capsys.readouterr().err
