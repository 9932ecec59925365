"""A rollout that has DaemonSets replace no pod by themselves: it begins, says so, and watches that it is so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.at_home import Publish
from seatrial.core.compat.matrix import Component
from seatrial.core.decision import stops
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import PublishStep, RolloutPhase, Via
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.target import Target
from seatrial.core.movers import publishing
from seatrial.core.movers.view import View
from seatrial.sim import outside as outer
from seatrial.sim.operand_pods import carrying, with_operands
from seatrial.sim.outside import Outside
from tests.builders import (
    NEW,
    NOW,
    OLD,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_snapshot,
    a_view,
    an_intent,
    an_operator,
    with_repository,
)
from tests.builders import an_old_node as an_old_driver

TARGET = Target.of(NEW.version, (Component.CONTAINER_TOOLKIT, "v1.18.1"))
WANTED = TARGET.published
BEFORE = (("container_toolkit", "v1.17.8"),)
BACK = ((POLICY, f"{OLD.version}, container_toolkit v1.17.8"),)
AFTER = (("container_toolkit", "v1.18.1"),)


def a_policy(version: str = OLD.version, *, strategy: str = "", note: str = "", **changes: Any) -> OperatorFacts:
    """An operator whose toolkit rolls by itself unless somebody says otherwise."""
    found = an_operator(version, **{"rolling": (Operand.TOOLKIT,), **changes})
    parts = BEFORE if version == OLD.version else AFTER
    carrier = replace(found.carriers[0], parts=parts, strategy=strategy, note=note or "spring/revert/900")
    return replace(found, carriers=(carrier,))


def an_old_node(toolkit: str = "v1.17.8") -> NodeSeen:
    """A node whose toolkit is old, and whose DaemonSet wants this one."""
    node = an_old_driver()
    facts = with_operands(node.facts, ((Operand.TOOLKIT, "v1.17.8"),))
    return replace(node, facts=carrying(facts, {"container_toolkit": toolkit}))


def stopped(
    operator: OperatorFacts, phase: RolloutPhase = RolloutPhase.CANARY, *, toolkit: str = "v1.18.1", asked: bool = True
) -> bool:
    seen = a_snapshot(an_old_node(toolkit), operator=operator, campaign=a_campaign_record(phase))
    campaign = a_campaign(publish=Via.DIRECT, sets_on_delete=asked)
    found = stops.why_stopped(seen, an_intent(target=TARGET, campaign=campaign), NOW)
    return found is not None and found.code is HoldCode.ROLLS_BY_ITSELF


def a_pass(operator: OperatorFacts, *, asked: bool = True, via: Via = Via.DIRECT, **changes: Any) -> View:
    record = a_campaign_record(RolloutPhase.CANARY, baseline=BACK)
    seen = a_snapshot(an_old_node(), operator=operator, campaign=record, **changes)
    return a_view(seen, an_intent(target=TARGET, campaign=a_campaign(publish=via, sets_on_delete=asked)))


def written(found: View, step: PublishStep, *versions: tuple[str, str]) -> Publish:
    (act,), _ = publishing.publish(found, step, versions)
    assert isinstance(act, Publish)
    return act


def test_a_rollout_that_sets_it_begins_although_operands_roll_by_themselves() -> None:
    assert not stopped(a_policy(), RolloutPhase.PROPOSED)
    assert not stopped(a_policy(), RolloutPhase.CANARY, toolkit="v1.17.8"), "what it publishes is on its way"
    assert stopped(a_policy(), RolloutPhase.PROPOSED, asked=False)


def test_between_its_write_and_the_new_template_nothing_is_wrong() -> None:
    assert not stopped(a_policy(NEW.version, strategy="OnDelete"), toolkit="v1.17.8")


@pytest.mark.parametrize("phase", [RolloutPhase.CANARY, RolloutPhase.BAKING, RolloutPhase.WAVING])
def test_once_its_version_is_out_a_daemon_set_that_rolls_by_itself_stops_it(phase: RolloutPhase) -> None:
    assert stopped(a_policy(NEW.version, strategy="OnDelete"), phase)
    assert stopped(a_policy(NEW.version, strategy="RollingUpdate"), phase), "somebody put it back"
    assert not stopped(a_policy(NEW.version, strategy="OnDelete", rolling=()), phase)


@pytest.mark.parametrize(
    ("operator", "asked", "on_delete"),
    [
        (a_policy(), True, True),
        (a_policy(strategy="RollingUpdate"), True, True),
        (a_policy(strategy="OnDelete"), True, False),
        (a_policy(), False, False),
    ],
)
def test_the_strategy_is_written_with_the_version_where_it_is_asked_for(
    operator: OperatorFacts, asked: bool, on_delete: bool
) -> None:
    act = written(a_pass(operator, asked=asked), PublishStep.CANARY, (POLICY, WANTED))
    assert (act.versions, act.on_delete) == (((POLICY, WANTED),), on_delete)


def test_published_is_published_with_the_strategy() -> None:
    _, holds = publishing.await_carried(a_pass(a_policy(NEW.version)), PublishStep.CANARY, ((POLICY, WANTED),))
    assert [held.code for held in holds] == [HoldCode.PUBLISH_PENDING]


def test_somebody_who_puts_the_strategy_back_after_us_is_named_and_not_fought() -> None:
    operator = a_policy(NEW.version, strategy="RollingUpdate", note="spring/canary")
    acts, (held,) = publishing.publish(a_pass(operator), PublishStep.CANARY, ((POLICY, WANTED),))
    assert (acts, held.code) == ((), HoldCode.TAKEN_OVER)
    told = dict(held.params)
    assert (told["version"], told["found"]) == ("updateStrategy OnDelete", "updateStrategy RollingUpdate")


def test_the_way_back_leaves_it_as_it_is() -> None:
    found = a_pass(a_policy(NEW.version, strategy="OnDelete"))
    assert not written(found, PublishStep.REVERT, *BACK).on_delete


@pytest.mark.parametrize("via", [Via.DIRECT, Via.GIT])
def test_the_cluster_carries_it_once_it_was_written_or_brought_there(via: Via) -> None:
    world = Outside(operator=a_policy())
    world = with_repository(world, WANTED) if via is Via.GIT else world
    found = a_pass(world.operator, via=via, source=world.source)
    after = outer.apply(world, written(found, PublishStep.CANARY, (POLICY, WANTED)))
    assert isinstance(after, Outside)
    after = outer.is_synced(after) or after
    (carrier,) = after.operator.carriers
    assert (carrier.version, carrier.parts, carrier.strategy) == (NEW.version, AFTER, "OnDelete")
    assert after.operator.rolling == ()
