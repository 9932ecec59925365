"""What tests of the testbed itself share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.testbed.caches import cache_in


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of this test's own that shares the built programs, so that nobody's running testbed is touched."""
    with cache_in(tmp_path, monkeypatch) as own:
        yield own
