"""One Prometheus for all tests of this folder; each test has a node of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import pytest

from seatrial_lab.testbed.monitoring.exporter import Exporter
from seatrial_lab.testbed.monitoring.prometheus import Job, Prometheus
from seatrial_lab.testbed.waiting import wait_for
from tests.adapters.prometheus.stage import PATIENCE_SECONDS, Scene, an_exporter

NODE_COUNT: Final = 24
POD: Final = "nvidia-dcgm-exporter-x7k2p"


@dataclass(slots=True, kw_only=True)
class Yard:
    """The Prometheus, and whom it scrapes."""

    prometheus: Prometheus
    in_a_pod: Exporter
    """One that was not given its node's name, and says its pod's; whoever scrapes adds the node's."""
    contradicted: Exporter
    """One that names another node than whoever scrapes does."""
    honest: Exporter
    forger: Exporter
    """A tenant's, which is scraped as others are and names the honest one's node."""
    free: list[Exporter] = field(default_factory=list)
    """Plain ones that no test has taken yet."""


@pytest.fixture(scope="session")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(an_exporter(f"gpu-{number}", gpu_count=2)) for number in range(NODE_COUNT)]
        in_a_pod, contradicted = (stack.enter_context(an_exporter(name)) for name in (POD, "gpu-elsewhere"))
        honest, forger = an_exporter("gpu-forged"), an_exporter("gpu-forged")
        forger.gpus[0].uuid = "GPU-made-up\x1b[31m"
        for each in (honest, forger):
            stack.enter_context(each)
        in_a_pod.gpus[0].labels = {"pod": "train-0", "namespace": "tenants"}
        jobs = [
            Job(name="dcgm", targets=tuple(each.address for each in free)),
            Job(name="pods", targets=(in_a_pod.address,), labels=(("node", "gpu-in-a-pod"), ("pod", POD))),
            Job(name="ours", targets=(honest.address,), labels=(("namespace", "gpu-operator"),)),
            Job(name="theirs", targets=(forger.address,), labels=(("namespace", "tenants"),)),
            Job(name="contradicted", targets=(contradicted.address,), labels=(("node", "gpu-here"),)),
        ]
        folder = tmp_path_factory.mktemp("prometheus")
        prometheus = stack.enter_context(Prometheus(folder=folder, jobs=jobs))
        wait_for(
            lambda: all(each.told_count for each in (*free, in_a_pod, contradicted, honest, forger)),
            what="the first scrape of every exporter",
            timeout_seconds=PATIENCE_SECONDS,
        )
        yield Yard(
            prometheus=prometheus,
            in_a_pod=in_a_pod,
            contradicted=contradicted,
            honest=honest,
            forger=forger,
            free=free,
        )


@pytest.fixture
def scene(yard: Yard) -> Scene:
    exporter = yard.free.pop()
    return Scene(prometheus=yard.prometheus, exporter=exporter, node=exporter.hostname)
