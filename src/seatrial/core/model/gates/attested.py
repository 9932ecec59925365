"""Attested: what a person or a system is asked to say of a canary, and what was said.

Law of this file: a word has an end. Who says it, and when, is what its writer says; with the chart's policy the API
server holds the name to the person who is signed in, and keeps other people's words.

Tests: tests/core/test_attesting.py
"""

from __future__ import annotations

from enum import StrEnum

from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Attest:
    """What somebody has to say of every canary."""

    asks: str
    """What is to be so, in words for whoever is asked."""


class Said(StrEnum):
    """The two things that can be said."""

    GOOD = "pass"
    BAD = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What somebody said for a gate."""

    gate: str
    node: str = ""
    """The canary it is about; empty for all of them."""
    is_pass: bool
    because: str
    by: str = ""
    """Who said it, by the name under which the API server knows them; empty where nobody knows."""
    at: Instant
    until: Instant
    """From then on it counts no more."""

    def is_about(self, gate: str, node: str) -> bool:
        return self.gate == gate and self.node in ("", node)
