"""`seatrial driver-manager` as it is called: bad environments, exit codes, its help, and NVIDIA's names for it."""

from __future__ import annotations

import sys

import pytest

from seatrial.cli import main
from seatrial.cli.commands import parser_of
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.run import driver_manager
from seatrial.core.node.driver_manager.settings import VARIABLES
from seatrial.core.node.driver_manager.values import End, Ending


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in VARIABLES:
        monkeypatch.delenv(each.name, raising=False)


@pytest.mark.parametrize("what", ["preflight", "uninstall"])
def test_a_bad_environment_is_told_line_by_line_and_nobody_is_asked(
    what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRAIN_TIMEOUT_SECONDS", "300")
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    assert main.main(["driver-manager", what]) == ExitCode.USAGE
    node, timeout = capsys.readouterr().err.splitlines()
    assert node.startswith("seatrial: NODE_NAME in the environment is not set, so it is not known which node this is.")
    assert (
        timeout == "seatrial: DRAIN_TIMEOUT_SECONDS in the environment: '300' is no duration with a unit. Write 300s."
    )


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (Ending.DONE, ExitCode.OK),
        (Ending.FAILED, ExitCode.ERROR),
        (Ending.STOPPED, ExitCode.ERROR),
        (Ending.HOST_DRIVER, ExitCode.FINDINGS),
        (Ending.LATE, ExitCode.TIMEOUT),
    ],
)
def test_every_end_has_its_exit_code(ending: Ending, code: ExitCode) -> None:
    assert driver_manager.exit_code(End(ending=ending)) is code


@pytest.mark.parametrize(("word", "what"), [("uninstall_driver", "uninstall"), ("preflight_check", "preflight")])
def test_it_answers_to_the_names_that_the_gpu_operator_calls(
    word: str, what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["driver-manager", word, "--help"])
    with pytest.raises(SystemExit) as ended:
        driver_manager.as_nvidias()
    assert ended.value.code == 0
    assert f"seatrial driver-manager {what}" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["preflight", "uninstall"])
def test_every_variable_stands_in_the_whole_help_with_its_default(what: str) -> None:
    (commands,) = [each for each in parser_of("driver-manager")._actions if each.dest == "what"]
    assert commands.choices is not None
    parser = dict(commands.choices)[what]
    short, whole = parser.format_help(), " ".join(parser.format_whole_help().split())
    for each in VARIABLES:
        assert f"{each.name} " in whole
        assert each.name not in short or each.name == "NODE_NAME"
        assert f"({each.default or 'empty'}; " in whole
