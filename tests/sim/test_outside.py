"""The world outside of the nodes: what our acts do there, what follows by itself, and whole campaigns over it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import combinations
from statistics import correlation, fmean
from typing import Any

import pytest

from seatrial.core.actions.at_home import MarkBad, Promote, Publish, RevertCommits
from seatrial.core.actions.of_campaigns import MakePool, MarkNode, PausePool, RemovePool, SetAutoUpgrade, StartProbe
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import Campaign, Canary, PublishStep, RolloutPhase, Via
from seatrial.core.model.deployers import Follower, Mark, Stop
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.pods import DriverPod, DriverRevision
from seatrial.core.node.phases import is_under_way
from seatrial.ports import Result
from seatrial.run.loop import run_forever
from seatrial.run.memory import Memory
from seatrial.sim import driver_pods
from seatrial.sim import outside as outer
from seatrial.sim.acts import Refused
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.outside import CLUSTER_POLICY, DEPLOYER, US, GateFate, Outside
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent, with_repository

SMOKE = Gate(name="smoke", image="smoke:1")
POLICY = Outside(operator=outer.cluster_policy(OLD.version))
REPOSITORY = with_repository(POLICY, NEW.version)


def publish(via: Via, step: PublishStep = PublishStep.CANARY, resource: str = CLUSTER_POLICY) -> Publish:
    return Publish(rollout="spring", step=step, versions=((resource, NEW.version),), via=via)


def a_probe(number: int = 1, attempt: int = 1) -> StartProbe:
    return StartProbe(rollout="spring", gate=SMOKE, node="n1", round=number, attempt=attempt)


def done(outside: Outside, *acts: Any) -> Outside:
    for act in acts:
        answer = outer.apply(outside, act)
        assert not isinstance(answer, Refused), answer
        outside = answer
    return outside


# ── acts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_version_written_directly_is_carried_at_once_and_says_who_wrote_it() -> None:
    (carrier,) = done(POLICY, publish(Via.DIRECT)).operator.carriers
    assert (carrier.name, carrier.version, carrier.writer) == (CLUSTER_POLICY, NEW.version, US)


def test_a_resource_that_is_not_there_cannot_be_written() -> None:
    answer = outer.apply(POLICY, publish(Via.DIRECT, resource="NVIDIADriver/none"))
    assert answer == Refused(is_stale=True, why="NVIDIADriver/none not found")


def test_a_commit_is_carried_once_the_repository_is_synced() -> None:
    pushed = done(REPOSITORY, publish(Via.GIT))
    assert pushed.source is not None
    assert (pushed.source.head, pushed.source.steps) == ("c1", ((PublishStep.CANARY, "c1"),))
    assert pushed.operator == REPOSITORY.operator
    synced = outer.is_synced(pushed)
    assert synced is not None
    assert [(carrier.version, carrier.writer) for carrier in synced.operator.carriers] == [(NEW.version, DEPLOYER)]
    assert outer.is_synced(synced) is None


@pytest.mark.parametrize(
    "act",
    [
        publish(Via.GIT),
        MarkBad(rollout="spring", driver=NEW.version, why="slow"),
        Promote(rollout="spring", date="2026-01-01", tag_base="v"),
    ],
    ids=lambda act: type(act).__name__,
)
def test_a_step_that_is_there_is_not_made_again(act: Any) -> None:
    once = done(REPOSITORY, act)
    assert done(once, act) == once


def test_a_revert_brings_the_files_back_to_what_they_were_before_all_of_its_commits() -> None:
    two = with_repository(Outside(operator=outer.driver_pools(OLD.version, "canary", "fleet")), NEW.version)
    pushed = done(
        two,
        publish(Via.GIT, resource="NVIDIADriver/canary"),
        publish(Via.GIT, PublishStep.FLEET, resource="NVIDIADriver/fleet"),
    )
    assert set(dict(pushed.files).values()) == {NEW.version}
    back = done(pushed, RevertCommits(rollout="spring", commits=("c2", "c1"), driver=NEW.version))
    assert back.files == two.files
    assert back.source is not None
    assert back.source.commit_of(PublishStep.REVERT) == "c3"


def test_a_revert_leaves_daemon_sets_told_to_restart_nobody_by_themselves() -> None:
    pushed = done(REPOSITORY, replace(publish(Via.GIT), on_delete=True))
    revert = RevertCommits(rollout="spring", commits=("c1",), driver=NEW.version)
    assert (pushed.strategy, done(pushed, revert).strategy) == ("OnDelete", REPOSITORY.strategy)
    assert done(pushed, replace(revert, on_delete=("ClusterPolicy/cluster-policy",))).strategy == "OnDelete"


def test_where_nothing_of_ours_is_there_to_revert_the_step_is_done_without_a_commit() -> None:
    back = done(REPOSITORY, RevertCommits(rollout="spring", commits=("c9",), driver=NEW.version))
    assert back.source is not None
    assert (back.source.steps, back.source.head) == (((PublishStep.REVERT, "c0"),), "c0")
    assert back.files == REPOSITORY.files


def test_promotion_is_a_commit_and_a_tag_and_a_rejection_is_told_in_the_entry() -> None:
    found = done(
        REPOSITORY,
        Promote(rollout="spring", date="2026-01-01", tag_base="v2026-01-stable"),
        MarkBad(rollout="spring", driver=NEW.version, why="slow"),
    )
    assert found.source is not None
    assert (found.source.tag, found.tags, found.source.bad) == ("v2026-01-stable", ("v2026-01-stable",), "slow")


def test_the_controller_of_nvidia_is_switched_by_the_resource_that_is_named() -> None:
    alone = done(POLICY, SetAutoUpgrade(rollout="spring", resource=CLUSTER_POLICY, value=True))
    assert alone.operator.is_auto_upgrading
    pools = Outside(operator=outer.driver_pools(OLD.version, "canary", "fleet", is_auto_upgrading=True))
    off = done(pools, SetAutoUpgrade(rollout="spring", resource="NVIDIADriver/fleet", value=False))
    assert [pool.is_auto_upgrading for pool in off.operator.pools] == [True, False]


def test_a_pool_is_made_once_and_removed() -> None:
    make = MakePool(rollout="spring", name="gpu-canary")
    made = done(POLICY, make)
    assert outer.apply(made, make) == Refused(is_stale=True, why="there is a MachineConfigPool gpu-canary already")
    assert [(pool.name, pool.is_ours) for pool in made.machine_pools] == [("gpu-canary", True)]
    paused = done(made, PausePool(rollout="spring", name="gpu-canary", value=True, expect="1"))
    assert [(pool.is_paused, pool.paused_by) for pool in paused.machine_pools] == [(True, "spring")]
    resume = PausePool(rollout="spring", name="gpu-canary", value=False, expect="2")
    assert [(pool.is_paused, pool.paused_by) for pool in done(paused, resume).machine_pools] == [(False, "")]
    assert isinstance(outer.apply(made, resume), Refused)
    assert isinstance(outer.apply(paused, RemovePool(rollout="spring", name="gpu-canary", expect="1")), Refused)
    assert done(made, RemovePool(rollout="spring", name="gpu-canary", expect="1")).machine_pools == ()


def test_marks_are_set_and_taken_away_on_the_node_as_it_was_seen() -> None:
    node = new_node("n1", running=OLD, wanted=OLD)
    act = MarkNode(node="n1", rollout="spring", expect="1", canary=True, skip=True)
    marked = outer.mark(node, act)
    assert isinstance(marked, NodeSeen)
    facts = marked.facts
    assert (facts.canary_of, facts.is_skipped, facts.skipped_by, facts.resource_version) == (
        "spring",
        True,
        "spring",
        "2",
    )
    assert isinstance(outer.mark(marked, act), Refused)
    clean = outer.mark(marked, replace(act, expect="2", canary=False, skip=False))
    assert isinstance(clean, NodeSeen)
    assert (clean.facts.canary_of, clean.facts.is_skipped, clean.facts.skipped_by) == ("", False, "")
    assert outer.mark(clean, replace(act, expect="3", canary=False, skip=None)) == clean, "its version stays, too"


# ── what follows ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_nodes_of_a_resource_are_wanted_to_run_what_it_carries_and_no_others() -> None:
    pools = Outside(operator=outer.driver_pools(OLD.version, "canary", "fleet"))
    nodes = [
        replace(node, facts=replace(node.facts, owner=owner))
        for node, owner in zip(some_nodes(2), ("canary", "fleet"), strict=True)
    ]
    published = done(pools, publish(Via.DIRECT, resource="NVIDIADriver/canary"))
    assert [outer.behind_of(node.facts, published) for node in nodes] == ["NVIDIADriver/canary", ""]
    (moved,) = outer.followed(nodes, "NVIDIADriver/canary", published, {NEW.version: NEW})
    assert (moved.name, moved.facts.wanted) == ("n1", NEW)


def test_a_revision_that_ran_before_is_found_again_when_it_is_wanted_again() -> None:
    (node,) = some_nodes(1)
    assert driver_pods.revisions_of([node]) == {OLD.version: OLD}


@pytest.mark.parametrize(
    ("fate", "number", "attempt", "verdict"),
    [
        (GateFate(), 1, 1, GateVerdict.PASSED),
        (GateFate(fails_on=NEW.version), 1, 1, GateVerdict.FAILED),
        (GateFate(fails_on=OLD.version), 1, 1, GateVerdict.PASSED),
        (GateFate(fails_on=NEW.version, from_round=3), 2, 1, GateVerdict.PASSED),
        (GateFate(fails_on=NEW.version, from_round=3), 3, 1, GateVerdict.FAILED),
        (GateFate(unknown_rounds=frozenset({2})), 2, 3, GateVerdict.UNKNOWN),
        (GateFate(unknown_tries=1), 1, 1, GateVerdict.UNKNOWN),
        (GateFate(unknown_tries=1), 1, 2, GateVerdict.PASSED),
    ],
)
def test_a_probe_is_pending_and_then_says_what_is_in_store(
    fate: GateFate, number: int, attempt: int, verdict: GateVerdict
) -> None:
    started = done(POLICY, a_probe(number, attempt), a_probe(number, attempt))
    (pending,) = outer.pending(started)
    ended = outer.probe_ends(started, pending, NEW.version, fate)
    assert outer.pending(ended) == ()
    assert [each.verdict for each in ended.measurements] == [verdict]


# ── whole campaigns ──────────────────────────────────────────────────────────────────────────────────────────────────


def some_nodes(count: int) -> list[NodeSeen]:
    return [new_node(f"n{number}", running=OLD, wanted=OLD) for number in range(1, count + 1)]


class Acts:
    """A journal that keeps the acts."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def append(self, _at: float, kind: str, fields: Mapping[str, object]) -> None:
        assert kind != "breach", fields
        if kind == "act":
            self.names.append(str(fields["act"]))


def a_world(outside: Outside, via: Via = Via.DIRECT, *, node_count: int = 4, **changes: Any) -> World:
    campaign = Campaign(
        canary=Canary(nodes=("n2",)), gates=(SMOKE,), publish=via, has_source=outside.source is not None
    )
    nodes = changes.pop("nodes", some_nodes(node_count))
    intent = an_intent(parallel_max=2, unavailable_max=2, campaign=campaign)
    return World(nodes, intent, outside=outside, **changes)


def play(world: World) -> Acts:
    acts = Acts()
    asyncio.run(run_forever(world.ports(acts), Memory(world.time), on_report=lambda _: None, is_over=lambda _: False))
    return acts


def phases(world: World) -> list[RolloutPhase]:
    return [turn.phase for turn in world.rollout.campaign.history] if world.rollout.campaign else []


def drivers(world: World) -> list[str]:
    return [node.facts.driver.version for node in world.nodes.values() if node.facts.driver is not None]


FORWARD = [RolloutPhase.PROPOSED, RolloutPhase.CANARY, RolloutPhase.GATING, RolloutPhase.BAKING]
BACK = [RolloutPhase.REVERTING, RolloutPhase.REVERTED]


def test_a_campaign_runs_to_its_end_and_bakes_for_two_days() -> None:
    world = a_world(POLICY)
    acts = play(world)
    assert phases(world)[:5] == [*FORWARD, RolloutPhase.WAVING]
    assert phases(world)[-2:] == [RolloutPhase.PROMOTING, RolloutPhase.DONE]
    assert drivers(world) == [NEW.version] * 4
    assert 48 * 3600 < world.time < 50 * 3600
    assert acts.names.count("StartProbe") == 48
    assert acts.names.count("Publish") == 1


@pytest.mark.parametrize("has_pools", [False, True], ids=["ClusterPolicy", "two NVIDIADrivers"])
def test_a_campaign_by_commits_ends_with_a_tag(has_pools: bool) -> None:
    nodes, plain = some_nodes(4), POLICY
    if has_pools:
        plain = Outside(operator=outer.driver_pools(OLD.version, "canary", "fleet"))
        nodes = [
            replace(node, facts=replace(node.facts, owner="canary" if node.name == "n2" else "fleet")) for node in nodes
        ]
    world = a_world(with_repository(plain, NEW.version), Via.GIT, nodes=nodes)
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert drivers(world) == [NEW.version] * 4
    assert world.outside.source is not None
    steps = [step for step, _ in world.outside.source.steps]
    fleet = [PublishStep.FLEET] if has_pools else []
    assert steps == [PublishStep.CANARY, *fleet, PublishStep.PROMOTION]
    assert world.outside.tags == ("v1970-01-stable",)


@pytest.mark.parametrize("via", [Via.DIRECT, Via.GIT])
def test_a_driver_that_loses_throughput_in_the_bake_is_taken_back(via: Via) -> None:
    slow = GateFate(fails_on=NEW.version, from_round=5, detail="3 % slower")
    world = a_world(REPOSITORY if via is Via.GIT else POLICY, via, gate_fates={"smoke": slow})
    play(world)
    assert phases(world) == [*FORWARD, *BACK]
    assert drivers(world) == [OLD.version] * 4
    assert world.rollout.campaign is not None
    assert world.rollout.campaign.why == "gate smoke failed on n2: 3 % slower"
    if world.outside.source is not None:
        assert [step for step, _ in world.outside.source.steps] == [
            PublishStep.CANARY,
            PublishStep.REVERT,
            PublishStep.BAD,
        ]


def test_no_wave_starts_while_nobody_looks_at_the_matrix_and_all_goes_on_once_somebody_does() -> None:
    hour = 3600.0
    world = a_world(REPOSITORY, Via.GIT)
    seen: list[list[str]] = []

    def stand_still(outside: Outside) -> Outside:
        assert outside.source is not None
        return replace(outside, source=replace(outside.source, seen_at=world.time, every_seconds=30.0))

    def look_again(outside: Outside) -> Outside:
        assert outside.source is not None
        seen.append(drivers(world))
        return replace(outside, source=replace(outside.source, seen_at=world.time, every_seconds=0.0))

    world.at(40 * hour, lambda world: world.change_outside(stand_still))
    world.at(60 * hour, lambda world: world.change_outside(look_again))
    play(world)
    assert seen == [[OLD.version, NEW.version, OLD.version, OLD.version]], (
        "the canary alone, twelve hours after its bake"
    )
    assert phases(world)[-1] is RolloutPhase.DONE
    assert drivers(world) == [NEW.version] * 4
    assert world.time > 60 * hour


@pytest.mark.parametrize("via", [Via.DIRECT, Via.GIT])
def test_driver_managers_are_switched_off_with_the_version_and_on_again_on_the_way_back(via: Via) -> None:
    """On the way forward no node is opened; what is restored re-arms them, and each opening is closed again."""
    slow = GateFate(fails_on=NEW.version, from_round=2)
    shipped = outer.cluster_policy(OLD.version)
    told = (replace(shipped.carriers[0], switches=(("ENABLE_GPU_POD_EVICTION", "true"),)),)
    plain = Outside(operator=replace(shipped, carriers=told))
    world = a_world(with_repository(plain, NEW.version) if via is Via.GIT else plain, via, gate_fates={"smoke": slow})
    opened: list[str] = []
    switched: set[tuple[tuple[str, str], ...]] = set()

    def watch(before: NodeSeen, after: NodeSeen) -> None:
        switched.add(world.outside.operator.carriers[0].switches)
        has_opened = before.facts.is_cordoned and not after.facts.is_cordoned
        if has_opened and after.facts.driver is not None and not after.facts.driver.is_ready:
            opened.append(after.facts.driver.version)

    world.watchers.append(watch)
    play(world)
    off = (("ENABLE_GPU_POD_EVICTION", "false"), ("ENABLE_AUTO_DRAIN", "false"))
    assert switched == {told[0].switches, off}
    assert phases(world) == [*FORWARD, *BACK]
    assert world.outside.operator.carriers[0].switches == told[0].switches, "what stood there is not there again"
    assert opened == [OLD.version], "the canary is opened on its way back, and nobody else ever is"
    assert not any(node.facts.is_cordoned for node in world.nodes.values())
    assert drivers(world) == [OLD.version] * 4


def test_a_canary_whose_kernel_still_has_another_driver_is_taken_back_though_every_figure_is_right() -> None:
    world = a_world(POLICY, gate_fates={"smoke": GateFate(loaded="580.159.04")})
    play(world)
    assert phases(world) == [*FORWARD[:-1], *BACK]
    assert world.rollout.campaign is not None
    assert f"NVML reports driver 580.159.04, and {NEW.version} has to be proven" in world.rollout.campaign.why


@pytest.mark.parametrize("via", [Via.DIRECT, Via.GIT])
def test_a_canary_whose_first_gate_fails_is_never_open_on_the_new_driver(via: Via) -> None:
    slow = GateFate(fails_on=NEW.version, detail="3 % slower")
    world = a_world(REPOSITORY if via is Via.GIT else POLICY, via, gate_fates={"smoke": slow})
    opened: list[str] = []

    def watch(before: NodeSeen, after: NodeSeen) -> None:
        if before.facts.is_cordoned and not after.facts.is_cordoned and after.facts.driver is not None:
            opened.append(after.facts.driver.version)

    world.watchers.append(watch)
    play(world)
    assert phases(world) == [*FORWARD[:-1], *BACK]
    assert set(opened) == {OLD.version}, "the old driver's manager opens it as well, and it is closed again"
    assert drivers(world) == [OLD.version] * 4


def test_a_canary_whose_module_does_not_load_is_taken_back_before_any_gate() -> None:
    world = a_world(POLICY, fates={"n2": Fate(driver_fails_on=NEW.version)})
    acts = play(world)
    assert phases(world) == [RolloutPhase.PROPOSED, RolloutPhase.CANARY, *BACK]
    assert drivers(world) == [OLD.version] * 4
    assert "StartProbe" not in acts.names


def test_a_round_that_cannot_be_measured_lengthens_the_bake() -> None:
    world = a_world(POLICY, gate_fates={"smoke": GateFate(unknown_rounds=frozenset({3}))})
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert world.time > 49 * 3600
    tries = [each for each in world.outside.measurements if each.round == 3]
    assert [each.verdict for each in tries] == [GateVerdict.UNKNOWN] * 3


def test_an_image_that_is_pushed_late_is_pulled_in_a_later_round_and_the_campaign_comes_to_its_end() -> None:
    named = replace(NEW, image="nvcr.io/nvidia/driver:580.105.08-ubuntu22.04")
    missing = GateFate(unknown_rounds=frozenset({0, 1}))
    world = a_world(POLICY, gate_fates={"prepull": missing}, revisions=[named])
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert drivers(world) == [NEW.version] * 4
    tries = [each for each in world.outside.measurements if (each.gate, each.node) == ("prepull", "n2")]
    assert [(each.round, each.verdict) for each in tries] == [
        *[(0, GateVerdict.UNKNOWN)] * 3,
        *[(1, GateVerdict.UNKNOWN)] * 3,
        (2, GateVerdict.PASSED),
    ]


def test_a_pool_without_nodes_has_the_version_at_the_end() -> None:
    outside = Outside(operator=outer.driver_pools(OLD.version, "fleet", "spare"))
    nodes = [replace(node, facts=replace(node.facts, owner="fleet")) for node in some_nodes(4)]
    world = a_world(outside, nodes=nodes)
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert {carrier.version for carrier in world.outside.operator.carriers} == {NEW.version}


THIRD = "590.44.01"


def publishing_a_third_version(world: World, version: str) -> None:
    """Somebody writes another version into the ClusterPolicy, over the head of the rollout."""
    operator = world.outside.operator
    carriers = tuple(replace(carrier, version=version, writer="kubectl") for carrier in operator.carriers)
    world.change_outside(lambda outside: replace(outside, operator=replace(operator, carriers=carriers)))


def test_a_third_version_published_mid_wave_moves_nobody_and_the_wave_goes_on_when_it_is_right_again() -> None:
    used = [new_node(f"n{number}", running=OLD, wanted=OLD, gpu_pod_count=1) for number in range(1, 9)]
    world = a_world(POLICY, nodes=used)
    seen: set[str] = set()
    world.watchers.append(lambda _, node: seen.add(node.facts.driver.version if node.facts.driver else ""))
    is_waving = False

    def interfere(world: World) -> None:
        nonlocal is_waving
        under_way = [node for node in world.nodes.values() if is_under_way(node.record)]
        has_drivers = all(not node.facts.driver.is_terminating for node in under_way if node.facts.driver is not None)
        on_old = [node for node in under_way if node.facts.driver is not None and not node.facts.is_in_sync]
        if phases(world)[-1] is RolloutPhase.WAVING and on_old and has_drivers:
            is_waving = True
            publishing_a_third_version(world, THIRD)
            world.at(world.time + 7200, lambda world: publishing_a_third_version(world, NEW.version))
            return
        if phases(world)[-1] is not RolloutPhase.DONE:
            world.at(world.time + 5, interfere)

    world.at(48 * 3600, interfere)
    play(world)
    assert is_waving
    assert phases(world)[-1] is RolloutPhase.DONE
    assert drivers(world) == [NEW.version] * 8
    assert THIRD not in seen


def aborting(world: World) -> None:
    campaign = world.intent.campaign
    assert campaign is not None
    world.intent = replace(world.intent, campaign=replace(campaign, abort="not this one"))


def versions_of(world: World) -> set[str]:
    return {carrier.version for carrier in world.outside.operator.carriers}


def test_an_abort_after_the_end_leaves_the_version_that_somebody_published_since() -> None:
    world = a_world(POLICY)
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    later = DriverRevision(hash="third", version=THIRD)
    for name in tuple(world.nodes):
        driver = world.nodes[name].facts.driver
        assert driver is not None
        pod = replace(driver, version=THIRD, revision=later.hash)
        world.change(name, partial(with_driver, driver=pod, wanted=later))
    publishing_a_third_version(world, THIRD)
    aborting(world)
    play(world)
    assert (phases(world)[-1], versions_of(world), drivers(world)) == (RolloutPhase.REVERTED, {THIRD}, [THIRD] * 4)
    campaign = world.rollout.campaign
    assert campaign is not None
    assert f"not overwritten: {CLUSTER_POLICY} stays at {THIRD}" in campaign.history[-1].why


@pytest.mark.parametrize("delay", [5, 200])
def test_an_abort_in_the_waves_finishes_nodes_under_way_on_the_version_published_since(delay: float) -> None:
    """The others keep the driver they run: the version is not ours to bring to them."""
    nodes = [new_node(f"n{number}", running=OLD, wanted=OLD, gpu_pod_count=1) for number in range(1, 9)]
    world = a_world(POLICY, nodes=nodes)
    begun: set[str] = set()

    def interfere(world: World) -> None:
        under_way = {name for name, node in world.nodes.items() if is_under_way(node.record)}
        if phases(world)[-1] is RolloutPhase.WAVING and under_way:
            begun.update(under_way)
            publishing_a_third_version(world, THIRD)
            world.at(world.time + delay, aborting)
        else:
            world.at(world.time + 5, interfere)

    world.at(48 * 3600, interfere)
    play(world)
    assert (phases(world)[-1], versions_of(world)) == (RolloutPhase.REVERTED, {THIRD})
    assert begun
    moved = {name for name, node in world.nodes.items() if node.facts.driver and node.facts.driver.version == THIRD}
    assert moved <= begun
    assert not [name for name, node in world.nodes.items() if node.facts.is_cordoned]


def test_a_daemon_set_deleted_from_over_its_pods_costs_nobody_a_driver() -> None:
    world = a_world(POLICY)

    def orphan(world: World, is_orphaned: bool) -> None:
        for node in tuple(world.nodes.values()):
            driver, version = node.facts.driver, world.outside.operator.carriers[0].version
            wanted = None if is_orphaned else replace(NEW if version == NEW.version else OLD)
            pod = replace(driver, is_orphaned=is_orphaned) if driver is not None else None
            world.change(node.name, partial(with_driver, driver=pod, wanted=wanted))

    world.at(48.05 * 3600, lambda world: orphan(world, is_orphaned=True))
    world.at(52 * 3600, lambda world: orphan(world, is_orphaned=False))
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert drivers(world) == [NEW.version] * 4


def with_driver(node: NodeSeen, driver: DriverPod | None, wanted: DriverRevision | None) -> NodeSeen:
    return replace(node, facts=replace(node.facts, driver=driver, wanted=wanted))


def test_a_member_without_a_gpu_and_one_that_is_dead_do_not_keep_a_campaign_from_its_end() -> None:
    bare = new_node("cpu", running=OLD, wanted=OLD)
    bare = replace(bare, facts=replace(bare.facts, driver=None, wanted=None))
    world = a_world(POLICY, nodes=[*some_nodes(4), bare])

    def dies(world: World) -> None:
        world.change("n3", lambda node: replace(node, facts=replace(node.facts, is_ready=False)))

    world.at(3600, dies)
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert drivers(world) == [NEW.version, NEW.version, OLD.version, NEW.version]
    assert world.rollout.campaign is not None
    assert world.rollout.campaign.history[-2].why == "without n3 (node-not-ready)"
    assert world.rollout.summary is not None
    assert {told.code for told in world.rollout.summary.told} == {"members-without-gpu", "members-left"}


def test_an_act_outside_that_cannot_be_done_is_answered_with_why() -> None:
    world = a_world(POLICY)
    outcome = world.execute(publish(Via.DIRECT, resource="DaemonSet/driver"))
    why = "DaemonSet/driver has no driver version that could be set"
    assert (outcome.result, outcome.detail) == (Result.FAILED, why)


def test_what_is_seen_of_the_outside_is_what_is_there() -> None:
    world = a_world(REPOSITORY, Via.GIT)
    world.execute(a_probe())
    seen = world.observe().seen
    assert (seen.operator, seen.source) == (REPOSITORY.operator, REPOSITORY.source)
    assert seen.measurements == (Measurement(gate="smoke", node="n1", round=1, attempt=1, verdict=GateVerdict.PENDING),)


def test_an_engine_that_is_stopped_brings_neither_commit_nor_revert_until_it_is_resumed() -> None:
    follower = Follower(kind="Application", namespace="argocd", name="gpu", stop=Stop.BY_HAND)
    marks = (Mark(kind="Application", name="gpu"),)
    operator = POLICY.operator
    marked = replace(operator, carriers=tuple(replace(each, marks=marks) for each in operator.carriers))
    stopped = replace(REPOSITORY, operator=marked, follower=follower)
    assert outer.is_synced(done(stopped, publish(Via.GIT))) is None
    world = a_world(stopped, Via.GIT)
    seen: list[HoldCode] = []

    def resume(world: World) -> None:
        assert drivers(world) == [OLD.version] * 4
        sight = world.observe()
        seen.extend(held.code for held in decide(sight.seen, sight.intent, world.time).waits)
        world.change_outside(lambda outside: replace(outside, follower=replace(follower, stop=None)))

    world.at(3600.0, resume)
    play(world)
    assert HoldCode.SYNC_STOPPED in seen
    assert phases(world)[-1] is RolloutPhase.DONE


def test_the_noise_of_one_node_says_nothing_about_another() -> None:
    fate = GateFate(figures={NEW.version: {"matrix": 1.0}}, spread=1.0)

    def drawn(node: str) -> list[float]:
        found = []
        for number in range(400):
            asked = Measurement(gate="speed", node=node, round=number, attempt=1, verdict=GateVerdict.PENDING)
            ended = outer.probe_ends(Outside(measurements=(asked,)), asked, NEW.version, fate)
            found.append(ended.measurements[0].figures[0].value - 1.0)
        return found

    noise = {node: drawn(node) for node in ("n1", "n2", "n3", "n10", "gpu-a", "gpu-b")}
    for one, other in combinations(noise, 2):
        assert abs(correlation(noise[one], noise[other])) < 0.2, f"{one} and {other}"
    for values in noise.values():
        assert abs(correlation(values[:-1], values[1:])) < 0.2, "nor does one round about the next"
        assert abs(fmean(values)) < 0.1
