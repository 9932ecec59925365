"""Who goes first: nodes on which a verdict means something, and whose loss costs least."""

from __future__ import annotations

from typing import Any

import pytest

from seatrial.core.campaign.canary import choose, has_operator, why_not
from seatrial.core.model.campaign import Canary
from seatrial.core.model.seen.nodes import NodeSeen
from tests.builders import a_driver, a_gpu_pod, a_pod, an_old_node

OPERATOR = a_pod(labels=(("app.kubernetes.io/name", "gpu-operator"),))
US = a_pod(labels=(("app", "seatrial-controller"),))


def chosen(*nodes: NodeSeen, **canary: Any) -> tuple[str, ...]:
    return choose({node.name: node for node in nodes}, Canary(**canary))


def test_the_idlest_nodes_go_first_and_the_name_decides_a_tie() -> None:
    nodes = (an_old_node("n1", pods=(a_gpu_pod(),)), an_old_node("n3"), an_old_node("n2"), an_old_node("n4"))
    assert chosen(*nodes, count=2) == ("n2", "n3")


@pytest.mark.parametrize("pod", [OPERATOR, US])
def test_the_node_of_who_moves_the_nodes_is_the_last_choice(pod: Any) -> None:
    mover, busy = an_old_node("n1", pods=(pod,)), an_old_node("n2", pods=(a_gpu_pod(),))
    assert has_operator(mover.facts)
    assert chosen(mover, busy) == ("n2",)
    assert chosen(mover) == ("n1",)


def test_canaries_are_chosen_among_those_with_the_labels_asked_for() -> None:
    nodes = (an_old_node("n1"), an_old_node("n2", labels={"pool": "test"}))
    assert chosen(*nodes, selector={"pool": "test"}) == ("n2",)


def test_named_nodes_are_taken_as_far_as_they_will_do() -> None:
    nodes = (an_old_node("n1"), an_old_node("n2", is_ready=False), an_old_node("n3"))
    assert chosen(*nodes, nodes=("n3", "n2", "n9")) == ("n3",)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"is_ready": False}, "it is not Ready"),
        ({"is_cordoned": True}, "it is cordoned"),
        ({"is_skipped": True}, "it is marked skip"),
        ({"driver": None}, "it has no driver pod"),
        ({"driver": a_driver(is_ready=False)}, "its driver is not Ready"),
        ({"owner_conflict": "a and b"}, "more than one NVIDIADriver selects it"),
    ],
)
def test_a_canary_has_to_be_whole_before_the_work(changes: dict[str, Any], why: str) -> None:
    assert why_not(an_old_node(**changes)) == why
