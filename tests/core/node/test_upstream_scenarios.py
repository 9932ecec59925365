"""NVIDIA's own tests of its upgrade controller, restated: what each arranges, and what we decide in that situation.

The numbers are those of the conformance list drawn from the tests of NVIDIA's library and operator; a number may have
several tests. Where we decide otherwise on purpose, the test states what we do and carries the line of
docs/deviations.md that says why. What a write does to a real API server is tested with one, in tests/adapters/kube and
tests/e2e; here it is the action that counts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import (
    Cordon,
    EvictPods,
    NodeAct,
    ReleaseMaintenance,
    Request,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.decision.summary import summarise
from seatrial.core.holds import HoldCode
from seatrial.core.model.consumers import Claim, GpuUse, claim_names, gpu_use
from seatrial.core.model.intent import Intent, Requestor, policies
from seatrial.core.model.owners import GPU_PRESENT, NOBODY, OWNER_LABEL, DriverClaim, Owner, assign
from seatrial.core.model.policy import Drain, Eviction, JobWait, Limits, PolicyWish, Share, policy_of
from seatrial.core.model.seen.nodes import Maintenance, NodePhase, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.operators import OperatorFacts, Pool
from seatrial.core.model.seen.pods import PodOwner
from seatrial.core.model.seen.rollouts import Rebuff
from seatrial.core.model.seen.snapshot import Freshness, Snapshot
from seatrial.core.model.selectors import DRAIN_SKIP_KEY, Selector, drain_selector
from seatrial.core.node.phases import NOT_STARTED, FailureCode
from seatrial.core.node.step import RESTARTS_MAX
from tests.builders import (
    NEW,
    NOW,
    TARGET,
    a_driver,
    a_fleet,
    a_gpu_pod,
    a_ledger,
    a_new_driver,
    a_node,
    a_pod,
    a_rebuff,
    a_snapshot,
    a_starting_driver,
    a_validator,
    a_well_node,
    an_intent,
    proving,
    written,
)
from tests.core.node.deviations import deviates, documented, quoted

REQUIRED, DONE, FAILED = NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE, NodePhase.UPGRADE_FAILED

NUMBERS = frozenset(
    {
        *(1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32, 34, 35, 37, 38, 40, 41, 43),
        *(44, 46, 47, 50, 52, 53, 55, 56, 58, 59, 61, 62, 65, 67, 68, 70, 71, 73, 74, 76, 77, 79, 80, 81, 82, 83, 86),
        *(87, 88, 89, 90, 91, 92, 94, 95, 98, 99, 100, 101, 106, 107, 108, 109, 110, 112, 113, 118, 119),
    }
)
"""The conformance list."""

ANNOTATIONS = "Timers, the admin's cordon and requestor mode are annotations of their own."
ERRORS_STOP_ALL = (
    "A surplus or missing driver pod, or a node that cannot be read, fails the pass for all nodes. "
    "The first error skips all later states."
)
FAILS_AT_ONCE = (
    "A pod that must not be evicted (no controller, emptyDir) fails the node at once, without an Event, "
    "unless `drain` is on."
)
ADMIN_CORDON_SKIPS = "A node that an admin cordoned skips `uncordon-required`."
ALWAYS_ON = "The library can leave pod deletion and validation out."


# ── one pass, and what it does to the nodes ──────────────────────────────────────────────────────────────────────────


def seeing(*nodes: NodeSeen, **changes: Any) -> Snapshot:
    """The nodes, with the ledger naming everybody who has started."""
    started = [node.name for node in nodes if node.record is not None and node.record.phase not in NOT_STARTED]
    return a_snapshot(*nodes, **({"admitted": a_ledger(*started)} | changes))


def one_pass(*nodes: NodeSeen, intent: Intent | None = None, now: float = NOW, **changes: Any) -> Decision:
    return decide(seeing(*nodes, **changes), intent or an_intent(), now)


def acts(*nodes: NodeSeen, **changes: Any) -> tuple[NodeAct, ...]:
    """What one pass does to the nodes."""
    return tuple(action for action in one_pass(*nodes, **changes).actions if isinstance(action, NodeAct))


def act(node: NodeSeen, **changes: Any) -> NodeAct:
    """The one thing a pass does to a node."""
    (only,) = acts(node, **changes)
    return only


def phase_after(node: NodeSeen, **changes: Any) -> NodePhase | None:
    """The phase a pass opens; the one the node is in when it opens none."""
    opened = [done.record.phase for done in acts(node, **changes) if isinstance(done, WriteNodeRecord)]
    return opened[0] if opened else node.record.phase if node.record else None


def holds(*nodes: NodeSeen, **changes: Any) -> dict[str, HoldCode]:
    """Who waits in one pass, and why."""
    return {held.subject: held.code for held in one_pass(*nodes, **changes).holds}


def newly_admitted(*nodes: NodeSeen, **limits: Any) -> set[str]:
    """Whom one pass lets into the ledger: those who start."""
    seen = seeing(*nodes)
    written_ledgers = [
        action.record.admitted
        for action in decide(seen, an_intent(**limits), NOW).actions
        if isinstance(action, WriteRolloutRecord)
    ]
    return {entry.node for ledger in written_ledgers for entry in ledger if entry not in seen.rollout.admitted}


def way_of(node: NodeSeen, **changes: Any) -> tuple[list[NodePhase], NodeSeen]:
    """The phases that pass after pass opens while nothing else changes, and the node in the end."""
    way: list[NodePhase] = []
    while True:
        writes = [action for action in acts(node, **changes) if isinstance(action, WriteNodeRecord)]
        if not writes:
            return way, node
        assert len(way) < len(NodePhase), f"{node.name} goes round in circles: {way}"
        way.append(writes[0].record.phase)
        node = after(node, writes[0])


def after(node: NodeSeen, write: WriteNodeRecord) -> NodeSeen:
    """The node as our write leaves it."""
    is_cordoned = isinstance(write, Cordon) or (node.facts.is_cordoned and not isinstance(write, Uncordon))
    return replace(node, facts=replace(node.facts, is_cordoned=is_cordoned), record=write.record)


# ── states and annotations ───────────────────────────────────────────────────────────────────────────────────────────


def test_scenario_1_a_write_carries_the_state_and_the_states_are_those_of_nvidia() -> None:
    assert act(a_node()) == written(a_node(), REQUIRED, attempt=1)
    assert {phase.value for phase in NodePhase} == {
        "upgrade-required",
        "cordon-required",
        "wait-for-jobs-required",
        "pod-deletion-required",
        "drain-required",
        "node-maintenance-required",
        "pod-restart-required",
        "validation-required",
        "uncordon-required",
        "upgrade-done",
        "upgrade-failed",
    }


@deviates(ANNOTATIONS)
def test_scenario_2_what_nvidia_annotates_travels_in_the_record_and_with_the_state() -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED, is_cordoned=True)
    opened = act(node)
    assert isinstance(opened, WriteNodeRecord)
    assert (opened.record.entered_at, opened.record.is_cordon_ours) == (NOW, False)


# ── cordon and drain ─────────────────────────────────────────────────────────────────────────────────────────────────

DRAINING = Drain(is_enabled=True)


def test_scenario_4_a_node_is_cordoned_and_uncordoned_with_its_state() -> None:
    starting = a_node(phase=NodePhase.CORDON_REQUIRED)
    assert isinstance(act(starting), Cordon)
    ending = a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True)
    assert isinstance(act(ending), Uncordon)


@deviates("The drain cordons the node again.")
def test_scenario_5_a_node_is_cordoned_long_before_its_drain_and_not_again_by_it() -> None:
    draining = an_intent(drain=DRAINING)
    assert isinstance(act(a_node(phase=NodePhase.CORDON_REQUIRED), intent=draining), Cordon)
    taken_back = a_node(phase=NodePhase.DRAIN_REQUIRED, is_cordoned=False, pods=(a_pod(),))
    assert acts(taken_back, intent=draining) == ()
    assert holds(taken_back, intent=draining) == {"n1": HoldCode.CORDON_LOST}
    assert phase_after(taken_back, intent=draining, now=900.0 + DRAINING.rules.timeout_seconds) is FAILED


def test_scenario_7_without_nodes_there_is_nothing_to_drain() -> None:
    assert acts(intent=an_intent(drain=DRAINING)) == ()


@deviates("A missing `drain` is an error in the library.")
def test_scenario_8_a_policy_without_a_drain_drains_nobody_and_is_no_error() -> None:
    silent = Intent(rollout="spring", target=TARGET, policy=policy_of([PolicyWish()]))
    node = a_node(phase=NodePhase.DRAIN_REQUIRED, is_cordoned=True, pods=(a_pod(),))
    assert act(node, intent=silent) == written(node, NodePhase.POD_RESTART_REQUIRED)


def test_scenario_10_a_drain_that_is_off_goes_on_to_the_restart_without_a_cordon() -> None:
    node = a_node(phase=NodePhase.DRAIN_REQUIRED, pods=(a_pod(),))
    assert act(node, intent=an_intent(drain=Drain(is_enabled=False))) == written(node, NodePhase.POD_RESTART_REQUIRED)


# ── restarting driver pods ───────────────────────────────────────────────────────────────────────────────────────────


def test_scenario_11_exactly_the_driver_pods_in_question_are_deleted() -> None:
    old = a_fleet(3, NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True)
    new = a_node("n4", NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, driver=a_starting_driver("n4"))
    deleted = [action for action in acts(*old, new) if isinstance(action, RestartPod)]
    assert [(action.operand, action.namespace, action.pod, action.uid) for action in deleted] == [
        (Operand.DRIVER, "gpu-operator", "driver-n1", "driver-n1-0"),
        (Operand.DRIVER, "gpu-operator", "driver-n2", "driver-n2-0"),
        (Operand.DRIVER, "gpu-operator", "driver-n3", "driver-n3-0"),
    ]


def test_scenario_13_without_a_driver_pod_in_question_none_is_deleted() -> None:
    assert acts(a_well_node("n1", DONE), a_well_node("n2", DONE)) == ()


# ── waiting for jobs ─────────────────────────────────────────────────────────────────────────────────────────────────

JOB = a_pod(labels=(("app", "job"),))


def waiting(*, timeout_seconds: float) -> Intent:
    return an_intent(jobs=JobWait(selector=Selector.parse("app=job"), timeout_seconds=timeout_seconds))


def waiting_for_jobs(*pods: Any) -> NodeSeen:
    return a_node(phase=NodePhase.WAIT_FOR_JOBS_REQUIRED, is_cordon_ours=True, pods=pods)


def test_scenario_14_a_job_that_is_finished_is_not_waited_for() -> None:
    """A finished pod uses no node any more: it is not among the pods of a snapshot."""
    node = waiting_for_jobs(a_pod(labels=(("app", "other"),)))
    assert act(node, intent=waiting(timeout_seconds=30)) == written(node, NodePhase.POD_DELETION_REQUIRED)


@deviates("The timer of `waitForCompletion` begins when a job is first seen.")
def test_scenario_16_a_running_job_is_waited_for_and_the_time_runs() -> None:
    decision = one_pass(waiting_for_jobs(JOB), intent=waiting(timeout_seconds=300))
    (held,) = decision.holds
    assert (held.code, held.since, held.until) == (HoldCode.JOBS_RUNNING, 900.0, 900.0 + 300)
    assert decision.wake_at == held.until
    assert acts(waiting_for_jobs(JOB), intent=waiting(timeout_seconds=300)) == ()


def test_scenario_17_when_its_time_is_up_the_job_is_evicted_like_any_other_pod() -> None:
    node = waiting_for_jobs(JOB)
    late = 900.0 + 35
    assert phase_after(node, intent=waiting(timeout_seconds=30), now=late) is NodePhase.POD_DELETION_REQUIRED


# ── deleting GPU pods ────────────────────────────────────────────────────────────────────────────────────────────────

WITH_CPU_POD = a_pod(7, keeper=PodOwner.NOBODY)
BARE_PODS = (
    a_gpu_pod(1, keeper=PodOwner.NOBODY),
    a_gpu_pod(2, keeper=PodOwner.NOBODY, gpu=GpuUse.MIG),
    WITH_CPU_POD,
)
SCRATCH_PODS = tuple(replace(pod, has_empty_dir=True) for pod in BARE_PODS)


def deleting_pods(*pods: Any, **changes: Any) -> NodeSeen:
    return a_node(phase=NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, pods=pods, **changes)


@deviates(FAILS_AT_ONCE)
def test_scenario_19_pods_without_a_controller_stay_and_in_the_end_the_node_fails() -> None:
    node = deleting_pods(*BARE_PODS)
    assert acts(node) == ()
    assert holds(node) == {"n1": HoldCode.POD_WITHOUT_CONTROLLER}
    failed = act(node, now=900.0 + Eviction().timeout_seconds)
    assert isinstance(failed, WriteNodeRecord)
    assert (failed.record.phase, failed.record.reason) == (FAILED, FailureCode.EVICTION_TIMEOUT)


def test_scenario_20_pods_without_a_controller_stay_and_the_node_goes_on_to_the_drain() -> None:
    node = deleting_pods(*BARE_PODS)
    assert act(node, intent=an_intent(drain=DRAINING)) == written(node, NodePhase.DRAIN_REQUIRED)


@deviates(FAILS_AT_ONCE)
def test_scenario_22_pods_with_an_empty_dir_stay_and_in_the_end_the_node_fails() -> None:
    node, forcing = deleting_pods(*SCRATCH_PODS), an_intent(eviction=Eviction(force=True))
    assert acts(node, intent=forcing) == ()
    assert holds(node, intent=forcing) == {"n1": HoldCode.POD_WITH_EMPTY_DIR}
    assert phase_after(node, intent=forcing, now=900.0 + Eviction().timeout_seconds) is FAILED


def test_scenario_23_pods_with_an_empty_dir_stay_and_the_node_goes_on_to_the_drain() -> None:
    node = deleting_pods(*SCRATCH_PODS)
    intent = an_intent(eviction=Eviction(force=True), drain=DRAINING)
    assert act(node, intent=intent) == written(node, NodePhase.DRAIN_REQUIRED)


# ── who holds a GPU ──────────────────────────────────────────────────────────────────────────────────────────────────


def use_of(*resources: str, phase: str = "Running", claims: tuple[Claim, ...] = ()) -> GpuUse | None:
    return gpu_use(phase=phase, resources=resources, claims=claims, runtime_class="")


def a_claim(driver: str = "gpu.nvidia.com", *, is_admin: bool = False) -> Claim:
    return Claim(name="claim", is_allocated=True, results=((driver, is_admin),))


def test_scenario_25_a_pending_pod_that_requests_a_gpu_holds_one() -> None:
    assert use_of("cpu", "nvidia.com/gpu", phase="Pending") is GpuUse.RESOURCE


def test_scenario_26_a_pod_that_requests_a_mig_slice_holds_a_gpu() -> None:
    assert use_of("nvidia.com/mig-1g.5gb") is GpuUse.MIG


def test_scenario_28_a_pod_that_requests_cpu_and_memory_only_holds_none() -> None:
    assert use_of("cpu", "memory") is None


def test_scenario_29_a_pod_that_succeeded_holds_none() -> None:
    assert use_of("nvidia.com/gpu", phase="Succeeded") is None


def test_scenario_31_a_claim_with_admin_access_holds_none() -> None:
    assert use_of(claims=(a_claim(is_admin=True),)) is None
    assert use_of(claims=(a_claim(is_admin=False),)) is GpuUse.CLAIM


def test_scenario_32_a_claim_of_another_driver_holds_none() -> None:
    assert use_of(claims=(a_claim("nic.example.com"),)) is None


def test_scenario_34_a_claim_made_from_a_template_is_found_through_the_status_of_the_pod() -> None:
    names = claim_names(wanted=[("gpus", "")], generated={"gpus": "train-gpus-x7"})
    assert names == ("train-gpus-x7",)
    assert use_of(claims=tuple(replace(a_claim(), name=name) for name in names)) is GpuUse.CLAIM


def test_scenario_35_a_claim_that_cannot_be_read_holds_one() -> None:
    assert use_of(claims=(Claim(name="gone", is_readable=False),)) is GpuUse.CLAIM_UNREADABLE


# ── safe load ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_scenario_37_a_node_in_sync_that_waits_for_safe_load_is_upgraded_and_without_it_is_not() -> None:
    assert phase_after(a_well_node(phase=DONE, awaits_safe_load=True)) is REQUIRED
    assert acts(a_well_node(phase=DONE, awaits_safe_load=False)) == ()


def test_scenario_38_a_blocked_node_is_unblocked_once() -> None:
    node = a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, driver=a_starting_driver())
    assert answers_to(replace(node, facts=replace(node.facts, awaits_safe_load=True))) == [(Request.SAFE_LOAD,)]
    assert answers_to(node) == []


def answers_to(node: NodeSeen) -> list[tuple[Request, ...]]:
    """The annotations that a pass takes away."""
    return [action.answers for action in acts(node) if isinstance(action, WriteNodeRecord) and action.answers]


# ── what is seen ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_scenario_40_a_node_is_counted_under_its_state() -> None:
    seen = a_snapshot(a_node(phase=NodePhase.DRAIN_REQUIRED))
    assert summarise(seen, (), None).counts == (("drain-required", 1),)


def test_scenario_41_a_driver_pod_without_a_node_is_nobodys() -> None:
    """The pod waits to be scheduled, so no node has it, and the node it is meant for has none."""
    assert acts(a_node(driver=None)) == ()
    assert holds(a_node(driver=None)) == {"n1": HoldCode.DRIVER_POD_MISSING}


@deviates(ERRORS_STOP_ALL)
def test_scenario_43_a_missing_driver_pod_holds_its_own_node_only() -> None:
    there, missing = a_node("n1"), a_node("n2", driver=None)
    assert acts(there, missing) == (written(there, REQUIRED, attempt=1),)
    assert holds(there, missing) == {"n2": HoldCode.DRIVER_POD_MISSING}


# ── a pass ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_scenario_44_whoever_sees_nothing_does_nothing_and_does_not_call_it_done() -> None:
    assert acts() == ()
    assert summarise(a_snapshot(), (), None).state == "waiting"
    blind = (Freshness(source="pods", is_synced=False, heard_at=NOW),)
    decision = one_pass(a_node(phase=NodePhase.CORDON_REQUIRED), freshness=blind)
    assert [type(action) for action in decision.actions] == [WriteRolloutRecord]
    assert decision.stop is not None
    assert decision.stop.code is HoldCode.STALE_VIEW


def test_scenario_46_a_node_met_in_sync_is_done() -> None:
    assert phase_after(a_well_node()) is DONE


def test_scenario_47_a_node_met_out_of_sync_needs_an_upgrade() -> None:
    assert phase_after(a_node()) is REQUIRED


@deviates(ANNOTATIONS)
@pytest.mark.parametrize("phase", [None, DONE])
def test_scenario_50_a_cordon_found_on_a_node_is_never_called_ours(phase: NodePhase | None) -> None:
    needing = act(a_node(phase=phase, is_cordoned=True))
    assert isinstance(needing, WriteNodeRecord)
    assert (needing.record.phase, needing.record.is_cordon_ours) == (REQUIRED, False)
    in_sync = a_well_node(is_cordoned=True)
    assert act(in_sync) == written(in_sync, DONE)


ORPHANED_IS_DONE = "An orphaned driver pod (no owner) counts as done."


@deviates(ORPHANED_IS_DONE)
@pytest.mark.parametrize("phase", [None, DONE])
def test_scenario_52_an_orphaned_driver_is_not_upgraded_and_not_called_done(phase: NodePhase | None) -> None:
    node = a_node(phase=phase, driver=a_driver(is_orphaned=True), wanted=None)
    assert acts(node) == ()
    assert holds(node) == {"n1": HoldCode.DRIVER_ORPHANED}


@pytest.mark.parametrize("phase", [None, DONE])
def test_scenario_53_an_orphaned_driver_is_upgraded_when_somebody_asks_for_it(phase: NodePhase | None) -> None:
    node = a_node(phase=phase, driver=a_driver(is_orphaned=True), wanted=None, is_requested=True)
    assert phase_after(node) is REQUIRED
    assert answers_to(node) == [(Request.UPGRADE,)]


# ── the budget ───────────────────────────────────────────────────────────────────────────────────────────────────────


def cordoned_last() -> tuple[NodeSeen, ...]:
    return (*a_fleet(3, REQUIRED), *(a_node(name, REQUIRED, is_cordoned=True) for name in ("n4", "n5")))


@deviates("No `maxUnavailable` in a ClusterPolicy means no limit; in an NVIDIADriver, 25%.")
def test_scenario_55_all_start_when_nothing_limits_them_and_a_quarter_when_nobody_said_how_many() -> None:
    fleet = a_fleet(5, REQUIRED)
    assert len(newly_admitted(*fleet, parallel_max=0, unavailable_max="100%")) == 5
    unsaid = policy_of([PolicyWish(parallel_max=0)]).limits.unavailable_max
    assert len(newly_admitted(*fleet, parallel_max=0, unavailable_max=str(unsaid))) == 2


def test_scenario_56_three_of_five_start_when_three_may() -> None:
    assert newly_admitted(*a_fleet(5, REQUIRED), parallel_max=3, unavailable_max="100%") == {"n1", "n2", "n3"}


def test_scenario_58_cordoned_nodes_start_with_the_others_when_nothing_limits_them() -> None:
    assert len(newly_admitted(*cordoned_last(), parallel_max=0, unavailable_max="100%")) == 5


def test_scenario_59_two_cordoned_and_one_more_start_when_half_may_be_unavailable() -> None:
    assert newly_admitted(*cordoned_last(), parallel_max=0, unavailable_max="50%") == {"n1", "n4", "n5"}


def test_scenario_61_two_start_when_two_may_be_unavailable() -> None:
    assert len(newly_admitted(*a_fleet(5, REQUIRED), parallel_max=3, unavailable_max=2)) == 2


def test_scenario_62_those_about_to_be_cordoned_count_against_both_limits() -> None:
    starting = (a_node(name, NodePhase.CORDON_REQUIRED) for name in ("n3", "n4", "n5"))
    assert newly_admitted(*a_fleet(2, REQUIRED), *starting, parallel_max=4, unavailable_max=4) == {"n1"}


@deviates(
    "A failed node holds a parallel slot for ever. With the default of one, the fleet stops; with more, it rolls on "
    "past any number of failures."
)
def test_scenario_65_one_failed_node_stops_nobody_and_two_stop_everybody() -> None:
    def failed(name: str) -> NodeSeen:
        return a_node(name, FAILED, is_cordon_ours=True, record={"failed_revision": NEW.hash})

    limits = {"parallel_max": 1, "unavailable_max": "50%"}
    assert newly_admitted(*a_fleet(5, REQUIRED), failed("n6"), **limits) == {"n1"}
    assert newly_admitted(*a_fleet(5, REQUIRED), failed("n6"), failed("n7"), **limits) == set()


# ── the middle of the way ────────────────────────────────────────────────────────────────────────────────────────────


def test_scenario_67_without_jobs_to_wait_for_the_gpu_pods_are_next() -> None:
    node = waiting_for_jobs(JOB)
    assert act(node, intent=an_intent(jobs=JobWait(selector=None))) == written(node, NodePhase.POD_DELETION_REQUIRED)


@deviates(ALWAYS_ON)
def test_scenario_68_gpu_pods_are_always_evicted_before_the_driver_goes() -> None:
    silent = Intent(rollout="spring", target=TARGET, policy=policy_of([PolicyWish()]))
    pod = a_gpu_pod()
    assert act(deleting_pods(pod), intent=silent) == EvictPods(node="n1", attempt=1, pods=(pod,))


def test_scenario_70_every_node_is_drained_by_the_selector_of_the_policy() -> None:
    web, batch = a_pod(1, labels=(("tier", "web"),)), a_pod(2, labels=(("tier", "batch"),))
    kept = a_pod(3, labels=(("tier", "web"), (DRAIN_SKIP_KEY, "true")))
    daemon = a_pod(4, labels=(("tier", "web"),), keeper=PodOwner.DAEMON_SET)
    nodes = [
        a_node(name, NodePhase.DRAIN_REQUIRED, is_cordon_ours=True, pods=(web, batch, kept, daemon))
        for name in ("n1", "n2")
    ]
    drain = Drain(is_enabled=True, selector=drain_selector("tier=web"))
    assert acts(*nodes, intent=an_intent(drain=drain)) == tuple(
        EvictPods(node=node.name, attempt=1, pods=(web,)) for node in nodes
    )


@deviates(ERRORS_STOP_ALL)
def test_scenario_71_a_drain_that_is_turned_down_holds_its_own_node_only() -> None:
    blocked, free = a_pod(1), a_pod(2)
    nodes = [
        a_node(name, NodePhase.DRAIN_REQUIRED, is_cordon_ours=True, pods=(pod,))
        for name, pod in (("n1", blocked), ("n2", free))
    ]
    turned_down = {blocked.uid: a_rebuff(detail="a budget allows nothing")}
    draining = an_intent(drain=DRAINING)
    assert acts(*nodes, intent=draining, rebuffs=turned_down) == (EvictPods(node="n2", attempt=1, pods=(free,)),)
    assert holds(*nodes, intent=draining, rebuffs=turned_down) == {"n1": HoldCode.EVICTION_BLOCKED}


# ── the new driver ───────────────────────────────────────────────────────────────────────────────────────────────────


UNREADY = a_validator(is_ready=False, ready_since=None)


def restarting(**changes: Any) -> NodeSeen:
    return a_node(phase=NodePhase.POD_RESTART_REQUIRED, **({"is_cordon_ours": True} | changes))


def test_scenario_73_a_driver_in_sync_is_told_to_load_and_not_deleted() -> None:
    node = restarting(driver=a_starting_driver(), awaits_safe_load=True)
    answer = act(node)
    assert isinstance(answer, WriteNodeRecord)
    assert (answer.record, answer.answers) == (node.record, (Request.SAFE_LOAD,))


@deviates("In `pod-restart-required` an orphaned driver pod is deleted, whoever may put another in its place.")
@pytest.mark.parametrize("wanted", [None, NEW])
def test_scenario_74_an_orphaned_driver_pod_is_deleted_where_somebody_replaces_it_or_asked_for_it(wanted: Any) -> None:
    orphan = a_driver(is_orphaned=True)
    deleted = act(restarting(driver=orphan, wanted=wanted, record={"is_requested": True}))
    assert isinstance(deleted, RestartPod)
    assert (deleted.operand, deleted.uid) == (Operand.DRIVER, "driver-n1-0")
    assert isinstance(act(restarting(driver=orphan, wanted=NEW, owner="fleet")), RestartPod)
    assert holds(restarting(driver=orphan, wanted=wanted)) == {"n1": HoldCode.DRIVER_ORPHANED}


@deviates(ADMIN_CORDON_SKIPS)
def test_scenario_76_a_node_that_an_admin_cordoned_is_done_and_stays_cordoned() -> None:
    way, node = way_of(a_well_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordoned=True))
    assert way == [NodePhase.VALIDATION_REQUIRED, NodePhase.UNCORDON_REQUIRED, DONE]
    assert node.facts.is_cordoned
    given_up = a_well_node(phase=FAILED, is_cordoned=True, record={"failed_revision": NEW.hash})
    assert act(given_up) == written(given_up, DONE, failed_revision="")


@pytest.mark.parametrize(
    ("restart_count", "following"),
    [(0, None), (RESTARTS_MAX, None), (RESTARTS_MAX + 1, FAILED)],
)
def test_scenario_77_a_driver_that_starts_again_and_again_fails_its_node(
    restart_count: int, following: NodePhase | None
) -> None:
    """Whether it is an init or a main container makes no difference: the highest count of those not ready is told."""
    node = restarting(driver=a_starting_driver(restart_count=restart_count))
    assert phase_after(node) is (following or NodePhase.POD_RESTART_REQUIRED)
    assert RESTARTS_MAX == 10


def test_scenario_79_a_failed_node_whose_driver_is_not_known_to_be_in_sync_stays_failed() -> None:
    node = a_node(phase=FAILED, is_cordon_ours=True, driver=a_new_driver(is_orphaned=True), wanted=None)
    assert acts(node) == ()
    assert holds(node) == {"n1": HoldCode.FAILED}


def test_scenario_80_a_node_is_uncordoned_and_done_in_one_write() -> None:
    node = a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True)
    assert act(node) == written(node, DONE, by=Uncordon, is_cordon_ours=False)


@deviates("`uncordon-required` uncordons without looking.")
def test_scenario_80_a_node_no_longer_proven_is_not_uncordoned() -> None:
    node = a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, validator=UNREADY)
    assert act(node) == written(node, NodePhase.VALIDATION_REQUIRED)


@deviates(ERRORS_STOP_ALL)
def test_scenario_81_a_node_whose_uncordon_is_turned_down_is_not_done_and_holds_nobody_else() -> None:
    stuck = a_well_node("n1", NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True)
    other = a_well_node("n2", NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True)
    turned_down: dict[str, Rebuff] = {"n1": a_rebuff(detail="forbidden")}
    assert acts(stuck, other, rebuffs=turned_down) == (written(other, DONE, by=Uncordon, is_cordon_ours=False),)
    assert holds(stuck, other, rebuffs=turned_down) == {"n1": HoldCode.WRITE_REFUSED}


# ── validation ───────────────────────────────────────────────────────────────────────────────────────────────────────


def validating(**changes: Any) -> NodeSeen:
    return a_well_node(phase=NodePhase.VALIDATION_REQUIRED, **({"is_cordon_ours": True} | changes))


@deviates(ALWAYS_ON)
def test_scenario_82_a_driver_is_always_validated() -> None:
    assert phase_after(restarting(driver=a_new_driver(), validator=None)) is NodePhase.VALIDATION_REQUIRED
    assert phase_after(validating(validator=None)) is NodePhase.VALIDATION_REQUIRED


@deviates("No validator pod: waits for ever.")
def test_scenario_83_without_a_validator_the_node_waits_until_its_time_is_up() -> None:
    (held,) = one_pass(validating(validator=None)).holds
    assert (held.code, held.until) == (HoldCode.VALIDATOR_MISSING, 900.0 + 600)
    assert phase_after(validating(validator=None), now=900.0 + 600) is FAILED


@deviates(ANNOTATIONS)
def test_scenario_86_a_validator_that_is_not_ready_is_waited_for_and_the_time_runs() -> None:
    (held,) = one_pass(validating(validator=UNREADY)).holds
    assert (held.code, held.since, held.until) == (HoldCode.VALIDATOR_NOT_READY, 900.0, 900.0 + 600)


def test_scenario_87_a_validator_that_is_not_ready_in_time_fails_the_node() -> None:
    failed = act(validating(validator=UNREADY), now=900.0 + 605)
    assert isinstance(failed, WriteNodeRecord)
    assert (failed.record.phase, failed.record.reason) == (FAILED, FailureCode.VALIDATION_TIMEOUT)


def test_scenario_88_a_validator_that_is_ready_in_time_proves_the_driver() -> None:
    assert phase_after(validating(validator=UNREADY), now=900.0 + 599) is NodePhase.VALIDATION_REQUIRED
    assert phase_after(validating(validator=proving()), now=900.0 + 599) is NodePhase.UNCORDON_REQUIRED


def test_scenario_89_a_proven_driver_leads_to_the_uncordon() -> None:
    assert act(validating()) == written(validating(), NodePhase.UNCORDON_REQUIRED)


@deviates(ADMIN_CORDON_SKIPS)
def test_scenario_90_a_proven_driver_on_a_node_that_an_admin_cordoned_leads_past_the_uncordon() -> None:
    way, node = way_of(validating(is_cordon_ours=False, is_cordoned=True))
    assert way == [NodePhase.UNCORDON_REQUIRED, DONE]
    assert node.facts.is_cordoned


@deviates(
    "Validation that times out fails the node; the next pass finds the driver pod Ready and uncordons the node anyway."
)
def test_scenario_91_a_failed_validation_keeps_the_node_cordoned_though_its_driver_is_ready() -> None:
    way, node = way_of(validating(validator=UNREADY), now=900.0 + 605)
    assert way == [FAILED]
    assert node.facts.is_cordoned
    assert holds(node, now=900.0 + 605) == {"n1": HoldCode.FAILED}
    proven = replace(node, facts=replace(node.facts, validator=proving()))
    assert way_of(proven)[0] == [DONE]
    assert isinstance(act(proven), Uncordon)


# ── where a maintenance operator empties the nodes ───────────────────────────────────────────────────────────────────

OURS = Requestor(id="seatrial.dev")


def asking(**changes: Any) -> Intent:
    return an_intent(requestor=OURS, **changes)


def a_maintenance(**changes: Any) -> Maintenance:
    found = Maintenance(
        namespace="default", name="nvidia-operator-n1", uid="m1", resource_version="3", requestor=OURS.id
    )
    return replace(found, **changes)


def under_maintenance(**changes: Any) -> NodeSeen:
    return a_node(phase=NodePhase.NODE_MAINTENANCE_REQUIRED, **changes)


@deviates("Requestor mode knows no limits: every pending node asks the maintenance operator at once.")
def test_scenario_92_nodes_ask_for_maintenance_as_the_limits_allow() -> None:
    fleet = a_fleet(3, REQUIRED)
    assert len(newly_admitted(*fleet, requestor=OURS, parallel_max=3, unavailable_max="100%")) == 3
    assert len(newly_admitted(*fleet, requestor=OURS, parallel_max=1, unavailable_max="100%")) == 1
    drain = Drain(is_enabled=True, selector=drain_selector("tier=web"))
    intent = asking(drain=drain, parallel_max=3, unavailable_max="100%")
    admitted = acts(*fleet, intent=intent, admitted=a_ledger("n1", "n2", "n3"))
    assert [one.record.phase for one in admitted if isinstance(one, WriteNodeRecord)] == [
        NodePhase.NODE_MAINTENANCE_REQUIRED
    ] * 3
    asked = act(under_maintenance(), intent=intent)
    assert asked == RequestMaintenance(
        node="n1",
        attempt=1,
        namespace="default",
        name="nvidia-operator-n1",
        requestor="seatrial.dev",
        policy=intent.policy,
    )
    assert str(intent.policy.drain.selector) == f"tier=web,{DRAIN_SKIP_KEY}!=true"


def test_scenario_94_a_node_whose_maintenance_is_not_ready_waits() -> None:
    node = under_maintenance(maintenance=a_maintenance(is_ready=False))
    assert acts(node, intent=asking()) == ()
    assert holds(node, intent=asking()) == {"n1": HoldCode.MAINTENANCE_PENDING}


def test_scenario_95_a_node_whose_maintenance_is_ready_restarts_its_driver() -> None:
    node = under_maintenance(maintenance=a_maintenance(is_ready=True), is_cordoned=True)
    assert phase_after(node, intent=asking()) is NodePhase.POD_RESTART_REQUIRED


@deviates("A NodeMaintenance that vanished sends the node back to `upgrade-required`.")
def test_scenario_95_a_maintenance_that_vanished_is_asked_for_again() -> None:
    assert isinstance(act(under_maintenance(maintenance=None), intent=asking()), RequestMaintenance)


def released(found: Maintenance) -> tuple[list[NodePhase], NodeAct]:
    """The way of a proven node under maintenance to its end, and what happens to the maintenance then."""
    node = a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordoned=True, maintenance=found)
    way, ended = way_of(node, intent=asking())
    assert ended.facts.is_cordoned, "the maintenance operator lifts its own cordon"
    return way, act(ended, intent=asking())


def test_scenario_98_our_maintenance_goes_when_the_node_is_done() -> None:
    way, release = released(a_maintenance(is_ready=True))
    assert way == [DONE]
    assert release == ReleaseMaintenance(
        node="n1",
        attempt=1,
        namespace="default",
        name="nvidia-operator-n1",
        requestor="seatrial.dev",
        uid="m1",
        resource_version="3",
        is_ours=True,
    )


def test_scenario_99_the_maintenance_of_another_is_kept_and_only_our_name_goes() -> None:
    way, release = released(a_maintenance(requestor="network", others=("seatrial.dev", "storage"), is_ready=True))
    assert way == [DONE]
    assert isinstance(release, ReleaseMaintenance)
    assert (release.is_ours, release.stay) == (False, ("storage",))


def test_scenario_100_a_proven_node_under_maintenance_goes_on_and_its_cordon_is_not_ours() -> None:
    node = validating(is_cordon_ours=False, is_cordoned=True, maintenance=a_maintenance(is_ready=True))
    assert act(node, intent=asking()) == written(node, NodePhase.UNCORDON_REQUIRED)


@deviates(ADMIN_CORDON_SKIPS)
def test_scenario_101_a_proven_node_that_an_admin_cordoned_is_done_where_nobody_was_asked() -> None:
    way, node = way_of(validating(is_cordon_ours=False, is_cordoned=True), intent=asking())
    assert way == [NodePhase.UNCORDON_REQUIRED, DONE]
    assert node.facts.is_cordoned


# ── what the operator adds ───────────────────────────────────────────────────────────────────────────────────────────

SKIP_TERM = "nvidia.com/gpu-driver-upgrade-drain.skip!=true"


def test_scenario_106_a_policy_without_a_drain_selects_by_the_skip_term() -> None:
    assert str(policy_of([PolicyWish()]).drain.selector) == SKIP_TERM


def test_scenario_107_an_empty_selector_is_the_skip_term_alone() -> None:
    assert str(drain_selector("")) == SKIP_TERM


def test_scenario_108_the_skip_term_follows_a_selector_of_the_user() -> None:
    assert str(drain_selector("team=red")) == f"team=red,{SKIP_TERM}"


def test_scenario_109_a_changed_state_or_skip_label_changes_the_decision() -> None:
    ready = a_node(phase=REQUIRED)
    assert newly_admitted(ready) == {"n1"}
    assert newly_admitted(replace(ready, facts=replace(ready.facts, is_skipped=True))) == set()
    failed = a_node(phase=FAILED, is_cordon_ours=True, record={"failed_revision": NEW.hash})
    assert acts(failed) == ()
    assert phase_after(replace(failed, is_retry_asked=True)) is REQUIRED


def test_scenario_110_an_unrelated_label_changes_nothing() -> None:
    """Every change of a node wakes us; what counts is that nothing follows from it."""
    node = a_well_node(phase=DONE)
    labelled = replace(node, facts=replace(node.facts, labels={"team": "red"}, resource_version="8"))
    before, now = one_pass(node), one_pass(labelled)
    assert now == before
    assert acts(labelled) == ()


# ── NVIDIADrivers ────────────────────────────────────────────────────────────────────────────────────────────────────


def a_pool(name: str, **changes: Any) -> Pool:
    return replace(Pool(name=name, claim=DriverClaim(name=name, selector={"pool": name})), **changes)


def pooled(*pools: Pool) -> tuple[OperatorFacts, Intent]:
    """A cluster with these NVIDIADrivers, and a rollout that says nothing about its policy."""
    operator = OperatorFacts(kind="NVIDIADriver", pools=pools)
    policy, by_pool = policies(PolicyWish(), operator)
    return operator, Intent(rollout="spring", target=TARGET, policy=policy, pools=by_pool)


@deviates("Does not watch pods; looks again every 120 s. 20 nodes, 4 at a time, 20 s reload: 618 s for 105 s of work.")
def test_scenario_112_an_nvidia_driver_without_a_policy_upgrades_by_itself_with_the_defaults() -> None:
    operator, intent = pooled(a_pool("fleet"))
    assert intent.pools["fleet"] == policy_of([PolicyWish()])
    assert intent.pools["fleet"].limits == Limits(parallel_max=1, unavailable_max=Share(amount=25, is_percent=True))
    decision = one_pass(a_node(owner="fleet"), operator=operator, intent=intent)
    assert decision.stop is not None
    assert (decision.stop.code, dict(decision.stop.params)) == (
        HoldCode.MODE_CONTRADICTION,
        {"owner": "NVIDIADriver/fleet"},
    )
    assert decision.wake_at is None


@deviates("`autoUpgrade: false` on one of several NVIDIADrivers ends the work on its nodes.")
def test_scenario_113_the_nodes_of_a_disabled_nvidia_driver_are_ours_and_those_of_the_other_are_not() -> None:
    operator, intent = pooled(a_pool("canary", is_auto_upgrading=False), a_pool("fleet", is_auto_upgrading=True))
    canary, fleet = a_node("n1", owner="canary"), a_node("n2", owner="fleet")
    assert acts(canary, operator=operator, intent=intent) == (written(canary, REQUIRED, attempt=1),)
    assert acts(canary, fleet, operator=operator, intent=intent) == ()
    assert holds(canary, fleet, operator=operator, intent=intent) == dict.fromkeys(
        ("n1", "n2"), HoldCode.MODE_CONTRADICTION
    )


def orphaned(phase: NodePhase | None, **changes: Any) -> NodeSeen:
    fields: dict[str, Any] = {"driver": a_driver(is_orphaned=True), "wanted": NEW, "owner": "fleet"}
    return a_node(phase=phase, **(fields | changes))


@pytest.mark.parametrize("phase", [None, DONE])
def test_scenario_118_an_orphaned_driver_is_replaced_where_an_nvidia_driver_owns_the_node(
    phase: NodePhase | None,
) -> None:
    assert phase_after(orphaned(phase)) is REQUIRED


def test_scenario_118_an_orphaned_driver_of_a_node_under_way_or_failed_begins_nothing_new() -> None:
    under_way = orphaned(NodePhase.WAIT_FOR_JOBS_REQUIRED, is_cordon_ours=True)
    assert act(under_way) == written(under_way, NodePhase.POD_DELETION_REQUIRED)
    failed = orphaned(FAILED, is_cordon_ours=True, record={"failed_revision": NEW.hash})
    assert acts(failed) == ()
    assert holds(failed) == {"n1": HoldCode.FAILED}


def test_scenario_118_a_driver_pod_that_has_an_owner_is_not_replaced() -> None:
    assert acts(a_well_node(phase=DONE, owner="fleet")) == ()


@deviates(ORPHANED_IS_DONE)
def test_scenario_118_an_orphaned_driver_of_nobodys_node_is_held_and_one_that_does_not_run_is_replaced() -> None:
    unowned = orphaned(DONE, owner="")
    assert acts(unowned) == ()
    assert holds(unowned) == {"n1": HoldCode.DRIVER_ORPHANED}
    leaving = DriverClaim(name="fleet", selector={}, is_deleting=True)
    assert assign([leaving], GPU_PRESENT) == NOBODY
    assert assign([leaving], {**GPU_PRESENT, OWNER_LABEL: "fleet"}).name == ""
    assert phase_after(orphaned(DONE, driver=a_driver(is_orphaned=True, is_ready=False))) is REQUIRED


CANARY_NODE = {**GPU_PRESENT, "pool": "canary"}
DEFAULT = DriverClaim(name="default", is_default=True)
CANARY = DriverClaim(name="canary", selector={"pool": "canary"})


@pytest.mark.parametrize(
    ("claims", "owner"),
    [
        ([DEFAULT, CANARY], Owner(name="canary")),
        ([DEFAULT], Owner(name="default")),
        ([], NOBODY),
        ([replace(CANARY, is_deleting=True)], NOBODY),
    ],
    ids=["specific-beats-default", "default", "no-default", "deleting"],
)
def test_scenario_119_a_node_has_one_owner_or_none(claims: list[DriverClaim], owner: Owner) -> None:
    assert assign(claims, CANARY_NODE) == owner


@pytest.mark.parametrize(
    "claims",
    [
        [DEFAULT, DriverClaim(name="other", is_default=True)],
        [DriverClaim(name="sly", selector={OWNER_LABEL: "sly"})],
        [DriverClaim(name="choosy", is_default=True, selector={"pool": "canary"})],
        [CANARY, DriverClaim(name="rival", selector={"pool": "canary"})],
    ],
    ids=["two-defaults", "reserved-key", "default-with-selector", "two-that-match"],
)
def test_scenario_119_a_conflict_gives_the_node_to_nobody_and_it_does_not_start(claims: list[DriverClaim]) -> None:
    owner = assign(claims, CANARY_NODE)
    assert (owner.name, bool(owner.conflict)) == ("", True)
    node = a_node(phase=REQUIRED, owner=owner.name, owner_conflict=owner.conflict)
    assert newly_admitted(node) == set()
    assert holds(node) == {"n1": HoldCode.OWNER_UNCLEAR}


# ── the list itself ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_scenario_of_the_list_is_here() -> None:
    named = (re.match(r"test_scenario_(\d+)_", name) for name in globals())
    assert {int(found[1]) for found in named if found} == NUMBERS


@pytest.mark.parametrize(("test", "line"), sorted(quoted(globals()).items()))
def test_what_we_do_otherwise_is_documented(test: str, line: str) -> None:
    assert line in documented(), f"{test} stands on a line that docs/deviations.md does not have."
