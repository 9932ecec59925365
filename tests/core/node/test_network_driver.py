"""The network driver in a visit: after a drain, before the GPU's driver, told under a label of its own.

Upstream's scenarios for the driver name `ofed` are here as well, with the numbers of the conformance list: the Network
Operator walks the same states without evicting GPU pods first, and its driver waits for a safe moment to load.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import (
    AskCheckpoint,
    Cordon,
    EvictPods,
    NodeAct,
    Request,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.compat.matrix import Component
from seatrial.core.holds import HoldCode
from seatrial.core.model.intent import Requestor
from seatrial.core.model.policy import Drain, Eviction, Policy
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import Pod, PodOwner, ValidatorPod
from seatrial.core.model.selectors import DRAIN_SKIP_KEY, NETWORK_DRAIN_SKIP_KEY, drain_selector
from seatrial.core.node.phases import FailureCode
from seatrial.core.node.step import step_node
from seatrial.sim.acts import Refused, apply
from seatrial.sim.nodes import HEALTHY, Fate
from seatrial.sim.operand_pods import carrying, with_operands
from seatrial.sim.reactions import REACTIONS
from tests.builders import NEW, NOW, OLD, a_driver, a_gpu_pod, a_new_driver, a_node, a_pod, an_intent, some_orders

BEFORE, AFTER = "24.07-0.6.1.0-0", "25.04-0.6.0.0-0"
PARTS = {Component.MOFED.value: AFTER}
PLUGIN = (Operand.DEVICE_PLUGIN, "v0.17.1")
VALIDATOR = ValidatorPod(namespace="gpu-operator", name="v", uid="v-0", is_ready=True, ready_since=NOW - 50)


def a_networked(
    phase: NodePhase | None = None,
    *,
    parts: dict[str, str] = PARTS,
    operands: tuple[tuple[Operand, str], ...] = ((Operand.NETWORK_DRIVER, BEFORE),),
    **changes: Any,
) -> NodeSeen:
    """A node with the wanted GPU driver and an old network driver, unless told otherwise."""
    fields: dict[str, Any] = {"driver": a_new_driver(), "validator": VALIDATOR}
    node = a_node(phase=phase, **(fields | changes))
    facts = carrying(with_operands(node.facts, operands, NOW - 100), parts)
    return replace(node, facts=facts)


def played(node: NodeSeen, fate: Fate = HEALTHY, **orders: Any) -> tuple[list[NodeAct], list[str], NodeSeen]:
    """What is done to a node until it is done or given up, its label for the network driver, and the node then."""
    acts: list[NodeAct] = []
    labels: list[str] = []
    now = NOW
    for _ in range(300):
        admitted = {node.name: node.record.attempt} if node.record is not None else {}
        step = step_node(node, some_orders(admitted=admitted, **orders), now)
        if step.action is not None:
            after = apply(node, step.action, fate)
            assert not isinstance(after, Refused), after
            acts.append(step.action)
            node = after
            if node.facts.network_state not in labels[-1:]:
                labels.append(node.facts.network_state)
            continue
        now += 1
        found = (reaction(node.facts, fate, now) for reaction in REACTIONS.values())
        facts = next((each for each in found if each is not None), None)
        if facts is None:
            break
        node = replace(node, facts=facts)
    return acts, [each for each in labels if each], node


def restarts(acts: list[NodeAct]) -> list[Operand]:
    return [act.operand for act in acts if isinstance(act, RestartPod)]


def evicted(acts: list[NodeAct]) -> list[str]:
    return sorted(pod.name for act in acts if isinstance(act, EvictPods) for pod in act.pods)


# ── a visit for the network driver alone ─────────────────────────────────────────────────────────────────────────────


def test_a_node_whose_network_driver_is_old_is_visited_and_its_gpu_driver_stays() -> None:
    acts, labels, node = played(a_networked(pods=(a_gpu_pod(), a_pod())))
    assert restarts(acts) == [Operand.NETWORK_DRIVER]
    assert evicted(acts) == ["train-0", "web-0"], "nobody can tell who uses the network"
    assert [type(act) for act in acts if isinstance(act, Cordon | Uncordon)] == [Cordon, Uncordon]
    assert node.facts.network is not None
    assert node.facts.network.pod is not None
    assert node.facts.network.pod.version == AFTER
    assert labels == [
        "upgrade-required",
        "cordon-required",
        "wait-for-jobs-required",
        "drain-required",
        "pod-restart-required",
        "validation-required",
        "uncordon-required",
        "upgrade-done",
    ]


def test_pods_of_daemon_sets_and_static_ones_stay_as_in_every_drain() -> None:
    staying = (
        a_gpu_pod(1, keeper=PodOwner.DAEMON_SET),
        a_pod(2, keeper=PodOwner.KUBELET),
        a_pod(3, labels=((NETWORK_DRAIN_SKIP_KEY, "true"),)),
        a_pod(4, labels=((DRAIN_SKIP_KEY, "true"),)),
    )
    acts, _, node = played(a_networked(pods=(*staying, a_pod(5))))
    assert evicted(acts) == ["web-5"]
    assert node.record is not None
    assert node.record.phase is NodePhase.UPGRADE_DONE


def test_it_is_not_restarted_while_anybody_is_there_whom_a_drain_takes() -> None:
    node = a_networked(NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, pods=(a_pod(),))
    action = step_node(node, some_orders(), NOW).action
    assert isinstance(action, EvictPods)


def test_who_offers_to_save_their_work_is_asked_before_a_drain() -> None:
    pod = a_pod(offers_checkpoint=True)
    acts, _, _ = played(a_networked(pods=(pod,)))
    asked = [type(act) for act in acts if isinstance(act, AskCheckpoint | EvictPods)]
    assert asked == [AskCheckpoint, EvictPods]


def test_a_drain_that_would_lose_a_pod_for_good_gives_the_node_up_and_touches_no_driver() -> None:
    node = a_networked(NodePhase.DRAIN_REQUIRED, is_cordon_ours=True, pods=(a_pod(keeper=PodOwner.NOBODY),))
    step = step_node(node, some_orders(), NOW)
    assert step.hold is not None
    assert step.hold.code is HoldCode.POD_WITHOUT_CONTROLLER
    late = step_node(node, some_orders(), NOW + 10_000).action
    assert isinstance(late, WriteNodeRecord)
    assert (late.record.phase, late.record.reason) == (NodePhase.UPGRADE_FAILED, FailureCode.DRAIN_TIMEOUT)


def test_a_network_driver_that_does_not_come_up_fails_the_node_and_leaves_the_gpu_driver_alone() -> None:
    fate = Fate(operand_fails_on=f"{Operand.NETWORK_DRIVER} {AFTER}")
    acts, labels, node = played(a_networked(), fate)
    assert restarts(acts) == [Operand.NETWORK_DRIVER]
    step = step_node(node, some_orders(), NOW)
    assert step.hold is not None
    assert (step.hold.code, dict(step.hold.params)["operand"]) == (HoldCode.OPERAND_NOT_READY, Operand.NETWORK_DRIVER)
    late = step_node(node, some_orders(), NOW + 10_000).action
    assert isinstance(late, WriteNodeRecord)
    assert (late.record.phase, late.record.reason) == (NodePhase.UPGRADE_FAILED, FailureCode.OPERAND_TIMEOUT)
    assert late.record.old_pod == "", "the next attempt has no reason to restart the GPU driver"
    assert labels[-1] == "pod-restart-required"


def test_a_version_that_is_taken_back_before_the_restart_lets_the_node_go() -> None:
    node = a_networked(NodePhase.DRAIN_REQUIRED, is_cordon_ours=True, parts={}, pods=(a_pod(),))
    action = step_node(node, some_orders(), NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert action.record.phase is NodePhase.UNCORDON_REQUIRED


def test_a_node_without_a_network_driver_of_its_own_is_not_visited_for_one() -> None:
    step = step_node(a_networked(NodePhase.UPGRADE_DONE, operands=()), some_orders(), NOW)
    assert (step.action, step.hold) == (None, None)


def test_a_maintenance_operator_is_asked_for_a_drain() -> None:
    node = a_networked(NodePhase.NODE_MAINTENANCE_REQUIRED)
    intent = replace(an_intent(), requestor=Requestor(id="seatrial"))
    action = step_node(node, some_orders(intent=intent), NOW).action
    assert isinstance(action, RequestMaintenance)
    assert action.policy.drain.is_enabled


# ── both drivers in one visit ────────────────────────────────────────────────────────────────────────────────────────


def a_node_for_both(**changes: Any) -> NodeSeen:
    return a_networked(driver=a_driver(), **changes)


def test_both_drivers_move_in_one_visit_the_network_driver_first() -> None:
    clients = (a_gpu_pod(7, keeper=PodOwner.DAEMON_SET, deploy_label="nvidia.com/gpu.deploy.client"),)
    labels = {"nvidia.com/gpu.deploy.client": "true"}
    node = a_node_for_both(pods=(a_gpu_pod(), a_pod(), *clients), labels=labels)
    acts, told, after = played(node)
    assert restarts(acts)[:2] == [Operand.NETWORK_DRIVER, Operand.DRIVER]
    assert len([act for act in acts if isinstance(act, Cordon)]) == 1
    assert len([act for act in acts if isinstance(act, Uncordon)]) == 1
    assert evicted(acts) == ["train-0", "web-0"], "each leaves once"
    assert after.facts.driver is not None
    assert after.facts.driver.version == NEW.version
    assert after.facts.network is not None
    assert after.facts.network.is_up
    phases = [act.record.phase.value for act in acts if isinstance(act, WriteNodeRecord)]
    assert told == list(dict.fromkeys(phases)), "both labels tell the same story"
    assert "pod-deletion-required" in told
    assert "drain-required" in told


def test_the_gpu_driver_waits_until_the_network_driver_is_up() -> None:
    fate = Fate(operand_fails_on=f"{Operand.NETWORK_DRIVER} {AFTER}")
    acts, _, node = played(a_node_for_both(), fate)
    assert restarts(acts) == [Operand.NETWORK_DRIVER]
    assert node.facts.driver is not None
    assert node.facts.driver.version == OLD.version


def test_operands_around_the_gpu_driver_follow_in_the_same_visit() -> None:
    operands = ((Operand.NETWORK_DRIVER, BEFORE), PLUGIN)
    parts = PARTS | {Component.DEVICE_PLUGIN.value: "v0.18.1"}
    acts, _, _ = played(a_networked(operands=operands, parts=parts))
    assert restarts(acts)[:2] == [Operand.NETWORK_DRIVER, Operand.DEVICE_PLUGIN]
    assert len([act for act in acts if isinstance(act, Cordon)]) == 1


# ── upstream's scenarios for `ofed` ──────────────────────────────────────────────────────────────────────────────────


def test_67_68_jobs_are_waited_for_and_then_the_node_is_drained_for_no_gpu_pod_is_evicted_by_itself() -> None:
    step = step_node(a_networked(NodePhase.WAIT_FOR_JOBS_REQUIRED, is_cordon_ours=True), some_orders(), NOW)
    assert isinstance(step.action, WriteNodeRecord)
    assert step.action.record.phase is NodePhase.DRAIN_REQUIRED


def test_70_a_drain_follows_the_selector_of_the_policy() -> None:
    drain = Drain(is_enabled=True, selector=drain_selector("app=rdma"), rules=Eviction())
    intent = replace(an_intent(), policy=Policy(drain=drain))
    pods = (a_pod(1, labels=(("app", "rdma"),)), a_pod(2, labels=(("app", "web"),)))
    node = a_networked(NodePhase.DRAIN_REQUIRED, is_cordon_ours=True, pods=pods)
    action = step_node(node, some_orders(intent=intent), NOW).action
    assert isinstance(action, EvictPods)
    assert [pod.name for pod in action.pods] == ["web-1"]


def guarded(phase: NodePhase | None = None, **changes: Any) -> NodeSeen:
    """A node whose network driver is as wanted and asks whether it may load, as after a reboot."""
    node = a_networked(phase, parts={}, **changes)
    network = node.facts.network
    assert network is not None
    assert network.pod is not None
    waiting = replace(network, pod=replace(network.pod, is_ready=False))
    return replace(node, facts=replace(node.facts, operands=(waiting,), awaits_network_load=True))


@pytest.mark.parametrize("phase", [None, NodePhase.UPGRADE_DONE])
def test_37_a_driver_that_waits_for_a_safe_load_begins_an_upgrade_although_it_is_in_sync(
    phase: NodePhase | None,
) -> None:
    action = step_node(guarded(phase), some_orders(), NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert action.record.phase is NodePhase.UPGRADE_REQUIRED


def test_38_73_it_is_told_to_load_once_everybody_has_left_and_no_pod_is_deleted() -> None:
    acts, labels, node = played(guarded(pods=(a_pod(),)))
    assert restarts(acts) == []
    answers = [act for act in acts if isinstance(act, WriteNodeRecord) and act.answers]
    assert [act.answers for act in answers] == [(Request.NETWORK_SAFE_LOAD,)]
    left = acts.index(next(act for act in acts if isinstance(act, EvictPods)))
    assert left < acts.index(answers[0])
    assert not node.facts.awaits_network_load
    assert labels[-1] == "upgrade-done"


def test_a_new_network_driver_that_waits_for_a_safe_load_is_told_in_the_same_visit() -> None:
    acts, labels, _ = played(a_networked(pods=(a_pod(),)), Fate(is_network_load_guarded=True))
    assert restarts(acts) == [Operand.NETWORK_DRIVER]
    assert [act.answers for act in acts if isinstance(act, WriteNodeRecord) and act.answers] == [
        (Request.NETWORK_SAFE_LOAD,)
    ]
    assert labels[-1] == "upgrade-done"


def test_76_a_cordon_of_somebody_else_stays() -> None:
    acts, labels, node = played(a_networked(is_cordoned=True))
    assert not [act for act in acts if isinstance(act, Cordon | Uncordon)]
    assert node.facts.is_cordoned
    assert labels[-1] == "upgrade-done"


def test_77_a_pod_that_is_in_sync_and_not_ready_is_waited_for() -> None:
    node = a_networked(NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, parts={})
    network = node.facts.network
    assert network is not None
    assert network.pod is not None
    facts: NodeFacts = replace(
        node.facts, operands=(replace(network, pod=replace(network.pod, is_ready=False, trouble="CrashLoopBackOff")),)
    )
    step = step_node(replace(node, facts=facts), some_orders(), NOW)
    assert step.action is None
    assert step.hold is not None
    assert step.hold.code is HoldCode.OPERAND_NOT_READY


def test_a_pod_somebody_is_about_to_lose_is_named_in_the_hold() -> None:
    pods: tuple[Pod, ...] = (a_pod(is_terminating=True),)
    node = a_networked(NodePhase.DRAIN_REQUIRED, is_cordon_ours=True, pods=pods)
    step = step_node(node, some_orders(), NOW)
    assert step.hold is not None
    assert step.hold.code is HoldCode.EVICTING
