"""A plan as a document: what `seatrial plan -o json` writes, and `seatrial rollout start --plan` reads.

Law of this file: what is written here is read here, also by a release of ours that is not the same. Tests:
tests/app/test_plan_document.py, tests/cli/test_plan.py
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seatrial.app.planning import Planned
    from seatrial.core.compat.findings import Finding
    from seatrial.core.compat.matrix import Stack
    from seatrial.core.compat.plan import Change, Plan, Refusal, Step


def as_data(planned: Planned, *, has_impact: bool = False) -> dict[str, Any]:
    """The answer, for scripts."""
    from seatrial.core.compat import plan as plans

    answer = planned.answer
    ends: dict[str, Any] = {
        "from": planned.start.key or planned.start.role.value,
        "to": planned.goal.key or planned.goal.role.value,
        "on": planned.on.isoformat(),
        "running": _versions(answer.running),
        "wanted": _versions(answer.wanted),
        "notes": list(answer.notes),
    }
    if isinstance(answer, plans.Refusal):
        return {**ends, **_refusal_data(answer)}
    return {**ends, **_plan_data(answer, has_impact)}


def _plan_data(plan: Plan, has_impact: bool) -> dict[str, Any]:
    return {
        "steps": [
            {
                "number": step.number,
                "group": step.group.value,
                "changes": _changes_data(step.changes),
                "stack": _versions(step.stack),
                "why": [{"reason": why.reason.value, "rule": why.rule, "sentence": why.sentence} for why in step.why],
                "evicts": step.evicts,
                "preparations": [
                    {"code": each.code, "sentence": each.sentence, "fact": each.fact} for each in step.preparations
                ],
                "findings": [_finding(finding) for finding in step.findings],
                "oneWay": step.is_one_way,
                "rollback": {
                    "way": step.rollback.way.value,
                    "toStep": step.rollback.to_step,
                    "farthestStep": step.rollback.farthest_step,
                    "sentence": step.rollback.sentence,
                },
                **({"impact": _impact_data(step)} if has_impact else {}),
            }
            for step in plan.steps
        ],
        "findings": [_finding(finding) for finding in plan.findings],
    }


def _impact_data(step: Step) -> dict[str, Any]:
    from seatrial.core.node.impact import impact_of

    impact = impact_of(step)
    return {
        "rows": [
            {
                "phase": row.phase,
                "component": row.component,
                "action": row.action,
                "impact": row.impact,
                "capacityLost": row.is_capacity_lost,
                "loses": [loss.value for loss in row.loses],
            }
            for row in impact.rows
        ],
        "loses": [loss.value for loss in impact.loses],
        "reboot": impact.is_reboot,
        "oneWay": impact.is_one_way,
    }


def _refusal_data(refusal: Refusal) -> dict[str, Any]:
    return {
        "refusal": refusal.code.value,
        "conflict": list(refusal.conflict),
        "findings": [_finding(finding) for finding in refusal.findings],
        "reached": [
            {"number": each.number, "group": each.group.value, "changes": _changes_data(each.changes)}
            for each in refusal.reached
        ],
        "blocked": [
            {
                "group": each.group.value,
                "changes": _changes_data(each.changes),
                "findings": [_finding(finding) for finding in each.findings],
            }
            for each in refusal.blocked
        ],
        "suggestion": refusal.suggestion,
    }


def _versions(stack: Stack) -> dict[str, str]:
    return {part.value: value.text for part, value in stack.values.items()}


def _changes_data(changes: Sequence[Change]) -> list[dict[str, str]]:
    return [{"component": each.component.value, "before": each.before, "after": each.after} for each in changes]


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "verdict": finding.verdict.value,
        "message": finding.message,
        "next": finding.next_step,
        "sources": list(finding.sources),
        "confidence": finding.confidence.value,
        "accepted": finding.is_accepted,
        "places": [str(span) for span in finding.spans],
    }
