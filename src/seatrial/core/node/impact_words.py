"""What a step does to the workloads of one node, row by row, in the order in which it happens to them.

    Step ── Impact ── Row    who does what, in which state of the node, and what its users lose by it

Law of this file: a row says what is so by default, and a condition is spelled out in its words. The states are those
of the node machine, in its order; only a driver walks through them. Who acts is named as one finds it in a cluster,
since people look there. What is often told otherwise:

    - The upgrade controller cordons, evicts and uncordons; neither kubelet nor kube-controller-manager does.
    - The driver DaemonSet is always OnDelete: updateStrategy paces the other operands, never the driver.
    - The container runtime is restarted by the container toolkit, whenever that starts or stops. Running containers
      outlive it: each is held by a shim of its own.
    - DRA claims are prepared by the DRA kubelet plugin and not by the device plugin.

Tests: tests/core/node/test_plan_impact.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat.matrix import Component, Value
from seatrial.core.compat.plan.values import Step
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.operands import COMPONENTS, Operand
from seatrial.core.node import impact_network
from seatrial.core.node.impact_network import CONTROLLER
from seatrial.core.node.impact_rows import Loss, Row
from seatrial.core.node.visiting import RUNTIME_RESTARTED, VISITS, Takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What a step costs the users of each node it touches."""

    rows: tuple[Row, ...]
    loses: tuple[Loss, ...]
    """Everything lost on the way, each once, the worst first."""
    is_reboot: bool
    """Whether the node goes down; a NIC that is reset counts, since nobody can promise that this is enough."""
    is_one_way: bool


def impact_of(step: Step) -> Impact:
    """Tell what a step does to one node."""
    moving = frozenset(change.component for change in step.changes)
    rows = tuple(row for movers, tell in TABLE if moving & movers for row in tell(step))
    lost = {loss for row in rows for loss in row.loses}
    loses = tuple(loss for loss in Loss if loss in lost)
    return Impact(rows=rows, loses=loses, is_reboot=Loss.NODE in loses, is_one_way=step.is_one_way)


DRIVER: Final = "nvidia-driver-daemonset"
TOOLKIT: Final = "nvidia-container-toolkit"
DEVICE_PLUGIN: Final = "nvidia-device-plugin"
DRA_PLUGIN: Final = "DRA kubelet plugin"
VALIDATOR: Final = "nvidia-operator-validator"

OPERANDS: Final[Mapping[Operand, str]] = {
    Operand.TOOLKIT: TOOLKIT,
    Operand.DEVICE_PLUGIN: DEVICE_PLUGIN,
    Operand.DISCOVERY: "gpu-feature-discovery",
    Operand.EXPORTER: "nvidia-dcgm-exporter",
    Operand.MIG_MANAGER: "nvidia-mig-manager",
    Operand.VALIDATOR: VALIDATOR,
}
"""Operands that a step can name, as people find them in a cluster, in the order in which a visit restarts them."""

Tell: TypeAlias = Callable[[Step], Iterator[Row]]

# ── the driver ────────────────────────────────────────────────────────────────────────────────────────────────────────

DRIVER_ROWS: Final[Mapping[NodePhase, tuple[Row, ...]]] = {
    NodePhase.UPGRADE_REQUIRED: (
        Row(
            component=CONTROLLER,
            action="Makes the node wait for its turn (maxParallelUpgrades, maxUnavailable)",
            impact="None",
        ),
    ),
    NodePhase.CORDON_REQUIRED: (
        Row(
            component=CONTROLLER,
            action="Cordons the node",
            impact="No new pods",
            is_capacity_lost=True,
            loses=(Loss.NEW_PODS,),
        ),
    ),
    NodePhase.WAIT_FOR_JOBS_REQUIRED: (
        Row(
            component=CONTROLLER,
            action="Waits for the jobs that waitForCompletion names, if any",
            impact="Running pods keep running, and no new ones come",
            is_capacity_lost=True,
        ),
    ),
    NodePhase.POD_DELETION_REQUIRED: (
        Row(
            component=CONTROLLER,
            action="Evicts the GPU pods, as their PodDisruptionBudgets allow",
            impact="GPU pods leave, the others stay; a new version never takes the restart-only way",
            is_capacity_lost=True,
            loses=(Loss.GPU_PODS,),
        ),
    ),
    NodePhase.DRAIN_REQUIRED: (
        Row(
            component=CONTROLLER,
            action="Only if GPU pods did not leave and drain.enable is set: drains the node",
            impact="The other pods leave too, but those of DaemonSets",
            is_capacity_lost=True,
        ),
    ),
    NodePhase.NODE_MAINTENANCE_REQUIRED: (
        Row(
            component="maintenance operator",
            action="Only if it is asked to: cordons and drains the node instead of the controller",
            impact="As with a drain",
            is_capacity_lost=True,
        ),
    ),
    NodePhase.POD_RESTART_REQUIRED: (
        Row(
            component=CONTROLLER,
            action="Deletes the driver pod",
            impact="None directly",
            is_capacity_lost=True,
        ),
        Row(
            component="k8s-driver-manager",
            action="Stops toolkit, device plugin and exporters; unloads the kernel modules",
            impact="GPUs and their metrics are gone",
            is_capacity_lost=True,
            loses=(Loss.GPUS, Loss.METRICS),
        ),
        Row(
            component=DRIVER,
            action="Builds and loads the new kernel modules",
            impact="GPUs stay away for as long as it takes",
            is_capacity_lost=True,
        ),
    ),
    NodePhase.VALIDATION_REQUIRED: (
        Row(
            component=TOOLKIT,
            action="Starts again; restarts containerd or CRI-O, as it did when it stopped",
            impact=RUNTIME_RESTARTED,
            is_capacity_lost=True,
            loses=(Loss.CONTAINER_STARTS,),
        ),
        Row(
            component=DEVICE_PLUGIN,
            action="Starts again and registers the GPUs",
            impact="GPUs are counted again; the cordon still keeps pods away",
            is_capacity_lost=True,
        ),
        Row(
            component=DRA_PLUGIN,
            action="Must start after the new driver is Ready; left alone it keeps the old library",
            impact="DRA claims cannot be prepared until it has",
            is_capacity_lost=True,
            loses=(Loss.CLAIMS,),
        ),
        Row(
            component=VALIDATOR,
            action="Proves driver, toolkit, CUDA and plugin",
            impact="No new pods until it is Ready",
            is_capacity_lost=True,
        ),
    ),
    NodePhase.UNCORDON_REQUIRED: (
        Row(
            component=CONTROLLER,
            action="Uncordons, once validated, what it cordoned itself",
            impact="A cordon somebody else set stays",
            is_capacity_lost=True,
        ),
    ),
    NodePhase.UPGRADE_DONE: (
        Row(
            component=CONTROLLER,
            action="Hands the slot to the next node",
            impact="New pods come again; the evicted ones stay where they went",
        ),
    ),
    NodePhase.UPGRADE_FAILED: (
        Row(
            component=CONTROLLER,
            action="Only if a deadline passed or the driver keeps crashing: gives the node up, cordoned",
            impact="No new pods until it is fixed or retried; NVIDIA's own uncordons it once the driver pod is Ready",
            is_capacity_lost=True,
        ),
    ),
}
"""What happens in each state; the order is the enum's."""

_CLAIMS_UNSEEN: Final = Row(
    component=CONTROLLER,
    action="NVIDIA's own, before v26.7: does not see pods with DRA claims",
    impact="They hold the driver until somebody moves them away",
    is_capacity_lost=True,
)


def _driver(step: Step) -> Iterator[Row]:
    yield Row(
        component="ClusterPolicy, NVIDIADriver",
        action="Names the new version; the driver DaemonSet gets a new template",
        impact="None: it is OnDelete, so no driver pod moves on its own, whatever updateStrategy says",
    )
    for phase in NodePhase:
        told = DRIVER_ROWS.get(phase, ())
        if phase is NodePhase.POD_DELETION_REQUIRED and not _is_from(step.stack[Component.GPU_OPERATOR], CLAIMS_SEEN):
            told = (*told, _CLAIMS_UNSEEN)
        yield from (replace(row, phase=phase.value) for row in told)


# ── the GPU Operator and its operands ─────────────────────────────────────────────────────────────────────────────────

CLAIMS_SEEN: Final = (26, 7)
"""The first release line whose upgrade controller counts pods with DRA claims as GPU pods."""
RESTART_ONLY: Final = (26, 7)
"""The first that restarts a driver pod under its users, where the digest of its configuration stays the same."""
DIGEST_WRITTEN: Final = (26, 3)
"""The first that writes this digest into the driver pod."""


RELEASES: Final[Mapping[Component, tuple[str, str]]] = {
    Component.GPU_OPERATOR: (
        "its Deployment, its CRDs and NFD move at once, for the whole cluster",
        "What runs on nodes (driver, toolkit, device plugin and the like) gets a new template and waits for its visit",
    ),
    Component.NETWORK_OPERATOR: (
        "its Deployment and its CRDs move at once, for the whole cluster",
        "The network driver on nodes stays as the NicClusterPolicy says",
    ),
    Component.DRA_DRIVER: (
        "its controller and its CRDs move at once, for the whole cluster",
        "The plugins on nodes get a new template, and each waits for its visit",
    ),
}
"""What a release moves at once, and what becomes of that which runs on nodes; told before the start as well."""


def _gpu_operator(_step: Step) -> Iterator[Row]:
    yield Row(
        component="gpu-operator, its CRDs, NFD",
        action="Move at once; operands get new templates, on all nodes alike",
        impact="None directly; updateStrategy paces the operands below, and with OnDelete each waits for its visit",
    )


def _runtime(_step: Step) -> Iterator[Row]:
    yield Row(
        component="container runtime",
        action="Is replaced; restarts containerd or CRI-O",
        impact=RUNTIME_RESTARTED,
        loses=(Loss.CONTAINER_STARTS,),
    )


def _operand(operand: Operand) -> Tell:
    """The row of an operand, as the machine visits nodes for it."""
    visit = VISITS[operand]
    row = Row(
        component=OPERANDS[operand],
        action=visit.action,
        impact=visit.impact,
        is_capacity_lost=visit.takes is Takes.EVICTION,
        loses=visit.loses,
    )
    return lambda _step: iter((row,))


def _beside_the_driver(_step: Step) -> Iterator[Row]:
    impact = "As a change of the driver: no GPUs on the node until it is back"
    yield Row(
        component="driver pod",
        action="Is replaced: they run on the loaded driver",
        impact=impact,
        is_capacity_lost=True,
    )


def _plugins(_step: Step) -> Iterator[Row]:
    impact = "Running pods stay; new ones wait until it has"
    yield Row(
        component="its DaemonSet", action="Is replaced; publishes again", impact=impact, loses=(Loss.NEW_GPU_PODS,)
    )


def _dra_driver(_step: Step) -> Iterator[Row]:
    """The DRA driver of a chart of its own, as the machine visits nodes for it."""
    visit = VISITS[Operand.DRA_PLUGIN]
    yield Row(
        component="DRA driver",
        action="Its controller moves at once; the plugins get a new template",
        impact="None directly; with OnDelete each plugin waits for its visit, else all are replaced at once",
    )
    yield Row(component=DRA_PLUGIN, action=visit.action, impact=visit.impact, loses=visit.loses)


def _kept_driver(step: Step) -> Iterator[Row]:
    """The driver under an operator that moves: its template changes, although its version does not."""
    if any(change.component is Component.GPU_DRIVER for change in step.changes):
        return
    if step.stack[Component.GPU_DRIVER] is None:
        yield Row(
            component=DRIVER,
            action="Gets the operator's own version, since the matrix names none",
            impact="None while driver upgrades are held; then all that a step of the driver does",
        )
        return
    yield Row(
        component=DRIVER,
        action="Gets a new template of the same version; OnDelete, so its pods stay",
        impact=f"None while driver upgrades are held; then {_released(step)}",
    )


def _released(step: Step) -> str:
    before = next(change.before for change in step.changes if change.component is Component.GPU_OPERATOR)
    has_digest = _is_from(Value.read(Component.GPU_OPERATOR, before), DIGEST_WRITTEN)
    if has_digest and _is_from(step.stack[Component.GPU_OPERATOR], RESTART_ONLY):
        return "GPU pods run on if DRIVER_CONFIG_DIGEST stays equal, and are evicted if not"
    return "GPU pods are evicted, node by node"


def _is_from(value: Value | None, line: tuple[int, int]) -> bool:
    return value is not None and value.version is not None and tuple(value.version.rank[:2]) >= line


# ── platform ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _platform(step: Step) -> Iterator[Row]:
    is_openshift = step.stack[Component.OPENSHIFT] is not None
    if not {Component.OPENSHIFT, Component.KERNEL, Component.OS} & {change.component for change in step.changes}:
        yield from _kubernetes()
        return
    who = "machine-config-operator" if is_openshift else "administrator"
    yield Row(
        component=who,
        action="Cordons and drains the node",
        impact="No new pods; every pod leaves, but those of DaemonSets",
        is_capacity_lost=True,
        loses=(Loss.NEW_PODS, Loss.EVERY_POD),
    )
    yield Row(
        component=who,
        action="Reboots it into the new kernel",
        impact="The node is gone meanwhile, with its GPUs",
        is_capacity_lost=True,
        loses=(Loss.NODE, Loss.GPUS),
    )
    yield Row(
        component=who,
        action="Uncordons as soon as the node is Ready; it does not wait for the GPUs",
        impact="Pods without GPU come again; GPU pods stay Pending",
        is_capacity_lost=True,
    )
    yield from _drivers_after_boot(step)


def _kubernetes() -> Iterator[Row]:
    """Kubernetes alone: the node keeps its kernel, and so its drivers."""
    yield Row(
        component="administrator",
        action="Cordons and drains the node",
        impact="No new pods; every pod leaves, but those of DaemonSets",
        is_capacity_lost=True,
        loses=(Loss.NEW_PODS, Loss.EVERY_POD),
    )
    yield Row(
        component="administrator",
        action="Upgrades the kubelet and restarts it",
        impact="Pods of DaemonSets run on; drivers stay loaded: nothing is rebuilt, and nothing reboots",
        is_capacity_lost=True,
    )
    yield Row(component="administrator", action="Uncordons the node", impact="New pods come again")


def _drivers_after_boot(step: Step) -> Iterator[Row]:
    """A kernel needs drivers of its own; with nothing loaded there is nothing to evict, so no state is walked."""
    if step.stack[Component.MOFED] is not None or step.stack[Component.NETWORK_OPERATOR] is not None:
        yield Row(
            component="mofed",
            action="Builds and loads the network driver for the new kernel",
            impact="No RDMA until it has; a GPU driver that uses RDMA waits for it without limit",
            is_capacity_lost=True,
            loses=(Loss.RDMA,),
        )
    if step.stack[Component.GPU_DRIVER] is not None or step.stack[Component.GPU_OPERATOR] is not None:
        yield Row(
            component=DRIVER,
            action="Builds and loads the driver for the new kernel, outside the upgrade states",
            impact="No GPUs until it has",
            is_capacity_lost=True,
        )
        yield Row(component=DEVICE_PLUGIN, action="Registers the GPUs", impact="Pending GPU pods start")


# ── what lives in images ──────────────────────────────────────────────────────────────────────────────────────────────


def _images(_step: Step) -> Iterator[Row]:
    yield Row(
        component="workload images",
        action="Are rebuilt by their owners",
        impact="None on the node: each workload restarts when its owner rolls it out",
    )


# ── who brings which rows ─────────────────────────────────────────────────────────────────────────────────────────────

TABLE: Final[tuple[tuple[frozenset[Component], Tell], ...]] = (
    (frozenset({Component.OPENSHIFT, Component.KUBERNETES, Component.KERNEL, Component.OS}), _platform),
    (frozenset({Component.CONTAINERD, Component.CRI_O}), _runtime),
    # Operands roll before the driver does when an operator brings both.
    (frozenset({Component.GPU_OPERATOR}), _gpu_operator),
    *((frozenset({Component.GPU_OPERATOR, COMPONENTS[operand]}), _operand(operand)) for operand in OPERANDS),
    (frozenset({Component.GPU_OPERATOR}), _kept_driver),
    (frozenset({Component.GPU_DRIVER}), _driver),
    (frozenset({Component.GDS, Component.GDRCOPY, Component.FABRIC_MANAGER, Component.VGPU}), _beside_the_driver),
    (frozenset({Component.NFD}), _plugins),
    (frozenset({Component.DRA_DRIVER}), _dra_driver),
    (frozenset({Component.NETWORK_OPERATOR}), impact_network.network_operator),
    (frozenset({Component.MOFED}), impact_network.mofed),
    (
        frozenset({Component.FIRMWARE_CX7, Component.FIRMWARE_CX6, Component.FIRMWARE_CX8, Component.FIRMWARE_BF3}),
        impact_network.firmware,
    ),
    (frozenset({Component.SRIOV_OPERATOR}), impact_network.sriov),
    (frozenset({Component.CUDA, Component.NCCL, Component.CUDA_COMPAT}), _images),
)
"""Which components bring which rows, in the order in which a node meets them."""
