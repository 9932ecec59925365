"""Who says how a node is upgraded, and who wins: field by field, the first who speaks."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.core.model.policy import (
    LONGEST_SECONDS,
    Drain,
    Eviction,
    JobWait,
    Limits,
    Policy,
    PolicyWish,
    Share,
    policy_of,
)
from seatrial.core.model.selectors import Selector, drain_selector

EVERYTHING = PolicyWish(
    parallel_max=4,
    unavailable_max=Share(amount=3),
    idle_gpus_max=Share(amount=16),
    jobs_selector="kind=training",
    jobs_timeout_seconds=60.0,
    eviction_force=True,
    eviction_delete_empty_dir=True,
    eviction_timeout_seconds=120.0,
    drain_enable=True,
    drain_force=True,
    drain_delete_empty_dir=True,
    drain_selector="team=red",
    drain_timeout_seconds=240.0,
)

OF_EVERYTHING = Policy(
    limits=Limits(parallel_max=4, unavailable_max=Share(amount=3), idle_gpus_max=Share(amount=16)),
    jobs=JobWait(selector=Selector.parse("kind=training"), timeout_seconds=60.0),
    eviction=Eviction(force=True, delete_empty_dir=True, timeout_seconds=120.0),
    drain=Drain(
        is_enabled=True,
        selector=drain_selector("team=red"),
        rules=Eviction(force=True, delete_empty_dir=True, timeout_seconds=240.0),
    ),
)


# ── shares ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "total", "count"),
    [(0, 10, 0), (3, 10, 3), ("3", 10, 3), ("25%", 8, 2), ("25%", 10, 3), ("25%", 1, 1), ("0%", 4, 0), ("100%", 4, 4)],
)
def test_a_share_is_a_count_or_a_percentage_rounded_up(text: int | str, total: int, count: int) -> None:
    assert Share.parse(text).of(total) == count


@pytest.mark.parametrize("text", [-1, "-1", "25 %", "%", "", "many", "2.5%", "²%", True])
def test_a_share_that_cannot_be_read_says_so(text: int | str) -> None:
    with pytest.raises(ValueError, match="neither a count such as 3 nor a percentage such as 25%"):
        Share.parse(text)


@pytest.mark.parametrize("text", ["101%", "150%", "1000%", "9" * 5000 + "%"])
def test_a_share_of_more_than_all_nodes_is_refused_with_the_most_there_is(text: str) -> None:
    with pytest.raises(ValueError, match=r"is more than all of the nodes; the most is 100%\."):
        Share.parse(text)


@pytest.mark.parametrize("text", ["3", "25%", "100%"])
def test_a_share_reads_back_as_it_was_written(text: str) -> None:
    assert str(Share.parse(text)) == text


# ── wishes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wishes", [[], [PolicyWish()], [PolicyWish(), PolicyWish()]])
def test_where_nobody_speaks_the_defaults_are_nvidias(wishes: list[PolicyWish]) -> None:
    assert policy_of(wishes) == Policy(
        limits=Limits(parallel_max=1, unavailable_max=Share(amount=25, is_percent=True)),
        jobs=JobWait(selector=None, timeout_seconds=0.0),
        eviction=Eviction(force=False, delete_empty_dir=False, timeout_seconds=300.0),
        drain=Drain(is_enabled=False, selector=drain_selector(""), rules=Eviction(timeout_seconds=300.0)),
    )


def test_a_wish_with_everything_leaves_nothing_to_the_defaults() -> None:
    assert policy_of([EVERYTHING]) == OF_EVERYTHING


def test_what_the_first_leaves_open_the_second_says() -> None:
    assert policy_of([PolicyWish(), EVERYTHING]) == OF_EVERYTHING


def test_no_and_none_are_said_and_not_left_open() -> None:
    refusing = PolicyWish(
        parallel_max=0,
        unavailable_max=Share(amount=0),
        idle_gpus_max=Share(amount=0),
        jobs_selector="",
        jobs_timeout_seconds=0.0,
        eviction_force=False,
        eviction_delete_empty_dir=False,
        drain_enable=False,
        drain_force=False,
        drain_delete_empty_dir=False,
        drain_selector="",
    )
    assert policy_of([refusing, EVERYTHING]) == Policy(
        limits=Limits(parallel_max=0, unavailable_max=Share(amount=0), idle_gpus_max=Share(amount=0)),
        jobs=JobWait(selector=None, timeout_seconds=0.0),
        eviction=Eviction(timeout_seconds=120.0),
        drain=Drain(is_enabled=False, selector=drain_selector(""), rules=Eviction(timeout_seconds=240.0)),
    )


def test_an_eviction_or_drain_for_ever_is_one_for_a_day() -> None:
    policy = policy_of([PolicyWish(eviction_timeout_seconds=0.0, drain_timeout_seconds=0.0)])
    assert (policy.eviction.timeout_seconds, policy.drain.rules.timeout_seconds) == (LONGEST_SECONDS, LONGEST_SECONDS)


@pytest.mark.parametrize("wish", [PolicyWish(jobs_selector="a=(b"), PolicyWish(drain_selector="a=(b")])
def test_a_selector_that_cannot_be_read_is_refused(wish: PolicyWish) -> None:
    with pytest.raises(ValueError, match="selector"):
        policy_of([wish])


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        (PolicyWish(), False),
        (PolicyWish(eviction_force=True), False),
        (PolicyWish(parallel_max=0), True),
        (PolicyWish(unavailable_max=Share(amount=1)), True),
        (PolicyWish(idle_gpus_max=Share(amount=1)), True),
    ],
)
def test_a_wish_says_limits_when_it_says_one_of_the_two(wish: PolicyWish, says: bool) -> None:
    assert wish.says_limits is says


SAID: dict[str, st.SearchStrategy[Any]] = {
    "parallel_max": st.integers(0, 5),
    "unavailable_max": st.builds(Share, amount=st.integers(0, 100), is_percent=st.booleans()),
    "idle_gpus_max": st.builds(Share, amount=st.integers(0, 100), is_percent=st.booleans()),
    "jobs_selector": st.sampled_from(["", "a=b", "!c"]),
    "jobs_timeout_seconds": st.sampled_from([0.0, 30.0]),
    "eviction_force": st.booleans(),
    "eviction_delete_empty_dir": st.booleans(),
    "eviction_timeout_seconds": st.sampled_from([0.0, 30.0]),
    "drain_enable": st.booleans(),
    "drain_force": st.booleans(),
    "drain_delete_empty_dir": st.booleans(),
    "drain_selector": st.sampled_from(["", "a=b", "!c"]),
    "drain_timeout_seconds": st.sampled_from([0.0, 30.0]),
}
WISHES = st.builds(PolicyWish, **{name: st.none() | values for name, values in SAID.items()})


def test_every_field_of_a_wish_is_drawn() -> None:
    assert set(SAID) == {field.name for field in fields(PolicyWish)}


@given(st.lists(WISHES, max_size=3))
def test_the_first_who_speaks_wins_field_by_field(wishes: list[PolicyWish]) -> None:
    heard: dict[str, Any] = {}
    for wish in wishes:
        for field in fields(PolicyWish):
            if getattr(wish, field.name) is not None:
                heard.setdefault(field.name, getattr(wish, field.name))
    assert policy_of(wishes) == policy_of([PolicyWish(**heard)])
