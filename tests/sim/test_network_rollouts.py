"""Whole rollouts of the network driver in a simulated cluster, alone and together with the GPU driver."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import Publish
from seatrial.core.actions.on_nodes import Cordon, EvictPods, RestartPod, Uncordon
from seatrial.core.compat.matrix import Component
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import Bake, Campaign, Canary, Growth, RolloutPhase, Via, Waves
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.target import Target
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.operand_pods import NETWORK_POLICY, with_network, with_operands
from seatrial.sim.outside import CLUSTER_POLICY, GateFate, Outside
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent

BEFORE, AFTER = "24.07-0.6.1.0-0", "25.04-0.6.0.0-0"
HOUR = 3600.0
CAMPAIGN = Campaign(
    publish=Via.DIRECT,
    canary=Canary(count=1),
    gates=(Gate(name="nccl", image="example.org/nccl:1"),),
    bake=Bake(seconds=HOUR),
    waves=Waves(growth=Growth.FIXED, first=Share(amount=2)),
)


def a_rollout(driver: str, network: str = AFTER, **changes: Any) -> Intent:
    target = Target.of(driver, (Component.MOFED, network))
    return replace(an_intent(unavailable_max=2, parallel_max=2), target=target, campaign=CAMPAIGN, **changes)


class _Silent:
    def append(self, at: float, kind: str, fields: object) -> None:
        """Forget."""


class Story:
    """Four nodes with a network driver and a pod without a GPU each, and what was done there."""

    def __init__(self, intent: Intent, *, operator: Any = None, **settings: Any) -> None:
        found = operator or with_network(outer.cluster_policy(OLD.version), BEFORE)
        nodes = []
        for number in range(1, 5):
            web = Pod(namespace="web", name=f"web-{number}", uid=f"web-{number}")
            node = new_node(f"n{number}", running=OLD, wanted=OLD, gpu_pod_count=1, pods=(web,))
            facts = with_operands(node.facts, ((Operand.NETWORK_DRIVER, BEFORE),))
            nodes.append(replace(node, facts=facts))
        self.world = World(nodes, intent, outside=Outside(operator=found), revisions=(NEW,), **settings)
        self.acts: list[Action] = []
        self.stop: Hold | None = None
        execute = self.world.execute

        def noted(action: Action) -> Any:
            self.acts.append(action)
            return execute(action)

        self.world.execute = noted  # type: ignore[method-assign]

    def play(self, hours: float = 200.0) -> RolloutPhase | None:
        def look(report: Report) -> None:
            assert not report.breaches, report.breaches

        ports = self.world.ports(_Silent())
        over = lambda _report: self.world.time > hours * HOUR  # noqa: E731
        ended = asyncio.run(run_forever(ports, Memory(self.world.time), on_report=look, is_over=over))
        self.stop = ended.decision.stop if ended.decision is not None else None
        return self.world.rollout.campaign.phase if self.world.rollout.campaign is not None else None

    def of(self, node: str, *kinds: type) -> list[Any]:
        return [act for act in self.acts if isinstance(act, kinds) and act.subject == node]

    def versions(self) -> set[tuple[str, str]]:
        found = set()
        for node in self.world.nodes.values():
            assert node.facts.driver is not None
            assert node.facts.network is not None
            assert node.facts.network.pod is not None
            found.add((node.facts.driver.version, node.facts.network.pod.version))
        return found

    @property
    def published(self) -> list[tuple[str, str]]:
        return [pair for act in self.acts if isinstance(act, Publish) for pair in act.versions]


def test_the_network_driver_alone_goes_over_canary_gates_bake_and_waves() -> None:
    story = Story(a_rollout(OLD.version))
    assert story.play() is RolloutPhase.DONE
    assert story.versions() == {(OLD.version, AFTER)}
    assert story.published == [(NETWORK_POLICY, f"mofed {AFTER}")], "the ClusterPolicy is left alone"
    for node in story.world.nodes:
        assert [act.operand for act in story.of(node, RestartPod)] == [Operand.NETWORK_DRIVER]
        assert len(story.of(node, Cordon)) == len(story.of(node, Uncordon)) == 1
        assert story.world.nodes[node].facts.network_state == "upgrade-done"


def test_both_drivers_move_in_one_visit_of_each_node() -> None:
    story = Story(a_rollout(NEW.version))
    assert story.play() is RolloutPhase.DONE
    assert story.versions() == {(NEW.version, AFTER)}
    assert set(story.published) == {(CLUSTER_POLICY, NEW.version), (NETWORK_POLICY, f"mofed {AFTER}")}
    for node in story.world.nodes:
        restarts = [act.operand for act in story.of(node, RestartPod)]
        assert restarts[:2] == [Operand.NETWORK_DRIVER, Operand.DRIVER]
        assert len(story.of(node, Cordon)) == len(story.of(node, Uncordon)) == 1
        left = [pod.uid for act in story.of(node, EvictPods) for pod in act.pods]
        assert len(left) == len(set(left)) == 2, "each of them left once"


@pytest.mark.parametrize("driver", [OLD.version, NEW.version], ids=["alone", "both"])
def test_a_canary_whose_gate_fails_goes_back_with_all_that_moved(driver: str) -> None:
    bad = f"{Operand.NETWORK_DRIVER} {AFTER}"
    story = Story(a_rollout(driver), gate_fates={"nccl": GateFate(fails_on=bad)})
    assert story.play() is RolloutPhase.REVERTED
    assert story.versions() == {(OLD.version, BEFORE)}
    touched = {act.subject for act in story.acts if isinstance(act, RestartPod)}
    assert touched == {"n1"}, "nobody but the canary was touched"
    assert story.published[-1] in {(CLUSTER_POLICY, OLD.version), (NETWORK_POLICY, f"mofed {BEFORE}")}


def test_a_driver_that_waits_for_a_safe_load_is_told_on_every_node() -> None:
    names = [f"n{number}" for number in range(1, 5)]
    story = Story(a_rollout(OLD.version), fates=dict.fromkeys(names, Fate(is_network_load_guarded=True)))
    assert story.play() is RolloutPhase.DONE
    assert story.versions() == {(OLD.version, AFTER)}


def test_where_the_network_operator_moves_its_driver_itself_nobody_is_touched() -> None:
    operator = with_network(outer.cluster_policy(OLD.version), BEFORE, is_auto_upgrading=True)
    story = Story(a_rollout(OLD.version), operator=operator)
    story.play(hours=1.0)
    assert story.stop is not None
    assert story.stop.code is HoldCode.NETWORK_DELEGATED
    assert not [act for act in story.acts if isinstance(act, RestartPod | Publish)]


def test_where_no_nic_cluster_policy_names_a_network_driver_nobody_is_touched() -> None:
    story = Story(a_rollout(OLD.version), operator=outer.cluster_policy(OLD.version))
    story.play(hours=1.0)
    assert story.stop is not None
    assert story.stop.code is HoldCode.NETWORK_UNSEEN
    assert not [act for act in story.acts if isinstance(act, RestartPod | Publish)]


def test_with_nvidia_drivers_the_network_driver_moves_as_well() -> None:
    """Operands of the GPU Operator come from the ClusterPolicy and do not; this one has a resource of its own."""
    operator = with_network(outer.driver_pools(OLD.version, "blue"), BEFORE)
    story = Story(a_rollout(OLD.version), operator=operator)
    for name, node in list(story.world.nodes.items()):
        story.world.nodes[name] = replace(node, facts=replace(node.facts, owner="blue"))
    assert story.play() is RolloutPhase.DONE
    assert story.versions() == {(OLD.version, AFTER)}


def test_limits_of_both_operators_bound() -> None:
    from seatrial.core.model.intent import policies
    from seatrial.core.model.policy import PolicyWish

    def limit(own: int | None, gpu: int | None, network: int | None) -> int:
        operator = replace(outer.cluster_policy(OLD.version), policy=PolicyWish(parallel_max=gpu))
        operator = with_network(operator, BEFORE, policy=PolicyWish(parallel_max=network, drain_selector="app=rdma"))
        policy, _ = policies(PolicyWish(parallel_max=own), operator, moves_network=True)
        assert str(policy.drain.selector).startswith("app=rdma")
        return policy.limits.parallel_max

    assert [limit(None, 4, 2), limit(None, 2, 4), limit(None, 0, 3), limit(None, None, None), limit(8, 4, 2)] == [
        *(2, 2, 3, 1, 8)
    ]


def test_an_sriov_operator_that_begins_while_the_network_driver_restarts_does_not_stop_the_rollout() -> None:
    story = Story(a_rollout(OLD.version))
    sees = story.world.watchers

    def begin(before: NodeSeen, after: NodeSeen) -> None:
        was, network = before.facts.network, after.facts.network
        is_back = network is not None and network.is_up and was is not None and not was.is_up
        if after.name == "n3" and is_back and begin in sees:
            sees.remove(begin)
            story.world.befall("n3", lambda fate: replace(fate, is_sriov_due=True))
            story.world.change("n3", lambda node: replace(node, facts=replace(node.facts, sriov="Drain_Required")))

    sees.append(begin)
    assert story.play() is RolloutPhase.DONE
    assert begin not in sees
    assert story.versions() == {(OLD.version, AFTER)}
    assert not story.world.nodes["n3"].facts.is_cordoned
