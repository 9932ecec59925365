"""Everything together: every component of every GPU node, and what is there once for the cluster.

Law of this file: every component of the matrix has a reading on every node, or once for the cluster; none is left out.
Tests: tests/core/survey/test_audit_readings.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Protocol, TypeVar

from seatrial.core.base.values import dataclass
from seatrial.core.compat.facts import Facts
from seatrial.core.compat.matrix import COMPONENTS, Component
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.survey.audit import images, of_nodes, of_operands, of_operators
from seatrial.core.survey.audit.objects import Objects
from seatrial.core.survey.audit.of_operands import Around
from seatrial.core.survey.audit.readings import Reading, Readings, Seen
from seatrial.core.survey.sources import Source

ONCE: Final = (Component.OPENSHIFT, *of_operators.OPERATORS)
"""Components that a cluster has once."""
PER_NODE: Final = tuple(part for part in COMPONENTS if part not in ONCE)
UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Likeness:
    """What nodes have in common that may be compared without a matrix."""

    product: str
    system: str

    def __str__(self) -> str:
        return f"{self.product}, {self.system}"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStack:
    """One GPU node."""

    name: str
    like: Likeness
    readings: Readings
    around: Around

    @property
    def is_done(self) -> bool:
        """Whether its state says that its last upgrade is done, so that it waits for none."""
        node = self.around.node
        ours = node.our_state or (node.seen.record.phase.value if node.seen.record else "")
        return (ours or node.seen.facts.nvidia_state) == NodePhase.UPGRADE_DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The whole cluster."""

    nodes: tuple[NodeStack, ...]
    cluster: Readings
    objects: Objects

    @property
    def modules(self) -> str:
        """Which kernel modules are asked for; empty where that is not one answer, or the driver chooses."""
        asked = {each.modules for each in self.objects.driver_resources}
        is_sure = len(asked) == 1 and not self.objects.blind(Source.POLICIES, Source.DRIVERS)
        return min(asked) if is_sure and asked <= {"open", "proprietary"} else ""

    def reading(self, node: NodeStack, part: Component) -> Reading:
        return node.readings[part] if part in node.readings else self.cluster[part]

    def of(self, part: Component) -> Iterator[tuple[str, Reading]]:
        """The readings of a component by node; without a name where the cluster has it once."""
        if part in ONCE:
            yield "", self.cluster[part]
        else:
            yield from ((node.name, node.readings[part]) for node in self.nodes)


def observe(objects: Objects, facts: Facts) -> Observed:
    """Read everything that the objects show."""
    digests = images.digests_of(facts)
    pods, slices, nics = _by_node(objects.pods), _by_node(objects.slices), _by_node(objects.nics)
    stacks = []
    for node in sorted(objects.nodes, key=lambda each: each.name):
        around = Around(
            node=node,
            pods=tuple(pods[node.name]),
            slices=tuple(slices[node.name]),
            nics=tuple(nics[node.name]),
            objects=objects,
            digests=digests,
            brought=of_operands.brought_by(pods[node.name]),
        )
        if node.shows_gpu or around.slices or around.bringing(Component.GPU_DRIVER):
            stacks.append(_stack(around))
    cluster: dict[Component, Reading] = {Component.OPENSHIFT: of_operators.openshift(objects)}
    cluster |= {part: of_operators.operator(objects, part) for part in of_operators.OPERATORS}
    return Observed(nodes=tuple(stacks), cluster=cluster, objects=objects)


def _stack(around: Around) -> NodeStack:
    readings = {part: _reading(around, part) for part in PER_NODE}
    product = of_nodes.product(around.node, {text for each in around.slices for text in each.products})
    system = readings[Component.OS]
    like = Likeness(product=product or UNKNOWN, system=system.text if isinstance(system, Seen) else UNKNOWN)
    return NodeStack(name=around.node.name, like=like, readings=readings, around=around)


def _reading(around: Around, part: Component) -> Reading:
    """What an object shows; where none does, people's word."""
    shown = _shown(around, part)
    return shown if isinstance(shown, Seen) else of_nodes.told(around.node, part) or shown


def _shown(around: Around, part: Component) -> Reading:
    node = around.node
    match part:
        case Component.KERNEL:
            return of_nodes.kernel(node)
        case Component.KUBERNETES:
            return of_nodes.kubernetes(node)
        case Component.OS:
            return of_nodes.system(node)
        case Component.CONTAINERD | Component.CRI_O:
            return of_nodes.runtime(node, part)
        case Component.GPU_DRIVER:
            return of_operands.driver(around)
        case Component.DRA_DRIVER:
            return of_operands.dra_driver(around)
        case Component.MOFED:
            return of_operands.mofed(around)
        case _ if part in of_operands.FIRMWARE:
            return of_operands.firmware(around, part)
        case _ if part in of_nodes.BY_NATURE:
            return of_nodes.by_nature(part)
        case _:
            return of_operands.operand(around, part)


class _OnNode(Protocol):
    @property
    def node(self) -> str: ...


_T = TypeVar("_T", bound=_OnNode)


def _by_node(found: Iterable[_T]) -> Mapping[str, list[_T]]:
    grouped: dict[str, list[_T]] = defaultdict(list)
    for each in found:
        grouped[each.node].append(each)
    return grouped
