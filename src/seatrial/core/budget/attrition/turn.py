"""One turn: what is given back, reloaded, evicted and closed now, in this order, none of it above the idle budget.

Tests: tests/core/budget/test_attrition.py
"""

from __future__ import annotations

from seatrial.core.budget.attrition import closing, evicting, returning
from seatrial.core.budget.attrition.values import Act, Bound, Turn, Verb, View


def turn(view: View) -> list[Act]:
    """The acts of this turn."""
    return planned(view).acts


def planned(view: View) -> Turn:
    """The acts of this turn, and what keeps other nodes from theirs."""
    back = returning.give_back(view)
    if back:
        # What is over goes first, and by itself: what else is due is seen in a moment.
        return Turn(back, {node.name: Bound.IDLE for node in view.nodes.values() if not node.is_closed})
    empty = tuple(
        node.name for node in view.nodes.values() if node.is_closed and not node.jobs and not node.is_reloading
    )
    reloads = [Act(verb=Verb.RELOAD, nodes=(name,)) for name in empty]
    room = view.idle_max - view.idle
    evictions = evicting.evict(view, room)
    gone = {name for act in evictions.acts for name in act.nodes}
    room -= sum(view.nodes[name].busy for name in gone)
    closed = closing.close(view, max(0, room))
    return Turn([*reloads, *evictions.acts, *closed.acts], evictions.left | closed.left)
