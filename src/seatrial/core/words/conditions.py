"""A rollout in conditions, for `kubectl wait`, dashboards and health checks: Progressing, Healthy, Ended, and kstatus.

    Progressing  it goes on by itself; False names what only a person can end
    Healthy      nothing failed and nothing is undone; Unknown while a gate cannot be measured
    Ended        Done or Reverted

Tools that wait by kstatus know none of the three; they know these, of which the last two are there only while they
are so:

                                            Ready    Reconciling   Stalled     kstatus
    Done                                    True     –             –           Current
    under way, or waiting by itself         False    True          –           InProgress
    waiting for what somebody asked for     False    True          –           InProgress
    waiting for somebody to mend something  False    –             True        Failed
    Reverted                                False    –             True        Failed

Law of this file: they say what the record says, in other words; nothing is decided by them, and nothing is read back.
Tests: tests/core/test_conditions.py
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import ENDED, RolloutPhase
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.rollouts import RolloutRecord, Summary

NEEDS_SOMEBODY: Final = frozenset(
    {
        HoldCode.PAUSED,
        HoldCode.MODE_CONTRADICTION,
        HoldCode.NOBODY_MOVES,
        HoldCode.SANDBOXED,
        HoldCode.TARGET_NOT_PUBLISHED,
        HoldCode.AFTER_UNDONE,
        HoldCode.ACCESS_DENIED,
        HoldCode.NO_CANARY,
        HoldCode.NO_WAY_BACK,
        HoldCode.NOTHING_TO_PUBLISH,
        HoldCode.POOL_MISSING,
        HoldCode.HALF_DONE,
        HoldCode.MATRIX_PROBLEM,
        HoldCode.MATRIX_CHANGED,
        HoldCode.HISTORY_REWRITTEN,
        HoldCode.SOURCE_BARRED,
        HoldCode.PLACES_CHANGED,
        HoldCode.ENTRY_BAD,
        HoldCode.APPROVAL_PENDING,
        HoldCode.WRITTEN_BY_ANOTHER,
        HoldCode.TAKEN_OVER,
        HoldCode.MERGE_PENDING,
        HoldCode.SYNC_STOPPED,
        HoldCode.SYNC_FAILED,
        HoldCode.SYNC_OVERWRITTEN,
        HoldCode.MERGE_OVERDUE,
        HoldCode.REQUEST_DECLINED,
        HoldCode.IMAGE_NOT_PULLED,
        HoldCode.GATE_REFUSED,
        HoldCode.GATE_UNATTESTED,
        HoldCode.BY_HAND_PENDING,
        HoldCode.BY_HAND_BACK,
        HoldCode.NO_WAY_BACK_BY_HAND,
        HoldCode.ROLLBACK_PENDING,
        HoldCode.REVERT_CONFLICT,
        HoldCode.FAILURE_BUDGET,
    }
)
"""Holds of a rollout as a whole that last until somebody acts."""
ASKED_FOR: Final = frozenset(
    {
        HoldCode.PAUSED,
        HoldCode.APPROVAL_PENDING,
        HoldCode.GATE_UNATTESTED,
        HoldCode.MERGE_PENDING,
        HoldCode.BY_HAND_PENDING,
        HoldCode.BY_HAND_BACK,
        HoldCode.ROLLBACK_PENDING,
    }
)
"""Those of them that were ordered so: a person is waited for, and nothing is wrong."""
_ORDER: Final = {code.value: number for number, code in enumerate(HoldCode)}
"""Codes begin with what concerns the rollout as a whole, so the first of several says most."""
_STOPPING: Final = frozenset(code.value for code in NEEDS_SOMEBODY)
_UNDONE: Final = frozenset({RolloutPhase.REVERTING, RolloutPhase.REVERTED})


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
    message: str = ""


def conditions_of(record: RolloutRecord) -> tuple[Condition, ...]:
    """What the record says, as conditions; none before it says anything."""
    if record.summary is None and record.campaign is None:
        return ()
    progressing = _progressing(record)
    return progressing, _healthy(record), _ended(record), *_kstatus(record, progressing)


def _progressing(record: RolloutRecord) -> Condition:
    codes = sorted(dict(_summary(record).holds), key=lambda code: _ORDER.get(code, len(_ORDER)))
    end = _end(record)
    if end:
        return Condition(type="Progressing", status=Status.FALSE, reason=end, message=_holds_text(record, codes))
    if record.campaign is not None and record.campaign.phase is RolloutPhase.PAUSED:
        codes = [HoldCode.PAUSED.value, *(code for code in codes if code != HoldCode.PAUSED)]
    stopping = [code for code in codes if code in _STOPPING]
    reason = _camel((stopping or codes or [_where(record)])[0])
    status = Status.FALSE if stopping else Status.TRUE
    return Condition(type="Progressing", status=status, reason=reason, message=_holds_text(record, codes))


def _healthy(record: RolloutRecord) -> Condition:
    campaign = record.campaign
    if campaign is not None and campaign.phase in _UNDONE:
        return Condition(type="Healthy", status=Status.FALSE, reason="Undone", message=campaign.why)
    gates = campaign.gates if campaign is not None else ()
    failed = [each for each in gates if each.verdict is GateVerdict.FAILED]
    if failed:
        return Condition(type="Healthy", status=Status.FALSE, reason="GateFailed", message=_gates_text(failed))
    failed_count = dict(_summary(record).counts).get(NodePhase.UPGRADE_FAILED.value, 0)
    if failed_count:
        told = f"{failed_count} {'node' if failed_count == 1 else 'nodes'} failed; `seatrial why NODE` explains"
        return Condition(type="Healthy", status=Status.FALSE, reason="NodesFailed", message=told)
    unknown = [each for each in gates if each.verdict is GateVerdict.UNKNOWN and not each.is_left_out]
    if unknown:
        return Condition(type="Healthy", status=Status.UNKNOWN, reason="GateUnknown", message=_gates_text(unknown))
    return Condition(type="Healthy", status=Status.TRUE, reason="NothingFailed")


def _ended(record: RolloutRecord) -> Condition:
    end = _end(record)
    why = record.campaign.why if record.campaign is not None else ""
    if end:
        return Condition(type="Ended", status=Status.TRUE, reason=end, message=why)
    return Condition(type="Ended", status=Status.FALSE, reason=_camel(_where(record)))


def _kstatus(record: RolloutRecord, progressing: Condition) -> tuple[Condition, ...]:
    """The same for whoever reads kstatus: one that is over and undone will never be what was asked for by itself."""
    end = _end(record)
    reason, message = progressing.reason, progressing.message
    if end:
        message = record.campaign.why if record.campaign is not None else ""
    if end == RolloutPhase.DONE:
        return (Condition(type="Ready", status=Status.TRUE, reason=reason, message=message),)
    is_stalled = bool(end) or (progressing.status is Status.FALSE and reason not in _ORDERED)
    other = "Stalled" if is_stalled else "Reconciling"
    return (
        Condition(type="Ready", status=Status.FALSE, reason=reason, message=message),
        Condition(type=other, status=Status.TRUE, reason=reason, message=message),
    )


def _end(record: RolloutRecord) -> str:
    """How the rollout ended; empty while it has not."""
    if record.campaign is None:
        return RolloutPhase.DONE.value if _summary(record).state == "done" else ""
    return record.campaign.phase.value if record.campaign.phase in ENDED else ""


def _where(record: RolloutRecord) -> str:
    """Where it stands: the campaign's phase, or the state of a rollout without one."""
    return record.campaign.phase.value if record.campaign is not None else _summary(record).state


def _summary(record: RolloutRecord) -> Summary:
    return record.summary or Summary(state="waiting")


def _camel(text: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in text.split("-"))


_ORDERED: Final = frozenset(_camel(code.value) for code in ASKED_FOR)


def _holds_text(record: RolloutRecord, codes: Collection[str]) -> str:
    wanted = next((each for code in codes for each in _summary(record).told if each.code == code), None)
    if wanted is not None:
        return f"{wanted.why}. {wanted.next_step}"
    counts = dict(_summary(record).holds)
    told = ", ".join(f"{code} ({counts[code]})" for code in codes if code in counts)
    return f"waiting: {told}; `seatrial status` explains" if told else ""


def _gates_text(gates: Iterable[GateResult]) -> str:
    return "; ".join(f"{each.gate} on {each.node}" + (f": {each.detail}" if each.detail else "") for each in gates)
