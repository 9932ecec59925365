"""Our records as text and back: nothing is lost on the way, and a record that cannot be trusted says how."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.adapters.kube.shapes import forms, keys, records
from seatrial.core.actions.on_nodes import Cordon, PauseClients, Request, Uncordon, WriteNodeRecord
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen, RecordFault
from seatrial.core.text import foreign
from seatrial.core.text.moments import instant_of
from tests.scenarios.acts import RECORD

FACTS = NodeFacts(name="gpu-01", resource_version="7")
AT, AT_TEXT = 1767323045.25, "2026-01-02T03:04:05.250Z"

CLEAN = st.text().map(foreign.line)
"""What is shown of a record is clean when it is read, so what was clean is the same again."""

OFFERS = st.builds(
    GpuOffer,
    resources=st.dictionaries(st.text(), st.integers(0, 16)).map(lambda some: tuple(some.items())),
    mig_config=CLEAN,
    runtime_handlers=st.lists(CLEAN).map(tuple),
    has_dra_plugin=st.booleans(),
    has_slices=st.booleans(),
)
RECORDS = st.builds(
    NodeRecord,
    phase=st.sampled_from(NodePhase),
    attempt=st.integers(0, 10**6),
    # To the millisecond, which is how they are written.
    entered_at=st.integers(0, 4_000_000_000_000).map(lambda count: count / 1000),
    is_cordon_ours=st.booleans(),
    is_cordon_theirs=st.booleans(),
    reason=CLEAN,
    trouble=CLEAN,
    failed_revision=CLEAN,
    failures=st.integers(0, 100),
    old_pod=CLEAN,
    is_requested=st.booleans(),
    is_restart_only=st.booleans(),
    before=st.none() | OFFERS,
    closed_at=st.none() | st.integers(0, 4_000_000_000_000).map(lambda count: count / 1000),
    has_lost_driver=st.booleans(),
    reopened_count=st.integers(0, 100),
    paused=st.dictionaries(st.text(), CLEAN).map(lambda some: tuple(some.items())),
)


def a_record(phase: NodePhase = NodePhase.POD_DELETION_REQUIRED, **changes: Any) -> NodeRecord:
    """A record of the second attempt."""
    fields: dict[str, Any] = {"attempt": 2, "entered_at": AT}
    return NodeRecord(phase=phase, **(fields | changes))


def annotated(**changes: Any) -> str:
    """An annotation, good but for what is given."""
    good = {"schema": 2, "phase": "upgrade-done", "attempt": 1, "enteredAt": AT_TEXT}
    return json.dumps(good | changes)


# ── a node's record ──────────────────────────────────────────────────────────────────────────────────────────────────


@given(RECORDS)
def test_a_record_written_and_read_again_is_the_same(record: NodeRecord) -> None:
    seen = records.read_node(FACTS, record.phase.value, records.annotation_of(record))
    assert seen == NodeSeen(facts=FACTS, record=record)


def test_no_field_of_a_record_is_lost_in_the_annotation() -> None:
    """RECORD says something in every field there is, which tests/scenarios/test_acts.py holds."""
    assert records.read_node(FACTS, RECORD.phase.value, records.annotation_of(RECORD)).record == RECORD


def test_an_annotation_says_only_what_is_not_obvious() -> None:
    assert json.loads(records.annotation_of(a_record())) == {
        "schema": 2,
        "phase": "pod-deletion-required",
        "attempt": 2,
        "enteredAt": AT_TEXT,
    }
    failed = a_record(
        NodePhase.UPGRADE_FAILED,
        is_cordon_ours=True,
        reason="driver-timeout",
        trouble="image-pull",
        failed_revision="new",
        failures=2,
        old_pod="uid-1",
        is_requested=True,
        is_restart_only=True,
        before=GpuOffer(
            resources=(("nvidia.com/gpu", 8),),
            mig_config="all-1g.10gb",
            runtime_handlers=("nvidia",),
            has_dra_plugin=True,
            has_slices=True,
        ),
        paused=(("nvidia.com/gpu.deploy.client", "true"),),
    )
    assert json.loads(records.annotation_of(failed)) == {
        "schema": 2,
        "phase": "upgrade-failed",
        "attempt": 2,
        "enteredAt": AT_TEXT,
        "cordon": "ours",
        "reason": "driver-timeout",
        "trouble": "image-pull",
        "failedRevision": "new",
        "failures": 2,
        "oldPod": "uid-1",
        "requested": True,
        "restartOnly": True,
        "before": {
            "resources": {"nvidia.com/gpu": 8},
            "migConfig": "all-1g.10gb",
            "runtimeHandlers": ["nvidia"],
            "draPlugin": True,
            "slices": True,
        },
        "paused": {"nvidia.com/gpu.deploy.client": "true"},
    }


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ('{"schema":2,"phase":"upgrade-done","moon":{"is":"full"},"failures":3}', {"moon": {"is": "full"}}),
        ('{"schema":1,"failedPod":"driver-0"}', {}),
        ("[1, 2]", {}),
        ("{", {}),
        ("[" * 5000 + "]" * 5000, {}),
        ("", {}),
    ],
)
def test_what_a_later_release_wrote_into_a_record_survives_our_writes(before: str, kept: dict[str, Any]) -> None:
    record = a_record()
    assert json.loads(records.annotation_of(record, before)) == json.loads(records.annotation_of(record)) | kept


def test_a_record_of_the_release_before_is_still_read() -> None:
    old = {
        "schema": 1,
        "phase": "upgrade-failed",
        "attempt": 2,
        "enteredAt": AT_TEXT,
        "cordon": "ours",
        "reason": "driver-timeout",
        "failedRevision": "new",
        "failedPod": "uid-1",
    }
    assert records.read_node(FACTS, "upgrade-failed", json.dumps(old)).record == a_record(
        NodePhase.UPGRADE_FAILED,
        is_cordon_ours=True,
        reason="driver-timeout",
        failed_revision="new",
        old_pod="uid-1",
    )


def test_a_node_nobody_wrote_on_has_no_record() -> None:
    assert records.read_node(FACTS, "", "") == NodeSeen(facts=FACTS)


def test_a_label_without_its_record_was_set_by_somebody() -> None:
    seen = records.read_node(FACTS, "upgrade-done", "")
    assert seen == NodeSeen(facts=FACTS, fault=RecordFault.EDITED, fault_text="upgrade-done")


def test_a_lost_label_is_noticed_and_the_record_still_counts() -> None:
    record = a_record()
    seen = records.read_node(FACTS, "", records.annotation_of(record))
    assert seen == NodeSeen(facts=FACTS, record=record, is_label_lost=True)


@pytest.mark.parametrize("phase", [NodePhase.UPGRADE_FAILED, NodePhase.UPGRADE_DONE])
def test_an_ended_node_set_to_upgrade_required_is_a_wish_to_retry(phase: NodePhase) -> None:
    record = a_record(phase)
    seen = records.read_node(FACTS, "upgrade-required", records.annotation_of(record))
    assert seen == NodeSeen(facts=FACTS, record=record, is_retry_asked=True)


@pytest.mark.parametrize(
    ("phase", "label"),
    [
        (NodePhase.POD_RESTART_REQUIRED, "upgrade-done"),
        (NodePhase.POD_RESTART_REQUIRED, "upgrade-required"),
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
        ('{"x":' + "[" * 5000 + "]" * 5000 + "}", "recursion"),
        ("[]", "object"),
        ("{}", "schema"),
        (annotated(schema=3), "schema 3 is none of those this release reads: 1 and 2"),
        (annotated(phase="resting"), "resting"),
        (annotated(attempt="one"), "attempt"),
        (annotated(before=[]), "before"),
        (annotated(paused={"key": 1}), "paused"),
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


def test_deploy_labels_and_answers_ride_in_the_same_patch() -> None:
    action = PauseClients(
        node="gpu-01",
        record=a_record(),
        expect="7",
        labels=(("nvidia.com/gpu.deploy.client", "paused-for-driver-upgrade"),),
        answers=tuple(Request),
    )
    patch = records.node_patch(action, mirror=False)
    assert patch["metadata"]["labels"] == {
        "nvidia.com/gpu.deploy.client": "paused-for-driver-upgrade",
        keys.STATE_LABEL: "pod-deletion-required",
    }
    assert patch["metadata"]["annotations"] == {
        "nvidia.com/gpu-driver-upgrade-requested": None,
        "nvidia.com/gpu-driver-upgrade.driver-wait-for-safe-load": None,
        "nvidia.com/ofed-driver-upgrade.driver-wait-for-safe-load": None,
        "seatrial.dev/accept-loss": None,
        keys.RECORD_ANNOTATION: records.annotation_of(action.record),
    }
    assert "spec" not in patch


# ── instants ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_instants_are_written_in_utc_to_the_millisecond() -> None:
    assert forms.text_of(AT) == AT_TEXT
    assert instant_of(AT_TEXT) == AT
    assert instant_of("2026-01-02T03:04:05Z") == 1767323045.0
    assert instant_of("2026-01-02T04:04:05+01:00") == 1767323045.0
