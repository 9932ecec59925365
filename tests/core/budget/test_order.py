"""Who goes first: each policy is a sort key, and the name decides a tie."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.budget.order import ordered
from seatrial.core.model.intent import PRIORITY_LABEL, Domain, Order
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from tests.builders import a_gpu_pod, a_node, a_pod, an_intent

RACKS = (Domain(label="example.com/rack"), Domain(label="example.com/zone"))


def waiting(name: str, rack: str = "", priority: str = "", **changes: Any) -> NodeSeen:
    labels = {"example.com/rack": rack, PRIORITY_LABEL: priority}
    given_ones = {key: value for key, value in labels.items() if value}
    return a_node(name, **({"phase": NodePhase.UPGRADE_REQUIRED, "labels": given_ones} | changes))


def names(*nodes: NodeSeen, order: Order, others: tuple[NodeSeen, ...] = (), **changes: Any) -> list[str]:
    """The order in which these may start in a fleet where the others do not want to."""
    fleet = {node.name: node for node in (*nodes, *others)}
    return ordered([node.name for node in nodes], fleet, an_intent(order=order, **changes))


def test_by_name() -> None:
    assert names(waiting("n2"), waiting("n10"), waiting("n1"), order=Order.NAME) == ["n1", "n10", "n2"]


def test_idle_nodes_first_where_only_pods_with_a_gpu_count() -> None:
    busy = waiting("n1", pods=(a_gpu_pod(0), a_gpu_pod(1)))
    half = waiting("n2", pods=(a_gpu_pod(0),))
    idle = waiting("n3", pods=(a_pod(0), a_pod(1), a_pod(2)))
    also_idle = waiting("n4")
    assert names(busy, also_idle, half, idle, order=Order.IDLE_FIRST) == ["n3", "n4", "n2", "n1"]


def test_a_domain_that_has_begun_is_finished_before_the_next_begins() -> None:
    begun = (
        waiting("x1", "r2", phase=NodePhase.VALIDATION_REQUIRED),
        waiting("x2", "r3", phase=NodePhase.UPGRADE_FAILED),
        waiting("x3", "r3", phase=NodePhase.POD_DELETION_REQUIRED),
    )
    wishing = [waiting("n1", "r1"), waiting("n2", "r2"), waiting("n3", "r3"), waiting("n0"), waiting("n4", "r1")]
    assert names(*wishing, order=Order.DOMAIN_BY_DOMAIN, others=begun, domains=RACKS) == ["n3", "n2", "n1", "n4", "n0"]


@pytest.mark.parametrize("phase", [None, NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE])
def test_a_domain_whose_nodes_wait_or_are_done_has_not_begun(phase: NodePhase | None) -> None:
    others = (waiting("x1", "r2", phase=phase), waiting("x2", "r2", phase=phase))
    wishing = [waiting("n1", "r2"), waiting("n2", "r1")]
    assert names(*wishing, order=Order.DOMAIN_BY_DOMAIN, others=others, domains=RACKS) == ["n2", "n1"]


def test_without_domains_the_name_decides() -> None:
    assert names(waiting("n2", "r1"), waiting("n1", "r2"), order=Order.DOMAIN_BY_DOMAIN) == ["n1", "n2"]


def test_by_priority_highest_first_and_what_is_no_number_is_zero() -> None:
    wishing = [
        waiting("n1", priority="-5"),
        waiting("n2", priority="high"),
        waiting("n3", priority="10"),
        waiting("n4"),
        waiting("n5", priority="²"),
        waiting("n6", priority="-"),
        waiting("n7", priority="9"),
    ]
    assert names(*wishing, order=Order.PRIORITY) == ["n3", "n7", "n2", "n4", "n5", "n6", "n1"]


RANDOM_NODES = st.lists(
    st.builds(
        waiting,
        st.from_regex(r"n[0-9]{1,2}", fullmatch=True),
        rack=st.sampled_from(["", "r1", "r2"]),
        priority=st.sampled_from(["", "1", "-1", "much"]),
        phase=st.sampled_from(NodePhase),
        pods=st.sampled_from([(), (a_gpu_pod(),)]),
    ),
    unique_by=lambda node: node.name,
    max_size=8,
)


@given(st.sampled_from(Order), RANDOM_NODES, st.randoms(use_true_random=False))
def test_an_order_is_the_same_for_every_arrangement_of_the_same_nodes(
    order: Order, nodes: list[NodeSeen], chance: Any
) -> None:
    shuffled = chance.sample(nodes, len(nodes))
    found = names(*nodes, order=order, domains=RACKS)
    assert (found, sorted(found)) == (
        names(*shuffled, order=order, domains=RACKS),
        sorted(node.name for node in nodes),
    )
