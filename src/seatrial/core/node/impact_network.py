"""What a step of the network does to the workloads of one node: operators, network driver, firmware.

Law of this file: that of impact.py, which has the table these rows are part of.
Tests: tests/core/node/test_plan_impact.py
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from seatrial.core.compat.matrix import Component
from seatrial.core.compat.plan.values import Step
from seatrial.core.model.seen.operands import Operand
from seatrial.core.node.impact_rows import Loss, Row
from seatrial.core.node.visiting import VISITS

CONTROLLER: Final = "upgrade controller"


def network_operator(step: Step) -> Iterator[Row]:
    """The Network Operator itself."""
    yield Row(
        component="network-operator",
        action="Restarts; replaces its CNI plugins and device plugins",
        impact="Running pods stay; new ones with RDMA or VFs wait until these are back",
        loses=(Loss.NEW_RDMA_PODS,),
    )
    if not any(change.component is Component.MOFED for change in step.changes):
        yield Row(
            component="mofed",
            action="Stays as long as its version does",
            impact="None: no pod is evicted",
        )


def mofed(step: Step) -> Iterator[Row]:
    """The network driver is loaded anew, as the machine visits nodes for it."""
    visit = VISITS[Operand.NETWORK_DRIVER]
    yield Row(
        component="NicClusterPolicy",
        action="Names the new version; the driver DaemonSets get a new template",
        impact="None: they are OnDelete, so no driver pod moves on its own",
    )
    yield Row(
        component=CONTROLLER,
        action="Cordons the node and drains it, or has the maintenance operator do so",
        impact="No new pods; every pod leaves that upgradePolicy.drain selects, but those of DaemonSets",
        is_capacity_lost=True,
        loses=(Loss.NEW_PODS, Loss.EVERY_POD),
    )
    yield Row(component="mofed", action=visit.action, impact=visit.impact, is_capacity_lost=True, loses=visit.loses)
    yield from _gpu_direct(step)
    yield Row(component=CONTROLLER, action="Uncordons the node", impact="New pods come again")


def _gpu_direct(step: Step) -> Iterator[Row]:
    """How GPUs reach the NICs: one way hangs on the network driver, the other does not."""
    if step.stack[Component.GPU_DRIVER] is None and step.stack[Component.GPU_OPERATOR] is None:
        return
    rdma = step.stack.hardware.rdma
    if rdma != "dmabuf":
        yield Row(
            component="nvidia-peermem",
            action=f"{'Is' if rdma else 'If it is used: is'} unloaded before the network driver and loaded again "
            "after it, by the driver pod's nvidia-peermem-ctr",
            impact="No GPUDirect RDMA until it is back; check `lsmod` for nvidia_peermem before the node gets work",
            is_capacity_lost=True,
        )
    if rdma != "peermem":
        yield Row(
            component="DMA-BUF",
            action=f"{'Needs' if rdma else 'If it is used: needs'} no module of its own",
            impact="GPUDirect RDMA works again as soon as the network driver is loaded",
            is_capacity_lost=True,
        )


def firmware(_step: Step) -> Iterator[Row]:
    """The NICs get another firmware."""
    yield Row(
        component="administrator",
        action="Writes the firmware to the NICs",
        impact="None: the old one runs until they are reset",
    )
    yield Row(
        component="administrator",
        action="Cordons and drains the node",
        impact="No new pods; every pod leaves, but those of DaemonSets",
        is_capacity_lost=True,
        loses=(Loss.NEW_PODS, Loss.EVERY_POD),
    )
    yield Row(
        component="NIC",
        action="Is reset, or the node is rebooted",
        impact="No network and no RDMA; with a reboot no GPUs either",
        is_capacity_lost=True,
        loses=(Loss.RDMA, Loss.NODE),
    )
    yield Row(component="administrator", action="Uncordons the node", impact="New pods come again")


def sriov(_step: Step) -> Iterator[Row]:
    """The SR-IOV operator."""
    yield Row(
        component="sriov-network-operator",
        action="Restarts; replaces its device plugin and its config daemon",
        impact="Running pods stay; new ones with VFs wait until these are back",
        loses=(Loss.NEW_RDMA_PODS,),
    )
    yield Row(
        component="sriov-config-daemon",
        action="Compares the NICs with the SriovNetworkNodePolicies",
        impact="None if they agree, and no pod is evicted; otherwise it drains the node and may reboot it",
    )
