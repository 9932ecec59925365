"""A driver is taken away only on word of its node's pods that is newer than the node's closing.

Who closes a node and then sees nobody on it has seen nothing yet: the watch of pods may hang, and show the node as it
was while it still took work. A job that came in between would lose its driver. Word of any pod will do, since a watch
tells things in their order.

Law of this file: a predicate, no steps. What it cannot tell: a scheduler that has not heard of the cordon may still
bind a pod a moment later, as it may in every drain. Tests: tests/core/node/test_hearing.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from seatrial.core.actions.on_nodes import NodeAct, RestartPod
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeRecord, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.snapshot import PODS_STREAM, STALE_SECONDS, Snapshot
from seatrial.core.text import spans

PATIENCE_SECONDS_PER_NODE: Final = 0.001
"""How long word may take to come by itself before the pods are listed again: the larger the cluster, the dearer is the
list, and the sooner something happens anyway."""


def why_unheard(node: NodeSeen, action: NodeAct, seen: Snapshot, now: Instant) -> Hold | None:
    """Why a driver may not be taken away yet, though nobody is seen on its node; None where it may."""
    is_driver_taken = isinstance(action, RestartPod) and action.operand in (Operand.DRIVER, Operand.NETWORK_DRIVER)
    if not is_driver_taken or node.record is None or node.record.is_restart_only:
        return None  # the last is restarted under its users
    closed_at, heard_at = _closed_at(node.record, seen, now), _heard_at(seen)
    if heard_at is None or not is_unheard(node.record, seen, now):
        return None
    soon = closed_at + _patience_seconds(seen)
    return hold(
        node.name,
        HoldCode.PODS_UNHEARD,
        since=closed_at,
        until=soon if now < soon else heard_at + STALE_SECONDS,
        limit=spans.span(STALE_SECONDS),
    )


def waited_for(holds: Iterable[Hold], seen: Snapshot, now: Instant) -> frozenset[str]:
    """The streams to ask for word, since it does not come by itself."""
    held = (each.since for each in holds if each.code is HoldCode.PODS_UNHEARD)
    is_late = any(since is not None and now >= since + _patience_seconds(seen) for since in held)
    return frozenset({PODS_STREAM}) if is_late else frozenset()


def _patience_seconds(seen: Snapshot) -> float:
    return PATIENCE_SECONDS_PER_NODE * len(seen.nodes)


def is_unheard(record: NodeRecord, seen: Snapshot, now: Instant) -> bool:
    """Whether the last word of any pod is from before the node was closed."""
    heard_at = _heard_at(seen)
    return heard_at is not None and heard_at < _closed_at(record, seen, now)


def _closed_at(record: NodeRecord, seen: Snapshot, now: Instant) -> Instant:
    # Who does not say when the node was closed found it closed when this phase began.
    closed_at = record.entered_at if record.closed_at is None else record.closed_at
    # A time to come was written before the clock was put back, and we noticed that later than anybody wrote it.
    return seen.put_back_at if closed_at > now and seen.put_back_at is not None else closed_at


def _heard_at(seen: Snapshot) -> Instant | None:
    """When pods were last heard of; None where nobody says, as in a world that is always seen whole."""
    return min((stream.heard_at for stream in seen.freshness if stream.source == PODS_STREAM), default=None)
