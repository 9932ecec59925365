"""Which DRA plugins are deleted now: stale ones only, none twice, and one node of an NVLink clique at a time.

    stale, and                                                              it
    its plugin was deleted for this very run of the driver                  failed: another restart would not help
    a pod with a claim is on its way out                                    waits: it needs the plugin to be gone
    the target of the upgrade is not to be seen yet                         pending: its driver is about to change
    the node is settled for less than 30 s                                  waits
    only the versions differ, for less than two minutes                     waits: slices are written after the start
    the plugin is the GPU Operator's, and stale for less than ten minutes   waits: the operator does it itself
    another plugin of its clique is on its way                              waits
    none of these                                                           is deleted now

There is no barrier over the fleet: a node whose driver never comes keeps nobody else.

Law of this file: time is measured on our clock alone, by what this run has seen; nothing has to outlive the run. Tests:
tests/core/movers/test_dra_rerolling.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.movers.dra.standing import standings
from seatrial.core.movers.dra.values import (
    CLIQUE_LABEL,
    OPERATORS_SECONDS,
    SLICES_SECONDS,
    STILL_SECONDS,
    TARGET_SECONDS,
    DraMemory,
    DraSeen,
    DriverKey,
    DriverSet,
    Reroll,
    Rerolling,
    Sighted,
    Stand,
    Standing,
    Still,
    Target,
    Why,
)
from seatrial.core.node import fresh

NO_TARGET = Target()


def decide_reroll(
    seen: DraSeen,
    memory: DraMemory,
    now: Instant,
    *,
    target: Target = NO_TARGET,
    only: frozenset[str] = frozenset(),
    still_seconds: float = STILL_SECONDS,
) -> Rerolling:
    """How every node stands by now, and whose plugin is deleted. `only` names the nodes that are meant; none: all."""
    looked = [_awaited(each, seen, memory) for each in standings(seen, memory.had_plugin)]
    memory = _remembered(looked, seen, memory, now)
    guard = "" if _is_target_seen(seen, target, memory, now) else (target.driver or target.chart)
    waiting = _Waiting(memory=memory, now=now, target=guard, still_seconds=still_seconds)
    judged = [_held(each, seen.nodes[each.node], waiting) for each in looked]
    chosen = {each.node for each in _chosen(judged, seen, only)}
    told = tuple(_told(each, is_chosen=each.node in chosen) for each in judged if not only or each.node in only)
    acts = tuple(_act(seen.nodes[name]) for name in sorted(chosen))
    wake_at = min((each.until for each in told if each.until is not None), default=None)
    return Rerolling(standings=told, acts=acts, memory=memory, wake_at=wake_at)


def noted(memory: DraMemory, act: Reroll, seen: DraSeen) -> DraMemory:
    """The memory after a plugin was deleted."""
    key = _driver_key(seen.nodes[act.node].node.facts)
    return replace(memory, deleted=memory.deleted | {act.uid}, rerolled={**memory.rerolled, act.node: key})


# ── what is remembered ───────────────────────────────────────────────────────────────────────────────────────────────


def _awaited(standing: Standing, seen: DraSeen, memory: DraMemory) -> Standing:
    """A plugin that was there a moment ago is about to come back; one that was asked to leave is not stale any more."""
    plugin = seen.nodes[standing.node].node.facts.dra
    if standing.why is Why.NO_PLUGIN and standing.node in memory.had_plugin:
        return replace(standing, stand=Stand.REROLLING, why=Why.PLUGIN_AWAITED)
    if standing.stand is Stand.STALE and plugin is not None and plugin.uid in memory.deleted:
        return replace(standing, stand=Stand.REROLLING, why=Why.PLUGIN_LEAVING, about=plugin.name)
    return standing


def _remembered(looked: Iterable[Standing], seen: DraSeen, memory: DraMemory, now: Instant) -> DraMemory:
    steady: dict[str, Still] = {}
    stale: dict[str, Still] = {}
    for each in looked:
        if each.stand in (Stand.STALE, Stand.REROLLING, Stand.FRESH):
            sighted = seen.nodes[each.node]
            steady[each.node] = _still(memory.settled.get(each.node), _signature(sighted), now)
            if each.stand is Stand.STALE:
                stale[each.node] = _still(memory.stale.get(each.node), _complaint(each, sighted), now)
    here = {name for name, each in seen.nodes.items() if each.node.facts.dra is not None}
    return replace(
        memory,
        begun_at=now if memory.begun_at is None else memory.begun_at,
        settled=steady,
        stale=stale,
        had_plugin=(memory.had_plugin & seen.nodes.keys()) | here,
        rerolled={name: key for name, key in memory.rerolled.items() if name in seen.nodes},
    )


def _still(before: Still | None, what: object, now: Instant) -> Still:
    return before if before is not None and before[0] == what else (what, now)


def _signature(sighted: Sighted) -> object:
    """All that being settled rests on: while it is the same, the node has stood still."""
    facts = sighted.node.facts
    driver = replace(facts.driver, symptoms=()) if facts.driver is not None else None
    validator = facts.validator
    proof = (validator.uid, validator.is_ready) if validator is not None else None
    return (facts.boot_id, driver, facts.wanted, sighted.driver_set, facts.nvidia_state, proof)


def _complaint(standing: Standing, sighted: Sighted) -> object:
    plugin = sighted.node.facts.dra
    return (standing.why, plugin.uid if plugin else "", plugin.started_at if plugin else None, standing.about)


def _driver_key(facts: NodeFacts) -> DriverKey:
    driver = facts.driver
    return (driver.uid, driver.loaded_at) if driver is not None else (facts.boot_id, None)


# ── what it waits for ────────────────────────────────────────────────────────────────────────────────────────────────


def _is_target_seen(seen: DraSeen, target: Target, memory: DraMemory, now: Instant) -> bool:
    """Whether the change has reached the DaemonSets: until then every node seems to be done with it.

    After the grace it is enough that the target is what runs already: then nothing is to come.
    """
    if not target or not seen.has_managed_drivers or any(_carries(each, target) for each in seen.driver_sets):
        return True
    begun_at = now if memory.begun_at is None else memory.begun_at
    if now < begun_at + TARGET_SECONDS:
        return False
    running = (each.node.facts.driver for each in seen.nodes.values())
    return any(driver is not None and _is_version(driver.version, target.driver) for driver in running)


def _carries(driver_set: DriverSet, target: Target) -> bool:
    is_chart = not target.chart or driver_set.chart == target.chart
    return is_chart and (not target.driver or _is_version(driver_set.version, target.driver))


def _is_version(found: str, wanted: str) -> bool:
    return bool(found) and fresh.is_same_version(found, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
    """What decides how long a stale plugin is kept."""

    memory: DraMemory
    now: Instant
    target: str
    """The target that is not to be seen yet; empty where none is waited for."""
    still_seconds: float


def _held(standing: Standing, sighted: Sighted, waiting: _Waiting) -> Standing:
    """The standing with what keeps a stale plugin for the moment."""
    facts, memory = sighted.node.facts, waiting.memory
    if waiting.target and standing.stand in (Stand.STALE, Stand.FRESH) and facts.driver is not None:
        until = (memory.begun_at or waiting.now) + TARGET_SECONDS
        next_look = until if until > waiting.now else None
        return replace(standing, stand=Stand.PENDING, why=Why.TARGET_ABSENT, about=waiting.target, until=next_look)
    if standing.stand is not Stand.STALE:
        return standing
    if memory.rerolled.get(standing.node) == _driver_key(facts):
        return _held_again(standing, memory, waiting.now)
    if fresh.unpreparing(facts):
        return replace(standing, stand=Stand.WAITING, why=Why.CLAIM_LEAVING)
    return _held_for_time(standing, facts, waiting)


def _held_again(standing: Standing, memory: DraMemory, now: Instant) -> Standing:
    """A plugin that was restarted for this driver has its time to publish; after that, one more would not help."""
    until = memory.stale[standing.node][1] + SLICES_SECONDS
    if standing.why is Why.VERSION_DIFFERS and now < until:
        return replace(standing, stand=Stand.REROLLING, until=until)
    return replace(standing, stand=Stand.FAILED, why=Why.STALE_AGAIN)


def _held_for_time(standing: Standing, facts: NodeFacts, waiting: _Waiting) -> Standing:
    stale_at = waiting.memory.stale[standing.node][1]
    waits = [(waiting.memory.settled[standing.node][1] + waiting.still_seconds, Why.STILL)]
    if standing.why is Why.VERSION_DIFFERS:
        waits.append((stale_at + SLICES_SECONDS, Why.VERSION_DIFFERS))
    if facts.dra is not None and facts.dra.is_operators:
        waits.append((stale_at + OPERATORS_SECONDS, Why.OPERATORS_OWN))
    until, why = max(waits, key=lambda wait: wait[0])
    return replace(standing, stand=Stand.WAITING, why=why, until=until) if waiting.now < until else standing


# ── who goes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _chosen(judged: Iterable[Standing], seen: DraSeen, only: frozenset[str]) -> list[Standing]:
    """Every stale node that is alone, and the first of each clique in which no plugin is on its way."""
    each_of = list(judged)
    busy = {_clique(seen.nodes, each.node) for each in each_of if each.stand is Stand.REROLLING} - {""}
    chosen = []
    for each in each_of:
        clique = _clique(seen.nodes, each.node)
        if each.stand is not Stand.STALE or (only and each.node not in only) or clique in busy:
            continue
        chosen.append(each)
        busy |= {clique} - {""}
    return chosen


def _clique(nodes: Mapping[str, Sighted], name: str) -> str:
    return nodes[name].node.facts.labels.get(CLIQUE_LABEL, "")


def _told(standing: Standing, *, is_chosen: bool) -> Standing:
    """A stale node that is not chosen now waits for its clique."""
    if standing.stand is not Stand.STALE or is_chosen:
        return standing
    return replace(standing, stand=Stand.WAITING, why=Why.CLIQUE)


def _act(sighted: Sighted) -> Reroll:
    plugin = sighted.node.facts.dra
    if plugin is None:
        raise ValueError(f"{sighted.name} has no plugin to delete")
    return Reroll(node=sighted.name, namespace=plugin.namespace, pod=plugin.name, uid=plugin.uid)
