"""Small values for the tests of DRA plugins: a node that is settled, what one look shows, and a run of looks.

The driver of a settled node is usable since 200: a plugin that started at 201 knows it, and one from 101 does not.
"""

from __future__ import annotations

from typing import Any, Final

from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.movers.dra import rerolling
from seatrial.core.movers.dra.values import (
    DraMemory,
    DraSeen,
    DriverSet,
    PluginSet,
    Rerolling,
    Sighted,
    Stand,
    Standing,
    Target,
    Why,
)
from tests.builders import NEW, NOW, a_dra_plugin, a_well_node

DRIVERS: Final = DriverSet(name="nvidia-driver-daemonset", version=NEW.version, chart="gpu-operator-v26.3.1")
STALE_PLUGIN: Final = a_dra_plugin()


def fresh_plugin(name: str = "n1", **changes: Any) -> Any:
    """A plugin that started after the driver."""
    return a_dra_plugin(name, **({"started_at": 201.0} | changes))


def settled(
    name: str = "n1", phase: NodePhase | None = None, *, driver_set: DriverSet | None = DRIVERS, **changes: Any
) -> Sighted:
    """A node whose driver has settled and whose plugin is stale, but for these changes."""
    fields: dict[str, Any] = {"dra": a_dra_plugin(name), "published": (NEW.version,)}
    return Sighted(node=a_well_node(name, phase, **(fields | changes)), driver_set=driver_set)


def look(*nodes: Sighted, sets: tuple[DriverSet, ...] = (DRIVERS,), plugins: tuple[PluginSet, ...] = ()) -> DraSeen:
    """What one look shows."""
    return DraSeen(nodes={each.name: each for each in nodes}, driver_sets=sets, plugin_sets=plugins)


def said(standing: Standing) -> tuple[Stand, Why]:
    return standing.stand, standing.why


class Run:
    """One run of the command: looks one after the other, each deletion done."""

    def __init__(self, *, target: Target = Target(), only: frozenset[str] = frozenset()) -> None:  # noqa: B008
        self.memory = DraMemory()
        self.now = NOW
        self.deleted: list[str] = []
        self._target, self._only = target, only

    def look(self, seen: DraSeen, after: float = 0.0) -> Rerolling:
        """Look once, so many seconds after the look before, and do what it says."""
        self.now += after
        found = rerolling.decide_reroll(seen, self.memory, self.now, target=self._target, only=self._only)
        self.memory = found.memory
        for act in found.acts:
            self.memory = rerolling.noted(self.memory, act, seen)
            self.deleted.append(act.node)
        return found

    def stands(self, seen: DraSeen, after: float = 0.0) -> dict[str, tuple[Stand, Why]]:
        """How every node stands after one more look."""
        return {each.node: said(each) for each in self.look(seen, after).standings}
