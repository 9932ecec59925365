"""What becomes of our marks on a node when seatrial goes.

    no record of ours                                   our marks go
    done, or opened by somebody since it failed         our marks go, the record among them
    closed by us and not proven                         stays as it is, and is named: its record says why it is closed
    half-way, or with a record that cannot be read      stays as it is, and is named

Marks for neighbours go wherever a record says that they are ours: nobody would end them any more.

Law of this file: a node that nobody has proved stays closed, and keeps what a later seatrial needs to take it up again.

Tests: tests/core/survey/test_giving_back.py
"""

from __future__ import annotations

from shlex import quote

from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.node.phases import is_under_way


def why_kept(node: NodeSeen) -> str:
    """Why a node keeps our marks; empty when they go."""
    record = node.record
    if node.fault is not None:
        return f"its record cannot be trusted ({node.fault_text})" if node.fault_text else "its record was edited"
    if record is None:
        return ""
    if is_under_way(record):
        return f"it is half-way ({record.phase}); `seatrial rollout adopt` takes it up"
    if record.is_cordon_ours and node.facts.is_cordoned:
        failed = f": {record.reason}" if record.phase is NodePhase.UPGRADE_FAILED and record.reason else ""
        return (
            f"we cordoned it, and its driver is not validated{failed}; `kubectl uncordon {quote(node.name)}` opens it"
        )
    return ""
