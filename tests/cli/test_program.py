"""Who runs us through kubectl reads `kubectl seatrial …` wherever a command is named; documents are the same."""

from __future__ import annotations

import io
import sys

import pytest

from seatrial.cli import main, program
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.run import demo
from seatrial.core.errors import SeatrialError


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("Look with `seatrial why NODE`.", "Look with `kubectl seatrial why NODE`."),
        ("seatrial node get     every node", "kubectl seatrial node get     every node"),
        ("  seatrial plan        from here", "  kubectl seatrial plan        from here"),
        ("seatrial: there is no node", "seatrial: there is no node"),
        ("seatrial upgrades the stack of a cluster.", "seatrial upgrades the stack of a cluster."),
        ("`kubectl seatrial why NODE`", "`kubectl seatrial why NODE`"),
        ("pip install 'seatrial[testbed]'", "pip install 'seatrial[testbed]'"),
    ],
)
def test_a_command_is_named_as_the_program_is_called(text: str, turned: str) -> None:
    assert program.said(text, program.PLUGIN) == turned
    assert program.said(text, program.SEATRIAL) == text


def test_help_and_errors_of_the_plugin_name_the_plugin(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["node", "--help"], ["node", "skip", "--help"]):
        with pytest.raises(SystemExit):
            main.main(arguments, program=program.PLUGIN)
    told = capsys.readouterr().out
    assert told.startswith("usage: kubectl seatrial COMMAND …\n")
    assert "\n  kubectl seatrial demo " in told
    assert "\nusage: kubectl seatrial node [options] COMMAND ...\n" in told
    assert "\nusage: kubectl seatrial node skip [options] [NODE ...]\n" in told
    assert "\n  kubectl seatrial node skip gpu-17 gpu-18\n" in told
    assert "`seatrial" not in told
    with pytest.raises(SystemExit) as ended:
        main.main(["node", "retyr"], program=program.PLUGIN)
    assert ended.value.code == ExitCode.USAGE
    told = capsys.readouterr().err
    assert told.startswith("kubectl seatrial: argument COMMAND: there is no 'retyr' here, ")
    assert told.endswith("did you mean retry?\nSee `kubectl seatrial node --help`.\n")


def test_who_speaks_in_an_error_is_called_as_the_program_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: object) -> int:
        print("seatrial: v1  # a key of somebody's YAML")
        print("seatrial: nothing was written.", file=sys.stderr)
        raise SeatrialError("there is no node gpu-99.")

    monkeypatch.setattr(demo, "run", run)
    for called, prefix in ((program.PLUGIN, "kubectl seatrial"), (program.SEATRIAL, "seatrial")):
        assert main.main(["demo"], program=called) == ExitCode.ERROR
        told = capsys.readouterr()
        assert told.err == f"{prefix}: nothing was written.\n{prefix}: there is no node gpu-99.\n"
        assert told.out == "seatrial: v1  # a key of somebody's YAML\n"


def test_what_a_command_says_is_turned_and_its_data_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: object) -> int:
        print("Look with `seatrial status`.")
        program.print_data('{"next": "`seatrial status`"}')
        return ExitCode.OK

    monkeypatch.setattr(demo, "run", run)
    assert main.main(["demo"], program=program.PLUGIN) == ExitCode.OK
    assert capsys.readouterr().out == 'Look with `kubectl seatrial status`.\n{"next": "`seatrial status`"}\n'
    assert main.main(["demo"]) == ExitCode.OK
    assert capsys.readouterr().out == 'Look with `seatrial status`.\n{"next": "`seatrial status`"}\n'


def test_a_line_that_has_to_fit_is_kept_shorter_by_what_turning_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    assert program.room(stream, 80) == 80
    with program.speaking(program.PLUGIN):
        assert program.room(sys.stdout, 80) == 72
