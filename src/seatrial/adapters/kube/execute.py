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
        self._tasks: dict[asyncio.Task[None], str] = {}
        self._outcomes: list[Outcome] = []

    def submit(self, action: Action) -> None:
        task = asyncio.create_task(self._run(action), name=action.id)
        self._tasks[task] = action.subject
        task.add_done_callback(self._ended)

    def in_flight(self) -> frozenset[str]:
        return frozenset(self._tasks.values())

    def collect(self) -> tuple[Outcome, ...]:
        outcomes, self._outcomes = tuple(self._outcomes), []
        return outcomes

    async def drain(self, timeout_seconds: float) -> None:
        """Wait for the acts under way, for a clean end."""
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=timeout_seconds)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._reader.poke()
        if not task.cancelled():
            task.result()  # a bug of ours must not pass in silence

    async def _run(self, action: Action) -> None:
        async with self._places:
            if not self._is_leader():
                outcome = Outcome(action=action, result=Result.STALE, detail="another controller leads by now")
            else:
                outcome = await self._try(action)
        self._outcomes.append(outcome)

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
        blocked = tuple((pod.uid, why) for pod, why in zip(action.pods, answers, strict=True) if why)
        if not blocked:
            return Outcome(action=action, result=Result.DONE)
        return Outcome(action=action, result=Result.BLOCKED, detail=blocked[0][1], blocked=blocked)

    async def _evict_pod(self, pod: GpuPod) -> str:
        """Why the eviction was turned down; empty when it was not."""
        try:
            await self._client.evict(pod.namespace, pod.name, uid=pod.uid)
        except (errors.NotFound, errors.Conflict):
            return ""  # gone, or another pod of the same name by now
        except errors.ServerRefused as err:
            return err.message or str(err)
        except errors.ClusterError as err:
            return str(err)
        return ""
