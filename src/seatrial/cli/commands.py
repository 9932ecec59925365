"""The commands, and the parser of each, built only when it is asked for.

Tests: tests/cli/test_main.py, tests/cli/test_options.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from seatrial import __version__
from seatrial.cli import program as programs
from seatrial.cli.exit_codes import MEANINGS, ExitCode
from seatrial.cli.parsing import Parser

LAB: Final = "seatrial_lab"
"""The laboratory, a distribution of its own."""


@dataclass(frozen=True, slots=True)
class Command:
    """A module with `add_arguments(parser)`, `run(args) -> int` and its further `EXITS`."""

    module: str
    text: str


COMMANDS: Final = {
    "init": Command("seatrial.cli.matrix.init", "write a commented version matrix to begin with"),
    "matrix": Command("seatrial.cli.matrix.matrix", "look at a version matrix, compare two, or change one"),
    "check": Command(
        "seatrial.cli.matrix.check", "say whether the stacks of a version matrix can work, why, and who says so"
    ),
    "facts": Command("seatrial.cli.matrix.facts", "look into the knowledge base, and add to it"),
    "plan": Command(
        "seatrial.cli.matrix.plan", "show the ordered steps from what runs to what is wanted, or which rules fight"
    ),
    "bundle": Command("seatrial.cli.matrix.bundle", "write the stack of an entry as files for whoever deploys it"),
    "forecast": Command(
        "seatrial.cli.run.forecast",
        "say what an upgrade will cost: duration against capacity, and which limits to take",
    ),
    "demo": Command("seatrial.cli.run.demo", "watch an upgrade of 24 simulated nodes, one of them failing"),
    "rollout": Command(
        "seatrial.cli.rollout.rollout", "start a careful rollout, look at it, pause, approve, promote or undo it"
    ),
    "rollback": Command("seatrial.cli.rollout.rollback", "undo the last rollout, one that is done too"),
    "history": Command("seatrial.cli.show.history", "show what rollouts did, phase by phase"),
    "status": Command("seatrial.cli.show.status", "show a rollout: who is where, who waits and why"),
    "why": Command("seatrial.cli.show.why", "say why a node or a rollout is not moving, and what to do"),
    "gates": Command("seatrial.cli.gates.gates", "validate a node, or look at what a rollout's gates have said"),
    "bake": Command("seatrial.cli.gates.bake", "say what the bake of a rollout proves so far, and what it does not"),
    "audit": Command(
        "seatrial.cli.survey.audit", "say which versions really run, where that was read, and what is wrong"
    ),
    "doctor": Command("seatrial.cli.survey.doctor", "say why GPUs of a node cannot be used, and what to do"),
    "node": Command("seatrial.cli.show.node", "list nodes, look at one, retry it, leave it out"),
    "controller": Command("seatrial.cli.run.controller", "move the nodes of a rollout"),
    "pace": Command("seatrial.cli.run.pace", "wake NVIDIA's own upgrade controller as soon as it has something to see"),
    "dra": Command("seatrial.cli.run.dra", "say whose DRA plugin outlived a driver, and restart those plugins"),
    "replay": Command("seatrial.cli.run.replay", "decide recorded journals anew, and show the first difference"),
    "snapshot": Command("seatrial.cli.survey.snapshot", "write the cluster into a file, without its secrets"),
    "manifests": Command("seatrial.cli.run.manifests", "print what seatrial needs in a cluster"),
    "uninstall": Command("seatrial.cli.run.uninstall", "take off the cluster what seatrial has put there"),
    "completion": Command("seatrial.cli.completing.completion", "print what completes these commands in your shell"),
    "testbed": Command("seatrial_lab.command", "run a real control plane with simulated kubelets on this machine"),
}


def is_here(command: Command) -> bool:
    """Whether a command is installed: those of the laboratory need not be."""
    return not command.module.startswith(LAB) or find_spec(LAB) is not None


def overview(program: str = programs.SEATRIAL) -> Parser:
    """What is parsed where no command is named."""
    lines = "\n".join(f"  {name:12} {each.text}" for name, each in COMMANDS.items() if is_here(each))
    parser = Parser(
        prog=program,
        description="Upgrades the NVIDIA stack of a Kubernetes GPU cluster, one careful step at a time.",
        epilog=f"commands:\n{lines}\n\nSee `seatrial COMMAND --help`. Start with `seatrial demo`: it needs no cluster.",
        usage=f"{program} [--version] COMMAND …",
    )
    parser.add_argument("--version", action="version", version=f"seatrial {__version__}", help="print the version")
    return parser


def parser_of(named: str, program: str = programs.SEATRIAL) -> Parser:
    """What parses the words behind a command."""
    module = import_module(COMMANDS[named].module)
    parser = Parser(
        prog=f"{program} {named}",
        description=(module.__doc__ or "").strip(),
        epilog=_exits((ExitCode.OK, ExitCode.ERROR, ExitCode.USAGE, *module.EXITS)),
    )
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    module.add_arguments(parser)
    _describe(parser)
    return parser


def _describe(parser: argparse.ArgumentParser) -> None:
    """Let the help of a subcommand begin with what it does, as that of a command does."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action._choices_actions:
                below, text = action.choices[each.dest], each.help or ""
                below.description = below.description or f"{text[:1].upper()}{text[1:]}."


def _exits(codes: Sequence[ExitCode]) -> str:
    return "\n".join(["exit codes:", *(f"  {code:<4} {MEANINGS[code]}" for code in codes)])
