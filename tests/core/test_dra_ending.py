"""When a run that restarts plugins has ended: what it waits for, and what it does not take for an end."""

from __future__ import annotations

import math

import pytest

from seatrial.core.movers.dra.ending import Course, Patience, course_of
from seatrial.core.movers.dra.values import DraMemory, Rerolling, Stand, Standing, Why

DONE = (Stand.FRESH, Stand.SKIPPED, Stand.FAILED)
OPEN = (Stand.STALE, Stand.WAITING, Stand.REROLLING)


def found(*stands: Stand) -> Rerolling:
    """What one look has come to; why each node stands so makes no difference here."""
    told = tuple(Standing(node=f"n{number}", stand=each, why=Why.OLDER) for number, each in enumerate(stands))
    return Rerolling(standings=told, acts=(), memory=DraMemory())


def course(
    *stands: Stand,
    is_waiting: bool = False,
    is_endless: bool = False,
    is_sure: bool = True,
    is_left: bool = False,
    now: float = 0.0,
    until: float = 100.0,
) -> Course:
    patience = Patience(is_waiting=is_waiting, is_endless=is_endless, until=until)
    return course_of(found(*stands), patience, now, is_sure=is_sure, is_left=is_left)


def test_every_stand_is_asked_about_here() -> None:
    assert {*DONE, *OPEN, Stand.PENDING} == set(Stand)


@pytest.mark.parametrize("is_waiting", [False, True])
def test_it_ends_when_every_node_is_done_or_cannot_be_helped(is_waiting: bool) -> None:
    assert course(*DONE, is_waiting=is_waiting) is Course.ENDED
    assert course(is_waiting=is_waiting) is Course.ENDED


@pytest.mark.parametrize("stand", OPEN)
@pytest.mark.parametrize("is_waiting", [False, True])
def test_a_plugin_that_is_about_to_go_or_to_come_is_waited_for_in_any_case(stand: Stand, is_waiting: bool) -> None:
    assert course(Stand.FRESH, stand, Stand.PENDING, is_waiting=is_waiting) is Course.GOING_ON


def test_nodes_that_have_not_settled_are_waited_for_only_by_who_waits() -> None:
    assert course(Stand.FRESH, Stand.PENDING) is Course.ENDED
    assert course(Stand.FRESH, Stand.PENDING, is_waiting=True) is Course.GOING_ON


@pytest.mark.parametrize("stand", [*OPEN, Stand.PENDING])
def test_what_is_left_to_a_controller_is_waited_for_only_by_who_waits(stand: Stand) -> None:
    assert course(stand, is_left=True) is Course.ENDED
    assert course(stand, is_left=True, is_waiting=True) is Course.GOING_ON


def test_who_goes_on_for_ever_does_not_end_when_everything_is_done() -> None:
    assert course(Stand.FRESH, is_waiting=True, is_endless=True, until=math.inf) is Course.GOING_ON
    assert course(is_waiting=True, is_endless=True, now=1e12, until=math.inf) is Course.GOING_ON


@pytest.mark.parametrize("is_waiting", [False, True])
@pytest.mark.parametrize("stand", [Stand.FRESH, Stand.PENDING])
def test_behind_a_watch_that_is_cut_nothing_is_taken_for_an_end(stand: Stand, is_waiting: bool) -> None:
    assert course(stand, is_waiting=is_waiting, is_sure=False) is Course.GOING_ON
    assert course(stand, is_waiting=is_waiting, is_sure=False, is_left=True) is Course.GOING_ON


@pytest.mark.parametrize("is_sure", [False, True])
def test_its_time_is_up_at_the_very_instant_whatever_is_seen(is_sure: bool) -> None:
    assert course(Stand.STALE, now=99.9, is_sure=is_sure) is Course.GOING_ON
    assert course(Stand.STALE, now=100.0, is_sure=is_sure) is Course.LATE


def test_what_is_done_when_the_time_is_up_is_done() -> None:
    assert course(Stand.FRESH, now=100.0) is Course.ENDED
    assert course(Stand.FRESH, now=100.0, is_sure=False) is Course.LATE
