"""A machine whose Git is not set up, and a remote with one file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.adapters.git.remotes import Bare, bare


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No identity, key or helper of whoever runs the tests; gives the configuration file to write some into."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    config = tmp_path / "gitconfig"
    config.write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("EMAIL", raising=False)
    return config


@pytest.fixture
def remote(tmp_path: Path) -> Bare:
    """A bare repository whose branch main has matrix.yaml."""
    return bare(tmp_path)
