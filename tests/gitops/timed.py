"""Times commits through the real GitOps engines, told by a webhook and left alone, and keeps them in bench/results.

Not among the tests that `make gitops` runs: its numbers say something only where nothing else runs. Every engine goes
through the same repository, the same campaign and the same fleet; one that is left alone looks every ten seconds, so
what it takes on top of its own pause can be compared. Who runs something else beside it says so: BESIDE="a build".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from bench.machine import keep, machine

from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.building import build
from seatrial_lab.testbed.neighbours import argo_cd
from seatrial_lab.testbed.neighbours.argo_application import Application
from seatrial_lab.testbed.neighbours.argo_cd import ArgoCd
from seatrial_lab.testbed.neighbours.engines import Place
from seatrial_lab.testbed.neighbours.flux import Flux
from seatrial_lab.testbed.neighbours.flux_objects import RARELY, HelmRelease, Kustomization
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.campaigns import served
from tests.e2e.light_stage import LightStage, light_stage
from tests.gitops import timings
from tests.gitops import yard as yards
from tests.gitops.flux_stage import as_chart
from tests.gitops.test_flux import with_chart

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

POLL_SECONDS = 10
Follow: TypeAlias = Callable[[str, Place], AbstractContextManager[Any]]
FLUX = {"Kustomization": Kustomization, "HelmRelease": HelmRelease}


@pytest.fixture(scope="module")
def stage(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    controller_process.install(plane)
    with light_stage(plane, tmp_path_factory.mktemp("timed"), "timed") as made:
        yield made


def test_commits_through_argo_cd(stage: LightStage, tmp_path: Path) -> None:
    before, found = os.getloadavg()[0], {}
    for way, poll_seconds in {"webhook": argo_cd.POLL_SECONDS, "poll": POLL_SECONDS}.items():
        with ArgoCd.start(stage.plane, poll_seconds=poll_seconds, jitter_seconds=0) as argo:
            follow = follow_by_argo_cd(argo)
            found[f"Application, {way}"] = both(stage, tmp_path / f"argo-cd-{way}", follow, is_told=way == "webhook")
    keep_for("argo-cd", build.ARGO_CD.version, before, found)


def test_commits_through_flux(stage: LightStage, tmp_path: Path) -> None:
    before, found = os.getloadavg()[0], {}
    with Flux.start(stage.plane) as flux:
        for kind in FLUX:
            for way, interval in {"webhook": RARELY, "poll": f"{POLL_SECONDS}s"}.items():
                follow, folder = follow_by_flux(flux, kind, interval), tmp_path / f"{kind.lower()}-{way}"
                is_chart = kind == "HelmRelease"
                found[f"{kind}, {way}"] = both(stage, folder, follow, is_told=way == "webhook", is_chart=is_chart)
    keep_for("flux", build.FLUX.version, before, found)


def follow_by_argo_cd(argo: ArgoCd) -> Follow:
    return lambda name, place: Application(argo, name, place)


def follow_by_flux(flux: Flux, kind: str, interval: str) -> Follow:
    return lambda name, place: FLUX[kind](flux, name, place, interval=interval)


def both(
    stage: LightStage, folder: Path, follow: Follow, *, is_told: bool, is_chart: bool = False
) -> dict[str, dict[str, Any]]:
    """A ConfigMap a few times, and a campaign once; what is made for it is called as the folder is."""
    name = folder.name
    folder.mkdir()
    with yards.opened(stage.plane, folder, name) as yard:
        if is_chart:
            with_chart(yard)
        with follow(name, yard.place) as engine:
            remote = folder / "cluster.git"
            alone = timings.commit_and_revert(yard, remote, engine.push if is_told else None)
    stage.open()
    stage.lay_out()
    if is_chart:
        as_chart(stage)
    with served(stage.remote) as place:
        place = replace(place, path=".") if is_chart else place
        with follow(f"{name}-gpu", place) as engine:
            whole = timings.campaign(stage, engine.push if is_told else None, name)
    return {"config_map": alone, "campaign": whole}


def keep_for(engine: str, version: str, load_before: float, found: dict[str, Any]) -> None:
    """Keep what was found beside the other results."""
    result = {
        "engine": engine,
        "version": version,
        "machine": machine(),
        "load_1min_before": round(load_before, 2),
        "beside": os.environ.get("BESIDE", ""),
        "poll_seconds": POLL_SECONDS,
        **found,
    }
    keep(f"gitops-{engine}", result)
