"""What the passes of a controller show: every state of every node, and what was waited for how long."""

from __future__ import annotations

from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import Summary, Told
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.survey.report.recorded import Waited, read
from tests.builders import a_node, a_snapshot, a_source


def seen(*nodes: NodeSeen, waits: tuple[Told, ...] = ()) -> Snapshot:
    return a_snapshot(*nodes, summary=Summary(state="waiting", told=waits))


def told(code: str, why: str, since: float | None = None) -> Told:
    return Told(code=code, why=why, next_step="", since=since)


def test_states_have_the_times_of_their_records_and_those_of_one_kind_are_one_stretch() -> None:
    passes = [
        (10.0, seen(a_node("a", NodePhase.UPGRADE_REQUIRED, entered_at=9.0))),
        (20.0, seen(a_node("a", NodePhase.WAIT_FOR_JOBS_REQUIRED, entered_at=19.0))),
        (30.0, seen(a_node("a", NodePhase.POD_DELETION_REQUIRED, entered_at=29.0))),
        (40.0, seen(a_node("a", NodePhase.POD_RESTART_REQUIRED, entered_at=39.0))),
        (60.0, seen(a_node("a", NodePhase.UPGRADE_DONE, entered_at=59.0))),
    ]
    (a,) = read(passes).nodes
    assert [(each.what, each.at, each.until) for each in a.works] == [
        ("emptying", 19.0, 39.0),
        ("driver", 39.0, 59.0),
        ("done", 59.0, 59.0),
    ]
    assert all(each.is_over for each in a.works)


def test_a_node_in_the_middle_of_its_work_is_at_it_still() -> None:
    (a,) = read([(10.0, seen(a_node("a", NodePhase.POD_RESTART_REQUIRED, entered_at=9.0))), (50.0, seen())]).nodes
    assert [(each.what, each.at, each.until, each.is_over) for each in a.works] == [("driver", 9.0, 50.0, False)]


def test_where_others_move_the_nodes_the_time_is_that_of_the_pass_and_what_was_before_has_none() -> None:
    states = ("upgrade-done", "upgrade-done", "cordon-required", "pod-restart-required", "upgrade-done")
    passes = [(10.0 * number, seen(a_node("a", nvidia_state=each))) for number, each in enumerate(states, 1)]
    (a,) = read(passes).nodes
    assert [(each.what, each.at) for each in a.works] == [
        ("done", 0.0),
        ("emptying", 30.0),
        ("driver", 40.0),
        ("done", 50.0),
    ]


def test_a_node_without_any_state_is_not_told_of() -> None:
    assert read([(10.0, seen(a_node("a")))]).nodes == ()


def test_a_wait_lasts_from_its_own_word_to_the_first_pass_without_it() -> None:
    passes = [(10.0, seen(waits=(told("x", "a is asked", 4.0),))), (30.0, seen())]
    assert read(passes).waits == (Waited(code="x", why="a is asked", at=4.0, seconds=26.0, is_over=True),)


def test_a_wait_that_comes_and_goes_is_added_up_with_its_last_words() -> None:
    passes = [
        (10.0, seen(waits=(told("bake", "0 of 2", 5.0),))),
        (20.0, seen(waits=(told("gates", "asked", 20.0),))),
        (25.0, seen(waits=(told("bake", "1 of 2", 5.0),))),
        (40.0, seen(waits=(told("bake", "2 of 2", 5.0),))),
    ]
    bake, gates = read(passes).waits
    assert bake == Waited(code="bake", why="2 of 2", at=5.0, seconds=30.0, is_over=False, times=2)
    assert gates == Waited(code="gates", why="asked", at=20.0, seconds=5.0, is_over=True)


def test_the_home_of_the_matrix_is_as_it_was_last_seen() -> None:
    found = read([(1.0, a_snapshot(source=a_source(tag="v1"))), (2.0, a_snapshot())])
    assert found.source is not None
    assert found.source.tag == "v1"
    assert found.until == 2.0
    assert read([]).until == 0.0
