"""What brings repositories into the cluster, as it says of itself: Applications, Kustomizations, HelmReleases.

A further engine is a row of the table of streams, one of core/model/deployers.py, and a function here. It explains why
a commit is not in the cluster yet, and no more: no rule in sight. Tests: tests/adapters/kube/test_followers.py, and
beside the real engines in tests/gitops.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from seatrial.adapters.kube.reading.items import Meta, meta_of
from seatrial.adapters.kube.shapes.gitops_models import Application, Release, ToolkitObject
from seatrial.adapters.kube.shapes.models import Condition
from seatrial.core.model.deployers import Follower, Stop
from seatrial.core.text import foreign

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
    )


def _trouble(item: Application) -> str:
    """What it could not compare, and its last operation where that failed, or is tried again after it did."""
    operation = item.status.operation_state
    said = [each.message for each in item.status.conditions if each.type.endswith("Error")]
    is_behind = item.status.sync.status != SYNCED
    if operation is not None and is_behind and (operation.phase in FAILED or operation.retry_count):
        said.insert(0, operation.message)
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
    newest = item.status.history[0] if item.status.history else Release()
    found = OF_CHART.search(newest.chart_version) if newest.status == RELEASED else None
    return found[1] if found is not None else ""
