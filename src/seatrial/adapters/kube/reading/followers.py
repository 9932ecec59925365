"""What brings repositories into the cluster, as it says of itself: Applications, Kustomizations, HelmReleases.

A further engine is a row of the table of streams, one of core/model/deployers.py, and a function here. It explains why
a commit is not in the cluster yet; one whose chart is an operator's says which release of it is wanted, and the
operator's Deployment which one runs. What OLM brings is in olm.py. No rule in sight. Tests:
tests/adapters/kube/test_followers.py, test_release_items.py, and beside the real engines in tests/gitops.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from seatrial.adapters.kube.reading.items import Meta, meta_of
from seatrial.adapters.kube.reading.olm import OWNER
from seatrial.adapters.kube.reading.operator_items import writer_of
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.shapes.gitops_models import Application, OperatorDeployment, ToolkitObject
from seatrial.adapters.kube.shapes.gitops_models import Release as History
from seatrial.adapters.kube.shapes.models import Condition, ManagedMeta
from seatrial.core.base.values import dataclass, replace
from seatrial.core.compat.matrix import Component
from seatrial.core.model.deployers import Follower, Stop, marks_of
from seatrial.core.model.seen.releases import CHARTS, NAMES, Holder, Release, operator_of
from seatrial.core.text import foreign
from seatrial.core.text.names import dns

SKIP: Final = "argocd.argoproj.io/skip-reconcile"
SYNCED: Final = "Synced"
FAILED: Final = ("Failed", "Error")
RUNNING: Final = "Running"
DEPENDS: Final = "DependencyNotReady"
"""One that waits for another is called not ready, as one that failed is."""
RELEASED: Final = "deployed"
OF_CHART: Final = re.compile(r"\+([0-9a-f]{12})(\.\d+)?$")
"""The end of the version of a chart that lies in a repository: the beginning of the commit."""
SAID_MAX: Final = 400
"""So much of what an engine says is kept: it goes into a status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowerItem:
    """One of them."""

    metadata: Meta
    facts: Follower
    holder: Holder | None = None
    """What it says of an operator's release, where the chart is one."""

    @property
    def tells(self) -> object:
        """What is news of it; its version moves with every word of its own status."""
        return self.facts, replace(self.holder, resource_version="") if self.holder is not None else None


def application_item(item: Application) -> FollowerItem:
    """Keep what is said of an Application."""
    status, policy = item.status, item.spec.sync_policy
    is_automated = policy is not None and policy.automated is not None and policy.automated.enabled is not False
    stop = Stop.SKIPPED if item.metadata.annotations.get(SKIP) == "true" else None if is_automated else Stop.BY_HAND
    is_synced = status.sync.status == SYNCED
    last = status.history[-1].revision if status.history else ""
    return FollowerItem(
        metadata=meta_of(item.metadata),
        facts=Follower(
            kind="Application",
            namespace=item.metadata.namespace,
            name=item.metadata.name,
            commit=foreign.line(status.sync.revision if is_synced else last),
            stop=stop,
            trouble=_trouble(item),
            waits_for=_waits_for(item),
        ),
        holder=_of_application(item),
    )


def _trouble(item: Application) -> str:
    """What it could not compare, and its last operation where that failed, or is tried again after it did."""
    operation = item.status.operation_state
    said = [each.message for each in item.status.conditions if each.type.endswith("Error")]
    is_behind = item.status.sync.status != SYNCED
    if operation is not None and is_behind and (operation.phase in FAILED or operation.retry_count):
        said = [operation.message, *said]
    return foreign.line(" ".join(said), SAID_MAX)


def _waits_for(item: Application) -> str:
    operation = item.status.operation_state
    is_at_it = operation is not None and operation.phase == RUNNING
    return foreign.line(operation.message, SAID_MAX) if operation is not None and is_at_it else ""


def toolkit_item(kind: str) -> Callable[[ToolkitObject], FollowerItem]:
    """Keep what is said of a Kustomization, or a HelmRelease."""

    def read(item: ToolkitObject) -> FollowerItem:
        ready = _condition(item, "Ready")
        said = foreign.line(ready.message, SAID_MAX)
        return FollowerItem(
            metadata=meta_of(item.metadata),
            facts=Follower(
                kind=kind,
                namespace=item.metadata.namespace,
                name=item.metadata.name,
                commit=_brought(item),
                stop=Stop.SUSPENDED if item.spec.suspend else None,
                trouble=said if ready.status == "False" and ready.reason != DEPENDS else "",
                waits_for=_at_work(item) or (said if ready.reason == DEPENDS else ""),
            ),
            holder=_of_helm_release(item) if kind == "HelmRelease" else None,
        )

    return read


def _at_work(item: ToolkitObject) -> str:
    """What it says while it is at it: of itself no more than that, what it does is in another condition."""
    ready, work = _condition(item, "Ready"), _condition(item, "Reconciling")
    said = work.message if work.status == "True" else ready.message
    return foreign.line(said, SAID_MAX) if ready.status == "Unknown" else ""


def _condition(item: ToolkitObject, kind: str) -> Condition:
    return next((each for each in item.status.conditions if each.type == kind), Condition())


def _brought(item: ToolkitObject) -> str:
    """The commit that is in the cluster, or how it begins; empty where a chart does not come from a repository."""
    # Such as main@sha1:0f3c…
    if item.status.last_applied_revision:
        return foreign.line(item.status.last_applied_revision.rpartition(":")[2])
    newest = item.status.history[0] if item.status.history else History()
    found = OF_CHART.search(newest.chart_version) if newest.status == RELEASED else None
    return found[1] if found is not None else ""


# ── releases ─────────────────────────────────────────────────────────────────────────────────────────────────────────

NAME: Final = "app.kubernetes.io/name"
SELECTOR: Final = f"{NAME} in ({','.join(NAMES)})"
"""The Deployments of the operators whose releases we know."""
CHART: Final = "helm.sh/chart"
VERSION: Final = "app.kubernetes.io/version"
RELEASE_NAME: Final = "meta.helm.sh/release-name"
RELEASE_NAMESPACE: Final = "meta.helm.sh/release-namespace"
"""What Helm, or a chart, writes on whatever it makes."""


def _of_helm_release(item: ToolkitObject) -> Holder | None:
    chart = item.spec.chart.spec if item.spec.chart is not None else None
    if chart is None:
        return None
    return _holder("HelmRelease", item.metadata, chart.chart, chart.version, ("spec", "chart", "spec", "version"))


def _of_application(item: Application) -> Holder | None:
    many = ((each, ("spec", "sources")) for each in item.spec.sources)
    for source, field in ((item.spec.source or {}, ("spec", "source", "targetRevision")), *many):
        chart, version = str(source.get("chart") or ""), str(source.get("targetRevision") or "")
        found = _holder("Application", item.metadata, chart, version, field)
        if found is not None:
            return found
    return None


def _holder(kind: str, meta: ManagedMeta, chart: str, version: str, field: tuple[str, ...]) -> Holder | None:
    component = operator_of(chart)
    if component is None:
        return None
    return Holder(
        component=component,
        resource=f"{kind}/{meta.namespace}/{meta.name}",
        version=foreign.line(version),
        writer=writer_of(meta, field),
        resource_version=meta.resource_version,
        note=foreign.line(meta.annotations.get(keys.PUBLISHED_ANNOTATION, "")),
        marks=marks_of(meta.labels, meta.annotations),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseItem:
    """An operator's Deployment."""

    metadata: Meta
    facts: Release | None

    @property
    def place(self) -> tuple[Component | None, str]:
        """Whose it says it is, and where it is."""
        return self.facts.component if self.facts is not None else None, self.metadata.namespace


def release_item(item: OperatorDeployment) -> ReleaseItem:
    """Keep which release a Deployment is of."""
    meta = item.metadata
    component = operator_of(meta.labels.get(NAME, "")) if OWNER not in meta.labels else None
    facts = (
        Release(
            component=component,
            version=foreign.line(_version_of(meta.labels)),
            chart="" if meta.labels.get(NAME, "") == CHARTS[component] else foreign.line(meta.labels.get(NAME, "")),
            name=dns(meta.annotations.get(RELEASE_NAME, "")),
            namespace=dns(meta.annotations.get(RELEASE_NAMESPACE, "")) or meta.namespace,
            is_up=item.is_rolled_out,
            marks=marks_of(meta.labels, meta.annotations),
        )
        if component is not None
        else None
    )
    return ReleaseItem(metadata=meta_of(meta), facts=facts)


def _version_of(labels: dict[str, str]) -> str:
    said, chart = labels.get(CHART, ""), labels.get(NAME, "")
    return said.removeprefix(f"{chart}-") if said.startswith(f"{chart}-") else labels.get(VERSION, "")
