"""What a person says to a rollout under way: pause, go on, yes, no, undo. Thin writes to its wish, nothing else.

Law of this file: a command that would change nothing says so and writes nothing; one that makes no sense now is refused
with what would. Everything that follows is the controller's doing. Tests: tests/cli/test_rollout_acts.py
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from seatrial.cli.exit_codes import ExitCode
from seatrial.cli.rollout import pick as rollout_pick
from seatrial.cli.rollout.pick import Rollout, Wish
from seatrial.cli.rollout.spec import CalledWrongly
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial.cli.show.picture import Picture

WATCH = "`seatrial rollout status {name} -w` shows it."
REASON_MAX = 300


class RolloutRefused(SeatrialError):  # noqa: N818  a refusal about a name, in the trade's words
    """What was asked makes no sense for that rollout."""


def run(args: argparse.Namespace) -> int:
    """Pause, resume, approve or abort."""
    rollout = rollout_pick.meant(rollout_pick.listed(args), args.name)
    if args.what == "abort":
        return undo(args, rollout, allows_done=False)
    wishes = {
        "pause": pause,
        "resume": resume,
        "approve": lambda each: approve(each, args.point),
    }
    _, wish = rollout_pick.change(args, rollout.name, wishes[args.what])
    print(wish.said)
    return ExitCode.OK


# ── wishes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def pause(rollout: Rollout) -> Wish:
    """Freeze everything where it is."""
    if rollout.is_ended:
        raise RolloutRefused(f"{rollout.name} has ended ({rollout.phase}); there is nothing to pause.")
    if rollout.spec.get("paused"):
        return Wish(said=f"{rollout.name} is paused already.")
    return Wish(
        said=f"{rollout.name} is paused: every node keeps its place, and nothing is forgotten. "
        f"Go on with `seatrial rollout resume {rollout.name}`.",
        spec={"paused": True},
    )


def resume(rollout: Rollout) -> Wish:
    """Go on where it was."""
    if not rollout.spec.get("paused"):
        return Wish(said=f"{rollout.name} is not paused.")
    where = rollout.campaign.get("pausedIn")
    at = f" in {where}" if where else ""
    return Wish(said=f"{rollout.name} goes on{at}. {WATCH.format(name=rollout.name)}", spec={"paused": False})


def approve(rollout: Rollout, point: str) -> Wish:
    """Say yes at a point where a person has to."""
    _check_campaign(rollout)
    approvals: dict[str, Any] = rollout.spec.get("approvals") or {}
    approved: list[str] = list(approvals.get("approved") or ())
    if rollout.is_ended:
        raise RolloutRefused(f"{rollout.name} has ended ({rollout.phase}); there is nothing to approve.")
    if point in approved:
        return Wish(said=f"{rollout.name}: {point} is approved already.")
    asks = approvals.get("manual") or ()
    unasked = "" if point in asks else f" It would not have asked: {point} is not among its manual points."
    return Wish(
        said=f"{rollout.name}: {point} is approved.{unasked} {WATCH.format(name=rollout.name)}",
        spec={"approvals": {"approved": [*approved, point]}},
    )


def abort(rollout: Rollout, reason: str) -> Wish:
    """Have everything undone."""
    _check_campaign(rollout)
    before = rollout.spec.get("abort")
    if rollout.phase == "Reverted":
        return Wish(said=f"{rollout.name} is undone already.")
    if before:
        return Wish(said=f"{rollout.name} is being undone already: {before}. {WATCH.format(name=rollout.name)}")
    # Paused, it would wait for ever with the undo asked for.
    paused = {"paused": False} if rollout.spec.get("paused") else {}
    goes_on = " Its pause ends with that." if paused else ""
    return Wish(
        said=f"{rollout.name} is being undone.{goes_on} {WATCH.format(name=rollout.name)}",
        spec={"abort": reason, **paused},
    )


def _check_campaign(rollout: Rollout) -> None:
    if not rollout.is_campaign:
        raise RolloutRefused(
            f"{rollout.name} moves nodes only: it has no canary, asks nobody and publishes nothing. "
            "Undo it by publishing the old version, and a rollout to it."
        )


# ── undoing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def undo(args: argparse.Namespace, rollout: Rollout, *, allows_done: bool) -> int:
    """Show what an undo takes back, ask, and ask for it."""
    reason = " ".join(args.reason.split())
    if not reason or len(reason) > REASON_MAX:
        raise CalledWrongly(f"--reason has to say why, in at most {REASON_MAX} characters: it goes into the matrix.")
    if rollout.phase == "Done" and not allows_done:
        raise RolloutRefused(
            f"{rollout.name} is done. To undo it all the same: `seatrial rollback {rollout.name} --reason …`."
        )
    wish = abort(rollout, reason)
    if wish.spec is not None:
        print("\n".join(what_is_undone(rollout)), file=sys.stderr)
        if not confirmed(args, "Undo it?"):
            print("seatrial: nothing was written.", file=sys.stderr)
            return ExitCode.ERROR
    _, wish = rollout_pick.change(args, rollout.name, lambda found: abort(found, reason))
    print(wish.said)
    return ExitCode.OK


def what_is_undone(rollout: Rollout) -> list[str]:
    """What an undo takes back, for a person who is asked."""
    campaign, spec = rollout.campaign, rollout.spec
    if not campaign or rollout.phase == "Proposed":
        return [f"{rollout.name} has not begun: it ends, and nothing has to be taken back."]
    counts = rollout.status.get("counts") or {}
    done = counts.get("upgrade-done", 0)
    step = spec.get("byHand")
    if step:
        back = next((each["version"] for each in campaign.get("baseline") or ()), "what was there before")
        way = "no way back is known, and you are asked whether it stays" if step.get("oneWay") else f"back to {back}"
        return [
            f"Undoing {rollout.name} ({rollout.phase}, to {step['component']} {step['version']}) means:",
            f"  people put it back on every node that has it: {way}",
        ]
    lines = [f"Undoing {rollout.name} ({rollout.phase}, to driver {rollout.target}) means:"]
    lines += [f"  {each['resource']} carries {each['version']} again" for each in campaign.get("baseline") or ()]
    via = (spec.get("publish") or {}).get("via") or "direct"
    if via == "git":
        lines.append("  its commits are reverted by one commit, and no others")
    if done:
        lines.append(f"  nodes that were touched go back, with the same care and limits ({done} are done now)")
    else:
        lines.append("  nodes that were touched go back, with the same care and limits")
    if (spec.get("matrix") or {}).get("entry"):
        lines.append(f"  entry {spec['matrix']['entry']} of the matrix is marked bad, with the reason")
    return lines


def confirmed(args: argparse.Namespace, question: str) -> bool:
    """Whether a person says yes; where nobody can be asked, -y has to say it."""
    if args.yes:
        return True
    if not sys.stdin.isatty():
        raise CalledWrongly("nobody can be asked here; add -y to go ahead.")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# ── promoting ────────────────────────────────────────────────────────────────────────────────────────────────────────


def promote(args: argparse.Namespace) -> int:
    """Say yes to the promotion; refused with the reason while the evidence is incomplete."""
    from seatrial.cli.show.look import look
    from seatrial.cli.show.picture import picture_of

    rollout = rollout_pick.meant(rollout_pick.listed(args), args.name)
    _check_campaign(rollout)
    args.rollout = rollout.name
    picture = picture_of(look(args))
    missing = why_not_promoted(picture) if picture is not None else "it has not begun"
    if picture is not None and picture.record.phase.value in ("Promoting", "Done"):
        print(f"{rollout.name} is promoted already ({picture.record.phase.value}).")
        return ExitCode.OK
    if missing:
        print(f"seatrial: {rollout.name} is not promoted: {missing}.", file=sys.stderr)
        return ExitCode.HELD
    _, wish = rollout_pick.change(args, rollout.name, lambda found: approve(found, "promotion"))
    print(wish.said)
    return ExitCode.OK


def why_not_promoted(picture: Picture) -> str:
    """What of the evidence is missing; empty when a yes is all that is."""
    from seatrial.core.holds import HoldCode
    from seatrial.core.model.campaign import RolloutPhase
    from seatrial.core.node.progress import Standing
    from seatrial.core.words import explain

    record = picture.record
    if record.phase in (RolloutPhase.REVERTING, RolloutPhase.REVERTED):
        return f"it is undone ({record.why or 'no reason was recorded'})"
    if record.phase is RolloutPhase.PAUSED:
        return f"it is paused; go on with `seatrial rollout resume {picture.name}`"
    if any(held.code is HoldCode.APPROVAL_PENDING and ("point", "promotion") in held.params for held in picture.holds):
        return ""
    if record.phase is RolloutPhase.WAVING:
        left = picture.count(Standing.AWAY) + picture.count(Standing.MOVING)
        return f"wave {record.wave + 1} of {max(1, len(picture.wave_sizes))} is at work, {left} nodes are to come"
    reasons = [explain.why(held) for held in picture.holds]
    return f"it is in {record.phase.value}" + (f": {'; '.join(reasons)}" if reasons else "")
