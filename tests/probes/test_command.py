"""seatrial-probe as a person meets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.cli.exit_codes import ExitCode
from seatrial.probes import command
from seatrial.probes.payloads import catalogue
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes, Verdict


def lay(root: Path, state: str) -> None:
    folder = root / "sys/class/infiniband/mlx5_0/ports/1"
    folder.mkdir(parents=True)
    for name, text in {"state": state, "phys_state": "5: LinkUp", "rate": "400 Gb/sec"}.items():
        (folder / name).write_text(text)


def test_a_payload_that_measures_ends_with_nought(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay(tmp_path, "4: ACTIVE")
    assert command.main(["rdma", "--root", str(tmp_path)]) == ExitCode.OK
    said = capsys.readouterr().out
    assert said.startswith("rdma: measured\n")
    assert "link-rate    400 Gb/s  mlx5_0/1" in said


def test_what_is_broken_ends_with_the_code_of_a_failed_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay(tmp_path, "1: DOWN")
    assert command.main(["rdma", "--root", str(tmp_path)]) == ExitCode.GATE_FAILED
    assert "rdma: failed, link on mlx5_0/1: the port is 1: DOWN" in capsys.readouterr().out


def test_the_codes_are_those_of_every_other_command() -> None:
    assert command.EXITS == {
        Verdict.MEASURED: ExitCode.OK,
        Verdict.FAILED: ExitCode.GATE_FAILED,
        Verdict.UNKNOWN: ExitCode.INCONCLUSIVE,
    }


def test_an_earlier_report_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "earlier.json"
    file.write_text("[]")
    with pytest.raises(SystemExit) as ended:
        command.main(["gpu-errors", "--since", str(file)])
    assert ended.value.code == ExitCode.USAGE
    assert "is not a report of seatrial-probe: it measures nothing" in capsys.readouterr().err


def test_the_help_names_every_payload(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--help"])
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in catalogue.PAYLOADS)


def test_a_payload_that_falls_over_has_found_something(monkeypatch: pytest.MonkeyPatch) -> None:
    def fall(_options: Options, _notes: Notes) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(command, "PAYLOADS", {"smoke-train": catalogue.Payload("", fall)})
    report = command.run("smoke-train", Options())
    assert report.verdict is Verdict.FAILED
    assert "illegal memory access" in report.why


def test_a_figure_that_may_be_missing_is_no_reason_to_call_the_rest_unknown() -> None:
    notes = Notes(optional=("xid",))
    notes.misses("xid", "dev/kmsg cannot be read")
    notes.measure("ecc", 0, "errors")
    assert notes.report("gpu-errors", "", 0.1).verdict is Verdict.MEASURED
    notes.misses("ecc", "this GPU does not report")
    assert notes.report("gpu-errors", "", 0.1).verdict is Verdict.UNKNOWN
