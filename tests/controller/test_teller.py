"""From a pass and its outcomes to Events beside nodes and pods, as an API server gets them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import kinds, models
from seatrial.adapters.kube.writing.events import EventRecorder
from seatrial.bugs import Bug, Guard
from seatrial.controller import main
from seatrial.controller.teller import Teller
from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import EvictPods, PauseClients, RestartPod, WriteNodeRecord
from seatrial.core.actions.on_rollouts import ReleaseRollout, WriteRolloutRecord
from seatrial.core.decision.decide import Decision
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase, Turn
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.rollouts import RolloutRecord, Summary
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.target import Target
from seatrial.core.promises.breach import Breach
from seatrial.ports import Outcome, Result, Sight
from seatrial.run.loop import Report
from tests.adapters.kube import standin
from tests.adapters.kube.test_observe import Kinds, observing

WRITTEN = kinds.Node(metadata=models.ObjectMeta(name="n1", uid="uid-n1"))
EVICT = EvictPods(node="n1", attempt=1, pods=(Pod(namespace="jobs", name="train-0", uid="u0"),))
RESTART = RestartPod(node="n1", attempt=1, operand=Operand.DRIVER, namespace="gpu", pod="driver-n1", uid="uid-pod")
SPRING = RolloutRecord(name="spring")
DELETED = "Deleted workload pods on the node for the driver upgrade"


class Listener:
    """A teller whose Events end at a stand-in API server."""

    def __init__(self, server: standin.StandIn, recorder: EventRecorder) -> None:
        self._server = server
        self.recorder = recorder
        self.teller = Teller(recorder)

    async def heard(self) -> list[dict[str, Any]]:
        """The Events since the last question."""
        assert await self.recorder.drain(5)
        bodies = [json.loads(seen.body) for seen in self._server.seen]
        self._server.seen.clear()
        return bodies

    def do(
        self, action: Action, result: Result = Result.DONE, *, left: NodePhase | None = None, detail: str = ""
    ) -> None:
        """One act from its pass to its outcome."""
        self.teller.take(a_report(action, left=left))
        uid = "uid-n1" if isinstance(action, WriteNodeRecord) and result is Result.DONE else ""
        self.teller.tell(Outcome(action=action, result=result, detail=detail, uid=uid))


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async with standin.running() as server, Client(server.config(), user_agent="seatrial/test") as client:
        server.will(standin.gives({"metadata": {"name": "n1.abc"}}))
        async with EventRecorder(client, component="seatrial") as recorder:
            yield Listener(server, recorder)


def a_report(
    *actions: Action,
    left: NodePhase | None = None,
    breaches: tuple[Breach, ...] = (),
    rollout: RolloutRecord = SPRING,
) -> Report:
    record = NodeRecord(phase=left, attempt=1, entered_at=0.0) if left else None
    node = NodeSeen(facts=NodeFacts(name="n1"), record=record)
    seen = Snapshot(nodes={"n1": node}, rollout=rollout)
    intent = Intent(rollout="spring", target=Target.of("580.105.08"))
    sight, decision = Sight(seen=seen, intent=intent), Decision(actions=actions)
    return Report(at=0.0, sight=sight, decision=decision, breaches=breaches)


def turn(teller: Teller, before: RolloutRecord, after: RolloutRecord, result: Result = Result.DONE) -> RolloutRecord:
    """One write of a rollout, from its pass to its outcome; where the rollout stands then."""
    action = WriteRolloutRecord(record=after)
    teller.take(a_report(action, rollout=before))
    teller.tell(Outcome(action=action, result=result))
    return after if result is Result.DONE else before


def opening(phase: NodePhase, kind: type[WriteNodeRecord] = WriteNodeRecord) -> WriteNodeRecord:
    return kind(node="n1", record=NodeRecord(phase=phase, attempt=1, entered_at=1.0), expect="7")


def messages(events: list[dict[str, Any]]) -> list[str]:
    return [event["message"] for event in events]


async def test_a_rollout_that_nobody_can_read_is_told_of_once_beside_itself(listener: Listener) -> None:
    held = hold("autumn", HoldCode.ROLLOUT_UNREADABLE, why="spec.order: 'loudest' is none of name, priority.")
    report = replace(a_report(), decision=Decision(holds=(held,)))
    listener.teller.take(report)
    listener.teller.take(report)
    (event,) = await listener.heard()
    assert (event["reason"], event["type"], event["involvedObject"]["name"]) == (
        "RolloutUnreadable",
        "Warning",
        "autumn",
    )
    assert event["message"].startswith("this GPURollout cannot be read")


async def test_a_bug_in_a_decision_sets_the_rollout_aside_and_one_about_an_object_does_not(listener: Listener) -> None:
    async with observing(Kinds()) as observer:
        assert observer.observe() is not None
        tell = main._setting_aside(observer, listener.teller)
        tell(Bug(guard=Guard.PROJECTION, subject="pods team-a/x", why="ValueError: a date"))
        assert observer.observe() is not None
        tell(Bug(guard=Guard.DECISION, subject="spring", why="ZeroDivisionError"))
        assert observer.observe() is None
    assert [event["involvedObject"]["name"] for event in await listener.heard()] == ["spring", "spring"]


async def test_who_does_not_let_pods_go_is_told_once_for_as_long_as_it_lasts(listener: Listener) -> None:
    held = hold("n1", HoldCode.EVICTION_BLOCKED, why="PodDisruptionBudget a/b needs 1", pod="a/p", count=1)
    blocked, free = (replace(a_report(), decision=Decision(holds=holds)) for holds in ((held,), ()))
    for report in (blocked, blocked, free, blocked):
        listener.teller.take(report)
    events = await listener.heard()
    assert {(event["reason"], event["type"], event["involvedObject"]["name"]) for event in events} == {
        ("GPUDriverUpgrade", "Warning", "n1")
    }
    assert {event["message"].split(",")[0] for event in events} == {"PodDisruptionBudget a/b needs 1"}


async def test_a_state_is_an_event_beside_its_node_under_nvidias_reason(listener: Listener) -> None:
    listener.do(opening(NodePhase.CORDON_REQUIRED), left=NodePhase.UPGRADE_REQUIRED)
    (event,) = await listener.heard()
    assert event["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-n1"}
    assert (event["reason"], event["type"]) == ("GPUDriverUpgrade", "Normal")
    assert event["message"] == "Successfully updated node state label to cordon-required"


async def test_a_write_within_a_phase_is_known_as_one_by_the_node_it_was_decided_on(listener: Listener) -> None:
    listener.do(opening(NodePhase.CORDON_REQUIRED), left=NodePhase.CORDON_REQUIRED)
    assert await listener.heard() == []


async def test_a_failed_write_names_the_node_although_nobody_answered_with_it(listener: Listener) -> None:
    listener.do(opening(NodePhase.CORDON_REQUIRED), Result.FAILED, left=NodePhase.UPGRADE_REQUIRED, detail="not now")
    (event,) = await listener.heard()
    assert event["involvedObject"] == {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "n1"}
    assert event["type"] == "Warning"
    assert event["message"] == "Failed to update node state label to cordon-required, not now"


async def test_a_driver_that_could_not_be_restarted_is_an_event_beside_its_pod(listener: Listener) -> None:
    listener.do(RESTART, Result.FAILED, left=NodePhase.POD_RESTART_REQUIRED, detail="not now")
    (event,) = await listener.heard()
    assert event["metadata"]["namespace"] == "gpu"
    assert event["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "driver-n1",
        "namespace": "gpu",
        "uid": "uid-pod",
    }
    assert event["message"] == "Failed to restart driver pod not now"


@pytest.mark.parametrize("result", [Result.STALE, Result.BLOCKED])
async def test_what_was_stale_or_blocked_is_not_told(listener: Listener, result: Result) -> None:
    listener.do(EVICT, result, left=NodePhase.POD_DELETION_REQUIRED, detail="not now")
    listener.do(RESTART, Result.STALE, left=NodePhase.POD_RESTART_REQUIRED, detail="not now")
    assert await listener.heard() == []


async def test_a_rollout_without_a_campaign_tells_when_it_goes_on_waits_or_is_done(listener: Listener) -> None:
    stands = SPRING
    for state, done in (("progressing", 0), ("progressing", 1), ("done", 2), ("done", 2)):
        record = RolloutRecord(name="spring", summary=Summary(state=state, done=done, total=2))
        stands = turn(listener.teller, stands, record)
    assert messages(await listener.heard()) == [
        "Progressing: 0 of 2 nodes run the target",
        "Done: 2 of 2 nodes run the target",
    ]


async def test_a_turn_that_a_look_shows_before_the_answer_comes_is_told_all_the_same(listener: Listener) -> None:
    before = RolloutRecord(name="spring", summary=Summary(state="progressing", done=1, total=2))
    after = RolloutRecord(name="spring", summary=Summary(state="done", done=2, total=2))
    write = WriteRolloutRecord(record=after)
    listener.teller.take(a_report(write, rollout=before))
    listener.teller.take(a_report(rollout=after))
    listener.teller.tell(Outcome(action=write, result=Result.DONE))
    assert messages(await listener.heard()) == ["Done: 2 of 2 nodes run the target"]


async def test_a_turn_of_a_campaign_is_an_event_and_one_for_the_worse_a_warning(listener: Listener) -> None:
    campaign, stands = CampaignRecord(canaries=("n1",)), SPRING
    for at, phase in enumerate((RolloutPhase.CANARY, RolloutPhase.REVERTING)):
        taken = Turn(phase=phase, at=float(at))
        campaign = replace(campaign, phase=phase, history=(*campaign.history, taken))
        stands = turn(listener.teller, stands, RolloutRecord(name="spring", campaign=campaign))
    assert [(each["type"], each["message"]) for each in await listener.heard()] == [
        ("Normal", "Canary: n1 goes first"),
        ("Warning", "Reverting: it is being rolled back"),
    ]


async def test_the_ledger_is_nobodys_business(listener: Listener) -> None:
    listener.do(WriteRolloutRecord(record=RolloutRecord(name="spring")), Result.FAILED, detail="not now")
    assert await listener.heard() == []


@pytest.mark.parametrize(
    ("moving", "result", "is_told"),
    [
        (EVICT, Result.DONE, True),
        (EVICT, Result.BLOCKED, True),  # the others of them went
        (opening(NodePhase.POD_DELETION_REQUIRED, PauseClients), Result.DONE, True),
        (EVICT, Result.STALE, False),
        (RESTART, Result.DONE, False),
    ],
)
async def test_pods_are_said_to_be_moved_where_some_were(
    listener: Listener, moving: Action, result: Result, is_told: bool
) -> None:
    listener.do(moving, result, left=NodePhase.POD_DELETION_REQUIRED)
    listener.do(opening(NodePhase.POD_RESTART_REQUIRED), left=NodePhase.POD_DELETION_REQUIRED)
    listener.do(opening(NodePhase.POD_RESTART_REQUIRED), left=NodePhase.POD_DELETION_REQUIRED)  # moved nobody
    told = [event for event in await listener.heard() if event.get("message") == DELETED]
    assert [event["count"] for event in told] == ([1] if is_told else [])


async def test_a_pass_that_executed_nothing_is_not_remembered(listener: Listener) -> None:
    action = opening(NodePhase.CORDON_REQUIRED)
    breach = Breach(promise="limits", subject="n1", detail="too many")
    listener.teller.take(a_report(action, left=NodePhase.CORDON_REQUIRED, breaches=(breach,)))
    listener.teller.take(Report(at=0.0, sight=None, decision=None))
    listener.teller.tell(Outcome(action=action, result=Result.DONE, uid="uid-n1"))
    assert messages(await listener.heard()) == ["Successfully updated node state label to cordon-required"]


async def test_a_failure_without_a_word_still_is_one(listener: Listener) -> None:
    listener.do(RESTART, Result.FAILED, left=NodePhase.POD_RESTART_REQUIRED)
    assert messages(await listener.heard()) == ["Failed to restart driver pod no reason was given"]


@pytest.mark.parametrize(
    ("left", "type_", "text"),
    [
        ((), "Normal", "Deleted; nothing is left half-way, and nodes keep their driver and record"),
        (
            ("n1 stays cordoned", "two nodes run 580"),
            "Warning",
            "Deleted; this stays: n1 stays cordoned; two nodes run 580",
        ),
    ],
)
async def test_what_stays_of_a_rollout_is_sent_before_it_goes(
    listener: Listener, left: tuple[str, ...], type_: str, text: str
) -> None:
    await listener.teller.farewell(ReleaseRollout(rollout="spring", expect="40", left=left))
    (event,) = await listener.heard()
    assert (event["involvedObject"]["kind"], event["involvedObject"]["name"]) == ("GPURollout", "spring")
    assert (event["type"], event["message"]) == (type_, text)


@pytest.mark.parametrize(("current", "uid"), [("spring", "uid-spring"), ("autumn", "")])
async def test_what_is_told_of_a_rollout_is_found_beside_it_and_beside_no_other(
    listener: Listener, current: str, uid: str
) -> None:
    rollout = models.Rollout(metadata=models.ObjectMeta(name=current, uid=f"uid-{current}"))
    teller = Teller(listener.recorder, rollout=lambda: rollout)
    await teller.farewell(ReleaseRollout(rollout="spring", expect="40", left=()))
    (event,) = await listener.heard()
    assert event["involvedObject"].get("uid", "") == uid


async def test_who_does_not_let_pods_go_is_told_of_on_the_node_and_on_the_rollout() -> None:
    rollout = models.Rollout(metadata=models.ObjectMeta(name="spring", uid="uid-spring"))
    async with standin.running() as server, Client(server.config(), user_agent="seatrial/test") as client:
        server.will(standin.gives({"metadata": {"name": "n1.abc"}}))
        async with EventRecorder(client, component="seatrial") as recorder:
            said = Listener(server, recorder)
            said.teller = Teller(recorder, rollout=lambda: rollout)
            held = hold("n1", HoldCode.EVICTION_BLOCKED, why="PodDisruptionBudget a/b needs 1", pod="a/p", count=1)
            report = a_report()
            assert report.decision is not None
            said.teller.take(replace(report, decision=replace(report.decision, holds=(held,))))
            events = await said.heard()
    about = {(each["involvedObject"]["kind"], each["involvedObject"]["name"]): each for each in events}
    assert set(about) == {("Node", "n1"), ("GPURollout", "spring")}
    assert {each["type"] for each in events} == {"Warning"}
    node, whole = about["Node", "n1"]["message"], about["GPURollout", "spring"]["message"]
    assert whole == f"n1: {node}"
    assert about["GPURollout", "spring"]["involvedObject"]["uid"] == "uid-spring"


@pytest.mark.parametrize("webhook", ["https://chat.example/hook", ""])
async def test_a_turn_of_a_rollout_is_told_to_whoever_wants_to_be_notified(listener: Listener, webhook: str) -> None:
    sent: list[str] = []
    wanted = models.RolloutNotifications(webhook=webhook)
    rollout = models.Rollout(
        metadata=models.ObjectMeta(name="spring", uid="uid-spring"), spec=models.RolloutSpec(notifications=wanted)
    )
    teller = Teller(listener.recorder, rollout=lambda: rollout, notify=lambda url, _: sent.append(url))
    stands = SPRING
    record = RolloutRecord(name="spring", summary=Summary(state="progressing", done=0, total=2))
    for result in (Result.FAILED, Result.DONE, Result.DONE):
        stands = turn(teller, stands, record, result)
    assert sent == ([webhook] if webhook else [])
    (event,) = await listener.heard()
    assert event["involvedObject"]["uid"] == "uid-spring"
