"""DRA plugins through simulated upgrades: what our criterion promises, and that the proposed one does not keep it.

A few seeds; `make dra-seeds` plays ten thousand and keeps the result.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from bench.dra import added, is_broken, tallied

from seatrial_lab.schedules import dra_plugins
from seatrial_lab.schedules.dra_plugins import Ending, Play, drawn, play_ours, play_proposed

SEEDS = range(25)


@pytest.mark.parametrize("seed", SEEDS)
def test_our_criterion_leaves_no_plugin_stale_and_restarts_none_early(seed: int) -> None:
    ending = play_ours(seed)
    assert (ending.stale, ending.early, ending.twice, ending.again_count, ending.together) == ((), (), (), 0, ())


def test_the_proposed_one_leaves_plugins_stale() -> None:
    """Else the judge sees nothing, and the test above proves nothing."""
    found = tallied(map(play_proposed, SEEDS))
    assert found["stale"] > 0
    assert found["early"] > 0


def test_a_world_in_which_nobody_restarts_plugins_ends_stale() -> None:
    play = Play(replace(drawn(3), fails=frozenset(), left_out=frozenset(), annotated_at=None, restarts=()))
    ending = play.judged()
    assert ending.node_count == play.schedule.node_count
    assert len(ending.stale) == ending.node_count


def test_a_plugin_that_is_deleted_before_its_driver_has_come_is_early() -> None:
    play = Play(drawn(3))
    play.note("n0")
    assert play.ending.early == ("n0",)


def test_a_plugin_that_is_deleted_again_for_the_same_run_of_its_driver_is_told() -> None:
    play = Play(drawn(3))
    play.note("n0")
    play.note("n1")
    assert not play.ending.twice
    play.note("n0")
    assert play.ending.twice == ("n0",)


@pytest.mark.parametrize(
    "broken",
    [{"stale": ("n1",)}, {"early": ("n1",)}, {"twice": ("n1",)}, {"again_count": 1}, {"together": ("a",)}],
)
def test_whatever_is_not_kept_breaks_the_run(broken: dict[str, object]) -> None:
    assert not is_broken(Ending(seed=1))
    assert is_broken(replace(Ending(seed=1), **broken))  # type: ignore[arg-type]


def test_every_kind_of_upgrade_is_drawn() -> None:
    schedules = [drawn(seed) for seed in range(200)]
    assert {each.is_fixed for each in schedules} == {True, False}
    assert {each.annotated_at is None for each in schedules} == {True, False}
    assert {each.wanted.version == dra_plugins.OLD.version for each in schedules} == {True, False}
    for many in ("fails", "left_out", "restarts", "cliques"):
        assert any(getattr(each, many) for each in schedules)


def test_a_result_in_pieces_is_the_result_as_a_whole() -> None:
    def result(first: int, count: int) -> dict[str, Any]:
        endings = [Ending(seed=seed, node_count=4, stale=("n1",) * (seed % 2)) for seed in range(first, first + count)]
        found = {"ours": tallied(endings), "first_seed": first, "seeds": count, "seconds": 1.0, "broken_seeds": []}
        return found | {"machine": {"cores": 2}}

    assert added(result(0, 3), result(3, 4)) == result(0, 7) | {"seconds": 2.0}
    with pytest.raises(SystemExit, match="go on there"):
        added(result(0, 3), result(4, 3))
