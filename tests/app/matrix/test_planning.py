"""The way between two entries of a matrix, and the document that is made of it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from seatrial.app.matrix import plan_document, planning
from seatrial.app.matrix.planning import EntryMissing, Planned, PlanOptions, Unreadable

ON = date(2026, 9, 1)
MATRIX = 'versions:\n  current:\n    gpu_driver: "570.124.06"\n  canary:\n    gpu_driver: "580.105.08"\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "gpu-version-matrix.yaml"
    found.write_text(MATRIX, encoding="utf-8")
    return found


def test_without_names_the_way_leads_from_production_to_the_canary(file: Path) -> None:
    planned = planning.plan_file(str(file), PlanOptions(on=ON))
    assert isinstance(planned, Planned)
    assert (planned.start.key, planned.goal.key) == ("current", "canary")
    data = plan_document.as_data(planned)
    assert (data["from"], data["to"], data["on"]) == ("current", "canary", "2026-09-01")
    assert [step["changes"] for step in data["steps"]] == [
        [{"component": "gpu_driver", "before": "570.124.06", "after": "580.105.08"}]
    ]


def test_an_entry_that_is_not_there_is_answered_with_those_there_are(file: Path) -> None:
    with pytest.raises(EntryMissing, match="has no entry autumn; it has current, canary"):
        planning.plan_file(str(file), PlanOptions(goal="autumn", on=ON))


def test_a_matrix_that_cannot_be_read_is_told_by_its_findings(file: Path) -> None:
    file.write_text("versions: 5\n", encoding="utf-8")
    found = planning.plan_file(str(file), PlanOptions(on=ON))
    assert isinstance(found, Unreadable)
    assert found.findings
