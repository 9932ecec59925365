"""Becoming the one controller that leads: standing by, saying why, and knowing when waiting is in vain.

Tests: tests/controller/test_leading.py, tests/e2e/
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType

from seatrial import supervision
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.config import Config
from seatrial.adapters.kube.api.lease import Election, Leadership, Timing
from seatrial.adapters.kube.reading.leader import LEASE
from seatrial.controller.log import Log
from seatrial.core.errors import SeatrialError

__all__ = ["LEASE", "LeaseHeld", "LeaseLost", "candidate", "lead", "lost", "timing_of"]


class LeaseHeld(SeatrialError):  # noqa: N818
    """Another controller leads."""


class LeaseLost(SeatrialError):  # noqa: N818
    """We led, and do not any more."""


def candidate(
    config: Config,
    *,
    namespace: str,
    seconds: int,
    identity: str,
    user_agent: str,
    tell: supervision.Tell,
    notes: Mapping[str, str] = MappingProxyType({}),
) -> Election:
    """An election we do not stand for yet; `seconds` is how long a dead leader blocks the next one."""
    return Election(
        config,
        namespace=namespace,
        name=LEASE,
        identity=identity,
        user_agent=user_agent,
        timing=timing_of(seconds),
        tell=tell,
        notes=notes,
    )


def timing_of(seconds: int) -> Timing:
    """How a lease of so many seconds is kept. Of 15: renewed every 2, given up after 10, and an answer may take 6."""
    return Timing(
        lease_seconds=seconds,
        deadline_seconds=seconds * 2 / 3,
        renew_seconds=seconds * 2 / 15,
        retry_seconds=seconds / 8,
        request_seconds=seconds * 2 / 5,
    )


async def lead(
    election: Election, log: Log, *, patience_seconds: float | None, is_stopping: Callable[[], bool]
) -> bool:
    """Stand by until we lead; False when told to stop before that. With patience, only for so long."""
    election.start()
    last_said: tuple[str, str] | None = None
    is_hurried = patience_seconds is not None
    deadline = time.monotonic() + (patience_seconds or 0.0)
    while not await asyncio.to_thread(election.wait_until_leader, 1.0):
        if is_stopping():
            return False
        standing = election.standing()
        error = standing.last_error
        if error is not None and (is_hurried or is_ours_to_mend(error)) and not isinstance(error, errors.Conflict):
            raise error
        if last_said != (standing.holder, str(error or "")):
            last_said = (standing.holder, str(error or ""))
            trouble = {"why": error} if error is not None else {}
            log.say("standing by", holder=standing.holder, seconds_left=round(standing.seconds_left), **trouble)
        if is_hurried and time.monotonic() > deadline:
            raise LeaseHeld(f"Another controller leads ({standing.holder}); stop it first, or leave the work to it.")
    return True


def lost(standing: Leadership, timing: Timing) -> LeaseLost:
    """Why we lead no longer: somebody else does, the last renewal failed, or none was answered in time."""
    if standing.holder and not standing.is_us:
        why = f"{standing.holder} leads by now"
    elif standing.last_error is not None:
        why = str(standing.last_error)
    else:
        why = f"no renewal was answered within {timing.deadline_seconds:.3g} s"
    return LeaseLost(f"The lease was lost ({why}), so this controller stops; start it again to stand by.")


def is_ours_to_mend(error: errors.ClusterError) -> bool:
    """Whether waiting is in vain. A standby outlives a restart of the API server, and a race with another standby."""
    is_namespace_missing = isinstance(error, errors.NotFound) and error.status.kind == "namespaces"
    kinds = (errors.ConfigInvalid, errors.Unauthorized, errors.Forbidden, errors.Invalid)
    return is_namespace_missing or isinstance(error, kinds)
