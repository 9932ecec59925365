"""Take off a cluster what seatrial has put there, before seatrial itself goes.

    the rollouts with our finalizer    are left, one after the other, by a controller that does nothing else
    the nodes                          lose our labels and annotations, unless nobody has proved them: those stay closed

Law of this file: everything is told before anything is written, and a second run after any end does the rest.

Tests: tests/e2e/test_uninstall.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from seatrial.app import picking
from seatrial.app.awaiting import finished
from seatrial.core.base.values import dataclass

if TYPE_CHECKING:
    from seatrial.adapters.kube.giving_back import GivenBack
    from seatrial.app.connecting import Cluster

SYNC_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarded:
    """A rollout that our finalizer keeps, and whether it has ended."""

    name: str
    is_ended: bool
    phase: str


def guarded(cluster: Cluster) -> tuple[Guarded, ...]:
    """Every rollout that our finalizer is on."""
    from seatrial.adapters.kube.shapes import keys

    found = finished(picking.listed(cluster))
    return tuple(
        Guarded(name=each.name, is_ended=each.is_ended, phase=each.phase)
        for each in found
        if keys.FINALIZER in (each.raw["metadata"].get("finalizers") or ())
    )


def give_back(cluster: Cluster, *, is_trial: bool) -> GivenBack:
    """Take our marks off the nodes, or say what would become of them."""
    return finished(_give_back(cluster, is_trial=is_trial))


async def _give_back(cluster: Cluster, *, is_trial: bool) -> GivenBack:
    from seatrial.adapters.kube.giving_back import MarkedNodes
    from seatrial.core.survey.adoption.giving_back import why_kept

    faults: list[str] = []
    async with (
        cluster.client() as client,
        MarkedNodes(client, namespace=cluster.namespace, on_fault=faults.append) as marked,
    ):
        await marked.wait_synced(SYNC_SECONDS)
        return await marked.give_back(why_kept, is_trial=is_trial)


def stop_controllers(cluster: Cluster, namespace: str, deployment: str) -> None:
    """Have a Deployment of controllers run none, so that the lease comes free."""
    finished(_stop_controllers(cluster, namespace, deployment))


async def _stop_controllers(cluster: Cluster, namespace: str, deployment: str) -> None:
    from seatrial.adapters.kube.api import errors
    from seatrial.adapters.kube.api.client import PatchKind, api_path

    path = api_path("apps/v1", "deployments", namespace=namespace, name=deployment)
    async with cluster.client() as client:
        try:
            await client.patch(path, {"spec": {"replicas": 0}}, dict, kind=PatchKind.MERGE, subresource="scale")
        except errors.NotFound:
            return  # it is gone already, and with it the controllers
