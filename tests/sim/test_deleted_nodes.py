"""A node that is deleted while it is upgraded takes nothing from the others: the rollout goes on without it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from seatrial.core.model.campaign import Bake, Campaign, Canary, Growth, RolloutPhase, Waves
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.nodes import new_node
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent

NODES = [f"n{number}" for number in range(7)]
ALL = Waves(growth=Growth.FIXED, first=Share(amount=100, is_percent=True))
RESTARTING = frozenset({NodePhase.POD_RESTART_REQUIRED, NodePhase.VALIDATION_REQUIRED})


class Shrinking:
    """A fleet of seven, two at a time, of which one is deleted as soon as its driver was taken away."""

    def __init__(self, *, has_campaign: bool, is_delegated: bool = False) -> None:
        running, wanted = (OLD, OLD) if has_campaign else (OLD, NEW)
        nodes = [new_node(name, running=running, wanted=wanted, gpu_pod_count=1) for name in NODES]
        campaign = Campaign(canary=Canary(nodes=("n0",)), bake=Bake(seconds=60.0), waves=ALL)
        intent = an_intent(parallel_max=2, unavailable_max=2, campaign=campaign if has_campaign else None)
        operator = outer.cluster_policy(
            running.version if has_campaign else NEW.version, is_auto_upgrading=is_delegated, policy=outer.NO_LIMIT
        )
        self.world = World(nodes, intent, outside=Outside(operator=operator), seed=3)
        self.deleted = ""

    def play(self) -> None:
        """To the end of the rollout, or for ten hours; no promise is broken on the way."""
        self.world.at(36_000.0, lambda _world: None)

        def is_over(report: Report) -> bool:
            assert not report.breaches, report.breaches
            self.delete_one()
            return self.is_done or self.world.time >= 36_000.0

        journal = _NoJournal()
        ports = self.world.ports(journal)
        asyncio.run(run_forever(ports, Memory(0.0), on_report=lambda _report: None, is_over=is_over))

    def delete_one(self) -> None:
        """Delete the first node that is seen without its driver, once; the canary stays."""
        for name, node in sorted(self.world.nodes.items()):
            phase = node.record.phase if node.record is not None else node.facts.nvidia_state
            is_restarting = phase in RESTARTING and (node.facts.driver is None or not node.facts.driver.is_ready)
            if not self.deleted and name != "n0" and is_restarting:
                self.deleted = name
                del self.world.nodes[name]
                return

    @property
    def is_done(self) -> bool:
        campaign = self.world.rollout.campaign
        if campaign is not None:
            return campaign.phase is RolloutPhase.DONE
        return all(
            node.facts.is_in_sync and node.record is not None and node.record.phase is NodePhase.UPGRADE_DONE
            for node in self.world.nodes.values()
        )


class _NoJournal:
    def append(self, _at: float, _kind: str, _fields: Mapping[str, object]) -> None:
        """Nobody reads this journal."""


@pytest.mark.parametrize(
    ("has_campaign", "is_delegated"),
    [(False, False), (True, False), (True, True)],
    ids=["without a campaign", "in a campaign", "under NVIDIA's controller"],
)
def test_a_node_deleted_without_its_driver_does_not_stop_the_others(has_campaign: bool, is_delegated: bool) -> None:
    fleet = Shrinking(has_campaign=has_campaign, is_delegated=is_delegated)
    fleet.play()
    assert fleet.deleted
    for name, node in fleet.world.nodes.items():
        assert node.facts.driver is not None, name
        assert (node.facts.driver.version, node.facts.is_cordoned) == (NEW.version, False), name
