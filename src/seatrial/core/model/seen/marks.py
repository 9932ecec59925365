"""The marks that keep neighbours off a node while it is visited: one table of who reads which key, from when, how long.

    Cluster Autoscaler   removes a node that nobody uses; an emptied, cordoned node looks like one
    Karpenter            replaces a node that it could do without, and empties it first
    NVSentinel           quarantines a node whose GPUs are gone, and counts it towards its circuit breaker

Law of this file: rows and values, no steps (core/decision/neighbours.py has them). A mark is set only where its key is
not there, so whoever wants none, or another one, puts the key there with a value of their own. Where the sources say
it: docs/decisions/0052-marks-for-neighbours.md. Tests: tests/core/decision/test_neighbours.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord

DAY_SECONDS: Final = 24 * 3600.0


class Place(StrEnum):
    """Where on a node a mark stands."""

    LABEL = "label"
    ANNOTATION = "annotation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What is written on a node for a neighbour to read."""

    place: Place
    key: str
    value: str


_DRIVERLESS: Final = frozenset({NodePhase.POD_RESTART_REQUIRED, NodePhase.VALIDATION_REQUIRED})
"""Phases in which a driver goes, or has come and is not proven."""
_VISITED: Final = _DRIVERLESS | {
    NodePhase.WAIT_FOR_JOBS_REQUIRED,
    NodePhase.POD_DELETION_REQUIRED,
    NodePhase.DRAIN_REQUIRED,
}
"""Phases of a node that is cordoned for us. Whoever asks a maintenance operator is visited once the node is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """Somebody else at work on nodes, and what keeps them off one."""

    name: str
    mark: Mark
    signs: tuple[str, ...] = ()
    """How labels begin that only they put on nodes; nothing where a node does not show whether they are there."""
    phases: frozenset[NodePhase] = _VISITED
    """The write that opens the first of these sets the mark; the one that ends the visit takes it off."""
    seconds_max: float | None = None
    """It is taken off after this long at the latest, whatever the node waits for; None for as long as the visit."""

    def is_there(self, facts: NodeFacts) -> bool:
        """Whether they are at work on a node, as far as can be seen."""
        return not self.signs or any(key.startswith(self.signs) for key in facts.labels)

    def ends_at(self, since: Instant) -> Instant | None:
        """When a mark goes that was set then; None where only the end of the visit ends it."""
        return since + self.seconds_max if self.seconds_max is not None else None


NEIGHBOURS: Final[tuple[Neighbour, ...]] = (
    Neighbour(
        name="Cluster Autoscaler",
        mark=Mark(place=Place.ANNOTATION, key="cluster-autoscaler.kubernetes.io/scale-down-disabled", value="true"),
    ),
    Neighbour(
        name="Karpenter",
        mark=Mark(place=Place.ANNOTATION, key="karpenter.sh/do-not-disrupt", value="true"),
        signs=("karpenter.sh/",),
    ),
    Neighbour(
        name="NVSentinel",
        # The older of its two labels: this one ends quarantine only, the newer one takes its monitors off the node.
        mark=Mark(place=Place.LABEL, key="k8saas.nvidia.com/ManagedByNVSentinel", value="false"),
        signs=("nvsentinel.dgxc.nvidia.com/",),
        phases=_DRIVERLESS,
        seconds_max=DAY_SECONDS,
    ),
)
BY_KEY: Final[Mapping[str, Neighbour]] = {each.mark.key: each for each in NEIGHBOURS}


def found(labels: Mapping[str, str], annotations: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What stands on a node under the keys of the table, whoever put it there."""
    places = {Place.LABEL: labels, Place.ANNOTATION: annotations}
    marks = (each.mark for each in NEIGHBOURS)
    return tuple((mark.key, places[mark.place][mark.key]) for mark in marks if mark.key in places[mark.place])


def ours(facts: NodeFacts, record: NodeRecord | None) -> tuple[Mark, ...]:
    """The marks on a node that we set, and that nobody has changed since."""
    there = dict(facts.marks)
    mine = (BY_KEY[key].mark for key, _ in record.marks if key in BY_KEY) if record is not None else ()
    return tuple(mark for mark in mine if there.get(mark.key) == mark.value)


def written(
    marks: Iterable[tuple[str, str]], set_: Iterable[Mark], lifted: Iterable[Mark]
) -> tuple[tuple[str, str], ...]:
    """What stands on a node once these are set, and those taken off."""
    after = dict(marks) | {mark.key: mark.value for mark in set_}
    gone = {mark.key for mark in lifted}
    return tuple((key, after[key]) for key in BY_KEY if key in after and key not in gone)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A mark on a node, as people are told of it."""

    neighbour: str
    key: str
    value: str
    by: str
    """The rollout that set it; empty where somebody else did."""
    since: Instant | None = None
    until: Instant | None = None
    """When it goes at the latest; None where it goes with the end of the visit."""


def told(facts: NodeFacts, record: NodeRecord | None) -> tuple[Told, ...]:
    """Every mark on a node: whose it is, and when it ends."""
    mine, since = {mark.key for mark in ours(facts, record)}, dict(record.marks) if record is not None else {}
    return tuple(
        Told(
            neighbour=BY_KEY[key].name,
            key=key,
            value=value,
            by=record.marked_by if record is not None and key in mine else "",
            since=since[key] if key in mine else None,
            until=BY_KEY[key].ends_at(since[key]) if key in mine else None,
        )
        for key, value in facts.marks
        if key in BY_KEY
    )
