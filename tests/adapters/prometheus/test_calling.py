"""How a Prometheus is asked: briefly, nobody but it, and without a word of the login anywhere."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from aiohttp import web

from seatrial.adapters.prometheus import calling
from seatrial.adapters.prometheus.errors import PrometheusRefused
from seatrial.adapters.prometheus.places import Place
from seatrial.adapters.prometheus.watcher import PrometheusWatcher
from seatrial.core.model.gates.telemetry import Telemetry
from tests.adapters.http.test_webhook import serving
from tests.adapters.prometheus.stage import ASKED, OurClock

TOKEN = "sesame-4711"


@dataclass(slots=True, kw_only=True)
class Stand:
    """Answers every question in the same way, and keeps what it heard."""

    answer: Callable[[], web.StreamResponse] = lambda: web.Response(status=500)
    heard: list[web.Request] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.heard.append(request)
        return self.answer()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    stand: Stand
    watcher: PrometheusWatcher

    async def look(self) -> Telemetry:
        return await self.watcher.watch({"gpu-1"}, 0.0, 60.0)

    async def why(self) -> str:
        """The one reason why nothing was measured; there is nothing else."""
        told = await self.look()
        assert told.series == ()
        assert {each.name for each in told.unmeasured} == {each.signal.name for each in ASKED}
        assert TOKEN not in repr(told)
        [why] = {each.why for each in told.unmeasured}
        return why


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    (tmp_path / "token").write_text(TOKEN)
    stand = Stand()
    async with serving(stand.handle) as url:
        # Not by Place.read, which refuses a login over plain HTTP.
        place = Place(url=url.removesuffix("/save"), secret=tmp_path)
        yield Scene(stand=stand, watcher=PrometheusWatcher(place=place, clock=OurClock(), queries=ASKED))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (302, "redirect, which is not followed"),
        (400, "does not take the query: bad ***"),
        (401, "put a new one into the secret"),
        (403, "Give the login the right"),
        (404, "what is there is no Prometheus"),
        (422, "does not take the query"),
        (429, "answers 429"),
        (503, "answers 503"),
    ],
)
async def test_a_refusal_is_a_reason_that_teaches(scene: Scene, status: int, said: str) -> None:
    scene.stand.answer = lambda: web.Response(
        status=status, headers={"Location": "https://elsewhere.example.test/"}, text=f'{{"error":"bad {TOKEN}"}}'
    )
    assert said in await scene.why()
    assert len(scene.stand.heard) == 1


@pytest.mark.parametrize("text", ["<html>Sign in</html>", "{}", "", '{"status":"success"}'])
async def test_a_page_for_people_is_no_answer(scene: Scene, text: str) -> None:
    scene.stand.answer = lambda: web.Response(text=text)
    assert "does not answer as a Prometheus does" in await scene.why()


async def test_an_answer_that_does_not_end_is_not_listened_to(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "READ_BYTES_MAX", 1000)
    scene.stand.answer = lambda: web.Response(body=b"x" * 2000)
    assert "answers with more than 1000 bytes" in await scene.why()


async def test_an_answer_that_breaks_off_is_none(scene: Scene) -> None:
    scene.stand.answer = lambda: web.Response(body=b"{", headers={"Content-Length": "100"})
    scene = replace(scene, watcher=replace(scene.watcher, timeout_seconds=1.0))
    assert "did not answer within 1 s" in await scene.why()


async def test_a_query_says_how_long_it_may_take_there_and_less_than_we_wait(scene: Scene) -> None:
    said: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        said.append((await request.post()).get("timeout", "none"))  # type: ignore[arg-type]
        return web.Response(status=500)

    async with serving(handle) as url:
        place = replace(scene.watcher.place, url=url.removesuffix("/save"))
        await replace(scene, watcher=replace(scene.watcher, place=place, timeout_seconds=10.0)).look()
    (seconds,) = {float(each.removesuffix("s")) for each in said}
    assert 1.0 <= seconds < 10.0


async def test_who_does_not_answer_is_not_waited_for(scene: Scene) -> None:
    async def hang(_: web.Request) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(hang) as url:
        place = replace(scene.watcher.place, url=url.removesuffix("/save"))
        scene = replace(scene, watcher=replace(scene.watcher, place=place, timeout_seconds=0.2))
        assert "did not answer within 0.2 s" in await scene.why()


async def test_nobody_there_is_a_reason(scene: Scene) -> None:
    place = replace(scene.watcher.place, url="http://127.0.0.1:1")
    assert "was not reached" in await replace(scene, watcher=replace(scene.watcher, place=place)).why()


async def test_the_question_is_posted_with_the_token_that_is_in_the_secret_now(scene: Scene, tmp_path: Path) -> None:
    await scene.look()
    (tmp_path / "token").write_text("another")
    await scene.look()
    assert [each.headers["Authorization"] for each in scene.stand.heard] == [f"Bearer {TOKEN}", "Bearer another"]
    assert {(each.method, each.path_qs) for each in scene.stand.heard} == {("POST", "/api/v1/query")}


async def test_a_name_and_a_password_will_do(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "token").unlink()
    (tmp_path / "username").write_text("seatrial\n")
    (tmp_path / "password").write_text("open\n")
    await scene.look()
    [heard] = scene.stand.heard
    assert base64.b64decode(heard.headers["Authorization"].removeprefix("Basic ")) == b"seatrial:open"


@pytest.mark.parametrize("text", [None, "", "two words", "caf\u00e9"])
async def test_a_secret_without_a_login_is_told_and_nobody_is_asked(
    scene: Scene, tmp_path: Path, text: str | None
) -> None:
    (tmp_path / "token").unlink()
    if text is not None:
        (tmp_path / "token").write_text(text, encoding="utf-8")
    assert str(tmp_path) in await scene.why()
    assert scene.stand.heard == []


async def test_an_authority_that_cannot_be_read_is_told(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("nothing")
    place = replace(scene.watcher.place, authority=tmp_path / "ca.crt")
    why = await replace(scene, watcher=replace(scene.watcher, place=place)).why()
    assert "holds no certificates that can be read" in why


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("prometheus:9090", "not an address"),
        ("ftp://prometheus", "not an address"),
        ("https://prometheus?x=1", "not an address"),
        ("https://prometheus:port", "not an address"),
        ("https://me:word@prometheus", "A login in the address"),
        ("http://prometheus:9090", "readable on the way"),
    ],
)
def test_an_address_where_a_login_would_go_astray_is_refused(url: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(PrometheusRefused, match=said):
        Place.read(url, secret=tmp_path)


@pytest.mark.parametrize(
    "matchers", ["tenants", 'job="dcgm', 'job="dcgm"} or {x="y"', 'job="dcgm",,x="y"', "job=~dcgm"]
)
def test_matchers_that_would_mean_something_else_are_refused(matchers: str) -> None:
    with pytest.raises(PrometheusRefused, match="which series count"):
        Place.read("http://prometheus:9090", matchers=matchers)


def test_a_slash_at_the_end_means_nothing() -> None:
    assert Place.read("https://metrics.example.test/prometheus/").url == "https://metrics.example.test/prometheus"
