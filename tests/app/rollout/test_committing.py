"""The first commit of a rollout, before anything begins: the real file of a real repository, and what would change."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seatrial.app.rollout import committing
from seatrial.core.actions.at_home import Publish
from seatrial.core.errors import SeatrialError
from seatrial.core.model.campaign import PublishStep, Via

POLICY = """\
# ours
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata:
  name: cluster-policy
spec:
  driver:
    version: "570.124.06"  # since spring
"""
ACT = Publish(
    rollout="spring",
    step=PublishStep.CANARY,
    via=Via.GIT,
    versions=(("ClusterPolicy/cluster-policy", "580.105.08"),),
)


def git(*words: str) -> None:
    subprocess.run(["git", *words], check=True, capture_output=True)


@pytest.fixture
def remote(tmp_path: Path) -> str:
    """A bare repository with the file on main."""
    bare, work = tmp_path / "remote.git", tmp_path / "work"
    git("init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    git("clone", "--quiet", str(bare), str(work))
    (work / "gpu.yaml").write_text(POLICY)
    git("-C", str(work), "add", "-A")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    git("-C", str(work), *identity, "commit", "--quiet", "-m", "first")
    git("-C", str(work), "push", "--quiet", "origin", "HEAD:main")
    return f"file://{bare}"


def spec(url: str, **git: Any) -> dict[str, Any]:
    return {"publish": {"via": "git", "git": {"url": url, "path": "gpu.yaml", **git}}}


def test_the_diff_is_that_of_the_real_file_and_touches_one_line(remote: str, tmp_path: Path) -> None:
    file = committing.published_file(spec(remote), "spring", tmp_path / "clone")
    assert file is not None
    assert file.where.startswith(f"gpu.yaml of {remote} main@")
    changed = [line for line in committing.diff_of(file, ACT) if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ['-    version: "570.124.06"  # since spring', '+    version: "580.105.08"  # since spring']


def test_a_path_that_is_not_there_is_told_before_the_start(remote: str, tmp_path: Path) -> None:
    with pytest.raises(committing.FileMissing, match=r"has no cluster/gpu\.yaml on main .* --publish-path"):
        committing.published_file(spec(remote, path="cluster/gpu.yaml"), "spring", tmp_path / "clone")


def test_a_file_that_cannot_carry_the_version_is_told_with_its_name(remote: str, tmp_path: Path) -> None:
    file = committing.published_file(spec(remote), "spring", tmp_path / "clone")
    assert file is not None
    other = Publish(
        rollout="spring", step=PublishStep.CANARY, via=Via.GIT, versions=(("ClusterPolicy/another", "580.105.08"),)
    )
    with pytest.raises(SeatrialError, match=r"gpu\.yaml"):
        committing.diff_of(file, other)


def test_without_commits_no_repository_is_asked(tmp_path: Path) -> None:
    assert committing.published_file({"publish": {"via": "direct"}}, "spring", tmp_path / "clone") is None
    assert committing.published_file({}, "spring", tmp_path / "clone") is None


def test_the_matrixs_repository_is_meant_where_no_other_is_named(remote: str, tmp_path: Path) -> None:
    wish = {
        "matrix": {"git": {"url": remote, "branch": "main"}},
        "publish": {"via": "git", "git": {"path": "gpu.yaml"}},
    }
    file = committing.published_file(wish, "spring", tmp_path / "clone")
    assert file is not None
    assert file.url == remote


FLUX = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: gpu, namespace: gpu-operator}
spec:
  chart: {spec: {chart: gpu-operator, version: v25.3.4}}
"""


def test_in_a_folder_the_diff_is_that_of_every_file_that_changes(remote: str, tmp_path: Path) -> None:
    work = tmp_path / "again"
    git("clone", "--quiet", remote, str(work))
    (work / "gpu").mkdir()
    (work / "gpu" / "policy.yaml").write_text(POLICY)
    (work / "gpu" / "release.yaml").write_text(FLUX)
    (work / "gpu" / "picture.png").write_bytes(b"\x89PNG\0")
    git("-C", str(work), "add", "-A")
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    git("-C", str(work), *identity, "commit", "--quiet", "-m", "a folder")
    git("-C", str(work), "push", "--quiet", "origin", "HEAD:main")
    file = committing.published_file(spec(remote, path="gpu"), "spring", tmp_path / "clone")
    assert file is not None
    act = replace(ACT, versions=(("ClusterPolicy/cluster-policy", "580.105.08, gpu_operator v25.10.0"),))
    changed = [line.strip() for line in committing.diff_of(file, act) if line.startswith("+")]
    assert changed == [
        "+++ b/gpu/policy.yaml",
        '+    version: "580.105.08"  # since spring',
        "+++ b/gpu/release.yaml",
        "+  chart: {spec: {chart: gpu-operator, version: v25.10.0}}",
    ]
