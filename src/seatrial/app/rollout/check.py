"""One answer of a check before the start. Tests: tests/app/rollout/checks/test_checks.py"""

from __future__ import annotations

from enum import StrEnum

from seatrial.core.base.values import dataclass


class Verdict(StrEnum):
    """How a check came out."""

    OK = "ok"
    FAILS = "fails"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """About what, how it came out, and why."""

    about: str
    verdict: Verdict
    why: str

    @property
    def line(self) -> str:
        """All of it, for a person."""
        return f"{self.verdict.value:<9}  {self.about}: {self.why}"


def failed(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """Those that speak against a start."""
    return tuple(each for each in checks if each.verdict is Verdict.FAILS)
