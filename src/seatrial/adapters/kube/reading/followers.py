"""What brings repositories into the cluster, as it says of itself: Applications, Kustomizations, HelmReleases.

A further engine is a row of the table of streams, one of core/model/deployers.py, and a function here. It explains why
a commit is not in the cluster yet, and no more: no rule in sight. Tests: tests/adapters/kube/test_followers.py, and
beside the real engines in tests/gitops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from seatrial.adapters.kube.reading.items import Meta, meta_of
from seatrial.adapters.kube.shapes.gitops_models import Application, ToolkitObject
from seatrial.core.model.deployers import Follower, Stop
from seatrial.core.text import foreign

SKIP: Final = "argocd.argoproj.io/skip-reconcile"
SYNCED: Final = "Synced"
FAILED: Final = ("Failed", "Error")
RUNNING: Final = "Running"
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
        ready = next((each for each in item.status.conditions if each.type == "Ready"), None)
        said = foreign.line(ready.message, SAID_MAX) if ready is not None else ""
        return FollowerItem(
            metadata=meta_of(item.metadata),
            facts=Follower(
                kind=kind,
                namespace=item.metadata.namespace,
                name=item.metadata.name,
                # Such as main@sha1:0f3c…
                commit=foreign.line(item.status.last_applied_revision.rpartition(":")[2]),
                stop=Stop.SUSPENDED if item.spec.suspend else None,
                trouble=said if ready is not None and ready.status == "False" else "",
                waits_for=said if ready is not None and ready.status == "Unknown" else "",
            ),
        )

    return read
