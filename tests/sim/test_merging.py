"""A protected branch in World: whole campaigns by pull requests, to the tag and back, and what a no comes to."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import PublishStep, RolloutPhase, Via
from seatrial.run.loop import run_forever
from seatrial.run.memory import Memory
from seatrial.sim import merging
from seatrial.sim.outside import GateFate, Outside
from seatrial.sim.world import World
from tests.builders import NEW, OLD
from tests.sim.test_outside import BACK, REPOSITORY, Acts, a_world, drivers, phases, play

ASKED = replace(REPOSITORY, is_protected=True, has_forge=True)
TOLD = replace(ASKED, has_forge=False)


def holds(world: World) -> set[str]:
    summary = world.rollout.summary
    return {code for code, _ in summary.holds} if summary is not None else set()


@pytest.mark.parametrize(("outside", "asks"), [(ASKED, 2), (TOLD, 0)])
def test_a_campaign_goes_to_its_tag_when_people_merge_each_step(outside: Outside, asks: int) -> None:
    world = a_world(outside, Via.GIT)
    acts = play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
    assert drivers(world) == [NEW.version] * 4
    source = world.outside.source
    assert source is not None
    assert [step for step, _ in source.steps] == [PublishStep.CANARY, PublishStep.PROMOTION]
    assert (world.outside.waiting, source.proposals, source.requests) == ((), (), ())
    assert len(world.outside.tags) == 1
    assert acts.names.count("AskToMerge") == asks


@pytest.mark.parametrize("outside", [ASKED, TOLD])
def test_a_campaign_that_fails_goes_back_when_people_merge_that(outside: Outside) -> None:
    world = a_world(outside, Via.GIT, gate_fates={"smoke": GateFate(fails_on=NEW.version)})
    play(world)
    assert phases(world)[-2:] == BACK
    assert drivers(world) == [OLD.version] * 4
    assert world.outside.source is not None
    assert [step for step, _ in world.outside.source.steps] == [
        PublishStep.CANARY,
        PublishStep.REVERT,
        PublishStep.BAD,
    ]


class Asked(World):
    """A world in which the one who is asked answers as the test says."""

    says: str = "no"

    def _merge(self, step: PublishStep) -> None:
        match self.says:
            case "no":
                self.outside = merging.declined(self.outside, step)
            case "yes":
                super()._merge(step)


def an_asked_world(says: str) -> Asked:
    made = a_world(ASKED, Via.GIT)
    world = Asked(list(made.nodes.values()), made.intent, outside=made.outside)
    world.says = says
    return world


def reject(world: World) -> Acts:
    """Somebody undoes it, and wants nobody to use the version."""
    campaign = world.intent.campaign
    assert campaign is not None
    world.intent = replace(world.intent, campaign=replace(campaign, abort="not this one", marks_bad=True))
    return play(world)


def test_a_no_is_told_and_nothing_moves_until_the_rollout_is_aborted() -> None:
    world = an_asked_world("no")
    play(world)
    assert phases(world)[-1] is RolloutPhase.CANARY
    assert HoldCode.REQUEST_DECLINED in holds(world)
    acts = reject(world)
    assert phases(world)[-2:] == BACK
    assert (drivers(world), acts.names.count("CloseRequest")) == ([OLD.version] * 4, 0)
    assert world.outside.source is not None
    assert world.outside.source.bad == "", "nobody wanted the mark, either"


def test_a_request_that_nobody_answers_is_overdue_and_an_abort_withdraws_it() -> None:
    world = an_asked_world("nothing")
    end = 4 * 24 * 3600.0
    asyncio.run(
        run_forever(
            world.ports(Acts()), Memory(world.time), on_report=lambda _: None, is_over=lambda _: world.time > end
        )
    )
    assert HoldCode.MERGE_OVERDUE in holds(world)
    world.says = "yes"
    world.change_outside(lambda outside: replace(outside, is_protected=True))
    acts = reject(world)
    assert phases(world)[-2:] == BACK
    assert drivers(world) == [OLD.version] * 4
    assert acts.names.count("CloseRequest") == 1
    assert world.outside.source is not None
    assert [step for step, _ in world.outside.source.steps] == [PublishStep.BAD]


def test_a_forge_that_does_not_answer_is_told_and_the_campaign_goes_on_when_it_does() -> None:
    world = a_world(merging.silent(ASKED, "it answers with 503"), Via.GIT)
    asyncio.run(
        run_forever(
            world.ports(Acts()), Memory(world.time), on_report=lambda _: None, is_over=lambda _: world.time > 3600.0
        )
    )
    assert HoldCode.FORGE_UNREACHABLE in holds(world)
    assert drivers(world) == [OLD.version] * 4
    world.change_outside(lambda outside: merging.silent(outside, ""))
    play(world)
    assert phases(world)[-1] is RolloutPhase.DONE
