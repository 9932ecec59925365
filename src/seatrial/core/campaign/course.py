"""What a campaign does next, as a value, and the table of phases it may walk along.

Law of this file: no phase is opened but through `turn_to`, which looks it up in the table.
docs/reference/rollout-phases.md and its diagram are drawn from TRANSITIONS. Tests: tests/core/campaign/test_rollout.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core.actions.of_campaigns import CampaignAct
from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.errors import CoreBug
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import CampaignRecord, Point, RolloutPhase, Turn
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.instants import Instant
from seatrial.core.movers.mover import PLAIN, mover_of
from seatrial.core.movers.view import Mover, View
from seatrial.core.text import foreign

WAY_FORWARD: Final = (
    RolloutPhase.PROPOSED,
    RolloutPhase.CANARY,
    RolloutPhase.GATING,
    RolloutPhase.BAKING,
    RolloutPhase.WAVING,
    RolloutPhase.PROMOTING,
    RolloutPhase.DONE,
)
"""The phases of a rollout that goes well, in order."""
_MIDDLE: Final = frozenset({RolloutPhase.REVERTING, RolloutPhase.PAUSED})


TRANSITIONS: Final[Mapping[RolloutPhase, frozenset[RolloutPhase]]] = {
    RolloutPhase.PROPOSED: frozenset({RolloutPhase.CANARY, RolloutPhase.REVERTED, RolloutPhase.PAUSED}),
    RolloutPhase.CANARY: frozenset({RolloutPhase.GATING, *_MIDDLE}),
    RolloutPhase.GATING: frozenset({RolloutPhase.BAKING, RolloutPhase.CANARY, *_MIDDLE}),
    RolloutPhase.BAKING: frozenset({RolloutPhase.WAVING, RolloutPhase.CANARY, *_MIDDLE}),
    RolloutPhase.WAVING: frozenset({RolloutPhase.PROMOTING, *_MIDDLE}),
    RolloutPhase.PROMOTING: frozenset({RolloutPhase.DONE, *_MIDDLE}),
    RolloutPhase.DONE: frozenset({RolloutPhase.REVERTING}),
    RolloutPhase.PAUSED: frozenset({*WAY_FORWARD[:-1], RolloutPhase.REVERTING}),
    RolloutPhase.REVERTING: frozenset({RolloutPhase.REVERTED, RolloutPhase.PAUSED}),
    RolloutPhase.REVERTED: frozenset(),
}


HISTORY_MAX: Final = 40
"""How many changes of phase the status remembers; the journal remembers all."""
WHY_MAX: Final = 4_000
"""How long the reason may be for which a campaign is undone; it is told in several places of one status."""
TURN_WHY_MAX: Final = 400
"""How much of its reason each change of phase remembers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What a campaign does next: its record as it should be, acts of its own, who may start, and why it waits."""

    record: CampaignRecord
    is_plain: bool = False
    """A rollout without a canary: no record is kept of it, and every node may start."""
    acts: tuple[CampaignAct, ...] = ()
    open: frozenset[str] = frozenset()
    """The nodes that may start; whoever is under way goes on in any case."""
    recalled: frozenset[str] = frozenset()
    """The nodes in the ledger whose turn is over: who has not begun hands its place back."""
    closed: frozenset[str] = frozenset()
    """Canaries that stay closed although their driver is proven, by the record that was seen."""
    holds: tuple[Hold, ...] = ()
    wake_at: Instant | None = None
    mover: Mover = field(init=False, repr=False, compare=False)
    """Who moves the nodes; nobody is chosen before a campaign begins."""

    def __post_init__(self) -> None:
        # Once, and not for every node: it is asked thousands of times in a pass.
        object.__setattr__(self, "mover", PLAIN if self.is_plain else mover_of(self.record.mode))

    @property
    def written(self) -> CampaignRecord | None:
        """What is written down of it."""
        return None if self.is_plain else self.record


def plain(holds: tuple[Hold, ...] = ()) -> Course:
    """The course of a rollout without a canary: every node goes its own way, as far as the budget lets it."""
    return Course(record=CampaignRecord(), is_plain=True, holds=holds)


def turn_to(view: View, to: RolloutPhase, why: str = "", **changes: object) -> Course:
    """Open a phase; the table says whether it may follow."""
    record = view.record
    if to not in TRANSITIONS[record.phase]:
        raise CoreBug(
            f"{view.name}: {record.phase} may not be followed by {to}; see TRANSITIONS in core/campaign/course.py."
        )
    why = foreign.lines(why, WHY_MAX)
    turn = Turn(phase=to, at=view.now, why=foreign.lines(why, TURN_WHY_MAX))
    is_undone = to in (RolloutPhase.REVERTING, RolloutPhase.REVERTED)
    changes = {"why": why} | changes if is_undone and why else changes
    new = replace(record, phase=to, entered_at=view.now, history=remembered(record, turn), **changes)  # type: ignore[arg-type]
    return Course(record=replace(new, gates=tuple(map(_given_up, new.gates))) if is_undone else new)


def _given_up(result: GateResult) -> GateResult:
    """A verdict that is not waited for any more, since the rollout is undone."""
    if result.verdict is not GateVerdict.PENDING:
        return result
    return replace(result, verdict=GateVerdict.UNKNOWN, detail="not measured: the rollout was undone first")


def remembered(record: CampaignRecord, turn: Turn) -> tuple[Turn, ...]:
    return (*record.history, turn)[-HISTORY_MAX:]


def fail(view: View, why: str, *, is_final: bool = False, is_verdict: bool = True, **changes: object) -> Course:
    """Something failed: undo it, or ask a person whether to. What is final leaves them no way forward.

    A verdict is about the version, and stands until it is mended or the entry is marked with it.
    """
    why = foreign.lines(why, WHY_MAX)
    changes = {"rejected": why if is_verdict else ""} | changes
    if Point.ROLLBACK in view.campaign.manual and Point.ROLLBACK not in view.campaign.approved:
        record = replace(view.record, **changes)  # type: ignore[arg-type]
        return Course(record=record, holds=(view.hold(HoldCode.ROLLBACK_PENDING, why=why, is_final=is_final or ""),))
    return turn_to(view, RolloutPhase.REVERTING, why=why, **changes)
