"""Writes are met on their way to a real API server, once before and once after; everything else passes through."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client, PatchKind, WatchEvent
from seatrial.adapters.kube.api.config import load_config
from seatrial.adapters.kube.shapes import kinds
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.plane.write_proxy import Write, WriteProxy

pytestmark = pytest.mark.cluster

NAMESPACE = "proxied"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
RULES = [{"apiGroups": ["", "authorization.k8s.io"], "resources": ["*"], "verbs": ["*"]}]
BODY = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
PATCH = {"data": {"key": "value"}}


@pytest.fixture(scope="module")
def account(plane: ControlPlane) -> Path:
    return plane.service_account(NAMESPACE, "proxied", cluster_rules=RULES)


@pytest.fixture
def proxy(plane: ControlPlane, account: Path) -> Iterator[WriteProxy]:
    with WriteProxy(account, authority=plane.authority) as made:
        yield made
    plane.kubectl("delete", "configmap", "one", "-n", NAMESPACE, "--ignore-not-found")


def client_of(proxy: WriteProxy) -> Client:
    return Client(load_config(kubeconfig=str(proxy.kubeconfig), environ={}), user_agent="proxied")


def is_there(plane: ControlPlane) -> bool:
    return bool(plane.kubectl("get", "configmap", "one", "-n", NAMESPACE, "--ignore-not-found"))


def test_a_write_is_met_before_it_arrives_and_before_its_answer_does(plane: ControlPlane, proxy: WriteProxy) -> None:
    seen: list[tuple[str, int, bool]] = []

    def meet(write: Write) -> bool:
        seen.append((str(write), write.code, is_there(plane)))
        return True

    proxy.before, proxy.after = meet, meet

    async def write() -> None:
        async with client_of(proxy) as client:
            await client.create(MAPS, BODY)
            await client.patch(f"{MAPS}/one", PATCH, kind=PatchKind.MERGE)
            await client.create(MAPS, BODY, is_trial=True)

    with pytest.raises(errors.Conflict):  # of the trial, which is no write
        asyncio.run(write())
    assert seen == [
        ("POST configmaps", 0, False),
        ("POST configmaps", 201, True),
        ("PATCH configmaps one", 0, True),
        ("PATCH configmaps one", 200, True),
    ]


def test_a_write_that_is_not_let_through_never_arrives(plane: ControlPlane, proxy: WriteProxy) -> None:
    proxy.before = lambda _: False

    async def write() -> None:
        async with client_of(proxy) as client:
            await client.create(MAPS, BODY)

    with pytest.raises(errors.ClusterUnavailable):
        asyncio.run(write())
    assert not is_there(plane)


def test_a_held_write_arrives_although_its_sender_is_gone(plane: ControlPlane, proxy: WriteProxy) -> None:
    may_go, answered = threading.Event(), threading.Event()
    proxy.before = lambda _: may_go.wait(30)
    proxy.after = lambda _: answered.set()

    async def write() -> None:
        async with client_of(proxy) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.create(MAPS, BODY), 0.5)

    asyncio.run(write())
    assert not is_there(plane)
    may_go.set()
    assert answered.wait(30)
    assert is_there(plane)


def test_a_watch_tells_of_changes_as_they_happen(proxy: WriteProxy) -> None:
    async def follow() -> str:
        async with client_of(proxy) as client:
            listing = await client.list(MAPS, kinds.Pod)  # only the metadata is looked at
            await client.create(MAPS, BODY)
            async with aclosing(client.watch(MAPS, kinds.Pod, resource_version=listing.resource_version)) as events:
                async for event in events:
                    if isinstance(event, WatchEvent):
                        return event.object.metadata.name
        return ""

    assert asyncio.run(asyncio.wait_for(follow(), 30)) == "one"
