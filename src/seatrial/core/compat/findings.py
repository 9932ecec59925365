"""What a rule answers: a Finding, with its verdict, where it points, who says so, and what to do. Values only.

Tests: tests/core/compat/test_rules_checking.py
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Span


class Verdict(StrEnum):
    """What is known about a pair of versions; unknown is never a pass."""

    OK = "ok"
    WARN = "warn"
    UNKNOWN = "unknown"
    FAIL = "fail"


BADNESS: Final = {Verdict.OK: 0, Verdict.WARN: 1, Verdict.UNKNOWN: 2, Verdict.FAIL: 3}
"""The one order of verdicts; everything that picks the worst or the best of several goes by it."""


class Confidence(StrEnum):
    """How sure we are of a fact. Only what was verified in its source may block."""

    VERIFIED = "verified-in-source"
    SECONDARY = "secondary"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One rule's answer about one stack, one change, or one place in a file."""

    rule: str
    verdict: Verdict
    message: str
    """What, why: one sentence, with the versions in it."""
    next_step: str = ""
    """What to do about it; empty for ok."""
    spans: tuple[Span, ...] = ()
    sources: tuple[str, ...] = ()
    """Who says so."""
    confidence: Confidence = Confidence.VERIFIED
    own: tuple[str, ...] = ()
    """The user's own files and bundles of facts that it rests on."""
    is_accepted: bool = False

    @property
    def cause(self) -> tuple[Verdict, bool, str, str]:
        """What it says and advises: findings of other entries or rules that say the same are corrected together."""
        return self.verdict, self.is_accepted, self.message, self.next_step


def worst(findings: Iterable[Finding]) -> Verdict:
    """The worst verdict: fail, then unknown, then warn, then ok."""
    return max((finding.verdict for finding in findings), key=BADNESS.__getitem__, default=Verdict.OK)
