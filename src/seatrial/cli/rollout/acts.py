"""What a person says to a rollout under way: pause, go on, yes, no, undo; shown, asked for, and written to its wish.

Tests: tests/cli/test_rollout_live.py
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING

from seatrial.app.errors import CalledWrongly
from seatrial.cli import formats
from seatrial.cli import options as cluster_options
from seatrial.cli.exit_codes import ExitCode
from seatrial.core.base.values import dataclass
from seatrial.core.text.moments import moment

if TYPE_CHECKING:
    from collections.abc import Callable

    from seatrial.app.connecting import Cluster
    from seatrial.app.picking import Rollout, Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """What is printed, and whether somebody is asked."""

    is_dry_run: bool
    says_yes: bool
    output: str
    waits: bool = False
    """Whether it is watched to its end, which is the exit code then."""


def run(args: argparse.Namespace) -> int:
    """Pause, resume, approve or abort."""
    from seatrial.app import picking
    from seatrial.app.awaiting import finished
    from seatrial.app.rollout import wishing

    cluster = cluster_options.cluster_of(args)
    rollout = picking.meant(finished(picking.listed(cluster)), args.name)
    if args.what == "abort":
        return undo(cluster, rollout, args, allows_done=False)
    if args.what == "approve":
        return _change(cluster, rollout.name, lambda each: wishing.approve(each, args.point), args)
    if args.what == "resume":
        return _change(cluster, rollout.name, wishing.resume, args)
    reason = wishing.reason_of(args.reason) if args.reason else ""
    return _change(cluster, rollout.name, lambda each: wishing.pause(each, reason), args)


def _change(cluster: Cluster, name: str, wish: Callable[[Rollout], Wish], args: argparse.Namespace) -> int:
    """Write what is wished; what the controller has to do for it is requested until its status says that it is done."""
    from seatrial.app import picking
    from seatrial.app.awaiting import finished
    from seatrial.app.rollout import heeding
    from seatrial.app.rollout.attesting import who_am_i

    by, at = finished(who_am_i(cluster)), moment(time.time())
    changed, wished = finished(
        picking.change(cluster, name, lambda rollout: picking.signed(rollout, wish(rollout), by, at))
    )
    if wished.asks is None:
        return tell(changed, wished.said, args.output)
    seconds = heeding.WAIT_SECONDS if args.timeout is None else args.timeout
    found = finished(
        heeding.heeded(cluster, changed, wished.asks, is_new=wished.spec is not None, timeout_seconds=seconds)
    )
    if found.is_done:
        return tell(found.rollout, wished.said, args.output)
    tell(found.rollout, heeding.sentence(wished.asks, found, waited_seconds=seconds), args.output)
    if args.timeout is None:
        return ExitCode.OK  # what was asked for is written, and stays
    return ExitCode.HELD if found.unled else ExitCode.TIMEOUT


def tell(rollout: Rollout, said: str, output: str) -> int:
    """Print what was written, and what it means."""
    if formats.is_document(output):
        formats.print_document(rollout.raw, output)
    elif output == formats.NAME:
        formats.print_names(formats.ROLLOUT, [rollout.name])
    print(said, file=sys.stdout if output == formats.TABLE else sys.stderr)
    return ExitCode.OK


# ── undoing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def undo(cluster: Cluster, rollout: Rollout, args: argparse.Namespace, *, allows_done: bool) -> int:
    """Show what an undo takes back, ask, and ask for it."""
    from seatrial.app.rollout import wishing

    wishing.check_undo(rollout, allows_done=allows_done)
    if args.dry_run:
        return _undo_nothing(rollout, args)
    reason = wishing.reason_of(args.reason)
    if wishing.abort(rollout, reason, marks_bad=args.mark_bad).spec is not None:
        print("\n".join(wishing.what_is_undone(rollout, marks_bad=args.mark_bad)), file=sys.stderr)
        if not confirmed("Undo it?", says_yes=args.yes):
            print("seatrial: nothing was written.", file=sys.stderr)
            return ExitCode.ERROR
    wish = partial(wishing.abort, reason=reason, marks_bad=args.mark_bad)
    return _change(cluster, rollout.name, wish, args)


def _undo_nothing(rollout: Rollout, args: argparse.Namespace) -> int:
    """Say what an undo takes back, and what it writes in Git."""
    from seatrial.app.awaiting import finished
    from seatrial.app.rollout import reverting, starting, wishing

    wish = wishing.abort(rollout, args.reason, marks_bad=args.mark_bad)
    if wish.spec is None:
        print(wish.said)
        return ExitCode.OK
    in_git = reverting.in_git(rollout)
    print("\n".join(wishing.what_is_undone(rollout, marks_bad=args.mark_bad, in_git=in_git)))
    unled = finished(starting.unled(cluster_options.cluster_of(args), rollout.name))
    if unled is not None:
        print(f"It would begin when a controller runs: {unled.why}. {unled.next_step}")
    marks = " --mark-bad" if args.mark_bad else ""
    command = f"seatrial rollout {quote(args.what)} {quote(rollout.name)}{marks}"
    print(f"Nothing was written. Do it with `{command} --reason …`.")
    return ExitCode.OK


def confirmed(question: str, *, says_yes: bool) -> bool:
    """Whether a person says yes; where nobody can be asked, -y has to say it."""
    if says_yes:
        return True
    if not sys.stdin.isatty():
        raise CalledWrongly("this is not a terminal, so nobody can answer; add -y to go ahead.")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# ── promoting ────────────────────────────────────────────────────────────────────────────────────────────────────────


def promote(args: argparse.Namespace) -> int:
    """Say yes to the promotion; refused with the reason while the evidence is incomplete."""
    from seatrial.app import looking, picking, promoting
    from seatrial.app.awaiting import finished
    from seatrial.app.picture import picture_of
    from seatrial.app.rollout import wishing

    cluster = cluster_options.cluster_of(args)
    rollout = picking.meant(finished(picking.listed(cluster)), args.name)
    wishing.check_campaign(rollout)
    picture = picture_of(finished(looking.look(cluster, rollout.name)))
    missing = promoting.why_not(picture) if picture is not None else "it has not begun"
    if picture is not None and missing and picture.record.phase.value in ("Promoting", "Done"):
        return tell(rollout, f"{rollout.name} is already promoted ({picture.record.phase.value}).", args.output)
    if missing:
        print(f"seatrial: {rollout.name} is not promoted: {missing}.", file=sys.stderr)
        return ExitCode.HELD
    return _change(cluster, rollout.name, lambda found: wishing.approve(found, "promotion"), args)
