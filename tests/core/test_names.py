"""A few names stand for many, and say how many."""

from __future__ import annotations

import pytest

from seatrial.core.text.names import a_few, dns, number_of


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n1", "n2", "n3"], "n1, n2, n3"),
        (["n1", "n2", "n3", "n4"], "n1, n2, n3 and 1 more"),
    ],
)
def test_a_few_names_are_said_and_the_rest_are_counted(names: list[str], told: str) -> None:
    assert a_few(names, 3) == told


def test_no_name_at_all_may_be_said_too() -> None:
    assert a_few((), none="none") == "none"


def test_of_many_names_not_all_need_to_be_known() -> None:
    assert a_few(["n1", "n2", "n3"], 2, count=900) == "n1, n2 and 898 more"


@pytest.mark.parametrize(("count", "told"), [(0, "0 nodes"), (1, "1 node"), (1000, "1,000 nodes")])
def test_a_number_of_things_is_said_in_the_right_number(count: int, told: str) -> None:
    assert number_of(count, "node") == told


@pytest.mark.parametrize("text", ["a", "gpu-operator", "a.b-c.d9", "x" * 253])
def test_what_could_be_the_name_of_an_object_is_one(text: str) -> None:
    assert dns(text) == text


@pytest.mark.parametrize("text", ["", "x; id", "x\n", "x y", "-x", "x-", "x..y", "X", "x" * 254])
def test_what_no_object_can_be_called_is_no_name(text: str) -> None:
    assert dns(text) == ""
