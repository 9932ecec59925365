"""How a rollout stands, in one line for people: a word, a short reason, and the one command to run.

    NO CONTROLLER  it is open, and no controller is in charge: nothing moves
    STUCK          it failed or was undone, and no wait ends that
    NEEDS YOU      it waits for a person to approve, to repair or to decide
    OK             it moves, waits on its own, or is done

The line is derived from the outcome, so that it and the exit code cannot contradict each other. The whole reason is
below it on every page, and the line does not repeat it. Tests: tests/app/test_headline.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from shlex import quote
from typing import TYPE_CHECKING, Final

from seatrial.app import waits
from seatrial.app.outcome import Outcome, done_of, is_over, left_behind, outcome_of
from seatrial.core.base.values import dataclass
from seatrial.core.decision import leading
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import ENDED, RolloutPhase
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.seen.rollouts import Told, Waiting
from seatrial.core.movers.mover import mover_seen
from seatrial.core.node.progress import Progress
from seatrial.core.node.readiness import lacks_since
from seatrial.core.text.names import a_few, number_of
from seatrial.core.words import causes
from seatrial.core.words.causes import FAILED, NEEDS_SOMEBODY

if TYPE_CHECKING:
    from seatrial.app.looking import Look
    from seatrial.app.waits import Waits
    from seatrial.ports import Sight


class Word(StrEnum):
    """How it stands."""

    NO_CONTROLLER = "NO CONTROLLER"
    STUCK = "STUCK"
    NEEDS_YOU = "NEEDS YOU"
    OK = "OK"


WORD_MEANS: Final = {
    Word.NO_CONTROLLER: "the rollout is open, and no controller is in charge: its Lease ran out, or none ever ran. "
    "Nothing moves",
    Word.STUCK: "it failed or was undone, a write is refused, a deadline has passed, or something cannot be read: no "
    "wait ends that",
    Word.NEEDS_YOU: "a person has to approve, repair or decide something; also where a node failed, or something is in "
    "its way, while others continue or wait for it",
    Word.OK: "it moves, waits on its own, or is done; or there is no rollout",
}
"""What each means, for people; the first that is true counts."""
WORD_EXITS: Final = {
    Word.NO_CONTROLLER: "12; 10 or 1 where a gate had failed or a write was refused before",
    Word.STUCK: "10 undone, or a gate failed; 8 over, and nodes failed; 1 a write is refused, or something cannot be "
    "read; 12 otherwise",
    Word.NEEDS_YOU: "12; 10 where you decide whether it is undone; 8 over, and nodes were left out; 11 where it is not "
    "known whether a controller leads; 0 while the rollout continues",
    Word.OK: "0",
}
"""The exit codes of `status` that go with each."""

CONTROLLERS: Final = "kubectl get pods -A -l app.kubernetes.io/name=seatrial"
LEASES: Final = "kubectl get leases -A --field-selector metadata.name=seatrial"
NAMED_MAX: Final = 2
_YES: Final = re.compile(r"`(seatrial rollout (?:approve|resume) [^`]+)`")
_SHORT: Final[Mapping[str, str]] = {
    HoldCode.PAUSED: "it is paused",
    HoldCode.GATE_UNATTESTED: "sign off the gate",
    HoldCode.MERGE_PENDING: "merge the change",
    HoldCode.MERGE_OVERDUE: "the change was not merged in time",
    HoldCode.BY_HAND_PENDING: "upgrade it by hand",
    HoldCode.BY_HAND_BACK: "put it back by hand",
    HoldCode.RELEASE_BY_HAND: "bring the release by hand",
    HoldCode.ROLLBACK_PENDING: "decide whether to undo it",
    HoldCode.FAILURE_BUDGET: "too many nodes failed",
}
"""What is short for a hold; any other is named by its code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One line: how it stands, why, and what to run."""

    word: Word
    why: str
    command: str = ""
    """Empty where there is nothing to do."""

    def __str__(self) -> str:
        return f"{self.word}  {self.why}{f': {self.command}' if self.command else ''}"


def headline_of(found: Look) -> Headline:
    """The first line about what was looked at."""
    if found.faults:
        return Headline(word=Word.STUCK, why="not everything could be read")
    waiting = waits.waits_of(found)
    if found.sight is None or waiting is None:
        return Headline(word=Word.OK, why=f"no rollout{_unled(found)}")
    line = _line(found, found.sight, waiting)
    asked = requested(found.sight)
    because = found.sight.intent.paused_because if asked == "pause" else ""
    more = f"; {asked} requested{f' ({because})' if because else ''}, not done yet" if asked else ""
    return Headline(word=line.word, why=f"{line.why}{more}", command=line.command)


def requested(sight: Sight) -> str:
    """What people asked for and the controller has not done yet: a pause, a resume or an undo; empty where nothing."""
    record, intent = sight.seen.rollout, sight.intent
    campaign = record.campaign
    if campaign is not None and campaign.phase is RolloutPhase.REVERTED:
        return ""
    is_undone = campaign is not None and campaign.phase is RolloutPhase.REVERTING
    if intent.campaign is not None and intent.campaign.abort and not is_undone:
        return "undo"
    if campaign is not None and campaign.phase in ENDED:
        return ""
    return "" if intent.is_paused is waits.is_paused(sight) else "pause" if intent.is_paused else "resume"


def _line(found: Look, sight: Sight, waiting: Waits) -> Headline:
    name, outcome = sight.intent.rollout, outcome_of(found)
    leader = found.leader
    if leader is not None and waits.is_stale(found, waiting):
        why = f"nothing moves; {leading.unled(leader.holder, leader.heard_at, found.at)}"
        return Headline(word=Word.NO_CONTROLLER, why=why, command=CONTROLLERS)
    match outcome:
        case Outcome.REVERTED:
            return _reverted(sight, waiting)
        case Outcome.REFUSED:
            refused = next(each for each in (*waiting.rollout, *waiting.nodes) if each.code == HoldCode.WRITE_REFUSED)
            subject = refused.nodes[0] if isinstance(refused, Waiting) else name
            return Headline(word=Word.STUCK, why=f"a write to {subject} is refused", command=_why(subject))
        case Outcome.LEFT:
            return _left(sight)
        case Outcome.HELD:
            return _held(name, sight, waiting)
        case Outcome.UNSURE:
            return Headline(word=Word.NEEDS_YOU, why="whether a controller is in charge is not known", command=LEASES)
        case Outcome.WELL:
            return _well(found, sight, waiting)


def _reverted(sight: Sight, waiting: Waits) -> Headline:
    """It was undone, or a gate failed and it is about to be."""
    name, campaign = sight.intent.rollout, sight.seen.rollout.campaign
    if campaign is not None and campaign.phase is RolloutPhase.REVERTED:
        return Headline(word=Word.STUCK, why="it was undone", command=_why(name))
    asked = next((each for each in waiting.rollout if each.code in NEEDS_SOMEBODY), None)
    if asked is not None:
        return _asked(name, asked)
    gates = campaign.gates if campaign is not None else ()
    failed = next(each for each in gates if each.verdict is GateVerdict.FAILED)
    return Headline(
        word=Word.STUCK,
        why=f"gate {failed.gate} failed on {failed.node}, and the rollout is being undone",
        command=_why(name),
    )


def _left(sight: Sight) -> Headline:
    """It is over without some of its nodes."""
    failed, skipped = left_behind(sight)
    if failed:
        why = f"it is over, and {_nodes(failed)} failed"
        return Headline(word=Word.STUCK, why=why, command=_why(failed[0]))
    why = f"it is over, and {_nodes(skipped)} {'was' if len(skipped) == 1 else 'were'} left out"
    return Headline(word=Word.NEEDS_YOU, why=why, command=_why(skipped[0]))


def _held(name: str, sight: Sight, waiting: Waits) -> Headline:
    """It waits for a person; a rollout without a canary says so by its nodes."""
    told = next((each for each in waiting.rollout if each.code in NEEDS_SOMEBODY), None)
    if told is not None and told.code == HoldCode.NODES_FAILED:
        why = f"{_nodes(left_behind(sight)[0])} failed, not promoted"
        return Headline(word=Word.NEEDS_YOU, why=why, command=_why(name))
    if told is not None:
        return _asked(name, told)
    campaign = sight.seen.rollout.campaign
    if campaign is not None and campaign.phase is RolloutPhase.PAUSED:
        command = f"seatrial rollout resume {quote(name)}"
        return Headline(word=Word.NEEDS_YOU, why=_SHORT[HoldCode.PAUSED], command=command)
    groups = waits.together(waiting, name)
    if not groups:
        return Headline(word=Word.NEEDS_YOU, why="nothing moves", command=_why(name))
    asked = _asked(groups[0].nodes[0], groups[0])
    named = "" if groups[0].nodes == (name,) else f" ({_named(groups[0])})"
    return Headline(word=asked.word, why=f"{asked.why}{named}", command=asked.command)


def _asked(subject: str, told: Told) -> Headline:
    """What a person has to do about a hold."""
    said = _YES.search(told.next_step)
    command = said[1] if said is not None else _why(subject)
    short = _SHORT.get(told.code, told.code.replace("-", " "))
    if told.code == HoldCode.APPROVAL_PENDING and said is not None:
        short = f"approve the {command.split()[-1]}"
    word = Word.STUCK if told.code in FAILED else Word.NEEDS_YOU
    return Headline(word=word, why=short, command=command)


def _well(found: Look, sight: Sight, waiting: Waits) -> Headline:
    """It moves, waits on its own, or is done."""
    name, (done, total) = sight.intent.rollout, done_of(sight)
    counted = f"{done} of {number_of(total, 'node')} done"
    if is_over(found):
        less = reduced(sight)
        offers = f"; {a_few(less, NAMED_MAX)} {'offer' if len(less) > 1 else 'offers'} less than before" if less else ""
        why = f"the rollout is over, {counted}{offers}{_unled(found)}"
        return Headline(word=Word.OK, why=why, command=_why(less[0]) if less else "")
    campaign = sight.seen.rollout.campaign
    where = f"{campaign.phase.value}, {counted}" if campaign is not None else counted
    if campaign is not None and campaign.phase is RolloutPhase.REVERTING:
        where = "it is being undone"
    failed, _ = left_behind(sight)
    blocked = [each for each in waits.together(waiting, name) if each.code in causes.IN_THE_WAY]
    if failed:
        why = f"{number_of(len(failed), 'node')} failed ({a_few(failed, NAMED_MAX)}){_held_up(blocked, name)}"
        return Headline(word=Word.NEEDS_YOU, why=f"{why}{_others(sight, blocked)}", command=_why(failed[0]))
    if not blocked:
        return Headline(word=Word.OK, why=where)
    # A node that is named can be asked about; what the rollout says of it follows from the node.
    first = next((each for each in blocked if each.nodes != (name,)), blocked[0])
    more = _held_up((each for each in blocked if each is not first), name)
    why = f"{first.code} ({_named(first)}){more}{_others(sight, blocked)}"
    return Headline(word=Word.NEEDS_YOU, why=why, command=_why(first.nodes[0]))


def _others(sight: Sight, blocked: Iterable[Waiting]) -> str:
    """What the nodes do that nothing is in the way of; of a large group only the first are named."""
    mover, groups = mover_seen(sight.seen, sight.intent), tuple(blocked)
    standings = mover.standings(sight.seen.nodes, mover.target(sight.intent))
    held = {name for each in groups for name in each.nodes}
    unnamed = sum(each.count - len(each.nodes) for each in groups)
    moving = set(standings.get(Progress.MOVING, ())) - held
    if len(moving) > unnamed:
        return ", the others continue"
    to_come = set(standings.get(Progress.AWAY, ())) - held
    return ", the rest waits" if len(to_come) + len(moving) > unnamed else ""


def _held_up(groups: Iterable[Waiting], name: str) -> str:
    """How many further nodes something is in the way of; what the rollout itself says of them is no node more."""
    count = sum(each.count for each in groups if each.nodes != (name,))
    return f", {number_of(count, 'more node')} held up" if count else ""


def _named(group: Waiting) -> str:
    return a_few(group.nodes, NAMED_MAX, count=group.count)


def _nodes(names: tuple[str, ...]) -> str:
    return f"{number_of(len(names), 'node')} ({a_few(names, NAMED_MAX)})"


def _why(subject: str) -> str:
    return f"seatrial why {quote(subject)}"


def _unled(found: Look) -> str:
    """That a controller was in charge and none is now; a rollout that waits for one says so itself."""
    leader = found.leader
    if leader is None or leader.heard_at is None or leader.is_leading(found.at) or leader.is_doubtful(found.at):
        return ""
    return f"; no controller is in charge ({leading.unled(leader.holder, leader.heard_at, found.at)})"


def reduced(sight: Sight) -> tuple[str, ...]:
    """The nodes that are done, and offer less than before their upgrade."""
    mover = mover_seen(sight.seen, sight.intent)
    done = mover.standings(sight.seen.nodes, mover.target(sight.intent)).get(Progress.DONE, ())
    lacks = {name: {lack.code for lack in lacks_since(sight.seen.nodes[name])} for name in sorted(done)}
    return tuple(name for name, codes in lacks.items() if HoldCode.OFFER_REDUCED in codes)
