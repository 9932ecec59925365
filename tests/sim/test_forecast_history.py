"""What a journal teaches about durations and failures, and when it does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seatrial.passes import Entry
from seatrial.run.loop import run_forever
from seatrial.run.memory import Memory
from seatrial.sim.forecast.durations import Behaviours, Constant, Empirical, Uniform
from seatrial.sim.forecast.engine import forecast
from seatrial.sim.forecast.history import Learned, learn
from seatrial.sim.forecast.inventory import Inventory
from seatrial.sim.forecast.model import Model
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.reactions import REACTIONS
from seatrial.sim.world import Delay, World
from tests import builders


class Kept:
    """A journal in memory."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def append(self, at: float, kind: str, fields: dict[str, object]) -> None:
        self.entries.append(Entry(where="memory", at=at, kind=kind, fields=dict(fields)))


async def a_rollout(count: int, failing: int = 0) -> Kept:
    """The journal of a simulated rollout in which a reload takes 100 s, a validation 20 s, and leaving 30 s."""
    seconds = {"driver pod replaced": 10, "driver gets ready": 90, "validator passes": 20, "pods leave": 30}
    delays = {what: Delay(seconds=seconds.get(what, 0)) for what in REACTIONS}
    names = [f"n{number}" for number in range(count)]
    nodes = [new_node(name, running=builders.OLD, wanted=builders.NEW, gpu_pod_count=1) for name in names]
    fates = {name: Fate(driver_fails_on=builders.NEW.version) for name in names[:failing]}
    intent = builders.an_intent(failed_max=99, unavailable_max="100%")
    world, kept = World(nodes, intent, delays=delays, fates=fates), Kept()
    await run_forever(world.ports(kept), Memory(0.0), on_report=lambda _: None, is_over=lambda _: False)  # type: ignore[arg-type]
    return kept


async def test_durations_are_learned_from_acts_and_their_outcomes() -> None:
    lesson = learn((await a_rollout(6)).entries)
    assert lesson.samples["driver reload"] == (100.0,) * 6
    assert lesson.samples["validation"] == (20.0,) * 6
    assert lesson.samples["pods leave"] == (30.0,) * 6
    assert lesson.samples["jobs finish"] == ()
    assert (lesson.attempt_count, lesson.failure_count) == (6, 0)


async def test_a_forecast_from_history_repeats_what_was() -> None:
    kept = await a_rollout(8)
    behaviours = learn(kept.entries).applied_to(Behaviours())
    nodes = [new_node(f"n{each}", running=builders.OLD, wanted=builders.NEW, gpu_pod_count=1) for each in range(8)]
    model = Model(
        Inventory(nodes={node.name: node for node in nodes}), builders.an_intent(unavailable_max="100%"), behaviours
    )
    assert forecast(model).makespan_seconds == pytest.approx(max(entry.at for entry in kept.entries))


async def test_failures_are_counted_by_attempt() -> None:
    lesson = learn((await a_rollout(8, failing=2)).entries)
    assert (lesson.attempt_count, lesson.failure_count) == (8, 2)
    assert lesson.applied_to(Behaviours()).failure_rate == 0.25


async def test_fewer_than_five_change_nothing_and_say_so() -> None:
    lesson = learn((await a_rollout(4)).entries)
    assert lesson.applied_to(Behaviours()) == Behaviours()
    assert "driver reload: 4 in the history, fewer than 5; the default stays" in lesson.told()
    assert lesson.told()[-1] == "failures: 0 in 4 attempts, fewer than 5; the default stays"


async def test_what_was_learned_is_told_with_how_many() -> None:
    lesson = learn((await a_rollout(5)).entries)
    assert "driver reload: 100 to 100 s, median 100 s, from 5 in the history" in lesson.told()
    after = lesson.applied_to(Behaviours())
    assert after.durations["driver gets ready"] == Empirical((100.0,) * 5)
    assert after.durations["driver pod replaced"] == Constant(0.0)
    assert isinstance(after.durations["job finishes"], Uniform)
    assert after.source_of("driver gets ready") == "learned from 5 in the history"


def test_an_act_that_was_not_done_teaches_nothing() -> None:
    def entries() -> Iterator[Entry]:
        for number in range(9):
            for at, act in ((0.0, "restart-driver/1/u"), (50.0, "validation-required/1@7")):
                fields = {"id": f"n{number}/{act}"}
                yield Entry(where="", at=at, kind="act", fields=fields)
                yield Entry(where="", at=at + 1, kind="outcome", fields=fields | {"result": "stale"})

    assert learn(entries()).samples["driver reload"] == ()


def test_an_empty_journal_teaches_nothing() -> None:
    assert learn(()) == Learned(
        samples={"jobs finish": (), "pods leave": (), "driver reload": (), "validation": ()},
        attempt_count=0,
        failure_count=0,
    )
