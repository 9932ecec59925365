"""Every gate goes to whoever measures its kind."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from seatrial.controller.measurers import Askers, Measurers
from seatrial.core.actions.of_campaigns import StartProbe
from seatrial.core.model.gates.gate import Gate, Measurement, Metric
from seatrial.ports import Outcome, Result


@dataclass(slots=True)
class Asked:
    """Remembers which gates it was asked for."""

    names: list[str] = field(default_factory=list)

    async def measure(self, act: StartProbe, /) -> Outcome:
        self.names.append(act.gate.name)
        return Outcome(action=act, result=Result.DONE)

    def measurements(self, _uid: str) -> tuple[Measurement, ...]:
        return ()


@pytest.mark.parametrize(
    ("gate", "where"),
    [
        (Gate(name="smoke", image="s:1"), "jobs"),
        (Gate(name="all", expression="true"), "expressions"),
        (Gate(name="ci", webhook="https://ci.example/ask"), "webhooks"),
        (Gate(name="rate", prometheus=Metric(query="up", at_least=1.0)), "prometheus"),
    ],
)
async def test_a_gate_is_measured_by_whoever_its_kind_says(gate: Gate, where: str) -> None:
    measurers = {name: Asked() for name in ("jobs", "prometheus", "expressions", "webhooks")}
    act = StartProbe(rollout="spring", gate=gate, node="n1", round=1, attempt=1)
    jobs, *askers = measurers.values()
    await Measurers(jobs=jobs, askers=Askers(**dict(zip(list(measurers)[1:], askers, strict=True)))).measure(act)
    assert {name for name, each in measurers.items() if each.names} == {where}
