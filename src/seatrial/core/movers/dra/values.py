"""What is seen of DRA plugins and their drivers, how a node stands, and what is remembered between two looks.

Law of this file: nothing is decided here. Tests: tests/core/movers/test_dra_standing.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass, field
from seatrial.core.model.instants import ApiInstant, Instant
from seatrial.core.model.seen.nodes import NodeSeen

STILL_SECONDS: Final = 30.0
"""So long a node has to be settled, with nothing about it changing, before its plugin is deleted."""
TARGET_SECONDS: Final = 300.0
"""After so long a target that no driver DaemonSet shows counts as reached where it is what runs already."""
SLICES_SECONDS: Final = 120.0
"""So long a plugin may publish another version than the one that runs: it may not have written its slices yet."""
OPERATORS_SECONDS: Final = 600.0
"""So long the GPU Operator has to restart a plugin of its own before we do."""

CLIQUE_LABEL: Final = "nvidia.com/gpu.clique"
"""The NVLink clique of a node: its members share memory, so their plugins do not go at the same time."""
DRIVER_LABEL: Final = "nvidia.com/gpu.deploy.driver"
"""Whether the GPU Operator brings the driver of a node: `true`, or `pre-installed`."""


class Stand(StrEnum):
    """How a node stands."""

    FRESH = "fresh"
    STALE = "stale"
    WAITING = "waiting"
    """Stale, and not deleted yet."""
    PENDING = "pending"
    """Not settled: its driver may still change."""
    REROLLING = "rerolling"
    SKIPPED = "skipped"
    """Left alone, and nobody waits for it."""
    FAILED = "failed"


class Why(StrEnum):
    """Why a node stands as it does."""

    YOUNGER = "younger"
    SAME_VERSION = "same-version"
    UNCOMPARED = "uncompared"
    OLDER = "older"
    VERSION_DIFFERS = "version-differs"
    STILL = "still"
    CLAIM_LEAVING = "claim-leaving"
    CLIQUE = "clique"
    OPERATORS_OWN = "operators-own"
    VISITED = "visited"
    NODE_NOT_READY = "node-not-ready"
    DRIVER_MISSING = "driver-missing"
    DRIVER_NOT_READY = "driver-not-ready"
    SET_UNKNOWN = "set-unknown"
    TEMPLATE_UNSEEN = "template-unseen"
    NOT_MIGRATED = "not-migrated"
    UNDER_WAY = "under-way"
    PAUSED = "paused"
    VALIDATOR_MISSING = "validator-missing"
    VALIDATOR_NOT_READY = "validator-not-ready"
    TARGET_ABSENT = "target-absent"
    PLUGIN_STARTING = "plugin-starting"
    PLUGIN_LEAVING = "plugin-leaving"
    PLUGIN_AWAITED = "plugin-awaited"
    LEFT_OUT = "left-out"
    UPGRADE_FAILED = "upgrade-failed"
    NO_PLUGIN = "no-plugin"
    STALE_AGAIN = "stale-again"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverSet:
    """A DaemonSet that brings drivers."""

    name: str
    is_seen: bool = True
    """Whether its controller has taken up the newest template, so that the newest revision is that template's."""
    version: str = ""
    """The driver version of the template; empty where its image does not say."""
    chart: str = ""
    """The chart that wrote the template (helm.sh/chart)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSet:
    """A DaemonSet of DRA plugins."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighted:
    """One node, and the DaemonSet that its driver pod belongs to."""

    node: NodeSeen
    driver_set: DriverSet | None = None

    @property
    def name(self) -> str:
        return self.node.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What an upgrade is to bring, as whoever started it says; empty where nobody says."""

    driver: str = ""
    chart: str = ""

    def __bool__(self) -> bool:
        return bool(self.driver or self.chart)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraSeen:
    """Everything that one look shows."""

    nodes: Mapping[str, Sighted]
    driver_sets: tuple[DriverSet, ...] = ()
    plugin_sets: tuple[PluginSet, ...] = ()

    @property
    def has_dra(self) -> bool:
        """Whether there is a DRA driver at all."""
        return bool(self.plugin_sets) or any(each.node.facts.dra is not None for each in self.nodes.values())

    @property
    def has_managed_drivers(self) -> bool:
        """Whether pods bring the drivers here, on some node at least."""
        return bool(self.driver_sets) or any(each.node.facts.driver is not None for each in self.nodes.values())

    @property
    def has_validators(self) -> bool:
        """Whether validators run here at all."""
        return any(each.node.facts.validator is not None for each in self.nodes.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How one node stands, and why."""

    node: str
    stand: Stand
    why: Why
    about: str = ""
    """The pod, label, state or versions that the sentence names."""
    since: ApiInstant | None = None
    """Since when, on the cluster's clock; None where nothing says."""
    until: Instant | None = None
    """When it is looked at again, on our clock."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more is waited for here."""
        return self.stand in (Stand.FRESH, Stand.SKIPPED, Stand.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reroll:
    """Delete one plugin pod, as long as it is the one that was looked at."""

    node: str
    namespace: str
    pod: str
    uid: str


DriverKey: TypeAlias = tuple[str, ApiInstant | None]
"""One run of a driver: its pod, and since when it has been usable."""
Still: TypeAlias = tuple[object, Instant]
"""What has not changed, and since when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DraMemory:
    """What one run remembers. Nothing of it has to outlive the run: the cluster tells the rest."""

    begun_at: Instant | None = None
    settled: Mapping[str, Still] = field(default_factory=dict)
    stale: Mapping[str, Still] = field(default_factory=dict)
    had_plugin: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    """Plugin pods that were deleted, by uid: none twice."""
    rerolled: Mapping[str, DriverKey] = field(default_factory=dict)
    """For which run of its driver a node's plugin was deleted: once is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerolling:
    """One look: how every node stands, and which plugins go now."""

    standings: tuple[Standing, ...]
    acts: tuple[Reroll, ...]
    memory: DraMemory
    wake_at: Instant | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to wait for."""
        return all(each.is_over for each in self.standings)

    @property
    def is_all_pending(self) -> bool:
        """Whether what is left has not settled, so that nothing can be done about it now."""
        return all(each.is_over or each.stand is Stand.PENDING for each in self.standings)
