"""The contract of forges, against stands in the shapes of Gitea, GitHub and GitLab; shapes/README.md says whose."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from seatrial.adapters.forge.forge import HttpForge
from seatrial.adapters.forge.places import API_PATHS, Kind, Place
from tests.adapters.forge.contract import Contract, Stage
from tests.adapters.forge.stand import PROJECT, TOKEN, Stand, commit_of
from tests.adapters.http.test_webhook import serving


def a_token(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "token").write_text(f"{text}\n")
    return folder


def a_stage(stand: Stand, url: str, tmp_path: Path) -> Stage:
    """The stand as a stage for the contract."""
    api, wrong = url.removesuffix("/save") + API_PATHS[stand.kind], a_token(tmp_path / "wrong", "not-the-right-one")

    def forge(token: Path) -> HttpForge:
        return HttpForge(Place(kind=stand.kind, api=api, project=PROJECT, token=token), base="main")

    async def push(branch: str) -> str:
        return commit_of(branch)

    async def approve(number: int) -> None:
        stand.of(number).approved = True

    async def merge(number: int) -> None:
        stand.of(number).state = "merged"

    async def decline(number: int) -> None:
        stand.of(number).state = "closed"

    async def fork(branch: str) -> None:
        stand.add(branch, is_forked=True)

    async def text(number: int) -> str:
        return stand.of(number).text

    return Stage(
        forge=forge(a_token(tmp_path / "token", TOKEN)),
        stranger=forge(wrong),
        push=push,
        approve=approve,
        merge=merge,
        decline=decline,
        fork=fork,
        text=text,
        token=wrong,
    )


@pytest.fixture(params=list(Kind))
async def stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Stage]:
    stand = Stand(kind=request.param)
    async with serving(stand.handle) as url:
        yield a_stage(stand, url, tmp_path)


class TestContract(Contract):
    """All of it."""
