"""A release of the operator through the real Argo CD: an Application of the chart is a file of the repository.

One Application follows the folder, as an app of apps does, and brings the one of the chart, which has the chart pulled
and rendered. The chart is a small one of ours, and what a new operator does to nodes is played.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.neighbours import argo_cd
from seatrial_lab.testbed.neighbours.argo_application import Application
from seatrial_lab.testbed.neighbours.argo_cd import ArgoCd
from seatrial_lab.testbed.neighbours.engines import Place
from seatrial_lab.testbed.neighbours.git_server import GitServer
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.light_stage import LightStage, light_stage
from tests.gitops import charts, release_stage
from tests.gitops.release_stage import AFTER, BEFORE, DECLARED, FOLDER, NAMESPACE

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

PREFIX = "argo-release"
POLL_SECONDS = 5


def declared(url: str) -> str:
    """An Application of the chart."""
    spec = {
        "project": "default",
        "source": {"repoURL": url, "chart": charts.NAME, "targetRevision": BEFORE},
        "destination": {"server": "https://kubernetes.default.svc", "namespace": NAMESPACE},
        "syncPolicy": {"automated": {}, "syncOptions": ["CreateNamespace=true"]},
    }
    meta = {"name": "operator", "namespace": argo_cd.NAMESPACE}
    made = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": meta, "spec": spec}
    return yaml.safe_dump(made, sort_keys=False)


@pytest.fixture(scope="module")
def ground(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    """A stage beside an Argo CD that looks often, and a repository with the chart."""
    folder = tmp_path_factory.mktemp(PREFIX)
    controller_process.install(plane)
    with (
        ArgoCd.start(plane, poll_seconds=POLL_SECONDS, jitter_seconds=0) as argo,
        light_stage(plane, folder, PREFIX, has_releases=True) as stage,
        GitServer(root=folder) as server,
        charts.served(folder / "charts", BEFORE, AFTER) as url,
    ):
        stage.keep_validators()
        stage.open()
        stage.lay_out()
        stage.commit("The operator", **{DECLARED: declared(url)})
        where = f"{server.url}/{stage.remote.name}"
        place = Place(url=where, path=FOLDER, username=server.username, password=server.password)
        with Application(argo, "root", place):
            stage.wait(lambda: release_stage.released(stage) == BEFORE, "Argo CD to bring the old release")
            yield stage
        plane.kubectl("delete", "applications.argoproj.io", "operator", "-n", argo_cd.NAMESPACE, "--ignore-not-found")


@pytest.fixture
def stage(ground: LightStage) -> LightStage:
    """A story begins: the repository says what the cluster is, and what is next."""
    ground.open()
    ground.lay_out()
    return ground


def test_a_release_comes_back_through_argo_cd(stage: LightStage) -> None:
    release_stage.comes_back(stage, "release-back")


def test_a_release_goes_through_argo_cd(stage: LightStage) -> None:
    release_stage.goes_through(stage, "release-through")
