"""The image of the payloads at work on a machine without an NVIDIA driver: it says so, whoever runs it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from seatrial.probes.payloads.catalogue import PAYLOADS
from tests.image import containers
from tests.image.conftest import Unpacked
from tests.image.containers import Container

pytestmark = [pytest.mark.slow, containers.NEEDS_ROOT]

UNKNOWN = 11


@pytest.fixture(scope="module")
def container(probes_image: Unpacked, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Container]:
    with containers.unpacked(probes_image, tmp_path_factory.mktemp("root")) as made:
        yield made


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_that_cannot_measure_says_why_and_ends_with_11(container: Container, name: str) -> None:
    done = container.run(name, "--json")
    assert done.returncode == UNKNOWN, done.stderr
    said = json.loads(done.stdout)
    assert said["verdict"] == "unknown"
    assert said["broken"] == []
    assert all(each["why"] for each in said["unknown"])


@pytest.mark.parametrize("name", ["smoke-train", "smoke-infer", "performance"])
def test_what_needs_pytorch_says_that_it_is_not_in_this_image(container: Container, name: str) -> None:
    assert "PyTorch" in json.loads(container.run(name, "--json").stdout)["why"]


@pytest.mark.parametrize("user", ["65532:65532", "0:0", "1000650000:0"], ids=["its-own-user", "root", "openshift"])
def test_anybody_may_run_it(container: Container, user: str) -> None:
    done = replace(container, user=user).run("deep-readiness", "--termination-log", "/tmp/said")
    assert done.returncode == UNKNOWN, done.stderr
    assert done.stdout.startswith("deep-readiness: unknown, cuda: ")


def test_nothing_is_compiled_at_its_start(container: Container) -> None:
    done = container.shell("python -v -m seatrial.probes.command gpu-errors 2>&1 || true")
    read = [line for line in done.stdout.splitlines() if line.startswith("# code object from")]
    assert [line for line in read if ".pyc" not in line] == []
    assert any("seatrial/probes" in line for line in read)
