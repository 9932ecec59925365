"""What is made of answers that a small Prometheus does not give: no targets, two nodes' GPU, more than we take."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import pytest
from aiohttp import web

from seatrial.adapters.prometheus import looking
from seatrial.adapters.prometheus.places import Place
from seatrial.adapters.prometheus.watcher import PrometheusWatcher
from seatrial.core.model.gates.telemetry import Series, Telemetry
from tests.adapters.http.test_webhook import serving
from tests.adapters.prometheus.stage import LOAD, OurClock, a_query

INTERVAL = 15.0


@dataclass(slots=True, kw_only=True)
class Stand:
    """Answers as a Prometheus would that has these samples."""

    strands: list[tuple[dict[str, str], list[tuple[float, float]]]] = field(default_factory=list)
    jobs: tuple[str, ...] | None = ("dcgm",)
    off_seconds: float = 0.0
    is_gone: bool = False
    """Whether it tells of itself, and then nothing more."""
    asked: list[dict[str, list[str]]] = field(default_factory=list)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        asked = parse_qs(await request.text())
        self.asked.append(asked)
        if request.path.endswith("/targets") and self.jobs is None:
            return web.Response(status=404, text="404 page not found")
        if self.is_gone and asked.get("query") != ["time()"] and not request.path.endswith("/targets"):
            return web.Response(status=503)
        return web.json_response({"status": "success", "data": self._data(request.path, asked)})

    def has(self, points: Iterable[tuple[float, float]], **labels: str) -> None:
        usual = {"__name__": LOAD, "job": "dcgm", "Hostname": "gpu-1", "UUID": "GPU-1", "instance": "10.0.0.1:9400"}
        self.strands.append(({**usual, **labels}, list(points)))

    def _data(self, path: str, asked: dict[str, list[str]]) -> Any:
        if path.endswith("/targets"):
            return {"activeTargets": [{"labels": {"job": job}, "scrapeInterval": "15s"} for job in self.jobs or ()]}
        if path.endswith("/series"):
            return [labels for labels, _ in self.strands]
        if asked["query"] == ["time()"]:
            return {"resultType": "scalar", "result": [time.time() + self.off_seconds, "0"]}
        end = float(asked["time"][0])
        start = end - float(asked["query"][0].rpartition("[")[2].removesuffix("ms]")) / 1000
        found = [
            {"metric": labels, "values": [(at, str(value)) for at, value in points if start <= at <= end]}
            for labels, points in self.strands
        ]
        return {"resultType": "matrix", "result": [each for each in found if each["values"]]}


async def look(
    stand: Stand, *, nodes: set[str] | None = None, hours: float = 1.0, matchers: str = "", **more: Any
) -> Telemetry:
    async with serving(stand.handle) as url:
        place = Place.read(url.removesuffix("/save"), matchers=matchers)
        watcher = PrometheusWatcher(place=place, clock=OurClock(), queries=(a_query(LOAD),), **more)
        return await watcher.watch(nodes or {"gpu-1"}, END - hours * 3600, END)


END = 1_700_000_000.0


def every(seconds: float, hours: float = 1.0) -> list[tuple[float, float]]:
    count = int(hours * 3600 / seconds)
    return [(END - number * seconds, 90.0) for number in reversed(range(count + 5))]


def whys(told: Telemetry) -> set[str]:
    return {each.why for each in told.unmeasured}


async def test_a_watched_hour_is_an_hour() -> None:
    stand = Stand()
    stand.has(every(INTERVAL))
    told = await look(stand)
    assert told.covered_seconds("load", "gpu-1") == pytest.approx(3600.0)
    assert told.unmeasured == ()


async def test_two_hours_with_one_hour_of_data_are_one_hour() -> None:
    stand = Stand()
    stand.has([each for each in every(INTERVAL, 2.0) if not END - 5400 < each[0] < END - 1800])
    told = await look(stand, hours=2.0)
    assert told.covered_seconds("load", "gpu-1") == pytest.approx(3600.0)


async def test_every_second_scrape_missing_is_no_cover_at_all() -> None:
    stand = Stand()
    stand.has(every(2 * INTERVAL))
    assert (await look(stand)).covered_seconds("load", "gpu-1") == 0.0


async def test_long_stretches_are_asked_for_in_pieces_and_laid_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "SAMPLES_AT_ONCE", 16 * 60)  # a quarter of an hour of one node
    stand = Stand()
    stand.has(every(INTERVAL))
    told = await look(stand)
    assert sum("time" in each for each in stand.asked) == 5  # four, and a little before
    [series] = told.series
    assert isinstance(series, Series)
    assert len(series.points) == len({at for at, _ in series.points}) == 242


async def test_more_samples_than_we_take_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "POINTS_MAX", 100)
    stand = Stand()
    stand.has(every(INTERVAL))
    told = await look(stand)
    assert told.series == ()
    assert whys(told) == {"there are more than 100 samples in this stretch. Watch fewer nodes, or a shorter stretch."}


async def test_how_often_is_scraped_has_to_be_known() -> None:
    stand = Stand(jobs=("another",))
    stand.has(every(INTERVAL))
    told = await look(stand)
    assert told.series == ()
    assert whys(told) == {"how often it is scraped is not known: no target has the job dcgm. Say how often."}
    said = await look(stand, interval_seconds=INTERVAL)
    assert said.covered_seconds("load", "gpu-1") == pytest.approx(3600.0)


async def test_who_has_no_targets_is_believed_where_somebody_says_how_often() -> None:
    stand = Stand(jobs=None)
    stand.has(every(INTERVAL))
    [why] = whys(await look(stand))
    assert why.startswith("how often it is scraped is not known: ")
    assert "404" in why
    assert (await look(stand, interval_seconds=INTERVAL)).unmeasured == ()


async def test_a_gpu_of_two_nodes_is_nobodys() -> None:
    stand = Stand()
    stand.has(every(INTERVAL))
    stand.has(every(INTERVAL), Hostname="gpu-2", instance="10.0.0.2:9400")
    told = await look(stand, nodes={"gpu-1", "gpu-2"})
    assert told.series == ()
    assert whys(told) == {"GPU-1 is reported for gpu-1, gpu-2 at once"}


async def test_labels_that_contradict_each_other_are_unknown_and_do_not_touch_another_node() -> None:
    stand = Stand()
    stand.has(every(INTERVAL), node="gpu-7")
    stand.has(every(INTERVAL), Hostname="gpu-2", UUID="GPU-2", instance="10.0.0.2:9400")
    told = await look(stand, nodes={"gpu-1", "gpu-2"})
    assert {each.node for each in told.series} == {"gpu-2"}
    [missing] = told.unmeasured
    assert (missing.node, missing.why) == (
        "gpu-1",
        "label Hostname says gpu-1, and node says gpu-7: say which label names the node",
    )


async def test_a_gpu_that_is_told_of_twice_at_once_stops_its_node() -> None:
    stand = Stand()
    stand.has(every(INTERVAL))
    stand.has(every(INTERVAL), UUID="GPU-2")
    stand.has([(at + 5.0, value) for at, value in every(INTERVAL)], UUID="GPU-2", instance="10.0.0.1:9500")
    told = await look(stand)
    [missing] = told.unmeasured
    assert (missing.gpu, missing.why) == (
        "GPU-2",
        "two exporters report it at once, 10.0.0.1:9400 and 10.0.0.1:9500: choose one by its job",
    )
    assert told.covered_seconds("load", "gpu-1") == 0.0


async def test_a_node_that_nobody_tells_of_is_named() -> None:
    stand = Stand()
    stand.has(every(INTERVAL))
    told = await look(stand, nodes={"gpu-1", "gpu-9"})
    [missing] = told.unmeasured
    assert missing.node == "gpu-9"
    assert "no exporter runs there" in missing.why


@pytest.mark.parametrize(("off", "said"), [(60.0, "60 s ahead of ours"), (-60.0, "60 s behind ours")])
async def test_a_clock_that_is_off_is_told_with_how_far(off: float, said: str) -> None:
    told = await look(Stand(off_seconds=off))
    [why] = whys(told)
    assert said in why


async def test_one_that_went_away_is_not_asked_for_every_signal_in_turn() -> None:
    stand, queries = Stand(is_gone=True), (a_query(LOAD), a_query(LOAD, name="temperature"), a_query(LOAD, name="xid"))
    async with serving(stand.handle) as url:
        place = Place.read(url.removesuffix("/save"))
        told = await PrometheusWatcher(place=place, clock=OurClock(), queries=queries).watch({"gpu-1"}, END - 60, END)
    assert [each.name for each in told.unmeasured] == ["load", "temperature", "xid"]
    assert all("503" in why for why in whys(told))
    assert len(stand.asked) == 3, "its clock, its targets, and the first signal"


async def test_nobody_is_asked_about_no_node_or_no_time() -> None:
    stand = Stand()
    async with serving(stand.handle) as url:
        watcher = PrometheusWatcher(place=Place.read(url.removesuffix("/save")), clock=OurClock())
        assert await watcher.watch((), 0.0, 60.0) == Telemetry(since=0.0, until=60.0)
        assert await watcher.watch({"gpu-1"}, 60.0, 60.0) == Telemetry(since=60.0, until=60.0)
    assert stand.asked == []


async def test_only_series_that_match_are_asked_for_whether_by_name_or_by_sample() -> None:
    stand = Stand()
    stand.has(every(INTERVAL))
    assert (await look(stand, matchers='namespace="gpu-operator"')).series
    asked = [
        text for each in stand.asked for text in (*each.get("match[]", ()), *each.get("query", ())) if LOAD in text
    ]
    assert any("[" in text.rpartition("}")[2] for text in asked)
    assert [text for text in asked if 'namespace="gpu-operator"}' not in text] == []
