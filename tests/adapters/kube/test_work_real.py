"""What a real API server tells the controller of finished pods, of pods that wait, of budgets and of limits.

Pods are watched by what their fields say: the server has to take the selectors, and to tell when a pod comes under one
and when it leaves it.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.reading.fleet import Work
from seatrial.adapters.kube.streams.row import Row, Where
from seatrial.adapters.kube.streams.streams import Streams
from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.nodes import manifests, stages
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec, Workload
from seatrial_lab.testbed.plane import control_plane

pytestmark = pytest.mark.cluster

LIMIT_SECONDS = 30.0
PREFIX = "atwork"
ROWS = (*table.WORK, *table.ATTRITION)


@pytest.fixture(scope="module")
def fleet(plane: control_plane.ControlPlane) -> Iterator[Fleet]:
    controller_process.install(plane)
    made = make_fleet(plane, FleetSpec(prefix=PREFIX, node_count=1, reload_seconds=0.2))
    yield made
    made.remove()


@asynccontextmanager
async def watching(fleet: Fleet) -> AsyncIterator[Streams]:
    """The streams, with the rights that are shipped for rollouts with a canary and no others."""
    account = await asyncio.to_thread(controller_process.identity, fleet.plane, PREFIX, has_campaigns=True)
    config = configs.load_config(kubeconfig=str(account), environ={})
    where = Where(namespace=fleet.spec.namespace, home="seatrial")
    async with clients.Client(config, user_agent="test-work") as client, Streams(client, ROWS, where) as streams:
        await until(streams, lambda: all(each.is_current for each in streams.opened))
        yield streams


async def until(streams: Streams, is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_SECONDS):
        while not is_so():
            streams.look()
            await streams.wait(time.time() + 0.1)  # much of it is no news, and is read when something else is


def names_of(streams: Streams, row: Row[Any, Any], workload: Workload) -> list[str]:
    """Of a row, the items in the namespace of a workload."""
    found = (item.metadata for item in streams[row].store)
    return [meta.name for meta in found if meta.namespace == workload.namespace]


def queue(fleet: Fleet, name: str) -> Workload:
    """A Job for all GPUs of the node, which has to wait for them."""
    made = fleet.workload(name)
    job = manifests.job(made.name, made.namespace, fleet.nodes[0], gpus=8, runs_seconds=None, termination_seconds=0.0)
    job["spec"]["activeDeadlineSeconds"] = 3600
    spaces = [
        manifests.namespace(made.namespace, PREFIX),
        manifests.service_account(made.name, made.namespace),
    ]
    fleet.plane.apply([*spaces, job])
    return made


async def test_pods_come_under_their_selectors_and_leave_them(fleet: Fleet) -> None:
    async with watching(fleet) as streams:
        work, names = Work(streams), functools.partial(names_of, streams)
        first = await asyncio.to_thread(fleet.add_job_pod, fleet.nodes[0], name="first", gpus=8)
        second = await asyncio.to_thread(queue, fleet, "second")
        await until(streams, lambda: len(names(table.WAITING_PODS, second)) == 1)
        assert (8, 1) in work.seen().waiting
        # The first one ends, and leaves its GPUs to the second, which waits no longer.
        ends = ("annotate", "pod", "-n", first.namespace, "-l", f"app={first.name}", f"{stages.DONE_AFTER}=0.1s")
        await asyncio.to_thread(fleet.plane.kubectl, *ends)
        await until(streams, lambda: len(names(table.FINISHED_PODS, first)) == 1)
        await until(streams, lambda: names(table.WAITING_PODS, second) == [])
        (ran,) = work.seen().finished[f"{first.namespace}/"]
        assert 0.0 <= ran < LIMIT_SECONDS
        assert names(table.TIMED_JOBS, second) == [second.name]
        await asyncio.to_thread(fleet.plane.kubectl, "delete", "job", "-n", first.namespace, first.name, "--wait=false")
        await until(streams, lambda: names(table.FINISHED_PODS, first) == [])
        assert f"{first.namespace}/" in work.seen().finished, "an end outlives its pod"
        await asyncio.to_thread(
            fleet.plane.kubectl, "delete", "job", "-n", second.namespace, second.name, "--wait=false"
        )
        await until(streams, lambda: names(table.TIMED_JOBS, second) == [])


async def test_a_budget_tells_what_it_allows_as_replicas_come_and_go(fleet: Fleet) -> None:
    async with watching(fleet) as streams:
        work = Work(streams)

        def allowed() -> list[int]:
            return [each.allowed for each in work.seen().budgets if each.namespace == f"{PREFIX}-chat"]

        chat = await asyncio.to_thread(fleet.add_workload, "chat", replicas=2, min_available=1)
        await until(streams, lambda: allowed() == [1])
        await asyncio.to_thread(
            fleet.plane.kubectl, "scale", "deployment", chat.name, "-n", chat.namespace, "--replicas=1"
        )
        await until(streams, lambda: allowed() == [0])
