"""A rollout in conditions, for `kubectl wait`, dashboards and health checks: Progressing, Healthy, Ended, and kstatus.

    Progressing  it goes on by itself; False names what only a person can end
    Healthy      nothing failed and nothing is undone; Unknown while a gate cannot be measured
    Ended        Done or Reverted

Tools that wait by kstatus know none of the three; they know these, of which the last two are there only while they
are so:

                                            Ready    Reconciling   Stalled     kstatus
    Done                                    True     –             –           Current
    Done, and nodes have failed             False    –             True        Failed
    under way, or waiting by itself         False    True          –           InProgress
    waiting for what somebody asked for     False    True          –           InProgress
    waiting for somebody to mend something  False    –             True        Failed
    Reverted                                False    –             True        Failed

Law of this file: they say what the record says, in other words; nothing is decided by them, and nothing is read back.
Tests: tests/core/words/test_conditions.py
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import ENDED, RolloutPhase
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.rollouts import RolloutRecord, Summary, Told, Waiting
from seatrial.core.text import foreign
from seatrial.core.text.names import number_of
from seatrial.core.words import causes
from seatrial.core.words.causes import ASKED_FOR, NEEDS_SOMEBODY

_STOPPING: Final = frozenset(code.value for code in NEEDS_SOMEBODY)
MESSAGE_MAX: Final = 400
"""How long the first part of a message may be."""
WHY_MAX: Final = 60
"""How much of a sentence a column has room for."""
_NODES_FAILED: Final = "NodesFailed"
"""The reason of a rollout that goes no further, or is over, with failed nodes; as the hold of that name makes it."""
_UNDONE: Final = frozenset({RolloutPhase.REVERTING, RolloutPhase.REVERTED})


_LEFT: Final = frozenset({HoldCode.FAILED.value, HoldCode.SKIPPED.value})
"""Reasons of nodes that are left behind where nothing else is told."""


class Status(StrEnum):
    """The three words Kubernetes has for it."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One statement about a rollout; when it last changed is for those who keep it."""

    type: str
    status: Status
    reason: str
    message: str


def conditions_of(record: RolloutRecord) -> tuple[Condition, ...]:
    """What the record says, as conditions; none before it says anything."""
    if record.summary is None and record.campaign is None:
        return ()
    progressing = _progressing(record)
    return progressing, _healthy(record), _ended(record), *_kstatus(record, progressing)


def _progressing(record: RolloutRecord) -> Condition:
    codes, roots = _codes(record), _roots(record)
    end = _end(record)
    if end:
        return Condition(type="Progressing", status=Status.FALSE, reason=end, message=_holds_text(record, codes))
    if record.campaign is not None and record.campaign.phase is RolloutPhase.PAUSED:
        codes = [HoldCode.PAUSED.value, *(code for code in codes if code != HoldCode.PAUSED)]
    if _is_settled(record):  # else it would have ended
        told = _holds_text(record, codes)
        return Condition(type="Progressing", status=Status.FALSE, reason=_NODES_FAILED, message=told)
    stopping = [code for code in codes if code in _STOPPING]
    reason = _camel((stopping or roots or [_where(record)])[0])
    is_stuck = record.campaign is None and _where(record) == "waiting" and causes.is_stuck(_summary(record).waiting)
    status = Status.FALSE if stopping or is_stuck else Status.TRUE
    return Condition(type="Progressing", status=status, reason=reason, message=_holds_text(record, codes))


def _healthy(record: RolloutRecord) -> Condition:
    campaign = record.campaign
    if campaign is not None and campaign.phase in _UNDONE:
        return Condition(type="Healthy", status=Status.FALSE, reason="Undone", message=campaign.why)
    gates = campaign.gates if campaign is not None else ()
    failed = [each for each in gates if each.verdict is GateVerdict.FAILED]
    if failed:
        return Condition(type="Healthy", status=Status.FALSE, reason="GateFailed", message=_gates_text(failed))
    if _summary(record).failed:
        return Condition(type="Healthy", status=Status.FALSE, reason=_NODES_FAILED, message=_failed_text(record))
    unknown = [each for each in gates if each.verdict is GateVerdict.UNKNOWN and not each.is_left_out]
    if unknown:
        return Condition(type="Healthy", status=Status.UNKNOWN, reason="GateUnknown", message=_gates_text(unknown))
    is_left_out = bool(dict(_summary(record).counts).get(NodePhase.UPGRADE_FAILED.value))
    told = "no gate has failed, and no node but those left out" if is_left_out else "no gate and no node has failed"
    return Condition(type="Healthy", status=Status.TRUE, reason="NothingFailed", message=told)


def _ended(record: RolloutRecord) -> Condition:
    end = _end(record)
    if end:
        return Condition(type="Ended", status=Status.TRUE, reason=end, message=_how_ended(record))
    if _is_settled(record):
        return Condition(type="Ended", status=Status.TRUE, reason=_NODES_FAILED, message=_how_ended(record))
    where = _camel(_where(record))
    return Condition(type="Ended", status=Status.FALSE, reason=where, message=f"it is under way: {where}")


def _kstatus(record: RolloutRecord, progressing: Condition) -> tuple[Condition, ...]:
    """The same for whoever reads kstatus: one that is over and undone will never be what was asked for by itself."""
    end = _end(record)
    reason, message = progressing.reason, progressing.message
    if end:
        message = _how_ended(record)
    if end == RolloutPhase.DONE and _summary(record).failed:
        reason, message = _NODES_FAILED, f"{message}; {_failed_text(record)}"
    elif end == RolloutPhase.DONE:
        return (Condition(type="Ready", status=Status.TRUE, reason=reason, message=message),)
    is_stalled = bool(end) or (progressing.status is Status.FALSE and reason not in _ORDERED)
    other = "Stalled" if is_stalled else "Reconciling"
    return (
        Condition(type="Ready", status=Status.FALSE, reason=reason, message=message),
        Condition(type=other, status=Status.TRUE, reason=reason, message=message),
    )


def _end(record: RolloutRecord) -> str:
    """How the rollout ended; empty while it has not."""
    if record.campaign is not None:
        return record.campaign.phase.value if record.campaign.phase in ENDED else ""
    summary = _summary(record)
    is_failed = HoldCode.FAILED.value in dict(summary.holds)
    is_done = summary.state == "done" or (_is_settled(record) and not is_failed)
    return RolloutPhase.DONE.value if is_done else ""


def _is_settled(record: RolloutRecord) -> bool:
    """Whether every node of a rollout without a canary is done, has failed for good or was left out."""
    summary = _summary(record)
    holds = dict(summary.holds)
    is_tried_again = any(each.code == HoldCode.FAILED and each.until is not None for each in summary.waiting)
    is_left = record.campaign is None and bool(holds) and holds.keys() <= _LEFT and not is_tried_again
    return is_left and summary.done + sum(holds.values()) == summary.total


def _failed_text(record: RolloutRecord) -> str:
    return f"nodes failed: {_summary(record).failed}; `seatrial why NODE` explains"


def _how_ended(record: RolloutRecord) -> str:
    """What came of a rollout that is over."""
    why = record.campaign.ending if record.campaign is not None else ""
    summary = _summary(record)
    return why or f"{summary.done:,} of {number_of(summary.total, 'node runs', 'nodes run')} the target"


def _where(record: RolloutRecord) -> str:
    """Where it stands: the campaign's phase, or the state of a rollout without one."""
    return record.campaign.phase.value if record.campaign is not None else _summary(record).state


def _summary(record: RolloutRecord) -> Summary:
    return record.summary or Summary(state="waiting")


def _camel(text: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in text.split("-"))


_ORDERED: Final = frozenset(_camel(code.value) for code in ASKED_FOR)


def _holds_text(record: RolloutRecord, codes: Collection[str]) -> str:
    cause = _cause(record, codes)
    if cause is not None:
        # Four conditions may say it: others' words are cut, and what to do is not.
        why = foreign.lines(f"{_about(cause)}{cause.why}", MESSAGE_MAX)
        return f"{why}. {cause.next_step}"
    counts = dict(_summary(record).holds)
    told = ", ".join(f"{code} ({counts[code]})" for code in codes if code in counts)
    return f"waiting: {told}; `seatrial status` explains" if told else f"nothing is waiting; it is {_where(record)}"


def _codes(record: RolloutRecord) -> list[str]:
    """Every reason that is told, of nodes or of the rollout itself, the root cause first."""
    summary = _summary(record)
    return causes.in_order({*dict(summary.holds), *(each.code for each in (*summary.told, *summary.waiting))})


def _roots(record: RolloutRecord) -> list[str]:
    """The same without what is no reason of a campaign: in the moment between two phases only its nodes wait for it."""
    codes = _codes(record)
    return [code for code in codes if code not in causes.TURN or record.campaign is None]


def _cause(record: RolloutRecord, codes: Collection[str]) -> Told | None:
    """The first of the reasons that has words: the root cause."""
    told = {each.code: each for each in reversed((*_summary(record).told, *_summary(record).waiting))}
    return next((told[code] for code in codes if code in told), None)


def _about(told: Told, rollout: str = "") -> str:
    """Which node it is about, where it is about nodes; the name of the rollout itself is known."""
    if not isinstance(told, Waiting) or told.nodes == (rollout,):
        return ""
    more = f" and {told.count - 1} more" if told.count > 1 else ""
    return f"{told.nodes[0]}{more}: " if told.nodes else ""


def phase_of(record: RolloutRecord) -> str:
    """Where it stands, for a column; empty before anything was written."""
    if record.campaign is not None:
        return record.campaign.phase.value
    return _end(record) or (record.summary.state.capitalize() if record.summary is not None else "")


def why_of(record: RolloutRecord) -> str:
    """The root cause in a few words, for a column; nothing where nobody waits."""
    end, roots = _end(record), _roots(record)
    if end and (end != RolloutPhase.DONE or not _summary(record).failed):
        return ""
    # Whatever else a finished rollout reports holds nothing up; its failed nodes come first.
    cause = _cause(record, [HoldCode.FAILED, *roots] if end else roots)
    return foreign.line(f"{_about(cause, record.name)}{cause.why}", WHY_MAX) if cause is not None else ""


def _gates_text(gates: Iterable[GateResult]) -> str:
    return "; ".join(f"{each.gate} on {each.node}" + (f": {each.detail}" if each.detail else "") for each in gates)
