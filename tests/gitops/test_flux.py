"""The real Flux brings commits into the cluster: by kustomize-controller, and by helm-controller."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial_lab.testbed.neighbours.engines import Engine
from seatrial_lab.testbed.neighbours.flux import Flux
from seatrial_lab.testbed.neighbours.flux_objects import HelmRelease, Kustomization
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.gitops import yard as yards
from tests.gitops.contract import YARDS, Contract, OpenEngine
from tests.gitops.yard import FOLDER, Yard

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

CHART = """apiVersion: v2
name: colours
version: 0.1.0
"""
TEMPLATE = '{{ .Files.Get "colours.yaml" }}'


@pytest.fixture(scope="module")
def flux(plane: ControlPlane) -> Iterator[Flux]:
    """One for all stories: each has a Kustomization or a HelmRelease of its own."""
    with Flux.start(plane) as started:
        yield started


def with_chart(yard: Yard) -> None:
    """Make the folder of a yard a chart, too: of what lies in it."""
    yard.push("A chart", CHART, f"{FOLDER}/Chart.yaml")
    yard.push("A chart of what lies beside it", TEMPLATE, f"{FOLDER}/templates/all.yaml")


class TestKustomization(Contract):
    """The contract, by kustomize-controller."""

    @pytest.fixture
    def open_engine(self, flux: Flux) -> OpenEngine:
        """One per story."""

        def opened(yard: Yard, *, is_healing: bool = False) -> Engine:
            return Kustomization(flux, yard.namespace, yard.place, is_healing=is_healing)

        return opened


class TestHelmRelease(Contract):
    """The contract, by helm-controller: the same folder is a chart, too."""

    @pytest.fixture
    def yard(self, plane: ControlPlane, tmp_path: Path) -> Iterator[Yard]:
        """A repository whose chart says red."""
        with yards.opened(plane, tmp_path, f"yard-{next(YARDS)}") as made:
            with_chart(made)
            yield made

    @pytest.fixture
    def open_engine(self, flux: Flux) -> OpenEngine:
        """One per story."""

        def opened(yard: Yard, *, is_healing: bool = False) -> Engine:
            return HelmRelease(flux, yard.namespace, yard.place, is_healing=is_healing)

        return opened
