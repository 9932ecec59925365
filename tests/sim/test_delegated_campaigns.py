"""Simulated campaigns whose nodes NVIDIA's controller moves: what people want binds it, and the slots stay busy.

Its own limits allow everything, so that only ours can hold it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import Bake, Campaign, CampaignRecord, Canary, Growth, RolloutPhase, Waves
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.nodes import HEALTHY, Fate, new_node
from seatrial.sim.outside import Outside
from seatrial.sim.upgrade_controller import CORDON, PLAYED
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent

PARALLEL = 4
NODES = 17
HOUR = 3600.0
BROKEN = Fate(driver_fails_on=NEW.version)
REACTS_SECONDS = 5.0
"""So long it may take until our word is on a node: what is written, and what is seen of it."""


class Story:
    """A world, what happened there, and when."""

    def __init__(self, *, fates: dict[str, Fate] | None = None, **changes: Any) -> None:
        nodes = [new_node(f"n{number:02}", running=OLD, wanted=OLD, gpu_pod_count=1) for number in range(NODES)]
        operator = outer.cluster_policy(OLD.version, is_auto_upgrading=True, policy=outer.NO_LIMIT)
        self.world = World(nodes, wish(**changes), fates=fates or {}, outside=Outside(operator=operator), seed=3)
        self.world.watchers.append(self._on_change)
        self.starts: list[tuple[float, str]] = []
        self.stops: dict[str, float] = {}
        self.ends: dict[str, float] = {}
        self.most = 0

    def _on_change(self, before: NodeSeen, after: NodeSeen) -> None:
        time, states = self.world.time, [node.facts.nvidia_state for node in self.world.nodes.values()]
        self.most = max(self.most, sum(state in PLAYED for state in states))
        if after.facts.nvidia_state == CORDON != before.facts.nvidia_state:
            self.starts.append((time, after.name))
        driver, validator = after.facts.driver, after.facts.validator
        if driver is not None and driver.is_terminating:
            self.stops.setdefault(after.name, time)
        if driver is None or validator is None or driver.ready_since is None or validator.ready_since is None:
            return
        if driver.version == NEW.version and validator.is_ready and validator.ready_since >= driver.ready_since:
            self.ends.setdefault(after.name, time)

    @property
    def record(self) -> CampaignRecord:
        return self.world.rollout.campaign or CampaignRecord()

    def play(self, is_over: Callable[[Report], bool] | None = None) -> Report:
        """To the end, or until told otherwise; no promise is broken on the way."""

        def look(report: Report) -> None:
            assert not report.breaches, report.breaches

        over = is_over or (lambda _report: False)
        journal = _NoJournal()
        return asyncio.run(run_forever(self.world.ports(journal), Memory(0.0), on_report=look, is_over=over))

    def until(self, count: int) -> float:
        """Play until so many have started; and when that was."""
        self.play(lambda _report: len(self.starts) >= count)
        return self.world.time

    def change(self, change: Callable[[Intent], Intent]) -> None:
        self.world.intent = change(self.world.intent)

    def started_after(self, at: float) -> list[str]:
        return [name for time, name in self.starts if time > at + REACTS_SECONDS]

    def drivers(self) -> set[str]:
        return {node.facts.driver.version for node in self.world.nodes.values() if node.facts.driver is not None}


class _NoJournal:
    def append(self, at: float, kind: str, fields: Any) -> None:
        """Forget."""


def wish(**changes: Any) -> Intent:
    campaign = Campaign(
        canary=Canary(count=1),
        bake=Bake(seconds=0.0),
        waves=Waves(growth=Growth.FIXED, first=Share(amount=NODES)),
    )
    limits: dict[str, Any] = {"parallel_max": PARALLEL, "unavailable_max": NODES}
    return an_intent(**limits, campaign=replace(campaign, **changes))


def aborted(intent: Intent) -> Intent:
    assert intent.campaign is not None
    return replace(intent, campaign=replace(intent.campaign, abort="not today"))


def test_the_slots_stay_busy_and_are_never_more_than_asked_for() -> None:
    story = Story()
    story.play()
    assert story.record.phase is RolloutPhase.DONE
    assert story.most == PARALLEL
    opened_at = next(turn.at for turn in story.record.history if turn.phase is RolloutPhase.WAVING)
    own_seconds = [story.ends[name] - story.stops[name] for name in story.ends if name not in story.record.canaries]
    floor_seconds = max(max(own_seconds), sum(own_seconds) / PARALLEL)
    assert (max(story.ends.values()) - opened_at) / floor_seconds <= 1.10


def test_nobody_starts_after_a_pause_and_the_wave_goes_on_after_it() -> None:
    story = Story()
    at = story.until(7)
    story.change(lambda intent: replace(intent, is_paused=True))
    story.play(lambda _report: story.world.time > at + 2 * HOUR)
    assert not story.started_after(at)
    story.change(lambda intent: replace(intent, is_paused=False))
    story.play()
    assert (story.record.phase, story.drivers()) == (RolloutPhase.DONE, {NEW.version})


def test_nobody_starts_outside_a_window_nor_in_its_last_two_minutes() -> None:
    closes_at = 0.2 * HOUR
    openings = ((0.0, closes_at), (24 * HOUR, 30 * HOUR))
    story = Story(openings=openings)
    story.play()
    assert (story.record.phase, story.drivers()) == (RolloutPhase.DONE, {NEW.version})
    times = [time for time, _ in story.starts]
    assert any(time < closes_at for time in times)
    assert any(time > 24 * HOUR for time in times)
    assert not [time for time in times if closes_at - 120 + REACTS_SECONDS < time < 24 * HOUR]


def test_an_abort_empties_nobody_who_had_not_begun() -> None:
    story = Story()
    at = story.until(7)
    begun = {name for _, name in story.starts}
    story.change(aborted)
    story.play()
    assert (story.record.phase, story.drivers()) == (RolloutPhase.REVERTED, {OLD.version})
    assert {name for _, name in story.starts} - begun <= {name for time, name in story.starts if time < at + 5}
    assert story.most <= PARALLEL, "the limits hold on the way back, too"
    untouched = [node for name, node in story.world.nodes.items() if name not in {each for _, each in story.starts}]
    assert all(node.facts.gpu_pods for node in untouched)
    assert untouched


@pytest.mark.parametrize("failed_max", [0, 1, 3])
def test_no_more_fail_than_are_tolerated_and_who_was_under_way_with_them(failed_max: int) -> None:
    story = Story(fates={f"n{number:02}": BROKEN for number in range(1, NODES)})
    story.change(lambda intent: replace(intent, failed_max=failed_max))
    story.play()
    failed = [node for node in story.world.nodes.values() if node.facts.nvidia_state == "upgrade-failed"]
    assert failed_max < len(failed) <= failed_max + PARALLEL
    assert len(story.starts) == 1 + len(failed)
    story.change(aborted)
    story.play()
    assert (story.record.phase, story.drivers()) == (RolloutPhase.REVERTED, {OLD.version})


def test_a_canary_that_fails_is_led_back_to_an_end() -> None:
    story = Story(fates={"n00": BROKEN})
    story.play()
    assert (story.record.phase, story.drivers()) == (RolloutPhase.REVERTED, {OLD.version})
    assert {name for _, name in story.starts} == {"n00"}
    assert not [node for node in story.world.nodes.values() if node.facts.is_cordoned or node.facts.is_skipped]


def test_a_node_that_nvidias_controller_gave_up_keeps_its_rollout_from_the_end_until_it_is_retried() -> None:
    story = Story(fates={"n02": BROKEN})
    story.change(lambda intent: replace(intent, failed_max=1))
    report = story.play()
    assert report.decision is not None
    assert story.record.phase is RolloutPhase.PROMOTING
    assert HoldCode.NODES_FAILED in {held.code for held in report.decision.holds}
    story.world.befall("n02", lambda _: HEALTHY)
    story.world.change("n02", retried)
    story.play()
    assert (story.record.phase, story.drivers()) == (RolloutPhase.DONE, {NEW.version})
    assert not [node for node in story.world.nodes.values() if node.facts.is_skipped]


def retried(node: NodeSeen) -> NodeSeen:
    """What `seatrial node retry` writes under NVIDIA's controller."""
    return replace(node, facts=replace(node.facts, nvidia_state="upgrade-required"))


def test_one_that_failed_goes_back_first_where_it_keeps_the_only_slot_of_nvidias_controller() -> None:
    story = Story(fates={"n02": BROKEN})
    operator = replace(story.world.outside.operator, policy=outer.NOTHING_SAID)
    story.world.change_outside(lambda outside: replace(outside, operator=operator))
    story.change(lambda intent: replace(intent, failed_max=1))
    report = story.play()
    assert report.decision is not None
    assert HoldCode.NVIDIA_FULL in {held.code for held in report.decision.holds}
    story.change(aborted)
    story.play()
    assert (story.record.phase, story.drivers()) == (RolloutPhase.REVERTED, {OLD.version})
    assert not [node for node in story.world.nodes.values() if node.facts.is_cordoned or node.facts.is_skipped]


# ── members that cannot start ────────────────────────────────────────────────────────────────────────────────────────


def lost(node: NodeSeen) -> NodeSeen:
    return replace(node, facts=replace(node.facts, is_ready=False))


def without_driver(node: NodeSeen) -> NodeSeen:
    """A person has deleted its driver pod by force."""
    return replace(node, facts=replace(node.facts, driver=None))


def with_published_driver(node: NodeSeen) -> NodeSeen:
    """It is Ready again, and the DaemonSet has given it a pod."""
    new = new_node(node.name, running=NEW, wanted=NEW).facts
    return back(replace(node, facts=replace(node.facts, driver=new.driver, validator=new.validator)))


def back(node: NodeSeen) -> NodeSeen:
    return replace(node, facts=replace(node.facts, is_ready=True))


def waiting_in(story: Story) -> list[str]:
    """Nodes that NVIDIA's controller wants to start and our label keeps out."""
    nodes = story.world.nodes.items()
    return [name for name, node in nodes if node.facts.skipped_by and node.facts.nvidia_state == "upgrade-required"]


def test_while_a_not_ready_node_has_a_driver_pod_the_rollout_says_that_nothing_moves() -> None:
    story = Story()
    story.until(3)
    dead = waiting_in(story)[0]
    story.world.change(dead, lost)
    report = story.play()
    assert report.decision is not None
    told = {held.code: dict(held.params) for held in report.decision.holds if held.subject == "spring"}
    assert told[HoldCode.NVIDIA_STALLED] == {"nodes": dead}
    story.world.change(dead, back)
    story.play()
    assert (story.record.phase, story.drivers()) == (RolloutPhase.DONE, {NEW.version})


def test_a_rollout_ends_without_a_node_that_stays_not_ready_and_keeps_it_out() -> None:
    story = Story()
    story.until(3)
    dead = waiting_in(story)[0]
    story.world.change(dead, lambda node: without_driver(lost(node)))
    report = story.play()
    assert (story.record.phase, story.world.nodes[dead].facts.skipped_by) == (RolloutPhase.DONE, "spring")
    assert report.decision is not None
    codes = {(held.subject, held.code) for held in report.decision.holds}
    assert codes == {("spring", HoldCode.MEMBERS_LEFT), (dead, HoldCode.NODE_NOT_READY)}
    others = [node.facts for name, node in story.world.nodes.items() if name != dead]
    assert not [facts for facts in others if facts.is_skipped or facts.canary_of]


def test_nodes_that_come_back_after_the_end_run_what_is_published_and_are_let_go() -> None:
    story = Story()
    story.until(2)
    dead = waiting_in(story)
    assert len(dead) > 2 * PARALLEL
    for name in dead:
        story.world.change(name, lambda node: without_driver(lost(node)))
    story.play()
    assert story.record.phase is RolloutPhase.DONE
    for name in dead:
        story.world.change(name, with_published_driver)
    story.play()
    assert story.drivers() == {NEW.version}
    assert not [node for node in story.world.nodes.values() if node.facts.is_skipped or node.facts.is_cordoned]
