"""DRA plugins that outlived their drivers, on a real control plane: seen, restarted once each, and then left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest

from seatrial.app import rerolling
from seatrial.app.connecting import Cluster
from seatrial.app.rerolling import Asked, End
from seatrial.core.movers.dra.values import Stand, Target, Why
from seatrial_lab.testbed.nodes import dra
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane import control_plane

pytestmark = pytest.mark.cluster

NEW = "580.105.08"
LIMIT_SECONDS = 60.0


@pytest.fixture(scope="module")
def fleet(plane: control_plane.ControlPlane) -> Iterator[Fleet]:
    made = make_fleet(plane, FleetSpec(prefix="dra", node_count=2, reload_seconds=1.0, has_dra=True))
    yield made
    made.remove()


@pytest.fixture
def cluster(fleet: Fleet) -> Cluster:
    return Cluster(kubeconfig=str(fleet.plane.kubeconfig), namespace=fleet.spec.namespace, environ={})


async def stands(cluster: Cluster, fleet: Fleet) -> dict[str, tuple[Stand, Why]]:
    """How the nodes of this fleet stand; others may share the control plane."""
    looked = await rerolling.stand(cluster, (dra.NAMESPACE,))
    return {each.node: (each.stand, each.why) for each in looked.standings if each.node in fleet.nodes}


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not await asyncio.to_thread(is_so):
            await asyncio.sleep(0.1)


def uids(fleet: Fleet) -> dict[str, str]:
    return {node: pod["metadata"]["uid"] for node, pod in fleet.dra_pods().items()}


async def test_each_plugin_is_restarted_once_after_its_nodes_own_driver(cluster: Cluster, fleet: Fleet) -> None:
    """Node by node, as NVIDIA's controller does it: the second node's plugin stays until its driver has come."""
    first, second = fleet.nodes
    before = await asyncio.to_thread(uids, fleet)
    await asyncio.to_thread(fleet.set_driver_version, NEW)
    told: list[str] = []
    asked = Asked(
        namespaces=(dra.NAMESPACE,),
        nodes=fleet.nodes,
        target=Target(driver=NEW),
        is_waiting=True,
        still_seconds=1.0,
        deadline_seconds=LIMIT_SECONDS * 2,
    )
    running = asyncio.create_task(rerolling.reroll(cluster, asked, told.append))
    await asyncio.to_thread(fleet.delete_driver_pod, first)
    await until(lambda: uids(fleet).get(first, before[first]) != before[first])
    assert uids(fleet)[second] == before[second]
    assert any(text.startswith(f"{second}: pending, ") for text in told)
    await asyncio.to_thread(fleet.delete_driver_pod, second)
    ended = await running
    assert (ended.end, [act.node for act in ended.deleted]) == (End.FRESH, [first, second])
    after = await asyncio.to_thread(uids, fleet)
    assert {act.uid for act in ended.deleted} == set(before.values())
    again = await rerolling.reroll(cluster, asked, told.append)
    assert (again.end, again.deleted) == (End.FRESH, ())
    assert await asyncio.to_thread(uids, fleet) == after
    assert set((await stands(cluster, fleet)).values()) == {(Stand.FRESH, Why.YOUNGER)}
