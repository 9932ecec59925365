"""The bad way itself, between our own client and a small server that says what it was asked; no control plane."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from aiohttp import web

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, PatchKind, WatchEvent
from seatrial.adapters.kube.api.config import load_config
from seatrial.adapters.kube.shapes import kinds
from seatrial_lab.testbed.plane import certificates
from seatrial_lab.torture.drawing import Blow
from seatrial_lab.torture.table import BY_NAME
from seatrial_lab.torture.way import BadWay

NODES = "/api/v1/nodes"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/seatrial/leases"
PATCH = {"metadata": {"labels": {"a": "b"}}}
EVENT_COUNT = 6


class Server:
    """Answers over TLS like an API server with one node, whose watch tells six changes and then ends."""

    def __init__(self, folder: Path) -> None:
        self.written: list[str] = []
        self.authority = folder / "ca.crt"
        authority = certificates.Authority.make("test")
        self.authority.write_bytes(authority.pem)
        self._pair = certificates.Pair(certificate=folder / "server.crt", key=folder / "server.key")
        authority.issue(self._pair, name="server", hosts=("127.0.0.1",))
        self.port = 0
        self.is_patient = False
        """Whether its watches stay open without a word."""
        self._is_up = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._work()), daemon=True)

    def __enter__(self) -> Server:
        self._thread.start()
        assert self._is_up.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)

    async def _work(self) -> None:
        trust = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        trust.load_cert_chain(self._pair.certificate, self._pair.key)
        runner = web.ServerRunner(web.Server(self._answer, handler_cancellation=True), shutdown_timeout=0.2)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=trust).start()
        self.port = runner.addresses[0][1]
        self._is_up.set()
        await self._over.wait()
        await runner.cleanup()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.query.get("watch"):
            return await self._watch(request)
        if request.method != "GET":
            self.written.append(f"{request.method} {request.path}")
            return web.json_response(a_node("n", 1))
        return web.json_response({"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": []})

    async def _watch(self, request: web.BaseRequest) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for version in range(1, EVENT_COUNT + 1):
            line = json.dumps({"type": "MODIFIED", "object": a_node("n", version)})
            await answer.write(line.encode() + b"\n")
        if self.is_patient:
            await asyncio.sleep(60)
        return answer


def a_node(name: str, version: int) -> dict[str, object]:
    return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "resourceVersion": str(version)}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path) as made:
        yield made


@pytest.fixture
def way(server: Server, tmp_path: Path) -> Iterator[BadWay]:
    account = tmp_path / "account.kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{server.port}"}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    account.write_text(yaml.safe_dump(document), encoding="utf-8")
    with BadWay(account, authority=server.authority) as made:
        yield made


def blow(name: str, *, count: int = 1, seconds: float = 0.0) -> Blow:
    return Blow(fault=BY_NAME[name], share=0.5, seconds=seconds, count=count)


async def patch(way: BadWay) -> None:
    async with client_of(way) as client:
        await client.patch(f"{NODES}/n", PATCH, kind=PatchKind.MERGE)


async def versions(way: BadWay) -> list[str]:
    """What a watch tells, until it ends."""
    found: list[str] = []
    async with client_of(way) as client, aclosing(client.watch(NODES, kinds.Node, resource_version="1")) as events:
        async for event in events:
            assert isinstance(event, WatchEvent)
            found.append(event.object.metadata.resource_version)
    return found


async def struck_after_all(way: BadWay, blow: Blow, seen: list[str]) -> None:
    """Watch, and let this happen once everything was told."""
    async with client_of(way) as client, aclosing(client.watch(NODES, kinds.Node, resource_version="1")) as events:
        async for event in events:
            assert isinstance(event, WatchEvent)
            seen.append(event.object.metadata.resource_version)
            if len(seen) == EVENT_COUNT:
                way.strike(blow)


def client_of(way: BadWay) -> Client:
    return Client(load_config(kubeconfig=str(way.kubeconfig), environ={}), user_agent="torture")


async def test_a_way_that_was_told_nothing_passes_everything_on_and_counts_it(way: BadWay, server: Server) -> None:
    async with client_of(way) as client:
        await client.list(NODES, kinds.Node)
        await client.create(LEASE, {"kind": "Lease"})
    await patch(way)
    assert await versions(way) == ["1", "2", "3", "4", "5", "6"]
    assert way.asked == {"GET nodes": 1, "POST leases": 1, "PATCH nodes": 1, "WATCH nodes": 1}
    assert (way.write_count, way.request_count) == (1, 3), "a Lease is renewed by the time"
    assert server.written == [f"POST {LEASE}", f"PATCH {NODES}/n"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("conflict", errors.Conflict),
        ("throttled", errors.TooManyRequests),
        ("failing", errors.ServerRefused),
        ("unavailable", errors.ServerRefused),
        ("reset", errors.ClusterUnavailable),
    ],
)
async def test_a_refused_write_never_arrives_and_the_next_one_does(
    way: BadWay, server: Server, name: str, kind: type[errors.ClusterError]
) -> None:
    way.strike(blow(name))
    with pytest.raises(kind) as told:
        await patch(way)
    assert server.written == []
    if isinstance(told.value, errors.TooManyRequests):
        assert told.value.retry_after_seconds == 1
    await patch(way)
    assert server.written == [f"PATCH {NODES}/n"]
    assert way.struck == {name: 1}


async def test_a_write_whose_answer_is_lost_has_happened(way: BadWay, server: Server) -> None:
    way.strike(blow("lost"))
    with pytest.raises(errors.ClusterUnavailable):
        await patch(way)
    assert server.written == [f"PATCH {NODES}/n"]


async def test_what_strikes_writes_leaves_reads_alone(way: BadWay) -> None:
    way.strike(blow("conflict"))
    async with client_of(way) as client:
        await client.list(NODES, kinds.Node)
    with pytest.raises(errors.Conflict):
        await patch(way)


async def test_a_slow_answer_comes_after_its_time(way: BadWay, server: Server) -> None:
    way.strike(blow("slow", seconds=0.3))
    began = asyncio.get_running_loop().time()
    await patch(way)
    assert asyncio.get_running_loop().time() - began >= 0.3
    assert server.written == [f"PATCH {NODES}/n"]


async def test_events_come_twice_in_their_order(way: BadWay) -> None:
    way.strike(blow("doubled", count=2))
    assert await versions(way) == ["1", "1", "2", "2", "3", "4", "5", "6"]


async def test_an_event_comes_after_the_next_one_and_none_is_lost(way: BadWay) -> None:
    way.strike(blow("reordered", count=1))
    assert await versions(way) == ["2", "1", "3", "4", "5", "6"]


async def test_the_last_event_of_all_is_not_held_for_ever(way: BadWay) -> None:
    way.strike(blow("reordered", count=50))
    assert sorted(await versions(way)) == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize(("name", "kind"), [("cut", errors.ClusterError), ("gone", errors.Gone)])
async def test_an_open_watch_is_ended_as_it_is_told(
    way: BadWay, server: Server, name: str, kind: type[Exception]
) -> None:
    server.is_patient = True
    seen: list[str] = []
    with pytest.raises(kind):
        await struck_after_all(way, blow(name), seen)
    assert len(seen) == EVENT_COUNT, "half an event is none"
    assert way.struck == {name: 1}


async def test_in_an_outage_nothing_comes_through_until_it_is_over(way: BadWay, server: Server) -> None:
    way.strike(blow("outage", seconds=60.0))
    with pytest.raises(errors.ClusterUnavailable):
        await patch(way)
    assert server.written == []
    way.calm()
    await patch(way)
    assert server.written == [f"PATCH {NODES}/n"]


async def test_an_api_server_that_is_away_looks_like_one(way: BadWay, server: Server) -> None:
    server.__exit__()
    with pytest.raises(errors.ClusterUnavailable):
        await patch(way)


def test_what_does_not_happen_on_the_way_is_refused(way: BadWay) -> None:
    with pytest.raises(ValueError, match="nothing that happens on the way"):
        way.strike(replace(blow("outage"), fault=BY_NAME["disk-full"]))
