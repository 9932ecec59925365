"""Wakes NVIDIA's upgrade controller while a campaign leaves the nodes to it: what `seatrial pace` does, from within.

Rests on the same view as the passes and looks after each of them; whatever ends it, no label of ours stays. Writes only
while we lead: what a leader leaves behind that lost its lease, the next one takes away when it begins. Tests:
tests/controller/test_pacer.py, tests/e2e/test_delegated.py
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, Protocol

from seatrial import supervision
from seatrial.adapters.kube import pacing
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import kinds
from seatrial.controller.log import Log
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.movers.mover import mover_of
from seatrial.core.movers.pace import values as pace_values
from seatrial.core.movers.pace import waking as pace
from seatrial.run.loop import Report

LOOK_SECONDS: Final = 30.0
"""We look at least this often: the time to wake at is on a clock that may be put back."""
PACED = frozenset(RolloutPhase) - {RolloutPhase.PROPOSED, RolloutPhase.PAUSED, RolloutPhase.DONE, RolloutPhase.REVERTED}


class Watching(Protocol):
    """Who sees the nodes, and has to know what our writes returned."""

    def all_nodes(self) -> Mapping[str, NodeSeen]: ...

    def operator(self) -> OperatorFacts: ...

    def wrote_node(self, node: kinds.Node) -> None: ...


class Pacer:
    """Paces as long as a campaign in delegated mode is under way."""

    def __init__(
        self,
        client: Client,
        observer: Watching,
        log: Log,
        *,
        is_leader: Callable[[], bool],
        tell: supervision.Tell,
    ) -> None:
        self._client = client
        self._observer = observer
        self._log = log
        self._is_leader = is_leader
        self._tell = tell
        self._memory = pace_values.PaceMemory()
        self._news = asyncio.Event()
        self._is_due = False
        self._may_have_left = True
        """Whether a label of ours may stand somewhere: at first by a leader before us, later by ourselves."""
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Pacer:
        self._task = asyncio.create_task(supervision.keep("pacer", self._run, tell=self._tell), name="pacer")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._may_have_left and self._is_leader():
            await pacing.sweep(self._client)

    def take(self, report: Report) -> None:
        """Look again after a pass."""
        record = report.sight.seen.rollout.campaign if report.sight is not None else None
        self._is_due = record is not None and mover_of(record.mode).starts_by_itself and record.phase in PACED
        self._news.set()

    async def _run(self) -> None:
        wake_at: float | None = None
        while True:
            seconds = None if wake_at is None else min(max(0.0, wake_at - time.time()), LOOK_SECONDS)
            with suppress(TimeoutError):  # not wait_for: Python 3.11's may lose a cancellation
                async with asyncio.timeout(seconds):
                    await self._news.wait()
            self._news.clear()
            wake_at = await self._look() if self._is_due else await self._leave()

    async def _look(self) -> float | None:
        self._may_have_left = True
        nodes = {name: node.facts for name, node in self._observer.all_nodes().items()}
        seen = pace_values.Seen(nodes=nodes, operator=self._observer.operator(), release=None, may_reset=False)
        paced = pace.decide_pace(seen, self._memory, time.time())
        self._memory = paced.memory
        if paced.act is None or not self._is_leader():
            return paced.wake_at
        try:
            self._observer.wrote_node(await pacing.do(self._client, paced.act))
        except errors.ClusterError as err:
            self._log.say("wake refused", node=paced.act.node, why=err)
            self._memory = pace.noted(paced, time.time(), is_done=False)
        else:
            self._memory = pace.noted(paced, time.time(), is_done=True)
        return time.time()

    async def _leave(self) -> float | None:
        if self._may_have_left and self._is_leader():
            try:
                await pacing.sweep(self._client)
            except pacing.TraceLeft as err:
                self._log.say("a label of ours may be left", why=err)
                return time.time() + LOOK_SECONDS
            self._may_have_left = False
        return None
