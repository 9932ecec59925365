"""When a controller was last heard of, by its Lease; who may not read it is not told that there is none."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.leader import Leader, leader_of
from tests.adapters.kube import standin

AT, AT_TEXT = 1767323045.25, "2026-01-02T03:04:05.250000Z"


def leases(*specs: dict[str, Any]) -> standin.Reply:
    items = [{"metadata": {"name": "seatrial"}, "spec": spec} for spec in specs]
    return standin.gives({"metadata": {"resourceVersion": "7"}, "items": items})


@pytest.mark.parametrize(
    ("specs", "heard_at"),
    [
        ((), None),
        (({"holderIdentity": "one", "renewTime": AT_TEXT},), AT),
        (({"holderIdentity": "", "renewTime": AT_TEXT},), None),
        (({"holderIdentity": "one", "renewTime": "soon"}, {"holderIdentity": "two", "renewTime": AT_TEXT}), AT),
    ],
    ids=["none", "held", "given up", "unreadable"],
)
async def test_a_controller_is_heard_of_by_its_lease(
    server: standin.StandIn, to_server: Client, specs: tuple[dict[str, Any], ...], heard_at: float | None
) -> None:
    server.will(leases(*specs))
    assert await leader_of(to_server) == Leader(heard_at=heard_at)


async def test_a_controller_says_in_its_lease_that_it_restarts_dra_plugins(
    server: standin.StandIn, to_server: Client
) -> None:
    spec = {"holderIdentity": "one", "renewTime": AT_TEXT}
    noted = {"metadata": {"name": "seatrial", "annotations": {"seatrial.dev/rerolls-dra": "dra"}}, "spec": spec}
    server.will(standin.gives({"metadata": {"resourceVersion": "7"}, "items": [noted]}))
    assert await leader_of(to_server) == Leader(heard_at=AT, rerolls_dra=True)


async def test_who_may_not_read_leases_does_not_know(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.refuses(403, "Forbidden"))
    assert await leader_of(to_server) is None
