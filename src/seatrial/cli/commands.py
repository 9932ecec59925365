"""The commands, and the parser of each, built only when it is asked for.

Tests: tests/cli/test_main.py, tests/cli/test_options.py
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from seatrial import __version__
from seatrial.cli.examples import EXAMPLES
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.parser import Parser, rarely
from seatrial.core.base.values import dataclass

LAB: Final = "seatrial_lab"
"""The laboratory, a distribution of its own."""


@dataclass(frozen=True, slots=True)
class Command:
    """A module with `add_arguments(parser)`, `run(args) -> int` and its further `EXITS`."""

    module: str
    text: str


COMMANDS: Final = {
    "init": Command("seatrial.cli.matrix.init", "write a version matrix to start from"),
    "matrix": Command("seatrial.cli.matrix.matrix", "show, compare or change a version matrix"),
    "check": Command("seatrial.cli.matrix.check", "say whether versions work together, and who says so"),
    "facts": Command("seatrial.cli.matrix.facts", "look up what is known about versions, and add to it"),
    "plan": Command("seatrial.cli.matrix.plan", "show the steps from what runs to what is wanted"),
    "bundle": Command("seatrial.cli.matrix.bundle", "write a stack as files for Helm or a GitOps engine"),
    "forecast": Command("seatrial.cli.run.forecast", "say how long an upgrade takes, and what capacity it costs"),
    "demo": Command("seatrial.cli.run.demo", "watch upgrades of 24 simulated nodes; needs no cluster"),
    "rollout": Command("seatrial.cli.rollout.rollout", "start a rollout, look at it, pause, approve or undo it"),
    "status": Command("seatrial.cli.show.status", "show a rollout: where it stands, who waits and why"),
    "why": Command("seatrial.cli.show.why", "say why a node or a rollout is not moving, and what to do"),
    "gates": Command("seatrial.cli.gates.gates", "test a node, or look at what a rollout's gates said"),
    "bake": Command("seatrial.cli.gates.bake", "say what the bake of a rollout proves so far"),
    "report": Command("seatrial.cli.show.report.report", "write down what a rollout was: when, why, who, at what cost"),
    "audit": Command("seatrial.cli.survey.audit", "say which versions really run, and what is wrong"),
    "doctor": Command("seatrial.cli.survey.doctor", "say why GPUs of a node cannot be used, and what to do"),
    "node": Command("seatrial.cli.show.node", "list nodes, look at one, retry or skip it"),
    "controller": Command("seatrial.cli.run.controller", "run the controller, which moves the nodes of a rollout"),
    "pace": Command("seatrial.cli.run.pace", "wake NVIDIA's own upgrade controller early"),
    "dra": Command("seatrial.cli.run.dra", "find DRA plugins older than their driver, and restart them"),
    "driver-manager": Command(
        "seatrial.cli.run.driver_manager", "take the old driver off a node, in its init container"
    ),
    "replay": Command("seatrial.cli.run.replay", "decide recorded journals again, and compare"),
    "snapshot": Command("seatrial.cli.survey.snapshot", "write the cluster into a file, without its secrets"),
    "manifests": Command("seatrial.cli.run.manifests", "print what seatrial needs in a cluster"),
    "uninstall": Command("seatrial.cli.run.uninstall", "remove what seatrial has put on the cluster"),
    "completion": Command("seatrial.cli.completing.completion", "print the completion for your shell"),
    "testbed": Command("seatrial_lab.command", "run a real control plane with simulated nodes here"),
}


def is_here(command: Command) -> bool:
    """Whether a command is installed: those of the laboratory need not be."""
    return not command.module.startswith(LAB) or find_spec(LAB) is not None


def overview() -> Parser:
    """What is parsed where no command is named."""
    lines = "\n".join(f"  {name:15} {each.text}" for name, each in COMMANDS.items() if is_here(each))
    parser = Parser(
        prog="seatrial",
        description="Upgrades the NVIDIA stack of a Kubernetes GPU cluster, one careful step at a time.",
        epilog=f"commands:\n{lines}\n\n`seatrial COMMAND --help` says more about each.",
        usage="seatrial COMMAND …",
    )
    parser.add_argument("--version", action="version", version=f"seatrial {__version__}", help="print the version")
    parser.examples = EXAMPLES[""]
    return parser


def parser_of(named: str) -> Parser:
    """What parses the words behind a command."""
    module = import_module(COMMANDS[named].module)
    parser = Parser(
        prog=f"seatrial {named}",
        description=(module.__doc__ or "").strip(),
    )
    module.add_arguments(parser)
    rarely(parser).add_argument("--debug", action="store_true", help="show tracebacks")
    _describe(parser, named, (ExitCode.OK, ExitCode.ERROR, ExitCode.USAGE, *module.EXITS))
    return parser


def _describe(parser: Parser, name: str, exits: Sequence[ExitCode]) -> None:
    """Give a command and its subcommands their examples and exit codes; a subcommand begins with what it does, too."""
    parser.examples, parser.exits = EXAMPLES.get(name, ()), exits
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action._choices_actions:
                below, text = action.choices[each.dest], each.help or ""
                below.description = below.description or f"{text[:1].upper()}{text[1:]}."
                _describe(below, f"{name} {each.dest}", exits)
