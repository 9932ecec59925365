"""Whether an image exists, asked of a registry over HTTP: what is sent, what is heard, and whom nothing is told."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from seatrial.adapters.http import registry
from seatrial.adapters.http.registry import Presence

DRIVER, TAG = "nvidia/driver", "580.105.08-ubuntu22.04"


@dataclass(slots=True, kw_only=True)
class Registry:
    """Serves the part of the OCI distribution API that tells whether a manifest is there."""

    wants_pass: bool = False
    gives_pass: bool = True
    realm: str = ""
    moved_to: str = ""
    host: str = ""
    seen: list[tuple[str, str, str]] = field(default_factory=list)
    """Method, path and query, and what came as Authorization."""

    async def manifest(self, request: web.Request) -> web.Response:
        login = request.headers.get("Authorization", "")
        self.seen.append((request.method, request.path_qs, login))
        if self.moved_to:
            return web.Response(status=307, headers={"Location": self.moved_to})
        if self.wants_pass and login != "Bearer for-everybody":
            realm = self.realm or f"http://{self.host}/token"
            told = f'Bearer realm="{realm}",service="here",scope="repository:*:*"'
            return web.Response(status=401, headers={"WWW-Authenticate": told})
        is_there = request.match_info["path"] == DRIVER and request.match_info["tag"] == TAG
        return web.Response(status=200 if is_there else 404)

    async def token(self, request: web.Request) -> web.Response:
        self.seen.append((request.method, request.path_qs, request.headers.get("Authorization", "")))
        return web.json_response({"token": "for-everybody"}) if self.gives_pass else web.Response(status=401)


@asynccontextmanager
async def serving(served: Registry) -> AsyncIterator[Registry]:
    app = web.Application()
    app.router.add_get("/v2/{path:.*}/manifests/{tag}", served.manifest)
    app.router.add_get("/token", served.token)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    served.host = f"127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield served
    finally:
        await runner.cleanup()


async def test_an_image_that_is_there_exists_and_another_does_not() -> None:
    async with serving(Registry()) as served:
        there = await registry.look_up(f"{served.host}/{DRIVER}:{TAG}")
        gone = await registry.look_up(f"{served.host}/{DRIVER}:999.1.2-ubuntu22.04")
    assert (there.presence, gone.presence) == (Presence.EXISTS, Presence.MISSING)
    assert gone.why == f"{served.host} says 404, it has no such image"
    assert served.seen[0] == ("HEAD", f"/v2/{DRIVER}/manifests/{TAG}", "")


async def test_where_everybody_gets_a_pass_it_is_fetched_for_this_image_alone() -> None:
    async with serving(Registry(wants_pass=True)) as served:
        there = await registry.look_up(f"{served.host}/{DRIVER}:{TAG}")
        gone = await registry.look_up(f"{served.host}/{DRIVER}:0")
    assert (there.presence, gone.presence) == (Presence.EXISTS, Presence.MISSING)
    asked = [query for method, query, _ in served.seen if method == "GET"]
    assert asked == ["/token?service=here&scope=repository:nvidia/driver:pull"] * 2


@pytest.mark.parametrize("realm", ["", "http://registry.example.com/token", "ftp://127.0.0.1/token"])
async def test_an_image_behind_a_login_is_not_known(realm: str) -> None:
    async with serving(Registry(wants_pass=True, gives_pass=False, realm=realm)) as served:
        found = await registry.look_up(f"{served.host}/{DRIVER}:{TAG}")
    assert found.presence is Presence.UNKNOWN
    assert found.why == f"{served.host} wants a login (401), and none is used here"
    assert len(served.seen) == (1 if realm else 2), "a pass is asked for where nobody can listen, and nowhere else"


async def test_a_redirect_is_not_followed() -> None:
    async with serving(Registry()) as other, serving(Registry(moved_to=f"http://{other.host}/v2/a/manifests/b")) as one:
        found = await registry.look_up(f"{one.host}/{DRIVER}:{TAG}")
    assert (found.presence, other.seen) == (Presence.UNKNOWN, [])
    assert "redirect (307), and none is followed" in found.why


async def test_where_nobody_answers_it_is_not_known() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        found = await registry.look_up(f"127.0.0.1:{taken.getsockname()[1]}/{DRIVER}:{TAG}")
        taken.listen()
        slow = await registry.look_up(f"127.0.0.1:{taken.getsockname()[1]}/a:1", timeout_seconds=0.1)
    assert (found.presence, slow.presence) == (Presence.UNKNOWN, Presence.UNKNOWN)
    assert "was not reached" in found.why
    assert "did not answer within 0.1 s" in slow.why


@pytest.mark.parametrize("name", ["", "nvcr.io/nvidia/driver:*", "nvcr.io/*/driver:1", "a b", "https://nvcr.io/a:1"])
async def test_what_is_no_name_of_an_image_is_asked_of_nobody(name: str) -> None:
    assert (await registry.look_up(name)).why == "that is not the name of an image"
