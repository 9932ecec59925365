"""What a rollout waits for, and by whose word: the controller's, or worked out here where it has written none.

    the status was written      what it says, and how old it is; nothing is decided again
    a node it does not name     decided again, and said so; whether the status tells of others like it is said, too
    no status                   decided again, and said so: there is no controller, or it has not come to it yet

Law of this file: what the controller wrote is shown as it is. What is decided again is decided on what is seen and
nothing else; where the controller looks at what cannot be seen from here, its status says what it found.

Tests: tests/app/test_waits.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.base.values import dataclass, replace
from seatrial.core.decision import leading, summary
from seatrial.core.decision.inheriting import blocker_of, inherited
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import ENDED, RolloutPhase, SourceFacts
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.rollouts import Summary, Told, Waiting
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers.mover import mover_seen
from seatrial.core.text import spans
from seatrial.core.text.names import a_few, number_of
from seatrial.core.words import causes, explain
from seatrial.core.words.causes import NEEDS_SOMEBODY

if TYPE_CHECKING:
    from seatrial.adapters.kube.reading.leader import Leader
    from seatrial.app.looking import Look
    from seatrial.core.decision.decide import Decision
    from seatrial.ports import Sight

QUIET_SECONDS: Final = 120.0
"""A status as young as this needs nobody to vouch for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """What a rollout waits for."""

    rollout: tuple[Told, ...]
    """Why it waits as a whole."""
    nodes: tuple[Waiting, ...]
    """Who else waits, by reason."""
    state: str
    written_at: Instant | None
    """When the controller wrote it; None where it was worked out here."""
    has_nodes_written: bool = True
    """Whether the nodes are its word, too: an older release told of none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Why a node waits."""

    told: Told
    count: int = 0
    """Of how many nodes the controller says the same; 0 where it does not."""
    is_written: bool = False
    """Whether these are its words."""


def waits_of(found: Look) -> Waits | None:
    """What the rollout that was looked at waits for; None where there is none."""
    waits = _waits_of(found)
    lost = nobody_leads(found) if waits is not None and not is_ended(found, waits) else None
    if waits is None or lost is None:
        return waits
    nodes = tuple(inherited(each, lost) for each in waits.nodes)
    rollout = (inherited(each, lost) for each in waits.rollout)
    return replace(waits, rollout=(lost, *rollout), nodes=nodes, state="waiting")


def nobody_leads(found: Look) -> Told | None:
    """That no controller is in charge; None where one is, and where we may not know."""
    leader = found.leader
    if found.sight is None or leader is None or leader.is_leading(found.at) or leader.is_doubtful(found.at):
        return None
    return leading.told(found.sight.intent.rollout, leader.holder, leader.heard_at)


def _waits_of(found: Look) -> Waits | None:
    if found.sight is None:
        return None
    written = found.sight.seen.rollout.summary
    if written is None:
        return _worked_out(found.sight, worked_out(found.sight, found.at))
    waits = Waits(
        rollout=written.told,
        nodes=(*written.waiting, *summary.waiting_of(unreadable(found.sight.seen))),
        state=written.state,
        written_at=found.sight.seen.rollout.summarised_at,
    )
    if written.waiting or not _tells_of_nodes(written):
        return waits
    here = _worked_out(found.sight, worked_out(found.sight, found.at))
    return replace(waits, nodes=here.nodes, has_nodes_written=False)


def _tells_of_nodes(written: Summary) -> bool:
    """Whether it counts nodes that wait for more than a moment."""
    own = {told.code for told in written.told}
    return any(code not in own and code not in summary.MOMENTS for code, _ in written.holds)


def worked_out(sight: Sight, now: Instant) -> Decision:
    """What would be decided on what is seen from here.

    A campaign's matrix is taken to stand: it cannot be seen, and whether it does is in the status. A pause that was
    requested and has not begun keeps no node waiting yet.
    """
    seen, intent, campaign = sight.seen, sight.intent, sight.intent.campaign
    if seen.rollout.summary is not None and not is_paused(sight):
        intent = replace(intent, is_paused=False)
    if campaign is not None and campaign.has_source and seen.source is None:
        seen = replace(seen, source=SourceFacts(driver=str(sight.intent.target.driver)))
    from seatrial.core.decision.decide import decide  # not needed where the controller has written why

    return decide(seen, intent, now)


def is_paused(sight: Sight) -> bool:
    """Whether the controller has written that it is paused; the spec only says what was requested."""
    record = sight.seen.rollout
    if sight.intent.campaign is not None:
        return record.campaign is not None and record.campaign.phase is RolloutPhase.PAUSED
    written = record.summary
    return written is not None and any(each.code == HoldCode.PAUSED for each in (*written.told, *written.waiting))


def unreadable(seen: Snapshot) -> list[Hold]:
    """That other rollouts cannot be read, which is seen from here as well as from anywhere."""
    return [hold(name, HoldCode.ROLLOUT_UNREADABLE, why=why) for name, why in seen.unreadable]


def _worked_out(sight: Sight, decision: Decision) -> Waits:
    name, is_plain = sight.intent.rollout, sight.intent.campaign is None
    mine = {held.code: held for held in decision.waits if held.subject == name}
    others = [held for held in decision.waits if is_plain or held.subject != name]
    told = summary.told_of(mine.values())
    return Waits(
        rollout=() if is_plain else told,
        nodes=summary.waiting_of(others, blocker_of(told)),
        state=_state(sight, decision),
        written_at=None,
        has_nodes_written=False,
    )


def _state(sight: Sight, decision: Decision) -> str:
    campaign = sight.seen.rollout.campaign
    moves = [action for action in decision.actions if not isinstance(action, WriteRolloutRecord)]
    nodes = mover_seen(sight.seen, sight.intent).recorded(sight.seen, sight.intent)
    state = summary.summarise(replace(sight.seen, nodes=nodes), decision.holds, decision.stop, sight.intent).state
    is_moving = bool(moves) or state == "progressing"
    if campaign is not None:
        return summary.state_of(campaign, decision.stop, is_moving=is_moving)
    return "progressing" if moves and decision.stop is None else state


def together(waits: Waits, rollout: str) -> tuple[Waiting, ...]:
    """All of it by reason, what the rollout itself waits for under its own name; what its nodes show is said once."""
    shown = {each.code for each in waits.nodes}
    own = (
        Waiting(
            code=told.code,
            why=told.why,
            next_step=told.next_step,
            since=told.since,
            until=told.until,
            nodes=(rollout,),
            count=1,
        )
        for told in waits.rollout
        if told.code not in shown
    )
    return tuple(sorted((*own, *waits.nodes), key=lambda each: causes.place(each.code)))


# ── one node ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def answers(waits: Waits, decision: Decision, name: str, *, is_done: bool = False) -> tuple[Answer, ...]:
    """Why a node waits: by the controller's word, or worked out here."""
    broken = tuple(each for each in (*waits.rollout, *waits.nodes) if each.code == HoldCode.PROMISE_BROKEN)
    if broken:
        return (Answer(told=broken[0], is_written=True),)  # what is worked out here is not what is done
    known = waits.nodes if waits.has_nodes_written else ()
    written = tuple(Answer(told=each, count=each.count, is_written=True) for each in known if each.nodes[:1] == (name,))
    if written:
        return written
    held = [each for each in decision.holds if each.subject == name]
    told = worked_out_of(waits, decision, *held)
    queued = queued_of(waits, told, name) if not is_done else None
    if queued is not None:
        return (Answer(told=queued, count=queued.count, is_written=True),)
    return tuple(Answer(told=each, count=_count(known, each.code, name)) for each in told)


def queued_of(waits: Waits, told: Iterable[Told], name: str) -> Waiting | None:
    """That the controller has a node wait for its turn, where the rollout waits for what may not be seen from here.

    Worked out here, such a node may start; the words for its turn are those of any other node.
    """
    written = {each.code for each in waits.nodes if each.code != HoldCode.NOT_ITS_TURN and _may_be_of(each, name)}
    is_seen = blocker_of(waits.rollout) is None or any(
        each.code not in causes.QUEUEING or each.code in written for each in told
    )
    if is_seen or not waits.has_nodes_written:
        return None
    group = next((each for each in waits.nodes if each.code == HoldCode.NOT_ITS_TURN), None)
    return group if group is not None and _may_be_of(group, name) else None


def worked_out_of(waits: Waits, decision: Decision, *held: Hold) -> tuple[Told, ...]:
    """What a node waits for, worked out here; what keeps the rollout as a whole is the controller's word.

    From here neither the matrix nor the forge can be seen, and what the controller found there keeps the node too.
    """
    stop = summary.told_of([decision.stop]) if decision.stop is not None else ()
    lost = next((each for each in waits.rollout if each.code == HoldCode.LEADERLESS), None)
    whole = (each for each in waits.nodes if each.code in NEEDS_SOMEBODY)
    rest = (*(each for each in waits.rollout if each is not lost), *whole)
    told = summary.told_of(held, blocker_of((*rest, *stop)))
    return tuple(inherited(each, lost) for each in told)


def _count(known: Iterable[Waiting], code: str, name: str) -> int:
    """Of how many nodes the controller says the same, where this may be one of them."""
    alike = (each for each in known if each.code == code and _may_be_of(each, name))
    return next((each.count for each in alike), 0)


def _may_be_of(group: Waiting, name: str) -> bool:
    """Whether a node is one of those that the controller says this of, or may be."""
    return name in group.nodes or group.count > len(group.nodes)


def of_node(waits: Waits, name: str) -> Told | None:
    """What the status says of a node: the whole reason of one that it tells for, the code of others that it names."""
    named = next((each for each in waits.nodes if name in each.nodes), None)
    if named is None or named.nodes[0] == name:
        return named
    return Told(code=named.code, why="", next_step="")


# ── how old it is ────────────────────────────────────────────────────────────────────────────────────────────────────


def as_of(found: Look, waits: Waits) -> str:
    """How old it is, and whether it still holds."""
    if waits.written_at is None:
        return "now, computed here: no controller has written a status yet"
    age_seconds = max(0.0, found.at - waits.written_at)
    said = f"{spans.span(age_seconds)} ago, by the controller"
    if not waits.has_nodes_written:
        said = f"{said}; which nodes wait was computed here, since the controller is an older release"
    if is_ended(found, waits):
        return said
    if nobody_leads(found) is not None:
        return f"{said}; no controller has been in charge since, so this may be out of date"
    if age_seconds < QUIET_SECONDS:
        return said
    if found.leader is None or found.leader.is_doubtful(found.at):
        why = "its Lease cannot be read" if found.leader is None else "the time in its Lease is ahead of ours"
        return f"{said}; whether it still runs cannot be seen from here ({why})"
    return f"{said}, which is running and has seen no change since"


def said_of(found: Look, waits: Waits, told: tuple[Answer, ...]) -> str:
    """Whose word an answer about one node is."""
    if waits.written_at is None or any(answer.is_written for answer in told):
        return as_of(found, waits)
    count = next((answer.count for answer in told if answer.count), 0)
    if count:
        return f"{as_of(found, waits)}, of {number_of(count, 'node')}; the details were computed here"
    return "computed here, not by the controller: its status does not name this node"


def leader_text(found: Look) -> str:
    """Who is in charge."""
    leader = found.leader
    if leader is None:
        return "not known: its Lease cannot be read"
    unled = leading.unled(leader.holder, leader.heard_at, found.at)
    if leader.heard_at is None:
        return f"none; {unled}{_elsewhere(leader)}"
    if leader.is_doubtful(found.at):
        ahead = spans.span((leader.heard_at or 0.0) - found.at)
        return f"doubtful: the Lease of {leader.holder} has a time that is {ahead} ahead; compare the clocks"
    if leader.is_leading(found.at):
        return f"{leader.holder}, seen {spans.span(max(0.0, found.at - leader.heard_at))} ago"
    return f"none; {unled}"


def _elsewhere(leader: Leader) -> str:
    if not leader.elsewhere:
        return ""
    there = a_few(leader.elsewhere)
    return f" (there is a Lease in {there}: if your controller runs there, say so with --lease-namespace)"


def is_stale(found: Look, waits: Waits) -> bool:
    """Whether nobody vouches for it any more."""
    return not is_ended(found, waits) and nobody_leads(found) is not None


def is_unknown_who_leads(found: Look) -> bool:
    """Whether a rollout is open, and we may not know whether anybody is in charge of it."""
    waits = _waits_of(found)
    is_unknown = found.leader is None or found.leader.is_doubtful(found.at)
    return waits is not None and not is_ended(found, waits) and is_unknown


def is_ended(found: Look, waits: Waits) -> bool:
    campaign = found.sight.seen.rollout.campaign if found.sight is not None else None
    return campaign.phase in ENDED if campaign is not None else waits.state == "done"


def sentence(subject: str, told: Told, now: Instant) -> str:
    """The whole answer: who, why, how long yet, and what next."""
    return f"{subject}: {told.why}{explain.times(told, now)}. {told.next_step}"
