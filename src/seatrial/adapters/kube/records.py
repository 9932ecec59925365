"""Our records as Kubernetes keeps them: a node's label and annotation, a rollout's status. Text in, values out, back.

The annotation is the record; the label shows its phase to people and is how they ask for a retry. A record carries a
schema number. Schema 2 is written; schema 1 (which called `oldPod` `failedPod` and had nothing that is new since) is
still read, so an upgrade of seatrial in the middle of a rollout loses nothing. The way back is closed: an older release
holds every node with a record of schema 2 until somebody decides.

Tests: tests/adapters/kube/test_records.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import msgspec

from seatrial.adapters.kube import keys, models
from seatrial.core import intent as intents
from seatrial.core.actions import Cordon, Request, Uncordon, WriteNodeRecord
from seatrial.core.intent import Intent
from seatrial.core.policy import PolicyWish, Share
from seatrial.core.selectors import Selector
from seatrial.core.snapshot import (
    Admission,
    GpuOffer,
    Instant,
    NodeFacts,
    NodePhase,
    NodeRecord,
    NodeSeen,
    OperatorFacts,
    Rebuff,
    RecordFault,
    RolloutRecord,
    Summary,
)
from seatrial.core.versions import DriverVersion

T = TypeVar("T")

SCHEMA: Final = 2
READ_SCHEMAS: Final = (1, 2)

RETRIED: Final = frozenset({NodePhase.UPGRADE_FAILED, NodePhase.UPGRADE_DONE})
"""Phases after which the label upgrade-required, set by hand, asks for another attempt."""

ANNOTATIONS: Final[Mapping[Request, str]] = {
    Request.UPGRADE: keys.REQUESTED_ANNOTATION,
    Request.SAFE_LOAD: keys.SAFE_LOAD_ANNOTATION,
    Request.ACCEPT_LOSS: keys.ACCEPT_LOSS_ANNOTATION,
}
"""Under which annotation others ask; to answer is to take it away."""


class _Offer(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    resources: dict[str, int] = {}
    mig_config: str = ""
    runtime_handlers: tuple[str, ...] = ()
    dra_plugin: bool = False
    slices: bool = False


class _Annotation(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    schema: int
    phase: NodePhase
    attempt: int
    entered_at: str
    cordon: str = ""
    reason: str = ""
    trouble: str = ""
    failed_revision: str = ""
    failures: int = 0
    old_pod: str = ""
    failed_pod: str = ""  # schema 1
    requested: bool = False
    restart_only: bool = False
    saving: bool = False
    before: _Offer | None = None
    paused: dict[str, str] = {}


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
    if label == NodePhase.UPGRADE_REQUIRED.value and record.phase in RETRIED:
        return NodeSeen(facts=facts, record=record, is_retry_asked=True)
    return NodeSeen(facts=facts, record=record, fault=RecordFault.EDITED, fault_text=label)


def _read_unrecorded(facts: NodeFacts, label: str) -> NodeSeen:
    if not label:
        return NodeSeen(facts=facts)
    return NodeSeen(facts=facts, fault=RecordFault.EDITED, fault_text=label)


def _read_record(annotation: str) -> NodeRecord:
    read = _DECODER.decode(annotation)
    if read.schema not in READ_SCHEMAS:
        raise ValueError(f"schema {read.schema} is none of those this release reads: 1 and {SCHEMA}")
    return NodeRecord(
        phase=read.phase,
        attempt=read.attempt,
        entered_at=instant_of(read.entered_at),
        is_cordon_ours=read.cordon == "ours",
        reason=read.reason,
        trouble=read.trouble,
        failed_revision=read.failed_revision,
        failures=read.failures,
        old_pod=read.failed_pod if read.schema == 1 else read.old_pod,
        is_requested=read.requested,
        is_restart_only=read.restart_only,
        is_saving=read.saving,
        before=_read_offer(read.before) if read.before is not None else None,
        paused=tuple(read.paused.items()),
    )


def _read_offer(read: _Offer) -> GpuOffer:
    return GpuOffer(
        resources=tuple(read.resources.items()),
        mig_config=read.mig_config,
        runtime_handlers=read.runtime_handlers,
        has_dra_plugin=read.dra_plugin,
        has_slices=read.slices,
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
        trouble=record.trouble,
        failed_revision=record.failed_revision,
        failures=record.failures,
        old_pod=record.old_pod,
        requested=record.is_requested,
        restart_only=record.is_restart_only,
        saving=record.is_saving,
        before=_offer_of(record.before) if record.before is not None else None,
        paused=dict(record.paused),
    )
    return msgspec.json.encode(written).decode()


def _offer_of(offer: GpuOffer) -> _Offer:
    return _Offer(
        resources=dict(offer.resources),
        mig_config=offer.mig_config,
        runtime_handlers=offer.runtime_handlers,
        dra_plugin=offer.has_dra_plugin,
        slices=offer.has_slices,
    )


def node_patch(action: WriteNodeRecord, *, mirror: bool) -> dict[str, Any]:
    """The merge patch of a node, bound to what we saw.

    Label and annotation, deploy labels, requests that are answered (taken away), and with Cordon and Uncordon the
    cordon: all or nothing.
    """
    labels = {**dict(action.labels), keys.STATE_LABEL: action.record.phase.value}
    if mirror:
        labels[keys.NVIDIA_STATE_LABEL] = action.record.phase.value
    annotations: dict[str, str | None] = {ANNOTATIONS[request]: None for request in action.answers}
    annotations[keys.RECORD_ANNOTATION] = annotation_of(action.record)
    patch: dict[str, Any] = {
        "metadata": {"resourceVersion": action.expect, "labels": labels, "annotations": annotations}
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


# ── the wish ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_intent(rollout: models.Rollout, operator: OperatorFacts) -> Intent:
    """The rollout's spec as an intent, with the operator's policy where the spec is silent.

    What cannot be read (a version, a share, an order, a selector) is a ValueError that says where it stands.
    """
    spec = rollout.spec
    wish = _read_wish(spec)
    _check_selectors(wish, operator)
    policy, pools = intents.policies(wish, operator)
    bare = Intent(
        rollout=rollout.metadata.name, target=_at("spec.target.driver", DriverVersion.parse, spec.target.driver)
    )
    failed_max = spec.limits.max_failed if spec.limits is not None else None
    return replace(
        bare,
        policy=policy,
        pools=pools,
        failed_max=bare.failed_max if failed_max is None else failed_max,
        domains=tuple(_read_domain(number, domain) for number, domain in enumerate(spec.domains)),
        order=_read_order(spec.order),
        retries=intents.Retries(count_max=spec.retries.max, pause_seconds=spec.retries.pause_seconds),
        checkpoint=intents.Checkpoint(timeout_seconds=spec.checkpoint.timeout_seconds, webhook=spec.checkpoint.webhook),
        requestor=_read_requestor(spec.maintenance) if spec.maintenance is not None else None,
        restart_timeout_seconds=spec.driver_timeout_seconds,
        validation_timeout_seconds=spec.validation_timeout_seconds,
        is_paused=spec.paused,
    )


def _read_wish(spec: models.RolloutSpec) -> PolicyWish:
    limits = spec.limits or models.RolloutLimits()
    jobs = spec.wait_for_completion or models.WaitForCompletion()
    eviction = spec.pod_deletion or models.PodDeletion()
    drain = spec.drain or models.Drain()
    return PolicyWish(
        parallel_max=limits.max_parallel_upgrades,
        unavailable_max=_read_share("spec.limits.maxUnavailable", limits.max_unavailable),
        jobs_selector=jobs.pod_selector,
        jobs_timeout_seconds=jobs.timeout_seconds,
        eviction_force=eviction.force,
        eviction_delete_empty_dir=eviction.delete_empty_dir,
        eviction_timeout_seconds=eviction.timeout_seconds,
        drain_enable=drain.enable,
        drain_force=drain.force,
        drain_delete_empty_dir=drain.delete_empty_dir,
        drain_selector=drain.pod_selector,
        drain_timeout_seconds=drain.timeout_seconds,
    )


def _check_selectors(own: PolicyWish, operator: OperatorFacts) -> None:
    """Refuse a selector that counts and cannot be read; one that is overruled hurts nobody."""
    others = [(f"NVIDIADriver/{pool.name}", pool.policy) for pool in operator.pools]
    others = others or [(operator.kind, operator.policy)]
    for name, place in (("jobs_selector", "waitForCompletion"), ("drain_selector", "drain")):
        said: str | None = getattr(own, name)
        if said is not None:
            _at(f"spec.{place}.podSelector", Selector.parse, said)
            continue
        for owner, wish in others:
            _at(f"upgradePolicy.{place}.podSelector of {owner}", Selector.parse, getattr(wish, name) or "")


def _read_domain(number: int, domain: models.RolloutDomain) -> intents.Domain:
    share = _read_share(f"spec.domains[{number}].maxUnavailable", domain.max_unavailable)
    return intents.Domain(label=domain.label, unavailable_max=share, is_unit=domain.unit)


def _read_requestor(maintenance: models.RolloutMaintenance) -> intents.Requestor:
    return intents.Requestor(
        id=maintenance.requestor_id,
        namespace=maintenance.namespace,
        prefix=maintenance.prefix,
        timeout_seconds=maintenance.timeout_seconds,
    )


def _read_order(text: str) -> intents.Order:
    try:
        return intents.Order(text)
    except ValueError:
        raise ValueError(f"spec.order: {text!r} is none of {', '.join(intents.Order)}.") from None


def _read_share(place: str, said: int | str | None) -> Share | None:
    return None if said is None else _at(place, Share.parse, said)


def _at(place: str, read: Callable[[Any], T], said: object) -> T:
    """Read a text of the spec; a ValueError gets the place it stands at."""
    try:
        return read(said)
    except ValueError as err:
        raise ValueError(f"{place}: {err}") from err


# ── instants ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def instant_of(text: str) -> Instant:
    """Read RFC 3339; a time without its offset could be any hour, and is a ValueError."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"the time {text!r} lacks its offset, such as Z")
    return at.timestamp()


def text_of(instant: Instant) -> str:
    """Write RFC 3339 in UTC, to the millisecond."""
    return datetime.fromtimestamp(instant, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
