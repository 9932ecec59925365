"""Workloads of Kueue as they are read, switched off, and on again; a stand-in for Kueue's own server answers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.reading.fleet import Fleet
from seatrial.adapters.kube.reading.items import workload_item
from seatrial.adapters.kube.shapes import keys, kinds
from seatrial.adapters.kube.streams.row import Row, Where
from seatrial.adapters.kube.streams.streams import Streams
from seatrial.adapters.kube.writing import workloads
from seatrial.adapters.kube.writing.execute import KubeCluster
from seatrial.core.actions.on_nodes import KUEUE, AskCheckpoint
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.workloads import Suspended
from seatrial.ports import Result
from tests.adapters.kube import objects, standin
from tests.adapters.kube.test_execute import Reader

PATH = keys.workload_path("ml", "job-train")
TOKEN = "spring.n1.1"
OFF = Suspended(namespace="ml", name="job-train", node="n1", token=TOKEN)
OURS = {keys.SUSPENDED_BY_ANNOTATION: TOKEN, keys.SUSPENDED_FOR_ANNOTATION: "n1"}
ASK = AskCheckpoint(
    node="n1",
    attempt=1,
    pods=tuple(Pod(namespace="ml", name=f"train-{n}", uid=f"u{n}", workload="job-train") for n in range(2)),
    token=TOKEN,
    webhook=KUEUE,
)


def a_workload(*, active: bool | None = True, notes: dict[str, str] | None = None) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-job", "controller": True}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {
            "namespace": "ml",
            "name": "job-train",
            "uid": "uid-workload",
            "resourceVersion": "41",
            "annotations": notes or {},
            "ownerReferences": [owner],
        },
        "spec": {"queueName": "gpus", **({} if active is None else {"active": active})},
    }


def read(**changes: Any) -> kinds.Workload:
    return msgspec.json.decode(json.dumps(a_workload(**changes)), type=kinds.Workload)


def patched(server: standin.StandIn) -> list[Any]:
    return [json.loads(each.body) for each in server.seen if each.verb == "PATCH"]


async def test_a_workload_is_switched_off_once_for_all_its_pods_in_one_write_that_says_whose_doing_it_is(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(standin.gives(a_workload()), standin.gives(a_workload(active=False, notes=OURS)))
    outcome = await KubeCluster(to_server, Reader(), is_leader=lambda: True).do(ASK)
    assert outcome.result is Result.DONE
    assert patched(server) == [{"metadata": {"resourceVersion": "41", "annotations": OURS}, "spec": {"active": False}}]


async def test_one_that_somebody_else_switched_off_is_not_made_ours(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives(a_workload(active=False)))
    outcome = await KubeCluster(to_server, Reader(), is_leader=lambda: True).do(ASK)
    assert (outcome.result, patched(server)) == (Result.DONE, [])


async def test_one_that_has_ended_is_nobodys(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.refuses(404, "NotFound", "workloads job-train not found"))
    outcome = await KubeCluster(to_server, Reader(), is_leader=lambda: True).do(ASK)
    assert outcome.result is Result.DONE


async def test_one_that_changed_meanwhile_is_looked_at_again(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.gives(a_workload()), standin.refuses(409, "Conflict", "the object has been modified"))
    outcome = await KubeCluster(to_server, Reader(), is_leader=lambda: True).do(ASK)
    assert outcome.result is Result.STALE


async def test_a_right_that_is_missing_is_named_with_what_grants_it(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.refuses(403, "Forbidden", "workloads is forbidden"))
    outcome = await KubeCluster(to_server, Reader(), is_leader=lambda: True).do(ASK)
    assert outcome.result is Result.FAILED
    assert (
        "Workload ml/job-train may not be suspended; grant it with `seatrial manifests rbac --kueue`" in outcome.detail
    )


async def test_it_is_switched_on_again_and_the_mark_goes_in_the_same_write(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(standin.gives(a_workload(active=False, notes=OURS)), standin.gives(a_workload()))
    assert await workloads.switch_on(to_server, OFF)
    gone = dict.fromkeys(OURS)
    assert patched(server) == [{"metadata": {"resourceVersion": "41", "annotations": gone}, "spec": {"active": True}}]


@pytest.mark.parametrize("notes", [{}, {**OURS, keys.SUSPENDED_BY_ANNOTATION: "spring.n1.2"}])
async def test_one_that_is_not_off_by_that_attempt_is_left_alone(
    server: standin.StandIn, to_server: Client, notes: dict[str, str]
) -> None:
    server.will(standin.gives(a_workload(active=False, notes=notes)))
    assert not await workloads.switch_on(to_server, OFF)
    assert patched(server) == []


async def test_all_that_we_switched_off_is_found_and_none_where_there_is_no_kueue(
    server: standin.StandIn, to_server: Client
) -> None:
    found = {"metadata": {"resourceVersion": "50"}, "items": [a_workload(active=False, notes=OURS), a_workload()]}
    server.will(standin.gives(found), standin.refuses(404, "NotFound", "the server could not find it"))
    assert await workloads.suspended(to_server) == (OFF,)
    assert await workloads.suspended(to_server) == ()


def test_a_workload_is_kept_with_whom_it_stands_for_and_whose_doing_it_is() -> None:
    active, ours = workload_item(read(active=None)), workload_item(read(active=False, notes=OURS))
    assert active is not None
    assert (active.owners, active.suspended) == (("uid-job",), None)
    assert ours is not None
    assert ours.suspended == OFF
    assert workload_item(read(active=False)) is None, "off by somebody else: nobody's to switch"


# ── whose pods ───────────────────────────────────────────────────────────────────────────────────────────────────────


def owned(pod: dict[str, Any], *, uid: str) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": uid, "controller": True}
    pod["metadata"]["ownerReferences"] = [owner]
    return pod


def wrote(streams: Streams, row: Row[Any, Any], thing: dict[str, Any]) -> None:
    streams[row].wrote(msgspec.convert(thing, row.model))


@pytest.fixture
def streams(to_server: Client) -> Streams:
    """Two nodes, each with a pod of a Job of its own."""
    made = Streams(to_server, (*table.ROLLOUT, table.WORKLOADS), Where(namespace=objects.NAMESPACE, home=keys.HOME))
    for node, uid in (("n1", "uid-job"), ("n2", "uid-other")):
        wrote(made, table.NODES, objects.a_node(node))
        wrote(made, table.PODS, owned(objects.a_gpu_pod(f"train-{node}", node=node), uid=uid))
    return made


@pytest.fixture
def fleet(streams: Streams) -> Fleet:
    return Fleet(streams, on_fault=pytest.fail)


def seen(fleet: Fleet) -> dict[str, list[tuple[str, str]]]:
    """By node: the Workload of each of its users, and who switched it off."""
    nodes = fleet.all_nodes()
    return {name: [(pod.workload, pod.suspended_for) for pod in node.facts.pods] for name, node in nodes.items()}


def test_a_pod_belongs_to_the_workload_of_its_job(streams: Streams, fleet: Fleet) -> None:
    assert seen(fleet) == {"n1": [("", "")], "n2": [("", "")]}
    wrote(streams, table.WORKLOADS, a_workload())
    assert seen(fleet) == {"n1": [("job-train", "")], "n2": [("", "")]}


def test_the_limit_of_a_workload_is_one_of_its_pods_unless_theirs_is_shorter(streams: Streams, fleet: Fleet) -> None:
    limited = a_workload()
    limited["spec"]["maximumExecutionTimeSeconds"] = 7200
    wrote(streams, table.WORKLOADS, limited)
    pod = fleet.all_nodes()["n1"].facts.pods[0]
    assert pod.job is not None
    assert pod.job.limit_seconds == 7200
    assert replace(pod.job, limit_seconds=60.0).within(7200).limit_seconds == 60.0
    assert replace(pod.job, limit_seconds=60.0).within(None).limit_seconds == 60.0


def test_what_we_switched_off_is_seen_on_its_pods(streams: Streams, fleet: Fleet) -> None:
    wrote(streams, table.WORKLOADS, a_workload(active=False, notes=OURS))
    assert seen(fleet)["n1"] == [("job-train", TOKEN)]


def test_what_others_switched_off_is_nobodys_to_switch(streams: Streams, fleet: Fleet) -> None:
    wrote(streams, table.WORKLOADS, a_workload(active=False))
    assert seen(fleet)["n1"] == [("", "")]


def test_a_change_of_a_workload_costs_the_nodes_of_its_pods(streams: Streams) -> None:
    streams.take_touched()
    wrote(streams, table.WORKLOADS, a_workload())
    assert list(streams.take_touched()) == ["n1"]


def test_a_pod_that_kueue_manages_by_itself_belongs_to_its_own_workload(streams: Streams, fleet: Fleet) -> None:
    assert seen(fleet)["n2"] == [("", "")]
    (pod,) = (each for each in streams[table.PODS].store if each.node == "n2")
    mine = a_workload()
    mine["metadata"]["namespace"] = pod.metadata.namespace
    mine["metadata"]["ownerReferences"] = [{"kind": "Pod", "name": pod.metadata.name, "uid": pod.metadata.uid}]
    wrote(streams, table.WORKLOADS, mine)
    assert seen(fleet)["n2"] == [("job-train", "")]
