"""Why something is not moving: `Hold`, one per node that wants to move and does not. The sentences are in explain.py.

Codes are documented like lint rules (docs/reference/holds.md is generated from explain.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import Instant


class HoldCode(StrEnum):
    """Every reason we know for not moving."""

    # the rollout as a whole
    LEADERLESS = "leaderless"
    PAUSED = "paused"
    STALE_VIEW = "stale-view"
    UNREADABLE_OBJECT = "unreadable-object"
    JOURNAL_UNWRITABLE = "journal-unwritable"
    PROMISE_BROKEN = "promise-broken"
    MODE_CONTRADICTION = "mode-contradiction"
    NOBODY_MOVES = "nobody-moves"
    SANDBOXED = "sandboxed"
    TARGET_NOT_PUBLISHED = "target-not-published"
    ROLLOUT_UNREADABLE = "rollout-unreadable"
    SET_ASIDE = "set-aside"
    MANAGER_OPENS_NODES = "manager-opens-nodes"
    UNGUARDED = "unguarded"
    ROLLS_BY_ITSELF = "rolls-by-itself"
    OPERANDS_DELEGATED = "operands-delegated"
    OPERANDS_BY_POOL = "operands-by-pool"
    ATTRITION_DELEGATED = "attrition-delegated"
    KUEUE_UNSEEN = "kueue-unseen"
    NETWORK_DELEGATED = "network-delegated"
    NETWORK_UNSEEN = "network-unseen"
    DRA_BY_OPERATOR = "dra-by-operator"
    LEAVING = "leaving"
    # the campaign, before it begins
    OTHER_ROLLOUT = "other-rollout"
    AFTER_PENDING = "after-pending"
    AFTER_UNDONE = "after-undone"
    ACCESS_DENIED = "access-denied"
    NO_CANARY = "no-canary"
    NO_WAY_BACK = "no-way-back"
    NOTHING_TO_PUBLISH = "nothing-to-publish"
    RELEASE_UNSEEN = "release-unseen"
    RELEASE_PINNED = "release-pinned"
    RELEASE_ONE_WAY = "release-one-way"
    RELEASE_AUTOMATIC = "release-automatic"
    RELEASE_UNPLANNED = "release-unplanned"
    NOBODY_MAY_START = "nobody-may-start"
    CANARIES_CROWDED = "canaries-crowded"
    IDLE_GPUS_TOO_FEW = "idle-gpus-too-few"
    UNIT_NEVER_FITS = "unit-never-fits"
    DEADLINE_TOO_SHORT = "deadline-too-short"
    HALF_DONE = "half-done"
    SOURCE_UNREACHABLE = "source-unreachable"
    SOURCE_STALE = "source-stale"
    SOURCE_BARRED = "source-barred"
    MATRIX_PROBLEM = "matrix-problem"
    MATRIX_CHANGED = "matrix-changed"
    HISTORY_REWRITTEN = "history-rewritten"
    ENTRY_BAD = "entry-bad"
    # the campaign under way
    NODES_FAILED = "nodes-failed"
    APPROVAL_PENDING = "approval-pending"
    OUTSIDE_WINDOW = "outside-window"
    WINDOW_CLOSING = "window-closing"
    PLACES_CHANGED = "places-changed"
    MARKS_PENDING = "marks-pending"
    POOL_MISSING = "pool-missing"
    POOL_PENDING = "pool-pending"
    POOL_PAUSED = "pool-paused"
    POOL_RESUMED = "pool-resumed"
    PUBLISH_PENDING = "publish-pending"
    RELEASE_BY_HAND = "release-by-hand"
    RELEASE_UNCLEAR = "release-unclear"
    RELEASE_FAILED = "release-failed"
    RELEASE_STAYS = "release-stays"
    SYNC_STOPPED = "sync-stopped"
    SYNC_FAILED = "sync-failed"
    SYNC_WAITING = "sync-waiting"
    SYNC_OVERWRITTEN = "sync-overwritten"
    REQUEST_PENDING = "request-pending"
    MERGE_PENDING = "merge-pending"
    MERGE_OVERDUE = "merge-overdue"
    REQUEST_DECLINED = "request-declined"
    FORGE_UNREACHABLE = "forge-unreachable"
    WRITTEN_BY_ANOTHER = "written-by-another"
    TAKEN_OVER = "taken-over"
    PREPULLING = "prepulling"
    IMAGE_NOT_PULLED = "image-not-pulled"
    BY_HAND_PENDING = "by-hand-pending"
    BY_HAND_BACK = "by-hand-back"
    NO_WAY_BACK_BY_HAND = "no-way-back-by-hand"
    CANARY_AT_WORK = "canary-at-work"
    CANARY_STUCK = "canary-stuck"
    CANARY_CLOSED = "canary-closed"
    MEASURED_BEFORE = "measured-before"
    BAKING = "baking"
    GATES_RUNNING = "gates-running"
    GATE_STUCK = "gate-stuck"
    GATE_REFUSED = "gate-refused"
    GATE_UNKNOWN = "gate-unknown"
    GATE_UNATTESTED = "gate-unattested"
    TENANTS_AWAITED = "tenants-awaited"
    TELEMETRY_MISSING = "telemetry-missing"
    CANARY_IDLE = "canary-idle"
    LOSS_NOT_EXCLUDED = "loss-not-excluded"
    CANARY_UNWELL = "canary-unwell"
    WAVE_AT_WORK = "wave-at-work"
    WAVE_BLOCKED = "wave-blocked"
    MEMBERS_STUCK = "members-stuck"
    MEMBERS_WITHOUT_GPU = "members-without-gpu"
    MEMBERS_LEFT = "members-left"
    POOLS_LEFT = "pools-left"
    WAVE_PAUSE = "wave-pause"
    CLOSED_IN_PAUSE = "closed-in-pause"
    PROMOTION_PENDING = "promotion-pending"
    ROLLBACK_PENDING = "rollback-pending"
    REVERT_PENDING = "revert-pending"
    REVERT_CONFLICT = "revert-conflict"
    NODES_GOING_BACK = "nodes-going-back"
    STATES_PENDING = "states-pending"
    # waiting for its turn
    NOT_ITS_TURN = "not-its-turn"
    UNDONE = "undone"
    NVIDIA_STALLED = "nvidia-stalled"
    MOVED_BY_NVIDIA = "moved-by-nvidia"
    NVIDIA_FULL = "nvidia-full"
    LEAKED = "leaked"
    PARALLEL_LIMIT = "parallel-limit"
    UNAVAILABLE_LIMIT = "unavailable-limit"
    IDLE_GPU_LIMIT = "idle-gpu-limit"
    CLOSE_AHEAD_LIMIT = "close-ahead-limit"
    LEFT_OPEN = "left-open"
    DISRUPTION_LIMIT = "disruption-limit"
    GIVEN_BACK = "given-back"
    UNIT_INCOMPLETE = "unit-incomplete"
    UNIT_UNFIT = "unit-unfit"
    UNIT_TOO_LARGE = "unit-too-large"
    FAILURE_BUDGET = "failure-budget"
    LEDGER_PENDING = "ledger-pending"
    PASS_FULL = "pass-full"  # noqa: S105  no password, a full pass
    # this node cannot start
    SKIPPED = "skipped"
    NODE_NOT_READY = "node-not-ready"
    SRIOV_AT_WORK = "sriov-at-work"
    NETWORK_SKIPPED = "network-skipped"
    DRIVER_POD_MISSING = "driver-pod-missing"
    DRIVER_ORPHANED = "driver-orphaned"
    OWNER_UNCLEAR = "owner-unclear"
    REVISION_UNKNOWN = "revision-unknown"
    RECORD_UNREADABLE = "record-unreadable"
    RECORD_EDITED = "record-edited"
    # waiting for the world
    WRITE_IN_FLIGHT = "write-in-flight"
    WRITE_REFUSED = "write-refused"
    CORDON_LOST = "cordon-lost"
    PODS_UNHEARD = "pods-unheard"
    JOBS_RUNNING = "jobs-running"
    CLOSED_AHEAD = "closed-ahead"
    CHECKPOINT_PENDING = "checkpoint-pending"
    KUEUE_PENDING = "kueue-pending"
    EVICTING = "evicting"
    SLIPPED_IN = "slipped-in"
    EVICTION_BLOCKED = "eviction-blocked"
    POD_WITHOUT_CONTROLLER = "pod-without-controller"
    POD_WITH_EMPTY_DIR = "pod-with-empty-dir"
    DAEMON_SET_HOLDS_GPU = "daemon-set-holds-gpu"
    STATIC_POD_HOLDS_GPU = "static-pod-holds-gpu"
    MAINTENANCE_PENDING = "maintenance-pending"
    DRIVER_STOPPING = "driver-stopping"
    DRIVER_STARTING = "driver-starting"
    OPERAND_NOT_READY = "operand-not-ready"
    # the new driver is not proven
    DRIVER_NOT_READY = "driver-not-ready"
    LOADED_VERSION_UNKNOWN = "loaded-version-unknown"
    LOADED_VERSION_WRONG = "loaded-version-wrong"
    OPERANDS_PAUSED = "operands-paused"
    VALIDATOR_MISSING = "validator-missing"
    VALIDATOR_NOT_READY = "validator-not-ready"
    VALIDATOR_STALE = "validator-stale"
    OFFER_REDUCED = "offer-reduced"
    MIG_NOT_SETTLED = "mig-not-settled"
    RUNTIME_HANDLER_MISSING = "runtime-handler-missing"
    DRA_PLUGIN_MISSING = "dra-plugin-missing"
    DRA_PLUGIN_NOT_READY = "dra-plugin-not-ready"
    DRA_PLUGIN_STALE = "dra-plugin-stale"
    DRA_SLICES_MISSING = "dra-slices-missing"
    DRA_VERSION_WRONG = "dra-version-wrong"
    NODE_PROBLEM = "node-problem"
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
