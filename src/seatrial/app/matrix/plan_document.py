"""A plan as a document: what `seatrial plan -o json` writes, and `seatrial rollout start --plan` reads.

Law of this file: what is written here is read here, also by a release of ours that is not the same. Tests:
tests/cli/test_plan.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seatrial.app import texts
from seatrial.app.errors import UNKNOWN, Objection
from seatrial.core.errors import SeatrialError

if TYPE_CHECKING:
    from seatrial.app.matrix.planning import Planned
    from seatrial.core.compat.findings import Finding
    from seatrial.core.compat.matrix import Component, Stack
    from seatrial.core.compat.plan import Change, Plan, Refusal, Step
    from seatrial.core.compat.plan.rollouts import Leg


class PlanUnusable(SeatrialError):  # noqa: N818  the message says what to do
    """What was given as a plan is none, or cannot be started."""


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def as_data(planned: Planned, *, has_impact: bool = False) -> dict[str, Any]:
    """The answer, for scripts."""
    from seatrial.core.compat import plan as plans

    answer = planned.answer
    ends: dict[str, Any] = {
        "from": planned.start.key or planned.start.role.value,
        "to": planned.goal.key or planned.goal.role.value,
        "on": planned.on.isoformat(),
        "knowledge": {
            "builtOn": planned.facts.built_on.isoformat(),
            "knownUntil": planned.facts.known_until.isoformat(),
            "own": list(planned.facts.own),
        },
        "running": _versions(answer.running),
        "wanted": _versions(answer.wanted),
        "notes": list(answer.notes),
    }
    if isinstance(answer, plans.Refusal):
        return {**ends, **_refusal_data(answer)}
    return {**ends, **_plan_data(answer, has_impact)}


def _plan_data(plan: Plan, has_impact: bool) -> dict[str, Any]:
    from seatrial.core.compat.plan.values import BETWEEN

    return {
        "steps": [
            {
                "number": step.number,
                "group": step.group.value,
                "title": step.title,
                "changes": _changes_data(step.changes),
                "stack": _versions(step.stack),
                "why": [{"reason": why.reason.value, "rule": why.rule, "sentence": why.sentence} for why in step.why],
                "order": step.order,
                "evicts": step.evicts,
                "preparations": [
                    {"code": each.code, "sentence": each.sentence, "fact": each.fact} for each in step.preparations
                ],
                "findings": [_finding(finding) for finding in step.findings],
                "hints": list(step.hints),
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
        "between": BETWEEN,
    }


def _impact_data(step: Step) -> dict[str, Any]:
    from seatrial.core.node.impact_words import impact_of

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
        "ownFacts": list(finding.own),
        "confidence": finding.confidence.value,
        "accepted": finding.is_accepted,
        "places": [str(span) for span in finding.spans],
    }


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_plan(path: str) -> dict[str, Any]:
    """A plan as `seatrial plan -o json` has written it, or `-o yaml`: JSON is YAML, too."""
    try:
        data = texts.read_yaml(path)
    except texts.FileUnusable as err:
        raise PlanUnusable(f"{err} `seatrial plan -o json` writes a plan.") from err
    if not isinstance(data, dict) or not ("steps" in data or "refusal" in data):
        raise PlanUnusable(f"{path} has no plan. `seatrial plan -o json` writes one.")
    return data


def unknowns(data: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Rules that could not say whether the plan works, and what they said; what was accepted is left out."""
    found = [*data.get("findings", ()), *(each for step in data.get("steps", ()) for each in step.get("findings", ()))]
    unknown = [each for each in found if each["verdict"] == "unknown" and not each["accepted"]]
    last = {each["message"]: each["rule"] for each in unknown}
    return tuple((rule, message) for message, rule in last.items())


def objection(data: Mapping[str, Any], *, accepts_unknown: bool) -> Objection | None:
    """What is in the way of starting the plan; None where nothing is."""
    if "refusal" in data:
        rules = ", ".join(data.get("conflict") or ())
        return Objection(says=f"there is no plan ({data['refusal']}: {rules}). {data.get('suggestion', '')}")
    return UNKNOWN if unknowns(data) and not accepts_unknown else None


def legs_of(data: Mapping[str, Any]) -> tuple[Leg, ...]:
    """The steps of a plan, as far as rollouts need them."""
    try:
        return tuple(_leg(step) for step in data["steps"])
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        raise PlanUnusable(
            f"a step of the plan cannot be read: {err!r}. `seatrial plan -o json` of this release writes what is read."
        ) from err


def _leg(step: Mapping[str, Any]) -> Leg:
    from seatrial.core.compat.matrix import Component
    from seatrial.core.compat.plan import WayBack
    from seatrial.core.compat.plan.rollouts import Leg
    from seatrial.core.compat.plan.values import Change

    way = WayBack(step["rollback"]["way"])
    return Leg(
        number=int(step["number"]),
        changes=tuple(
            Change(component=Component(each["component"]), before=each["before"], after=each["after"])
            for each in step["changes"]
        ),
        stack=stack_of(step["stack"]),
        why=tuple(each["sentence"] for each in step["why"]),
        preparations=tuple(each["sentence"] for each in step["preparations"]),
        way_back="" if way is WayBack.OPEN else step["rollback"]["sentence"],
        is_one_way=way is WayBack.CLOSED,
    )


def stack_of(data: Mapping[str, str]) -> dict[Component, str]:
    """The versions of a stack in the document."""
    from seatrial.core.compat.matrix import Component

    return {Component(key): str(text) for key, text in data.items()}
