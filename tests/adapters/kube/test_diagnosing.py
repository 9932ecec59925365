"""What a diagnosis reads of a cluster: once, by the server's own clock, and logs from their end."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.surveying import diagnosing
from seatrial.core.survey.doctor.logs import LOGS_MAX
from seatrial.core.survey.doctor.parts import Part
from seatrial.core.survey.sources import DIAGNOSED, KINDS, Source, Why
from tests import doctored
from tests.adapters.kube import standin


def a_pod(name: str, **status: Any) -> dict[str, Any]:
    down = {
        "name": "nvidia-driver-ctr",
        "ready": False,
        "restartCount": 2,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "gpu-operator", "labels": {"app": "nvidia-driver-daemonset"}},
        "spec": {"nodeName": "n1", "containers": [{"name": "nvidia-driver-ctr", "image": "driver:580"}]},
        "status": {"phase": "Running", "containerStatuses": [down], **status},
    }


def a_cluster(*objects: dict[str, Any], **more: Any) -> dict[str, Any]:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {}}
    return {"objects": [node, *objects], **more}


async def test_times_are_judged_by_the_servers_own_clock() -> None:
    sight = await doctored.read(a_cluster())
    assert sight.at == 1_790_847_000.0  # what doctored.NOW says


async def test_the_last_words_of_a_container_that_crashes_are_read_and_cleaned() -> None:
    log = {"namespace": "gpu-operator", "pod": "d", "container": "nvidia-driver-ctr", "previous": True}
    sight = await doctored.read(a_cluster(a_pod("d"), logs=[{**log, "text": "one\n\n\x1b[31mtwo\x1b[0m\n"}]))
    assert [(each.asked.is_previous, each.lines) for each in sight.logs] == [(True, ("one", "two")), (False, ())]


async def test_of_a_log_only_the_end_is_asked_for() -> None:
    async with standin.running() as server:
        server.will(doctored.serves(a_cluster(a_pod("d"))))
        async with Client(server.config(), user_agent="seatrial/test") as client:
            await diagnosing.read(client)
        asked = [each for each in server.seen if each.path.endswith("/log")]
    assert [each.query.get("previous", "") for each in asked] == ["true", ""]
    assert {(each.query["tailLines"], each.query["limitBytes"]) for each in asked} == {("200", "65536")}
    assert {each.verb for each in server.seen} == {"GET"}


async def test_a_log_that_may_not_be_read_says_so_and_the_others_are_read() -> None:
    sight = await doctored.read(a_cluster(a_pod("d")), forbidden=("pods/log",))
    assert all("cannot get resource" in each.why_not for each in sight.logs)
    assert sight.gaps == {}


async def test_there_is_an_end_to_reading_logs_and_it_is_told() -> None:
    pods = [a_pod(f"d{number}") for number in range(LOGS_MAX)]
    async with standin.running() as server:
        server.will(doctored.serves(a_cluster(*pods)))
        async with Client(server.config(), user_agent="seatrial/test") as client:
            sight, left_out = await diagnosing.read(client)
    assert (len(sight.logs), left_out) == (LOGS_MAX, LOGS_MAX)


@pytest.mark.parametrize("source", DIAGNOSED)
async def test_a_right_that_is_missing_is_a_gap_and_nothing_else_is_lost(source: Source) -> None:
    right = KINDS[source].right.removeprefix("list ")
    sight = await doctored.read(a_cluster(a_pod("d")), forbidden=(right,))
    assert {each: gap.why for each, gap in sight.gaps.items()} == {source: Why.FORBIDDEN}
    assert bool(sight.nodes) is (source is not Source.NODES)
    assert bool(sight.pods) is (source is not Source.PODS)


async def test_pods_that_have_nothing_to_do_with_gpus_are_not_kept() -> None:
    web = {**a_pod("web"), "metadata": {"name": "web", "namespace": "shop"}}
    web["spec"] = {"nodeName": "n1", "containers": [{"name": "web", "image": "web:1"}]}
    web["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}, "limits": {"nvidia.com/gpu": "0"}}
    tenant = {**web, "metadata": {"name": "train", "namespace": "team"}}
    tenant["spec"] = {"nodeName": "n1", "containers": [{"name": "t", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}
    sight = await doctored.read(a_cluster(web, tenant, a_pod("d")))
    assert {each.name: each.part for each in sight.pods} == {"train": Part.TENANT, "d": Part.DRIVER}


@pytest.mark.parametrize(
    ("said", "count"), [({"count": 3}, 3), ({"series": {"count": 5}}, 5), ({"count": 0, "series": None}, 1)]
)
async def test_how_often_something_happened_is_told_by_either_kind_of_event(said: dict[str, Any], count: int) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "gpu-operator"},
        "involvedObject": {"kind": "Pod", "namespace": "gpu-operator", "name": "d"},
        "type": "Warning",
        "reason": "BackOff",
        "message": "again",
    }
    sight = await doctored.read(a_cluster(a_pod("d"), {**event, **said}))
    assert [(each.name, each.reason, each.count) for each in sight.events] == [("d", "BackOff", count)]


async def test_labels_of_a_node_tell_what_is_paused_and_what_is_kept_away() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2", "labels": {}}, "status": {}}
    labels: dict[str, str] = {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.deploy.device-plugin": "false",
        "nvidia.com/gpu.deploy.dcgm": "paused-for-driver-upgrade",
        "nvidia.com/mig.config.state": "failed",
    }
    node["metadata"] = {"name": "n2", "labels": labels}
    node["status"] = {"allocatable": {"nvidia.com/gpu": "7"}, "capacity": {"nvidia.com/gpu": "8", "cpu": "64"}}
    told = (await doctored.read(a_cluster(node))).node_of["n2"]
    assert (told.has_gpu, told.gpu_count, told.offered, told.capacity) == (True, 8, 7, 8)
    assert (told.without_plugin, told.paused, told.mig_state) == (True, ("nvidia.com/gpu.deploy.dcgm",), "failed")
