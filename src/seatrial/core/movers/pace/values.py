"""What NVIDIA's upgrade controller is waited on for, and what is remembered of it: values and their limits.

Law of this file: nothing is decided here. Tests: tests/core/movers/test_pace.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass, field
from seatrial.core.compat.versions import OperatorVersion
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.operators import OperatorFacts

POLL_SECONDS: Final = 120.0
"""After this long its controller looks without being woken."""


class WaitCode(StrEnum):
    """What a node waits for."""

    TURN = "turn"
    SKIPPED = "skipped"
    STEP = "step"
    """The next step of its controller, which comes by itself."""
    JOBS = "jobs"
    PODS = "pods"
    MAINTENANCE = "maintenance"
    DRIVER_STOPPING = "driver-stopping"
    DRIVER_STARTING = "driver-starting"
    VALIDATOR_MISSING = "validator-missing"
    VALIDATOR_STARTING = "validator-starting"
    LOOK = "look"
    """Nothing but a look of its controller: this is what we wake it for."""
    FAILED = "failed"
    STATE_UNKNOWN = "state-unknown"


class WakeHold(StrEnum):
    """Why nobody is woken."""

    CONTROLLER_OFF = "controller-off"
    RELEASE_DEAF = "release-deaf"
    NO_CARRIER = "no-carrier"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """One node, and what it waits for."""

    node: str
    state: str
    code: WaitCode
    what: str = ""
    """Names or counts for the sentence: the jobs, the trouble, how often it was woken for."""
    wake_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """Put our label on a node that has none, as long as nobody has written to the node since."""

    node: str
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lower:
    """Take our label away, as long as it is ours."""

    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """Take its state away from a done node, as long as it is done."""

    node: str


Act: TypeAlias = Raise | Lower | Reset


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A node's time in one state."""

    state: str
    since: Instant
    ready_at: Instant | None = None
    """Since when it has lacked nothing but a look."""
    is_own: bool = False
    """It lacked nothing from the start, so its controller looks without us."""
    woken_at: Instant | None = None
    wake_count: int = 0
    lag_seconds: float = 0.0
    """How much later it would have come into this state by polling alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A wait for a look that has ended: what it took, and what polling would have taken."""

    node: str
    state: str
    waited_seconds: float
    polled_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceMemory:
    """What is remembered from look to look; nothing of it needs to outlive us."""

    stays: Mapping[str, Stay] = field(default_factory=dict)
    gains: tuple[Gain, ...] = ()
    wake_count: int = 0
    carrier: str = ""
    """The node that our label stands on by our own doing."""
    raised_at: Instant = 0.0
    written_at: Instant | None = None
    refused_at: Instant | None = None
    refusal_count: int = 0
    under_way_most: int = 0
    moved_at: Instant = 0.0
    """When a node was last seen to change its state."""
    is_begun: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a decision rests on."""

    nodes: Mapping[str, NodeFacts]
    operator: OperatorFacts
    release: OperatorVersion | None = None
    may_reset: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """What to do now, what everybody waits for, and when to look again at the latest."""

    memory: PaceMemory
    act: Act | None = None
    woken_for: tuple[str, ...] = ()
    """The nodes the act is for; none when it only takes a label away."""
    waits: tuple[Wait, ...] = ()
    hold: WakeHold | None = None
    wake_at: Instant | None = None
    gains: tuple[Gain, ...] = ()
    """Those that ended with this look."""

    @property
    def is_over(self) -> bool:
        """Whether its controller has nothing left to move by itself."""
        still = (WaitCode.FAILED, WaitCode.SKIPPED, WaitCode.STATE_UNKNOWN)
        return all(wait.code in still for wait in self.waits)

    @property
    def is_in_vain(self) -> bool:
        """Whether nobody can be woken until somebody changes what is asked for."""
        return self.hold in (WakeHold.CONTROLLER_OFF, WakeHold.RELEASE_DEAF)
