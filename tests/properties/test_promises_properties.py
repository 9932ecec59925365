"""Whatever befalls a rollout in the middle of it, `decide` proposes nothing that the promises refuse.

A false breach stops everything, so rules and promises have to read the same snapshot in the same way. Rollouts of every
way (plain, campaign, by attrition, delegated) are drawn as the laboratory draws them and played by the real loop, so
each snapshot is one that can be. On the way things happen to nodes, and in every pass the same moment is looked at once
more as if something else had just happened.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Final, TypeAlias

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from seatrial.core.decision.decide import decide
from seatrial.core.model.seen import sriov
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises.invariants import broken
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.nodes import rebooted
from seatrial.sim.world import World
from seatrial_lab.schedules.drawing import THIRD, lowered
from seatrial_lab.schedules.mixed import draw, written_by_hand
from seatrial_lab.schedules.schedules import NoJournal
from tests.properties.drawn import drawn

pytestmark = pytest.mark.slow

NODE_COUNT: Final = 6
PASSES_MAX: Final = 250
LOOKS: Final = 4
"""At how many other ways to go on each pass looks."""
SRIOV: Final = ("", *(stage.state for stage in (*sriov.COURSE[:-1], sriov.REBOOT)), "A_Later_Word")
OfNode: TypeAlias = Callable[[NodeFacts], NodeFacts]

TO_NODES: Final[Mapping[str, OfNode]] = {
    "dies": lambda facts: replace(facts, is_ready=False),
    "is back": lambda facts: replace(facts, is_ready=True),
    "reboots": lambda facts: rebooted(facts, facts.ready_at or 0.0),
    "is cordoned": lambda facts: replace(facts, is_cordoned=True),
    "is uncordoned": lambda facts: replace(facts, is_cordoned=False),
    "is skipped": lambda facts: replace(facts, is_skipped=True),
    "is asked for": lambda facts: replace(facts, is_requested=True),
    **{f"SR-IOV says {state or 'nothing'}": partial(replace, sriov=state) for state in SRIOV},
}
"""What can happen to one node at any time."""
DELETED, PUBLISHED, LOWERED, PAUSED = "is deleted", "a third version", "limits lowered", "paused"
HAPPENINGS: Final = (*TO_NODES, DELETED, PUBLISHED, LOWERED, PAUSED)


class Way:
    """A rollout on its way, and what befalls it after so many passes."""

    def __init__(self, world: World, story: list[tuple[int, str, int]]) -> None:
        self.world = world
        self.story = list(story)
        self.passes = 0
        self.others = cycle((what, number) for number in range(NODE_COUNT) for what in (*TO_NODES, DELETED, PUBLISHED))

    def on_report(self, report: Report) -> None:
        assert report.breaches == ()
        self.passes += 1
        for _ in range(LOOKS):
            self.look(*next(self.others))
        if self.story and self.passes >= self.story[0][0]:
            self.befall(*self.story.pop(0)[1:])

    def name(self, number: int) -> str:
        return sorted(self.world.nodes)[number % len(self.world.nodes)]

    def look(self, what: str, number: int) -> None:
        """Decide on this moment as if one thing more had just happened."""
        sight = self.world.observe()
        seen = self.as_if(sight.seen, what, self.name(number))
        found = broken(seen, sight.intent, decide(seen, sight.intent, self.world.time))
        assert not found, f"{self.name(number)} {what}: {found[0]}"

    def as_if(self, seen: Snapshot, what: str, name: str) -> Snapshot:
        nodes = dict(seen.nodes)
        if what == DELETED:
            del nodes[name]
        elif what == PUBLISHED:
            seen = outer.seen_with(seen, written_by_hand(self.world.outside, self.third))
            facts = {each: replace(node.facts, wanted=THIRD) for each, node in nodes.items()}
            nodes = {each: replace(node, facts=facts[each]) for each, node in nodes.items()}
        else:
            nodes[name] = replace(nodes[name], facts=TO_NODES[what](nodes[name].facts))
        return replace(seen, nodes=nodes)

    @property
    def third(self) -> dict[str, str]:
        return {carrier.name: THIRD.version for carrier in self.world.outside.operator.carriers}

    def befall(self, what: str, number: int) -> None:
        world, name = self.world, self.name(number)
        match what:
            case _ if what in TO_NODES:
                world.change(name, lambda node: replace(node, facts=TO_NODES[what](node.facts)))
            case "is deleted" if len(world.nodes) > 2:
                world.remove(name)
            case "a third version":
                world.change_outside(lambda outside: written_by_hand(outside, self.third))
                if world.intent.campaign is None:
                    world.publish(THIRD)
            case "limits lowered":
                world.intent = lowered(world.intent)
            case "paused":
                world.intent = replace(world.intent, is_paused=not world.intent.is_paused)
            case _:
                pass  # a fleet of two is not made smaller


stories = st.lists(
    st.tuples(st.integers(1, 120), st.sampled_from(HAPPENINGS), st.integers(0, NODE_COUNT - 1)), max_size=6
).map(sorted)


# To shrink a whole rollout takes minutes, and its seed and story say enough.
@settings(
    max_examples=drawn(24),
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(seed=st.integers(0, 1_000_000), story=stories)
def test_nothing_is_proposed_that_the_promises_refuse(seed: int, story: list[tuple[int, str, int]]) -> None:
    chance = random.Random(seed)  # noqa: S311  a simulation, not a secret
    way = Way(draw(chance, NODE_COUNT, badness=0.4).world(seed), story)
    ports = way.world.ports(NoJournal())
    is_over = lambda _report: way.passes >= PASSES_MAX  # noqa: E731
    asyncio.run(run_forever(ports, Memory(0.0), on_report=way.on_report, is_over=is_over))
