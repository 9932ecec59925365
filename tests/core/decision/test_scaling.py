"""What a pass costs, by counting: it looks at each node a fixed number of times, however large the fleet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.budget import capacity
from seatrial.core.decision.decide import decide
from seatrial.core.model.intent import Domain, Intent, Order
from seatrial.core.model.policy import Policy, Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from tests.builders import NOW, a_fleet, a_ledger, a_node, a_snapshot, an_intent


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


RACK = "example.com/rack"
POOLED = {"blue": Policy()}
INTENTS = [
    an_intent(parallel_max=2),
    *(an_intent(parallel_max=2, order=order, domains=(Domain(label=RACK),)) for order in Order),
    an_intent(parallel_max=2, domains=(Domain(label=RACK, unavailable_max=Share(amount=1)),), pools=POOLED),
    an_intent(parallel_max=2, domains=(Domain(label=RACK, is_unit=True),)),
]


def racked(size: int) -> tuple[NodeSeen, ...]:
    """A fleet of racks with four nodes each, all in one pool."""
    return tuple(
        a_node(f"n{number}", NodePhase.UPGRADE_REQUIRED, labels={RACK: f"r{number // 4}"}, owner="blue")
        for number in range(1, size + 1)
    )


def looks_at_each(size: int, intent: Intent) -> int:
    seen = a_snapshot(*racked(size), admitted=a_ledger("n1", "n2"))
    counted = Counted(seen.nodes)
    decide(replace(seen, nodes=counted), intent, NOW)
    return max(counted.looks.values())


@pytest.mark.parametrize("size", [10, 100, 1000])
@pytest.mark.parametrize("intent", INTENTS)
def test_a_pass_looks_at_each_node_as_often_in_a_large_fleet_as_in_a_small_one(intent: Intent, size: int) -> None:
    assert looks_at_each(size, intent) == looks_at_each(8, intent)


class Asked(dict[str, str]):
    """Units that count how often somebody asks for one."""

    count = 0

    def get(self, *names: Any) -> Any:
        self.count += 1
        return super().get(*names)


def questions_per_candidate(size: int) -> float:
    """How often a unit is asked for while half of a fleet asks to start and the other half is about to."""
    names = [f"n{number}" for number in range(size)]
    units = Asked({name: f"rack r{number // 4}" for number, name in enumerate(names)})
    budget = replace(capacity.budget_of({}, (), an_intent()), unit_of=units)
    wishes = {admission.node: admission for admission in a_ledger(*names[: size // 2])}
    capacity.admit(tuple(wishes), wishes.__getitem__, (), budget, coming=frozenset(names[size // 2 :]))
    return units.count / len(wishes)


@pytest.mark.parametrize("size", [80, 800])
def test_who_is_about_to_ask_is_looked_through_once_and_not_for_every_candidate(size: int) -> None:
    assert questions_per_candidate(size) == questions_per_candidate(16)


def test_who_takes_the_room_is_put_into_words_once_however_many_wait_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = a_snapshot(*a_fleet(1000, NodePhase.UPGRADE_REQUIRED))
    asked: Counter[str] = Counter()
    for owner, name in ((capacity, "_some"), (capacity.Tally, "why_not")):
        monkeypatch.setattr(owner, name, counted(asked, name, getattr(owner, name)))
    holds = decide(seen, an_intent(parallel_max=7), NOW).holds
    # Seven get in, which fills the room; why nobody else does is asked once, for all of them.
    assert (len(holds), asked) == (1000, {"_some": 1, "why_not": 8})


def counted(asked: Counter[str], name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, counting how often it is asked."""

    def ask(*arguments: Any) -> Any:
        asked[name] += 1
        return answer(*arguments)

    return ask
