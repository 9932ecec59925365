"""The contract of forges, against stands in the shapes of Gitea, GitHub and GitLab; shapes/README.md says whose."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from seatrial.adapters.forge.forge import HttpForge
from seatrial.adapters.forge.places import API_PATHS, Kind, Place
from seatrial.adapters.forge.shape import PAGE
from seatrial.core.model.seen.requests import Review
from tests.adapters.forge.contract import CANARY, TEXT, Contract, Stage, the_one
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


@pytest.mark.parametrize("kind", list(Kind))
async def test_what_another_opened_since_we_looked_is_the_request_and_not_opened_again(
    kind: Kind, tmp_path: Path
) -> None:
    stand = Stand(kind=kind, rival=CANARY)
    async with serving(stand.handle) as url:
        opened = await a_stage(stand, url, tmp_path).forge.open(CANARY, title="Driver 580", text=TEXT)
    assert (opened.number, opened.branch) == (1, CANARY)
    assert [each.title for each in stand.requests] == ["by another"]


@pytest.mark.parametrize("kind", [Kind.GITEA, Kind.GITHUB])
async def test_an_approval_counts_also_after_many_remarks(kind: Kind, tmp_path: Path) -> None:
    stand = Stand(kind=kind, remark_count=PAGE - 1)
    async with serving(stand.handle) as url:
        stage = a_stage(stand, url, tmp_path)
        opened = await stage.forge.open(CANARY, title="Driver 580", text=TEXT)
        await stage.approve(opened.number)
        assert (await the_one(stage)).review is Review.APPROVED


class TestContract(Contract):
    """All of it."""
