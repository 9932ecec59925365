"""Schedules in which a rollout moves the network driver, alone or with the GPU driver, beside an SR-IOV operator.

    ending = run_network(7, begin)

Played as those of operands are (operands.py): the same fleets, weather, views and lives. On some nodes a new network
driver waits to be told that it may load, on some the SR-IOV operator drains in the middle of it.

Tests: tests/sim/test_faults.py
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Final

from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.sim.nodes import Fate
from seatrial.sim.world import World
from seatrial_lab.schedules.behaviours import fate_of
from seatrial_lab.schedules.drawing import NEW, OLD, draw_fleet, draw_intent, draw_manager, merged
from seatrial_lab.schedules.judging import Judge
from seatrial_lab.schedules.operands import NODE_COUNT, OperandJudge, OperandPlay, target_of
from seatrial_lab.schedules.schedules import Begin, Ending

BEFORE: Final[Mapping[Operand, str]] = {Operand.NETWORK_DRIVER: "24.07-0.6.1.0"}
AFTER: Final[Mapping[Operand, str]] = {Operand.NETWORK_DRIVER: "25.04-0.6.0.0"}
GUARDED_SHARE: Final = 0.3
SRIOV_SHARE: Final = 0.2


def run_network(seed: int, begin: Begin, *, node_count: int = NODE_COUNT) -> Ending:
    """Play one schedule to its end."""
    return NetworkPlay(seed, begin, node_count).run()


class NetworkJudge(OperandJudge):
    """Does not take the SR-IOV operator for us: it lifts whatever cordon it finds when its work is done."""

    def on_change(self, before: NodeSeen, after: NodeSeen) -> None:
        if before.facts.sriov and not after.facts.sriov:
            self.theirs.discard(after.name)
        super().on_change(before, after)


class NetworkPlay(OperandPlay):
    """One schedule; whether the GPU driver moves in the same visits is drawn."""

    title: ClassVar[str] = "network driver"
    before: ClassVar[Mapping[Operand, str]] = BEFORE
    after: ClassVar[Mapping[Operand, str]] = AFTER

    def _draw(self, chance: random.Random, node_count: int) -> tuple[World, dict[str, list[str]]]:
        nodes, fates = draw_fleet(chance, node_count, self._badness)
        self._moved = (Operand.NETWORK_DRIVER,)
        self._has_new_driver = chance.random() < 0.5
        goal = NEW if self._has_new_driver else OLD
        intent = replace(draw_intent(chance), target=target_of(goal.version, AFTER, self._moved))
        made = {name: merged(fate_of(what, NEW.version) for what in whats) for name, whats in fates.items()}
        for node in nodes:
            is_guarded, is_sriov_due = chance.random() < GUARDED_SHARE, chance.random() < SRIOV_SHARE
            fate = made.get(node.name, Fate())
            made[node.name] = replace(fate, is_network_load_guarded=is_guarded, is_sriov_due=is_sriov_due)
        world = World(map(self._old, nodes), intent, fates=made, everybody=draw_manager(self._seed), seed=self._seed)
        return world, fates

    def _judge(self) -> Judge:
        judge = super()._judge()
        return NetworkJudge(judge.world, theirs=judge.theirs, down_since=judge.down_since)
