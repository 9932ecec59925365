"""Small upgrades for the tests of judging: a canary `c`, controls `k1` to `k3`, and one rate or a few.

Noise is given by hand or by a seed. A value is in the figure's unit, a loss is a share of it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from seatrial.core.judging import evidence as evidences
from seatrial.core.judging.comparing import Round
from seatrial.core.judging.evidence import Evidence
from seatrial.core.model.gates.figures import Figure
from seatrial.core.model.gates.telemetry import Series, Telemetry

CONTROLS: Final = ("k1", "k2", "k3")
RATE: Final = "matrix-fp32"
QUIET: Final = 0.001
"""The spread of one round."""


def a_figure(node: str = "c", value: float = 50.0, **more: Any) -> Figure:
    return Figure(**{"name": RATE, "value": value, "node": node, "at": 0.0, "unit": "TFLOP/s", "gpu": "g0", **more})


def a_round(number: int, values: Mapping[str, float], *, is_baseline: bool = False, **more: Any) -> Round:
    """One figure of each node."""
    figures = tuple(a_figure(node, value, **more) for node, value in values.items())
    return Round(number=number, is_baseline=is_baseline, figures=figures)


def an_upgrade(
    *,
    losses: Mapping[str, float] | None = None,
    rounds: int = 6,
    baseline: int = 3,
    controls: Iterable[str] = CONTROLS,
    spread: float = QUIET,
    seed: int = 1,
    common: Callable[[int], float] = lambda _: 0.0,
    events: Iterable[str] = (),
    **more: Any,
) -> Evidence:
    """Evidence after some rounds in which nodes lose a share of their rate; `common` is what all lose in a round."""
    chance, lost = random.Random(seed), losses or {}  # noqa: S311
    nodes = ("c", *controls)
    levels = {node: 50.0 * (1 + 0.01 * place) for place, node in enumerate(nodes)}
    found = evidences.begun({"c": tuple(controls)}, events=events)
    for number in range(1, baseline + rounds + 1):
        is_baseline = number <= baseline
        values = {
            node: levels[node]
            * math.exp(chance.gauss(0, spread) - common(number))
            * (1 - (0.0 if is_baseline else lost.get(node, 0.0)))
            for node in nodes
        }
        found = evidences.measured(found, a_round(number, values, is_baseline=is_baseline, **more))
    return found


def a_series(
    name: str, node: str = "c", *, values: Iterable[float], step: float = 60.0, gpu: str = "g0", start: float = 0.0
) -> Series:
    points = tuple((start + place * step, value) for place, value in enumerate(values))
    return Series(name=name, node=node, gpu=gpu, gap_seconds=2 * step, points=points)


def some_telemetry(*series: Series, since: float = 0.0, until: float = 7200.0) -> Telemetry:
    return Telemetry(since=since, until=until, series=series)
