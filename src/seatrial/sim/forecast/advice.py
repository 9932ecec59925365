"""Which setting to take: the fastest whose least capacity stays within what the users can spare; else a window.

Tests: tests/sim/test_forecast_advice.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from seatrial.core.explain import span
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
    text: str


def advise(results: Sequence[Result], at_once: Result, buffer: float) -> Advice:
    """The setting for a buffer, given as a share of the capacity."""
    fitting = [result for result in results if 1 - result.least_share <= buffer + 1e-9]
    ending = [result for result in fitting if math.isfinite(result.seconds(0.5))]
    if not fitting:
        return Advice(setting=None, text=_window(results, at_once, buffer))
    if not ending:
        best = min(fitting, key=lambda result: result.stop_chance)
        return Advice(setting=best.setting, text=_stopping(best))
    quickest = min(result.seconds(0.5) for result in ending)
    alike = [result for result in ending if result.seconds(0.5) <= quickest * ALIKE]
    best = min(alike, key=lambda result: (-result.least_share, result.gpu_hours_lost(0.5), _size(result.setting)))
    return Advice(setting=best.setting, text=_recommended(best, results, buffer))


def _size(setting: Setting) -> tuple[float, bool, int]:
    return setting.parallel_max or math.inf, setting.unavailable_max.is_percent, setting.unavailable_max.amount


def _recommended(best: Result, results: Iterable[Result], buffer: float) -> str:
    setting = best.setting
    text = (
        f"Take maxParallelUpgrades {setting.parallel_max or 'unlimited (0)'} with maxUnavailable "
        f"{setting.unavailable_max}: {_span(best.seconds(0.5))} in half of the runs ({_span(best.seconds(0.9))} in nine "
        f"of ten), with never less than {best.least_share:.1%} of the capacity, and {best.gpu_hours_lost(0.5):,.0f} "
        f"GPU-hours lost."
    )
    over = [each for each in results if 1 - each.least_share > buffer + 1e-9 and each.seconds(0.5) < best.seconds(0.5)]
    if over:
        faster = min(over, key=lambda each: each.seconds(0.5))
        text += (
            f" {_sized(faster.setting)} would take {_span(faster.seconds(0.5))}, but leaves {faster.least_share:.1%}, "
            f"and you can spare {buffer:.0%}."
        )
    if best.stop_chance:
        text += f" In {best.stop_chance:.0%} of the runs too many nodes fail and it stops half way."
    return text


def _window(results: Sequence[Result], at_once: Result, buffer: float) -> str:
    gentlest = max(results, key=lambda result: (result.least_share, -result.seconds(0.5)))
    why = (
        "With a buffer of 0 every upgrade takes capacity from somebody"
        if buffer <= 0
        else f"No setting stays within {buffer:.0%}: the gentlest ({_lower(gentlest.setting)}) leaves "
        f"{gentlest.least_share:.1%}"
    )
    return (
        f"Take a maintenance window. {why}. All nodes at once need {_span(at_once.seconds(0.5))} in half of the runs, "
        f"{_span(at_once.seconds(0.9))} in nine of ten; plan the latter."
    )


def _stopping(best: Result) -> str:
    return (
        f"No setting comes to an end in most runs: too many nodes fail, in {best.stop_chance:.0%} of the runs even with "
        f"{_lower(best.setting)}. Find out why they fail, raise maxFailed, or allow retries first."
    )


def _sized(setting: Setting) -> str:
    return f"{str(setting.parallel_max) if setting.parallel_max else 'All'} at a time with {setting.unavailable_max}"


def _lower(setting: Setting) -> str:
    return f"{setting.parallel_max or 'all'} at a time, {setting.unavailable_max} unavailable"


def _span(seconds: float) -> str:
    return span(seconds) if math.isfinite(seconds) else "for ever (it stops half way)"
