"""The watch history of a fleet: every state a node or pod was seen in, in order. What happened, not how it ended.

Runs on a thread of its own, so that a blocking test can go on; listeners are called on that thread, at once.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from seatrial.adapters.kube.api import watch
from seatrial.adapters.kube.api.client import Client, EventKind, Listing, ObjectT, WatchEvent
from seatrial.adapters.kube.api.config import load_config
from seatrial.adapters.kube.shapes import keys, kinds, models, rollout_records
from seatrial_lab.testbed.nodes import manifests
from seatrial_lab.testbed.plane import control_plane

USER_AGENT = "testbed-history"
SYNC_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMoment:
    """A node as it was seen at one moment."""

    at: float
    name: str
    state: str
    is_cordoned: bool
    is_ready: bool
    is_skipped: bool = False
    """Whether NVIDIA's controller is kept from starting it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodMoment:
    """A pod as it was seen at one moment."""

    at: float
    namespace: str
    name: str
    uid: str
    app: str
    node: str
    image: str
    is_ready: bool
    is_leaving: bool
    is_gone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerMoment:
    """The ledger of a rollout at one moment."""

    at: float
    rollout: str
    admitted: tuple[str, ...]


Moment = NodeMoment | PodMoment | LedgerMoment


class History:
    """Records everything about one fleet from the moment it is entered."""

    def __init__(self, plane: control_plane.ControlPlane, prefix: str, *, state_label: str = keys.STATE_LABEL) -> None:
        """The state is read off our own label unless told otherwise: beside NVIDIA's controller off its."""
        self.moments: list[Moment] = []
        self._state_label = state_label
        self._plane = plane
        self._prefix = prefix
        self._listeners: list[Callable[[Moment], None]] = []
        self._arrived = threading.Condition()
        self._synced: set[str] = set()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()), name="history", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self._synced) == 3, SYNC_SECONDS):
                raise TimeoutError(
                    f"The history was not listed within {SYNC_SECONDS:g} s: only {sorted(self._synced)}."
                )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    def listen(self, listener: Callable[[Moment], None]) -> None:
        """Call this on every moment from now on."""
        self._listeners.append(listener)

    def wait_for(
        self, is_so: Callable[[], bool], *, what: str, timeout_seconds: float, check: Callable[[], None] | None = None
    ) -> None:
        """Return when `is_so`, looked at whenever something was seen; `check` raises when waiting is in vain."""
        deadline = time.monotonic() + timeout_seconds
        with self._arrived:
            while not self._arrived.wait_for(is_so, min(1.0, timeout_seconds)):
                if check is not None:
                    check()
                if time.monotonic() > deadline:
                    raise TimeoutError(f"Waited {timeout_seconds:g} s for {what}.")

    # ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────

    def nodes(self) -> list[NodeMoment]:
        """Every moment of every node."""
        return [moment for moment in self.moments if isinstance(moment, NodeMoment)]

    def pods(self, app: str = "") -> list[PodMoment]:
        """Every moment of every pod, or of those of one app."""
        return [moment for moment in self.moments if isinstance(moment, PodMoment) and app in ("", moment.app)]

    def latest(self) -> dict[str, NodeMoment]:
        """The newest moment of each node."""
        return {moment.name: moment for moment in self.nodes()}

    def states(self, node: str) -> list[str]:
        """The states a node's label went through, in order, without repeats."""
        found: list[str] = []
        for moment in self.nodes():
            if moment.name == node and moment.state and (not found or found[-1] != moment.state):
                found.append(moment.state)
        return found

    def fleets(self) -> Iterator[dict[str, NodeMoment]]:
        """The whole fleet after each change of a node."""
        fleet: dict[str, NodeMoment] = {}
        for moment in self.nodes():
            fleet[moment.name] = moment
            yield dict(fleet)

    # ── recording ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _work(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        config = load_config(kubeconfig=str(self._plane.kubeconfig), environ={})
        fleet = f"{manifests.FLEET_LABEL}={self._prefix}"
        async with Client(config, user_agent=USER_AGENT) as client:
            tasks = [
                asyncio.create_task(self._follow(client, keys.NODES, kinds.Node, self._node, fleet)),
                asyncio.create_task(self._follow(client, keys.PODS, kinds.Pod, self._pod, "")),
                asyncio.create_task(self._follow(client, keys.ROLLOUTS, models.Rollout, _ledger, "")),
            ]
            await self._stop.wait()
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    async def _follow(
        self,
        client: Client,
        path: str,
        model: type[ObjectT],
        read: Callable[[ObjectT, bool], Moment | None],
        selector: str,
    ) -> None:
        def sync(listing: Listing[ObjectT]) -> None:
            self._take([read(item, False) for item in listing.items])
            with self._arrived:
                self._synced.add(path)
                self._arrived.notify_all()

        def event(change: WatchEvent[ObjectT]) -> None:
            self._take([read(change.object, change.kind is EventKind.DELETED)])

        await watch.reflect(
            client,
            path,
            model,
            on_sync=sync,
            on_event=event,
            on_state=lambda _: None,
            jitter=random.random,
            label_selector=selector,
        )

    def _take(self, moments: list[Moment | None]) -> None:
        seen = [moment for moment in moments if moment is not None]
        with self._arrived:
            self.moments += seen
            self._arrived.notify_all()
        for moment in seen:
            for listener in self._listeners:
                listener(moment)

    def _node(self, node: kinds.Node, is_gone: bool) -> NodeMoment | None:
        if is_gone:
            return None
        return NodeMoment(
            at=time.time(),
            name=node.metadata.name,
            state=node.metadata.labels.get(self._state_label, ""),
            is_cordoned=node.spec.unschedulable,
            is_ready=any(item.type == "Ready" and item.status == "True" for item in node.status.conditions),
            is_skipped=node.metadata.labels.get(keys.SKIP_LABEL) == "true",
        )

    def _pod(self, pod: kinds.Pod, is_gone: bool) -> PodMoment | None:
        if not pod.spec.node_name.startswith(f"{self._prefix}-"):
            return None
        statuses = pod.status.container_statuses
        return PodMoment(
            at=time.time(),
            namespace=pod.metadata.namespace,
            name=pod.metadata.name,
            uid=pod.metadata.uid,
            app=pod.metadata.labels.get("app", ""),
            node=pod.spec.node_name,
            image=pod.spec.containers[0].image if pod.spec.containers else "",
            is_ready=pod.status.phase == "Running" and bool(statuses) and all(item.ready for item in statuses),
            is_leaving=pod.metadata.deletion_timestamp is not None,
            is_gone=is_gone,
        )


def _ledger(rollout: models.Rollout, is_gone: bool) -> LedgerMoment:
    admitted = () if is_gone else rollout_records.admitted_in(rollout.status)
    return LedgerMoment(at=time.time(), rollout=rollout.metadata.name, admitted=admitted)
