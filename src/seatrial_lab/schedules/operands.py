"""Schedules in which a rollout moves operands: with the driver they have, or with a new one.

    ending = run_operands(7, begin)

Played as every schedule is (schedules.py): the same fleets, weather, views and lives; some operands never start, and
people delete others by hand. The truth is looked at whenever a node changes: what we stop is stopped in a visit, and
under a cordon where that matters.

Tests: tests/sim/test_faults.py
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from seatrial.core.decision.decide import Decision
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operands import COMPONENTS, Operand
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.target import Target
from seatrial.core.node.phases import ENDED
from seatrial.sim.operand_pods import carrying, restarted, with_operands
from seatrial.sim.world import World
from seatrial_lab.explore.truths import why_unvisited
from seatrial_lab.schedules.behaviours import BEHAVIOURS, Kind, fate_of, named
from seatrial_lab.schedules.drawing import NEW, OLD, draw_fleet, draw_intent, draw_manager, merged
from seatrial_lab.schedules.judging import Judge, how
from seatrial_lab.schedules.schedules import Begin, Ending, Play

NODE_COUNT: Final = 12
BEFORE: Final[Mapping[Operand, str]] = {
    Operand.TOOLKIT: "v1.17.8",
    Operand.DEVICE_PLUGIN: "v0.17.1",
    Operand.EXPORTER: "4.2.3-4.1.1-ubuntu22.04",
    Operand.VALIDATOR: "v25.3.0",
    Operand.DRA_PLUGIN: "25.8.0",
}
AFTER: Final[Mapping[Operand, str]] = {
    Operand.TOOLKIT: "v1.18.1",
    Operand.DEVICE_PLUGIN: "v0.18.1",
    Operand.EXPORTER: "4.4.2-4.7.0-ubuntu22.04",
    Operand.VALIDATOR: "v25.10.1",
    Operand.DRA_PLUGIN: "25.12.0",
}
MOVED: Final[tuple[tuple[Operand, ...], ...]] = (
    tuple(BEFORE),
    (Operand.TOOLKIT, Operand.VALIDATOR),
    (Operand.EXPORTER,),
    (Operand.EXPORTER, Operand.DRA_PLUGIN),
)
"""What may be due together."""
BY_HAND: Final = "operand deleted by hand"
SEEN_TWICE: Final = (Operand.VALIDATOR, Operand.DRA_PLUGIN)
"""Operands whose pods have reactions of their own; people delete others here."""


def run_operands(seed: int, begin: Begin, *, node_count: int = NODE_COUNT) -> Ending:
    """Play one schedule to its end."""
    return OperandPlay(seed, begin, node_count).run()


def target_of(driver: str, versions: Mapping[Operand, str], moved: tuple[Operand, ...]) -> Target:
    """A driver, and what moves with it."""
    return Target.of(driver, *((COMPONENTS[operand], versions[operand]) for operand in moved))


class OperandJudge(Judge):
    """Looks at the operands as well."""

    def on_change(self, before: NodeSeen, after: NodeSeen) -> None:
        super().on_change(before, after)
        is_stopping = bool(_leaving(after) - _leaving(before))
        # One that was stopped late, when its node had been given up, harms nobody.
        is_given_up = after.record is not None and after.record.phase in ENDED and after.facts.is_unavailable
        if is_stopping and after.name not in self.shaken and not is_given_up:
            self.find(why_unvisited(after))


def _leaving(node: NodeSeen) -> set[str]:
    return {each.pod.uid for each in node.facts.operands if each.pod is not None and each.pod.is_terminating}


class OperandPlay(Play):
    """One schedule; which operands move is drawn, and whether the driver does."""

    title: ClassVar[str] = "operands"
    before: ClassVar[Mapping[Operand, str]] = BEFORE
    after: ClassVar[Mapping[Operand, str]] = AFTER

    def _draw(self, chance: random.Random, node_count: int) -> tuple[World, dict[str, list[str]]]:
        nodes, fates = draw_fleet(chance, node_count, self._badness)
        self._moved = chance.choice(MOVED)
        self._has_new_driver = chance.random() < 0.4
        for node in nodes:
            drawn = [
                what for what, each in named(Kind.OPERAND).items() if chance.random() < each.chance * self._badness
            ]
            if what := [what for what in drawn if what != BY_HAND]:
                fates[node.name] = [*fates.get(node.name, []), *what]
        goal = NEW if self._has_new_driver else OLD
        intent = replace(draw_intent(chance), target=target_of(goal.version, AFTER, self._moved))
        made = {name: merged(fate_of(what, NEW.version) for what in whats) for name, whats in fates.items()}
        world = World(map(self._old, nodes), intent, fates=made, everybody=draw_manager(self._seed), seed=self._seed)
        return world, fates

    def _old(self, node: NodeSeen) -> NodeSeen:
        """A node that is to move: its operands are old, and perhaps its driver."""
        facts = with_operands(node.facts, ((operand, self.before[operand]) for operand in self._moved))
        driver = facts.driver
        if driver is not None and not self._has_new_driver:
            facts = replace(facts, wanted=replace(OLD, digest=driver.digest))
        return replace(node, facts=carrying(facts, _parts(self.after)))

    def _judge(self) -> Judge:
        judge = super()._judge()
        return OperandJudge(judge.world, theirs=judge.theirs, down_since=judge.down_since)

    def _ended(self, decision: Decision, /) -> str:
        """How it ended, by what is wanted of the operands: the driver may be the same all along."""
        first = self._moved[0]
        is_back = self.world.intent.target.version_of(COMPONENTS[first]) == self.before[first]
        is_held = how(self.world, decision) == "held"
        return "held" if is_held else "reverted" if is_back else "done"

    def _plan(self, fates: Mapping[str, list[str]], /) -> None:
        super()._plan(fates)
        chance = random.Random(f"hands {self._seed}")  # noqa: S311  a simulation, not a secret
        for name in self.world.nodes:
            if chance.random() < BEHAVIOURS[BY_HAND].chance * self._badness:
                operand = chance.choice([each for each in self._moved if each not in SEEN_TWICE])
                self._at(chance.uniform(0, self._storm_ends_at), partial(self._delete, name, operand))

    def _delete(self, name: str, operand: Operand) -> None:
        self._note(lambda: f"{name}: somebody deletes the pod of {operand}")
        self.judge.shaken[name] = self.world.time
        self.world.change(name, lambda node: replace(node, facts=restarted(node.facts, operand)))

    def _want(self, revision: DriverRevision) -> None:
        """Forward everything that the rollout moves, or all of it back."""
        is_back = revision is OLD
        versions = self.before if is_back else self.after
        driver = revision if self._has_new_driver or is_back else OLD
        if self._has_new_driver:
            self.world.publish(driver)
        for name in self.world.nodes:
            self.world.change(name, lambda node: replace(node, facts=carrying(node.facts, _parts(versions))))
        self.judge.change(replace(self.world.intent, target=target_of(driver.version, versions, self._moved)))


def _parts(versions: Mapping[Operand, str]) -> dict[str, str]:
    return {COMPONENTS[operand].value: text for operand, text in versions.items()}
