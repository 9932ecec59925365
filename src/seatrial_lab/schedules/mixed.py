"""Schedules in which everything happens together: whoever moves the nodes, and all who come in its way.

    ending = run_mixed(7, begin)

Played as every schedule is (schedules.py): the same weather, views and lives. One draw decides who moves the nodes
(nobody but us, a campaign, a campaign by attrition, NVIDIA's controller), what moves beside the driver, limits, floors
and units, who works on the nodes, and what befalls them: nodes are deleted, reboot or fall silent, admins cordon, the
SR-IOV operator drains, an autoscaler scales down, somebody publishes a third version. The truth is looked at by
truths.py beside the judge of each way, and what a world waits for in the end by reasons.py.

Tests: tests/sim/test_mixed.py
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import ClassVar, Final

from seatrial.core.actions.action import Action
from seatrial.core.budget.losses import COUNT_LABEL, GPU
from seatrial.core.decision.decide import Decision
from seatrial.core.model.campaign import ENDED, Bake, Campaign, CampaignRecord, Canary, Growth, Waves
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.intent import Intent
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.policy import Attrition, Limits, PolicyWish, Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operands import COMPONENTS, Operand
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.target import Target
from seatrial.ports import Outcome
from seatrial.sim import outside as outer
from seatrial.sim.nodes import Fate
from seatrial.sim.operand_pods import carrying, each_carrier, with_network, with_operands
from seatrial.sim.outside import GateFate, Outside
from seatrial.sim.world import World
from seatrial_lab.schedules import drawing, network, operands, reasons
from seatrial_lab.schedules.attrition import CALM_BREATH_SECONDS, AttritionJudge
from seatrial_lab.schedules.behaviours import Kind, fate_of, gate_fate_of, named
from seatrial_lab.schedules.busy import GPUS, HOUR, Users, draw_services, draw_wishes
from seatrial_lab.schedules.campaigned import CampaignPlay
from seatrial_lab.schedules.delegated import PEOPLE, DelegatedJudge, draw_policy
from seatrial_lab.schedules.drawing import NEW, OLD, THIRD, draw_fleet, draw_manager, merged
from seatrial_lab.schedules.judging import Judge, how
from seatrial_lab.schedules.operands import target_of
from seatrial_lab.schedules.schedules import Begin, Ending, Unfit
from seatrial_lab.schedules.truths import Truths

NODE_COUNT: Final = 8
QUIET_SECONDS: Final = 3 * HOUR
"""Where nothing has moved for so long, beyond a deadline, nothing will."""
HORIZON_SECONDS: Final = 96 * HOUR
"""A handful of nodes is through by then, whatever happened."""
SRIOV, SCALED = Fate(is_sriov_due=True), Fate(is_scaled_down=True)
CRASHES: Final = "module does not load"


class Way(StrEnum):
    """Who moves the nodes, and how."""

    PLAIN = "plain"
    CAMPAIGN = "campaign"
    ATTRITION = "attrition"
    DELEGATED = "delegated"


def run_mixed(seed: int, begin: Begin, *, node_count: int = NODE_COUNT) -> Ending:
    """Play one schedule to its end."""
    return MixedPlay(seed, begin, node_count).run()


# ── what is drawn ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A cluster, and what is wanted of it."""

    way: Way
    intent: Intent
    nodes: tuple[NodeSeen, ...]
    fates: Mapping[str, list[str]]
    """The names of what is in store for each node."""
    operator: OperatorFacts | None
    """None where somebody has published what a plain rollout wants."""
    before: Mapping[Operand, str] = field(default_factory=dict)
    """What moves beside the driver, from which version."""
    after: Mapping[Operand, str] = field(default_factory=dict)
    gate_fates: Mapping[str, GateFate] = field(default_factory=dict)

    @property
    def longest_seconds(self) -> float:
        """How long jobs may take: beyond the deadline of whoever waits for them."""
        return 3 * self.intent.attrition.deadline_seconds if self.intent.attrition is not None else 4 * HOUR

    def world(self, seed: int) -> World:
        """The world of it."""
        return World(
            self.nodes,
            self.intent,
            fates={name: merged(fate_of(what, NEW.version) for what in whats) for name, whats in self.fates.items()},
            everybody=draw_manager(seed),
            outside=Outside(operator=self.operator) if self.operator is not None else None,
            gate_fates=self.gate_fates,
            revisions=(OLD, NEW, THIRD),
            seed=seed,
        )


def draw(chance: random.Random, node_count: int, badness: float) -> Drawn:
    """Everything that is there at the beginning."""
    way = chance.choice([Way.PLAIN, Way.CAMPAIGN, Way.DELEGATED, Way.ATTRITION, Way.ATTRITION])
    nodes, fates = draw_fleet(chance, node_count, badness)
    if way is Way.DELEGATED:  # its other troubles have no end in the simulated controller of NVIDIA's
        fates = {name: [CRASHES] for name, whats in fates.items() if CRASHES in whats}
    before, after = _draw_moved(chance, way)
    has_pools = not before and chance.random() < 0.3
    goal = OLD if before and chance.random() < 0.3 else NEW
    intent = _draw_intent(chance, way)
    intent = replace(
        intent,
        target=target_of(goal.version, after, tuple(after)),
        pools=intent.pools if has_pools else {},
    )
    operator = None if way is Way.PLAIN else _operator(way, before, draw_policy(chance), has_pools=has_pools)
    owners = ["a100", "h100"] if has_pools else [""]
    wanted = goal if way is Way.PLAIN else OLD
    found = tuple(
        _node(node, chance.choice(owners), wanted, before, after if way is Way.PLAIN else {}) for node in nodes
    )
    gates = intent.campaign.gates if intent.campaign is not None else ()
    verdicts = named(Kind.VERDICT)
    told = [gate_fate_of(chance.choice(list(verdicts)), NEW.version) for _ in gates if chance.random() < 0.2]
    return Drawn(
        way=way,
        intent=intent,
        nodes=found,
        fates=fates,
        operator=operator,
        before=before,
        after=after,
        gate_fates=dict(zip((gate.name for gate in gates), told, strict=False)),
    )


def _draw_moved(chance: random.Random, way: Way) -> tuple[Mapping[Operand, str], Mapping[Operand, str]]:
    """What moves beside the driver: nothing, operands, or the network driver; NVIDIA's controller moves no other."""
    what = chance.choice(["", "", "operands", "network"]) if way is not Way.DELEGATED else ""
    if what == "network":
        return network.BEFORE, network.AFTER
    moved = chance.choice(operands.MOVED) if what else ()
    if way is not Way.PLAIN:  # a campaign brings the DRA plugin by a chart of its own
        moved = tuple(each for each in moved if each is not Operand.DRA_PLUGIN)
    return {each: operands.BEFORE[each] for each in moved}, {each: operands.AFTER[each] for each in moved}


def _draw_intent(chance: random.Random, way: Way) -> Intent:
    """Limits that are tight for a handful of nodes, and the ways of each way."""
    intent = drawing.draw_intent(chance)
    limits = Limits(
        parallel_max=chance.choice([0, 1, 2, 3]),
        unavailable_max=Share.parse(chance.choice(["1", "2", "25%", "50%", "100%"])),
        idle_gpus_max=Share.parse(chance.choice(["8", "16", "24", "25%", "50%"])) if way is Way.ATTRITION else None,
    )
    gates = (Gate(name="smoke", image="smoke:1"),) if chance.random() < 0.3 else ()
    campaign = Campaign(
        canary=Canary(count=chance.choice([1, 1, 2])),
        gates=gates,
        bake=Bake(seconds=chance.choice([0.0, 0.0, HOUR]), every_seconds=HOUR),
        waves=Waves(
            growth=chance.choice([Growth.FIXED, Growth.EXPONENTIAL]),
            first=Share.parse(chance.choice(["1", "4", "100%"])),
        ),
    )
    attrition = Attrition(
        deadline_seconds=chance.choice([2, 4, 8]) * HOUR,
        close_ahead=chance.choice([1.0, 1.0, 0.5]),
        evicts_early=chance.choice([True, False]),
    )
    return replace(
        intent,
        policy=replace(intent.policy, limits=limits),
        failed_max=chance.choice([0, 1, 3]),
        requestor=intent.requestor if way is Way.PLAIN else None,
        campaign=campaign if way is not Way.PLAIN else None,
        attrition=attrition if way is Way.ATTRITION else None,
    )


def _operator(way: Way, before: Mapping[Operand, str], policy: PolicyWish, *, has_pools: bool) -> OperatorFacts:
    is_on = way is Way.DELEGATED
    if has_pools:
        return outer.driver_pools(OLD.version, "a100", "h100", is_auto_upgrading=is_on, policy=policy)
    operator = outer.cluster_policy(OLD.version, is_auto_upgrading=is_on, policy=policy)
    if Operand.NETWORK_DRIVER in before:
        return with_network(operator, before[Operand.NETWORK_DRIVER])
    parts = tuple(_parts(before).items())
    return each_carrier(operator, lambda carrier: replace(carrier, parts=parts))


def _node(
    node: NodeSeen, owner: str, wanted: DriverRevision, before: Mapping[Operand, str], after: Mapping[Operand, str]
) -> NodeSeen:
    """A node with eight GPUs and its operands, whose DaemonSets want what is published."""
    facts = replace(
        with_operands(node.facts, before.items()) if before else node.facts,
        owner=owner,
        offer=GpuOffer(resources=((GPU, GPUS),)),
        labels={**node.facts.labels, COUNT_LABEL: str(GPUS)},
        wanted=wanted,
    )
    return replace(node, facts=carrying(facts, _parts(after)))


def _parts(versions: Mapping[Operand, str]) -> dict[str, str]:
    return {COMPONENTS[operand].value: text for operand, text in versions.items()}


def written_by_hand(outside: Outside, versions: Mapping[str, str]) -> Outside:
    """The outside once somebody has written these driver versions into resources, over everybody's head."""
    operator = outside.operator
    carriers = (
        replace(each, version=versions[each.name], writer=PEOPLE) if each.name in versions else each
        for each in operator.carriers
    )
    pools = (
        replace(each, driver_version=versions.get(f"NVIDIADriver/{each.name}", each.driver_version))
        for each in operator.pools
    )
    common = versions.get(operator.kind, operator.driver_version)
    after = replace(operator, carriers=tuple(carriers), pools=tuple(pools), driver_version=common)
    return replace(outside, operator=after)


# ── playing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class MixedPlay(CampaignPlay):
    """One schedule; who moves the nodes is drawn."""

    title: ClassVar[str] = "mixed schedule"

    def _draw(self, chance: random.Random, node_count: int) -> tuple[World, dict[str, list[str]]]:
        self.drawn = draw(chance, node_count, self._badness)
        return self.drawn.world(self._seed), dict(self.drawn.fates)

    def _judge(self) -> Judge:
        theirs = {node.name for node in self.world.nodes.values() if node.facts.is_cordoned}
        kinds: dict[Way, type[Judge]] = {Way.ATTRITION: AttritionJudge, Way.DELEGATED: DelegatedJudge}
        down_since = dict.fromkeys(theirs, float("-inf"))
        judge = kinds.get(self.drawn.way, Judge)(self.world, theirs=theirs, down_since=down_since)
        self.truths = Truths(judge, is_delegated=self.drawn.way is Way.DELEGATED)
        self.world.watchers.append(self.truths.on_change)  # before the judge: what neighbours do is not ours
        return judge

    # ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _plan(self, fates: Mapping[str, list[str]], /) -> None:
        chance = random.Random(f"{self.title} together {self._seed}")  # noqa: S311  a simulation, not a secret
        longest = self.drawn.longest_seconds
        if self.drawn.intent.attrition is not None:
            self._storm_ends_at = chance.uniform(HOUR, longest / 3)
            self._breath_seconds = max(self._breath_seconds, 20.0)
        super()._plan(fates)
        end, names = self._storm_ends_at, list(self.world.nodes)
        if self.drawn.intent.attrition is not None or chance.random() < 0.5:
            wishes = [*draw_services(chance, len(names)), *draw_wishes(chance, len(names), longest)]
            self.users = Users(self.world, wishes, self._note)
        is_sriov, is_scaled = chance.random() < 0.3, chance.random() < 0.1
        for name in names:
            if is_sriov and chance.random() < 0.4:
                self._befall_at(chance.uniform(0, end), name, "the SR-IOV operator changes its NICs", SRIOV)
            if is_scaled:
                self._befall_at(0.0, name, "an autoscaler looks after it", SCALED)
            if chance.random() < 0.06:
                self._at(chance.uniform(0, 2 * end), partial(self._delete, name))
        if self.world.intent.campaign is not None and chance.random() < 0.25:
            self._at(chance.uniform(0, 2 * end), self._abort)
        if chance.random() < 0.1:
            self._at(chance.uniform(0, 2 * end), partial(self._publish, THIRD))

    def _eclipse_at(self, at: float, what: str, seconds: float) -> None:
        if self.drawn.intent.attrition is not None and what.startswith("clock"):
            return  # a deadline is of our own clock, wherever it stands
        super()._eclipse_at(at, what, seconds)

    def _befall_at(self, at: float, name: str, what: str, more: Fate) -> None:
        def begins() -> None:
            if name in self.world.nodes:
                self._note(lambda: f"{name}: {what}")
                self.world.befall(name, lambda fate: merged(iter((fate, more))))

        self._at(at, begins)

    def _delete(self, name: str) -> None:
        if name in self.world.nodes:
            self._note(lambda: f"somebody deletes {name}")
            self.world.remove(name)

    def _happening(self, what: str, name: str) -> tuple[Callable[[], None], Callable[[], None] | None]:
        if self.world.intent.campaign is None:
            return super()._happening(what, name)
        if what.startswith("admin marks skip") and self.drawn.way is Way.DELEGATED:
            return (lambda: self._skip(name)), None  # taken back, NVIDIA's controller starts it without asking anybody
        match what:
            case "version reverted":
                return self._abort, None
            case "version reverted by mistake" | "version published without us":
                return self._publishing_for_a_while(OLD)
            case "third version published":
                return self._publishing_for_a_while(THIRD)
            case _:
                return super()._happening(what, name)

    def _skip(self, name: str) -> None:
        """Somebody keeps a node out that we do not keep out already."""
        if not self.world.nodes[name].facts.skipped_by:
            self._touch(name, is_skipped=True)

    def _publishing_for_a_while(self, revision: DriverRevision) -> tuple[Callable[[], None], Callable[[], None]]:
        """Somebody publishes a version over our heads, and puts back what was there."""
        found: list[OperatorFacts] = []

        def begins() -> None:
            found.append(self.world.outside.operator)
            self._publish(revision)

        def ends() -> None:
            versions = {carrier.version for carrier in self.world.outside.operator.carriers}
            if versions == {revision.version}:
                self._note(lambda: "what was published is put back")
                self._write({each.name: each.version for each in found[0].carriers})

        return begins, ends

    def _publish(self, revision: DriverRevision) -> None:
        """Somebody wants another driver, and asks nobody."""
        self._note(lambda: f"somebody publishes {revision.version}")
        if self.world.intent.campaign is None:
            self.world.publish(revision)
        else:
            self._write({each.name: revision.version for each in self.world.outside.operator.carriers})

    def _write(self, versions: Mapping[str, str]) -> None:
        self.world.change_outside(lambda outside: written_by_hand(outside, versions))

    def _want(self, revision: DriverRevision) -> None:
        """Forward everything that a plain rollout moves, or all of it back."""
        is_back, drawn = revision is OLD, self.drawn
        versions = drawn.before if is_back else drawn.after
        driver = OLD if is_back else self._goal
        self.world.publish(driver)
        for name in self.world.nodes:
            self.world.change(name, lambda node: replace(node, facts=carrying(node.facts, _parts(versions))))
        self.judge.change(replace(self.world.intent, target=target_of(driver.version, versions, tuple(versions))))

    @property
    def _goal(self) -> DriverRevision:
        return NEW if self.drawn.intent.target.driver == Target.of(NEW.version).driver else OLD

    def _pause(self, *, is_paused: bool) -> None:
        super()._pause(is_paused=is_paused)
        if isinstance(self.judge, AttritionJudge | DelegatedJudge):
            self.judge.stopped_at = self.world.time if is_paused else None

    # ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _clear_up(self) -> None:
        super()._clear_up()
        self._breath_seconds = CALM_BREATH_SECONDS
        self.truths.is_calm = True
        if isinstance(self.judge, AttritionJudge):
            self.judge.is_calm = True

    def _on_landing(self, action: Action, before: NodeSeen | None, outcome: Outcome) -> None:
        super()._on_landing(action, before, outcome)
        self.truths.on_landing(action, before, outcome)

    def _on_looked(self) -> None:
        if isinstance(self.judge, AttritionJudge):
            self.judge.look_at_idle()

    def _is_over(self, decision: Decision, /) -> bool:
        self.truths.look(decision)
        way = self.world.intent.attrition
        quiet_seconds = QUIET_SECONDS + (way.deadline_seconds if way is not None else 0.0)
        record = self.world.rollout.campaign or CampaignRecord()
        if record.phase in ENDED:
            quiet_seconds = HOUR
        since = max(self.truths.moved_at, 2 * self._storm_ends_at)
        if self.world.time > 2 * self._storm_ends_at + HORIZON_SECONDS:
            raise Unfit(f"no end in {self.world.time / HOUR:.0f} h: {self.truths.standing}")
        # A job that ends in the last moment gives us something to do: that is the beginning of more, and no end.
        return self.truths.is_calm and not decision.actions and self.world.time > since + quiet_seconds

    def _why_unsettled(self, decision: Decision) -> str | None:
        return reasons.why_unsettled(self.world, decision, self.truths)

    def _ended(self, decision: Decision, /) -> str:
        if self.world.intent.campaign is not None:
            return super()._ended(decision)
        return how(self.world, decision)
