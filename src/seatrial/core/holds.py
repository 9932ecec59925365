"""Why something is not moving: `Hold`, one per node that wants to move and does not. The sentences are in explain.py.

Codes are documented like lint rules (docs/reference/holds.md is generated from explain.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from seatrial.core.snapshot import Instant


class HoldCode(StrEnum):
    """Every reason we know for not moving."""

    # the rollout as a whole
    PAUSED = "paused"
    STALE_VIEW = "stale-view"
    MODE_CONTRADICTION = "mode-contradiction"
    TARGET_NOT_PUBLISHED = "target-not-published"
    # waiting for its turn
    PARALLEL_LIMIT = "parallel-limit"
    UNAVAILABLE_LIMIT = "unavailable-limit"
    FAILURE_BUDGET = "failure-budget"
    LEDGER_PENDING = "ledger-pending"
    PASS_FULL = "pass-full"  # noqa: S105  no password, a full pass
    # this node cannot start
    SKIPPED = "skipped"
    NODE_NOT_READY = "node-not-ready"
    DRIVER_POD_MISSING = "driver-pod-missing"
    REVISION_UNKNOWN = "revision-unknown"
    RECORD_UNREADABLE = "record-unreadable"
    RECORD_EDITED = "record-edited"
    # waiting for the world
    WRITE_IN_FLIGHT = "write-in-flight"
    WRITE_REFUSED = "write-refused"
    CORDON_LOST = "cordon-lost"
    EVICTING = "evicting"
    EVICTION_BLOCKED = "eviction-blocked"
    POD_WITHOUT_CONTROLLER = "pod-without-controller"
    POD_WITH_EMPTY_DIR = "pod-with-empty-dir"
    DRIVER_STOPPING = "driver-stopping"
    DRIVER_STARTING = "driver-starting"
    DRIVER_NOT_READY = "driver-not-ready"
    VALIDATOR_MISSING = "validator-missing"
    VALIDATOR_NOT_READY = "validator-not-ready"
    VALIDATOR_STALE = "validator-stale"
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


def hold(
    subject: str, code: HoldCode, *, since: Instant | None = None, until: Instant | None = None, **params: object
) -> Hold:
    """A Hold with its parameters as text, in a fixed order."""
    texts = tuple(sorted((key, str(value)) for key, value in params.items()))
    return Hold(subject=subject, code=code, params=texts, since=since, until=until)
