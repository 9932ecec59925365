"""What `rollout start`, its `--dry-run` and `rollout observed` print, and which exit code a refusal has. Live:
tests/cli/test_rollout_live.py, tests/e2e/test_plan_steps.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seatrial.app.errors import UNKNOWN, Objection
from seatrial.app.rollout.noting import Noted, Observation, Where
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.cli.rollout import objecting, observed
from seatrial.cli.rollout import trial as rollout_trial
from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import Point, RolloutPhase
from tests.app.rollout.test_rehearsing import TARGET, around
from tests.app.rollout.test_targeting import FILE, a_matrix, read


def test_what_fails_is_shown_with_its_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / FILE).write_text(a_matrix(more='    gpu_operatr: "v26.7.0"\n'))
    found = read(matrix=str(tmp_path / FILE))
    assert objecting.verdict(found, accepts_unknown=True) is ExitCode.FINDINGS
    said = capsys.readouterr().err
    assert "gpu_operatr" in said
    assert said.endswith("seatrial: no rollout is started with what fails.\n")


def test_an_entry_that_was_rejected_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / FILE).write_text(a_matrix(bad="lost 3 % of throughput"))
    found = read(matrix=str(tmp_path / FILE))
    assert objecting.verdict(found, accepts_unknown=True) is ExitCode.FINDINGS
    assert capsys.readouterr().err.startswith("seatrial: entry canary is marked bad: lost 3 % of throughput.")


@pytest.mark.parametrize(
    ("objection", "code"),
    [(None, ExitCode.OK), (UNKNOWN, ExitCode.INCONCLUSIVE), (Objection(says="no."), ExitCode.FINDINGS)],
)
def test_what_nobody_knows_has_another_exit_code_than_what_fails(objection: Objection | None, code: ExitCode) -> None:
    assert objecting.object_to(objection) is code


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


@pytest.mark.parametrize(
    ("before", "is_written", "says"),
    [
        ("", True, "n1 has firmware_cx7 28.43.2026."),
        ("28.42.1000", True, "n1 has firmware_cx7 28.43.2026, and had 28.42.1000."),
        ("", False, "n1 has firmware_cx7 28.43.2026 (not written: --dry-run)"),
        ("28.43.2026", False, "n1 is already reported to have firmware_cx7 28.43.2026."),
    ],
)
def test_what_a_node_is_said_to_have_is_one_sentence(before: str, is_written: bool, says: str) -> None:
    seen = Observation(component=Component.FIRMWARE_CX7, version="28.43.2026", where=Where(nodes=("n1",)))
    assert observed.sentence(Noted(node="n1", before=before, is_written=is_written), seen) == says


def test_nodes_are_named_or_all_are_meant(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ((), ("gpu-1", "--all")):
        assert main(["rollout", "observed", "firmware_cx7", "28.43.2026", *words]) == ExitCode.USAGE
        assert "name the nodes on which it was observed" in capsys.readouterr().err
