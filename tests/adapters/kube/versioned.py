"""A stand-in API server that keeps objects as a real one does: each with a uid and a version, and a write that names
another version than the one it has is refused. So a test needs no cluster to tell a bound write from one that is not.

What it does is held against the real server by tests/adapters/kube/test_execute_campaign.py and test_homes.py.
"""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from tests.adapters.kube import standin


class Objects:
    """What there is, by path; `answer` is the reply of a stand-in."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, Any]] = {}
        self._version = 100

    def put(self, path: str, thing: dict[str, Any]) -> str:
        """As somebody else does: the object as it is from now on; gives its version."""
        before = self._objects.get(path, {}).get("metadata", {})
        self._version += 1
        ours = {"uid": before.get("uid", f"uid-{self._version}"), "resourceVersion": str(self._version)}
        place = _place_of(path)
        self._objects[path] = {**thing, "metadata": {**place, **thing.get("metadata", {}), **ours}}
        return str(self._version)

    def get(self, path: str) -> dict[str, Any]:
        """The object as it is."""
        return self._objects[path]

    def remove(self, path: str) -> None:
        """As somebody does who deletes it, if it is there."""
        self._objects.pop(path, None)

    def has(self, path: str) -> bool:
        return path in self._objects

    async def answer(self, request: web.Request) -> web.StreamResponse:
        sent = json.loads(await request.read() or b"{}")
        if request.method == "POST":
            return await self._create(request, f"{request.path}/{sent['metadata']['name']}", sent)
        if request.path not in self._objects:
            return await standin.refuses(404, "NotFound", f"{request.path} not found")(request)
        held = self._objects[request.path]["metadata"]
        asked = sent.get("preconditions", {}) if request.method == "DELETE" else sent.get("metadata", {})
        for field in ("uid", "resourceVersion"):
            if asked.get(field) not in (None, held[field]):
                return await standin.refuses(409, "Conflict", "the object has been modified")(request)
        if request.method == "DELETE":
            return await standin.gives(self._objects.pop(request.path))(request)
        if request.method == "PATCH":
            self.put(request.path, _merged(self._objects[request.path], sent))
        return await standin.gives(self._objects[request.path])(request)

    async def _create(self, request: web.Request, path: str, sent: dict[str, Any]) -> web.StreamResponse:
        if path in self._objects:
            return await standin.refuses(409, "AlreadyExists", f"{path} already exists")(request)
        self.put(path, sent)
        return await standin.gives(self._objects[path], code=201)(request)


def _place_of(path: str) -> dict[str, str]:
    parts = path.split("/")
    namespace = {"namespace": parts[parts.index("namespaces") + 1]} if "namespaces" in parts else {}
    return {"name": parts[-1], **namespace}


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
