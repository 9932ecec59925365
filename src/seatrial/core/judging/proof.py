"""Proof: what a bake proves so far, and how much longer it needs for what is asked.

Law of this file: a value, without words. It passes when nothing speaks against the upgrade, the asked loss is excluded
on every canary, and every canary was watched and worked for as long as was asked; hours without data are no hours.

Tests: tests/core/test_judging_proof.py
"""

from __future__ import annotations

from dataclasses import dataclass

from seatrial.core.judging import sequences
from seatrial.core.judging.asked import Asked
from seatrial.core.judging.evidence import Evidence
from seatrial.core.judging.findings import Finding, RareFinding, growth
from seatrial.core.judging.together import judged
from seatrial.core.model.gates.gate import GateVerdict, worst


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What is proven so far."""

    verdict: GateVerdict
    asked: Asked
    """With the rate of false alarms and the confidence that all of this is meant at."""
    excluded: float | None
    """The smallest loss that every asked figure of every canary excludes; none where one excludes nothing yet."""
    needed_hours: float | None
    """How much longer until all that is asked is proven, if it goes on like this; none where it never is."""
    hours: float
    """For how long every canary was watched."""
    loaded_gpu_hours: float
    """How many GPU-hours the canaries worked meanwhile."""
    load: float
    """The smallest share of its time for which a canary worked."""
    spoke: tuple[Finding, ...]
    """The figures that failed the upgrade."""
    figures: tuple[Finding, ...]
    rare: tuple[RareFinding, ...]


def proven(evidence: Evidence, asked: Asked, round_hours: float) -> Proof:
    """What the evidence proves, where a round is measured every so many hours."""
    found = judged(evidence, asked)
    is_loaded = not asked.load_min or evidence.exposed.load >= asked.load_min
    is_watched = evidence.watched_hours >= asked.hours and is_loaded
    required = tuple(each for each in found.figures if each.is_asked)
    return Proof(
        verdict=found.verdict if is_watched else worst((found.verdict, GateVerdict.PENDING)),
        asked=asked,
        excluded=_excluded(required, asked),
        needed_hours=_needed_hours(required, evidence, asked, round_hours),
        hours=evidence.watched_hours,
        loaded_gpu_hours=evidence.exposed.loaded_gpu_hours,
        load=evidence.exposed.load,
        spoke=found.spoke,
        figures=found.figures,
        rare=found.rare,
    )


def _excluded(required: tuple[Finding, ...], asked: Asked) -> float | None:
    found = [each.excludes(asked) for each in required]
    known = [each for each in found if each is not None]
    return max(known) if known and len(known) == len(found) else None


def _needed_hours(required: tuple[Finding, ...], evidence: Evidence, asked: Asked, round_hours: float) -> float | None:
    """Until the interval of every asked figure has narrowed enough, and every canary was watched for long enough."""
    limit = growth(asked.exclude - asked.wander)
    rounds = [
        sequences.rounds_until(each.change, limit, asked.error_rate) if each.change else None for each in required
    ]
    known = [each for each in rounds if each is not None]
    if not known or len(known) < len(rounds) or (asked.load_min and evidence.exposed.load < asked.load_min):
        return None
    return max(max(known) * round_hours, asked.hours - evidence.watched_hours, 0.0)
