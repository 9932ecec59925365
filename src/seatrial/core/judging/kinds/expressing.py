"""A gate that is an expression over what the other gates of its round have said of the node.

Law of this file: a figure that is missing on one GPU is missing. An expression over "all GPUs" would otherwise pass by
those that were measured, and over none of them in any case. It is asked once the others have answered, whatever they
said. Tests: tests/core/judging/test_expressing.py
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from seatrial.core.model.gates.figures import Figure, Given
from seatrial.core.model.gates.gate import GateResult, GateVerdict, Measurement
from seatrial.core.model.seen.nodes import NodeFacts

PRODUCT: Final = "nvidia.com/gpu.product"


def is_ready(node: str, results: Iterable[GateResult], expressions: Iterable[str]) -> bool:
    """Whether every gate of a node that is no expression itself has answered."""
    left_out = frozenset(expressions)
    return not any(
        each.verdict is GateVerdict.PENDING for each in results if each.node == node and each.gate not in left_out
    )


def given(
    facts: NodeFacts,
    number: int,
    results: Iterable[GateResult],
    measured: Iterable[Measurement],
    expressions: frozenset[str],
) -> Given:
    """What there is to judge of a node in one round; what expressions say is about this, and no part of it."""
    last: dict[str, Measurement] = {}
    for each in measured:
        is_of_it = facts.name in (each.node, *each.gang)
        if is_of_it and each.round == number and each.gate not in expressions:
            known = last.get(each.gate)
            last[each.gate] = each if known is None or each.attempt > known.attempt else known
    seen = [(name, figure) for name, each in sorted(last.items()) for figure in _whole(each)]
    driver = facts.driver.version if facts.driver is not None else ""
    told = {"name": facts.name, "driver": driver, "product": facts.labels.get(PRODUCT, "")}
    said = (
        each for each in results if each.node == facts.name and each.gate not in expressions and not each.is_left_out
    )
    return Given(
        verdicts=tuple((each.gate, each.verdict.value) for each in said),
        figures=tuple(seen),
        facts=tuple(told.items()),
    )


def _whole(measured: Measurement) -> tuple[Figure, ...]:
    missing = {each.name for each in measured.unmeasured}
    missing |= {each.name for each in measured.figures if not each.is_sound}
    return tuple(each for each in measured.figures if each.name not in missing)
