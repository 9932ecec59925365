"""Exposed: what telemetry has shown of an upgrade so far, and one stretch of it that is still to be added.

    samples ─ summed up ─▶ Stretch ─ added once ─▶ Exposed        kept in the rollout's status

Law of this file: sums over time and GPUs, nothing that grows with the number of looks. A stretch is added where the one
before it ended, and nowhere else, so it counts once whatever crashed meanwhile. What all of it proves is judging's to
say. Tests: tests/core/judging/test_judging_exposure.py, tests/core/judging/test_judging_rare.py
"""

from __future__ import annotations

import math
from typing import Final

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.model.fields import kept
from seatrial.core.model.instants import Instant

RATIOS: Final = (3.0, 10.0, 100.0, 1000.0)
"""Of the rate of events of the canary to that of its controls: those that evidence is kept for."""


# ── kept ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """What was seen of one node so far."""

    node: str
    watched_seconds: float = field(default=0.0, metadata=kept("Time with data of all of its GPUs.", is_required=True))
    watched_gpu_hours: float = field(default=0.0, metadata=kept(is_required=True))
    loaded_gpu_hours: float = field(
        default=0.0, metadata=kept("Of these, with a GPU at work and users' pods on the node.", is_required=True)
    )
    soaked_gpu_hours: float = field(
        default=0.0, metadata=kept("Of those, with the pods of gates alone: such as a soak.")
    )

    @property
    def load(self) -> float:
        """The share of what was watched that was under load."""
        return self.loaded_gpu_hours / self.watched_gpu_hours if self.watched_gpu_hours else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rare:
    """One kind of event over everything that was upgraded so far, and over the controls."""

    name: str
    events: int = field(default=0, metadata=kept(is_required=True))
    watched_hours: float = field(default=0.0, metadata=kept("GPU-hours with data.", is_required=True))
    loaded_hours: float = field(default=0.0, metadata=kept(is_required=True))
    control_events: int = field(default=0, metadata=kept(is_required=True))
    control_hours: float = field(default=0.0, metadata=kept(is_required=True))
    log_ratios: tuple[float, ...] = field(
        default=(0.0,) * len(RATIOS),
        metadata=kept(
            "Evidence that the canaries have more of these events than the controls: "
            f"{', '.join(f'{each:g}' for each in RATIOS)} times as many.",
            is_required=True,
            count=len(RATIOS),
        ),
    )

    def counted(
        self,
        *,
        events: int,
        hours: float,
        loaded_hours: float = 0.0,
        control_events: int = 0,
        control_hours: float = 0.0,
    ) -> Rare:
        """With what was seen in one more stretch of time."""
        share = hours / (hours + control_hours) if hours > 0 and control_hours > 0 else None
        ratios = self.log_ratios
        if share is not None:  # of an event, given that there was one, only on whom it fell says something
            both = events + control_events
            ratios = tuple(
                kept + events * math.log(ratio) - both * math.log1p((ratio - 1) * share)
                for kept, ratio in zip(ratios, RATIOS, strict=True)
            )
        return replace(
            self,
            events=self.events + events,
            watched_hours=self.watched_hours + hours,
            loaded_hours=self.loaded_hours + min(loaded_hours, hours),
            control_events=self.control_events + control_events,
            control_hours=self.control_hours + control_hours,
            log_ratios=ratios,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposed:
    """All that is kept of telemetry."""

    canaries: tuple[Exposure, ...] = ()
    controls: tuple[str, ...] = field(
        default=(),
        metadata=kept("Nodes that events are held against: like the canaries, and not upgraded when it began."),
    )
    followers: tuple[str, ...] = field(
        default=(), metadata=kept("Nodes that followed the canaries: their events and hours count, too.")
    )
    rare: tuple[Rare, ...] = field(
        default=(), metadata=kept("Kinds of event, on what was upgraded and on the controls.")
    )
    since: Instant = field(default=0.0, metadata=kept(is_required=True))
    watched_until: Instant = field(default=0.0, metadata=kept("Until when telemetry is in it.", is_required=True))
    waiting_seconds: float = field(
        default=0.0,
        metadata=kept(
            "Time with data of every canary that no gates have confirmed yet; evidence once they do.",
            is_always_written=True,
        ),
    )
    lack: str = field(
        default="", metadata=kept("Which canary had no data in the last stretch, and why; empty where all had some.")
    )

    @property
    def nodes(self) -> tuple[str, ...]:
        """Who is watched."""
        return tuple(dict.fromkeys((*(each.node for each in self.canaries), *self.controls, *self.followers)))

    @property
    def watched_seconds(self) -> float:
        """For how long every canary was watched."""
        return min((each.watched_seconds for each in self.canaries), default=0.0)

    @property
    def loaded_gpu_hours(self) -> float:
        """How many GPU-hours the canaries worked meanwhile."""
        return sum(each.loaded_gpu_hours for each in self.canaries)

    @property
    def soaked_gpu_hours(self) -> float:
        """How many of them they worked for gates alone."""
        return sum(each.soaked_gpu_hours for each in self.canaries)

    @property
    def load(self) -> float:
        """The smallest share of its time for which a canary worked."""
        return min((each.load for each in self.canaries), default=0.0)


# ── seen ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Rises:
    """How often one kind of event was seen on a node, and over how many GPU-hours somebody watched for it."""

    name: str
    events: int
    hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """One node over one stretch of time."""

    node: str
    seconds: float = 0.0
    """Time with data of all of its GPUs."""
    gpu_hours: float = 0.0
    busy_gpu_hours: float = 0.0
    rises: tuple[Rises, ...] = ()
    lacks: tuple[str, ...] = ()
    """What could not be told of it, and why; a few of them."""

    def events_of(self, name: str) -> tuple[int, float]:
        found = next((each for each in self.rises if each.name == name), None)
        return (found.events, found.hours) if found is not None else (0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """What was told of some nodes between two instants, summed up."""

    since: Instant
    until: Instant
    """The last sample that all who told anything have: the next stretch begins there."""
    nodes: tuple[Watch, ...] = ()

    def of(self, node: str) -> Watch:
        return next((each for each in self.nodes if each.node == node), Watch(node=node))

    @property
    def has_events(self) -> bool:
        return any(rise.events for each in self.nodes for rise in each.rises)


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryFacts:
    """What a monitoring system shows of the rollout at work, for a controller that was told of one."""

    stretch: Stretch | None = None
    """From where the record ends; None before the first look, or where nothing is watched yet."""
