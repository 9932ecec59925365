"""Schedules of rollouts by attrition on a busy fleet: jobs and gangs come and end, people pause, undo and lower limits.

    ending = run_attrition(7, begin)

Played as every schedule is (schedules.py): the same weather, views and lives. The truth is looked at by itself: nothing
that we do exceeds the idle budget, what jobs' own ends put above it is given back, nobody is closed or emptied long
after a pause or the end of a window, nobody is waited for beyond the deadline, and whoever was closed is open again
when it is over, be it through or undone.

Tests: tests/sim/test_faults.py
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import Cordon, EvictPods, WriteNodeRecord
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget.attrition import clock
from seatrial.core.budget.idle import idle_budget
from seatrial.core.budget.losses import gpu_count, workers
from seatrial.core.decision.decide import Decision
from seatrial.core.holds import HoldCode
from seatrial.core.model import windows
from seatrial.core.model.campaign import ENDED, Bake, Campaign, CampaignRecord, Canary, Growth, RolloutPhase, Waves
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Attrition, Limits, Policy, Share
from seatrial.core.model.seen.gangs import gpus_of
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.model.target import Target
from seatrial.core.node import closing
from seatrial.core.node.phases import is_under_way
from seatrial.core.node.progress import is_same
from seatrial.ports import Outcome, Result
from seatrial.sim import outside as outer
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
from seatrial_lab.schedules.behaviours import Kind, named
from seatrial_lab.schedules.busy import GPUS, HOUR, Users, draw_wishes
from seatrial_lab.schedules.campaigned import CampaignPlay
from seatrial_lab.schedules.drawing import NEW, OLD, without_overlap
from seatrial_lab.schedules.judging import SEEN_SECONDS, TRANSIENT, Judge
from seatrial_lab.schedules.schedules import Begin, Ending

NODE_COUNT: Final = 10
GRACE_SECONDS: Final = 2 * HOUR
"""Beyond the deadline, for what a storm has held up: about as long as it takes to send everybody through one by one."""
BREATHS_SECONDS: Final = (3.0, 10.0, 30.0, 60.0)
CALM_BREATH_SECONDS: Final = 20.0
"""How slowly a controller looks: a node takes ten looks, and a deadline is not for those who look twice an hour."""
LEADERS: Final = 4
"""How many leaders may be lost, besides those of every schedule."""


def run_attrition(seed: int, begin: Begin, *, node_count: int = NODE_COUNT, is_fair: bool = False) -> Ending:
    """Play one schedule to its end; a fair one without what befalls the API server, views and leaders."""
    return (FairPlay if is_fair else AttritionPlay)(seed, begin, node_count).run()


# ── what is drawn ────────────────────────────────────────────────────────────────────────────────────────────────────


def draw_intent(chance: random.Random) -> Intent:
    """A campaign by attrition: its deadline, how much it may close and leave idle, windows or none."""
    limits = Limits(
        parallel_max=chance.choice([0, 0, 2, 3]),
        unavailable_max=Share.parse(chance.choice(["100%", "100%", "50%"])),
        idle_gpus_max=Share.parse(chance.choice(["8", "16", "24", "40", "10%", "25%", "50%"])),
    )
    opens = [0.0, *sorted(chance.uniform(0, 12 * HOUR) for _ in range(2))]
    openings = [(at, at + chance.choice([900.0, 2 * HOUR, 4 * HOUR])) for at in opens]
    return Intent(
        rollout="r",
        target=Target.of(NEW.version),
        policy=Policy(limits=limits),
        failed_max=chance.choice([0, 1, 3]),
        attrition=Attrition(
            deadline_seconds=chance.choice([3, 4, 8]) * HOUR,  # two hours are refused where one node goes at a time
            close_ahead=chance.choice([1.0, 1.0, 0.5, 0.2]),
            evicts_early=chance.choice([True, False]),
        ),
        campaign=Campaign(
            canary=Canary(count=1),
            bake=Bake(seconds=0.0),
            waves=Waves(
                growth=chance.choice([Growth.FIXED, Growth.EXPONENTIAL]),
                first=Share.parse(chance.choice(["4", "100%"])),
            ),
            # The last window stays open, so that everybody comes to an end.
            openings=chance.choice([None, None, without_overlap((*openings, (24 * HOUR, 10_000 * HOUR)))]),
        ),
    )


# ── the truth ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class AttritionJudge(Judge):
    """Looks at what stands idle, who is closed, and for how long."""

    stopped_at: Instant | None = None
    """Since when somebody has it paused."""
    freed: list[tuple[Instant, int]] = field(default_factory=list)
    """GPUs that somebody left, and when: for a while we may not have seen it."""
    drained: set[str] = field(default_factory=set)
    """Nodes that the SR-IOV operator cordoned."""
    over_since: Instant | None = None
    late_since: Instant | None = None
    is_calm: bool = False
    admitted: tuple[Admission, ...] = ()
    """The ledger before the write that arrives."""

    @property
    def record(self) -> CampaignRecord:
        return self.world.rollout.campaign or CampaignRecord()

    def on_change(self, before: NodeSeen, after: NodeSeen) -> None:
        left = gpus_of(workers(before)) - gpus_of(workers(after))
        if left > 0:
            self.freed.append((self.world.time, left))
        if not after.facts.is_cordoned or after.name not in self.world.nodes:
            self.drained.discard(after.name)
        elif not before.facts.is_cordoned and before.facts.sriov != after.facts.sriov:
            self.drained.add(after.name)
        Judge.on_change(self, before, after)  # a slotted dataclass is another class than the one that super() knows

    def on_landing(self, action: Action, before: NodeSeen | None, outcome: Outcome) -> None:
        if outcome.result is not Result.DONE:
            return
        if isinstance(action, WriteRolloutRecord):
            self.find(self._why_too_idle(self.admitted))
            self.admitted = action.record.admitted
        # A node that was opened while its driver is away is closed again at once, also in a pause.
        is_put_back = isinstance(action, Cordon) and before is not None and closing.has_lost_driver(before)
        if isinstance(action, Cordon | EvictPods) and not is_put_back:
            self.find(self._why_untimely(action))
        if isinstance(action, WriteNodeRecord) and before is not None and not is_under_way(before.record):
            self.find(self._why_not_admitted(action) if is_under_way(action.record) else None)

    def _why_not_admitted(self, action: WriteNodeRecord) -> str | None:
        is_named = any((each.node, each.attempt) == (action.node, action.attempt) for each in self.admitted)
        return None if is_named else f"{action.node} starts attempt {action.attempt} without an admission"

    def _why_untimely(self, action: Cordon | EvictPods) -> str | None:
        """Whether somebody is closed or evicted long after a pause, or closed long after the end of a window."""
        time, campaign = self.world.time, self.world.intent.campaign
        if self.stopped_at is not None and time > self.stopped_at + SEEN_SECONDS:
            return f"{type(action).__name__} on {action.node}, {time - self.stopped_at:.0f} s after a pause"
        if (
            isinstance(action, EvictPods)
            or campaign is None
            or campaign.abort
            or self.record.phase not in clock.RUNNING
        ):
            return None
        lately = (time - seconds for seconds in (0.0, SEEN_SECONDS / 2, SEEN_SECONDS))
        is_late = not any(windows.is_open(campaign.openings, at) for at in lately)
        return f"{action.node} is closed long after the window" if is_late else None

    def _why_too_idle(self, before: tuple[Admission, ...]) -> str | None:
        """Whether what was let in leaves more GPUs idle than may be."""
        after = self.idle(self.world.rollout.admitted)
        news = sum(gpus for at, gpus in self.freed if at > self.world.time - SEEN_SECONDS)
        limit = max(self._idle_max(intent) for intent in self._intents())
        if after > self.idle(before) and after - news > limit:
            return f"{after} GPUs stand idle by what was let in, and {limit} may"
        return None

    def idle(self, ledger: tuple[Admission, ...]) -> int:
        """GPUs that truly stand idle because of us, by a ledger."""
        found = 0
        for each in ledger:
            node = self.world.nodes.get(each.node)
            if node is None or node.name in self.theirs | self.drained:
                continue  # who is closed by others stands idle for them
            found += max(0, gpu_count(node) - gpus_of(workers(node))) if each.is_ahead else gpu_count(node)
        return found

    def _idle_max(self, intent: Intent) -> int:
        budget = idle_budget(self.world.nodes, intent.limits)
        return budget.gpus_max if budget is not None else 0

    def _intents(self) -> list[Intent]:
        time = self.world.time
        return [self.world.intent, *(intent for until, intent in self.former if time < until)]

    def look(self) -> None:
        """Whether something lasts that must not, once the storm is over."""
        self.look_at_idle()
        self.look_at_deadline()

    def _runs(self) -> bool:
        """Whether time counts, and nothing befalls anybody any more."""
        campaign = self.world.intent.campaign
        openings = campaign.openings if campaign is not None else None
        is_running = clock.is_running(self.record, openings, self.world.time)
        return self.is_calm and not self.world.intent.is_paused and is_running

    def look_at_idle(self) -> None:
        """Whether more stands idle than may, for so long that it should have been given back."""
        world, intent = self.world, self.world.intent
        ahead = [each for each in world.rollout.admitted if each.is_ahead]
        is_over = (
            self._runs() and self.idle(world.rollout.admitted) > self._idle_max(intent) and self.idle(tuple(ahead)) > 0
        )
        self.over_since = (self.over_since or world.time) if is_over else None
        if self.over_since is not None and world.time > self.over_since + SEEN_SECONDS:
            self.find(f"more GPUs stand idle than may for {world.time - self.over_since:.0f} s")

    def look_at_deadline(self) -> None:
        """Whether waves are not through long after the deadline."""
        world, record = self.world, self.record
        campaign, way = world.intent.campaign, world.intent.attrition
        if campaign is None or way is None:
            return
        spent = clock.spent(record, campaign.openings, world.time)
        is_late = self._runs() and record.phase is RolloutPhase.WAVING and spent > way.deadline_seconds
        is_late = is_late and not self._is_excused()
        self.late_since = (self.late_since or world.time) if is_late else None
        if self.late_since is not None and world.time > self.late_since + GRACE_SECONDS:
            self.find(f"the deadline was {(spent - way.deadline_seconds) / HOUR:.1f} h ago, and waves are not through")

    def _is_excused(self) -> bool:
        """Whether something keeps the deadline that is stronger than it: failures, or a gang above the idle budget."""
        nodes = self.world.nodes.values()
        if any(node.record is not None and node.record.phase is NodePhase.UPGRADE_FAILED for node in nodes):
            return True
        limit = self._idle_max(self.world.intent)
        spots: dict[str, set[str]] = {}
        for node in nodes:
            for pod in node.facts.gpu_pods:
                if pod.job is not None:
                    spots.setdefault(pod.job.gang, set()).add(node.name)
        return any(len(names) * GPUS > limit for names in spots.values())


# ── playing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class AttritionPlay(CampaignPlay):
    """A campaign by attrition."""

    title: ClassVar[str] = "attrition schedule"
    judge: AttritionJudge

    def _draw(self, chance: random.Random, node_count: int) -> tuple[World, dict[str, list[str]]]:
        nodes = [new_node(f"n{number:02}", running=OLD, wanted=OLD, gpu_count=GPUS) for number in range(node_count)]
        likely = chance.choice([0.0, 0.0, 0.0, 0.15])
        fates = {node.name: Fate(driver_fails_on=NEW.version) for node in nodes if chance.random() < likely}
        outside = Outside(operator=outer.cluster_policy(OLD.version, is_auto_upgrading=False))
        return World(nodes, draw_intent(chance), fates=fates, outside=outside, seed=self._seed), {}

    def _judge(self) -> Judge:
        return AttritionJudge(self.world)

    def _plan(self, _fates: Mapping[str, list[str]], /) -> None:
        chance, way = self._chance, self.world.intent.attrition
        self._breath_seconds = chance.choice(BREATHS_SECONDS)
        longest = way.deadline_seconds if way is not None else HOUR
        end = self._storm_ends_at = chance.uniform(HOUR, 1.2 * longest)
        self.users = Users(self.world, draw_wishes(chance, len(self.world.nodes), 3 * longest), self._note)
        self._happen(0.4, chance.uniform(0, longest), self._pause_for(chance.uniform(60, 3 * HOUR)))
        self._happen(0.3, chance.uniform(0, longest), self._abort)
        self._happen(0.2, chance.uniform(0, longest), self._lower)
        for name in self.world.nodes:
            self._happen(0.05, chance.uniform(0, end), self._lose(name, chance.uniform(60, 600)))
        for what, behaviour in named(Kind.ECLIPSE).items():
            # The deadline and windows are of our own clock, wherever it stands.
            count = 0 if what.startswith("clock") else 2 + LEADERS * (what == "leader lost")
            for _ in range(count):
                if chance.random() < behaviour.chance:
                    self._eclipse_at(chance.uniform(0, end), what, behaviour.seconds(chance))
        self._at(end, self._clear_up)

    def _clear_up(self) -> None:
        super()._clear_up()
        self._breath_seconds = CALM_BREATH_SECONDS
        self.judge.is_calm = True

    def _on_looked(self) -> None:
        self.judge.look()

    def _happen(self, likely: float, at: Instant, happening: Callable[[], None]) -> None:
        if self._chance.random() < likely:
            self._at(at, happening)

    def _set_paused(self, *, is_paused: bool) -> None:
        super()._set_paused(is_paused=is_paused)
        self.judge.stopped_at = self.world.time if is_paused else None

    def _lower(self) -> None:
        intent = self.world.intent
        lower = replace(intent.limits, idle_gpus_max=Share(amount=GPUS))
        self._note(lambda: f"somebody lowers the idle budget to {GPUS} GPUs")
        self.judge.change(replace(intent, policy=replace(intent.policy, limits=lower)))

    def _lose(self, name: str, seconds: float) -> Callable[[], None]:
        def begins() -> None:
            self._note(lambda: f"{name} is lost for {seconds:.0f} s")
            self._fall_silent(name)
            self._at(self.world.time + seconds, lambda: self._come_back(name))

        return begins

    def _why_unsettled(self, decision: Decision) -> str | None:
        return next(_unsettled(self.world, decision), None)


class FairPlay(AttritionPlay):
    """The same under one leader that sees everything at once, and whose acts are all done."""

    def _plan(self, fates: Mapping[str, list[str]], /) -> None:
        super()._plan(fates)
        self.weather.clear_up()


def _unsettled(world: World, decision: Decision) -> Iterator[str]:
    """What is wrong with a campaign that has come to rest."""
    record = world.rollout.campaign or CampaignRecord()
    if decision.actions:
        yield f"at rest with acts to do: {decision.actions[0].id}"
    for each in world.rollout.admitted:
        if each.is_ahead:
            yield f"{each.node} is closed for ever"
    if record.phase not in ENDED:
        reasons = {held.code for held in decision.holds} - TRANSIENT
        # Who has failed stands idle, and may leave no room for anybody else.
        is_told = HoldCode.FAILED in reasons and reasons & {
            HoldCode.FAILURE_BUDGET,
            HoldCode.NODES_FAILED,
            HoldCode.IDLE_GPU_LIMIT,
        }
        if not is_told:
            yield f"{record.phase} for ever: {sorted(reasons)}"
    for node in world.nodes.values():
        driver, phase = node.facts.driver, node.record.phase if node.record is not None else None
        if phase is NodePhase.UPGRADE_FAILED:
            continue
        if node.facts.is_cordoned:
            yield f"{record.phase}, and {node.name} is still closed, {phase}"
        is_new = driver is not None and is_same(driver.version, NEW.version)
        if record.phase in ENDED and is_new is (record.phase is RolloutPhase.REVERTED):
            yield f"{record.phase}, and {node.name} runs {driver.version if driver else 'nothing'}"
