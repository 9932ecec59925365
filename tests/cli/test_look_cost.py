"""What a look costs is held by counting: the modules that it imports and the requests that it makes. bench/look.py has
the seconds."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from seatrial.adapters.kube.reading.leader import LEASE
from seatrial.adapters.kube.shapes import keys
from tests.adapters.kube import objects, standin

NODES = tuple(f"gpu-{each:03}" for each in range(20))
WAITING = {"code": "parallel-limit", "why": "two are under way", "next": "Wait.", "nodes": [NODES[4]], "count": 1}
WRITTEN = {
    "state": "progressing",
    "summarisedAt": objects.AT,
    "holds": {"parallel-limit": 1},
    "nodesWaiting": [WAITING],
    "waits": [],
}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/seatrial/leases"
LISTS = {
    keys.NODES: [objects.a_node(name) for name in NODES],
    keys.PODS: [objects.a_driver_pod(name) for name in NODES],
    keys.revisions_path(objects.NAMESPACE): [
        objects.a_revision("old", number=1, driver=objects.OLD),
        objects.a_revision("new", number=2, driver=objects.NEW),
    ],
    keys.daemon_sets_path(objects.NAMESPACE): [],
    keys.ROLLOUTS: [objects.a_rollout(status=WRITTEN)],
    LEASES: [{"metadata": {"name": LEASE}, "spec": {"holderIdentity": "one", "renewTime": objects.AT}}],
}
LOOK = """
import json, sys
from seatrial.cli.main import main
main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""

NEVER = (
    "aiohttp",
    "attr",
    "rich",
    "prometheus_client",
    "seatrial.controller",
    "seatrial.run",
    "seatrial.sim",
    "seatrial.core.survey",
)
"""What no look needs: a client that stays, tables in colour, whatever moves nodes."""
NOT_FOR_A_STATUS = (
    "seatrial.core.decision.decide",
    "seatrial.core.campaign.step",
    "seatrial.core.words.speeds",
    "seatrial.core.survey",
)
"""Where the controller has written why, nothing is decided once more."""
OURS_MAX = {"status": 240, "why": 300}
"""Modules of ours. Each dataclass among them costs a look about a millisecond."""
REQUESTS_MAX = 20


async def answer(request: web.Request) -> web.StreamResponse:
    if request.path not in LISTS:
        return await standin.refuses(404, "NotFound", "the server could not find it")(request)
    return await standin.gives({"metadata": {"resourceVersion": "100"}, "items": LISTS[request.path]})(request)


@pytest.fixture
async def server() -> AsyncIterator[standin.StandIn]:
    async with standin.running() as started:
        started.will(answer)
        yield started


async def modules_of(server: standin.StandIn, folder: Path, *words: str) -> tuple[str, list[str]]:
    """What a look prints, and what it has imported."""
    kubeconfig = folder / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": server.url}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": {"token": "t"}}]
    known = {"clusters": [cluster], "contexts": [context], "users": users, "current-context": "c"}
    kubeconfig.write_text(json.dumps(known), encoding="utf-8")
    given = (sys.executable, "-c", LOOK, *words, "--kubeconfig", str(kubeconfig))
    looking = await asyncio.create_subprocess_exec(
        *given, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await looking.communicate()
    said, imported = out.decode(), err.decode().strip().split("\n")[-1]
    assert said, err.decode()[:2000]
    return said, json.loads(imported)


def below(names: list[str], roots: tuple[str, ...]) -> list[str]:
    return [name for name in names if any(name == root or name.startswith(f"{root}.") for root in roots)]


@pytest.mark.parametrize("words", [("status",), ("why", NODES[4])], ids=["status", "why"])
async def test_a_look_lists_each_kind_once_and_watches_nothing(
    server: standin.StandIn, tmp_path: Path, words: tuple[str, ...]
) -> None:
    said, _ = await modules_of(server, tmp_path, *words)

    assert NODES[4] in said
    assert [seen.path for seen in server.seen if seen.is_watch] == []
    assert len(server.seen) <= REQUESTS_MAX, [seen.path for seen in server.seen]


@pytest.mark.parametrize("words", [("status",), ("why", NODES[4])], ids=["status", "why"])
async def test_a_look_imports_little(server: standin.StandIn, tmp_path: Path, words: tuple[str, ...]) -> None:
    _, imported = await modules_of(server, tmp_path, *words)

    unwanted = NEVER if words[0] == "why" else (*NEVER, *NOT_FOR_A_STATUS)
    assert below(imported, unwanted) == []
    assert len(below(imported, ("seatrial",))) <= OURS_MAX[words[0]], "what became necessary for a look?"
