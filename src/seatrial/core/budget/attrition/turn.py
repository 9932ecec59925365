"""One turn: what is given back, reloaded, evicted and closed now, in this order, none of it above the idle budget.

Tests: tests/core/test_attrition.py
"""

from __future__ import annotations

from seatrial.core.budget.attrition import closing, evicting, returning
from seatrial.core.budget.attrition.values import Act, Reason, Verb, View


def turn(view: View) -> list[Act]:
    """The acts of this turn."""
    back = returning.give_back(view)
    if back:
        return back  # what is over goes first, and by itself: what else is due is seen in a moment
    empty = tuple(
        node.name for node in view.nodes.values() if node.is_closed and not node.jobs and not node.is_reloading
    )
    reloads = [Act(verb=Verb.RELOAD, nodes=(name,), why=Reason.EMPTY) for name in empty]
    room = view.idle_max - view.idle
    evictions = evicting.evict(view, room)
    gone = {name for act in evictions for name in act.nodes}
    room -= sum(view.nodes[name].busy for name in gone)
    return [*reloads, *evictions, *closing.close(view, max(0, room))]
