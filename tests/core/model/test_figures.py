"""Figures: of whom they are, and whether they are numbers."""

import math

import pytest

from seatrial.core.model.gates.figures import Figure


def figure(**more: object) -> Figure:
    return Figure(**{"name": "matrix-bf16", "value": 670.0, "node": "gpu-1", "at": 10.0, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_no_figure(value: float) -> None:
    assert figure().is_sound
    assert not figure(value=value).is_sound
