"""What tests beside the GPU Operator look at: the cluster through our own observer, and moments of a watch history."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.api.config import load_config
from seatrial.adapters.kube.reading.observe import KubeObserver
from seatrial.ports import Sight
from seatrial_lab.testbed.history import History, NodeMoment
from seatrial_lab.testbed.neighbours import operator
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.promises import is_under_way

FOREVER = float("inf")


def look(plane: ControlPlane, rollout: str) -> Sight:
    """What our observer makes of the cluster; anything it cannot read fails the test."""

    async def observe() -> Sight:
        config = load_config(kubeconfig=str(plane.kubeconfig), environ={})
        async with (
            Client(config, user_agent="testbed-look") as client,
            KubeObserver(client, namespace=operator.NAMESPACE, rollout=rollout, on_fault=pytest.fail) as observer,
        ):
            await observer.wait_synced(30)
            sight = observer.observe()
            assert sight is not None
            return sight

    return asyncio.run(observe())


def is_unavailable(node: NodeMoment) -> bool:
    """Cordoned, NotReady or under way."""
    return node.is_cordoned or not node.is_ready or is_under_way(node)


def most(
    history: History,
    is_so: Callable[[NodeMoment], bool],
    nodes: Container[str],
    *,
    since: float = 0.0,
    until: float = FOREVER,
) -> int:
    """The most of these nodes of which something was so at any one moment of a stretch."""
    return max(
        sum(is_so(moment) for name, moment in fleet.items() if name in nodes)
        for fleet in history.fleets()
        if since <= max(moment.at for moment in fleet.values()) < until
    )
