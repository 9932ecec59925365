"""The client against a server that misbehaves on command."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import msgspec
import pytest
from aiohttp import web

from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import decoding, errors
from seatrial.adapters.kube.shapes import kinds
from tests.adapters.kube import standin
from tests.adapters.kube.models import Item

NODES = "/api/v1/nodes"


def names(listing: clients.Listing[Item]) -> list[str]:
    return [item.metadata.name for item in listing.items]


async def all_events(client: clients.Client, *, silent_seconds: float = 5.0) -> list[object]:
    found: list[object] = []
    async with aclosing(client.watch(NODES, Item, resource_version="1", silent_seconds=silent_seconds)) as events:
        async for event in events:
            found.append(event)  # noqa: PERF401 — what came before an error counts too
    return found


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (clients.api_path("v1", "nodes"), "/api/v1/nodes"),
        (clients.api_path("v1", "nodes", name="a", subresource="status"), "/api/v1/nodes/a/status"),
        (clients.api_path("apps/v1", "daemonsets", namespace="n"), "/apis/apps/v1/namespaces/n/daemonsets"),
    ],
)
def test_paths_are_those_of_the_api(made: str, expected: str) -> None:
    assert made == expected


async def test_a_first_page_without_a_version_is_a_consistent_read(
    server: standin.StandIn, asking: clients.Client
) -> None:
    server.will(standin.lists("a", version="5", more="next"), standin.lists("b", version="5"))

    listing = await asking.list(NODES, Item, label_selector="x=y", page_size=1)

    assert (names(listing), listing.resource_version) == (["a", "b"], "5")
    assert [seen.query for seen in server.seen] == [
        {"labelSelector": "x=y", "limit": "1"},
        {"labelSelector": "x=y", "limit": "1", "continue": "next"},
    ]


async def test_a_list_that_expires_between_pages_starts_over_once(
    server: standin.StandIn, asking: clients.Client
) -> None:
    server.will(
        standin.lists("a", version="5", more="next"),
        standin.refuses(410, "Expired"),
        standin.lists("a", version="9", more="next"),
        standin.lists("b", version="9"),
    )

    listing = await asking.list(NODES, Item, resource_version="0")

    assert (names(listing), listing.resource_version) == (["a", "b"], "9")
    assert [seen.query.get("resourceVersion") for seen in server.seen] == ["0", None, "0", None]


async def test_a_list_that_always_expires_is_reported_after_the_second_time(
    server: standin.StandIn, asking: clients.Client
) -> None:
    first, gone = standin.lists("a", version="5", more="next"), standin.refuses(410, "Expired", "too old")
    server.will(first, gone, first, gone)

    with pytest.raises(errors.Gone, match="too old"):
        await asking.list(NODES, Item)

    assert len(server.seen) == 4


async def test_a_version_that_is_gone_at_once_is_reported_at_once(
    server: standin.StandIn, asking: clients.Client
) -> None:
    server.will(standin.refuses(410, "Expired", "too old"))
    with pytest.raises(errors.Gone, match="too old"):
        await asking.list(NODES, Item, resource_version="5")
    assert len(server.seen) == 1


async def test_objects_can_be_had_page_by_page_each_before_the_next_is_asked_for(
    server: standin.StandIn, asking: clients.Client
) -> None:
    server.will(standin.lists("a", "b", version="5", more="next"), standin.lists("c", version="5"))
    asked = []
    async with aclosing(asking.each(NODES, Item, label_selector="!copied", page_size=2)) as items:
        async for item in items:
            asked.append((item.metadata.name, len(server.seen)))  # noqa: PERF401 — when it came counts too

    assert asked == [("a", 1), ("b", 1), ("c", 2)]
    assert [dict(seen.query) for seen in server.seen] == [
        {"limit": "2", "labelSelector": "!copied"},
        {"limit": "2", "labelSelector": "!copied", "continue": "next"},
    ]


async def test_others_get_their_turn_while_a_page_is_read(server: standin.StandIn, asking: clients.Client) -> None:
    server.will(standin.lists(*(f"n{number}" for number in range(500)), version="5"))
    turns, read_by_turn = 0, Counter[int]()

    async def another() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def keep(item: Item) -> Item:
        read_by_turn[turns] += 1
        return item

    beside = asyncio.create_task(another())
    listing = await asking.kept(NODES, Item, keep)
    beside.cancel()

    assert len(listing.items) == 500
    assert max(read_by_turn.values()) <= 50


async def test_an_empty_list_may_be_null(server: standin.StandIn, asking: clients.Client) -> None:
    server.will(standin.gives({"metadata": {"resourceVersion": "3"}, "items": None}))

    assert await asking.list(NODES, Item) == clients.Listing(items=(), resource_version="3")


async def test_a_big_compressed_page_is_read(server: standin.StandIn, asking: clients.Client) -> None:
    page = {"metadata": {"resourceVersion": "3"}, "items": [standin.an_object(f"n{i}", "1") for i in range(20_000)]}

    async def zipped(_: web.Request) -> web.StreamResponse:
        return web.Response(
            body=gzip.compress(json.dumps(page).encode()),
            headers={"Content-Type": "application/json", "Content-Encoding": "gzip"},
        )

    server.will(zipped)

    assert len((await asking.list(NODES, Item)).items) == 20_000
    assert server.seen[0].headers["Accept-Encoding"] == "gzip"


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_a_refusal_is_reported_and_not_tried_again(
    server: standin.StandIn, asking: clients.Client, code: int
) -> None:
    server.will(standin.refuses(code, "Because", headers={"Retry-After": "3"}))

    with pytest.raises(errors.ServerRefused) as caught:
        await asking.list(NODES, Item)

    assert (len(server.seen), caught.value.status.retry_after_seconds) == (1, 3)


async def test_a_read_over_a_connection_that_the_server_closed_is_sent_again(
    server: standin.StandIn, asking: clients.Client
) -> None:
    server.will(standin.lists("a", version="1"), standin.cuts, standin.lists("b", version="2"))
    await asking.list(NODES, Item)

    assert names(await asking.list(NODES, Item)) == ["b"]


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda client: client.create(NODES, {}), id="create"),
        pytest.param(lambda client: client.replace(f"{NODES}/a", {}), id="replace"),
        pytest.param(lambda client: client.patch(f"{NODES}/a", {}, kind=clients.PatchKind.MERGE), id="patch"),
        pytest.param(lambda client: client.delete(f"{NODES}/a"), id="delete"),
        pytest.param(lambda client: client.evict("n", "a"), id="evict"),
    ],
)
async def test_a_write_whose_answer_is_lost_is_sent_once(
    server: standin.StandIn, asking: clients.Client, write: Callable[[clients.Client], Awaitable[None]]
) -> None:
    server.will(standin.lists("a", version="1"), standin.cuts)
    await asking.list(NODES, Item)
    server.seen.clear()

    with pytest.raises(errors.ClusterUnavailable, match="look whether it took effect"):
        await write(asking)

    assert len(server.seen) == 1


async def test_writes_are_strict_and_signed_except_where_the_api_knows_neither(
    server: standin.StandIn, asking: clients.Client
) -> None:
    server.will(standin.gives({}))

    await asking.create(NODES, {})
    await asking.replace(f"{NODES}/a", {}, subresource="status")
    await asking.patch(f"{NODES}/a", {}, kind=clients.PatchKind.APPLY, field_manager="other", force=True)
    await asking.delete(f"{NODES}/a", uid="u", resource_version="7", grace_seconds=0)
    await asking.evict("n", "p", uid="u")

    strict = {"fieldValidation": "Strict", "fieldManager": "seatrial"}
    assert [(seen.verb, seen.path, seen.query) for seen in server.seen] == [
        ("POST", NODES, strict),
        ("PUT", f"{NODES}/a/status", strict),
        ("PATCH", f"{NODES}/a", {**strict, "fieldManager": "other", "force": "true"}),
        ("DELETE", f"{NODES}/a", {}),
        ("POST", "/api/v1/namespaces/n/pods/p/eviction", {}),
    ]
    assert server.seen[2].headers["Content-Type"] == "application/apply-patch+yaml"
    assert json.loads(server.seen[3].body) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "gracePeriodSeconds": 0,
    }
    assert json.loads(server.seen[4].body)["deleteOptions"]["preconditions"] == {"uid": "u"}


async def test_a_server_that_does_not_answer_is_given_up_at_the_deadline(
    server: standin.StandIn, is_brief: bool
) -> None:
    server.will(standin.waits(server))
    async with clients.Client(
        server.config(), user_agent="t", request_timeout_seconds=0.05, is_brief=is_brief
    ) as client:
        with pytest.raises(errors.ClusterUnavailable, match=r"heard nothing from .* within 0.05 s"):
            await client.list(NODES, Item)


async def test_a_port_where_nobody_listens_is_said_plainly(unused_tcp_port: int, is_brief: bool) -> None:
    config = configs.Config(server=f"http://127.0.0.1:{unused_tcp_port}", context="k", source="file")
    async with clients.Client(config, user_agent="t", is_brief=is_brief) as client:
        with pytest.raises(errors.ClusterUnavailable) as caught:
            await client.list(NODES, Item)

    assert str(caught.value) == (
        f"GET /api/v1/nodes did not reach http://127.0.0.1:{unused_tcp_port} (context k, from file): "
        "Connection refused; check that the cluster runs and that this machine may reach it"
    )


async def test_tls_with_a_server_that_speaks_none_is_said_plainly(server: standin.StandIn, is_brief: bool) -> None:
    config = configs.Config(server=server.url.replace("http:", "https:"), context="k", source="file")
    async with clients.Client(config, user_agent="t", is_brief=is_brief) as client:
        with pytest.raises(errors.ClusterUnavailable, match="TLS with"):
            await client.list(NODES, Item)


async def test_an_answer_that_is_no_api_servers_is_unreadable(server: standin.StandIn, asking: clients.Client) -> None:
    server.will(standin.says("<html>please log in</html>", code=200))

    with pytest.raises(errors.AnswerUnreadable):
        await asking.get(f"{NODES}/a", Item)


async def test_a_redirect_is_not_followed_with_our_token(server: standin.StandIn, asking: clients.Client) -> None:
    server.will(standin.gives({}, code=302, headers={"Location": "http://elsewhere.invalid/"}))

    with pytest.raises(errors.Invalid, match="does not redirect"):
        await asking.get(f"{NODES}/a", Item)


async def test_the_rest_of_an_object_is_dropped(server: standin.StandIn, asking: clients.Client) -> None:
    server.will(standin.gives({"metadata": {"name": "a", "managedFields": [1]}, "spec": {"b": [2]}}))

    assert msgspec.to_builtins(await asking.get(f"{NODES}/a", Item))["metadata"]["name"] == "a"


async def test_impersonation_is_sent(server: standin.StandIn, is_brief: bool) -> None:
    server.will(standin.lists(version="1"))
    config = configs.Config(server=server.url, context="k", source="f", impersonation=(("Impersonate-User", "jane"),))
    async with clients.Client(config, user_agent="seatrial/1") as client:
        await client.list(NODES, Item)

    sent = server.seen[0].headers
    assert (sent["Impersonate-User"], sent["User-Agent"]) == ("jane", "seatrial/1")


# --- watching ----------------------------------------------------------------------------------------------------


async def test_lines_are_put_together_from_any_pieces(server: standin.StandIn, to_server: clients.Client) -> None:
    whole = standin.event("ADDED", "a", "2") + b"\n" + standin.bookmark("3")
    server.will(standin.streams(*[bytes([byte]) for byte in whole]))

    added, marked = await all_events(to_server)

    assert isinstance(added, clients.WatchEvent)
    assert (added.kind, added.object.metadata.name) == (clients.EventKind.ADDED, "a")
    assert marked == clients.Bookmark(resource_version="3")


async def test_a_line_longer_than_any_buffer_is_read(server: standin.StandIn, to_server: clients.Client) -> None:
    long = json.dumps({"type": "ADDED", "object": {"metadata": {"name": "a"}, "x": "y" * 3_000_000}}).encode()
    server.will(standin.streams(long + b"\n"))

    assert len(await all_events(to_server)) == 1


async def test_half_a_line_at_the_end_is_not_an_event(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(standin.streams(standin.event("ADDED", "a", "2"), standin.event("ADDED", "b", "3")[:20]))

    assert len(await all_events(to_server)) == 1


async def test_an_error_event_is_raised_as_what_it_is(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(standin.streams(standin.error_event(410, "Expired", "too old resource version: 1 (7)")))

    with pytest.raises(errors.Gone, match="too old resource version"):
        await all_events(to_server)


DEEP = b'{"type":"ADDED","object":{"metadata":{"name":"a"},"values":' + b"[" * 5000 + b"]" * 5000 + b"}}\n"
"""An object as deep as an API server takes it, where a definition keeps what it does not know."""


@pytest.mark.parametrize("line", [b"{\n", b'{"type":"ADDED","object":[]}\n', b'{"type":"NEWS","object":{}}\n', DEEP])
async def test_an_event_we_cannot_read_is_an_error_and_never_skipped(
    server: standin.StandIn, to_server: clients.Client, line: bytes
) -> None:
    server.will(standin.streams(line))

    with pytest.raises(errors.AnswerUnreadable):
        await all_events(to_server)


@pytest.mark.parametrize("spec", ["[]", "7", "null", '{"nodeName": 7}'])
def test_an_object_whose_spec_is_none_is_known_by_its_name_all_the_same(spec: str) -> None:
    found = decoding.decoded(
        f'{{"metadata": {{"name": "m", "resourceVersion": "7"}}, "spec": {spec}}}'.encode(),
        decoding.decoder_of(kinds.NodeMaintenance),
    )
    assert isinstance(found, decoding.Undecodable)
    assert (found.object.metadata.name, found.object.metadata.resource_version) == ("m", "7")


async def test_a_silent_watch_is_cut(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(standin.streams(standin.event("ADDED", "a", "2"), then=standin.waits(server)))

    with pytest.raises(errors.WatchSilent, match=r"heard nothing from .* for 0.05 s"):
        await all_events(to_server, silent_seconds=0.05)


async def test_a_watch_cut_in_the_middle_is_an_error(server: standin.StandIn, to_server: clients.Client) -> None:
    server.will(standin.streams(standin.event("ADDED", "a", "2"), then=standin.cuts))

    with pytest.raises(errors.ClusterUnavailable, match="lost its connection"):
        await all_events(to_server)


async def test_a_cancelled_watch_leaves_no_connection_behind(
    server: standin.StandIn, to_server: clients.Client
) -> None:
    server.will(standin.streams(standin.event("ADDED", "a", "2"), then=standin.waits(server)))
    task = asyncio.create_task(all_events(to_server))
    await server.until(1)

    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
