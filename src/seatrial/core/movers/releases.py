"""Whole releases of operators, as far as we bring them ourselves: who has them, what is due, and whom to ask.

    a HelmRelease or an Application with the chart      its version is written there, unless Git brings that object
    a Subscription of OLM                               its InstallPlan is approved (olm.py)
    none of them                                        a person runs helm: the command is told, and waited for

Law of this file: helm is never run here. A release is there when its Deployment is seen to run it; that DaemonSets want
what it brings is waited for with everything else that is published. By Git nothing of this is asked: a commit has it
all. Tests: tests/core/model/test_releases.py
"""

from __future__ import annotations

import shlex

from seatrial.core.actions.at_home import Publish
from seatrial.core.compat.matrix import Component
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model import deployers
from seatrial.core.model.campaign import PublishStep, Via
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.releases import CHARTS, Holder, Release, source_of, styled
from seatrial.core.model.target import parts_of, text_of
from seatrial.core.movers import olm
from seatrial.core.movers.view import Outcome, View
from seatrial.core.node.progress import Versions, is_same_part


def bare(text: str) -> str:
    """What a resource itself carries of a version: the driver and operands, and no release."""
    driver, parts = parts_of(text)
    return text_of(driver, ((Component(name), version) for name, version in parts if name not in CHARTS))


def why_not(view: View) -> tuple[Hold, ...]:
    """Why a release could not be brought, or nobody would know that it was."""
    wanted = [each for each in view.intent.target.components if each in CHARTS]
    found = [
        _why_unseen(view, component)
        or _why_pinned(view, component)
        or olm.why_not(view, component, view.intent.target.version_of(component))
        for component in wanted
    ]
    return tuple(held for held in found if held is not None)


def _why_unseen(view: View, component: Component) -> Hold | None:
    release = release_of(view.operator, component)
    if release is not None and release.version:
        return None
    return view.hold(HoldCode.RELEASE_UNSEEN, component=component.value, chart=CHARTS[component])


def _why_pinned(view: View, component: Component) -> Hold | None:
    """Why no node could show which release it runs: its validator has a version of its own."""
    release, is_named = release_of(view.operator, component), view.intent.target.version_of(Component.VALIDATOR)
    if component is not Component.GPU_OPERATOR or release is None or is_named:
        return None
    for carrier in view.operator.carriers:
        pinned = dict(carrier.parts).get(Component.VALIDATOR.value, "")
        if pinned and not is_same_part(component.value, pinned, release.version):
            return view.hold(HoldCode.RELEASE_PINNED, resource=carrier.name, found=pinned, version=release.version)
    return _why_untold(view, release) if olm.subscription_of(view, component) is not None else None


def _why_untold(view: View, release: Release) -> Hold | None:
    """The same where OLM has the validator run by a digest, which tells no version."""
    for name, node in sorted(view.nodes.items()):
        if any(each.operand is Operand.VALIDATOR and not each.version for each in node.facts.operands):
            found = "a digest without a version"
            return view.hold(HoldCode.RELEASE_PINNED, resource=f"node {name}", found=found, version=release.version)
    return None


def release_of(operator: OperatorFacts, component: Component) -> Release | None:
    """What is seen of an operator's release; None where nothing is."""
    return next((each for each in operator.releases if each.component is component), None)


def due(view: View, step: PublishStep, wanted: Versions) -> Outcome | None:
    """What is due so that the releases in these versions are there, and why we wait; None when they are."""
    named = {Component(name): text for _, said in wanted for name, text in parts_of(said)[1] if name in CHARTS}
    for component, version in named.items():
        release = release_of(view.operator, component)
        is_there = release is not None and is_same_part(component.value, release.version, version)
        if release is None or not is_there:
            return _bring(view, step, component, version)
        if not release.is_up:
            return (), (_pending(view, f"the Deployment of {CHARTS[component]}", version),)
    return None


def _bring(view: View, step: PublishStep, component: Component, version: str) -> Outcome:
    holders = [each for each in view.operator.holders if each.component is component]
    followed = olm.subscription_of(view, component)
    places = [*(each.resource for each in holders), *([followed.resource] if followed is not None else [])]
    if not places:
        return (), (_by_hand(view, component, version),)
    if len(places) > 1:
        return (), (view.hold(HoldCode.RELEASE_UNCLEAR, chart=CHARTS[component], places=", ".join(places)),)
    if followed is not None:
        return olm.bring(view, step, followed, version)
    (holder,) = holders
    if is_same_part(component.value, holder.version, version):
        return (), (_word_of(view, holder, version) or _pending(view, holder.resource, version),)
    told = {"resource": holder.resource, "version": version}
    other = _deployer_of(view, holder)
    if other:
        return (), (hold(view.name, HoldCode.WRITTEN_BY_ANOTHER, told, writer=other),)
    before = next((dict(parts_of(text)[1]).get(component, "") for _, text in view.record.baseline), "")
    is_theirs = bool(before) and not is_same_part(component.value, holder.version, before)
    if step is not PublishStep.REVERT and is_theirs:
        writer = holder.writer or "somebody"
        said = {**told, "found": holder.version, "writer": writer}
        return (), (hold(view.name, HoldCode.TAKEN_OVER, said, since=view.record.entered_at),)
    text = styled(version, holder.version)
    act = Publish(
        rollout=view.name,
        step=step,
        versions=((holder.resource, text),),
        via=Via.DIRECT,
        expects=((holder.resource, holder.resource_version),),
        note=f"{view.name}/{step}",
    )
    return view.act(act, HoldCode.PUBLISH_PENDING, resource=holder.resource, version=text, via=Via.DIRECT)


def _deployer_of(view: View, holder: Holder) -> str:
    """Who brings the object itself from a repository, and would undo what we write; empty when nobody does."""
    follower = deployers.follower_of(holder.marks, view.seen.followers)
    if follower is not None:
        return follower.title
    return holder.writer if deployers.is_deployer(holder.writer) else ""


def _word_of(view: View, holder: Holder, version: str) -> Hold | None:
    """Why a release that is asked for is not there, by the word of whoever brings it; None where it says nothing."""
    kind, namespace, name = holder.resource.split("/")
    same = (each for each in view.seen.followers if (each.kind, each.namespace, each.name) == (kind, namespace, name))
    follower, told = next(same, None), {"resource": f"chart {CHARTS[holder.component]}", "version": version}
    if follower is None:
        return None
    told |= {"follower": follower.title, "look": follower.look}
    since = view.record.entered_at
    if follower.stop is not None:
        told |= {"stop": follower.stop, "resume": follower.resume}
        return hold(view.name, HoldCode.SYNC_STOPPED, told, since=since)
    if follower.trouble:
        told |= {"said": follower.trouble, "mend": follower.mend}
        return hold(view.name, HoldCode.SYNC_FAILED, told, since=since)
    return None


def _pending(view: View, what: str, version: str) -> Hold:
    told = {"resource": what, "version": version, "via": Via.DIRECT}
    return hold(view.name, HoldCode.PUBLISH_PENDING, told, since=view.record.entered_at)


def _by_hand(view: View, component: Component, version: str) -> Hold:
    release = release_of(view.operator, component)
    return view.hold(
        HoldCode.RELEASE_BY_HAND,
        component=component.value,
        version=version,
        found=(release.version if release is not None else "") or "unknown",
        command=command_of(release, component, version),
    )


def command_of(release: Release | None, component: Component, version: str) -> str:
    """What a person runs to bring a release; own values stay, on top of what the new chart has."""
    name = release.name if release is not None and release.name else CHARTS[component]
    namespace = release.namespace if release is not None and release.namespace else CHARTS[component]
    wanted = styled(version, release.version if release is not None else "")
    words = ("helm", "upgrade", name, source_of(release, component), "--namespace", namespace, "--version", wanted)
    return shlex.join((*words, "--reset-then-reuse-values"))
