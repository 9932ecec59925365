"""Where a maintenance operator empties the nodes: it is asked for a node, waited for, and told when the node is done.

Law of this file: an object of ours is asked for and given back by its name; one that others want as well is shared, and
goes once all have left it. Tests: tests/core/node/test_node.py
"""

from __future__ import annotations

from seatrial.core.actions.on_nodes import ReleaseMaintenance, RequestMaintenance
from seatrial.core.holds import HoldCode
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import Maintenance, NodePhase, NodeSeen
from seatrial.core.node import clearing
from seatrial.core.node.phases import FailureCode
from seatrial.core.node.writing import NOTHING, Orders, Step, deadline_of, new_attempt, open_phase, record_of, wait


def ours(node: NodeSeen, orders: Orders) -> Maintenance | None:
    """The maintenance that we have asked for on a node; None where we have not."""
    requestor, found = orders.intent.requestor, node.facts.maintenance
    return found if requestor is not None and found is not None and found.is_wanted_by(requestor.id) else None


def step_emptying(node: NodeSeen, orders: Orders, now: Instant) -> Step:
    """Ask the maintenance operator to empty a node, and wait until it has."""
    requestor, record = orders.intent.requestor, record_of(node)
    if requestor is None:
        # The way was changed under a node that had not begun: it begins anew, on the other way.
        return new_attempt(node, orders, now)
    asked = ours(node, orders)
    deadline = deadline_of(record, orders, requestor.timeout_seconds)
    if asked is not None and asked.is_ready and not asked.is_deleting:
        return open_phase(node, NodePhase.POD_RESTART_REQUIRED, now)
    name = f"{requestor.prefix}-{node.name}"
    # Somebody else's object is joined where it has the name ours would have: that is how NVIDIA's operators share one.
    theirs = node.facts.maintenance
    is_shared = theirs is not None and (theirs.namespace, theirs.name) == (requestor.namespace, name)
    joined = theirs if is_shared else None
    if asked is None and (joined is None or not joined.is_deleting) and now < deadline:
        return Step(
            action=RequestMaintenance(
                node=node.name,
                attempt=record.attempt,
                namespace=requestor.namespace,
                name=name,
                requestor=requestor.id,
                policy=clearing.policy_of(node, orders),
                joins=joined.resource_version if joined else "",
            )
        )
    return wait(node, HoldCode.MAINTENANCE_PENDING, deadline, FailureCode.MAINTENANCE_TIMEOUT, now, name=name)


def release_asked(node: NodeSeen, orders: Orders) -> Step | None:
    """The step that tells the maintenance operator that we are through; None where it was not asked for anything."""
    asked = ours(node, orders)
    return release(node, orders, asked) if asked is not None and not asked.is_deleting else None


def release(node: NodeSeen, orders: Orders, found: Maintenance) -> Step:
    """The step that gives a maintenance of ours back; nothing where it goes already."""
    requestor = orders.intent.requestor
    if requestor is None or found.is_deleting:
        return NOTHING
    return Step(
        action=ReleaseMaintenance(
            node=node.name,
            attempt=record_of(node).attempt,
            namespace=found.namespace,
            name=found.name,
            requestor=requestor.id,
            uid=found.uid,
            resource_version=found.resource_version,
            is_ours=found.requestor == requestor.id,  # it goes for good once the others have left, too
            stay=tuple(other for other in found.others if other != requestor.id),
        )
    )
