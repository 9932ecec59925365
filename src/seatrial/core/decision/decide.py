"""decide: what to do next, why the rest waits, and when to ask again. The definition, naive and readable.

    stops      why nobody is disrupted at all          course     what the rollout itself does, and whose turn it is
    turns      the step of each node                   budget     who is let in
    summary    what is written down of it

The same function serves the live controller, the simulator, the property tests and the explorer. It composes; it knows
no more. Tests: tests/core/decision/test_decide.py
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import Uncordon
from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.budget import books
from seatrial.core.budget.attrition import clock
from seatrial.core.budget.attrition.terms import Terms, terms_of
from seatrial.core.campaign import leaving, waves
from seatrial.core.campaign.course import Course, plain
from seatrial.core.campaign.step import step_rollout
from seatrial.core.decision import stops, summary, turns
from seatrial.core.decision.remembered import Remembered
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import Campaign
from seatrial.core.model.gates.closed import kept_closed
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.known import by
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers import driver_manager
from seatrial.core.movers.mover import mover_seen
from seatrial.core.node.phases import phase_of

ACTIONS_MAX: Final = 200
"""A correct list of 2,000 evictions is still an attack on the API server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do, why the rest is not moving, when to ask again."""

    actions: tuple[Action, ...] = ()
    holds: tuple[Hold, ...] = ()
    wake_at: Instant | None = None
    stop: Hold | None = None
    """Why the rollout as a whole does not disrupt anybody, if it does not."""
    at: Instant | None = field(default=None, compare=False)
    """When it was taken: the promises have to know whether a window was open."""

    @property
    def waits(self) -> tuple[Hold, ...]:
        """Every hold to tell people of: the rollout's own, too, where no node shows it."""
        return summary.waits_of(self.holds, self.stop)

    @property
    def is_free(self) -> bool:
        """Whether we may act as things stand: while another's version is in the way, nobody is kept to a deadline."""
        return self.stop is None and all(held.code is not HoldCode.TARGET_NOT_PUBLISHED for held in self.holds)


def decide(seen: Snapshot, intent: Intent, now: Instant, remembered: Remembered | None = None) -> Decision:
    """What to do next, why the rest waits, and when to ask again; what the pass before left saves work, no more."""
    remembered = remembered or Remembered()
    seen = remembered.over(seen)
    intent = intent.asking(seen.rollout.campaign)
    if seen.is_let_go:
        intent = replace(intent, is_paused=False)  # who deletes a rollout does not wait for its pause to end
    stop = _stop(seen, intent, now)
    course = _course(seen, intent, now, stop)
    nodes = seen.nodes if leaving.is_leaving(seen, intent) else mover_seen(seen).recorded(seen, intent)
    terms = _terms(seen, intent, now, stop)
    book = books.opened(seen, nodes, intent, is_kept=_is_ledger_kept(seen, intent, now), terms=terms)
    steps = turns.steps(seen, nodes, book.orders(seen, course.recalled), course, stop, now, remembered)
    keeping, kept = leaving.keep(seen, intent, steps, course, stop, now)
    admitted = book.admit(steps, turns.marked(course))
    moves, left = _bounded([step.action for step in steps.values() if step.action is not None], course)
    holds = (
        *(held for step in steps.values() for held in (step.hold, step.beside) if held is not None),
        *admitted.holds,
        *(hold(name, HoldCode.LEDGER_PENDING) for name in book.new(admitted)),
        *_pass_full(left, now),
        *course.holds,
        *kept,
        *book.frozen(intent),
    )
    look_at = terms.look_at(holds) if terms is not None else None
    shown = summary.summed_up(replace(seen, nodes=nodes), holds, stop, intent, course, kept)
    cost = book.cost(seen, admitted, now)
    writing, ask_again_at = summary.write_rollout(seen, admitted.ledger, shown, now, course.written, cost)
    if keeping or (leaving.is_leaving(seen, intent) and not seen.is_guarded):
        writing = ()  # both are bound to the same version of the rollout, and one that goes is not written to
    return Decision(
        actions=(*keeping, *writing, *course.acts, *moves),
        holds=tuple(sorted((*holds, *_unreadable(seen)), key=attrgetter("subject", "code"))),
        wake_at=_next_look([*(held.until for held in holds), ask_again_at, course.wake_at, look_at], now),
        stop=stop,
        at=now,
    )


def _stop(seen: Snapshot, intent: Intent, now: Instant) -> Hold | None:
    """Why nobody is to be disrupted at all; a rollout that leaves does not mind everything that stops others."""
    stop = stops.why_stopped(seen, intent, now)
    is_minded = stop is None or stop.code not in leaving.NO_MATTER or not leaving.is_leaving(seen, intent)
    return stop if is_minded else None


def _course(seen: Snapshot, intent: Intent, now: Instant, stop: Hold | None) -> Course:
    """What the rollout itself does: it leaves, goes on as a campaign, or lets every node go its own way."""
    if leaving.is_leaving(seen, intent):
        return leaving.course_of(seen, intent, now, stop)
    if intent.campaign is not None:
        course = _timed(step_rollout(seen, intent, now, stop), intent, intent.campaign, now)
        return replace(course, closed=kept_closed(seen.rollout.campaign, intent.campaign))
    return plain(_loud_managers(seen, intent, stop))


def _timed(course: Course, intent: Intent, campaign: Campaign, now: Instant) -> Course:
    """With the clock of attrition started or stopped; as with every record, acts wait until it has been seen."""
    if intent.attrition is None:
        return course
    record = clock.kept(course.record, campaign.openings, now)
    return course if record == course.record else replace(course, record=record, acts=(), open=frozenset())


def _terms(seen: Snapshot, intent: Intent, now: Instant, stop: Hold | None) -> Terms | None:
    """What attrition goes by; None where nodes are evicted as their turn comes."""
    record, campaign = seen.rollout.campaign, intent.campaign
    if intent.attrition is None or campaign is None or record is None or leaving.is_leaving(seen, intent):
        return None
    count = len(waves.bounds(campaign.waves, len(seen.nodes) - len(record.canaries)))
    terms = terms_of(seen.rollout, intent, max(1, count), now, is_stopped=stop is not None)
    return replace(terms, work=seen.work) if terms is not None else None


def _is_ledger_kept(seen: Snapshot, intent: Intent, now: Instant) -> bool:
    """Whether nobody is taken out of the ledger, whatever is seen.

    A list not read to its end shows nodes as gone that are not, and their admissions must not go with them. And one
    that leaves takes nobody in again: who is under way may be another rollout's.
    """
    return stops.why_blind(seen, intent, now) is not None or leaving.is_leaving(seen, intent)


def _unreadable(seen: Snapshot) -> list[Hold]:
    """That other rollouts cannot be read, or are set aside: each holds itself, and this one goes on."""
    return [
        *(hold(name, HoldCode.ROLLOUT_UNREADABLE, why=why) for name, why in seen.unreadable),
        *(hold(name, HoldCode.SET_ASIDE, why=why) for name, why in seen.set_aside),
    ]


def _loud_managers(seen: Snapshot, intent: Intent, stop: Hold | None) -> tuple[Hold, ...]:
    """That driver managers open nodes under us, told as long as somebody is to be moved. Nobody waits for it."""
    if stop is not None and stop.code in (*stops.CONTRADICTED, HoldCode.SANDBOXED):
        return ()  # the nodes are not ours to move, and under NVIDIA's controller its driver manager stands back
    if by(seen.nodes, phase_of).keys() <= {NodePhase.UPGRADE_DONE}:
        return ()
    return driver_manager.told_loud(seen.operator, seen.nodes, intent.rollout)


def _bounded(moves: list[Action], course: Course) -> tuple[tuple[Action, ...], tuple[Action, ...]]:
    """At most so many a pass; what gives capacity back goes first."""
    ordered, room = sorted(moves, key=_place), ACTIONS_MAX - len(course.acts)
    return tuple(ordered[:room]), tuple(ordered[room:])


def _pass_full(left: tuple[Action, ...], now: Instant) -> list[Hold]:
    """Why these acts wait; in a fleet that nobody has seen before there are thousands of them."""
    full = hold("", HoldCode.PASS_FULL, until=now, limit=ACTIONS_MAX)
    return [stops.like(full, action.subject) for action in left]


def _place(action: Action) -> tuple[bool, str]:
    return not isinstance(action, Uncordon), action.subject


def _next_look(instants: Iterable[Instant | None], now: Instant) -> Instant | None:
    """When time alone will change something; what lies in the past has changed it already, and is not looked for."""
    return min((instant for instant in instants if instant is not None and instant >= now), default=None)
