"""Plays k8s-driver-manager's part that kwok cannot: after a driver was reloaded, its node's validator starts anew.

The real one pauses a node's operands while it reloads the driver and lets them start again afterwards. What others can
see of that is a validator pod younger than the driver. So: when a driver pod turns Ready on a node where an earlier one
was Ready, the node's validator pod is deleted without grace, and its DaemonSet makes a new one.

A program of its own, started with the control plane: `python -m seatrial.testbed.operands KUBECONFIG`.
Tests: tests/testbed/test_fleet.py.
"""

import asyncio
import contextlib
import os
import random
import sys
from typing import TYPE_CHECKING, Final

import msgspec

from seatrial.adapters.kube import client as clients
from seatrial.adapters.kube import config, errors, watch
from seatrial.testbed import boot, credentials, manifests, waiting

if TYPE_CHECKING:
    from seatrial.testbed import control_plane

NAME: Final = "operands"
USER_AGENT: Final = "testbed-operands"
WATCHING: Final = "watching driver pods"
START_TIMEOUT_SECONDS: Final = 30.0
ATTEMPTS_MAX: Final = 5


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    """What we read of a pod's metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Condition(msgspec.Struct, frozen=True):
    """One condition of a pod."""

    type: str
    status: str


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    """What we read of a pod's spec."""

    node_name: str = ""


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


class Operands:
    """Remembers which driver pod was last Ready on each node, and restarts validators when it is another one."""

    def __init__(self, client: clients.Client, tasks: asyncio.TaskGroup) -> None:
        self._client = client
        self._tasks = tasks
        self._last_ready: dict[str, str] = {}

    def on_sync(self, listing: clients.Listing[Pod]) -> None:
        """Take over a whole list."""
        for pod in listing.items:
            self._see(pod)
        print(WATCHING, flush=True)

    def on_event(self, event: clients.WatchEvent[Pod]) -> None:
        """Take over one change."""
        if event.kind is not clients.EventKind.DELETED:
            self._see(event.object)

    def _see(self, pod: Pod) -> None:
        node, uid = pod.spec.node_name, pod.metadata.uid
        if not node or not pod.is_ready or self._last_ready.get(node) == uid:
            return
        is_reload = node in self._last_ready
        self._last_ready[node] = uid
        if is_reload:
            self._tasks.create_task(self._restart_validator(node, pod.metadata.namespace))

    async def _restart_validator(self, node: str, namespace: str) -> None:
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                await self._delete_validators(node, namespace)
            except errors.ClusterError as err:
                print(f"validator of {node} not restarted (attempt {attempt}): {err}", flush=True)
            else:
                print(f"validator of {node} restarted", flush=True)
                return

    async def _delete_validators(self, node: str, namespace: str) -> None:
        found = await self._client.list(
            clients.api_path("v1", "pods", namespace=namespace),
            Pod,
            label_selector=f"app={manifests.VALIDATOR_APP}",
            field_selector=f"spec.nodeName={node}",
        )
        for pod in found.items:
            path = clients.api_path("v1", "pods", namespace=namespace, name=pod.metadata.name)
            with contextlib.suppress(errors.NotFound, errors.Conflict):  # it went by itself, and its successor is young
                await self._client.delete(path, uid=pod.metadata.uid, grace_seconds=0)


def ensure_running(plane: "control_plane.ControlPlane") -> None:
    """Start this program beside a control plane, once, and return when it watches."""
    kubeconfig = plane.folder / "credentials" / f"{NAME}.kubeconfig"
    if not kubeconfig.exists():
        token = credentials.read_token(plane.folder / "credentials", NAME)
        credentials.write_kubeconfig(kubeconfig, url=plane.url, authority=plane.authority, user=NAME, token=token)
    program = plane.ensure_program(NAME, [sys.executable, "-m", "seatrial.testbed.operands", kubeconfig])

    def look() -> bool:
        boot.ensure_alive(program)
        return WATCHING in program.log.read_text(encoding="utf-8")

    waiting.wait_for(look, what=f"{NAME} to watch driver pods", timeout_seconds=START_TIMEOUT_SECONDS)


async def run(kubeconfig: str) -> None:
    """Watch driver pods until ended."""
    settings = config.load_config(kubeconfig=kubeconfig, environ=os.environ)
    async with clients.Client(settings, user_agent=USER_AGENT) as client, asyncio.TaskGroup() as tasks:
        operands = Operands(client, tasks)
        await watch.reflect(
            client,
            clients.api_path("v1", "pods"),
            Pod,
            on_sync=operands.on_sync,
            on_event=operands.on_event,
            on_state=lambda _: None,
            jitter=random.random,
            label_selector=f"app={manifests.DRIVER_APP}",
        )


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1]))
