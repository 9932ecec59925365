"""What is printed before a rollout starts, and which exit code a refusal has. Live: tests/cli/test_rollout_live.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.app.errors import UNKNOWN, Objection
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.rollout import objecting
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
