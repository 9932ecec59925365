"""What a figure means to whoever judges it: which way is better, and how hard it is held to it.

Law of this file: one table. A figure that is in it neither by name nor by unit has no better or worse, and is never
judged by a guess. Badness is a logarithm that grows as a figure gets worse, so a change of it by 0.03 is a loss of 3 %
of any figure in any unit. Tests: tests/core/judging/test_judging_comparing.py
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.model.gates.figures import Figure


class Better(StrEnum):
    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """How a figure is read."""

    better: Better
    slack: int = 1
    """How many times the tolerated and the asked loss it may vary by: latencies are noisier than rates."""


RATE: Final = Meaning(better=Better.HIGHER)
DELAY: Final = Meaning(better=Better.LOWER, slack=10)

BY_UNIT: Final = {
    "TFLOP/s": RATE,
    "GB/s": RATE,
    "steps/s": RATE,
    "tokens/s": RATE,
    "samples/s": RATE,
    "µs": DELAY,
    "ms": DELAY,
    "s": DELAY,
}
BY_NAME: Final = {
    # One run of two hundred steps, which starts processes and fills caches: on one H200 it repeats within 1.2 %.
    "steps-rate": Meaning(better=Better.HIGHER, slack=3),
}
"""Goes before the unit."""

UNJUDGED: Final = frozenset({"loss-first", "loss-last"})
"""Have a unit, and no better or worse: their payload holds them against a reference itself."""


def meaning(name: str, unit: str) -> Meaning | None:
    """How a figure of this name and unit is read; none where nobody has said which way is better."""
    return None if name in UNJUDGED else BY_NAME.get(name, BY_UNIT.get(unit))


def badness(figure: Figure, read: Meaning) -> float | None:
    """How bad it is, as a logarithm; none where it is no number, or nothing a loss can be a share of."""
    if not figure.is_sound or figure.value <= 0:
        return None
    return math.log(figure.value) if read.better is Better.LOWER else -math.log(figure.value)
