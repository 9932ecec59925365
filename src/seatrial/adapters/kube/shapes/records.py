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

from seatrial.adapters.kube.shapes import keys, models
from seatrial.core.actions.on_nodes import Cordon, Request, Uncordon, WriteNodeRecord
from seatrial.core.model.instants import Instant
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.marks import Place
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen, RecordFault, Taken
from seatrial.core.node.phases import ENDED
from seatrial.core.text import foreign
from seatrial.core.text.moments import dated, instant_of

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


class _Taken(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    why: str
    waiting_gpu_hours: float = 0.0
    evicting_gpu_hours: float = 0.0


class _Annotation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    schema: int
    phase: NodePhase
    attempt: int
    entered_at: str
    cordon: str = ""
    others_cordon: bool = False
    reason: str = ""
    trouble: str = ""
    failed_revision: str = ""
    failures: int = 0
    old_pod: str = ""
    failed_pod: str = ""  # schema 1
    requested: bool = False
    restart_only: bool = False
    network: bool = False
    saving: bool = False
    before: models.Offer | None = None
    closed_at: str = ""
    boot_id: str = ""
    lost_driver: bool = False
    reopened: int = 0
    paused: dict[str, str] = {}
    taken: _Taken | None = None
    returned_at: str = ""
    marks: dict[str, str] = {}
    marked_by: str = ""


_DECODER: Final = msgspec.json.Decoder(_Annotation)
_KNOWN: Final = frozenset(field.encode_name for field in msgspec.structs.fields(_Annotation))


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
    read = _DECODER.decode(annotation)
    if read.schema not in READ_SCHEMAS:
        raise ValueError(f"schema {read.schema} is none of those this release reads: 1 and {SCHEMA}")
    return NodeRecord(
        phase=read.phase,
        attempt=read.attempt,
        entered_at=instant_of(read.entered_at),
        is_cordon_ours=read.cordon == "ours",
        is_cordon_theirs=read.others_cordon,
        reason=foreign.line(read.reason),
        trouble=foreign.line(read.trouble),
        failed_revision=read.failed_revision,
        failures=read.failures,
        old_pod=read.failed_pod if read.schema == 1 else read.old_pod,
        is_requested=read.requested,
        is_restart_only=read.restart_only,
        moves_network=read.network,
        is_saving=read.saving,
        before=read_offer(read.before) if read.before is not None else None,
        closed_at=instant_of(read.closed_at) if read.closed_at else None,
        boot_id=read.boot_id,
        has_lost_driver=read.lost_driver,
        reopened_count=read.reopened,
        paused=tuple(read.paused.items()),
        taken=_read_taken(read.taken) if read.taken is not None else None,
        returned_at=instant_of(read.returned_at) if read.returned_at else None,
        marks=tuple((key, instant_of(at)) for key, at in read.marks.items()),
        marked_by=foreign.line(read.marked_by),
    )


def _read_taken(read: _Taken) -> Taken:
    return Taken(
        why=foreign.line(read.why),
        waiting_gpu_hours=read.waiting_gpu_hours,
        evicting_gpu_hours=read.evicting_gpu_hours,
    )


def read_offer(read: models.Offer) -> GpuOffer:
    return GpuOffer(
        resources=tuple(read.resources.items()),
        mig_config=read.mig_config,
        runtime_handlers=read.runtime_handlers,
        has_dra_plugin=read.dra_plugin,
        has_slices=read.slices,
    )


def annotation_of(record: NodeRecord, before: str = "") -> str:
    """The annotation's text, with the fields of the one before it that we do not know."""
    written = _Annotation(
        schema=SCHEMA,
        phase=record.phase,
        attempt=record.attempt,
        entered_at=text_of(record.entered_at),
        cordon="ours" if record.is_cordon_ours else "",
        others_cordon=record.is_cordon_theirs,
        reason=record.reason,
        trouble=record.trouble,
        failed_revision=record.failed_revision,
        failures=record.failures,
        old_pod=record.old_pod,
        requested=record.is_requested,
        restart_only=record.is_restart_only,
        network=record.moves_network,
        saving=record.is_saving,
        before=offer_of(record.before) if record.before is not None else None,
        closed_at=text_of(record.closed_at) if record.closed_at is not None else "",
        boot_id=record.boot_id,
        lost_driver=record.has_lost_driver,
        reopened=record.reopened_count,
        paused=dict(record.paused),
        taken=_taken_of(record.taken) if record.taken is not None else None,
        returned_at=text_of(record.returned_at) if record.returned_at is not None else "",
        marks={key: text_of(at) for key, at in record.marks},
        marked_by=record.marked_by,
    )
    return msgspec.json.encode(_unknown(before) | msgspec.to_builtins(written)).decode()


def _taken_of(taken: Taken) -> _Taken:
    return _Taken(why=taken.why, waiting_gpu_hours=taken.waiting_gpu_hours, evicting_gpu_hours=taken.evicting_gpu_hours)


def _unknown(annotation: str) -> dict[str, Any]:
    """What somebody else, a later release, has written into a record."""
    try:
        found = msgspec.json.decode(annotation) if annotation else {}
    except (msgspec.MsgspecError, RecursionError):
        return {}  # somebody asked for a new beginning; there is nothing to keep
    return {key: value for key, value in found.items() if key not in _KNOWN} if isinstance(found, dict) else {}


def offer_of(offer: GpuOffer) -> models.Offer:
    return models.Offer(
        resources=dict(offer.resources),
        mig_config=offer.mig_config,
        runtime_handlers=offer.runtime_handlers,
        dra_plugin=offer.has_dra_plugin,
        slices=offer.has_slices,
    )


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


# ── instants ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def text_of(instant: Instant) -> str:
    """Write RFC 3339 in UTC, to the millisecond."""
    return dated(instant).isoformat(timespec="milliseconds").replace("+00:00", "Z")
