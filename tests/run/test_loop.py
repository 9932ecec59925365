"""One pass after the other: nothing is executed on a broken promise, nothing is told twice, nothing spins."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from seatrial.core.actions.action import Action
from seatrial.core.decision.decide import Decision
from seatrial.core.holds import HoldCode
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.promises import invariants
from seatrial.core.promises.breach import Breach
from seatrial.ports import JournalUnwritable, Outcome, Ports, Sight
from seatrial.run import loop
from seatrial.run.loop import (
    BREACH_SECONDS,
    BREATH_SECONDS_MAX,
    BREATH_SECONDS_MIN,
    IDLE_SECONDS,
    JOURNAL_SECONDS,
    Report,
    run_forever,
    run_once,
)
from seatrial.run.memory import Memory
from seatrial.run.recording import Recorder
from seatrial.sim.nodes import new_node
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent

INTENT = an_intent(unavailable_max=1)


class Pages:
    """A journal that is a list."""

    def __init__(self) -> None:
        self.entries: list[tuple[float, str, dict[str, object]]] = []

    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        self.entries.append((at, kind, dict(fields)))

    def turn(self, at: float) -> bool:  # noqa: ARG002
        return False

    def of(self, kind: str) -> list[dict[str, object]]:
        return [fields for _, entry, fields in self.entries if entry == kind]


def a_world() -> World:
    return World([new_node("n1", running=OLD, wanted=NEW)], INTENT)


def run(world: World, pages: Pages) -> list[Report]:
    reports: list[Report] = []
    asyncio.run(run_forever(world.ports(pages), Memory(world.time), on_report=reports.append, is_over=lambda _: False))
    return reports


# ── one pass ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_pass_observes_decides_tells_and_acts() -> None:
    world, pages = a_world(), Pages()
    report = run_once(world.ports(pages), Memory(0.0))
    assert report.decision is not None
    assert [action.id for action in report.decision.actions] == ["spring/ledger/1", "n1/upgrade-required/1@1"]
    assert pages.entries == [
        (0.0, "act", {"id": "spring/ledger/1", "act": "WriteRolloutRecord", "subject": "rollout/spring"}),
        (0.0, "act", {"id": "n1/upgrade-required/1@1", "act": "WriteNodeRecord", "subject": "n1"}),
    ]


def test_a_pass_is_recorded_before_its_acts() -> None:
    world, pages = a_world(), Pages()
    run_once(world.ports(pages), Memory(0.0), Recorder(pages))
    assert [kind for _, kind, _ in pages.entries] == ["pass", "act", "act"]
    assert [id_ for id_, _ in pages.of("pass")[0]["whole"]["decided"]["acts"]] == [  # type: ignore[index]
        act["id"] for act in pages.of("act")
    ]


def test_a_pass_that_would_break_a_promise_is_recorded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invariants, "broken", broken)
    world, pages = a_world(), Pages()
    run_once(world.ports(pages), Memory(0.0), Recorder(pages))
    assert [kind for _, kind, _ in pages.entries] == ["pass", "breach", "act"]


class Nowhere(World):
    """A world with nothing to look at."""

    def observe(self) -> Sight:
        return None  # type: ignore[return-value]


def test_a_pass_with_nothing_to_look_at_does_nothing() -> None:
    world, pages = Nowhere([], INTENT), Pages()
    assert run_once(world.ports(pages), Memory(0.0)) == Report(at=0.0, sight=None, decision=None)
    assert pages.entries == []


def test_what_became_of_an_act_is_reported_also_when_there_is_nothing_to_look_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, memory = a_world(), Memory(0.0)
    ports = world.ports(Pages())
    begun = run_once(ports, memory).decision
    assert begun is not None
    monkeypatch.setattr(world, "observe", lambda: None)
    world.time += 60.0
    report = run_once(ports, memory)
    assert (report.sight, report.decision) == (None, None)
    assert [outcome.action for outcome in report.outcomes] == list(begun.actions)


def broken(seen: Snapshot, _intent: Intent, _decision: object) -> tuple[Breach, ...]:
    return (Breach(promise="capacity", subject="spring", detail="made up"),) if seen.nodes else ()


def test_a_broken_promise_stops_the_pass_and_the_rollout_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the rollout only its status for people is written."""
    monkeypatch.setattr(invariants, "broken", broken)
    world, pages = a_world(), Pages()
    before = (dict(world.nodes), world.rollout.admitted, world.rollout.campaign)
    report = run_once(world.ports(pages), Memory(0.0))
    assert report.breaches == (Breach(promise="capacity", subject="spring", detail="made up"),)
    assert report.wake_at == BREACH_SECONDS
    assert pages.entries[0] == (0.0, "breach", {"promise": "capacity", "subject": "spring", "why": "made up"})
    assert [fields["act"] for fields in pages.of("act")] == ["WriteRolloutRecord"]
    assert (dict(world.nodes), world.rollout.admitted, world.rollout.campaign) == before
    assert world.rollout.summary is not None
    assert [each.code for each in world.rollout.summary.waiting] == [HoldCode.PROMISE_BROKEN]


# ── many passes ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_act_is_told_once_and_its_outcome_once() -> None:
    world, pages = a_world(), Pages()
    run(world, pages)
    acts = [fields["id"] for fields in pages.of("act")]
    outcomes = [fields["id"] for fields in pages.of("outcome")]
    assert acts == outcomes
    assert len(acts) == len(set(acts))
    assert {fields["result"] for fields in pages.of("outcome")} == {"done"}


def test_a_rollout_ends_when_nothing_can_ever_change_again() -> None:
    world = a_world()
    reports = run(world, Pages())
    assert reports[-1].decision is not None
    assert (reports[-1].decision.actions, reports[-1].wake_at) == ((), None)
    assert world.rollout.summary is not None
    assert world.rollout.summary.state == "done"


def test_a_loop_ends_when_it_is_over() -> None:
    world, reports = a_world(), list[Report]()
    ending = run_forever(world.ports(Pages()), Memory(0.0), on_report=reports.append, is_over=lambda r: r.at >= 0)
    assert asyncio.run(ending) == reports[0]
    assert len(reports) == 1


class Breathing(World):
    """A world whose deciding takes a while, and which counts the pauses."""

    def __init__(self, took_seconds: float) -> None:
        super().__init__([new_node("n1", running=OLD, wanted=NEW)], INTENT)
        self.took_seconds = took_seconds
        self.pauses: list[float] = []

    def observe(self) -> Sight:
        self.time += self.took_seconds
        return super().observe()

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(round(seconds, 6))


@pytest.mark.parametrize(
    ("took_seconds", "pause_seconds"), [(0.0, BREATH_SECONDS_MIN), (0.02, 0.18), (5.0, BREATH_SECONDS_MAX)]
)
def test_a_pass_is_followed_by_a_pause_in_proportion(took_seconds: float, pause_seconds: float) -> None:
    world = Breathing(took_seconds)
    run(world, Pages())
    assert set(world.pauses) == {pause_seconds}


def test_broken_promises_are_told_once_a_second_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(invariants, "broken", broken)
    world = Breathing(0.0)
    reports: list[Report] = []
    ports = world.ports(Pages())
    asyncio.run(run_forever(ports, Memory(0.0), on_report=reports.append, is_over=lambda _: len(reports) > 3))
    assert [report.at for report in reports] == [0.0, 0.0, 30.0, 60.0], "the second follows the write of the status"
    assert set(world.pauses) == {BREATH_SECONDS_MAX}


# ── old views ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Behind(World):
    """A world that is seen as it was, until it is looked at anew; every act is answered at once."""

    def __init__(self) -> None:
        super().__init__([new_node("n1", running=OLD, wanted=NEW)], INTENT)
        self.shown = super().observe()
        self.submitted: list[str] = []

    def observe(self) -> Sight:
        return replace(self.shown, intent=self.intent)

    def look_anew(self) -> None:
        self.shown = super().observe()

    def submit(self, action: Action) -> None:
        self.submitted.append(action.id)
        super().submit(action)


def passes(world: Behind, memory: Memory, count: int, seconds: float) -> list[tuple[Outcome, ...]]:
    """Some passes on the same old view."""
    found = []
    for _ in range(count):
        found.append(run_once(Ports(observer=world, executor=world, journal=Pages(), clock=world), memory).outcomes)
        world.time += seconds
    return found


def test_an_old_view_does_not_make_the_loop_repeat_itself() -> None:
    world = Behind()
    passes(world, Memory(0.0), 50, 0.01)
    assert world.submitted == ["spring/ledger/1", "n1/upgrade-required/1@1"]


def test_a_refusal_for_an_old_view_is_tried_again_every_five_seconds_at_most() -> None:
    world = Behind()
    passes(world, Memory(0.0), 1000, 0.1)
    assert len([id_ for id_ in world.submitted if id_.startswith("n1/")]) == 20


def test_the_old_driver_pod_is_not_deleted_over_and_over_while_the_view_lags() -> None:
    world, memory = Behind(), Memory(0.0)
    while not any("restart-driver" in id_ for id_ in world.submitted):
        passes(world, memory, 1, 0.01)
        world.look_anew()
    world.submitted.clear()
    driver = world.nodes["n1"].facts.driver
    assert driver is not None
    old = replace(
        world.nodes["n1"], facts=replace(world.nodes["n1"].facts, driver=replace(driver, is_terminating=False))
    )
    world.shown = replace(world.shown, seen=replace(world.shown.seen, nodes={"n1": old}))
    passes(world, memory, 100, 0.01)
    assert world.submitted == []


def test_a_pause_between_two_passes_of_a_loop_fails_nobody() -> None:
    world, memory = Behind(), Memory(0.0)
    while world.nodes["n1"].record is None or world.nodes["n1"].record.phase is not NodePhase.POD_RESTART_REQUIRED:
        passes(world, memory, 1, 0.01)
        world.look_anew()
    world.intent = replace(INTENT, is_paused=True)
    passes(world, memory, 2, 0.01)
    world.time += 500_000.0
    world.intent = INTENT
    world.look_anew()
    passes(world, memory, 2, 0.01)
    assert world.nodes["n1"].record.phase is NodePhase.POD_RESTART_REQUIRED


def test_passes_that_are_due_at_once_and_do_nothing_get_rarer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever makes a decision ask for a moment that is over, the loop does not spin on it."""
    world, waited = World([], INTENT), list[float]()
    monkeypatch.setattr(loop, "decide", lambda *_: Decision(wake_at=world.time))

    async def wait(until: float | None) -> bool:
        waited.append((until or 0.0) - world.time)
        return len(waited) < len(IDLE_SECONDS) + 2

    monkeypatch.setattr(world, "wait", wait)
    run(world, Pages())
    assert waited == [*IDLE_SECONDS, IDLE_SECONDS[-1], IDLE_SECONDS[-1]]


@pytest.mark.parametrize("due_seconds", [0.5, 2.0, None])
def test_a_pass_is_waited_for_until_it_is_due_and_no_longer(
    monkeypatch: pytest.MonkeyPatch, due_seconds: float | None
) -> None:
    world, waited = World([], INTENT), list[float | None]()
    due_at = None if due_seconds is None else world.time + due_seconds
    monkeypatch.setattr(loop, "decide", lambda *_: Decision(wake_at=due_at))

    async def wait(until: float | None) -> bool:
        waited.append(until)
        return False

    monkeypatch.setattr(world, "wait", wait)
    run(world, Pages())
    assert waited == [due_at]


# ── a journal without room ───────────────────────────────────────────────────────────────────────────────────────────


class FullPages(Pages):
    """A journal whose disk is full after so many lines, until there is room again."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        if len(self.entries) >= self.room:
            raise JournalUnwritable("a.jsonl: No space left on device")
        super().append(at, kind, fields)


class Noting:
    """Writes down which acts it is asked for, and does none."""

    def __init__(self, begun: list[str]) -> None:
        self._begun = begun

    def submit(self, action: Action) -> None:
        self._begun.append(action.id)

    def in_flight(self) -> frozenset[str]:
        return frozenset()

    def collect(self) -> tuple[Outcome, ...]:
        return ()


@pytest.mark.parametrize("room", range(3))
def test_an_act_whose_line_cannot_be_written_is_not_begun_nor_any_after_it(room: int) -> None:
    world = a_world()
    ports = world.ports(FullPages(room))
    begun: list[str] = []
    decided = run_once(replace(ports, executor=Noting(begun)), Memory(0.0)).decision
    assert decided is not None
    assert begun == [action.id for action in decided.actions][:room]


@pytest.mark.parametrize("room", range(6))
def test_while_the_journal_is_full_nobody_is_disrupted_and_the_rollout_says_why_and_then_it_goes_on(room: int) -> None:
    world, pages = a_world(), FullPages(room)
    memory, recorder = Memory(0.0), Recorder(pages)
    ports = world.ports(pages)
    held = next(report for _ in range(200) if (report := step(ports, memory, recorder)).decision and is_held(report))
    assert held.decision is not None
    assert held.wake_at is not None
    assert held.wake_at <= held.at + JOURNAL_SECONDS
    before = world.nodes["n1"].facts.driver
    for _ in range(20):
        step(ports, memory, recorder)
    assert world.nodes["n1"].facts.driver == before, "the driver is as it was"
    told = world.rollout.summary
    assert told is not None
    assert "journal-unwritable" in dict(told.holds) or "journal-unwritable" in [each.code for each in told.waiting]

    pages.room = 10**6
    asyncio.run(run_forever(ports, memory, on_report=lambda _: None, is_over=lambda _: False, recorder=recorder))
    assert world.nodes["n1"].record is not None
    assert world.nodes["n1"].record.phase is NodePhase.UPGRADE_DONE
    (gap,) = pages.of("gap")
    assert gap["why"] == "a.jsonl: No space left on device"


def step(ports: Ports, memory: Memory, recorder: Recorder) -> Report:
    report = run_once(ports, memory, recorder)
    asyncio.run(ports.clock.sleep(0.1))
    asyncio.run(ports.observer.wait(report.wake_at))
    return report


def is_held(report: Report) -> bool:
    stop = report.decision.stop if report.decision else None
    return stop is not None and stop.code is HoldCode.JOURNAL_UNWRITABLE
