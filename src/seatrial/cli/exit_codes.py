"""The exit codes of every command, one table. docs/reference/exit-codes.md is generated from it.

Tests: tests/cli/test_main.py
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a script can rely on."""

    OK = 0
    ERROR = 1
    USAGE = 2
    FINDINGS = 8
    DRIFT = 9
    GATE_FAILED = 10
    INCONCLUSIVE = 11
    HELD = 12
    TIMEOUT = 13


MEANINGS = {
    ExitCode.OK: "success",
    ExitCode.ERROR: "something went wrong; the message says what to do",
    ExitCode.USAGE: "the command was called wrongly",
    ExitCode.FINDINGS: "a check found something that fails, or a rollout ended without some of its nodes",
    ExitCode.DRIFT: "the cluster, or a bundle, is not what the matrix says",
    ExitCode.GATE_FAILED: "a validation gate failed, or a rollout was rolled back",
    ExitCode.INCONCLUSIVE: "nothing failed, but something is unknown or unaccepted",
    ExitCode.HELD: "waiting for somebody, paused, or no controller is in charge; the message says for what",
    ExitCode.TIMEOUT: "the time given was not enough",
}
