"""A rollout that is deleted at any moment: it goes, nothing of it is left half-way, and crashes change nothing.

The controller is the real loop with its real memory, over the simulated world. Where it is killed, a new one begins
with an empty memory after any pass, which is between any two of its writes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.adapters.journal.jsonl import NoJournal
from seatrial.core.model.campaign import Bake, Campaign, RolloutPhase, Via
from seatrial.core.model.intent import Intent, OnDelete
from seatrial.core.node.phases import is_under_way
from seatrial.core.node.progress import is_same
from seatrial.run.loop import run_once
from seatrial.run.memory import Memory
from seatrial.sim.nodes import new_node
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent, an_operator, is_as_without_memory
from tests.properties.drawn import drawn

PASSES_MAX = 3000
NODES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Who deletes what, when, and how often the controller is killed."""

    is_campaign: bool
    on_delete: OnDelete
    is_delegated: bool
    deleted_at: float
    is_paused: bool
    kill_every: int
    is_guarded: bool
    pod_count: int
    seed: int


stories = st.builds(
    Story,
    is_campaign=st.booleans(),
    on_delete=st.sampled_from(OnDelete),
    is_delegated=st.booleans(),
    deleted_at=st.one_of(st.floats(0, 1500), st.floats(0, 200_000)),
    is_paused=st.booleans(),
    kill_every=st.sampled_from([0, 1, 2, 3, 7]),
    is_guarded=st.booleans(),
    pod_count=st.integers(0, 2),
    seed=st.integers(0, 99),
)


def intent_of(story: Story) -> Intent:
    campaign = Campaign(publish=Via.DIRECT, bake=Bake(seconds=7200.0, every_seconds=3600.0), prepull=False)
    return an_intent(
        parallel_max=2,
        unavailable_max=2,
        on_delete=story.on_delete,
        campaign=campaign if story.is_campaign else None,
    )


def played(story: Story) -> World:
    """The world when the rollout has gone."""
    running = OLD if story.is_campaign else NEW
    nodes = [
        new_node(f"n{number}", running=OLD, wanted=running, gpu_pod_count=story.pod_count) for number in range(NODES)
    ]
    is_nvidias = story.is_campaign and story.is_delegated
    outside = Outside(operator=an_operator(running.version, is_auto_upgrading=is_nvidias))
    world = World(nodes, intent_of(story), outside=outside, seed=story.seed, is_guarded=story.is_guarded)
    world.at(story.deleted_at, lambda it: leave(it, is_paused=story.is_paused))
    ports, memory = world.ports(NoJournal()), Memory(0.0)
    for number in range(PASSES_MAX):
        if world.left is not None:
            return world
        report = run_once(ports, memory)
        assert report.breaches == ()
        assert is_as_without_memory(report)
        if story.kill_every and number % story.kill_every == 0:
            memory = Memory(world.time)
            world.collect()
        due = [at for at in (world.next_at, report.wake_at) if at is not None]
        if report.decision is not None and not report.decision.actions and due:
            world.tick_to(max(world.time, min(due)))
    raise AssertionError(f"it has not gone: {world.rollout.summary}, {story}")


def leave(world: World, *, is_paused: bool) -> None:
    if is_paused:
        world.intent = replace(world.intent, is_paused=True)
    world.is_deleting = True
    world.rollout = replace(world.rollout, resource_version=str(int(world.rollout.resource_version) + 1))
    if not world.is_guarded:
        world.left = ()


@given(stories)
@settings(max_examples=drawn(60), deadline=None)
def test_a_deleted_rollout_goes_and_leaves_nobody_half_way(story: Story) -> None:
    world = played(story)
    for node in world.nodes.values():
        assert not is_under_way(node.record), node
        assert not node.facts.canary_of, node
        assert not node.facts.skipped_by, node
        assert not (node.record is not None and node.record.is_cordon_ours), node
    campaign = world.rollout.campaign
    is_led_back = (
        story.on_delete is OnDelete.REVERT and campaign is not None and campaign.phase is RolloutPhase.REVERTED
    )
    if is_led_back and world.left is not None:
        drivers = [node.facts.driver for node in world.nodes.values()]
        assert all(driver is not None and is_same(driver.version, OLD.version) for driver in drivers)


@given(stories)
@settings(max_examples=drawn(30), deadline=None)
def test_what_stays_is_told_before_it_goes(story: Story) -> None:
    world = played(story)
    told = "; ".join(world.left or ())
    there = sorted(
        name
        for name, node in world.nodes.items()
        if node.facts.driver is not None and is_same(node.facts.driver.version, NEW.version)
    )
    campaign = world.rollout.campaign
    is_ended = campaign is not None and campaign.phase in (RolloutPhase.DONE, RolloutPhase.REVERTED)
    is_ended = is_ended or (world.rollout.summary is not None and world.rollout.summary.state == "done")
    if there and not is_ended:
        assert f"{len(there)} of {NODES} nodes run {NEW.version}" in told
    carried = world.outside.operator.carriers[0].version
    if campaign is not None and not is_ended and not is_same(carried, OLD.version):
        assert f"has {carried}" in told
