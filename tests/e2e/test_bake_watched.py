"""A bake under a real Prometheus: time without data is no evidence, and errors that rise on the canary end it.

The exporters are played, one for each node; what is scraped, asked, summed up and decided is real.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from seatrial_lab.testbed.monitoring.exporter import Exporter
from seatrial_lab.testbed.monitoring.prometheus import Job, Prometheus
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.adapters.prometheus.stage import ECC, an_exporter
from tests.e2e.light_stage import LONG_BAKE, LightStage, light_stage

pytestmark = pytest.mark.cluster

PREFIX = "watched"
SCRAPED = "4s"
"""Rarely enough that a busy machine does not miss a scrape: two in a row that are too far apart are a gap."""
NODES = tuple(f"{PREFIX}-{number:03}" for number in range(3))


@dataclass(kw_only=True)
class Watched:
    """A stage, and who watches it."""

    stage: LightStage
    prometheus: Prometheus
    exporters: dict[str, Exporter]
    forger: Exporter
    """A tenant's, which is scraped too, and names a node of ours."""

    @property
    def counted(self) -> float:
        """What counts as evidence, or will once a round has passed."""
        campaign = self.stage.campaign()
        return float(campaign.get("bakedSeconds", 0.0)) + float(campaign["exposed"]["waitingSeconds"])

    def wait_told(self, node: str, count: int) -> None:
        """Wait until a node was scraped so many times more."""
        exporter = self.exporters[node]
        begun = exporter.told_count
        self.stage.wait(lambda: exporter.told_count >= begun + count, f"{node} to be scraped")

    def wait_rounds(self, count: int) -> None:
        """Wait until the gates were asked so many times more, and some of it was written down."""
        begun = self.stage.campaign()["round"]
        self.stage.wait(lambda: self.stage.campaign()["round"] >= begun + count, f"{count} more rounds")


@pytest.fixture(scope="module")
def shared(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp(PREFIX)
    with ExitStack() as stack:
        exporters = {name: stack.enter_context(an_exporter(name, gpu_count=2)) for name in NODES}
        forger = stack.enter_context(an_exporter(NODES[2]))
        forger.gpus[0].uuid = "GPU-made-up"
        targets = tuple(each.address for each in exporters.values())
        jobs = [
            Job(name="dcgm", targets=targets, labels=(("namespace", "gpu-operator"),)),
            Job(name="tenants", targets=(forger.address,), labels=(("namespace", "tenants"),)),
        ]
        prometheus = stack.enter_context(Prometheus(folder=folder / "prometheus", jobs=jobs, interval=SCRAPED))
        said = ("--prometheus", prometheus.url, "--prometheus-look-seconds", "1")
        stage = stack.enter_context(light_stage(cluster, folder, PREFIX, arguments=said))
        stage.timeout_seconds *= 2
        assert tuple(stage.fleet.nodes) == NODES
        yield Watched(stage=stage, prometheus=prometheus, exporters=exporters, forger=forger)


@pytest.fixture
def watched(shared: Watched) -> Watched:
    for exporter in shared.exporters.values():
        exporter.is_silent = False
    shared.stage.open()
    return shared


@pytest.mark.long
def test_a_canary_that_nobody_sees_gains_nothing_and_goes_on_once_it_is_seen(watched: Watched) -> None:
    stage, canary = watched.stage, NODES[1]
    watched.exporters[canary].is_silent = True
    stage.begin("unseen", canary={"nodes": [canary]}, bake={"durationSeconds": 4, "everySeconds": 1})
    told = stage.wait_held("telemetry-missing")
    assert canary in told
    assert watched.counted == 0.0
    # Gates are asked every second here: between a round and the next look it is at work, and says so.
    stage.wait(lambda: "exporter" in stage.run("why", "unseen").stdout, "`seatrial why` to say what is missing")
    explained = stage.run("bake", "explain", "unseen")
    assert explained.returncode == 11
    assert re.search(r"\b0 s of .* have data of every canary", explained.stdout)
    assert f"There is no data at the moment: {canary}: load" in explained.stdout
    watched.exporters[canary].is_silent = False
    stage.wait_phase("Done")
    assert json.loads(stage.run("bake", "explain", "-o", "json").stdout)["proven"]["watched_hours"] >= 4 / 3600


@pytest.mark.long
def test_nothing_accrues_while_prometheus_is_away_and_what_it_had_scraped_is_not_lost(watched: Watched) -> None:
    stage = watched.stage
    stage.begin("away", **LONG_BAKE)
    stage.wait_phase("Baking")
    stage.wait(lambda: watched.counted > 2.0, "some evidence")
    watched.prometheus.stop()
    try:
        watched.wait_rounds(2)  # what was looked at before is written down by then
        counted = watched.counted
        watched.wait_rounds(4)
        assert watched.counted == counted
    finally:
        watched.prometheus.start()
    stage.wait(lambda: watched.counted > counted + 1.0, "evidence to grow again")
    stage.patch(abort="seen enough")
    stage.wait_phase("Reverted")


def test_errors_that_rise_on_the_canary_end_the_bake_and_say_how_many(watched: Watched) -> None:
    stage, canary = watched.stage, NODES[2]
    stage.begin("errors", canary={"nodes": [canary]}, **LONG_BAKE)
    stage.wait_phase("Baking")
    stage.wait(lambda: watched.counted > 2.0, "some evidence")
    for errors in range(4, 8):
        watched.forger.plant(ECC, 100.0 * errors)
        watched.wait_told(canary, 2)
    counted = watched.counted
    stage.wait(
        lambda: watched.counted > counted + 2.0, "evidence to grow, whatever a tenant's exporter says of the canary"
    )
    exporter = watched.exporters[canary]
    for errors in range(4, 8):
        exporter.plant(ECC, float(errors))
        watched.wait_told(canary, 2)
    stage.wait_phase("Reverted")
    why = stage.campaign()["why"]
    assert why.startswith("ecc-uncorrected-volatile rose ")
    assert canary in why
    assert "GPU-made-up" not in why
    assert "check the GPU, not the version" in why
    assert stage.touched() == {canary}
    assert stage.run("bake", "explain").returncode == 11, "one broken GPU proves nothing about the version"
