"""The command line: finds the command, imports it only then, and turns errors into one clear sentence and an exit code.

Tests: tests/cli/test_main.py
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from seatrial.cli.commands import COMMANDS, is_here, overview, parser_of
from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.parser import alike
from seatrial.core.errors import SeatrialError

COMPLETE: Final = "__complete"
"""What shells call, and nobody types; its name is the one that kubectl and its kin use."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == [COMPLETE]:
        from seatrial.cli.completing import call

        return call.run(given[1:])
    if not given or given[0].startswith("-"):
        parser = overview()
        parser.parse_args(given)  # --help and --version end here
        parser.print_help(sys.stderr)
        return ExitCode.USAGE
    named = given[0]
    if named not in COMMANDS:
        overview().error(f"there is no command {named!r}{alike(named, COMMANDS)}")
    if not is_here(COMMANDS[named]):
        overview().error(f"{named} comes with a package of its own: pip install 'seatrial[testbed]'")
    return _guarded(named, parser_of(named).parse_args(given[1:]))


def complete() -> int:
    """Answer the completion of kubectl, which runs `kubectl_complete-seatrial` with the words behind the plugin."""
    return main([COMPLETE, *sys.argv[1:]])


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
