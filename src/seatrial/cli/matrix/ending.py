"""How a command about the matrix ends whose refusals have exit codes of their own. Tests: tests/cli/test_bundle.py"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from seatrial.cli.exit_codes import ExitCode
from seatrial.core.errors import SeatrialError


def ended(
    command: Callable[[argparse.Namespace], int],
    args: argparse.Namespace,
    exit_of: Callable[[SeatrialError], ExitCode],
) -> int:
    """Run a command; a refusal with a code of its own is told here, any other by whoever called us."""
    try:
        return command(args)
    except SeatrialError as err:
        code = exit_of(err)
        if code is ExitCode.ERROR:
            raise
        print(f"seatrial: {err}", file=sys.stderr)
        return code
