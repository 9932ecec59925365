"""A node stays closed from the moment its driver is taken away until the next one is proven.

Law of this file: predicates, no steps. Before we delete a driver pod, whoever lifts a cordon is a person, and is left
alone (cordon-lost), unless the node has rebooted since: the old driver's k8s-driver-manager runs at every boot, and
uncordons. After it, k8s-driver-manager runs in the new pod and uncordons the node before the new driver is loaded, and
again whenever it fails; it never asks whose cordon it was. Nobody can see who opened a node, so from there to the proof
every opening is undone, be it a person's: who wants a failed node open says so with a skip label. Whose the cordon was
does not change by that: ours is lifted at the end, somebody else's stays.

Tests: tests/core/node/test_closing.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.pods import Pod, PodOwner
from seatrial.core.node import phases

_REPLACING: Final = frozenset(
    {NodePhase.POD_RESTART_REQUIRED, NodePhase.VALIDATION_REQUIRED, NodePhase.UNCORDON_REQUIRED}
)
"""Phases in which the pod on record is the one that had to go."""
_EMPTIED: Final = frozenset(
    {
        NodePhase.WAIT_FOR_JOBS_REQUIRED,
        NodePhase.POD_DELETION_REQUIRED,
        NodePhase.DRAIN_REQUIRED,
        NodePhase.POD_RESTART_REQUIRED,
    }
)
"""Phases in which a node is closed, and its driver may be there still."""


def has_lost_driver(node: NodeSeen) -> bool:
    """Whether the driver that a node ran is gone, or going, and none is proven since."""
    record = node.record
    if record is None or not (record.has_lost_driver or record.old_pod):
        return False  # nothing was taken from most nodes, and each of them is asked several times a pass
    if record.phase is NodePhase.UPGRADE_DONE:
        return False
    if record.has_lost_driver:
        return True
    driver = node.facts.driver
    is_gone = driver is None or driver.is_terminating or driver.uid != record.old_pod
    return is_gone and record.phase in _REPLACING


def is_between(node: NodeSeen) -> bool:
    """Whether something of a node was taken away and is not back yet: its driver, or an operand."""
    is_operand_away = any(not each.is_old and not each.is_up for each in node.facts.operands)
    return has_lost_driver(node) or is_operand_away


def _has_lost_network(node: NodeSeen) -> bool:
    """Whether the network driver was taken away in this attempt and is not back: its neighbours may open the node."""
    record, network = node.record, node.facts.network
    if record is None or network is None or not record.moves_network or record.phase not in _REPLACING:
        return False
    return not network.is_old and not network.is_up and record.closed_at is not None


def is_cordon_lifted(node: NodeSeen) -> bool:
    """Whether our record claims a cordon that was lifted since."""
    return node.record is not None and node.record.is_cordon_ours and not node.facts.is_cordoned


def is_opened(node: NodeSeen) -> bool:
    """Whether a node takes work on a driver that nobody has proven, and has to be closed again."""
    if node.facts.is_cordoned or not (has_lost_driver(node) or _has_lost_network(node)):
        return False
    # As everywhere: a skip label keeps nobody from being brought to an end who is under way.
    is_skipped = node.facts.is_skipped and not node.facts.skipped_by
    return not is_skipped or phases.is_under_way(node.record)


def is_surely_opened(node: NodeSeen) -> bool:
    """The same on a view that may be old or incomplete: there a driver pod that is not seen may well be there."""
    is_told = node.facts.driver is not None or (node.record is not None and node.record.has_lost_driver)
    return is_told and is_opened(node)


def is_opened_by_reboot(node: NodeSeen) -> bool:
    """Whether a node that is being emptied was opened by the driver manager of its old driver, which runs at each boot.

    Nothing was taken away yet, and jobs may have come: its visit begins anew.
    """
    record, facts = node.record, node.facts
    if record is None or record.phase not in _EMPTIED or facts.is_cordoned or is_between(node):
        return False
    return bool(record.boot_id and facts.boot_id) and record.boot_id != facts.boot_id


def closed_again(record: NodeRecord, now: Instant) -> NodeRecord:
    """The record of a node that is closed again: one more opening counted, and the cordon ours unless it was theirs."""
    return replace(
        record,
        closed_at=now,
        is_cordon_ours=not record.is_cordon_theirs,
        has_lost_driver=True,
        reopened_count=record.reopened_count + 1,
    )


def slipped_in(node: NodeSeen) -> tuple[Pod, ...]:
    """Users of the GPUs that came while the node was open; the driver was taken from nobody, so all are new.

    A restart under its users is another matter: those who were there cannot be told from those who came.
    """
    record = node.record
    if record is None or not record.reopened_count or record.is_restart_only or not has_lost_driver(node):
        return ()
    came = (pod for pod in node.facts.gpu_pods if pod.keeper not in (PodOwner.DAEMON_SET, PodOwner.KUBELET))
    return tuple(pod for pod in came if not pod.is_probe)
