"""How long finished jobs ran, and who waits: bounded, and told to those who know nothing of their own."""

from __future__ import annotations

import pytest

from seatrial.core.model.seen.work import ENDS_FEW, ENDS_MAX, LINES_MAX, Ended, WorkSeen, counted, noted


def ends(line: str, *seconds: float) -> list[Ended]:
    return [Ended(line, each) for each in seconds]


def test_the_ends_of_a_line_are_told_the_shortest_first() -> None:
    work = WorkSeen(finished=noted({}, ends("ml/train", 50, 10, 30, 20, 40)))
    assert work.ran("ml/train") == (10, 20, 30, 40, 50)


def test_a_line_with_few_ends_is_told_what_its_namespace_knows() -> None:
    known = noted({}, ends("ml/train", *range(100, 100 + ENDS_FEW)))
    known = noted(known, ends("ml/sweep", 7))
    assert WorkSeen(finished=known).ran("ml/sweep") == (7, *range(100, 100 + ENDS_FEW))
    assert WorkSeen(finished=known).ran("ml/new") == (7, *range(100, 100 + ENDS_FEW))
    assert WorkSeen(finished=known).ran("other/new") == ()


def test_only_the_latest_ends_of_a_line_are_kept() -> None:
    known = noted({}, ends("ml/train", *range(1000)))
    assert known["ml/train"] == tuple(range(1000 - ENDS_MAX, 1000))


def test_only_the_lines_that_ended_something_last_are_kept() -> None:
    known = noted({}, [Ended(f"ml/l{number}", 1.0) for number in range(2 * LINES_MAX)])
    assert len(known) == LINES_MAX
    assert "ml/l0" not in known
    assert f"ml/l{2 * LINES_MAX - 1}" in known
    assert "ml/" in known


def test_noting_an_end_leaves_what_was_known_alone() -> None:
    before = noted({}, ends("ml/train", 1))
    noted(before, ends("ml/train", 2))
    assert before == {"ml/train": (1,), "ml/": (1,)}


def test_who_waits_is_counted_by_size_and_the_smallest_is_known() -> None:
    work = WorkSeen(waiting=counted([8, 2, 8]))
    assert work.waiting == ((2, 1), (8, 2))
    assert work.smallest_waiting == 2
    assert WorkSeen().smallest_waiting == 0


@pytest.mark.parametrize(("idle", "expected"), [(1, False), (2, True), (8, True), (0, False)])
def test_somebody_fits_where_enough_gpus_are_idle(idle: int, expected: bool) -> None:
    assert WorkSeen(waiting=((2, 1),)).fits(idle) is expected
    assert not WorkSeen().fits(idle)
