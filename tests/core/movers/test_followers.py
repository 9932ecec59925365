"""What brings our commit into the cluster, in its own words: a wait for it says whom to ask, and what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import PublishStep, RolloutPhase, Via
from seatrial.core.model.deployers import FOLLOWING, INSTANCE, TRACKING, Follower, Mark, Stop, marks_of
from seatrial.core.movers import publishing
from seatrial.core.words import explain
from tests.builders import (
    NEW,
    POLICY,
    a_campaign,
    a_campaign_record,
    a_snapshot,
    a_source,
    a_view,
    an_intent,
    an_old_node,
    an_operator,
)
from tests.core.words.explained import unsaid

FOLLOWER = Follower(kind="Application", namespace="argocd", name="gpu", commit="0f3c1d2e4b5a69788796")
MARK = Mark(kind="Application", name="gpu")
DRIFT = '{"spec":{"driftDetection":{"mode":"enabled"}}}'
IN_GIT = a_source(steps=((PublishStep.CANARY, "c1"), (PublishStep.REVERT, "c2")))


def held(
    *followers: Follower,
    step: PublishStep = PublishStep.CANARY,
    via: Via = Via.GIT,
    writer: str = "",
    mark: Mark = MARK,
    **changes: Any,
) -> Hold:
    operator = an_operator(writer=writer)
    carriers = tuple(replace(each, marks=(mark,)) for each in operator.carriers)
    fields: dict[str, Any] = {
        "operator": replace(operator, carriers=carriers),
        "campaign": a_campaign_record(RolloutPhase.CANARY),
        "source": IN_GIT,
        **changes,
    }
    seen = replace(a_snapshot(an_old_node(), **fields), followers=followers)
    view = a_view(seen, an_intent(campaign=a_campaign(publish=via)))
    acts, (found,) = publishing.publish(view, step, ((POLICY, NEW.version),))
    assert acts == (), "the commit is there, and nothing is committed twice"
    assert unsaid(found) == ()
    return found


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, HoldCode.PUBLISH_PENDING),
        ({"stop": Stop.BY_HAND}, HoldCode.SYNC_STOPPED),
        ({"stop": Stop.SKIPPED, "trouble": "exit status 1"}, HoldCode.SYNC_STOPPED),
        ({"trouble": "exit status 1", "waits_for": "a hook"}, HoldCode.SYNC_FAILED),
        ({"waits_for": "waiting for healthy state of batch/Job/pre"}, HoldCode.SYNC_WAITING),
    ],
    ids=["it looks rarely", "by hand", "stopped before all else", "failed before it waits", "a wave"],
)
def test_a_commit_that_is_not_in_the_cluster_waits_for(changes: dict[str, Any], code: HoldCode) -> None:
    assert held(replace(FOLLOWER, **changes)).code is code


def test_one_that_is_stopped_is_named_with_what_lets_it_go_on_also_on_the_way_back() -> None:
    found = held(replace(FOLLOWER, stop=Stop.SKIPPED), step=PublishStep.REVERT)
    assert explain.why(found) == (
        f"the commit is in Git, but {POLICY} does not have {NEW.version}: Application argocd/gpu of Argo CD brings "
        "nothing into the cluster because argocd.argoproj.io/skip-reconcile stops Argo CD from syncing it"
    )
    assert explain.next_step(found) == (
        "Remove the annotation: `kubectl annotate application gpu -n argocd argocd.argoproj.io/skip-reconcile-`. "
        "Until then a revert in Git does not reach the cluster either."
    )


def test_one_that_fails_is_told_in_its_own_words() -> None:
    found = held(replace(FOLLOWER, trouble="one or more objects failed to apply."))
    assert explain.why(found).endswith("could not apply it to the cluster: one or more objects failed to apply")
    assert "`argocd app terminate-op gpu`" in explain.next_step(found)


@pytest.mark.parametrize("commit", ["0f3c1d2e4b5a69788796", "0f3c1d2e4b5a"], ids=["whole", "as a chart's version ends"])
@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("Application", "`argocd app sync gpu`"),
        ("Kustomization", "`flux reconcile kustomization gpu -n argocd`"),
        ("HelmRelease", f"`kubectl patch helmrelease gpu -n argocd --type merge -p '{DRIFT}'`"),
    ],
)
def test_what_was_written_over_our_commit_is_said_with_what_puts_it_back(kind: str, command: str, commit: str) -> None:
    in_git = a_source(steps=((PublishStep.CANARY, FOLLOWER.commit),))
    mark = replace(MARK, kind=kind)
    found = held(replace(FOLLOWER, kind=kind, commit=commit), writer="kubectl-edit", source=in_git, mark=mark)
    assert found.code is HoldCode.SYNC_OVERWRITTEN
    assert "applied the commit, then kubectl-edit overwrote it with" in explain.why(found)
    assert explain.next_step(found).startswith(f"Restore what Git says: {command}. If the overwrite was intended, ")


def test_one_that_does_not_tell_what_it_has_did_not_bring_our_commit() -> None:
    found = held(replace(FOLLOWER, commit=""), writer="kubectl-edit")
    assert found.code is HoldCode.PUBLISH_PENDING


def test_one_that_looks_rarely_says_what_it_has_and_how_to_have_it_look() -> None:
    assert explain.next_step(held(FOLLOWER)) == (
        "It continues when Application argocd/gpu of Argo CD, now at 0f3c1d2e4b5a, applies our commit; "
        "`argocd app get gpu --refresh` makes it sync now."
    )


def test_one_that_does_not_tell_what_it_has_is_not_said_to_have_nothing() -> None:
    assert explain.next_step(held(replace(FOLLOWER, commit=""))) == (
        "It continues when Application argocd/gpu of Argo CD applies our commit; "
        "`argocd app get gpu --refresh` makes it sync now."
    )


@pytest.mark.parametrize("followers", [(), (replace(FOLLOWER, name="other", stop=Stop.BY_HAND),)])
def test_where_nobody_is_seen_to_do_it_any_engine_is_named(followers: tuple[Follower, ...]) -> None:
    found = held(*followers)
    assert found.code is HoldCode.PUBLISH_PENDING
    assert "your GitOps engine (Argo CD or Flux)" in explain.next_step(found)


def test_who_publishes_otherwise_does_not_wait_for_an_engine() -> None:
    assert held(replace(FOLLOWER, stop=Stop.BY_HAND), via=Via.NOBODY).code is HoldCode.PUBLISH_PENDING


@pytest.mark.parametrize("kind", FOLLOWING)
@pytest.mark.parametrize("stop", Stop)
def test_every_stop_of_every_kind_has_a_way_on(kind: str, stop: Stop) -> None:
    follower = replace(FOLLOWER, kind=kind, stop=stop)
    assert (stop in FOLLOWING[kind].resume) is ("gpu" in follower.resume)
    assert any(FOLLOWING[kind].resume)
    assert "gpu" in follower.look


@pytest.mark.parametrize(
    ("labels", "annotations", "mark"),
    [
        ({}, {TRACKING: "gpu:nvidia.com/ClusterPolicy:/cluster-policy"}, MARK),
        ({}, {TRACKING: "teams_gpu:nvidia.com/ClusterPolicy:/cluster-policy"}, replace(MARK, namespace="teams")),
        ({INSTANCE: "gpu"}, {}, MARK),
        (
            {"kustomize.toolkit.fluxcd.io/name": "gpu", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"},
            {},
            Mark(kind="Kustomization", name="gpu", namespace="flux-system"),
        ),
        (
            {"helm.toolkit.fluxcd.io/name": "gpu", "helm.toolkit.fluxcd.io/namespace": "gpu-operator", INSTANCE: "x"},
            {},
            Mark(kind="HelmRelease", name="gpu", namespace="gpu-operator"),
        ),
    ],
    ids=["annotation", "elsewhere", "label", "kustomization", "helm release"],
)
def test_who_applies_an_object_is_written_on_it(
    labels: dict[str, str], annotations: dict[str, str], mark: Mark
) -> None:
    assert marks_of(labels, annotations)[0] == mark


def test_what_nobody_marked_is_applied_by_nobody() -> None:
    assert marks_of({"app": "x"}, {"note": "y"}) == ()
