"""The fleet in sight: whoever looks asks for the rows it needs, and sees every node as far as those rows show it.

Pacing asks for few rows, an adoption for all that is seen of a node, a rollout for more than that (observe.py).
Tests: tests/adapters/kube/test_observe.py, test_pacing_real.py
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Self

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading import table
from seatrial.adapters.kube.reading.fleet import Fleet
from seatrial.adapters.kube.shapes import keys, kinds, models
from seatrial.adapters.kube.streams.row import Row, Where
from seatrial.adapters.kube.streams.streams import Streams
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts


class FleetObserver:
    """Sees the nodes of a cluster, and who moves them, through watches; use `async with`."""

    def __init__(
        self,
        client: Client,
        rows: Iterable[Row[Any, Any]],
        *,
        namespace: str,
        on_fault: Callable[[str], None],
        home: str = keys.HOME,
        dra_namespaces: tuple[str, ...] = (),
        on_back: Callable[[str, str], None] = lambda _stream, _version: None,
    ) -> None:
        where = Where(namespace=namespace, home=home, dra=dra_namespaces)
        self.streams = Streams(client, rows, where, on_back=on_back)
        self._fleet = Fleet(self.streams, on_fault=on_fault)

    async def __aenter__(self) -> Self:
        await self.streams.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.streams.__aexit__()

    async def wait_synced(self, timeout_seconds: float) -> None:
        """Return when all that decisions rest on was listed once; raise the first thing that keeps it from being."""
        await self.streams.wait_synced(timeout_seconds)

    async def wait(self, until: Instant | None) -> bool:
        """Return when something changed, or the time has come; it always goes on."""
        await self.streams.wait(until)
        return True

    def poke(self) -> None:
        """Something changed that no stream tells of: an act was answered."""
        self.streams.poke()

    def list_anew(self, streams: Collection[str]) -> None:
        """Have these streams listed again: somebody waits for word from them."""
        self.streams.list_anew(streams)

    def operator(self) -> OperatorFacts:
        """What is seen of the GPU Operator."""
        return self._fleet.operator()

    def is_operator_present(self) -> bool:
        """Whether a GPU Operator owns NVIDIA's state label here."""
        return bool(self.operator().kind)

    def is_network_operator_present(self) -> bool:
        """Whether a Network Operator owns NVIDIA's state label of the network driver here."""
        return self.operator().network is not None

    def all_nodes(self) -> Mapping[str, NodeSeen]:
        """Every node seen, member of a rollout or not; changes with the next look, so copy what is to last."""
        return self._fleet.all_nodes()

    def members_of(self, rollout: models.Rollout) -> Mapping[str, NodeSeen]:
        """The members of a rollout, with the operands that it moves."""
        return self._fleet.members_of(rollout)

    def wrote_node(self, node: kinds.Node) -> None:
        """A write of ours returned this node."""
        self.streams[table.NODES].wrote(node)
