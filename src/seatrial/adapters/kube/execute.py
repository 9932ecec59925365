"""The live Executor: each act is tried once, bound to what was seen, and only while we lead; its answer is an Outcome.

Retrying and giving up are decisions and live in core. Tests: tests/adapters/kube/test_execute.py and tests/e2e/.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, assert_never

from seatrial.adapters.kube import errors, keys, models, records
from seatrial.adapters.kube.client import Client, PatchKind, api_path
from seatrial.core.actions import Action, EvictPods, RestartDriverPod, WriteNodeRecord, WriteRolloutRecord
from seatrial.core.snapshot import GpuPod
from seatrial.ports import Outcome, Result

IN_FLIGHT_MAX: Final = 50


class Reader(Protocol):
    """Who has to know what our writes returned."""

    def wrote_node(self, node: models.Node) -> None: ...

    def wrote_rollout(self, rollout: models.Rollout) -> None: ...

    def poke(self) -> None: ...

    def is_operator_present(self) -> bool: ...


class KubeExecutor:
    """Does, in the background, at most IN_FLIGHT_MAX requests at a time."""

    def __init__(
        self,
        client: Client,
        reader: Reader,
        *,
        is_leader: Callable[[], bool],
        on_phase: Callable[[WriteNodeRecord, models.Node], None],
    ) -> None:
        self._client = client
        self._reader = reader
        self._is_leader = is_leader
        self._on_phase = on_phase
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
        return tuple(task.result() for task in ended)  # a bug of ours is raised here, and does not pass in silence

    async def drain(self, timeout_seconds: float) -> None:
        """Wait for the acts under way, for a clean end."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=timeout_seconds)

    def _end(self, task: asyncio.Task[Outcome]) -> None:
        del self._tasks[task]
        if not task.cancelled():  # only the end of the whole process cancels an act
            self._ended.append(task)
        self._reader.poke()

    async def _run(self, action: Action) -> Outcome:
        async with self._places:
            if not self._is_leader():
                return Outcome(action=action, result=Result.STALE, detail="another controller leads by now")
            return await self._try(action)

    async def _try(self, action: Action) -> Outcome:
        try:
            match action:
                case WriteNodeRecord():  # Cordon and Uncordon are of this kind
                    await self._write_node(action)
                case EvictPods():
                    return await self._evict(action)
                case RestartDriverPod(namespace=namespace, pod=pod, uid=uid):
                    await self._client.delete(api_path("v1", "pods", namespace=namespace, name=pod), uid=uid)
                case WriteRolloutRecord(record=record):
                    path, body = f"{keys.ROLLOUTS}/{record.name}", records.rollout_patch(record)
                    written = await self._client.patch(
                        path, body, models.Rollout, kind=PatchKind.JSON, subresource="status"
                    )
                    self._reader.wrote_rollout(written)
                case _:
                    assert_never(action)
        except (errors.Conflict, errors.NotFound) as err:
            return Outcome(action=action, result=Result.STALE, detail=err.message or str(err))
        except errors.ClusterError as err:
            return Outcome(action=action, result=Result.FAILED, detail=str(err))
        return Outcome(action=action, result=Result.DONE)

    async def _write_node(self, action: WriteNodeRecord) -> None:
        body = records.node_patch(action, mirror=not self._reader.is_operator_present())
        written = await self._client.patch(f"{keys.NODES}/{action.node}", body, models.Node, kind=PatchKind.MERGE)
        self._reader.wrote_node(written)
        self._on_phase(action, written)

    async def _evict(self, action: EvictPods) -> Outcome:
        answers = await asyncio.gather(*(self._evict_pod(pod) for pod in action.pods))
        blocks = [(pod.uid, _why_blocked(answer)) for pod, answer in zip(action.pods, answers, strict=True)]
        blocked = tuple((uid, why) for uid, why in blocks if why)
        failures = [str(answer) for answer in answers if answer is not None and not _why_blocked(answer)]
        if failures:
            return Outcome(action=action, result=Result.FAILED, detail=failures[0], blocked=blocked)
        if blocked:
            return Outcome(action=action, result=Result.BLOCKED, detail=blocked[0][1], blocked=blocked)
        return Outcome(action=action, result=Result.DONE)

    async def _evict_pod(self, pod: GpuPod) -> errors.ClusterError | None:
        """Why the pod does not leave; None when it does, or has."""
        try:
            await self._client.evict(pod.namespace, pod.name, uid=pod.uid)
        except (errors.NotFound, errors.Conflict):
            return None  # gone, or another pod of the same name by now
        except errors.ClusterError as err:
            return err
        return None


def _why_blocked(answer: errors.ClusterError | None) -> str:
    """The words of the budget that turned an eviction down, since only they name it; empty when none did."""
    if not isinstance(answer, errors.TooManyRequests) or not answer.is_blocked_by_budget:
        return ""
    return " ".join(cause.message for cause in answer.causes if cause.message) or answer.message
