"""The command line: finds the command, imports it only then, and turns errors into one clear sentence and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from seatrial import __version__
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.errors import SeatrialError

COMMANDS = {
    "demo": "watch an upgrade of 24 simulated nodes, one of them failing",
    "status": "show a rollout: who is where, who waits and why",
    "why": "say why a node is not moving, and what to do",
    "controller": "move the nodes of a rollout",
    "manifests": "print what seatrial needs in a cluster",
    "testbed": "run a real control plane with simulated kubelets on this machine",
}
"""Each is a module of this package with `add_arguments(parser)` and `run(args) -> int`."""


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors say what to do next."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(ExitCode.USAGE, f"seatrial: {message}. See `{self.prog} --help`.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = _overview()
    named = next((text for text in given if not text.startswith("-")), None)
    if named in COMMANDS:
        parser = _parser_of(named)
        given.remove(named)
    args = parser.parse_args(given)
    if named not in COMMANDS:
        if named is not None:
            parser.error(f"there is no command {named!r}")
        parser.print_help()
        return ExitCode.USAGE
    return _guarded(named, args)


def _guarded(named: str, args: argparse.Namespace) -> int:
    if args.debug:
        return int(import_module(f"seatrial.cli.{named}").run(args))
    try:
        return int(import_module(f"seatrial.cli.{named}").run(args))
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
        print(
            f"seatrial: unexpected {type(err).__name__}: {err}. This is a bug of seatrial; "
            "run again with --debug and report what it shows.",
            file=sys.stderr,
        )
        return ExitCode.ERROR


def _overview() -> argparse.ArgumentParser:
    lines = "\n".join(f"  {name:12} {text}" for name, text in COMMANDS.items())
    parser = _Parser(
        prog="seatrial",
        description="Upgrades the NVIDIA stack of a Kubernetes GPU cluster, one careful step at a time.",
        epilog=f"commands:\n{lines}\n\nSee `seatrial COMMAND --help`. Start with `seatrial demo`: it needs no cluster.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="seatrial [--version] COMMAND …",
    )
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"seatrial {__version__}")
    return parser


def _parser_of(named: str) -> argparse.ArgumentParser:
    module = import_module(f"seatrial.cli.{named}")
    parser = _Parser(
        prog=f"seatrial {named}",
        description=(module.__doc__ or "").strip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    module.add_arguments(parser)
    return parser
