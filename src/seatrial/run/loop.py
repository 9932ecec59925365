"""The loop: observe → decide → check the promises → journal → execute. No rules of its own.

Where the journal cannot be written, the pass is decided as one of which nothing can be told: that nobody is disrupted
then is core's rule. What is done all the same goes without its lines, and the first line after it says since when.

Whoever gives it a recorder can replay its passes later; the others pay nothing for it.

Tests: tests/run/test_loop.py, and every simulated and real rollout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias, TypeVar

from seatrial.bugs import Bug, Guard, TellBug, bug_of
from seatrial.core.actions.action import Action
from seatrial.core.base.values import dataclass, replace
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.model.instants import Instant
from seatrial.core.promises import invariants
from seatrial.core.promises.breach import Breach
from seatrial.core.promises.refused import refused
from seatrial.ports import Journal, JournalUnwritable, Outcome, Ports, Sight
from seatrial.run.memory import Memory
from seatrial.run.recording import Recorder

T = TypeVar("T")
Line: TypeAlias = tuple[str, Mapping[str, object]]
"""Kind and fields of an entry of the journal."""
BREATH = 9.0
"""A pass is followed by a pause this many times as long, so that deciding takes at most a tenth of a core."""
BREATH_SECONDS_MIN, BREATH_SECONDS_MAX = 0.005, 1.0
IDLE_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""A pass that did nothing and wants another one at once gets it this much later, the more so the oftener it happens."""
BREACH_SECONDS = 30.0
"""After a broken promise nothing is done but to tell people; it is judged anew when it changes, or after this long."""
BUG_SECONDS = 5.0
"""After a bug the next rollout is looked at so much later: one that cannot be set aside must not fill the log."""
JOURNAL_SECONDS = 10.0
"""How often a journal that cannot be written is tried again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one pass saw, decided and learned."""

    at: Instant
    sight: Sight | None
    decision: Decision | None
    outcomes: tuple[Outcome, ...] = ()
    breaches: tuple[Breach, ...] = ()
    journal_trouble: str = ""
    """Why the journal could not be written, where it could not."""
    has_bug: bool = False
    """A bug of ours was contained, and nothing was decided."""

    @property
    def wake_at(self) -> Instant | None:
        if self.breaches:
            return self.at + BREACH_SECONDS
        if self.has_bug:
            return self.at + BUG_SECONDS
        due_at = self.decision.wake_at if self.decision else None
        if self.journal_trouble:
            return min(self.at + JOURNAL_SECONDS, due_at if due_at is not None else self.at + JOURNAL_SECONDS)
        return due_at


def run_once(ports: Ports, memory: Memory, recorder: Recorder | None = None, on_bug: TellBug | None = None) -> Report:
    """One pass. With `on_bug`, what raises while it looks and decides costs that pass; without, it is raised."""
    now = ports.clock.now()
    pages = Pages(ports.journal, memory, now)
    outcomes = ports.executor.collect()
    for outcome in outcomes:
        pages.write(_outcome_line(outcome))
    memory.learn(outcomes, now)
    failed = Report(
        at=now,
        sight=None,
        decision=None,
        outcomes=outcomes,
        journal_trouble=memory.journal_trouble,
        has_bug=True,
    )
    if on_bug is not None and (rebuff := memory.worn_out()) is not None:
        memory.forgive()
        on_bug(Bug(guard=Guard.DECISION, subject="", why=f"{rebuff.count} acts in a row: {rebuff.detail}"))
        report = failed
    else:
        report = _contained(lambda: _decided(ports, memory, recorder, pages, outcomes, now), failed, on_bug)
    if report.has_bug:
        memory.note(is_free=False)
    return report


def _contained(work: Callable[[], T], otherwise: T, on_bug: TellBug | None) -> T:
    """What `work` gives; where it raises, `otherwise`, so that a bug does not end the process with nodes cordoned."""
    try:
        return work()
    except Exception as err:
        if on_bug is None:
            raise
        on_bug(bug_of(Guard.DECISION, "", err))
        return otherwise


def _decided(
    ports: Ports,
    memory: Memory,
    recorder: Recorder | None,
    pages: Pages,
    outcomes: tuple[Outcome, ...],
    now: Instant,
) -> Report:
    """Look, decide, check the promises, and begin to act."""
    sight = ports.observer.observe()
    if sight is None:
        memory.note(is_free=False)
        return Report(at=now, sight=None, decision=None, outcomes=outcomes, journal_trouble=memory.journal_trouble)
    memory.follow(sight.era, now)
    seen = memory.recall(sight.seen, ports.executor.in_flight(), now)
    sight = replace(sight, seen=seen)
    decision = decide(seen, sight.intent, now, memory.worked_out)
    if recorder is not None and not pages.are_written(partial(recorder.note, now, sight, decision)):
        seen = replace(seen, journal_trouble=memory.journal_trouble)
        sight = replace(sight, seen=seen)
        decision = decide(seen, sight.intent, now, memory.worked_out)
    breaches = invariants.broken(seen, sight.intent, decision)
    memory.note(is_free=decision.is_free and not breaches)
    for breach in breaches:
        pages.write(("breach", {"promise": breach.promise, "subject": breach.subject, "why": breach.detail}))
    if breaches:
        decision = refused(seen, sight.intent, decision, breaches, now)
    for action in decision.actions:
        line = ("act", {"id": action.id, "act": type(action).__name__, **_facts_of(action)})
        if not pages.write(line) and not seen.journal_trouble:
            break  # decided as if it could be told; the next pass knows that it cannot
        ports.executor.submit(action)
    trouble = memory.journal_trouble
    return Report(at=now, sight=sight, decision=decision, outcomes=outcomes, breaches=breaches, journal_trouble=trouble)


class Pages:
    """The journal in one pass: what cannot be written is remembered, and tried again by the next pass."""

    def __init__(self, journal: Journal, memory: Memory, now: Instant) -> None:
        self._journal, self._memory, self._now = journal, memory, now
        if memory.journal_trouble:
            gap: dict[str, object] = {"since": memory.journal_trouble_since, "why": memory.journal_trouble}
            if self._is_done(lambda: journal.append(now, "gap", gap)):
                memory.journal_trouble = ""

    def write(self, line: Line) -> bool:
        """Add a line; whether it was, which it is not while the journal is in trouble."""
        return self.are_written(lambda: self._journal.append(self._now, *line))

    def are_written(self, write: Callable[[], None]) -> bool:
        """Whether somebody could write."""
        return not self._memory.journal_trouble and self._is_done(write)

    def _is_done(self, write: Callable[[], None]) -> bool:
        try:
            write()
        except JournalUnwritable as err:
            memory = self._memory
            memory.journal_trouble_since = memory.journal_trouble_since if memory.journal_trouble else self._now
            memory.journal_trouble = str(err)
            return False
        return True


def collect(ports: Ports, now: Instant) -> tuple[Outcome, ...]:
    """Take in how the last acts ended, and write it down where that can be done: no further pass does it."""
    pages, outcomes = Pages(ports.journal, Memory(now), now), ports.executor.collect()
    for outcome in outcomes:
        pages.write(_outcome_line(outcome))
    return outcomes


def _outcome_line(outcome: Outcome) -> Line:
    return "outcome", {"id": outcome.action.id, "result": outcome.result.value, "detail": outcome.detail}


async def run_forever(
    ports: Ports,
    memory: Memory,
    *,
    on_report: Callable[[Report], None],
    is_over: Callable[[Report], bool],
    recorder: Recorder | None = None,
    on_bug: TellBug | None = None,
) -> Report:
    """Pass after pass, each when something changed or is due, until `is_over` or nothing can ever change again."""
    idle_count = 0
    while True:
        started_at = ports.clock.now()
        report = run_once(ports, memory, recorder, on_bug)
        _contained(partial(on_report, report), None, on_bug)
        if is_over(report):
            return report
        breath_seconds = BREATH * (ports.clock.now() - started_at)
        breath_seconds = min(max(BREATH_SECONDS_MIN, breath_seconds), BREATH_SECONDS_MAX)
        await ports.clock.sleep(BREATH_SECONDS_MAX if report.breaches else breath_seconds)
        idle_count = idle_count + 1 if _is_in_vain(report) else 0
        if not await ports.observer.wait(_wait_until(report.wake_at, idle_count, ports.clock.now())):
            return report


def _is_in_vain(report: Report) -> bool:
    """Whether a pass neither did nor learned anything, and yet is due again already."""
    is_busy = report.decision is not None and bool(report.decision.actions or report.outcomes)
    return report.wake_at is not None and report.wake_at <= report.at and not is_busy


def _wait_until(wake_at: Instant | None, idle_count: int, now: Instant) -> Instant | None:
    if wake_at is None or idle_count == 0:
        return wake_at
    return max(wake_at, now + IDLE_SECONDS[min(idle_count, len(IDLE_SECONDS)) - 1])


def _facts_of(action: Action) -> dict[str, object]:
    return {"subject": action.subject}
