"""How a phase is opened: one write, with everything that must be atomic with it, and nothing the table forbids."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.actions.on_nodes import Cordon, Request, Uncordon, WriteNodeRecord
from seatrial.core.errors import CoreBug
from seatrial.core.holds import HoldCode, hold
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord
from seatrial.core.model.troubles import Symptom
from seatrial.core.node.phases import RESUMING, TRANSITIONS, FailureCode
from seatrial.core.node.writing import (
    PATIENCE,
    PAUSED,
    RETRY_SECONDS_MAX,
    Step,
    deadline_of,
    diagnose,
    kernel_of,
    new_attempt,
    open_phase,
    record_of,
    retry_at,
    told,
    wait,
    write_again,
)
from tests.builders import NEW, NOW, a_driver, a_node, a_rebuff, a_starting_driver, opening, some_orders, written

KERNEL_LABEL = "feature.node.kubernetes.io/kernel-version.full"
NO_MODULE = Symptom(source="container", reason="Error", message="modprobe: FATAL: Module nvidia not found in directory")
GATHERED: dict[str, Any] = {
    "failed_revision": "x",
    "failures": 2,
    "old_pod": "driver-n1-0",
    "is_requested": True,
    "before": GpuOffer(mig_config="all-1g.5gb"),
    "paused": (("deploy", "true"),),
}


# ── opening a phase ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_opening_a_phase_the_table_does_not_know_is_a_bug_of_ours() -> None:
    with pytest.raises(CoreBug, match="may not be followed by validation-required"):
        open_phase(a_node(phase=NodePhase.UPGRADE_DONE), NodePhase.VALIDATION_REQUIRED, NOW)


@given(st.sampled_from([None, *NodePhase]), st.sampled_from(NodePhase), st.booleans(), st.booleans(), st.booleans())
def test_a_phase_is_opened_along_the_table_or_not_at_all(
    before: NodePhase | None, after: NodePhase, cordon: bool, is_ours: bool, is_cordoned: bool
) -> None:
    node = a_node(phase=before, is_cordon_ours=is_ours, is_cordoned=is_cordoned)
    if after not in TRANSITIONS[before]:
        with pytest.raises(CoreBug):
            open_phase(node, after, NOW, cordon=cordon)
        return
    action = open_phase(node, after, NOW, cordon=cordon).action
    assert isinstance(action, WriteNodeRecord)
    assert (action.record.phase, action.record.entered_at, action.expect) == (after, NOW, "7")
    assert isinstance(action, Cordon) is (cordon and not is_cordoned)
    was_ours = before is not None and is_ours
    is_uncordon = after is NodePhase.UPGRADE_DONE and was_ours and is_cordoned and not isinstance(action, Cordon)
    assert isinstance(action, Uncordon) is is_uncordon
    assert action.record.is_cordon_ours is (
        after is not NodePhase.UPGRADE_DONE and (was_ours or isinstance(action, Cordon))
    )


def test_what_an_attempt_has_gathered_is_remembered_on_its_way() -> None:
    node = a_node(phase=NodePhase.POD_DELETION_REQUIRED, is_cordon_ours=True, record=GATHERED)
    assert open_phase(node, NodePhase.POD_RESTART_REQUIRED, NOW) == opening(node, NodePhase.POD_RESTART_REQUIRED)


def test_what_an_attempt_has_gathered_is_forgotten_when_the_node_is_done_but_for_what_it_offered() -> None:
    node = a_node(phase=NodePhase.UNCORDON_REQUIRED, attempt=3, is_cordoned=True, record=GATHERED | {"paused": ()})
    assert open_phase(node, NodePhase.UPGRADE_DONE, NOW) == Step(
        action=WriteNodeRecord(
            node="n1",
            record=NodeRecord(phase=NodePhase.UPGRADE_DONE, attempt=3, entered_at=NOW, before=GATHERED["before"]),
            expect="7",
        )
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (NodePhase.POD_RESTART_REQUIRED, NodePhase.VALIDATION_REQUIRED),
        (NodePhase.POD_DELETION_REQUIRED, NodePhase.UNCORDON_REQUIRED),
        (NodePhase.UPGRADE_FAILED, NodePhase.UPGRADE_DONE),
    ],
)
def test_paused_clients_come_back_in_the_write_that_says_the_driver_is_there(
    before: NodePhase, after: NodePhase
) -> None:
    paused = (("deploy", "true"), ("other", "yes"), ("theirs", "true"))
    labels = {"deploy": PAUSED, "other": f"yes_{PAUSED}", "theirs": "false"}  # one was changed by somebody since
    node = a_node(phase=before, record={"paused": paused}, labels=labels)
    action = open_phase(node, after, NOW).action
    assert after in RESUMING
    assert isinstance(action, WriteNodeRecord)
    assert action.labels == (("deploy", "true"), ("other", "yes"))
    assert action.record.paused == (() if after is NodePhase.UPGRADE_DONE else paused)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (NodePhase.POD_DELETION_REQUIRED, NodePhase.POD_RESTART_REQUIRED),
        (NodePhase.POD_RESTART_REQUIRED, NodePhase.UPGRADE_FAILED),
    ],
)
def test_paused_clients_stay_paused_while_there_is_no_driver_to_use(before: NodePhase, after: NodePhase) -> None:
    paused = (("deploy", "true"),)
    action = open_phase(a_node(phase=before, record={"paused": paused}), after, NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert (action.labels, action.record.paused) == ((), paused)


@pytest.mark.parametrize(("is_accepted", "answers"), [(True, (Request.ACCEPT_LOSS,)), (False, ())])
def test_an_accepted_loss_is_answered_when_the_node_is_done(is_accepted: bool, answers: tuple[Request, ...]) -> None:
    node = a_node(phase=NodePhase.UNCORDON_REQUIRED, is_loss_accepted=is_accepted)
    action = open_phase(node, NodePhase.UPGRADE_DONE, NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert action.answers == answers


def test_a_retry_after_an_accepted_loss_measures_the_node_anew() -> None:
    before = {"before": GpuOffer(resources=(("nvidia.com/gpu", 8),))}
    for is_accepted, kept in ((True, None), (False, before["before"])):
        node = a_node(phase=NodePhase.UPGRADE_FAILED, record=before, is_loss_accepted=is_accepted)
        action = new_attempt(node, some_orders(), NOW).action
        assert isinstance(action, WriteNodeRecord)
        assert action.record.before == kept


def test_an_accepted_loss_is_not_answered_before() -> None:
    node = a_node(phase=NodePhase.POD_RESTART_REQUIRED, is_loss_accepted=True)
    assert open_phase(node, NodePhase.VALIDATION_REQUIRED, NOW) == opening(node, NodePhase.VALIDATION_REQUIRED)


# ── giving up ────────────────────────────────────────────────────────────────────────────────────────────────────────


def given_up(**changes: Any) -> NodeRecord:
    fields: dict[str, Any] = {"phase": NodePhase.POD_RESTART_REQUIRED, "driver": a_starting_driver()}
    node = a_node(**(fields | changes))
    action = open_phase(node, NodePhase.UPGRADE_FAILED, NOW, reason=FailureCode.DRIVER_TIMEOUT).action
    assert isinstance(action, WriteNodeRecord)
    return action.record


@pytest.mark.parametrize(
    ("record", "failures"),
    [
        ({}, 1),
        ({"failed_revision": NEW.hash, "failures": 1}, 2),
        ({"failed_revision": NEW.hash, "failures": 4}, 5),
        ({"failed_revision": "another", "failures": 4}, 1),
    ],
)
def test_failures_on_the_way_to_one_revision_are_counted(record: dict[str, Any], failures: int) -> None:
    assert given_up(record=record) == NodeRecord(
        phase=NodePhase.UPGRADE_FAILED,
        attempt=1,
        entered_at=NOW,
        reason=FailureCode.DRIVER_TIMEOUT,
        failed_revision=NEW.hash,
        failures=failures,
        old_pod="driver-n1-1",
    )


def test_a_failure_without_driver_or_revision_keeps_what_was_known_before() -> None:
    record = {"failed_revision": "x", "failures": 1, "old_pod": "driver-n1-0"}
    found = given_up(driver=None, wanted=None, record=record)
    assert (found.failed_revision, found.failures, found.old_pod) == ("x", 2, "driver-n1-0")


def test_a_trouble_that_is_recognised_is_written_down_with_the_failure() -> None:
    assert given_up(driver=a_starting_driver(symptoms=(NO_MODULE,))).trouble == "module-load"


def test_the_trouble_of_an_earlier_failure_is_forgotten_with_the_next_phase() -> None:
    node = a_node(phase=NodePhase.UPGRADE_FAILED, record={"trouble": "module-load", "reason": "driver-timeout"})
    expected = written(node, NodePhase.UPGRADE_DONE, trouble="", reason="")
    assert open_phase(node, NodePhase.UPGRADE_DONE, NOW).action == expected


# ── a new attempt ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_first_attempt_starts_from_nothing() -> None:
    assert new_attempt(a_node(), some_orders(admitted={}), NOW) == opening(
        a_node(), NodePhase.UPGRADE_REQUIRED, attempt=1
    )


def test_an_attempt_after_a_done_one_remembers_nothing_of_it() -> None:
    node = a_node(phase=NodePhase.UPGRADE_DONE, attempt=2, record=GATHERED)
    fresh = NodeRecord(phase=NodePhase.UPGRADE_REQUIRED, attempt=3, entered_at=NOW)
    assert new_attempt(node, some_orders(), NOW) == write_again(node, fresh)


def test_an_attempt_after_a_failure_remembers_what_was_gathered() -> None:
    failed = {"reason": "driver-timeout", "trouble": "module-load", "is_restart_only": True}
    node = a_node(phase=NodePhase.UPGRADE_FAILED, attempt=2, is_cordon_ours=True, record=GATHERED | failed)
    assert new_attempt(node, some_orders(), NOW) == opening(
        node, NodePhase.UPGRADE_REQUIRED, attempt=3, reason="", trouble="", is_restart_only=False
    )


@pytest.mark.parametrize("phase", [None, NodePhase.UPGRADE_DONE, NodePhase.UPGRADE_FAILED])
def test_an_upgrade_asked_for_is_answered_and_the_pod_that_runs_has_to_go(phase: NodePhase | None) -> None:
    node = a_node(phase=phase, attempt=2, is_requested=True)
    action = new_attempt(node, some_orders(), NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert (action.answers, action.record.is_requested, action.record.old_pod) == (
        (Request.UPGRADE,),
        True,
        "driver-n1-0",
    )


def test_a_retry_asked_for_by_label_on_a_done_node_has_nothing_to_answer() -> None:
    node = a_node(phase=NodePhase.UPGRADE_DONE, is_retry_asked=True)
    assert new_attempt(node, some_orders(), NOW) == opening(
        node, NodePhase.UPGRADE_REQUIRED, attempt=2, is_requested=True, old_pod="driver-n1-0"
    )


def test_a_retry_of_a_failed_node_is_no_request() -> None:
    node = a_node(phase=NodePhase.UPGRADE_FAILED, is_retry_asked=True, record={"old_pod": "x"})
    assert new_attempt(node, some_orders(), NOW) == opening(node, NodePhase.UPGRADE_REQUIRED, attempt=2)


# ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def a_wait(deadline: float | None, look_again_at: float | None = None) -> Step:
    return wait(
        a_node(phase=NodePhase.VALIDATION_REQUIRED),
        HoldCode.VALIDATOR_MISSING,
        deadline,
        FailureCode.VALIDATION_TIMEOUT,
        NOW,
        look_again_at=look_again_at,
        params={"a": 1},
        b=2,
    )


@pytest.mark.parametrize(
    ("deadline", "look_again_at", "until"),
    [(2000.0, None, 2000.0), (2000.0, 1500.0, 1500.0), (1500.0, 2000.0, 1500.0), (None, 5.0, 5.0), (None, None, None)],
)
def test_a_wait_lasts_until_its_deadline_or_until_there_is_reason_to_look_again(
    deadline: float | None, look_again_at: float | None, until: float | None
) -> None:
    expected = hold("n1", HoldCode.VALIDATOR_MISSING, since=900.0, until=until, a=1, b=2)
    assert a_wait(deadline, look_again_at) == Step(hold=expected)


def test_a_wait_at_its_deadline_gives_the_node_up() -> None:
    action = a_wait(NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert (action.record.phase, action.record.reason) == (NodePhase.UPGRADE_FAILED, "validation-timeout")


@pytest.mark.parametrize(("attentive_since", "deadline"), [(0.0, 960.0), (5000.0, 5060.0)])
def test_time_in_which_we_were_not_free_to_act_does_not_count(attentive_since: float, deadline: float) -> None:
    record = record_of(a_node(phase=NodePhase.VALIDATION_REQUIRED))
    assert deadline_of(record, some_orders(attentive_since=attentive_since), 60.0) == deadline


def test_a_phase_without_a_record_is_a_bug_of_ours() -> None:
    with pytest.raises(CoreBug, match="n1: a phase without a record"):
        record_of(a_node())


# ── backing off ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("count", "seconds"), [(1, 5.0), (2, 10.0), (3, 20.0), (4, 30.0), (2000, 30.0)])
def test_back_off_doubles_up_to_half_a_minute(count: int, seconds: float) -> None:
    assert retry_at(a_rebuff(count=count)) == NOW + seconds


@pytest.mark.parametrize(
    ("count", "seconds"),
    [(1, 5.0), (PATIENCE, 5.0), (PATIENCE + 1, 5.0), (PATIENCE + 2, 10.0), (PATIENCE + 3, 20.0), (2000, 30.0)],
)
def test_a_budget_is_asked_every_five_seconds_a_dozen_times_before_we_back_off(count: int, seconds: float) -> None:
    assert retry_at(a_rebuff(count=count, code="blocked")) == NOW + seconds


@given(st.integers(1, 10_000), st.sampled_from(["blocked", "failed"]))
def test_nobody_waits_longer_than_the_longest_back_off(count: int, code: str) -> None:
    earlier, later = (retry_at(a_rebuff(count=number, code=code)) for number in (count, count + 1))
    assert NOW < earlier <= later <= NOW + RETRY_SECONDS_MAX


# ── what is known of a trouble ───────────────────────────────────────────────────────────────────────────────────────


def test_what_is_known_of_a_driver_that_says_nothing() -> None:
    assert told(a_node().facts) == {"pod": "driver-n1", "trouble": ""}


def test_what_is_known_of_a_driver_that_is_not_there() -> None:
    assert told(a_node(driver=None).facts) == {"pod": "", "trouble": ""}


def test_a_recognised_trouble_is_told_with_what_gave_it_away_and_the_kernel() -> None:
    node = a_node(
        driver=a_driver(trouble="CrashLoopBackOff", symptoms=(NO_MODULE,)), labels={KERNEL_LABEL: "6.8.0-60-generic"}
    )
    assert told(node.facts) == {
        "pod": "driver-n1",
        "trouble": "CrashLoopBackOff",
        "diagnosis": "module-load",
        "found": "modprobe: FATAL: Module nvidia not found in directory",
        "kernel": "6.8.0-60-generic",
    }


def test_conditions_of_the_node_are_symptoms_too() -> None:
    pressure = Symptom(source="node", reason="DiskPressure", message="kubelet has disk pressure")
    found = diagnose(a_node(driver=None, symptoms=(pressure,)).facts)
    assert found is not None
    assert found.trouble == "node-pressure"


def test_a_symptom_nobody_knows_is_no_diagnosis() -> None:
    assert diagnose(a_node(symptoms=(Symptom(source="event", reason="Odd"),)).facts) is None


def test_a_kernel_nobody_tells_of_is_not_made_up() -> None:
    assert kernel_of(a_node().facts) == ""


def test_who_accepts_a_loss_does_not_find_it_missing_afterwards() -> None:
    node = a_node(phase=NodePhase.UNCORDON_REQUIRED, is_loss_accepted=True, record=GATHERED)
    action = open_phase(node, NodePhase.UPGRADE_DONE, NOW).action
    assert isinstance(action, WriteNodeRecord)
    assert action.record.before is None
