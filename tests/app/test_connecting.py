"""Which cluster is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatrial.app.connecting import Cluster
from seatrial.core.errors import SeatrialError


def test_nothing_is_read_before_somebody_connects(tmp_path: Path) -> None:
    cluster = Cluster(kubeconfig=str(tmp_path / "none"), environ={})
    with pytest.raises(SeatrialError, match="none"):
        cluster.config()


def test_what_the_environment_holds_is_not_told(tmp_path: Path) -> None:
    assert "hunter2" not in repr(Cluster(environ={"TOKEN": "hunter2"}))
