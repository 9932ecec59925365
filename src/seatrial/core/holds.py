"""Why something is not moving: `Hold`, one per node that wants to move and does not. The sentences are in explain.py.

Codes are documented like lint rules (docs/reference/holds.md is generated from explain.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Flag, IntEnum, StrEnum, auto
from typing import NamedTuple, Self

from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import Instant


class Tier(IntEnum):
    """Which of several reasons stands first: the one that the others follow from."""

    SOMEBODY = 0
    """The rollout as a whole waits for a person: paused, leaderless, an approval, a matrix that cannot be read."""
    IN_THE_WAY = 1
    """Keeps one node until a person, or the world, gives way; it comes before what waits for that node."""
    WORLD = 2
    """A node, or the rollout, waits for the world: jobs that run, a driver that starts, a sync."""
    FOLLOWS = 3
    """Said of the rollout because its nodes are as they are: the wave is at work, the canary is at work."""
    QUEUES = 4
    """Waits for others: its turn comes when what stands before it is over."""


class Trait(Flag):
    """What else a reason is known for."""

    FAILURE = auto()
    """Something has failed, or a deadline has passed."""
    ORDERED = auto()
    """A person ordered the wait, and nothing is wrong."""
    STOPS = auto()
    """The rollout as a whole disrupts no node."""
    FREEZES = auto()
    """We write nothing at all to a node; under other stops only what disrupts nothing."""
    LETS_LEAVE = auto()
    """Stops a rollout and does not stop it from leaving: no node starts, and its own nodes are let go."""
    PROMISES = auto()
    """The next step promises to continue on its own, which is untrue while the rollout is stopped."""
    MOMENT = auto()
    """Over before a person has read of it."""
    ATTRITION = auto()
    """A node waits by attrition."""


PLAIN = Trait(0)


class HoldCode(StrEnum):
    """Every reason we know for not moving: its code, where it stands among others, and its traits."""

    tier: Tier
    traits: Trait

    def __new__(cls, code: str, tier: Tier = Tier.WORLD, traits: Trait = PLAIN) -> Self:
        made = str.__new__(cls, code)
        made._value_, made.tier, made.traits = code, tier, traits
        return made

    # the rollout as a whole
    LEADERLESS = "leaderless", Tier.SOMEBODY
    PAUSED = "paused", Tier.SOMEBODY, Trait.ORDERED | Trait.STOPS | Trait.FREEZES
    STALE_VIEW = "stale-view", Tier.WORLD, Trait.STOPS
    UNREADABLE_OBJECT = "unreadable-object", Tier.IN_THE_WAY, Trait.STOPS
    JOURNAL_UNWRITABLE = "journal-unwritable", Tier.SOMEBODY, Trait.STOPS
    PROMISE_BROKEN = "promise-broken", Tier.SOMEBODY, Trait.FAILURE
    MODE_CONTRADICTION = "mode-contradiction", Tier.SOMEBODY, Trait.STOPS | Trait.FREEZES
    NOBODY_MOVES = "nobody-moves", Tier.SOMEBODY, Trait.STOPS | Trait.FREEZES | Trait.LETS_LEAVE
    SANDBOXED = "sandboxed", Tier.SOMEBODY, Trait.STOPS | Trait.FREEZES
    TARGET_NOT_PUBLISHED = "target-not-published", Tier.SOMEBODY, Trait.STOPS | Trait.LETS_LEAVE
    ROLLOUT_UNREADABLE = "rollout-unreadable"
    SET_ASIDE = "set-aside"
    MANAGER_OPENS_NODES = "manager-opens-nodes"
    UNGUARDED = "unguarded", Tier.WORLD, Trait.STOPS | Trait.FREEZES | Trait.LETS_LEAVE
    ROLLS_BY_ITSELF = "rolls-by-itself", Tier.SOMEBODY, Trait.STOPS | Trait.LETS_LEAVE
    OPERANDS_DELEGATED = "operands-delegated", Tier.SOMEBODY, Trait.STOPS | Trait.LETS_LEAVE
    OPERANDS_BY_POOL = "operands-by-pool", Tier.SOMEBODY, Trait.STOPS | Trait.LETS_LEAVE
    ATTRITION_DELEGATED = "attrition-delegated", Tier.SOMEBODY, Trait.STOPS | Trait.LETS_LEAVE
    KUEUE_UNSEEN = "kueue-unseen", Tier.SOMEBODY, Trait.STOPS | Trait.LETS_LEAVE
    NETWORK_DELEGATED = "network-delegated", Tier.SOMEBODY, Trait.STOPS | Trait.LETS_LEAVE
    NETWORK_UNSEEN = "network-unseen", Tier.SOMEBODY, Trait.STOPS | Trait.LETS_LEAVE
    DRA_BY_OPERATOR = "dra-by-operator", Tier.SOMEBODY, Trait.STOPS | Trait.LETS_LEAVE
    LEAVING = "leaving"
    # the campaign, before it begins
    OTHER_ROLLOUT = "other-rollout", Tier.QUEUES
    AFTER_PENDING = "after-pending", Tier.QUEUES
    AFTER_UNDONE = "after-undone", Tier.SOMEBODY, Trait.FAILURE
    ACCESS_DENIED = "access-denied", Tier.SOMEBODY
    NO_CANARY = "no-canary", Tier.SOMEBODY
    NO_WAY_BACK = "no-way-back", Tier.SOMEBODY
    NOTHING_TO_PUBLISH = "nothing-to-publish", Tier.SOMEBODY
    RELEASE_UNSEEN = "release-unseen", Tier.SOMEBODY
    RELEASE_PINNED = "release-pinned", Tier.SOMEBODY
    RELEASE_ONE_WAY = "release-one-way", Tier.SOMEBODY
    RELEASE_AUTOMATIC = "release-automatic", Tier.SOMEBODY
    RELEASE_UNPLANNED = "release-unplanned", Tier.SOMEBODY
    NOBODY_MAY_START = "nobody-may-start", Tier.SOMEBODY
    CANARIES_CROWDED = "canaries-crowded", Tier.SOMEBODY
    IDLE_GPUS_TOO_FEW = "idle-gpus-too-few", Tier.SOMEBODY
    UNIT_NEVER_FITS = "unit-never-fits", Tier.SOMEBODY
    DEADLINE_TOO_SHORT = "deadline-too-short", Tier.SOMEBODY
    HALF_DONE = "half-done", Tier.SOMEBODY
    SOURCE_UNREACHABLE = "source-unreachable"
    SOURCE_STALE = "source-stale"
    SOURCE_BARRED = "source-barred", Tier.SOMEBODY
    MATRIX_PROBLEM = "matrix-problem", Tier.SOMEBODY
    MATRIX_CHANGED = "matrix-changed", Tier.SOMEBODY
    HISTORY_REWRITTEN = "history-rewritten", Tier.SOMEBODY
    ENTRY_BAD = "entry-bad", Tier.SOMEBODY
    # the campaign under way
    NODES_FAILED = "nodes-failed", Tier.SOMEBODY
    APPROVAL_PENDING = "approval-pending", Tier.SOMEBODY, Trait.ORDERED
    OUTSIDE_WINDOW = "outside-window"
    WINDOW_CLOSING = "window-closing"
    PLACES_CHANGED = "places-changed", Tier.SOMEBODY
    MARKS_PENDING = "marks-pending"
    POOL_MISSING = "pool-missing", Tier.SOMEBODY
    POOL_PENDING = "pool-pending"
    POOL_PAUSED = "pool-paused"
    POOL_RESUMED = "pool-resumed"
    PUBLISH_PENDING = "publish-pending"
    RELEASE_BY_HAND = "release-by-hand", Tier.SOMEBODY, Trait.ORDERED
    RELEASE_UNCLEAR = "release-unclear", Tier.SOMEBODY
    RELEASE_FAILED = "release-failed", Tier.SOMEBODY, Trait.FAILURE
    RELEASE_STAYS = "release-stays", Tier.SOMEBODY
    SYNC_STOPPED = "sync-stopped", Tier.SOMEBODY
    SYNC_FAILED = "sync-failed", Tier.SOMEBODY, Trait.FAILURE
    SYNC_WAITING = "sync-waiting"
    SYNC_OVERWRITTEN = "sync-overwritten", Tier.SOMEBODY
    REQUEST_PENDING = "request-pending"
    MERGE_PENDING = "merge-pending", Tier.SOMEBODY, Trait.ORDERED
    MERGE_OVERDUE = "merge-overdue", Tier.SOMEBODY, Trait.FAILURE
    REQUEST_DECLINED = "request-declined", Tier.SOMEBODY, Trait.FAILURE
    FORGE_UNREACHABLE = "forge-unreachable"
    WRITTEN_BY_ANOTHER = "written-by-another", Tier.SOMEBODY
    TAKEN_OVER = "taken-over", Tier.SOMEBODY
    PREPULLING = "prepulling"
    IMAGE_NOT_PULLED = "image-not-pulled", Tier.SOMEBODY
    BY_HAND_PENDING = "by-hand-pending", Tier.SOMEBODY, Trait.ORDERED
    BY_HAND_BACK = "by-hand-back", Tier.SOMEBODY, Trait.ORDERED
    NO_WAY_BACK_BY_HAND = "no-way-back-by-hand", Tier.SOMEBODY
    CANARY_AT_WORK = "canary-at-work", Tier.FOLLOWS
    CANARY_STUCK = "canary-stuck", Tier.IN_THE_WAY
    CANARY_CLOSED = "canary-closed", Tier.FOLLOWS
    MEASURED_BEFORE = "measured-before"
    BAKING = "baking"
    GATES_RUNNING = "gates-running"
    GATE_STUCK = "gate-stuck", Tier.SOMEBODY
    GATE_REFUSED = "gate-refused", Tier.SOMEBODY
    GATE_UNKNOWN = "gate-unknown"
    GATE_UNATTESTED = "gate-unattested", Tier.SOMEBODY, Trait.ORDERED
    TENANTS_AWAITED = "tenants-awaited"
    TELEMETRY_MISSING = "telemetry-missing"
    CANARY_IDLE = "canary-idle"
    LOSS_NOT_EXCLUDED = "loss-not-excluded"
    CANARY_UNWELL = "canary-unwell", Tier.IN_THE_WAY
    WAVE_AT_WORK = "wave-at-work", Tier.FOLLOWS
    WAVE_BLOCKED = "wave-blocked", Tier.IN_THE_WAY
    MEMBERS_STUCK = "members-stuck", Tier.IN_THE_WAY
    MEMBERS_WITHOUT_GPU = "members-without-gpu", Tier.FOLLOWS
    MEMBERS_LEFT = "members-left", Tier.FOLLOWS
    POOLS_LEFT = "pools-left", Tier.FOLLOWS
    WAVE_PAUSE = "wave-pause", Tier.FOLLOWS
    CLOSED_IN_PAUSE = "closed-in-pause", Tier.FOLLOWS
    PROMOTION_PENDING = "promotion-pending"
    ROLLBACK_PENDING = "rollback-pending", Tier.SOMEBODY, Trait.ORDERED
    REVERT_PENDING = "revert-pending"
    REVERT_CONFLICT = "revert-conflict", Tier.SOMEBODY, Trait.FAILURE
    NODES_GOING_BACK = "nodes-going-back", Tier.FOLLOWS
    STATES_PENDING = "states-pending", Tier.FOLLOWS
    # waiting for its turn
    NOT_ITS_TURN = "not-its-turn", Tier.QUEUES
    UNDONE = "undone", Tier.QUEUES
    NVIDIA_STALLED = "nvidia-stalled", Tier.IN_THE_WAY
    MOVED_BY_NVIDIA = "moved-by-nvidia", Tier.QUEUES
    NVIDIA_FULL = "nvidia-full", Tier.IN_THE_WAY
    LEAKED = "leaked"
    PARALLEL_LIMIT = "parallel-limit", Tier.QUEUES, Trait.PROMISES
    UNAVAILABLE_LIMIT = "unavailable-limit", Tier.QUEUES
    IDLE_GPU_LIMIT = "idle-gpu-limit", Tier.QUEUES, Trait.PROMISES
    CLOSE_AHEAD_LIMIT = "close-ahead-limit", Tier.QUEUES, Trait.PROMISES | Trait.ATTRITION
    LEFT_OPEN = "left-open", Tier.QUEUES, Trait.PROMISES | Trait.ATTRITION
    DISRUPTION_LIMIT = "disruption-limit", Tier.QUEUES, Trait.PROMISES | Trait.ATTRITION
    GIVEN_BACK = "given-back", Tier.QUEUES, Trait.PROMISES | Trait.ATTRITION
    UNIT_INCOMPLETE = "unit-incomplete", Tier.QUEUES, Trait.PROMISES
    UNIT_UNFIT = "unit-unfit", Tier.IN_THE_WAY
    UNIT_TOO_LARGE = "unit-too-large", Tier.IN_THE_WAY
    FAILURE_BUDGET = "failure-budget", Tier.SOMEBODY, Trait.FAILURE
    LEDGER_PENDING = "ledger-pending", Tier.QUEUES, Trait.MOMENT
    PASS_FULL = "pass-full", Tier.QUEUES, Trait.MOMENT
    # this node cannot start
    SKIPPED = "skipped", Tier.QUEUES
    NODE_NOT_READY = "node-not-ready", Tier.IN_THE_WAY
    SRIOV_AT_WORK = "sriov-at-work", Tier.IN_THE_WAY
    NETWORK_SKIPPED = "network-skipped"
    DRIVER_POD_MISSING = "driver-pod-missing", Tier.IN_THE_WAY
    DRIVER_ORPHANED = "driver-orphaned", Tier.IN_THE_WAY
    OWNER_UNCLEAR = "owner-unclear", Tier.IN_THE_WAY
    REVISION_UNKNOWN = "revision-unknown", Tier.IN_THE_WAY
    RECORD_UNREADABLE = "record-unreadable", Tier.IN_THE_WAY
    RECORD_EDITED = "record-edited", Tier.IN_THE_WAY
    # waiting for the world
    WRITE_IN_FLIGHT = "write-in-flight", Tier.QUEUES, Trait.MOMENT
    WRITE_REFUSED = "write-refused", Tier.IN_THE_WAY
    CORDON_LOST = "cordon-lost", Tier.IN_THE_WAY
    PODS_UNHEARD = "pods-unheard"
    JOBS_RUNNING = "jobs-running", Tier.WORLD, Trait.PROMISES
    CLOSED_AHEAD = "closed-ahead", Tier.WORLD, Trait.PROMISES | Trait.ATTRITION
    CHECKPOINT_PENDING = "checkpoint-pending", Tier.WORLD, Trait.PROMISES
    KUEUE_PENDING = "kueue-pending", Tier.WORLD, Trait.PROMISES
    EVICTING = "evicting"
    SLIPPED_IN = "slipped-in"
    EVICTION_BLOCKED = "eviction-blocked", Tier.IN_THE_WAY
    POD_WITHOUT_CONTROLLER = "pod-without-controller", Tier.IN_THE_WAY
    POD_WITH_EMPTY_DIR = "pod-with-empty-dir", Tier.IN_THE_WAY
    DAEMON_SET_HOLDS_GPU = "daemon-set-holds-gpu", Tier.IN_THE_WAY
    STATIC_POD_HOLDS_GPU = "static-pod-holds-gpu", Tier.IN_THE_WAY
    MAINTENANCE_PENDING = "maintenance-pending"
    DRIVER_STOPPING = "driver-stopping"
    DRIVER_STARTING = "driver-starting"
    OPERAND_NOT_READY = "operand-not-ready"
    # the new driver is not proven
    DRIVER_NOT_READY = "driver-not-ready"
    LOADED_VERSION_UNKNOWN = "loaded-version-unknown"
    LOADED_VERSION_WRONG = "loaded-version-wrong", Tier.IN_THE_WAY
    OPERANDS_PAUSED = "operands-paused"
    VALIDATOR_MISSING = "validator-missing"
    VALIDATOR_NOT_READY = "validator-not-ready"
    VALIDATOR_STALE = "validator-stale"
    OFFER_REDUCED = "offer-reduced", Tier.IN_THE_WAY
    MIG_NOT_SETTLED = "mig-not-settled"
    RUNTIME_HANDLER_MISSING = "runtime-handler-missing", Tier.IN_THE_WAY
    DRA_PLUGIN_MISSING = "dra-plugin-missing", Tier.IN_THE_WAY
    DRA_PLUGIN_NOT_READY = "dra-plugin-not-ready"
    DRA_PLUGIN_STALE = "dra-plugin-stale", Tier.WORLD, Trait.PROMISES
    DRA_SLICES_MISSING = "dra-slices-missing"
    DRA_VERSION_WRONG = "dra-version-wrong", Tier.IN_THE_WAY
    NODE_PROBLEM = "node-problem", Tier.IN_THE_WAY
    # the end of the road until somebody acts
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Somebody or something waits: who, why, since when, and until when at the latest."""

    subject: str
    code: HoldCode
    params: tuple[tuple[str, str], ...] = ()
    since: Instant | None = None
    until: Instant | None = None
    """When we look again or give up by ourselves; None when only somebody's act ends the wait."""


class Lack(NamedTuple):
    """What is missing from a proof, and with which details: a hold of nobody in particular yet."""

    code: HoldCode
    params: dict[str, object]


def having(trait: Trait) -> frozenset[HoldCode]:
    """All codes with a trait."""
    return frozenset(code for code in HoldCode if trait in code.traits)


def standing(tier: Tier) -> frozenset[HoldCode]:
    """All codes of a tier."""
    return frozenset(code for code in HoldCode if code.tier is tier)


def hold(
    subject: str,
    code: HoldCode,
    params: Mapping[str, object] | None = None,
    *,
    since: Instant | None = None,
    until: Instant | None = None,
    **more: object,
) -> Hold:
    """A Hold with its parameters as text, in a fixed order."""
    texts = tuple(sorted((key, str(value)) for key, value in {**(params or {}), **more}.items()))
    return Hold(subject=subject, code=code, params=texts, since=since, until=until)
