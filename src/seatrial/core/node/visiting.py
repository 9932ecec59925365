"""What a visit takes from the users of a node, by what has to be restarted there: one table for machine and impact.

    nothing     a restart, under everybody's feet: monitors, discovery, the validator
    a cordon    nobody new comes meanwhile: the toolkit, which restarts the runtime, the device and the DRA plugin
    eviction    whoever uses a GPU leaves first: the driver, and a daemon that its clients do not outlive
    a drain     everybody leaves first whom a drain takes: the network driver, for nobody can tell who uses the network

Law of this file: a row says what is so by default; whether people leave for a restart of the container runtime is the
rollout's own word. What is told of a restart (impact.py) and what the machine does (operating.py) is read off the same
rows. Tests: tests/core/node/test_visiting.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.operands import Operand, OperandSeen
from seatrial.core.node.impact_rows import Loss


class Takes(IntEnum):
    """What a restart takes; whoever takes more takes all that stands before it as well."""

    NOTHING = 0
    CORDON = 1
    EVICTION = 2
    DRAIN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What the restart of one operand means."""

    takes: Takes
    action: str
    impact: str
    loses: tuple[Loss, ...] = ()
    restarts_runtime: bool = False
    """Whether it restarts the container runtime where it is configured anew."""
    is_proven_by_validator: bool = False
    """Whether the validator's checks are about it: they run when its pod starts, so it has to start after this one."""


RUNTIME_RESTARTED: Final = "Containers keep running; none starts or stops meanwhile"

VISITS: Final[Mapping[Operand, Visit]] = {
    Operand.NETWORK_DRIVER: Visit(
        takes=Takes.DRAIN,
        action="Is replaced, before a GPU driver that moves as well; unloads and loads the network driver",
        impact="No RDMA; the NICs it drives are down meanwhile",
        loses=(Loss.NEW_PODS, Loss.EVERY_POD, Loss.RDMA),
    ),
    Operand.TOOLKIT: Visit(
        takes=Takes.CORDON,
        action="Is replaced under a cordon; restarts containerd or CRI-O",
        impact=RUNTIME_RESTARTED,
        loses=(Loss.NEW_PODS, Loss.CONTAINER_STARTS),
        restarts_runtime=True,
        is_proven_by_validator=True,
    ),
    Operand.DEVICE_PLUGIN: Visit(
        takes=Takes.CORDON,
        action="Is replaced under a cordon; registers the GPUs again",
        impact="Running GPU pods stay; new ones wait until it has",
        loses=(Loss.NEW_PODS, Loss.NEW_GPU_PODS),
        is_proven_by_validator=True,
    ),
    Operand.MPS: Visit(
        takes=Takes.EVICTION,
        action="Is replaced where GPUs are shared by MPS",
        impact="Pods that share a GPU by MPS lose their daemon, so GPU pods leave first",
        loses=(Loss.GPU_PODS, Loss.NEW_PODS),
    ),
    Operand.DISCOVERY: Visit(
        takes=Takes.NOTHING, action="Is replaced", impact="No pod is touched; GPU labels stand still meanwhile"
    ),
    Operand.DCGM: Visit(
        takes=Takes.NOTHING,
        action="Is replaced where it runs on its own",
        impact="No pod is touched; a gap in the GPU metrics",
    ),
    Operand.EXPORTER: Visit(
        takes=Takes.NOTHING,
        action="Is replaced",
        impact="No pod is touched; a gap in the GPU metrics",
        loses=(Loss.METRICS,),
    ),
    Operand.MIG_MANAGER: Visit(
        takes=Takes.NOTHING,
        action="Is replaced; leaves the MIG layout as it is",
        impact="No pod is touched, unless somebody asks for another layout",
    ),
    Operand.STATUS_EXPORTER: Visit(takes=Takes.NOTHING, action="Is replaced", impact="No pod is touched"),
    Operand.VALIDATOR: Visit(
        takes=Takes.NOTHING, action="Is replaced last; proves what runs now", impact="No pod is touched"
    ),
    Operand.DRA_PLUGIN: Visit(
        takes=Takes.CORDON,
        action="Is replaced under a cordon, once no pod with a claim is terminating; publishes the GPUs again",
        impact="Running pods keep their devices; claims are neither prepared nor given back meanwhile",
        loses=(Loss.NEW_PODS, Loss.CLAIMS),
    ),
}
"""By operand, in the order in which a visit restarts them; the driver has a machine of its own (impact.DRIVER_ROWS)."""


def takes_of(operand: Operand, *, is_configured_anew: bool, evicts_for_runtime: bool) -> Takes:
    """What the restart of an operand takes, by what changes with it and what the rollout says."""
    visit = VISITS[operand]
    is_runtime = visit.restarts_runtime and is_configured_anew
    return Takes.EVICTION if is_runtime and evicts_for_runtime else visit.takes


def takes_now(facts: NodeFacts, *, evicts_for_runtime: bool) -> Takes:
    """What the restart of the operands that are old takes from the users of a node."""
    return takes((each for each in facts.operands if each.is_old), evicts_for_runtime=evicts_for_runtime)


def takes(old: Iterable[OperandSeen], *, evicts_for_runtime: bool) -> Takes:
    """What the restart of all of these takes together."""
    each = (
        takes_of(one.operand, is_configured_anew=one.is_configured_anew, evicts_for_runtime=evicts_for_runtime)
        for one in old
    )
    return max(each, default=Takes.NOTHING)
