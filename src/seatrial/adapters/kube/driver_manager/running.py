"""Takes the old driver off a node: look, decide, do one thing, look again; or wait until something happens.

    ManagedNode.look + Host.look ─▶ plan.decide ─▶ one write ─▶ plan.noted
                  ▲                      └─▶ Await: a watch of the node's pods, the time, or somebody who ends it

Law of this file: nothing is decided here, and nothing is remembered that a restart would miss. Tests:
tests/e2e/driver_manager/test_uninstall.py, tests/e2e/driver_manager/test_killed.py
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.driver_manager.node import PASSING, ManagedNode, first_of
from seatrial.core.node.driver_manager import plan, words
from seatrial.core.node.driver_manager.preflight import Check, Found, checks
from seatrial.core.node.driver_manager.settings import Settings
from seatrial.core.node.driver_manager.values import (
    ApiStep,
    Await,
    Cordon,
    End,
    Evict,
    HostStep,
    Relabel,
    Seen,
    Turned,
    Uncordon,
)
from seatrial.ports import Host

Tell = Callable[[str], None]
TELL_SECONDS: Final = 60.0
"""How often it is said again what is waited for."""
BLIND_SECONDS: Final = 5.0
"""How often pods are looked at where they cannot be watched."""
LOOK_SECONDS: Final = 0.2
"""Changes come in swarms; together with them is soon enough."""


class Manager:
    """One run of a driver manager."""

    def __init__(
        self, node: ManagedNode, host: Host, settings: Settings, *, tell: Tell, stopping: asyncio.Event | None = None
    ) -> None:
        self._node = node
        self._host = host
        self._settings = settings
        self._tell = tell
        self._stopping = stopping or asyncio.Event()
        self._told = ""
        self._told_at = 0.0
        self._once: set[str] = set()

    async def uninstall(self) -> End:
        """Do everything, and say how it ended."""
        host_driver = await asyncio.to_thread(self._host.host_driver)
        seen = await self._look()
        run = plan.begin(seen, self._settings, host_driver=host_driver)
        self._tell(words.begun(run, host_driver))
        while True:
            was_short, was_in_trouble = run.short, run.trouble
            if self._stopping.is_set():
                run = plan.stopped(run, "somebody ended this before it was done. The next start starts over.")
            run, step = plan.decide(run, seen, self._settings, time.time())
            if run.short is not None and was_short is None:
                self._tell(f"{run.short.why} The node is drained.")
            if run.trouble is not None and was_in_trouble is None:
                self._tell(f"giving up, and putting back what was changed: {run.trouble.why}")
            if isinstance(step, End):
                return step
            if isinstance(step, Await):
                await self._wait(step, is_stoppable=run.trouble is None)
            else:
                run = plan.noted(run, step, await self._do(step), time.time())
            seen = await self._look()

    async def preflight(self) -> tuple[Check, ...]:
        """What would keep it from working; nothing is written."""
        host_driver = await asyncio.to_thread(self._host.host_driver)
        found = Found(
            seen=await self._look(),
            host_driver=host_driver,
            denied=await self._node.denied(),
            lacking=self._host.lacking(),
        )
        return checks(found, self._settings)

    # ── one at a time ────────────────────────────────────────────────────────────────────────────────────────────────

    async def _look(self) -> Seen:
        """Everything as it is now; while the API is away, as often as a write would be tried."""
        for pause in (*plan.WRITE_PAUSES, None):
            try:
                node, pods = await self._node.look()
            except PASSING as err:
                if pause is None:
                    raise
                self._tell(f"cannot look at the node, so that is tried again in {pause:g} s: {err}")
                await asyncio.sleep(pause)
            else:
                return Seen(node=node, pods=pods, host=self._host.look())
        raise AssertionError  # the last turn returns or raises

    async def _do(self, step: ApiStep | HostStep) -> Turned | None:
        self._tell(words.doing(step))
        if isinstance(step, Relabel | Cordon | Uncordon | Evict):
            turned = await self._node.do(step)
        else:
            turned = await asyncio.to_thread(self._host.do, step)
        if turned is not None:
            self._tell(f"refused: {turned.why}")
        return turned

    async def _wait(self, step: Await, *, is_stoppable: bool) -> None:
        """Until something happens to a pod, it is time, or somebody ends this."""
        now = time.time()
        if step.why != self._told or now - self._told_at >= TELL_SECONDS:
            self._told, self._told_at = step.why, now
            self._tell(step.why)
        limit = TELL_SECONDS if step.until is None else max(0.0, min(TELL_SECONDS, step.until - now))
        ending = (self._stopping.wait(),) if is_stoppable else ()
        try:
            await first_of(self._node.changed(), *ending, seconds=limit)
        except errors.ClusterError as err:
            # Whatever it is, what was paused has to come back: so it is looked at now and then instead.
            self._tell_once(f"pods cannot be watched, so they are looked at every {BLIND_SECONDS:g} s: {err}")
            await asyncio.sleep(min(BLIND_SECONDS, limit))
        await asyncio.sleep(LOOK_SECONDS)

    def _tell_once(self, text: str) -> None:
        if text not in self._once:
            self._once.add(text)
            self._tell(text)
