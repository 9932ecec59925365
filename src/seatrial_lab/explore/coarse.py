"""Coarser worlds: reactions that happen at once where their order is not what a test is about.

Law of this file: a coarse reaction is several fine ones, one after the other. Tests: tests/model/test_explore.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.sim import driver_pods, reactions
from seatrial.sim.driver_pods import Reaction
from seatrial.sim.nodes import Fate


def reloads(facts: NodeFacts, fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """All that follows from a driver pod's deletion, in one step: its successor is validated, or has failed."""
    if facts.driver is None or not facts.driver.is_terminating:
        return None
    after = facts
    while following := next((found for react in _RELOADING if (found := react(after, fate, at + 1)) is not None), None):
        after = following
    return after


_RELOADING: Final = (
    driver_pods.driver_pod_replaced,
    driver_pods.driver_manager_acts,
    driver_pods.driver_gets_ready,
    driver_pods.driver_crash_loops,
    reactions.validator_restarts,
    reactions.validator_passes,
)
AT_ONCE: Final[Mapping[str, Reaction]] = {"pods leave": reactions.pods_leave, "driver reloads": reloads}
"""For worlds of more nodes: nobody looks while a driver reloads, so what can be seen is before and after."""
