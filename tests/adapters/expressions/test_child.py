"""The process that works out expressions: true, false, or why neither."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.adapters.expressions.child import answered

RATES = [{"value": 660.0, "gpu": "GPU-1"}, {"value": 640.0, "gpu": "GPU-2"}]
ABOUT: dict[str, Any] = {
    "figures": {"speed": {"matrix-bf16": RATES}},
    "verdicts": {"speed": "passed"},
    "node": {"name": "gpu-1", "driver": "580.105.08", "product": "NVIDIA-H200"},
}


@pytest.mark.parametrize(
    ("expression", "answer"),
    [
        ('figures.speed["matrix-bf16"].all(rate, rate.value >= 600)', True),
        ('figures["speed"]["matrix-bf16"].all(rate, rate.value >= 650.0)', False),
        ('figures.speed["matrix-bf16"].exists(rate, rate.gpu == "GPU-2" && rate.value < 650.0)', True),
        ('verdicts.speed == "passed" || verdicts.speed == "unknown"', True),
        ('has(figures.other) || node.product.startsWith("NVIDIA-H2")', True),
        ('size(figures.speed["matrix-bf16"]) == 8', False),
    ],
)
def test_an_expression_is_true_or_false(expression: str, answer: bool) -> None:
    assert answered(expression, ABOUT) == {"answer": answer}


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("figures.other.x.all(rate, rate.value > 0.0)", "there is no 'other'"),
        ("nobody > 1", "Undefined variable or function: 'nobody'"),
        ("figures.speed[", "Failed to parse"),
        ("1 / 0 == 1", "division by zero"),
        ('"a" + 1 == "a1"', "Unsupported operation"),
        ("node.name", "it gives 'gpu-1', neither true nor false"),
        ("1", "neither true nor false"),
        ("(" * 3000 + "true" + ")" * 3000, ""),
    ],
    ids=["no figure", "no name", "no CEL", "by nought", "two types", "a text", "a number", "too deep"],
)
def test_whatever_is_neither_is_trouble_and_no_answer(expression: str, why: str) -> None:
    found = answered(expression, ABOUT)
    assert found.keys() == {"trouble"}
    assert why in found["trouble"]
    assert len(found["trouble"]) < 400
