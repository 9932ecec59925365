"""Operands around the driver: what befalls their pods, and whole rollouts that move them node by node."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from bench.operands import R_MAX, WRITES_MAX, measure

from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import Cordon, EvictPods, NodeAct, RestartPod, Uncordon
from seatrial.core.compat.matrix import Component
from seatrial.core.decision.decide import Decision
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import Bake, Campaign, Canary, Growth, RolloutPhase, Via, Waves
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.model.seen.operands import COMPONENTS, Operand
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.target import Target
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.driver_pods import driver_pod_replaced
from seatrial.sim.nodes import HEALTHY, Fate, new_node
from seatrial.sim.operand_pods import (
    carrying,
    operand_replaced,
    operand_starts,
    remade_with_driver,
    restarted,
    with_operands,
)
from seatrial.sim.outside import GateFate, Outside
from seatrial.sim.reactions import validator_replaced
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent, with_repository

BEFORE: Mapping[Operand, str] = {
    Operand.TOOLKIT: "v1.17.8",
    Operand.DEVICE_PLUGIN: "v0.17.1",
    Operand.EXPORTER: "4.2.3-4.1.1-ubuntu22.04",
    Operand.VALIDATOR: "v25.3.0",
}
AFTER: Mapping[Operand, str] = {
    Operand.TOOLKIT: "v1.18.1",
    Operand.DEVICE_PLUGIN: "v0.18.1",
    Operand.EXPORTER: "4.4.2-4.7.0-ubuntu22.04",
    Operand.VALIDATOR: "v25.10.1",
}
PARTS = {COMPONENTS[operand].value: text for operand, text in AFTER.items()}
BAD = f"{Operand.DEVICE_PLUGIN} {AFTER[Operand.DEVICE_PLUGIN]}"
"""What fails where something is to fail: the new device plugin."""
HOUR = 3600.0


def a_simulated_node(name: str = "n1", operands: Mapping[Operand, str] = BEFORE, **changes: Any) -> NodeSeen:
    node = new_node(name, running=OLD, wanted=OLD, gpu_pod_count=1, **changes)
    return replace(node, facts=with_operands(node.facts, operands.items()))


def facts_of(**changes: Any) -> NodeFacts:
    return a_simulated_node(**changes).facts


def versions(facts: NodeFacts) -> dict[Operand, str]:
    return {each.operand: each.pod.version for each in facts.operands if each.pod is not None}


def generations(facts: NodeFacts) -> set[str]:
    """How often the pods of a node's operands were made anew."""
    return {each.pod.uid.rpartition("-")[2] for each in facts.operands if each.pod is not None}


def ready(facts: NodeFacts) -> dict[Operand, bool]:
    return {each.operand: each.pod.is_ready for each in facts.operands if each.pod is not None}


# ── what befalls their pods ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_new_template_moves_nobody() -> None:
    facts = carrying(facts_of(), PARTS)
    assert versions(facts) == BEFORE
    assert all(each.is_old for each in facts.operands)
    assert operand_replaced(facts, HEALTHY, 5.0) is None
    assert operand_starts(facts, HEALTHY, 5.0) is None


def test_an_operand_that_was_deleted_comes_back_with_the_newest_template_and_nobody_else_does() -> None:
    facts = operand_replaced(restarted(carrying(facts_of(), PARTS), Operand.TOOLKIT), HEALTHY, 5.0)
    assert facts is not None
    assert versions(facts) == {**BEFORE, Operand.TOOLKIT: AFTER[Operand.TOOLKIT]}
    assert ready(facts) == dict.fromkeys(BEFORE, True) | {Operand.TOOLKIT: False}
    (pod,) = (each.pod for each in facts.operands if each.operand is Operand.TOOLKIT)
    assert pod is not None
    assert (pod.uid, pod.created_at) == ("container-toolkit-n1-1", 5.0)
    started = operand_starts(facts, HEALTHY, 9.0)
    assert started is not None
    assert ready(started) == dict.fromkeys(BEFORE, True)


def test_an_operand_waits_for_its_driver() -> None:
    facts = operand_replaced(restarted(facts_of(), Operand.TOOLKIT), HEALTHY, 5.0)
    assert facts is not None
    assert facts.driver is not None
    for driver in (None, replace(facts.driver, is_ready=False), replace(facts.driver, is_terminating=True)):
        assert operand_starts(replace(facts, driver=driver), HEALTHY, 9.0) is None


def test_an_operand_that_fails_never_gets_ready_and_the_others_do() -> None:
    facts = remade_with_driver(carrying(facts_of(), PARTS), 5.0)
    fate = Fate(operand_fails_on=BAD)
    while (after := operand_starts(facts, fate, 9.0)) is not None:
        facts = after
    assert ready(facts) == dict.fromkeys(BEFORE, True) | {Operand.DEVICE_PLUGIN: False}


def test_a_reload_of_the_driver_makes_them_anew_with_the_newest_templates() -> None:
    facts = carrying(facts_of(), PARTS)
    assert facts.driver is not None
    facts = replace(facts, wanted=NEW, driver=replace(facts.driver, is_terminating=True))
    after = driver_pod_replaced(facts, HEALTHY, 5.0)
    assert after is not None
    assert versions(after) == {**AFTER, Operand.VALIDATOR: BEFORE[Operand.VALIDATOR]}  # which has its own reaction


def test_the_validator_is_seen_in_both_places() -> None:
    facts = carrying(facts_of(), PARTS)
    validator = facts.validator
    assert validator is not None
    leaving = with_operands(replace(facts, validator=replace(validator, is_terminating=True)), BEFORE.items())
    after = validator_replaced(carrying(leaving, PARTS), HEALTHY, 5.0)
    assert after is not None
    assert after.validator is not None
    (pod,) = (each.pod for each in after.operands if each.operand is Operand.VALIDATOR)
    assert pod is not None
    assert (pod.uid, pod.is_ready, pod.version) == (after.validator.uid, False, AFTER[Operand.VALIDATOR])


# ── whole rollouts ───────────────────────────────────────────────────────────────────────────────────────────────────


class Crash(Exception):  # noqa: N818  what happens to a controller, not an error of ours
    """The controller dies."""


class Story:
    """A world with operands, what was done there, and to whom."""

    def __init__(
        self, intent: Intent, node_count: int = 4, node: Callable[[str], NodeSeen] = a_simulated_node, **settings: Any
    ) -> None:
        operator = outer.cluster_policy(OLD.version)
        parts = tuple((COMPONENTS[operand].value, text) for operand, text in BEFORE.items())
        operator = replace(operator, carriers=tuple(replace(each, parts=parts) for each in operator.carriers))
        nodes = [node(f"n{number}") for number in range(1, node_count + 1)]
        self.world = World(nodes, intent, **({"outside": Outside(operator=operator)} | settings))
        self.acts: list[Action] = []
        self.crashes_before: int | None = None
        execute = self.world.execute

        def noted(action: Action) -> Any:
            if len(self.acts) == self.crashes_before:
                self.crashes_before = None
                raise Crash
            self.acts.append(action)
            return execute(action)

        self.world.execute = noted  # type: ignore[method-assign]

    def play(self, is_over: Callable[[Report], bool] = lambda _report: False) -> Decision:
        """To the end, or until told otherwise; no promise is broken on the way. What is decided then."""

        def look(report: Report) -> None:
            assert not report.breaches, report.breaches

        ports = self.world.ports(_NoJournal())
        try:
            ended = asyncio.run(run_forever(ports, Memory(self.world.time), on_report=look, is_over=is_over))
        except Crash:
            return self.play(is_over)
        assert ended.decision is not None
        return ended.decision

    def until(self, phase: RolloutPhase) -> None:
        self.play(lambda _report: self.phase is phase)

    @property
    def phase(self) -> RolloutPhase | None:
        return self.world.rollout.campaign.phase if self.world.rollout.campaign is not None else None

    def ends(self) -> dict[str, Any]:
        """How each node ended: what it runs, how often its pods were made anew, and what is left of us."""
        return {
            name: (
                node.facts.driver.version if node.facts.driver is not None else "",
                versions(node.facts),
                generations(node.facts),
                node.facts.is_cordoned,
                node.record.phase if node.record is not None else None,
            )
            for name, node in self.world.nodes.items()
        }

    def restarts(self, node: str) -> list[Operand]:
        return [act.operand for act in self.acts if isinstance(act, RestartPod) and act.node == node]

    def count(self, node: str, *kinds: type[NodeAct]) -> int:
        return sum(isinstance(act, kinds) and act.subject == node for act in self.acts)


class _NoJournal:
    def append(self, at: float, kind: str, fields: Any) -> None:
        """Forget."""


def wish(driver: DriverRevision = OLD, campaign: Campaign | None = None) -> Intent:
    others = ((COMPONENTS[operand], text) for operand, text in AFTER.items())
    limits: dict[str, Any] = {"parallel_max": 2, "unavailable_max": 4}
    return an_intent(**limits, target=Target.of(driver.version, *others), campaign=campaign)


def careful(**changes: Any) -> Campaign:
    """One canary, one gate, an hour of bake, and a wave for everybody else."""
    campaign = Campaign(
        canary=Canary(count=1),
        gates=(Gate(name="smoke", image="smoke:1"),),
        bake=Bake(seconds=HOUR),
        waves=Waves(growth=Growth.FIXED, first=Share(amount=5)),
    )
    return replace(campaign, **changes)


UNTOUCHED = (OLD.version, BEFORE, {"0"}, False, None)


def moved(driver: DriverRevision = OLD) -> tuple[Any, ...]:
    return driver.version, AFTER, {"1"}, False, NodePhase.UPGRADE_DONE


def published(story: Story) -> None:
    """Somebody has published what the rollout wants."""
    for name in story.world.nodes:
        story.world.change(name, lambda node: replace(node, facts=carrying(node.facts, PARTS)))


def test_a_plain_rollout_moves_each_operand_once_and_evicts_nobody() -> None:
    story = Story(wish(), outside=Outside())
    published(story)
    story.play()
    assert story.ends() == dict.fromkeys(story.world.nodes, moved())
    for name in story.world.nodes:
        assert story.restarts(name) == list(BEFORE)
        assert (story.count(name, Cordon), story.count(name, Uncordon), story.count(name, EvictPods)) == (1, 1, 0)


def test_a_visit_writes_little_to_its_node() -> None:
    story = Story(wish(), node_count=20, outside=Outside())
    published(story)
    story.play()
    for name in story.world.nodes:
        writes = [act for act in story.acts if act.subject == name]
        deletes = Counter(act.operand for act in writes if isinstance(act, RestartPod))
        assert deletes == dict.fromkeys(BEFORE, 1)
        assert len(writes) - deletes.total() <= WRITES_MAX


def test_a_rollout_of_operands_takes_hardly_longer_than_the_operands_do() -> None:
    found = measure()
    assert (found["nodes"], found["parallel"], found["operand_seconds"]) == (20, 4, 5.0)
    assert found["R"] <= R_MAX
    assert found["R_to_operands_alone"] <= R_MAX
    assert found["writes_per_node_max"] <= WRITES_MAX
    assert (found["deletes_per_node"], found["evictions"]) == (len(BEFORE), 0)


@pytest.mark.parametrize("driver", [OLD, NEW], ids=["operands", "and a driver"])
def test_a_campaign_moves_a_canary_alone_and_the_fleet_after_it(driver: DriverRevision) -> None:
    story = Story(wish(driver, careful()))
    story.until(RolloutPhase.WAVING)
    first, *others = story.ends().values()
    assert first == moved(driver)
    assert others == [UNTOUCHED] * 3
    story.play()
    assert story.phase is RolloutPhase.DONE
    assert story.ends() == dict.fromkeys(story.world.nodes, moved(driver))
    for name in story.world.nodes:
        assert (story.count(name, Cordon), story.count(name, Uncordon)) == (1, 1)
        assert bool(story.count(name, EvictPods)) is (driver is NEW)


@pytest.mark.parametrize("is_failing", [False, True], ids=["passing", "failing"])
@pytest.mark.parametrize("driver", [OLD, NEW], ids=["operands", "and a driver"])
def test_a_campaign_by_git_is_tagged_at_its_end_or_taken_back(driver: DriverRevision, is_failing: bool) -> None:
    story = Story(wish(driver, careful(publish=Via.GIT, has_source=True)))
    story.world.change_outside(lambda world: with_repository(world, driver.version))
    files = story.world.outside.files
    if is_failing:
        story.world.befall("n1", lambda fate: replace(fate, operand_fails_on=BAD))
    story.play()
    assert story.phase is (RolloutPhase.REVERTED if is_failing else RolloutPhase.DONE)
    ends = list(story.ends().values())
    if is_failing:
        assert (story.world.outside.files, story.world.outside.tags) == (files, ())
        assert ends[1:] == [UNTOUCHED] * 3
    else:
        assert ends == [moved(driver)] * 4
        assert len(story.world.outside.tags) == 1


@pytest.mark.parametrize("driver", [OLD, NEW], ids=["operands", "and a driver"])
@pytest.mark.parametrize("what", ["gate", "operand"])
def test_what_fails_on_the_canary_brings_it_back_and_touches_nobody_else(driver: DriverRevision, what: str) -> None:
    bad: dict[str, Any] = {
        "gate": {"gate_fates": {"smoke": GateFate(fails_on=BAD)}},
        "operand": {"fates": {"n1": Fate(operand_fails_on=BAD)}},
    }
    story = Story(wish(driver, careful()), **bad[what])
    story.play()
    assert story.phase is RolloutPhase.REVERTED
    canary, *others = story.ends().values()
    assert (canary[0], canary[1], canary[3:]) == (OLD.version, BEFORE, (False, NodePhase.UPGRADE_DONE))
    assert others == [UNTOUCHED] * 3
    assert {act.node for act in story.acts if isinstance(act, NodeAct)} == {"n1"}
    assert dict(story.world.outside.operator.carriers[0].parts) == {
        COMPONENTS[operand].value: text for operand, text in BEFORE.items()
    }


@pytest.mark.parametrize("driver", [OLD, NEW], ids=["operands", "and a driver"])
def test_a_crash_between_any_two_writes_changes_nothing_about_the_end(driver: DriverRevision) -> None:
    whole = Story(wish(driver, careful()), node_count=2)
    whole.play()
    for count in range(len(whole.acts)):
        story = Story(wish(driver, careful()), node_count=2)
        story.crashes_before = count
        story.play()
        assert (story.phase, story.ends()) == (whole.phase, whole.ends()), f"after {count} writes"


# ── what others do meanwhile ─────────────────────────────────────────────────────────────────────────────────────────


def rolling(world: Outside) -> Outside:
    """Somebody put the device plugin's DaemonSet back to RollingUpdate."""
    return replace(world, operator=replace(world.operator, rolling=(Operand.DEVICE_PLUGIN,)))


def held(holds: tuple[Hold, ...], subject: str) -> list[HoldCode]:
    return [each.code for each in holds if each.subject == subject]


@pytest.mark.parametrize("phase", [RolloutPhase.CANARY, RolloutPhase.BAKING, RolloutPhase.WAVING])
def test_a_daemon_set_that_rolls_by_itself_stops_the_campaign_before_a_second_node_is_visited(
    phase: RolloutPhase,
) -> None:
    story = Story(wish(campaign=careful()))
    story.until(phase)
    story.world.change_outside(rolling)
    stop = story.play(lambda _report: story.world.time > 3 * HOUR).stop
    assert stop is not None
    assert stop.code is HoldCode.ROLLS_BY_ITSELF
    assert {act.node for act in story.acts if isinstance(act, NodeAct)} <= {"n1"}
    story.world.change_outside(lambda world: replace(world, operator=replace(world.operator, rolling=())))
    story.play()
    assert story.phase is RolloutPhase.DONE


def taken(node: NodeSeen, operand: Operand) -> NodeSeen:
    """A node on which somebody deletes the pod of an operand, or a reboot took it along."""
    return replace(node, facts=restarted(node.facts, operand))


def reloaded(node: NodeSeen) -> NodeSeen:
    """A node whose driver was loaded anew, by whomever, so that its operands were stopped and came back."""
    return replace(node, facts=remade_with_driver(node.facts, 0.0))


LEAKS: Mapping[str, tuple[Callable[[NodeSeen], NodeSeen], set[Operand]]] = {
    "one pod": (lambda node: taken(node, Operand.DEVICE_PLUGIN), {Operand.DEVICE_PLUGIN}),
    "a reload": (reloaded, {Operand.TOOLKIT, Operand.DEVICE_PLUGIN, Operand.EXPORTER}),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_an_operand_recreated_in_the_bake_is_told_and_its_node_ends_like_the_others(leak: str) -> None:
    happens, which = LEAKS[leak]
    story = Story(wish(campaign=careful()))
    story.until(RolloutPhase.BAKING)
    story.world.change("n3", happens)
    holds = story.play(lambda _report: story.world.time > 1800).holds
    (told,) = (each for each in holds if each.code is HoldCode.LEAKED)
    named = [f"{COMPONENTS[operand].value} {AFTER[operand]}" for operand in AFTER if operand in which]
    assert (told.subject, dict(told.params)["version"]) == ("n3", ", ".join(named))
    assert held(holds, "n2") == held(holds, "n4") == [HoldCode.NOT_ITS_TURN]
    story.play()
    assert story.phase is RolloutPhase.DONE
    assert story.ends() == dict.fromkeys(story.world.nodes, moved())
    assert story.restarts("n3") == [operand for operand in AFTER if operand not in which], (
        "what came is not taken twice"
    )


def test_a_leaked_operand_goes_back_with_the_canary() -> None:
    story = Story(wish(campaign=careful()), gate_fates={"smoke": GateFate(fails_on=BAD, from_round=2)})
    story.until(RolloutPhase.BAKING)
    story.world.change("n3", lambda node: taken(node, Operand.DEVICE_PLUGIN))
    story.play()
    assert story.phase is RolloutPhase.REVERTED
    assert {name: versions(node.facts) for name, node in story.world.nodes.items()} == dict.fromkeys(
        story.world.nodes, BEFORE
    )
    assert story.restarts("n3") == [Operand.DEVICE_PLUGIN, Operand.VALIDATOR]
    assert {act.node for act in story.acts if isinstance(act, NodeAct)} == {"n1", "n3"}


def test_a_component_that_stays_is_no_leak() -> None:
    same = (Component.DEVICE_PLUGIN, BEFORE[Operand.DEVICE_PLUGIN])
    toolkit = (Component.CONTAINER_TOOLKIT, AFTER[Operand.TOOLKIT])
    story = Story(replace(wish(campaign=careful()), target=Target.of(OLD.version, toolkit, same)))
    story.until(RolloutPhase.BAKING)
    story.world.change("n3", lambda node: taken(node, Operand.DEVICE_PLUGIN))
    holds = story.play(lambda _report: story.world.time > 1800).holds
    assert held(holds, "n3") == [HoldCode.NOT_ITS_TURN]
