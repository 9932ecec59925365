"""Restarts DRA plugins that outlived a driver which somebody else brought: `seatrial dra reroll` from within.

On nodes that a rollout upgrades the node machine does it; those are left alone here. A reboot, a driver that started
again in place, a new node, an upgrade by the GPU Operator: all are seen, since nothing has to be started for them.

Law of this file: it deletes only while we lead, asked before each deletion; what ends it is told, and it begins anew,
knowing nothing. Tests: tests/controller/test_reroller.py
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Final

from seatrial import supervision
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.dra import rerolling
from seatrial.adapters.kube.dra.seeing import PluginObserver
from seatrial.controller.log import Log
from seatrial.core.model.instants import Instant
from seatrial.core.movers.dra.ending import Patience
from seatrial.core.movers.dra.values import STILL_SECONDS, Reroll

SYNC_SECONDS: Final = 60.0


class Reroller:
    """Looks after the plugins of the named namespaces."""

    def __init__(
        self,
        client: Client,
        log: Log,
        *,
        namespace: str,
        namespaces: tuple[str, ...],
        is_leader: Callable[[], bool],
        still_seconds: float = STILL_SECONDS,
        tell: supervision.Tell,
    ) -> None:
        self._client, self._log = client, log
        self._namespace, self._namespaces = namespace, namespaces
        self._is_leader, self._still_seconds, self._tell = is_leader, still_seconds, tell
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Reroller:
        self._task = asyncio.create_task(supervision.keep("reroller", self._run, tell=self._tell), name="reroller")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def is_at_work(self, _now: Instant) -> bool:
        """Whether the plugins are left to somebody else: to the controller that leads, where we do not."""
        return not self._is_leader()

    async def _run(self) -> None:
        seeing = PluginObserver(self._client, namespace=self._namespace, namespaces=self._namespaces)
        async with seeing as observer:
            await observer.wait_synced(SYNC_SECONDS)
            patience = Patience(is_waiting=True, is_endless=True, until=math.inf)
            wish = rerolling.Wish(still_seconds=self._still_seconds, patience=patience)
            await rerolling.run(observer, self, wish, on_act=self._announce, on_look=self._note)

    def _announce(self, act: Reroll) -> None:
        self._log.say("restarting a DRA plugin", node=act.node, pod=f"{act.namespace}/{act.pod}")

    def _note(self, look: rerolling.Look) -> None:
        for act, why in look.refused:
            self._log.say("a DRA plugin was not restarted", node=act.node, why=why)
