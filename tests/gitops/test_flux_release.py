"""A release of the operator through the real Flux: the HelmRelease is a file of the repository.

Our commit, source-controller, kustomize-controller, which brings the HelmRelease, and helm-controller, which brings the
chart, are real; the chart is a small one of ours, and what a new operator does to nodes is played.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from seatrial_lab.testbed.neighbours import flux
from seatrial_lab.testbed.neighbours.flux_objects import OFTEN
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.light_stage import LightStage
from tests.gitops import charts, release_stage
from tests.gitops.flux_stage import FluxStage, flux_stage
from tests.gitops.release_stage import AFTER, BEFORE, DECLARED, NAMESPACE

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

PREFIX = "flux-release"


def declared(url: str) -> str:
    """A HelmRelease of the chart, and where the chart is."""
    meta = {"name": "operator", "namespace": flux.NAMESPACE}
    source = {"kind": "HelmRepository", "name": "operator"}
    chart = {"chart": charts.NAME, "version": BEFORE, "sourceRef": source, "interval": OFTEN}
    release = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": meta,
        "spec": {
            "interval": "1h",
            "targetNamespace": NAMESPACE,
            "install": {"createNamespace": True},
            "chart": {"spec": chart},
        },
    }
    repository = {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "HelmRepository",
        "metadata": meta,
        "spec": {"interval": "1h", "url": url},
    }
    return yaml.safe_dump_all([repository, release], sort_keys=False)


@pytest.fixture(scope="module")
def ground(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FluxStage]:
    folder = tmp_path_factory.mktemp(PREFIX)
    with flux_stage(plane, folder, PREFIX, has_releases=True) as made:
        made.stage.keep_validators()
        yield made
        plane.kubectl("delete", "helmrelease", "operator", "-n", flux.NAMESPACE, "--ignore-not-found")


@pytest.fixture(scope="module")
def url(ground: FluxStage) -> Iterator[str]:
    with charts.served(ground.stage.folder / "charts", BEFORE, AFTER) as address:
        yield address


@pytest.fixture
def stage(ground: FluxStage, url: str) -> Iterator[LightStage]:
    """A story begins with the old release, which Flux has brought."""
    opened = ground.opened()
    opened.commit("The operator", **{DECLARED: f"# Story {opened.story}.\n{declared(url)}"})
    with ground.kustomization(interval=OFTEN):
        opened.wait(lambda: release_stage.released(opened) == BEFORE, "Flux to bring the old release")
        yield opened


def test_a_release_comes_back_through_flux(stage: LightStage) -> None:
    release_stage.comes_back(stage, "release-back")


def test_a_release_goes_through_flux(stage: LightStage) -> None:
    release_stage.goes_through(stage, "release-through")
