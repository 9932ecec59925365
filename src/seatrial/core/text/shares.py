"""Shares as people write them: 3%, 99.5%.

Law of this file: what cannot be meant is refused with the range that can. Tests: tests/core/text/test_names.py
"""

from __future__ import annotations

import re
from typing import Final

LOSSES: Final = (1.0, 50.0)
"""In percent. Below one nodes wander by themselves as far; above half a gate would have failed."""
CONFIDENCES: Final = (80.0, 99.99)
_PERCENT: Final = re.compile(r"[0-9]{1,2}(\.[0-9]{1,2})?%")


def loss(text: str) -> float:
    """The share of a loss that is to be excluded."""
    return _share(text, LOSSES, "a loss such as 3%")


def confidence(text: str) -> float:
    """The share of cases in which what is said has to be right."""
    return _share(text, CONFIDENCES, "a confidence such as 99%")


def _share(text: str, bounds: tuple[float, float], what: str) -> float:
    low, high = bounds
    percent = float(text[:-1]) if _PERCENT.fullmatch(text) else None
    if percent is None or not low <= percent <= high:
        raise ValueError(f"{text!r} is not {what}, from {low:g}% to {high:g}%")
    return round(percent / 100, 6)
