"""Gates that a real Prometheus answers: a value keeps its limit or misses it, and everything else is unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from seatrial.adapters.prometheus.measurer import SETTLED_SECONDS, PrometheusMeasurer
from seatrial.adapters.prometheus.places import Place
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.judging import limits
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement, Metric
from seatrial.ports import Result
from tests.adapters.prometheus.stage import ECC, LOAD, OurClock, Scene

LOADED = f'{LOAD}{{Hostname="$node"}}'


class Asker:
    """One gate after the other about the node of a scene."""

    def __init__(self, scene: Scene, place: Place | None = None) -> None:
        self.node = scene.node
        self.measurer = PrometheusMeasurer(
            place=place or Place.read(scene.prometheus.url),
            clock=OurClock(),
            uid_of=lambda _name: "uid-1",
            settled_seconds=0.0,
        )
        self.round = 0

    async def ask(self, query: str, *, at_least: float | None = None, at_most: float | None = None) -> Measurement:
        """What a gate with this query says, held to its limits."""
        self.round += 1
        gate = Gate(name="asked", prometheus=Metric(query=query, at_least=at_least, at_most=at_most))
        act = StartProbe(rollout="spring", gate=gate, node=self.node, round=self.round, attempt=1)
        assert (await self.measurer.measure(act)).result is Result.DONE
        (found,) = self.measurer.measurements("uid-1")
        return limits.held_to(gate, found)


async def test_a_value_keeps_its_limit_or_misses_it_on_every_gpu_of_the_node(scene: Scene) -> None:
    await scene.look_until_covered(1.0)
    asker = Asker(scene)
    found = await asker.ask(LOADED, at_least=80.0)
    assert found.verdict is GateVerdict.PASSED
    assert {each.gpu for each in found.figures} == {each.uuid for each in scene.exporter.gpus}
    assert "at least 80 asked" in found.detail
    failed = await asker.ask(LOADED, at_most=80.0)
    assert failed.verdict is GateVerdict.FAILED
    assert "asked of GPU-" in failed.detail
    assert "is 90, and may be at most 80" in failed.detail
    summed = await asker.ask(f"sum({LOADED})", at_least=180.0)
    assert (summed.verdict, [each.gpu for each in summed.figures]) == (GateVerdict.PASSED, [""])


async def test_whatever_is_no_value_is_unknown_with_the_reason(scene: Scene) -> None:
    await scene.look_until_covered(1.0)
    asker = Asker(scene)
    cases = {
        "nobody_tells{node='$node'}": "there is no series",
        f"{LOADED} / 0 - {LOADED} / 0": "no number",
        f"max({LOADED}": "does not take the query",
        f"{LOADED}[1m]": "answers with a matrix",
        f"{LOAD}{{Hostname=$node}}": "outside of a quoted text",
    }
    for query, why in cases.items():
        found = await asker.ask(query, at_least=0.0)
        assert found.verdict is GateVerdict.UNKNOWN, query
        assert why in found.detail


async def test_an_exporter_that_is_silent_is_unknown_and_no_old_value_is_carried_on(scene: Scene) -> None:
    await scene.look_until_covered(1.0)
    asker = Asker(scene)
    assert (await asker.ask(LOADED, at_least=80.0)).verdict is GateVerdict.PASSED
    scene.exporter.is_silent = True
    scene.wait_refused(3)
    silent = await asker.ask(LOADED, at_least=80.0)
    assert silent.verdict is GateVerdict.UNKNOWN
    assert "there is no series" in silent.detail


async def test_a_prometheus_that_was_away_does_not_answer_with_what_it_had_before(scene: Scene) -> None:
    await scene.look_until_covered(1.0)
    asker = Asker(scene)
    scene.exporter.is_silent = True
    scene.prometheus.stop()
    away = await asker.ask(LOADED, at_least=80.0)
    assert away.verdict is GateVerdict.UNKNOWN
    assert "was not reached" in away.detail
    scene.prometheus.start()
    asker.measurer.settled_seconds = SETTLED_SECONDS
    back = await asker.ask(LOADED, at_least=80.0)
    assert back.verdict is GateVerdict.UNKNOWN
    assert "and tells for 300 s what it had before" in back.detail
    asker.measurer.settled_seconds = 0.0
    scene.exporter.is_silent = False
    scene.wait_told(2)
    assert (await asker.ask(f"max({ECC}{{Hostname=~'$node'}})", at_most=3.0)).verdict is GateVerdict.PASSED


async def test_an_authority_that_cannot_be_read_is_unknown_too(scene: Scene, tmp_path: Path) -> None:
    place = Place.read("https://127.0.0.1:1", authority=tmp_path / "nothing.pem")
    found = await Asker(scene, place).ask(LOADED, at_least=80.0)
    assert found.verdict is GateVerdict.UNKNOWN
    assert "nothing.pem" in found.detail


async def test_only_the_last_round_of_the_rollout_at_work_is_kept(scene: Scene) -> None:
    uids = {"spring": "uid-1"}
    uid_of: Callable[[str], str] = lambda name: uids.get(name, "")  # noqa: E731
    measurer = PrometheusMeasurer(
        place=Place.read(scene.prometheus.url), clock=OurClock(), uid_of=uid_of, settled_seconds=0.0
    )
    gate = Gate(name="one", prometheus=Metric(query="vector(1)", at_least=1.0))
    act = StartProbe(rollout="spring", gate=gate, node=scene.node, round=1, attempt=1)
    for each in (act, replace(act, attempt=2), replace(act, round=2), replace(act, node="other")):
        await measurer.measure(each)
    kept = [(each.node, each.round, each.attempt) for each in measurer.measurements("uid-1")]
    assert kept == sorted([(scene.node, 2, 1), ("other", 1, 1)])
    uids["spring"] = "uid-2"  # deleted, and made again under the same name
    await measurer.measure(act)
    assert measurer.measurements("uid-1") == ()
    assert len(measurer.measurements("uid-2")) == 1


@pytest.mark.parametrize("query", ["vector(1)", "1"])
async def test_one_value_alone_is_an_answer(scene: Scene, query: str) -> None:
    assert (await Asker(scene).ask(query, at_least=1.0, at_most=1.0)).verdict is GateVerdict.PASSED
