"""While a person is waited for, everything that tells of the rollout says so, pass after pass, until they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pytest

from seatrial.core.model.campaign import Bake, Campaign, Canary, Growth, Mode, Point, RolloutPhase, Waves
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.words.conditions import conditions_of, why_of
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.nodes import new_node
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
from tests.builders import OLD, an_intent

HOUR = 3600.0
APPROVED_AT = 6 * HOUR
ASKED = "ApprovalPending"
WAITS = "somebody has to approve before the fleet follows the canary"


def wish(*approved: Point) -> Intent:
    """A canary, a bake of two hours with a round of gates every ten minutes, and a yes before the fleet follows."""
    campaign = Campaign(
        mode=Mode.DIRECT,
        canary=Canary(count=1),
        gates=(Gate(name="smoke", image="example.com/smoke:1", timeout_seconds=300.0),),
        bake=Bake(seconds=2 * HOUR, every_seconds=600.0),
        waves=Waves(growth=Growth.FIXED, first=Share(amount=4)),
        manual=(Point.WAVES,),
        approved=approved,
    )
    return an_intent(parallel_max=2, unavailable_max=5, campaign=campaign)


@dataclass(kw_only=True)
class Watch:
    """What was written of the rollout, pass after pass, each text once until it changes."""

    world: World
    told: list[RolloutRecord] = field(default_factory=list)

    def play(self, until: Callable[[], bool]) -> None:
        def look(_report: Report) -> None:
            if self.world.rollout.summary is not None:
                self.told.append(self.world.rollout)

        over: Callable[[Report], bool] = lambda _report: until()  # noqa: E731
        asyncio.run(run_forever(self.world.ports(_NoJournal()), Memory(0.0), on_report=look, is_over=over))

    def sequence(self, of: Callable[[RolloutRecord], str]) -> list[str]:
        return [text for text, _ in groupby(map(of, self.told))]


class _NoJournal:
    def append(self, at: float, kind: str, fields: Any) -> None:
        """Forget."""


def reason(record: RolloutRecord) -> str:
    return next(each.reason for each in conditions_of(record) if each.type == "Progressing")


def turn(record: RolloutRecord) -> str:
    """What is told of the nodes whose turn has not come: the next step."""
    waiting = record.summary.waiting if record.summary is not None else ()
    return next((each.next_step for each in waiting if each.code == "not-its-turn"), "")


@pytest.fixture(scope="module")
def watch() -> Watch:
    """A campaign up to hours after the end of its bake, and from its approval to its end."""
    nodes = [new_node(f"n{number}", running=OLD, wanted=OLD) for number in range(5)]
    world = World(nodes, wish(), outside=Outside(operator=outer.cluster_policy(OLD.version)), seed=3)
    found = Watch(world=world)
    found.play(lambda: world.time > APPROVED_AT)
    world.intent = wish(Point.WAVES)
    found.play(lambda: False)
    return found


def test_rounds_of_gates_go_on_while_a_person_is_waited_for(watch: Watch) -> None:
    asked = {each.campaign.round for each in watch.told if each.campaign is not None and reason(each) == ASKED}
    assert len(asked) > 10
    assert watch.told[-1].campaign is not None
    assert watch.told[-1].campaign.phase is RolloutPhase.DONE


def test_the_reason_turns_to_the_approval_once_and_away_from_it_once(watch: Watch) -> None:
    reasons = watch.sequence(reason)
    until = reasons.index(ASKED) + 1
    bake = reasons[reasons.index("GatesRunning") : until]
    assert bake == ["GatesRunning", "Baking", ASKED]
    assert ASKED not in reasons[until:]


def test_the_column_says_that_somebody_has_to_approve_until_somebody_has(watch: Watch) -> None:
    columns = watch.sequence(why_of)
    assert columns.count(WAITS) == 1
    while_asked = {why_of(each) for each in watch.told if reason(each) == ASKED}
    assert while_asked == {WAITS}


def test_the_first_thing_that_is_told_is_the_approval(watch: Watch) -> None:
    summaries = [each.summary for each in watch.told if reason(each) == ASKED]
    assert {each.told[0].code for each in summaries if each is not None} == {"approval-pending"}


def test_queued_nodes_name_the_approval_and_do_not_promise_to_follow(watch: Watch) -> None:
    while_asked = {turn(each) for each in watch.told if reason(each) == ASKED}
    assert while_asked == {"Approve with `seatrial rollout approve spring waves`."}
    before = {turn(each) for each in watch.told if reason(each) == "Baking"}
    assert before == {"It follows on its own; see `seatrial status`."}
