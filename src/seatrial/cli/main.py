"""The command line: finds the command, imports it only then, and turns errors into one clear sentence and an exit code.

Tests: tests/cli/test_main.py
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Final, NoReturn

from seatrial import __version__
from seatrial.cli.exit_codes import MEANINGS, ExitCode
from seatrial.core.errors import SeatrialError

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
    "node": Command("seatrial.cli.show.node", "list nodes, look at one, retry it, leave it out"),
    "controller": Command("seatrial.cli.run.controller", "move the nodes of a rollout"),
    "pace": Command("seatrial.cli.run.pace", "wake NVIDIA's own upgrade controller as soon as it has something to see"),
    "replay": Command("seatrial.cli.run.replay", "decide recorded journals anew, and show the first difference"),
    "snapshot": Command("seatrial.cli.show.snapshot", "print everything that is seen of the cluster, for a file"),
    "manifests": Command("seatrial.cli.run.manifests", "print what seatrial needs in a cluster"),
    "uninstall": Command("seatrial.cli.run.uninstall", "take off the cluster what seatrial has put there"),
    "testbed": Command("seatrial_lab.command", "run a real control plane with simulated kubelets on this machine"),
}


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors say what to do next."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        end = "" if message.endswith("?") else "."
        self.exit(ExitCode.USAGE, f"seatrial: {message}{end} See `{self.prog} --help`.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0].startswith("-"):
        parser = _overview()
        parser.parse_args(given)  # --help and --version end here
        parser.print_help(sys.stderr)
        return ExitCode.USAGE
    named = given[0]
    if named not in COMMANDS:
        _overview().error(f"there is no command {named!r}{_alike(named)}")
    if not _is_here(COMMANDS[named]):
        _overview().error(f"{named} comes with a package of its own: pip install 'seatrial[testbed]'")
    return _guarded(named, _parser_of(named).parse_args(given[1:]))


def _is_here(command: Command) -> bool:
    """Whether a command is installed: those of the laboratory need not be."""
    return not command.module.startswith(LAB) or find_spec(LAB) is not None


def _alike(named: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(named, COMMANDS, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _guarded(named: str, args: argparse.Namespace) -> int:
    if args.debug:
        return _run(named, args)
    try:
        return _run(named, args)
    except SeatrialError as err:
        print(f"seatrial: {err}", file=sys.stderr)
        return ExitCode.ERROR
    except KeyboardInterrupt:
        print("seatrial: interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader had enough; say nothing more
        return ExitCode.OK
    except Exception as err:  # noqa: BLE001  the last line of defence: a sentence instead of a traceback
        what = " ".join(f"{type(err).__name__}: {err}".split())
        print(
            f"seatrial: unexpected {what}. This is a bug of seatrial; run again with --debug and report what it shows.",
            file=sys.stderr,
        )
        return ExitCode.ERROR


def _run(named: str, args: argparse.Namespace) -> int:
    code = int(import_module(COMMANDS[named].module).run(args))
    sys.stdout.flush()  # here, where a closed pipe is met with grace, and not while the interpreter ends
    return code


def _overview() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {name:12} {each.text}" for name, each in COMMANDS.items() if _is_here(each))
    parser = _Parser(
        prog="seatrial",
        description="Upgrades the NVIDIA stack of a Kubernetes GPU cluster, one careful step at a time.",
        epilog=f"commands:\n{lines}\n\nSee `seatrial COMMAND --help`. Start with `seatrial demo`: it needs no cluster.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="seatrial [--version] COMMAND …",
    )
    parser.add_argument("--version", action="version", version=f"seatrial {__version__}")
    return parser


def _parser_of(named: str) -> argparse.ArgumentParser:
    module = import_module(COMMANDS[named].module)
    parser = _Parser(
        prog=f"seatrial {named}",
        description=(module.__doc__ or "").strip(),
        epilog=_exits((ExitCode.OK, ExitCode.ERROR, ExitCode.USAGE, *module.EXITS)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    module.add_arguments(parser)
    return parser


def _exits(codes: Sequence[ExitCode]) -> str:
    return "\n".join(["exit codes:", *(f"  {code:<4} {MEANINGS[code]}" for code in codes)])
