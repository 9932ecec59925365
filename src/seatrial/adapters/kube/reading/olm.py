"""What OLM says of the operators it installs: Subscriptions, their InstallPlans, and what became of them.

    Subscription ─ status.installPlanRef ─▶ InstallPlan        what would be installed next
                 ─ status.installedCSV ───▶ ClusterServiceVersion
    Deployment   ─ label olm.owner ───────▶ ClusterServiceVersion, Succeeded: that release runs

Of all that OLM installs, the operators whose releases we know are kept; of an InstallPlan its names, and not the
manifests that make it large. No rule in sight. Tests: tests/adapters/kube/test_olm_items.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from seatrial.adapters.kube.reading.items import Meta, meta_of
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.gitops_models import Csv, InstallPlan, OperatorDeployment
from seatrial.adapters.kube.shapes.gitops_models import Subscription as SubscriptionObject
from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Component
from seatrial.core.model.seen.releases import Release
from seatrial.core.model.seen.subscriptions import PACKAGES, PLAN_KIND, Plan, Subscription, package_in
from seatrial.core.text import foreign

OWNER: Final = "olm.owner"
"""The label by which OLM says of which ClusterServiceVersion a Deployment is."""
DEPLOYMENTS: Final = "olm.owner.kind=ClusterServiceVersion"
ORIGINALS: Final = f"!{keys.COPIED_LABEL}"
"""OLM shows a ClusterServiceVersion in every namespace that it watches; these are no copies."""
MANUAL: Final = "Manual"
SUCCEEDED, FAILED = "Succeeded", "Failed"
SAID_MAX: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionItem:
    """One of them, and which InstallPlan it names."""

    metadata: Meta
    facts: Subscription
    plan: str

    @property
    def place(self) -> tuple[Component, str]:
        return self.facts.component, self.metadata.namespace


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanItem:
    """An InstallPlan with something of ours in it."""

    metadata: Meta
    facts: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvItem:
    """What OLM installed, or tries to."""

    metadata: Meta
    is_succeeded: bool
    trouble: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedItem:
    """A Deployment that OLM made."""

    metadata: Meta
    csv: str
    is_rolled_out: bool

    @property
    def place(self) -> tuple[Component, str]:
        return PACKAGES[package_in(self.csv)], self.metadata.namespace


def subscription_item(item: SubscriptionObject) -> SubscriptionItem | None:
    """Keep what a Subscription follows, if that is an operator of ours."""
    component, meta = PACKAGES.get(item.spec.name), item.metadata
    if component is None:
        return None
    named = item.status.install_plan_ref.name if item.status.install_plan_ref is not None else ""
    failed = (each.message for each in item.status.conditions if each.type.endswith("Failed") and each.status == "True")
    return SubscriptionItem(
        metadata=meta_of(meta),
        facts=Subscription(
            component=component,
            resource=f"Subscription/{meta.namespace}/{meta.name}",
            package=item.spec.name,
            is_automatic=item.spec.install_plan_approval != MANUAL,
            installed=foreign.line(item.status.installed_csv),
            trouble=foreign.line(" ".join(failed), SAID_MAX),
        ),
        plan=foreign.line(named),
    )


def plan_item(item: InstallPlan) -> PlanItem | None:
    """Keep what an InstallPlan installs, if an operator of ours is among it."""
    names, meta = item.spec.cluster_service_version_names, item.metadata
    if not any(package_in(name) in PACKAGES for name in names):
        return None
    failed = [each.message for each in item.status.conditions if each.status == "False" and each.message]
    said = item.status.message or " ".join(failed) or "it says no reason"
    return PlanItem(
        metadata=meta_of(meta),
        facts=Plan(
            resource=f"{PLAN_KIND}/{meta.namespace}/{meta.name}",
            names=tuple(foreign.line(name) for name in names),
            is_approved=item.spec.approved,
            trouble=foreign.line(said, SAID_MAX) if item.status.phase == FAILED else "",
            resource_version=meta.resource_version,
            note=foreign.line(meta.annotations.get(keys.PUBLISHED_ANNOTATION, "")),
        ),
    )


def plan_tells(item: PlanItem) -> object:
    """What is news of an InstallPlan; its version moves with every step that OLM takes."""
    facts = item.facts
    return facts.names, facts.is_approved, facts.trouble, facts.note


def csv_item(item: Csv) -> CsvItem | None:
    """Keep whether what OLM installs of ours has succeeded."""
    if package_in(item.metadata.name) not in PACKAGES:
        return None
    said = item.status.message or item.status.reason or "it says no reason"
    return CsvItem(
        metadata=meta_of(item.metadata),
        is_succeeded=item.status.phase == SUCCEEDED,
        trouble=foreign.line(said, SAID_MAX) if item.status.phase == FAILED else "",
    )


def owned_item(item: OperatorDeployment) -> OwnedItem | None:
    """Keep whether a Deployment of ours is rolled out, and of which ClusterServiceVersion it is."""
    csv = item.metadata.labels.get(OWNER, "")
    if package_in(csv) not in PACKAGES:
        return None
    return OwnedItem(metadata=meta_of(item.metadata), csv=foreign.line(csv), is_rolled_out=item.is_rolled_out)


# ── together ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def subscriptions_of(
    items: Iterable[SubscriptionItem], plans: Iterable[PlanItem], csvs: Iterable[CsvItem]
) -> tuple[Subscription, ...]:
    """Every Subscription with its InstallPlan, and with what went wrong."""
    by_name: Mapping[tuple[str, str], Plan] = {_key(each.metadata): each.facts for each in plans}
    failed = {_key(each.metadata): each.trouble for each in csvs if each.trouble}
    return tuple(
        _joined(each, by_name.get((each.metadata.namespace, each.plan)), failed)
        for each in sorted(items, key=lambda item: item.facts.resource)
    )


def _joined(item: SubscriptionItem, plan: Plan | None, failed: Mapping[tuple[str, str], str]) -> Subscription:
    facts = item.facts
    names = (facts.installed, *(plan.names if plan is not None and plan.is_approved else ()))
    troubles = (failed.get((item.metadata.namespace, name), "") for name in names)
    return Subscription(
        component=facts.component,
        resource=facts.resource,
        package=facts.package,
        is_automatic=facts.is_automatic,
        installed=facts.installed,
        trouble=next(filter(None, troubles), facts.trouble),
        plan=plan,
    )


def releases_of(items: Iterable[OwnedItem], csvs: Iterable[CsvItem]) -> tuple[Release, ...]:
    """The releases that OLM's Deployments are of; one is up when it has succeeded and all of them are rolled out."""
    succeeded = {_key(each.metadata) for each in csvs if each.is_succeeded}
    found: dict[tuple[str, str], list[OwnedItem]] = {}
    for each in items:
        found.setdefault((each.metadata.namespace, each.csv), []).append(each)
    return tuple(
        Release(
            component=PACKAGES[package_in(csv)],
            version=csv.partition(".")[2],
            namespace=namespace,
            is_up=(namespace, csv) in succeeded and all(each.is_rolled_out for each in made),
        )
        for (namespace, csv), made in sorted(found.items())
    )


def _key(meta: Meta) -> tuple[str, str]:
    return meta.namespace, meta.name
