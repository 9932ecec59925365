"""A stand-in cluster with drivers and DRA plugins: it lists, watches, and restarts a plugin whose pod is deleted.

Its drivers are Ready at objects.AT; a plugin of BEFORE is older than they are, and one of AFTER younger.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from seatrial.adapters.kube.api.client import api_path
from seatrial.adapters.kube.shapes import keys
from seatrial.app.connecting import Cluster
from tests.adapters.kube import objects, standin

BEFORE: Final = "2026-01-01T00:00:00Z"
AFTER: Final = "2026-01-03T00:00:00Z"
HOME: Final = "nvidia-dra-driver-gpu"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/seatrial/leases"
TARGET: Final = f"/api/v1/namespaces/{objects.NAMESPACE}/configmaps/dra-reroll-target"
PLUGIN_SET: Final = {"kind": "DaemonSet", "name": "plugin", "uid": "ds-3", "controller": True}
OLD_CHART: Final = {"nvidia-dra-driver-gpu-component": "kubelet-plugin"}


def pods_of(namespace: str) -> str:
    return keys.pods_path(namespace)


def sets_of(namespace: str) -> str:
    return api_path("apps/v1", "daemonsets", namespace=namespace)


def a_plugin(node: str, *, started: str = BEFORE, namespace: str = HOME, number: int = 0, **fields: Any) -> Any:
    """The plugin pod of a node; its name is that of every plugin of a DaemonSet, with something random behind."""
    containers = [{"name": "gpus"}, {"name": "compute-domains"}]
    state = {"running": {"startedAt": started}}
    own: dict[str, Any] = {
        "node": node,
        "namespace": namespace,
        "uid": f"uid-plugin-{node}-{number}",
        "labels": OLD_CHART,
        "owner": PLUGIN_SET,
        "containers": containers,
        "status": {"containerStatuses": [{"name": each["name"], "ready": True, "state": state} for each in containers]},
    }
    return objects.a_pod(f"plugin-{node}-{number}", **(own | fields))


def a_set(name: str, uid: str, *, image: str = "", labels: Any = None, generation: int = 1, observed: int = 1) -> Any:
    """A DaemonSet."""
    container = {"name": "nvidia-driver-ctr", "image": image} if image else {"name": "gpus", "image": "example.com/dra"}
    return {
        "metadata": {"name": name, "uid": uid, "resourceVersion": "3", "generation": generation},
        "spec": {"template": {"metadata": {"labels": labels or {}}, "spec": {"containers": [container]}}},
        "status": {"observedGeneration": observed, "desiredNumberScheduled": 1},
    }


def a_driver_set(driver: str = objects.NEW, **fields: Any) -> Any:
    image = f"nvcr.io/nvidia/driver:{driver}-ubuntu22.04"
    return a_set("nvidia-driver-daemonset", "ds-1", image=image, **fields)


class DraCluster:
    """What is there, by path; what was written, in order."""

    def __init__(self, *nodes: str) -> None:
        self.version = 1000
        self.lists: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.lists[keys.NODES] = [objects.a_node(name) for name in nodes]
        self.lists[pods_of(objects.NAMESPACE)] = [
            pod
            for name in nodes
            for pod in (
                objects.a_driver_pod(name, revision="new", driver=objects.NEW),
                objects.a_validator_pod(name),
            )
        ]
        self.lists[pods_of(HOME)] = [a_plugin(name) for name in nodes]
        self.lists[sets_of(objects.NAMESPACE)] = [a_driver_set()]
        self.lists[sets_of(HOME)] = [a_set("plugin", "ds-3", labels=OLD_CHART)]
        self.lists[keys.revisions_path(objects.NAMESPACE)] = [objects.a_revision("new", number=2, driver=objects.NEW)]
        self.lists[keys.RESOURCE_SLICES[0]] = [objects.a_slice(name, objects.NEW) for name in nodes]
        self.forbidden: set[str] = set()
        self.faults: dict[str, list[int]] = {}
        """By path: with which codes the next lists are refused; by `DELETE` and path, the next deletions."""
        self.maps: dict[str, dict[str, Any]] = {}
        self.leases: list[dict[str, Any]] = []
        self.writes: list[tuple[str, str]] = []
        self.preconditions: list[dict[str, Any]] = []
        self.is_restarting = True
        """Whether a DaemonSet puts a new plugin in place of a deleted one."""
        self._watchers: dict[str, list[asyncio.Queue[bytes]]] = defaultdict(list)
        self._happened: dict[str, list[tuple[int, bytes]]] = defaultdict(list)

    # ── what happens ─────────────────────────────────────────────────────────────────────────────────────────────────

    def tell(self, kind: str, path: str, thing: dict[str, Any]) -> None:
        """Change something, and tell whoever watches."""
        self.version += 1
        thing = {**thing, "metadata": {**thing["metadata"], "resourceVersion": str(self.version)}}
        name = thing["metadata"]["name"]
        kept = [each for each in self.lists[path] if each["metadata"]["name"] != name]
        self.lists[path] = kept if kind == "DELETED" else [*kept, thing]
        line = json.dumps({"type": kind, "object": thing}).encode() + b"\n"
        self._happened[path].append((self.version, line))
        for queue in self._watchers[path]:
            queue.put_nowait(line)

    def restart(self, pod: dict[str, Any], path: str = "") -> None:
        """What a DaemonSet does about a deleted plugin."""
        path, node = path or pods_of(HOME), pod["spec"]["nodeName"]
        self.tell("DELETED", path, pod)
        number = int(pod["metadata"]["name"].rpartition("-")[2]) + 1
        self.tell("ADDED", path, a_plugin(node, started=AFTER, number=number))

    def cut(self, path: str) -> None:
        """Tell whoever watches that its place in the history is gone: it has to list again."""
        gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}
        for queue in self._watchers.pop(path, []):
            queue.put_nowait(json.dumps({"type": "ERROR", "object": gone}).encode() + b"\n")

    def plugin_of(self, node: str) -> dict[str, Any]:
        return next(pod for pod in self.lists[pods_of(HOME)] if pod["spec"]["nodeName"] == node)

    # ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path in self.forbidden or f"{request.method} {request.path}" in self.forbidden:
            return await standin.refuses(403, "Forbidden", "not for you")(request)
        match request.method:
            case "GET":
                return await self._get(request)
            case "DELETE":
                return await self._delete(request)
            case _:
                self.writes.append((request.method, request.path))
                body = json.loads(await request.read())
                self.maps[TARGET] = {"data": body["data"]}
                return await standin.gives(body)(request)

    async def _get(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if path == LEASES:
            return await standin.gives({"metadata": {}, "items": self.leases})(request)
        if "/configmaps/" in path:
            if path not in self.maps:
                return await standin.refuses(404, "NotFound", "no such object", name="it")(request)
            meta = {"name": "dra-reroll-target", "namespace": objects.NAMESPACE, "uid": "u", "resourceVersion": "1"}
            return await standin.gives({"metadata": meta, **self.maps[path]})(request)
        if request.query.get("watch") != "true":
            codes = self.faults.get(path, [])
            if codes:
                return await standin.refuses(codes.pop(0), "", "come back later")(request)
            listing = {"metadata": {"resourceVersion": str(self.version)}, "items": self.lists[path]}
            return await standin.gives(listing)(request)
        response = web.StreamResponse()
        await response.prepare(request)
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        # As a real one does: what happened since the list is told first, so that nothing falls between the two.
        since = int(request.query.get("resourceVersion") or self.version)
        for version, line in self._happened[path]:
            if version > since:
                queue.put_nowait(line)
        self._watchers[path].append(queue)
        while True:
            await response.write(await queue.get())

    async def _delete(self, request: web.Request) -> web.StreamResponse:
        if codes := self.faults.get(f"DELETE {request.path}"):
            return await standin.refuses(codes.pop(0), "", "come back later")(request)
        self.writes.append(("DELETE", request.path))
        folder, _, name = request.path.rpartition("/")
        said = json.loads(await request.read())["preconditions"]
        self.preconditions.append(said)
        found = next((each for each in self.lists[folder] if each["metadata"]["name"] == name), None)
        if found is None:
            return await standin.refuses(404, "NotFound", "gone", name=name)(request)
        meta = found["metadata"]
        if (said["uid"], said["resourceVersion"]) != (meta["uid"], meta["resourceVersion"]):
            return await standin.refuses(409, "Conflict", "it is another one", name=name)(request)
        if self.is_restarting:
            self.restart(found, folder)
        return await standin.gives({})(request)


@asynccontextmanager
async def served(cluster: DraCluster, folder: Path) -> AsyncIterator[Cluster]:
    """The cluster as a command finds it."""
    async with standin.running() as server:
        server.will(cluster.answer)
        path = folder / "kubeconfig"
        config = {
            "clusters": [{"name": "c", "cluster": {"server": server.url}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "c",
        }
        path.write_text(json.dumps(config), encoding="utf-8")
        yield Cluster(kubeconfig=str(path), environ={})
