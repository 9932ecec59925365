"""What `seatrial dra` prints: a table for people, the same as documents for scripts.

Law of this file: both come from the same standings, so they cannot differ. Tests: tests/cli/test_dra.py
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from seatrial.app.rerolling import End
from seatrial.cli.terminal import columns
from seatrial.core.movers.dra import words
from seatrial.core.text.names import a_few

if TYPE_CHECKING:
    from seatrial.app.rerolling import Ended, Looked
    from seatrial.core.movers.dra.values import Standing

NEVER = "-"


def table(looked: Looked, *, is_wide: bool) -> str:
    """One line a node, and one that counts them."""
    lines = [looked.note] if looked.note else []
    if looked.standings:
        head = ("NODE", "STATE", "SINCE", *(("DRIVER", "PLUGIN", "PUBLISHED") if is_wide else ()), "WHY", "NEXT")
        lines.append(columns([head, *(_row(each, looked, is_wide=is_wide) for each in looked.standings)]))
        lines.append(f"{words.tally(looked.standings)}.")
    return "\n".join(lines)


def _row(each: Standing, looked: Looked, *, is_wide: bool) -> tuple[str, ...]:
    facts = looked.seen.nodes[each.node].node.facts
    plugin = f"{facts.dra.namespace}/{facts.dra.name}" if facts.dra is not None else NEVER
    driver = facts.driver_standing if facts.driver is not None else NEVER
    more = (driver, plugin, ", ".join(facts.published) or NEVER) if is_wide else ()
    return (each.node, each.stand.value, _time(each.since) or NEVER, *more, words.why(each), words.what_next(each))


def as_data(looked: Looked) -> dict[str, Any]:
    """Everything there is to say, for scripts."""
    return {
        "note": looked.note,
        "nodes": [_node(each, looked) for each in looked.standings],
        "unseen": list(looked.unseen),
    }


def _node(each: Standing, looked: Looked) -> dict[str, Any]:
    facts = looked.seen.nodes[each.node].node.facts
    driver, plugin = facts.driver, facts.dra
    return {
        "name": each.node,
        "state": each.stand.value,
        "code": each.why.value,
        "why": words.why(each),
        "next": words.what_next(each),
        "since": _time(each.since),
        "driver": None
        if driver is None
        else {
            "pod": driver.name,
            "version": driver.version,
            "ready": driver.is_ready,
            "usableSince": _time(driver.loaded_at),
        },
        "plugin": None
        if plugin is None
        else {
            "namespace": plugin.namespace,
            "pod": plugin.name,
            "startedAt": _time(plugin.started_at),
            "ready": plugin.is_ready,
        },
        "published": list(facts.published),
    }


def ended_data(ended: Ended) -> dict[str, Any]:
    """How a run ended, for scripts."""
    return {
        "end": ended.end.value,
        "leftToController": ended.is_left_to_controller,
        "deleted": [{"node": each.node, "namespace": each.namespace, "pod": each.pod} for each in ended.deleted],
        **as_data(ended.looked),
    }


def ended_lines(ended: Ended) -> list[str]:
    """How a run ended, for people."""
    lines = [ended.looked.note] if ended.looked.note else []
    if ended.end is End.TRIAL:
        lines += [words.announced(each) for each in ended.deleted] or ["Nothing would be deleted."]
    elif ended.looked.standings:
        left = [each for each in ended.looked.standings if not words.is_well(each)]
        lines += [f"{each.node}: {each.stand}, {words.why(each)}; next: {words.what_next(each)}." for each in left]
        restarted = a_few((each.node for each in ended.deleted), none="none")
        lines.append(f"{words.tally(ended.looked.standings)}. Plugins restarted: {restarted}.")
    return lines


def _time(instant: float | None) -> str:
    return "" if instant is None else f"{datetime.fromtimestamp(instant, UTC):%Y-%m-%dT%H:%M:%SZ}"
