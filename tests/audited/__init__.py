"""Clusters as their API servers told of them, cut to what matters, and a stand-in that serves them page by page.

    helm.yaml         the GPU Operator by Helm, on Ubuntu
    openshift.yaml    GPU, Network and SR-IOV operators by OLM, on OpenShift
    dra.yaml          NVIDIA's DRA driver beside the GPU Operator

A kind that a file does not have is one that the cluster does not have. Nothing is wrong with any of them.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from aiohttp import web

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.surveying import auditing
from seatrial.core.survey.audit.objects import Objects
from tests.adapters.kube import standin

Recorded = dict[str, list[dict[str, Any]]]
NAMES: Final = ("helm", "openshift", "dra")
PAGE_SIZE: Final = 2
"""Small, so that every list has several pages."""


@cache
def _loaded(name: str) -> Recorded:
    loaded: Recorded = yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8"))
    return loaded


def recorded(name: str) -> Recorded:
    """A cluster of its own, to be changed at will."""
    return copy.deepcopy(_loaded(name))


def one(cluster: Recorded, resource: str, name: str) -> dict[str, Any]:
    """One object of a cluster."""
    return next(each for each in cluster[resource] if each["metadata"]["name"] == name)


async def read(cluster: Recorded, *, forbidden: Collection[str] = (), failing: Collection[str] = ()) -> Objects:
    """What the adapter reads of a cluster, by HTTP; `forbidden` and `failing` are resources with their groups."""
    async with standin.running() as server:
        server.will(serves(cluster, forbidden, failing))
        async with Client(server.config(), user_agent="seatrial/test") as client:
            return await auditing.read(client, namespace="gpu-operator")


def serves(cluster: Recorded, forbidden: Collection[str] = (), failing: Collection[str] = ()) -> standin.Reply:
    """Answer lists as an API server does."""

    async def reply(request: web.Request) -> web.StreamResponse:
        resource, namespace = _asked(request.path)
        if resource in forbidden:
            plural, _, group = resource.partition(".")
            message = f'{resource} is forbidden: User "jane" cannot list resource "{plural}" in API group "{group}"'
            return await standin.refuses(403, "Forbidden", message)(request)
        if resource in failing:
            return await standin.refuses(503, "ServiceUnavailable", "the server is currently unable to answer")(request)
        if resource not in cluster:
            return await standin.says("404 page not found", code=404)(request)
        items = [each for each in cluster[resource] if namespace in ("", each["metadata"].get("namespace", ""))]
        if request.query.get("labelSelector") == "!olm.copiedFrom":
            items = [each for each in items if "olm.copiedFrom" not in each["metadata"].get("labels", {})]
        start = int(request.query.get("continue", "0"))
        more = str(start + PAGE_SIZE) if start + PAGE_SIZE < len(items) else ""
        metadata = {"resourceVersion": "7", "continue": more}
        return await standin.gives({"metadata": metadata, "items": items[start : start + PAGE_SIZE]})(request)

    return reply


def _asked(path: str) -> tuple[str, str]:
    """The resource with its group, and the namespace; an API server of today serves ResourceSlices as v1."""
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    namespace = rest[1] if rest[0] == "namespaces" else ""
    name = rest[2] if namespace else rest[0]
    return ".".join(filter(None, (name, group))), namespace
