"""A Git repository with a matrix and the file that is brought into the cluster, as a bare one on disk and as a clone.

Tests: tests/e2e/test_campaign.py, tests/torture/test_blows.py
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

PUBLISHED: Final = "cluster/gpu.yaml"
MATRIX: Final = "gpu-version-matrix.yaml"
BRANCH: Final = "main"


def make_remote(remote: Path, work: Path) -> None:
    """A bare repository, and a person's clone of it."""
    subprocess.run(["git", "init", "--quiet", "--bare", f"--initial-branch={BRANCH}", str(remote)], check=True)
    subprocess.run(["git", "clone", "--quiet", str(remote), str(work)], check=True, capture_output=True)
    for key, value in (("user.name", "An Operator"), ("user.email", "ops@example.org")):
        subprocess.run(["git", "-C", str(work), "config", key, value], check=True)


def git(folder: Path, *arguments: str) -> str:
    """What git says in a folder; what it refuses is raised in its words."""
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode:
        raise RuntimeError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def commit(work: Path, subject: str, **files: str) -> str:
    """A person's commit, pushed."""
    if git(work, "ls-remote", "--heads", "origin", BRANCH):
        git(work, "pull", "--quiet", "--rebase", "origin", BRANCH)
    for path, text in files.items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text, encoding="utf-8")
    git(work, "add", "-A")
    git(work, "commit", "--quiet", "-m", subject)
    git(work, "push", "--quiet", "origin", f"HEAD:{BRANCH}")
    return git(work, "rev-parse", "HEAD").strip()


def subjects(remote: Path) -> list[str]:
    """The subjects of the remote's branch, oldest first."""
    return git(remote, "log", "--reverse", "--format=%s", BRANCH).splitlines()


def driver_matrix_of(current: str, canary: str) -> str:
    """A matrix of nothing but the driver."""
    return f"""versions:
  current:
    driver: "{current}"
    status: "production"
  canary:
    driver: "{canary}"
    status: "testing"
"""


def matrix_of(current: str, canary: str) -> str:
    """A matrix with what runs and what is next."""
    return f"""# What runs, and what is next.
versions:
  current:
    gpu_operator: "v25.3.2"
    driver: "{current}"
    status: "production"
  canary:
    gpu_operator: "v25.3.2"
    driver: "{canary}"
    status: "testing"
"""


def published_policy(version: str) -> str:
    """The ClusterPolicy as the repository has it."""
    return f"""apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata:
  name: cluster-policy
spec:
  driver:
    version: "{version}"  # by the matrix
"""
