"""Finished pods and pods that wait, as they are read; watched only for a rollout that has a budget of idle GPUs."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec
import pytest
from aiohttp import web

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading import pod_items, project, table
from seatrial.adapters.kube.reading.fleet import Work
from seatrial.adapters.kube.reading.items import node_item
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.adapters.kube.streams.row import Row, Where
from seatrial.adapters.kube.streams.streams import Streams
from seatrial.core.model.seen.work import Ended, PodBudget, WorkSeen
from seatrial.core.model.selectors import Selector
from seatrial.core.text.moments import instant_of
from tests.adapters.kube import objects, standin
from tests.adapters.kube.test_observe import Kinds, observing, seen_by

BEGAN, OVER = "2026-01-02T03:00:00Z", "2026-01-02T04:00:00Z"


def a_finished_pod(name: str = "sweep-x7k2p", *, finished: str | None = OVER, **fields: Any) -> dict[str, Any]:
    ended = [{"name": "main", "state": {"terminated": {"exitCode": 0, "finishedAt": finished}}}] if finished else []
    status = {"startTime": BEGAN, "containerStatuses": ended}
    return objects.a_gpu_pod(name, phase="Succeeded", **({"status": status} | fields))


def a_waiting_pod(
    name: str = "big", *, gpus: str = "8", reason: str = "Unschedulable", **fields: Any
) -> dict[str, Any]:
    asks = [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}}}]
    refused = [{"type": "PodScheduled", "status": "False", "reason": reason}]
    return objects.a_pod(name, node="", phase="Pending", containers=asks, status={"conditions": refused}, **fields)


def ended(pod: dict[str, Any]) -> Ended | None:
    item = pod_items.ended_item(msgspec.convert(pod, kinds.Pod))
    return item.ended if item is not None else None


def gpus(pod: dict[str, Any]) -> int | None:
    item = pod_items.queued_item(msgspec.convert(pod, kinds.Pod))
    return item.gpus if item is not None else None


def test_a_finished_pod_tells_its_line_and_how_long_it_ran() -> None:
    assert ended(a_finished_pod()) == Ended("jobs/train", 3600.0)


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_finished_pod(finished=None), id="nobody says when it ended"),
        pytest.param(a_finished_pod(finished="soon"), id="unreadable"),
        pytest.param(a_finished_pod(containers=[{"name": "main"}]), id="no GPUs"),
        pytest.param(a_finished_pod(owner=objects.DAEMON_SET), id="comes back by itself"),
    ],
)
def test_what_tells_nothing_of_a_jobs_length_is_left_out(pod: dict[str, Any]) -> None:
    assert ended(pod) is None


def test_a_pod_of_several_containers_ended_with_the_last_of_them() -> None:
    states = [
        {"name": name, "state": {"terminated": {"exitCode": 0, "finishedAt": at}}}
        for name, at in (("main", OVER), ("sidecar", "2026-01-02T05:00:00Z"))
    ]
    found = ended(a_finished_pod(status={"startTime": BEGAN, "containerStatuses": states}))
    assert found == Ended("jobs/train", 7200.0)


def test_a_pod_that_no_node_has_room_for_waits_for_its_gpus() -> None:
    assert gpus(a_waiting_pod()) == 8


def test_a_part_of_a_gpu_is_waited_for_as_one() -> None:
    asks = [{"name": "main", "resources": {"limits": {"nvidia.com/mig-3g.40gb": "1"}}}]
    shared = [{"name": "main", "resources": {"limits": {"nvidia.com/gpu.shared": "1"}}}]
    pods = [a_waiting_pod() | {"spec": {"containers": each}} for each in (asks, shared)]
    assert [gpus(pod) for pod in pods] == [1, 1]


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_waiting_pod(reason="SchedulingGated"), id="its queue has not admitted it"),
        pytest.param(objects.a_gpu_pod(), id="it runs"),
        pytest.param(a_waiting_pod(gpus="8") | {"spec": {"containers": [{"name": "main"}]}}, id="no GPUs"),
    ],
)
def test_who_would_not_start_on_a_free_gpu_does_not_wait(pod: dict[str, Any]) -> None:
    assert gpus(pod) is None


def a_budget(allowed: int = 1, *, version: str = "8", observed: int = 2, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "chat",
            "namespace": "jobs",
            "uid": "pdb-chat",
            "resourceVersion": version,
            "generation": 2,
        },
        "spec": {"selector": {"matchLabels": {"app": "chat"}}} | spec,
        "status": {"disruptionsAllowed": allowed, "observedGeneration": observed},
    }


def budget(found: dict[str, Any]) -> PodBudget | None:
    item = pod_items.budget_item(msgspec.convert(found, kinds.PodDisruptionBudget))
    return item.budget if item is not None else None


def test_a_budget_says_whom_it_is_over_and_what_it_allows() -> None:
    plain = PodBudget(namespace="jobs", name="chat", selector=Selector.parse("app=chat"), allowed=1)
    assert budget(a_budget()) == plain
    wishes = [{"key": "tier", "operator": "NotIn", "values": ["b", "a"]}, {"key": "gpu", "operator": "Exists"}]
    found = budget(a_budget(selector={"matchExpressions": wishes}))
    assert found is not None
    assert str(found.selector) == "tier notin (a,b),gpu"


def test_a_budget_over_nobody_is_left_out_and_an_empty_selector_is_over_everybody() -> None:
    assert budget(a_budget(selector=None)) is None
    found = budget(a_budget(selector={}))
    assert found is not None
    assert found.covers("jobs", (("app", "other"),))
    assert not found.covers("other", ())


def test_a_budget_that_was_edited_and_not_looked_at_since_allows_nothing() -> None:
    found = budget(a_budget(observed=1))
    assert found is not None
    assert found.allowed == 0


def a_timed_job(name: str = "train", *, seconds: int | None = 7200, **status: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "jobs", "uid": "job-1", "resourceVersion": "8"}
    spec = {"activeDeadlineSeconds": seconds} if seconds is not None else {}
    return {"metadata": metadata, "spec": spec, "status": {"startTime": BEGAN} | status}


def test_a_job_with_a_limit_tells_when_it_is_ended_and_any_other_is_left_out() -> None:
    def ends_by(found: dict[str, Any]) -> float | None:
        item = pod_items.timed_job_item(msgspec.convert(found, kinds.TimedJob))
        return item.ends_by if item is not None else None

    assert ends_by(a_timed_job()) == instant_of(BEGAN) + 7200
    assert ends_by(a_timed_job(seconds=None)) is None
    assert ends_by(a_timed_job(startTime=None)) is None, "it has not begun"


def test_the_limit_of_a_job_counts_from_when_the_job_began_and_the_shorter_one_holds() -> None:
    job = {"kind": "Job", "name": "train", "uid": "job-1", "controller": True}
    later = objects.a_gpu_pod(owner=job, node="n1", status={"startTime": OVER})
    own = objects.a_gpu_pod(owner=job, node="n1", status={"startTime": OVER}, spec={"activeDeadlineSeconds": 60})

    def limit(pod: dict[str, Any]) -> float | None:
        item = pod_items.pod_item(msgspec.convert(pod, kinds.Pod), objects.NAMESPACE)
        assert item is not None
        around = project.Around(wanted={}, ends_by=lambda each: instant_of(BEGAN) + 7200 if each is item else None)
        (found,) = project.node_facts(node_item(msgspec.convert(objects.a_node(), kinds.Node)), [item], around).pods
        return found.job.limit_seconds if found.job is not None else None

    assert limit(later) == 3600, "an hour is gone already"
    assert limit(own) == 60


# ── over time ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def streams(to_server: Client) -> Streams:
    return Streams(to_server, table.WORK, Where(namespace=objects.NAMESPACE, home=keys.HOME))


def wrote(streams: Streams, row: Row[Any, Any], thing: dict[str, Any]) -> None:
    streams[row].wrote(msgspec.convert(thing, row.model))


def test_an_end_is_noted_once_and_is_no_reason_to_build_a_node_anew(streams: Streams) -> None:
    work = Work(streams)
    wrote(streams, table.FINISHED_PODS, a_finished_pod(version="8"))
    wrote(streams, table.FINISHED_PODS, a_finished_pod(version="9"))
    wrote(streams, table.WAITING_PODS, a_waiting_pod())
    assert work.seen() == WorkSeen(finished={"jobs/train": (3600.0,), "jobs/": (3600.0,)}, waiting=((8, 1),))
    assert work.seen() == work.seen()
    assert streams.take_touched() == []


def test_what_was_handed_out_is_not_changed_by_the_next_end(streams: Streams) -> None:
    work = Work(streams)
    wrote(streams, table.FINISHED_PODS, a_finished_pod("a"))
    before = work.seen()
    wrote(streams, table.FINISHED_PODS, a_finished_pod("b"))
    assert len(before.finished["jobs/train"]) == 1
    assert len(work.seen().finished["jobs/train"]) == 2


async def test_a_budget_that_begins_to_allow_disruptions_is_a_reason_to_look_and_one_more_is_none(
    streams: Streams,
) -> None:
    wrote(streams, table.POD_BUDGETS, a_budget(0, version="8"))
    streams.look()
    wrote(streams, table.POD_BUDGETS, a_budget(1, version="9"))
    await asyncio.wait_for(streams.wait(None), 1)
    streams.look()
    wrote(streams, table.POD_BUDGETS, a_budget(2, version="10"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(streams.wait(None), 0.05)
    assert [each.allowed for each in Work(streams).seen().budgets] == [2]
    assert streams.take_touched() == []


def test_budgets_are_seen_in_a_fixed_order(streams: Streams) -> None:
    for name in ("b", "c", "a"):
        budget = a_budget()
        wrote(streams, table.POD_BUDGETS, {**budget, "metadata": {**budget["metadata"], "name": name, "uid": name}})
    assert [each.name for each in Work(streams).seen().budgets] == ["a", "b", "c"]


def test_the_limit_of_a_job_costs_the_nodes_of_its_pods(streams: Streams) -> None:
    job = {"kind": "Job", "name": "train", "uid": "job-1", "controller": True}
    wrote(streams, table.PODS, objects.a_gpu_pod(owner=job, node="n2"))
    streams.take_touched()
    wrote(streams, table.TIMED_JOBS, a_timed_job())
    assert streams.take_touched() == ["n2"]


class Selecting(Kinds):
    """Answers lists of pods by what they select."""

    def __init__(self, **spec: Any) -> None:
        super().__init__()
        self.lists[keys.ROLLOUTS] = [objects.a_rollout(**spec)]
        self.selected: set[str] = set()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        selector = request.query.get("fieldSelector", "")
        if request.path != keys.PODS or not selector or request.query.get("watch") == "true":
            return await super().answer(request)
        self.selected.add(selector)
        found = a_finished_pod() if "Succeeded" in selector else a_waiting_pod()
        return await standin.gives({"metadata": {"resourceVersion": "100"}, "items": [found]})(request)


async def test_a_rollout_with_a_budget_of_idle_gpus_sees_what_ended_and_who_waits() -> None:
    server = Selecting(limits={"maxIdleGPUs": 8})
    server.lists[keys.POD_BUDGETS] = [a_budget()]
    async with observing(server) as observer, asyncio.timeout(5):
        while not ((work := seen_by(observer).work).finished and work.waiting):
            await observer.wait(time.time() + 0.05)
    assert server.selected == {"status.phase=Succeeded", "status.phase=Pending,spec.nodeName="}
    assert work.ran("jobs/new") == (3600.0,)
    assert work.smallest_waiting == 8
    assert work.budgets == (), "whoever takes no node by attrition has no right to see them"


async def test_a_rollout_by_attrition_sees_what_budgets_allow_and_which_jobs_have_a_limit() -> None:
    server = Selecting(limits={"maxIdleGPUs": 8}, attrition={}, canary={})
    server.lists[keys.POD_BUDGETS] = [a_budget()]
    server.lists[keys.JOBS] = [a_timed_job()]
    async with observing(server) as observer, asyncio.timeout(5):
        while not ((found := seen_by(observer).work.budgets) and len(observer.streams[table.TIMED_JOBS].store)):
            await observer.wait(time.time() + 0.05)
    assert [(each.full_name, each.allowed) for each in found] == [("jobs/chat", 1)]


async def test_a_rollout_without_one_watches_neither() -> None:
    server = Selecting()
    async with observing(server) as observer:
        seen = seen_by(observer)
        await observer.wait(time.time() + 0.05)
    assert server.selected == set()
    assert seen.work == WorkSeen()
