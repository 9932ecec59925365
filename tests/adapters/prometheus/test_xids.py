"""Xids by the metrics of a real Prometheus: those of the last hour are told, an old one that stays is not."""

from __future__ import annotations

import asyncio
import time

from seatrial.adapters.prometheus import xids
from seatrial.adapters.prometheus.places import Place
from seatrial.core.survey.doctor.objects import Metrics, XidTold
from tests.adapters.prometheus.conftest import Yard
from tests.adapters.prometheus.stage import PATIENCE_SECONDS, PAUSE_SECONDS, XID, Scene


async def told_until_some(scene: Scene) -> Metrics:
    """What is told once something is."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        found = await xids.read(Place.read(scene.prometheus.url), {scene.node})
        if found.xids or found.why_not or time.monotonic() > deadline:
            return found
        await asyncio.sleep(PAUSE_SECONDS)


async def test_an_xid_that_comes_is_told_with_its_gpu_and_one_that_was_always_there_is_not(scene: Scene) -> None:
    first, second = scene.exporter.gpus
    await scene.look_until_covered(1.0)
    assert await xids.read(Place.read(scene.prometheus.url), {scene.node}) == Metrics()
    first.values[XID] = 48.0
    found = await told_until_some(scene)
    assert found == Metrics(xids=(XidTold(node=scene.node, gpu=first.uuid, number=48, count=1),))
    assert second.values[XID] == 0.0


async def test_what_is_told_of_other_nodes_is_not_asked_about(scene: Scene) -> None:
    await scene.look_until_covered(1.0)
    scene.exporter.gpus[0].values[XID] = 79.0
    assert (await told_until_some(scene)).xids
    assert await xids.read(Place.read(scene.prometheus.url), {"another"}) == Metrics()


async def test_a_series_of_which_nobody_can_tell_the_node_says_so(yard: Yard) -> None:
    yard.contradicted.gpus[0].values[XID] = 48.0
    deadline = time.monotonic() + PATIENCE_SECONDS
    found = Metrics()
    while not found.why_not and time.monotonic() < deadline:
        found = await xids.read(Place.read(yard.prometheus.url), {"gpu-here"})
        await asyncio.sleep(PAUSE_SECONDS)
    assert "say which label names the node" in found.why_not
    named = await xids.read(Place.read(yard.prometheus.url), {"gpu-here"}, node_label="node")
    assert [(each.node, each.number) for each in named.xids] == [("gpu-here", 48)]


async def test_an_xid_of_a_tenants_exporter_is_not_told(yard: Yard) -> None:
    yard.forger.plant(XID, 79.0)
    scene = Scene(prometheus=yard.prometheus, exporter=yard.honest, node="gpu-forged")
    assert (await told_until_some(scene)).xids, "of whoever is scraped, where nothing is asked of labels"
    place = Place.read(yard.prometheus.url, matchers='namespace="gpu-operator"')
    assert await xids.read(place, {"gpu-forged"}) == Metrics()


async def test_where_no_series_has_the_labels_that_count_nothing_is_called_clean(scene: Scene) -> None:
    await scene.look_until_covered(1.0)
    place = Place.read(scene.prometheus.url, matchers='namespace="nowhere"')
    found = await xids.read(place, {scene.node})
    assert found.xids == ()
    assert f'has no {XID}{{namespace="nowhere"}}: DCGM exporter is not scraped' in found.why_not


async def test_a_prometheus_that_cannot_be_asked_is_no_clean_bill() -> None:
    found = await xids.read(Place.read("http://127.0.0.1:9"), {"gpu-1"})
    assert "was not reached" in found.why_not
    assert found.xids == ()
