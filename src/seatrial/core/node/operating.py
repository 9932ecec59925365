"""The operands of a node in its visit: one after another, in the order of their dependencies, each up before the next.

    network driver ─▶ driver ─▶ toolkit ─▶ device plugin ─▶ discovery ─▶ DCGM, exporter ─▶ MIG manager ─▶ validator
                                                                                             ─▶ DRA plugin

Law of this file: a step restarts one pod, or says what is waited for; what it takes from users is in visiting.py, and
what has to leave or be closed for it comes before. The validator comes last, also where it is of the wanted revision
already: what it has proven was so before. It proves nothing of the DRA plugin, which follows it.
Tests: tests/core/node/test_operating.py
"""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.actions.on_nodes import Cordon, Request, RestartPod
from seatrial.core.holds import HoldCode, Lack
from seatrial.core.model.instants import ApiInstant, Instant
from seatrial.core.model.seen.nodes import NodeFacts, NodeSeen
from seatrial.core.model.seen.operands import Operand, OperandSeen
from seatrial.core.node import clearing, fresh, visiting
from seatrial.core.node.phases import FailureCode
from seatrial.core.node.visiting import VISITS, Takes
from seatrial.core.node.writing import Orders, Step, record_of, wait, write_again


def takes_now(facts: NodeFacts, orders: Orders) -> Takes:
    """What the restart of the operands that are old takes from the users of a node."""
    return visiting.takes_now(facts, evicts_for_runtime=orders.intent.evicts_for_runtime)


def step_network(node: NodeSeen, orders: Orders, deadline: Instant, now: Instant) -> Step | None:
    """What is due for the network driver, which goes before the GPU's; None once it is up, or where nobody moves it.

    Where its new pod asks whether the node is safe to load on, it is told once everybody has left.
    """
    facts, network = node.facts, node.facts.network
    if network is None:
        return None
    if not facts.is_network_due:
        lack = why_down(network)
        code = FailureCode.OPERAND_TIMEOUT
        return wait(node, lack.code, deadline, code, now, params=lack.params) if lack is not None else None
    closing = _closing(node, Takes.DRAIN, deadline, now)
    if closing is not None:
        return closing
    undrained = clearing.step_undrained(node, orders, deadline, now)
    if undrained is not None:
        return undrained
    return _restart(node, network) if network.is_old else write_again(node, record_of(node), Request.NETWORK_SAFE_LOAD)


def step_around(node: NodeSeen, orders: Orders, deadline: Instant, now: Instant) -> Step | None:
    """The next operand of a node whose driver is there; first what its restart takes. None once all are up."""
    needed = takes_now(node.facts, orders)
    closing = _closing(node, needed, deadline, now)
    if closing is not None:
        return closing
    if needed >= Takes.EVICTION and clearing.users(node.facts):
        return clearing.step_returned(node, orders, deadline, now)
    return step_operands(node, deadline, now)


def _closing(node: NodeSeen, needed: Takes, deadline: Instant, now: Instant) -> Step | None:
    """What comes before the first restart: nobody new may come, and who has to leave is asked to."""
    facts, record = node.facts, record_of(node)
    if needed >= Takes.CORDON and not facts.is_cordoned and record.closed_at is not None:
        return wait(node, HoldCode.CORDON_LOST, deadline, FailureCode.CORDON_LOST, now)
    if needed >= Takes.EVICTION and record.is_restart_only:
        return clearing.begin(node, now)
    if needed >= Takes.CORDON and not facts.is_cordoned:
        closed = replace(record, is_cordon_ours=True, closed_at=now)
        return Step(action=Cordon(node=node.name, record=closed, expect=facts.resource_version))
    return None


def step_operands(node: NodeSeen, deadline: Instant, now: Instant) -> Step | None:
    """The restart of the next operand, or the wait for the one before it; None once all are up."""
    # One that was stopped for a version that is no longer wanted may come after the first that is old by now.
    leaving = next((each for each in node.facts.operands if each.pod is not None and each.pod.is_terminating), None)
    for operand in node.facts.operands:
        if operand.is_old and leaving is None:
            return _before_plugin(node, operand, deadline, now) or _restart(node, operand)
        lack = why_down(leaving or operand)
        if lack is not None:
            return wait(node, lack.code, deadline, FailureCode.OPERAND_TIMEOUT, now, params=lack.params)
    return _step_proving(node)


def _before_plugin(node: NodeSeen, operand: OperandSeen, deadline: Instant, now: Instant) -> Step | None:
    """The wait for pods that are on their way out and give their claims back through the plugin; None without any."""
    pods = fresh.unpreparing(node.facts) if operand.operand is Operand.DRA_PLUGIN else ()
    if not pods:
        return None
    failure = FailureCode.OPERAND_TIMEOUT
    return wait(node, HoldCode.EVICTING, deadline, failure, now, pod=pods[0].full_name, count=len(pods))


def why_down(operand: OperandSeen) -> Lack | None:
    """Why an operand is not up; None when it is."""
    if operand.is_up:
        return None
    name, trouble = (operand.pod.name, operand.pod.trouble) if operand.pod is not None else ("", "")
    return Lack(HoldCode.OPERAND_NOT_READY, {"operand": operand.operand, "pod": name, "trouble": trouble})


def proven_since(facts: NodeFacts) -> ApiInstant | None:
    """Since when the validator has something to prove: the youngest of the operands that its checks are about."""
    made = (
        operand.pod.created_at
        for operand in facts.operands
        if operand.pod is not None and VISITS[operand.operand].is_proven_by_validator
    )
    return max((at for at in made if at is not None), default=None)


def _step_proving(node: NodeSeen) -> Step | None:
    """The restart of a validator that nobody else restarts: it is older than what it is to prove."""
    validator, since = node.facts.validator, proven_since(node.facts)
    if validator is None or validator.is_terminating or not validator.uid or since is None:
        return None
    if validator.ready_since is None or validator.ready_since >= since:
        return None
    return _restarting(node, Operand.VALIDATOR, validator.namespace, validator.name, validator.uid)


def _restart(node: NodeSeen, operand: OperandSeen) -> Step | None:
    pod = operand.pod
    return _restarting(node, operand.operand, pod.namespace, pod.name, pod.uid) if pod is not None else None


def _restarting(node: NodeSeen, operand: Operand, namespace: str, pod: str, uid: str) -> Step:
    attempt = record_of(node).attempt
    return Step(
        action=RestartPod(node=node.name, attempt=attempt, operand=operand, namespace=namespace, pod=pod, uid=uid)
    )
