"""A look at a cluster: one, or one after the other. What is there is read, and nothing is decided.

Tests: tests/cli/test_rollout_live.py, tests/e2e/
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading import pod_items, table
from seatrial.adapters.kube.reading.fleet import FleetObserver
from seatrial.adapters.kube.reading.leader import Leader, leader_of
from seatrial.adapters.kube.reading.observe import KubeObserver
from seatrial.adapters.kube.reading.rollout_items import RolloutUnclear
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.app import picking
from seatrial.app.connecting import Cluster
from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.work import WorkSeen, counted, noted
from seatrial.ports import Sight

if TYPE_CHECKING:
    from seatrial.adapters.kube.surveying.gate_pods import GatePod

SYNC_SECONDS = 60.0
HEAR_SECONDS = 10.0
"""How often the controller's lease is looked at while somebody watches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is there; what it waits for is in waits.py."""

    at: Instant
    sight: Sight | None
    nodes: dict[str, NodeSeen]
    operator: OperatorFacts
    faults: tuple[str, ...] = ()
    rollouts: tuple[picking.Rollout, ...] = ()
    """Every rollout there is, as the API server had them when we began to look."""
    leader: Leader | None = None
    """The controller that leads; None where we may not know."""
    gate_pods: tuple[GatePod, ...] = ()
    """Gates that run, do not start or have failed, with the last line of their logs; only where somebody asks why."""


async def look(cluster: Cluster, rollout: str = "", *, reads_gates: bool = False) -> Look:
    """Read everything once, without doing anything; `reads_gates` with what their pods said last."""
    async with looking(cluster, rollout, reads_gates=reads_gates, is_brief=True) as looker:
        found = looker.look()
        if rollout and found.sight is None and not found.faults:
            raise RolloutUnclear(f"There is no GPURollout {rollout}; `kubectl get gpurollouts` lists them.")
        return found


async def look_at_nodes(cluster: Cluster, rollout: str = "") -> Look:
    """The same, also where the cluster does not know our resource: then there are nodes, and no rollout."""
    async with cluster.client(is_brief=True) as client:
        if rollout or await _knows_rollouts(client):
            return await look(cluster, rollout)
        faults: list[str] = []
        observing = FleetObserver(client, table.FLEET, namespace=cluster.namespace, on_fault=faults.append)
        async with observing as observer:
            await observer.wait_synced(SYNC_SECONDS)
            nodes, operator = dict(observer.all_nodes()), observer.operator()
            return Look(at=client.now(), sight=None, nodes=nodes, operator=operator, faults=tuple(faults))


async def look_at_work(cluster: Cluster) -> WorkSeen:
    """Who waits for GPUs, and how long jobs ran whose pods are still there; nothing where we may not know."""
    async with cluster.client(is_brief=True) as client:
        try:
            finished, waiting = table.FINISHED_PODS.field_selector, table.WAITING_PODS.field_selector
            ended = await client.kept(keys.PODS, kinds.Pod, pod_items.ended_item, field_selector=finished)
            queued = await client.kept(keys.PODS, kinds.Pod, pod_items.queued_item, field_selector=waiting)
        except errors.Forbidden:
            return WorkSeen()
    ends = [item.ended for item in ended.items]
    return WorkSeen(finished=noted({}, ends), waiting=counted(item.gpus for item in queued.items))


class Looker:
    """Looks again and again at a cluster that is being watched."""

    def __init__(
        self,
        client: Client,
        observer: KubeObserver,
        faults: list[str],
        rollouts: tuple[picking.Rollout, ...] = (),
        *,
        lease_namespace: str,
        reads_gates: bool = False,
    ) -> None:
        self._client, self._observer, self._faults, self._rollouts = client, observer, faults, rollouts
        self._lease_namespace, self._reads_gates = lease_namespace, reads_gates
        self._gate_pods: tuple[GatePod, ...] = ()
        self._leader: Leader | None = None
        self._heard_at = 0.0

    def look(self) -> Look:
        """What is there now."""
        sight = self._observer.observe()
        sight = _remembering(sight) if sight else None
        faults = tuple(self._faults)
        self._faults.clear()
        return Look(
            at=self._client.now(),
            sight=sight,
            nodes=dict(self._observer.all_nodes()),
            operator=self._observer.operator(),
            faults=faults,
            rollouts=self._rollouts,
            leader=self._leader,
            gate_pods=self._gate_pods,
        )

    async def wait(self, seconds: float) -> None:
        """Return when something has changed, or after so many seconds."""
        await self._observer.wait(time.time() + seconds)
        await self.hear()

    async def hear(self) -> None:
        """Ask when the controller was last heard of, and what gates said last, now and then."""
        if time.monotonic() - self._heard_at >= HEAR_SECONDS:
            self._leader = await leader_of(self._client, self._lease_namespace)
            self._gate_pods = await self._read_gates() if self._reads_gates else ()
            self._heard_at = time.monotonic()

    async def _read_gates(self) -> tuple[GatePod, ...]:
        from seatrial.adapters.kube.surveying.gate_pods import gate_pods

        sight = self._observer.observe()
        return await gate_pods(self._client, sight.intent.rollout) if sight is not None else ()


@asynccontextmanager
async def looking(
    cluster: Cluster, rollout: str = "", *, reads_gates: bool = False, is_brief: bool = False
) -> AsyncIterator[Looker]:
    """Watch a cluster, with everything listed once before the first look; `is_brief` where there is no second."""
    faults: list[str] = []
    async with cluster.client(is_brief=is_brief) as client:
        rollouts, leader = await _rollouts(client), await leader_of(client, cluster.lease_namespace)
        observing = KubeObserver(
            client,
            namespace=cluster.namespace,
            rollout=rollout,
            on_fault=faults.append,
            home=keys.EVERYWHERE,
            dra_namespaces=leader.dra_namespaces if leader is not None else (),
        )
        async with observing as observer:
            await observer.wait_synced(SYNC_SECONDS)
            looker = Looker(
                client, observer, faults, rollouts, lease_namespace=cluster.lease_namespace, reads_gates=reads_gates
            )
            await looker.hear()
            yield looker


async def _knows_rollouts(client: Client) -> bool:
    try:
        await picking.all_of(client)
    except picking.RolloutMissing:
        return False
    return True


async def _rollouts(client: Client) -> tuple[picking.Rollout, ...]:
    try:
        return await picking.all_of(client)
    except picking.RolloutMissing:
        return ()  # the kind is missing, which the observer says with everything else it misses


def _remembering(sight: Sight) -> Sight:
    """The sight with what the controller wrote down of its own memory, so that who decides again knows it, too."""
    record = sight.seen.rollout
    # That its finalizer is put there first does not matter to who looks; should that fail, the status says so.
    seen = replace(sight.seen, rebuffs=dict(record.rebuffs), attentive_since=record.attentive_since, is_guarded=True)
    return Sight(seen=seen, intent=sight.intent)
