"""What the pass before has worked out of each node, and this one need not: its step, and whom it counts with.

    the node is the same object     facts are frozen, so `is` means unchanged
    what it is told is the same     of the ledger, the budget, refused writes, acts under way, the course, the stop
    time has not come               a hold counts until its `until`; a step that acts, or would, is made anew: acts
                                    carry the time

Law of this file: it may be lost at any moment, and changes no answer. What it cannot tell to be the same is worked out
anew, and a field that somebody adds to a record is told apart until somebody says here that no step looks at it.
Tests: tests/core/decision/test_remembered.py, tests/properties/test_remembered_properties.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.holds import Hold
from seatrial.core.model.campaign import CampaignRecord
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.known import Known
from seatrial.core.model.seen.nodes import NodeSeen, Taken
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.rollouts import Rebuff, RolloutRecord
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.node.writing import Closed, Step

Chosen: TypeAlias = tuple[Step, Step]
"""The step of a node, and the step of its own that it was chosen over: it lasts no longer than that one."""

AGAIN: Final = float("-inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What the step of every node depends on, beside the node itself and what it alone is told."""

    intent: Intent
    attentive_since: Instant
    stop: Hold | None
    operator: OperatorFacts
    course: CampaignRecord | None
    campaign: CampaignRecord | None
    leaving: RolloutRecord | None
    """The rollout, where it leaves."""
    attrition: tuple[int, Instant | None] | None = None
    """By attrition: GPUs that may stand idle, and when nobody is waited for any longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PerNode:
    """What single nodes are told, by name; of a pod of theirs by its uid."""

    admitted: Mapping[str, int]
    recalled: frozenset[str]
    rebuffs: Mapping[str, Rebuff]
    busy: Mapping[str, Instant | None]
    open: frozenset[str]
    closed: frozenset[str]
    marked: frozenset[str]
    ahead: frozenset[str] = frozenset()
    given_back: frozenset[str] = frozenset()
    waiting: Mapping[str, Closed | Taken] = field(default_factory=dict)
    """By attrition: what closed nodes wait for, and why others are emptied."""

    def differing(self, other: PerNode) -> set[str]:
        """Whom it tells something else."""
        keyed = (
            self.admitted.items() ^ other.admitted.items(),
            self.rebuffs.items() ^ other.rebuffs.items(),
            self.busy.items() ^ other.busy.items(),
            self.waiting.items() ^ other.waiting.items(),
        )
        names = (
            self.recalled ^ other.recalled,
            self.open ^ other.open,
            self.closed ^ other.closed,
            self.marked ^ other.marked,
            self.ahead ^ other.ahead,
            self.given_back ^ other.given_back,
        )
        return set().union(*names, *({key for key, _ in pairs} for pairs in keyed))


class Remembered:
    """What one pass leaves to the next. The caller owns it, one for each rollout."""

    def __init__(self) -> None:
        self._seen, self._nodes = Known(), Known()
        """The nodes as they are seen, and as their steps were worked out: NVIDIA's states are read as records first."""
        self._steps: dict[str, Step] = {}
        self._until: dict[str, Instant] = {}
        """When a step has to be worked out again though nothing changed; who is not here may wait for ever."""
        self._common: Common | None = None
        self._told: PerNode | None = None
        self._at: Instant = AGAIN

    def over(self, seen: Snapshot) -> Snapshot:
        """The same snapshot, over nodes of which is known who is alike; it is good until the next look."""
        self._seen.see(seen.nodes)
        return replace(seen, nodes=self._seen)

    def steps(
        self,
        nodes: Mapping[str, NodeSeen],
        common: Common,
        told: PerNode,
        now: Instant,
        choose: Callable[[NodeSeen], Chosen],
    ) -> dict[str, Step]:
        """The step of every node, in the order of names; `choose` is asked only where it could say something else."""
        before, is_alike = self._told, self._common == common and now >= self._at
        self._told = None  # a pass that does not come to its end leaves nothing behind
        changed = self._nodes.see(nodes)
        if before is None or not is_alike:
            self._steps, self._until = {}, {}
            self._work_out(sorted(nodes), choose)
        else:
            due = {name for name, until in self._until.items() if until <= now}
            is_same_row = self._steps.keys() == nodes.keys()
            self._work_out((due | changed | self._concerned(told.differing(before))) & nodes.keys(), choose)
            if not is_same_row:
                self._steps = {name: self._steps[name] for name in sorted(nodes)}
                self._until = {name: until for name, until in self._until.items() if name in nodes}
        self._common, self._told, self._at = common, told, now
        return dict(self._steps)

    def _work_out(self, names: Iterable[str], choose: Callable[[NodeSeen], Chosen]) -> None:
        nodes, steps, times = self._nodes, self._steps, self._until
        for name in names:
            steps[name], own = choose(nodes[name])
            until = AGAIN if own.action is not None else own.hold.until if own.hold is not None else None
            if until is not None:
                times[name] = until
            elif name in times:
                del times[name]

    def _concerned(self, subjects: set[str]) -> set[str]:
        """The nodes that these are about: by name, or as pods of theirs."""
        pods = {subject for subject in subjects if subject not in self._nodes}
        if not pods:
            return subjects
        return subjects | {
            name for name, node in self._nodes.items() if any(pod.uid in pods for pod in node.facts.pods)
        }


def what_nodes_see(record: CampaignRecord) -> CampaignRecord:
    """A campaign's record without what changes from pass to pass, and no step looks at."""
    return replace(
        record, baked_seconds=0.0, baked_until=0.0, watched=(), gates=(), round=0, round_at=0.0, well_since=0.0
    )
