"""Print the completion of your shell: commands, options, files, and the names of your cluster.

As a plugin of kubectl nothing is to be done: kubectl's own completion asks `kubectl_complete-seatrial`.
"""

# Tests: tests/cli/test_completion.py, tests/cli/test_plugin_live.py

from __future__ import annotations

import argparse

from seatrial.cli.completing import scripts
from seatrial.cli.exit_codes import ExitCode

EXITS: tuple[ExitCode, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=list(scripts.SCRIPTS), help="which shell")


def run(args: argparse.Namespace) -> int:
    print(scripts.SCRIPTS[args.shell], end="")
    return ExitCode.OK
