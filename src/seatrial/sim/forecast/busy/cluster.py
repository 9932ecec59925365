"""A cluster of GPUs with a queue: jobs start where they fit, save every hour, end, and start again when evicted.

Who starts next is said in scheduling.py. A job smaller than a node takes one, others take whole nodes, or those that
they had when they were seen. What is lost is counted here, the same for every way:

    idle     GPUs behind a cordon of ours, no job on them, while a pod waits that would fit there
    thrown   work since the last save, when a job is evicted, and the time until it works again
    reload   GPUs whose driver is being replaced

Law of this file: it decides nothing. Tests: tests/bench/test_gpu_hours.py
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from seatrial.sim.forecast.busy.traces import HOUR, MINUTE, Order, Work

SAVE_EVERY = HOUR
RESTART = 10 * MINUTE
RELOAD = 6 * MINUTE


@dataclass(slots=True, kw_only=True)
class Run:
    """A job that runs: where, since when, and when it ends."""

    work: Work
    nodes: tuple[int, ...]
    started: float
    ends: float
    lead: float = 0.0
    """How long it takes to work (again) before anything new is done."""
    saved: float | None = None
    """When it saved before it was first looked at; None where it saves from its beginning on."""
    every: float = SAVE_EVERY

    def saved_at(self, now: float) -> float:
        """When it last saved, or began."""
        first = self._first
        return first + (now - first) // self.every * self.every if now > first else self.started

    def thrown(self, now: float) -> float:
        """Seconds of its work that are lost when it is evicted now."""
        return max(0.0, now - self._first) % self.every

    @property
    def _first(self) -> float:
        """From when on its saves are counted."""
        return self.started + self.lead if self.saved is None else self.saved

    @property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """Its nodes, with the GPUs that it holds on each."""
        return tuple(zip(self.nodes, self.work.pieces, strict=True))


@dataclass(slots=True)
class Losses:
    """GPU-seconds by cause, and how often somebody was evicted."""

    idle: float = 0.0
    idle_any: float = 0.0
    """The same while anybody waits, whether it fits or not."""
    thrown: float = 0.0
    reload: float = 0.0
    evictions: int = 0
    """Of jobs; a gang counts once."""
    moves: int = 0
    """Of replicas of a service, whose like went on answering."""
    seconds_over: float = 0.0
    """For how long the budget was exceeded."""
    longest_over: float = 0.0
    """The longest of those stretches."""
    acts_over: int = 0
    given_back: int = 0
    """How often nodes were given back because more stood idle than may."""

    @property
    def gpu_hours(self) -> float:
        return (self.idle + self.thrown + self.reload) / HOUR


@dataclass(slots=True)
class Cluster:
    """Nodes, runs and the queue; time only goes forward."""

    count: int = 128
    gpus: int = 8
    """Of a node, where not all of them are told."""
    sizes: list[int] = field(default_factory=list)
    """GPUs of each node."""
    names: list[str] = field(default_factory=list)
    reload_seconds: float = RELOAD
    order: Order = Order.BEST_EFFORT
    now: float = 0.0
    free: list[int] = field(default_factory=list)
    closed: list[float | None] = field(default_factory=list)
    reloading: dict[int, float] = field(default_factory=dict)
    done: list[bool] = field(default_factory=list)
    on: list[dict[str, Run]] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    queues: dict[tuple[int, ...], deque[Work]] = field(default_factory=dict)
    """Who waits, by what each asks for."""
    ends: list[tuple[float, str, float]] = field(default_factory=list)
    losses: Losses = field(default_factory=Losses)
    idle_max: int = 10**9
    version: int = 0
    counts: bool = False
    _again: set[str] = field(default_factory=set)
    """Who was evicted before."""
    _over: float = 0.0
    """For how long the budget has been exceeded by now."""

    def __post_init__(self) -> None:
        self.sizes = self.sizes or [self.gpus] * self.count
        self.count, self.gpus = len(self.sizes), max(self.sizes, default=self.gpus)
        self.names = self.names or [f"n{node:03}" for node in range(self.count)]
        self.free = list(self.sizes)
        self.closed = [None] * self.count
        self.done = [False] * self.count
        self.on = [{} for _ in range(self.count)]

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def next_event(self) -> float:
        """When something happens by itself."""
        while self.ends:
            _, name, started = self.ends[0]
            run = self.runs.get(name)
            if run is not None and run.started == started:
                break
            heapq.heappop(self.ends)
        first = self.ends[0][0] if self.ends else float("inf")
        return min(first, min(self.reloading.values(), default=float("inf")))

    def advance(self, until: float) -> None:
        """Let time pass up to an instant at or before the next event, then let happen what is due."""
        self._count(until)
        self.now = until
        while self.ends and self.ends[0][0] <= until:
            _, name, started = heapq.heappop(self.ends)
            run = self.runs.get(name)
            if run is not None and run.started == started:
                self._leave(run)
        for node in [node for node, at in self.reloading.items() if at <= until]:
            del self.reloading[node]
            self.done[node], self.closed[node] = True, None
            self.version += 1

    def _count(self, until: float) -> None:
        span = until - self.now
        if not self.counts or span <= 0:
            return
        reloading = self.reloading_gpus()
        idle = self.idle_behind()
        self.losses.reload += span * reloading
        smallest = self.smallest_waiting()
        if smallest:
            self.losses.idle_any += span * idle
            self.losses.idle += span * self.idle_behind(smallest)
        self._over = self._over + span if idle + reloading > self.idle_max else 0.0
        if self._over:
            self.losses.seconds_over += span
            self.losses.longest_over = max(self.losses.longest_over, self._over)

    def idle_behind(self, fitting: int = 1) -> int:
        """GPUs behind our cordon without a job, reloading ones left out, on nodes that have so many of them."""
        free, reloading = self.free, self.reloading
        return sum(
            free[node]
            for node, at in enumerate(self.closed)
            if at is not None and free[node] >= fitting and node not in reloading
        )

    def reloading_gpus(self) -> int:
        """GPUs of the nodes that are reloading."""
        return sum(self.sizes[node] for node in self.reloading)

    def smallest_waiting(self) -> int:
        """GPUs of the smallest pod that waits; 0 where none does."""
        return min((pieces[-1] for pieces, row in self.queues.items() if row), default=0)

    # ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def submit(self, work: Work) -> None:
        """Put a job into the queue, at the place of its arrival."""
        work.pieces = work.pieces or self._pieces(work.gpus)
        row = self.queues.setdefault(work.pieces, deque())
        if row and row[0].arrives > work.arrives:
            row.appendleft(work)
        else:
            row.append(work)

    def _pieces(self, gpus: int) -> tuple[int, ...]:
        whole, rest = divmod(gpus, self.gpus)
        return (self.gpus,) * whole + ((rest,) if rest else ())

    def start(self, pieces: tuple[int, ...], nodes: tuple[int, ...]) -> None:
        """Start the oldest of those that ask for this, on these nodes."""
        work = self.queues[pieces].popleft()
        lead = self.lead_of(work)
        self.place(Run(work=work, nodes=nodes, started=self.now, ends=self.now + lead + work.seconds, lead=lead))

    def lead_of(self, work: Work) -> float:
        """How long a job that starts now takes to work."""
        return RESTART if work.name in self._again else 0.0

    def place(self, run: Run) -> None:
        """Have a job run on its nodes."""
        work = run.work
        self.runs[work.name] = run
        for node, gpus in run.parts:
            self.free[node] -= gpus
            self.on[node][work.name] = run
        heapq.heappush(self.ends, (run.ends, work.name, run.started))
        self.version += 1

    def _leave(self, run: Run) -> None:
        del self.runs[run.work.name]
        for node, gpus in run.parts:
            self.free[node] += gpus
            del self.on[node][run.work.name]
        self.version += 1

    # ── what an upgrade does ─────────────────────────────────────────────────────────────────────────────────────────

    def close(self, node: int) -> None:
        """Cordon a node."""
        self.closed[node] = self.now
        self.version += 1

    def reopen(self, node: int) -> None:
        """Give a node back to its users."""
        self.closed[node] = None
        self.version += 1

    def evict(self, name: str, *, is_asked: bool = False) -> None:
        """Have a job start again, elsewhere; who is asked saves first, and a service loses a minute."""
        run = self.runs[name]
        thrown = 0.0 if run.work.is_service else min(run.thrown(self.now), MINUTE if is_asked else run.every)
        worked = max(0.0, self.now - run.started - run.lead)
        restart = MINUTE if run.work.is_service else RESTART
        self.losses.thrown += run.work.gpus * (thrown + restart)
        if run.work.is_service:
            self.losses.moves += 1
        else:
            self.losses.evictions += 1
        self._leave(run)
        run.work.seconds -= worked - thrown
        self._again.add(name)
        self.submit(run.work)

    def reload(self, node: int) -> None:
        """Replace the driver of an empty, closed node."""
        if self.closed[node] is None or self.free[node] != self.sizes[node]:
            raise ValueError(f"{self.names[node]} is not closed and empty")
        self.reloading[node] = self.now + self.reload_seconds
        self.version += 1

    def is_over(self) -> bool:
        """Whether every node is through."""
        return all(self.done)

    def works(self) -> Iterator[Work]:
        """Every job that runs or waits."""
        yield from (run.work for run in self.runs.values())
        for row in self.queues.values():
            yield from row

    def old(self) -> Iterator[int]:
        """The nodes that are not through."""
        return (node for node in range(self.count) if not self.done[node])
