"""Who is measured together by a gate that runs on several nodes at once, and who is left out.

Law of this file: values only. Tests: tests/core/test_ganging.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.base.values import dataclass

GANG_MIN: Final = 2
"""Fewer nodes are no gang."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """The canaries of a round, as a gate that needs several of them finds them."""

    nodes: tuple[str, ...] = ()
    """Those that have room, the first of them speaks for all."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Nodes without room, and why."""
    may_be_left_out: bool = False
    """Whether a round may do without: it can never be had here, or it was had before."""

    @property
    def is_formed(self) -> bool:
        return len(self.nodes) >= GANG_MIN

    def why_not(self, node: str) -> str:
        """Why a node is in no gang."""
        found = dict(self.left_out).get(node)
        return found or f"a sum over nodes needs {GANG_MIN}, and {node} is alone"


NOBODY: Final = Gang(may_be_left_out=True)
