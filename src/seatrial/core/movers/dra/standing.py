"""How a node's DRA plugin stands, from one look: fresh, stale, or why neither can be said yet.

    visited by us                         pending     the node machine restarts its plugin before it opens the node
    not settled                           pending     (settled.py)
    not settled or not fresh, and left    skipped     NVIDIA's skip label, or an upgrade that failed
    out by people or given up
    settled, no plugin                    skipped     no DaemonSet puts one there
    settled, plugin leaves or starts      rerolling
    settled, plugin not younger           stale       than the driver; the same second counts as not younger
    settled, slices tell another version  stale
    settled, and none of these            fresh

Where no pod brings the driver (the host does) only versions are compared: what the slices tell, with what feature
discovery has seen since the plugin started. A reboot restarts the plugin by itself.

Law of this file: nothing is remembered, so that a look of a moment says all that a moment can. Tests:
tests/core/movers/test_dra_standing.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from seatrial.core.holds import HoldCode, Lack
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase
from seatrial.core.movers.dra import settled
from seatrial.core.movers.dra.values import DraSeen, Sighted, Stand, Standing, Why
from seatrial.core.node import fresh
from seatrial.core.node.phases import is_under_way

_OF_LACK: Final = {
    HoldCode.DRA_PLUGIN_STALE: (Stand.STALE, Why.OLDER),
    HoldCode.DRA_VERSION_WRONG: (Stand.STALE, Why.VERSION_DIFFERS),
    HoldCode.DRA_PLUGIN_NOT_READY: (Stand.REROLLING, Why.PLUGIN_STARTING),
}


def standings(seen: DraSeen, had_plugin: frozenset[str] = frozenset()) -> tuple[Standing, ...]:
    """How every node stands that has a plugin or is known to have had one, or a driver beside somebody's plugin."""
    each_of = sorted(seen.nodes.items())
    return tuple(standing_of(each, seen) for name, each in each_of if name in had_plugin or _is_concerned(each, seen))


def _is_concerned(sighted: Sighted, seen: DraSeen) -> bool:
    facts = sighted.node.facts
    return facts.dra is not None or (seen.has_dra and settled.is_managed(facts, seen))


def standing_of(sighted: Sighted, seen: DraSeen) -> Standing:
    """How one node stands."""
    found = _judged(sighted, seen)
    if found.stand is Stand.FRESH:
        return found
    left = _why_left(sighted)
    return replace(found, stand=Stand.SKIPPED, why=left, about="") if left is not None else found


def _why_left(sighted: Sighted) -> Why | None:
    """Why nobody waits for this one: people left it out, or its upgrade was given up."""
    facts, record = sighted.node.facts, sighted.node.record
    if facts.is_skipped:
        return Why.LEFT_OUT
    is_given_up = facts.nvidia_state == NodePhase.UPGRADE_FAILED.value
    is_given_up_by_us = record is not None and record.phase is NodePhase.UPGRADE_FAILED
    return Why.UPGRADE_FAILED if is_given_up or is_given_up_by_us else None


def _judged(sighted: Sighted, seen: DraSeen) -> Standing:
    facts, record = sighted.node.facts, sighted.node.record
    if record is not None and is_under_way(record):
        return Standing(node=facts.name, stand=Stand.PENDING, why=Why.VISITED, about=record.phase.value)
    unsettled = settled.why_unsettled(sighted, seen)
    if unsettled is not None:
        why, about = unsettled
        return Standing(node=facts.name, stand=Stand.PENDING, why=why, about=about)
    if facts.dra is None:
        return Standing(node=facts.name, stand=Stand.SKIPPED, why=Why.NO_PLUGIN)
    return _of_plugin(facts)


def _of_plugin(facts: NodeFacts) -> Standing:
    loaded_at = facts.driver.loaded_at if facts.driver is not None else None
    running = facts.driver.version if facts.driver is not None else _told_since_start(facts)
    lack = next(fresh.why_not_fresh(facts, None, running, loaded_at), None)
    if lack is None:
        return _fresh(facts, running, loaded_at)
    stand, why = _OF_LACK[lack.code]
    plugin = facts.dra
    if why is Why.PLUGIN_STARTING and plugin is not None and plugin.is_terminating:
        why = Why.PLUGIN_LEAVING
    return Standing(node=facts.name, stand=stand, why=why, about=_about(lack), since=loaded_at)


def _fresh(facts: NodeFacts, running: str, loaded_at: ApiInstant | None) -> Standing:
    """A plugin without GPUs of its own, for compute domains only, publishes no version: its age has to do."""
    started_at = facts.dra.started_at if facts.dra is not None else None
    if loaded_at is not None:
        return Standing(node=facts.name, stand=Stand.FRESH, why=Why.YOUNGER, about=running, since=started_at)
    why = Why.SAME_VERSION if running and facts.published else Why.UNCOMPARED
    return Standing(node=facts.name, stand=Stand.FRESH, why=why, about=running, since=started_at)


def _told_since_start(facts: NodeFacts) -> str:
    """The version that feature discovery has seen since the plugin started; what it saw before says nothing."""
    loaded, plugin = facts.loaded, facts.dra
    if loaded is None or plugin is None or loaded.seen_at is None or plugin.started_at is None:
        return ""
    return loaded.version if loaded.seen_at > plugin.started_at else ""


def _about(lack: Lack) -> str:
    if lack.code is HoldCode.DRA_VERSION_WRONG:
        return f"{lack.params['published']}, not {lack.params['wanted']}"
    return str(lack.params.get("pod", ""))
