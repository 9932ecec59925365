"""What is wanted: shares of a fleet, and the defaults of NVIDIA's upgradePolicy."""

from __future__ import annotations

import pytest

from seatrial.core.intent import Eviction, Intent, Limits, Share, is_member
from tests.builders import TARGET


@pytest.mark.parametrize(
    ("text", "total", "count"),
    [(0, 10, 0), (3, 10, 3), ("3", 10, 3), ("25%", 8, 2), ("25%", 10, 3), ("25%", 1, 1), ("0%", 4, 0), ("200%", 4, 8)],
)
def test_a_share_is_a_count_or_a_percentage_rounded_up(text: int | str, total: int, count: int) -> None:
    assert Share.parse(text).of(total) == count


@pytest.mark.parametrize("text", [-1, "-1", "25 %", "%", "", "many", "2.5%", "²%", True])
def test_a_share_that_cannot_be_read_says_so(text: int | str) -> None:
    with pytest.raises(ValueError, match="neither a count such as 3 nor a percentage such as 25%"):
        Share.parse(text)


@pytest.mark.parametrize("text", ["3", "25%"])
def test_a_share_reads_back_as_it_was_written(text: str) -> None:
    assert str(Share.parse(text)) == text


def test_the_defaults_are_those_of_nvidias_policy_where_it_has_the_field() -> None:
    assert Intent(rollout="spring", target=TARGET) == Intent(
        rollout="spring",
        target=TARGET,
        limits=Limits(parallel_max=1, unavailable_max=Share(amount=25, is_percent=True), failed_max=1),
        eviction=Eviction(force=False, delete_empty_dir=False, timeout_seconds=300.0),
        restart_timeout_seconds=1800.0,
        validation_timeout_seconds=600.0,
        is_paused=False,
    )


@pytest.mark.parametrize(
    ("labels", "admitted", "belongs"),
    [
        ({"pool": "canary", "zone": "a"}, (), True),
        ({"pool": "fleet"}, (), False),
        ({}, (), False),
        ({"pool": "fleet"}, ("n1",), True),
        ({"pool": "fleet"}, ("n2",), False),
    ],
)
def test_a_node_belongs_by_its_labels_or_by_the_ledger(
    labels: dict[str, str], admitted: tuple[str, ...], belongs: bool
) -> None:
    assert is_member("n1", labels, {"pool": "canary"}, admitted) is belongs
