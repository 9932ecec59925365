"""Plays the autoscalers over some nodes of a real API server, by the same rows as World (sim/neighbours.py).

A node that is cordoned and used by nobody for so long is removed, unless the annotation that its autoscaler reads
spares it. Pods of DaemonSets use nothing. Runs on a thread of its own from the moment it is entered, and looks in
turns, as the real ones do. Tests: tests/e2e/test_neighbours.py
"""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.api.config import load_config
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.sim.neighbours import Neighbour, remover_of
from seatrial_lab.testbed.plane import control_plane

USER_AGENT: Final = "testbed-autoscaler"
LOOK_SECONDS: Final = 0.25
FIRST_LOOK_SECONDS: Final = 30.0
LIVING: Final = ("Pending", "Running")


class Autoscaler:
    """Autoscalers at work on the nodes that a selector chooses; `removed` is what they took away, in order."""

    def __init__(self, plane: control_plane.ControlPlane, selector: str, *, idle_seconds: float) -> None:
        self.removed: list[tuple[str, Neighbour]] = []
        self.look_count = 0
        self._plane, self._selector, self._idle_seconds = plane, selector, idle_seconds
        self._idle_since: dict[str, float] = {}
        self._looked, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()), name="autoscaler", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._looked.wait(FIRST_LOOK_SECONDS):
            raise TimeoutError(f"The nodes were not listed within {FIRST_LOOK_SECONDS:g} s.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(10)

    async def _work(self) -> None:
        config = load_config(kubeconfig=str(self._plane.kubeconfig), environ={})
        async with Client(config, user_agent=USER_AGENT) as client:
            while not self._over.is_set():
                with suppress(errors.ClusterError):  # a busy server is asked again
                    await self._look(client)
                    self.look_count += 1
                    self._looked.set()
                await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, client: Client) -> None:
        nodes = (await client.list(keys.NODES, kinds.Node, label_selector=self._selector)).items
        pods = (await client.list(keys.PODS, kinds.Pod)).items
        used = {pod.spec.node_name for pod in pods if _uses(pod)}
        for node in nodes:
            name, meta = node.metadata.name, node.metadata
            who = remover_of(meta.labels, meta.annotations)
            if who is None or not node.spec.unschedulable or name in used:
                self._idle_since.pop(name, None)
                continue
            since = self._idle_since.setdefault(name, time.monotonic())
            if time.monotonic() - since >= self._idle_seconds:
                await client.delete(f"{keys.NODES}/{name}", uid=meta.uid)
                self.removed.append((name, who))
                del self._idle_since[name]


def _uses(pod: kinds.Pod) -> bool:
    is_bound = any(owner.kind == "DaemonSet" for owner in pod.metadata.owner_references)
    return not is_bound and pod.status.phase in LIVING
