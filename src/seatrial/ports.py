"""The seams between deciding and doing. Plain values only; implemented by adapters (live) and by sim (virtual).

A pass is synchronous: observe, decide, submit. Only waiting is asynchronous, so the same pass drives a real cluster and
a virtual one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import HomeAct, Publish
from seatrial.core.actions.of_campaigns import (
    EndProbe,
    MakePool,
    MarkNode,
    PausePool,
    RemovePool,
    SetAutoUpgrade,
    StartProbe,
)
from seatrial.core.actions.on_nodes import AskCheckpoint, NodeAct
from seatrial.core.actions.on_rollouts import Keeping, WriteRolloutRecord
from seatrial.core.base.values import dataclass, field
from seatrial.core.errors import SeatrialError
from seatrial.core.model.campaign import SourceFacts
from seatrial.core.model.gates.telemetry import Telemetry
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.requests import CommitStatus, Request
from seatrial.core.model.seen.snapshot import Snapshot

if TYPE_CHECKING:
    from seatrial.core.node.driver_manager.values import HostSeen, HostStep, Turned


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What is seen and what is wanted, at one moment."""

    seen: Snapshot
    intent: Intent
    era: int = 0
    """How often the cluster was seen to go back in time, as one does that is restored from a backup."""


class Result(StrEnum):
    """How an act ended."""

    DONE = "done"
    STALE = "stale"
    """The world had moved on; normal, the next pass looks again."""
    BLOCKED = "blocked"
    """Turned down by a rule of the users', such as a PodDisruptionBudget."""
    FAILED = "failed"
    UNKNOWN = "unknown"
    """A bug of ours: it may have been done or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The cluster's answer to one act."""

    action: Action
    result: Result
    detail: str = ""
    blocked: tuple[tuple[str, str], ...] = ()
    """For an eviction: which pods (by uid) were turned down, and why."""
    uid: str = field(default="", compare=False)
    """Of the node that was written, for those who tell of it."""


class Observer(Protocol):
    """Sees."""

    def observe(self) -> Sight | None:
        """What is seen now; None while there is nothing to look at (no rollout, nothing listed yet)."""
        ...

    async def wait(self, until: Instant | None) -> bool:
        """Return when something changed or at `until`; False when nothing will ever change again."""
        ...


class Executor(Protocol):
    """Does, one try each; never retries and never gives up, those are decisions."""

    def submit(self, action: Action) -> None:
        """Start an act; its outcome comes with `collect`."""
        ...

    def in_flight(self) -> frozenset[str]:
        """The subjects of acts that have not been answered."""
        ...

    def collect(self) -> tuple[Outcome, ...]:
        """The outcomes since the last call."""
        ...


ClusterAct: TypeAlias = (
    NodeAct
    | MarkNode
    | WriteRolloutRecord
    | Keeping
    | Publish
    | EndProbe
    | SetAutoUpgrade
    | MakePool
    | RemovePool
    | PausePool
)
"""What is done in the cluster itself."""


class Cluster(Protocol):
    """Where the nodes are, and what says which driver they run."""

    async def do(self, act: ClusterAct, /) -> Outcome:
        """Write once, bound to what was seen. A checkpoint that a webhook was asked for is its yes, written down."""
        ...


class MatrixHome(Protocol):
    """Where the matrix of the rollout at work lives, and the file that is brought into the cluster."""

    def facts(self) -> SourceFacts | None:
        """What was last seen there; None where the rollout has none, or before the first look."""
        ...

    async def do(self, act: HomeAct, /) -> Outcome:
        """Write once, and look at what came of it; a step that is there already is not written again."""
        ...


class Forge(Protocol):
    """Where people look at a change before it is merged: the pull requests into one branch, and what checks say."""

    async def requests(self, branches: Collection[str]) -> tuple[Request, ...]:
        """The request of each of these branches, whoever opened it; of several the open one, else the last."""
        ...

    async def open(self, branch: str, *, title: str, text: str) -> Request:
        """Ask people to merge a branch; where they are asked already, that request is the answer."""
        ...

    async def write(self, number: int, *, title: str, text: str) -> None:
        """Write the title and the text of a request anew."""
        ...

    async def close(self, number: int, *, title: str, text: str) -> None:
        """Close a request, with the reason in its text."""
        ...

    async def post(self, commit: str, status: CommitStatus) -> None:
        """Have a status shown beside a commit, in the place of an earlier one of its name."""
        ...


class Measurer(Protocol):
    """Has gates measured; what comes of it is seen by the observer."""

    async def measure(self, act: StartProbe, /) -> Outcome:
        """Begin; what is being measured already is not begun again."""
        ...


class Watcher(Protocol):
    """Tells what a monitoring system has seen of nodes and their GPUs."""

    async def watch(self, nodes: Collection[str], since: Instant, until: Instant) -> Telemetry:
        """What was seen of these nodes between two instants, by our clock; what was not is among its `unmeasured`.

        Nothing is raised. The time behind a node's last sample is covered by a later look that begins there
        (`Telemetry.watched_until`), and by this one not at all.
        """
        ...


class CheckpointWebhook(Protocol):
    """Somebody outside who has the work of pods saved."""

    async def ask(self, act: AskCheckpoint, /) -> Outcome:
        """Ask once: done is saved, and everything else blocks these pods, with the reason."""
        ...


class JournalUnwritable(SeatrialError):  # noqa: N818
    """The journal cannot be written now, and may be later: its disk is full, or not to be had."""


class Host(Protocol):
    """The machine below a driver manager: its kernel, its mounts and its files."""

    def host_driver(self) -> str:
        """The version of a driver that the host brings itself; empty where it brings none. May take a minute."""
        ...

    def look(self) -> HostSeen:
        """Everything as it is now."""
        ...

    def do(self, step: HostStep, /) -> Turned | None:
        """Take one thing away; None when that is done."""
        ...

    def lacking(self) -> tuple[str, ...]:
        """What would keep the work from being done, as sentences."""
        ...


class Journal(Protocol):
    """Remembers for people and for replay, never for deciding."""

    def append(self, at: Instant, kind: str, fields: Mapping[str, object]) -> None:
        """Add one entry; JournalUnwritable where that cannot be done now."""
        ...


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> Instant:
        """Seconds since the epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything a loop needs from outside."""

    observer: Observer
    executor: Executor
    journal: Journal
    clock: Clock
