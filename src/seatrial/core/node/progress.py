"""How a node stands towards a driver version, by our own records or by the word of NVIDIA's controller.

Law of this file: done means seen to be done. Our record says so and the facts agree; or NVIDIA's label says so, and the
driver and its validator are seen Ready on the version. Which of the two is asked, the mover knows. What people move by
hand is no driver, and has its own file: observed.py.

Tests: tests/core/node/test_progress.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Final, TypeAlias

from seatrial.core.compat import versions
from seatrial.core.compat.matrix import SCHEMES, Component
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.operands import COMPONENTS, Operand, OperandSeen
from seatrial.core.model.seen.operators import Carrier, OperatorFacts
from seatrial.core.model.seen.releases import CHARTS, ON_NODES
from seatrial.core.model.target import parts_of, text_of
from seatrial.core.node.phases import is_under_way

Parts: TypeAlias = tuple[tuple[str, str], ...]
"""What a version names beside the driver."""
Versions: TypeAlias = tuple[tuple[str, str], ...]
"""Resources, each with a version."""
ANY: Final = "*"
"""The owner of driver DaemonSets that no GPU Operator made."""

GPU_LABELS: Final = ("nvidia.com/gpu.present", "nvidia.com/gpu.count", "nvidia.com/gpu.deploy.driver")
"""Labels of nodes with a GPU: the operator's, feature discovery's, and the one by which the driver is placed."""

_SETTLED: Final = frozenset({"", NodePhase.UPGRADE_DONE.value, NodePhase.UPGRADE_FAILED.value})
_WAITING: Final = frozenset({NodePhase.UPGRADE_REQUIRED.value})


class Progress(StrEnum):
    """How far a node is on its way to a version."""

    AWAY = "away"
    """It runs another one, or is not proven on this one."""
    MOVING = "moving"
    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    """A person wants it left alone."""


def by_our_record(node: NodeSeen, version: str) -> Progress:
    """How a node stands towards a version that we move ourselves."""
    record, facts = node.record, node.facts
    if (
        record is not None
        and record.phase is NodePhase.UPGRADE_FAILED
        and not _failed_elsewhere(record, facts, version)
    ):
        return Progress.FAILED
    if is_under_way(record):
        return Progress.MOVING
    is_recorded = record is not None and record.phase is NodePhase.UPGRADE_DONE
    if is_recorded and runs(facts, version) and not facts.is_requested:
        return Progress.DONE
    return Progress.SKIPPED if facts.is_skipped else Progress.AWAY


def _failed_elsewhere(record: NodeRecord, facts: NodeFacts, version: str) -> bool:
    """Whether a node is known to have failed on its way to something else: it sets out anew when this is wanted."""
    if facts.wanted is None or not record.failed_revision:
        return False
    return wants(facts, version) is not (facts.wanted_revision == record.failed_revision)


def by_nvidias_word(facts: NodeFacts, version: str) -> Progress:
    """How a node stands towards a version that NVIDIA's controller moves."""
    if facts.nvidia_state == NodePhase.UPGRADE_FAILED.value:
        return Progress.FAILED
    if facts.nvidia_state not in _SETTLED and facts.nvidia_state not in _WAITING:
        return Progress.MOVING
    is_recorded = facts.nvidia_state == NodePhase.UPGRADE_DONE.value
    if is_recorded and runs(facts, version) and facts.validator is not None and facts.validator.is_ready:
        return Progress.DONE
    return Progress.SKIPPED if is_left_out(facts) else Progress.AWAY


def is_left_out(facts: NodeFacts) -> bool:
    """Whether a person marked the node skip; a label of ours that keeps it out until its wave is another matter."""
    return facts.is_skipped and not facts.skipped_by


def for_people(how: Progress, facts: NodeFacts) -> Progress:
    """The same for people: a node that failed, and that a person has left out since, counts as left out."""
    return Progress.SKIPPED if how is Progress.FAILED and is_left_out(facts) else how


def is_label_left_over(facts: NodeFacts, rollout: str, others: Iterable[str]) -> bool:
    """Whether the skip label is that of an earlier rollout: another one has the turn, so nothing would take it off."""
    return facts.is_skipped and facts.skipped_by not in ("", rollout, *others)


def is_out_of_reach(node: NodeSeen, how: Progress) -> bool:
    """Whether a person left the node out and nothing moves there that would come to an end by itself."""
    facts = node.facts
    is_alive = facts.is_ready and facts.driver is not None and facts.driver.is_ready
    return is_left_out(facts) and (how is not Progress.MOVING or not is_alive)


def runs(facts: NodeFacts, version: str) -> bool:
    """Whether the node's driver is Ready, of this version, and of the revision its DaemonSet wants."""
    return facts.driver is not None and facts.driver.is_ready and facts.is_in_sync and wants(facts, version)


def wants(facts: NodeFacts, version: str) -> bool:
    """Whether the node's DaemonSet carries this version."""
    driver, others = parts_of(version)
    if driver and (facts.wanted is None or not is_same(facts.wanted.version, driver)):
        return False
    return all(is_same_part(name, each.version, text) for name, text, each in _wished(facts, others))


def carries(facts: NodeFacts, version: str) -> bool:
    """Whether the pods that run on a node are of this version, whatever is wanted there by now."""
    driver, others = parts_of(version)
    if driver and (facts.driver is None or not is_same(facts.driver.version, driver)):
        return False
    pods = ((text, name, each.pod) for name, text, each in _wished(facts, others))
    return all(pod is not None and is_same_part(name, pod.version, text) for text, name, pod in pods)


def ahead(facts: NodeFacts, version: str, before: str) -> tuple[str, ...]:
    """What runs on a node of a version already and was of another before: the driver, and components by their key."""
    driver, others = parts_of(version)
    old, parts = parts_of(before)
    known, found = dict(parts), []
    is_new = facts.is_driver_in_sync and facts.wanted is not None and is_same(facts.wanted.version, driver)
    if is_new and not is_same(old, driver):
        found.append(f"driver {driver}")
    for name, text in others:
        pods = [each.pod for each in _of(facts, name, others) if each.pod is not None and not each.is_old]
        if any(is_same_part(name, pod.version, text) for pod in pods) and not is_same_part(
            name, known.get(name, ""), text
        ):
            found.append(f"{name} {text}")
    return tuple(found)


def running(facts: NodeFacts, version: str) -> str:
    """What runs on a node of all that a version names; empty where that cannot be told."""
    driver, others = parts_of(version)
    if driver and (facts.driver is None or not facts.driver.version):
        return ""
    found: list[tuple[Component, str]] = []
    for name, _ in others:
        texts = [each.pod.version for each in _of(facts, name, others) if each.pod is not None and each.pod.version]
        if not texts and name in CHARTS:
            continue  # nothing on the node tells of it
        if not texts:
            return ""
        found.append((Component(name), texts[0]))
    return text_of(facts.driver.version if driver and facts.driver is not None else "", found)


def _wished(facts: NodeFacts, others: Parts) -> Iterator[tuple[str, str, OperandSeen]]:
    """Every component that a version names, with each operand of the node that is of it."""
    return ((name, text, each) for name, text in others for each in _of(facts, name, others))


def _of(facts: NodeFacts, component: str, others: Parts) -> list[OperandSeen]:
    """The operands of a node that are of a component.

    A release of the GPU Operator shows in the validator, which has its version unless the target names another for it;
    one whose image tells no version says nothing. Other operators have no pod that would show theirs.
    """
    if component in CHARTS and component not in ON_NODES:
        is_shown = component == Component.GPU_OPERATOR and Component.VALIDATOR not in dict(others)
        return [each for each in facts.operands if is_shown and each.operand is Operand.VALIDATOR and each.version]
    return [each for each in facts.operands if COMPONENTS.get(each.operand) == component]


def is_same(one: str, other: str) -> bool:
    """Whether two texts name the same versions; a driver that cannot be read is the same as nothing."""
    try:
        return _read(one) == _read(other)
    except versions.VersionInvalid:
        return False


def is_same_part(component: str, one: str, other: str) -> bool:
    """Whether two texts name the same version of a component; what cannot be read is the same as itself alone."""
    return bool(one) and bool(other) and _version(component, one) == _version(component, other)


def stands_for(version: str, driver: str, parts: Iterable[tuple[str, str]]) -> bool:
    """Whether an entry of a matrix is about a version: it names its driver, and nothing else of what goes with it."""
    wanted, others = parts_of(version)
    named = dict(parts)
    return is_same(driver, wanted) and all(is_same_part(name, named.get(name) or text, text) for name, text in others)


@lru_cache(maxsize=256)
def _version(component: str, text: str) -> versions.Version | str:
    try:
        return versions.parse(SCHEMES[Component(component)], text)
    except versions.VersionInvalid:
        return text


@lru_cache(maxsize=256)
def _read(text: str) -> tuple[versions.Version | None, frozenset[tuple[str, versions.Version | str]]]:
    driver, others = parts_of(text)
    # Who names nothing at all names no version; a resource may well name others, and no driver.
    read = versions.DriverVersion.parse(driver) if driver or not others else None
    return read, frozenset((name, _version(name, each)) for name, each in others)


def is_without_gpu(facts: NodeFacts) -> bool:
    """Whether nothing on a node tells of a GPU, or of a driver that is to come: none will, unless that changes."""
    is_told = any(facts.labels.get(label, "") not in ("", "false", "0") for label in GPU_LABELS)
    return facts.driver is None and not is_told and not any(count for _, count in facts.offer.resources)


def resource_of(facts: NodeFacts, operator: OperatorFacts) -> str:
    """The resource that says which driver a node runs; empty where it cannot be told."""
    return own_resource(facts) or common_resource(operator)


def own_resource(facts: NodeFacts) -> str:
    """The NVIDIADriver of a node; empty where it has none."""
    return f"NVIDIADriver/{facts.owner}" if facts.owner else ""


def common_resource(operator: OperatorFacts) -> str:
    """What says it for those that have no NVIDIADriver; empty where everybody should have one."""
    return "" if operator.pools else operator.kind or ANY


def is_policy(resource: str) -> bool:
    """Whether a resource is a ClusterPolicy, which says more than a driver."""
    return resource.startswith("ClusterPolicy/")


def is_network_policy(resource: str) -> bool:
    """Whether a resource is a NicClusterPolicy, which says a network driver and no other."""
    return resource.startswith("NicClusterPolicy/")


def resources_of(facts: NodeFacts, operator: OperatorFacts, version: str) -> tuple[str, ...]:
    """The resources that say what a node runs of all that a version names: its driver's, and its network driver's."""
    own = resource_of(facts, operator)
    is_named = any(name == Component.MOFED for name, _ in parts_of(version)[1])
    network = (operator.network.carrier.name,) if is_named and operator.network is not None else ()
    return (*([own] if own else []), *network)


def share_of(resource: str, version: str) -> str:
    """What of a version a resource carries: a NicClusterPolicy the network driver, any other all the rest."""
    driver, others = parts_of(version)
    is_network = is_network_policy(resource)
    mine = ((Component(name), text) for name, text in others if (name == Component.MOFED) is is_network)
    return text_of("" if is_network else driver, mine)


def joined(texts: Iterable[str]) -> str:
    """The shares of several resources as one version."""
    return _joined(tuple(texts))


@lru_cache(maxsize=256)
def _joined(texts: tuple[str, ...]) -> str:
    parts = [parts_of(text) for text in texts if text]
    driver = next((each for each, _ in parts if each), "")
    return text_of(driver, ((Component(name), text) for _, others in parts for name, text in others))


def way_back(facts: NodeFacts, operator: OperatorFacts, baseline: Iterable[tuple[str, str]], version: str) -> str:
    """What a node is to run again, by what its resources carried before; empty where none of them is on record.

    One that is not, beside one that is, carried its share of the version before: nothing of it has to go back.
    """
    known, mine = dict(baseline), resources_of(facts, operator, version)
    if not any(known.get(resource) for resource in mine):
        return ""
    return joined(known.get(resource) or share_of(resource, version) for resource in mine)


def back_to(baseline: Versions, operator: OperatorFacts, version: str) -> Versions:
    """What each resource carries after the way back: what it did before us, and theirs of what somebody wrote since."""
    return tuple((resource, _back_to(resource, before, operator, version)) for resource, before in baseline)


def _back_to(resource: str, before: str, operator: OperatorFacts, version: str) -> str:
    found = carried(resource, operator, before)
    if not found or is_same(found, before):
        return before
    (driver, others), (old, parts) = parts_of(found), parts_of(before)
    target, wished = parts_of(share_of(resource, version))
    olds, ours = dict(parts), dict(wished)
    left = (
        (Component(name), olds[name] if is_same_part(name, text, ours.get(name, "")) else text) for name, text in others
    )
    return text_of(old if is_same(driver, target) else driver, left)


def taken_over(baseline: Versions, operator: OperatorFacts, version: str) -> Versions:
    """The resources in which somebody wrote another version after us, each with what it carries after the way back."""
    back = back_to(baseline, operator, version)
    return tuple(each for each, (_, before) in zip(back, baseline, strict=True) if not is_same(each[1], before))


def carrier_of(resource: str, operator: OperatorFacts) -> Carrier:
    """What is seen of a resource that says which driver nodes run; one that says nothing where it is not there."""
    network = (operator.network.carrier,) if operator.network is not None else ()
    found = (carrier for carrier in (*operator.carriers, *network) if carrier.name == resource)
    return next(found, None) or Carrier(name=resource)


def carriers_for(operator: OperatorFacts, version: str) -> tuple[Carrier, ...]:
    """The resources that are written for a version: those of drivers, and the network driver's where it is named."""
    is_named = any(name == Component.MOFED for name, _ in parts_of(version)[1])
    return (*operator.carriers, *((operator.network.carrier,) if is_named and operator.network is not None else ()))


def carried(resource: str, operator: OperatorFacts, like: str = "") -> str:
    """What a resource carries of its share of a version, the driver first; empty where it does not say it all."""
    carrier = carrier_of(resource, operator)
    known = dict(carrier.parts)
    names = [name for name, _ in parts_of(share_of(resource, like))[1]] if like else []
    is_silent = not carrier.version and not (is_network_policy(resource) and names)
    if is_silent or any(not known.get(name) for name in names):
        return ""
    return text_of(carrier.version, ((Component(name), known[name]) for name in names))
