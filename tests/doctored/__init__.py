"""Clusters with something wrong, as files: what their API server would say of them, and what is wrong on which node.

    clusters/NN-name.yaml    says, source: what happened, and where it was told
                             expect: failure -> nodes; nothing where there is only noise
                             objects, logs: what an API server and kubelets would answer

They were written before the patterns, by whoever did not see these. Their clock stands at half past nine.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from aiohttp import web

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.surveying import diagnosing
from seatrial.core.survey.doctor.objects import Sight
from seatrial.core.survey.sources import DIAGNOSED, KINDS
from tests import audited
from tests.adapters.kube import standin

CLUSTERS: Final = Path(__file__).parent / "clusters"
NAMES: Final = tuple(sorted(path.stem for path in CLUSTERS.glob("*.yaml")))
NOW: Final = "Thu, 01 Oct 2026 09:30:00 GMT"
_RESOURCES: Final = {source.value: KINDS[source].right.removeprefix("list ") for source in DIAGNOSED}


@cache
def _loaded(name: str) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loaded: dict[str, Any] = yaml.load((CLUSTERS / f"{name}.yaml").read_text(encoding="utf-8"), Loader=loader)  # noqa: S506
    return loaded


def recorded(name: str) -> dict[str, Any]:
    """A cluster of its own, to be changed at will."""
    return copy.deepcopy(_loaded(name))


def expected(name: str) -> dict[str, list[str]]:
    """What is wrong, and where."""
    return {failure: sorted(nodes) for failure, nodes in (_loaded(name).get("expect") or {}).items()}


async def read(
    cluster: Mapping[str, Any], *, forbidden: Collection[str] = (), node: str = "", with_logs: bool = True
) -> Sight:
    """What the adapter reads of a cluster, by HTTP; `forbidden` are resources with their groups."""
    async with standin.running() as server:
        server.will(serves(cluster, forbidden))
        async with Client(server.config(), user_agent="seatrial/test") as client:
            sight, _ = await diagnosing.read(client, node=node, with_logs=with_logs)
            return sight


def serves(cluster: Mapping[str, Any], forbidden: Collection[str] = ()) -> standin.Reply:
    """Answer lists and logs as an API server does whose clock stands at NOW."""
    kinds: audited.Recorded = {resource: [] for resource in _RESOURCES.values()}
    for each in cluster["objects"]:
        if each["kind"] in _RESOURCES:
            kinds[_RESOURCES[each["kind"]]].append(each)
    lists = audited.serves(kinds, forbidden)

    async def reply(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/log"):
            return await _log(cluster, request, "pods/log" in forbidden)
        answer = await lists(request)
        answer.headers["Date"] = NOW
        return answer

    return reply


async def _log(cluster: Mapping[str, Any], request: web.Request, is_forbidden: bool) -> web.StreamResponse:
    if is_forbidden:
        return await standin.refuses(403, "Forbidden", 'User "jane" cannot get resource "pods/log"')(request)
    namespace, pod = request.path.split("/")[4], request.path.split("/")[6]
    asked = (namespace, pod, request.query["container"], request.query.get("previous") == "true")
    for log in cluster.get("logs") or ():
        if (log["namespace"], log["pod"], log["container"], bool(log.get("previous"))) == asked:
            return web.Response(text=log["text"])
    if asked[3]:
        message = f'previous terminated container "{asked[2]}" in pod "{pod}" not found'
        return await standin.refuses(400, "BadRequest", message)(request)
    return web.Response(text="")
