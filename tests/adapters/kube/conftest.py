"""What the tests of this folder share."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from seatrial.adapters.kube.api import client as clients
from tests.adapters.kube import standin


@pytest.fixture
async def server() -> AsyncIterator[standin.StandIn]:
    """A stand-in API server."""
    async with standin.running() as started:
        yield started


@pytest.fixture(params=[False, True], ids=["pooled", "brief"])
def is_brief(request: pytest.FixtureRequest) -> bool:
    """Whether requests travel as those of a single look do."""
    return bool(request.param)


@pytest.fixture
async def to_server(server: standin.StandIn) -> AsyncIterator[clients.Client]:
    """A client of the stand-in."""
    async with clients.Client(server.config(), user_agent="seatrial/test") as opened:
        yield opened


@pytest.fixture
async def asking(server: standin.StandIn, is_brief: bool) -> AsyncIterator[clients.Client]:
    """A client that watches nothing, in each of the two ways in which requests travel."""
    async with clients.Client(server.config(), user_agent="seatrial/test", is_brief=is_brief) as opened:
        yield opened
