"""A played cluster has the release that whoever holds it says; a campaign of a release moves one node at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from seatrial.core.actions.at_home import Publish
from seatrial.core.compat.matrix import Component
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import Campaign, Point, PublishStep, RolloutPhase, Via
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.releases import Holder, Release
from seatrial.core.model.seen.subscriptions import Plan, Subscription
from seatrial.core.model.target import Target
from seatrial.sim import releases
from seatrial.sim.acts import Refused
from seatrial.sim.outside import CLUSTER_POLICY, GateFate, Outside, apply, cluster_policy, commit, is_synced
from tests.builders import OLD, an_intent
from tests.sim.test_operand_pods import Story, a_simulated_node, careful, versions

HOLDER = Holder(
    component=Component.GPU_OPERATOR, resource="HelmRelease/nvidia/gpu", version="v25.3.4", resource_version="7"
)
RELEASE = Release(component=Component.GPU_OPERATOR, version="v25.3.4")


def outside() -> Outside:
    facts = cluster_policy("570.124.06")
    carriers = tuple(replace(each, parts=(("gpu_operator", "v25.3.4"),)) for each in facts.carriers)
    return Outside(operator=replace(facts, carriers=carriers, releases=(RELEASE,), holders=(HOLDER,)))


def publish(expect: str, version: str = "v25.10.0") -> Publish:
    resource = HOLDER.resource
    return Publish(
        rollout="spring",
        step=PublishStep.CANARY,
        versions=((resource, version),),
        via=Via.DIRECT,
        expects=((resource, expect),),
        note="spring/canary",
    )


def seen(operator: OperatorFacts) -> tuple[str, str, str]:
    """What holds the release, what runs, and what the ClusterPolicy is beside."""
    (holder,), (release,) = operator.holders, operator.releases
    return holder.version, release.version, dict(operator.carriers[0].parts)["gpu_operator"]


def test_a_version_written_into_what_holds_a_release_is_deployed() -> None:
    after = apply(outside(), publish("7"))
    assert isinstance(after, Outside)
    assert seen(after.operator) == ("v25.10.0",) * 3
    (holder,) = after.operator.holders
    assert (holder.note, holder.resource_version) == ("spring/canary", "8")
    again = apply(after, publish("8"))
    assert again == after, "what changes nothing leaves its version"


def test_who_wrote_the_same_version_before_us_still_stands_behind_it() -> None:
    theirs = replace(HOLDER, writer="kubectl-edit")
    before = replace(outside(), operator=replace(outside().operator, holders=(theirs,)))
    for version, writer in ((HOLDER.version, "kubectl-edit"), ("v25.10.0", "seatrial")):
        after = apply(before, publish("7", version))
        assert isinstance(after, Outside)
        assert after.operator.holders[0].writer == writer


def test_a_write_that_comes_too_late_or_to_nothing_is_refused() -> None:
    assert apply(outside(), publish("6")) == Refused(is_stale=True, why=f"{HOLDER.resource} is no longer at 6")
    gone = replace(outside(), operator=replace(outside().operator, holders=()))
    assert apply(gone, publish("7")) == Refused(is_stale=True, why=f"{HOLDER.resource} not found")


def test_a_commit_that_names_a_release_is_deployed_with_it() -> None:
    before = replace(outside(), files=((CLUSTER_POLICY, "570.124.06, gpu_operator v25.3.4"),))
    versions = ((CLUSTER_POLICY, "570.124.06, gpu_operator v25.10.0"),)
    after = is_synced(commit(before, PublishStep.CANARY, versions))
    assert after is not None
    assert seen(after.operator)[1:] == ("v25.10.0", "v25.10.0")
    assert releases.followed(before.operator, ["570.124.06"]) == before.operator


# ── whole rollouts ───────────────────────────────────────────────────────────────────────────────────────────────────

BEFORE, AFTER = "v25.3.0", "v25.10.0"


def a_story(*holders: Holder, campaign: Campaign | None = None, **settings: Any) -> Story:
    """Four nodes that run a release of the GPU Operator, and a rollout of the next one; the driver stays."""
    facts = cluster_policy(OLD.version)
    carriers = tuple(replace(each, parts=(("gpu_operator", BEFORE),)) for each in facts.carriers)
    release = replace(RELEASE, version=BEFORE)
    operator = replace(facts, carriers=carriers, releases=(release,), holders=holders)
    target = Target.of(OLD.version, (Component.GPU_OPERATOR, AFTER))
    intent = an_intent(parallel_max=2, unavailable_max=4, target=target, campaign=campaign or careful())
    return Story(intent, outside=Outside(operator=operator), **settings)


def running(story: Story) -> list[str]:
    """The release that each node shows."""
    return [versions(node.facts)[Operand.VALIDATOR] for node in story.world.nodes.values()]


HELD = replace(HOLDER, version=BEFORE)


def test_a_release_moves_the_canary_alone_and_the_fleet_after_it() -> None:
    story = a_story(HELD)
    story.until(RolloutPhase.WAVING)
    assert running(story) == [AFTER, *[BEFORE] * 3]
    story.play()
    assert (story.phase, running(story)) == (RolloutPhase.DONE, [AFTER] * 4)


def test_a_release_that_fails_a_gate_goes_back_and_nobody_else_is_touched() -> None:
    story = a_story(HELD, gate_fates={"smoke": GateFate(fails_on=f"{Operand.VALIDATOR} {AFTER}")})
    story.play()
    assert (story.phase, running(story)) == (RolloutPhase.REVERTED, [BEFORE] * 4)
    assert seen(story.world.outside.operator) == (BEFORE,) * 3
    assert [story.restarts(name) for name in ("n2", "n3", "n4")] == [[], [], []]


def test_a_release_that_a_person_brings_is_waited_for_and_moves_node_by_node_then() -> None:
    story = a_story()
    decision = story.play()
    assert HoldCode.RELEASE_BY_HAND in {held.code for held in decision.holds}
    assert running(story) == [BEFORE] * 4
    story.world.change_outside(
        lambda world: replace(world, operator=releases.deployed(world.operator, Component.GPU_OPERATOR, AFTER))
    )
    story.until(RolloutPhase.WAVING)
    assert running(story) == [AFTER, *[BEFORE] * 3]
    story.play()
    assert (story.phase, running(story)) == (RolloutPhase.DONE, [AFTER] * 4)


@pytest.mark.parametrize("crash", range(1, 12))
def test_a_crash_between_any_two_writes_changes_nothing_about_the_end(crash: int) -> None:
    story = a_story(HELD)
    story.crashes_before = crash
    story.play()
    assert (story.phase, running(story)) == (RolloutPhase.DONE, [AFTER] * 4)


def a_story_of_plugins(**settings: Any) -> Story:
    """Four nodes with a DRA plugin of a chart of its own, and a rollout of its next release."""
    facts = cluster_policy(OLD.version)
    carriers = tuple(replace(each, parts=(("dra_driver", "25.8.0"),)) for each in facts.carriers)
    holder = Holder(component=Component.DRA_DRIVER, resource="HelmRelease/dra/dra", version="25.8.0")
    release = Release(component=Component.DRA_DRIVER, version="25.8.0")
    operator = replace(facts, carriers=carriers, releases=(release,), holders=(holder,))
    target = Target.of(OLD.version, (Component.DRA_DRIVER, "25.12.0"))
    intent = an_intent(parallel_max=2, unavailable_max=4, target=target, campaign=careful())
    old = {Operand.DRA_PLUGIN: "25.8.0"}
    node = partial(a_simulated_node, operands=old, has_dra=True)
    return Story(intent, node=node, outside=Outside(operator=operator), **settings)


def plugins(story: Story) -> list[str]:
    return [versions(node.facts)[Operand.DRA_PLUGIN] for node in story.world.nodes.values()]


def test_plugins_of_a_release_move_on_the_canary_first_and_then_in_waves() -> None:
    story = a_story_of_plugins()
    story.until(RolloutPhase.WAVING)
    assert plugins(story) == ["25.12.0", *["25.8.0"] * 3]
    story.play()
    assert (story.phase, plugins(story)) == (RolloutPhase.DONE, ["25.12.0"] * 4)
    assert {tuple(story.restarts(name)) for name in story.world.nodes} == {(Operand.DRA_PLUGIN,)}


def test_plugins_of_a_release_that_fails_a_gate_go_back() -> None:
    story = a_story_of_plugins(gate_fates={"smoke": GateFate(fails_on=f"{Operand.DRA_PLUGIN} 25.12.0")})
    story.play()
    assert (story.phase, plugins(story)) == (RolloutPhase.REVERTED, ["25.8.0"] * 4)
    assert [story.restarts(name) for name in ("n2", "n3", "n4")] == [[], [], []]


# ── OLM ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

PACKAGE = "gpu-operator-certified"
PLAN = Plan(resource="InstallPlan/nvidia/install-a", names=(f"{PACKAGE}.{AFTER}",), resource_version="9")
FOLLOWED = Subscription(
    component=Component.GPU_OPERATOR,
    resource="Subscription/nvidia/gpu",
    package=PACKAGE,
    installed=f"{PACKAGE}.{BEFORE}",
    plan=PLAN,
)


def an_olm_story(subscription: Subscription = FOLLOWED, **settings: Any) -> Story:
    """The same four nodes where OLM installs the operator, and the rollout says that there is no way back."""
    story = a_story(campaign=careful(is_one_way=True), **settings)
    story.world.change_outside(
        lambda world: replace(world, operator=replace(world.operator, subscriptions=(subscription,)))
    )
    return story


def approval(expect: str = "9", names: str = PLAN.names[0]) -> Publish:
    versions, expects = ((PLAN.resource, names),), ((PLAN.resource, expect),)
    return replace(publish("0"), versions=versions, expects=expects)


def olm() -> Outside:
    before = outside()
    release = replace(RELEASE, version=BEFORE)
    return replace(before, operator=replace(before.operator, releases=(release,), subscriptions=(FOLLOWED,)))


def test_an_approved_plan_is_installed_later_and_once() -> None:
    after = apply(olm(), approval())
    assert isinstance(after, Outside)
    (subscription,) = after.operator.subscriptions
    assert subscription.plan == replace(PLAN, is_approved=True, note="spring/canary", resource_version="10")
    assert (subscription.installed, after.operator.releases[0].version) == (FOLLOWED.installed, BEFORE)
    assert apply(after, approval("10")) == after, "what changes nothing leaves its version"
    done = releases.installed(after.operator)
    assert done is not None
    assert (done.subscriptions[0].installed, done.releases[0].version) == (PLAN.names[0], AFTER)
    assert releases.installed(done) is None


def test_a_plan_that_changed_or_names_something_else_is_not_approved() -> None:
    assert apply(olm(), approval("8")) == Refused(is_stale=True, why=f"{PLAN.resource} is no longer at 8")
    other = apply(olm(), approval(names="another.v1"))
    assert isinstance(other, Refused)
    assert not other.is_stale
    gone = replace(olm(), operator=replace(olm().operator, subscriptions=()))
    assert apply(gone, approval()) == Refused(is_stale=True, why=f"{PLAN.resource} not found")


@pytest.mark.parametrize(
    ("is_automatic", "is_approved", "trouble", "is_installed"),
    [
        (False, False, "", False),
        (False, True, "", True),
        (True, False, "", True),
        (False, True, "no such image", False),
    ],
)
def test_olm_does_by_itself_what_the_table_says(
    is_automatic: bool, is_approved: bool, trouble: str, is_installed: bool
) -> None:
    plan = replace(PLAN, is_approved=is_approved, trouble=trouble)
    facts = replace(olm().operator, subscriptions=(replace(FOLLOWED, is_automatic=is_automatic, plan=plan),))
    assert (releases.installed(facts) is not None) is is_installed


def test_a_release_of_olm_moves_the_canary_alone_and_the_fleet_after_it() -> None:
    story = an_olm_story()
    story.until(RolloutPhase.WAVING)
    assert running(story) == [AFTER, *[BEFORE] * 3]
    story.play()
    assert (story.phase, running(story)) == (RolloutPhase.DONE, [AFTER] * 4)


def test_a_release_of_olm_that_fails_a_gate_stays_and_a_person_is_asked() -> None:
    story = an_olm_story(gate_fates={"smoke": GateFate(fails_on=f"{Operand.VALIDATOR} {AFTER}")})
    decision = story.play()
    assert (story.phase, running(story)) == (RolloutPhase.REVERTING, [AFTER, *[BEFORE] * 3])
    assert HoldCode.RELEASE_STAYS in {held.code for held in decision.holds}
    assert [story.restarts(name) for name in ("n2", "n3", "n4")] == [[], [], []]
    story.world.intent = replace(story.world.intent, campaign=careful(is_one_way=True, approved=(Point.ROLLBACK,)))
    story.play()
    assert (story.phase, running(story)) == (RolloutPhase.REVERTED, [AFTER, *[BEFORE] * 3])


@pytest.mark.parametrize(
    ("subscription", "code"),
    [
        (replace(FOLLOWED, plan=replace(PLAN, names=(*PLAN.names, "other.v1"))), HoldCode.RELEASE_UNPLANNED),
        (replace(FOLLOWED, plan=replace(PLAN, names=(f"{PACKAGE}.v26.3.0",))), HoldCode.RELEASE_UNPLANNED),
    ],
    ids=["one more operator", "a later release"],
)
def test_a_plan_that_installs_anything_else_is_never_approved(subscription: Subscription, code: HoldCode) -> None:
    story = an_olm_story(subscription)
    decision = story.play()
    assert code in {held.code for held in decision.holds}
    assert running(story) == [BEFORE] * 4
    assert story.world.outside.operator.subscriptions == (subscription,)


@pytest.mark.parametrize("crash", range(1, 12))
def test_a_crash_between_any_two_writes_approves_nothing_twice(crash: int) -> None:
    story = an_olm_story()
    story.crashes_before = crash
    story.play()
    assert (story.phase, running(story)) == (RolloutPhase.DONE, [AFTER] * 4)
    plan = story.world.outside.operator.subscriptions[0].plan
    assert plan is not None
    assert plan.resource_version == "10"
