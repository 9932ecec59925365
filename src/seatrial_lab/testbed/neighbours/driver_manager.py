"""Plays k8s-driver-manager in the driver pods of one fleet, by the same rows as World (sim/neighbours.py).

kwok starts no containers, so nobody runs the init container of a driver pod. This does to the node what that would do:
when a driver pod is seen to start, before it is Ready, and again whenever the init container has failed. A driver whose
own container fails is started again without it, as a kubelet does. What it is told stands in the pod's own template,
and whether upgrades are NVIDIA's in the node's annotation, as for the real one. Runs on a thread of its own from the
moment it is entered. Tests: tests/e2e/test_driver_manager.py
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, assert_never

from seatrial.adapters.kube.api import errors, watch
from seatrial.adapters.kube.api.client import Client, EventKind, Listing, PatchKind, WatchEvent
from seatrial.adapters.kube.api.config import load_config
from seatrial.adapters.kube.shapes import keys, kinds, models
from seatrial.sim.neighbours import Deed, Start, deeds_of
from seatrial_lab.testbed.nodes import manifests, stages
from seatrial_lab.testbed.plane import control_plane

USER_AGENT: Final = "testbed-driver-manager"
CONTAINER: Final = "k8s-driver-manager"
UPGRADE_ENABLED: Final = "nvidia.com/gpu-driver-upgrade-enabled"
GPU_PREFIX: Final = "nvidia.com/"
SYNC_SECONDS: Final = 60.0


class _Noted(models.Model, frozen=True):
    """An object of which only the metadata is read."""

    metadata: models.ObjectMeta = models.ObjectMeta()


class DriverManager:
    """The driver managers of a fleet; `deeds` is what they have done, in order."""

    def __init__(
        self, plane: control_plane.ControlPlane, prefix: str, *, before_opening: Callable[[], None] | None = None
    ) -> None:
        """`before_opening` is called once, just before the first node is opened."""
        self._before_opening = before_opening
        self.deeds: list[tuple[str, Start, Deed]] = []
        self._plane = plane
        self._prefix = prefix
        self._known: dict[str, int] = {}
        """By driver pod: how often its driver manager had failed when it last ran."""
        self._loaded: set[str] = set()
        """Nodes with a driver in their kernel."""
        self._due: asyncio.Queue[tuple[kinds.Pod, Start]] | None = None
        self._synced = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._work()), name="driver-manager", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._synced.wait(SYNC_SECONDS):
            raise TimeoutError(f"The driver pods were not listed within {SYNC_SECONDS:g} s.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    # ── seeing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _work(self) -> None:
        self._loop, self._stop, self._due = asyncio.get_running_loop(), asyncio.Event(), asyncio.Queue()
        config = load_config(kubeconfig=str(self._plane.kubeconfig), environ={})
        labels = {manifests.FLEET_LABEL: self._prefix, **stages.DRIVER_LABELS}
        async with Client(config, user_agent=USER_AGENT) as client:
            watching = watch.reflect(
                client,
                keys.PODS,
                kinds.Pod,
                on_sync=self._on_sync,
                on_event=self._on_event,
                on_state=lambda _: None,
                jitter=random.random,
                label_selector=",".join(f"{key}={value}" for key, value in labels.items()),
            )
            tasks = [asyncio.create_task(watching), asyncio.create_task(self._play(client))]
            await self._stop.wait()
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    def _on_sync(self, listing: Listing[kinds.Pod]) -> None:
        for pod in listing.items:
            self._see(pod, is_new=self._synced.is_set())
        self._synced.set()

    def _on_event(self, change: WatchEvent[kinds.Pod]) -> None:
        if change.kind is not EventKind.DELETED:
            self._see(change.object, is_new=True)

    def _see(self, pod: kinds.Pod, *, is_new: bool) -> None:
        node, uid, failures = pod.spec.node_name, pod.metadata.uid, _failures(pod)
        if _is_ready(pod):
            self._loaded.add(node)
        if not node or pod.metadata.deletion_timestamp is not None or self._known.get(uid) == failures:
            return
        self._known[uid] = failures
        if is_new and not _is_ready(pod) and self._due is not None:
            start = Start.FAILED if failures else Start.LOADED if node in self._loaded else Start.BARE
            self._due.put_nowait((pod, start))

    # ── acting ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _play(self, client: Client) -> None:
        while self._due is not None:
            pod, start = await self._due.get()
            node = await client.get(f"{keys.NODES}/{pod.spec.node_name}", _Noted)
            if manifests.REAL_LABEL in node.metadata.labels:
                continue  # its own does all this
            is_superseded = node.metadata.annotations.get(UPGRADE_ENABLED) == "true"
            for deed in deeds_of(start, _env(pod), is_superseded=is_superseded):
                await self._do(client, pod.spec.node_name, deed)
                self.deeds.append((pod.spec.node_name, start, deed))

    async def _do(self, client: Client, node: str, deed: Deed) -> None:
        match deed:
            case Deed.CORDON:
                await self._set_cordon(client, node, is_on=True)
            case Deed.EVICT:
                found = await client.list(keys.PODS, kinds.Pod, field_selector=f"spec.nodeName={node}")
                for pod in filter(_holds_gpu, found.items):
                    with suppress(errors.ClusterError):  # a budget's no: the real one tries for a while
                        await client.evict(pod.metadata.namespace, pod.metadata.name)
            case Deed.UNCORDON:
                if self._before_opening is not None:
                    self._before_opening()
                    self._before_opening = None
                await self._set_cordon(client, node, is_on=False)
            case _:
                assert_never(deed)

    async def _set_cordon(self, client: Client, node: str, *, is_on: bool) -> None:
        body = {"spec": {"unschedulable": True if is_on else None}}
        await client.patch(f"{keys.NODES}/{node}", body, kind=PatchKind.MERGE)


def _env(pod: kinds.Pod) -> list[tuple[str, str]]:
    """What the pod's driver manager is told."""
    managers = (each for each in pod.spec.init_containers if each.name == CONTAINER)
    return [(variable.name, variable.value) for manager in managers for variable in manager.env]


def _failures(pod: kinds.Pod) -> int:
    managers = (each for each in pod.status.init_container_statuses if each.name == CONTAINER)
    return max((each.restart_count for each in managers), default=0)


def _is_ready(pod: kinds.Pod) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions)


def _holds_gpu(pod: kinds.Pod) -> bool:
    asked = (name for each in pod.spec.containers for name in each.resources.limits)
    is_bound = any(owner.kind == "DaemonSet" for owner in pod.metadata.owner_references)
    return not is_bound and any(name.startswith(GPU_PREFIX) for name in asked)
