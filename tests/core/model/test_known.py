"""Nodes by a trait, with and without a memory of it."""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.model.known import Known, by, those
from seatrial.core.model.seen.nodes import NodeSeen
from tests.builders import a_fleet, a_node


def is_cordoned(node: NodeSeen) -> bool:
    return node.facts.is_cordoned


def is_owned(node: NodeSeen, owner: str) -> bool:
    return node.facts.owner == owner


def test_nodes_are_told_apart_by_what_is_said_of_each() -> None:
    nodes = {"n1": a_node("n1"), "n2": a_node("n2", is_cordoned=True)}
    assert by(nodes, is_cordoned) == {False: {"n1"}, True: {"n2"}}
    assert those(nodes, is_cordoned) == {"n2"}


def test_only_who_changed_is_asked_again() -> None:
    asked: list[str] = []

    def is_noted(node: NodeSeen) -> bool:
        asked.append(node.name)
        return node.facts.is_cordoned

    nodes = {node.name: node for node in a_fleet(20)}
    known = Known()
    known.see(nodes)
    assert those(known, is_noted) == set()
    asked.clear()
    cordoned = a_node("n3", is_cordoned=True)
    assert known.see({**nodes, "n3": cordoned}) == {"n3"}
    assert those(known, is_noted) == {"n3"}
    assert asked == ["n3", "n3"]  # as it was, and as it is


def test_who_is_gone_is_in_no_group_and_a_group_without_anybody_is_none() -> None:
    nodes = {node.name: node for node in a_fleet(20)} | {"m": a_node("m", is_cordoned=True)}
    known = Known()
    known.see(nodes)
    assert set(by(known, is_cordoned)) == {False, True}
    assert known.see({name: node for name, node in nodes.items() if name != "m"}) == {"m"}
    assert set(by(known, is_cordoned)) == {False}
    assert list(known) == [name for name in nodes if name != "m"]


def test_what_is_given_besides_is_part_of_the_question() -> None:
    known = Known()
    known.see({"n1": a_node("n1", owner="a100")})
    assert those(known, is_owned, "a100") == {"n1"}
    assert those(known, is_owned, "h100") == set()
    assert those(known, is_owned, "a100") == {"n1"}


def test_nodes_keep_the_order_in_which_they_are_seen() -> None:
    one, two = a_node("n1"), a_node("n2")
    known = Known()
    known.see({"n1": one, "n2": two})
    assert known.see({"n2": two, "n1": one}) == set()
    assert list(known) == ["n2", "n1"]


def test_an_equal_node_that_is_another_object_counts_as_changed() -> None:
    node = a_node("n1")
    known = Known()
    known.see({"n1": node})
    assert known.see({"n1": replace(node)}) == {"n1"}
