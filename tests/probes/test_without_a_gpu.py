"""Every payload on a machine without a GPU: unknown, with the reason, and exit code 11."""

from __future__ import annotations

import ctypes.util
import json
from pathlib import Path
from typing import NoReturn

import pynvml
import pytest

from seatrial.cli.exit_codes import ExitCode
from seatrial.probes import command
from seatrial.probes.measuring.nvml import opened
from seatrial.probes.measuring.unmeasurable import Unmeasurable
from seatrial.probes.payloads.catalogue import PAYLOADS


@pytest.fixture(autouse=True)
def without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most machines have none. Where there is one, NVML does not get to see it."""
    if ctypes.util.find_library("nvidia-ml") is not None:
        monkeypatch.setattr(pynvml, "CDLL", _no_such_file)


def _no_such_file(name: str) -> NoReturn:
    raise OSError(f"{name}: cannot open shared object file")


def test_nvml_that_finds_no_driver_says_what_that_means() -> None:
    with pytest.raises(Unmeasurable, match="no NVIDIA driver is loaded, or this container was given no GPU"), opened():
        pass


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
