"""What a seed says, without a cluster."""

from __future__ import annotations

from collections import Counter

import pytest

from seatrial_lab.torture.drawing import BLOWS_MAX, BLOWS_MIN, FIRST, LAST, End, draw, seeds_of
from seatrial_lab.torture.table import BY_NAME, FAULTS, Mode, Where

SEEDS = range(200)


def test_a_seed_says_the_same_whenever_it_is_asked() -> None:
    assert [draw(seed) for seed in SEEDS] == [draw(seed) for seed in SEEDS]


def test_two_hundred_seeds_meet_every_fault_in_both_modes_and_both_ends() -> None:
    drawn = [draw(seed) for seed in SEEDS]
    met = Counter(blow.fault.name for each in drawn for blow in each.blows)
    assert set(met) == set(BY_NAME)
    assert min(met.values()) >= 5
    assert {each.mode for each in drawn} == set(Mode)
    assert {(each.end, each.has_git) for each in drawn} == {(end, git) for end in End for git in (True, False)}


def test_a_seed_draws_two_to_five_different_faults_in_their_order() -> None:
    for each in map(draw, SEEDS):
        names = [blow.fault.name for blow in each.blows]
        assert BLOWS_MIN <= len(set(names)) == len(names) <= BLOWS_MAX
        assert [blow.share for blow in each.blows] == sorted(blow.share for blow in each.blows)
        assert all(FIRST <= blow.share <= LAST for blow in each.blows)


def test_no_seed_draws_what_cannot_happen_to_it() -> None:
    for each in map(draw, SEEDS):
        assert all(each.mode in blow.fault.modes for blow in each.blows)
        assert each.has_git or not any(blow.fault.needs_git for blow in each.blows)


def test_whoever_may_not_mount_has_no_full_disk_and_everything_else() -> None:
    for seed in SEEDS:
        rest = tuple(blow for blow in draw(seed).blows if not blow.fault.needs_mounts)
        assert draw(seed, can_mount=False).blows == rest


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_can_be_asked_for_alone(fault: object) -> None:
    name = getattr(fault, "name", "")
    for seed in range(5):
        (blow,) = (schedule := draw(seed, only=name)).blows
        assert blow.fault is fault
        assert schedule.mode in blow.fault.modes
        assert schedule.has_git or not blow.fault.needs_git
        assert schedule.name == f"{name}-{seed}"


def test_every_fault_has_the_amount_that_its_place_needs() -> None:
    counted = {Where.REQUESTS, Where.EVENTS}
    assert all((fault.count[0] > 0) == (fault.where in counted) for fault in FAULTS)
    assert all(low <= high for fault in FAULTS for low, high in (fault.count, fault.seconds))


def test_seeds_are_named_by_their_ends() -> None:
    assert seeds_of("3..5") == range(3, 6)
    assert seeds_of("7") == range(7, 8)


@pytest.mark.parametrize("text", ["", "a..b", "5..3", "1...4"])
def test_words_that_name_no_seeds_are_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="names no seeds"):
        seeds_of(text)
