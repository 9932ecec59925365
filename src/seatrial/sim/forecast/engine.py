"""One rollout, forecast: who starts when, who ends when, and what is left for the users meanwhile.

    model = Model(inventory, intent, behaviours)         # what is alike is worked out once
    run = forecast(model, seed=7)                        # one future, repeated by its seed

Each node goes its own way (paths.py); all that nodes share is the budget, so the fleet is a queue in front of it. The
rule is that of core/budget/capacity.py in counts instead of names: it is looked at only when somebody ends or asks,
which is what makes 10,000 nodes a matter of a second. tests/sim/test_forecast_same.py compares whole runs with those of
`decide`: the same makespan, the same nodes in the same order at the same instants.

Law of this file: what a node meets is drawn from a chance of its own, made of seed and name. So a node meets the same
under every setting, and settings can be compared.

Tests: tests/sim/test_forecast.py, tests/sim/test_forecast_same.py
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.budget.capacity import WHOLE, Why
from seatrial.core.errors import CoreBug
from seatrial.core.holds import HoldCode
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Order
from seatrial.core.model.policy import Limits
from seatrial.sim.forecast.course import Course
from seatrial.sim.forecast.model import Model
from seatrial.sim.forecast.paths import Standing
from seatrial.sim.forecast.schedule import Pace, Part
from seatrial.sim.forecast.walks import Attempt, Walk

# ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTimes:
    """When one node was let in, and when its last attempt ended."""

    name: str
    started_at: Instant
    ended_at: Instant
    is_failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One future of a rollout."""

    makespan_seconds: float
    """Until the last node ended, or until the rollout came to a stand."""
    stop: Why | None
    """What it stands still by, with nodes left or with more of them failed than may; None when it came to its end."""
    gpu_hours_lost: float
    """GPUs of each node times how long it took no work because of us; a failed node counts until the end."""
    gpus_least: int
    gpus_at_start: int
    evicted: int
    failed: tuple[str, ...]
    failure: str
    """Why most of those failed; empty where none did."""
    is_parallel_bound: bool
    """Whether the parallel limit alone ever kept somebody waiting; if not, a higher one gives the same run."""
    is_unavailable_bound: bool
    """The same of the limit of unavailable nodes."""
    parts: tuple[tuple[Part, float], ...] = ()
    """What its time was spent with, in seconds; empty for a rollout without a campaign."""
    fleet_at: Instant = 0.0
    """When the first wave began."""
    times: tuple[NodeTimes, ...] = ()
    """In the order in which they were let in; only where asked for."""
    curve: tuple[tuple[Instant, int], ...] = ()
    """GPUs that take work, from each instant on; only where asked for."""

    @property
    def is_finished(self) -> bool:
        """Everybody who could start has ended, and no more of them failed than may."""
        return self.stop is None


# ── the fleet ────────────────────────────────────────────────────────────────────────────────────────────────────────


def forecast(
    model: Model,
    seed: int = 0,
    *,
    limits: Limits | None = None,
    walks: Sequence[Walk] | None = None,
    in_detail: bool = True,
) -> Run:
    """One future of the rollout under these limits, by default its own."""
    found = _Rollout(model, limits or model.intent.limits, walks or model.walks(seed), model.pace(seed))
    return found.run(in_detail=in_detail)


Lane: TypeAlias = tuple[tuple[int, ...], bool, str, str]
"""The scopes of those who wait, whether they are gone for their users already, their unit, their domain in the order.
Whoever is in one lane is let in or turned down alike, but for a unit, which is let in as a whole."""

NOBODY: Final = Standing()
ALARM: Final = -1
"""Whose turn it is at an instant that no node brings about: a stage begins, a window opens."""


class _Rollout:
    """The state of one run."""

    def __init__(self, model: Model, limits: Limits, walks: Sequence[Walk], pace: Pace | None) -> None:
        self._members, self._walks = model.members, walks
        self._failed_max = model.intent.failed_max
        self._is_idle_first = model.intent.order is Order.IDLE_FIRST
        total, others = len(self._members), model.scopes[1:]
        self._parallel_max = [limits.parallel_max or total, *(scope.parallel_max for scope in others)]
        self._gone_max = [limits.unavailable_max.of(total), *(scope.unavailable_max for scope in others)]
        self._moving = [0] * len(model.scopes)
        self._gone = [0] * len(model.scopes)
        self._is_parallel_bound = self._is_gone_bound = False
        self._unfit = model.unfit
        self._scope_names = [scope.name for scope in model.scopes]
        self._failed: set[int] = set()
        self._begun: Counter[str] = Counter()
        self._course = Course(model, pace) if model.schedule is not None and pace is not None else None
        """Which stage is open, where the rollout has some."""
        self._later: dict[int, list[tuple[tuple[float | str, ...], int]]] = defaultdict(list)
        """Who waits for a stage that is not open yet, by its number."""
        self._kept: list[tuple[int, Standing]] = []
        """Canaries that are proven and stay closed, and how they stand once they are opened."""
        self._standing = [NOBODY] * len(self._members)
        self._is_counted = [
            member.start.standing.is_held or not member.start.standing.is_unavailable for member in self._members
        ]
        """Whether its absence is our doing: a node that was cordoned by others is lost through them."""
        self._attempt = [0] * len(self._members)
        self._lanes: dict[Lane, list[tuple[tuple[float | str, ...], int]]] = defaultdict(list)
        self._events: list[tuple[Instant, int, int]] = []
        """When, who, and which of the changes of its attempt."""
        self._current: list[Attempt | None] = [None] * len(self._members)
        self._began: list[Instant] = [0.0] * len(self._members)
        self._first: dict[int, Instant] = {}
        self._ended: dict[int, Instant] = {}
        self._lost_since: dict[int, Instant] = {}
        self._gpu_seconds_lost = 0.0
        self._available = sum(member.gpus for member in self._members)
        self._at_start = self._least = self._available
        self._curve: list[tuple[Instant, int]] = []
        self._evicted = 0
        self._now = self._last_at = 0.0

    def run(self, *, in_detail: bool) -> Run:
        self._begin()
        events = self._events
        while events:
            now = self._now = events[0][0]
            if self._course is not None:
                self._course.spend(now, is_idle=not self._moving[0] and self._is_waiting)
            while events and events[0][0] == now:
                _, who, place = heapq.heappop(events)
                if who != ALARM:
                    self._change(who, place, now)
            self._admit(now)
            self._go_on(now)
            self._note(now)
        return self._result(in_detail=in_detail)

    def _begin(self) -> None:
        for who, member in enumerate(self._members):
            standing = member.start.standing
            self._stand(who, standing, 0.0)
            if standing.is_held and not standing.is_wishing:  # who asks anew is let in with the others
                self._start(who, 0.0)
            elif standing.is_failed:
                self._follow(who, self._walks[who].rest(), 0.0)
        self._at_start = self._least = self._available
        self._admit(0.0)
        self._go_on(0.0)
        self._note(0.0)

    # ── stages: core/campaign, in a row ──────────────────────────────────────────────────────────────────────────────

    @property
    def _is_waiting(self) -> bool:
        return any(self._lanes.values())

    def _go_on(self, now: Instant) -> None:
        """Open the stages whose time has come; and be woken when the next thing is due that no node brings about."""
        course = self._course
        if course is None:
            return
        if course.frees_at is not None and now >= course.frees_at:
            course.closed = frozenset()
            for who, standing in self._kept:
                self._stand(who, standing, now)
            self._kept.clear()
        while course.opens_at(now, is_over=self._is_stage_over(course)) == now:
            course.open(now)
            for key, who in self._later.pop(course.stage, ()):
                heapq.heappush(self._lanes[self._lane(who)], (key, who))
            self._admit(now)
        alarm_at = course.alarm_at(now, is_waiting=self._is_waiting)
        if alarm_at is not None:
            heapq.heappush(self._events, (alarm_at, ALARM, 0))

    def _is_stage_over(self, course: Course) -> bool:
        """Whether nobody of the open stages is at work or about to be."""
        if self._moving[0] > len(self._kept) or self._is_waiting or len(self._failed) > self._failed_max:
            return False
        if course.is_first and any(who in course.canaries for _, who, _ in self._events):
            return False  # a canary that failed is tried again
        if course.is_first and not course.canaries.isdisjoint(self._failed):
            course.is_undone = True
            return False
        return True

    # ── letting in: core/budget/capacity.py in counts ────────────────────────────────────────────────────────────────

    def _admit(self, now: Instant) -> None:
        """Let in whoever fits; once more where somebody was through at once."""
        while self._let_in(now):
            pass

    def _let_in(self, now: Instant) -> bool:
        if len(self._failed) > self._failed_max or (self._course is not None and not self._course.is_open(now)):
            return False
        if self._moving[0] >= self._parallel_max[0]:
            self._note_bounds()
            return False
        queue = [(self._turn(lane, waiting), lane) for lane, waiting in self._lanes.items() if waiting]
        heapq.heapify(queue)
        chosen: list[int] = []
        while queue:
            _, lane = heapq.heappop(queue)
            waiting = self._lanes[lane]
            group = self._unit(lane[2]) if lane[2] else [waiting[0][1]]
            if self._is_torn(lane[2]) or not self._fits(group):
                self._note_bounds()
                continue
            for who in group:
                self._leave_lane(who)
                self._reserve(who, 1)
            chosen += group
            if waiting and not lane[2]:
                heapq.heappush(queue, (self._turn(lane, waiting), lane))
        # They start when the pass is over, and only then can anybody have failed.
        for who in chosen:
            self._reserve(who, -1)
            self._start(who, now)
        return any(not self._standing[who].is_under_way for who in chosen)

    def _reserve(self, who: int, count: int) -> None:
        is_gone = self._standing[who].is_unavailable or self._standing[who].is_held
        for scope in self._members[who].scopes:
            self._moving[scope] += count
            self._gone[scope] += 0 if is_gone else count

    def _note_bounds(self) -> None:
        """Which of the setting's two limits alone keeps somebody waiting: without it, raising it changes nothing."""
        waiting = [lane for lane, each in self._lanes.items() if each]
        if not waiting:
            return
        if len(self._moving) > 1 or any(lane[2] for lane in waiting):
            # Pools, racks and units have a say, too: not worth telling apart.
            self._is_parallel_bound = self._is_gone_bound = True
            return
        is_full, is_bare = self._moving[0] >= self._parallel_max[0], self._gone[0] >= self._gone_max[0]
        if is_full and (not is_bare or any(lane[1] for lane in waiting)):
            self._is_parallel_bound = True
        elif is_bare and not is_full:
            self._is_gone_bound = True

    def _turn(self, lane: Lane, waiting: list[tuple[tuple[float | str, ...], int]]) -> tuple[float | str, ...]:
        key, domain = waiting[0][0], lane[3]
        return (not domain, -self._begun[domain], domain, *key)

    def _fits(self, group: Sequence[int]) -> bool:
        if len(group) == 1:
            who = group[0]
            is_gone = self._standing[who].is_unavailable or self._standing[who].is_held
            return all(
                self._moving[scope] < self._parallel_max[scope]
                and (is_gone or self._gone[scope] < self._gone_max[scope])
                for scope in self._members[who].scopes
            )
        inside, new = self._asked_of(group)
        return all(
            self._moving[scope] + count <= self._parallel_max[scope]
            and (not new[scope] or self._gone[scope] + new[scope] <= self._gone_max[scope])
            for scope, count in inside.items()
        )

    def _asked_of(self, group: Sequence[int]) -> tuple[Counter[int], Counter[int]]:
        """By scope, how many of these are in it, and how many of them are still there for their users."""
        inside = Counter(scope for who in group for scope in self._members[who].scopes)
        new = Counter(
            scope
            for who in group
            if not (self._standing[who].is_unavailable or self._standing[who].is_held)
            for scope in self._members[who].scopes
        )
        return inside, new

    def _unit(self, unit: str) -> list[int]:
        """Everybody of a unit who asks, in whichever lane."""
        return [who for lane, waiting in self._lanes.items() if lane[2] == unit for _, who in waiting]

    def _is_torn(self, unit: str) -> bool:
        """Whether a member keeps its unit waiting: it cannot start, or has failed and is not tried again yet."""
        return bool(unit) and (unit in self._unfit or any(self._members[who].unit == unit for who in self._failed))

    def _leave_lane(self, who: int) -> None:
        waiting = self._lanes[self._lane(who)]
        if waiting[0][1] == who:
            heapq.heappop(waiting)
            return
        waiting[:] = [each for each in waiting if each[1] != who]
        heapq.heapify(waiting)

    def _lane(self, who: int) -> Lane:
        member, standing = self._members[who], self._standing[who]
        return member.scopes, standing.is_unavailable or standing.is_held, member.unit, member.domain

    # ── what happens ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _start(self, who: int, now: Instant) -> None:
        self._first.setdefault(who, now)
        attempt = self._walks[who].attempt(self._attempt[who])
        self._attempt[who] += 1
        self._follow(who, attempt, now)

    def _follow(self, who: int, attempt: Attempt, now: Instant) -> None:
        self._evicted += attempt.evicted
        self._current[who], self._began[who] = attempt, now
        self._change(who, 0, now)

    def _change(self, who: int, place: int, now: Instant) -> None:
        attempt = self._current[who]
        if attempt is None:
            return
        after = attempt.changes[place][1]
        is_through = not (after.is_under_way or after.is_failed or after.is_wishing)
        if is_through and self._course is not None and who in self._course.closed:
            self._kept.append((who, after))
            after = after._replace(is_under_way=True, is_held=True, is_unavailable=True)
        self._stand(who, after, now)
        if place + 1 < len(attempt.changes):
            # To the microsecond: what happens to two nodes at one instant must not be told apart by a rounded sum.
            at = round(self._began[who] + attempt.changes[place + 1][0], 6)
            heapq.heappush(self._events, (at, who, place + 1))

    def _stand(self, who: int, after: Standing, now: Instant) -> None:
        before, member = self._standing[who], self._members[who]
        self._standing[who] = after
        moved = after.is_under_way - before.is_under_way
        gone = (after.is_unavailable or after.is_held) - (before.is_unavailable or before.is_held)
        for scope in member.scopes:
            self._moving[scope] += moved
            self._gone[scope] += gone
        if moved < 0:
            self._ended[who] = self._last_at = now
        if after.is_unavailable != before.is_unavailable:
            self._available += member.gpus if before.is_unavailable else -member.gpus
            if self._is_counted[who]:
                self._lose(who, after.is_unavailable, now)
        if after.is_failed:
            self._failed.add(who)
        elif before.is_failed:
            self._failed.discard(who)
        self._begun[member.domain] += after.has_begun - before.has_begun
        if after.is_wishing:
            attempt = self._current[who]
            key = member.key
            if attempt is not None and self._is_idle_first:
                key = (attempt.gpu_pods, member.name)
            stage = self._course.stage_of[who] if self._course is not None else 0
            if self._course is not None and stage > self._course.stage:
                self._later[stage].append((key, who))
            else:
                heapq.heappush(self._lanes[self._lane(who)], (key, who))

    def _lose(self, who: int, is_gone: bool, now: Instant) -> None:
        if is_gone:
            self._lost_since[who] = now
        elif who in self._lost_since:
            self._gpu_seconds_lost += self._members[who].gpus * (now - self._lost_since.pop(who))

    def _note(self, now: Instant) -> None:
        self._least = min(self._least, self._available)
        if self._curve and self._curve[-1][0] == now:
            self._curve.pop()
        if not self._curve or self._curve[-1][1] != self._available:
            self._curve.append((now, self._available))

    def _result(self, *, in_detail: bool) -> Run:
        end = max(self._last_at, self._course.ended_at) if self._course is not None else self._last_at
        lost = self._gpu_seconds_lost + sum(
            self._members[who].gpus * max(0.0, end - since) for who, since in self._lost_since.items()
        )
        reasons = Counter(self._walks[who].reason for who in self._failed)
        names = [member.name for member in self._members]
        times = [
            NodeTimes(name=names[who], started_at=at, ended_at=self._ended.get(who, end), is_failed=who in self._failed)
            for who, at in self._first.items()
        ]
        return Run(
            makespan_seconds=end,
            stop=self._why_stopped(),
            gpu_hours_lost=lost / 3600,
            gpus_least=self._least,
            gpus_at_start=self._at_start,
            evicted=self._evicted,
            failed=tuple(sorted(names[who] for who in self._failed)),
            failure=min(reasons, key=lambda reason: (-reasons[reason], reason), default=""),
            times=tuple(times) if in_detail else (),
            curve=tuple(self._curve) if in_detail else (),
            parts=self._course.told() if self._course is not None else (),
            fleet_at=self._course.fleet_at if self._course is not None else 0.0,
            is_parallel_bound=self._is_parallel_bound,
            is_unavailable_bound=self._is_gone_bound,
        )

    def _why_stopped(self) -> Why | None:
        """What keeps those who are left from starting, as `Tally.why_not` would say it; None where nobody is."""
        course = self._course
        if course is not None and course.why_stopped() is not None:
            return course.why_stopped()
        if len(self._failed) > self._failed_max:
            return Why(HoldCode.FAILURE_BUDGET)
        if course is not None and self._is_waiting and not course.is_open(self._now):
            return Why(HoldCode.OUTSIDE_WINDOW)
        if course is not None and not course.is_ended and not self._is_waiting:
            return Why(HoldCode.PARALLEL_LIMIT)
        row = sorted((self._turn(lane, waiting), lane) for lane, waiting in self._lanes.items() if waiting)
        if not row:
            return None
        lane = row[0][1]
        if self._is_torn(lane[2]):
            return Why(HoldCode.UNIT_UNFIT, lane[2])
        group = self._unit(lane[2]) if lane[2] else [self._lanes[lane][0][1]]
        if self._kept:
            return Why(HoldCode.CANARY_CLOSED, WHOLE, len(self._kept) + len(group))
        inside, new = self._asked_of(group)
        for scope, count in inside.items():
            name = self._scope_names[scope]
            if count > 1 and (count > self._parallel_max[scope] or new[scope] > self._gone_max[scope]):
                return Why(HoldCode.UNIT_TOO_LARGE, name, count)
            if self._moving[scope] + count > self._parallel_max[scope]:
                return Why(HoldCode.PARALLEL_LIMIT, name)
            if new[scope] and self._gone[scope] + new[scope] > self._gone_max[scope]:
                return Why(HoldCode.UNAVAILABLE_LIMIT, name)
        raise CoreBug(f"{self._members[group[0]].name} waits, and nothing keeps it from starting.")
