"""Phases and nodes as stretches of time, and where a closer look is worth it."""

from __future__ import annotations

from seatrial.core.model.campaign import RolloutPhase, Turn
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.survey.report.stretches import NodeTimes, Stretch, by_their_records, closer, phases, together, within
from tests.builders import a_node

HOUR = 3600.0


def turns(*told: tuple[RolloutPhase, float, str]) -> tuple[Turn, ...]:
    return tuple(Turn(phase=phase, at=at, why=why) for phase, at, why in told)


WAY = turns(
    (RolloutPhase.PROPOSED, 0.0, ""),
    (RolloutPhase.CANARY, 10.0, ""),
    (RolloutPhase.BAKING, 310.0, ""),
    (RolloutPhase.WAVING, 310.0 + 48 * HOUR, ""),
    (RolloutPhase.WAVING, 910.0 + 48 * HOUR, "wave 2 of 2, without n4 (failed)"),
    (RolloutPhase.DONE, 1510.0 + 48 * HOUR, ""),
)


def test_each_phase_lasts_until_the_next_and_waves_are_counted() -> None:
    found = phases(WAY, 10**6, is_over=True)
    assert [(each.what, each.seconds) for each in found] == [
        ("Proposed", 10.0),
        ("Canary", 300.0),
        ("Baking", 48 * HOUR),
        ("wave 1", 600.0),
        ("wave 2", 600.0),
        ("Done", 0.0),
    ]


def test_the_last_phase_of_one_that_is_not_over_lasts_until_now() -> None:
    last = phases(WAY[:3], 5310.0, is_over=False)[-1]
    assert (last.what, last.seconds, last.is_over) == ("Baking", 5000.0, False)
    assert phases((), 5.0, is_over=False) == ()


def test_what_a_bake_leaves_no_room_for_is_looked_at_more_closely_on_both_sides() -> None:
    (before, until), (since, after) = closer(phases(WAY, 10**6, is_over=True))
    assert before == 0.0
    assert 310.0 < until < 330.0
    assert 48 * HOUR < since < 310.0 + 48 * HOUR
    assert after == 1510.0 + 48 * HOUR


def test_a_bake_that_was_told_of_twice_is_one() -> None:
    twice = (*WAY[:3], Turn(phase=RolloutPhase.BAKING, at=24 * HOUR, why="a gate counts as of before"), *WAY[3:])
    assert closer(phases(twice, 10**6, is_over=True)) == closer(phases(WAY, 10**6, is_over=True))


def test_where_everything_has_room_there_is_no_closer_look() -> None:
    even = turns((RolloutPhase.CANARY, 0.0, ""), (RolloutPhase.GATING, 100.0, ""), (RolloutPhase.WAVING, 190.0, ""))
    assert closer(phases(even, 280.0, is_over=False)) == ()
    assert closer(phases(even[:1], 280.0, is_over=False)) == ()
    assert closer(()) == ()


# ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_record_tells_since_when_a_node_is_where_it_is_and_since_when_it_was_closed() -> None:
    nodes = {
        each.name: each
        for each in (
            a_node("a", NodePhase.UPGRADE_DONE, entered_at=700.0),
            a_node("b", NodePhase.UPGRADE_FAILED, entered_at=800.0, record={"closed_at": 600.0, "reason": "why"}),
            a_node("c", NodePhase.VALIDATION_REQUIRED, entered_at=900.0, record={"closed_at": 850.0}),
            a_node("d", NodePhase.UPGRADE_REQUIRED, entered_at=600.0),
            a_node("e", NodePhase.UPGRADE_DONE, entered_at=100.0),
            a_node("f"),
        )
    }
    a, b, c = by_their_records(nodes, since=500.0, now=1000.0)
    assert [(each.what, each.at, each.until) for each in a.works] == [("done", 700.0, 700.0)]
    assert [(each.what, each.at, each.until, each.why) for each in b.works] == [
        ("emptying", 600.0, 800.0, ""),
        ("failed", 800.0, 800.0, "why"),
    ]
    assert [(each.what, each.at, each.until, each.is_over) for each in c.works] == [
        ("emptying", 850.0, 900.0, True),
        ("proving", 900.0, 1000.0, False),
    ]


def work(what: str, at: float, until: float, *, is_over: bool = True) -> Stretch:
    return Stretch(what=what, at=at, until=until, is_over=is_over)


def test_where_a_node_has_come_to_since_the_journal_ended_is_added() -> None:
    told = (NodeTimes(name="a", works=(work("driver", 10.0, 20.0, is_over=False),)),)
    now = (NodeTimes(name="a", works=(work("done", 50.0, 50.0),)), NodeTimes(name="b", works=(work("done", 5.0, 5.0),)))
    a, b = together(told, now)
    assert a.works == (work("driver", 10.0, 50.0), work("done", 50.0, 50.0))
    assert b == now[1]
    assert together(told, ()) == told


def test_what_another_rollout_did_to_a_node_is_not_told() -> None:
    works = (work("done", 1.0, 1.0), work("driver", 10.0, 20.0), work("done", 99.0, 99.0))
    (found,) = within([NodeTimes(name="a", works=works), NodeTimes(name="b", works=works[:1])], 5.0, 50.0)
    assert found.works == works[1:2]
