"""How a simulated cluster answers: what our own acts do (certain), and what the world then does by itself (in time).

Pure functions from node to node. The timed World gives each reaction a delay; the explorer tries them in every order.
Models facts, not Kubernetes objects: a fake API server would decay into a bad copy of one.

Tests: tests/sim/test_reactions.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from seatrial.core.actions import Cordon, EvictPods, RestartDriverPod, Uncordon, WriteNodeRecord
from seatrial.core.node import RESTARTS_MAX
from seatrial.core.snapshot import ApiInstant, DriverPod, DriverRevision, GpuPod, NodeFacts, NodeSeen, ValidatorPod


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What is wrong with a node, unknown to everybody until it shows."""

    driver_fails_on: str = ""
    """The driver version whose module does not load here."""
    is_eviction_blocked: bool = False
    """A disruption budget that allows nothing."""


HEALTHY: Final = Fate()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The cluster turned an act down."""

    is_stale: bool
    why: str


NodeAct: TypeAlias = WriteNodeRecord | Cordon | Uncordon | EvictPods | RestartDriverPod


def apply(node: NodeSeen, act: NodeAct, fate: Fate = HEALTHY) -> NodeSeen | Refused:
    """The node after one of our acts, or why it was turned down."""
    match act:
        case WriteNodeRecord():
            return _write(node, act)
        case EvictPods(pods=pods):
            return _evict(node, {pod.uid for pod in pods}, fate)
        case RestartDriverPod(uid=uid):
            return _restart(node, uid)


def _write(node: NodeSeen, act: WriteNodeRecord) -> NodeSeen | Refused:
    facts = node.facts
    if act.expect != facts.resource_version:
        return Refused(is_stale=True, why=f"the node is at {facts.resource_version}, not at {act.expect}")
    is_cordoned = isinstance(act, Cordon) or (facts.is_cordoned and not isinstance(act, Uncordon))
    version = str(int(facts.resource_version) + 1)
    facts = replace(facts, is_cordoned=is_cordoned, resource_version=version)
    return NodeSeen(facts=facts, record=act.record)


def _evict(node: NodeSeen, uids: set[str], fate: Fate) -> NodeSeen | Refused:
    if fate.is_eviction_blocked:
        return Refused(is_stale=False, why="the disruption budget needs every pod it has")
    pods = tuple(replace(pod, is_terminating=pod.is_terminating or pod.uid in uids) for pod in node.facts.gpu_pods)
    return replace(node, facts=replace(node.facts, gpu_pods=pods))


def _restart(node: NodeSeen, uid: str) -> NodeSeen | Refused:
    driver = node.facts.driver
    if driver is None or driver.uid != uid:
        return Refused(is_stale=True, why="the driver pod is another one by now")
    return replace(node, facts=replace(node.facts, driver=replace(driver, is_terminating=True)))


# ── what the world does by itself ────────────────────────────────────────────────────────────────────────────────────

Reaction: TypeAlias = Callable[[NodeFacts, Fate, ApiInstant], NodeFacts | None]
"""The facts after the reaction, or None where it does not apply."""


def gpu_pods_leave(facts: NodeFacts, _fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """Terminating GPU pods are gone after their grace, which runs for all of them at once."""
    staying = tuple(pod for pod in facts.gpu_pods if not pod.is_terminating)
    return replace(facts, gpu_pods=staying) if staying != facts.gpu_pods else None


def driver_pod_replaced(facts: NodeFacts, _fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The DaemonSet starts a pod of the wanted revision in place of the deleted one."""
    if facts.driver is None or not facts.driver.is_terminating or facts.wanted is None:
        return None
    before = facts.driver
    generation = int(before.uid.rpartition("-")[2]) + 1
    pod = DriverPod(
        namespace=before.namespace,
        name=before.name,
        uid=f"{before.uid.rpartition('-')[0]}-{generation}",
        revision=facts.wanted.hash,
        version=facts.wanted.version,
    )
    return replace(facts, driver=pod)


def driver_gets_ready(facts: NodeFacts, fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """The module loads."""
    driver = facts.driver
    if driver is None or driver.is_ready or driver.is_terminating or driver.version == fate.driver_fails_on:
        return None
    return replace(facts, driver=replace(driver, is_ready=True, ready_since=at))


def driver_crash_loops(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The module does not load, again and again."""
    driver = facts.driver
    if driver is None or driver.is_ready or driver.is_terminating or driver.version != fate.driver_fails_on:
        return None
    if driver.restart_count > RESTARTS_MAX:
        return None
    return replace(facts, driver=replace(driver, restart_count=driver.restart_count + 11, trouble="CrashLoopBackOff"))


def validator_restarts(facts: NodeFacts, _fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """The driver manager sends the validator through its checks again once the new driver is up."""
    driver, validator = facts.driver, facts.validator
    if driver is None or driver.ready_since is None or validator is None or validator.ready_since is None:
        return None
    if validator.ready_since >= driver.ready_since:
        return None
    return replace(facts, validator=ValidatorPod(name=validator.name))


def validator_passes(facts: NodeFacts, _fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """The validator's checks pass on a ready driver."""
    driver, validator = facts.driver, facts.validator
    if validator is None or validator.is_ready or driver is None or not driver.is_ready:
        return None
    return replace(facts, validator=replace(validator, is_ready=True, ready_since=at))


REACTIONS: Final[Mapping[str, Reaction]] = {
    "gpu pods leave": gpu_pods_leave,
    "driver pod replaced": driver_pod_replaced,
    "driver gets ready": driver_gets_ready,
    "driver crash loops": driver_crash_loops,
    "validator restarts": validator_restarts,
    "validator passes": validator_passes,
}


def new_node(
    name: str,
    *,
    running: DriverRevision,
    wanted: DriverRevision,
    gpu_pod_count: int = 0,
    is_cordoned: bool = False,
    at: ApiInstant = 0.0,
) -> NodeSeen:
    """A healthy node that runs one revision and is wanted to run another."""
    driver = DriverPod(
        namespace="gpu-operator",
        name=f"driver-{name}",
        uid=f"driver-{name}-0",
        revision=running.hash,
        version=running.version,
        is_ready=True,
        ready_since=at,
    )
    pods = tuple(
        GpuPod(namespace="jobs", name=f"train-{name}-{index}", uid=f"pod-{name}-{index}")
        for index in range(gpu_pod_count)
    )
    facts = NodeFacts(
        name=name,
        resource_version="1",
        is_cordoned=is_cordoned,
        wanted=wanted,
        driver=driver,
        validator=ValidatorPod(name=f"validator-{name}", is_ready=True, ready_since=at),
        gpu_pods=pods,
    )
    return NodeSeen(facts=facts)
