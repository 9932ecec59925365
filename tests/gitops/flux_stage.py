"""Where campaigns go through the real Flux: the light stage, its repository served over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.neighbours.engines import Place
from seatrial_lab.testbed.neighbours.flux import Flux
from seatrial_lab.testbed.neighbours.flux_objects import Follower, HelmRelease, Kustomization
from seatrial_lab.testbed.neighbours.git_server import GitServer
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.campaigns import PUBLISHED
from tests.e2e.light_stage import POLICY, LightStage, a_policy, light_stage

FOLDER = "cluster"
CHART = "apiVersion: v2\nname: gpu\nversion: 0.1.0\n"
TEMPLATE = f'{{{{ .Files.Get "{PUBLISHED}" }}}}'


@dataclass(kw_only=True)
class FluxStage:
    """A stage and a Flux beside it."""

    stage: LightStage
    flux: Flux
    server: GitServer
    count: int = 0

    def place(self, path: str = FOLDER) -> Place:
        url = f"{self.server.url}/{self.stage.remote.name}"
        return Place(url=url, path=path, username=self.server.username, password=self.server.password)

    def opened(self) -> LightStage:
        """A story begins: the repository says what the cluster is, and what is next."""
        self.stage.open()
        self.stage.lay_out()
        return self.stage

    def kustomization(self, path: str = FOLDER, **settings: Any) -> Kustomization:
        return Kustomization(self.flux, self._name(), self.place(path), **settings)

    def helm_release(self, **settings: Any) -> HelmRelease:
        """The whole repository as a chart of the ClusterPolicy, which it makes."""
        as_chart(self.stage)
        return HelmRelease(self.flux, self._name(), self.place("."), **settings)

    def _name(self) -> str:
        self.count += 1
        return f"{self.stage.fleet.spec.prefix}-{self.count}"


def as_chart(stage: LightStage) -> None:
    """Have the whole repository be a chart of the ClusterPolicy, which is not there before it is released."""
    stage.plane.kubectl("delete", "clusterpolicy", POLICY, "--ignore-not-found")
    whole = yaml.safe_dump(a_policy(stage.running), sort_keys=False)
    stage.commit("A chart", **{PUBLISHED: whole, "Chart.yaml": CHART, "templates/all.yaml": TEMPLATE})


WAYS: dict[str, Callable[..., Follower]] = {
    "kustomization": FluxStage.kustomization,
    "helm-release": FluxStage.helm_release,
}
"""How Flux brings the ClusterPolicy in."""
MANAGERS = {"kustomization": "kustomize-controller", "helm-release": "helm-controller"}
"""Under which name it writes it then."""


@contextmanager
def flux_stage(
    plane: ControlPlane, folder: Path, prefix: str, *, gates: str = "", has_releases: bool = False
) -> Iterator[FluxStage]:
    """A fleet, a repository, our controller, and Flux."""
    controller_process.install(plane)
    with (
        Flux.start(plane, gates=gates) as flux,  # first: who is not there when our controller looks is seen later
        light_stage(plane, folder, prefix, has_releases=has_releases) as stage,
        GitServer(root=folder) as server,
    ):
        yield FluxStage(stage=stage, flux=flux, server=server)
