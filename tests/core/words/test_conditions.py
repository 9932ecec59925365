"""A rollout's conditions say what its record says: who has to act, what failed, and whether it is over."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from typing import Any

import pytest

from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.seen.rollouts import RolloutRecord, Summary, Told, Waiting
from seatrial.core.words import causes, explain
from seatrial.core.words.conditions import Condition, Status, conditions_of, phase_of, why_of

WELL = "no gate and no node has failed"


def a_record(phase: RolloutPhase | None = None, state: str = "waiting", **fields: Any) -> RolloutRecord:
    """A rollout's record; a campaign in this phase, or none."""
    counts, holds = fields.pop("counts", {}), fields.pop("holds", {})
    return RolloutRecord(
        name="spring",
        summary=Summary(
            state=state,
            counts=tuple(counts.items()),
            holds=tuple(holds.items()),
            failed=fields.pop("failed", ""),
            total=fields.pop("total", 0),
            waiting=fields.pop("waiting", ()),
        ),
        campaign=CampaignRecord(phase=phase, **fields) if phase is not None else None,
    )


def told(record: RolloutRecord) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status.value, each.reason) for each in conditions_of(record)}


def a_gate(verdict: GateVerdict, detail: str = "") -> GateResult:
    return GateResult(gate="nccl", node="gpu-01", round=1, verdict=verdict, detail=detail)


def test_a_record_that_says_nothing_has_no_conditions() -> None:
    assert conditions_of(RolloutRecord(name="spring")) == ()


def test_a_campaign_that_has_just_begun_goes_on_by_itself() -> None:
    record = RolloutRecord(name="spring", campaign=CampaignRecord())
    assert told(record) == {
        "Progressing": ("True", "Proposed"),
        "Healthy": ("True", "NothingFailed"),
        "Ended": ("False", "Proposed"),
        "Ready": ("False", "Proposed"),
        "Reconciling": ("True", "Proposed"),
    }


def test_waiting_for_time_is_progress_and_names_what_concerns_all_first() -> None:
    record = a_record(RolloutPhase.BAKING, holds={"not-its-turn": 7, "baking": 1})
    assert conditions_of(record)[0] == Condition(
        type="Progressing",
        status=Status.TRUE,
        reason="Baking",
        message="waiting: baking (1), not-its-turn (7); `seatrial status` explains",
    )


@pytest.mark.parametrize("code", sorted(causes.NEEDS_SOMEBODY))
def test_what_only_somebody_can_end_is_no_progress_and_names_itself(code: HoldCode) -> None:
    record = a_record(RolloutPhase.WAVING, holds={"wave-at-work": 1, code.value: 1, "not-its-turn": 7})
    reason = code.value.title().replace("-", "")
    assert told(record)["Progressing"] == ("False", reason)


def test_whoever_needs_somebody_says_what_to_do() -> None:
    for code in causes.NEEDS_SOMEBODY:
        next_step = explain.EXPLANATIONS[code].next_step
        assert not re.search("on its own|automatically", next_step), code


def test_a_paused_campaign_is_paused_whatever_else_it_waits_for() -> None:
    assert told(a_record(RolloutPhase.PAUSED, holds={"approval-pending": 1}))["Progressing"] == ("False", "Paused")


def test_a_hold_of_another_release_is_told_last() -> None:
    record = a_record(RolloutPhase.BAKING, holds={"a-new-one": 1, "parallel-limit": 2})
    assert told(record)["Progressing"] == ("True", "ParallelLimit")


@pytest.mark.parametrize(
    ("record", "healthy", "message"),
    [
        (a_record(RolloutPhase.REVERTING, why="gate nccl failed"), ("False", "Undone"), "gate nccl failed"),
        (a_record(RolloutPhase.REVERTED, why="it smokes"), ("False", "Undone"), "it smokes"),
        (
            a_record(RolloutPhase.GATING, gates=(a_gate(GateVerdict.UNKNOWN), a_gate(GateVerdict.FAILED, "too slow"))),
            ("False", "GateFailed"),
            "nccl on gpu-01: too slow",
        ),
        (
            a_record(RolloutPhase.BAKING, gates=(a_gate(GateVerdict.UNKNOWN),)),
            ("Unknown", "GateUnknown"),
            "nccl on gpu-01",
        ),
        (a_record(RolloutPhase.BAKING, gates=(a_gate(GateVerdict.PENDING),)), ("True", "NothingFailed"), WELL),
        (
            a_record(RolloutPhase.WAVING, failed="1 (n3)", gates=(a_gate(GateVerdict.UNKNOWN),)),
            ("False", "NodesFailed"),
            "nodes failed: 1 (n3); `seatrial why NODE` explains",
        ),
        (
            a_record(failed="2 (n3, n4)"),
            ("False", "NodesFailed"),
            "nodes failed: 2 (n3, n4); `seatrial why NODE` explains",
        ),
        (
            a_record(counts={"upgrade-failed": 1}),
            ("True", "NothingFailed"),
            "no gate has failed, and no node but those left out",
        ),
        (a_record(counts={"upgrade-done": 2}), ("True", "NothingFailed"), WELL),
    ],
)
def test_what_failed_is_named(record: RolloutRecord, healthy: tuple[str, str], message: str) -> None:
    condition = conditions_of(record)[1]
    assert ((condition.status.value, condition.reason), condition.message) == (healthy, message)


@pytest.mark.parametrize("phase", RolloutPhase)
def test_a_campaign_has_ended_when_it_is_done_or_undone(phase: RolloutPhase) -> None:
    found = told(a_record(phase, state="done"))
    is_over = phase in (RolloutPhase.DONE, RolloutPhase.REVERTED)
    assert found["Ended"] == ("True" if is_over else "False", phase.value)
    assert found["Progressing"][0] == ("False" if is_over or phase is RolloutPhase.PAUSED else "True")


@pytest.mark.parametrize(
    ("state", "progressing", "ended"),
    [
        ("progressing", ("True", "Progressing"), ("False", "Progressing")),
        ("waiting", ("True", "Waiting"), ("False", "Waiting")),
        ("done", ("False", "Done"), ("True", "Done")),
    ],
)
def test_a_rollout_without_a_campaign_is_told_by_its_state(
    state: str, progressing: tuple[str, str], ended: tuple[str, str]
) -> None:
    found = told(a_record(state=state))
    assert (found["Progressing"], found["Ended"]) == (progressing, ended)


def kstatus(record: RolloutRecord) -> str:
    """What kstatus makes of a status that answers its spec: its rules for every kind that it does not know by name."""
    found = {name: status for name, (status, _) in told(record).items()}
    if found.get("Reconciling") == "True":
        return "InProgress"
    if found.get("Stalled") == "True":
        return "Failed"
    return "Current" if found["Ready"] == "True" else "InProgress"


@pytest.mark.parametrize("phase", RolloutPhase)
def test_only_what_is_done_is_ready_and_only_what_is_undone_has_failed(phase: RolloutPhase) -> None:
    ends = {RolloutPhase.DONE: "Current", RolloutPhase.REVERTED: "Failed"}
    assert kstatus(a_record(phase, why="it smokes")) == ends.get(phase, "InProgress")


@pytest.mark.parametrize("code", sorted(causes.NEEDS_SOMEBODY))
def test_what_somebody_has_to_mend_has_failed_and_what_somebody_asked_for_is_waited_for(code: HoldCode) -> None:
    record = a_record(RolloutPhase.WAVING, holds={"wave-at-work": 1, code.value: 1})
    is_asked_for = code in causes.ASKED_FOR
    assert kstatus(record) == ("InProgress" if is_asked_for else "Failed")
    reason = code.value.title().replace("-", "")
    assert told(record)["Reconciling" if is_asked_for else "Stalled"] == ("True", reason)


CRASHED = Waiting(code="failed", why="its driver keeps crashing", next_step="Fix it.", nodes=("n3",), count=1)


def test_a_rollout_that_is_done_with_failed_nodes_is_not_ready() -> None:
    record = a_record(RolloutPhase.DONE, "done", failed="1 (n3)", holds={"failed": 1}, waiting=(CRASHED,))
    assert told(record) == {
        "Progressing": ("False", "Done"),
        "Healthy": ("False", "NodesFailed"),
        "Ended": ("True", "Done"),
        "Ready": ("False", "NodesFailed"),
        "Stalled": ("True", "NodesFailed"),
    }
    assert (kstatus(record), why_of(record)) == ("Failed", "n3: its driver keeps crashing")
    assert "nodes failed: 1 (n3)" in conditions_of(record)[3].message


def test_a_rollout_without_a_canary_that_has_only_failed_nodes_left_is_not_under_way() -> None:
    record = a_record(failed="1 (n3)", holds={"failed": 1}, waiting=(CRASHED,), total=1)
    assert {"Ready": ("False", "NodesFailed"), "Stalled": ("True", "NodesFailed")}.items() <= told(record).items()
    assert (kstatus(record), why_of(record)) == ("Failed", "n3: its driver keeps crashing")


def test_a_failed_node_that_is_tried_again_on_its_own_keeps_its_rollout_under_way() -> None:
    again = replace(CRASHED, until=1000.0)
    assert kstatus(a_record(failed="1 (n3)", holds={"failed": 1}, waiting=(again,))) == "InProgress"
    jobs = Waiting(code="jobs-running", why="jobs run", next_step="", nodes=("n4",), count=1)
    others = a_record(failed="1 (n3)", holds={"failed": 1, "jobs-running": 1}, waiting=(CRASHED, jobs))
    assert kstatus(others) == "InProgress"


def test_whoever_waits_by_kstatus_reads_why_it_was_undone() -> None:
    last = conditions_of(a_record(RolloutPhase.REVERTED, why="gate nccl failed"))[-1]
    assert (last.type, last.reason, last.message) == ("Stalled", "Reverted", "gate nccl failed")


def test_a_rollout_without_a_campaign_is_ready_when_every_node_is_done() -> None:
    assert [kstatus(a_record(state=state)) for state in ("waiting", "progressing", "done")] == [
        "InProgress",
        "InProgress",
        "Current",
    ]


BLOCKED = Waiting(
    code="eviction-blocked",
    why="PodDisruptionBudget team-a/service needs 1 healthy pods and has 1 currently, so pod",
    next_step="Give it room.",
    nodes=("gpu-02",),
    count=2,
)


def test_the_root_cause_is_the_reason_the_message_and_the_column() -> None:
    summary = Summary(
        state="progressing",
        holds=(("eviction-blocked", 2), ("not-its-turn", 4), ("wave-at-work", 1)),
        told=(Told(code="wave-at-work", why="wave 1 of 2 is under way", next_step="Nothing to do."),),
        waiting=(BLOCKED,),
    )
    record = RolloutRecord(name="spring", summary=summary, campaign=CampaignRecord(phase=RolloutPhase.WAVING))
    progressing = conditions_of(record)[0]
    assert (progressing.status, progressing.reason) == (Status.TRUE, "EvictionBlocked")
    assert progressing.message == f"gpu-02 and 1 more: {BLOCKED.why}. Give it room."
    assert why_of(record).startswith("gpu-02 and 1 more: PodDisruptionBudget team-a/service needs")
    assert len(why_of(record)) <= 60


@pytest.mark.parametrize("phase", [None, *RolloutPhase])
@pytest.mark.parametrize("state", ["waiting", "progressing", "done", "reverted"])
def test_no_condition_is_without_a_message(phase: RolloutPhase | None, state: str) -> None:
    why = "somebody aborted it" if phase in (RolloutPhase.REVERTING, RolloutPhase.REVERTED) else ""
    record = a_record(phase, state=state, **({"why": why} if phase is not None else {}))
    assert [each.type for each in conditions_of(record) if not each.message] == []


def test_a_pause_that_no_node_waits_for_is_told_all_the_same() -> None:
    paused = Told(code="paused", why="the rollout is paused", next_step="Resume it.")
    summary = Summary(state="waiting", waiting=(Waiting(**{**asdict(paused), "nodes": ("spring",), "count": 1}),))
    record = RolloutRecord(name="spring", summary=summary)
    assert (conditions_of(record)[0].status, conditions_of(record)[0].reason) == (Status.FALSE, "Paused")
    assert why_of(record) == "the rollout is paused"


# ── without a canary ─────────────────────────────────────────────────────────────────────────────────────────────────


def plain(done: int, total: int = 4, **holds: int) -> RolloutRecord:
    """A rollout without a canary in which nobody is at work."""
    counts = tuple({"upgrade-done": done, "upgrade-failed": holds.get("failed", 0)}.items())
    reasons = tuple((code.replace("_", "-"), count) for code, count in holds.items())
    waiting = tuple(Waiting(code=code, why="it waits", next_step="", nodes=(), count=count) for code, count in reasons)
    summary = Summary(state="waiting", counts=counts, holds=reasons, waiting=waiting, done=done, total=total)
    return RolloutRecord(name="spring", summary=summary)


def test_a_rollout_without_a_canary_has_ended_where_the_rest_of_its_nodes_failed() -> None:
    record = plain(3, failed=1)
    found = told(record)
    assert found["Ended"] == ("True", "NodesFailed")
    assert (found["Ready"][0], found["Stalled"][0], "Reconciling" in found) == ("False", "True", False)
    assert phase_of(record) == "Waiting"


def test_a_rollout_without_a_canary_is_done_where_the_rest_of_its_nodes_are_left_out() -> None:
    record = plain(3, skipped=1)
    assert (told(record)["Ended"], told(record)["Ready"]) == (("True", "Done"), ("True", "Done"))
    assert phase_of(record) == "Done"


def test_a_rollout_without_a_canary_whose_nodes_queue_behind_a_failed_one_does_not_go_on_by_itself() -> None:
    found = told(plain(1, failed=1, unavailable_limit=2))
    assert (found["Progressing"][0], found["Ended"][0], found["Stalled"][0]) == ("False", "False", "True")
    assert told(plain(1, failed=1, driver_starting=2))["Progressing"][0] == "True"


def test_a_failed_node_that_is_tried_again_has_not_ended_the_rollout() -> None:
    again = Waiting(code=HoldCode.FAILED, why="it failed", next_step="", until=9.0, nodes=("n1",), count=1)
    record = plain(3, failed=1)
    assert record.summary is not None
    record = replace(record, summary=replace(record.summary, waiting=(again,)))
    assert told(record)["Ended"][0] == "False"
