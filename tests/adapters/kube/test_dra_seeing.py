"""DaemonSets as a restart of DRA plugins sees them: which bring drivers, which bring plugins, and which neither."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.dra.seeing import DaemonSet, PluginObserver, set_item
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.shapes import keys
from seatrial.core.movers.dra.values import DriverSet, PluginSet
from tests.adapters.kube import objects

DRIVER = {"name": "nvidia-driver-ctr", "image": "nvcr.io/nvidia/driver:580.105.08-ubuntu22.04"}
OTHER = {"name": "main", "image": "example.com/main:1"}


def a_set(*containers: dict[str, Any], labels: dict[str, str] | None = None, **status: int) -> DaemonSet:
    body = {
        "metadata": {"name": "it", "namespace": "gpu", "generation": 3, "uid": "u", "resourceVersion": "1"},
        "spec": {"template": {"metadata": {"labels": labels or {}}, "spec": {"containers": list(containers)}}},
        "status": status,
    }
    return msgspec.convert(body, DaemonSet)


@pytest.mark.parametrize(("observed", "is_seen"), [(2, False), (3, True), (4, True)])
def test_a_set_of_drivers_says_which_and_whether_its_controller_knows_of_it_yet(observed: int, is_seen: bool) -> None:
    found = set_item(a_set(DRIVER, labels={keys.CHART_LABEL: "c-1"}, observedGeneration=observed))
    assert found is not None
    assert found.facts == DriverSet(name="it", is_seen=is_seen, version="580.105.08", chart="c-1")


@pytest.mark.parametrize("selector", keys.DRA_SELECTORS)
def test_a_set_of_plugins_is_known_by_the_labels_of_its_pods(selector: tuple[str, str]) -> None:
    found = set_item(a_set(OTHER, labels=dict([selector])))
    assert found is not None
    assert found.facts == PluginSet(namespace="gpu", name="it")


def test_any_other_set_is_of_no_interest() -> None:
    assert set_item(a_set(OTHER, labels={"app": "web"}, desiredNumberScheduled=7)) is None


async def test_a_claim_that_changes_is_news_to_whoever_waits_for_its_pod_to_go(to_server: Client) -> None:
    observer = PluginObserver(to_server, namespace=objects.NAMESPACE)
    (claims,) = (stream for stream in observer.streams.opened if stream.row.name == table.CLAIMS.name)
    claims.wrote(msgspec.convert(objects.a_claim("c", version="1"), claims.row.model))
    observer.look()
    gpu = {"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"}
    claims.wrote(msgspec.convert(objects.a_claim("c", gpu, version="2"), claims.row.model))
    async with asyncio.timeout(5):
        await observer.wait(None)
