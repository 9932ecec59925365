"""One Prometheus for all tests of this folder; each test has a node of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

import pytest

from seatrial_lab.testbed.monitoring.exporter import Exporter
from seatrial_lab.testbed.monitoring.prometheus import Job, Prometheus
from seatrial_lab.testbed.waiting import wait_for
from tests.adapters.prometheus.stage import PATIENCE_SECONDS, Scene, an_exporter

NODE_COUNT: Final = 12


@pytest.fixture(scope="session")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Prometheus, list[Exporter]]]:
    """The Prometheus, and exporters that no test has taken yet."""
    with contextlib.ExitStack() as stack:
        free = [stack.enter_context(an_exporter(f"gpu-{number}", gpu_count=2)) for number in range(NODE_COUNT)]
        job = Job(name="dcgm", targets=tuple(each.address for each in free))
        folder = tmp_path_factory.mktemp("prometheus")
        prometheus = stack.enter_context(Prometheus(folder=folder, jobs=[job]))
        wait_for(
            lambda: all(each.told_count for each in free),
            what="the first scrape of every exporter",
            timeout_seconds=PATIENCE_SECONDS,
        )
        yield prometheus, free


@pytest.fixture
def scene(yard: tuple[Prometheus, list[Exporter]]) -> Scene:
    prometheus, free = yard
    return Scene(prometheus=prometheus, exporter=free.pop())
