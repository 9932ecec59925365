"""What is said of a version that was observed. Live: tests/e2e/test_plan_steps.py."""

from __future__ import annotations

import pytest

from seatrial.app.rollout.noting import Noted, Observation, Where
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.main import main
from seatrial.cli.rollout import observed
from seatrial.core.compat.matrix import Component


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
