"""When each deployer runs the hook of a release, as its documentation and its issues have it: small, and no deployer.

helm        every upgrade
helmfile    apply: when what is rendered differs, hooks included; sync: every time
Flux        when the version of the chart or the values differ
Argo CD     after a sync of everything; by itself it syncs when objects that are no hooks differ. Syncs of chosen
            objects run none; healing is one, unless the commit is another than that of the last sync; and with one
            hook of its own it ignores all of Helm's

That they are right is seen with the real ones, in tests/gitops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.bundles.extracting import Extracted
from tests.bundles.rendering import hooks, others

Object = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A release as a deployer finds it in Git at one commit."""

    release: Extracted
    objects: list[Object]
    chart_version: str
    commit: str


def _after(look: Look, *kinds: str) -> bool:
    """Whether something runs after an install or an upgrade."""
    found = [each["metadata"]["annotations"]["helm.sh/hook"].split(",") for each in hooks(look.objects)]
    return look.release.runs_hooks and any(set(kinds) & set(each) for each in found)


def helm_upgrade(_before: Look | None, now: Look) -> bool:
    return _after(now, "post-install", "post-upgrade")


def helmfile_apply(before: Look | None, now: Look) -> bool:
    is_same = before is not None and before.objects == now.objects
    return not is_same and _after(now, "post-install", "post-upgrade")


def flux_reconcile(before: Look | None, now: Look) -> bool:
    return (before is None or _flux_sees(before) != _flux_sees(now)) and _after(now, "post-install", "post-upgrade")


def _flux_sees(look: Look) -> tuple[Any, ...]:
    strategy, *texts = look.release.watched
    version = f"{look.chart_version}+{look.commit}" if strategy == "Revision" else look.chart_version
    return version, *texts


def argo_sync(before: Look | None, now: Look) -> bool:
    """An automatic sync."""
    is_same = before is not None and others(before.objects) == others(now.objects)
    return not is_same and argo_sync_by_hand(before, now)


def argo_sync_by_hand(_before: Look | None, now: Look) -> bool:
    has_its_own = any("argocd.argoproj.io/hook" in (each["metadata"].get("annotations") or {}) for each in now.objects)
    return not has_its_own and _after(now, "post-install", "post-upgrade")


def argo_heal(synced: Look, now: Look) -> bool:
    """An object was edited in the cluster since the last sync."""
    return synced.commit != now.commit and argo_sync_by_hand(synced, now)


BY_ITSELF: Mapping[str, Callable[[Look | None, Look], bool]] = {
    "helmfile": helmfile_apply,
    "flux": flux_reconcile,
    "argocd": argo_sync,
    "argocd-helm": argo_sync,
}
"""What each does when a commit comes in; helm does nothing by itself."""
EVERY_TIME: Mapping[str, Callable[[Look | None, Look], bool]] = {
    "helm": helm_upgrade,
    "argocd": argo_sync_by_hand,
    "argocd-helm": argo_sync_by_hand,
}
