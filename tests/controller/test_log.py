"""The controller's log: one line per thing that happened, and nothing twice."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest

from seatrial.controller.log import Log
from seatrial.core.actions.on_nodes import RestartPod
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.promises.breach import Breach
from seatrial.ports import Outcome, Result, Sight
from seatrial.run.loop import Report
from tests import builders

RESTART = RestartPod(node="n1", attempt=1, operand=Operand.DRIVER, namespace="gpu-operator", pod="driver-n1", uid="u1")


class Lines:
    """A log, and the lines it wrote since the last question, without their time."""

    def __init__(self) -> None:
        self._out = io.StringIO()
        self.log = Log(self._out)

    def new(self) -> list[str]:
        lines = self._out.getvalue().splitlines()
        self._out.seek(0)
        self._out.truncate()
        assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", line) for line in lines)
        return [line.partition(" ")[2] for line in lines]


@pytest.fixture
def lines() -> Lines:
    return Lines()


def a_report(*holds: Hold, actions: tuple[Any, ...] = (), **changes: Any) -> Report:
    """A pass that decided this."""
    sight = Sight(seen=builders.a_snapshot(), intent=builders.an_intent())
    fields: dict[str, Any] = {"at": 0.0, "sight": sight, "decision": builders.a_decision(*actions, holds=holds)}
    return Report(**(fields | changes))


def skipped(*names: str) -> tuple[Hold, ...]:
    return tuple(hold(name, HoldCode.SKIPPED) for name in names)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("n1/evict", "n1/evict"),
        ("", '""'),
        ("two words", '"two words"'),
        ('he said "no"', '"he said \\"no\\""'),
        ("two\nlines", '"two\\nlines"'),
        ("a=b", '"a=b"'),
        ("größer", "größer"),
    ],
)
def test_a_value_can_always_be_told_from_the_next(lines: Lines, value: str, written: str) -> None:
    lines.log.say("said", what=value, count=1)
    assert lines.new() == [f"said what={written} count=1"]


def test_a_message_may_stand_alone(lines: Lines) -> None:
    lines.log.say("over")
    assert lines.new() == ["over"]


def test_every_act_on_a_node_is_a_line_and_the_ledgers_bookkeeping_is_none(lines: Lines) -> None:
    ledger = WriteRolloutRecord(record=RolloutRecord(name="spring"))
    lines.log.report(a_report(actions=(ledger, RESTART)))
    assert lines.new() == ["act id=n1/restart-driver/1/u1 kind=RestartPod"]


def test_an_act_that_was_turned_down_is_a_line_and_a_success_is_none(lines: Lines) -> None:
    outcomes = (
        Outcome(action=RESTART, result=Result.DONE),
        Outcome(action=RESTART, result=Result.FAILED, detail="not now"),
    )
    lines.log.report(a_report(outcomes=outcomes))
    assert lines.new() == ['act refused id=n1/restart-driver/1/u1 result=failed why="not now"']


def test_a_hold_is_told_when_it_begins_and_when_its_reason_changes(lines: Lines) -> None:
    why = '"somebody marked the node with nvidia.com/gpu-driver-upgrade.skip=true"'
    lines.log.report(a_report(*skipped("n1")))
    assert lines.new() == [f"held subject=n1 code=skipped why={why}"]
    lines.log.report(a_report(*skipped("n1")))
    assert lines.new() == []
    lines.log.report(a_report(hold("n1", HoldCode.DRIVER_POD_MISSING)))
    assert lines.new() == ['held subject=n1 code=driver-pod-missing why="the node has no driver pod"']
    lines.log.report(a_report())
    lines.log.report(a_report(*skipped("n1")))
    assert len(lines.new()) == 1


def test_of_several_reasons_for_the_same_wait_none_hides_another(lines: Lines) -> None:
    first, second = skipped("n1")[0], hold("n1", HoldCode.DRIVER_POD_MISSING)
    lines.log.report(a_report(second))
    lines.new()
    lines.log.report(a_report(first, second))
    assert [line.partition(" why=")[0] for line in lines.new()] == ["held subject=n1 code=skipped"]


def test_a_hold_of_a_moment_is_not_told(lines: Lines) -> None:
    lines.log.report(a_report(hold("n1", HoldCode.WRITE_IN_FLIGHT), hold("n2", HoldCode.LEDGER_PENDING)))
    assert lines.new() == []


def test_many_nodes_that_begin_to_wait_alike_are_one_line(lines: Lines) -> None:
    lines.log.report(a_report(*skipped(*(f"n{number}" for number in range(10_000)))))
    (line,) = lines.new()
    assert line.startswith("held count=10000 first=n0 code=skipped why=")
    lines.log.report(a_report(*skipped(*(f"n{number}" for number in range(10_001)))))
    assert [line.partition(" why=")[0] for line in lines.new()] == ["held subject=n10000 code=skipped"]


def test_a_broken_promise_is_told_and_what_was_decided_is_not(lines: Lines) -> None:
    breach = Breach(promise="capacity", subject="n1", detail="too many")
    lines.log.report(a_report(*skipped("n1"), actions=(RESTART,), breaches=(breach,)))
    (line,) = lines.new()
    assert line.startswith("promise about to be broken, nothing executed promise=capacity why=")


def test_a_fault_is_told_once_until_it_is_mended(lines: Lines) -> None:
    blind = a_report(sight=None, decision=None)
    for _ in range(3):
        lines.log.fault("There are 2 GPURollouts")
        lines.log.report(blind)
    assert lines.new() == ['fault why="There are 2 GPURollouts"']
    lines.log.report(a_report())
    assert lines.log.fault_text == ""
    lines.log.fault("There are 2 GPURollouts")
    assert len(lines.new()) == 1
