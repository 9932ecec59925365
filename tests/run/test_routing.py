"""Every act goes to its port, one try each, and only while we lead."""

from __future__ import annotations

import asyncio
import typing
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import AskToMerge, CloseRequest, MarkBad, Promote, Publish, RevertCommits
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.actions.on_nodes import AskCheckpoint, Cordon
from seatrial.core.model.campaign import SourceFacts, Via
from seatrial.ports import Outcome, Result
from seatrial.run.routing import IN_FLIGHT_MAX, Router, Routes
from tests.core.words.test_announce import LINES

ACTS = [act for act, _ in LINES]
(ASK,) = (act for act in ACTS if isinstance(act, AskCheckpoint) and act.webhook)
TOO_LATE = "another controller leads by now"


@dataclass(slots=True)
class Place:
    """Does whatever it gets, and remembers it."""

    name: str
    log: list[tuple[str, Action]]
    result: Result = Result.DONE

    def facts(self) -> SourceFacts | None:
        return None

    async def do(self, act: Action, /) -> Outcome:
        self.log.append((self.name, act))
        return Outcome(action=act, result=self.result)

    measure = ask = do


@dataclass(slots=True)
class Stage:
    """A router before four places."""

    webhook_says: Result = Result.DONE
    is_leader: Callable[[], bool] = lambda: True
    log: list[tuple[str, Action]] = field(default_factory=list)
    told: list[Outcome] = field(default_factory=list)
    end_count: int = 0

    def router(self) -> Router:
        routes = Routes(
            cluster=Place("cluster", self.log),
            home=Place("home", self.log),
            measurer=Place("measurer", self.log),
            webhook=Place("webhook", self.log, self.webhook_says),
        )
        return Router(routes, is_leader=self.is_leader, on_outcome=self.told.append, on_end=self._end)

    def _end(self) -> None:
        self.end_count += 1

    async def outcome_of(self, act: Action) -> Outcome:
        router = self.router()
        router.submit(act)
        assert router.in_flight() == {act.subject}
        await router.drain(5)
        assert router.in_flight() == frozenset()
        (outcome,) = router.collect()
        assert router.collect() == ()
        return outcome

    @property
    def places(self) -> list[str]:
        return [name for name, _ in self.log]


def places_of(act: Action) -> list[str]:
    match act:
        case Publish(via=Via.GIT) | RevertCommits() | MarkBad() | Promote() | AskToMerge() | CloseRequest():
            return ["home"]
        case StartProbe():
            return ["measurer"]
        case AskCheckpoint(webhook=address) if address:
            return ["webhook", "cluster"]
        case _:
            return ["cluster"]


@pytest.mark.parametrize("act", ACTS, ids=lambda act: type(act).__name__)
async def test_every_act_goes_to_its_port_and_its_end_is_told(act: Action) -> None:
    stage = Stage()
    outcome = await stage.outcome_of(act)
    assert outcome == Outcome(action=act, result=Result.DONE)
    assert (stage.places, stage.told, stage.end_count) == (places_of(act), [outcome], 1)


def test_every_kind_of_act_is_sent_above() -> None:
    assert {type(act) for act in ACTS} == set(typing.get_args(Action))


@pytest.mark.parametrize("act", ACTS, ids=lambda act: type(act).__name__)
async def test_who_does_not_lead_does_nothing_and_tells_it(act: Action) -> None:
    stage = Stage(is_leader=lambda: False)
    outcome = await stage.outcome_of(act)
    assert outcome == Outcome(action=act, result=Result.STALE, detail=TOO_LATE)
    assert (stage.log, stage.told) == ([], [outcome])


async def test_a_webhooks_no_is_written_nowhere() -> None:
    stage = Stage(webhook_says=Result.BLOCKED)
    assert (await stage.outcome_of(ASK)).result is Result.BLOCKED
    assert stage.places == ["webhook"]


async def test_who_lost_the_lead_while_a_webhook_answered_writes_nothing() -> None:
    stage = Stage()
    stage.is_leader = lambda: not stage.log
    assert await stage.outcome_of(ASK) == Outcome(action=ASK, result=Result.STALE, detail=TOO_LATE)
    assert stage.places == ["webhook"]


async def test_more_acts_than_are_done_at_once_are_all_under_way_and_collected_once() -> None:
    router = Stage().router()
    acts = [replace(ASK, node=f"n{number}") for number in range(2 * IN_FLIGHT_MAX + 20)]
    for act in acts:
        router.submit(act)
    assert len(router.in_flight()) == len(acts)
    await router.drain(10)
    assert {outcome.action.subject for outcome in router.collect()} == {act.node for act in acts}
    assert router.collect() == ()


@dataclass(slots=True)
class Busy(Place):
    """A place that answers when it is let."""

    until: asyncio.Event = field(default_factory=asyncio.Event)

    async def do(self, act: Action, /) -> Outcome:
        self.log.append((self.name, act))
        await self.until.wait()
        return Outcome(action=act, result=Result.DONE)

    measure = ask = do


async def test_an_act_that_waited_for_others_is_not_sent_after_the_lease_was_lost() -> None:
    busy, leads = Busy("busy", []), [True]
    router = Router(
        Routes(cluster=busy, home=busy, measurer=busy, webhook=busy),
        is_leader=lambda: leads[-1],
        on_outcome=lambda _outcome: None,
        on_end=lambda: None,
    )
    cordon = next(act for act in ACTS if isinstance(act, Cordon))
    for number in range(IN_FLIGHT_MAX + 3):
        router.submit(replace(cordon, node=f"n{number}"))
    while len(busy.log) < IN_FLIGHT_MAX:
        await asyncio.sleep(0)
    leads.append(False)
    busy.until.set()
    await router.drain(5)
    assert [outcome.result for outcome in router.collect()].count(Result.STALE) == 3
    assert len(busy.log) == IN_FLIGHT_MAX


async def test_a_bug_of_ours_is_raised_where_outcomes_are_collected() -> None:
    stage = Stage()
    stage.is_leader = lambda: 1 / 0 > 0
    router = stage.router()
    router.submit(ASK)
    await router.drain(5)
    with pytest.raises(ZeroDivisionError):
        router.collect()
