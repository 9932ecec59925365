"""Our records as text and back: nothing is lost on the way, and a record that cannot be trusted says how."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.adapters.kube import keys, models, records
from seatrial.core.actions import Cordon, PauseClients, Request, Uncordon, WriteNodeRecord
from seatrial.core.intent import Checkpoint, Domain, Intent, Order, Requestor, Retries
from seatrial.core.owners import DriverClaim
from seatrial.core.policy import Drain, Eviction, JobWait, Limits, Policy, PolicyWish, Share
from seatrial.core.selectors import Selector, drain_selector
from seatrial.core.snapshot import (
    Admission,
    GpuOffer,
    NodeFacts,
    NodePhase,
    NodeRecord,
    NodeSeen,
    OperatorFacts,
    Pool,
    Rebuff,
    RecordFault,
    RolloutRecord,
    Summary,
)
from seatrial.core.versions import DriverVersion

FACTS = NodeFacts(name="gpu-01", resource_version="7")
AT, AT_TEXT = 1767323045.25, "2026-01-02T03:04:05.250Z"

OFFERS = st.builds(
    GpuOffer,
    resources=st.dictionaries(st.text(), st.integers(0, 16)).map(lambda some: tuple(some.items())),
    mig_config=st.text(),
    runtime_handlers=st.lists(st.text()).map(tuple),
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
    reason=st.text(),
    trouble=st.text(),
    failed_revision=st.text(),
    failures=st.integers(0, 100),
    old_pod=st.text(),
    is_requested=st.booleans(),
    is_restart_only=st.booleans(),
    before=st.none() | OFFERS,
    paused=st.dictionaries(st.text(), st.text()).map(lambda some: tuple(some.items())),
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
        "seatrial.dev/accept-loss": None,
        keys.RECORD_ANNOTATION: records.annotation_of(action.record),
    }
    assert "spec" not in patch


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


# ── the wish ─────────────────────────────────────────────────────────────────────────────────────────────────────────

NO_OPERATOR = OperatorFacts()


def test_a_rollouts_spec_is_the_intent() -> None:
    spec = {
        "limits": {"maxParallelUpgrades": 4, "maxUnavailable": "10%", "maxFailed": 2},
        "waitForCompletion": {"podSelector": "kind=job", "timeoutSeconds": 30},
        "podDeletion": {"force": True, "deleteEmptyDir": True, "timeoutSeconds": 60},
        "drain": {"enable": True, "podSelector": "tier!=db", "timeoutSeconds": 90, "force": True},
        "domains": [
            {"label": "rack", "maxUnavailable": 1},
            {"label": "nvidia.com/gpu.clique", "unit": True},
        ],
        "order": "idle-first",
        "retries": {"max": 2, "pauseSeconds": 10},
        "checkpoint": {"timeoutSeconds": 5, "webhook": "https://saver.example/save"},
        "maintenance": {"requestorID": "seatrial.dev", "namespace": "ops", "prefix": "gpu", "timeoutSeconds": 7},
        "driverTimeoutSeconds": 900,
        "validationTimeoutSeconds": 120,
        "paused": True,
    }
    assert records.read_intent(a_rollout(spec=spec), NO_OPERATOR) == Intent(
        rollout="spring",
        target=DriverVersion.parse("580.105.08"),
        policy=Policy(
            limits=Limits(parallel_max=4, unavailable_max=Share(amount=10, is_percent=True)),
            jobs=JobWait(selector=Selector.parse("kind=job"), timeout_seconds=30),
            eviction=Eviction(force=True, delete_empty_dir=True, timeout_seconds=60),
            drain=Drain(
                is_enabled=True,
                selector=drain_selector("tier!=db"),
                rules=Eviction(force=True, timeout_seconds=90),
            ),
        ),
        failed_max=2,
        domains=(
            Domain(label="rack", unavailable_max=Share(amount=1)),
            Domain(label="nvidia.com/gpu.clique", is_unit=True),
        ),
        order=Order.IDLE_FIRST,
        retries=Retries(count_max=2, pause_seconds=10),
        checkpoint=Checkpoint(timeout_seconds=5, webhook="https://saver.example/save"),
        requestor=Requestor(id="seatrial.dev", namespace="ops", prefix="gpu", timeout_seconds=7),
        restart_timeout_seconds=900,
        validation_timeout_seconds=120,
        is_paused=True,
    )


def test_what_a_rollout_leaves_out_has_the_defaults_of_the_intent() -> None:
    assert records.read_intent(a_rollout(), NO_OPERATOR) == Intent(
        rollout="spring", target=DriverVersion.parse("580.105.08")
    )


def test_where_a_rollout_is_silent_the_cluster_policy_speaks() -> None:
    operator = OperatorFacts(
        kind="ClusterPolicy/cluster-policy",
        policy=PolicyWish(parallel_max=8, eviction_force=True, drain_enable=True, drain_selector="a=b"),
    )
    spec = {"limits": {"maxParallelUpgrades": 2}, "podDeletion": {"timeoutSeconds": 5}}
    policy = records.read_intent(a_rollout(spec=spec), operator).policy
    assert policy.limits == Limits(parallel_max=2)
    assert policy.eviction == Eviction(force=True, timeout_seconds=5)
    assert (policy.drain.is_enabled, policy.drain.selector) == (True, drain_selector("a=b"))


def test_each_nvidia_driver_speaks_for_its_own_nodes() -> None:
    pools = (
        Pool(name="a", claim=DriverClaim(name="a"), policy=PolicyWish(parallel_max=3)),
        Pool(name="b", claim=DriverClaim(name="b"), policy=PolicyWish(eviction_force=True)),
    )
    intent = records.read_intent(a_rollout(spec={"podDeletion": {"timeoutSeconds": 5}}), OperatorFacts(pools=pools))
    assert intent.pools == {
        "a": Policy(limits=Limits(parallel_max=3), eviction=Eviction(timeout_seconds=5)),
        "b": Policy(eviction=Eviction(force=True, timeout_seconds=5)),
    }
    assert intent.limits.parallel_max == 0


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"target": {"driver": "6.x TBD"}}, "spec.target.driver: GPU driver '6.x TBD' is unreadable"),
        ({"limits": {"maxUnavailable": "many"}}, "spec.limits.maxUnavailable: maxUnavailable 'many' is neither"),
        ({"domains": [{"label": "rack", "maxUnavailable": "x"}]}, "spec.domains[0].maxUnavailable: maxUnavailable 'x'"),
        ({"order": "random"}, "spec.order: 'random' is none of name, idle-first, domain-by-domain, priority."),
        ({"drain": {"podSelector": "a in ("}}, "spec.drain.podSelector: label selector 'a in ('"),
        ({"waitForCompletion": {"podSelector": "="}}, "spec.waitForCompletion.podSelector: label selector '='"),
    ],
)
def test_a_rollout_that_cannot_be_meant_is_told_where(spec: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        records.read_intent(a_rollout(spec=spec), NO_OPERATOR)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("operator", "sentence"),
    [
        (
            OperatorFacts(kind="ClusterPolicy/gpu", policy=PolicyWish(drain_selector="a in (")),
            "upgradePolicy.drain.podSelector of ClusterPolicy/gpu: label selector 'a in ('",
        ),
        (
            OperatorFacts(pools=(Pool(name="a", claim=DriverClaim(name="a"), policy=PolicyWish(jobs_selector="=")),)),
            "upgradePolicy.waitForCompletion.podSelector of NVIDIADriver/a: label selector '='",
        ),
    ],
)
def test_a_selector_of_the_operator_is_told_where_unless_it_is_overruled(
    operator: OperatorFacts, sentence: str
) -> None:
    with pytest.raises(ValueError) as caught:
        records.read_intent(a_rollout(), operator)
    assert str(caught.value).startswith(sentence)
    own = {"drain": {"podSelector": "a=b"}, "waitForCompletion": {"podSelector": "c=d"}}
    assert records.read_intent(a_rollout(spec=own), operator).rollout == "spring"


# ── instants ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_instants_are_written_in_utc_to_the_millisecond() -> None:
    assert records.text_of(AT) == AT_TEXT
    assert records.instant_of(AT_TEXT) == AT
    assert records.instant_of("2026-01-02T03:04:05Z") == 1767323045.0
    assert records.instant_of("2026-01-02T04:04:05+01:00") == 1767323045.0
