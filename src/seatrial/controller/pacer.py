"""Wakes NVIDIA's upgrade controller while a campaign leaves the nodes to it: what `seatrial pace` does, from within.

Rests on the same view as the passes and looks after each of them; whatever ends it, no label of ours stays. Tests:
tests/e2e/test_delegated.py
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from seatrial.adapters.kube import errors, pacing
from seatrial.adapters.kube.client import Client
from seatrial.adapters.kube.observe import KubeObserver
from seatrial.controller.log import Log
from seatrial.core import pace
from seatrial.core.campaign import Mode, RolloutPhase
from seatrial.run.loop import Report

PACED = frozenset(RolloutPhase) - {RolloutPhase.PROPOSED, RolloutPhase.PAUSED, RolloutPhase.DONE, RolloutPhase.REVERTED}


class Pacer:
    """Paces as long as a campaign in delegated mode is under way."""

    def __init__(self, client: Client, observer: KubeObserver, log: Log) -> None:
        self._client = client
        self._observer = observer
        self._log = log
        self._memory = pace.Memory()
        self._news = asyncio.Event()
        self._is_due = False
        self._has_begun = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Pacer:
        self._task = asyncio.create_task(self._run(), name="pacer")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._has_begun:
            await pacing.sweep(self._client)

    def take(self, report: Report) -> None:
        """Look again after a pass."""
        record = report.sight.seen.rollout.campaign if report.sight is not None else None
        self._is_due = record is not None and record.mode is Mode.DELEGATED and record.phase in PACED
        self._news.set()

    async def _run(self) -> None:
        wake_at: float | None = None
        while True:
            seconds = None if wake_at is None else max(0.0, wake_at - time.time())
            with suppress(TimeoutError):  # not wait_for: Python 3.11's may lose a cancellation
                async with asyncio.timeout(seconds):
                    await self._news.wait()
            self._news.clear()
            wake_at = await self._look() if self._is_due else await self._leave()

    async def _look(self) -> float | None:
        self._has_begun = True
        nodes = {name: node.facts for name, node in self._observer.all_nodes().items()}
        seen = pace.Seen(nodes=nodes, operator=self._observer.operator(), release=None, may_reset=False)
        paced = pace.decide_pace(seen, self._memory, time.time())
        self._memory = paced.memory
        if paced.act is None:
            return paced.wake_at
        try:
            self._observer.wrote_node(await pacing.do(self._client, paced.act))
        except errors.ClusterError as err:
            self._log.say("wake turned down", node=paced.act.node, why=err)
            self._memory = pace.noted(paced, time.time(), is_done=False)
        else:
            self._memory = pace.noted(paced, time.time(), is_done=True)
        return time.time()

    async def _leave(self) -> float | None:
        if self._has_begun:
            self._has_begun = False
            await pacing.sweep(self._client)
        return None
