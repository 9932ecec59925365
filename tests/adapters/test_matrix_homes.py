"""What every home of a matrix promises: the simulated one, and a real repository behind the controller's keeper."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from seatrial.adapters.git.addresses import Permit, Permits
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import models
from seatrial.controller.keeper import GitSettings, Keeper
from seatrial.core.model.campaign import PublishStep, SourceFacts
from seatrial.ports import MatrixHome, Outcome, Result
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
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
        keeper = Keeper(client, settings, now=lambda: 1000.0)
        async with keeper.watching(OneRollout(a_rollout(remote))):
            yield keeper


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
