"""Restarts plugins in a cluster: look, delete what core says, look again; or publish the target and leave it to others.

    watched streams ─▶ decide_reroll ─▶ DELETE, each bound to the pod as it was seen ─▶ noted ─▶ wait for a change

Law of this file: one attempt each, and what was turned down is decided anew; whoever ends it at whatever moment leaves
nothing half-done, since nothing is kept outside of the cluster. Tests: tests/app/test_rerolling.py,
tests/adapters/kube/test_dra_real.py
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final, Protocol

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, api_path
from seatrial.adapters.kube.dra.seeing import PluginObserver
from seatrial.adapters.kube.reading.leader import leader_of
from seatrial.adapters.kube.writing import config_maps
from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import Instant
from seatrial.core.movers.dra import beside, rerolling
from seatrial.core.movers.dra.ending import Course, Patience, course_of
from seatrial.core.movers.dra.values import STILL_SECONDS, DraMemory, DraSeen, Reroll, Rerolling, Target

TARGET_NAME: Final = "dra-reroll-target"
"""The ConfigMap in the operator's namespace that says what an upgrade is to bring."""
LOOK_EVERY_SECONDS: Final = 0.2
"""Changes come in swarms, and a look at many nodes costs; together with them is soon enough."""
HEAR_SECONDS: Final = 5.0
"""How often the controller's Lease is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What one run is to do."""

    target: Target = rerolling.NO_TARGET
    only: frozenset[str] = frozenset()
    """The nodes that are meant; none for all."""
    still_seconds: float = STILL_SECONDS
    patience: Patience

    def decide(self, seen: DraSeen, memory: DraMemory, now: Instant) -> Rerolling:
        """What core says of one look."""
        return rerolling.decide_reroll(
            seen, memory, now, target=self.target, only=self.only, still_seconds=self.still_seconds
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look, told to whoever runs it."""

    seen: DraSeen
    found: Rerolling
    is_left_to_controller: bool
    deleted: tuple[Reroll, ...] = ()
    refused: tuple[tuple[Reroll, str], ...] = ()
    is_late: bool = False


OnLook = Callable[[Look], None]
OnAct = Callable[[Reroll], None]
"""Is told before something is deleted."""


class Others(Protocol):
    """Who may restart the plugins in our place."""

    async def is_at_work(self, now: Instant) -> bool:
        """Whether the plugins are left to somebody else now."""


class Controller:
    """Whether a controller of ours restarts the plugins, by its Lease, looked at now and then."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client, self._namespace = client, namespace
        self._heard: beside.Heard | None = None
        self._looked_at: Instant | None = None

    async def is_at_work(self, now: Instant) -> bool:
        """Whether the plugins are left to one. Where its Lease may not be read, nobody is known to be there."""
        if self._looked_at is None or not 0 <= now - self._looked_at < HEAR_SECONDS:
            self._looked_at = now
            leader = await leader_of(self._client, self._namespace)
            if leader is not None:
                heard_at = leader.heard_at if leader.rerolls_dra and leader.holder else None
                self._heard = beside.heard(self._heard, heard_at, now)
        return self._heard is not None and self._heard.is_at_work(now)


async def run(observer: PluginObserver, others: Others, wish: Wish, *, on_act: OnAct, on_look: OnLook) -> Look:
    """Restart plugins until nothing is left to do, or the time is up."""
    memory = DraMemory()
    while True:
        now = time.time()
        is_left = await others.is_at_work(now)
        seen = observer.look()
        found = wish.decide(seen, memory, now)
        memory = found.memory
        deleted: list[Reroll] = []
        refused: list[tuple[Reroll, str]] = []
        is_sure = observer.is_sure
        for act in found.acts if is_sure else ():
            if await others.is_at_work(time.time()):
                break
            on_act(act)
            why_not = await observer.delete(act)
            if why_not:
                refused.append((act, why_not))
            else:
                deleted.append(act)
                memory = rerolling.noted(memory, act, seen)
        course = course_of(found, wish.patience, time.time(), is_sure=is_sure, is_left=is_left)
        look = Look(
            seen=seen,
            found=found,
            is_left_to_controller=is_left,
            deleted=tuple(deleted),
            refused=tuple(refused),
            is_late=course is Course.LATE,
        )
        on_look(look)
        if course is not Course.GOING_ON:
            return look
        look_again_at = (wish.patience.until, time.time() + HEAR_SECONDS, found.wake_at)
        await observer.wait(min(at for at in look_again_at if at is not None))
        await asyncio.sleep(LOOK_EVERY_SECONDS)


# ── the target ───────────────────────────────────────────────────────────────────────────────────────────────────────


async def publish(client: Client, namespace: str, target: Target) -> None:
    """Say what an upgrade is to bring. What else is said there is left alone."""
    data = {"driver": target.driver, "chart": target.chart}
    try:
        found = await config_maps.read(client, namespace, TARGET_NAME)
    except errors.NotFound:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": TARGET_NAME}, "data": data}
        await client.create(api_path("v1", "configmaps", namespace=namespace), body)
        return
    if any(found.data.get(key) != text for key, text in data.items()):
        await config_maps.write(client, found, data, {})
