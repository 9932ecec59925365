"""A bug of ours costs one act or one rollout, and the broad catches that see to it stand in known places."""

from __future__ import annotations

import ast
import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatrial.bugs import Bug, Guard, bug_of
from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import WriteNodeRecord
from seatrial.core.decision.decide import decide
from seatrial.core.model.seen.rollouts import UNKNOWN_MAX
from seatrial.core.model.seen.snapshot import Freshness
from seatrial.core.promises import invariants
from seatrial.ports import Outcome, Result
from seatrial.run import loop
from seatrial.run.loop import BUG_SECONDS, Report, run_forever, run_once
from seatrial.run.memory import Memory
from seatrial.run.routing import Router, Routes
from seatrial.sim.world import World
from tests.builders import NOW, a_snapshot
from tests.core.words.test_announce import LINES
from tests.run.test_loop import Pages, a_world
from tests.run.test_routing import Place

SRC = Path(__file__).parents[1] / "src" / "seatrial"
ACTS = [act for act, _ in LINES]
ERRORS = [ValueError, KeyError, OverflowError, RecursionError, ZeroDivisionError, AttributeError, UnicodeDecodeError]

CATCHES = {
    # the three guards
    "adapters/kube/streams/projection.py": "an object that cannot be read",
    "run/routing.py": "an act that raises",
    "run/loop.py": "a decision, a promise or a report that raises",
    # whatever a look or a try at a repository raises is a failure that is shown
    "controller/keeper.py": "a look at git",
    "controller/homes.py": "a try at git",
    # processes, threads and tasks that would otherwise die in silence
    "supervision.py": "background work is started again, and its end is logged",
    "controller/notices.py": "a notice is sent by a task that nothing waits for",
    "adapters/kube/api/lease.py": "the thread that renews the lease",
    "adapters/expressions/child.py": "a child process: an error is its answer",
    "adapters/files/rules/evaluation.py": "an expression of the user's own: an error is a finding that fails",
    "cli/main.py": "a command prints a sentence instead of a traceback",
    "probes/command.py": "a gate's payload reports what it fell over",
}


def test_broad_catches_stand_in_the_three_guards_and_where_a_process_would_die_in_silence() -> None:
    found = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ExceptHandler):
                continue
            names = {each.id for each in ast.walk(node.type) if isinstance(each, ast.Name)} if node.type else {""}
            raises_again = any(isinstance(each, ast.Raise) and each.exc is None for each in node.body)
            if names & {"Exception", ""} or ("BaseException" in names and not raises_again):
                found.add(path.relative_to(SRC).as_posix())
    assert found == set(CATCHES)


# ── acts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class Raising(Place):
    """A port in which every act raises."""

    error: BaseException = ZeroDivisionError("nothing foresaw this")

    async def do(self, _act: Action, /) -> Outcome:
        raise self.error

    measure = ask = do


def a_router(bugs: list[Bug] | None) -> Router:
    port = Raising("everything", [])
    return Router(
        Routes(cluster=port, home=port, measurer=port, webhook=port),
        is_leader=lambda: True,
        on_outcome=lambda _outcome: None,
        on_end=lambda: None,
        on_bug=bugs.append if bugs is not None else None,
    )


@pytest.mark.parametrize("act", ACTS, ids=lambda act: type(act).__name__)
async def test_an_act_that_raises_has_an_unknown_outcome_whatever_act_it_is(act: Action) -> None:
    bugs: list[Bug] = []
    router = a_router(bugs)
    router.submit(act)
    await router.drain(5)
    (outcome,) = router.collect()
    assert outcome == Outcome(action=act, result=Result.UNKNOWN, detail="ZeroDivisionError: nothing foresaw this")
    assert [(bug.guard, bug.subject) for bug in bugs] == [(Guard.ACT, act.id)]
    assert "Raising" not in bugs[0].why
    assert "ZeroDivisionError" in bugs[0].traceback


@pytest.mark.parametrize("error", [asyncio.CancelledError(), MemoryError()])
async def test_cancellation_and_a_lack_of_memory_are_not_contained(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Raising, "error", error)
    router = a_router([])
    router.submit(ACTS[0])
    await router.drain(5)
    if isinstance(error, MemoryError):
        with pytest.raises(MemoryError):
            router.collect()
    else:
        assert router.collect() == ()


async def test_without_a_guard_as_in_the_simulator_a_bug_is_raised() -> None:
    router = a_router(None)
    router.submit(ACTS[0])
    await router.drain(5)
    with pytest.raises(ZeroDivisionError):
        router.collect()


def test_what_others_wrote_into_an_exception_cannot_act_on_a_terminal_or_a_log() -> None:
    bug = bug_of(Guard.PROJECTION, "pods team-a/x", ValueError("two\nlines and \x1b[2Jan escape"))
    assert bug.why == "ValueError: two lines and an escape"


def a_write() -> WriteNodeRecord:
    return next(act for act in ACTS if isinstance(act, WriteNodeRecord))


def heard(at: float) -> tuple[Freshness, ...]:
    return (
        Freshness(source="nodes", is_synced=True, heard_at=at),
        Freshness(source="pods", is_synced=True, heard_at=at + 1),
    )


def test_what_an_act_of_unknown_outcome_was_about_is_busy_until_everything_was_heard_again() -> None:
    act, memory = a_write(), Memory(NOW)
    memory.learn([Outcome(action=act, result=Result.UNKNOWN, detail="ZeroDivisionError")], NOW)
    for later in (0.0, 10.0, 3600.0):
        seen = memory.recall(replace(a_snapshot(), freshness=heard(NOW)), frozenset(), NOW + later)
        assert act.subject in seen.busy, f"{later} s later, and nothing was heard"
    seen = memory.recall(replace(a_snapshot(), freshness=heard(NOW + 3601)), frozenset(), NOW + 3602)
    assert act.subject not in seen.busy


def test_a_clock_put_back_does_not_keep_the_subject_of_an_unknown_outcome_busy_until_its_old_time() -> None:
    act, memory = a_write(), Memory(NOW)
    memory.learn([Outcome(action=act, result=Result.UNKNOWN, detail="ZeroDivisionError")], NOW)
    put_back = NOW - 3600
    seen = memory.recall(replace(a_snapshot(), freshness=heard(put_back - 1)), frozenset(), put_back)
    assert act.subject in seen.busy
    seen = memory.recall(replace(a_snapshot(), freshness=heard(put_back + 1)), frozenset(), put_back + 2)
    assert act.subject not in seen.busy


def test_acts_of_unknown_outcome_count_in_a_row_and_another_answer_ends_it() -> None:
    act, memory = a_write(), Memory(NOW)
    unknown = Outcome(action=act, result=Result.UNKNOWN, detail="ZeroDivisionError")
    for _ in range(UNKNOWN_MAX - 1):
        memory.learn([unknown], NOW)
    assert memory.worn_out() is None
    memory.learn([Outcome(action=act, result=Result.FAILED, detail="no")], NOW)
    memory.learn([unknown] * (UNKNOWN_MAX - 1), NOW)
    assert memory.worn_out() is None
    memory.learn([unknown], NOW)
    worn = memory.worn_out()
    assert worn is not None
    assert worn.detail == "ZeroDivisionError"
    memory.forgive()
    assert memory.worn_out() is None


# ── decisions ────────────────────────────────────────────────────────────────────────────────────────────────────────


def raising(*_args: Any, **_named: Any) -> Any:
    raise ZeroDivisionError("nothing foresaw this")


@pytest.mark.parametrize("where", ["decide", "promises", "observe"])
def test_a_pass_that_raises_decides_nothing_and_says_so(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bugs, pages, world = list[Bug](), Pages(), a_world()
    ports = world.ports(pages)
    match where:
        case "decide":
            monkeypatch.setattr(loop, "decide", raising)
        case "promises":
            monkeypatch.setattr(invariants, "broken", raising)
        case _:
            monkeypatch.setattr(type(ports.observer), "observe", raising)
    report = run_once(ports, Memory(world.time), on_bug=bugs.append)
    assert (report.sight, report.decision, report.has_bug) == (None, None, True)
    assert report.wake_at == report.at + BUG_SECONDS
    assert [(bug.guard, bug.why) for bug in bugs] == [(Guard.DECISION, "ZeroDivisionError: nothing foresaw this")]
    assert pages.of("act") == []


def test_no_node_is_kept_to_a_deadline_by_a_pass_that_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    world = a_world()
    memory, ports = Memory(world.time), world.ports(Pages())
    with monkeypatch.context() as patch:
        patch.setattr(loop, "decide", raising)
        run_once(ports, memory, on_bug=lambda _bug: None)
    later = world.time + 3600
    assert memory.recall(a_snapshot(), frozenset(), later).attentive_since == later


def test_without_a_guard_as_in_the_simulator_a_decision_that_raises_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "decide", raising)
    world = a_world()
    with pytest.raises(ZeroDivisionError):
        run_once(world.ports(Pages()), Memory(world.time))


def test_three_acts_in_a_row_of_unknown_outcome_set_the_rollout_aside_once() -> None:
    bugs, world = list[Bug](), a_world()
    memory = Memory(world.time)
    unknown = Outcome(action=a_write(), result=Result.UNKNOWN, detail="ZeroDivisionError")
    memory.learn([unknown] * UNKNOWN_MAX, world.time)
    ports = world.ports(Pages())
    assert run_once(ports, memory, on_bug=bugs.append).has_bug
    assert [(bug.guard, bug.why) for bug in bugs] == [(Guard.DECISION, "3 acts in a row: ZeroDivisionError")]
    assert not run_once(ports, memory, on_bug=bugs.append).has_bug


@given(kinds=st.lists(st.sampled_from(ERRORS), min_size=1, max_size=6), every=st.integers(1, 5))
def test_whatever_decisions_and_promises_raise_now_and_then_the_rollout_ends_all_the_same(
    kinds: list[type[Exception]], every: int
) -> None:
    """A property: the loop falls over as often as it likes, and never leaves the process."""
    world, bugs, calls = a_world(), list[Bug](), [0]
    real = decide

    def sometimes(*args: Any) -> Any:
        calls[0] += 1
        if calls[0] % (every + 1) == 0:
            kind = kinds[calls[0] % len(kinds)]
            raise kind("utf-8", b"", 0, 1, "odd") if kind is UnicodeDecodeError else kind("odd")
        return real(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "decide", sometimes)
        last = play(world, bugs)
    assert bugs
    assert last.decision is not None
    assert {node.record.phase.value for node in last.sight.seen.nodes.values() if node.record} == {"upgrade-done"}  # type: ignore[union-attr]


def play(world: World, bugs: list[Bug]) -> Report:
    """Run a world until its rollout has nothing more to do."""
    reports: list[Report] = []

    def is_over(report: Report) -> bool:
        reports.append(report)
        assert len(reports) < 500
        if report.sight is None or report.decision is None:
            return False
        phases = {node.record.phase.value for node in report.sight.seen.nodes.values() if node.record is not None}
        return phases == {"upgrade-done"}

    return asyncio.run(
        run_forever(
            world.ports(Pages()),
            Memory(world.time),
            on_report=lambda _report: None,
            is_over=is_over,
            on_bug=bugs.append,
        )
    )


def test_a_report_that_cannot_be_told_does_not_end_the_loop() -> None:
    world, bugs = a_world(), list[Bug]()
    seen: list[Report] = []

    def is_third(report: Report) -> bool:
        seen.append(report)
        return len(seen) == 3

    asyncio.run(
        run_forever(
            world.ports(Pages()),
            Memory(world.time),
            on_report=raising,
            is_over=is_third,
            on_bug=bugs.append,
        )
    )
    assert len(bugs) == 3
