"""How a forge is asked: briefly, nobody but it, and without a word of the token anywhere."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

from seatrial.adapters.forge.errors import ForgeError, ForgeRefused, ForgeUnavailable, ForgeUnclear
from seatrial.adapters.forge.forge import HttpForge
from seatrial.adapters.forge.places import API_PATHS, Kind, Place
from tests.adapters.forge.stand import PROJECT, TOKEN, Stand
from tests.adapters.http.test_webhook import serving


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    stand: Stand
    place: Place
    forge: HttpForge


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    (tmp_path / "token").write_text(TOKEN)
    stand = Stand(kind=Kind.GITHUB)
    async with serving(stand.handle) as url:
        api = url.removesuffix("/save") + API_PATHS[stand.kind]
        place = Place(kind=stand.kind, api=api, project=PROJECT, token=tmp_path)
        yield Scene(stand=stand, place=place, forge=HttpForge(place, base="main"))


async def failure_of(scene: Scene) -> ForgeError:
    with pytest.raises(ForgeError) as caught:
        await scene.forge.requests(("seatrial/a/canary",))
    assert TOKEN not in "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    return caught.value


async def test_a_redirect_is_not_followed(scene: Scene) -> None:
    scene.stand.answer = lambda: web.Response(status=302, headers={"Location": "https://elsewhere.example.test/"})
    found = await failure_of(scene)
    assert isinstance(found, ForgeRefused)
    assert "redirect" in str(found)
    assert len(scene.stand.heard) == 1


@pytest.mark.parametrize(
    ("status", "headers"),
    [(500, {}), (503, {}), (429, {}), (403, {"X-RateLimit-Remaining": "0"}), (403, {"Retry-After": "60"})],
)
async def test_who_is_overburdened_is_asked_again_later(scene: Scene, status: int, headers: dict[str, str]) -> None:
    scene.stand.answer = lambda: web.Response(status=status, headers=headers)
    assert isinstance(await failure_of(scene), ForgeUnavailable)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_a_refusal_that_repeats_the_token_is_told_without_it(scene: Scene, status: int) -> None:
    scene.stand.answer = lambda: web.Response(status=status, text=f"bad credentials: {TOKEN}\n\x1b[31m")
    found = await failure_of(scene)
    assert isinstance(found, ForgeRefused)
    assert "***" in str(found)
    assert "\x1b" not in str(found)


@pytest.mark.parametrize("text", ["<html>Sign in</html>", "{}", '[{"number": 1}]', ""])
async def test_an_answer_in_another_shape_is_unclear(scene: Scene, text: str) -> None:
    scene.stand.answer = lambda: web.Response(text=text)
    assert isinstance(await failure_of(scene), ForgeUnclear)


async def test_nobody_there_is_unavailable(scene: Scene, tmp_path: Path) -> None:
    place = Place(kind=Kind.GITEA, api="http://127.0.0.1:1/api/v1", project=PROJECT, token=tmp_path)
    with pytest.raises(ForgeUnavailable, match="was not reached"):
        await HttpForge(place, base="main").requests(("a",))


async def test_a_token_that_is_replaced_is_used_at_once(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("yesterday")
    with pytest.raises(ForgeRefused):
        await scene.forge.requests(("a",))
    (tmp_path / "token").write_text(TOKEN)
    assert await scene.forge.requests(("a",)) == ()


@pytest.mark.parametrize("text", [None, "", "two words", "caf\u00e9"])
async def test_a_secret_without_a_token_is_told_and_nobody_is_asked(
    scene: Scene, tmp_path: Path, text: str | None
) -> None:
    (tmp_path / "token").unlink()
    if text is not None:
        (tmp_path / "token").write_text(text, encoding="utf-8")
    with pytest.raises(ForgeRefused, match="token"):
        await scene.forge.requests(("a",))
    assert scene.stand.heard == []
