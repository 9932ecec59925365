"""Releases that OLM brings: exactly one plan is approved, forward only, and nothing is approved by chance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.at_home import Publish
from seatrial.core.compat.matrix import Component
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import Point, PublishStep, RolloutPhase, Via
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.releases import Release
from seatrial.core.model.seen.subscriptions import Plan, Subscription
from seatrial.core.movers import olm, publishing, releases
from seatrial.core.movers.view import View
from seatrial.core.words import acts as words
from seatrial.core.words import explain
from seatrial.run import memory
from seatrial.sim.operand_pods import with_operands
from tests.builders import (
    OLD,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_snapshot,
    a_view,
    an_intent,
    an_old_node,
)
from tests.core.model.test_releases import AFTER, BACK, BEFORE, HOLDER, RELEASE, TARGET, TEXT, operator
from tests.core.words.explained import unsaid

NOW, NEXT = f"gpu-operator-certified.{BEFORE}", f"gpu-operator-certified.{AFTER}"
PLAN = Plan(resource="InstallPlan/nvidia-gpu-operator/install-x7k2p", names=(NEXT,), resource_version="9")
SUBSCRIPTION = Subscription(
    component=Component.GPU_OPERATOR,
    resource="Subscription/nvidia-gpu-operator/gpu",
    package="gpu-operator-certified",
    installed=NOW,
    plan=PLAN,
)
ENTERED = 1000.0


def view(
    subscription: Subscription = SUBSCRIPTION,
    release: Release | None = RELEASE,
    *,
    via: Via = Via.DIRECT,
    one_way: bool = True,
    entered_at: float = ENTERED,
    now: float = ENTERED + 60,
    **asked: Any,
) -> View:
    facts = replace(operator(release), subscriptions=(subscription,))
    phase = RolloutPhase.CANARY if entered_at else RolloutPhase.PROPOSED
    record = replace(a_campaign_record(phase, baseline=((POLICY, OLD.version),)), entered_at=entered_at)
    campaign = a_campaign(publish=via, is_one_way=one_way, **asked)
    intent = replace(an_intent(campaign=campaign), target=TARGET)
    return replace(a_view(a_snapshot(an_old_node(), operator=facts, campaign=record), intent), now=now)


def told(seen: View, step: PublishStep = PublishStep.CANARY, text: str = TEXT) -> tuple[tuple[Any, ...], Hold]:
    acts, (held,) = publishing.publish(seen, step, ((POLICY, text),))
    assert unsaid(held) == ()
    return acts, held


# ── approving ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_plan_with_exactly_the_wanted_name_is_approved_bound_to_what_was_seen() -> None:
    (act,), held = told(view())
    assert act == Publish(
        rollout="spring",
        step=PublishStep.CANARY,
        versions=((PLAN.resource, NEXT),),
        via=Via.DIRECT,
        expects=((PLAN.resource, "9"),),
        note="spring/canary",
    )
    assert explain.why(held) == f"waiting for {SUBSCRIPTION.resource} to have {NEXT}"
    assert words.written(act).what.startswith(f"{PLAN.resource} approved, which installs {NEXT}")


@pytest.mark.parametrize(
    ("plan", "found"),
    [
        (replace(PLAN, names=(NEXT, "cert-manager.v1.16.0")), f"would install {NEXT}, cert-manager.v1.16.0"),
        (replace(PLAN, names=("gpu-operator-certified.v25.10.1",)), "would install gpu-operator-certified.v25.10.1"),
        (replace(PLAN, names=()), "would install nothing"),
        (replace(PLAN, names=(NOW,), is_approved=True), "no InstallPlan waits for approval"),
        (None, "no InstallPlan waits for approval"),
    ],
    ids=["more than that", "another", "nothing", "the last one", "none"],
)
def test_any_other_plan_is_left_alone_and_held_with_a_reason_an_end_and_a_next_step(
    plan: Plan | None, found: str
) -> None:
    acts, held = told(view(replace(SUBSCRIPTION, plan=plan)))
    assert (acts, held.code, held.until) == ((), HoldCode.RELEASE_UNPLANNED, ENTERED + olm.PLAN_SECONDS)
    assert explain.why(held).startswith(f"{SUBSCRIPTION.resource} should go to exactly {NEXT}, but ")
    assert explain.why(held).endswith(found)
    assert f"Have OLM offer exactly {NEXT}" in explain.next_step(held)


def test_a_plan_that_does_not_come_has_no_end_any_more() -> None:
    late = view(replace(SUBSCRIPTION, plan=None), now=ENTERED + olm.PLAN_SECONDS)
    assert told(late)[1].until is None
    (held,) = releases.why_not(view(replace(SUBSCRIPTION, plan=None), entered_at=0.0))
    assert (held.code, held.until) == (HoldCode.RELEASE_UNPLANNED, None), "before the start it may take what it takes"


def test_what_is_approved_is_waited_for_and_not_approved_twice() -> None:
    approved = replace(SUBSCRIPTION, plan=replace(PLAN, is_approved=True))
    acts, held = told(view(approved))
    assert (acts, held.code) == ((), HoldCode.PUBLISH_PENDING)
    acts, held = told(view(replace(SUBSCRIPTION, installed=NEXT, plan=None)))
    assert (acts, held.code) == ((), HoldCode.PUBLISH_PENDING), "its Deployment is not there yet"


def test_a_csv_that_has_not_succeeded_is_not_up_and_is_waited_for() -> None:
    installing = replace(RELEASE, version=AFTER, is_up=False)
    acts, held = told(view(replace(SUBSCRIPTION, installed=NEXT), installing))
    assert (acts, explain.why(held)) == ((), "waiting for the Deployment of gpu-operator to have v25.10.0")


@pytest.mark.parametrize(
    "subscription",
    [
        replace(SUBSCRIPTION, plan=replace(PLAN, is_approved=True, trouble="no such image")),
        replace(SUBSCRIPTION, installed=NEXT, plan=None, trouble="no such image"),
    ],
    ids=["the plan", "what it installs"],
)
def test_what_olm_could_not_install_is_told_in_its_words(subscription: Subscription) -> None:
    acts, held = told(view(subscription))
    assert (acts, held.code) == ((), HoldCode.RELEASE_FAILED)
    assert explain.why(held) == f"OLM could not install {NEXT}: no such image"


def test_trouble_with_an_earlier_plan_is_no_trouble_of_the_wanted_one() -> None:
    earlier = replace(PLAN, names=("gpu-operator-certified.v25.1.0",), is_approved=True, trouble="no such image")
    assert told(view(replace(SUBSCRIPTION, installed=NEXT, plan=earlier)))[1].code is HoldCode.PUBLISH_PENDING


def test_a_subscription_beside_a_helm_release_is_unclear() -> None:
    both = view()
    facts = replace(both.seen.operator, holders=(HOLDER,))
    acts, held = told(replace(both, seen=replace(both.seen, operator=facts)))
    assert (acts, held.code) == ((), HoldCode.RELEASE_UNCLEAR)
    assert explain.why(held).endswith(f"{HOLDER.resource}, {SUBSCRIPTION.resource}")


def test_once_the_release_is_there_the_resource_is_written_without_it() -> None:
    there = view(replace(SUBSCRIPTION, installed=NEXT), replace(RELEASE, version=AFTER))
    (act,), _ = told(there, text=f"580.65.06, gpu_operator {AFTER}")
    assert act.versions == ((POLICY, "580.65.06"),)


def test_an_approval_is_under_way_until_it_is_seen() -> None:
    seen = view().seen
    (act,), _ = told(view())
    assert memory._looks_unpublished(act, seen)
    for plan in (replace(PLAN, is_approved=True), replace(PLAN, resource="InstallPlan/nvidia-gpu-operator/next")):
        facts = replace(seen.operator, subscriptions=(replace(SUBSCRIPTION, plan=plan),))
        assert not memory._looks_unpublished(act, replace(seen, operator=facts))


# ── an automatic subscription ────────────────────────────────────────────────────────────────────────────────────────

AUTOMATIC = replace(SUBSCRIPTION, is_automatic=True)


def test_an_automatic_subscription_is_held_before_the_start_and_all_the_way() -> None:
    (before,) = releases.why_not(view(AUTOMATIC))
    acts, held = told(view(AUTOMATIC))
    there = view(replace(AUTOMATIC, installed=NEXT), replace(RELEASE, version=AFTER))
    moved = told(there, PublishStep.FLEET)[1]
    assert acts == ()
    assert {before.code, held.code, moved.code} == {HoldCode.RELEASE_AUTOMATIC}
    step = (
        "Set spec.installPlanApproval of the Subscription to Manual (`oc -n nvidia-gpu-operator edit subscription gpu`)"
    )
    assert explain.next_step(held).startswith(step)


def test_an_automatic_subscription_keeps_nobody_from_going_back() -> None:
    _, holds = publishing.publish(view(AUTOMATIC), PublishStep.REVERT, ((POLICY, OLD.version),))
    assert HoldCode.RELEASE_AUTOMATIC not in {held.code for held in holds}


# ── forward only ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_release_of_olm_is_not_begun_unless_it_is_said_to_be_one_way() -> None:
    (held,) = releases.why_not(view(one_way=False))
    assert (held.code, unsaid(held)) == (HoldCode.RELEASE_ONE_WAY, ())
    assert "--one-way" in explain.next_step(held)
    assert releases.why_not(view()) == ()


@pytest.mark.parametrize("via", [Via.NOBODY, Via.GIT])
def test_where_somebody_else_publishes_olm_is_theirs(via: Via) -> None:
    seen = view(via=via, one_way=False)
    assert releases.why_not(seen) == ()
    assert publishing.baseline(seen) == ((POLICY, BACK),)


def test_the_way_back_has_the_driver_and_no_release() -> None:
    assert publishing.baseline(view()) == ((POLICY, OLD.version),)


def test_a_validator_that_runs_by_a_digest_could_not_show_the_release() -> None:
    seen = view()
    facts = with_operands(an_old_node().facts, [(Operand.VALIDATOR, "")])
    node = replace(an_old_node(), facts=facts)
    (held,) = releases.why_not(replace(seen, seen=replace(seen.seen, nodes={node.name: node})))
    assert (held.code, unsaid(held)) == (HoldCode.RELEASE_PINNED, ())
    assert explain.why(held).startswith(f"node {node.name} has the validator at a digest without a version")


OURS = replace(PLAN, is_approved=True, note="spring/canary")


@pytest.mark.parametrize(
    ("subscription", "is_told"),
    [
        (replace(SUBSCRIPTION, plan=OURS), True),
        (replace(SUBSCRIPTION, installed=NEXT, plan=OURS), True),
        (replace(SUBSCRIPTION, installed=NEXT, plan=replace(PLAN, names=("gpu-operator-certified.v26.3.0",))), True),
        (SUBSCRIPTION, False),
        (replace(SUBSCRIPTION, installed=NEXT, plan=replace(OURS, note="")), False),
        (replace(SUBSCRIPTION, plan=None), False),
    ],
    ids=["on its way", "there", "there, and the next is offered", "not approved", "there before us", "never offered"],
)
def test_going_back_stops_at_a_release_that_stays(subscription: Subscription, is_told: bool) -> None:
    found = olm.stays(view(subscription))
    assert [held.code for held in found] == [HoldCode.RELEASE_STAYS] * is_told
    for held in found:
        assert unsaid(held) == ()
        assert "`seatrial rollout approve spring rollback`" in explain.next_step(held)
    assert olm.stays(view(subscription, approved=(Point.ROLLBACK,))) == ()
