"""What the tests of this folder share: a machine whose Git is not set up, a remote, and a stand-in API server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from seatrial.adapters.kube.api.client import Client
from tests.adapters.git.conftest import bare_machine, remote
from tests.adapters.kube import standin

__all__ = ["bare_machine", "remote"]


@pytest.fixture
async def cluster() -> AsyncIterator[standin.StandIn]:
    """A stand-in API server."""
    async with standin.running() as started:
        yield started


@pytest.fixture
async def client(cluster: standin.StandIn) -> AsyncIterator[Client]:
    """A client of the stand-in."""
    async with Client(cluster.config(), user_agent="seatrial/test") as opened:
        yield opened
