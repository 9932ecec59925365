"""What people are told: NVIDIA's words to the letter, ours where it is silent, and nothing of what did not happen."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

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
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase, Turn
from seatrial.core.model.policy import Policy
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import Pod
from seatrial.core.node.phases import TRANSITIONS, FailureCode
from seatrial.core.words import explain
from seatrial.core.words.announce import PHASE_REASON, About, Announcement, Tone, announce, announce_phase
from tests.builders import a_campaign_record

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
