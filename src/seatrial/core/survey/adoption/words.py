"""What is found on a node that somebody left half-way, in words.

Law of this file: it says what is there, and not what becomes of it. Tests: tests/core/survey/test_adopt.py
"""

from __future__ import annotations

from collections.abc import Iterator

from seatrial.core.model.seen.nodes import NodeFacts, NodeSeen, RecordFault
from seatrial.core.survey.adoption.cordons import whose_cordon
from seatrial.core.survey.adoption.traces import Traces, Whose, Wish
from seatrial.core.text.names import number_of


def found(node: NodeSeen, traces: Traces, wish: Wish) -> str:
    """How a node was found, in a few words."""
    return ", ".join(_found(node, traces, wish))


def _found(node: NodeSeen, traces: Traces, wish: Wish) -> Iterator[str]:
    facts = node.facts
    if node.record is not None:
        yield f"ours: {node.record.phase}"
    if node.fault is not None:
        yield "our record cannot be read" if node.fault is RecordFault.UNREADABLE else "our label was edited"
    if facts.nvidia_state and (node.record is None or wish.has_operator):
        yield f"NVIDIA's: {facts.nvidia_state}"
    if facts.is_cordoned:
        known = {Whose.OURS: "seatrial", Whose.NVIDIAS: "NVIDIA"}
        yield f"cordoned by {traces.cordoned_by or known.get(whose_cordon(node, traces, wish), 'somebody')}"
    if not facts.is_ready:
        yield "not Ready"
    yield _driver_found(facts)
    if facts.paused_labels:
        yield f"{len(facts.paused_labels)} deploy labels paused"
    if facts.is_skipped:
        yield f"skip label of {facts.skipped_by}" if facts.skipped_by else "skip label"
    if facts.canary_of:
        yield f"canary label of {facts.canary_of}"


def _driver_found(facts: NodeFacts) -> str:
    pod = facts.driver
    if pod is None:
        return "no driver pod"
    state = "leaving" if pod.is_terminating else "Ready" if pod.is_ready else "not Ready"
    restarts = f", {number_of(pod.restart_count, 'restart')}" if pod.restart_count and not pod.is_ready else ""
    orphaned = ", orphaned" if pod.is_orphaned else ""
    return f"driver {pod.version or 'without a version'} ({state}{restarts}{orphaned})"
