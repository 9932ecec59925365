"""A gate that is measured on several nodes at once: one answer, and it is everybody's who took part.

    who took part                   the answer of all: nobody can say whose fault a wrong sum is
    who had no room when it began   left out, with the reason
    nobody could begin              left out, where that can never be otherwise or was measured before; else unknown

Law of this file: a gang is asked once for all, when whatever else wants these GPUs in this round is through. Tries are
counted over the gang, whoever speaks for it. Tests: tests/core/judging/test_ganging.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from seatrial.core.base.values import dataclass, replace
from seatrial.core.judging.tries import DETAIL_MAX, Judged, judge
from seatrial.core.model.gates.gate import Gang, Gate, GateVerdict, Measurement
from seatrial.core.text import foreign
from seatrial.core.text.names import a_few


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What a gang's gate says of each node."""

    by_node: Mapping[str, Judged]
    left_out: frozenset[str] = frozenset()
    speaker: str = ""
    """The node that the next try is asked on, for all of them."""
    due: int | None = None


def shared(
    gate: Gate,
    number: int,
    nodes: Sequence[str],
    measured: Iterable[Measurement],
    gang: Gang,
    *,
    is_open: bool,
    length_max: int = DETAIL_MAX,
) -> Shared:
    """How the gate stands on every canary; a try is due only while it is open to one."""
    tries = [each for each in measured if (each.gate, each.round) == (gate.name, number)]
    if not tries:
        return _before(nodes, gang, due=1, is_open=is_open, length_max=length_max)
    last = max(tries, key=lambda each: each.attempt)
    judged = judge(gate, last.node, number, tries, length_max)
    if judged.due is not None and judged.verdict is GateVerdict.PENDING:
        return _before(nodes, gang, due=judged.due, is_open=is_open, length_max=length_max, detail=judged.detail)
    members = last.gang or (last.node,)
    told = replace(judged, detail=foreign.line(_together(members, judged.detail), length_max))
    known = dict(gang.left_out)
    outside = {
        node: foreign.line(known.get(node, "it had no room when the others started"), length_max) for node in nodes
    }
    return Shared(
        by_node={
            node: told if node in members else Judged(verdict=GateVerdict.UNKNOWN, detail=outside[node])
            for node in nodes
        },
        left_out=frozenset(node for node in nodes if node not in members),
    )


def _before(nodes: Sequence[str], gang: Gang, *, due: int, is_open: bool, length_max: int, detail: str = "") -> Shared:
    """Before a try: who will take part waits for it."""
    pending = Judged(verdict=GateVerdict.PENDING, detail=detail)
    if not is_open:
        return Shared(by_node=dict.fromkeys(nodes, pending))
    if gang.is_formed:
        return Shared(
            by_node={node: pending if node in gang.nodes else _out(gang, node, length_max) for node in nodes},
            left_out=frozenset(node for node in nodes if node not in gang.nodes),
            speaker=gang.nodes[0],
            due=due,
        )
    lone = {node: _out(gang, node, length_max) for node in nodes}
    return Shared(by_node=lone, left_out=frozenset(nodes) if gang.may_be_left_out else frozenset())


def _out(gang: Gang, node: str, length_max: int) -> Judged:
    return Judged(verdict=GateVerdict.UNKNOWN, detail=foreign.line(gang.why_not(node), length_max))


def _together(members: Iterable[str], detail: str) -> str:
    return f"over {a_few(members)}" + (f": {detail}" if detail else "")
