"""What has to be the same whoever deploys a bundle, and what has to hold for each of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.bundles.extracting import Extracted, extracted
from tests.bundles.rendering import Finder, hooks, objects_of, others

Object = dict[str, Any]

DEPLOYERS = ("helm", "helmfile", "flux", "argocd", "argocd-helm")
PATH = "clusters/east"
DRA, POST = "nvidia-dra-driver-gpu", "gpu-operator-post"
JOB = "dra-kubelet-plugin-rollout-after-driver-migration"
ANNOTATIONS = {
    "helm.sh/hook": "post-install,post-upgrade",
    "helm.sh/hook-weight": "10",
    "helm.sh/hook-delete-policy": "before-hook-creation,hook-succeeded",
}
SLACK_SECONDS = 120

Rendered = Mapping[str, list[Object]]


def rendered(releases: Mapping[str, Extracted], far: Finder, folder: Path) -> Rendered:
    """The objects of every release."""
    return {name: objects_of(each, far, folder) for name, each in releases.items()}


def assert_parity(roots: Mapping[str, Path], far: Finder, folder: Path) -> Rendered:
    """Every deployer brings the same objects, in an order that is right, with time enough for the hook."""
    all_of_them = {deployer: extracted(deployer, root, PATH) for deployer, root in roots.items()}
    first: Rendered = {}
    for deployer, releases in all_of_them.items():
        made = rendered(releases, far, folder)
        _assert_order(deployer, releases)
        for name, release in releases.items():
            _assert_release(deployer, release, made[name])
        _assert_hook(deployer, made)
        first = first or made
        assert made.keys() == first.keys(), deployer
        for name in first:
            assert made[name] == first[name], f"{deployer} renders {name} differently"
    return first


def _assert_order(deployer: str, releases: Mapping[str, Extracted]) -> None:
    assert "gpu-operator" in releases[DRA].before, f"{deployer}: the DRA driver does not wait for the operator"
    assert {"gpu-operator", DRA} <= releases[POST].before, f"{deployer}: the hook does not wait for both"


def _assert_release(deployer: str, release: Extracted, objects: list[Object]) -> None:
    assert release.runs_hooks, f"{deployer}: {release.name} runs no hooks"
    assert release.retries == 0, f"{deployer}: {release.name} is taken back when it fails"
    for each in objects:
        said = each["metadata"].get("annotations") or {}
        assert "argocd.argoproj.io/hook" not in said, f"{deployer}: {release.name} has a hook of Argo CD's"
    if release.timeout_seconds is None:
        return
    for each in hooks(objects):
        deadline = each.get("spec", {}).get("activeDeadlineSeconds", 0)
        enough = release.timeout_seconds >= deadline + SLACK_SECONDS
        assert enough, f"{deployer}: {release.name} is given up while its hook works"


def _assert_hook(deployer: str, made: Rendered) -> None:
    jobs = [each for each in hooks(made[POST]) if each["metadata"]["name"] == JOB]
    assert [each["metadata"]["annotations"] for each in jobs] == [ANNOTATIONS], f"{deployer}: the hook is no hook"
    targets = [each for each in others(made[POST]) if each["metadata"]["name"] == "dra-reroll-target"]
    assert len(targets) == 1, f"{deployer}: nothing but the hook changes with the target"
    assert targets[0]["data"]["digest"].startswith("sha256:")
