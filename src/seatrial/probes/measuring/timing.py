"""Times that can be repeated: a warm-up, many blocks, the median of them and how sure it is.

A single block of work varies by several percent on a GPU that its power limit holds back; the median of forty after a
warm-up repeats within half a percent. So figures are medians, and come with the clocks and the power they were had at.

Law of this file: what happens on the GPU is timed by the GPU, by events on its own stream.

Tests: tests/probes/test_timing.py
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from seatrial.probes.measuring.nvml import Gpu

MAD_TO_SIGMA: Final = 1.4826
CONFIDENCE: Final = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long is warmed up, how many blocks are timed, and how often that is done with memory taken anew.

    Where matrices lie in memory moves their rate by up to one percent, so one place says little.
    """

    warm_seconds: float = 1.0
    blocks: int = 20
    places: int = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """Seconds per block, and the states the GPU was in meanwhile."""

    seconds: tuple[float, ...]
    states: tuple[dict[str, float | str], ...]

    def rate(self, amount: float) -> dict[str, Any]:
        """A rate by the median block, as the fields of a measurement: so much was done in each block."""
        return figures([amount / each for each in self.seconds]) | {"under": summed_up(self.states)}

    def __add__(self, other: Timed) -> Timed:
        return Timed(seconds=self.seconds + other.seconds, states=self.states + other.states)


def figures(values: Sequence[float]) -> dict[str, Any]:
    """Median, spread and the median's interval, as the fields of a measurement."""
    middle = median(values)
    low, high = interval(values)
    spread = MAD_TO_SIGMA * median([abs(each - middle) for each in values]) / middle if middle else 0.0
    return {"value": middle, "spread": spread, "low": low, "high": high, "count": len(values)}


def interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Where the true median lies: between two of the sorted values, whatever their distribution is.

    So many of n values lie below the median as of n coins show heads. With too few values it is all of them.
    """
    ordered, count = sorted(values), len(values)
    tail, below = 0.0, 0
    while below < count // 2:
        tail += math.comb(count, below) / 2**count
        if 2 * tail > 1 - confidence:
            break
        below += 1
    cut = max(0, below - 1)
    return ordered[cut], ordered[count - 1 - cut]


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that so large a share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def summed_up(states: Sequence[dict[str, float | str]]) -> dict[str, float | str]:
    """One state of many: medians, and every reason that held the clocks back in at least a tenth of them."""
    numbers: dict[str, list[float]] = {}
    reasons: Counter[str] = Counter()
    for state in states:
        for key, value in state.items():
            if isinstance(value, str):
                reasons.update(value.split())
            else:
                numbers.setdefault(key, []).append(value)
    found: dict[str, float | str] = {key: round(median(values), 1) for key, values in numbers.items()}
    held = sorted(word for word, count in reasons.items() if count * 10 >= len(states))
    return found | {"held_back": " ".join(held)} if states and "held_back" in states[0] else found


def blocks(work: Callable[[], object], torch: Any, gpu: Gpu | None, effort: Effort) -> Timed:
    """Time blocks of work on the current GPU, after a warm-up."""
    until = time.monotonic() + effort.warm_seconds
    while time.monotonic() < until:
        work()
        torch.cuda.synchronize()
    found = list(_timed(work, torch, gpu, effort.blocks))
    return Timed(seconds=tuple(each for each, _ in found), states=tuple(state for _, state in found))


def _timed(
    work: Callable[[], object], torch: Any, gpu: Gpu | None, count: int
) -> Iterator[tuple[float, dict[str, float | str]]]:
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _ in range(count):
        begin.record()
        work()
        end.record()
        state = gpu.state() if gpu is not None else {}  # asked while the GPU works: afterwards its clocks fall
        end.synchronize()
        yield begin.elapsed_time(end) / 1000, state
