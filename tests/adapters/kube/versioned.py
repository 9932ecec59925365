"""A stand-in API server that keeps objects as a real one does: each with a uid and a version, and a write that names
another version than the one it has is refused. So a test needs no cluster to tell a bound write from one that is not.

Kinds that it knows are listed, and watched from the version of the list. What it does is held against the real server
by tests/controller/test_homes.py; what is written here is taken by one in tests/adapters/kube/test_execute_campaign.py.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from aiohttp import web

from tests.adapters.kube import standin

Thing = dict[str, Any]


class Objects:
    """What there is, by path; `answer` is the reply of a stand-in."""

    def __init__(self, *kinds: str) -> None:
        """`kinds` are the paths of lists that are there though they are empty."""
        self._kinds = set(kinds)
        self._objects: dict[str, Thing] = {}
        self._version = 100
        self._watches: dict[str, list[Callable[[bytes], object]]] = defaultdict(list)

    def put(self, path: str, thing: Thing) -> str:
        """As somebody else does: the object as it is from now on; gives its version."""
        before = self._objects.get(path, {}).get("metadata", {})
        self._version += 1
        said = {"uid": f"uid-{self._version}", **thing.get("metadata", {}), "resourceVersion": str(self._version)}
        self._objects[path] = {**thing, "metadata": {**_place_of(path), **said, **_kept(before, "uid")}}
        self._tell("MODIFIED" if before else "ADDED", path, self._objects[path])
        return str(self._version)

    def get(self, path: str) -> Thing:
        """The object as it is."""
        return self._objects[path]

    def under(self, path: str) -> list[Thing]:
        """Every object of a kind; of all namespaces, where the path names none."""
        return [thing for name, thing in self._objects.items() if _is_under(path, name)]

    def remove(self, path: str) -> None:
        """As somebody does who deletes it, if it is there."""
        gone = self._objects.pop(path, None)
        if gone is not None:
            self._version += 1
            gone["metadata"]["resourceVersion"] = str(self._version)
            self._tell("DELETED", path, gone)

    def has(self, path: str) -> bool:
        return path in self._objects

    def _tell(self, kind: str, path: str, thing: Thing) -> None:
        for listed, watches in self._watches.items():
            if _is_under(listed, path):
                for tell in watches:
                    tell(json.dumps({"type": kind, "object": thing}).encode() + b"\n")

    # ── as a server ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removesuffix("/status")
        if path in self._objects:
            return await self._about(request, path, json.loads(await request.read() or b"{}"))
        if path.endswith("/eviction") and request.method == "POST":
            pod, sent = path.removesuffix("/eviction"), json.loads(await request.read())
            if pod in self._objects:
                return await self._evict(request, pod, sent.get("deleteOptions", {}).get("preconditions", {}))
        if request.method == "POST":
            return await self._create(request, json.loads(await request.read()))
        if not self.under(path) and path not in self._kinds:
            return await standin.refuses(404, "NotFound", f"{path} not found")(request)
        if request.query.get("watch") == "true":
            return await self._watch(request)
        items = [each for each in self.under(path) if _is_selected(each, request.query)]
        return await standin.gives({"metadata": {"resourceVersion": str(self._version)}, "items": items})(request)

    async def _about(self, request: web.Request, path: str, sent: Any) -> web.StreamResponse:
        if isinstance(sent, list):
            return await self._patch(request, path, sent)
        held = self._objects[path]["metadata"]
        asked = sent.get("preconditions", {}) if request.method == "DELETE" else sent.get("metadata", {})
        for field in ("uid", "resourceVersion"):
            if asked.get(field) not in (None, held[field]):
                return await standin.refuses(409, "Conflict", "the object has been modified")(request)
        if request.method == "DELETE":
            gone = self._objects[path]
            self.remove(path)
            return await standin.gives(gone)(request)
        if request.method == "PATCH":
            self.put(path, _merged(self._objects[path], sent))
        if request.method == "PUT":
            self.put(path, sent)
        return await standin.gives(self._objects[path])(request)

    async def _patch(self, request: web.Request, path: str, steps: list[Thing]) -> web.StreamResponse:
        """A JSON patch, RFC 6902, as far as it tests values and takes them away."""
        changed = copy.deepcopy(self._objects[path])
        for step in steps:
            *parents, last = (each.replace("~1", "/") for each in step["path"].split("/")[1:])
            place = changed
            for name in parents:
                place = place[name]
            if last not in place or (step["op"] == "test" and place[last] != step["value"]):
                return await standin.refuses(422, "Invalid", "the server rejected our request due to an error")(request)
            if step["op"] == "remove":
                del place[last]
        self.put(path, changed)
        return await standin.gives(self._objects[path])(request)

    async def _evict(self, request: web.Request, pod: str, asked: Thing) -> web.StreamResponse:
        if asked.get("uid") not in (None, self._objects[pod]["metadata"]["uid"]):
            return await standin.refuses(409, "Conflict", "it is another pod")(request)
        self.remove(pod)
        return await standin.gives({}, code=201)(request)

    async def _create(self, request: web.Request, sent: Thing) -> web.StreamResponse:
        if request.path not in self._kinds and not self.under(request.path):
            return await standin.refuses(404, "NotFound", f"{request.path} not found")(request)
        named = sent.get("metadata", {})
        path = f"{request.path}/{named.get('name') or named.get('generateName', 'x-') + str(self._version)}"
        if path in self._objects:
            return await standin.refuses(409, "AlreadyExists", f"{path} already exists")(request)
        self.put(path, sent)
        return await standin.gives(self._objects[path], code=201)(request)

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response, changes = web.StreamResponse(), asyncio.Queue[bytes]()
        since = int(request.query["resourceVersion"])
        for thing in self.under(request.path):
            if int(thing["metadata"]["resourceVersion"]) > since:
                changes.put_nowait(json.dumps({"type": "MODIFIED", "object": thing}).encode() + b"\n")
        loop = asyncio.get_running_loop()  # a test may write from another thread than it is served by
        self._watches[request.path].append(lambda line: loop.call_soon_threadsafe(changes.put_nowait, line))
        await response.prepare(request)
        with suppress(ConnectionResetError):  # whoever watched has gone
            while True:
                await response.write(await changes.get())
        return response


def _is_selected(thing: Thing, query: Mapping[str, str]) -> bool:
    """Whether a list asks for an object: by fields, and by labels that it has to have."""
    labels = thing["metadata"].get("labels", {})
    fields, asked = (
        [each.partition("=")[::2] for each in filter(None, query.get(name, "").split(","))]
        for name in ("fieldSelector", "labelSelector")
    )
    return all(_field(thing, path) == value for path, value in fields) and all(
        key in labels and value in ("", labels[key]) for key, value in asked
    )


def _field(thing: Thing, path: str) -> Any:
    found: Any = thing
    for name in path.split("."):
        found = found.get(name, {})
    return found


def _is_under(listed: str, path: str) -> bool:
    """Whether an object is of a list; `/api/v1/pods` has those of every namespace."""
    folder, _, _ = path.rpartition("/")
    if folder == listed:
        return True
    before, found, after = folder.partition("/namespaces/")
    return bool(found) and f"{before}/{after.partition('/')[2]}" == listed and "/" in after


def _place_of(path: str) -> dict[str, str]:
    parts = path.split("/")
    namespace = {"namespace": parts[parts.index("namespaces") + 1]} if "namespaces" in parts else {}
    return {"name": parts[-1], **namespace}


def _kept(before: Thing, field: str) -> Thing:
    return {field: before[field]} if field in before else {}


def _merged(held: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """A JSON merge patch, RFC 7386."""
    after = {key: value for key, value in held.items() if key not in patch}
    for key, value in patch.items():
        if isinstance(value, dict):
            before = held.get(key)
            after[key] = _merged(before if isinstance(before, dict) else {}, value)
        elif value is not None:
            after[key] = value
    return after
