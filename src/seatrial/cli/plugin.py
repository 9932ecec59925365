"""What kubectl starts: `kubectl seatrial …` runs `kubectl-seatrial`, and its completion `kubectl_complete-seatrial`.

kubectl finds both on the PATH, and so does oc. Tests: tests/cli/test_program.py, tests/cli/test_plugin_live.py
"""

from __future__ import annotations

import sys

from seatrial.cli import program
from seatrial.cli.main import COMPLETE, main


def plugin() -> int:
    """Run one command for kubectl."""
    return main(program=program.PLUGIN)


def complete() -> int:
    """Say how the last word can go on, as kubectl asks for it."""
    return main([COMPLETE, *sys.argv[1:]])
