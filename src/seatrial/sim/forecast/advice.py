"""Which setting to take: the fastest whose least capacity stays within what the users can spare; else a window.

Tests: tests/sim/test_forecast_sweep.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from seatrial.core.words.explain import span
from seatrial.sim.forecast.sweep import Result, Setting

NOT_INCLUDED: Final = (
    "Not included: jobs that wait in the queue meanwhile, the work that evicted pods do again, "
    "nodes that fail for other reasons, and the time people take to decide."
)
ALIKE: Final = 1.01
"""Settings whose durations differ by less than this are equally fast; the gentler one is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to do, and why."""

    setting: Setting | None
    """None: no setting fits, take a maintenance window."""
    head: str
    """What to do."""
    figures: str
    """What that means, in numbers."""
    besides: str = ""
    """What else there would be, and why not."""

    @property
    def text(self) -> str:
        return " ".join(part for part in (f"{self.head}: {self.figures}", self.besides) if part)


def advise(results: Sequence[Result], at_once: Result, buffer: float) -> Advice:
    """The setting for a buffer, given as a share of the capacity."""
    fitting = [result for result in results if 1 - result.least_share <= buffer + 1e-9]
    ending = [result for result in fitting if math.isfinite(result.seconds(0.5))]
    if not fitting:
        return _window(results, at_once, buffer)
    if not ending:
        best = min(fitting, key=lambda result: result.stop_chance)
        return _stopping(best)
    quickest = min(result.seconds(0.5) for result in ending)
    alike = [result for result in ending if result.seconds(0.5) <= quickest * ALIKE]
    best = min(alike, key=lambda result: (-result.least_share, result.gpu_hours_lost(0.5), _size(result.setting)))
    return _recommended(best, results, buffer)


def _size(setting: Setting) -> tuple[float, bool, int]:
    return setting.parallel_max or math.inf, setting.unavailable_max.is_percent, setting.unavailable_max.amount


def _recommended(best: Result, results: Iterable[Result], buffer: float) -> Advice:
    setting = best.setting
    besides = []
    over = [each for each in results if 1 - each.least_share > buffer + 1e-9 and each.seconds(0.5) < best.seconds(0.5)]
    if over:
        faster = min(over, key=lambda each: each.seconds(0.5))
        besides.append(
            f"{_sized(faster.setting)} would take {_span(faster.seconds(0.5))}, but leaves {faster.least_share:.1%}, "
            f"and you can spare {buffer:.0%}."
        )
    if best.stop_chance:
        besides.append(f"In {best.stop_chance:.0%} of the runs too many nodes fail and it stops half way.")
    return Advice(
        setting=setting,
        head=f"Take maxParallelUpgrades {setting.parallel_max or '0 (no limit)'} with maxUnavailable "
        f"{setting.unavailable_max}",
        figures=f"{_span(best.seconds(0.5))} in half of the runs, {_span(best.seconds(0.9))} in nine of ten, never "
        f"less than {best.least_share:.1%} of the capacity, {best.gpu_hours_lost(0.5):,.0f} GPU-hours lost.",
        besides=" ".join(besides),
    )


def _window(results: Sequence[Result], at_once: Result, buffer: float) -> Advice:
    gentlest = max(results, key=lambda result: (result.least_share, -result.seconds(0.5)))
    why = (
        "With a buffer of 0 every rolling upgrade takes capacity from somebody"
        if buffer <= 0
        else f"No setting stays within {buffer:.0%}: the gentlest, {_lower(gentlest.setting)}, leaves "
        f"{gentlest.least_share:.1%}"
    )
    return Advice(
        setting=None,
        head="Take a maintenance window",
        figures=f"all nodes at once need {_span(at_once.seconds(0.5))} in half of the runs, "
        f"{_span(at_once.seconds(0.9))} in nine of ten; plan the latter.",
        besides=f"{why}.",
    )


def _stopping(best: Result) -> Advice:
    return Advice(
        setting=best.setting,
        head="Do not start yet",
        figures=f"too many nodes fail, in {best.stop_chance:.0%} of the runs even with {_lower(best.setting)}.",
        besides="Find out why they fail, raise maxFailed, or allow retries first.",
    )


def _sized(setting: Setting) -> str:
    return f"{setting.parallel_max or 'Any number'} at a time with {setting.unavailable_max}"


def _lower(setting: Setting) -> str:
    return f"{setting.parallel_max or 'all'} at a time, {setting.unavailable_max} unavailable"


def _span(seconds: float) -> str:
    return span(seconds) if math.isfinite(seconds) else "for ever (it stops half way)"
