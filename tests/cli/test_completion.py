"""Completion: every word can go on with what its parser takes, at little cost, in a real bash."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.cli import commands, main
from seatrial.cli.completing import call, scripts, values
from seatrial.cli.completing.values import Directive
from tests.cli import prompt

ENVIRON = {"HOME": "/nowhere"}


def words_of(*words: str) -> list[str]:
    return [each.word for each in call.answer(words, ENVIRON)[0]]


# ── what is offered ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ro"], ["rollout"]),
        (["--v"], ["--version"]),
        (["rollout", "st"], ["start"]),
        (["rollout", "approve", "spring", ""], ["canary", "waves", "promotion", "rollback"]),
        (["status", "--wat"], ["--watch", "--watch-only"]),
        (["status", "--watch", "--wat"], ["--watch-only"]),  # once is enough
        (["rollout", "get", "--watch-"], ["--watch-only"]),
        (["node", "get", "--watch-"], ["--watch-only"]),
        (["check", "--rules", "a", "--rul"], ["--rules"]),  # can be given again
        (["check", "-o", "s"], ["sarif"]),
        (["check", "--output", "s"], ["sarif"]),
        (["check", "--output=s"], ["sarif"]),
        (
            ["check", "--outp", "s"],
            ["sarif"],
        ),  # the parser takes no option that is only begun; here it says what is meant
        (["check", "-os", "--stri"], ["--strict"]),
        (["node", "get", "--state", "upgrade-f"], ["upgrade-failed"]),
        (["rollout", "observed", "firmware_cx"], ["firmware_cx7", "firmware_cx6", "firmware_cx8"]),
        (["matrix", "set", "pro"], ["production"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["frobnicate", ""], []),
        (["rollout", "frobnicate", ""], ["--help", "--help-all", "--debug"]),
        (["replay", "one", "--out"], ["--output"]),
        (["manifests", "--", "--cr"], []),
    ],
)
def test_a_word_goes_on_with_what_its_parser_takes(words: list[str], offered: list[str]) -> None:
    assert words_of(*words) == offered


@pytest.mark.parametrize(
    ("words", "directive"),
    [
        (["check", ""], Directive.FILES),
        (["check", "--rules", ""], Directive.FILES),
        (["replay", "one.journal", ""], Directive.FILES),
        (["init", ""], Directive.FOLDERS),
        (["facts", "list", "--dir="], Directive.FOLDERS),
        (["status", "-o", ""], Directive.NO_FILES),
        (["check", "--base", ""], Directive.NO_FILES),
    ],
)
def test_paths_are_left_to_the_shell(words: list[str], directive: Directive) -> None:
    assert call.answer(words, ENVIRON)[1] is directive


def test_contexts_are_those_of_the_kubeconfig_that_was_named_before(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(
        "contexts:\n- {name: east, context: {cluster: one, user: me}}\n- {name: west, context: {cluster: two}}\n"
    )
    found, _ = call.answer(["status", "--kubeconfig", str(path), "--context", ""], ENVIRON)
    assert found == [("east", "cluster one"), ("west", "cluster two")]
    assert words_of("status", f"--kubeconfig={path}", "--context=w") == ["west"]


def test_where_nothing_can_be_found_out_nothing_is_offered_and_nothing_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", ENVIRON)
    assert main.main([main.COMPLETE, "why", ""]) == 0
    assert capsys.readouterr() == (":4\n", "")


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from _arguments(below)
        elif action.nargs != 0 and action.choices is None:
            yield action


FREE = {
    # what only the person knows, or what is new
    *("NAME", "GATE", "TEXT", "URL", "URL@COMMIT", "REV", "B", "P", "PATH", "COMMIT", "SHA"),
    *("DEPLOYMENT", "POOL", "PREFIX"),
    *(
        "PREFIX=DIR",
        "KIND:PREFIX=DIR",
        "SERVER=FILE",
        "NAME=IMAGE",
        "NAMESPACE/CONFIGMAP",
        "RELEASE=FILE",
        "IMAGE",
        "K=V",
        "SELECTOR",
        "LABEL",
        "HOST:PORT",
        "ZONE",
        "SHA256:…",
        "POINT,…",
        "MATCHERS",
        "RESOURCE=AMOUNT",
        "KIND/NAMESPACE/NAME",
        "'SAT 22:00-04:00'",
        "6H,24H,…",
        "N%",
    ),
    # versions and days
    *("V", "VERSION", "DRIVER", "DATE", "YYYY-MM-DD"),
    # numbers and spans
    *(
        "N",
        "N,N,…",
        "N|N%",
        "5%",
        "SHARE",
        "TIME",
        "SECONDS",
        "SEED",
        "NODES",
        "REAL_NODES",
        "RELOAD_SECONDS",
    ),
    *("48H", "24H", "1H", "30M", "3H", "15M", "60S", "3%", "99%"),
}
"""What nobody can list. A new word belongs here, or into the tables of values.py."""


@pytest.mark.parametrize("command", commands.COMMANDS)
def test_every_argument_is_looked_up_or_cannot_be(command: str) -> None:
    kinds = {str(action.metavar or action.dest).upper() for action in _arguments(commands.parser_of(command))}
    assert kinds - FREE - values.FINDERS.keys() - values.PATHS.keys() == set()


# ── what it costs ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("command", commands.COMMANDS)
def test_nothing_heavy_is_loaded_to_complete_a_command(command: str) -> None:
    heavy = ["aiohttp", "msgspec", "rich", "yaml", "asyncio", "ssl"]
    code = (
        "import sys\n"
        "from seatrial.cli.main import main\n"
        f"main(['__complete', {command!r}, '--'])\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "--help\t" in answer.stdout
    assert answer.stdout.splitlines()[-1] == "[]"


# ── a real bash ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("shell", scripts.SCRIPTS)
def test_a_script_is_printed_for_every_shell(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["completion", shell]) == 0
    assert "seatrial __complete" in capsys.readouterr().out


def test_bash_completes_at_its_prompt(tmp_path: Path) -> None:
    (tmp_path / "a folder").mkdir()
    (tmp_path / "versions.yaml").write_text("")
    env = prompt.environment(tmp_path, PS1=f"{prompt.READY}> ", HISTFILE="/dev/null")
    with prompt.prompt(["/bin/bash", "--norc", "--noprofile", "-i"], env) as bash:
        bash.until(prompt.READY)
        bash.type(f"cd {tmp_path}; bind 'set enable-bracketed-paste off'; source <(seatrial completion bash)\n")
        bash.until(f"\n{prompt.READY}> $")
        for typed, seen in (
            ("seatrial rollout rollb\t", r"seatrial rollout rollback $"),
            ("seatrial rollout pr\t", r"seatrial rollout promote $"),
            ("seatrial check --output=sa\t", r"--output=sarif $"),
            ("seatrial check -o ju\t", r"-o junit $"),
            ("seatrial check ver\t", r"check versions\.yaml $"),
            ("seatrial init a\t", r"init a\\ folder/$"),
        ):
            bash.type(typed)
            bash.until(seen)
            bash.type("\x15")  # forget the line


def test_bash_offers_no_files_where_none_are_meant(tmp_path: Path) -> None:
    (tmp_path / "versions.yaml").write_text("")
    asked = (
        "source <(seatrial completion bash); complete -p seatrial;"
        "COMP_WORDS=(seatrial rollout approve v ''); COMP_CWORD=4; __seatrial_complete;"
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    answer = subprocess.run(
        ["/bin/bash", "--norc", "-c", asked],
        env=prompt.environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert answer.stdout.splitlines() == [
        "complete -o default -F __seatrial_complete seatrial",
        *("canary", "waves", "promotion", "rollback"),
    ]
