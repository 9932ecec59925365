"""Which setting to take: the fastest whose least capacity stays within what the users can spare; else a window.

Law of this file: nothing is recommended that stops. A setting, or a window, is advised only where nine runs of ten come
to their end; where none does, the advice is not to start, with the cause and what to do about it. Tests:
tests/sim/test_forecast_advice.py
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.text.spans import span
from seatrial.sim.forecast import stopping
from seatrial.sim.forecast.stopping import Outset
from seatrial.sim.forecast.sweep import Result, Setting

NOT_INCLUDED: Final = (
    "jobs that wait in the queue meanwhile",
    "the work that evicted pods do again",
    "nodes that fail for other reasons",
    "the time people take to decide",
)
"""What no forecast knows."""
ALIKE: Final = 1.01
"""Settings whose durations differ by less than this are equally fast; the gentler one is taken."""


class Kind(StrEnum):
    """What is advised."""

    SETTING = "setting"
    WINDOW = "window"
    WAIT = "wait"
    """Not to start yet: it would stop."""
    NOTHING = "nothing"
    """Nobody would be moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to do, and why."""

    kind: Kind
    setting: Setting | None = None
    """The one to take, where one is to be taken."""
    head: str
    """What to do."""
    figures: str
    """What that means, in numbers."""
    besides: str = ""
    """What else there would be, and why not; or what to do first."""


def advise(results: Sequence[Result], at_once: Result, buffer: float, outset: Outset) -> Advice:
    """The setting for a buffer, given as a share of the capacity."""
    if not outset.moving_count:
        return Advice(
            kind=Kind.NOTHING,
            head="Nothing to do",
            figures="no node would be moved.",
            besides=stopping.why_nothing_moves(outset),
        )
    fitting = [result for result in results if _is_within(result, buffer)]
    ending = [result for result in fitting if result.is_ending]
    if ending:
        quickest = min(result.seconds(0.5) for result in ending)
        alike = [result for result in ending if result.seconds(0.5) <= quickest * ALIKE]
        best = min(alike, key=lambda result: (-result.least_share, result.gpu_hours_lost(0.5), _size(result.setting)))
        return _recommended(best, results, buffer, outset)
    if not fitting and at_once.is_ending:
        return _window(results, at_once, buffer)
    return _stopping(fitting or [*results, at_once], results, buffer, outset)


def _is_within(result: Result, buffer: float) -> bool:
    return 1 - result.least_share <= buffer + 1e-9


def _size(setting: Setting) -> tuple[float, bool, int]:
    return setting.parallel_max or math.inf, setting.unavailable_max.is_percent, setting.unavailable_max.amount


def _recommended(best: Result, results: Sequence[Result], buffer: float, outset: Outset) -> Advice:
    setting = best.setting
    besides = []
    over = [each for each in _beyond(results, buffer) if each.seconds(0.5) < best.seconds(0.5)]
    if over:
        faster = min(over, key=lambda each: each.seconds(0.5))
        besides.append(
            f"{_sized(faster.setting)} would take {span(faster.seconds(0.5))}, but leaves {faster.least_share:.1%}, "
            f"and you can spare {buffer:.0%}."
        )
    if best.stop_chance:
        besides.append(f"In {best.stop_chance:.0%} of the runs it stops half way.")
        besides += [f"{stopping.why(why, outset, best.failure)}." for why, _ in best.stops()]
    return Advice(
        kind=Kind.SETTING,
        setting=setting,
        head=f"Take maxParallelUpgrades {setting.parallel_max or '0 (no limit)'} with maxUnavailable "
        f"{setting.unavailable_max}",
        figures=f"{span(best.seconds(0.5))} in half of the runs, {span(best.seconds(0.9))} in nine of ten, never "
        f"less than {best.least_share:.1%} of the capacity, {best.gpu_hours_lost(0.5):,.0f} GPU-hours lost.",
        besides=" ".join(besides),
    )


def _window(results: Sequence[Result], at_once: Result, buffer: float) -> Advice:
    gentlest = max(results, key=lambda result: (result.least_share, result.is_ending, -result.seconds(0.5)))
    why = (
        "With a buffer of 0 every rolling upgrade takes capacity from somebody."
        if buffer <= 0
        else f"No setting stays within {buffer:.0%}: the gentlest, {gentlest.setting}, leaves "
        f"{gentlest.least_share:.1%}."
    )
    return Advice(
        kind=Kind.WINDOW,
        head="Take a maintenance window",
        figures=f"all nodes at once, without canary or waves, need {span(at_once.seconds(0.5))} in half of the runs, "
        f"{span(at_once.seconds(0.9))} in nine of ten; plan the latter.",
        besides=" ".join((why, *_with_more(results, buffer))),
    )


def _stopping(tried: Sequence[Result], results: Sequence[Result], buffer: float, outset: Outset) -> Advice:
    best = min(tried, key=lambda result: result.stop_chance)
    is_any = any(result.is_ending for result in results)
    which = f"every setting that stays within {buffer:.0%}" if is_any else "every setting"
    often = "stops" if best.stop_chance == 1 else f"stops in {best.stop_chance:.0%} of the runs or more"
    causes = [f"{stopping.why(stop, outset, best.failure)}." for stop, _ in best.stops()]
    cures = [stopping.what_next(stop, outset, best.failure) for stop, _ in best.stops()]
    return Advice(
        kind=Kind.WAIT,
        head=_head(results, buffer, outset),
        figures=f"{which} {often}.",
        besides=" ".join(dict.fromkeys((*causes, *cures, *_with_more(results, buffer)))),
    )


def _head(results: Sequence[Result], buffer: float, outset: Outset) -> str:
    """What to do where no setting within the buffer ends; a rollout that has begun cannot be told to wait."""
    if not outset.is_under_way:
        return "Do not start yet"
    return f"It takes more than {buffer:.0%}" if _beyond(results, buffer) else "It will not end as it is"


def _beyond(results: Sequence[Result], buffer: float) -> list[Result]:
    """Settings that come to their end, and take more than can be spared."""
    return [each for each in results if each.is_ending and not _is_within(each, buffer)]


def _with_more(results: Sequence[Result], buffer: float) -> list[str]:
    """What a larger buffer would allow: the gentlest that comes to its end."""
    found = _beyond(results, buffer)
    if not found:
        return []
    gentle = max(found, key=lambda each: (each.least_share, -each.seconds(0.5)))
    needed = math.ceil((1 - gentle.least_share) * 100 - 1e-9)
    return [f"Could you spare {needed}%, {gentle.setting} would do it in {span(gentle.seconds(0.5))}."]


def _sized(setting: Setting) -> str:
    return f"{setting.parallel_max or 'Any number'} at a time with {setting.unavailable_max}"
