"""What a rollout begins with, as one value. Tests: tests/app/rollout/test_starting.py"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seatrial.core.base.values import dataclass

if TYPE_CHECKING:
    from seatrial.app.rollout.check import Check
    from seatrial.app.rollout.committing import PublishedFile
    from seatrial.core.model.instants import Instant
    from seatrial.core.model.intent import Intent
    from seatrial.core.model.seen.nodes import NodeSeen
    from seatrial.core.model.seen.operators import MachinePool, OperatorFacts
    from seatrial.core.model.seen.rollouts import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Outset:
    """What a rollout begins with."""

    at: Instant
    resource: dict[str, Any]
    """As it was asked for, and is created."""
    made: dict[str, Any]
    """The same as the API server would take it, with its defaults."""
    intent: Intent
    members: dict[str, NodeSeen]
    operator: OperatorFacts
    others: tuple[str, ...]
    """Other campaigns that have not ended."""
    machine_pools: tuple[MachinePool, ...] = ()
    """MachineConfigPools, where the rollout has to do with some."""
    faults: tuple[str, ...] = ()
    """What could not be read on the way."""
    file: PublishedFile | None = None
    """What it publishes to, where it does so by commits: read, so that a wrong path is told before the start."""
    checks: tuple[Check, ...] = ()
    """What was asked before the start, and how it came out."""
    unled: Told | None = None
    """That nobody is in charge, so nothing begins; None where somebody is, and where that cannot be seen."""
