"""Problems that detectors report on a node: all are told, and some, begun with a driver, speak against it."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.actions.on_nodes import WriteNodeRecord
from seatrial.core.holds import HoldCode
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.problems import Problem, is_problem
from seatrial.core.node import readiness
from seatrial.core.node.phases import FailureCode
from seatrial.core.node.step import step_node
from tests.builders import NOW, a_new_driver, a_well_node, some_orders

BEFORE, AFTER = 150.0, 250.0
"""The driver of a well node has been Ready since 200."""


@pytest.mark.parametrize(
    ("type_", "status", "is_so"),
    [
        ("KernelDeadlock", "True", True),
        ("KernelDeadlock", "False", False),
        ("KernelDeadlock", "Unknown", False),
        ("FrequentKubeletRestart", "True", True),
        ("AcceleratedHardwareReady", "False", True),
        ("AcceleratedHardwareReady", "True", False),
        ("AcceleratedHardwareReady", "Unknown", False),
        ("Ready", "False", False),
        ("DiskPressure", "True", False),
    ],
)
def test_a_condition_of_a_detector_is_a_problem_when_it_says_so(type_: str, status: str, is_so: bool) -> None:
    assert is_problem(type_, status) is is_so


def lack(*problems: Problem, **changes: Any) -> HoldCode | None:
    node = a_well_node(phase=NodePhase.VALIDATION_REQUIRED, is_cordon_ours=True, problems=problems, **changes)
    found = readiness.why_unproven(node.facts, node.record)
    return found.code if found is not None else None


def test_a_grave_problem_that_began_with_the_new_driver_keeps_the_node_closed() -> None:
    assert lack(Problem(type="KernelDeadlock", since=AFTER)) is HoldCode.NODE_PROBLEM
    assert lack(Problem(type="AcceleratedHardwareReady", since=AFTER)) is HoldCode.NODE_PROBLEM


def test_one_that_was_there_before_is_not_the_drivers_doing() -> None:
    assert lack(Problem(type="KernelDeadlock", since=BEFORE)) is None


def test_a_driver_answers_for_what_began_while_it_was_loading() -> None:
    slow = a_new_driver(started_at=BEFORE - 10)
    assert lack(Problem(type="KernelDeadlock", since=BEFORE), driver=slow) is HoldCode.NODE_PROBLEM


def test_one_that_does_not_say_since_when_is_no_pass() -> None:
    assert lack(Problem(type="ReadonlyFilesystem")) is HoldCode.NODE_PROBLEM


def test_what_may_be_harmless_is_told_and_keeps_nobody() -> None:
    assert lack(Problem(type="FrequentKubeletRestart", since=AFTER), Problem(type="XIDErrors", since=AFTER)) is None


def test_who_accepts_what_is_reported_lets_the_node_go() -> None:
    assert lack(Problem(type="KernelDeadlock", since=AFTER), is_loss_accepted=True) is None


def test_a_problem_that_stays_fails_the_node_in_its_time_and_one_that_goes_lets_it_end() -> None:
    fields: dict[str, Any] = {"phase": NodePhase.VALIDATION_REQUIRED, "is_cordon_ours": True}
    orders = some_orders()
    node = a_well_node(problems=(Problem(type="KernelDeadlock", message="task blocked", since=AFTER),), **fields)
    step = step_node(node, orders, NOW)
    assert step.hold is not None
    assert dict(step.hold.params) == {"type": "KernelDeadlock", "said": "task blocked"}
    failed = step_node(node, orders, NOW + orders.intent.validation_timeout_seconds).action
    assert isinstance(failed, WriteNodeRecord)
    assert failed.record.reason == FailureCode.VALIDATION_TIMEOUT
    done = step_node(a_well_node(**fields), orders, NOW).action
    assert isinstance(done, WriteNodeRecord)
    assert done.record.phase is NodePhase.UNCORDON_REQUIRED
