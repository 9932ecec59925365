"""One Gitea for all tests of this folder; each test has a repository of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from seatrial_lab.testbed.neighbours.gitea import Gitea


@pytest.fixture(scope="session")
def gitea(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gitea]:
    with Gitea(folder=tmp_path_factory.mktemp("gitea")) as forge:
        yield forge


@pytest.fixture
def name() -> str:
    """Of a repository that no other test has."""
    return f"cluster-{os.urandom(4).hex()}"
