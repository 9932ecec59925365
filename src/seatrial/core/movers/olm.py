"""Releases that OLM brings: whose InstallPlan is approved, when, and why not.

    Subscription, Manual ─▶ InstallPlan with exactly the wanted name ─▶ approved by us ─▶ OLM installs it ─▶ Succeeded
                 Automatic, or another InstallPlan, or none: held

Law of this file: OLM goes forward only. A release that it brings is no part of the way back, so it is brought only
where the rollout says that it is one-way; going back leaves it, and a person says whether it stays. What is approved is
the one plan that was looked at. Tests: tests/core/movers/test_olm.py
"""

from __future__ import annotations

from typing import Final

from seatrial.core.actions.at_home import Publish
from seatrial.core.compat.matrix import Component
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import Point, PublishStep, Via
from seatrial.core.model.seen.releases import CHARTS
from seatrial.core.model.seen.subscriptions import Plan, Subscription, names_in
from seatrial.core.model.target import parts_of, text_of
from seatrial.core.movers.view import Outcome, View

PLAN_SECONDS: Final = 3 * 24 * 3600.0
"""How long OLM may take to offer a release before its hold has no end any more: somebody has to see to it."""


def subscription_of(view: View, component: Component) -> Subscription | None:
    """What OLM follows for an operator, where we have it brought ourselves; None where OLM has no part in it."""
    mine = (each for each in view.operator.subscriptions if each.component is component)
    return next(mine, None) if view.campaign.publish is Via.DIRECT else None


def without_way_back(view: View, text: str) -> str:
    """What of a version can be had back: all of it but the releases that OLM brings."""
    driver, parts = parts_of(text)
    stays = {name for name, _ in parts if name in CHARTS and subscription_of(view, Component(name)) is not None}
    return text_of(driver, ((Component(name), version) for name, version in parts if name not in stays))


# ── before the start ─────────────────────────────────────────────────────────────────────────────────────────────────


def why_not(view: View, component: Component, version: str) -> Hold | None:
    """Why OLM could not bring a release, or nobody was told that there is no way back from it."""
    found = subscription_of(view, component)
    if found is None:
        return None
    if not view.campaign.is_one_way:
        return view.hold(HoldCode.RELEASE_ONE_WAY, component=component.value, version=version, resource=found.resource)
    return why_automatic(view, found) or _why_unplanned(view, found, version)


def why_automatic(view: View, found: Subscription) -> Hold | None:
    """Why a Subscription is not to be relied on: OLM may take the operator to another release at any moment."""
    if not found.is_automatic:
        return None
    where = found.resource
    return view.hold(HoldCode.RELEASE_AUTOMATIC, resource=where, namespace=found.namespace, name=found.name)


def why_any_automatic(view: View) -> Hold | None:
    """The same for every operator whose release the rollout is about."""
    named = (subscription_of(view, each) for each in view.intent.target.components if each in CHARTS)
    holds = (why_automatic(view, found) for found in named if found is not None)
    return next((held for held in holds if held is not None), None)


def _why_unplanned(view: View, found: Subscription, version: str) -> Hold | None:
    """Why there is nothing that could be approved: OLM offers something else, something more, or nothing."""
    wanted, plan = found.named(version), found.plan
    if found.installed == wanted or (plan is not None and plan.names == (wanted,)):
        return None
    since = view.record.entered_at
    return view.hold(
        HoldCode.RELEASE_UNPLANNED,
        until=since + PLAN_SECONDS if since and view.now < since + PLAN_SECONDS else None,
        resource=found.resource,
        namespace=found.namespace,
        name=found.name,
        wanted=wanted,
        found=_offered(plan),
    )


def _offered(plan: Plan | None) -> str:
    if plan is None or plan.is_approved:
        return "no InstallPlan waits for approval"
    return f"{plan.resource} would install {names_in(plan.names) or 'nothing'}"


# ── bringing it ──────────────────────────────────────────────────────────────────────────────────────────────────────


def bring(view: View, step: PublishStep, found: Subscription, version: str) -> Outcome:
    """What is due so that OLM brings a release, and why we wait."""
    held = why_automatic(view, found) or _why_unplanned(view, found, version)
    if held is not None:
        return (), (held,)
    plan, wanted = found.plan, found.named(version)
    is_due = plan is not None and not plan.is_approved and found.installed != wanted
    if plan is None or not is_due:
        trouble = (plan.trouble if plan is not None and plan.names == (wanted,) else "") or found.trouble
        if trouble:
            return (), (view.hold(HoldCode.RELEASE_FAILED, wanted=wanted, said=trouble, namespace=found.namespace),)
        return (), (view.hold(HoldCode.PUBLISH_PENDING, resource=found.resource, version=wanted, via=Via.DIRECT),)
    act = Publish(
        rollout=view.name,
        step=step,
        versions=((plan.resource, wanted),),
        via=Via.DIRECT,
        expects=((plan.resource, plan.resource_version),),
        note=f"{view.name}/{step}",
    )
    return view.act(act, HoldCode.PUBLISH_PENDING, resource=found.resource, version=wanted, via=Via.DIRECT)


# ── the way back ─────────────────────────────────────────────────────────────────────────────────────────────────────


def stays(view: View) -> tuple[Hold, ...]:
    """What a rollout that is undone leaves behind, until a person says that it may stay, or has replaced it."""
    if Point.ROLLBACK in view.campaign.approved:
        return ()
    named = ((each, view.intent.target.version_of(each)) for each in view.intent.target.components if each in CHARTS)
    holds = (_why_it_stays(view, component, version) for component, version in named)
    return tuple(held for held in holds if held is not None)


def _why_it_stays(view: View, component: Component, version: str) -> Hold | None:
    found = subscription_of(view, component)
    if found is None:
        return None
    wanted, plan = found.named(version), found.plan
    is_ours = plan is None or plan.names != (wanted,) or plan.note.startswith(f"{view.name}/")
    is_coming = plan is not None and plan.is_approved and plan.names == (wanted,)
    if not is_ours or not (found.installed == wanted or is_coming):
        return None
    return view.hold(HoldCode.RELEASE_STAYS, component=component.value, version=version, resource=found.resource)
