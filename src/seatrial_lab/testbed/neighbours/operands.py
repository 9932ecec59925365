"""Plays what kwok cannot: what the operands of a node do when its driver is reloaded.

k8s-driver-manager pauses a node's operands while it reloads the driver and lets them start again afterwards. What
others can see of that is operand pods younger than the driver. So: when a driver pod turns Ready on a node where an
earlier one was Ready, the pods of its operands are deleted without grace, and their DaemonSets make new ones.
An operand does its work when it runs beside a loaded driver:

    validator            nothing that others see
    device plugin        allocatable GPUs are 0 while no driver is loaded, and come back with the plugin
    feature discovery    labels its node with the driver version and the time at which it looked
    DRA plugin           publishes ResourceSlices with the version it found when it started, and never looks again;
                         nobody restarts it, as nobody does beside a ClusterPolicy

Pods say by a label of the testbed what is to be played for them. The real GPU Operator gives one set of labels to all
its DaemonSets, so those of its pods say that their app tells which operand they are (BY_APP).
A program of its own, started with the control plane: `python -m seatrial_lab.testbed.neighbours.operands KUBECONFIG`.
Tests: tests/testbed/test_fleet.py, tests/testbed/test_dra.py.
"""

import asyncio
import contextlib
import os
import random
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import config, errors, watch
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.nodes import dra, manifests, stages
from seatrial_lab.testbed.plane import boot, credentials
from seatrial_lab.testbed.plane.served import Served

NAME: Final = "operands"
USER_AGENT: Final = "testbed-operands"
WATCHING: Final = "watching driver pods"
START_TIMEOUT_SECONDS: Final = 30.0
ATTEMPTS_MAX: Final = 5

DEVICE_PLUGIN: Final = "device-plugin"
FEATURE_DISCOVERY: Final = "gpu-feature-discovery"
# Instead of an operand's name: the pod's app says which it is.
BY_APP: Final = "by-app"
APPS: Final = {manifests.DEVICE_PLUGIN_APP: DEVICE_PLUGIN, manifests.FEATURE_DISCOVERY_APP: FEATURE_DISCOVERY}
# Those that start anew after a driver; the DRA plugin does not, which is the trouble with it.
RESTARTED: Final = (DEVICE_PLUGIN, FEATURE_DISCOVERY)
FOUND_AT: Final = "nvidia.com/gfd.timestamp"
RESOURCE_PREFIX: Final = "nvidia.com/"


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """What we read of an object's metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class Condition(msgspec.Struct, frozen=True):
    """One condition of a pod."""

    type: str
    status: str


class Container(msgspec.Struct, frozen=True):
    """One container of a pod."""

    name: str = ""
    image: str = ""


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    """What we read of a pod's spec."""

    node_name: str = ""
    containers: tuple[Container, ...] = ()


class Status(msgspec.Struct, frozen=True):
    """What we read of a pod's status."""

    conditions: tuple[Condition, ...] = ()


class Pod(msgspec.Struct, frozen=True):
    """A pod, as far as this program cares."""

    metadata: Metadata
    spec: Spec = Spec()
    status: Status = Status()

    @property
    def is_ready(self) -> bool:
        """Whether the pod counts as Ready."""
        return any(each.type == "Ready" and each.status == "True" for each in self.status.conditions)

    @property
    def is_leaving(self) -> bool:
        """Whether the pod was told to go."""
        return bool(self.metadata.deletion_timestamp)


class NodeStatus(msgspec.Struct, frozen=True):
    """What we read of a node's status."""

    capacity: dict[str, str] = {}


class Node(msgspec.Struct, frozen=True):
    """A node, as far as this program cares."""

    metadata: Metadata
    status: NodeStatus = NodeStatus()

    @property
    def gpu_count(self) -> int:
        """How many GPUs it has: as its maker says, or the kubelet where it is a real one."""
        return int(self.metadata.annotations.get(stages.GPU_COUNT) or self.status.capacity.get(stages.GPU, "0"))

    @property
    def gpus_lost(self) -> int:
        """How many GPUs the device plugin finds broken."""
        return int(self.metadata.annotations.get(stages.GPUS_LOST, "0"))


@dataclass(slots=True, kw_only=True)
class Tracked:
    """What we know of one node, and what we have done about it."""

    driver_uid: str = ""
    """The driver pod that was last Ready."""
    driver_version: str = ""
    is_loaded: bool = False
    """Whether that pod is still there and stays."""
    operands: set[str] = field(default_factory=set)
    """The operands that were ever seen here."""
    ready: dict[str, str] = field(default_factory=dict)
    """The pod of each operand that is Ready, by its uid."""
    stale: set[str] = field(default_factory=set)
    """Operand pods that are older than the driver and about to be replaced."""

    are_gpus_shown: bool | None = None
    found_by: tuple[str, str] = ("", "")
    published_by: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def working(self, operand: str) -> str:
        """Return the pod of an operand that does its work, empty where none does."""
        uid = self.ready.get(operand, "")
        return uid if self.is_loaded and uid not in self.stale else ""


class Operands:
    """Follows drivers and operands of all nodes, and brings each node in line with them."""

    def __init__(self, client: clients.Client, tasks: asyncio.TaskGroup) -> None:
        self._client = client
        self._tasks = tasks
        self._views: dict[str, Tracked] = {}

    # --- seeing ---

    def on_drivers(self, listing: clients.Listing[Pod]) -> None:
        """Take over the whole list of driver pods."""
        here = {pod.metadata.uid for pod in listing.items}
        for name, view in self._views.items():
            if view.is_loaded and view.driver_uid not in here:
                view.is_loaded = False
                self._settle_soon(name)
        for pod in listing.items:
            self._see_driver(pod)
        print(WATCHING, flush=True)

    def on_driver(self, event: clients.WatchEvent[Pod]) -> None:
        """Take over one change of a driver pod."""
        if event.kind is clients.EventKind.DELETED:
            self._unload(event.object)
        else:
            self._see_driver(event.object)

    def on_operands(self, listing: clients.Listing[Pod]) -> None:
        """Take over the whole list of operand pods."""
        here = {pod.metadata.uid for pod in listing.items}
        for view in self._views.values():
            view.ready = {operand: uid for operand, uid in view.ready.items() if uid in here}
        for pod in listing.items:
            self._see_operand(pod)

    def on_operand(self, event: clients.WatchEvent[Pod]) -> None:
        """Take over one change of an operand pod."""
        pod = event.object
        if event.kind is not clients.EventKind.DELETED:
            self._see_operand(pod)
        else:
            self._lose_operand(pod)

    def _see_driver(self, pod: Pod) -> None:
        node, uid = pod.spec.node_name, pod.metadata.uid
        if not node:
            return
        if pod.is_leaving:
            self._unload(pod)
            return
        view = self._views.setdefault(node, Tracked())
        if not pod.is_ready or (view.driver_uid == uid and view.is_loaded):
            return
        is_reload = view.driver_uid not in ("", uid)
        view.driver_uid, view.driver_version, view.is_loaded = uid, _version(pod), True
        if is_reload:
            view.stale |= {view.ready[operand] for operand in RESTARTED if operand in view.ready}
            self._tasks.create_task(self._restart_operands(node, pod.metadata.namespace))
        self._settle_soon(node)

    def _see_operand(self, pod: Pod) -> None:
        node, uid, operand = pod.spec.node_name, pod.metadata.uid, _operand(pod)
        if not node or not operand:
            return
        if pod.is_leaving:
            self._lose_operand(pod)
            return
        view = self._views.setdefault(node, Tracked())
        is_news = operand not in view.operands or (pod.is_ready and view.ready.get(operand) != uid)
        view.operands.add(operand)
        if pod.is_ready:
            view.ready[operand] = uid
        if is_news:
            self._settle_soon(node)

    def _lose_operand(self, pod: Pod) -> None:
        view, uid = self._views.get(pod.spec.node_name), pod.metadata.uid
        if view and uid in view.ready.values():
            view.ready = {operand: each for operand, each in view.ready.items() if each != uid}
            view.stale.discard(uid)
            self._settle_soon(pod.spec.node_name)

    def _unload(self, pod: Pod) -> None:
        view = self._views.get(pod.spec.node_name)
        if view and view.driver_uid == pod.metadata.uid and view.is_loaded:
            view.is_loaded = False
            self._settle_soon(pod.spec.node_name)

    # --- doing ---

    def _settle_soon(self, node: str) -> None:
        if self._views[node].operands:  # nodes without operands of ours cost nothing
            self._tasks.create_task(self._settle(node))

    async def _settle(self, name: str) -> None:
        """Bring a node in line with its view; one at a time, each looking at the newest view."""
        view = self._views[name]
        async with view.lock:
            for attempt in range(1, ATTEMPTS_MAX + 1):
                try:
                    await self._show_gpus(name, view)
                    await self._label(name, view)
                    await self._publish(name, view)
                except errors.NotFound:
                    return  # the node is gone, and takes all this with it
                except errors.ClusterError as err:
                    print(f"operands of {name} did not work (attempt {attempt}): {err}", flush=True)
                else:
                    return

    async def _show_gpus(self, name: str, view: Tracked) -> None:
        shown = bool(view.working(DEVICE_PLUGIN))
        if DEVICE_PLUGIN not in view.operands or shown is view.are_gpus_shown:
            return
        node = await self._client.get(_node_path(name), Node)
        if manifests.REAL_LABEL in node.metadata.labels:
            return  # its kubelet tells what there is
        amounts = {key: _amount(node, key) if shown else "0" for key in node.status.capacity if _is_gpu(key)}
        # Single keys, so that nothing the kubelet writes is touched.
        await self._patch(_node_path(name), {"status": {"allocatable": amounts}}, subresource="status")
        view.are_gpus_shown = shown
        print(f"allocatable of {name}: {amounts}", flush=True)

    async def _label(self, name: str, view: Tracked) -> None:
        finder = (view.working(FEATURE_DISCOVERY), view.driver_uid)
        if not finder[0] or finder == view.found_by:
            return
        labels = manifests.driver_labels(view.driver_version) | {FOUND_AT: str(int(time.time()))}
        await self._patch(_node_path(name), {"metadata": {"labels": labels}})
        view.found_by = finder
        print(f"{name} labelled with {view.driver_version}", flush=True)

    async def _publish(self, name: str, view: Tracked) -> None:
        # Not `working`: a plugin that starts while the driver is away sees the old one, which is still in place.
        uid = view.ready.get(dra.OPERAND, "")
        if not uid or not view.driver_version or uid == view.published_by:
            return
        node, version = await self._client.get(_node_path(name), Node), view.driver_version
        gpu_count = node.gpu_count - node.gpus_lost
        for each in dra.slices(name, node.metadata.uid, gpu_count=gpu_count, driver_version=version):
            path = clients.api_path(dra.API_VERSION, "resourceslices", name=each["metadata"]["name"])
            await self._client.patch(path, each, kind=clients.PatchKind.APPLY, field_manager=USER_AGENT, force=True)
        view.published_by = uid
        print(f"slices of {name} published with {version}", flush=True)

    async def _restart_operands(self, node: str, namespace: str) -> None:
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                await self._delete_operands(node, namespace)
            except errors.ClusterError as err:
                print(f"operands of {node} not restarted (attempt {attempt}): {err}", flush=True)
            else:
                print(f"operands of {node} restarted", flush=True)
                return

    async def _delete_operands(self, node: str, namespace: str) -> None:
        path = clients.api_path("v1", "pods", namespace=namespace)
        # From the server's cache, which knows the pods of a node; what it does not know yet is young enough.
        found = await self._client.list(path, Pod, field_selector=f"spec.nodeName={node}", resource_version="0")
        for pod in (each for each in found.items if _is_restarted(each)):
            path = clients.api_path("v1", "pods", namespace=namespace, name=pod.metadata.name)
            with contextlib.suppress(errors.NotFound, errors.Conflict):  # it went by itself, and its successor is young
                await self._client.delete(path, uid=pod.metadata.uid, grace_seconds=0)

    async def _patch(self, path: str, body: dict[str, Any], *, subresource: str = "") -> None:
        await self._client.patch(
            path, body, kind=clients.PatchKind.MERGE, subresource=subresource, field_manager=USER_AGENT
        )


def ensure_running(plane: Served) -> None:
    """Start this program beside a control plane, once, and return when it watches."""
    kubeconfig = plane.folder / "credentials" / f"{NAME}.kubeconfig"
    if not kubeconfig.exists():
        token = credentials.read_token(plane.folder / "credentials", NAME)
        credentials.write_kubeconfig(kubeconfig, url=plane.url, authority=plane.authority, user=NAME, token=token)
    program = plane.ensure_program(NAME, [sys.executable, "-m", "seatrial_lab.testbed.neighbours.operands", kubeconfig])

    def look() -> bool:
        boot.ensure_alive(program)
        return WATCHING in program.log.read_text(encoding="utf-8")

    waiting.wait_for(look, what=f"{NAME} to watch driver pods", timeout_seconds=START_TIMEOUT_SECONDS)


async def run(kubeconfig: str) -> None:
    """Watch driver and operand pods until ended."""
    settings = config.load_config(kubeconfig=kubeconfig, environ=os.environ)
    async with clients.Client(settings, user_agent=USER_AGENT) as client, asyncio.TaskGroup() as tasks:
        operands = Operands(client, tasks)
        drivers = ",".join(f"{key}={value}" for key, value in stages.DRIVER_LABELS.items())
        for selector, on_sync, on_event in (
            (drivers, operands.on_drivers, operands.on_driver),
            (manifests.OPERAND_LABEL, operands.on_operands, operands.on_operand),
        ):
            tasks.create_task(
                watch.reflect(
                    client,
                    clients.api_path("v1", "pods"),
                    Pod,
                    on_sync=on_sync,
                    on_event=on_event,
                    on_state=lambda _: None,
                    jitter=random.random,
                    label_selector=selector,
                )
            )


def _version(pod: Pod) -> str:
    images = (each.image for each in pod.spec.containers if each.name == manifests.DRIVER_CONTAINER)
    return manifests.driver_version(next(images, ""))


def _operand(pod: Pod) -> str:
    """Return what is to be played for a pod, empty where that is nothing."""
    labels = pod.metadata.labels
    told = labels.get(manifests.OPERAND_LABEL, "")
    return APPS.get(labels.get("app", ""), "") if told == BY_APP else told


def _is_restarted(pod: Pod) -> bool:
    return pod.metadata.labels.get("app") == manifests.VALIDATOR_APP or _operand(pod) in RESTARTED


def _is_gpu(resource: str) -> bool:
    return resource.startswith(RESOURCE_PREFIX)


def _amount(node: Node, resource: str) -> str:
    whole = node.status.capacity[resource]
    return str(int(whole) - node.gpus_lost) if resource == stages.GPU else whole


def _node_path(name: str) -> str:
    return clients.api_path("v1", "nodes", name=name)


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1]))
