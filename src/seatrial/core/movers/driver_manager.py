"""NVIDIA's k8s-driver-manager, as far as a publication concerns it: two switches in its environment.

It is the init container of every driver pod. Where NVIDIA's own controller is off, it cordons the node, evicts, and
uncordons it before the new driver is loaded, as if nobody else were at work there. Both switches "false" end that.
They stand in the same template as the version, so they are published with it, and taken back with it.

Law of this file: two names and what is said under them, per resource; every other entry is somebody else's. Tests:
tests/core/movers/test_driver_manager.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import Switch
from seatrial.core.model.known import OWNER, by
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import Carrier, OperatorFacts
from seatrial.core.node.progress import resource_of

EVICTION: Final = "ENABLE_GPU_POD_EVICTION"
DRAIN: Final = "ENABLE_AUTO_DRAIN"
SWITCHES: Final = (EVICTION, DRAIN)
OFF: Final = "false"


def standing(carrier: Carrier) -> tuple[Switch, ...]:
    """How the switches of a resource stand, each with None where nothing is said."""
    said = dict(carrier.switches)
    return tuple(Switch(resource=carrier.name, name=name, value=said.get(name)) for name in SWITCHES)


def off(resource: str) -> tuple[Switch, ...]:
    """The switches of a resource, both off."""
    return tuple(Switch(resource=resource, name=name, value=OFF) for name in SWITCHES)


def is_quiet(carrier: Carrier) -> bool:
    """Whether the driver manager of a resource leaves cordons and pods alone."""
    return standing(carrier) == off(carrier.name)


def loud(operator: OperatorFacts, resources: Iterable[str]) -> tuple[str, ...]:
    """Which of these resources have a driver manager that opens nodes before their driver is proven."""
    names = set(resources)
    return tuple(each.name for each in operator.carriers if each.name in names and not is_quiet(each))


def told_loud(operator: OperatorFacts, nodes: Mapping[str, NodeSeen], rollout: str) -> tuple[Hold, ...]:
    """That the driver managers of these nodes open them under us, and what to write where they are published."""
    if all(is_quiet(each) for each in operator.carriers):
        return ()  # so nobody needs to know whose nodes these are
    found = loud(operator, {resource_of(nodes[min(names)].facts, operator) for names in by(nodes, OWNER).values()})
    return tuple(hold(rollout, HoldCode.MANAGER_OPENS_NODES, resource=name, path=path_of(name)) for name in found[:1])


def path_of(resource: str) -> str:
    """Where the environment of the driver manager stands in a resource."""
    return "spec.driver.manager.env" if resource.startswith("ClusterPolicy/") else "spec.manager.env"
