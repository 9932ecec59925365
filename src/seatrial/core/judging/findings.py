"""Findings: what one figure of one canary says, and what one kind of event says.

Law of this file: a loss that is proven is not yet the upgrade's. Nodes wander from hour to hour by themselves: less
than what is tolerated does not speak, and neither does a loss that is not WANDER_TIMES as large as what any control
wandered meanwhile. Without a baseline nothing is known; without controls the node's own past has to do, and that is
said.

Tests: tests/core/judging/test_judging_findings.py
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.judging import rare as rares
from seatrial.core.judging import sequences
from seatrial.core.judging.asked import Asked
from seatrial.core.judging.comparing import slack_of
from seatrial.core.judging.sequences import Change
from seatrial.core.model.gates.compared import Comparison, Lens, Track
from seatrial.core.model.gates.exposed import Rare
from seatrial.core.model.gates.gate import GateVerdict

BASELINE_MIN: Final = 3
"""How many rounds before the upgrade a figure needs: of fewer, nobody can tell an outlier from a level."""
WANDER_TIMES: Final = 2.0


class Against(StrEnum):
    """What a figure was held against."""

    CONTROLS = "controls"
    """Itself before the upgrade, and controls in the same rounds."""
    BEFORE = "before"
    """Itself before the upgrade alone: what changed for all nodes looks like the upgrade's."""
    NOTHING = "nothing"


class Why(StrEnum):
    """What a verdict rests on, where it does not say it all."""

    NONE = ""
    NO_BASELINE = "no-baseline"
    FEW_BASELINE = "few-baseline"
    """Fewer than BASELINE_MIN rounds before the upgrade."""
    NO_ROUNDS = "no-rounds"
    HELD_BACK = "held-back"
    """A limit held it back before the upgrade: no evidence of a small loss, nor of none."""
    CONTROLS_WANDER = "controls-wander"
    """A loss is there, and a control wandered nearly as far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one figure of one canary says."""

    figure: str
    node: str
    lens: Lens
    is_asked: bool
    """Whether it has to exclude the asked loss; one that need not may only speak of a loss."""
    slack: int
    """How many times the tolerated and the asked loss it is held to."""
    verdict: GateVerdict
    why: Why = Why.NONE
    against: Against = Against.NOTHING
    change: Change | None = None
    """Of badness, in logarithms; none where there is nothing to compare."""

    @property
    def loss(self) -> float | None:
        """The effect: the share that was lost; less than zero is a gain."""
        return _share(self.change.size) if self.change else None

    @property
    def round_count(self) -> int:
        return self.change.after_count if self.change else 0

    def log_evidence(self, asked: Asked) -> float:
        """The logarithm of e against "it lost no more than is tolerated"."""
        if self.change is None:
            return 0.0
        return sequences.log_evidence_above(self.change, growth(asked.tolerate * self.slack))

    def interval(self, asked: Asked) -> tuple[float | None, float | None]:
        """Between these the loss is, at every look, at the asked confidence; none where nothing bounds it yet."""
        if self.change is None:
            return None, None
        low, high = sequences.interval(self.change, asked.error_rate)
        return _bound(low), _bound(high)

    def excludes(self, asked: Asked) -> float | None:
        """The smallest loss that it excludes, with what nodes wander on top."""
        _, high = self.interval(asked)
        return None if high is None else max(0.0, high) + asked.wander


@dataclass(frozen=True, slots=True, kw_only=True)
class RareFinding:
    """What one kind of event says."""

    name: str
    verdict: GateVerdict
    """Failed, or passed so far, or pending where nobody watched; how little that proves, `most` says."""
    counted: Rare
    """How many there were, in how many hours."""

    def most(self, asked: Asked) -> float:
        """The rate per GPU-hour under load that is excluded; infinity where there was none."""
        return rares.most(self.counted, asked.error_rate)


def finding(comparison: Comparison, track: Track, asked: Asked, log_needed: float) -> Finding:
    """What a figure says, where evidence of a loss has to be so large."""
    against, seen = _seen(track)
    is_blind, slack = track.is_held and track.lens is Lens.PLAIN, slack_of(track)
    found = Finding(
        figure=track.figure,
        node=track.node,
        lens=track.lens,
        is_asked=slack == 1 or (is_blind and not _has_clocks(comparison, track)),
        slack=slack,
        verdict=GateVerdict.UNKNOWN,
        against=against,
    )
    if track.before.count < BASELINE_MIN:
        return replace(found, why=Why.FEW_BASELINE if track.before.count else Why.NO_BASELINE)
    if seen is None:
        return replace(found, verdict=GateVerdict.PENDING, why=Why.NO_ROUNDS)
    found = replace(found, change=seen)
    # A loss that is tolerated is no evidence against itself, so there is nothing to work out for it.
    if seen.size > growth(asked.tolerate * slack) and found.log_evidence(asked) >= log_needed:
        is_theirs = against is Against.CONTROLS and seen.size < WANDER_TIMES * _wandered(comparison, track)
        return replace(found, why=Why.CONTROLS_WANDER) if is_theirs else replace(found, verdict=GateVerdict.FAILED)
    if is_blind:
        return replace(found, why=Why.HELD_BACK)
    against_loss = sequences.log_evidence_below(seen, growth(asked.exclude * slack - asked.wander))
    is_excluded = against_loss >= -math.log(asked.error_rate)
    return replace(found, verdict=GateVerdict.PASSED if is_excluded else GateVerdict.PENDING)


def growth(loss: float) -> float:
    """By how much badness grows with a loss."""
    return -math.log1p(-min(max(loss, 0.0), 0.99))


def _share(change: float) -> float:
    return -math.expm1(-change)


def _bound(change: float) -> float | None:
    return _share(change) if math.isfinite(change) else None


def _seen(track: Track) -> tuple[Against, Change | None]:
    """The change against controls where the baseline has them, otherwise against the node's own past."""
    if track.paired_before.count >= BASELINE_MIN:
        return Against.CONTROLS, sequences.change(replace(track.paired_before, mean=0.0), track.paired.moments)
    if track.before.count:
        return Against.BEFORE, sequences.change(replace(track.before, mean=0.0), track.after.moments)
    return Against.NOTHING, None


def _wandered(comparison: Comparison, track: Track) -> float:
    """How far a control went from where it was, against the other controls."""
    return max(
        (
            abs(each.paired.moments.mean)
            for each in comparison.tracks
            if (each.figure, each.lens) == (track.figure, track.lens)
            and each.node != track.node
            and each.paired.moments.count
        ),
        default=0.0,
    )


def _has_clocks(comparison: Comparison, track: Track) -> bool:
    return any(each.key == (track.figure, Lens.PER_CLOCK, track.node) for each in comparison.tracks)


def rare_finding(rare: Rare, log_needed: float) -> RareFinding:
    """What a kind of event says, where evidence of a higher rate has to be so large."""
    quiet = GateVerdict.PASSED if rare.watched_hours > 0 else GateVerdict.PENDING
    verdict = GateVerdict.FAILED if rares.log_evidence(rare) >= log_needed else quiet
    return RareFinding(name=rare.name, verdict=verdict, counted=rare)
