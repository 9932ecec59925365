"""What a person may say to a rollout under way: pause, go on, yes, undo. Thin changes to its wish, nothing else.

Law of this file: a wish that would change nothing says so; one that makes no sense now is refused with what would.
Everything that follows is the controller's doing. Tests: tests/app/rollout/test_wishing.py
"""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from seatrial.app.errors import CalledWrongly
from seatrial.app.picking import Asked, Rollout, Wish
from seatrial.core.campaign.course import WAY_FORWARD
from seatrial.core.errors import SeatrialError
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.text import foreign
from seatrial.core.text.commands import filled

if TYPE_CHECKING:
    from seatrial.app.rollout.reverting import Reverted

WATCH: Final = "`seatrial status {name} -w` shows it."
REASON_MAX: Final = 300
OPENS: Final = {"canary": RolloutPhase.CANARY, "waves": RolloutPhase.WAVING}
"""The phase that each approval opens; in it, and after it, there is nothing left to approve."""


class RolloutRefused(SeatrialError):  # noqa: N818  a refusal about a name, in the trade's words
    """What was asked makes no sense for that rollout."""


def pause(rollout: Rollout, reason: str = "") -> Wish:
    """Freeze everything where it is."""
    if rollout.is_ended:
        raise RolloutRefused(f"{rollout.name} has ended ({rollout.phase}); there is nothing to pause.")
    is_asked = bool(rollout.spec.get("paused"))
    if is_asked and reason in ("", rollout.spec.get("pausedBecause")):
        return Wish(said=f"{rollout.name} is already paused.", asks=Asked.PAUSE)
    return Wish(
        said=f"{rollout.name} is paused: every node keeps its place, and a cordoned one stays cordoned. "
        f"Continue with `seatrial rollout resume {quote(rollout.name)}`.",
        spec={"paused": True, **({"pausedBecause": reason} if reason else {})},
        what=foreign.line(f"asked for a pause{f': {reason}' if reason else ''}", 200),
        asks=Asked.PAUSE,
    )


def resume(rollout: Rollout) -> Wish:
    """Go on where it was."""
    if rollout.is_ended:
        raise RolloutRefused(f"{rollout.name} has ended ({rollout.phase}); there is nothing to resume.")
    if not rollout.spec.get("paused"):
        return Wish(said=f"{rollout.name} is not paused.", asks=Asked.RESUME)
    where = rollout.campaign.get("pausedIn")
    at = f" in {where}" if where else ""
    said = f"{rollout.name} continues{at}. {filled(WATCH, {'name': rollout.name})}"
    return Wish(said=said, spec=_unpaused(rollout), what="asked to resume it", needs_name=True, asks=Asked.RESUME)


def _unpaused(rollout: Rollout) -> dict[str, Any]:
    """The end of a pause, and of the reason for it."""
    return {"paused": False, **({"pausedBecause": None} if rollout.spec.get("pausedBecause") else {})}


def approve(rollout: Rollout, point: str) -> Wish:
    """Say yes at a point where a person has to."""
    check_campaign(rollout)
    approvals: dict[str, Any] = rollout.spec.get("approvals") or {}
    approved: list[str] = list(approvals.get("approved") or ())
    if rollout.is_ended:
        raise RolloutRefused(f"{rollout.name} has ended ({rollout.phase}); there is nothing to approve.")
    if rollout.phase == "Reverting" and point != "rollback":
        raise RolloutRefused(f"{rollout.name} is being undone; there is nothing to approve.")
    if point in approved:
        return Wish(said=f"{rollout.name}: {point} is already approved.")
    waits = {each.get("code") for each in rollout.status.get("waits") or ()}
    asks = [*(approvals.get("manual") or ()), *(["promotion"] if HoldCode.NODES_FAILED in waits else ())]
    if point in OPENS and rollout.phase in WAY_FORWARD[WAY_FORWARD.index(OPENS[point]) :]:
        raise RolloutRefused(f"{rollout.name} is past that ({rollout.phase}); there is no {point} left to approve.")
    unasked = "" if point in asks else f" It would not have asked: {point} is not among its manual points."
    without = " Nodes that failed stay behind." if point == "promotion" and HoldCode.NODES_FAILED in waits else ""
    return Wish(
        said=f"{rollout.name}: {point} is approved.{without}{unasked} {filled(WATCH, {'name': rollout.name})}",
        spec={"approvals": {"approved": [*approved, point]}},
        what=f"approved {point}",
        needs_name=True,
    )


def abort(rollout: Rollout, reason: str, *, marks_bad: bool = False) -> Wish:
    """Have everything undone; the entry of the matrix is marked bad where that is asked for, or due by itself."""
    check_campaign(rollout)
    if marks_bad:
        _check_markable(rollout)
    before = rollout.spec.get("abort")
    if rollout.phase == "Reverted":
        return Wish(said=f"{rollout.name} is already undone.")
    is_new = marks_bad and not rollout.spec.get("markBad")
    marked = {"markBad": True} if is_new else {}
    if before:
        too = f" Its entry {_entry(rollout)} is marked bad, too." if is_new else ""
        said = f"{rollout.name} is already being undone: {before}.{too} {filled(WATCH, {'name': rollout.name})}"
        what = "asked for the entry to be marked bad"
        return Wish(said=said, spec=marked or None, what=what, asks=Asked.UNDO)
    if rollout.phase == "Reverting" and not is_new:
        why = foreign.line(str(rollout.campaign.get("why") or "no reason is recorded"), 200)
        return Wish(said=f"{rollout.name} is already being undone: {why}. {filled(WATCH, {'name': rollout.name})}")
    # Paused, it would wait for ever with the undo asked for.
    paused = _unpaused(rollout) if rollout.spec.get("paused") else {}
    goes_on = " Its pause ends with that." if paused else ""
    return Wish(
        said=f"{rollout.name} is being undone.{goes_on} {filled(WATCH, {'name': rollout.name})}",
        spec={"abort": reason, **marked, **paused},
        what=foreign.line(f"aborted it: {reason}", 200),
        asks=Asked.UNDO,
    )


def _check_markable(rollout: Rollout) -> None:
    """Refuse to mark where no entry is, where nothing was tried, and where nobody is left to do it."""
    name, entry = rollout.name, _entry(rollout)
    if not entry:
        raise RolloutRefused(
            f"{name} was not made from a matrix, so there is no entry to mark bad. Leave --mark-bad out."
        )
    by_hand = f"write `bad: WHY` into entry {entry} of the matrix yourself, if nobody should use the version"
    if _has_not_begun(rollout):
        raise RolloutRefused(f"{name} has not begun, and marks nothing. Leave --mark-bad out; {by_hand}.")
    if rollout.phase == "Reverted":
        raise RolloutRefused(f"{name} is already undone, and marks nothing; {by_hand}.")


def _entry(rollout: Rollout) -> str:
    return str((rollout.spec.get("matrix") or {}).get("entry") or "")


def _has_not_begun(rollout: Rollout) -> bool:
    return not rollout.campaign or "Proposed" in (rollout.phase, rollout.campaign.get("pausedIn"))


def check_campaign(rollout: Rollout) -> None:
    """Refuse to say to a rollout of nodes alone what only one with a canary understands."""
    if not rollout.is_campaign:
        raise RolloutRefused(
            f"{rollout.name} moves nodes only: it has no canary, asks nobody and publishes nothing. "
            "Undo it by publishing the old version and rolling out to it."
        )


def reason_of(text: str) -> str:
    """Why something is undone, on one line."""
    reason = " ".join(text.split())
    if not reason or len(reason) > REASON_MAX:
        raise CalledWrongly(
            f"say why with --reason TEXT, in at most {REASON_MAX} characters: it goes into the status and the commits."
        )
    return reason


def check_undo(rollout: Rollout, *, allows_done: bool) -> None:
    """Refuse to undo what is done, unless that is what was asked."""
    if rollout.phase == "Done" and not allows_done:
        raise RolloutRefused(
            f"{rollout.name} is done. To undo it all the same: "
            f"`seatrial rollout rollback {quote(rollout.name)} --reason …`."
        )


def what_is_undone(rollout: Rollout, *, marks_bad: bool = False, in_git: Sequence[Reverted] | None = None) -> list[str]:
    """What an undo takes back, and whether it marks the entry, for a person who is asked.

    `in_git` is what would be reverted there, branch by branch; None where no branch was read.
    """
    if _has_not_begun(rollout):
        return [f"{rollout.name} has not begun: it ends, and there is nothing to revert."]
    return [*_taken_back(rollout, in_git), *_marked(rollout, marks_bad=marks_bad)]


def _marked(rollout: Rollout, *, marks_bad: bool) -> list[str]:
    entry, found = _entry(rollout), str(rollout.campaign.get("rejected") or "")
    if not entry:
        return []
    how = _how_marked(rollout)
    if found:
        return [f"  entry {entry} of the matrix is marked bad{how}, for what was found: {found}"]
    if marks_bad or rollout.spec.get("markBad"):
        return [f"  entry {entry} of the matrix is marked bad{how}, with your reason"]
    return [f"  entry {entry} of the matrix is not marked bad; --mark-bad marks it, with your reason"]


def _how_marked(rollout: Rollout) -> str:
    """By which write in Git; empty where the matrix is not there."""
    git = (rollout.spec.get("matrix") or {}).get("git")
    if not git:
        return ""
    publish = (rollout.spec.get("publish") or {}).get("git") or {}
    what = "a pull request" if publish.get("pullRequests") else "a commit"
    return f" by {what} of its own to {git.get('branch') or 'main'} of {git.get('url', '')}"


def _taken_back(rollout: Rollout, in_git: Sequence[Reverted] | None) -> list[str]:
    campaign, spec = rollout.campaign, rollout.spec
    counts = rollout.status.get("counts") or {}
    done = counts.get("upgrade-done", 0)
    untouched = ("unknown", NodePhase.UPGRADE_REQUIRED)
    touched = sum(count for state, count in counts.items() if state not in untouched)
    step = spec.get("byHand")
    if step:
        back = next((each["version"] for each in campaign.get("baseline") or ()), "what was there before")
        way = "no way back is known, and you are asked whether it stays" if step.get("oneWay") else f"back to {back}"
        return [
            f"Undoing {rollout.name} ({rollout.phase}, to {step['component']} {step['version']}) means:",
            f"  people put it back on every node that has it: {way}",
        ]
    lines = [f"Undoing {rollout.name} ({rollout.phase}, to driver {rollout.target}) means:"]
    lines += [f"  {each['resource']} gets {each['version']} again" for each in campaign.get("baseline") or ()]
    via = (spec.get("publish") or {}).get("via") or "direct"
    if in_git is not None:
        lines += [line for each in in_git for line in each.lines]
    elif via == "git":
        lines.append("  its commits are reverted by one commit, and no others")
    if touched:
        is_all = touched == done
        how = f"{done} are done now" if is_all else f"{touched} by now: {done} done, {touched - done} not finished"
        lines.append(f"  nodes that were touched go back, with the same care and limits ({how})")
    else:
        lines.append("  nodes that were touched go back, with the same care and limits")
    return lines
