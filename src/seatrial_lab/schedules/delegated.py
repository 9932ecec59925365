"""Schedules in which NVIDIA's controller moves the nodes of a campaign, within windows, pauses, an abort and failures.

    ending = run_delegated(7, begin)

Played as every schedule is (schedules.py): the same weather, views and lives. Its own limits are drawn as well, often
none, so that only what we let in holds it. The truth is looked at whenever a node changes or a mark arrives: nobody is
started whom the ledger does not name, no more are at work than the limits allow, nobody is let in long after a pause or
the end of a window, and no more fail than are tolerated and were under way.

Tests: tests/sim/test_faults.py
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final

from seatrial.core.actions.action import Action
from seatrial.core.actions.of_campaigns import MarkNode
from seatrial.core.decision.decide import Decision
from seatrial.core.holds import HoldCode
from seatrial.core.model import windows
from seatrial.core.model.campaign import ENDED, Bake, Campaign, CampaignRecord, Canary, Growth, RolloutPhase, Waves
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Limits, Policy, PolicyWish, Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.target import Target
from seatrial.core.movers import letting_in
from seatrial.core.node.progress import is_same
from seatrial.ports import Outcome, Result
from seatrial.sim import outside as outer
from seatrial.sim import upgrade_controller
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
from seatrial_lab.schedules.behaviours import Kind, named
from seatrial_lab.schedules.campaigned import CampaignPlay
from seatrial_lab.schedules.drawing import NEW, OLD, without_overlap
from seatrial_lab.schedules.judging import SEEN_SECONDS, TRANSIENT, Judge
from seatrial_lab.schedules.schedules import Begin, Ending

NODE_COUNT: Final = 12
HOUR: Final = 3600.0
FAILED: Final = NodePhase.UPGRADE_FAILED.value
FORCED_SECONDS: Final = 1800.0
"""So long after a node was lost for good a person reads what the rollout waits for."""
PEOPLE: Final = "kubectl"
"""Who writes resources by hand, over everybody's head."""


def run_delegated(seed: int, begin: Begin, *, node_count: int = NODE_COUNT) -> Ending:
    """Play one schedule to its end."""
    return DelegatedPlay(seed, begin, node_count).run()


# ── what is drawn ────────────────────────────────────────────────────────────────────────────────────────────────────


def draw_intent(chance: random.Random) -> Intent:
    """A campaign with windows or without, and its limits."""
    opens = [0.0, *sorted(chance.uniform(0, 12 * HOUR) for _ in range(2))]
    openings = tuple((at, at + chance.choice([300.0, 900.0, 2 * HOUR])) for at in opens)
    # The last one stays open, so that everybody comes to an end.
    ever = ((24 * HOUR, 10_000 * HOUR),)
    limits = Limits(
        parallel_max=chance.choice([1, 2, 4]), unavailable_max=Share.parse(chance.choice(["25%", "50%", "100%"]))
    )
    return Intent(
        rollout="r",
        target=Target.of(NEW.version),
        policy=Policy(limits=limits),
        failed_max=chance.choice([0, 1, 1, 3]),
        campaign=Campaign(
            canary=Canary(count=chance.choice([1, 1, 2])),
            bake=Bake(seconds=0.0),
            waves=Waves(growth=chance.choice([Growth.FIXED, Growth.EXPONENTIAL]), first=Share(amount=4)),
            openings=chance.choice([None, without_overlap((*openings, *ever))]),
        ),
    )


def draw_policy(chance: random.Random) -> PolicyWish:
    """What NVIDIA's controller would allow by itself."""
    return chance.choice([outer.NO_LIMIT, outer.NO_LIMIT, PolicyWish(parallel_max=2), outer.NOTHING_SAID])


# ── the truth ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class DelegatedJudge(Judge):
    """Looks at what NVIDIA's controller does, and at what lets it."""

    stopped_at: Instant | None = None
    """Since when somebody has it paused."""

    def on_change(self, before: NodeSeen, after: NodeSeen) -> None:
        if before is after:
            return
        is_started = after.facts.nvidia_state == upgrade_controller.CORDON != before.facts.nvidia_state
        if is_started:
            self.find(self._why_not_started(after))
        if after.facts.nvidia_state == FAILED != before.facts.nvidia_state:
            self.find(self._why_too_many())

    def on_landing(self, action: Action, before: NodeSeen | None, outcome: Outcome) -> None:
        is_done = outcome.result is Result.DONE and before is not None
        if not is_done or before is None or not isinstance(action, MarkNode) or not self._lets_in(action, before):
            return
        time, campaign = self.world.time, self.world.intent.campaign
        if self.stopped_at is not None and time > self.stopped_at + SEEN_SECONDS:
            self.find(f"{action.node} is let in {time - self.stopped_at:.0f} s after a pause")
        if campaign is None or campaign.abort or self._is_back:
            return
        is_late = not any(
            windows.is_open(campaign.openings, time - seconds) for seconds in (0.0, SEEN_SECONDS / 2, SEEN_SECONDS)
        )
        if is_late:
            self.find(f"{action.node} is let in long after the window closed")

    def _lets_in(self, action: MarkNode, before: NodeSeen) -> bool:
        record = self._record
        version = letting_in.version_for(before.facts, record, self.world.outside.operator, self.world.intent)
        return action.is_retry or (action.skip is False and letting_in.may_be_started(before, version))

    @property
    def _record(self) -> CampaignRecord:
        return self.world.rollout.campaign or CampaignRecord()

    @property
    def _is_back(self) -> bool:
        return letting_in.is_going_back(self._record)

    def _why_not_started(self, node: NodeSeen) -> str | None:
        if any(carrier.writer == PEOPLE for carrier in self.world.outside.operator.carriers):
            return None  # what somebody else publishes, it brings to whoever it may
        if node.name not in {admission.node for admission in self.world.rollout.admitted}:
            return f"{node.name} is started, and the ledger does not name it"
        at_work = [each for each in self.world.nodes.values() if each.facts.nvidia_state in upgrade_controller.PLAYED]
        limit = max(intent.limits.parallel_max or len(self.world.nodes) for intent in self._intents())
        return f"{len(at_work)} nodes under way at a limit of {limit}" if len(at_work) > limit else None

    def _why_too_many(self) -> str | None:
        failed = [each.name for each in self.world.nodes.values() if each.facts.nvidia_state == FAILED]
        at_once = max(intent.limits.parallel_max or len(self.world.nodes) for intent in self._intents())
        limit = self.world.intent.failed_max + at_once
        return f"{len(failed)} nodes have failed, and at most {limit} could" if len(failed) > limit else None

    def _intents(self) -> list[Intent]:
        """What is in force, and what was when those under way began."""
        return [self.world.intent, *(intent for _, intent in self.former)]


# ── playing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class DelegatedPlay(CampaignPlay):
    """A campaign that leaves the nodes to NVIDIA's controller."""

    title: ClassVar[str] = "delegated schedule"

    def _draw(self, chance: random.Random, node_count: int) -> tuple[World, dict[str, list[str]]]:
        nodes = [new_node(f"n{number:02}", running=OLD, wanted=OLD) for number in range(node_count)]
        likely = chance.choice([0.0, 0.0, 0.1, 0.4])
        fates = {node.name: Fate(driver_fails_on=NEW.version) for node in nodes if chance.random() < likely}
        operator = outer.cluster_policy(OLD.version, is_auto_upgrading=True, policy=draw_policy(chance))
        world = World(nodes, draw_intent(chance), fates=fates, outside=Outside(operator=operator), seed=self._seed)
        return world, {}

    def _judge(self) -> Judge:
        return DelegatedJudge(self.world)

    def _plan(self, _fates: Mapping[str, list[str]], /) -> None:
        chance, end = self._chance, self._storm_ends_at
        self._happen(chance.random() < 0.5, chance.uniform(0, end), self._pause_for(chance.uniform(60, 3000)))
        self._happen(chance.random() < 0.4, chance.uniform(0, end), self._abort)
        self._happen(chance.random() < 0.3, chance.uniform(0, end), self._lower)
        for name in self.world.nodes:
            self._happen(chance.random() < 0.05, chance.uniform(0, end), self._lose(name, chance.uniform(60, 600)))
        for what, behaviour in named(Kind.ECLIPSE).items():
            # Windows are of our own clock, wherever it stands; what it does to deadlines is played by the others.
            for _ in range(0 if what.startswith("clock") else 2):
                if chance.random() < behaviour.chance:
                    self._eclipse_at(chance.uniform(0, end), what, behaviour.seconds(chance))
        self._happen(chance.random() < 0.3, chance.uniform(0, end), self._lose_for_good)
        self._at(end, self._clear_up)

    def _happen(self, is_so: bool, at: Instant, happening: Callable[[], None]) -> None:
        if is_so:
            self._at(at, happening)

    def _set_paused(self, *, is_paused: bool) -> None:
        super()._set_paused(is_paused=is_paused)
        if isinstance(self.judge, DelegatedJudge):
            self.judge.stopped_at = self.world.time if is_paused else None

    def _lower(self) -> None:
        limits = self.world.intent.limits
        lower = replace(limits, parallel_max=max(limits.parallel_max // 2, 1))
        self._note(lambda: f"somebody lowers the limit to {lower.parallel_max}")
        self.judge.change(replace(self.world.intent, policy=Policy(limits=lower)))

    def _lose(self, name: str, seconds: float) -> Callable[[], None]:
        def begins() -> None:
            self._note(lambda: f"{name} is lost for {seconds:.0f} s")
            self._touch(name, is_ready=False)
            self._at(self.world.time + seconds, lambda: self._touch(name, is_ready=True))

        return begins

    def _lose_for_good(self) -> None:
        """A node that waits for its wave dies; one that dies on the new driver keeps the way back waiting by design."""
        campaign = self.world.rollout.campaign
        facts = (node.facts for node in self.world.nodes.values())
        required = (each for each in facts if each.nvidia_state == upgrade_controller.REQUIRED)
        waiting = [each.name for each in required if each.skipped_by and not each.canary_of]
        if waiting and campaign is not None and campaign.phase is RolloutPhase.WAVING:
            self._note(lambda: f"{waiting[0]} is lost for good")
            self._touch(waiting[0], is_ready=False)
            self._at(self.world.time + FORCED_SECONDS, lambda: self._force(waiting[0]))

    def _force(self, name: str) -> None:
        """Until its pod is gone NVIDIA's controller moves no node at all."""
        self._note(lambda: f"a person deletes the driver pod of {name} by force")
        self._touch(name, driver=None)

    def _why_unsettled(self, decision: Decision) -> str | None:
        return next(_unsettled(self.world, decision), None)


def _is_full(world: World) -> bool:
    """Whether those who failed keep every slot that NVIDIA's controller has, or all that may be unavailable."""
    limit = world.outside.operator.policy.parallel_max
    failed_count = sum(node.facts.nvidia_state == FAILED for node in world.nodes.values())
    slots = upgrade_controller.PARALLEL_MAX if limit is None else limit or NODE_COUNT
    return failed_count >= min(slots, world.intent.limits.unavailable_max.of(len(world.nodes)))


def _waits_for_lost(world: World, decision: Decision) -> bool:
    """Whether the way back waits for a lost node without a driver pod, by design, and says so."""
    lost = {node.name for node in world.nodes.values() if not node.facts.is_ready and node.facts.driver is None}
    named = {held.subject for held in decision.holds if held.code is HoldCode.NODE_NOT_READY}
    return letting_in.is_going_back(world.rollout.campaign or CampaignRecord()) and bool(lost & named)


_TRANSIENT: Final = TRANSIENT | {HoldCode.MARKS_PENDING}


def _unsettled(world: World, decision: Decision) -> Iterator[str]:
    """What is wrong with a campaign that has come to rest."""
    record = world.rollout.campaign or CampaignRecord()
    if decision.actions:
        yield f"at rest with acts to do: {decision.actions[0].id}"
    for node in world.nodes.values():
        if node.facts.nvidia_state in upgrade_controller.PLAYED:
            yield f"{node.name} is {node.facts.nvidia_state} for ever"
    if record.phase not in ENDED:
        reasons = {held.code for held in decision.holds if held.subject == world.intent.rollout} - _TRANSIENT
        asks = reasons & {HoldCode.FAILURE_BUDGET, HoldCode.NODES_FAILED}  # a person has to say how it continues
        if not asks and not _is_full(world) and not _waits_for_lost(world, decision):
            yield f"{record.phase} for ever: {sorted(reasons)}"
        return
    for node in world.nodes.values():
        if not node.facts.is_ready:
            continue  # it was left behind, and our label keeps it out until it is back
        if node.facts.skipped_by or node.facts.canary_of:
            yield f"{record.phase}, and {node.name} is still marked"
        driver, has_failed = node.facts.driver, node.facts.nvidia_state == FAILED
        is_new = driver is not None and is_same(driver.version, NEW.version)
        if not has_failed and is_new is (record.phase is RolloutPhase.REVERTED):
            yield f"{record.phase}, and {node.name} runs {driver.version if driver else 'nothing'}"
