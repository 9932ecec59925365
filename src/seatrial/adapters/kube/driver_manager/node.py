"""One node and its pods: read anew before every decision, written to in one request for each step, and watched between.

A pod that was bound a moment before the cordon must not be missed, so nothing is decided on what a watch has brought:
a watch only says that it is time to look again.

Law of this file: one attempt each, and how it ended. Tests: tests/adapters/kube/test_managed_node.py,
tests/e2e/driver_manager/test_uninstall.py
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import Any, Final

from seatrial.adapters.kube.api import errors, served
from seatrial.adapters.kube.api.client import Bookmark, Client, PatchKind, api_path
from seatrial.adapters.kube.reading import access, items, pod_items
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.core.model import consumers
from seatrial.core.model.seen.pods import PodOwner
from seatrial.core.node.driver_manager.settings import Settings
from seatrial.core.node.driver_manager.values import (
    ApiStep,
    Cordon,
    Evict,
    NodeState,
    PodSeen,
    Relabel,
    Turned,
    Uncordon,
)
from seatrial.core.text.moments import moment

PASSING: Final = (errors.ClusterUnavailable, errors.Conflict, errors.TooManyRequests, errors.ServerFault)
"""What may well be otherwise in a moment."""
WATCH_SECONDS: Final = 240
RIGHTS: Final = (
    access.Right(verb="get", resource="nodes"),
    access.Right(verb="patch", resource="nodes"),
    access.Right(verb="list", resource="pods"),
    access.Right(verb="watch", resource="pods"),
    access.Right(verb="create", resource="pods", subresource="eviction"),
    access.Right(verb="get", resource="resourceclaims", group="resource.k8s.io"),
)
"""All that is ever asked of the API; manifests/rbac-driver-manager.yaml grants exactly these."""


class ManagedNode:
    """The node of one driver manager."""

    def __init__(self, client: Client, settings: Settings) -> None:
        self._client = client
        self._path = f"{keys.NODES}/{settings.node}"
        self._here = f"spec.nodeName={settings.node}"
        self._version = ""

    # ── seeing ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def look(self) -> tuple[NodeState, tuple[PodSeen, ...]]:
        """The node and its pods as they are now."""
        node = await self._client.get(self._path, kinds.Node)
        listing = await self._client.list(keys.PODS, kinds.Pod, field_selector=self._here)
        self._version = listing.resource_version
        return _state(node), tuple([await self._pod(pod) for pod in listing.items])

    async def _pod(self, pod: kinds.Pod) -> PodSeen:
        meta, keeper = pod.metadata, pod_items.keeper_of(pod)
        is_finished = pod.status.phase in consumers.FINISHED_PHASES
        is_leaving = meta.deletion_timestamp is not None
        names = pod_items.claims_of(pod) if is_leaving or not is_finished else ()
        claims = [await self._claim(meta.namespace, name) for name in names]
        # The operator's own DaemonSets all run under the runtime class nvidia, and leave by their labels.
        runtime_class = "" if keeper is PodOwner.DAEMON_SET else pod.spec.runtime_class_name or ""
        use = consumers.gpu_use(
            phase=pod.status.phase, resources=pod_items.resources_of(pod), claims=claims, runtime_class=runtime_class
        )
        return PodSeen(
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            labels=tuple(meta.labels.items()),
            selects=tuple(pod.spec.node_selector),
            keeper=keeper,
            has_empty_dir=any(volume.empty_dir is not None for volume in pod.spec.volumes),
            is_leaving=is_leaving,
            is_finished=is_finished,
            is_plugin=pod_items.is_dra_plugin(pod),
            holds_gpu=use is not None,
            holds_claim=consumers.holds_claim(claims),
        )

    async def _claim(self, namespace: str, name: str) -> consumers.Claim:
        paths = [api_path(version, "resourceclaims", namespace=namespace, name=name) for version in keys.DRA_VERSIONS]
        try:
            _, found = await served.at_first(paths, lambda path: self._client.get(path, kinds.ResourceClaim))
            return items.claim_item(found).claim
        except errors.NotFound:
            return consumers.Claim(name=name)  # gone with what it gave
        except errors.Forbidden:
            return consumers.Claim(name=name, is_readable=False)  # in doubt it holds

    async def changed(self) -> None:
        """Return when something has happened to a pod here since the last look, or after some minutes."""
        events = self._client.watch(
            keys.PODS,
            kinds.Pod,
            resource_version=self._version,
            field_selector=self._here,
            timeout_seconds=WATCH_SECONDS,
        )
        with suppress(errors.WatchSilent, errors.Gone):  # then it is time to look, too
            async with aclosing(events):
                async for event in events:
                    if not isinstance(event, Bookmark):
                        return

    async def denied(self) -> tuple[str, ...]:
        """Which of the rights that are needed are missing."""
        return await access.denied_of(self._client, RIGHTS)

    # ── doing ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def do(self, step: ApiStep) -> Turned | None:
        """One write; None when it is done."""
        try:
            if isinstance(step, Evict):
                await self._client.evict(step.namespace, step.name, uid=step.uid)
            else:
                await self._client.patch(self._path, _patch(step), kind=PatchKind.MERGE)
        except (errors.NotFound, errors.Conflict) as err:
            if isinstance(step, Evict):
                return None  # it is gone, or another one by now: the next look says so
            return Turned(why=str(err), is_passing=isinstance(err, PASSING))
        except errors.TooManyRequests as err:
            is_budgets = isinstance(step, Evict) and err.is_blocked_by_budget
            return Turned(why=err.budget_of(step.namespace) if is_budgets else str(err), is_passing=True)  # type: ignore[union-attr]
        except errors.ClusterError as err:
            return Turned(why=str(err), is_passing=isinstance(err, PASSING) or _is_namespace_going(err))
        return None


def _is_namespace_going(err: errors.ClusterError) -> bool:
    """Nobody can be evicted from a namespace that is being removed: its pods go by themselves."""
    causes = err.causes if isinstance(err, errors.ServerRefused) else ()
    return any(cause.reason == "NamespaceTerminating" for cause in causes)


def _state(node: kinds.Node) -> NodeState:
    notes = node.metadata.annotations
    return NodeState(
        name=node.metadata.name,
        version=node.metadata.resource_version,
        labels=tuple(node.metadata.labels.items()),
        is_cordoned=node.spec.unschedulable,
        is_cordon_ours=keys.MANAGER_CORDON_ANNOTATION in notes,
        is_superseded=notes.get(keys.UPGRADE_ENABLED_ANNOTATION) == "true",
    )


def _patch(step: Relabel | Cordon | Uncordon) -> dict[str, Any]:
    """A merge patch. A cordon and its owner are one write: there is no moment in which one is without the other."""
    match step:
        case Relabel(values=values):
            return {"metadata": {"labels": dict(values)}}
        case Cordon(version=version, at=at):
            notes: dict[str, str | None] = {keys.MANAGER_CORDON_ANNOTATION: moment(at)}
            return {"metadata": {"resourceVersion": version, "annotations": notes}, "spec": {"unschedulable": True}}
        case Uncordon(version=version):
            notes = {keys.MANAGER_CORDON_ANNOTATION: None}
            return {"metadata": {"resourceVersion": version, "annotations": notes}, "spec": {"unschedulable": None}}


async def first_of(*coroutines: Any, seconds: float | None) -> None:
    """Return when the first of these has, or after so many seconds; what it raised is raised."""
    tasks = [asyncio.ensure_future(each) for each in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
