"""What has to be so before the first write of a campaign, and what the matrix has to say as long as it lasts.

Every reason is told at once, so that a person mends all of them in one go. Tests: tests/core/campaign/test_preflight.py
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from math import ceil
from operator import itemgetter

from seatrial.core.budget import capacity
from seatrial.core.budget.attrition import urgency
from seatrial.core.campaign import canary, comparing, waves
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import Point, RolloutPhase, Via
from seatrial.core.movers import machine_pools
from seatrial.core.movers.view import View
from seatrial.core.node.progress import is_same, is_same_part
from seatrial.core.text import spans


def why_not(view: View, chosen: tuple[str, ...]) -> tuple[Hold, ...]:
    """Why the campaign cannot begin; empty when it can."""
    found = (
        *behind(view),
        *_denied(view),
        why_source(view) if view.campaign.has_source else _why_no_home(view),
        _no_canary(view, chosen),
        why_nobody(view),
        why_crowded(view),
        *_never_fitting(view),
        _hurried(view, chosen),
        comparing.unprovable(view),
        _half_done(view),
        *view.mover.why_unpublishable(view),
        *machine_pools.missing(view),
        view.unapproved(Point.CANARY),
        view.closed(),
    )
    return tuple(held for held in found if held is not None)


def behind(view: View) -> tuple[Hold, ...]:
    """Which rollouts it has to let go first: those under way, and the one it comes after."""
    after = _after(view)
    return (*_others(view), *((after,) if after is not None else ()))


def why_source(view: View) -> Hold | None:
    """Why the matrix does not stand behind the target."""
    source = view.source
    if source is None or source.trouble:
        return view.unreachable()
    stale = view.outdated()
    if stale is not None:
        return stale
    if source.is_rewritten:
        return view.hold(HoldCode.HISTORY_REWRITTEN, head=source.head)
    if source.problem:
        return view.hold(HoldCode.MATRIX_PROBLEM, why=source.problem)
    if source.bad:
        return view.hold(HoldCode.ENTRY_BAD, why=source.bad)
    driver = str(view.intent.target.driver)  # a step by hand keeps the driver that it is said to go with
    if not is_same(source.driver, driver):
        return view.hold(HoldCode.MATRIX_CHANGED, found=source.driver or "nothing", target=driver)
    return _why_other_parts(view, dict(source.parts))


def _why_other_parts(view: View, named: Mapping[str, str]) -> Hold | None:
    """Why the matrix does not stand behind what moves with the driver; of what it does not name it says nothing."""
    for component in view.intent.target.components:
        found, wanted = named.get(component.value, ""), view.intent.target.version_of(component)
        if found and not is_same_part(component.value, found, wanted):
            name = component.value
            return view.hold(HoldCode.MATRIX_CHANGED, found=f"{name} {found}", target=f"{name} {wanted}")
    return None


def why_moved(view: View) -> Hold | None:
    """Why it is not clear where to work: the spec names another place than the one it began at."""
    began, asked = view.record.places, view.campaign.places
    if began is None or began == asked:
        return None
    is_matrix = began.matrix != asked.matrix
    field = "spec.matrix.git" if is_matrix else "spec.publish.git"
    before, now = (began.matrix, asked.matrix) if is_matrix else (began.published, asked.published)
    return view.hold(HoldCode.PLACES_CHANGED, field=field, began=before or "nothing", asked=now or "nothing")


def _why_no_home(view: View) -> Hold | None:
    """Why nothing could be committed where there is no matrix that would say so first."""
    is_seen = view.source is not None and not view.source.trouble
    return None if view.campaign.publish is not Via.GIT or is_seen else view.unreachable()


def _others(view: View) -> tuple[Hold, ...]:
    return tuple(view.hold(HoldCode.OTHER_ROLLOUT, other=name) for name in view.seen.others)


def _after(view: View) -> Hold | None:
    """Why the rollout that this one comes after does not let it begin."""
    other, phase = view.campaign.after, view.seen.predecessor
    if not other or phase is RolloutPhase.DONE:
        return None
    if phase is None:
        return view.hold(HoldCode.AFTER_UNDONE, other=other, how="is not there")
    if phase in (RolloutPhase.REVERTING, RolloutPhase.REVERTED):
        how = "was undone" if phase is RolloutPhase.REVERTED else "is being undone"
        return view.hold(HoldCode.AFTER_UNDONE, other=other, how=how)
    return view.hold(HoldCode.AFTER_PENDING, other=other, phase=phase)


def why_nobody(view: View) -> Hold | None:
    """Which limit would let nobody start, ever: what is published then moves nobody, and waits to leak."""
    if not view.mover.is_automatic:
        return None
    scopes = capacity.budget_of(view.nodes, (), view.intent).scopes
    shut = sorted(name for name, scope in scopes.items() if scope.unavailable_max == 0)
    if not view.nodes or not shut:
        return None
    where: dict[str, str] = {"scope": shut[0]} if shut[0] else {}
    return hold(view.name, HoldCode.NOBODY_MAY_START, where, since=view.record.entered_at or None)


def _denied(view: View) -> tuple[Hold, ...]:
    """What we may not do. Asked before the first write; later a write that is refused says so itself."""
    if view.seen.denied is None:
        return (view.hold(HoldCode.STALE_VIEW, source="our own rights"),)
    return tuple(view.hold(HoldCode.ACCESS_DENIED, what=what) for what in view.seen.denied)


def _no_canary(view: View, chosen: tuple[str, ...]) -> Hold | None:
    asked = view.campaign.canary
    wanted = len(asked.nodes) or asked.count
    if len(chosen) >= wanted:
        return None
    named = [
        f"{name}: {canary.why_not(view.nodes[name]) if name in view.nodes else 'it is not a member'}"
        for name in asked.nodes
        if name not in chosen
    ]
    return view.hold(HoldCode.NO_CANARY, wanted=wanted, found=len(chosen), why="; ".join(named))


def _half_done(view: View) -> Hold | None:
    """Nodes that somebody left half-way: they are adopted first, so that nobody is surprised by what happens.

    Who has failed is not half-way: an earlier rollout tolerated it and has ended, and ours takes the node along. One
    that a person left out, and on which nothing moves any more, is in nobody's way.
    """
    found = view.mover.half_done(view)
    return view.hold(HoldCode.HALF_DONE, nodes=", ".join(found[:5]), count=len(found)) if found else None


def why_crowded(view: View) -> Hold | None:
    """Which limit has too little room for canaries that stay closed until gates have passed on all of them."""
    names = view.record.canaries or canary.choose(view.nodes, view.campaign.canary)
    is_due = view.mover.closes and any(gate.wants_gpus and not gate.is_soak for gate in view.campaign.gates)
    if not is_due or len(names) < 2:
        return None
    budget = capacity.budget_of(view.nodes, (), view.intent)
    for name, scope in sorted(budget.scopes.items()):
        inside = {each for each in view.nodes if name in budget.around(each)}
        needed = _room_needed(budget, inside, [each for each in names if each in inside])
        limit = scope.at_once_max
        if 0 < limit < needed:
            where = {"scope": scope.name} if scope.name else {}
            since = view.record.entered_at or None
            return hold(view.name, HoldCode.CANARIES_CROWDED, where, since=since, count=needed, limit=limit)
    return None


def _room_needed(budget: capacity.Budget, inside: Collection[str], canaries: Sequence[str]) -> int:
    """How many nodes are at work at once when the last canary begins with its unit, and the others wait for it."""
    members = Counter(unit for name, unit in budget.unit_of.items() if name in inside)
    units = {budget.unit_of.get(each, each) for each in canaries}
    waiting = {unit: sum(budget.unit_of.get(each, each) != unit for each in canaries) for unit in units}
    return max((count + members.get(unit, 1) for unit, count in waiting.items() if count), default=0)


def _never_fitting(view: View) -> tuple[Hold, ...]:
    """Which node or unit is larger than a limit, so that it would wait for ever for a version that is published."""
    if not view.mover.is_automatic:
        return ()
    budget = capacity.budget_of(view.nodes, (), view.intent)
    parts: dict[str, list[str]] = defaultdict(list)
    for name in sorted(view.nodes):
        parts[budget.unit_of.get(name, name)].append(name)
    idle, since = budget.idle, view.record.entered_at or None
    found: list[Hold] = []
    if idle is not None and parts:
        gpus, part = max((idle.gpus(names), part) for part, names in parts.items())
        if gpus > idle.gpus_max:
            limit = idle.gpus_max
            found.append(hold(view.name, HoldCode.IDLE_GPUS_TOO_FEW, since=since, limit=limit, gpus=gpus, part=part))
    for scope in budget.scopes.values():
        inside = {part: [name for name in names if scope.name in budget.around(name)] for part, names in parts.items()}
        size, unit = max(((len(names), part) for part, names in inside.items()), default=(0, ""))
        if size > 1 and 0 < scope.at_once_max < size:
            where = {"scope": scope.name} if scope.name else {}
            limit = scope.at_once_max
            told = hold(view.name, HoldCode.UNIT_NEVER_FITS, where, since=since, unit=unit, size=size, limit=limit)
            found.append(told)
    return tuple(found)


def _hurried(view: View, chosen: tuple[str, ...]) -> Hold | None:
    """That the limits cannot keep the deadline of attrition, with the one that can be kept.

    Each wave has to be through by its share of the deadline; what one leaves over is there for the next."""
    way, budget = view.intent.attrition, capacity.budget_of(view.nodes, (), view.intent)
    bounds = waves.bounds(view.campaign.waves, len(view.nodes) - len(chosen))
    if way is None or budget.idle is None or not bounds:
        return None
    largest = max(budget.idle.gpus_of.values())
    limits = {
        "maxParallelUpgrades": budget.whole.parallel_max,
        "maxUnavailable": budget.whole.unavailable_max,
        "maxIdleGPUs": budget.idle.gpus_max // largest,
    }
    setting, at_once = min(limits.items(), key=itemgetter(1))
    spent, needed = 0.0, 0.0
    for place, (begins, ends) in enumerate(pairwise((0, *bounds)), start=1):
        spent += urgency.seconds_for(ends - begins, at_once)
        needed = max(needed, spent * len(bounds) / place)
    if at_once < 1 or needed <= way.deadline_seconds:
        return None
    return hold(
        view.name,
        HoldCode.DEADLINE_TOO_SHORT,
        since=view.record.entered_at or None,
        nodes=bounds[-1],
        at_once=at_once,
        needed=spans.span(needed),
        deadline=spans.span(way.deadline_seconds),
        seconds=ceil(needed),
        setting=setting,
    )
