"""What the loop remembers, and when it forgets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import AskToMerge, CloseRequest, MarkBad, Message, Promote, Publish, RevertCommits
from seatrial.core.actions.of_campaigns import EndProbe, MakePool, PausePool, RemovePool, SetAutoUpgrade, StartProbe
from seatrial.core.actions.on_nodes import (
    AskCheckpoint,
    EvictPods,
    PauseClients,
    ReleaseMaintenance,
    RequestMaintenance,
    RestartPod,
)
from seatrial.core.actions.on_rollouts import GuardRollout, WriteRolloutRecord
from seatrial.core.compat.matrix import Component
from seatrial.core.model.campaign import PublishStep, SourceFacts, Via
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement
from seatrial.core.model.policy import Policy
from seatrial.core.model.seen.nodes import Maintenance, NodePhase
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.operators import Carrier, MachinePool, OperatorFacts
from seatrial.core.model.seen.releases import Holder
from seatrial.core.model.seen.requests import Request, RequestState, mark_in
from seatrial.core.model.seen.rollouts import Rebuff
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.seen.subscriptions import Plan, Subscription
from seatrial.ports import Outcome, Result
from seatrial.run.memory import ASKED_SECONDS_MAX, ECHO_SECONDS_MAX, Memory
from seatrial.sim.operand_pods import operand_of
from tests.builders import (
    NEW,
    NOW,
    POLICY,
    a_dra_plugin,
    a_driver,
    a_gpu_pod,
    a_new_driver,
    a_node,
    a_pod,
    a_snapshot,
    a_validator,
    published,
    written,
)

PODS = (a_gpu_pod(0, offers_checkpoint=True), a_gpu_pod(1), a_pod(2))
THEIRS = Maintenance(namespace="default", name="firmware", uid="m1", resource_version="3", requestor="them")
TOOLKIT = operand_of("n1", Operand.TOOLKIT, "v1.17.8", 0.0)
LEAVING = replace(TOOLKIT, pod=replace(TOOLKIT.pod, is_terminating=True)) if TOOLKIT.pod is not None else TOOLKIT
ON_NODE: dict[str, Any] = {"pods": PODS, "dra": a_dra_plugin(), "maintenance": THEIRS, "operands": (TOOLKIT,)}
NODE = a_node(phase=NodePhase.POD_DELETION_REQUIRED, **ON_NODE)
SEEN = a_snapshot(NODE)
WRITE = written(NODE, NodePhase.POD_RESTART_REQUIRED)
PAUSE = written(NODE, NodePhase.POD_DELETION_REQUIRED, PauseClients)
EVICT = EvictPods(node="n1", attempt=1, pods=(a_gpu_pod(0), a_gpu_pod(1)))
DRAIN = EvictPods(node="n1", attempt=1, pods=(a_pod(2),))
TOKEN = "spring.n1.1"
ASK = AskCheckpoint(node="n1", attempt=1, pods=PODS[:1], token=TOKEN)
WEBHOOK = replace(ASK, webhook="https://save.example")
REQUEST = RequestMaintenance(
    node="n1", attempt=1, namespace="default", name="firmware", requestor="us", policy=Policy(), joins="3"
)
RELEASE = ReleaseMaintenance(
    node="n1",
    attempt=1,
    namespace="default",
    name="firmware",
    requestor="us",
    uid="m1",
    resource_version="3",
    is_ours=False,
)


def a_restart(operand: Operand, uid: str) -> RestartPod:
    return RestartPod(node="n1", attempt=1, operand=operand, namespace="gpu-operator", pod="pod", uid=uid)


RESTART = a_restart(Operand.DRIVER, "driver-n1-0")
REVALIDATE = a_restart(Operand.VALIDATOR, "validator-n1-0")
FRESHEN = a_restart(Operand.DRA_PLUGIN, "plugin-n1-0")
RETOOL = a_restart(Operand.TOOLKIT, "container-toolkit-n1-0")
LEDGER = WriteRolloutRecord(record=SEEN.rollout)
UNTIL = NOW + ECHO_SECONDS_MAX


def after(outcome: Outcome) -> Memory:
    memory = Memory(started_at=0.0)
    memory.learn([outcome], NOW)
    return memory


def until(action: Action, result: Result) -> float:
    """How long the change is waited for."""
    is_asked = action is REQUEST and result is Result.DONE
    return NOW + ASKED_SECONDS_MAX if is_asked else UNTIL


def seen_with(**changes: Any) -> Snapshot:
    return a_snapshot(a_node(phase=NodePhase.POD_DELETION_REQUIRED, **(ON_NODE | changes)))


# ── what is not to be seen yet ───────────────────────────────────────────────────────────────────────────────────────

ECHOES: list[tuple[Action, Snapshot]] = [
    (WRITE, seen_with(resource_version="8")),
    (EVICT, seen_with(pods=(a_gpu_pod(0, is_terminating=True),))),
    (RESTART, seen_with(driver=a_driver(is_terminating=True))),
    (RESTART, seen_with(driver=a_new_driver())),
    (RESTART, seen_with(driver=None)),
    (REVALIDATE, seen_with(validator=a_validator(is_terminating=True))),
    (REVALIDATE, seen_with(validator=a_validator(uid="validator-n1-1"))),
    (FRESHEN, seen_with(dra=a_dra_plugin(is_terminating=True))),
    (FRESHEN, seen_with(dra=a_dra_plugin(uid="plugin-n1-1"))),
    (FRESHEN, seen_with(dra=None)),
    (RETOOL, seen_with(operands=())),
    (RETOOL, seen_with(operands=(LEAVING,))),
    (RETOOL, seen_with(operands=(operand_of("other", Operand.TOOLKIT, "v1.18.1", 5.0),))),
    (PAUSE, seen_with(resource_version="8")),
    (DRAIN, seen_with(pods=(a_pod(2, is_terminating=True),))),
    (DRAIN, seen_with(pods=())),
    (ASK, seen_with(pods=(replace(PODS[0], checkpoint_asked=TOKEN),))),
    (ASK, seen_with(pods=())),
    (WEBHOOK, seen_with(pods=(replace(PODS[0], checkpoint_saved=TOKEN),))),
    (REQUEST, seen_with(maintenance=replace(THEIRS, resource_version="4", others=("us",)))),
    (REQUEST, seen_with(maintenance=None)),
    (RELEASE, seen_with(maintenance=replace(THEIRS, resource_version="4"))),
    (RELEASE, seen_with(maintenance=None)),
    (WRITE, a_snapshot()),
]


@pytest.mark.parametrize("result", [Result.DONE, Result.STALE])
@pytest.mark.parametrize(("action", "changed"), ECHOES)
def test_an_answered_act_is_not_repeated_until_the_view_shows_the_change(
    action: Action, changed: Snapshot, result: Result
) -> None:
    memory = after(Outcome(action=action, result=result))
    assert memory.recall(SEEN, frozenset(), NOW).busy == {"n1": until(action, result)}
    assert memory.recall(changed, frozenset(), NOW).busy == {}


# ── what a campaign did outside of the nodes ─────────────────────────────────────────────────────────────────────────

BODY = "<!-- seatrial: 0123456789ab -->"
GATE = Gate(name="nccl", image="nccl:1")


def at_home(*steps: PublishStep, tag: str = "", requests: tuple[tuple[PublishStep, Request], ...] = ()) -> Snapshot:
    known = SourceFacts(steps=tuple((step, "c0ffee") for step in steps), tag=tag, requests=requests)
    return replace(SEEN, source=known)


def a_request(state: RequestState, mark: str = mark_in(BODY)) -> tuple[PublishStep, Request]:
    request = Request(branch="b", number=1, url="u", state=state, mark=mark)
    return PublishStep.CANARY, request


def carrying(version: str, note: str) -> Snapshot:
    carriers = (Carrier(name=POLICY, version=version, note=note),)
    return replace(SEEN, operator=OperatorFacts(kind=POLICY, carriers=carriers))


def with_pool(**fields: Any) -> Snapshot:
    return replace(SEEN, machine_pools=(MachinePool(name="gpu", **fields),))


def measured(**changes: Any) -> Snapshot:
    said: dict[str, Any] = {"gate": "nccl", "node": "n1", "round": 1, "attempt": 1, "verdict": GateVerdict.PENDING}
    return replace(SEEN, measurements=(Measurement(**said | changes),))


NEWER = ((POLICY, "580.105.08"),)
DIRECT = Publish(rollout="r", step=PublishStep.CANARY, versions=NEWER, via=Via.DIRECT, note="r/canary")
END = EndProbe(rollout="r", gate="nccl", node="n1", round=1, attempt=1, job="gates/gate-nccl")
PROBE = StartProbe(rollout="r", gate=GATE, node="n1", round=1, attempt=1)
OUTSIDE: list[tuple[Action, Snapshot, Snapshot]] = [
    (DIRECT, carrying("570.124.06", "r/canary"), carrying("580.105.08", "r/canary")),
    (DIRECT, carrying("580.105.08", "another"), carrying("580.105.08", "r/canary")),
    (replace(DIRECT, via=Via.GIT), at_home(), at_home(PublishStep.CANARY)),
    (
        RevertCommits(rollout="r", commits=("c0ffee",), driver="580.105.08"),
        at_home(PublishStep.CANARY),
        at_home(PublishStep.REVERT),
    ),
    (MarkBad(rollout="r", driver="580.105.08", why="x"), at_home(), at_home(PublishStep.BAD)),
    (Promote(rollout="r", date="d", tag_base="v"), at_home(tag="v"), at_home(PublishStep.PROMOTION, tag="v")),
    (
        Promote(rollout="r", date="d", tag_base="v"),
        at_home(PublishStep.PROMOTION),
        at_home(PublishStep.PROMOTION, tag="v"),
    ),
    (
        AskToMerge(rollout="r", step=PublishStep.CANARY, message=Message(body=BODY)),
        at_home(requests=(a_request(RequestState.OPEN, "another"),)),
        at_home(requests=(a_request(RequestState.OPEN),)),
    ),
    (
        CloseRequest(rollout="r", step=PublishStep.CANARY),
        at_home(requests=(a_request(RequestState.OPEN),)),
        at_home(requests=(a_request(RequestState.CLOSED),)),
    ),
    (PROBE, SEEN, measured()),
    (PROBE, measured(round=2), measured()),
    (END, measured(verdict=GateVerdict.PENDING), measured(verdict=GateVerdict.PASSED)),
    (END, measured(verdict=GateVerdict.PENDING), SEEN),
    (PROBE, measured(attempt=2), measured()),
    (
        SetAutoUpgrade(rollout="r", resource=POLICY, value=True),
        replace(SEEN, operator=OperatorFacts(kind=POLICY, is_auto_upgrading=False)),
        replace(SEEN, operator=OperatorFacts(kind=POLICY, is_auto_upgrading=True)),
    ),
    (MakePool(rollout="r", name="gpu"), SEEN, with_pool()),
    (RemovePool(rollout="r", name="gpu", expect="1"), with_pool(), SEEN),
    (PausePool(rollout="r", name="gpu", value=True, expect="1"), with_pool(), with_pool(is_paused=True, paused_by="r")),
    (
        PausePool(rollout="r", name="gpu", value=True, expect="1"),
        with_pool(is_paused=True, paused_by="another"),
        with_pool(is_paused=True, paused_by="r"),
    ),
    (
        PausePool(rollout="r", name="gpu", value=False, expect="1"),
        with_pool(is_paused=True, paused_by="r"),
        with_pool(),
    ),
]


@pytest.mark.parametrize(("action", "before", "changed"), OUTSIDE)
def test_what_a_campaign_did_is_not_repeated_until_it_is_seen(
    action: Action, before: Snapshot, changed: Snapshot
) -> None:
    memory = after(Outcome(action=action, result=Result.DONE))
    assert memory.recall(before, frozenset(), NOW).busy == {action.subject: UNTIL}
    assert memory.recall(changed, frozenset(), NOW).busy == {}


@pytest.mark.parametrize("result", [Result.DONE, Result.STALE])
@pytest.mark.parametrize("action", [*dict.fromkeys(action for action, _ in ECHOES), LEDGER])
def test_a_view_that_never_shows_the_change_is_waited_for_only_so_long(action: Action, result: Result) -> None:
    memory = after(Outcome(action=action, result=result))
    assert memory.recall(SEEN, frozenset(), until(action, result)).busy == {}


def test_a_node_that_is_emptied_for_us_is_not_taken_for_one_that_nobody_was_asked_about() -> None:
    """Seen late, it would be called back and its place given away, while a maintenance operator empties it."""
    memory = after(Outcome(action=REQUEST, result=Result.DONE))
    assert memory.recall(SEEN, frozenset(), UNTIL).busy == {"n1": NOW + ASKED_SECONDS_MAX}


def test_nothing_is_remembered_of_a_cluster_that_went_back_in_time() -> None:
    memory = after(Outcome(action=WRITE, result=Result.DONE))
    memory.learn([Outcome(action=EVICT, result=Result.FAILED, detail="no")], NOW)

    memory.follow(1, NOW + 1.0)
    recalled = memory.recall(SEEN, frozenset(), NOW + 1.0)

    assert (recalled.busy, recalled.rebuffs, recalled.attentive_since) == ({}, {}, NOW + 1.0)
    memory.learn([Outcome(action=WRITE, result=Result.DONE)], NOW + 1.0)
    memory.follow(1, NOW + 2.0)
    assert memory.recall(SEEN, frozenset(), NOW + 2.0).busy != {}, "once is enough"


def test_a_maintenance_asked_for_is_waited_for_until_it_is_there() -> None:
    made = Outcome(action=replace(REQUEST, joins=""), result=Result.DONE)
    assert after(made).recall(seen_with(maintenance=None), frozenset(), NOW).busy == {"n1": NOW + ASKED_SECONDS_MAX}
    assert after(made).recall(SEEN, frozenset(), NOW).busy == {"n1": NOW + ASKED_SECONDS_MAX}, "it is somebody else's"
    ours = seen_with(maintenance=replace(THEIRS, requestor="us"))
    assert after(made).recall(ours, frozenset(), NOW).busy == {}


def test_another_answer_than_the_one_to_our_question_is_no_answer() -> None:
    asked = seen_with(pods=(replace(PODS[0], checkpoint_asked="spring.n1.0"),))
    assert after(Outcome(action=ASK, result=Result.DONE)).recall(asked, frozenset(), NOW).busy == {"n1": UNTIL}


def test_a_rollout_is_not_guarded_twice_on_one_version() -> None:
    guard = GuardRollout(rollout="spring", expect=SEEN.rollout.resource_version)
    memory = after(Outcome(action=guard, result=Result.DONE))
    assert memory.recall(SEEN, frozenset(), NOW).busy == {guard.subject: UNTIL}
    written = replace(SEEN, rollout=replace(SEEN.rollout, resource_version="another"))
    assert memory.recall(written, frozenset(), NOW).busy == {}


def test_the_ledger_is_not_written_twice_on_one_version() -> None:
    memory = after(Outcome(action=LEDGER, result=Result.DONE))
    assert memory.recall(SEEN, frozenset(), NOW).busy == {"rollout/spring": UNTIL}


def test_an_act_that_was_not_answered_is_busy_without_an_end() -> None:
    memory = after(Outcome(action=WRITE, result=Result.DONE))
    assert memory.recall(SEEN, frozenset({"n1", "n2"}), NOW).busy == {"n1": None, "n2": None}


# ── what was turned down ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_failed_act_is_remembered_with_how_often() -> None:
    memory = after(Outcome(action=WRITE, result=Result.FAILED, detail="forbidden"))
    memory.learn([Outcome(action=WRITE, result=Result.FAILED, detail="still forbidden")], NOW + 5)
    assert memory.recall(SEEN, frozenset(), NOW + 5).rebuffs == {
        "n1": Rebuff(at=NOW + 5, count=2, code="failed", detail="still forbidden")
    }


def test_a_failed_act_is_forgotten_when_the_next_one_is_done() -> None:
    memory = after(Outcome(action=WRITE, result=Result.FAILED, detail="forbidden"))
    memory.learn([Outcome(action=WRITE, result=Result.DONE)], NOW + 5)
    assert memory.recall(SEEN, frozenset(), NOW + 5).rebuffs == {}


def test_a_blocked_eviction_is_remembered_by_pod_and_not_held_against_the_node() -> None:
    memory = after(Outcome(action=EVICT, result=Result.BLOCKED, detail="budget", blocked=(("pod-0", "budget"),)))
    recalled = memory.recall(seen_with(pods=(a_gpu_pod(0), a_gpu_pod(1, is_terminating=True))), frozenset(), NOW)
    assert (recalled.rebuffs, recalled.busy) == (
        {"pod-0": Rebuff(at=NOW, count=1, code="blocked", detail="budget")},
        {},
    )


def test_the_pods_that_were_granted_are_waited_for_although_others_were_blocked() -> None:
    memory = after(Outcome(action=EVICT, result=Result.BLOCKED, detail="budget", blocked=(("pod-0", "budget"),)))
    assert memory.recall(SEEN, frozenset(), NOW).busy == {"n1": UNTIL}


def test_a_blocked_eviction_of_a_pod_without_gpu_is_remembered_too() -> None:
    memory = after(Outcome(action=DRAIN, result=Result.BLOCKED, detail="budget", blocked=(("web-2", "budget"),)))
    assert memory.recall(SEEN, frozenset(), NOW).rebuffs == {
        "web-2": Rebuff(at=NOW, count=1, code="blocked", detail="budget")
    }


def test_who_is_gone_is_forgotten() -> None:
    memory = after(Outcome(action=EVICT, result=Result.BLOCKED, detail="budget", blocked=(("pod-0", "budget"),)))
    memory.learn([Outcome(action=WRITE, result=Result.FAILED, detail="no such node")], NOW)
    memory.recall(a_snapshot(), frozenset(), NOW)
    assert memory.recall(SEEN, frozenset(), NOW).rebuffs == {}


# ── since when we are free to act ────────────────────────────────────────────────────────────────────────────────────


def test_deadlines_count_from_the_start_of_this_controller() -> None:
    assert Memory(started_at=400.0).recall(SEEN, frozenset(), NOW).attentive_since == 400.0


def test_deadlines_count_from_the_end_of_a_pause_and_not_from_its_last_pass() -> None:
    memory = Memory(started_at=0.0)
    memory.note(is_free=False)
    days_later = memory.recall(SEEN, frozenset(), NOW + 200_000)
    memory.note(is_free=True)
    assert days_later.attentive_since == NOW + 200_000
    assert memory.recall(SEEN, frozenset(), NOW + 300_000).attentive_since == NOW + 200_000


def test_a_controller_started_again_goes_on_backing_off_where_the_last_one_left_off() -> None:
    blocked = Rebuff(at=900.0, count=3, code="blocked", detail="the budget needs every pod")
    node = a_node(pods=(a_gpu_pod(),))
    seen = a_snapshot(node)
    told = replace(seen, rollout=replace(seen.rollout, rebuffs=((a_gpu_pod().uid, blocked),)))
    assert Memory(1000.0).recall(told, frozenset(), 1000.0).rebuffs == {a_gpu_pod().uid: blocked}


@pytest.mark.parametrize("step_seconds", [0.5, 3600])
def test_a_clock_that_is_put_back_does_not_make_us_wait_until_its_old_time(step_seconds: float) -> None:
    """A write that was answered a second ago would be waited for until an hour later, and a rebuff backed off from."""
    memory = Memory(NOW - 10)
    refused = Outcome(action=WriteRolloutRecord(record=SEEN.rollout), result=Result.FAILED, detail="no")
    memory.learn([Outcome(action=WRITE, result=Result.DONE), refused], NOW)
    before = memory.recall(SEEN, frozenset(), NOW)
    assert (before.busy, before.put_back_at) == ({"n1": NOW + ECHO_SECONDS_MAX}, None)
    now = NOW - step_seconds
    seen = memory.recall(SEEN, frozenset(), now)
    assert seen.busy == {"n1": now + ECHO_SECONDS_MAX}
    assert seen.rebuffs["rollout/spring"].at == now
    assert seen.attentive_since == now - 10
    assert seen.put_back_at == now
    assert memory.recall(SEEN, frozenset(), now + ECHO_SECONDS_MAX).busy == {}


def test_what_an_earlier_controller_was_turned_down_with_is_never_later_than_now() -> None:
    left = (("rollout/spring", Rebuff(at=NOW + 3600, count=1, code="failed", detail="no")),)
    seen = replace(SEEN, rollout=replace(SEEN.rollout, rebuffs=left))
    assert Memory(NOW).recall(seen, frozenset(), NOW).rebuffs["rollout/spring"].at == NOW


# ── what was published ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_version_of_several_components_is_seen_once_the_resource_carries_them_all() -> None:
    text = f"{NEW.version}, container_toolkit v1.18.1"
    memory = after(Outcome(action=published(PublishStep.CANARY, (POLICY, text)), result=Result.DONE))
    for parts, is_seen in (
        ((), False),
        ((("container_toolkit", "v1.17.8"),), False),
        ((("container_toolkit", "v1.18.1"),), True),
    ):
        carrier = Carrier(name=POLICY, version=NEW.version, note="spring/canary", parts=parts)
        seen = a_snapshot(operator=OperatorFacts(kind=POLICY, driver_version=NEW.version, carriers=(carrier,)))
        assert bool(memory.recall(seen, frozenset(), NOW).busy) is not is_seen


def test_a_release_is_seen_once_what_holds_it_has_the_version_and_our_note() -> None:
    name = "HelmRelease/gpu-operator/gpu-operator"
    memory = after(Outcome(action=published(PublishStep.CANARY, (name, "v25.10.1")), result=Result.DONE))
    for version, note, is_seen in (
        ("v25.10.0", "", False),
        ("v25.10.1", "", False),
        ("v25.10.0", "spring/canary", False),
        ("v25.10.1", "spring/canary", True),
    ):
        holder = Holder(component=Component.GPU_OPERATOR, resource=name, version=version, note=note)
        seen = a_snapshot(operator=OperatorFacts(kind=POLICY, driver_version=NEW.version, holders=(holder,)))
        assert bool(memory.recall(seen, frozenset(), NOW).busy) is not is_seen


def test_a_plan_of_olm_is_seen_once_it_is_approved() -> None:
    name = "InstallPlan/nvidia-gpu-operator/install-x7k2p"
    memory = after(Outcome(action=published(PublishStep.CANARY, (name, "gpu-operator.v25.10.1")), result=Result.DONE))
    other = Plan(resource=f"{name}-later", names=("gpu-operator.v25.10.2",))
    for is_approved in (False, True):
        plans = (Plan(resource=name, names=("gpu-operator.v25.10.1",), is_approved=is_approved), other)
        followed = tuple(
            Subscription(component=Component.GPU_OPERATOR, resource="Subscription/a/b", package="b", plan=plan)
            for plan in plans
        )
        seen = a_snapshot(operator=OperatorFacts(kind=POLICY, driver_version=NEW.version, subscriptions=followed))
        assert bool(memory.recall(seen, frozenset(), NOW).busy) is not is_approved
