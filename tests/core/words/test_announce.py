"""What people are told: NVIDIA's words to the letter, ours where it is silent, and nothing of what did not happen."""

from __future__ import annotations

import typing
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import AskToMerge, CloseRequest, MarkBad, Promote, Publish, RevertCommits
from seatrial.core.actions.of_campaigns import (
    EndProbe,
    MakePool,
    MarkNode,
    PausePool,
    RemovePool,
    SetAutoUpgrade,
    StartProbe,
)
from seatrial.core.actions.on_nodes import (
    AskCheckpoint,
    Cordon,
    EvictPods,
    NodeAct,
    PauseClients,
    ReleaseMaintenance,
    Request,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.actions.on_rollouts import GuardRollout, ReleaseRollout, WriteRolloutRecord
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import CampaignRecord, PublishStep, RolloutPhase, Switch, Turn, Via
from seatrial.core.model.gates.gate import PREPULL, Gate, GateResult, GateVerdict
from seatrial.core.model.policy import Policy
from seatrial.core.model.seen.marks import NEIGHBOURS
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.rollouts import Admission, RolloutRecord
from seatrial.core.node.phases import TRANSITIONS, FailureCode
from seatrial.core.words import acts as words
from seatrial.core.words import explain
from seatrial.core.words.announce import PHASE_REASON, About, Announcement, Tone, announce, announce_phase
from tests.builders import NEW, POLICY, a_campaign_record, a_gpu_pod

KEYS = {Request.UPGRADE: "asked", Request.SAFE_LOAD: "safe", Request.ACCEPT_LOSS: "loss"}
PATH = (
    NodePhase.UPGRADE_DONE,
    NodePhase.UPGRADE_REQUIRED,
    NodePhase.CORDON_REQUIRED,
    NodePhase.WAIT_FOR_JOBS_REQUIRED,
    NodePhase.POD_DELETION_REQUIRED,
    NodePhase.POD_RESTART_REQUIRED,
    NodePhase.VALIDATION_REQUIRED,
    NodePhase.UNCORDON_REQUIRED,
    NodePhase.UPGRADE_DONE,
)
EVICTION_FAILED = "Failed to delete workload pods on the node for the driver upgrade"
RESTART = RestartPod(node="n1", attempt=1, operand=Operand.DRIVER, namespace="gpu", pod="driver-n1", uid="u")


def a_node(phase: NodePhase | None = None, **changes: Any) -> NodeSeen:
    record = NodeRecord(phase=phase, attempt=1, entered_at=0.0) if phase else None
    return NodeSeen(facts=NodeFacts(name="n1"), record=record, **changes)


def opening(phase: NodePhase, kind: type[WriteNodeRecord] = WriteNodeRecord, **changes: Any) -> WriteNodeRecord:
    fields = {"attempt": 1, "entered_at": 1.0} | changes
    return kind(node="n1", record=NodeRecord(phase=phase, **fields), expect="7")


def told(before: NodeSeen | None, action: NodeAct, error: str = "", **options: Any) -> list[tuple[str, str]]:
    said = announce(before, action, error, annotations=KEYS, **options)
    assert all(each.about is About.NODE for each in said)
    return [(each.tone.value, each.text) for each in said]


def label(phase: NodePhase) -> tuple[str, str]:
    return "normal", f"Successfully updated node state label to {phase.value}"


# ── done ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_upgrade_without_trouble_is_nine_events() -> None:
    said = [
        each for left, opened in pairwise(PATH) for each in told(a_node(left), opening(opened), has_moved_pods=True)
    ]
    expected = [label(phase) for phase in PATH[1:]]
    expected.insert(5, ("normal", "Deleted workload pods on the node for the driver upgrade"))
    assert said == expected


@pytest.mark.parametrize("kind", [WriteNodeRecord, Cordon, Uncordon])
def test_the_state_is_told_whatever_rides_in_its_write(kind: type[WriteNodeRecord]) -> None:
    action = opening(NodePhase.CORDON_REQUIRED, kind)
    assert told(a_node(NodePhase.UPGRADE_REQUIRED), action) == [label(NodePhase.CORDON_REQUIRED)]


def test_a_state_is_told_where_nobody_remembers_the_one_before() -> None:
    action = opening(NodePhase.UPGRADE_REQUIRED)
    assert told(None, action) == [label(NodePhase.UPGRADE_REQUIRED)]
    assert told(a_node(), action) == [label(NodePhase.UPGRADE_REQUIRED)]


def test_where_no_pod_was_moved_none_is_said_to_be() -> None:
    action = opening(NodePhase.POD_RESTART_REQUIRED)
    assert told(a_node(NodePhase.POD_DELETION_REQUIRED), action) == [label(NodePhase.POD_RESTART_REQUIRED)]


@pytest.mark.parametrize("kind", [WriteNodeRecord, PauseClients])
def test_a_write_within_a_phase_changes_no_state_and_is_not_told(kind: type[WriteNodeRecord]) -> None:
    action = opening(NodePhase.POD_DELETION_REQUIRED, kind)
    assert told(a_node(NodePhase.POD_DELETION_REQUIRED), action, has_moved_pods=True) == []


@pytest.mark.parametrize("before", [{"is_label_lost": True}, {"is_retry_asked": True}])
def test_a_label_that_had_to_be_set_again_is_told(before: dict[str, bool]) -> None:
    action = opening(NodePhase.UPGRADE_REQUIRED)
    assert told(a_node(NodePhase.UPGRADE_REQUIRED, **before), action) == [label(NodePhase.UPGRADE_REQUIRED)]


def test_a_new_attempt_in_the_same_state_is_told() -> None:
    action = opening(NodePhase.UPGRADE_REQUIRED, attempt=2)
    assert told(a_node(NodePhase.UPGRADE_REQUIRED), action) == [label(NodePhase.UPGRADE_REQUIRED)]


@pytest.mark.parametrize(("count", "times"), [(1, ""), (3, " (3 times so far)")])
def test_a_node_that_is_closed_again_is_told_of(count: int, times: str) -> None:
    before = a_node(NodePhase.POD_RESTART_REQUIRED)
    again = opening(NodePhase.POD_RESTART_REQUIRED, Cordon, reopened_count=count)
    text = f"Cordoned the node again: it was uncordoned{times} before its new driver was validated"
    assert told(before, again) == [("warning", text)]


def test_each_answered_request_is_an_annotation_taken_away() -> None:
    action = replace(opening(NodePhase.UPGRADE_REQUIRED), answers=(Request.UPGRADE, Request.SAFE_LOAD))
    answers = [
        ("normal", "Successfully updated node annotation to asked=null"),
        ("normal", "Successfully updated node annotation to safe=null"),
    ]
    assert told(a_node(NodePhase.UPGRADE_DONE), action) == [label(NodePhase.UPGRADE_REQUIRED), *answers]
    assert told(a_node(NodePhase.UPGRADE_REQUIRED), action) == answers


def test_a_drain_is_told_when_it_begins_and_when_it_ends() -> None:
    assert told(a_node(NodePhase.POD_DELETION_REQUIRED), opening(NodePhase.DRAIN_REQUIRED)) == [
        label(NodePhase.DRAIN_REQUIRED),
        ("warning", "Pod deletion failed but drain is enabled in spec. Will attempt a node drain"),
        ("normal", "Scheduling drain of the node"),
    ]
    assert told(a_node(NodePhase.DRAIN_REQUIRED), opening(NodePhase.POD_RESTART_REQUIRED), has_moved_pods=True) == [
        label(NodePhase.POD_RESTART_REQUIRED),
        ("normal", "Successfully drained the node"),
    ]


@pytest.mark.parametrize(
    ("left", "reason", "text"),
    [
        (
            NodePhase.POD_DELETION_REQUIRED,
            FailureCode.EVICTION_TIMEOUT,
            f"{EVICTION_FAILED}, GPU pods did not leave in time; none was force-deleted",
        ),
        (
            NodePhase.DRAIN_REQUIRED,
            FailureCode.DRAIN_TIMEOUT,
            "Failed to drain the node, the node was not drained in time; no pod was force-deleted",
        ),
    ],
)
def test_who_would_not_leave_is_told_in_nvidias_words_too(left: NodePhase, reason: FailureCode, text: str) -> None:
    said = told(a_node(left), opening(NodePhase.UPGRADE_FAILED, reason=reason.value))
    assert said[:2] == [label(NodePhase.UPGRADE_FAILED), ("warning", text)]
    assert len(said) == 3


def test_a_node_that_is_given_up_is_told_with_the_reason_and_the_next_step() -> None:
    failing = opening(NodePhase.UPGRADE_FAILED, reason=FailureCode.DRIVER_TIMEOUT.value)
    why = "The upgrade of this node failed: the driver pod did not become Ready in time."
    next_step = explain.next_step(hold("n1", HoldCode.FAILED, why=FailureCode.DRIVER_TIMEOUT.value))
    assert "seatrial node retry n1" in next_step
    assert told(a_node(NodePhase.POD_RESTART_REQUIRED), failing) == [
        label(NodePhase.UPGRADE_FAILED),
        ("warning", f"{why} {next_step}"),
    ]
    assert told(a_node(NodePhase.UPGRADE_FAILED), failing) == []


def test_a_recognised_trouble_is_told_with_its_cure() -> None:
    failing = opening(NodePhase.UPGRADE_FAILED, reason=FailureCode.DRIVER_TIMEOUT.value, trouble="image-pull")
    plain = replace(failing, record=replace(failing.record, trouble=""))
    with_cure, without = (told(a_node(NodePhase.POD_RESTART_REQUIRED), each)[1][1] for each in (failing, plain))
    assert "did not become Ready in time; " in with_cure
    assert len(with_cure) > len(without)


@pytest.mark.parametrize("reason", FailureCode)
def test_every_failure_can_be_told_from_every_phase_it_ends(reason: FailureCode) -> None:
    failing = opening(NodePhase.UPGRADE_FAILED, reason=reason.value)
    for left, opened in TRANSITIONS.items():
        if NodePhase.UPGRADE_FAILED in opened:
            assert told(a_node(left), failing)[-1][0] == "warning"


# ── failed ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_state_that_could_not_be_written_is_told_with_the_error_and_nothing_else() -> None:
    action = replace(opening(NodePhase.DRAIN_REQUIRED), answers=(Request.UPGRADE,))
    assert told(a_node(NodePhase.POD_DELETION_REQUIRED), action, "no") == [
        ("warning", "Failed to update node state label to drain-required, no"),
        ("warning", "Failed to update node annotation asked=null: no"),
    ]


def test_an_answer_that_could_not_be_written_does_not_blame_the_state() -> None:
    action = replace(opening(NodePhase.POD_RESTART_REQUIRED), answers=(Request.SAFE_LOAD,))
    assert told(a_node(NodePhase.POD_RESTART_REQUIRED), action, "no") == [
        ("warning", "Failed to update node annotation safe=null: no")
    ]


def test_a_repair_that_could_not_be_written_is_told() -> None:
    action = opening(NodePhase.POD_RESTART_REQUIRED)
    assert told(a_node(NodePhase.POD_RESTART_REQUIRED), action, "no") == [
        ("warning", "Failed to update node state label to pod-restart-required, no")
    ]


def test_a_driver_pod_that_could_not_be_restarted_is_told_on_the_pod() -> None:
    assert announce(None, RESTART, "no", annotations=KEYS) == (
        Announcement(text="Failed to restart driver pod no", tone=Tone.WARNING, about=About.POD),
    )


POD = Pod(namespace="jobs", name="train-0", uid="uid-0")
OTHERS: list[tuple[NodeAct, str]] = [
    (EvictPods(node="n1", attempt=1, pods=(POD,)), f"{EVICTION_FAILED}, no"),
    (replace(RESTART, operand=Operand.VALIDATOR), "Failed to restart validator pod driver-n1, no"),
    (replace(RESTART, operand=Operand.DRA_PLUGIN), "Failed to restart dra-plugin pod driver-n1, no"),
    (
        AskCheckpoint(node="n1", attempt=1, pods=(POD,), token="t"),
        "Failed to ask pods on the node to save their work, no",
    ),
    (
        RequestMaintenance(node="n1", attempt=1, namespace="d", name="m", requestor="r", policy=Policy()),
        "Failed to request maintenance of the node, no",
    ),
    (
        ReleaseMaintenance(
            node="n1", attempt=1, namespace="d", name="m", requestor="r", uid="u", resource_version="1", is_ours=True
        ),
        "Failed to release the node from maintenance, no",
    ),
]


@pytest.mark.parametrize(("action", "text"), OTHERS)
def test_any_other_act_is_told_only_when_it_failed(action: NodeAct, text: str) -> None:
    assert told(None, action) == []
    assert told(None, action, "no") == [("warning", text)]


# ── campaigns ────────────────────────────────────────────────────────────────────────────────────────────────────────


def turned(record: CampaignRecord, phase: RolloutPhase, why: str = "", **changes: Any) -> CampaignRecord:
    turn = Turn(phase=phase, at=1000.0, why=why)
    return replace(record, phase=phase, history=(*record.history, turn), **changes)


def news(before: CampaignRecord | None, after: CampaignRecord) -> tuple[str, Tone]:
    (said,) = announce_phase(before, after)
    assert said.about is About.ROLLOUT
    return said.text, said.tone


BAKING = a_campaign_record(RolloutPhase.BAKING)
PAUSED = turned(BAKING, RolloutPhase.PAUSED, paused_in=RolloutPhase.BAKING)


@pytest.mark.parametrize(
    ("before", "after", "text", "tone"),
    [
        (None, a_campaign_record(), "Proposed: checking whether it can begin", Tone.NORMAL),
        (BAKING, turned(BAKING, RolloutPhase.WAVING), "Waving: n1 passed, and the fleet follows in waves", Tone.NORMAL),
        (BAKING, turned(BAKING, RolloutPhase.WAVING, "wave 2 of 5"), "Waving: wave 2 of 5", Tone.NORMAL),
        (BAKING, PAUSED, "Paused: while it was at Baking; every node keeps its place", Tone.NORMAL),
        (PAUSED, turned(PAUSED, RolloutPhase.BAKING), "Baking: resumed after a pause", Tone.NORMAL),
        (BAKING, turned(BAKING, RolloutPhase.CANARY, "canary n1 is gone"), "Canary: canary n1 is gone", Tone.WARNING),
        (BAKING, turned(BAKING, RolloutPhase.REVERTING, "Xid 79"), "Reverting: Xid 79", Tone.WARNING),
    ],
)
def test_a_turn_of_a_campaign_is_told(
    before: CampaignRecord | None, after: CampaignRecord, text: str, tone: Tone
) -> None:
    assert news(before, after) == (text, tone)


@pytest.mark.parametrize("phase", RolloutPhase)
def test_every_phase_has_words_of_its_own(phase: RolloutPhase) -> None:
    text, _ = news(None, turned(a_campaign_record(), phase))
    assert text.startswith(f"{phase}: ")
    assert not set("{}") & set(text)


def test_a_record_that_took_no_turn_is_not_told_of() -> None:
    assert announce_phase(BAKING, replace(BAKING, round=7)) == ()
    assert announce_phase(None, CampaignRecord()) == ()
    assert PHASE_REASON == "GPURolloutPhase"


RECORD = NodeRecord(phase=NodePhase.WAIT_FOR_JOBS_REQUIRED, entered_at=0.0, attempt=1)
AUTOSCALER, _, NVSENTINEL = NEIGHBOURS
KEY = AUTOSCALER.mark.key
PODS = (a_gpu_pod(0), a_gpu_pod(1))
ASK = AskCheckpoint(node="n1", attempt=1, pods=PODS, token="t")
REQUEST = RequestMaintenance(
    node="n1", attempt=1, namespace="ns", name="seatrial-n1", requestor="seatrial", policy=Policy()
)
RELEASE = ReleaseMaintenance(
    node="n1",
    attempt=1,
    namespace="ns",
    name="seatrial-n1",
    requestor="seatrial",
    uid="u",
    resource_version="9",
    is_ours=True,
)
LEDGER = RolloutRecord(name="spring", resource_version="1", admitted=(Admission(node="n1", attempt=1),))
GATES = (GateResult(gate="smoke", node="n1", round=1, verdict=GateVerdict.PASSED),)
CAMPAIGN = a_campaign_record(RolloutPhase.GATING, gates=GATES)
SMOKE = Gate(name="smoke", image="example.com/smoke:1", command=("all_reduce", "-b"))
END = EndProbe(rollout="spring", gate="smoke", node="n1", round=1, attempt=1, job="gates/gate-smoke")
PROBE = StartProbe(rollout="spring", gate=SMOKE, node="n1", round=1, attempt=1)
PUBLISH = Publish(rollout="spring", step=PublishStep.CANARY, versions=((POLICY, NEW.version),), via=Via.DIRECT)
QUIET = "driver manager DRAIN=false: otherwise it uncordons nodes before they are validated"
MARK = MarkNode(node="n1", rollout="spring", expect="7")

STATE_FAILED = "Failed to update node state label to wait-for-jobs-required, no"

LINES: list[tuple[Action, str]] = [
    (WriteNodeRecord(node="n1", record=RECORD, expect="7"), "node/n1: state wait-for-jobs-required"),
    (
        WriteNodeRecord(node="n1", record=replace(RECORD, attempt=2), expect="7", answers=(Request.ACCEPT_LOSS,)),
        "node/n1: state wait-for-jobs-required (attempt 2), accept-loss answered",
    ),
    (Cordon(node="n1", record=RECORD, expect="7"), "node/n1: cordon, state wait-for-jobs-required"),
    (Uncordon(node="n1", record=RECORD, expect="7"), "node/n1: uncordon, state wait-for-jobs-required"),
    (
        Cordon(node="n1", record=RECORD, expect="7", marks=(AUTOSCALER.mark,), lifted=(NVSENTINEL.mark,)),
        f"node/n1: cordon, state wait-for-jobs-required, annotation {KEY}=true, remove label {NVSENTINEL.mark.key}",
    ),
    (
        PauseClients(node="n1", record=RECORD, expect="7", labels=(("gpu.deploy.client", "paused"),)),
        "node/n1: state wait-for-jobs-required, label gpu.deploy.client=paused",
    ),
    (ASK, "pods of node/n1: ask to save their work: jobs/train-0, jobs/train-1"),
    (
        replace(ASK, webhook="http://saver"),
        "pods of node/n1: ask to save their work through http://saver: jobs/train-0, jobs/train-1",
    ),
    (EvictPods(node="n1", attempt=1, pods=PODS), "pods of node/n1: evict jobs/train-0, jobs/train-1"),
    (
        RestartPod(node="n1", attempt=1, operand=Operand.DRA_PLUGIN, namespace="ns", pod="dra", uid="u"),
        "pod/ns/dra: delete, so that its DaemonSet starts a new dra-plugin",
    ),
    (REQUEST, "nodemaintenance/seatrial-n1: ask the maintenance operator to drain node/n1"),
    (
        replace(REQUEST, joins="9"),
        "nodemaintenance/seatrial-n1: join the request to the maintenance operator to drain node/n1",
    ),
    (RELEASE, "nodemaintenance/seatrial-n1: tell the maintenance operator that node/n1 may return to service"),
    (WriteRolloutRecord(record=LEDGER), "gpurollout/spring status: its record, may be disrupted: n1"),
    (
        WriteRolloutRecord(record=replace(LEDGER, admitted=(Admission(node="n1", attempt=2),), campaign=CAMPAIGN)),
        "gpurollout/spring status: phase Gating, may be disrupted: n1 (attempt 2), gates: smoke on n1 passed",
    ),
    (
        GuardRollout(rollout="spring", expect="1"),
        "gpurollout/spring: add our finalizer, so that a delete waits for us",
    ),
    (ReleaseRollout(rollout="spring", expect="1"), "gpurollout/spring: remove our finalizer"),
    (
        replace(MARK, canary=True, skip=False),
        f"node/n1: label {keys.CANARY_LABEL}=spring, remove label {keys.SKIP_LABEL}",
    ),
    (replace(MARK, is_retry=True), f"node/n1: label {keys.NVIDIA_STATE_LABEL}=upgrade-required"),
    (replace(MARK, is_handed_over=True), f"node/n1: remove our name from label {keys.SKIP_LABEL}"),
    (PUBLISH, f"{POLICY}: {POLICY} driver version {NEW.version} (step canary)"),
    (
        replace(PUBLISH, via=Via.GIT, switches=(Switch(resource=POLICY, name="DRAIN", value="false"),)),
        f"git commit: {POLICY} driver version {NEW.version} (step canary), {QUIET}",
    ),
    (RevertCommits(rollout="spring", commits=("c2", "c1"), driver=NEW.version), "git commit: revert c2, c1"),
    (
        RevertCommits(rollout="spring", commits=("c1",), driver=NEW.version, on_delete=(POLICY,)),
        "git commit: revert c1; update strategy of DaemonSets stays OnDelete",
    ),
    (MarkBad(rollout="spring", driver=NEW.version, why="Xid 79"), "git commit: mark the entry as bad: Xid 79"),
    (
        Promote(rollout="spring", date="2026-10-01", tag_base="v2026-10-stable"),
        "git commit: promote the entry on 2026-10-01, tag v2026-10-stable",
    ),
    (AskToMerge(rollout="spring", step=PublishStep.FLEET), "pull request: ask for a merge of the step fleet"),
    (CloseRequest(rollout="spring", step=PublishStep.FLEET), "pull request: close the one for the step fleet"),
    (PROBE, "job for gate smoke: on node/n1, image example.com/smoke:1, 1 GPU, command all_reduce -b"),
    (
        replace(PROBE, by_claim=True),
        "job for gate smoke: on node/n1, image example.com/smoke:1, 1 GPU by a ResourceClaim, command all_reduce -b",
    ),
    (
        replace(PROBE, gang=("n1", "n2")),
        "job for gate smoke: on node/n1, node/n2 at once, image example.com/smoke:1, 1 GPU, command all_reduce -b",
    ),
    (replace(PROBE, gate=Gate(name=PREPULL, image="i")), "job to pull the image: on node/n1, image i"),
    (END, "job gates/gate-smoke: delete: gate smoke on node/n1 is not waited for any more"),
    (
        SetAutoUpgrade(rollout="spring", resource=POLICY, value=False),
        f"{POLICY}: driver.upgradePolicy.autoUpgrade false",
    ),
    (MakePool(rollout="spring", name="gpu"), "machineconfigpool/gpu: create, for the canary"),
    (PausePool(rollout="spring", name="worker", value=True, expect="5"), "machineconfigpool/worker: paused true"),
    (RemovePool(rollout="spring", name="gpu", expect="3"), "machineconfigpool/gpu: delete"),
]


@pytest.mark.parametrize(("act", "line"), LINES)
def test_an_act_says_what_it_writes_and_where(act: Action, line: str) -> None:
    assert words.told(act) == line


def test_every_kind_of_act_is_in_the_list_above() -> None:
    assert {type(act) for act, _ in LINES} == set(typing.get_args(Action))


FAILURES: list[tuple[NodeAct, str]] = [
    (WriteNodeRecord(node="n1", record=RECORD, expect="7"), STATE_FAILED),
    (Cordon(node="n1", record=RECORD, expect="7"), STATE_FAILED),
    (Uncordon(node="n1", record=RECORD, expect="7"), STATE_FAILED),
    (PauseClients(node="n1", record=RECORD, expect="7"), STATE_FAILED),
    (ASK, "Failed to ask pods on the node to save their work, no"),
    (
        EvictPods(node="n1", attempt=1, pods=PODS),
        "Failed to delete workload pods on the node for the driver upgrade, no",
    ),
    (
        RestartPod(node="n1", attempt=1, operand=Operand.DRIVER, namespace="ns", pod="driver", uid="u"),
        "Failed to restart driver pod no",
    ),
    (
        RestartPod(node="n1", attempt=1, operand=Operand.VALIDATOR, namespace="ns", pod="validator", uid="u"),
        "Failed to restart validator pod validator, no",
    ),
    (
        RestartPod(node="n1", attempt=1, operand=Operand.DRA_PLUGIN, namespace="ns", pod="dra", uid="u"),
        "Failed to restart dra-plugin pod dra, no",
    ),
    (REQUEST, "Failed to request maintenance of the node, no"),
    (RELEASE, "Failed to release the node from maintenance, no"),
]


@pytest.mark.parametrize(("act", "text"), FAILURES)
def test_an_act_on_a_node_that_failed_is_told_in_one_sentence(act: NodeAct, text: str) -> None:
    assert [each.text for each in announce(None, act, "no", annotations={})] == [text]


def test_every_kind_of_act_on_a_node_has_such_a_sentence() -> None:
    assert {type(act) for act, _ in FAILURES} == set(typing.get_args(NodeAct))


def test_a_switch_that_nobody_set_is_called_so() -> None:
    assert words.switched((Switch(resource=POLICY, name="DRAIN", value=None),)) == "DRAIN=(not set)"
