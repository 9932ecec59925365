"""A rollout on trial, as `seatrial rollout start --dry-run` prints it."""

from __future__ import annotations

import json

import pytest

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.rollout import trial as rollout_trial
from seatrial.core.model.campaign import Point, RolloutPhase
from tests.app.rollout.test_rehearsing import TARGET, around


def test_people_get_a_line_for_each_write_and_what_it_would_wait_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert rollout_trial.show(around(manual=(Point.CANARY,)), TARGET, output="table") is ExitCode.HELD
    said = capsys.readouterr().out
    assert said.splitlines()[0].split() == ["After", "Object", "Content"]
    assert "It would wait in Proposed:\n  approval-pending: " in said
    assert said.endswith("Times are those of a simulated cluster. Nothing was written.\n")


def test_a_script_gets_the_resource_the_writes_and_what_follows(capsys: pytest.CaptureFixture[str]) -> None:
    assert rollout_trial.show(around(), TARGET, output="json") is ExitCode.OK
    data = json.loads(capsys.readouterr().out)
    assert data["phase"] == RolloutPhase.BAKING.value
    assert data["resource"]["metadata"] == {"name": "spring"}
    assert data["writes"][2] == {
        "afterSeconds": 0.0,
        "object": "node/n1",
        "content": "label seatrial.dev/canary=spring",
    }
    assert data["then"].startswith("then: gates readiness, smoke asked again every 1 h, bake 2 d")
