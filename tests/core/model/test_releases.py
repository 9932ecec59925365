"""Releases of operators: brought by the object that holds them, by a person who runs helm, and never by two."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.at_home import Publish
from seatrial.core.compat.matrix import Component
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import PublishStep, RolloutPhase, Via
from seatrial.core.model.deployers import Follower, Mark, Stop
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.releases import Holder, Release, operator_of, styled
from seatrial.core.model.target import Target
from seatrial.core.movers import publishing, releases
from seatrial.core.movers.view import View
from seatrial.core.node.progress import carries, running, wants
from seatrial.core.words import explain
from seatrial.sim.operand_pods import with_operands
from tests.builders import (
    NEW,
    OLD,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_node,
    a_snapshot,
    a_view,
    an_intent,
    an_old_node,
    an_operator,
)
from tests.core.words.explained import unsaid

BEFORE, AFTER = "v25.3.4", "v25.10.0"
TARGET = Target.of(OLD.version, (Component.GPU_OPERATOR, AFTER))
TEXT, BACK = f"{OLD.version}, gpu_operator {AFTER}", f"{OLD.version}, gpu_operator {BEFORE}"
RELEASE = Release(component=Component.GPU_OPERATOR, version=BEFORE, name="gpu", namespace="nvidia")
HOLDER = Holder(
    component=Component.GPU_OPERATOR,
    resource="HelmRelease/nvidia/gpu",
    version=BEFORE,
    resource_version="7",
)


def operator(release: Release | None = RELEASE, *holders: Holder, **parts: str) -> OperatorFacts:
    """A GPU Operator at a release; its ClusterPolicy has that, and these parts."""
    known = {**parts, **({"gpu_operator": release.version} if release is not None and release.is_up else {})}
    facts = an_operator(OLD.version)
    carriers = tuple(replace(each, parts=tuple(known.items()), resource_version="3") for each in facts.carriers)
    return replace(facts, carriers=carriers, releases=(release,) if release is not None else (), holders=holders)


def view(facts: OperatorFacts, via: Via = Via.DIRECT, *followers: Follower, **changes: Any) -> View:
    record = a_campaign_record(RolloutPhase.CANARY, baseline=((POLICY, BACK),))
    seen = a_snapshot(an_old_node(), operator=facts, campaign=record, **changes)
    intent = replace(an_intent(campaign=a_campaign(publish=via)), target=TARGET)
    return a_view(replace(seen, followers=followers), intent)


def told(view: View, step: PublishStep = PublishStep.CANARY, text: str = TEXT) -> tuple[tuple[Any, ...], Hold]:
    acts, (held,) = publishing.publish(view, step, ((POLICY, text),))
    assert unsaid(held) == ()
    return acts, held


# ── brought directly ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_release_is_written_into_the_object_that_holds_it_bound_to_what_was_seen() -> None:
    (act,), held = told(view(operator(RELEASE, HOLDER)))
    assert act == Publish(
        rollout="spring",
        step=PublishStep.CANARY,
        versions=((HOLDER.resource, AFTER),),
        via=Via.DIRECT,
        expects=((HOLDER.resource, "7"),),
        note="spring/canary",
    )
    assert explain.why(held) == "waiting for HelmRelease/nvidia/gpu to have v25.10.0"


def test_the_chart_keeps_the_way_in_which_its_version_is_written() -> None:
    (act,), _ = told(view(operator(RELEASE, replace(HOLDER, version="25.3.4"))))
    assert act.versions == ((HOLDER.resource, "25.10.0"),)
    assert [styled("v1.2.3", like) for like in ("v1", "1", "")] == ["v1.2.3", "1.2.3", "v1.2.3"]


def test_a_release_that_is_asked_for_is_waited_for_and_not_written_twice() -> None:
    acts, held = told(view(operator(RELEASE, replace(HOLDER, version=AFTER))))
    assert (acts, held.code) == ((), HoldCode.PUBLISH_PENDING)


def test_an_operator_that_is_not_up_yet_is_waited_for() -> None:
    rolling = replace(RELEASE, version=AFTER, is_up=False)
    acts, held = told(view(operator(rolling, replace(HOLDER, version=AFTER))))
    assert (acts, explain.why(held)) == ((), "waiting for the Deployment of gpu-operator to have v25.10.0")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"stop": Stop.SUSPENDED}, HoldCode.SYNC_STOPPED),
        ({"trouble": "chart pull error"}, HoldCode.SYNC_FAILED),
        ({}, HoldCode.PUBLISH_PENDING),
    ],
    ids=["suspended", "failed", "at it"],
)
def test_who_brings_a_release_says_why_it_is_not_there(changes: dict[str, Any], code: HoldCode) -> None:
    follower = Follower(kind="HelmRelease", namespace="nvidia", name="gpu", **changes)
    assert told(view(operator(RELEASE, replace(HOLDER, version=AFTER)), Via.DIRECT, follower))[1].code is code


@pytest.mark.parametrize(
    "holder",
    [
        replace(HOLDER, writer="kustomize-controller"),
        replace(HOLDER, marks=(Mark(kind="Kustomization", name="infra", namespace="flux-system"),)),
    ],
    ids=["by who wrote it", "by its label"],
)
def test_an_object_that_git_brings_is_not_written(holder: Holder) -> None:
    follower = Follower(kind="Kustomization", namespace="flux-system", name="infra")
    acts, held = told(view(operator(RELEASE, holder), Via.DIRECT, follower))
    assert (acts, held.code) == ((), HoldCode.WRITTEN_BY_ANOTHER)


def test_a_third_version_in_the_object_is_somebodys_and_stays() -> None:
    acts, held = told(view(operator(RELEASE, replace(HOLDER, version="v25.7.0", writer="kubectl-edit"))))
    assert (acts, held.code) == ((), HoldCode.TAKEN_OVER)


def test_two_objects_with_the_chart_are_named_and_neither_is_written() -> None:
    acts, held = told(view(operator(RELEASE, HOLDER, replace(HOLDER, resource="Application/argocd/gpu"))))
    assert acts == ()
    assert explain.why(held) == (
        "the chart gpu-operator is declared in several places: HelmRelease/nvidia/gpu, Application/argocd/gpu"
    )


def test_once_the_release_is_there_the_resource_is_written_without_it() -> None:
    there = view(operator(replace(RELEASE, version=AFTER), replace(HOLDER, version=AFTER)))
    (act,), _ = told(there, text=f"{NEW.version}, gpu_operator {AFTER}")
    assert act.versions == ((POLICY, NEW.version),)


def test_the_way_back_brings_the_old_release_whatever_was_written_since() -> None:
    now = operator(replace(RELEASE, version=AFTER), replace(HOLDER, version="v25.11.0"))
    (act,), _ = told(view(now), PublishStep.REVERT, BACK)
    assert act.versions == ((HOLDER.resource, BEFORE),)


# ── by a person ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_where_nobody_deploys_it_the_command_is_told_and_waited_for() -> None:
    acts, held = told(view(operator()))
    assert acts == ()
    assert explain.why(held) == (
        "gpu_operator is at v25.3.4 and should be v25.10.0; nobody deploys it by Git here, and seatrial never runs helm"
    )
    assert explain.next_step(held).startswith(
        "Run `helm upgrade gpu nvidia/gpu-operator --namespace nvidia --version v25.10.0 --reset-then-reuse-values`"
    )


def test_a_command_without_helms_names_has_those_of_the_chart() -> None:
    assert releases.command_of(None, Component.NETWORK_OPERATOR, "25.7.0") == (
        "helm upgrade network-operator nvidia/network-operator --namespace network-operator --version 25.7.0 "
        "--reset-then-reuse-values"
    )


# ── before the start ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_release_that_nobody_sees_is_not_begun() -> None:
    (held,) = releases.why_not(view(operator(None)))
    assert (held.code, unsaid(held)) == (HoldCode.RELEASE_UNSEEN, ())


def test_a_validator_with_a_version_of_its_own_would_hide_the_release() -> None:
    (held,) = releases.why_not(view(operator(RELEASE, validator="v24.9.2")))
    assert (held.code, unsaid(held)) == (HoldCode.RELEASE_PINNED, ())
    assert releases.why_not(view(operator(RELEASE, validator=BEFORE))) == ()


def test_the_way_back_of_a_release_is_the_one_that_ran() -> None:
    assert publishing.baseline(view(operator())) == ((POLICY, BACK),)


# ── on a node ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_node_shows_the_release_by_its_validator() -> None:
    facts = with_operands(a_node().facts, [(Operand.TOOLKIT, "v1.17.8"), (Operand.VALIDATOR, BEFORE)])
    text = f"{NEW.version}, gpu_operator {AFTER}"
    assert not wants(facts, text)
    assert running(facts, text).endswith(f"gpu_operator {BEFORE}")
    followed = with_operands(a_node().facts, [(Operand.VALIDATOR, AFTER)])
    assert wants(followed, text)
    assert carries(followed, f"{running(followed, NEW.version)}, gpu_operator {AFTER}")


def test_a_validator_without_a_version_and_other_operators_say_nothing() -> None:
    facts = with_operands(a_node().facts, [(Operand.VALIDATOR, "")])
    assert wants(facts, f"{NEW.version}, gpu_operator {AFTER}, network_operator v25.7.0")
    assert running(facts, f"{NEW.version}, gpu_operator {AFTER}") == running(facts, NEW.version)


def test_a_chart_is_known_by_the_end_of_its_address() -> None:
    assert operator_of("oci://registry.example/charts/network-operator") is Component.NETWORK_OPERATOR
    assert [operator_of(text) for text in ("", "my-gpu-operator", "gpu-operator-crds")] == [None, None, None]
