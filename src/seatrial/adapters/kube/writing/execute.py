"""The cluster, as acts write to it: each is tried once, bound to what was seen; its answer is an Outcome.

One act needs a second request that does not repeat the first: one joins a NodeMaintenance as the first or as a further
one. Whoever sends an act here (run/routing.py) has asked whether we lead; where time has passed, it is asked again.
Tests: tests/adapters/kube/test_execute.py, test_execute_bound.py, test_execute_campaign.py, test_execute_real.py and
tests/e2e/.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from shlex import quote
from typing import Protocol, TypeAlias, assert_never

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, PatchKind, api_path
from seatrial.adapters.kube.reading import pools
from seatrial.adapters.kube.shapes import (
    keys,
    kinds,
    maintenance,
    marking,
    models,
    publishing,
    records,
    rollout_records,
)
from seatrial.adapters.kube.shapes.campaign_models import MachineConfigPool
from seatrial.adapters.kube.shapes.gitops_models import InstallPlan
from seatrial.adapters.kube.writing import workloads
from seatrial.adapters.kube.writing.outcomes import done, failed, stale, tried
from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import Publish
from seatrial.core.actions.of_campaigns import EndProbe, MakePool, MarkNode, PausePool, RemovePool, SetAutoUpgrade
from seatrial.core.actions.on_nodes import (
    KUEUE,
    AskCheckpoint,
    EvictPods,
    ReleaseMaintenance,
    RequestMaintenance,
    RestartPod,
    WriteNodeRecord,
)
from seatrial.core.actions.on_rollouts import Keeping, ReleaseRollout, WriteRolloutRecord
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.subscriptions import names_in
from seatrial.core.words import acts as words
from seatrial.ports import ClusterAct, Outcome, Result

Farewell: TypeAlias = Callable[[ReleaseRollout], Awaitable[None]]
"""Tells people what stays of a rollout, before it goes."""
Campaigns: TypeAlias = Publish | EndProbe | SetAutoUpgrade | MakePool | RemovePool | PausePool
"""What a campaign does in the cluster, outside of the nodes."""


class Reader(Protocol):
    """Who has to know what our writes returned."""

    def wrote_node(self, node: kinds.Node) -> None: ...

    def wrote_rollout(self, rollout: models.Rollout) -> None: ...

    def stored_rollout(self, name: str) -> models.Rollout | None: ...

    def stored_record(self, node: str) -> str: ...

    def is_operator_present(self) -> bool: ...

    def is_network_operator_present(self) -> bool: ...


class KubeCluster:
    """Writes to an API server."""

    def __init__(
        self, client: Client, reader: Reader, *, is_leader: Callable[[], bool], farewell: Farewell | None = None
    ) -> None:
        self._client = client
        self._reader = reader
        self._is_leader = is_leader
        self._farewell = farewell

    async def do(self, act: ClusterAct, /) -> Outcome:
        return await tried(act, self._do(act))

    async def _do(self, action: ClusterAct) -> Outcome:
        if isinstance(action, WriteNodeRecord | MarkNode):  # Cordon, Uncordon and PauseClients are of the first
            written = await self._write_node(action)
            return replace(done(action), uid=written.metadata.uid)
        if isinstance(action, Keeping):
            return await self._keep(action)
        if isinstance(action, Campaigns):
            return await self._campaign(action)
        return await self._act(action)

    async def _write_node(self, action: WriteNodeRecord | MarkNode) -> kinds.Node:
        if isinstance(action, MarkNode):
            body = marking.mark_patch(action)
        else:
            before = self._reader.stored_record(action.node)
            body = records.node_patch(
                action,
                mirror=not self._reader.is_operator_present(),
                mirror_network=not self._reader.is_network_operator_present(),
                before=before,
            )
        written = await self._client.patch(f"{keys.NODES}/{action.node}", body, kinds.Node, kind=PatchKind.MERGE)
        self._reader.wrote_node(written)
        return written

    async def _keep(self, action: Keeping) -> Outcome:
        """Put our finalizer on the rollout, or take it away once people were told what stays."""
        stored = self._reader.stored_rollout(action.rollout)
        if stored is None:
            return stale(action, f"GPURollout {action.rollout} is gone")
        if isinstance(action, ReleaseRollout) and self._farewell is not None:
            await self._farewell(action)
            if not self._is_leader():  # telling took its time
                return stale(action, "another controller leads by now")
        path, body = f"{keys.ROLLOUTS}/{action.rollout}", rollout_records.guard_patch(action, stored)
        written = await self._client.patch(path, body, models.Rollout, kind=PatchKind.MERGE)
        if written.metadata.finalizers:  # without one it is gone, and what is gone is not to be shown again
            self._reader.wrote_rollout(written)
        return done(action)

    async def _act(
        self,
        action: AskCheckpoint | EvictPods | RestartPod | RequestMaintenance | ReleaseMaintenance | WriteRolloutRecord,
    ) -> Outcome:
        match action:
            case AskCheckpoint(webhook=webhook) if webhook == KUEUE:
                return await self._suspend(action)
            case AskCheckpoint(webhook=webhook):
                return await self._annotate(
                    action, keys.CHECKPOINT_SAVED_ANNOTATION if webhook else keys.CHECKPOINT_REQUESTED_ANNOTATION
                )
            case EvictPods(pods=pods):
                return _joined(action, await _each(pods, self._evict))
            case RestartPod(namespace=namespace, pod=pod, uid=uid):
                await self._client.delete(api_path("v1", "pods", namespace=namespace, name=pod), uid=uid)
            case RequestMaintenance(joins=""):
                return await self._make_maintenance(action)
            case RequestMaintenance():
                await self._join_maintenance(action)
            case ReleaseMaintenance():
                await self._leave_maintenance(action)
            case WriteRolloutRecord(record=record):
                path = f"{keys.ROLLOUTS}/{record.name}"
                body = rollout_records.rollout_patch(record, self._reader.stored_rollout(record.name))
                written = await self._client.patch(
                    path, body, models.Rollout, kind=PatchKind.MERGE, subresource="status"
                )
                self._reader.wrote_rollout(written)
            case _:
                assert_never(action)
        return done(action)

    # ── pods ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _evict(self, pod: Pod) -> errors.ClusterError | None:
        """Why the pod does not leave; None when it does, or has."""
        try:
            await self._client.evict(pod.namespace, pod.name, uid=pod.uid)
        except (errors.NotFound, errors.Conflict):
            return None  # gone, or another pod of the same name by now
        except errors.ClusterError as err:
            return err
        return None

    async def _suspend(self, action: AskCheckpoint) -> Outcome:
        """Switch the Workloads of these pods off, one after the other."""
        named = dict.fromkeys((pod.namespace, pod.workload) for pod in action.pods if pod.workload)
        for namespace, name in named:
            try:
                await workloads.switch_off(self._client, namespace, name, token=action.token, node=action.node)
            except errors.Forbidden as err:
                grant = "grant it with `seatrial manifests rbac --kueue`, or kueue: true in the chart"
                return failed(action, f"Workload {namespace}/{name} may not be suspended; {grant}: {err}")
        return done(action)

    async def _annotate(self, action: AskCheckpoint, key: str) -> Outcome:
        """Write the token on every pod that still is the one we looked at."""

        async def annotate(pod: Pod) -> errors.ClusterError | None:
            # Immutable, so a patch that names it is refused by any other pod of the same name.
            body = {"metadata": {"uid": pod.uid, "annotations": {key: action.token}}}
            path = api_path("v1", "pods", namespace=pod.namespace, name=pod.name)
            try:
                await self._client.patch(path, body, kind=PatchKind.MERGE)
            except errors.ClusterError as err:
                return None if _is_another(err) else err
            return None

        noes = await _each(action.pods, annotate)
        barred = next((pod.namespace for pod, answer in noes if isinstance(answer, errors.Forbidden)), "")
        outcome = _joined(action, noes)
        if not barred:
            return outcome
        grant = (
            f"grant it with `seatrial manifests rbac --checkpoint-namespace {quote(barred)}`, or checkpointNamespaces"
        )
        return replace(
            outcome, detail=f"jobs in {barred} may not be asked to save their work; {grant}: {outcome.detail}"
        )

    # ── maintenance ──────────────────────────────────────────────────────────────────────────────────────────────────

    async def _make_maintenance(self, action: RequestMaintenance) -> Outcome:
        try:
            await self._client.create(keys.maintenances_path(action.namespace), maintenance.request_of(action))
        except errors.NotFound as err:
            # What is missing is the kind or the namespace; looking again would not bring it.
            return failed(action, str(err))
        return done(action)

    async def _join_maintenance(self, action: RequestMaintenance) -> None:
        path = f"{keys.maintenances_path(action.namespace)}/{action.name}"
        try:
            await self._client.patch(path, maintenance.first_to_join(action), kind=PatchKind.JSON)
        except errors.Invalid:  # somebody has joined before us
            await self._client.patch(path, maintenance.next_to_join(action), kind=PatchKind.JSON)

    async def _leave_maintenance(self, action: ReleaseMaintenance) -> None:
        path = f"{keys.maintenances_path(action.namespace)}/{action.name}"
        if action.is_ours:
            await self._client.delete(path, uid=action.uid)
        else:
            await self._client.patch(path, maintenance.leaving_patch(action), kind=PatchKind.JSON)

    # ── campaigns ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _campaign(self, action: Campaigns) -> Outcome:
        match action:
            case Publish():
                return await self._publish(action)
            case EndProbe(job=job):
                namespace, _, name = job.partition("/")
                await self._client.delete(f"{keys.jobs_path(namespace)}/{name}", with_dependents=True)
                return done(action)
            case SetAutoUpgrade():
                return await self._set_auto_upgrade(action)
            case MakePool():
                return await self._make_pool(action)
            case PausePool():
                return await self._pause_pool(action)
            case RemovePool(name=name, expect=expect):
                await self._client.delete(f"{keys.MACHINE_POOLS}/{name}", resource_version=expect)
                return done(action)
            case _:
                assert_never(action)

    async def _publish(self, action: Publish) -> Outcome:
        """Write one version after the other; what is carried already is written again and changes nothing."""
        for resource, version in action.versions:
            if not self._is_leader():
                return stale(action, "another controller leads by now")
            expect = dict(action.expects).get(resource, "")
            if path := publishing.plan_path(resource):
                wrong = await self._approve(path, version, expect, action.note)
                if wrong:
                    return failed(action, f"{resource} {wrong}")
                continue
            holder, target = publishing.holder_of(resource), publishing.target_of(resource)
            if holder is not None:
                stored = await self._publish_release(holder, version, expect, action.note)
                if stored != version:
                    return failed(action, f"{resource} should have {version}, but has {stored or 'none'}")
                continue
            if target is None:
                return failed(action, f"{resource} has no driver version that could be set")
            switches = tuple(each for each in action.switches if each.resource == resource)
            env = None
            if switches:
                found = await self._client.get(target.path, target.model)
                # The list is written as a whole, so it has to be the one that was looked at.
                expect = expect or found.metadata.resource_version
                env = publishing.env_with(found, switches)
            body = target.version_patch(version, expect=expect, note=action.note, env=env, on_delete=action.on_delete)
            written = await self._client.patch(target.path, body, target.model, kind=PatchKind.MERGE)
            stored = publishing.version_of(written, version)
            if stored != version:
                return failed(action, f"{resource} should have {version}, but the server stored {stored or 'none'}")
            if action.on_delete and not target.is_quiet(written):
                return failed(action, f"{resource} was to get the update strategy OnDelete, and did not")
            if publishing.env_with(written, switches) is not None:
                wanted = words.switched(switches)
                return failed(action, f"the driver manager of {resource} was to get {wanted}, and did not")
        return done(action)

    async def _publish_release(self, holder: publishing.HolderResource, version: str, expect: str, note: str) -> str:
        """Write the version of a chart; what the server says it has stored."""
        found = await self._client.get(holder.path, holder.model)
        body = holder.version_patch(found, version, expect=expect, note=note)
        return publishing.release_in(await self._client.patch(holder.path, body, holder.model, kind=PatchKind.MERGE))

    async def _approve(self, path: str, names: str, expect: str, note: str) -> str:
        """Approve an InstallPlan that installs exactly this; what is wrong with it, empty where nothing is."""
        found = await self._client.get(path, InstallPlan)
        there = names_in(found.spec.cluster_service_version_names)
        if there != names:
            return f"installs {there or 'nothing'}, not {names}"
        body = publishing.approval_patch(found, expect=expect, note=note)
        stored = await self._client.patch(path, body, InstallPlan, kind=PatchKind.MERGE)
        return "" if stored.spec.approved else "was to be approved, and is not"

    async def _set_auto_upgrade(self, action: SetAutoUpgrade) -> Outcome:
        target = publishing.target_of(action.resource)
        if target is None:
            return failed(action, f"{action.resource} has no autoUpgrade that could be written")
        body = target.auto_upgrade_patch(is_on=action.value, expect=action.expect)
        stored = publishing.auto_upgrade_of(
            await self._client.patch(target.path, body, target.model, kind=PatchKind.MERGE)
        )
        if stored is not action.value:
            return failed(action, f"autoUpgrade of {action.resource} was to be {action.value}, and is {stored}")
        return done(action)

    async def _make_pool(self, action: MakePool) -> Outcome:
        try:
            await self._client.create(keys.MACHINE_POOLS, pools.pool_of(action))
        except errors.NotFound as err:
            return failed(action, str(err))  # no OpenShift; looking again would not make it one
        return done(action)

    async def _pause_pool(self, action: PausePool) -> Outcome:
        path, body = f"{keys.MACHINE_POOLS}/{action.name}", pools.pause_patch(action)
        stored = await self._client.patch(path, body, MachineConfigPool, kind=PatchKind.MERGE)
        if stored.spec.paused is not action.value:
            return failed(action, f"paused of {action.name} was to be {action.value}, and is {stored.spec.paused}")
        return done(action)


async def _each(
    pods: Iterable[Pod], do: Callable[[Pod], Awaitable[errors.ClusterError | None]]
) -> list[tuple[Pod, errors.ClusterError]]:
    """Do it to every pod at once; the answers that were a no."""
    some = list(pods)
    answers = await asyncio.gather(*map(do, some))
    return [(pod, answer) for pod, answer in zip(some, answers, strict=True) if answer is not None]


def _joined(action: Action, noes: list[tuple[Pod, errors.ClusterError]]) -> Outcome:
    """One outcome of many answers: a failure goes before a block, and hides none."""
    blocked = tuple((pod.uid, why) for pod, answer in noes if (why := _why_blocked(pod, answer)))
    failures = [str(answer) for pod, answer in noes if not _why_blocked(pod, answer)]
    if failures:
        return Outcome(action=action, result=Result.FAILED, detail=failures[0], blocked=blocked)
    if blocked:
        return Outcome(action=action, result=Result.BLOCKED, detail=blocked[0][1], blocked=blocked)
    return done(action)


def _why_blocked(pod: Pod, answer: errors.ClusterError) -> str:
    """The budget that turned an eviction down, in the server's words, since only they name it; empty when none did."""
    if not isinstance(answer, errors.TooManyRequests) or not answer.is_blocked_by_budget:
        return ""
    return answer.budget_of(pod.namespace)


def _is_another(err: errors.ClusterError) -> bool:
    """Whether the object we meant is gone, be it that another one has its name."""
    if isinstance(err, errors.Invalid):
        return any(cause.field == "metadata.uid" for cause in err.causes)
    return isinstance(err, errors.NotFound | errors.Conflict)
