"""What our own acts do to a simulated node: certain, and at once; or why the cluster turns one down.

Law of this file: every act on a node is matched here, and none does more than its executor asks of an API server.
Tests: tests/sim/test_reactions.py, and tests/scenarios/test_acts.py beside a real one
"""

from __future__ import annotations

from typing import Final, assert_never

from seatrial.core.actions.on_nodes import (
    KUEUE,
    AskCheckpoint,
    Cordon,
    EvictPods,
    NodeAct,
    ReleaseMaintenance,
    Request,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.seen import marks
from seatrial.core.model.seen.nodes import Maintenance, NodeSeen
from seatrial.core.model.seen.operands import Operand, OperandPod
from seatrial.core.model.seen.pods import DraPlugin, DriverPod, Pod, ValidatorPod
from seatrial.core.model.seen.work import PodBudget
from seatrial.sim import operand_pods
from seatrial.sim.nodes import HEALTHY, Fate, next_of, touched


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The cluster turned an act down."""

    is_stale: bool
    why: str


UNSAVED: Final = Refused(is_stale=False, why="the work is not saved yet")
OVER_BUDGET: Final = Refused(is_stale=False, why="Cannot evict pod as it would violate the pod's disruption budget.")


def apply(node: NodeSeen, act: NodeAct, fate: Fate = HEALTHY) -> NodeSeen | Refused:
    """The node after one of our acts, or why it was turned down."""
    match act:
        case WriteNodeRecord():
            return _write(node, act)
        case EvictPods(pods=pods):
            return _evict(node, {pod.uid for pod in pods}, fate)
        case AskCheckpoint():
            return _ask(node, act, fate)
        case RestartPod():
            return _restart(node, act)
        case RequestMaintenance():
            return _request(node, act)
        case ReleaseMaintenance():
            return _release(node, act)
        case _:
            assert_never(act)


def _write(node: NodeSeen, act: WriteNodeRecord) -> NodeSeen | Refused:
    facts = node.facts
    if act.expect != facts.resource_version:
        return Refused(is_stale=True, why=f"the node is at {facts.resource_version}, not at {act.expect}")
    labels = {mark.key: mark.value for mark in act.marks if mark.place is marks.Place.LABEL} | dict(act.labels)
    gone = {mark.key for mark in act.lifted if mark.place is marks.Place.LABEL}
    kept = {key: value for key, value in facts.labels.items() if key not in gone}
    facts = replace(
        touched(replace(facts, labels=kept) if gone else facts, labels),
        marks=marks.written(facts.marks, act.marks, act.lifted),
        is_cordoned=isinstance(act, Cordon) or (facts.is_cordoned and not isinstance(act, Uncordon)),
        is_requested=facts.is_requested and Request.UPGRADE not in act.answers,
        awaits_safe_load=facts.awaits_safe_load and Request.SAFE_LOAD not in act.answers,
        awaits_network_load=facts.awaits_network_load and Request.NETWORK_SAFE_LOAD not in act.answers,
        network_state=act.record.phase.value if act.record.moves_network else facts.network_state,
        is_loss_accepted=facts.is_loss_accepted and Request.ACCEPT_LOSS not in act.answers,
    )
    return NodeSeen(facts=facts, record=act.record)


def mirrored(node: NodeSeen) -> NodeSeen:
    """The node after a write of ours where no GPU Operator runs: its phase stands under NVIDIA's own key, too."""
    state = node.record.phase.value if node.record is not None else ""
    return replace(node, facts=replace(node.facts, nvidia_state=state))


def within_budgets(
    node: NodeSeen, act: EvictPods, budgets: tuple[PodBudget, ...]
) -> tuple[tuple[Pod, ...], tuple[PodBudget, ...]]:
    """The pods that their PodDisruptionBudgets let go, asked one after the other, and what the budgets still allow."""
    going = []
    ready = {pod.uid for pod in node.facts.pods if pod.is_running and not pod.is_terminating}
    for pod in act.pods:
        over = [each for each in budgets if pod.uid in ready and each.covers(pod.namespace, pod.labels)]
        if all(each.allowed > 0 for each in over):
            going.append(pod)
            budgets = tuple(replace(each, allowed=each.allowed - 1) if each in over else each for each in budgets)
    return tuple(going), budgets


def _evict(node: NodeSeen, uids: set[str], fate: Fate) -> NodeSeen | Refused:
    if fate.is_eviction_blocked:
        return Refused(is_stale=False, why="the disruption budget needs every pod it has")
    pods = tuple(replace(pod, is_terminating=pod.is_terminating or pod.uid in uids) for pod in node.facts.pods)
    return replace(node, facts=replace(node.facts, pods=pods))


def _ask(node: NodeSeen, act: AskCheckpoint, fate: Fate) -> NodeSeen | Refused:
    asked = {pod.uid for pod in act.pods}
    if act.webhook == KUEUE:
        off = {pod.uid for pod in node.facts.pods if pod.uid in asked and pod.workload}
        pods = tuple(replace(pod, suspended_for=act.token) if pod.uid in off else pod for pod in node.facts.pods)
        return replace(node, facts=replace(node.facts, pods=pods))
    if not act.webhook:
        pods = tuple(replace(pod, checkpoint_asked=act.token) if pod.uid in asked else pod for pod in node.facts.pods)
        return replace(node, facts=replace(node.facts, pods=pods))
    if fate.is_work_unsaved:
        # A webhook is asked again and again, and says "not yet" until the work is saved; the pods know nothing of it.
        return UNSAVED
    pods = tuple(replace(pod, checkpoint_saved=act.token) if pod.uid in asked else pod for pod in node.facts.pods)
    return replace(node, facts=replace(node.facts, pods=pods))


def _restart(node: NodeSeen, act: RestartPod) -> NodeSeen | Refused:
    facts = node.facts
    match act.operand:
        case Operand.DRIVER:
            if _is_meant(facts.driver, act) and facts.driver is not None:
                return replace(node, facts=replace(facts, driver=replace(facts.driver, is_terminating=True)))
        case Operand.VALIDATOR:
            if _is_meant(facts.validator, act) and facts.validator is not None:
                leaving = replace(facts.validator, is_terminating=True)
                return replace(node, facts=operand_pods.with_validator(facts, leaving))
        case Operand.DRA_PLUGIN:
            if _is_meant(facts.dra, act) and facts.dra is not None:
                leaving_plugin = replace(facts.dra, is_terminating=True)
                return replace(node, facts=operand_pods.with_plugin(facts, leaving_plugin))
        case _:
            found = next((each.pod for each in facts.operands if each.operand is act.operand), None)
            if _is_meant(found, act):
                return replace(node, facts=operand_pods.restarted(facts, act.operand))
    return Refused(is_stale=True, why=f"the {act.operand} pod is another one by now")


def _is_meant(found: DriverPod | ValidatorPod | DraPlugin | OperandPod | None, act: RestartPod) -> bool:
    return found is not None and (found.namespace, found.name, found.uid) == (act.namespace, act.pod, act.uid)


def _request(node: NodeSeen, act: RequestMaintenance) -> NodeSeen | Refused:
    found = node.facts.maintenance
    if found is not None and (found.namespace, found.name) != (act.namespace, act.name):
        found = None  # two may exist side by side; the facts have room for one, and ours is the one we look at
    if (found.resource_version if found else "") != act.joins:
        return Refused(is_stale=True, why="the NodeMaintenance is another one by now")
    if found is not None:
        others = (*found.others, act.requestor)
        joined = replace(found, others=others, resource_version=next_of(found.resource_version))
        return replace(node, facts=replace(node.facts, maintenance=joined))
    made = Maintenance(
        namespace=act.namespace,
        name=act.name,
        # One for each attempt at most, and the last one is gone by then.
        uid=f"{act.name}-{act.attempt}",
        resource_version="1",
        requestor=act.requestor,
    )
    return replace(node, facts=replace(node.facts, maintenance=made))


def _release(node: NodeSeen, act: ReleaseMaintenance) -> NodeSeen | Refused:
    found = node.facts.maintenance
    is_named = found is not None and (found.namespace, found.name) == (act.namespace, act.name)
    if found is None or not is_named or not _is_as_seen(found, act):
        return Refused(is_stale=True, why="the NodeMaintenance is another one by now")
    if act.is_ours and found.is_deleting:
        return node  # what is on its way out is not sent out once more
    version = next_of(found.resource_version)
    if act.is_ours:
        released = replace(found, is_deleting=True, resource_version=version)
    else:
        released = replace(found, others=act.stay, resource_version=version)
    return replace(node, facts=replace(node.facts, maintenance=released))


def _is_as_seen(found: Maintenance, act: ReleaseMaintenance) -> bool:
    """Our own goes whatever has joined it since; a list of names in somebody else's is written as it was seen."""
    return found.uid == act.uid if act.is_ours else found.resource_version == act.resource_version
