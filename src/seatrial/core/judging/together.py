"""Together: one verdict from many figures, canaries and kinds of event, with one rate of false alarms.

Law of this file: the rate is divided beforehand, half among all figures of all canaries and half among the kinds of
event, and who speaks names himself. Division holds whatever the figures have to do with each other, and whatever each
of them takes for its past; the mean of their evidence would not. What excludes a loss is not divided: an upgrade that
is worse somewhere passes only where the very figure that shows it errs.

Tests: tests/core/judging/test_judging_together.py
"""

from __future__ import annotations

import math
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.judging.asked import Asked
from seatrial.core.judging.evidence import Evidence
from seatrial.core.judging.findings import Finding, RareFinding, finding, rare_finding
from seatrial.core.model.gates.gate import GateVerdict, worst

FIGURES_SHARE: Final = 0.5
"""Of the rate of false alarms, where events are counted, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """What all figures and events say."""

    verdict: GateVerdict
    figures: tuple[Finding, ...]
    rare: tuple[RareFinding, ...]

    @property
    def spoke(self) -> tuple[Finding, ...]:
        """The figures that failed the upgrade."""
        return tuple(each for each in self.figures if each.verdict is GateVerdict.FAILED)


def judged(evidence: Evidence, asked: Asked) -> Together:
    """What all figures and events say, and the worst of what is asked of them; of no figure at all, unknown."""
    tracks = [(each, track) for each in evidence.comparisons for track in each.of(each.canary)]
    share = FIGURES_SHARE if evidence.exposed.rare else 1.0
    # Of what has a baseline: what comes without one can never speak.
    figures_needed = _log_needed(asked.false_alarms * share, sum(track.before.count > 0 for _, track in tracks))
    rare_needed = _log_needed(asked.false_alarms * (1 - FIGURES_SHARE), len(evidence.exposed.rare))
    figures = tuple(finding(comparison, track, asked, figures_needed) for comparison, track in tracks)
    rare = tuple(rare_finding(each, rare_needed) for each in evidence.exposed.rare)
    required = [each.verdict for each in figures if each.is_asked] or [GateVerdict.UNKNOWN]
    speaking = [each.verdict for each in figures if each.verdict is GateVerdict.FAILED]
    verdict = worst([*required, *speaking, *(each.verdict for each in rare)])
    return Together(verdict=verdict, figures=figures, rare=rare)


def _log_needed(rate: float, count: int) -> float:
    return math.log(max(1, count) / rate)
