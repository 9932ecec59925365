"""What is said of a hold: why it waits, and what to do about it.

Law of this file: the shape of an explanation, and no sentence. Tests: tests/core/words/test_explain.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.base.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why, and what next; `{names}` are filled from the hold's parameters."""

    why: str
    next_step: str


def says(why: str, next_step: str) -> Explanation:
    """An explanation, written as two sentences."""
    return Explanation(why=why, next_step=next_step)


BY_ITSELF: Final = "Nothing to do: it continues on its own."
