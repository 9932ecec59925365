"""Our records as text and back: nothing is lost on the way, and a record that cannot be trusted says how."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.adapters.kube import keys, models, records
from seatrial.core.actions import Cordon, Uncordon, WriteNodeRecord
from seatrial.core.intent import Eviction, Intent, Limits, Share
from seatrial.core.snapshot import (
    Admission,
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

FACTS = NodeFacts(name="gpu-01", resource_version="7")
AT, AT_TEXT = 1767323045.25, "2026-01-02T03:04:05.250Z"

RECORDS = st.builds(
    NodeRecord,
    phase=st.sampled_from(NodePhase),
    attempt=st.integers(0, 10**6),
    # To the millisecond, which is how they are written.
    entered_at=st.integers(0, 4_000_000_000_000).map(lambda count: count / 1000),
    is_cordon_ours=st.booleans(),
    reason=st.text(),
    failed_revision=st.text(),
    failed_pod=st.text(),
)


def a_record(phase: NodePhase = NodePhase.POD_DELETION_REQUIRED, **changes: Any) -> NodeRecord:
    """A record of the second attempt."""
    fields: dict[str, Any] = {"attempt": 2, "entered_at": AT}
    return NodeRecord(phase=phase, **(fields | changes))


def annotated(**changes: Any) -> str:
    """An annotation, good but for what is given."""
    good = {"schema": 1, "phase": "upgrade-done", "attempt": 1, "enteredAt": AT_TEXT}
    return json.dumps(good | changes)


# ── a node's record ──────────────────────────────────────────────────────────────────────────────────────────────────


@given(RECORDS)
def test_a_record_written_and_read_again_is_the_same(record: NodeRecord) -> None:
    seen = records.read_node(FACTS, record.phase.value, records.annotation_of(record))
    assert seen == NodeSeen(facts=FACTS, record=record)


def test_an_annotation_says_only_what_is_not_obvious() -> None:
    assert json.loads(records.annotation_of(a_record())) == {
        "schema": 1,
        "phase": "pod-deletion-required",
        "attempt": 2,
        "enteredAt": AT_TEXT,
    }
    failed = a_record(
        NodePhase.UPGRADE_FAILED,
        is_cordon_ours=True,
        reason="driver-timeout",
        failed_revision="new",
        failed_pod="uid-1",
    )
    assert json.loads(records.annotation_of(failed)) == {
        "schema": 1,
        "phase": "upgrade-failed",
        "attempt": 2,
        "enteredAt": AT_TEXT,
        "cordon": "ours",
        "reason": "driver-timeout",
        "failedRevision": "new",
        "failedPod": "uid-1",
    }


def test_a_node_nobody_wrote_on_has_no_record() -> None:
    assert records.read_node(FACTS, "", "") == NodeSeen(facts=FACTS)


def test_a_label_without_its_record_was_set_by_somebody() -> None:
    seen = records.read_node(FACTS, "upgrade-done", "")
    assert seen == NodeSeen(facts=FACTS, fault=RecordFault.EDITED, fault_text="upgrade-done")


def test_a_lost_label_is_noticed_and_the_record_still_counts() -> None:
    record = a_record()
    seen = records.read_node(FACTS, "", records.annotation_of(record))
    assert seen == NodeSeen(facts=FACTS, record=record, is_label_lost=True)


def test_a_failed_node_set_to_upgrade_required_is_a_wish_to_retry() -> None:
    record = a_record(NodePhase.UPGRADE_FAILED)
    seen = records.read_node(FACTS, "upgrade-required", records.annotation_of(record))
    assert seen == NodeSeen(facts=FACTS, record=record, is_retry_asked=True)


@pytest.mark.parametrize(
    ("phase", "label"),
    [
        (NodePhase.POD_RESTART_REQUIRED, "upgrade-done"),
        (NodePhase.POD_RESTART_REQUIRED, "upgrade-required"),
        (NodePhase.UPGRADE_DONE, "upgrade-required"),
        (NodePhase.UPGRADE_FAILED, "upgrade-done"),
        (NodePhase.UPGRADE_DONE, "no such state"),
    ],
)
def test_any_other_label_is_an_edit_we_do_not_follow(phase: NodePhase, label: str) -> None:
    record = a_record(phase)
    seen = records.read_node(FACTS, label, records.annotation_of(record))
    assert seen == NodeSeen(facts=FACTS, record=record, fault=RecordFault.EDITED, fault_text=label)


@pytest.mark.parametrize(
    ("annotation", "named"),
    [
        ("{", "truncated"),
        ("[]", "object"),
        ("{}", "schema"),
        (annotated(schema=2), "schema 2 is not the schema 1"),
        (annotated(phase="resting"), "resting"),
        (annotated(attempt="one"), "attempt"),
        (annotated(enteredAt="yesterday"), "yesterday"),
        (annotated(enteredAt="2026-01-02T03:04:05"), "offset"),
    ],
)
def test_a_record_that_cannot_be_read_is_not_guessed_at(annotation: str, named: str) -> None:
    seen = records.read_node(FACTS, "upgrade-done", annotation)
    assert (seen.record, seen.fault) == (None, RecordFault.UNREADABLE)
    assert named in seen.fault_text


# ── writing to a node ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_record_is_written_with_its_label_and_bound_to_what_was_seen() -> None:
    record = a_record()
    action = WriteNodeRecord(node="gpu-01", record=record, expect="7")
    assert records.node_patch(action, mirror=False) == {
        "metadata": {
            "resourceVersion": "7",
            "labels": {keys.STATE_LABEL: "pod-deletion-required"},
            "annotations": {keys.RECORD_ANNOTATION: records.annotation_of(record)},
        }
    }


def test_without_an_operator_nvidias_label_says_the_same() -> None:
    patch = records.node_patch(WriteNodeRecord(node="gpu-01", record=a_record(), expect="7"), mirror=True)
    assert patch["metadata"]["labels"] == {
        "seatrial.dev/gpu-driver-upgrade-state": "pod-deletion-required",
        "nvidia.com/gpu-driver-upgrade-state": "pod-deletion-required",
    }


@pytest.mark.parametrize(
    ("kind", "spec"),
    [(WriteNodeRecord, None), (Cordon, {"unschedulable": True}), (Uncordon, {"unschedulable": None})],
)
def test_a_cordon_rides_in_the_same_patch(kind: type[WriteNodeRecord], spec: object) -> None:
    patch = records.node_patch(kind(node="gpu-01", record=a_record(), expect="7"), mirror=False)
    assert patch.get("spec") == spec


# ── the rollout ──────────────────────────────────────────────────────────────────────────────────────────────────────


def a_rollout(**fields: Any) -> models.Rollout:
    """A rollout as the API server stores it."""
    spec = {"target": {"driver": "580.105.08"}} | fields.pop("spec", {})
    return msgspec.convert(
        {"metadata": {"name": "spring", "resourceVersion": "40"}, "spec": spec, **fields}, models.Rollout
    )


def test_a_rollout_without_a_status_has_admitted_nobody() -> None:
    assert records.read_rollout(a_rollout()) == RolloutRecord(name="spring", resource_version="40")


def test_a_rollouts_status_written_and_read_again_is_the_same() -> None:
    record = RolloutRecord(
        name="spring",
        resource_version="40",
        admitted=(Admission(node="gpu-01", attempt=1), Admission(node="gpu-02", attempt=3)),
        summary=Summary(state="progressing", counts=(("upgrade-done", 2),), holds=(("skipped", 1),)),
        summarised_at=AT,
        rebuffs=(("pod-1", Rebuff(at=AT, count=2, code="blocked", detail="the budget needs every pod")),),
        attentive_since=AT,
    )
    patch = records.rollout_patch(record)
    assert patch == [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "40"},
        {
            "op": "add",
            "path": "/status",
            "value": {
                "state": "progressing",
                "admitted": [{"node": "gpu-01", "attempt": 1}, {"node": "gpu-02", "attempt": 3}],
                "counts": {"upgrade-done": 2},
                "holds": {"skipped": 1},
                "summarisedAt": AT_TEXT,
                "attentiveSince": AT_TEXT,
                "turnedDown": [
                    {
                        "subject": "pod-1",
                        "at": AT_TEXT,
                        "count": 2,
                        "code": "blocked",
                        "detail": "the budget needs every pod",
                    }
                ],
            },
        },
    ]
    assert records.read_rollout(a_rollout(status=patch[1]["value"])) == record


def test_a_summary_of_an_unreadable_time_is_due_again() -> None:
    assert records.read_rollout(a_rollout(status={"state": "done", "summarisedAt": "soon"})).summarised_at == 0.0


def test_a_rollouts_spec_is_the_intent() -> None:
    spec = {
        "limits": {"maxParallelUpgrades": 4, "maxUnavailable": "10%", "maxFailed": 2},
        "podDeletion": {"force": True, "deleteEmptyDir": True, "timeoutSeconds": 60},
        "driverTimeoutSeconds": 900,
        "validationTimeoutSeconds": 120,
        "paused": True,
    }
    assert records.read_intent(a_rollout(spec=spec)) == Intent(
        rollout="spring",
        target=DriverVersion.parse("580.105.08"),
        limits=Limits(parallel_max=4, unavailable_max=Share(amount=10, is_percent=True), failed_max=2),
        eviction=Eviction(force=True, delete_empty_dir=True, timeout_seconds=60),
        restart_timeout_seconds=900,
        validation_timeout_seconds=120,
        is_paused=True,
    )


def test_what_a_rollout_leaves_out_has_the_defaults_of_the_intent() -> None:
    assert records.read_intent(a_rollout()) == Intent(rollout="spring", target=DriverVersion.parse("580.105.08"))


@pytest.mark.parametrize(
    ("spec", "named"),
    [({"target": {"driver": "6.x TBD"}}, "6.x TBD"), ({"limits": {"maxUnavailable": "many"}}, "many")],
)
def test_a_rollout_that_cannot_be_meant_is_named(spec: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        records.read_intent(a_rollout(spec=spec))


# ── instants ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_instants_are_written_in_utc_to_the_millisecond() -> None:
    assert records.text_of(AT) == AT_TEXT
    assert records.instant_of(AT_TEXT) == AT
    assert records.instant_of("2026-01-02T03:04:05Z") == 1767323045.0
    assert records.instant_of("2026-01-02T04:04:05+01:00") == 1767323045.0
