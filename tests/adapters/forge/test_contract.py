"""The contract of forges, against stands in the shapes of Gitea, GitHub and GitLab; shapes/README.md says whose."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.forge.forge import HttpForge
from seatrial.adapters.forge.gitlab import Gitlab
from seatrial.adapters.forge.places import API_PATHS, Kind, Place
from seatrial.adapters.forge.pulls import Gitea, Github
from seatrial.adapters.forge.shape import PAGE
from seatrial.core.model.seen.requests import Checks, CommitStatus, Review
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


async def test_no_page_is_asked_for_behind_the_last(tmp_path: Path) -> None:
    stand = Stand(kind=Kind.GITEA)
    async with serving(stand.handle) as url:
        stage = a_stage(stand, url, tmp_path)
        await stage.forge.requests((CANARY,))
    assert len(stand.heard) == 2, "one for those that are open, one for those that are closed"


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("page", ["", "https://ci.example.test/1"])
async def test_a_status_leads_to_its_page_where_it_has_one(kind: Kind, page: str, tmp_path: Path) -> None:
    stand, commit = Stand(kind=kind), commit_of(CANARY)
    async with serving(stand.handle) as url:
        forge = a_stage(stand, url, tmp_path).forge
        await forge.post(commit, CommitStatus(name="check", state=Checks.PASSED, description="12 rules", url=page))
    sent = stand.statuses[commit]["check"]
    assert (sent.get("target_url", ""), sent["description"]) == (page, "12 rules")
    assert ("target_url" in sent) is bool(page)


# ── the words of each forge ──────────────────────────────────────────────────────────────────────────────────────────


def said_by(*words: str, dismissed: bool = False) -> bytes:
    """Reviews in the order they were written: `WHO STATE`, and nobody's where an account is gone."""
    people = [each.split() for each in words]
    found: list[dict[str, Any]] = [
        {"state": state, "user": {"login": who} if who != "nobody" else None, "dismissed": dismissed}
        for who, state in people
    ]
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    ("words", "review"),
    [
        (["ada APPROVED"], Review.APPROVED),
        (["ada CHANGES_REQUESTED"], Review.CHANGES_ASKED),
        (["ada REQUEST_CHANGES"], Review.CHANGES_ASKED),
        (["ada COMMENTED"], Review.NONE),
        (["ada APPROVED", "ada COMMENTED"], Review.APPROVED),
        (["ada APPROVED", "ada DISMISSED"], Review.NONE),
        (["ada CHANGES_REQUESTED", "ada APPROVED"], Review.APPROVED),
        (["ada CHANGES_REQUESTED", "bob APPROVED"], Review.CHANGES_ASKED),
        (["nobody APPROVED"], Review.NONE),
    ],
)
def test_the_last_word_of_each_person_counts_and_a_remark_is_none(words: list[str], review: Review) -> None:
    for shape in (Gitea(), Github()):
        assert shape.review(said_by(*words)) is review
        assert shape.review(said_by(*words, dismissed=True)) is Review.NONE


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Checks.PASSED, {"gitea": "success skipped warning", "gitlab": "success skipped manual"}),
        (Checks.FAILED, {"gitea": "failure error", "gitlab": "failed canceled"}),
        (Checks.PENDING, {"gitea": "pending moonlit", "gitlab": "pending running created moonlit"}),
    ],
)
def test_every_word_for_how_a_check_stands_is_known_and_an_unknown_one_is_no_end(
    found: Checks, words: dict[str, str]
) -> None:
    for state in words["gitea"].split():
        body = json.dumps({"state": state, "total_count": 1}).encode()
        assert Gitea().checked([body]) is found
        assert Github().checked([body, b'{"check_runs": []}']) is found
    for state in words["gitlab"].split():
        assert Gitlab().checked([json.dumps([{"status": state}]).encode()]) is found
        assert Gitlab().checked([json.dumps([{"status": state, "allow_failure": True}]).encode()]) is Checks.NONE


@pytest.mark.parametrize(
    ("status", "end", "found"),
    [
        ("completed", "success", Checks.PASSED),
        ("completed", "neutral", Checks.PASSED),
        ("completed", "skipped", Checks.PASSED),
        ("completed", "failure", Checks.FAILED),
        ("completed", "cancelled", Checks.FAILED),
        ("in_progress", None, Checks.PENDING),
    ],
)
def test_a_check_run_of_github_counts_beside_statuses(status: str, end: str | None, found: Checks) -> None:
    runs = json.dumps({"check_runs": [{"status": status, "conclusion": end}]}).encode()
    assert Github().checked([b'{"state": "success", "total_count": 1}', runs]) is found
    assert Github().checked([b'{"state": "pending", "total_count": 0}', runs]) is found


class TestContract(Contract):
    """All of it."""
