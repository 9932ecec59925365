"""Our records of nodes as Kubernetes keeps them: a label and an annotation. Text in, values out, and back.

The annotation is the record; the label shows its phase to people and is how they ask for a retry. A record carries a
schema number. Schema 2 is written; schema 1 (which called `oldPod` `failedPod` and had nothing that is new since) is
still read, so an upgrade of seatrial in the middle of a rollout loses nothing. The way back is closed: an older release
holds every node with a record of schema 2 until somebody decides. Within a schema a later release may add fields, and
what we do not know survives our writes.

Tests: tests/adapters/kube/test_records.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from seatrial.adapters.kube.shapes import forms, keys
from seatrial.core.actions.on_nodes import Cordon, Request, Uncordon, WriteNodeRecord
from seatrial.core.model.seen.marks import Place
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen, RecordFault
from seatrial.core.node.phases import ENDED
from seatrial.core.text import foreign

SCHEMA: Final = 2
READ_SCHEMAS: Final = (1, 2)

RETRIED: Final = ENDED
"""Phases after which the label upgrade-required, set by hand, asks for another attempt."""

ANNOTATIONS: Final[Mapping[Request, str]] = {
    Request.UPGRADE: keys.REQUESTED_ANNOTATION,
    Request.SAFE_LOAD: keys.SAFE_LOAD_ANNOTATION,
    Request.NETWORK_SAFE_LOAD: keys.NETWORK_SAFE_LOAD_ANNOTATION,
    Request.ACCEPT_LOSS: keys.ACCEPT_LOSS_ANNOTATION,
}
"""Under which annotation others ask; to answer is to take it away."""


_RECORD: Final = forms.record_of(NodeRecord)
_RENAMED: Final = {"failedPod": "oldPod"}
"""What schema 1 called by another name."""
_KNOWN: Final = frozenset({"schema", *_RENAMED, *_RECORD.parts})


def read_node(facts: NodeFacts, label: str, annotation: str) -> NodeSeen:
    """Join a node's facts with what we wrote on it, and say where the two notes contradict each other."""
    if not annotation:
        return _read_unrecorded(facts, label)
    try:
        record = _read_record(annotation)
    except (msgspec.MsgspecError, ValueError, RecursionError) as err:  # the last: it is nested too deep
        return NodeSeen(facts=facts, fault=RecordFault.UNREADABLE, fault_text=foreign.line(str(err)))
    if label == record.phase.value:
        return NodeSeen(facts=facts, record=record)
    if not label:
        return NodeSeen(facts=facts, record=record, is_label_lost=True)
    if label == NodePhase.UPGRADE_REQUIRED.value and record.phase in RETRIED:
        return NodeSeen(facts=facts, record=record, is_retry_asked=True)
    return NodeSeen(facts=facts, record=record, fault=RecordFault.EDITED, fault_text=foreign.line(label))


def _read_unrecorded(facts: NodeFacts, label: str) -> NodeSeen:
    if not label:
        return NodeSeen(facts=facts)
    return NodeSeen(facts=facts, fault=RecordFault.EDITED, fault_text=foreign.line(label))


def _read_record(annotation: str) -> NodeRecord:
    read = msgspec.json.decode(annotation, type=dict[str, Any])
    schema = read.get("schema")
    if schema not in READ_SCHEMAS:
        raise ValueError(f"schema {schema} is none of those this release reads: 1 and {SCHEMA}")
    if schema == 1:
        read = {_RENAMED.get(name, name): value for name, value in read.items()}
    record: NodeRecord = _RECORD.read(read)
    return record


def annotation_of(record: NodeRecord, before: str = "") -> str:
    """The annotation's text, with the fields of the one before it that we do not know."""
    return msgspec.json.encode(_unknown(before) | {"schema": SCHEMA} | _RECORD.write(record)).decode()


def _unknown(annotation: str) -> dict[str, Any]:
    """What somebody else, a later release, has written into a record."""
    try:
        found = msgspec.json.decode(annotation) if annotation else {}
    except (msgspec.MsgspecError, RecursionError):
        return {}  # somebody asked for a new beginning; there is nothing to keep
    return {key: value for key, value in found.items() if key not in _KNOWN} if isinstance(found, dict) else {}


def node_patch(
    action: WriteNodeRecord, *, mirror: bool, mirror_network: bool = False, before: str = ""
) -> dict[str, Any]:
    """The merge patch of a node, bound to what we saw; `before` is the annotation that was seen there.

    Label and annotation, deploy labels, requests that are answered (taken away), marks for neighbours, and with Cordon
    and Uncordon the cordon: all or nothing.
    """
    labels: dict[str, str | None] = {**dict(action.labels), keys.STATE_LABEL: action.record.phase.value}
    if mirror:
        labels[keys.NVIDIA_STATE_LABEL] = action.record.phase.value
    if action.record.moves_network:
        labels[keys.NETWORK_STATE_LABEL] = action.record.phase.value
    if action.record.moves_network and mirror_network:
        labels[keys.NVIDIA_NETWORK_STATE_LABEL] = action.record.phase.value
    annotations: dict[str, str | None] = {ANNOTATIONS[request]: None for request in action.answers}
    places = {Place.LABEL: labels, Place.ANNOTATION: annotations}
    for mark in action.marks:
        places[mark.place][mark.key] = mark.value
    for mark in action.lifted:
        places[mark.place][mark.key] = None
    annotations[keys.RECORD_ANNOTATION] = annotation_of(action.record, before)
    patch: dict[str, Any] = {
        "metadata": {"resourceVersion": action.expect, "labels": labels, "annotations": annotations}
    }
    if isinstance(action, Cordon):
        patch["spec"] = {"unschedulable": True}
    if isinstance(action, Uncordon):
        patch["spec"] = {"unschedulable": None}
    return patch
