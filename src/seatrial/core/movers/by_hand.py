"""Steps that people take: firmware by the BMC, OpenShift, operators. Who is through, who is due, and the way back.

    kernel, kubernetes    the kubelet says which version the node runs
    everything else       a person says it: annotation seatrial.dev/observed-COMPONENT on the node

Law of this file: nothing is moved and nothing is published here. A node is through when the version was observed and
the node is Ready; what nobody observed is not there. What a kubelet says, nobody can say better. Tests:
tests/core/test_by_hand.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from seatrial.core.errors import CoreBug
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import ByHand, Point
from seatrial.core.movers.view import View
from seatrial.core.node.observed import SHOWN, is_same, observed, shows
from seatrial.core.node.progress import Standing

NODES_SHOWN: Final = 5


def before(view: View) -> tuple[tuple[str, str], ...]:
    """The way back: what most nodes were observed to have, else what the plan comes from."""
    asked = _asked(view)
    texts = Counter(observed(node.facts, asked.component) for _, node in sorted(view.nodes.items()))
    found = [
        (count, text) for text, count in texts.items() if text and not is_same(asked.component, text, asked.version)
    ]
    text = max(found)[1] if found else asked.before
    return ((asked.component.value, text),) if text else ()


def due(view: View, names: Iterable[str]) -> Hold:
    """Whose turn it is, from which version to which, and how it is observed."""
    asked, waiting = _asked(view), sorted(name for name in names if view.standing(name) is not Standing.DONE)
    silent = sorted(name for name in waiting if shows(view.nodes[name].facts, asked.component, asked.version))
    seen = sorted({observed(view.nodes[name].facts, asked.component) for name in waiting} - {""})
    return view.hold(
        HoldCode.BY_HAND_PENDING,
        component=asked.component.value,
        version=asked.version,
        before=", ".join(seen) or dict(view.record.baseline).get(asked.component.value, "") or "unknown",
        nodes=_some(waiting),
        names=" ".join(waiting[:NODES_SHOWN]),
        silent=_some(silent),
        instructions=asked.instructions,
        shown=SHOWN.get(asked.component, ""),
    )


def still_there(view: View) -> tuple[str, ...]:
    """The nodes that have to go back: those observed to have the version that is undone."""
    asked = _asked(view)
    if asked.is_one_way and Point.ROLLBACK in view.campaign.approved:
        return ()  # a person says that it stays
    return tuple(name for name, node in sorted(view.nodes.items()) if shows(node.facts, asked.component, asked.version))


def going_back(view: View, names: tuple[str, ...]) -> Hold:
    """What people have to do so that these nodes are as they were, or to say where that cannot be."""
    asked = _asked(view)
    return view.hold(
        HoldCode.NO_WAY_BACK_BY_HAND if asked.is_one_way else HoldCode.BY_HAND_BACK,
        component=asked.component.value,
        version=asked.version,
        before=dict(view.record.baseline).get(asked.component.value, "") or "what was there before",
        nodes=_some(list(names)),
        names=" ".join(names[:NODES_SHOWN]),
        shown=SHOWN.get(asked.component, ""),
    )


def _asked(view: View) -> ByHand:
    if view.campaign.by_hand is None:
        raise CoreBug(f"{view.name} is no step by hand.")
    return view.campaign.by_hand


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:NODES_SHOWN])
    return f"{shown} and {len(names) - NODES_SHOWN} more" if len(names) > NODES_SHOWN else shown
