"""How a forge is asked: briefly, nobody but it, and without a word of the token anywhere."""

from __future__ import annotations

import ssl
import traceback
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from aiohttp import web

from seatrial.adapters.forge.errors import ForgeError, ForgeRefused, ForgeUnavailable, ForgeUnclear
from seatrial.adapters.forge.forge import HttpForge
from seatrial.adapters.forge.places import API_PATHS, Kind, Place
from seatrial_lab.testbed.plane.certificates import Authority, Pair
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


# ── over TLS ─────────────────────────────────────────────────────────────────────────────────────────────────────────

OURS, OTHER = Authority.make("ours"), Authority.make("another")


@pytest.fixture
async def over_tls(tmp_path: Path) -> AsyncIterator[Scene]:
    """A forge with a certificate by ours, and a file of an authority for it."""
    (tmp_path / "token").write_text(TOKEN)
    pair = Pair(certificate=tmp_path / "server.crt", key=tmp_path / "server.key")
    OURS.issue(pair, name="forge", hosts=("127.0.0.1",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    stand, authority = Stand(kind=Kind.GITEA), tmp_path / "ca.crt"
    authority.write_bytes(OURS.pem)
    async with serving(stand.handle, context) as url:
        api = url.removesuffix("/save") + API_PATHS[stand.kind]
        place = Place(kind=stand.kind, api=api, project=PROJECT, token=tmp_path, authority=authority)
        yield Scene(stand=stand, place=place, forge=HttpForge(place, base="main"))


async def test_a_forge_is_trusted_whose_authority_is_named(over_tls: Scene) -> None:
    assert await over_tls.forge.requests(("a",)) == ()
    assert over_tls.stand.heard


@pytest.mark.parametrize("pem", [None, OTHER.pem], ids=["nobody", "another"])
async def test_a_forge_that_nobody_vouches_for_gets_no_token_and_is_told_with_the_next_step(
    over_tls: Scene, tmp_path: Path, pem: bytes | None
) -> None:
    (tmp_path / "ca.crt").write_bytes(pem or b"")
    place = over_tls.place if pem else replace(over_tls.place, authority=None)
    found = await failure_of(replace(over_tls, forge=HttpForge(place, base="main")))
    assert isinstance(found, ForgeRefused)
    assert "shows a certificate that is not trusted here: unable to get local issuer certificate" in str(found)
    assert "--git-authority" in str(found)
    assert over_tls.stand.heard == []


async def test_an_authority_of_a_forge_that_cannot_be_read_is_told_by_its_file(over_tls: Scene, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("not a certificate")
    found = await failure_of(over_tls)
    assert isinstance(found, ForgeRefused)
    assert f"{tmp_path / 'ca.crt'} holds no certificates" in str(found)
