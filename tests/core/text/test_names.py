"""Names, shares and spans in words."""

from __future__ import annotations

import pytest

from seatrial.core.text import shares, spans
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


@pytest.mark.parametrize(("text", "share"), [("3%", 0.03), ("1%", 0.01), ("2.5%", 0.025), ("50%", 0.5)])
def test_a_loss_is_a_share(text: str, share: float) -> None:
    assert shares.loss(text) == share


@pytest.mark.parametrize(("text", "share"), [("99%", 0.99), ("99.5%", 0.995), ("80%", 0.8)])
def test_a_confidence_is_a_share(text: str, share: float) -> None:
    assert shares.confidence(text) == share


@pytest.mark.parametrize("text", ["", "3", "0.03", "0%", "0.9%", "51%", "-3%", "3 %", "3%%", "\u0663%"])
def test_a_loss_that_cannot_be_meant_is_refused_with_what_can(text: str) -> None:
    with pytest.raises(ValueError, match="a loss such as 3%, from 1% to 50%"):
        shares.loss(text)


@pytest.mark.parametrize("text", ["50%", "100%", "99.999%", "99"])
def test_so_is_a_confidence(text: str) -> None:
    with pytest.raises(ValueError, match=r"a confidence such as 99%, from 80% to 99\.99%"):
        shares.confidence(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-3, "0 s"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (3600, "1 h"),
        (7384, "2 h 3 min"),
        (24 * 3600, "24 h"),
        (47 * 3600 + 120, "47 h 2 min"),
        (48 * 3600, "2 d"),
        (51 * 3600 + 59, "2 d 3 h"),
        (30 * 86400, "30 d"),
    ],
)
def test_a_span_is_said_in_its_natural_units(seconds: float, text: str) -> None:
    assert spans.span(seconds) == text


def test_a_part_of_an_hour_is_said_in_minutes() -> None:
    assert (spans.hours(1 / 30), spans.hours(48)) == ("2 min", "2 d")
