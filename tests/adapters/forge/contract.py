"""What every forge promises, whichever shape it speaks: collected by test_contract.py, and by tests/forge for real."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from seatrial.adapters.forge.errors import ForgeRefused
from seatrial.adapters.forge.forge import HttpForge
from seatrial.core.model.seen.requests import Checks, CommitStatus, Request, RequestState, Review, mark_in, marked
from seatrial.ports import Forge

CANARY, FLEET = "seatrial/spring-1a2b3c4d/canary", "seatrial/spring-1a2b3c4d/fleet"
TEXT = marked("Only node-3 moves now.\n\n- passed: smoke-train")
OTHER = marked("node-3 was healthy on it for 48 hours.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A repository on a forge, in which people do what people do."""

    forge: Forge
    stranger: HttpForge
    """One with a token that counts for nothing."""
    push: Callable[[str], Awaitable[str]]
    """Push a branch with a commit of its own; the commit is returned."""
    approve: Callable[[int], Awaitable[None]]
    merge: Callable[[int], Awaitable[None]]
    decline: Callable[[int], Awaitable[None]]
    fork: Callable[[str], Awaitable[None]]
    """Somebody asks to merge a branch of this name from a repository of their own."""
    text: Callable[[int], Awaitable[str]]
    token: Path


async def the_one(stage: Stage, branch: str = CANARY) -> Request:
    (found,) = await stage.forge.requests((branch,))
    return found


class Contract:
    """One test per promise."""

    async def test_where_nobody_asked_nothing_is_found(self, stage: Stage) -> None:
        await stage.push(CANARY)
        assert await stage.forge.requests((CANARY, FLEET)) == ()
        assert await stage.forge.requests(()) == ()

    async def test_a_request_is_opened_and_found_by_its_branch(self, stage: Stage) -> None:
        commit = await stage.push(CANARY)
        opened = await stage.forge.open(CANARY, title="Driver 580 for the canary", text=TEXT)
        found = await the_one(stage)
        assert (found.number, found.url, found.branch) == (opened.number, opened.url, CANARY)
        assert (found.state, found.review, found.checks) == (RequestState.OPEN, Review.NONE, Checks.NONE)
        assert (found.commit, found.mark) == (commit, mark_in(TEXT))
        assert found.url.startswith("http")
        assert found.opened_at > 0

    async def test_what_is_open_already_is_not_opened_again(self, stage: Stage) -> None:
        await stage.push(CANARY)
        first = await stage.forge.open(CANARY, title="Driver 580", text=TEXT)
        second = await stage.forge.open(CANARY, title="Driver 580", text=OTHER)
        assert second.number == first.number
        assert mark_in(await stage.text(first.number)) == mark_in(TEXT)

    async def test_each_branch_has_its_own_request(self, stage: Stage) -> None:
        for branch in (CANARY, FLEET):
            await stage.push(branch)
            await stage.forge.open(branch, title=branch, text=TEXT)
        assert [each.branch for each in await stage.forge.requests((FLEET, CANARY))] == [FLEET, CANARY]

    async def test_a_text_is_written_anew(self, stage: Stage) -> None:
        await stage.push(CANARY)
        opened = await stage.forge.open(CANARY, title="Driver 580", text=TEXT)
        await stage.forge.write(opened.number, title="Driver 580", text=OTHER)
        found = await the_one(stage)
        assert (found.state, found.mark) == (RequestState.OPEN, mark_in(OTHER))

    async def test_a_request_is_closed_with_the_reason_in_its_text(self, stage: Stage) -> None:
        await stage.push(CANARY)
        opened = await stage.forge.open(CANARY, title="Driver 580", text=TEXT)
        await stage.forge.close(opened.number, title="Driver 580", text="Reverted: the gate failed.")
        assert (await the_one(stage)).state is RequestState.CLOSED
        assert await stage.text(opened.number) == "Reverted: the gate failed."

    async def test_what_a_person_merged_is_merged(self, stage: Stage) -> None:
        await stage.push(CANARY)
        opened = await stage.forge.open(CANARY, title="Driver 580", text=TEXT)
        await stage.approve(opened.number)
        assert (await the_one(stage)).review is Review.APPROVED
        await stage.merge(opened.number)
        assert (await the_one(stage)).state is RequestState.MERGED

    async def test_what_a_person_closed_is_closed_until_it_is_asked_anew(self, stage: Stage) -> None:
        await stage.push(CANARY)
        opened = await stage.forge.open(CANARY, title="Driver 580", text=TEXT)
        await stage.decline(opened.number)
        assert (await the_one(stage)).state is RequestState.CLOSED
        again = await stage.forge.open(CANARY, title="Driver 580", text=TEXT)
        assert again.number != opened.number
        assert ((await the_one(stage)).state, (await the_one(stage)).number) == (RequestState.OPEN, again.number)

    async def test_a_branch_of_the_same_name_in_a_fork_is_not_ours(self, stage: Stage) -> None:
        await stage.fork(CANARY)
        assert await stage.forge.requests((CANARY,)) == ()

    async def test_statuses_are_shown_and_a_later_one_takes_the_place(self, stage: Stage) -> None:
        commit = await stage.push(CANARY)
        await stage.forge.open(CANARY, title="Driver 580", text=TEXT)
        for state in (Checks.PENDING, Checks.FAILED, Checks.PASSED):
            await stage.forge.post(commit, CommitStatus(name="seatrial check", state=state, description="12 rules"))
            assert (await the_one(stage)).checks is state
        await stage.forge.post(
            commit, CommitStatus(name="another", state=Checks.FAILED, url="https://ci.example.test/1")
        )
        assert (await the_one(stage)).checks is Checks.FAILED

    async def test_a_status_is_for_a_whole_commit(self, stage: Stage) -> None:
        for odd in ("HEAD", "../../user", "abc123"):
            with pytest.raises(ForgeRefused, match="is not a commit"):
                await stage.forge.post(odd, CommitStatus(name="x", state=Checks.PASSED))

    async def test_a_token_that_counts_for_nothing_is_refused_and_not_repeated(self, stage: Stage) -> None:
        with pytest.raises(ForgeRefused, match="refuses") as caught:
            await stage.stranger.open(CANARY, title="Driver 580", text=TEXT)
        said = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
        assert (stage.token / "token").read_text().strip() not in said
