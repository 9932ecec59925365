"""When a controller was last heard of, by its Lease; who may not read it is not told that there is none."""

from __future__ import annotations

from email.utils import formatdate
from typing import Any

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.leader import Leader, leader_of
from tests.adapters.kube import standin

AT, AT_TEXT = 1767323045.25, "2026-01-02T03:04:05.250000Z"


def leases(*specs: dict[str, Any], namespace: str = "seatrial") -> standin.Reply:
    items = [{"metadata": {"name": "seatrial", "namespace": namespace}, "spec": spec} for spec in specs]
    return standin.gives({"metadata": {"resourceVersion": "7"}, "items": items})


@pytest.mark.parametrize(
    ("spec", "heard_at", "holder", "leads"),
    [
        ({"holderIdentity": "one", "renewTime": AT_TEXT}, AT, "one", True),
        ({"holderIdentity": "", "renewTime": AT_TEXT}, AT, "", False),
    ],
    ids=["held", "given up"],
)
async def test_a_controller_is_heard_of_by_its_lease(
    server: standin.StandIn,
    to_server: Client,
    spec: dict[str, Any],
    heard_at: float,
    holder: str,
    leads: bool,
) -> None:
    server.will(leases(spec))
    found = await leader_of(to_server, "seatrial")
    assert found is not None
    assert found.heard_at == pytest.approx(heard_at, abs=2)
    assert found.holder == holder
    assert found.is_leading(AT + 5) is leads


async def test_a_lease_in_another_namespace_is_no_controllers_and_is_only_mentioned(
    server: standin.StandIn, to_server: Client
) -> None:
    forged = {"holderIdentity": "tenant", "renewTime": AT_TEXT}
    server.will(leases(), leases(forged, namespace="tenants"))
    found = await leader_of(to_server, "seatrial")
    assert [seen.path for seen in server.seen] == [
        "/apis/coordination.k8s.io/v1/namespaces/seatrial/leases",
        "/apis/coordination.k8s.io/v1/leases",
    ]
    assert found == Leader(heard_at=None, elsewhere=("tenants",))
    assert not found.is_leading(AT)


async def test_where_there_is_no_lease_at_all_no_controller_ever_ran(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(leases(), leases())
    assert await leader_of(to_server, "seatrial") == Leader(heard_at=None)


async def test_a_time_more_than_one_lease_ahead_is_doubtful_and_nobody_leads_by_it(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(leases({"holderIdentity": "one", "renewTime": AT_TEXT, "leaseDurationSeconds": 8}))
    found = await leader_of(to_server, "seatrial")
    assert found is not None
    assert [(found.is_doubtful(at), found.is_leading(at)) for at in (AT, AT - 5, AT - 11, AT - 1e9)] == [
        (False, True),
        (False, True),
        (True, False),
        (True, False),
    ]


async def test_a_lease_whose_time_cannot_be_read_leaves_it_open_who_leads(
    server: standin.StandIn, to_server: Client
) -> None:
    server.will(leases({"holderIdentity": "one", "renewTime": "soon"}))
    assert await leader_of(to_server, "seatrial") is None


async def test_who_is_silent_for_twice_as_long_as_a_lease_lasts_leads_no_more(
    server: standin.StandIn, to_server: Client
) -> None:
    spec = {"holderIdentity": "one", "renewTime": AT_TEXT, "leaseDurationSeconds": 8}
    server.will(leases(spec))
    found = await leader_of(to_server, "seatrial")
    assert found is not None
    assert [found.is_leading(AT + seconds) for seconds in (0, 13, 19, 60)] == [True, True, False, False]


async def test_how_long_it_is_silent_is_measured_by_the_servers_clock_and_not_by_ours(
    server: standin.StandIn, to_server: Client
) -> None:
    minute_ago = formatdate(AT - 60, usegmt=True)
    items = [{"metadata": {"name": "seatrial"}, "spec": {"holderIdentity": "one", "renewTime": AT_TEXT}}]
    body = {"metadata": {"resourceVersion": "7"}, "items": items}
    server.will(standin.gives(body, headers={"Date": minute_ago}))
    found = await leader_of(to_server, "seatrial")
    assert found is not None
    assert found.heard_at is not None
    assert found.heard_at - to_server.now() == pytest.approx(60, abs=2), (
        "as long after ours as it is after the server's"
    )


async def test_a_controller_says_in_its_lease_that_it_restarts_dra_plugins(
    server: standin.StandIn, to_server: Client
) -> None:
    spec = {"holderIdentity": "one", "renewTime": AT_TEXT}
    noted = {"metadata": {"name": "seatrial", "annotations": {"seatrial.dev/rerolls-dra": "dra"}}, "spec": spec}
    server.will(standin.gives({"metadata": {"resourceVersion": "7"}, "items": [noted]}))
    found = await leader_of(to_server, "seatrial")
    assert found is not None
    assert found.rerolls_dra


async def test_a_controller_says_in_its_lease_where_it_takes_pods_for_dra_plugins(
    server: standin.StandIn, to_server: Client
) -> None:
    spec = {"holderIdentity": "one", "renewTime": AT_TEXT}
    noted = {"metadata": {"name": "seatrial", "annotations": {"seatrial.dev/dra-namespaces": "a,b"}}, "spec": spec}
    server.will(standin.gives({"metadata": {"resourceVersion": "7"}, "items": [noted]}))
    found = await leader_of(to_server, "seatrial")
    assert found is not None
    assert found.dra_namespaces == ("a", "b")


async def test_who_may_not_read_leases_does_not_know(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.refuses(403, "Forbidden"))
    assert await leader_of(to_server, "seatrial") is None
