"""One node, one step: who starts, restarts, is proven, fails and is tried again; the ways of a maintenance operator."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatrial.core.actions.on_nodes import (
    Cordon,
    EvictPods,
    PauseClients,
    ReleaseMaintenance,
    Request,
    RequestMaintenance,
    RestartPod,
    Uncordon,
    WriteNodeRecord,
)
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.intent import Checkpoint, Intent, Requestor, Retries
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.policy import Drain, JobWait
from seatrial.core.model.seen.nodes import Maintenance, NodePhase, NodeSeen, RecordFault
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import DriverRevision, PodOwner
from seatrial.core.model.selectors import Selector
from seatrial.core.model.troubles import Symptom
from seatrial.core.node.phases import ENDED, NOT_STARTED, TRANSITIONS, FailureCode
from seatrial.core.node.step import VALIDATOR_SECONDS, step_node
from seatrial.core.node.writing import NOTHING, PAUSED, Orders, Step
from seatrial.core.words import explain
from tests.builders import (
    NEW,
    NOW,
    OLD,
    a_dra_plugin,
    a_driver,
    a_gpu_pod,
    a_new_driver,
    a_node,
    a_pod,
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
    assert step_node(node, UNADMITTED, NOW) == opening(node, NodePhase.UPGRADE_REQUIRED, attempt=1)
    lost = a_node(driver=a_starting_driver(trouble="CrashLoopBackOff"), is_ready=False)
    expected = held(HoldCode.DRIVER_NOT_READY, pod="driver-n1", trouble="CrashLoopBackOff")
    assert step_node(lost, UNADMITTED, NOW) == expected


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
    expected = opening(
        node, NodePhase.WAIT_FOR_JOBS_REQUIRED, by=Cordon, is_cordon_ours=True, before=GpuOffer(), closed_at=NOW
    )
    assert step_node(node, some_orders(), NOW) == expected


def test_a_cordon_of_an_admin_is_not_called_ours() -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED, is_cordoned=True)
    expected = opening(node, NodePhase.WAIT_FOR_JOBS_REQUIRED, before=GpuOffer(), closed_at=NOW)
    assert step_node(node, some_orders(), NOW) == expected


def test_our_own_cordon_survives_a_retry_as_ours() -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED, is_cordon_ours=True)
    expected = opening(node, NodePhase.WAIT_FOR_JOBS_REQUIRED, before=GpuOffer(), closed_at=NOW)
    assert step_node(node, some_orders(), NOW) == expected


def test_a_new_attempt_forgets_when_the_node_was_closed() -> None:
    node = a_node(phase=NodePhase.UPGRADE_FAILED, is_retry_asked=True, record={"closed_at": 500.0})
    action = step_node(node, some_orders(), NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert action.record.closed_at is None


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


# ── the driver ───────────────────────────────────────────────────────────────────────────────────────────────────────


def restarting(*, is_cordoned: bool = True, **changes: Any) -> NodeSeen:
    """A node at the restart of its driver under our cordon."""
    changes = {"is_cordon_ours": is_cordoned, "is_cordoned": is_cordoned} | changes
    return a_node(phase=NodePhase.POD_RESTART_REQUIRED, **changes)


def restart(uid: str = "driver-n1-0") -> Step:
    return Step(
        action=RestartPod(
            node="n1", attempt=1, operand=Operand.DRIVER, namespace="gpu-operator", pod="driver-n1", uid=uid
        )
    )


RESTART = restart()


def test_the_old_driver_pod_is_deleted() -> None:
    assert step_node(restarting(), some_orders(), NOW) == RESTART


def test_a_gpu_pod_that_came_back_leaves_before_the_driver_does() -> None:
    node = restarting(pods=(a_gpu_pod(),))
    assert step_node(node, some_orders(), NOW) == Step(action=EvictPods(node="n1", attempt=1, pods=(a_gpu_pod(),)))


def test_a_gpu_pod_that_came_back_late_is_still_asked_before_the_node_is_given_up() -> None:
    node = restarting(pods=(a_gpu_pod(),), entered_at=0.0)
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
        failures=1,
        old_pod="driver-n1-1",
    )
    assert step_node(node, some_orders(), now) == Step(action=expected)


def test_a_driver_that_got_ready_at_the_last_moment_is_not_failed() -> None:
    node = restarting(driver=a_new_driver())
    late = 99_999.0
    assert step_node(node, some_orders(), late) == opening(node, NodePhase.VALIDATION_REQUIRED, entered_at=late)


def test_a_version_reverted_before_the_restart_goes_to_validation_without_one() -> None:
    node = restarting(wanted=OLD)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.VALIDATION_REQUIRED)


# ── restart only ─────────────────────────────────────────────────────────────────────────────────────────────────────

SAME = DriverRevision(hash="new", version=NEW.version, digest="d1")
OTHER = DriverRevision(hash="new", version=NEW.version, digest="d2")
DIGESTED = a_driver(digest="d1")
RESTART_ONLY: dict[str, Any] = {"driver": DIGESTED, "wanted": SAME, "record": {"is_restart_only": True}}


def test_where_nothing_that_is_loaded_changes_a_node_is_cordoned_with_its_restart() -> None:
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED, driver=DIGESTED, wanted=SAME, pods=(a_gpu_pod(),))
    assert step_node(node, some_orders(), NOW) == opening(
        node,
        NodePhase.POD_RESTART_REQUIRED,
        by=Cordon,
        is_cordon_ours=True,
        is_restart_only=True,
        before=GpuOffer(),
        closed_at=NOW,
    )


@pytest.mark.parametrize(
    ("changes", "record"),
    [
        ({"wanted": OTHER}, {}),
        ({"wanted": NEW, "driver": a_driver()}, {}),
        ({"driver": a_driver(digest="d1", is_orphaned=True), "owner": "blue"}, {}),
        ({"awaits_safe_load": True}, {}),
        ({}, {"is_requested": True, "old_pod": "driver-n1-0"}),
        ({}, {"old_pod": "driver-n1-9"}),
    ],
)
def test_the_whole_way_is_gone_when(changes: dict[str, Any], record: dict[str, Any]) -> None:
    fields: dict[str, Any] = {"driver": DIGESTED, "wanted": SAME, "record": record}
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED, **(fields | changes))
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.CORDON_REQUIRED)


def test_users_stay_when_only_the_pod_is_restarted() -> None:
    node = restarting(**RESTART_ONLY, pods=(a_gpu_pod(), a_gpu_pod(1, keeper=PodOwner.NOBODY)))
    assert step_node(node, some_orders(), NOW) == RESTART


@pytest.mark.parametrize("wanted", [OTHER, NEW])
def test_a_digest_that_changed_meanwhile_makes_the_users_leave_after_all(wanted: DriverRevision) -> None:
    node = restarting(**(RESTART_ONLY | {"wanted": wanted}), pods=(a_gpu_pod(),))
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.WAIT_FOR_JOBS_REQUIRED, is_restart_only=False)


def test_a_pod_restarted_under_its_users_is_proven_like_any_other() -> None:
    started = a_new_driver(digest="d1")
    node = restarting(driver=started, wanted=SAME, record={"is_restart_only": True}, pods=(a_gpu_pod(),))
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.VALIDATION_REQUIRED)


def test_no_pod_is_restarted_under_its_users_on_a_node_somebody_uncordoned() -> None:
    node = restarting(**RESTART_ONLY, is_cordoned=False)
    assert step_node(node, some_orders(), NOW) == waiting(HoldCode.CORDON_LOST, 2700.0)


# ── asked for by others ──────────────────────────────────────────────────────────────────────────────────────────────

ASKED: dict[str, Any] = {"is_requested": True, "old_pod": "driver-n1-1"}


def test_an_upgrade_asked_for_is_begun_although_the_wanted_driver_runs() -> None:
    node = a_well_node(phase=NodePhase.UPGRADE_DONE, is_requested=True)
    expected = written(node, NodePhase.UPGRADE_REQUIRED, attempt=2, is_requested=True, old_pod="driver-n1-1")
    assert step_node(node, UNADMITTED, NOW) == Step(
        action=WriteNodeRecord(node="n1", record=expected.record, expect="7", answers=(Request.UPGRADE,))
    )


def test_an_upgrade_asked_for_while_a_node_waits_for_its_turn_is_answered_by_a_new_attempt() -> None:
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED, is_requested=True)
    expected = written(node, NodePhase.UPGRADE_REQUIRED, attempt=2, is_requested=True, old_pod="driver-n1-0")
    assert step_node(node, some_orders(), NOW) == Step(
        action=WriteNodeRecord(node="n1", record=expected.record, expect="7", answers=(Request.UPGRADE,))
    )


def test_a_retry_of_a_done_node_is_an_upgrade_asked_for() -> None:
    node = a_well_node(phase=NodePhase.UPGRADE_DONE, is_retry_asked=True)
    assert step_node(node, UNADMITTED, NOW) == opening(
        node, NodePhase.UPGRADE_REQUIRED, attempt=2, is_requested=True, old_pod="driver-n1-1"
    )


def test_an_upgrade_asked_for_waits_for_its_turn() -> None:
    node = a_well_node(phase=NodePhase.UPGRADE_REQUIRED, record=ASKED)
    assert step_node(node, UNADMITTED, NOW) == Step(wants_admission=True)


@pytest.mark.parametrize(
    ("phase", "following"),
    [
        (NodePhase.UPGRADE_REQUIRED, NodePhase.CORDON_REQUIRED),
        (NodePhase.WAIT_FOR_JOBS_REQUIRED, NodePhase.POD_DELETION_REQUIRED),
        (NodePhase.POD_DELETION_REQUIRED, NodePhase.POD_RESTART_REQUIRED),
    ],
)
def test_an_upgrade_asked_for_is_not_let_go_because_the_wanted_driver_runs(
    phase: NodePhase, following: NodePhase
) -> None:
    node = a_well_node(phase=phase, is_cordoned=True, record=ASKED)
    assert step_node(node, some_orders(), NOW) == opening(node, following)


def test_an_upgrade_asked_for_replaces_the_pod_that_ran_then() -> None:
    node = restarting(driver=a_new_driver(), record=ASKED)
    assert step_node(node, some_orders(), NOW) == restart("driver-n1-1")


def test_an_upgrade_asked_for_is_through_once_another_pod_runs() -> None:
    node = restarting(driver=a_new_driver(uid="driver-n1-2"), record=ASKED)
    expected = opening(node, NodePhase.VALIDATION_REQUIRED, has_lost_driver=True)
    assert step_node(node, some_orders(), NOW) == expected


def test_an_upgrade_asked_for_that_somebody_else_did_meanwhile_is_let_go() -> None:
    node = a_well_node(phase=NodePhase.UPGRADE_REQUIRED, driver=a_new_driver(uid="driver-n1-2"), record=ASKED)
    assert step_node(node, UNADMITTED, NOW) == opening(node, NodePhase.UPGRADE_DONE, is_requested=False, old_pod="")


@pytest.mark.parametrize("phase", [None, NodePhase.UPGRADE_DONE])
def test_a_driver_that_waits_for_a_safe_node_gets_an_attempt(phase: NodePhase | None) -> None:
    node = a_node(phase=phase, driver=a_starting_driver(), awaits_safe_load=True)
    attempt = 2 if phase else 1
    assert step_node(node, UNADMITTED, NOW) == opening(node, NodePhase.UPGRADE_REQUIRED, attempt=attempt)


@pytest.mark.parametrize("driver", [a_starting_driver(), a_new_driver()])
def test_a_driver_that_waits_for_a_safe_node_is_not_let_go(driver: Any) -> None:
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED, driver=driver, validator=proving(), awaits_safe_load=True)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.CORDON_REQUIRED)


@pytest.mark.parametrize("driver", [a_starting_driver(), a_new_driver()])
def test_a_cleared_node_is_called_safe_and_nothing_else_is_written(driver: Any) -> None:
    node = restarting(driver=driver, awaits_safe_load=True)
    assert node.record is not None
    assert step_node(node, some_orders(), NOW) == Step(
        action=WriteNodeRecord(node="n1", record=node.record, expect="7", answers=(Request.SAFE_LOAD,))
    )


def test_an_old_driver_is_replaced_before_the_node_is_called_safe() -> None:
    assert step_node(restarting(awaits_safe_load=True), some_orders(), NOW) == RESTART


def test_a_driver_that_waits_for_a_safe_node_during_validation_is_answered() -> None:
    node = validating(driver=a_starting_driver(), awaits_safe_load=True)
    assert node.record is not None
    assert step_node(node, some_orders(), NOW) == Step(
        action=WriteNodeRecord(node="n1", record=node.record, expect="7", answers=(Request.SAFE_LOAD,))
    )


# ── drivers that nobody owns, or too many want ───────────────────────────────────────────────────────────────────────

ORPHAN = a_driver(is_orphaned=True)


@pytest.mark.parametrize("phase", [None, NodePhase.UPGRADE_DONE])
def test_an_orphan_that_nobody_is_going_to_replace_is_left_alone(phase: NodePhase | None) -> None:
    node = a_node(phase=phase, driver=ORPHAN, wanted=None)
    assert step_node(node, UNADMITTED, NOW) == held(HoldCode.DRIVER_ORPHANED, pod="driver-n1")


@pytest.mark.parametrize("wanted", [NEW, OLD])
def test_an_orphan_whose_node_the_daemon_set_of_its_owner_wants_is_replaced(wanted: DriverRevision) -> None:
    met = a_node(driver=ORPHAN, wanted=wanted, owner="blue")
    assert step_node(met, UNADMITTED, NOW) == opening(met, NodePhase.UPGRADE_REQUIRED, attempt=1)
    waits = a_node(phase=NodePhase.UPGRADE_REQUIRED, driver=ORPHAN, wanted=wanted, owner="blue")
    assert step_node(waits, UNADMITTED, NOW) == Step(wants_admission=True)
    assert step_node(restarting(driver=ORPHAN, wanted=wanted, owner="blue"), some_orders(), NOW) == RESTART


@pytest.mark.parametrize("phase", [None, NodePhase.UPGRADE_DONE, NodePhase.UPGRADE_REQUIRED])
@pytest.mark.parametrize("facts", [{"owner": "blue", "wanted": None}, {"owner": "", "wanted": NEW}])
def test_an_orphan_is_left_alone_where_its_owner_has_no_daemon_set_or_a_daemon_set_no_owner(
    phase: NodePhase | None, facts: dict[str, Any]
) -> None:
    node = a_node(phase=phase, driver=ORPHAN, **facts)
    assert step_node(node, UNADMITTED, NOW) == held(HoldCode.DRIVER_ORPHANED, pod="driver-n1")


def test_an_orphan_is_replaced_where_somebody_asks_for_it() -> None:
    node = a_node(phase=NodePhase.UPGRADE_DONE, driver=ORPHAN, wanted=None, is_requested=True)
    action = step_node(node, UNADMITTED, NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert (action.record.phase, action.answers) == (NodePhase.UPGRADE_REQUIRED, (Request.UPGRADE,))


def test_a_node_that_several_want_to_own_does_not_start() -> None:
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED, owner_conflict="blue and red both select it")
    assert step_node(node, UNADMITTED, NOW) == held(HoldCode.OWNER_UNCLEAR, why="blue and red both select it")
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.UPGRADE_REQUIRED, attempt=2)


# ── validation ───────────────────────────────────────────────────────────────────────────────────────────────────────


VALIDATING: dict[str, Any] = {"driver": a_new_driver(), "is_cordon_ours": True}


def validating(**changes: Any) -> NodeSeen:
    """A node at validation under our cordon."""
    return a_node(phase=NodePhase.VALIDATION_REQUIRED, **(VALIDATING | changes))


DRIVER = {"pod": "driver-n1", "trouble": ""}
PROVEN: dict[str, Any] = {"validator": proving()}
OFFERED = GpuOffer(resources=(("nvidia.com/gpu", 8),), has_dra_plugin=True)

UNPROVEN = pytest.mark.parametrize(
    ("changes", "code", "params"),
    [
        ({"driver": None}, HoldCode.DRIVER_POD_MISSING, {}),
        ({"is_ready": False} | PROVEN, HoldCode.NODE_NOT_READY, {}),
        ({"wanted": None} | PROVEN, HoldCode.REVISION_UNKNOWN, {"pod": "driver-n1"}),
        ({"driver": a_starting_driver()}, HoldCode.DRIVER_NOT_READY, DRIVER),
        ({"validator": None}, HoldCode.VALIDATOR_MISSING, {}),
        ({"paused_labels": ("deploy",)}, HoldCode.OPERANDS_PAUSED, {"labels": "deploy"}),
        (
            {"record": {"before": OFFERED}} | PROVEN,
            HoldCode.OFFER_REDUCED,
            {"less": "nvidia.com/gpu 0 of 8"},
        ),
        (
            {"record": {"before": OFFERED}, "offer": OFFERED} | PROVEN,
            HoldCode.DRA_PLUGIN_MISSING,
            {},
        ),
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
    assert isinstance(action, WriteNodeRecord)
    assert (action.record.phase, action.record.reason) == (NodePhase.UPGRADE_FAILED, FailureCode.VALIDATION_TIMEOUT)


@UNPROVEN
def test_a_node_that_failed_for_want_of_proof_still_says_what_it_lacks(
    changes: dict[str, Any], code: HoldCode, params: dict[str, Any]
) -> None:
    failure = {"reason": FailureCode.VALIDATION_TIMEOUT, "failures": 9, "failed_revision": NEW.hash}
    recorded = failure | dict(changes.get("record", {}))
    failed = a_node(phase=NodePhase.UPGRADE_FAILED, **(VALIDATING | changes | {"record": recorded}))
    held = step_node(failed, some_orders(), NOW).hold
    assert held is not None
    assert dict(held.params).items() >= ({"lack": code.value} | params).items()
    lack = hold(failed.name, code, params)
    assert explain.why(lack) in explain.why(held)
    assert explain.next_step(held).startswith(explain.next_step(lack))
    assert explain.next_step(held).endswith("`seatrial node retry n1`.")


@UNPROVEN
def test_a_driver_no_longer_proven_is_not_given_back(
    changes: dict[str, Any], code: HoldCode, params: dict[str, Any]
) -> None:
    node = a_node(phase=NodePhase.UNCORDON_REQUIRED, **(VALIDATING | changes))
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.VALIDATION_REQUIRED)


def test_a_validator_ready_after_the_driver_proves_it() -> None:
    node = validating(validator=proving())
    assert step_node(node, some_orders(), 99_999.0) == opening(node, NodePhase.UNCORDON_REQUIRED, entered_at=99_999.0)


def test_a_loss_that_somebody_accepts_is_answered_with_the_last_record() -> None:
    less = {"before": GpuOffer(resources=OFFERED.resources)}
    node = validating(validator=proving(), record=less, is_loss_accepted=True)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.UNCORDON_REQUIRED, waived=less["before"])
    ending = a_node(phase=NodePhase.UNCORDON_REQUIRED, **(VALIDATING | PROVEN), record=less, is_loss_accepted=True)
    expected = written(ending, NodePhase.UPGRADE_DONE, is_cordon_ours=False, before=None, waived=less["before"])
    assert step_node(ending, some_orders(), NOW) == Step(
        action=Uncordon(node="n1", record=expected.record, expect="7", answers=(Request.ACCEPT_LOSS,))
    )


def test_a_version_changed_during_validation_restarts_the_driver_again() -> None:
    node = validating(wanted=DriverRevision(hash="newer", version="580.126.20"))
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.POD_RESTART_REQUIRED)


def freshened(operand: Operand, namespace: str, pod: str, uid: str) -> Step:
    return Step(action=RestartPod(node="n1", attempt=1, operand=operand, namespace=namespace, pod=pod, uid=uid))


def test_a_validator_older_than_the_driver_has_a_minute_to_start_anew_and_is_restarted_then() -> None:
    node = validating(entered_at=NOW)
    look_again_at = NOW + VALIDATOR_SECONDS
    expected = held(HoldCode.VALIDATOR_STALE, since=NOW, until=look_again_at, pod="validator-n1")
    assert step_node(node, some_orders(), look_again_at - 1) == expected
    assert step_node(node, some_orders(), look_again_at) == freshened(
        Operand.VALIDATOR, "gpu-operator", "validator-n1", "validator-n1-0"
    )


def test_a_validator_that_cannot_be_told_apart_from_its_successor_is_not_restarted() -> None:
    node = validating(validator=a_validator(uid=""))
    assert step_node(node, some_orders(), NOW) == waiting(HoldCode.VALIDATOR_STALE, 1500.0, pod="validator-n1")


def test_nothing_is_restarted_when_the_time_for_a_proof_is_over() -> None:
    steps = [
        step_node(validating(**changes), some_orders(), 1500.0)
        for changes in ({}, {"validator": proving(), "dra": a_dra_plugin()})
    ]
    assert [step.action.id if step.action else None for step in steps] == ["n1/upgrade-failed/1@7"] * 2


def test_a_dra_plugin_older_than_the_driver_is_restarted_at_once() -> None:
    node = validating(validator=proving(), dra=a_dra_plugin(), entered_at=NOW, pods=(a_gpu_pod(holds_claim=True),))
    assert step_node(node, some_orders(), NOW) == freshened(Operand.DRA_PLUGIN, "dra", "plugin-n1", "plugin-n1-0")


def test_a_dra_plugin_stays_while_a_pod_with_a_claim_is_on_its_way_out() -> None:
    leaving = a_pod(is_terminating=True, holds_claim=True)
    node = validating(validator=proving(), dra=a_dra_plugin(), pods=(leaving,))
    assert step_node(node, some_orders(), NOW) == waiting(HoldCode.DRA_PLUGIN_STALE, 1500.0, pod="plugin-n1")


def test_a_dra_plugin_that_is_new_is_left_alone() -> None:
    node = validating(validator=proving(), dra=a_dra_plugin(started_at=250.0))
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.UNCORDON_REQUIRED)


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_our_cordon_is_taken_away_with_the_last_record_in_one_write() -> None:
    gathered = {"old_pod": "x", "failed_revision": "y", "failures": 2, "before": GpuOffer()}
    node = a_well_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, record=gathered)
    expected = opening(
        node,
        NodePhase.UPGRADE_DONE,
        by=Uncordon,
        is_cordon_ours=False,
        old_pod="",
        failed_revision="",
        failures=0,
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

FAILURE: dict[str, Any] = {
    "reason": FailureCode.DRIVER_CRASH_LOOP.value,
    "failed_revision": NEW.hash,
    "failures": 1,
    "old_pod": "driver-n1-1",
}
BLANK: dict[str, Any] = {"reason": "", "failed_revision": "", "failures": 0, "old_pod": ""}
CRASHING = a_starting_driver(restart_count=11, trouble="CrashLoopBackOff")


def failed(record: dict[str, Any] | None = None, **changes: Any) -> NodeSeen:
    """A node given up with its new driver crashing, our cordon on it."""
    broken: dict[str, Any] = {"is_cordon_ours": True, "driver": CRASHING, "record": FAILURE | (record or {})}
    return a_node(phase=NodePhase.UPGRADE_FAILED, **(broken | changes))


@pytest.mark.parametrize("wanted", [NEW, None])
def test_a_failed_node_waits_for_somebody(wanted: DriverRevision | None) -> None:
    expected = held(HoldCode.FAILED, since=900.0, why="driver-crash-loop", diagnosis="")
    assert step_node(failed(wanted=wanted), UNADMITTED, NOW) == expected


def test_a_failed_node_says_which_trouble_was_recognised() -> None:
    words = {"pod": "driver-n1", "trouble": "CrashLoopBackOff", "diagnosis": "module-load"}
    expected = held(HoldCode.FAILED, since=900.0, why="driver-crash-loop", **words)
    assert step_node(failed({"trouble": "module-load"}), UNADMITTED, NOW) == expected


@pytest.mark.parametrize(
    "changes", [{"is_retry_asked": True}, {"wanted": DriverRevision(hash="newer", version="580.126.20")}]
)
def test_a_retry_keeps_our_cordon_and_remembers_the_pod_that_failed(changes: dict[str, Any]) -> None:
    node = failed(**changes)
    expected = opening(node, NodePhase.UPGRADE_REQUIRED, attempt=2, reason="")
    assert step_node(node, UNADMITTED, NOW) == expected


@pytest.mark.parametrize(("failures", "pause_seconds"), [(0, 300.0), (1, 300.0), (2, 600.0), (3, 1200.0)])
def test_a_failed_node_is_tried_again_by_itself_after_a_pause_that_doubles(failures: int, pause_seconds: float) -> None:
    orders = some_orders(admitted={}, intent=an_intent(retries=Retries(count_max=3)))
    node = failed({"failures": failures})
    again_at = 900.0 + pause_seconds
    expected = held(HoldCode.FAILED, since=900.0, until=again_at, why="driver-crash-loop", diagnosis="")
    assert step_node(node, orders, again_at - 1) == expected
    assert step_node(node, orders, again_at) == opening(
        node, NodePhase.UPGRADE_REQUIRED, attempt=2, reason="", entered_at=again_at
    )


def test_a_node_that_failed_too_often_is_not_tried_again_by_itself() -> None:
    orders = some_orders(admitted={}, intent=an_intent(retries=Retries(count_max=3)))
    expected = held(HoldCode.FAILED, since=900.0, why="driver-crash-loop", diagnosis="")
    assert step_node(failed({"failures": 4}), orders, 9_999_999.0) == expected


def test_a_failure_that_nobody_counted_is_one() -> None:
    expected = held(HoldCode.FAILED, since=900.0, why="driver-crash-loop", diagnosis="")
    assert step_node(failed({"failures": 0}), UNADMITTED, 9_999_999.0) == expected


def test_a_failed_node_that_got_well_is_given_back_at_once() -> None:
    node = failed(driver=a_new_driver(), validator=proving())
    expected = opening(node, NodePhase.UPGRADE_DONE, by=Uncordon, is_cordon_ours=False, **BLANK)
    assert step_node(node, UNADMITTED, NOW) == expected


def test_a_failed_node_that_got_well_gives_its_clients_back_too() -> None:
    paused = (("deploy", "true"),)
    clients = {"paused_labels": ("deploy",), "labels": {"deploy": PAUSED}}
    node = failed({"paused": paused}, driver=a_new_driver(), validator=proving(), **clients)
    expected = written(node, NodePhase.UPGRADE_DONE, is_cordon_ours=False, paused=(), **BLANK)
    assert step_node(node, UNADMITTED, NOW) == Step(
        action=Uncordon(node="n1", record=expected.record, expect="7", labels=paused)
    )


def test_a_retry_does_not_give_a_node_back_that_runs_but_is_not_proven() -> None:
    after: dict[str, Any] = {"record": {"old_pod": "driver-n1-1"}, "driver": a_new_driver()}
    ours = a_node(phase=NodePhase.UPGRADE_REQUIRED, is_cordon_ours=True, **after)
    of_an_admin = a_node(phase=NodePhase.UPGRADE_REQUIRED, is_cordoned=True, **after)
    assert [step_node(node, UNADMITTED, NOW) for node in (ours, of_an_admin)] == [Step(wants_admission=True)] * 2


def test_a_retry_gets_a_fresh_pod_although_the_broken_one_is_in_sync() -> None:
    node = restarting(driver=CRASHING, record={"old_pod": "driver-n1-1"})
    assert step_node(node, some_orders(), NOW) == restart("driver-n1-1")


def test_the_fresh_pod_of_a_retry_gets_its_own_time() -> None:
    node = restarting(driver=a_starting_driver(uid="driver-n1-2"), record={"old_pod": "driver-n1-1"})
    expected = waiting(HoldCode.DRIVER_STARTING, 2700.0, pod="driver-n1", trouble="")
    assert step_node(node, some_orders(), NOW) == expected


IN_USE = Symptom(source="container", reason="Error", message="rmmod: ERROR: Module nvidia is in use by: nvidia_uvm")
DIAGNOSED = {
    "pod": "driver-n1",
    "trouble": "",
    "diagnosis": "driver-in-use",
    "found": "rmmod: ERROR: Module nvidia is in use by: nvidia_uvm",
    "kernel": "",
}


@pytest.mark.parametrize(
    ("node", "orders", "code"),
    [
        (
            a_node(phase=NodePhase.UPGRADE_REQUIRED, driver=a_starting_driver(symptoms=(IN_USE,))),
            UNADMITTED,
            HoldCode.DRIVER_NOT_READY,
        ),
        (restarting(driver=a_starting_driver(symptoms=(IN_USE,))), some_orders(), HoldCode.DRIVER_STARTING),
        (validating(driver=a_starting_driver(symptoms=(IN_USE,))), some_orders(), HoldCode.DRIVER_NOT_READY),
    ],
)
def test_a_trouble_that_is_recognised_is_named_while_it_is_waited_out(
    node: NodeSeen, orders: Orders, code: HoldCode
) -> None:
    found = step_node(node, orders, NOW).hold
    assert found is not None
    assert (found.code, dict(found.params)) == (code, DIAGNOSED)


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


# ── where a maintenance operator empties the nodes ───────────────────────────────────────────────────────────────────

REQUESTOR = Requestor(id="seatrial", namespace="ops", prefix="drivers", timeout_seconds=3600.0)
ASKING = an_intent(requestor=REQUESTOR)
BY_REQUEST = some_orders(intent=ASKING)


def a_maintenance(**changes: Any) -> Maintenance:
    """A NodeMaintenance that we made, not ready yet."""
    fields: dict[str, Any] = {
        "namespace": "ops",
        "name": "drivers-n1",
        "uid": "m-1",
        "resource_version": "5",
        "requestor": "seatrial",
    }
    return Maintenance(**(fields | changes))


OF_ANOTHER = a_maintenance(requestor="nic-operator")
JOINED = a_maintenance(requestor="nic-operator", others=("seatrial", "third"))
ELSEWHERE = [
    a_maintenance(requestor="nic-operator", name="nics-n1"),
    a_maintenance(requestor="nic-operator", namespace="network"),
    a_maintenance(requestor="nic-operator", name="nics-n1", is_deleting=True),
]


def in_maintenance(**changes: Any) -> NodeSeen:
    return a_node(phase=NodePhase.NODE_MAINTENANCE_REQUIRED, **changes)


def request(joins: str = "") -> Step:
    return Step(
        action=RequestMaintenance(
            node="n1",
            attempt=1,
            namespace="ops",
            name="drivers-n1",
            requestor="seatrial",
            policy=ASKING.policy,
            joins=joins,
        )
    )


def test_an_admitted_node_goes_to_the_maintenance_operator_with_what_it_offers_written_down() -> None:
    offer = GpuOffer(resources=(("nvidia.com/gpu", 8),))
    node = a_node(phase=NodePhase.UPGRADE_REQUIRED, offer=offer, dra=a_dra_plugin(), published=(OLD.version,))
    expected = GpuOffer(resources=(("nvidia.com/gpu", 8),), has_dra_plugin=True, has_slices=True)
    assert step_node(node, BY_REQUEST, NOW) == opening(node, NodePhase.NODE_MAINTENANCE_REQUIRED, before=expected)


def test_what_a_node_offered_before_its_first_attempt_is_what_is_wanted_back_after_the_second() -> None:
    before = GpuOffer(resources=(("nvidia.com/gpu", 8),))
    record = {"before": before, "old_pod": "driver-n1-0"}
    waits = a_node(phase=NodePhase.UPGRADE_REQUIRED, record=record)
    assert step_node(waits, BY_REQUEST, NOW) == opening(waits, NodePhase.NODE_MAINTENANCE_REQUIRED)
    cordons = a_node(phase=NodePhase.CORDON_REQUIRED, is_cordoned=True, record=record)
    assert step_node(cordons, some_orders(), NOW) == opening(cordons, NodePhase.WAIT_FOR_JOBS_REQUIRED, closed_at=NOW)


def test_a_maintenance_is_asked_for() -> None:
    assert step_node(in_maintenance(), BY_REQUEST, NOW) == request()


def test_a_maintenance_that_somebody_else_asked_for_under_the_name_we_share_is_joined() -> None:
    assert step_node(in_maintenance(maintenance=OF_ANOTHER), BY_REQUEST, NOW) == request(joins="5")


@pytest.mark.parametrize("found", ELSEWHERE)
def test_a_maintenance_of_somebody_else_under_another_name_is_left_to_them(found: Maintenance) -> None:
    assert step_node(in_maintenance(maintenance=found), BY_REQUEST, NOW) == request()


@pytest.mark.parametrize("found", [a_maintenance(), JOINED])
def test_a_maintenance_asked_for_is_waited_for_and_then_the_node_is_given_up(found: Maintenance) -> None:
    node = in_maintenance(maintenance=found)
    expected = waiting(HoldCode.MAINTENANCE_PENDING, 4500.0, name=found.name)
    assert step_node(node, BY_REQUEST, 4499.0) == expected
    action = step_node(node, BY_REQUEST, 4500.0).action
    assert isinstance(action, WriteNodeRecord)
    assert (action.record.phase, action.record.reason) == (NodePhase.UPGRADE_FAILED, FailureCode.MAINTENANCE_TIMEOUT)


def test_no_maintenance_is_asked_for_when_its_time_is_over() -> None:
    action = step_node(in_maintenance(), BY_REQUEST, 4500.0).action
    assert action is not None
    assert action.id == "n1/upgrade-failed/1@7"


@pytest.mark.parametrize(
    "found", [a_maintenance(is_deleting=True, is_ready=True), a_maintenance(is_deleting=True, requestor="nic-operator")]
)
def test_a_maintenance_that_is_being_taken_away_is_waited_out(found: Maintenance) -> None:
    expected = waiting(HoldCode.MAINTENANCE_PENDING, 4500.0, name="drivers-n1")
    assert step_node(in_maintenance(maintenance=found), BY_REQUEST, NOW) == expected


@pytest.mark.parametrize(
    "found", [a_maintenance(is_ready=True), a_maintenance(is_ready=True, requestor="x", others=("seatrial",))]
)
def test_a_node_that_was_emptied_for_us_goes_on_to_the_restart(found: Maintenance) -> None:
    node = in_maintenance(maintenance=found, is_cordoned=True)
    assert step_node(node, BY_REQUEST, NOW) == opening(node, NodePhase.POD_RESTART_REQUIRED)


def test_a_node_that_was_emptied_for_somebody_else_is_not_ours_yet() -> None:
    ready = a_maintenance(requestor="nic-operator", is_ready=True)
    assert step_node(in_maintenance(maintenance=ready), BY_REQUEST, NOW) == request(joins="5")


@pytest.mark.parametrize(
    ("orders", "changes"),
    [
        (some_orders(intent=ASKING, recalled=["n1"]), {}),
        (some_orders(intent=ASKING, recalled=["n1"]), {"maintenance": OF_ANOTHER}),
        (BY_REQUEST, {"is_skipped": True}),
        (some_orders(), {}),
    ],
)
def test_a_node_called_back_before_anybody_was_asked_hands_its_admission_back(
    orders: Orders, changes: dict[str, Any]
) -> None:
    node = in_maintenance(**changes)
    assert step_node(node, orders, NOW) == opening(node, NodePhase.UPGRADE_REQUIRED, attempt=2)


def test_a_node_called_back_after_somebody_was_asked_goes_on() -> None:
    node = in_maintenance(maintenance=a_maintenance())
    expected = waiting(HoldCode.MAINTENANCE_PENDING, 4500.0, name="drivers-n1")
    assert step_node(node, some_orders(intent=ASKING, recalled=["n1"]), NOW) == expected


def test_a_version_reverted_during_maintenance_gives_the_node_back() -> None:
    node = in_maintenance(maintenance=a_maintenance(is_ready=True), wanted=OLD, is_cordoned=True)
    assert step_node(node, BY_REQUEST, NOW) == opening(node, NodePhase.UNCORDON_REQUIRED)


def released(found: Maintenance, *, is_ours: bool, stay: tuple[str, ...] = ()) -> Step:
    return Step(
        action=ReleaseMaintenance(
            node="n1",
            attempt=1,
            namespace=found.namespace,
            name=found.name,
            requestor="seatrial",
            uid="m-1",
            resource_version="5",
            is_ours=is_ours,
            stay=stay,
        )
    )


def a_done_node(**changes: Any) -> NodeSeen:
    return a_well_node(phase=NodePhase.UPGRADE_DONE, **changes)


def test_a_maintenance_of_ours_is_taken_away_when_the_node_is_done() -> None:
    found = a_maintenance()
    assert step_node(a_done_node(maintenance=found), BY_REQUEST, NOW) == released(found, is_ours=True)


def test_a_maintenance_we_joined_stays_for_the_others() -> None:
    assert step_node(a_done_node(maintenance=JOINED), BY_REQUEST, NOW) == released(
        JOINED, is_ours=False, stay=("third",)
    )


def test_a_maintenance_of_ours_that_others_joined_stays_for_them() -> None:
    found = a_maintenance(others=("nic-operator",))
    assert step_node(a_done_node(maintenance=found), BY_REQUEST, NOW) == released(
        found, is_ours=True, stay=("nic-operator",)
    )


@pytest.mark.parametrize(
    ("found", "orders"),
    [
        (a_maintenance(is_deleting=True), BY_REQUEST),
        (OF_ANOTHER, BY_REQUEST),
        (a_maintenance(), some_orders()),
    ],
)
def test_a_maintenance_that_goes_already_or_is_not_ours_is_left_alone(found: Maintenance, orders: Orders) -> None:
    assert step_node(a_done_node(maintenance=found), orders, NOW) == NOTHING


def test_a_maintenance_left_over_from_an_attempt_that_was_handed_back_is_released() -> None:
    waits = a_node(phase=NodePhase.UPGRADE_REQUIRED, maintenance=a_maintenance())
    unadmitted = some_orders(intent=ASKING, admitted={})
    assert step_node(waits, unadmitted, NOW) == released(a_maintenance(), is_ours=True)
    skipped = a_node(phase=NodePhase.UPGRADE_REQUIRED, maintenance=a_maintenance(), is_skipped=True)
    assert step_node(skipped, unadmitted, NOW) == released(a_maintenance(), is_ours=True)


@pytest.mark.parametrize(
    ("found", "record"),
    [
        (a_maintenance(is_deleting=True), {}),
        (OF_ANOTHER, {}),
        (a_maintenance(), {"old_pod": "driver-n1-0"}),
    ],
)
def test_a_maintenance_is_kept_while_a_node_waits_for_its_turn_when(found: Maintenance, record: dict[str, Any]) -> None:
    waits = a_node(phase=NodePhase.UPGRADE_REQUIRED, maintenance=found, record=record)
    assert step_node(waits, some_orders(intent=ASKING, admitted={}), NOW) == Step(wants_admission=True)


def test_a_node_without_a_record_releases_nothing() -> None:
    node = a_well_node(maintenance=a_maintenance())
    assert step_node(node, some_orders(intent=ASKING, admitted={}), NOW) == opening(
        node, NodePhase.UPGRADE_DONE, attempt=0
    )


# ── whatever the node ────────────────────────────────────────────────────────────────────────────────────────────────

PODS = st.builds(
    a_gpu_pod,
    st.integers(0, 3),
    gpu=st.sampled_from([None, *GpuUse]),
    keeper=st.sampled_from(PodOwner),
    is_terminating=st.booleans(),
    has_empty_dir=st.booleans(),
    holds_claim=st.booleans(),
    deploy_label=st.sampled_from(["", "deploy"]),
    labels=st.sampled_from([(), (("kind", "training"),)]),
    offers_checkpoint=st.booleans(),
    checkpoint_asked=st.sampled_from(["", "spring.n1.1"]),
    checkpoint_saved=st.sampled_from(["", "spring.n1.1"]),
)
DRIVERS = st.none() | st.sampled_from([a_driver, a_new_driver, a_starting_driver]).flatmap(
    lambda build: st.builds(
        build,
        digest=st.sampled_from(["", "d1"]),
        is_orphaned=st.sampled_from([False, False, True]),
        is_terminating=st.sampled_from([False, False, True]),
        restart_count=st.sampled_from([0, 11]),
        symptoms=st.sampled_from([(), (IN_USE,)]),
    )
)
OFFERS = st.sampled_from([GpuOffer(), OFFERED, GpuOffer(mig_config="all-1g.5gb", has_slices=True)])
RECORDS = st.fixed_dictionaries(
    {
        "old_pod": st.sampled_from(["", "driver-n1-0", "driver-n1-1"]),
        "failed_revision": st.sampled_from(["", "old", "new"]),
        "failures": st.integers(0, 3),
        "is_requested": st.booleans(),
        "is_restart_only": st.booleans(),
        "is_saving": st.booleans(),
        "before": st.none() | OFFERS,
        "paused": st.sampled_from([(), (("deploy", "true"),)]),
    }
)


@st.composite
def nodes(draw: st.DrawFn) -> NodeSeen:
    """Any node that could be met: its record and its facts from anywhere on any way."""
    phase = draw(st.sampled_from([None, *NodePhase]))
    is_cordon_ours = phase not in (None, NodePhase.UPGRADE_DONE) and draw(st.booleans())
    return a_node(
        phase=phase,
        attempt=draw(st.integers(0, 2)),
        entered_at=draw(st.sampled_from([0.0, 700.0, 999.0])),
        is_cordon_ours=is_cordon_ours,
        is_cordoned=draw(st.booleans()),
        record=draw(RECORDS),
        driver=draw(DRIVERS),
        validator=draw(st.sampled_from([None, a_validator(), proving(), a_validator(is_ready=False)])),
        dra=draw(st.sampled_from([None, a_dra_plugin(), a_dra_plugin(started_at=250.0)])),
        pods=tuple(draw(st.lists(PODS, max_size=3, unique_by=lambda pod: pod.uid))),
        wanted=draw(st.sampled_from([None, OLD, NEW, SAME])),
        offer=draw(OFFERS),
        labels=draw(st.sampled_from([{}, {"deploy": "true"}, {"deploy": "paused-for-driver-upgrade"}])),
        maintenance=draw(st.sampled_from([None, a_maintenance(), a_maintenance(is_ready=True), JOINED, OF_ANOTHER])),
        owner=draw(st.sampled_from(["", "blue"])),
        owner_conflict=draw(st.sampled_from(["", "", "two"])),
        is_retry_asked=draw(st.booleans()),
        is_label_lost=draw(st.sampled_from([False, False, True])),
        is_ready=draw(st.sampled_from([True, True, False])),
        is_skipped=draw(st.sampled_from([False, False, True])),
        is_requested=draw(st.sampled_from([False, False, True])),
        awaits_safe_load=draw(st.sampled_from([False, False, True])),
        is_loss_accepted=draw(st.booleans()),
    )


INTENTS = st.builds(
    an_intent,
    jobs=st.sampled_from([JobWait(), JobWait(selector=Selector.parse("kind=training"), timeout_seconds=200.0)]),
    drain=st.builds(Drain, is_enabled=st.booleans()),
    checkpoint=st.sampled_from([Checkpoint(), Checkpoint(webhook="https://jobs.example.com")]),
    requestor=st.none() | st.just(REQUESTOR),
    retries=st.sampled_from([Retries(), Retries(count_max=2)]),
)


@settings(max_examples=300)
@given(
    nodes(),
    INTENTS,
    st.sampled_from([{}, {"n1": 1}, {"n1": 2}]),
    st.booleans(),
    st.sampled_from([{}, {"pod-0": a_rebuff()}, {"pod-0": a_rebuff(at=0.0)}]),
)
def test_every_node_does_one_thing_or_waits_for_one_reason_and_stays_on_the_table(
    node: NodeSeen, intent: Intent, admitted: dict[str, int], is_recalled: bool, rebuffs: dict[str, Any]
) -> None:
    orders = some_orders(intent=intent, admitted=admitted, recalled=["n1"] if is_recalled else [], rebuffs=rebuffs)
    step = step_node(node, orders, NOW)
    assert sum([step.action is not None, step.hold is not None, step.wants_admission]) <= 1
    before = node.record.phase if node.record else None
    if step == NOTHING:
        assert before is NodePhase.UPGRADE_DONE
    if isinstance(step.action, WriteNodeRecord):
        assert step.action.record.phase in {*TRANSITIONS[before], before}
    if isinstance(step.action, RestartPod) and step.action.operand is Operand.DRIVER:
        assert node.facts.is_cordoned


# ── a driver pod is on record before it is deleted ───────────────────────────────────────────────────────────────────


def test_a_driver_pod_that_came_meanwhile_is_written_down_before_it_is_deleted() -> None:
    node = a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, record={"old_pod": "another"})
    (writing,) = (step_node(node, some_orders(), NOW).action,)
    assert isinstance(writing, WriteNodeRecord)
    assert (writing.record.old_pod, writing.record.entered_at) == ("driver-n1-0", 900.0)


def test_a_view_that_still_shows_the_deleted_pod_proves_nothing_although_it_is_wanted_again() -> None:
    shown = a_new_driver(uid="driver-n1-0")
    fields: dict[str, Any] = {"driver": shown, "validator": proving(), "record": {"old_pod": "driver-n1-0"}}
    node = a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, **fields)
    assert isinstance(step_node(node, some_orders(), NOW).action, RestartPod)


def test_clients_that_were_given_back_are_asked_to_leave_again_before_the_next_restart() -> None:
    label = "nvidia.com/gpu.deploy.client"
    fields: dict[str, Any] = {
        "labels": {label: "true"},
        "record": {"paused": ((label, "true"),), "old_pod": "driver-n1-0"},
    }
    node = a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_cordon_ours=True, **fields)
    action = step_node(node, some_orders(), NOW).action
    assert isinstance(action, PauseClients)
    assert action.labels == ((label, PAUSED),)


# ── taken back while the driver is untouched ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "phase", [NodePhase.WAIT_FOR_JOBS_REQUIRED, NodePhase.POD_DELETION_REQUIRED, NodePhase.DRAIN_REQUIRED]
)
def test_nobody_else_leaves_a_node_that_runs_what_is_wanted_although_it_is_not_proven(phase: NodePhase) -> None:
    fields: dict[str, Any] = {"driver": a_new_driver(), "pods": (a_gpu_pod(),)}
    node = a_node(phase=phase, is_cordon_ours=True, **fields)
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.UNCORDON_REQUIRED)
    back = a_node(phase=NodePhase.UNCORDON_REQUIRED, is_cordon_ours=True, **fields)
    assert step_node(back, some_orders(), NOW) == opening(back, NodePhase.VALIDATION_REQUIRED)


def test_a_node_that_runs_what_is_wanted_is_let_go_before_its_cordon_without_proof() -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED, driver=a_new_driver())
    assert step_node(node, some_orders(), NOW) == opening(node, NodePhase.UPGRADE_DONE)
