"""By attrition, the ledger: who is closed alone, who is emptied now, and why the others wait.

    closed alone   Admission.is_ahead: it may be cordoned, and nobody on it is disturbed
    taken          the same admission without it: from now on the limits count it, and its users are asked to leave

Law of this file: the rules say who and why (turn.py), the budget says how many (capacity.py), and this puts the two
together. A gang is taken at once where the limits ever let it, and otherwise as fast as they do: who is evicted from
one of its nodes cannot come back to the others, which are closed. Tests: tests/core/test_attrition_books.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from seatrial.core.budget import capacity, recall
from seatrial.core.budget.attrition import costs, evicting, replicas, returning, urgency
from seatrial.core.budget.attrition.groups import grouped
from seatrial.core.budget.attrition.seeing import kept_until, view_of
from seatrial.core.budget.attrition.terms import Terms
from seatrial.core.budget.attrition.turn import turn
from seatrial.core.budget.attrition.values import Act, Reason, Verb, View
from seatrial.core.budget.capacity import Admitted, Budget
from seatrial.core.budget.losses import idle_gpus, workers
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import HOUR
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen, Taken
from seatrial.core.model.seen.rollouts import Admission
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
        taken = frozenset(each.node for each in self.ledger if not each.is_ahead and each.node in self.nodes)
        return view_of(
            self.nodes,
            wishing,
            self.ahead,
            taken,
            self.terms,
            idle_max=budget.idle.gpus_max if budget.idle is not None else 0,
            at_once_max=budget.whole.parallel_max,
            unit_of=budget.unit_of,
        )

    def given_back(self, view: View) -> frozenset[str]:
        """Who is opened again: more are idle or unavailable than may, too many failed, or no upgrade could end there.

        And services that were to be emptied, where their PodDisruptionBudget does not let them go any more."""
        ahead = self.ahead
        if len(self.budget.failed) > self.budget.failed_max:
            return ahead
        unfit = {name for name in ahead if why_not_startable(self.nodes[name]) is not None}
        unfit |= recall.surplus(self.ledger, self.budget, self.nodes)
        over = {name for act in returning.give_back(view) for name in act.nodes} | replicas.to_open(view)
        return (ahead & over) | _with_theirs(unfit, view, ahead)

    def standing(self, view: View) -> Standing:
        """What closed nodes are told, and why others are emptied."""
        ahead = self.ahead
        closed = {name: Closed(jobs=len(view.nodes[name].jobs), idle=idle_gpus(self.nodes[name])) for name in ahead}
        last = urgency.last_call(view)
        return Standing(
            idle_max=view.idle_max,
            evicted_at=max(last, self.terms.now) if self.terms.is_running else None,
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
            at_once_max=self.budget.whole.parallel_max,
            unit_of=self.budget.unit_of,
        )
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


def enter(pages: Pages, asking: Asking, wish: Callable[[str], Admission], tell: capacity.Tell) -> Admitted:
    """Let in by the rules of attrition, while every limit holds."""
    ledger, budget = pages.ledger, pages.budget
    torn = [name for name in asking.wishing if _is_torn(name, asking, budget)]
    busy = [name for name in asking.wishing if name not in {*asking.spared, *torn}]
    view = pages.view(busy)
    has_failed = len(budget.failed) > budget.failed_max
    acts = _acts(view, pages.terms) if not has_failed else []
    closing = [] if has_failed else _closed(acts, view, pages, frozenset(busy))
    ledger = (*ledger, *(replace(wish(name), is_ahead=True) for name in closing))
    budget = _with_closed(budget, closing, pages.nodes)
    shut = frozenset(name for name in pages.ahead if _is_about_to_go(pages.nodes[name]))
    rows = _rows(acts, shut, budget)
    together = {name: f"jobs of {row[0]}" for row in rows if len(row) > 1 for name in row if name not in budget.unit_of}
    joined = replace(budget, unit_of={**budget.unit_of, **together})
    names = list(dict.fromkeys((*(name for row in rows for name in row), *asking.spared, *torn)))
    if has_failed:
        names = list(asking.wishing)
    # A unit is taken when all of it is empty and seen closed; until then its nodes wait for each other.
    late = (budget.unit_of.keys() & {*asking.wishing, *pages.ahead}) - set(names)
    let_in = capacity.admit(names, wish, ledger, joined, asking.coming | late, asking.unfit, tell=tell)
    asked = {*names, *closing}
    kept = {} if has_failed else _kept(acts, view, frozenset(closing))
    left = () if has_failed else _left([name for name in busy if name not in asked], view, pages, kept)
    gone = {each.node for each in let_in.ledger if not each.is_ahead}
    return Admitted(
        ledger=let_in.ledger,
        holds=(*let_in.holds, *left, *_too_large(view, pages), *_kept_closed(kept, pages)),
        taken=tuple(sorted(name for name in gone & pages.ahead if view.nodes[name].jobs)),
        closed=tuple(closing),
    )


def _acts(view: View, terms: Terms) -> list[Act]:
    """What is due; while time does not count, nobody is closed or evicted."""
    if terms.is_stopped:
        return []
    free = (Verb.GIVE_BACK, Verb.RELOAD)
    return [act for act in turn(view) if terms.is_running or act.verb in free]


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
            rows += [names] if _may_ever_go(names, budget) else [(name,) for name in names]
    return rows


def _may_ever_go(names: Sequence[str], budget: Budget) -> bool:
    counts = Counter(scope for name in names for scope in budget.around(name)).items()
    limits = ((budget.scopes[scope], count) for scope, count in counts)
    return all(count <= min(scope.parallel_max, scope.unavailable_max) for scope, count in limits)


def _too_large(view: View, pages: Pages) -> list[Hold]:
    """That nodes cannot be emptied at once, whenever: together they have more GPUs than may stand idle."""
    found: list[Hold] = []
    for group in grouped((view.nodes[name] for name in sorted(pages.ahead)), view.nodes, view.jobs):
        gpus = sum(each.gpus for each in group.nodes)
        if group.jobs and gpus > view.idle_max:
            limit, taken, nodes = view.idle_max, view.idle, a_few(group.names, 4)
            found += [
                hold(name, HoldCode.IDLE_GPU_LIMIT, limit=limit, taken=taken, gpus=gpus, nodes=nodes)
                for name in group.names
                if name in pages.ahead
            ]
    return found


def _is_torn(name: str, asking: Asking, budget: Budget) -> bool:
    unit = budget.unit_of.get(name)
    return unit is not None and (
        unit in asking.unfit or any(budget.unit_of.get(each) == unit for each in asking.coming)
    )


def _kept(acts: Sequence[Act], view: View, closing: frozenset[str]) -> dict[str, str]:
    """By node, the PodDisruptionBudget that it waits for."""
    leaving = frozenset(name for act in acts if act.verb is Verb.EVICT for name in act.nodes)
    return replicas.waiting(view, leaving, closing, is_last=urgency.is_last_call(view))


def _kept_closed(kept: Mapping[str, str], pages: Pages) -> list[Hold]:
    """That nodes which are closed cannot be emptied now, for a PodDisruptionBudget keeps their pods."""
    return [hold(name, HoldCode.DISRUPTION_LIMIT, budget=kept[name]) for name in sorted(pages.ahead & kept.keys())]


def _left(names: Sequence[str], view: View, pages: Pages, budgets: Mapping[str, str]) -> list[Hold]:
    """Why the others still take work: it costs too much yet, or, at the last call, there is no room for them."""
    is_running = pages.terms.is_running
    is_last = is_running and urgency.is_last_call(view)
    until: Instant | None = urgency.last_call(view) if is_running and not is_last else None
    idle = a_few([node.name for node in view.nodes.values() if node.is_closed and node.idle], 4)
    found: list[Hold] = []
    for name in names:
        kept = kept_until(pages.nodes[name], view.now)
        if name in budgets:
            found.append(hold(name, HoldCode.DISRUPTION_LIMIT, budget=budgets[name]))
        elif is_last and view.idle and view.idle + view.nodes[name].gpus > view.idle_max:
            gpus, limit, taken = view.nodes[name].gpus, view.idle_max, view.idle
            found.append(hold(name, HoldCode.IDLE_GPU_LIMIT, limit=limit, taken=taken, gpus=gpus, nodes=idle))
        elif kept is not None:
            found.append(hold(name, HoldCode.GIVEN_BACK, until=kept, limit=view.idle_max))
        else:
            found.append(hold(name, HoldCode.LEFT_OPEN, until=until))
    return found
