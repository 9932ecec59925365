"""The Executor of a live loop: sends every act to the port that does it, in the background, and only while we lead.

    a step by commit      MatrixHome           commits, reverts, marks, promotions and their tags
    StartProbe            Measurer
    AskCheckpoint         CheckpointWebhook    where one is named; its yes is written down by the cluster
    everything else       Cluster

Law of this file: it knows where an act goes, and nothing of what it does there. Every port tries once and says how it
went; retrying and giving up are decisions and live in core.

Tests: tests/run/test_routing.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from seatrial.bugs import Guard, TellBug, bug_of
from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import AskToMerge, CloseRequest, MarkBad, Promote, Publish, RevertCommits
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.actions.on_nodes import KUEUE, AskCheckpoint
from seatrial.core.base.values import dataclass
from seatrial.core.model.campaign import Via
from seatrial.ports import CheckpointWebhook, Cluster, MatrixHome, Measurer, Outcome, Result

IN_FLIGHT_MAX: Final = 50
"""How many acts are under way at a time; the others wait for their turn, and count as under way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routes:
    """Who does what."""

    cluster: Cluster
    home: MatrixHome
    measurer: Measurer
    webhook: CheckpointWebhook


class Router:
    """Does, in the background, at most IN_FLIGHT_MAX acts at a time."""

    def __init__(
        self,
        routes: Routes,
        *,
        is_leader: Callable[[], bool],
        on_outcome: Callable[[Outcome], None],
        on_end: Callable[[], None],
        on_bug: TellBug | None = None,
    ) -> None:
        """`on_outcome` receives how each act ended; `on_end` is called when there is something to collect.

        With `on_bug` an act that raises has an unknown outcome; without, its exception is raised by `collect`."""
        self._routes = routes
        self._is_leader = is_leader
        self._on_outcome = on_outcome
        self._on_end = on_end
        self._on_bug = on_bug
        self._places = asyncio.Semaphore(IN_FLIGHT_MAX)
        self._tasks: dict[asyncio.Task[Outcome], str] = {}
        self._ended: list[asyncio.Task[Outcome]] = []

    def submit(self, action: Action) -> None:
        task = asyncio.create_task(self._run(action), name=action.id)
        self._tasks[task] = action.subject
        task.add_done_callback(self._end)

    def in_flight(self) -> frozenset[str]:
        return frozenset(self._tasks.values())

    def collect(self) -> tuple[Outcome, ...]:
        ended, self._ended = self._ended, []
        return tuple(task.result() for task in ended)

    async def drain(self, timeout_seconds: float) -> None:
        """Wait for the acts under way, for a clean end."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=timeout_seconds)

    def _end(self, task: asyncio.Task[Outcome]) -> None:
        del self._tasks[task]
        if not task.cancelled():  # only the end of the whole process cancels an act
            self._ended.append(task)
        self._on_end()

    async def _run(self, action: Action) -> Outcome:
        async with self._places:
            try:
                outcome = await self._send(action) if self._is_leader() else _too_late(action)
                self._on_outcome(outcome)
            except Exception as err:
                if self._on_bug is None:
                    raise
                bug = bug_of(Guard.ACT, action.id, err)
                self._on_bug(bug)
                return Outcome(action=action, result=Result.UNKNOWN, detail=bug.why)
            return outcome

    async def _send(self, action: Action) -> Outcome:
        routes = self._routes
        match action:
            case Publish(via=Via.GIT) | RevertCommits() | MarkBad() | Promote() | AskToMerge() | CloseRequest():
                return await routes.home.do(action)
            case StartProbe():
                return await routes.measurer.measure(action)
            case AskCheckpoint(webhook=address) if address and address != KUEUE:
                answer = await routes.webhook.ask(action)
                if answer.result is not Result.DONE:
                    return answer
                # Asking took its time.
                return await routes.cluster.do(action) if self._is_leader() else _too_late(action)
            case _:
                return await routes.cluster.do(action)


def _too_late(action: Action) -> Outcome:
    return Outcome(action=action, result=Result.STALE, detail="another controller leads by now")
