"""What a driver manager sees of its node and of the host, and what it may do: one value each.

Law of this file: a step is one write, or a wait, or the end. Tests: tests/core/node/driver_manager/test_plan.py
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.pods import PodOwner
from seatrial.core.node.driver_manager.labels import Labels

# ── seen ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSeen:
    """A pod on the node."""

    namespace: str
    name: str
    uid: str
    labels: Labels = ()
    selects: tuple[str, ...] = ()
    """The keys of its nodeSelector."""
    keeper: PodOwner = PodOwner.CONTROLLER
    has_empty_dir: bool = False
    is_leaving: bool = False
    is_finished: bool = False
    is_plugin: bool = False
    """It is a DRA plugin, which the kubelet needs to take devices back."""
    holds_gpu: bool = False
    holds_claim: bool = False
    """The kubelet needs the DRA plugin to let it go."""

    @property
    def full_name(self) -> str:
        """Its name, with the namespace."""
        return f"{self.namespace}/{self.name}"

    @property
    def app(self) -> str:
        """By what name operands know their pods."""
        return dict(self.labels).get("app", "")

    @property
    def is_bound(self) -> bool:
        """Whether it would be back at once, or cannot be moved: DaemonSets' pods and static ones."""
        return self.keeper in (PodOwner.DAEMON_SET, PodOwner.KUBELET)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """The node, as far as it concerns a driver manager."""

    name: str
    version: str = ""
    """The resourceVersion: who writes says of which state."""
    labels: Labels = ()
    is_cordoned: bool = False
    is_cordon_ours: bool = False
    """An annotation says that a driver manager of ours cordoned it."""
    is_superseded: bool = False
    """NVIDIA's upgrade controller empties the node, so nobody else does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A kernel module that is loaded."""

    name: str
    use_count: int = 0
    holders: tuple[str, ...] = ()
    """The modules that need it."""

    @property
    def handle_count(self) -> int:
        """How often it is held by others than modules: open devices, mostly."""
        return max(0, self.use_count - len(self.holders))


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSeen:
    """The host, as far as it concerns a driver manager."""

    modules: tuple[Module, ...] = ()
    """Of those that a driver manager may unload, the loaded ones."""
    digest: str = ""
    """Which driver the last driver container loaded; empty where none says so."""
    mounts: tuple[str, ...] = ()
    """What is mounted at or below the driver's root, the deepest first."""
    has_pid_file: bool = False
    bound: tuple[str, ...] = ()
    """NVIDIA's PCI devices that are in some driver's hands, by address."""
    has_mellanox: bool = False
    has_mofed: bool = False
    """A driver container of the network operator says that it is ready."""
    has_host_mofed: bool = False
    """The host's own network driver is loaded."""

    def module(self, name: str) -> Module | None:
        """A module by its name, where it is loaded."""
        return next((each for each in self.modules if each.name == name), None)

    @property
    def is_loaded(self) -> bool:
        """Whether an NVIDIA driver is in the kernel."""
        return self.module("nvidia") is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Everything, at one moment."""

    node: NodeState
    pods: tuple[PodSeen, ...] = ()
    host: HostSeen = HostSeen()


# ── done ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Relabel:
    """Write labels of the node."""

    values: Labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Cordon:
    """Close the node and say in the same write that it was us, if it is still as it was seen."""

    version: str
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncordon:
    """Open the node and take our word off it in the same write, if it is still as it was seen."""

    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evict:
    """Ask one pod to leave."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetDigest:
    """Remove what says which driver is loaded: from here on it is not whole any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unload:
    """Take one module out of the kernel."""

    module: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmount:
    """Unmount one path."""

    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovePidFile:
    """Remove the pid file of the last driver container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unbind:
    """Take PCI devices out of the hands of whichever driver has them."""

    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Await:
    """Nothing to do until something changes, or until then."""

    why: str
    until: Instant | None


class Ending(Enum):
    """How a run ends."""

    DONE = "done"
    FAILED = "failed"
    LATE = "late"
    HOST_DRIVER = "host driver"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """There is nothing left to do."""

    ending: Ending
    why: str = ""


ApiStep: TypeAlias = Relabel | Cordon | Uncordon | Evict
HostStep: TypeAlias = ForgetDigest | Unload | Unmount | RemovePidFile | Unbind
Step: TypeAlias = ApiStep | HostStep | Await | End


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """A write that was turned down."""

    why: str
    is_passing: bool = False
    """It may well succeed later: nobody forbids it."""
