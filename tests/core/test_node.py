"""One node, one step: every phase, every reason to wait, every way back."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.actions import Cordon, EvictPods, RestartDriverPod, Uncordon
from seatrial.core.errors import CoreBug
from seatrial.core.holds import HoldCode, hold
from seatrial.core.intent import Eviction
from seatrial.core.node import (
    ENDED,
    NOT_STARTED,
    NOTHING,
    TRANSITIONS,
    FailureCode,
    Step,
    _open,
    is_under_way,
    retry_at,
    step_node,
    why_not_validated,
)
from seatrial.core.snapshot import DriverRevision, NodePhase, NodeSeen, RecordFault
from tests.builders import (
    NEW,
    NOW,
    OLD,
    a_driver,
    a_gpu_pod,
    a_new_driver,
    a_node,
    a_rebuff,
    a_starting_driver,
    a_validator,
    a_well_node,
    an_intent,
    opening,
    proving,
    some_orders,
    written,
)

UNADMITTED = some_orders(admitted={})


def held(code: HoldCode, **params: Any) -> Step:
    """A hold of n1."""
    return Step(hold=hold("n1", code, **params))


def waiting(code: HoldCode, until: float, **params: Any) -> Step:
    """A hold of n1 in a phase entered at 900."""
    return held(code, since=900.0, until=until, **params)


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_phase_has_a_row_in_the_table() -> None:
    assert set(TRANSITIONS) == {None, *NodePhase}


def test_every_phase_can_reach_done() -> None:
    reaching: set[NodePhase | None] = {NodePhase.UPGRADE_DONE}
    for _ in NodePhase:
        reaching |= {phase for phase, after in TRANSITIONS.items() if after & reaching}
    assert reaching == {None, *NodePhase}


def test_opening_a_phase_the_table_does_not_know_is_a_bug_of_ours() -> None:
    with pytest.raises(CoreBug, match="may not be followed by validation-required"):
        _open(a_node(phase=NodePhase.UPGRADE_DONE), NodePhase.VALIDATION_REQUIRED, NOW)


@pytest.mark.parametrize("phase", NodePhase)
def test_a_node_is_under_way_when_it_has_started_and_not_ended(phase: NodePhase) -> None:
    assert is_under_way(a_node(phase=phase).record) is (phase not in NOT_STARTED and phase not in ENDED)


def test_a_node_without_a_record_is_not_under_way() -> None:
    assert not is_under_way(None)


# ── before the start ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_node_that_runs_another_revision_needs_an_upgrade() -> None:
    node = a_node()
    assert step_node(node, UNADMITTED, NOW) == opening(node, NodePhase.UPGRADE_REQUIRED, attempt=1)


def test_a_done_node_that_runs_another_revision_needs_another_attempt() -> None:
    node = a_node(phase=NodePhase.UPGRADE_DONE, attempt=4)
    assert step_node(node, UNADMITTED, NOW) == opening(node, NodePhase.UPGRADE_REQUIRED, attempt=5)


def test_a_node_met_with_the_wanted_driver_running_is_done() -> None:
    node = a_node(driver=a_new_driver())
    assert step_node(node, UNADMITTED, NOW) == opening(node, NodePhase.UPGRADE_DONE, attempt=0)


def test_a_done_node_in_sync_has_nothing_to_do() -> None:
    assert step_node(a_well_node(phase=NodePhase.UPGRADE_DONE), UNADMITTED, NOW) == NOTHING


def test_a_node_met_with_the_wanted_driver_broken_is_not_called_done() -> None:
    node = a_node(driver=a_starting_driver(trouble="CrashLoopBackOff"))
    expected = held(HoldCode.DRIVER_NOT_READY, pod="driver-n1", trouble="CrashLoopBackOff")
    assert step_node(node, UNADMITTED, NOW) == expected


@pytest.mark.parametrize("phase", [None, NodePhase.UPGRADE_DONE, NodePhase.UPGRADE_REQUIRED])
def test_a_node_without_a_driver_pod_waits_for_one(phase: NodePhase | None) -> None:
    assert step_node(a_node(phase=phase, driver=None), UNADMITTED, NOW) == held(HoldCode.DRIVER_POD_MISSING)


@pytest.mark.parametrize("phase", [None, NodePhase.UPGRADE_DONE, NodePhase.UPGRADE_REQUIRED])
def test_a_node_whose_wanted_revision_is_unknown_waits(phase: NodePhase | None) -> None:
    expected = held(HoldCode.REVISION_UNKNOWN, pod="driver-n1")
    assert step_node(a_node(phase=phase, wanted=None), UNADMITTED, NOW) == expected


def test_a_node_in_need_asks_to_be_admitted() -> None:
    assert step_node(a_node(phase=NodePhase.UPGRADE_REQUIRED), UNADMITTED, NOW) == Step(wants_admission=True)


def test_an_admitted_node_opens_its_start_and_touches_nothing() -> None:
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.CORDON_REQUIRED)


def test_an_admission_of_an_earlier_attempt_does_not_count() -> None:
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED, attempt=2)
    assert step_node(node, some_orders(), NOW) == Step(wants_admission=True)


MAY_NOT_START = pytest.mark.parametrize(
    ("code", "changes"),
    [(HoldCode.SKIPPED, {"is_skipped": True}), (HoldCode.NODE_NOT_READY, {"is_ready": False})],
)


@MAY_NOT_START
def test_a_node_that_may_not_start_waits_with_a_reason(code: HoldCode, changes: dict[str, Any]) -> None:
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED, **changes)
    assert step_node(node, UNADMITTED, NOW) == held(code)


@MAY_NOT_START
@pytest.mark.parametrize("phase", [NodePhase.UPGRADE_REQUIRED, NodePhase.CORDON_REQUIRED])
def test_a_node_that_may_not_start_hands_its_admission_back_by_a_new_attempt(
    phase: NodePhase, code: HoldCode, changes: dict[str, Any]
) -> None:
    node = a_node(phase=phase, **changes)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.UPGRADE_REQUIRED, attempt=2)


def test_a_version_reverted_before_the_start_lets_the_node_go() -> None:
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED, wanted=OLD, validator=None)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.UPGRADE_DONE)


def test_a_record_somebody_removed_does_not_come_back_under_an_old_admission() -> None:
    removed = a_node()
    assert step_node(removed, some_orders(admitted={"n1": 3}), NOW) == opening(
        removed, NodePhase.UPGRADE_REQUIRED, attempt=4
    )


def test_a_record_somebody_removed_from_an_upgraded_node_still_ends_its_admission() -> None:
    removed = a_well_node()
    assert step_node(removed, some_orders(admitted={"n1": 3}), NOW) == opening(
        removed, NodePhase.UPGRADE_DONE, attempt=3
    )


# ── the last look before the cordon ──────────────────────────────────────────────────────────────────────────────────


def test_an_admitted_node_is_cordoned_with_the_record_in_one_write() -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED)
    expected = opening(node, NodePhase.WAIT_FOR_JOBS_REQUIRED, by=Cordon, is_cordon_ours=True)
    assert step_node(node, some_orders(), NOW) == expected


def test_a_cordon_of_an_admin_is_not_called_ours() -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED, is_cordoned=True)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.WAIT_FOR_JOBS_REQUIRED)


def test_our_own_cordon_survives_a_retry_as_ours() -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED, is_cordon_ours=True)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.WAIT_FOR_JOBS_REQUIRED)


def test_a_version_reverted_before_the_cordon_lets_the_node_go() -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED, wanted=OLD)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.UPGRADE_DONE)


@pytest.mark.parametrize("phase", [NodePhase.UPGRADE_REQUIRED, NodePhase.CORDON_REQUIRED])
def test_a_node_that_no_longer_fits_the_budget_hands_its_admission_back(phase: NodePhase) -> None:
    node = a_node(phase=phase)
    assert step_node(node, some_orders(recalled=["n1"]), NOW) == opening(node, NodePhase.UPGRADE_REQUIRED, attempt=2)


def test_a_node_already_cordoned_goes_on_whatever_the_budget_says() -> None:
    node = a_node(phase=NodePhase.WAIT_FOR_JOBS_REQUIRED, is_cordon_ours=True)
    assert step_node(node, some_orders(recalled=["n1"]), NOW) == opening(node, NodePhase.POD_DELETION_REQUIRED)


@pytest.mark.parametrize("phase", [phase for phase in NodePhase if phase not in NOT_STARTED and phase not in ENDED])
def test_a_node_under_way_does_nothing_until_the_ledger_names_it_again(phase: NodePhase) -> None:
    node = a_well_node(phase=phase, is_cordon_ours=phase is not NodePhase.CORDON_REQUIRED)
    assert step_node(node, UNADMITTED, NOW) == held(HoldCode.LEDGER_PENDING)


# ── GPU pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def evicting(*, is_cordoned: bool = True, **changes: Any) -> NodeSeen:
    """A node at pod deletion under our cordon."""
    fields: dict[str, Any] = {"gpu_pods": (a_gpu_pod(),), "is_cordon_ours": is_cordoned}
    return a_node(phase=NodePhase.POD_DELETION_REQUIRED, **(fields | changes))


def test_gpu_pods_are_asked_to_leave() -> None:
    pods = (a_gpu_pod(0), a_gpu_pod(1))
    expected = Step(action=EvictPods(node="n1", attempt=1, pods=pods))
    assert step_node(evicting(gpu_pods=pods), some_orders(), NOW) == expected


def test_a_node_without_gpu_pods_goes_on_to_the_restart() -> None:
    node = evicting(gpu_pods=())
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.POD_RESTART_REQUIRED)


def test_pods_on_their_way_out_are_waited_for_until_the_deadline() -> None:
    node = evicting(gpu_pods=(a_gpu_pod(is_terminating=True),))
    assert step_node(node, some_orders(), NOW) == waiting(HoldCode.EVICTING, 1200.0, pod="jobs/train-0", count=1)


def test_pods_that_do_not_leave_in_time_fail_the_node_and_are_not_forced() -> None:
    node = evicting(gpu_pods=(a_gpu_pod(is_terminating=True),))
    expected = written(
        node,
        NodePhase.UPGRADE_FAILED,
        entered_at=1200.0,
        reason=FailureCode.EVICTION_TIMEOUT,
        failed_revision=NEW.hash,
        failed_pod="driver-n1-0",
    )
    assert step_node(node, some_orders(), 1200.0) == Step(action=expected)


def test_an_outage_of_ours_does_not_count_towards_a_deadline() -> None:
    node = evicting(gpu_pods=(a_gpu_pod(is_terminating=True),))
    expected = waiting(HoldCode.EVICTING, 5300.0, pod="jobs/train-0", count=1)
    assert step_node(node, some_orders(attentive_since=5000.0), 5010.0) == expected


def test_a_blocked_eviction_backs_off_and_says_who_blocks() -> None:
    node = evicting(gpu_pods=(a_gpu_pod(0), a_gpu_pod(1)))
    rebuffs = {"pod-0": a_rebuff(count=2, detail="budget web needs 3"), "pod-1": a_rebuff(count=3)}
    expected = waiting(HoldCode.EVICTION_BLOCKED, 1010.0, pod="jobs/train-0", why="budget web needs 3", count=2)
    assert step_node(node, some_orders(rebuffs=rebuffs), NOW) == expected


def test_only_pods_whose_back_off_is_over_are_asked_again() -> None:
    node = evicting(gpu_pods=(a_gpu_pod(0), a_gpu_pod(1)))
    rebuffs = {"pod-0": a_rebuff(count=3), "pod-1": a_rebuff(count=1)}
    expected = Step(action=EvictPods(node="n1", attempt=1, pods=(a_gpu_pod(1),)))
    assert step_node(node, some_orders(rebuffs=rebuffs), NOW + 5) == expected


def test_a_blocked_eviction_fails_the_node_at_the_deadline() -> None:
    node = evicting()
    step = step_node(node, some_orders(rebuffs={"pod-0": a_rebuff(at=1199.0)}), 1200.0)
    assert step.action is not None
    assert step.action.id == "n1/upgrade-failed/1@7"


PROTECTED = pytest.mark.parametrize(
    ("pod", "allowing", "code"),
    [
        (a_gpu_pod(has_controller=False), Eviction(force=True), HoldCode.POD_WITHOUT_CONTROLLER),
        (a_gpu_pod(has_empty_dir=True), Eviction(delete_empty_dir=True), HoldCode.POD_WITH_EMPTY_DIR),
    ],
)


@PROTECTED
def test_a_protected_pod_keeps_every_pod_of_the_node_where_it_is(pod: Any, allowing: Eviction, code: HoldCode) -> None:
    node = evicting(gpu_pods=(a_gpu_pod(1), pod))
    assert step_node(node, some_orders(), NOW) == waiting(code, 1200.0, pod="jobs/train-0")


@PROTECTED
def test_a_protected_pod_may_go_where_the_intent_allows_it(pod: Any, allowing: Eviction, code: HoldCode) -> None:
    orders = some_orders(intent=an_intent(eviction=allowing))
    assert step_node(evicting(gpu_pods=(pod,)), orders, NOW) == Step(
        action=EvictPods(node="n1", attempt=1, pods=(pod,))
    )


def test_a_node_somebody_uncordoned_evicts_nobody() -> None:
    node = evicting(is_cordoned=False)
    assert step_node(node, some_orders(), NOW) == waiting(HoldCode.CORDON_LOST, 1200.0)


def test_a_version_reverted_during_eviction_gives_the_node_back() -> None:
    node = evicting(wanted=OLD)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.UNCORDON_REQUIRED)


@pytest.mark.parametrize(
    ("wanted", "following"),
    [(NEW, NodePhase.POD_DELETION_REQUIRED), (OLD, NodePhase.UNCORDON_REQUIRED)],
)
def test_a_cordoned_node_goes_on_unless_the_version_was_reverted(wanted: DriverRevision, following: NodePhase) -> None:
    node = a_node(phase=NodePhase.WAIT_FOR_JOBS_REQUIRED, is_cordon_ours=True, wanted=wanted)
    assert step_node(node, some_orders(), NOW) == opening(node, following)


# ── the driver ───────────────────────────────────────────────────────────────────────────────────────────────────────


def restarting(*, is_cordoned: bool = True, **changes: Any) -> NodeSeen:
    """A node at the restart of its driver under our cordon."""
    changes = {"is_cordon_ours": is_cordoned, "is_cordoned": is_cordoned} | changes
    return a_node(phase=NodePhase.POD_RESTART_REQUIRED, **changes)


RESTART = Step(
    action=RestartDriverPod(node="n1", attempt=1, namespace="gpu-operator", pod="driver-n1", uid="driver-n1-0")
)


def test_the_old_driver_pod_is_deleted() -> None:
    assert step_node(restarting(), some_orders(), NOW) == RESTART


def test_a_gpu_pod_that_came_back_leaves_before_the_driver_does() -> None:
    node = restarting(gpu_pods=(a_gpu_pod(),))
    assert step_node(node, some_orders(), NOW) == Step(action=EvictPods(node="n1", attempt=1, pods=(a_gpu_pod(),)))


def test_a_gpu_pod_that_came_back_late_is_still_asked_before_the_node_is_given_up() -> None:
    node = restarting(gpu_pods=(a_gpu_pod(),), entered_at=0.0)
    assert step_node(node, some_orders(), NOW) == Step(action=EvictPods(node="n1", attempt=1, pods=(a_gpu_pod(),)))


def test_no_driver_is_deleted_on_a_node_somebody_uncordoned() -> None:
    assert step_node(restarting(is_cordoned=False), some_orders(), NOW) == waiting(HoldCode.CORDON_LOST, 2700.0)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"driver": None}, waiting(HoldCode.DRIVER_POD_MISSING, 2700.0)),
        ({"wanted": None}, waiting(HoldCode.REVISION_UNKNOWN, 2700.0, pod="driver-n1")),
        (
            {"driver": a_driver(is_terminating=True)},
            waiting(HoldCode.DRIVER_STOPPING, 2700.0, pod="driver-n1"),
        ),
        (
            {"driver": a_starting_driver(trouble="ImagePullBackOff")},
            waiting(HoldCode.DRIVER_STARTING, 2700.0, pod="driver-n1", trouble="ImagePullBackOff"),
        ),
        (
            {"driver": a_starting_driver(restart_count=10)},
            waiting(HoldCode.DRIVER_STARTING, 2700.0, pod="driver-n1", trouble=""),
        ),
    ],
)
def test_a_driver_that_is_not_there_yet_is_waited_for(changes: dict[str, Any], expected: Step) -> None:
    assert step_node(restarting(**changes), some_orders(), NOW) == expected


@pytest.mark.parametrize(
    ("driver", "now", "reason"),
    [
        (a_starting_driver(restart_count=11), NOW, FailureCode.DRIVER_CRASH_LOOP),
        (a_starting_driver(), 2700.0, FailureCode.DRIVER_TIMEOUT),
    ],
)
def test_a_driver_that_does_not_start_fails_the_node(driver: Any, now: float, reason: FailureCode) -> None:
    node = restarting(driver=driver)
    expected = written(
        node,
        NodePhase.UPGRADE_FAILED,
        entered_at=now,
        reason=reason,
        failed_revision=NEW.hash,
        failed_pod="driver-n1-1",
    )
    assert step_node(node, some_orders(), now) == Step(action=expected)


def test_a_driver_that_got_ready_at_the_last_moment_is_not_failed() -> None:
    node = restarting(driver=a_new_driver())
    late = 99_999.0
    assert step_node(node, some_orders(), late) == opening(node, NodePhase.VALIDATION_REQUIRED, entered_at=late)


def test_a_version_reverted_before_the_restart_goes_to_validation_without_one() -> None:
    node = restarting(wanted=OLD)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.VALIDATION_REQUIRED)


# ── validation ───────────────────────────────────────────────────────────────────────────────────────────────────────


VALIDATING: dict[str, Any] = {"driver": a_new_driver(), "is_cordon_ours": True}


def validating(**changes: Any) -> NodeSeen:
    """A node at validation under our cordon."""
    return a_node(phase=NodePhase.VALIDATION_REQUIRED, **(VALIDATING | changes))


PODLESS = {"pod": "", "trouble": ""}
NAMED = {"pod": "driver-n1", "trouble": ""}


UNPROVEN = pytest.mark.parametrize(
    ("changes", "code", "params"),
    [
        ({"driver": None}, HoldCode.DRIVER_POD_MISSING, PODLESS),
        ({"is_ready": False, "validator": proving()}, HoldCode.NODE_NOT_READY, NAMED),
        ({"wanted": None, "validator": proving()}, HoldCode.REVISION_UNKNOWN, NAMED),
        ({"driver": a_starting_driver()}, HoldCode.DRIVER_NOT_READY, NAMED),
        ({"driver": a_new_driver(is_terminating=True)}, HoldCode.DRIVER_NOT_READY, NAMED),
        ({"validator": None}, HoldCode.VALIDATOR_MISSING, NAMED),
        ({"validator": a_validator(is_terminating=True)}, HoldCode.VALIDATOR_MISSING, NAMED),
        ({"validator": a_validator(is_ready=False)}, HoldCode.VALIDATOR_NOT_READY, NAMED),
        ({"validator": a_validator()}, HoldCode.VALIDATOR_STALE, NAMED),
        ({"validator": a_validator(ready_since=None)}, HoldCode.VALIDATOR_STALE, NAMED),
        ({"driver": a_new_driver(ready_since=None), "validator": proving()}, HoldCode.VALIDATOR_STALE, NAMED),
    ],
)


@UNPROVEN
def test_a_driver_not_proven_is_waited_for_until_the_deadline(
    changes: dict[str, Any], code: HoldCode, params: dict[str, Any]
) -> None:
    assert step_node(validating(**changes), some_orders(), NOW) == waiting(code, 1500.0, **params)


@UNPROVEN
def test_a_driver_not_proven_fails_the_node_at_the_deadline(
    changes: dict[str, Any], code: HoldCode, params: dict[str, Any]
) -> None:
    action = step_node(validating(**changes), some_orders(), 1500.0).action
    assert action is not None
    assert (action.id, why_not_validated(validating(**changes).facts)) == ("n1/upgrade-failed/1@7", code)


@UNPROVEN
def test_a_driver_no_longer_proven_is_not_given_back(
    changes: dict[str, Any], code: HoldCode, params: dict[str, Any]
) -> None:
    node = a_node(phase=NodePhase.UNCORDON_REQUIRED, **(VALIDATING | changes))
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.VALIDATION_REQUIRED)


def test_a_validator_ready_after_the_driver_proves_it() -> None:
    node = validating(validator=proving())
    assert step_node(node, some_orders(), 99_999.0) == opening(node, NodePhase.UNCORDON_REQUIRED, entered_at=99_999.0)


def test_a_version_changed_during_validation_restarts_the_driver_again() -> None:
    node = validating(wanted=DriverRevision(hash="newer", version="580.126.20"))
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.POD_RESTART_REQUIRED)


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_our_cordon_is_taken_away_with_the_last_record_in_one_write() -> None:
    node = a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, failed_pod="x", failed_revision="y")
    expected = opening(
        node, NodePhase.UPGRADE_DONE, by=Uncordon, is_cordon_ours=False, failed_pod="", failed_revision=""
    )
    assert step_node(node, some_orders(), NOW) == expected


def test_the_cordon_of_an_admin_stays_at_the_end() -> None:
    node = a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordoned=True)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.UPGRADE_DONE)


@pytest.mark.parametrize("phase", [phase for phase in NodePhase if phase is not NodePhase.UPGRADE_DONE])
def test_a_cordon_somebody_lifted_is_no_longer_called_ours(phase: NodePhase) -> None:
    node = a_node(phase=phase, is_cordon_ours=True, is_cordoned=False)
    expected = opening(node, phase, entered_at=900.0, is_cordon_ours=False)
    assert step_node(node, UNADMITTED, NOW) == expected


# ── failure and retry ────────────────────────────────────────────────────────────────────────────────────────────────


def failed(**changes: Any) -> NodeSeen:
    """A node given up with its new driver crashing, our cordon on it."""
    broken: dict[str, Any] = {
        "is_cordon_ours": True,
        "reason": FailureCode.DRIVER_CRASH_LOOP.value,
        "failed_revision": NEW.hash,
        "failed_pod": "driver-n1-1",
        "driver": a_starting_driver(restart_count=11, trouble="CrashLoopBackOff"),
    }
    return a_node(phase=NodePhase.UPGRADE_FAILED, **(broken | changes))


def test_a_failed_node_waits_for_somebody() -> None:
    assert step_node(failed(), UNADMITTED, NOW) == held(HoldCode.FAILED, since=900.0, why="driver-crash-loop")


def test_a_failed_node_whose_wanted_revision_is_unknown_waits_too() -> None:
    assert step_node(failed(wanted=None), UNADMITTED, NOW) == held(
        HoldCode.FAILED, since=900.0, why="driver-crash-loop"
    )


@pytest.mark.parametrize(
    "changes", [{"is_retry_asked": True}, {"wanted": DriverRevision(hash="newer", version="580.126.20")}]
)
def test_a_retry_keeps_our_cordon_and_remembers_the_pod_that_failed(changes: dict[str, Any]) -> None:
    node = failed(**changes)
    expected = opening(node, NodePhase.UPGRADE_REQUIRED, attempt=2, reason="", failed_revision="")
    assert step_node(node, UNADMITTED, NOW) == expected


def test_a_failed_node_that_got_well_is_given_back_at_once() -> None:
    node = failed(driver=a_new_driver(), validator=proving())
    expected = opening(
        node,
        NodePhase.UPGRADE_DONE,
        by=Uncordon,
        is_cordon_ours=False,
        reason="",
        failed_revision="",
        failed_pod="",
    )
    assert step_node(node, UNADMITTED, NOW) == expected


def test_a_retry_does_not_give_a_node_back_that_runs_but_is_not_proven() -> None:
    ours = a_node(
        phase=NodePhase.UPGRADE_REQUIRED, driver=a_new_driver(), failed_pod="driver-n1-1", is_cordon_ours=True
    )
    of_an_admin = a_node(
        phase=NodePhase.UPGRADE_REQUIRED, driver=a_new_driver(), failed_pod="driver-n1-1", is_cordoned=True
    )
    assert [step_node(node, UNADMITTED, NOW) for node in (ours, of_an_admin)] == [Step(wants_admission=True)] * 2


def test_a_retry_gets_a_fresh_pod_although_the_broken_one_is_in_sync() -> None:
    node = restarting(driver=a_starting_driver(restart_count=11), failed_pod="driver-n1-1")
    fresh = RestartDriverPod(node="n1", attempt=1, namespace="gpu-operator", pod="driver-n1", uid="driver-n1-1")
    assert step_node(node, some_orders(), NOW) == Step(action=fresh)


def test_the_fresh_pod_of_a_retry_gets_its_own_time() -> None:
    node = restarting(driver=a_starting_driver(uid="driver-n1-2"), failed_pod="driver-n1-1")
    expected = waiting(HoldCode.DRIVER_STARTING, 2700.0, pod="driver-n1", trouble="")
    assert step_node(node, some_orders(), NOW) == expected


# ── records and writes in trouble ────────────────────────────────────────────────────────────────────────────────────


def test_an_unreadable_record_is_not_guessed_at() -> None:
    node = a_node(fault=RecordFault.UNREADABLE, fault_text="schema 9")
    assert step_node(node, UNADMITTED, NOW) == held(HoldCode.RECORD_UNREADABLE, found="schema 9")


@pytest.mark.parametrize(
    ("phase", "recorded"), [(None, "nothing"), (NodePhase.VALIDATION_REQUIRED, "validation-required")]
)
def test_an_edited_label_is_not_guessed_at(phase: NodePhase | None, recorded: str) -> None:
    node = a_node(phase=phase, fault=RecordFault.EDITED, fault_text="upgrade-done")
    assert step_node(node, UNADMITTED, NOW) == held(HoldCode.RECORD_EDITED, found="upgrade-done", recorded=recorded)


def test_a_lost_label_is_written_again_and_nothing_else() -> None:
    node = a_node(phase=NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True, is_label_lost=True)
    assert step_node(node, UNADMITTED, NOW) == opening(node, NodePhase.VALIDATION_REQUIRED, entered_at=900.0)


def test_a_refused_write_is_tried_again_later() -> None:
    orders = some_orders(rebuffs={"n1": a_rebuff(detail="forbidden")})
    assert step_node(a_node(), orders, NOW) == held(HoldCode.WRITE_REFUSED, until=1005.0, why="forbidden")


def test_a_refused_write_is_tried_again_when_its_time_has_come() -> None:
    node = a_node()
    orders = some_orders(admitted={}, rebuffs={"n1": a_rebuff(at=NOW - 5)})
    assert step_node(node, orders, NOW) == opening(node, NodePhase.UPGRADE_REQUIRED, attempt=1)


@pytest.mark.parametrize(("count", "seconds"), [(1, 5.0), (2, 10.0), (3, 20.0), (4, 30.0), (2000, 30.0)])
def test_back_off_doubles_up_to_half_a_minute(count: int, seconds: float) -> None:
    assert retry_at(a_rebuff(count=count)) == NOW + seconds
