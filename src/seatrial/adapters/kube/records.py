"""Our records as Kubernetes keeps them: a node's label and annotation, a rollout's status. Text in, values out, back.

The annotation is the record; the label shows its phase to people and is how they ask for a retry. A record carries a
schema number, so that a later release knows an older one when it meets it.

Tests: tests/adapters/kube/test_records.py
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from seatrial.adapters.kube import keys, models
from seatrial.core.actions import Cordon, Uncordon, WriteNodeRecord
from seatrial.core.intent import Eviction, Intent, Limits, Share
from seatrial.core.snapshot import (
    Admission,
    Instant,
    NodeFacts,
    NodePhase,
    NodeRecord,
    NodeSeen,
    Rebuff,
    RecordFault,
    RolloutRecord,
    Summary,
)
from seatrial.core.versions import DriverVersion

SCHEMA: Final = 1


class _Annotation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    schema: int
    phase: NodePhase
    attempt: int
    entered_at: str
    cordon: str = ""
    reason: str = ""
    failed_revision: str = ""
    failed_pod: str = ""


_DECODER: Final = msgspec.json.Decoder(_Annotation)


def read_node(facts: NodeFacts, label: str, annotation: str) -> NodeSeen:
    """Join a node's facts with what we wrote on it, and say where the two notes contradict each other."""
    if not annotation:
        return _read_unrecorded(facts, label)
    try:
        record = _read_record(annotation)
    except (msgspec.MsgspecError, ValueError) as err:
        return NodeSeen(facts=facts, fault=RecordFault.UNREADABLE, fault_text=str(err))
    if label == record.phase.value:
        return NodeSeen(facts=facts, record=record)
    if not label:
        return NodeSeen(facts=facts, record=record, is_label_lost=True)
    if label == NodePhase.UPGRADE_REQUIRED.value and record.phase is NodePhase.UPGRADE_FAILED:
        return NodeSeen(facts=facts, record=record, is_retry_asked=True)
    return NodeSeen(facts=facts, record=record, fault=RecordFault.EDITED, fault_text=label)


def _read_unrecorded(facts: NodeFacts, label: str) -> NodeSeen:
    if not label:
        return NodeSeen(facts=facts)
    return NodeSeen(facts=facts, fault=RecordFault.EDITED, fault_text=label)


def _read_record(annotation: str) -> NodeRecord:
    read = _DECODER.decode(annotation)
    if read.schema != SCHEMA:
        raise ValueError(f"schema {read.schema} is not the schema {SCHEMA} this release writes")
    return NodeRecord(
        phase=read.phase,
        attempt=read.attempt,
        entered_at=instant_of(read.entered_at),
        is_cordon_ours=read.cordon == "ours",
        reason=read.reason,
        failed_revision=read.failed_revision,
        failed_pod=read.failed_pod,
    )


def annotation_of(record: NodeRecord) -> str:
    """The annotation's text."""
    written = _Annotation(
        schema=SCHEMA,
        phase=record.phase,
        attempt=record.attempt,
        entered_at=text_of(record.entered_at),
        cordon="ours" if record.is_cordon_ours else "",
        reason=record.reason,
        failed_revision=record.failed_revision,
        failed_pod=record.failed_pod,
    )
    return msgspec.json.encode(written).decode()


def node_patch(action: WriteNodeRecord, *, mirror: bool) -> dict[str, Any]:
    """The merge patch of a node: label, annotation and, with Cordon and Uncordon, the cordon; bound to what we saw."""
    labels = {keys.STATE_LABEL: action.record.phase.value}
    if mirror:
        labels[keys.NVIDIA_STATE_LABEL] = action.record.phase.value
    patch: dict[str, Any] = {
        "metadata": {
            "resourceVersion": action.expect,
            "labels": labels,
            "annotations": {keys.RECORD_ANNOTATION: annotation_of(action.record)},
        }
    }
    if isinstance(action, Cordon):
        patch["spec"] = {"unschedulable": True}
    if isinstance(action, Uncordon):
        patch["spec"] = {"unschedulable": None}
    return patch


# ── the rollout ──────────────────────────────────────────────────────────────────────────────────────────────────────


def read_rollout(rollout: models.Rollout) -> RolloutRecord:
    """The rollout's status as a record."""
    status = rollout.status
    summary = Summary(
        state=status.state, counts=tuple(sorted(status.counts.items())), holds=tuple(sorted(status.holds.items()))
    )
    return RolloutRecord(
        name=rollout.metadata.name,
        resource_version=rollout.metadata.resource_version,
        admitted=tuple(sorted(Admission(node=entry.node, attempt=entry.attempt) for entry in status.admitted)),
        summary=summary if status.state else None,
        summarised_at=_instant_or_never(status.summarised_at),
        rebuffs=tuple((entry.subject, _read_rebuff(entry)) for entry in status.turned_down),
        attentive_since=_instant_or_never(status.attentive_since),
    )


def _read_rebuff(entry: models.TurnedDown) -> Rebuff:
    return Rebuff(at=_instant_or_never(entry.at), count=entry.count, code=entry.code, detail=entry.detail)


def _instant_or_never(text: str) -> Instant:
    try:
        return instant_of(text)
    except ValueError:
        return 0.0  # not written yet, or by somebody else


def rollout_patch(record: RolloutRecord) -> list[dict[str, Any]]:
    """The JSON patch of a rollout's status: replaced as a whole, and only at the version we looked at."""
    summary = record.summary or Summary(state="")
    status = {
        "state": summary.state,
        "admitted": [{"node": admission.node, "attempt": admission.attempt} for admission in record.admitted],
        "counts": dict(summary.counts),
        "holds": dict(summary.holds),
        "summarisedAt": text_of(record.summarised_at),
        "attentiveSince": text_of(record.attentive_since),
        "turnedDown": [
            {
                "subject": subject,
                "at": text_of(rebuff.at),
                "count": rebuff.count,
                "code": rebuff.code,
                "detail": rebuff.detail,
            }
            for subject, rebuff in record.rebuffs
        ],
    }
    return [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": record.resource_version},
        {"op": "add", "path": "/status", "value": status},
    ]


def read_intent(rollout: models.Rollout) -> Intent:
    """The rollout's spec as an intent; a version or a limit that cannot be read is a ValueError that says so."""
    spec = rollout.spec
    return Intent(
        rollout=rollout.metadata.name,
        target=DriverVersion.parse(spec.target.driver),
        limits=Limits(
            parallel_max=spec.limits.max_parallel_upgrades,
            unavailable_max=Share.parse(spec.limits.max_unavailable),
            failed_max=spec.limits.max_failed,
        ),
        eviction=Eviction(
            force=spec.pod_deletion.force,
            delete_empty_dir=spec.pod_deletion.delete_empty_dir,
            timeout_seconds=spec.pod_deletion.timeout_seconds,
        ),
        restart_timeout_seconds=spec.driver_timeout_seconds,
        validation_timeout_seconds=spec.validation_timeout_seconds,
        is_paused=spec.paused,
    )


def instant_of(text: str) -> Instant:
    """Read RFC 3339; a time without its offset could be any hour, and is a ValueError."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"the time {text!r} lacks its offset, such as Z")
    return at.timestamp()


def text_of(instant: Instant) -> str:
    """Write RFC 3339 in UTC, to the millisecond."""
    return datetime.fromtimestamp(instant, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
