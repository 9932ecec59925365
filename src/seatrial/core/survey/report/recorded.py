"""What a controller wrote down in passing: every state of every node with its time, and what was waited for how long.

Law of this file: times are those of the records themselves; where others move the nodes and no record is ours, the time
is that of the first pass which saw it. A wait lasts from when it began, by its own word, to the first pass without it;
one that comes and goes, as a bake between rounds of gates, is one wait, and its times are added up.
Tests: tests/core/survey/test_report_recorded.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.campaign import SourceFacts
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.rollouts import Told
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.survey.report.stretches import WORKS, NodeTimes, Stretch, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Waited:
    """What a rollout waited for, and for how long."""

    code: str
    why: str
    at: Instant | None
    """When it first began; None where nobody wrote that down."""
    seconds: float | None
    """All of it together; None where its beginning is not known."""
    is_over: bool
    times: int = 1
    """How often it came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What the passes of one rollout show."""

    nodes: tuple[NodeTimes, ...] = ()
    waits: tuple[Waited, ...] = ()
    source: SourceFacts | None = None
    """The home of the matrix as it was last seen."""
    until: Instant = 0.0


def read(passes: Iterable[tuple[Instant, Snapshot]]) -> Recorded:
    """What passes show, oldest first."""
    told = _Telling()
    for at, seen in passes:
        told.take(at, seen)
    return told.ended()


class _Telling:
    """Gathers, pass by pass; a node that has not changed since the last one is not looked at."""

    def __init__(self) -> None:
        self._nodes: Mapping[str, NodeSeen] = {}
        self._states: dict[str, list[tuple[Instant, str, str]]] = defaultdict(list)
        self._waiting: dict[str, Instant] = {}
        self._waited: dict[str, list[tuple[Instant, Instant]]] = defaultdict(list)
        self._words: dict[str, str] = {}
        self._source: SourceFacts | None = None
        self._until = 0.0

    def take(self, at: Instant, seen: Snapshot) -> None:
        self._until = at
        self._source = seen.source or self._source
        for name, node in seen.nodes.items():
            if self._nodes.get(name) is not node:
                self._note(name, node, at)
        self._nodes = seen.nodes
        self._wait(at, seen.rollout.summary.told if seen.rollout.summary is not None else ())

    def _note(self, name: str, node: NodeSeen, at: Instant) -> None:
        record = node.record
        state = record.phase.value if record is not None else node.facts.nvidia_state
        known = self._states[name]
        # What others had written before the first pass, they wrote at a time that nobody knows.
        entered = record.entered_at if record is not None else at if known else 0.0
        is_news = not known or (known[-1][1] != state if record is None else known[-1][:2] != (entered, state))
        if state and is_news:
            known.append((entered, state, record.reason if record is not None else ""))

    def _wait(self, at: Instant, told: tuple[Told, ...]) -> None:
        now = {each.code: each for each in told}
        for code in [code for code in self._waiting if code not in now]:
            self._waited[code].append((self._waiting.pop(code), at))
        for code, each in now.items():
            self._words[code] = each.why  # the last ones: they are brought up to date while it lasts
            if code not in self._waiting:
                is_first = each.since is not None and not self._waited[code]
                self._waiting[code] = min(at, each.since) if is_first and each.since is not None else at

    def ended(self) -> Recorded:
        waits = [self._wait_of(code, spans) for code, spans in self._waited.items() if spans or code in self._waiting]
        times = (self._times(name, states) for name, states in sorted(self._states.items()) if states)
        return Recorded(
            nodes=tuple(each for each in times if each.works),
            waits=tuple(sorted(waits, key=lambda each: (each.at or 0.0, each.code))),
            source=self._source,
            until=self._until,
        )

    def _wait_of(self, code: str, spans: list[tuple[Instant, Instant]]) -> Waited:
        is_over = code not in self._waiting
        every = spans if is_over else [*spans, (self._waiting[code], self._until)]
        return Waited(
            code=code,
            why=self._words[code],
            at=every[0][0],
            seconds=sum(until - at for at, until in every),
            is_over=is_over,
            times=len(every),
        )

    def _times(self, name: str, states: list[tuple[Instant, str, str]]) -> NodeTimes:
        works: list[Stretch] = []
        ends = [*(at for at, _, _ in states[1:]), self._until]
        for (at, state, why), until in zip(states, ends, strict=True):
            work = WORKS.get(state)
            if work is None:
                continue
            is_moment = work in (Work.DONE, Work.FAILED)
            is_last = (at, state, why) == states[-1]
            # A state that was left again lasted until then; the last one lasts still.
            stretch = Stretch(
                what=work, at=at, until=at if is_moment else max(at, until), why=why, is_over=is_moment or not is_last
            )
            works = _joined(works, stretch)
        return NodeTimes(name=name, works=tuple(works))


def _joined(works: list[Stretch], one: Stretch) -> list[Stretch]:
    """States of one kind of work that follow each other are one stretch."""
    if works and works[-1].what == one.what and works[-1].until >= one.at and one.seconds:
        return [*works[:-1], replace(works[-1], until=one.until, is_over=one.is_over)]
    return [*works, one]
