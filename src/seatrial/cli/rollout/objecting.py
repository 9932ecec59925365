"""What speaks against a start, said before anything is written: to one rollout, or to a chain of them.

Tests: tests/cli/test_rollout_start.py
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from seatrial.app.rollout import targeting
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from seatrial.app.errors import Objection
    from seatrial.app.rollout.check import Check
    from seatrial.app.rollout.targeting import RolloutTarget


def verdict(target: RolloutTarget, *, accepts_unknown: bool) -> ExitCode:
    """OK when a rollout may start; what is in the way is printed."""
    from seatrial.cli.matrix import report as paper

    if target.is_doubtful and not target.bad:
        print(paper.as_table(target.report, is_coloured=False, shows_all=False), end="", file=sys.stderr)
    return object_to(targeting.objection(target, accepts_unknown=accepts_unknown))


def object_to(objection: Objection | None) -> ExitCode:
    """Say why nothing is started; OK where there is no reason."""
    if objection is None:
        return ExitCode.OK
    print(f"seatrial: {objection.says}", file=sys.stderr)
    return ExitCode.INCONCLUSIVE if objection.is_unknown else ExitCode.FINDINGS


def refuse(failed: tuple[Check, ...]) -> ExitCode:
    """Say which checks before the start fail, and that nothing was written."""
    for each in failed:
        print(f"seatrial: {each.line}", file=sys.stderr)
    print("seatrial: nothing was written.", file=sys.stderr)
    return ExitCode.FINDINGS
