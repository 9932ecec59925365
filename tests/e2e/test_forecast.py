"""An upgrade of a live fleet: forecast from configured times before it, and from its own journal after it.

How true a forecast is, is measured on a machine with nothing else to do: bench/forecast.py. Here other tests share the
machine, so a forecast is only held between what the environment takes at least and what the upgrade took.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import Play, Stage

pytestmark = pytest.mark.cluster

NODES, PARALLEL = 8, 4
RELOAD_SECONDS, VALIDATOR_SECONDS = 10.0, 1.0
LEAST_SECONDS = NODES / PARALLEL * (RELOAD_SECONDS + VALIDATOR_SECONDS)
MARGIN = 1.15
"""Times are learned from what was seen, a moment late at either end; and nodes that took long may be drawn into one
round after the other, though they were not. Our own writes are in no forecast, so a busy machine takes longer."""
SETTING = ("--parallel", str(PARALLEL), "--unavailable", "100%", "--samples", "20", "--seed", "1", "-o", "json")


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    spec = FleetSpec(
        prefix="foretold", node_count=NODES, reload_seconds=RELOAD_SECONDS, validator_seconds=VALIDATOR_SECONDS
    )
    made = make_fleet(cluster, spec)
    yield made
    made.remove()


@pytest.mark.long
def test_a_forecast_lies_between_what_the_environment_takes_and_what_the_last_upgrade_took(
    play: Play, fleet: Fleet
) -> None:
    with play("foretold", limits={"maxParallelUpgrades": PARALLEL}) as stage:
        wait_seen(stage)
        configured = forecast(stage, "--reload", f"{RELOAD_SECONDS:g}", "--validation", f"{VALIDATOR_SECONDS:g}")
        seconds = upgrade(stage)
        learned = forecast(stage, "--history", str(stage.controller.journal))
    assert configured["settings"][0]["seconds_p50"] == LEAST_SECONDS
    assert configured["fleet"] == {
        "nodes": NODES,
        "gpus": NODES * fleet.spec.gpus_per_node,
        "gpus_at_start": NODES * fleet.spec.gpus_per_node,
        "cordoned": [],
        "not_ready": [],
        "left_out": {},
    }
    assert f"failures: 0 in {NODES} attempts" in [each["value"] for each in learned["assumptions"]]
    assert LEAST_SECONDS / MARGIN <= learned["settings"][0]["seconds_p50"] <= seconds * MARGIN


def wait_seen(stage: Stage) -> None:
    """Every node was seen and found in order, so that the start is not part of what is measured."""
    stage.wait(lambda: all(stage.state(name) == "upgrade-done" for name in stage.fleet.nodes), "every node to be seen")


def forecast(stage: Stage, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(stage.do("forecast", *arguments, *SETTING))
    return found


def upgrade(stage: Stage) -> float:
    """Publish the other driver; how long it took until the last node was done."""
    stage.fleet.set_driver_version(stage.target)
    stage.wait_upgraded()
    moments = stage.history.nodes()
    begun_at = min(moment.at for moment in moments if moment.state == "upgrade-required")
    return max(moment.at for moment in moments if moment.state == "upgrade-done") - begun_at
