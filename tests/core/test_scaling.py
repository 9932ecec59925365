"""What a pass costs, by counting: it looks at each node a fixed number of times, however large the fleet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from seatrial.core import capacity
from seatrial.core.decide import decide
from seatrial.core.snapshot import NodePhase, NodeSeen
from tests.builders import NOW, a_fleet, a_ledger, a_snapshot, an_intent


class Counted(Mapping[str, NodeSeen]):
    """Nodes that count how often each is handed out."""

    def __init__(self, nodes: Mapping[str, NodeSeen]) -> None:
        self._nodes = nodes
        self.looks: Counter[str] = Counter()

    def __getitem__(self, name: str) -> NodeSeen:
        self.looks[name] += 1
        return self._nodes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


def looks_at_each(size: int) -> int:
    seen = a_snapshot(*a_fleet(size, NodePhase.UPGRADE_REQUIRED), admitted=a_ledger("n1", "n2"))
    counted = Counted(seen.nodes)
    decide(replace(seen, nodes=counted), an_intent(parallel_max=2), NOW)
    return max(counted.looks.values())


@pytest.mark.parametrize("size", [10, 100, 1000])
def test_a_pass_looks_at_each_node_as_often_in_a_large_fleet_as_in_a_small_one(size: int) -> None:
    assert looks_at_each(size) == looks_at_each(4)


def test_who_takes_the_room_is_put_into_words_once_however_many_wait_for_it() -> None:
    seen = a_snapshot(*a_fleet(1000, NodePhase.UPGRADE_REQUIRED))
    capacity._some.cache_clear()
    holds = decide(seen, an_intent(parallel_max=7), NOW).holds
    assert (len(holds), capacity._some.cache_info().misses) == (1000, 1)
