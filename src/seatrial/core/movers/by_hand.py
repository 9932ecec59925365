"""Steps that people take: firmware by the BMC, OpenShift, operators. Who is due, and the way back.

Law of this file: nothing is moved and nothing is published here; people do, and we watch. How their work is seen is in
../components.py. Tests: tests/core/movers/test_by_hand.py
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import ClassVar, Final

from seatrial.core.actions.of_campaigns import CampaignAct
from seatrial.core.base.values import dataclass
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import ByHand, Mode, Point, Via
from seatrial.core.movers import machine_pools
from seatrial.core.movers.components import Components
from seatrial.core.movers.view import Need, Return, Start, View
from seatrial.core.node.observed import SHOWN, observed, shows
from seatrial.core.node.progress import Progress, is_left_out
from seatrial.core.text.names import a_few

NODES_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Hand(Components):
    """People bring it to the nodes; we say whose turn it is, and watch."""

    mode: ClassVar[Mode | None] = Mode.BY_HAND
    who: ClassVar[str] = "people"
    who_moves: ClassVar[str] = "moved manually"
    is_automatic: ClassVar[bool] = False

    # who may start

    def start(self, view: View, names: frozenset[str]) -> Start:
        return Start(record=view.record, ready=names)

    def at_work(self, view: View, names: Iterable[str], told: Hold) -> Hold:
        return due(view, self.step, self.version, names)

    # rights

    def needs(self, publish: Via) -> frozenset[Need]:
        return frozenset()

    # undo, and what stays

    def undo(self, view: View, acts: tuple[CampaignAct, ...], holds: tuple[Hold, ...]) -> Return:
        """People take it back, or say that it stays where no way leads back."""
        pauses, pending = machine_pools.hold_still(view)  # whatever moves the nodes of a pool stops moving them
        acts, holds = (*pauses, *acts), (*pending, *holds)
        there = still_there(view, self.step, self.version)
        out = tuple(name for name in there if is_left_out(view.nodes[name].facts))
        still = tuple(name for name in there if name not in out)
        if still:
            holds = (*holds, going_back(view, self.step, self.version, still))
        return Return(record=view.record, acts=acts, holds=holds, out=out)


def due(view: View, asked: ByHand, version: str, names: Iterable[str]) -> Hold:
    """Whose turn it is, from which version to which, and how it is observed."""
    waiting = sorted(name for name in names if view.progress(name) is not Progress.DONE)
    silent = sorted(name for name in waiting if shows(view.nodes[name].facts, asked.component, version))
    seen = sorted({observed(view.nodes[name].facts, asked.component) for name in waiting} - {""})
    return view.hold(
        HoldCode.BY_HAND_PENDING,
        component=asked.component.value,
        version=version,
        before=", ".join(seen) or dict(view.record.baseline).get(asked.component.value, "") or "unknown",
        nodes=a_few(waiting, NODES_SHOWN),
        names=shlex.join(waiting[:NODES_SHOWN]),
        silent=a_few(silent, NODES_SHOWN),
        instructions=asked.instructions,
        shown=SHOWN.get(asked.component, ""),
    )


def still_there(view: View, asked: ByHand, version: str) -> tuple[str, ...]:
    """The nodes that have to go back: those observed to have the version that is undone."""
    if asked.is_one_way and Point.ROLLBACK in view.campaign.approved:
        return ()  # a person says that it stays
    return tuple(name for name, node in sorted(view.nodes.items()) if shows(node.facts, asked.component, version))


def going_back(view: View, asked: ByHand, version: str, names: tuple[str, ...]) -> Hold:
    """What people have to do so that these nodes are as they were, or to say where that cannot be."""
    return view.hold(
        HoldCode.NO_WAY_BACK_BY_HAND if asked.is_one_way else HoldCode.BY_HAND_BACK,
        component=asked.component.value,
        version=version,
        before=dict(view.record.baseline).get(asked.component.value, "") or "what was there before",
        nodes=a_few(names, NODES_SHOWN),
        names=shlex.join(names[:NODES_SHOWN]),
        shown=SHOWN.get(asked.component, ""),
    )
