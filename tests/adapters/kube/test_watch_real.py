"""Keeping a kind in view on a real API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api import errors, store, watch
from seatrial_lab.testbed.plane import control_plane
from tests.adapters.kube.models import Item

pytestmark = pytest.mark.cluster

MAPS = clients.api_path("v1", "configmaps", namespace="kube-watch")
LIMIT_SECONDS = 30.0


@dataclass
class View:
    """A store fed by a reflector, and a way to wait for what it shows."""

    changed: asyncio.Event = field(default_factory=asyncio.Event)
    states: list[watch.SourceState] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store: store.Store[Item] = store.Store(key=store.by_name, on_change=lambda *_: self.changed.set())

    def take_state(self, state: watch.SourceState) -> None:
        self.states.append(state)
        self.changed.set()

    async def sleep(self, seconds: float) -> None:
        self.delays.append(seconds)
        await asyncio.sleep(min(seconds, 0.05))

    def names(self) -> set[str]:
        return {item.metadata.name for item in self.store}

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_SECONDS):
            while not is_so():
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def watching(client: clients.Client, path: str, **more: Any) -> AsyncIterator[View]:
    view = View()
    task = asyncio.create_task(
        watch.reflect(
            client,
            path,
            Item,
            on_sync=view.store.sync,
            on_event=view.store.apply,
            on_state=view.take_state,
            jitter=lambda: 0.5,
            sleep=view.sleep,
            **more,
        )
    )
    try:
        yield view
    finally:
        task.cancel()
        await asyncio.wait([task])


def a_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"mine": "yes"}}}


@pytest.fixture
async def client(plane: control_plane.ControlPlane) -> AsyncIterator[clients.Client]:
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-watch"}}])
    config = configs.load_config(kubeconfig=str(plane.kubeconfig), environ={})
    async with clients.Client(config, user_agent="test-watch") as opened:
        yield opened


async def test_what_was_there_and_what_comes_and_goes_is_seen(client: clients.Client) -> None:
    await client.create(MAPS, a_map("before"))
    async with watching(client, MAPS, label_selector="mine=yes", page_size=1) as view:
        await view.until(lambda: "before" in view.names())
        await client.create(MAPS, a_map("after"))
        await view.until(lambda: "after" in view.names())
        await client.delete(f"{MAPS}/before")
        await view.until(lambda: view.names() == {"after"})
        # An object that leaves the selection is gone from the view as well.
        await client.patch(f"{MAPS}/after", {"metadata": {"labels": {"mine": None}}}, kind=clients.PatchKind.MERGE)
        await view.until(lambda: view.names() == set())

    assert view.delays == []


async def test_silence_on_an_idle_kind_proves_itself_fresh_again_by_a_list(client: clients.Client) -> None:
    path = clients.api_path("v1", "resourcequotas", namespace="kube-watch")
    async with watching(client, path, silent_seconds=0.3) as view:
        await view.until(lambda: len({state.last_heard for state in view.states}) >= 3)

    assert {type(state.last_error) for state in view.states} == {type(None)}


async def test_a_version_from_before_the_kind_existed_is_gone(
    plane: control_plane.ControlPlane, client: clients.Client
) -> None:
    install(plane, "news")
    path = "/apis/watch.example.com/v1/news"
    async with watching(client, path) as view:
        await view.until(lambda: view.states[-1].is_connected if view.states else False)

    with pytest.raises(errors.Gone):
        await first_event(client, path, "1")


async def test_a_kind_installed_later_is_picked_up(plane: control_plane.ControlPlane, client: clients.Client) -> None:
    path = "/apis/watch.example.com/v1/latecomers"
    async with watching(client, path) as view:
        await view.until(lambda: bool(view.states))
        assert isinstance(view.states[-1].last_error, errors.NotFound)

        await asyncio.to_thread(install, plane, "latecomers")
        body = {"apiVersion": "watch.example.com/v1", "kind": "Latecomers", "metadata": {"name": "here"}}
        await view.until(lambda: view.states[-1].is_connected)
        await client.create(path, body)
        await view.until(lambda: view.names() == {"here"})

    assert view.delays[0] >= 10.0


async def first_event(client: clients.Client, path: str, version: str) -> object:
    async with asyncio.timeout(LIMIT_SECONDS), aclosing(client.watch(path, Item, resource_version=version)) as events:
        return await anext(events)


def install(plane: control_plane.ControlPlane, plural: str) -> None:
    group, kind = "watch.example.com", plural.capitalize()
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": plural, "singular": plural, "kind": kind, "listKind": f"{kind}List"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": names, "versions": [version]},
    }
    plane.apply([definition])
