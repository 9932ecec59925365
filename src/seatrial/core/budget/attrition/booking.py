"""By attrition, the ledger: who is closed alone, who is emptied now, and why the others wait.

    closed alone   Admission.is_ahead: it may be cordoned, and nobody on it is disturbed
    taken          the same admission without it: from now on the limits count it, and its users are asked to leave

Law of this file: the rules say who and why (turn.py), the budget says how many (capacity.py), and this puts the two
together. A gang is taken at once where the limits ever let it, and otherwise as fast as they do: who is evicted from
one of its nodes cannot come back to the others, which are closed. Tests: tests/core/budget/test_attrition_books.py
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple, assert_never

from seatrial.core.base.values import dataclass, replace
from seatrial.core.budget import capacity, recall, units
from seatrial.core.budget.attrition import closing, costs, evicting, replicas, returning, urgency
from seatrial.core.budget.attrition.groups import Group, grouped
from seatrial.core.budget.attrition.seeing import kept_until, view_of
from seatrial.core.budget.attrition.terms import Terms
from seatrial.core.budget.attrition.turn import planned
from seatrial.core.budget.attrition.values import Act, Bound, Reason, Turn, Verb, View
from seatrial.core.budget.capacity import Admitted, Budget
from seatrial.core.budget.losses import gpu_count, idle_gpus, workers
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import HOUR
from seatrial.core.model.instants import Instant
from seatrial.core.model.known import by, those
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen, Taken
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.node.phases import phase_of
from seatrial.core.node.step import why_not_startable
from seatrial.core.node.writing import Closed, Standing
from seatrial.core.text.names import a_few


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """What the ledger says of attrition, and by which terms it is read."""

    nodes: Mapping[str, NodeSeen]
    ledger: tuple[Admission, ...]
    budget: Budget
    terms: Terms

    @property
    def ahead(self) -> frozenset[str]:
        return capacity.ahead_of(self.ledger, self.nodes)

    def view(self, wishing: Sequence[str] = ()) -> View:
        """What the rules look at; `wishing` would start."""
        budget = self.budget
        # A node that is named although its attempt has ended, as after a failure, is still behind our cordon.
        taken = frozenset(each.node for each in self.ledger if each.node in self.nodes) - self.ahead
        view = view_of(
            self.nodes,
            wishing,
            self.ahead,
            taken,
            self.terms,
            idle_max=budget.idle.gpus_max if budget.idle is not None else 0,
            at_once_max=budget.whole.at_once_max,
            unit_of=budget.unit_of,
        )
        gpus: Counter[str] = Counter()
        for unit, mates in self._open_mates().items() if any(node.unit for node in view.nodes.values()) else ():
            gpus[unit] = sum(gpu_count(self.nodes[name]) for name in mates if name not in view.nodes)
        waiting = those(self.nodes, _asks) - view.nodes.keys()
        others = (count for count, names in by(self.nodes, gpu_count).items() for _ in names & waiting)
        return replace(view, beside=gpus, others=tuple(others))

    def given_back(self, view: View) -> frozenset[str]:
        """Who is opened again: more are idle or unavailable than may, too many failed, no upgrade could end or begin
        there, or the deadline leaves no more time and no room will come.

        And services that were to be emptied, where their PodDisruptionBudget does not let them go any more."""
        ahead = self.ahead
        if len(self.budget.failed) > self.budget.failed_max:
            return ahead
        unfit = {name for name in ahead if why_not_startable(self.nodes[name]) is not None}
        unfit |= recall.surplus(self.ledger, self.budget, self.nodes) | self._too_large(view)
        over = {name for act in returning.give_back(view) for name in act.nodes} | replicas.to_open(view)
        return (ahead & over) | _with_theirs(unfit, view, ahead) or self._in_vain(view)

    def _too_large(self, view: View) -> set[str]:
        """Closed nodes that have more GPUs, alone or with their unit, than may stand idle by now: the fleet lost nodes
        or the limit was lowered, and even when their jobs have ended they could not be upgraded."""
        gpus_of = closing.parts(view)
        return {name for name in self.ahead if gpus_of[name] > view.idle_max}

    def _in_vain(self, view: View) -> frozenset[str]:
        """Closed nodes with idle GPUs that are due and that no limit will let be emptied unless somebody acts."""
        if not self._is_late(view):
            return frozenset()
        ahead = self.ahead
        large = {name for group in _oversized(view, ahead) for name in group.names}
        groups = grouped((view.nodes[name] for name in sorted(ahead - large)), view.nodes, view.jobs)
        rows, kept = [], set(replicas.waiting(view, frozenset(), frozenset(), is_last=True))
        mates_of = self._open_mates()
        for group in sorted((each for each in groups if each.idle), key=lambda each: (each.busy, each.names)):
            mates = {mate for each in group.nodes for mate in mates_of.get(each.unit, ())}
            parts = _split([*(name for name in group.names if name in ahead), *sorted(mates)], self.budget)
            kept |= mates | (set(group.names) if len(parts) > 1 else set())  # a gang in parts leaves the others first
            rows += parts
        back = ahead & recall.in_vain(rows, kept, self.ledger, self.budget, self.nodes)
        return _with_theirs(set(back), view, ahead)

    def without_room(self, view: View, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Of these open nodes, those that no limit would let be emptied, each with all that it goes with.

        Earlier than at the last call they may wait for room, and so may a node that is full: it costs nothing. What is
        larger than may ever stand idle is left to the rule that closes nodes, which says so."""
        if not self._is_late(view):
            return {}
        spent, gpus_of = recall.lasting(self.ledger, self.budget, self.nodes), closing.parts(view)
        groups = grouped((view.nodes[name] for name in names), view.nodes, view.jobs)
        mates_of = self._open_mates()
        found: dict[str, tuple[str, ...]] = {}
        for group in groups:
            mates = (mate for each in group.nodes for mate in mates_of.get(each.unit, ()))
            row = tuple(dict.fromkeys([*group.names, *mates]))
            if not group.idle or not group.jobs or any(gpus_of[name] > view.idle_max for name in group.names):
                continue
            if any(spent.why_not(part) for part in _split(row, self.budget)):
                found |= dict.fromkeys(row, row)
        return found

    def _open_mates(self) -> dict[str, list[str]]:
        """By unit, its nodes that are still to be upgraded and are not closed: whoever asks, it starts with them."""
        found: dict[str, list[str]] = defaultdict(list)
        for name in sorted(units.not_asking(self.nodes, self.budget, ())):
            found[self.budget.unit_of[name]].append(name)
        return found

    def _is_late(self, view: View) -> bool:
        return self.terms.is_running and not self.terms.is_stopped and urgency.is_last_call(view)

    def standing(self, view: View) -> Standing:
        """What closed nodes are told, and why others are emptied."""
        ahead, is_running, last = self.ahead, self.terms.is_running, urgency.last_call(view)
        late = "late" if is_running and self.terms.now >= last else ""
        large = {name for group in _oversized(view, ahead) for name in group.names}
        closed = {
            name: Closed(
                jobs=len(view.nodes[name].jobs),
                idle=idle_gpus(self.nodes[name]),
                kept="size" if name in large else late,
            )
            for name in ahead
        }
        return Standing(
            idle_max=view.idle_max,
            evicted_at=last if is_running and not late else None,
            closed=closed,
            taken=self._taken(view),
        )

    def _taken(self, view: View) -> dict[str, Taken]:
        """Why nodes are emptied that the ledger has taken and that wait to see it, with what either way costs."""
        names = [
            each.node
            for each in self.ledger
            if not each.is_ahead and (node := self.nodes.get(each.node)) is not None and _is_about_to_go(node)
        ]
        if not names:
            return {}
        ahead = self.ahead | set(names)
        taken = frozenset(each.node for each in self.ledger if each.node in self.nodes) - ahead
        busy = view_of(
            self.nodes,
            (),
            ahead,
            taken,
            self.terms,
            idle_max=view.idle_max,
            at_once_max=self.budget.whole.at_once_max,
            unit_of=self.budget.unit_of,
        )
        busy = replace(busy, others=view.others)
        found: dict[str, Taken] = {}
        for group in grouped((busy.nodes[name] for name in names), busy.nodes, busy.jobs):
            price, why = evicting.due(group, busy, urgency.last_call(busy))
            reason = why or (Reason.WAITING_COSTS_MORE if group.jobs else Reason.EMPTY)
            jobs = [busy.jobs[job] for job in group.jobs]
            waited = costs.waited(jobs, busy.now, max(1.0, urgency.last_call(busy) - busy.now), price.waiting)
            hours = Taken(
                why=reason.value,
                waiting_gpu_hours=round(waited / HOUR, 2),
                evicting_gpu_hours=round(sum(costs.evicting(job, busy.now) for job in jobs) / HOUR, 2),
            )
            found |= {name: hours for name in group.names if name in names and self._has_users(name)}
        return found

    def _has_users(self, name: str) -> bool:
        return bool(workers(self.nodes[name]))


def _asks(node: NodeSeen) -> bool:
    """Whether a node waits for its turn and could start."""
    return phase_of(node) is NodePhase.UPGRADE_REQUIRED and why_not_startable(node) is None


def _is_about_to_go(node: NodeSeen) -> bool:
    """Whether a node is seen closed: who came before that is seen, too."""
    is_waiting = node.record is not None and node.record.phase is NodePhase.WAIT_FOR_JOBS_REQUIRED
    return is_waiting and node.facts.is_cordoned


def _with_theirs(names: set[str], view: View, ahead: frozenset[str]) -> frozenset[str]:
    """These, and who is closed with them for the same job."""
    groups = grouped((view.nodes[name] for name in sorted(names)), view.nodes, view.jobs) if names else ()
    return ahead & {name for group in groups for name in group.names}


# ── letting in ───────────────────────────────────────────────────────────────────────────────────────────────────────


class Asking(NamedTuple):
    """Who asks to start, and what keeps units from it."""

    wishing: Sequence[str]
    spared: Sequence[str]
    """Those of them from whom nobody has to leave: they go as they do without attrition."""
    coming: frozenset[str]
    unfit: Mapping[str, Sequence[str]]
    misled: frozenset[str]
    """Closed nodes for which another version is published: they keep their place, and no pod is asked to leave."""


def enter(pages: Pages, asking: Asking, wish: Callable[[str], Admission], tell: capacity.Tell) -> Admitted:
    """Let in by the rules of attrition, while every limit holds."""
    ledger, budget = pages.ledger, pages.budget
    torn = [name for name in asking.wishing if _is_torn(name, asking, budget)]
    busy = [name for name in asking.wishing if name not in {*asking.spared, *torn}]
    view = pages.view(busy)
    vain = pages.without_room(view, busy)
    view = replace(view, vain=frozenset(vain))
    has_failed = len(budget.failed) > budget.failed_max
    acts, bounds = _planned(view, pages.terms) if not has_failed else Turn([], {})
    shutting = [] if has_failed else _closed(acts, view, pages, frozenset(busy))
    ledger = (*ledger, *(replace(wish(name), is_ahead=True) for name in shutting))
    budget = _with_closed(budget, shutting, pages.nodes)
    shut = frozenset(name for name in pages.ahead - asking.misled if _is_about_to_go(pages.nodes[name]))
    rows = _rows(acts, shut, budget)
    together = {name: f"jobs of {row[0]}" for row in rows if len(row) > 1 for name in row if name not in budget.unit_of}
    joined = replace(budget, unit_of={**budget.unit_of, **together})
    spared = [name for name in asking.spared if name not in vain]
    names = list(dict.fromkeys((*(name for row in rows for name in row), *spared, *torn)))
    if has_failed:
        names = list(asking.wishing)
    # A unit is taken when all of it is empty and seen closed; until then its nodes wait for each other.
    late = (budget.unit_of.keys() & {*asking.wishing, *pages.ahead}) - set(names)
    let_in = capacity.admit(names, wish, ledger, joined, asking.coming | late, asking.unfit, tell=tell)
    asked = {*names, *shutting}
    kept = {} if has_failed else _kept(acts, view, frozenset(shutting))
    to_close = (act.nodes for act in acts if act.verb is Verb.CLOSE)
    unclosed = {name: nodes for nodes in to_close for name in nodes if name not in shutting}
    full = vain | unclosed | (_fitting(acts, bounds, view, shutting) if unclosed else {})
    left: Sequence[Hold] = ()
    if not has_failed:
        others = [name for name in asking.wishing if name not in asked]
        left = (
            *_left([name for name in others if name not in full], view, pages, kept, bounds),
            *_limited({name: full[name] for name in others if name in full}, ledger, budget),
            *_without_room(pages.ahead - kept.keys(), view, bounds),
        )
    gone = {each.node for each in let_in.ledger if not each.is_ahead}
    return Admitted(
        ledger=let_in.ledger,
        holds=(*let_in.holds, *left, *_too_large(view, pages), *_kept_closed(kept, pages)),
        taken=tuple(sorted(name for name in gone & pages.ahead if view.nodes[name].jobs)),
        closed=tuple(shutting),
    )


def _planned(view: View, terms: Terms) -> Turn:
    """What is due; while time does not count, nobody is closed or evicted."""
    if terms.is_stopped:
        return Turn([], {})
    free, turn = (Verb.GIVE_BACK, Verb.RELOAD), planned(view)
    return turn if terms.is_running else Turn([act for act in turn.acts if act.verb in free], turn.left)


def _closed(acts: Sequence[Act], view: View, pages: Pages, wishing: frozenset[str]) -> list[str]:
    """Who is closed now: those at work, and of those that are empty no more than can reload and may be unavailable."""
    room = capacity.Tally(replace(pages.budget, idle=None), (each.node for each in pages.ledger))
    room.add(name for name in pages.ahead if not workers(pages.nodes[name]))
    found: list[str] = []
    for act in acts:
        if act.verb is not Verb.CLOSE:
            continue
        names = [name for name in act.nodes if name in wishing]
        idle = [name for name in names if not view.nodes[name].jobs]
        if idle and room.why_not(idle) is not None:
            continue
        room.add(idle)
        found += names
    return found


def _fitting(
    acts: Sequence[Act], bounds: Mapping[str, Bound], view: View, closing: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Open nodes for whose GPUs there is room: it was kept for others, which a limit on nodes keeps open."""
    leaving = [name for act in acts if act.verb is Verb.EVICT for name in act.nodes]
    idle = view.idle + sum(view.nodes[name].idle for name in closing) + sum(view.nodes[name].busy for name in leaving)
    groups = grouped((view.nodes[name] for name in bounds if bounds[name] is Bound.IDLE), view.nodes, view.jobs)
    new = {group.names: sum(node.idle for node in group.nodes if not node.is_closed) for group in groups}
    return {name: names for names, gpus in new.items() if idle + gpus <= view.idle_max for name in names}


def _with_closed(budget: Budget, closing: Sequence[str], nodes: Mapping[str, NodeSeen]) -> Budget:
    if budget.idle is None:
        return budget
    more = {name: idle_gpus(nodes[name]) for name in closing}
    busy = budget.busy | {name for name in closing if workers(nodes[name])}
    idle = replace(budget.idle, idle_of={**budget.idle.idle_of, **more})
    return replace(budget, idle=idle, ahead=budget.ahead.union(closing), busy=busy)


def _rows(acts: Sequence[Act], shut: frozenset[str], budget: Budget) -> list[tuple[str, ...]]:
    """Who of those seen closed is emptied now, as they go together; more than may ever go at once go one by one."""
    rows: list[tuple[str, ...]] = []
    for act in acts:
        names = tuple(name for name in act.nodes if name in shut)
        if act.verb in (Verb.RELOAD, Verb.EVICT) and names:
            rows += _split(names, budget)
    return rows


def _split(names: Sequence[str], budget: Budget) -> list[tuple[str, ...]]:
    """All at once, or one by one where that many may never go at once; a unit is never split."""
    return [tuple(names)] if _may_ever_go(names, budget) else [(name,) for name in names]


def _may_ever_go(names: Sequence[str], budget: Budget) -> bool:
    counts = Counter(scope for name in names for scope in budget.around(name)).items()
    limits = ((budget.scopes[scope], count) for scope, count in counts)
    return all(count <= scope.at_once_max for scope, count in limits)


def _oversized(view: View, ahead: AbstractSet[str]) -> list[Group]:
    """Closed nodes that cannot be emptied at once, whenever: together they have more GPUs than may stand idle."""
    groups = grouped((view.nodes[name] for name in sorted(ahead)), view.nodes, view.jobs)
    return [group for group in groups if group.jobs and sum(each.gpus for each in group.nodes) > view.idle_max]


def _too_large(view: View, pages: Pages) -> list[Hold]:
    found: list[Hold] = []
    oversized = _oversized(view, pages.ahead)
    idle = _idle_of(view) if oversized else ""
    for group in oversized:
        gpus = sum(each.gpus for each in group.nodes)
        where = {"together": a_few(group.names, 4)} if len(group.names) > 1 else {}
        found += [
            hold(name, HoldCode.IDLE_GPU_LIMIT, where, limit=view.idle_max, taken=view.idle, gpus=gpus, nodes=idle)
            for name in group.names
            if name in pages.ahead
        ]
    return found


def _idle_of(view: View) -> str:
    """Closed nodes with idle GPUs, in words."""
    return a_few([node.name for node in view.nodes.values() if node.is_closed and node.idle], 4, none="none")


def _is_torn(name: str, asking: Asking, budget: Budget) -> bool:
    unit = budget.unit_of.get(name)
    return unit is not None and (
        unit in asking.unfit or any(budget.unit_of.get(each) == unit for each in asking.coming)
    )


def _kept(acts: Sequence[Act], view: View, closing: frozenset[str]) -> dict[str, replicas.Keeper]:
    """By node, the PodDisruptionBudget that it waits for."""
    leaving = frozenset(name for act in acts if act.verb is Verb.EVICT for name in act.nodes)
    return replicas.waiting(view, leaving, closing, is_last=urgency.is_last_call(view))


def _kept_closed(kept: Mapping[str, replicas.Keeper], pages: Pages) -> list[Hold]:
    """That nodes which are closed cannot be emptied now, for a PodDisruptionBudget keeps their pods."""
    return [_kept_by(kept[name], name) for name in sorted(pages.ahead & kept.keys())]


def _kept_by(keeper: replicas.Keeper, name: str) -> Hold:
    """That a PodDisruptionBudget keeps the pods of a node."""
    return hold(name, HoldCode.DISRUPTION_LIMIT, budget=keeper.budget, allowed=keeper.allowed, pods=keeper.pods)


def _left(
    names: Sequence[str],
    view: View,
    pages: Pages,
    budgets: Mapping[str, replicas.Keeper],
    bounds: Mapping[str, Bound],
) -> list[Hold]:
    """Why the others still take work: a budget or a limit, or it costs too much yet."""
    is_running = pages.terms.is_running
    is_last = is_running and urgency.is_last_call(view)
    until: Instant | None = urgency.last_call(view) if is_running and not is_last else None
    bound = _Bounds(view)
    found: list[Hold] = []
    for name in names:
        kept = kept_until(pages.nodes[name], view.now)
        if name in budgets:
            found.append(_kept_by(budgets[name], name))
        elif name in bounds:
            found.append(bound.hold(name, bounds[name]))
        elif kept is not None:
            found.append(hold(name, HoldCode.GIVEN_BACK, until=kept, limit=view.idle_max))
        else:
            found.append(hold(name, HoldCode.LEFT_OPEN, until=until))
    return found


def _limited(rows: Mapping[str, Sequence[str]], ledger: Sequence[Admission], budget: Budget) -> list[Hold]:
    """Why nodes that were due to be closed, each with those it goes with, still take work: a limit on nodes or GPUs."""
    tally = capacity.Tally(budget, [each.node for each in ledger])
    coming = {each.node for each in ledger if each.is_ahead} - budget.busy
    slots = hold(
        "",
        HoldCode.PARALLEL_LIMIT,
        limit=budget.whole.parallel_max,
        nodes=a_few(sorted(budget.whole.under_way | coming), 4),
    )
    told: dict[capacity.Kind | Sequence[str], Hold] = {}
    found: list[Hold] = []
    for name, row in rows.items():
        names = next(part for part in _split(row, budget) if name in part)
        alike = names if len(names) > 1 else tally.kind_of(name)
        if alike not in told:
            told[alike] = tally.told(names) if tally.why_not(names) is not None else slots
        found.append(replace(told[alike], subject=name))
    return found


def _without_room(names: AbstractSet[str], view: View, bounds: Mapping[str, Bound]) -> list[Hold]:
    """Why closed nodes are not emptied although the deadline leaves no more time."""
    if not urgency.is_last_call(view):
        return []
    bound, large = _Bounds(view), {name for group in _oversized(view, names) for name in group.names}
    return [bound.hold(name, bounds[name]) for name in sorted((names & bounds.keys()) - large)]


class _Bounds:
    """What keeps nodes from their turn, in the words of a hold."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._gpus_of = closing.parts(view)
        self._idle = _idle_of(view)
        self._busy = a_few(closing.busy_closed_of(view), 4, none="none")

    def hold(self, name: str, bound: Bound) -> Hold:
        view, node = self._view, self._view.nodes[name]
        match bound:
            case Bound.IDLE:
                limit, taken = view.idle_max, view.idle
                return hold(name, HoldCode.IDLE_GPU_LIMIT, limit=limit, taken=taken, gpus=node.gpus, nodes=self._idle)
            case Bound.SIZE:
                part = f"its unit ({node.unit})" if node.unit else "the node"
                gpus = self._gpus_of[name]
                return hold(name, HoldCode.IDLE_GPUS_TOO_FEW, limit=view.idle_max, gpus=gpus, part=part)
            case Bound.SHARE:
                return hold(name, HoldCode.CLOSE_AHEAD_LIMIT, limit=closing.places_max(view), nodes=self._busy)
            case _:
                assert_never(bound)
