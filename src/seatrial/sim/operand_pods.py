"""What befalls the operands around the driver of a simulated node: replaced, started, restarted with the driver.

Law of this file: a DaemonSet is OnDelete, so a pod of another revision stays until somebody takes it away; whatever
makes a pod anew takes the newest template, be it a visit, a reload of the driver or a neighbour. The validator and the
DRA plugin are operands like the others, each seen in two places: both are changed here. What resources say of operands
is here as well. Tests: tests/sim/test_operand_pods.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from seatrial.core.compat.matrix import Component
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.operands import COMPONENTS, Operand, OperandPod, OperandSeen
from seatrial.core.model.seen.operators import ON_DELETE, Carrier, NetworkFacts, OperatorFacts
from seatrial.core.model.seen.pods import DraPlugin, ValidatorPod
from seatrial.core.model.target import parts_of, text_of
from seatrial.core.node.progress import is_policy
from seatrial.sim.nodes import Fate, successor_of, touched


def operand_of(node: str, operand: Operand, version: str, at: ApiInstant) -> OperandSeen:
    """An operand that runs what is wanted; its revision is its version."""
    is_network = operand is Operand.NETWORK_DRIVER
    pod = OperandPod(
        namespace="nvidia-network-operator" if is_network else "gpu-operator",
        name=f"{operand}-{node}",
        uid=f"{operand}-{node}-0",
        revision=version,
        version=version,
        is_ready=True,
        created_at=at,
    )
    return OperandSeen(operand=operand, wanted=version, version=version, pod=pod)


def with_operands(facts: NodeFacts, operands: Iterable[tuple[Operand, str]], at: ApiInstant = 0.0) -> NodeFacts:
    """A node with operands of these versions around its driver; the validator is the one it has."""
    seen = tuple(operand_of(facts.name, operand, version, at) for operand, version in operands)
    return with_plugin(with_validator(replace(facts, operands=seen), facts.validator), facts.dra)


def with_validator(facts: NodeFacts, validator: ValidatorPod | None) -> NodeFacts:
    """A node with this validator, wherever it is looked at."""
    return replace(
        facts,
        validator=validator,
        operands=tuple(_as_seen(each, Operand.VALIDATOR, validator) for each in facts.operands),
    )


def with_plugin(facts: NodeFacts, plugin: DraPlugin | None) -> NodeFacts:
    """A node with this DRA plugin, wherever it is looked at; one without any has nothing to move."""
    operands = facts.operands
    if plugin is None:
        operands = tuple(each for each in operands if each.operand is not Operand.DRA_PLUGIN)
    return replace(facts, dra=plugin, operands=tuple(_as_seen(each, Operand.DRA_PLUGIN, plugin) for each in operands))


def _as_seen(seen: OperandSeen, operand: Operand, found: ValidatorPod | DraPlugin | None) -> OperandSeen:
    """An operand as its pod is seen in its other place."""
    if seen.operand is not operand or seen.pod is None or found is None:
        return seen
    pod = replace(
        seen.pod,
        namespace=found.namespace,
        name=found.name,
        uid=found.uid,
        is_ready=found.is_ready,
        is_terminating=found.is_terminating,
    )
    if found.uid != seen.pod.uid:  # another pod is of the newest template
        pod = replace(pod, revision=seen.wanted, version=seen.version)
    return replace(seen, pod=pod)


def naming(carrier: Carrier, text: str) -> Carrier:
    """A resource that carries what a text says: a driver, and operands where it names them."""
    driver, parts = parts_of(text)
    return replace(carrier, version=driver, parts=tuple({**dict(carrier.parts), **dict(parts)}.items()))


def noted(operator: OperatorFacts, before: OperatorFacts, name: str, note: str) -> OperatorFacts:
    """The operator with our note on one of its resources, whose version moves if anything of it did."""
    after = each_carrier(operator, lambda each: replace(each, note=note) if each.name == name else each)
    return moved(after, before, name)


NETWORK_POLICY: Final = "NicClusterPolicy/nic-cluster-policy"


def with_network(operator: OperatorFacts, version: str, **changes: Any) -> OperatorFacts:
    """The operator beside a Network Operator whose one resource says which network driver every node runs."""
    carrier = Carrier(name=NETWORK_POLICY, parts=((Component.MOFED.value, version),))
    return replace(operator, network=replace(NetworkFacts(carrier=carrier), **changes))


def find_carrier(operator: OperatorFacts, name: str) -> Carrier | None:
    """The resource of a name, if it is there."""
    return next((each for each in all_carriers(operator) if each.name == name), None)


def all_carriers(operator: OperatorFacts) -> tuple[Carrier, ...]:
    """Every resource that carries versions, the Network Operator's last."""
    return (*operator.carriers, *((operator.network.carrier,) if operator.network is not None else ()))


def each_carrier(operator: OperatorFacts, change: Callable[[Carrier], Carrier]) -> OperatorFacts:
    """The operator with every resource that carries versions changed."""
    network = operator.network
    if network is not None:
        operator = replace(operator, network=replace(network, carrier=change(network.carrier)))
    return replace(operator, carriers=tuple(map(change, operator.carriers)))


def moved(operator: OperatorFacts, before: OperatorFacts, name: str) -> OperatorFacts:
    """The operator after a write to a resource: one that changes nothing leaves its version, as the API server does.

    Where nobody counts versions, there is none to move.
    """
    if operator == before:
        return operator
    return each_carrier(
        operator,
        lambda each: (
            replace(each, resource_version=str(int(each.resource_version) + 1))
            if each.name == name and each.resource_version
            else each
        ),
    )


def files_of(operator: OperatorFacts) -> tuple[tuple[str, str], ...]:
    """What the files say from which a deployer made the operator's resources as they are."""
    said = ((each, ((Component(name), text) for name, text in each.parts)) for each in all_carriers(operator))
    return tuple((each.name, text_of(each.version, parts)) for each, parts in said)


def rolling(operator: OperatorFacts, written: Mapping[str, str], strategy: str | None) -> OperatorFacts:
    """The operator once its ClusterPolicy, among what is written, says how DaemonSets replace pods; None: as before."""
    if strategy is None or not any(map(is_policy, written)):
        return operator
    carriers = tuple(replace(each, strategy=strategy) if is_policy(each.name) else each for each in operator.carriers)
    return replace(operator, carriers=carriers, rolling=() if strategy == ON_DELETE else operator.rolling)


def is_as(carrier: Carrier, strategy: str) -> bool:
    """Whether a resource says of DaemonSets what a repository does, as far as either has a say."""
    return not strategy or not is_policy(carrier.name) or carrier.strategy == strategy


def carrying(facts: NodeFacts, parts: Mapping[str, str]) -> NodeFacts:
    """A node whose DaemonSets have the templates of these versions, by component."""
    operands = tuple(_wanting(each, parts) for each in facts.operands)
    return facts if operands == facts.operands else replace(facts, operands=operands)


def _wanting(seen: OperandSeen, parts: Mapping[str, str]) -> OperandSeen:
    """An operand with its template; a release shows in the validator, and in whatever has no version of its own."""
    release, own = parts.get(Component.GPU_OPERATOR), COMPONENTS.get(seen.operand, Component.GPU_OPERATOR)
    text = parts.get(own) or (release if seen.operand is Operand.VALIDATOR else None)
    return replace(seen, wanted=text, version=text) if text else seen


def ahead_of(facts: NodeFacts, operator: OperatorFacts) -> str | None:
    """The Network Operator's resource, where it carries what a node's DaemonSet does not want yet; None otherwise."""
    carrier = operator.network.carrier if operator.network is not None else None
    is_ahead = carrier is not None and carrying(facts, dict(carrier.parts)) != facts
    return carrier.name if carrier is not None and is_ahead else None


def said_by(carrier: Carrier) -> str:
    """All that a resource says of versions, as one text."""
    return text_of(carrier.version, ((Component(name), text) for name, text in carrier.parts))


def running_beside(facts: NodeFacts) -> tuple[str, ...]:
    """The operands that run on a node, each with its version."""
    pods = ((each.operand, each.pod) for each in facts.operands)
    return tuple(f"{operand} {pod.version}" for operand, pod in pods if pod is not None)


def restarted(facts: NodeFacts, operand: Operand) -> NodeFacts:
    """A node whose pod of this operand was deleted."""
    return _changed(facts, operand, lambda pod: replace(pod, is_terminating=True))


def _changed(facts: NodeFacts, operand: Operand, change: Callable[[OperandPod], OperandPod]) -> NodeFacts:
    return replace(
        facts,
        operands=tuple(
            replace(each, pod=change(each.pod)) if each.operand is operand and each.pod is not None else each
            for each in facts.operands
        ),
    )


def operand_replaced(facts: NodeFacts, fate: Fate, at: ApiInstant) -> NodeFacts | None:
    """A DaemonSet starts a pod of its newest template in place of a deleted one."""
    leaving = next((each for each in _own(facts) if each.pod is not None and each.pod.is_terminating), None)
    if leaving is None:
        return None
    after = _made_anew(facts, (leaving,), at)
    is_guarded = leaving.operand is Operand.NETWORK_DRIVER and fate.is_network_load_guarded
    return replace(touched(after), awaits_network_load=True) if is_guarded else after


def operand_starts(facts: NodeFacts, fate: Fate, _at: ApiInstant) -> NodeFacts | None:
    """An operand gets ready, once what it waits for is there: the driver; the network driver waits for no other."""
    driver = facts.driver
    has_driver = driver is not None and driver.is_ready and not driver.is_terminating
    for each in _own(facts):
        pod, is_network = each.pod, each.operand is Operand.NETWORK_DRIVER
        if facts.awaits_network_load if is_network else not has_driver:
            continue
        is_failing = pod is not None and fate.operand_fails_on == f"{each.operand} {pod.version}"
        if pod is None or pod.is_ready or pod.is_terminating or is_failing:
            continue
        return _changed(facts, each.operand, lambda found: replace(found, is_ready=True))
    return None


def remade_with_driver(facts: NodeFacts, at: ApiInstant) -> NodeFacts:
    """A node whose driver manager has stopped the operands, so that all come back with their newest templates."""
    return _made_anew(facts, tuple(each for each in _own(facts) if each is not facts.network), at)


def _own(facts: NodeFacts) -> tuple[OperandSeen, ...]:
    """All but the validator and the DRA plugin, which have reactions of their own."""
    return tuple(each for each in facts.operands if each.operand not in (Operand.VALIDATOR, Operand.DRA_PLUGIN))


def _made_anew(facts: NodeFacts, which: tuple[OperandSeen, ...], at: ApiInstant) -> NodeFacts:
    names = {each.operand for each in which}
    return replace(facts, operands=tuple(_anew(each, at) if each.operand in names else each for each in facts.operands))


def _anew(seen: OperandSeen, at: ApiInstant) -> OperandSeen:
    if seen.pod is None:
        return seen
    before = seen.pod
    pod = OperandPod(
        namespace=before.namespace,
        name=before.name,
        uid=successor_of(before.uid),
        revision=seen.wanted,
        version=seen.version,
        settings=seen.settings,
        created_at=at,
    )
    return replace(seen, pod=pod)
