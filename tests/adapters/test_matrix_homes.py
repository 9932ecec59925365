"""What every home of a matrix promises: the simulated one, and a real repository behind the controller's keeper."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from seatrial.adapters.forge.places import API_PATHS, Kind, Place
from seatrial.adapters.git.addresses import Permit, Permits
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.rollout_intent import identity_of
from seatrial.adapters.kube.shapes import models
from seatrial.controller.forges import Forges
from seatrial.controller.keeper import GitSettings, Keeper
from seatrial.core.actions.at_home import AskToMerge, CloseRequest, Message
from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.campaign import PublishStep, SourceFacts
from seatrial.core.model.seen.requests import Request, RequestState, mark_in, marked
from seatrial.ports import MatrixHome, Outcome, Result
from seatrial.sim import merging
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
from tests.adapters.forge.stand import PROJECT, TOKEN, Stand
from tests.adapters.forge.test_contract import a_token
from tests.adapters.git.remotes import git
from tests.adapters.http.test_webhook import serving
from tests.builders import NEW, OLD, POLICY
from tests.controller.git_stage import (
    BAD,
    CANARY,
    INTENT,
    PROMOTE,
    WHY,
    a_machine_of_its_own,
    a_remote,
    a_revert,
    a_rollout,
)

NO_CLUSTER = configs.Config(server="https://127.0.0.1:1", context="", source="")


class OneRollout:
    """One rollout is at work, and nobody is woken."""

    def __init__(self, rollout: models.Rollout) -> None:
        self._rollout = rollout

    def current_rollout(self) -> models.Rollout:
        return self._rollout

    def poke(self) -> None: ...


@pytest.fixture(params=["world", "repository"])
async def home(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[MatrixHome]:
    """A home whose canary entry names the new driver, and whose file carries the old one."""
    if request.param == "world":
        source = SourceFacts(head="c0", driver=NEW.version)
        yield World([], INTENT, outside=Outside(source=source, files=((POLICY, OLD.version),)))
        return
    a_machine_of_its_own(tmp_path, monkeypatch)
    remote, _ = a_remote(tmp_path / "git")
    settings = GitSettings(folder=tmp_path / "clones", permits=Permits.read([Permit.read("/")]), look_seconds=600.0)
    async with Client(NO_CLUSTER, user_agent="test-homes") as client:
        keeper = Keeper(client, settings, now=lambda: 1000.0, is_leader=lambda: True)
        async with keeper.watching(OneRollout(a_rollout(remote))):
            yield keeper


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """A home whose branch only people push to, and what they do there."""

    home: MatrixHome
    merge: Callable[[], Awaitable[None]]
    """Somebody merges what waits of the canary's step."""
    decline: Callable[[], Awaitable[None]]
    silence: Callable[[], None]
    """The forge does not answer any more."""


@pytest.fixture(params=["world", "repository"])
async def protected(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Protected]:
    """The same home behind a protected branch, on a forge."""
    if request.param == "world":
        source = SourceFacts(head="c0", driver=NEW.version)
        outside = Outside(source=source, files=((POLICY, OLD.version),), is_protected=True, has_forge=True)
        world = World([], INTENT, outside=outside)

        async def change(how: Callable[[Outside, PublishStep], Outside]) -> None:
            world.change_outside(lambda outside: how(outside, PublishStep.CANARY))

        yield Protected(
            home=world,
            merge=lambda: change(merging.merged),
            decline=lambda: change(merging.declined),
            silence=lambda: world.change_outside(lambda outside: merging.silent(outside, "it answers with 503")),
        )
        return
    a_machine_of_its_own(tmp_path, monkeypatch)
    remote, ada = a_remote(tmp_path / "git")
    stand = Stand(kind=Kind.GITEA)
    branch = f"seatrial/{identity_of(a_rollout(remote))}/canary"
    async with serving(stand.handle) as url, Client(NO_CLUSTER, user_agent="test-homes") as client:
        place = Place(
            kind=stand.kind,
            api=url.removesuffix("/save") + API_PATHS[stand.kind],
            project=PROJECT,
            token=a_token(tmp_path / "token", TOKEN),
        )
        settings = GitSettings(
            folder=tmp_path / "clones",
            permits=Permits.read([Permit.read("/")]),
            look_seconds=600.0,
            forges=OneForge(place=place),
        )
        keeper = Keeper(client, settings, now=lambda: 1000.0, is_leader=lambda: True)

        async def merge() -> None:
            git(ada.clone, "fetch", "-q", "origin")
            git(ada.clone, "merge", "-q", "--no-edit", f"origin/{branch}")
            git(ada.clone, "push", "-q", "origin", "HEAD:main")
            stand.requests[-1].state = "merged"
            await keeper.do(replace(CANARY, rollout="spring"))  # it looks anew, and finds the step done

        async def decline() -> None:
            stand.requests[-1].state = "closed"

        async with keeper.watching(OneRollout(a_rollout(remote, is_by_request=True))):
            yield Protected(
                home=keeper,
                merge=merge,
                decline=decline,
                silence=lambda: setattr(stand, "answer", lambda: web.Response(status=503)),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class OneForge(Forges):
    """Every repository lives on this one."""

    place: Place

    def place_of(self, _: str, /) -> Place:
        return self.place


def seen(home: MatrixHome) -> SourceFacts:
    facts = home.facts()
    assert facts is not None
    return facts


async def test_a_step_is_seen_once_it_is_done_and_done_once(home: MatrixHome) -> None:
    assert await home.do(CANARY) == Outcome(action=CANARY, result=Result.DONE)
    first = seen(home)
    assert first.commit_of(PublishStep.CANARY) == first.head
    assert await home.do(CANARY) == Outcome(action=CANARY, result=Result.DONE)
    assert (seen(home).head, seen(home).steps) == (first.head, first.steps)


async def test_nothing_is_done_for_another_rollout(home: MatrixHome) -> None:
    for act in (CANARY, PROMOTE, BAD):
        assert (await home.do(replace(act, rollout="winter"))).result is Result.STALE
    assert seen(home).steps == ()


async def test_what_is_taken_back_is_a_step_of_its_own(home: MatrixHome) -> None:
    await home.do(CANARY)
    assert (await home.do(a_revert(seen(home)))).result is Result.DONE
    assert [step for step, _ in seen(home).steps] == [PublishStep.CANARY, PublishStep.REVERT]


async def test_where_nothing_of_ours_is_taking_it_back_is_done_without_a_commit(home: MatrixHome) -> None:
    await home.do(replace(a_revert(SourceFacts()), commits=("0" * 40,)))
    found = seen(home)
    assert found.steps == ((PublishStep.REVERT, found.head),)


async def test_an_entry_is_marked_with_the_reason(home: MatrixHome) -> None:
    assert (await home.do(BAD)).result is Result.DONE
    assert (seen(home).bad, seen(home).commit_of(PublishStep.BAD)) == (WHY, seen(home).head)


async def test_an_entry_that_names_another_driver_is_left_alone_and_the_step_is_done(home: MatrixHome) -> None:
    assert (await home.do(replace(BAD, driver="590.44.01"))).result is Result.DONE
    found = seen(home)
    assert (found.bad, found.steps) == ("", ((PublishStep.BAD, found.head),))


async def test_a_promotion_brings_its_tag_and_once_only(home: MatrixHome) -> None:
    for _ in range(2):
        assert (await home.do(PROMOTE)).result is Result.DONE
        assert (seen(home).tag, [step for step, _ in seen(home).steps]) == (PROMOTE.tag_base, [PublishStep.PROMOTION])


# ── a branch that only people push to ────────────────────────────────────────────────────────────────────────────────

TEXT, OTHER = marked("Only n1 moves now."), marked("n1 was healthy on it for 48 hours.")
ASK = AskToMerge(rollout="spring", step=PublishStep.CANARY, message=Message(subject="Driver 580", body=TEXT))
CLOSE = CloseRequest(
    rollout="spring", step=PublishStep.CANARY, message=Message(subject="Withdrawn", body=marked("Undone."))
)


def asked(home: MatrixHome) -> list[tuple[PublishStep, RequestState, str]]:
    return [(step, each.state, each.mark) for step, each in seen(home).requests]


def the_request(home: MatrixHome) -> Request:
    ((_, found),) = seen(home).requests
    return found


async def test_a_step_waits_on_a_branch_and_nobody_was_asked_yet(protected: Protected) -> None:
    home = protected.home
    for _ in range(2):
        assert (await home.do(CANARY)).result is Result.DONE
        found = seen(home)
        assert (found.steps, [step for step, _ in found.proposals]) == ((), [PublishStep.CANARY])
        assert (found.unasked, found.requests) == ((PublishStep.CANARY,), ())


async def test_people_are_asked_once_and_the_text_can_be_brought_up_to_date(protected: Protected) -> None:
    home = protected.home
    await home.do(CANARY)
    for act in (ASK, ASK, replace(ASK, message=Message(subject="Driver 580", body=OTHER))):
        assert await home.do(act) == Outcome(action=act, result=Result.DONE)
        mark = mark_in(act.message.body)
        assert asked(home) == [(PublishStep.CANARY, RequestState.OPEN, mark)]
        assert seen(home).unasked == ()
        assert the_request(home).number == 1


async def test_what_was_never_pushed_is_asked_of_nobody(protected: Protected) -> None:
    await protected.home.do(CANARY)
    assert (await protected.home.do(replace(ASK, step=PublishStep.FLEET))).result is Result.DONE
    assert asked(protected.home) == []


@pytest.mark.parametrize("act", [ASK, CLOSE])
async def test_nobody_is_asked_for_another_rollout(protected: Protected, act: AskToMerge | CloseRequest) -> None:
    await protected.home.do(CANARY)
    assert (await protected.home.do(replace(act, rollout="winter"))).result is Result.STALE
    assert asked(protected.home) == []


async def test_what_is_merged_is_a_commit_and_nothing_waits_any_more(protected: Protected) -> None:
    home = protected.home
    await home.do(CANARY)
    await home.do(ASK)
    await protected.merge()
    found = seen(home)
    assert [step for step, _ in found.steps] == [PublishStep.CANARY]
    assert (found.proposals, found.requests, found.unasked) == ((), (), ())


async def test_what_a_person_closes_is_seen_to_be_closed_and_not_asked_anew_by_itself(protected: Protected) -> None:
    home = protected.home
    await home.do(CANARY)
    await home.do(ASK)
    await protected.decline()
    await home.do(CANARY)
    assert asked(home) == [(PublishStep.CANARY, RequestState.CLOSED, mark_in(TEXT))]
    assert (seen(home).steps, seen(home).unasked) == ((), ())


async def test_a_request_is_withdrawn_once_and_its_branch_stays(protected: Protected) -> None:
    home = protected.home
    await home.do(CANARY)
    await home.do(ASK)
    for _ in range(2):
        assert (await home.do(CLOSE)).result is Result.DONE
        assert [state for _, state, _ in asked(home)] == [RequestState.CLOSED]
    assert [step for step, _ in seen(home).proposals] == [PublishStep.CANARY]


async def test_a_request_of_another_step_is_left_open(protected: Protected) -> None:
    await protected.home.do(CANARY)
    await protected.home.do(ASK)
    assert (await protected.home.do(replace(CLOSE, step=PublishStep.FLEET))).result is Result.DONE
    assert [state for _, state, _ in asked(protected.home)] == [RequestState.OPEN]


async def test_a_forge_that_falls_silent_takes_nothing_away_and_git_is_still_seen(protected: Protected) -> None:
    home = protected.home
    await home.do(CANARY)
    await home.do(ASK)
    protected.silence()
    assert (await home.do(CLOSE)).result is Result.FAILED
    found = seen(home)
    assert [state for _, state, _ in asked(home)] == [RequestState.OPEN]
    assert ("503" in found.forge_trouble, found.trouble) == (True, "")
    await protected.merge()
    assert [step for step, _ in seen(home).steps] == [PublishStep.CANARY]
