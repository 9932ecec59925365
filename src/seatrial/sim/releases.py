"""Releases of operators in a played cluster: whoever holds one has it deployed at once, and DaemonSets follow later.

    a Subscription          its InstallPlan         what OLM does by itself, and in its own time
    Manual                  waits for approval      nothing
    Manual                  approved                installs what the plan names
    Automatic               waits for approval      approves it, and installs what it names
    either                  failed                  nothing

Pure functions, as in outside.py. What takes its time in a real cluster, a chart that is fetched and a Deployment that
comes up, is in no node's way; what follows from it is. Tests: tests/sim/test_releases.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.operators import Carrier, OperatorFacts
from seatrial.core.model.seen.releases import CHARTS, Holder
from seatrial.core.model.seen.subscriptions import Plan, Subscription, is_plan, names_in, package_in
from seatrial.core.model.target import parts_of
from seatrial.sim.acts import Refused


def written(operator: OperatorFacts, resource: str, version: str, expect: str, note: str) -> OperatorFacts | Refused:
    """The operator after a write of a chart's version into what holds its release, or why that was turned down."""
    if is_plan(resource):
        return _approved(operator, resource, version, expect, note)
    found = next((each for each in operator.holders if each.resource == resource), None)
    if found is None:
        return Refused(is_stale=True, why=f"{resource} not found")
    if expect and expect != found.resource_version:
        return Refused(is_stale=True, why=f"{resource} is no longer at {expect}")
    after = replace(found, version=version, note=note or found.note)
    if after == found:
        return operator  # a write that changes nothing leaves its version, as the API server does
    # Who wrote the same version before us still stands behind it.
    writer = found.writer if found.version == version else "seatrial"
    after = replace(after, writer=writer, resource_version=_next(found))
    holders = tuple(after if each is found else each for each in operator.holders)
    return deployed(replace(operator, holders=holders), found.component, version)


def _next(found: Holder | Plan) -> str:
    return str(int(found.resource_version) + 1) if found.resource_version else ""


# ── OLM ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

INSTALLED: Final = "OLM installs a release"


def _approved(operator: OperatorFacts, resource: str, names: str, expect: str, note: str) -> OperatorFacts | Refused:
    """The operator after an InstallPlan was approved; what it installs comes later."""
    found = next((each for each in operator.subscriptions if each.plan and each.plan.resource == resource), None)
    if found is None or found.plan is None:
        return Refused(is_stale=True, why=f"{resource} not found")
    plan = found.plan
    if names_in(plan.names) != names:
        return Refused(is_stale=False, why=f"{resource} installs {names_in(plan.names)}, not {names}")
    if expect and expect != plan.resource_version:
        return Refused(is_stale=True, why=f"{resource} is no longer at {expect}")
    after = replace(plan, is_approved=True, note=note or plan.note)
    if after == plan:
        return operator
    return _subscribed(operator, found, replace(found, plan=replace(after, resource_version=_next(plan))))


def _subscribed(operator: OperatorFacts, before: Subscription, after: Subscription) -> OperatorFacts:
    subscriptions = tuple(after if each is before else each for each in operator.subscriptions)
    return replace(operator, subscriptions=subscriptions)


def installed(operator: OperatorFacts) -> OperatorFacts | None:
    """The operator once OLM has installed what is approved, one plan at a time; None where nothing is due."""
    for each in operator.subscriptions:
        plan = each.plan
        if plan is None or plan.trouble or not (plan.is_approved or each.is_automatic):
            continue
        name = next((name for name in plan.names if package_in(name) == each.package), "")
        if name and name != each.installed:
            done = replace(each, installed=name, plan=replace(plan, is_approved=True))
            version = name.removeprefix(f"{each.package}.")
            return deployed(_subscribed(operator, each, done), each.component, version)
    return None


# ── what is deployed ─────────────────────────────────────────────────────────────────────────────────────────────────


def deployed(operator: OperatorFacts, component: Component, version: str) -> OperatorFacts:
    """The operator once a release of a chart is in the cluster, whoever brought it."""
    return replace(
        operator,
        releases=tuple(
            replace(each, version=version) if each.component is component else each for each in operator.releases
        ),
        carriers=tuple(_beside(each, component, version) for each in operator.carriers),
    )


def _beside(carrier: Carrier, component: Component, version: str) -> Carrier:
    return replace(carrier, parts=tuple({**dict(carrier.parts), component.value: version}.items()))


def followed(operator: OperatorFacts, texts: Iterable[str]) -> OperatorFacts:
    """The operator once what a repository says of releases, in these versions, is in the cluster."""
    for name, version in (part for text in texts for part in parts_of(text)[1] if part[0] in CHARTS):
        operator = deployed(operator, Component(name), version)
    return operator
