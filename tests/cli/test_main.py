"""The command line as a person meets it: help that reads well, one sentence when something is wrong, exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from seatrial.cli import commands, main
from seatrial.cli.exit_codes import MEANINGS, ExitCode
from seatrial.cli.run import demo


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Our command in a process of its own."""
    command = [sys.executable, "-m", "seatrial", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def help_of(*command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main.main([*command, "--help"])
    assert ended.value.code == ExitCode.OK
    return capsys.readouterr().out


# ── help and version ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_version_is_told_without_loading_what_only_commands_need() -> None:
    heavy = ["aiohttp", "msgspec", "rich", "yaml", "asyncio"]
    code = (
        "import sys, contextlib\n"
        "from seatrial.cli.main import main\n"
        "with contextlib.suppress(SystemExit): main(['--version'])\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    version, loaded = answer.stdout.splitlines()
    assert re.fullmatch(r"seatrial \d+\.\d+\S*", version)
    assert loaded == "[]"


def test_the_overview_names_every_command_and_where_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(capsys=capsys)
    words = " ".join(text.split())
    assert all(f" {name} {each.text} " in words for name, each in commands.COMMANDS.items())
    assert "examples: seatrial demo" in words


def test_where_the_laboratory_is_not_installed_its_command_is_not_offered_and_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(commands, "find_spec", lambda _: None)
    assert "testbed" not in help_of(capsys=capsys)
    with pytest.raises(SystemExit) as ended:
        main.main(["testbed", "up"])
    assert ended.value.code == ExitCode.USAGE
    assert "pip install 'seatrial[testbed]'" in capsys.readouterr().err


@pytest.mark.parametrize("command", commands.COMMANDS)
def test_the_help_of_a_command_says_what_it_does_and_how_it_ends(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main([command, "--help-all"])
    assert ended.value.code == ExitCode.OK
    text = capsys.readouterr().out
    usage, what, *_ = text.split("\n\n")
    assert usage.startswith(f"usage: seatrial {command} [options]")
    assert re.match(r"[A-Z][^\n]+[.,:;a-z]", what)
    assert "exit codes:\n  0    success\n" in text
    assert "\n  2    the command was called wrongly\n" in text + "\n"


def test_every_exit_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ExitCode)


# ── wrong usage ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "there is no command 'frobnicate'."),
        (["frobnicate", "--node", "gpu-01"], "there is no command 'frobnicate'."),
        (["stauts"], "there is no command 'stauts'; did you mean status?"),
        (["--kubeconfig", "why", "status"], "there is no option --kubeconfig."),
        (["status", "--frob"], "there is no option --frob."),
        (["status", "--wacth"], "there is no option --wacth; did you mean --watch?"),
        (["rollout", "start", "--frob"], "there is no option --frob."),
        (["node", "get", "gpu-1", "gpu-2"], "'gpu-2' is one word too many."),
        (["rollout", "approve"], "the following arguments are required: ROLLOUT, POINT."),
        (["controller", "--frob"], "there is no option --frob."),
        (["controller"], "one of the arguments --once --forever is required."),
        (["controller", "--once", "--forever"], "not allowed with"),
        (["controller", "--once", "--git-credentials", "/secrets/git"], "does not say which address the secret is for"),
        (["controller", "--once", "--git-authority", "/ca.crt"], "does not say which server the authority is for"),
        (["controller", "--once", "--lease-seconds", "1"], "'1' is not a number of seconds, 2 or more."),
        (["controller", "--once", "--lease-seconds", "soon"], "'soon' is not a number of seconds, 2 or more."),
        (["status", "-o", "xml"], "argument -o/--output: there is no 'xml' here, but table, "),
        (["status", "-o", "jsno"], "did you mean json?"),
        (["rollout", "strat"], "did you mean start?"),
    ],
)
def test_wrong_usage_is_one_line_and_one_more_with_the_way_to_the_help(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main.main(arguments)
    assert ended.value.code == ExitCode.USAGE
    sentence, way = capsys.readouterr().err.splitlines()
    assert sentence.startswith("seatrial: ")
    assert said in sentence
    assert re.fullmatch(r"See `seatrial[a-z ]* --help`\.", way)


@pytest.mark.parametrize(
    ("arguments", "way"),
    [
        (["rollout", "start", "--frob"], "seatrial rollout start --help"),
        (["rollout", "strat"], "seatrial rollout --help"),
        (["rollout", "approve", "spring", "lunch"], "seatrial rollout approve --help"),
        (["bundle", "diff", "stack", "--frob"], "seatrial bundle diff --help"),
        (["stauts"], "seatrial --help"),
    ],
)
def test_the_way_leads_to_the_help_of_whose_words_they_are(
    arguments: list[str], way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main.main(arguments)
    assert capsys.readouterr().err.endswith(f"\nSee `{way}`.\n")


def test_without_a_command_the_help_is_shown_and_the_code_says_it_was_wrong() -> None:
    answer = run()
    assert answer.returncode == ExitCode.USAGE
    assert answer.stdout == ""
    assert "commands:" in answer.stderr


# ── how a command ends ───────────────────────────────────────────────────────────────────────────────────────────────


def test_an_unexpected_exception_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise LookupError("no such\nthing")

    monkeypatch.setattr(demo, "run", fail)
    assert main.main(["demo"]) == ExitCode.ERROR
    assert capsys.readouterr().err == (
        "seatrial: unexpected LookupError: no such thing. This is a bug of seatrial; "
        "run again with --debug and report what it shows.\n"
    )
    with pytest.raises(LookupError):
        main.main(["demo", "--debug"])


def test_an_interrupt_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", fail)
    assert main.main(["demo"]) == 130
    assert capsys.readouterr().err == "seatrial: interrupted.\n"


@pytest.mark.parametrize("command", ["manifests", "demo"])
def test_a_reader_who_had_enough_is_no_error(command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as out:
        ended = subprocess.run(
            [sys.executable, "-m", "seatrial", command], stdout=out, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert ended.stderr == b""
    assert ended.returncode == ExitCode.OK


# ── commands without a cluster ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("part", "kinds"),
    [
        ("crd", {"CustomResourceDefinition"}),
        ("rbac", {"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}),
    ],
)
def test_manifests_are_whole_yaml_documents(part: str, kinds: set[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["manifests", part]) == ExitCode.OK
    text = capsys.readouterr().out
    assert {document["kind"] for document in yaml.safe_load_all(text)} == kinds
    main.main(["manifests"])
    assert next(yaml.safe_load_all(text)) in list(yaml.safe_load_all(capsys.readouterr().out))


def test_a_cluster_that_cannot_be_reached_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config"}), encoding="utf-8")
    assert main.main(["status", "--kubeconfig", str(path)]) == ExitCode.ERROR
    said = capsys.readouterr().err
    assert said.startswith("seatrial: ")
    assert len(said.splitlines()) == 1
    assert str(path) in said
