"""One look at a stretch of time: what is asked in which order, and what is made of the answers.

    its clock ─▶ how often it scrapes ─▶ for each signal: whose series there are ─▶ their samples, piece by piece

Law of this file: silence is told. A GPU that was there before and has no sample now is a series without points and a
reason; a scrape that is missing is a gap between two points, since samples come with the moments they were taken at and
none is carried on.

Tests: tests/adapters/prometheus/test_watcher.py, with a real Prometheus; test_looking.py, with answers of our own
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from seatrial.adapters.prometheus import answers, labels, queries, strands
from seatrial.adapters.prometheus.answers import Labels, Strand
from seatrial.adapters.prometheus.calling import QUERY, SERIES, TARGETS, Caller
from seatrial.adapters.prometheus.errors import (
    PrometheusError,
    PrometheusRefused,
    PrometheusTooMuch,
    PrometheusUnavailable,
    PrometheusUnclear,
)
from seatrial.adapters.prometheus.labels import Owner, Unclear
from seatrial.adapters.prometheus.queries import Query
from seatrial.core.model.gates.figures import Unmeasured
from seatrial.core.model.gates.telemetry import Series
from seatrial.core.model.instants import Instant
from seatrial.core.text import names
from seatrial.ports import Clock

SKEW_SECONDS_MAX: Final = 5.0
"""So far may its clock be from ours: the moments of samples are by its clock, the stretch that is asked for by ours."""
GAP_INTERVALS: Final = 1.5
"""A sample that comes later than this many intervals after the one before has a scrape missing in between."""
BEFORE_SECONDS: Final = 3600.0
"""A GPU that was told of so shortly before the stretch is expected in it."""
SAMPLES_AT_ONCE: Final = 100_000
"""About three megabytes of answer."""
GPUS_EXPECTED: Final = 16
"""Of a node, when the length of a piece is chosen."""
PIECE_SECONDS_MAX: Final = 6 * 3600.0
POINTS_MAX: Final = 1_000_000
"""Of one look; eight nodes with eight GPUs, every fifteen seconds, for ten hours, are 0.9 million in six signals."""


@dataclass(slots=True, kw_only=True)
class _Told:
    """What there is of one signal, by node and GPU."""

    owners: dict[tuple[str, str], list[Labels]] = field(default_factory=lambda: defaultdict(list))
    nodes_by_label: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    unclear: dict[str, str] = field(default_factory=dict)
    """Nodes whose series cannot be told apart, and why."""

    @property
    def jobs(self) -> set[str]:
        return {each.get("job", "") for found in self.owners.values() for each in found}


@dataclass(slots=True, kw_only=True)
class Look:
    """What comes together while a Prometheus is asked about one stretch of time."""

    nodes: frozenset[str]
    since: Instant
    until: Instant
    interval_seconds: float | None = None
    node_label: str = ""
    matchers: str = ""
    series: list[Series] = field(default_factory=list)
    unmeasured: list[Unmeasured] = field(default_factory=list)
    _now: Instant = 0.0
    """What time it is there."""
    _intervals: dict[str, float] = field(default_factory=dict)
    _no_intervals: str = ""
    """Why it does not say how often it scrapes."""
    _point_count: int = 0

    def lacks(self, asked: Iterable[Query], nodes: Iterable[str], why: str, *, gpu: str = "") -> None:
        """Write down what could not be had."""
        self.unmeasured += [
            Unmeasured(name=query.signal.name, node=node, gpu=gpu, why=why) for query in asked for node in sorted(nodes)
        ]

    async def at_all(self, asked: Sequence[Query], caller: Caller, clock: Clock) -> None:
        """Look at every signal; one that is asked for wrongly does not keep us from the others."""
        try:
            await self._compare_clocks(caller, clock)
            await self._learn_intervals(caller)
        except PrometheusError as err:
            self.lacks(asked, self.nodes, str(err))
            return
        for number, query in enumerate(asked):
            try:
                await self._at(query, caller)
            except PrometheusUnavailable as err:  # it went away: the others would only wait for it, one by one
                self.lacks(asked[number:], self.nodes, str(err))
                return
            except PrometheusError as err:
                self.lacks((query,), self.nodes, str(err))

    # ── before anything is asked of a signal ─────────────────────────────────────────────────────────────────────────

    async def _compare_clocks(self, caller: Caller, clock: Clock) -> None:
        before = clock.now()
        self._now = answers.clock(await caller.ask(QUERY, [("query", "time()")]))
        after = clock.now()
        if before - SKEW_SECONDS_MAX <= self._now <= after + SKEW_SECONDS_MAX:
            return
        off = self._now - (before + after) / 2
        raise PrometheusRefused(
            f"its clock is {abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} ours, so its times cannot be "
            "trusted. "
            "Set both by the same time server."
        )

    async def _learn_intervals(self, caller: Caller) -> None:
        if self.interval_seconds is not None:
            return
        try:
            self._intervals = answers.intervals(await caller.ask(TARGETS, [("state", "active")], method="GET"))
        except (PrometheusRefused, PrometheusUnclear, PrometheusTooMuch) as err:  # it may know much, and no targets
            self._no_intervals = str(err)

    # ── one signal ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _at(self, query: Query, caller: Caller) -> None:
        told = await self._told(query, caller)
        for node, why in told.unclear.items():
            self.lacks((query,), (node,), why)
        silent = self.nodes - told.unclear.keys() - {node for node, _ in told.owners}
        looked_at = names.a_few(labels.places(self.node_label))
        self.lacks(
            (query,),
            silent,
            f"there is no series of {' or '.join(query.metrics)}{self._where()} with this node's name in one of its "
            f"labels ({looked_at}): no exporter runs there, it does not report this, or the node has another name "
            f"there{', or its series have other labels (--prometheus-matchers)' if self.matchers else ''}",
        )
        known = {job: seconds for job in told.jobs if (seconds := self._interval_of(job))}
        if told.owners and not known:
            self.lacks(
                (query,),
                {node for node, _ in told.owners},
                "how often it is scraped is not known: "
                f"{self._no_intervals or f'no target has the job {names.a_few(sorted(told.jobs))}'}. Say how often.",
            )
        elif told.owners:
            found = await self._samples(query, told, caller, longest_seconds=max(known.values()))
            for (node, gpu), with_labels in sorted(told.owners.items()):
                interval = min(known.get(each.get("job", ""), max(known.values())) for each in with_labels)
                self._lay_out(query, node, gpu, found[node, gpu], gap_seconds=interval * GAP_INTERVALS)

    def _where(self) -> str:
        return f" where {self.matchers}" if self.matchers else ""

    def _interval_of(self, job: str) -> float:
        return self.interval_seconds or self._intervals.get(job, 0.0)

    async def _told(self, query: Query, caller: Caller) -> _Told:
        """Whose series there are, now and shortly before."""
        places = labels.places(self.node_label)
        matched = [("match[]", query.selector(label, self.nodes, self.matchers)) for label in places]
        span = [("start", _moment(self.since - BEFORE_SECONDS)), ("end", _moment(self.until))]
        told = _Told()
        for each in answers.series(await caller.ask(SERIES, [*matched, *span])):
            match labels.owner_of(each, self.nodes, node_label=self.node_label):
                case Owner(node=node, label=label, gpu=gpu):
                    told.owners[node, gpu].append(each)
                    told.nodes_by_label[label].add(node)
                case Unclear(nodes=nodes, why=why):
                    told.unclear |= dict.fromkeys(nodes, why)
                case None:
                    pass
        _refuse_moved(told)
        for owner in [each for each in told.owners if each[0] in told.unclear]:
            del told.owners[owner]
        return told

    async def _samples(
        self, query: Query, told: _Told, caller: Caller, *, longest_seconds: float
    ) -> dict[tuple[str, str], list[Strand]]:
        start = self.since - longest_seconds * GAP_INTERVALS
        found: dict[tuple[str, str], list[Strand]] = defaultdict(list)
        for label, nodes in sorted(told.nodes_by_label.items()):
            selector = query.selector(label, nodes, self.matchers)
            for low, high in self._pieces(start, len(nodes), longest_seconds):
                fields = [("query", queries.over(selector, high - low)), ("time", _moment(high))]
                for strand in answers.strands(await caller.ask(QUERY, fields)):
                    self._count(len(strand.points))
                    owner = labels.owner_of(strand.labels, self.nodes, node_label=self.node_label)
                    if isinstance(owner, Owner) and owner.label == label:
                        found[owner.node, owner.gpu].append(strand)
        return found

    def _pieces(self, start: Instant, node_count: int, interval: float) -> Iterator[tuple[Instant, Instant]]:
        """A stretch in pieces of which each answer is short enough."""
        length = min(SAMPLES_AT_ONCE * interval / (node_count * GPUS_EXPECTED), PIECE_SECONDS_MAX)
        while start < self.until:
            end = min(start + length, self.until)
            yield start, end
            start = end

    def _count(self, more: int) -> None:
        self._point_count += more
        if self._point_count > POINTS_MAX:
            raise PrometheusTooMuch(
                f"there are more than {POINTS_MAX} samples in this stretch. Watch fewer nodes, or a shorter stretch."
            )

    def _lay_out(self, query: Query, node: str, gpu: str, found: Sequence[Strand], *, gap_seconds: float) -> None:
        laid = strands.laid_out(found)
        # A GPU of which nothing is known has a series all the same: its node is watched only as long as all of it is.
        points = () if isinstance(laid, str) else laid
        signal = query.signal
        self.series.append(Series(name=signal.name, node=node, gpu=gpu, gap_seconds=gap_seconds, points=points))
        end = min(self.until, self._now)
        if isinstance(laid, str):
            self.lacks((query,), (node,), laid, gpu=gpu)
        elif not points:
            self.lacks((query,), (node,), "it was told of before, and there is no sample of it now", gpu=gpu)
        elif end - points[-1][0] > gap_seconds:
            self.lacks((query,), (node,), f"its last sample is {end - points[-1][0]:.0f} s old", gpu=gpu)


def _refuse_moved(told: _Told) -> None:
    """A GPU that two nodes tell of has labels that cannot be trusted, or was moved: nobody can say which."""
    nodes: dict[str, set[str]] = defaultdict(set)
    for node, gpu in told.owners:
        if gpu:
            nodes[gpu].add(node)
    for gpu, found in sorted(nodes.items()):
        if len(found) > 1:
            told.unclear |= dict.fromkeys(sorted(found), f"{gpu} is reported for {names.a_few(sorted(found))} at once")


def _moment(at: Instant) -> str:
    return f"{at:.3f}"
