"""What a person says to a rollout under way: pause, go on, yes, no, undo; shown, asked for, and written to its wish.

Tests: tests/cli/test_rollout_acts.py
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seatrial.app.errors import CalledWrongly
from seatrial.app.rollout import picking, wishing
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from seatrial.app.connecting import Cluster
    from seatrial.app.picture import Picture
    from seatrial.app.rollout.picking import Rollout, Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """What is printed, and whether somebody is asked."""

    is_dry_run: bool
    says_yes: bool
    output: str


def run(args: argparse.Namespace) -> int:
    """Pause, resume, approve or abort."""
    cluster = cluster_options.cluster_of(args)
    rollout = picking.meant(asyncio.run(picking.listed(cluster)), args.name)
    if args.what == "abort":
        return undo(cluster, rollout, args.reason, allows_done=False, says_yes=args.yes)
    wishes = {
        "pause": wishing.pause,
        "resume": wishing.resume,
        "approve": lambda each: wishing.approve(each, args.point),
    }
    return _change(cluster, rollout.name, wishes[args.what])


def _change(cluster: Cluster, name: str, wish: Callable[[Rollout], Wish]) -> int:
    _, wished = asyncio.run(picking.change(cluster, name, wish))
    print(wished.said)
    return ExitCode.OK


# ── undoing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def undo(cluster: Cluster, rollout: Rollout, why: str, *, allows_done: bool, says_yes: bool) -> int:
    """Show what an undo takes back, ask, and ask for it."""
    reason = wishing.reason_of(why)
    wishing.check_undo(rollout, allows_done=allows_done)
    if wishing.abort(rollout, reason).spec is not None:
        print("\n".join(wishing.what_is_undone(rollout)), file=sys.stderr)
        if not confirmed("Undo it?", says_yes=says_yes):
            print("seatrial: nothing was written.", file=sys.stderr)
            return ExitCode.ERROR
    return _change(cluster, rollout.name, lambda found: wishing.abort(found, reason))


def confirmed(question: str, *, says_yes: bool) -> bool:
    """Whether a person says yes; where nobody can be asked, -y has to say it."""
    if says_yes:
        return True
    if not sys.stdin.isatty():
        raise CalledWrongly("nobody can be asked here; add -y to go ahead.")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# ── promoting ────────────────────────────────────────────────────────────────────────────────────────────────────────


def promote(args: argparse.Namespace) -> int:
    """Say yes to the promotion; refused with the reason while the evidence is incomplete."""
    from seatrial.app.picture import picture_of
    from seatrial.cli.show.look import look

    cluster = cluster_options.cluster_of(args)
    rollout = picking.meant(asyncio.run(picking.listed(cluster)), args.name)
    wishing.check_campaign(rollout)
    args.rollout = rollout.name
    picture = picture_of(look(args))
    missing = why_not_promoted(picture) if picture is not None else "it has not begun"
    if picture is not None and picture.record.phase.value in ("Promoting", "Done"):
        print(f"{rollout.name} is promoted already ({picture.record.phase.value}).")
        return ExitCode.OK
    if missing:
        print(f"seatrial: {rollout.name} is not promoted: {missing}.", file=sys.stderr)
        return ExitCode.HELD
    return _change(cluster, rollout.name, lambda found: wishing.approve(found, "promotion"))


def why_not_promoted(picture: Picture) -> str:
    """What of the evidence is missing; empty when a yes is all that is."""
    from seatrial.core.holds import HoldCode
    from seatrial.core.model.campaign import RolloutPhase
    from seatrial.core.node.progress import Progress

    record = picture.record
    if record.phase in (RolloutPhase.REVERTING, RolloutPhase.REVERTED):
        return f"it is undone ({record.why or 'no reason was recorded'})"
    if record.phase is RolloutPhase.PAUSED:
        return f"it is paused; go on with `seatrial rollout resume {picture.name}`"
    if record.phase is RolloutPhase.WAVING and any(told.code == HoldCode.APPROVAL_PENDING for told in picture.told):
        return ""  # the only yes that is asked for while waves go is that to the promotion
    if record.phase is RolloutPhase.WAVING:
        left = picture.count(Progress.AWAY) + picture.count(Progress.MOVING)
        return f"wave {record.wave + 1} of {max(1, len(picture.wave_sizes))} is at work, {left} nodes are to come"
    reasons = [told.why for told in picture.told]
    return f"it is in {record.phase.value}" + (f": {'; '.join(reasons)}" if reasons else "")
