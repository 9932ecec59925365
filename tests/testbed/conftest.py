"""What tests of the testbed itself share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial_lab.testbed.building import build, toolchain
from seatrial_lab.testbed.plane import lifecycle


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of this test's own that shares the built programs, so that nobody's running testbed is touched."""
    build.control_plane()
    shared, own = toolchain.cache_folder(), tmp_path / "seatrial" / "testbed"
    own.mkdir(parents=True)
    for built in shared.iterdir():
        if built.name != lifecycle.running_folder().name:
            (own / built.name).symlink_to(built)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield own
    lifecycle.down()
