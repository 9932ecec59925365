"""The hook runs when the stack has changed, whoever deploys it, and where nothing has it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.bundles import syncing
from tests.bundles.conftest import Write
from tests.bundles.extracting import extracted
from tests.bundles.parity import DEPLOYERS, PATH, POST
from tests.bundles.rendering import Finder, objects_of
from tests.bundles.syncing import Look

CHANGES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "the operator": ((), {"operator": "v25.3.4"}),
    "the driver alone": ((), {"driver": "580.126.20"}),
    "the DRA driver alone": ((), {"dra": "25.8.0"}),
    "the hook's image alone": (("--image", "registry.example.com/seatrial:0.2.0"), {}),
    "how long it may take": (("--nodes", "100"), {}),
}


def look(deployer: str, root: Path, far: Finder, folder: Path, commit: str = "a") -> Look:
    release = extracted(deployer, root, PATH)[POST]
    assert isinstance(release.chart, Path)
    version = yaml.safe_load((release.chart / "Chart.yaml").read_text())["version"]
    return Look(release=release, objects=objects_of(release, far, folder), chart_version=version, commit=commit)


@pytest.mark.parametrize("deployer", syncing.BY_ITSELF)
def test_it_runs_after_the_first_install_and_not_again_while_nothing_changes(
    deployer: str, write: Write, far_stand_ins: Finder, tmp_path: Path
) -> None:
    brings = syncing.BY_ITSELF[deployer]
    roots = write(only=(deployer,))
    one, two = (look(deployer, roots[deployer], far_stand_ins, tmp_path, commit) for commit in ("a", "b"))
    assert brings(None, one)
    assert not brings(one, one)
    assert not brings(one, two)  # a commit to something else in the repository
    assert not syncing.argo_heal(one, one)
    assert syncing.argo_heal(one, two)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("deployer", syncing.BY_ITSELF)
def test_it_runs_again_when_the_stack_or_the_hook_has_changed(
    deployer: str, change: str, write: Write, far_stand_ins: Finder, tmp_path: Path
) -> None:
    words, versions = CHANGES[change]
    before = look(deployer, write("one", only=(deployer,))[deployer], far_stand_ins, tmp_path)
    written = write("two", *words, only=(deployer,), **versions)
    after = look(deployer, written[deployer], far_stand_ins, tmp_path, "b")
    assert syncing.BY_ITSELF[deployer](before, after)


@pytest.mark.parametrize("deployer", DEPLOYERS)
def test_where_hooks_always_run_it_is_the_job_that_finds_nothing_to_do(
    deployer: str, write: Write, far_stand_ins: Finder, tmp_path: Path
) -> None:
    found = look(deployer, write(only=(deployer,))[deployer], far_stand_ins, tmp_path)
    always = syncing.EVERY_TIME.get(deployer)
    assert always is None or always(found, found)
    assert "--wait" in str(found.objects)


def test_without_the_object_that_is_no_hook_argo_cd_would_not_run_it(
    write: Write, far_stand_ins: Finder, tmp_path: Path
) -> None:
    before, after = (
        look("argocd", write(name, only=("argocd",), driver=driver)["argocd"], far_stand_ins, tmp_path)
        for name, driver in (("one", "580.105.08"), ("two", "580.126.20"))
    )
    assert syncing.argo_sync(before, after)
    for each in (before, after):
        each.objects[:] = [found for found in each.objects if found["metadata"]["name"] != "dra-reroll-target"]
    assert not syncing.argo_sync(before, after)


def test_looked_at_by_revision_flux_would_run_it_after_every_commit(
    write: Write, far_stand_ins: Finder, tmp_path: Path
) -> None:
    root = write(only=("flux",))["flux"]
    file = root / PATH / "004-gpu-operator-post" / "helmrelease.yaml"
    file.write_text(file.read_text().replace("reconcileStrategy: ChartVersion", "reconcileStrategy: Revision"))
    one, two = (look("flux", root, far_stand_ins, tmp_path, commit) for commit in ("a", "b"))
    assert syncing.flux_reconcile(one, two)
