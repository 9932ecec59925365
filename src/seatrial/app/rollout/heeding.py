"""Whether the controller has done what a person asked of a rollout: its status says so, and until then it is requested.

Law of this file: the spec is a wish. Only what the controller wrote after it read that wish counts as done. Tests:
tests/app/rollout/test_heeding.py, tests/e2e/test_campaign_people.py
"""

from __future__ import annotations

import asyncio
import time
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from seatrial.app.picking import Asked, Rollout
from seatrial.core.base.values import dataclass
from seatrial.core.decision import leading
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import BACK, RolloutPhase
from seatrial.core.text import spans

if TYPE_CHECKING:
    from seatrial.adapters.kube.reading.leader import Leader
    from seatrial.app.connecting import Cluster

WAIT_SECONDS: Final = 5
"""How long a command waits for the controller unless --timeout says otherwise."""
LOOK_SECONDS: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Heeded:
    """What became of a request."""

    rollout: Rollout
    is_done: bool
    unled: str = ""
    """That no controller is in charge, and which was seen last; empty where one leads or may lead."""


def is_done(rollout: Rollout, asked: Asked, generation: int = 0) -> bool:
    """Whether the status says that it is done, by a controller that has read this generation of the spec."""
    if generation and int(rollout.status.get("observedGeneration") or 0) < generation:
        return False
    match asked:
        case Asked.PAUSE:
            return _is_paused(rollout.status)
        case Asked.RESUME:
            return not _is_paused(rollout.status)
        case Asked.UNDO:
            return rollout.phase in BACK


def is_too_late(rollout: Rollout, asked: Asked) -> bool:
    """Whether it has ended in the meantime, so that nothing comes of it; one that is done can still be undone."""
    return rollout.is_ended and (asked is not Asked.UNDO or rollout.phase == RolloutPhase.REVERTED)


def _is_paused(status: dict[str, Any]) -> bool:
    """Whether the controller stands still by our pause; a rollout without a canary has no phase for it."""
    if (status.get("campaign") or {}).get("phase") == RolloutPhase.PAUSED:
        return True
    told = (*(status.get("waits") or ()), *(status.get("nodesWaiting") or ()))
    return HoldCode.PAUSED in (status.get("holds") or {}) or any(each.get("code") == HoldCode.PAUSED for each in told)


async def heeded(
    cluster: Cluster, rollout: Rollout, asked: Asked, *, is_new: bool, timeout_seconds: float = WAIT_SECONDS
) -> Heeded:
    """Wait until it is done, for as long as a controller may still do it."""
    from seatrial.adapters.kube.reading.leader import leader_of
    from seatrial.adapters.kube.shapes import keys

    generation = int(rollout.raw["metadata"].get("generation") or 0) if is_new else 0
    if is_done(rollout, asked, generation):
        return Heeded(rollout=rollout, is_done=True)
    deadline = time.monotonic() + timeout_seconds
    async with cluster.client() as client:
        leader = await leader_of(client, cluster.lease_namespace)
        unled = unled_by(leader, client.now())
        while not unled and time.monotonic() < deadline and not is_too_late(rollout, asked):
            await asyncio.sleep(LOOK_SECONDS)
            rollout = Rollout(raw=await client.get(f"{keys.ROLLOUTS}/{rollout.name}", dict))
            if is_done(rollout, asked, generation):
                return Heeded(rollout=rollout, is_done=True)
    return Heeded(rollout=rollout, is_done=False, unled=unled)


def unled_by(leader: Leader | None, now: float) -> str:
    """Which controller was seen last; empty where one leads, or where that cannot be known from here."""
    if leader is None or leader.is_leading(now) or leader.is_doubtful(now):
        return ""
    return leading.unled(leader.holder, leader.heard_at, now)


def sentence(asked: Asked, found: Heeded, *, waited_seconds: float) -> str:
    """That it is requested, and what it still needs."""
    name = found.rollout.name
    look = f"`seatrial status {quote(name)}` shows when it has."
    if is_too_late(found.rollout, asked):
        return f"{name}: {asked.value} requested too late: it has ended ({found.rollout.phase})."
    if found.unled:
        return (
            f"{name}: {asked.value} requested; no controller is in charge ({found.unled}), so it takes effect when one "
            f"runs. {look}"
        )
    return (
        f"{name}: {asked.value} requested, not yet done: the controller has not confirmed it within "
        f"{spans.span(waited_seconds)}. {look}"
    )
