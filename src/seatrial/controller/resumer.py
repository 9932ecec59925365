"""Switches Workloads of Kueue on again that we switched off, once the visit they made room for is over.

    Workloads with our mark, nodes with their records ─▶ core/model/seen/workloads.py: which are due ─▶ a PATCH each

Law of this file: it knows nothing but what is seen, and writes only while we lead; so after a crash the next controller
ends what the last one began, whatever became of the rollout. Tests: tests/controller/test_resumer.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, Protocol, Self

from seatrial import supervision
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.writing import workloads
from seatrial.controller.log import Log
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.workloads import Suspended, due

LOOK_SECONDS: Final = 2.0


class Seen(Protocol):
    """Who sees nodes and Workloads."""

    def all_nodes(self) -> Mapping[str, NodeSeen]: ...

    def suspended(self) -> tuple[Suspended, ...]: ...


class Resumer:
    """Looks again and again; use `async with`."""

    def __init__(
        self,
        client: Client,
        seen: Seen,
        log: Log,
        *,
        is_leader: Callable[[], bool],
        look_seconds: float = LOOK_SECONDS,
        tell: supervision.Tell,
    ) -> None:
        self._client, self._seen, self._log = client, seen, log
        self._is_leader, self._look_seconds, self._tell = is_leader, look_seconds, tell
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(supervision.keep("resumer", self._run, tell=self._tell), name="resumer")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self._look_seconds)

    async def look(self) -> None:
        """Switch on what is due now."""
        for each in due(self._seen.suspended(), self._seen.all_nodes()):
            if not self._is_leader():
                return
            try:
                is_on = await workloads.switch_on(self._client, each)
            except errors.ClusterError as err:
                self._log.say("a Workload was not made active again", workload=each.full_name, why=str(err))
                continue
            if is_on:
                self._log.say("a Workload is active again", workload=each.full_name, node=each.node)
