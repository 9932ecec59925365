"""DRA plugins restarted from within the controller: while we lead, again and again, and after whatever ended it."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import keys
from seatrial.controller.log import Log
from seatrial.controller.reroller import Reroller
from seatrial.supervision import Ending
from tests.adapters.kube import objects, standin
from tests.adapters.kube.dra_cluster import HOME, DraCluster, pods_of

DELETED = ("DELETE", f"{pods_of(HOME)}/plugin-n1-0")


@asynccontextmanager
async def rerolling(
    cluster: DraCluster,
    log: io.StringIO,
    is_leader: Callable[[], bool] = lambda: True,
    endings: list[Ending] | None = None,
) -> AsyncIterator[None]:
    told: list[Ending] = endings if endings is not None else []
    async with standin.running() as server, Client(server.config(), user_agent="seatrial/test") as client:
        server.will(cluster.answer)
        reroller = Reroller(
            client,
            Log(log),
            namespace=objects.NAMESPACE,
            namespaces=(HOME,),
            is_leader=is_leader,
            still_seconds=0.0,
            tell=told.append,
        )
        async with reroller:
            yield


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_so():
            await asyncio.sleep(0.01)


async def test_plugins_are_restarted_whenever_one_is_stale_without_anybody_asking() -> None:
    cluster, log = DraCluster("n1"), io.StringIO()
    async with rerolling(cluster, log):
        await until(lambda: cluster.writes == [DELETED])
        # A driver that starts again in place, a day after: the plugin of before knows nothing of it.
        late = "2026-01-04T00:00:00Z"
        again = objects.a_driver_pod("n1", revision="new", driver=objects.NEW)
        again["status"]["conditions"][0]["lastTransitionTime"] = late
        cluster.tell("MODIFIED", pods_of(objects.NAMESPACE), again)
        await until(lambda: len(cluster.writes) == 2)
    assert cluster.writes[1] == ("DELETE", f"{pods_of(HOME)}/plugin-n1-1")
    assert f"restarting a DRA plugin node=n1 pod={HOME}/plugin-n1-0" in log.getvalue()


async def test_nothing_is_deleted_while_we_do_not_lead() -> None:
    cluster, leads, asked = DraCluster("n1"), [False], [0]

    def is_leader() -> bool:
        asked[0] += 1
        return leads[0]

    async with rerolling(cluster, io.StringIO(), is_leader):
        await until(lambda: asked[0] >= 2)
        assert cluster.writes == []
        leads[0] = True
        cluster.tell("MODIFIED", keys.NODES, objects.a_node("n1"))
        await until(lambda: cluster.writes == [DELETED])


async def test_whatever_ends_it_is_told_and_it_begins_anew() -> None:
    cluster, endings = DraCluster("n1"), list[Ending]()
    cluster.forbidden = {f"DELETE {pods_of(HOME)}/plugin-n1-0"}
    async with rerolling(cluster, io.StringIO(), endings=endings):
        await until(lambda: bool(endings))
        cluster.forbidden = set()
        await until(lambda: cluster.writes == [DELETED])
    assert endings[0].task == "reroller"
