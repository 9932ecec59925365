"""Random campaigns over small fleets: each ends done, undone or held with a reason, and keeps its word on the way.

The controller is the real loop with its real memory, over the simulated world. Every change of a node and every pass is
looked at as it happens: nobody moves before their turn, nothing is promoted that was not proven. A controller that is
killed after any pass and started again comes to the same end.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import (
    Bake,
    Campaign,
    CampaignRecord,
    Canary,
    Growth,
    Point,
    PublishStep,
    RolloutPhase,
    Via,
    Waves,
)
from seatrial.core.model.gates.gate import Gate, GateVerdict
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.nodes import Fate, new_node, rebooted
from seatrial.sim.outside import TELLING, GateFate, Outside
from seatrial.sim.world import World
from seatrial_lab.schedules.behaviours import Kind, gate_fate_of, named
from tests.builders import NEW, OLD, an_intent, is_as_without_memory, with_repository
from tests.properties.drawn import drawn

pytestmark = pytest.mark.slow

HOUR = 3600.0
ENDED = frozenset({RolloutPhase.DONE, RolloutPhase.REVERTED})
FLEET = frozenset({RolloutPhase.WAVING, RolloutPhase.PROMOTING, RolloutPhase.DONE})
TRANSIENT = {HoldCode.WRITE_IN_FLIGHT, HoldCode.LEDGER_PENDING, HoldCode.PASS_FULL, HoldCode.MARKS_PENDING}
PASSES_MAX = 4000
LAST_WORD_AT = 200_000.0
"""Whoever wants it undone has said so by then."""


# ── what is drawn ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One campaign, and all that is in store for it."""

    node_count: int
    canary_count: int
    has_pools: bool
    is_delegated: bool
    """Whether NVIDIA's controller moves the nodes."""
    via: Via
    has_source: bool
    growth: Growth
    pause_seconds: float
    bake: Bake
    gates: Mapping[str, GateFate] = field(default_factory=dict)
    broken: frozenset[int] = frozenset()
    """Nodes whose new driver does not load."""
    manual: tuple[Point, ...] = ()
    approved: tuple[Point, ...] = ()
    abort_at: float | None = None
    marks_bad: bool = False
    """Whether who aborts it rejects the version too."""
    reboots_at: tuple[float, ...] = ()
    """When the first node falls silent for five minutes, and comes back from a reboot."""
    pod_count: int = 0
    seed: int = 0


gate_fates = st.one_of(
    st.just(GateFate()),
    st.just(GateFate()),
    st.sampled_from([gate_fate_of(name, NEW.version) for name in named(Kind.VERDICT)]),
    st.builds(GateFate, fails_on=st.just(NEW.version), from_round=st.integers(1, 6)),
    st.builds(GateFate, unknown_rounds=st.frozensets(st.integers(1, 4), max_size=2), unknown_tries=st.integers(0, 2)),
)
bakes = st.builds(Bake, seconds=st.sampled_from([0.0, HOUR, 6.5 * HOUR, 48 * HOUR]), every_seconds=st.just(HOUR))
points = st.frozensets(st.sampled_from(list(Point)), max_size=4).map(lambda found: tuple(sorted(found)))
stories = st.builds(
    Story,
    node_count=st.integers(1, 5),
    canary_count=st.integers(1, 2),
    has_pools=st.booleans(),
    is_delegated=st.sampled_from([False, False, True]),
    via=st.sampled_from([Via.DIRECT, Via.GIT]),
    has_source=st.booleans(),
    growth=st.sampled_from([Growth.FIXED, Growth.LINEAR, Growth.EXPONENTIAL]),
    pause_seconds=st.sampled_from([0.0, 900.0]),
    bake=bakes,
    gates=st.dictionaries(st.sampled_from(["smoke", "train"]), gate_fates, max_size=2),
    broken=st.one_of(st.just(frozenset()), st.frozensets(st.integers(1, 5), max_size=2)),
    manual=st.one_of(st.just(()), points),
    approved=points,
    abort_at=st.one_of(st.none(), st.none(), st.sampled_from([0.5, 30.0, 120.0, 400.0, 4000.0, 200_000.0])),
    marks_bad=st.booleans(),
    reboots_at=st.one_of(st.just(()), st.tuples(st.sampled_from([60.0, 900.0, 5000.0, 20_000.0, 100_000.0]))),
    pod_count=st.integers(0, 1),
    seed=st.integers(0, 99),
)
undisturbed = stories.map(lambda story: replace(story, abort_at=None, manual=(), broken=frozenset(), reboots_at=()))


def a_world(story: Story) -> World:
    names = [f"n{number}" for number in range(1, story.node_count + 1)]
    nodes = [new_node(name, running=OLD, wanted=OLD, gpu_pod_count=story.pod_count) for name in names]
    operator = outer.cluster_policy(OLD.version, is_auto_upgrading=story.is_delegated)
    if story.has_pools:
        operator = outer.driver_pools(OLD.version, "canary", "fleet", is_auto_upgrading=story.is_delegated)
        nodes = [
            replace(node, facts=replace(node.facts, owner="canary" if number < story.canary_count else "fleet"))
            for number, node in enumerate(nodes)
        ]
    outside, has_source = Outside(operator=operator), story.has_source or story.via is Via.GIT
    if has_source:
        outside = with_repository(outside, NEW.version)
    campaign = Campaign(
        canary=Canary(count=story.canary_count),
        gates=tuple(Gate(name=name, image=f"{name}:1") for name in sorted(story.gates)),
        bake=story.bake,
        waves=Waves(
            growth=story.growth, first=Share(amount=1), step=Share(amount=1), pause_seconds=story.pause_seconds
        ),
        publish=story.via,
        has_source=has_source,
        manual=story.manual,
        approved=story.approved,
    )
    world = World(
        nodes,
        an_intent(parallel_max=2, unavailable_max=2, campaign=campaign),
        fates={f"n{number}": Fate(driver_fails_on=NEW.version) for number in story.broken},
        outside=outside if story.via is Via.GIT else replace(outside, files=()),
        gate_fates=dict(story.gates),
        seed=story.seed,
    )
    if story.abort_at is not None:
        world.at(story.abort_at, partial(abort, marks_bad=story.marks_bad))
    for at in story.reboots_at:
        world.at(at, lambda world: world.change("n1", fall_silent(world.time)))
        world.at(at + 300.0, lambda world: world.change("n1", reboot(world.time)))
    return world


def fall_silent(at: float) -> Callable[[NodeSeen], NodeSeen]:
    return lambda node: replace(node, facts=replace(node.facts, is_ready=False, ready_at=at))


def reboot(at: float) -> Callable[[NodeSeen], NodeSeen]:
    return lambda node: replace(node, facts=rebooted(node.facts, at))


def abort(world: World, *, marks_bad: bool) -> None:
    assert world.intent.campaign is not None
    undone = replace(world.intent.campaign, abort="not today", marks_bad=marks_bad)
    world.intent = replace(world.intent, campaign=undone)


# ── what is looked at ────────────────────────────────────────────────────────────────────────────────────────────────


class Watch:
    """Looks at every change of a node, and at every pass."""

    def __init__(self, world: World) -> None:
        self.world, self.passes = world, 0
        self.acts: Counter[str] = Counter()
        world.watchers.append(self.on_change)

    @property
    def record(self) -> CampaignRecord:
        return self.world.rollout.campaign or CampaignRecord()

    def append(self, _at: float, kind: str, fields: Mapping[str, object]) -> None:
        if kind == "act":
            self.acts[str(fields["id"])] += 1

    def on_change(self, _before: NodeSeen, node: NodeSeen) -> None:
        record = self.record
        has_waved = any(turn.phase is RolloutPhase.WAVING for turn in record.history)
        if node.name in record.canaries or has_waved:
            return
        driver = node.facts.driver
        is_touched = node.record is not None or node.facts.is_cordoned or (driver and driver.version == NEW.version)
        assert not is_touched, f"{node.name} is touched in {record.phase}, and is no canary: {node}"

    def on_report(self, report: Report) -> None:
        self.passes += 1
        assert self.passes < PASSES_MAX, f"no end in sight: {report.decision and report.decision.holds}"
        assert not report.breaches, report.breaches
        assert is_as_without_memory(report)
        assert report.decision is not None
        record = self.record
        if record.phase in FLEET:
            campaign = self.world.intent.campaign
            assert campaign is not None
            assert record.baked_seconds >= campaign.bake.seconds
            assert {each.verdict for each in record.gates} == {GateVerdict.PASSED}
            names = {each.gate for each in record.gates}
            assert names == {"readiness", *(gate.name for gate in campaign.gates)}


def play(world: World, *, dies_after: int | None = None) -> tuple[Watch, Report]:
    """Run to the end; the controller may lose its memory after so many passes, and again after as many more."""
    watch, lives = Watch(world), 0
    while True:
        passes_before = watch.passes
        limit = dies_after if lives < 3 else None

        def is_over(report: Report, limit: int | None = limit, before: int = passes_before) -> bool:
            return waits_for_somebody(world, report) or (limit is not None and watch.passes - before >= limit)

        report = asyncio.run(
            run_forever(world.ports(watch), Memory(world.time), on_report=watch.on_report, is_over=is_over)
        )
        if limit is None or watch.passes - passes_before < limit or waits_for_somebody(world, report):
            return watch, report
        lives += 1


def waits_for_somebody(world: World, report: Report) -> bool:
    """Whether only a person can end the wait: gates are asked all the while, so such a world never stands still."""
    holds = report.decision.holds if report.decision is not None else ()
    is_asked = any(held.code in (HoldCode.APPROVAL_PENDING, HoldCode.ROLLBACK_PENDING) for held in holds)
    return is_asked and (world.next_at is None or world.time > LAST_WORD_AT)


def ending(world: World) -> dict[str, Any]:
    """How a campaign ended, as far as it may not depend on when anybody died."""
    record = world.rollout.campaign or CampaignRecord()
    source = world.outside.source
    return {
        "phase": record.phase,
        "canaries": record.canaries,
        "drivers": {name: node.facts.driver and node.facts.driver.version for name, node in world.nodes.items()},
        "cordons": {name for name, node in world.nodes.items() if node.facts.is_cordoned},
        "carried": [(carrier.name, carrier.version) for carrier in world.outside.operator.carriers],
        "steps": sorted(step for step, _ in source.steps) if source is not None else [],
        "tags": world.outside.tags,
    }


# ── the properties ───────────────────────────────────────────────────────────────────────────────────────────────────

FEW = settings(max_examples=drawn(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@FEW
@given(story=stories)
def test_a_campaign_ends_done_or_undone_or_is_held_with_a_reason(story: Story) -> None:
    world = a_world(story)
    watch, report = play(world)
    assert report.decision is not None
    if watch.record.phase not in ENDED:
        reasons = {held.code for held in report.decision.holds if held.subject == world.intent.rollout}
        assert reasons - TRANSIENT, f"{watch.record.phase} and no reason: {report.decision.holds}"
        return
    for node in world.nodes.values():
        assert not node.facts.canary_of
        assert not node.facts.skipped_by


@FEW
@given(story=stories)
def test_a_campaign_that_is_undone_leaves_every_node_and_every_resource_as_they_were(story: Story) -> None:
    world = a_world(story)
    watch, _ = play(world)
    if watch.record.phase is not RolloutPhase.REVERTED:
        return
    found = ending(world)
    assert set(found["drivers"].values()) == {OLD.version}
    assert {version for _, version in found["carried"]} == {OLD.version}
    assert found["cordons"] == set()
    assert (
        PublishStep.PROMOTION not in found["steps"] or PublishStep.REVERT in found["steps"] or story.via is Via.DIRECT
    )
    has_begun = any(turn.phase is RolloutPhase.CANARY for turn in watch.record.history)
    if has_begun and world.outside.source is not None:
        is_by_a_person = watch.record.why == "not today"
        is_rejected = bool(watch.record.rejected) or (is_by_a_person and story.marks_bad)
        is_untried = watch.record.why.endswith("cordon-lost")  # a canary that was opened says nothing of the version
        why = f"nobody undid it, and nothing was found: {watch.record.why}"
        assert is_rejected or is_by_a_person or is_untried, why
        assert (PublishStep.BAD in found["steps"]) is is_rejected


@FEW
@given(story=stories)
def test_every_step_is_one_commit_and_every_rollout_one_tag(story: Story) -> None:
    world = a_world(story)
    play(world, dies_after=7)
    found = ending(world)
    assert max(Counter(found["steps"]).values(), default=1) == 1
    assert len(found["tags"]) <= 1


def at_once(story: Story) -> Story:
    """A controller that was away bakes longer: what shows late would show to the one and not to the other."""
    return replace(story, gates={name: replace(fate, from_round=1) for name, fate in story.gates.items()})


@FEW
@given(story=undisturbed.map(at_once), dies_after=st.integers(1, 60))
def test_a_controller_that_dies_on_the_way_changes_nothing_about_the_end(story: Story, dies_after: int) -> None:
    whole, broken = a_world(story), a_world(story)
    play(whole)
    play(broken, dies_after=dies_after)
    assert ending(whole) == ending(broken)


@FEW
@given(story=undisturbed.map(lambda story: replace(story, gates={"smoke": TELLING})))
def test_an_undisturbed_campaign_upgrades_the_whole_fleet(story: Story) -> None:
    world = a_world(story)
    watch, _ = play(world)
    if story.canary_count > story.node_count:
        assert watch.record.phase is RolloutPhase.PROPOSED
        return
    assert watch.record.phase is RolloutPhase.DONE
    assert set(ending(world)["drivers"].values()) == {NEW.version}
    assert len(world.outside.tags) == (1 if world.outside.source is not None else 0)
    assert watch.record.entered_at >= story.bake.seconds
