"""Clearing a node: jobs are waited for, work is saved, pods are asked to leave, and nobody is forced."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import KUEUE, AskCheckpoint, EvictPods, PauseClients, WriteNodeRecord
from seatrial.core.decision.decide import decide
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.intent import Checkpoint
from seatrial.core.model.policy import Drain, Eviction, JobWait, Policy
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.pods import Pod, PodOwner
from seatrial.core.model.selectors import DRAIN_SKIP_KEY, Selector, drain_selector
from seatrial.core.node.clearing import checkpoint_token, paused_value, users
from seatrial.core.node.phases import FailureCode
from seatrial.core.node.step import step_node
from seatrial.core.node.writing import PAUSED, Step
from seatrial.core.words import explain
from tests.builders import (
    NEW,
    NOW,
    OLD,
    a_gpu_pod,
    a_ledger,
    a_node,
    a_pod,
    a_rebuff,
    a_snapshot,
    an_intent,
    opening,
    proving,
    some_orders,
    written,
)

LABEL = "nvidia.com/gpu.deploy.client"


def waiting(code: HoldCode, until: float | None, since: float = 900.0, **params: Any) -> Step:
    """A hold of n1 in a phase entered at 900."""
    return Step(hold=hold("n1", code, since=since, until=until, **params))


def cleared(phase: NodePhase, *pods: Pod, **changes: Any) -> NodeSeen:
    """A node in one of the phases in which it is cleared, under our cordon."""
    fields: dict[str, Any] = {"phase": phase, "is_cordon_ours": True, "pods": pods}
    return a_node(**(fields | changes))


def evicting(*pods: Pod, **changes: Any) -> NodeSeen:
    return cleared(NodePhase.POD_DELETION_REQUIRED, *pods, **changes)


def draining(*pods: Pod, **changes: Any) -> NodeSeen:
    return cleared(NodePhase.DRAIN_REQUIRED, *pods, **changes)


def evict(*pods: Pod) -> Step:
    return Step(action=EvictPods(node="n1", attempt=1, pods=pods))


def given_up(node: NodeSeen, now: float, reason: FailureCode) -> Step:
    return Step(
        action=written(
            node,
            NodePhase.UPGRADE_FAILED,
            entered_at=now,
            reason=reason,
            failed_revision=NEW.hash,
            failures=1,
            old_pod="driver-n1-0",
        )
    )


def a_daemon(number: int = 0, **changes: Any) -> Pod:
    """A pod of a DaemonSet that holds a GPU and can be asked to leave."""
    fields: dict[str, Any] = {"keeper": PodOwner.DAEMON_SET, "deploy_label": LABEL}
    return a_gpu_pod(number, **(fields | changes))


# ── who has to leave ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("pod", "has_to_leave"),
    [
        (a_pod(), False),
        *((a_gpu_pod(gpu=use), True) for use in GpuUse),
        *((a_daemon(gpu=use), True) for use in GpuUse),
        *((a_daemon(gpu=use, deploy_label=""), use is not GpuUse.RUNTIME_CLASS) for use in GpuUse),
        (a_gpu_pod(keeper=PodOwner.KUBELET, gpu=GpuUse.RUNTIME_CLASS), True),
    ],
)
def test_who_holds_a_gpu_has_to_leave_unless_only_a_runtime_class_says_so_of_a_daemon_set(
    pod: Pod, has_to_leave: bool
) -> None:
    assert users(evicting(pod).facts) == ((pod,) if has_to_leave else ())


# ── waiting for jobs ─────────────────────────────────────────────────────────────────────────────────────────────────

TRAINING = (("kind", "training"),)


def at_jobs(*pods: Pod, **changes: Any) -> NodeSeen:
    return cleared(NodePhase.WAIT_FOR_JOBS_REQUIRED, *pods, **changes)


def job_orders(timeout_seconds: float = 0.0) -> Any:
    jobs = JobWait(selector=Selector.parse("kind=training"), timeout_seconds=timeout_seconds)
    return some_orders(intent=an_intent(jobs=jobs))


def test_without_a_selector_nobody_is_waited_for() -> None:
    node = at_jobs(a_gpu_pod(labels=TRAINING))
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.POD_DELETION_REQUIRED)


def test_jobs_may_take_as_long_as_they_run_where_no_limit_is_set() -> None:
    node = at_jobs(a_gpu_pod(0), a_gpu_pod(1, labels=TRAINING), a_pod(2, labels=TRAINING))
    expected = waiting(HoldCode.JOBS_RUNNING, None, pod="jobs/train-1", count=2, limit="none")
    assert step_node(node, job_orders(), 9_999_999.0) == expected


def test_jobs_are_waited_for_until_their_time_is_up() -> None:
    node = at_jobs(a_gpu_pod(labels=TRAINING))
    expected = waiting(HoldCode.JOBS_RUNNING, 1500.0, pod="jobs/train-0", count=1, limit="10 min")
    assert step_node(node, job_orders(600.0), 1499.0) == expected
    assert step_node(node, job_orders(600.0), 1500.0) == opening(
        node, NodePhase.POD_DELETION_REQUIRED, entered_at=1500.0
    )


def test_jobs_that_are_through_let_the_node_go_on() -> None:
    node = at_jobs(a_gpu_pod())
    assert step_node(node, job_orders(), NOW) == opening(node, NodePhase.POD_DELETION_REQUIRED)


@pytest.mark.parametrize(
    ("pod", "is_saving"),
    [
        (a_gpu_pod(), False),
        (a_gpu_pod(offers_checkpoint=True), True),
        (a_pod(offers_checkpoint=True), False),
        (a_gpu_pod(offers_checkpoint=True, keeper=PodOwner.DAEMON_SET, gpu=GpuUse.RUNTIME_CLASS), False),
    ],
)
def test_whether_work_is_to_be_saved_is_written_down_before_anybody_leaves(pod: Pod, is_saving: bool) -> None:
    node = at_jobs(pod)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.POD_DELETION_REQUIRED, is_saving=is_saving)


def test_jobs_are_those_of_the_policy_of_the_nodes_owner() -> None:
    pools = {"blue": Policy(jobs=JobWait(selector=Selector.parse("kind=training")))}
    node = at_jobs(a_gpu_pod(labels=TRAINING), owner="blue")
    expected = waiting(HoldCode.JOBS_RUNNING, None, pod="jobs/train-0", count=1, limit="none")
    assert step_node(node, some_orders(intent=an_intent(pools=pools)), NOW) == expected


@pytest.mark.parametrize(
    "phase", [NodePhase.WAIT_FOR_JOBS_REQUIRED, NodePhase.POD_DELETION_REQUIRED, NodePhase.DRAIN_REQUIRED]
)
def test_a_version_reverted_while_the_node_is_cleared_gives_it_back(phase: NodePhase) -> None:
    node = cleared(phase, a_gpu_pod(labels=TRAINING), wanted=OLD)
    assert step_node(node, job_orders(), NOW) == opening(node, NodePhase.UNCORDON_REQUIRED)


# ── evicting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_gpu_pods_are_asked_to_leave_and_others_are_not() -> None:
    pods = (a_gpu_pod(0), a_pod(), a_gpu_pod(1))
    assert step_node(evicting(*pods), some_orders(), NOW) == evict(a_gpu_pod(0), a_gpu_pod(1))


def test_a_node_without_gpu_pods_goes_on_to_the_restart() -> None:
    node = evicting(a_pod())
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.POD_RESTART_REQUIRED)


def test_pods_on_their_way_out_are_waited_for_until_the_deadline() -> None:
    node = evicting(a_gpu_pod(is_terminating=True))
    assert step_node(node, some_orders(), NOW) == waiting(HoldCode.EVICTING, 1200.0, pod="jobs/train-0", count=1)


def test_pods_that_do_not_leave_in_time_fail_the_node_and_are_not_forced() -> None:
    node = evicting(a_gpu_pod(is_terminating=True))
    assert step_node(node, some_orders(), 1200.0) == given_up(node, 1200.0, FailureCode.EVICTION_TIMEOUT)


def test_the_time_to_leave_is_that_of_the_policy() -> None:
    node = evicting(a_gpu_pod(is_terminating=True))
    orders = some_orders(intent=an_intent(eviction=Eviction(timeout_seconds=3600.0)))
    assert step_node(node, orders, NOW) == waiting(HoldCode.EVICTING, 4500.0, pod="jobs/train-0", count=1)


def test_an_outage_of_ours_does_not_count_towards_a_deadline() -> None:
    node = evicting(a_gpu_pod(is_terminating=True))
    expected = waiting(HoldCode.EVICTING, 5300.0, pod="jobs/train-0", count=1)
    assert step_node(node, some_orders(attentive_since=5000.0), 5010.0) == expected


def test_a_blocked_eviction_backs_off_and_says_who_blocks() -> None:
    node = evicting(a_gpu_pod(0), a_gpu_pod(1))
    rebuffs = {"pod-0": a_rebuff(count=2, detail="budget web needs 3"), "pod-1": a_rebuff(count=3)}
    expected = waiting(HoldCode.EVICTION_BLOCKED, 1010.0, pod="jobs/train-0", why="budget web needs 3", count=2)
    assert step_node(node, some_orders(rebuffs=rebuffs), NOW) == expected


def test_a_blocked_eviction_is_waited_for_no_longer_than_its_deadline() -> None:
    node = evicting(a_gpu_pod())
    step = step_node(node, some_orders(rebuffs={"pod-0": a_rebuff(at=1198.0)}), 1199.0)
    assert step == waiting(HoldCode.EVICTION_BLOCKED, 1200.0, pod="jobs/train-0", why="denied", count=1)


def test_only_pods_whose_back_off_is_over_are_asked_again() -> None:
    rebuffs = {"pod-0": a_rebuff(count=3), "pod-1": a_rebuff(count=1)}
    node = evicting(a_gpu_pod(0), a_gpu_pod(1))
    step = step_node(node, some_orders(rebuffs=rebuffs), NOW + 5)
    assert replace(step, beside=None) == evict(a_gpu_pod(1))


def test_a_refusal_stands_while_it_is_tried_again_and_while_the_answer_is_awaited() -> None:
    rebuffs = {"pod-0": a_rebuff(detail="PodDisruptionBudget jobs/train needs 1 healthy pods and has 1 currently")}
    node = evicting(a_gpu_pod(0))
    waiting = step_node(node, some_orders(rebuffs=rebuffs), NOW)
    trying = step_node(node, some_orders(rebuffs=rebuffs), NOW + 60)
    assert (waiting.action, trying.hold) == (None, None)
    assert waiting.hold is not None
    assert trying.beside is not None
    assert explain.why(waiting.hold) == explain.why(trying.beside)
    assert explain.why(trying.beside).startswith("PodDisruptionBudget jobs/train needs 1 healthy pods")
    seen = a_snapshot(node, admitted=a_ledger("n1"), rebuffs=rebuffs, busy={"n1": None})
    assert {HoldCode.WRITE_IN_FLIGHT, HoldCode.EVICTION_BLOCKED} == {
        held.code for held in decide(seen, an_intent(), NOW + 60).holds
    }


def test_a_pod_that_leaves_after_all_is_refused_no_more() -> None:
    rebuffs = {"pod-0": a_rebuff()}
    leaving = evicting(replace(a_gpu_pod(0), is_terminating=True))
    step = step_node(leaving, some_orders(rebuffs=rebuffs), NOW + 60)
    assert step.hold is not None
    assert (step.hold.code, step.beside) == (HoldCode.EVICTING, None)


def test_a_blocked_eviction_fails_the_node_at_the_deadline() -> None:
    node = evicting(a_gpu_pod())
    step = step_node(node, some_orders(rebuffs={"pod-0": a_rebuff(at=1199.0)}), 1200.0)
    assert step == given_up(node, 1200.0, FailureCode.EVICTION_TIMEOUT)


def test_a_pod_nobody_asked_before_the_deadline_is_not_asked_after_it() -> None:
    node = evicting(a_gpu_pod())
    assert step_node(node, some_orders(), 1200.0) == given_up(node, 1200.0, FailureCode.EVICTION_TIMEOUT)


NEVER = None
PROTECTED: list[tuple[Pod, Eviction | None, HoldCode]] = [
    (a_gpu_pod(keeper=PodOwner.NOBODY), Eviction(force=True), HoldCode.POD_WITHOUT_CONTROLLER),
    (a_gpu_pod(has_empty_dir=True), Eviction(delete_empty_dir=True), HoldCode.POD_WITH_EMPTY_DIR),
    (a_gpu_pod(keeper=PodOwner.KUBELET), NEVER, HoldCode.STATIC_POD_HOLDS_GPU),
    (a_daemon(deploy_label=""), NEVER, HoldCode.DAEMON_SET_HOLDS_GPU),
]
EVERYTHING = Eviction(force=True, delete_empty_dir=True)


@pytest.mark.parametrize(("pod", "code"), [(pod, code) for pod, _, code in PROTECTED])
def test_a_protected_pod_keeps_every_pod_of_the_node_where_it_is(pod: Pod, code: HoldCode) -> None:
    assert step_node(evicting(a_gpu_pod(1), pod), some_orders(), NOW) == waiting(code, 1200.0, pod="jobs/train-0")


@pytest.mark.parametrize(("pod", "code"), [(pod, code) for pod, _, code in PROTECTED])
def test_a_protected_pod_pauses_no_client_either(pod: Pod, code: HoldCode) -> None:
    node = evicting(a_daemon(1), pod, labels={LABEL: "true"})
    assert step_node(node, some_orders(), NOW) == waiting(code, 1200.0, pod="jobs/train-0")


@pytest.mark.parametrize("pod", [pod for pod, *_ in PROTECTED])
def test_a_protected_pod_fails_the_node_in_the_end(pod: Pod) -> None:
    node = evicting(pod)
    assert step_node(node, some_orders(), 1200.0) == given_up(node, 1200.0, FailureCode.EVICTION_TIMEOUT)


@pytest.mark.parametrize(("pod", "allowing"), [(pod, rules) for pod, rules, _ in PROTECTED if rules is not NEVER])
def test_a_protected_pod_may_go_where_the_policy_allows_it(pod: Pod, allowing: Eviction) -> None:
    assert step_node(evicting(pod), some_orders(intent=an_intent(eviction=allowing)), NOW) == evict(pod)


@pytest.mark.parametrize(("pod", "code"), [(pod, code) for pod, rules, code in PROTECTED if rules is NEVER])
def test_a_pod_that_cannot_be_moved_stays_whatever_the_policy_allows(pod: Pod, code: HoldCode) -> None:
    orders = some_orders(intent=an_intent(eviction=EVERYTHING))
    assert step_node(evicting(pod), orders, NOW) == waiting(code, 1200.0, pod="jobs/train-0")


def test_an_empty_dir_of_a_pod_that_nobody_puts_back_needs_both_permissions() -> None:
    pod = a_gpu_pod(keeper=PodOwner.NOBODY, has_empty_dir=True)
    codes = [
        step.hold.code
        if (step := step_node(evicting(pod), some_orders(intent=an_intent(eviction=rules)), NOW)).hold
        else None
        for rules in (Eviction(delete_empty_dir=True), Eviction(force=True), EVERYTHING)
    ]
    assert codes == [HoldCode.POD_WITHOUT_CONTROLLER, HoldCode.POD_WITH_EMPTY_DIR, None]


@pytest.mark.parametrize("pod", [pod for pod, *_ in PROTECTED])
def test_a_protected_pod_that_leaves_by_itself_is_waited_for(pod: Pod) -> None:
    leaving = a_gpu_pod(keeper=pod.keeper, has_empty_dir=pod.has_empty_dir, is_terminating=True)
    expected = waiting(HoldCode.EVICTING, 1200.0, pod="jobs/train-0", count=1)
    assert step_node(evicting(leaving), some_orders(), NOW) == expected


def test_a_node_somebody_uncordoned_evicts_nobody() -> None:
    node = evicting(a_gpu_pod(), is_cordon_ours=False)
    assert step_node(node, some_orders(), NOW) == waiting(HoldCode.CORDON_LOST, 1200.0)


# ── clients that can be asked by a label ─────────────────────────────────────────────────────────────────────────────


def pausing(node: NodeSeen, *labels: tuple[str, str], paused: tuple[tuple[str, str], ...]) -> Step:
    assert node.record is not None
    record = written(node, node.record.phase, entered_at=900.0, paused=paused).record
    return Step(action=PauseClients(node="n1", record=record, expect="7", labels=labels))


def test_a_daemon_set_with_a_deploy_label_is_paused_and_the_value_remembered() -> None:
    node = evicting(a_daemon(), a_gpu_pod(1), labels={LABEL: "true"})
    assert step_node(node, some_orders(), NOW) == pausing(node, (LABEL, PAUSED), paused=((LABEL, "true"),))


def test_clients_are_paused_together_and_beside_those_paused_before() -> None:
    other = "nvidia.com/gpu.deploy.dcgm"
    node = evicting(
        a_daemon(0, deploy_label=other),
        a_daemon(1),
        labels={LABEL: "true", other: "yes"},
        record={"paused": (("nvidia.com/gpu.deploy.a", "true"),)},
    )
    assert step_node(node, some_orders(), NOW) == pausing(
        node,
        (LABEL, PAUSED),
        (other, f"yes_{PAUSED}"),
        paused=(("nvidia.com/gpu.deploy.a", "true"), (LABEL, "true"), (other, "yes")),
    )


@pytest.mark.parametrize(("value", "text"), [("true", PAUSED), ("false", f"false_{PAUSED}")])
def test_a_paused_label_reads_as_nvidias_driver_manager_writes_it(value: str, text: str) -> None:
    assert paused_value(value) == text


@pytest.mark.parametrize("labels", [{LABEL: PAUSED}, {LABEL: f"yes_{PAUSED}"}, {}])
def test_a_paused_client_is_waited_for_and_others_are_evicted_meanwhile(labels: dict[str, str]) -> None:
    assert step_node(evicting(a_daemon(0), a_gpu_pod(1), labels=labels), some_orders(), NOW) == evict(a_gpu_pod(1))
    expected = waiting(HoldCode.EVICTING, 1200.0, pod="jobs/train-0", count=1)
    assert step_node(evicting(a_daemon(0), labels=labels), some_orders(), NOW) == expected


def test_a_client_that_stops_already_is_not_paused() -> None:
    node = evicting(a_daemon(is_terminating=True), labels={LABEL: "true"})
    expected = waiting(HoldCode.EVICTING, 1200.0, pod="jobs/train-0", count=1)
    assert step_node(node, some_orders(), NOW) == expected


def test_a_client_not_paused_before_the_deadline_is_not_paused_after_it() -> None:
    node = evicting(a_daemon(), labels={LABEL: "true"})
    assert step_node(node, some_orders(), 1200.0) == given_up(node, 1200.0, FailureCode.EVICTION_TIMEOUT)


def test_a_client_that_came_back_is_paused_before_the_driver_restarts() -> None:
    node = cleared(NodePhase.POD_RESTART_REQUIRED, a_daemon(), labels={LABEL: "true"})
    assert step_node(node, some_orders(), NOW) == pausing(node, (LABEL, PAUSED), paused=((LABEL, "true"),))


def test_a_version_reverted_after_clients_were_paused_gives_the_node_and_its_clients_back() -> None:
    node = evicting(
        wanted=OLD,
        validator=proving(),
        labels={LABEL: PAUSED},
        paused_labels=(LABEL,),
        record={"paused": ((LABEL, "true"),)},
    )
    step = step_node(node, some_orders(), NOW)
    assert step.action is not None
    assert (step.action.id, getattr(step.action, "labels", None)) == ("n1/uncordon-required/1@7", ((LABEL, "true"),))


# ── checkpoints ──────────────────────────────────────────────────────────────────────────────────────────────────────

TOKEN = "spring.n1.1"
HOOK = "https://jobs.example.com/checkpoint"


def a_saver(number: int = 0, **changes: Any) -> Pod:
    return a_gpu_pod(number, **({"offers_checkpoint": True} | changes))


def saving(*pods: Pod) -> NodeSeen:
    """A node at pod deletion that had jobs which offer a checkpoint when it got there."""
    return evicting(*pods, record={"is_saving": True})


def asking(*pods: Pod, webhook: str = "") -> Step:
    return Step(action=AskCheckpoint(node="n1", attempt=1, pods=pods, token=TOKEN, webhook=webhook))


def pending(until: float, count: int = 1, pod: str = "jobs/train-0") -> Step:
    return waiting(HoldCode.CHECKPOINT_PENDING, until, pod=pod, count=count, token=TOKEN)


def hook_orders(**rebuffs: Any) -> Any:
    named = {key.replace("_", "-"): value for key, value in rebuffs.items()}
    return some_orders(intent=an_intent(checkpoint=Checkpoint(webhook=HOOK)), rebuffs=named)


def test_the_token_is_one_per_rollout_node_and_attempt() -> None:
    assert checkpoint_token(evicting(attempt=3), some_orders()) == "spring.n1.3"


def test_jobs_that_offer_it_are_asked_to_save_their_work_before_anybody_is_evicted() -> None:
    node = saving(a_gpu_pod(0), a_saver(1), a_saver(2))
    assert step_node(node, some_orders(), NOW) == asking(a_saver(1), a_saver(2))


def test_a_job_is_asked_once_and_waited_for() -> None:
    pod = a_saver(checkpoint_asked=TOKEN)
    assert step_node(saving(pod), some_orders(), NOW) == pending(1500.0)


def test_a_job_asked_by_an_earlier_attempt_is_asked_again() -> None:
    pod = a_saver(checkpoint_asked="spring.n1.0")
    assert step_node(saving(pod), some_orders(), NOW) == asking(pod)


def test_an_answer_to_an_earlier_attempt_does_not_count() -> None:
    pod = a_saver(checkpoint_asked=TOKEN, checkpoint_saved="spring.n1.0")
    assert step_node(saving(pod), some_orders(), NOW) == pending(1500.0)


def test_a_job_that_came_later_is_asked_while_others_are_waited_for() -> None:
    asked, late = a_saver(0, checkpoint_asked=TOKEN), a_saver(1)
    assert step_node(saving(asked, late), some_orders(), NOW) == asking(late)


def test_nobody_is_evicted_while_one_job_saves() -> None:
    saved = a_saver(0, checkpoint_asked=TOKEN, checkpoint_saved=TOKEN)
    busy = a_saver(1, checkpoint_asked=TOKEN)
    assert step_node(saving(saved, busy), some_orders(), NOW) == pending(1500.0, pod="jobs/train-1")


def test_jobs_that_saved_their_work_are_evicted() -> None:
    saved = a_saver(checkpoint_asked=TOKEN, checkpoint_saved=TOKEN)
    assert step_node(saving(saved, a_gpu_pod(1)), some_orders(), NOW) == evict(saved, a_gpu_pod(1))


def test_a_job_that_leaves_already_is_not_asked() -> None:
    node = saving(a_saver(is_terminating=True))
    assert step_node(node, some_orders(), NOW) == waiting(HoldCode.EVICTING, 1800.0, pod="jobs/train-0", count=1)


# ── Workloads of Kueue ───────────────────────────────────────────────────────────────────────────────────────────────


def a_queued(number: int = 0, **changes: Any) -> Pod:
    return a_gpu_pod(number, **({"workload": "job-train"} | changes))


def kueue_orders() -> Any:
    return some_orders(intent=an_intent(checkpoint=Checkpoint(webhook=HOOK, kueue=True)))


def ending(until: float, count: int = 1) -> Step:
    return waiting(HoldCode.KUEUE_PENDING, until, pod="jobs/train-0", count=count, workload="jobs/job-train")


def test_workloads_of_kueue_are_suspended_before_anybody_is_evicted() -> None:
    node = saving(a_queued(0), a_queued(1), a_gpu_pod(2))
    assert step_node(node, kueue_orders(), NOW) == asking(a_queued(0), a_queued(1), webhook=KUEUE)


def test_kueue_is_waited_for_until_it_has_ended_the_pods() -> None:
    off = a_queued(suspended_for=TOKEN)
    assert step_node(saving(off), kueue_orders(), NOW) == ending(1500.0)
    assert step_node(saving(off), kueue_orders(), 1500.0) == evict(off)
    leaving = replace(off, is_terminating=True)
    assert step_node(saving(leaving), kueue_orders(), NOW) == waiting(
        HoldCode.EVICTING, 1800.0, pod="jobs/train-0", count=1
    )


def test_a_workload_that_an_earlier_attempt_suspended_is_suspended_again() -> None:
    off = a_queued(suspended_for="spring.n1.0")
    assert step_node(saving(off), kueue_orders(), NOW) == asking(off, webhook=KUEUE)


def test_a_workload_that_is_suspended_for_another_node_of_its_pods_keeps_that_mark() -> None:
    off = a_queued(suspended_for="spring.n2.4")
    assert step_node(saving(off), kueue_orders(), NOW) == ending(1500.0)


def test_a_job_of_kueue_is_suspended_even_where_it_offers_to_save_its_work_and_the_others_are_asked() -> None:
    queued, saver = a_queued(0, offers_checkpoint=True, suspended_for=TOKEN), a_saver(1)
    assert step_node(saving(queued, saver), kueue_orders(), NOW) == asking(saver, webhook=HOOK)


def test_nobody_is_suspended_where_nobody_asked_for_it() -> None:
    assert step_node(saving(a_queued()), some_orders(), NOW) == evict(a_queued())


def test_the_time_to_save_begins_where_a_workload_can_be_suspended() -> None:
    node = a_node("n1", NodePhase.WAIT_FOR_JOBS_REQUIRED, is_cordon_ours=True, pods=(a_queued(),))
    for orders, is_saving in ((kueue_orders(), True), (some_orders(), False)):
        action = step_node(node, orders, NOW).action
        assert isinstance(action, WriteNodeRecord)
        assert (action.record.phase, action.record.is_saving) == (NodePhase.POD_DELETION_REQUIRED, is_saving)


def test_a_job_that_does_not_answer_in_time_is_evicted_without() -> None:
    pod = a_saver(checkpoint_asked=TOKEN)
    assert step_node(saving(pod), some_orders(), 1499.0) == pending(1500.0)
    assert step_node(saving(pod), some_orders(), 1500.0) == evict(pod)


def test_a_webhook_is_asked_until_it_says_that_the_work_is_saved() -> None:
    pod = a_saver(checkpoint_asked=TOKEN)
    assert step_node(saving(pod), hook_orders(), NOW) == asking(pod, webhook=HOOK)


def test_a_webhook_that_said_no_is_asked_again_after_a_while() -> None:
    node = saving(a_saver(0), a_saver(1))
    orders = hook_orders(pod_0=a_rebuff(count=2), pod_1=a_rebuff(count=1))
    assert step_node(node, orders, NOW) == pending(1005.0, count=2)
    assert step_node(node, orders, NOW + 5) == asking(a_saver(1), webhook=HOOK)
    assert step_node(node, orders, NOW + 10) == asking(a_saver(0), a_saver(1), webhook=HOOK)


def test_a_webhook_is_waited_for_no_longer_than_the_limit() -> None:
    assert step_node(saving(a_saver()), hook_orders(pod_0=a_rebuff(at=1499.0)), 1499.5) == pending(1500.0)


def test_the_time_to_leave_begins_when_the_time_to_save_is_over() -> None:
    saved = a_saver(checkpoint_saved=TOKEN, is_terminating=True)
    assert step_node(saving(saved), some_orders(), 1500.0) == waiting(
        HoldCode.EVICTING, 1800.0, pod="jobs/train-0", count=1
    )


def test_the_time_to_leave_does_not_shrink_when_the_job_that_saved_is_gone() -> None:
    leaving = a_gpu_pod(is_terminating=True)
    saved = a_saver(1, checkpoint_saved=TOKEN, is_terminating=True)
    holds = [step_node(saving(*pods), some_orders(), 1300.0).hold for pods in ((leaving, saved), (leaving,))]
    assert [held.code if held else None for held in holds] == [HoldCode.EVICTING, HoldCode.EVICTING]


# ── draining ─────────────────────────────────────────────────────────────────────────────────────────────────────────

DRAIN = Drain(is_enabled=True, rules=Eviction(timeout_seconds=600.0))
DRAINING = some_orders(intent=an_intent(drain=DRAIN))


def test_gpu_pods_that_do_not_leave_in_time_lead_to_a_drain_where_one_is_allowed() -> None:
    node = evicting(a_gpu_pod(is_terminating=True))
    expected = waiting(HoldCode.EVICTING, 1200.0, pod="jobs/train-0", count=1)
    assert step_node(node, DRAINING, 1199.0) == expected
    assert step_node(node, DRAINING, 1200.0) == opening(node, NodePhase.DRAIN_REQUIRED, entered_at=1200.0)


@pytest.mark.parametrize("pod", [pod for pod, *_ in PROTECTED])
def test_a_protected_pod_leads_straight_to_the_drain_where_one_is_allowed(pod: Pod) -> None:
    node = evicting(a_gpu_pod(1), pod)
    assert step_node(node, DRAINING, NOW) == opening(node, NodePhase.DRAIN_REQUIRED)


def test_a_protected_pod_that_leaves_by_itself_leads_to_no_drain() -> None:
    node = evicting(a_gpu_pod(keeper=PodOwner.NOBODY, is_terminating=True))
    assert step_node(node, DRAINING, NOW) == waiting(HoldCode.EVICTING, 1200.0, pod="jobs/train-0", count=1)


def test_a_drain_moves_every_pod_away_but_those_of_daemon_sets_and_static_ones() -> None:
    staying = (a_daemon(5), a_pod(6, keeper=PodOwner.DAEMON_SET), a_pod(7, keeper=PodOwner.KUBELET))
    assert step_node(draining(a_pod(0), a_gpu_pod(1), *staying), DRAINING, NOW) == evict(a_pod(0), a_gpu_pod(1))


def test_a_pod_that_asked_to_be_left_alone_is_not_drained() -> None:
    alone = a_pod(0, labels=((DRAIN_SKIP_KEY, "true"),))
    assert step_node(draining(alone, a_pod(1)), DRAINING, NOW) == evict(a_pod(1))


def test_a_drain_moves_only_those_it_selects() -> None:
    drain = Drain(is_enabled=True, selector=drain_selector("team=red"))
    red = a_pod(0, labels=(("team", "red"),))
    node = draining(red, a_pod(1))
    assert step_node(node, some_orders(intent=an_intent(drain=drain)), NOW) == evict(red)


def test_a_drained_node_goes_on_to_the_restart() -> None:
    node = draining(a_daemon())
    assert step_node(node, DRAINING, NOW) == opening(node, NodePhase.POD_RESTART_REQUIRED)


def test_a_drain_that_is_no_longer_allowed_drains_nobody() -> None:
    node = draining(a_pod())
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.POD_RESTART_REQUIRED)


@pytest.mark.parametrize(
    ("pod", "code"),
    [
        (a_pod(keeper=PodOwner.NOBODY), HoldCode.POD_WITHOUT_CONTROLLER),
        (a_pod(has_empty_dir=True), HoldCode.POD_WITH_EMPTY_DIR),
    ],
)
def test_a_drain_has_permissions_of_its_own(pod: Pod, code: HoldCode) -> None:
    careful = some_orders(intent=an_intent(drain=DRAIN, eviction=EVERYTHING))
    assert step_node(draining(pod), careful, NOW) == waiting(code, 1500.0, pod="web/web-0")
    forcing = some_orders(intent=an_intent(drain=Drain(is_enabled=True, rules=EVERYTHING)))
    assert step_node(draining(pod), forcing, NOW) == evict(pod)


def test_a_node_that_is_not_drained_in_time_is_given_up() -> None:
    node = draining(a_pod(is_terminating=True))
    assert step_node(node, DRAINING, NOW) == waiting(HoldCode.EVICTING, 1500.0, pod="web/web-0", count=1)
    assert step_node(node, DRAINING, 1500.0) == given_up(node, 1500.0, FailureCode.DRAIN_TIMEOUT)
