"""A client whose cluster is a file answers as the cluster did: lists, selectors, logs, refusals; and is not written."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import PatchKind
from seatrial.adapters.kube.portable.answering import client_of
from seatrial.adapters.kube.portable.selecting import Place, Selecting, place_of
from seatrial.core.survey.portable.recorded import LogOf, Refused
from tests import portable


def pod(namespace: str, name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name, "labels": labels}}


CLUSTER = replace(
    portable.a_cluster(
        portable.a_node("n1"),
        **{portable.PODS: [pod("a", "p1", app="x"), pod("a", "p2"), pod("b", "p3", app="x")]},
    ),
    logs={LogOf(namespace="a", pod="p1", container="c"): "one\ntwo"},
)


async def names(path: str, **asked: Any) -> list[str]:
    async with client_of(CLUSTER, "a file") as client:
        found = await client.list(path, dict, **asked)
    return [each["metadata"]["name"] for each in found.items]


@pytest.mark.parametrize(
    ("path", "asked", "there"),
    [
        (portable.NODES, {}, ["n1"]),
        (portable.PODS, {}, ["p1", "p2", "p3"]),
        ("/api/v1/namespaces/a/pods", {}, ["p1", "p2"]),
        ("/api/v1/namespaces/none/pods", {}, []),
        (portable.PODS, {"label_selector": "app=x"}, ["p1", "p3"]),
        (portable.PODS, {"label_selector": "!app"}, ["p2"]),
        (portable.PODS, {"field_selector": "metadata.name=p3,metadata.namespace!=a"}, ["p3"]),
        (portable.REVISIONS, {}, ["nvidia-driver-daemonset-old"]),
    ],
)
async def test_lists_are_answered_by_namespace_and_selectors(
    path: str, asked: dict[str, str], there: list[str]
) -> None:
    assert await names(path, **asked) == there


async def test_one_object_is_found_and_one_that_is_not_there_is_not_a_kind_that_is_missing() -> None:
    async with client_of(CLUSTER, "a file") as client:
        assert (await client.get(f"{portable.NODES}/n1", dict))["metadata"]["name"] == "n1"
        with pytest.raises(errors.NotFound) as missing:
            await client.get(f"{portable.NODES}/n2", dict)
        assert not missing.value.is_kind_missing


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/apis/nvidia.com/v1/clusterpolicies", "404 page not found"),
        ("/apis/apps/v1/daemonsets", "the snapshot has no daemonsets of apps/v1"),
        ("/apis/apps/v1/namespaces/other/controllerrevisions", "of the namespace gpu-operator alone; name it with -n"),
    ],
)
async def test_what_was_not_recorded_is_not_found_and_says_why(path: str, said: str) -> None:
    async with client_of(CLUSTER, "a file") as client:
        with pytest.raises(errors.NotFound, match=said) as missing:
            await client.list(path, dict)
        assert missing.value.is_kind_missing


async def test_what_was_refused_is_refused() -> None:
    cluster = replace(CLUSTER, refused={"/apis/apps/v1/daemonsets": Refused(code=403, said="forbidden to you")})
    async with client_of(cluster, "a file") as client:
        with pytest.raises(errors.Forbidden, match="forbidden to you"):
            await client.list("/apis/apps/v1/namespaces/a/daemonsets", dict)


async def test_logs_are_those_that_were_recorded() -> None:
    async with client_of(CLUSTER, "a file") as client:
        path = "/api/v1/namespaces/a/pods/p1/log"
        assert await client.text(path, {"container": "c", "tailLines": "200"}) == "one\ntwo"
        with pytest.raises(errors.NotFound, match="does not have this log"):
            await client.text(path, {"container": "c", "previous": "true"})


async def test_nothing_is_written() -> None:
    async with client_of(CLUSTER, "a file") as client:
        with pytest.raises(errors.ClusterError, match="a snapshot is read, and not written"):
            await client.patch(f"{portable.NODES}/n1", {}, kind=PatchKind.MERGE)


async def test_of_a_watch_nothing_is_heard() -> None:
    async with client_of(CLUSTER, "a file") as client:
        opened: list[bool] = []
        events = client.watch(portable.PODS, dict, resource_version="1", on_open=lambda: opened.append(True))  # type: ignore[type-var]
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(events)
        assert opened == [True]


async def test_time_stands_where_the_file_was_taken() -> None:
    async with client_of(CLUSTER, "a file") as client:
        await client.list(portable.NODES, dict)
        assert client.now() == client.served_at == portable.AT


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/api/v1/nodes", Place(version="v1", resource="nodes")),
        ("/api/v1/namespaces/a/pods/p/log", Place(version="v1", resource="pods", namespace="a", name="p", part="log")),
        ("/apis/apps/v1/daemonsets", Place(version="apps/v1", resource="daemonsets")),
        ("/api/v1/namespaces/a", Place(version="v1", resource="namespaces", name="a")),
        ("/healthz", None),
    ],
)
def test_a_path_says_what_it_is_about(path: str, place: Place | None) -> None:
    assert place_of(path) == place


@pytest.mark.parametrize(
    ("fields", "takes"), [("type=Warning", True), ("type!=Warning", False), ("a.b=", True), ("type==Normal", False)]
)
def test_a_field_that_is_not_there_is_empty(fields: str, takes: bool) -> None:
    assert Selecting.parse("", fields).takes({"type": "Warning"}) is takes
