"""The driver that a gate's report names, held against the one that is to be proven."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatrial.core.campaign.proving.loaded import held_to
from seatrial.core.model.gates.gate import Gate, GateVerdict
from tests.builders import NEW, SMOKE, a_measurement

OURS = Gate(name="train", image="example.com/probes:1", probe="smoke-train")
LINKS = replace(OURS, probe="rdma", gpus=0)
STALE = "580.159.04"


@pytest.mark.parametrize(
    ("gate", "drivers", "verdict"),
    [
        (OURS, (NEW.version,), GateVerdict.PASSED),
        (OURS, (STALE,), GateVerdict.FAILED),
        (OURS, ("",), GateVerdict.UNKNOWN),
        (OURS, (), GateVerdict.UNKNOWN),
        (OURS, (NEW.version, STALE), GateVerdict.FAILED),
        (OURS, (NEW.version, ""), GateVerdict.UNKNOWN),
        (LINKS, ("",), GateVerdict.PASSED),
        (LINKS, (STALE,), GateVerdict.FAILED),
        (SMOKE, ("",), GateVerdict.PASSED),
        (SMOKE, (STALE,), GateVerdict.FAILED),
    ],
)
def test_a_pass_counts_only_for_the_driver_that_is_loaded(
    gate: Gate, drivers: tuple[str, ...], verdict: GateVerdict
) -> None:
    assert held_to(gate, a_measurement(drivers=drivers), NEW.version).verdict is verdict


def test_both_versions_are_named() -> None:
    found = held_to(OURS, a_measurement(drivers=(STALE,)), NEW.version)
    assert f"NVML reports driver {STALE}, and {NEW.version} has to be proven" in found.detail


@pytest.mark.parametrize("verdict", [GateVerdict.FAILED, GateVerdict.UNKNOWN, GateVerdict.PENDING])
def test_what_is_no_pass_stays_as_it_is(verdict: GateVerdict) -> None:
    said = a_measurement(verdict, drivers=())
    assert held_to(OURS, said, NEW.version) == said


def test_where_nobody_knows_which_driver_is_wanted_nothing_is_compared() -> None:
    assert held_to(OURS, a_measurement(drivers=()), "").verdict is GateVerdict.PASSED
