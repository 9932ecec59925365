"""Every payload on a machine without a GPU: unknown, with the reason, and exit code 11."""

from __future__ import annotations

import ctypes.util
import json
from pathlib import Path

import pytest

from seatrial.cli.exit_codes import ExitCode
from seatrial.probes import command
from seatrial.probes.catalogue import PAYLOADS

pytestmark = pytest.mark.skipif(ctypes.util.find_library("cuda") is not None, reason="this machine has a GPU's driver")


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_says_unknown_and_why(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    code = command.main([name, "--json", "--root", str(tmp_path), "--termination-log", str(log)])
    told = json.loads(capsys.readouterr().out)
    assert code == ExitCode.INCONCLUSIVE
    assert told["verdict"] == "unknown"
    assert told["unknown"]
    assert all(each["why"] for each in told["unknown"])
    assert not told["broken"]
    assert json.loads(log.read_text())["verdict"] == "unknown"


def test_clocks_that_cannot_be_let_go_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["reset-clocks"]) == ExitCode.INCONCLUSIVE
    assert "seatrial-probe: " in capsys.readouterr().err
