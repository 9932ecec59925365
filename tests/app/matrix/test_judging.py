"""What the rules say about a matrix, as values: what fails, what stays open, and against what changes were judged."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from seatrial.app.matrix import judging
from seatrial.app.matrix.judging import CheckOptions

ON = date(2025, 1, 10)
GOOD = (
    'versions:\n  current:\n    openshift: "4.16.23"\n    gpu_operator: v24.9.0\n'
    '    gpu_driver: "550.127.05"\n    cuda: "12.4"\n'
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A matrix in a folder of its own, in no repository."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return tmp_path / "gpu-version-matrix.yaml"


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        (GOOD, (False, False)),
        (GOOD.replace('"12.4"', '"12.4.9"'), (False, True)),
        (GOOD.replace("12.4", "13.0"), (True,)),
    ],
)
def test_a_report_says_whether_something_fails_or_stays_open(file: Path, text: str, stands: tuple[bool, ...]) -> None:
    file.write_text(text, encoding="utf-8")
    report = judging.judge(CheckOptions(file=str(file), on=ON))
    assert (report.is_failing, report.is_open)[: len(stands)] == stands
    assert report.compared_with == ""


def test_rules_and_facts_that_cannot_be_read_are_findings(file: Path) -> None:
    file.write_text(GOOD, encoding="utf-8")
    broken = file.parent / "r.yaml"
    broken.write_text("rules: 5", encoding="utf-8")
    report = judging.judge(CheckOptions(file=str(file), on=ON, rules=(str(broken),)))
    assert report.is_failing
    assert "user-rules" in {each.finding.rule for each in report.found}
