"""A campaign with gates of any kind over two nodes of the simulated world, by the real loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from seatrial.core.model.campaign import Bake, Campaign, CampaignRecord, Growth, RolloutPhase, Waves
from seatrial.core.model.gates.gate import Gate, Word
from seatrial.core.model.policy import Share
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.outside import GateFate, Outside
from seatrial.sim.world import World
from tests.builders import OLD, an_intent

HOUR = 3600.0


class Played:
    """The first node is the canary, and bakes for four hours; people speak at their time."""

    def __init__(
        self,
        *gates: Gate,
        fates: Mapping[str, GateFate] | None = None,
        node_fates: Mapping[str, Fate] | None = None,
    ) -> None:
        campaign = Campaign(
            gates=gates,
            bake=Bake(seconds=4 * HOUR, every_seconds=HOUR),
            waves=Waves(growth=Growth.FIXED, first=Share(amount=1)),
        )
        nodes = [new_node(f"n{number}", running=OLD, wanted=OLD) for number in (1, 2)]
        outside = Outside(operator=outer.cluster_policy(OLD.version, is_auto_upgrading=False))
        self.world = World(nodes, an_intent(campaign=campaign), outside=outside, gate_fates=fates, fates=node_fates)

    @property
    def record(self) -> CampaignRecord:
        return self.world.rollout.campaign or CampaignRecord()

    def say(self, word: Word) -> None:
        """Have somebody say a word when it says that it was said."""

        def spoken(world: World) -> None:
            campaign = world.intent.campaign
            assert campaign is not None
            world.intent = replace(world.intent, campaign=replace(campaign, attested=(*campaign.attested, word)))

        self.world.at(word.at, spoken)

    def play(self, until: float) -> RolloutPhase:
        """Play until an instant; no promise is broken meanwhile."""
        self.world.at(until, lambda _world: None)

        def is_over(report: Report) -> bool:
            assert not report.breaches, report.breaches
            return self.world.time >= until

        ports = self.world.ports(self)
        asyncio.run(run_forever(ports, Memory(self.world.time), on_report=lambda _report: None, is_over=is_over))
        return self.record.phase

    def append(self, _at: float, _kind: str, _fields: Mapping[str, object]) -> None:
        """Nobody reads this journal."""
