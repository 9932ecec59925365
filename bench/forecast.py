"""The forecast, measured: how fast it is, and how near it comes to a rollout on the real control plane.

    one run      10,000 nodes, 200 at a time: seconds of one core                     at most 5
    a sweep      20 settings × 200 samples on 500 nodes, all cores                    at most 2 min
    foretold     the newest bench/results/rollout-20x4-*: predicted against measured  within 10 %

What is foretold is computed from how that benchmark's environment was configured (nodes, limit, reload and validator
times), never from what was measured there. The result is kept in bench/results with date and machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from typing import Any

from bench.machine import RESULTS, keep, machine

from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Limits, Share
from seatrial.core.model.target import Target
from seatrial.sim.forecast.durations import FROM_RELOAD, FROM_VALIDATION, Behaviours, Constant, lumped
from seatrial.sim.forecast.engine import forecast
from seatrial.sim.forecast.inventory import invented
from seatrial.sim.forecast.model import Model
from seatrial.sim.forecast.sweep import Setting, sweep

TARGET = "580.105.08"
INTENT = Intent(rollout="bench", target=Target.of(TARGET))
ONE_RUN_SECONDS_MAX, SWEEP_SECONDS_MAX, ERROR_MAX = 5.0, 120.0, 0.10


def main() -> int:
    """Measure, print, keep; 1 when a figure is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    args = parser.parse_args()
    result: dict[str, Any] = {
        "what": "speed of the forecast, and its error against a measured rollout",
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "one_run": one_run(),
        "sweep": one_sweep(),
        "foretold": foretold(),
    }
    print(json.dumps(result, indent=2))
    if not args.no_keep:
        print(f"bench: kept as bench/results/{keep('forecast', result).name}", file=sys.stderr)
    is_reached = (
        result["one_run"]["cpu_seconds"] <= ONE_RUN_SECONDS_MAX
        and result["sweep"]["wall_seconds"] <= SWEEP_SECONDS_MAX
        and abs(result["foretold"]["error"]) <= ERROR_MAX
    )
    return 0 if is_reached else 1


def one_run(node_count: int = 10_000, parallel: int = 200) -> dict[str, Any]:
    """From an inventory to its forecast, everything included but the making of the inventory."""
    inventory = invented(node_count, gpus_per_node=8, pods_per_node=2, target=TARGET)
    limits = Limits(parallel_max=parallel, unavailable_max=Share.parse("100%"))
    wall, cpu = time.perf_counter(), time.process_time()
    run = forecast(Model(inventory, INTENT, Behaviours()), seed=1, limits=limits)
    return {
        "nodes": node_count,
        "parallel": parallel,
        "simulated_seconds": round(run.makespan_seconds, 1),
        "wall_seconds": round(time.perf_counter() - wall, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
    }


def one_sweep(node_count: int = 500, samples: int = 200) -> dict[str, Any]:
    """Twenty settings, as the command runs them."""
    inventory = invented(node_count, gpus_per_node=8, pods_per_node=2, target=TARGET)
    shares = [Share.parse(text) for text in ("2%", "5%", "10%", "25%")]
    settings = [Setting(many, share) for many in (1, 5, 25, 50, 0) for share in shares]
    behaviours = Behaviours(failure_rate=0.001)
    wall = time.perf_counter()
    results = sweep(inventory, INTENT, behaviours, settings, seeds=range(samples), progress=_tell)
    return {
        "nodes": node_count,
        "settings": len(results),
        "samples": samples,
        "wall_seconds": round(time.perf_counter() - wall, 1),
    }


def _tell(done: int, of: int) -> None:
    if done % 50 == 0:
        print(f"bench: {done} of {of} samples", file=sys.stderr, flush=True)


def foretold() -> dict[str, Any]:
    """The newest measured rollout against its forecast."""
    newest = max(RESULTS.glob("rollout-20x4-*.json"), key=lambda path: path.stem[-15:])
    measured = json.loads(newest.read_text(encoding="utf-8"))
    predicted = predicted_seconds(
        measured["nodes"], measured["parallel"], measured["reload_seconds"], measured["validator_seconds"]
    )
    return {
        "rollout": newest.name,
        "predicted_seconds": predicted,
        "measured_seconds": measured["T_seconds"],
        "error": round(predicted / measured["T_seconds"] - 1, 4),
    }


def predicted_seconds(node_count: int, parallel: int, reload_seconds: float, validator_seconds: float) -> float:
    """How long a rollout takes where only the driver and its validator take time, as in the testbed."""
    nothing = {what: Constant(0.0) for what in Behaviours().durations}
    behaviours = Behaviours(
        durations={
            **nothing,
            **lumped(FROM_RELOAD, "driver gets ready", Constant(reload_seconds)),
            **lumped(FROM_VALIDATION, "validator passes", Constant(validator_seconds)),
        }
    )
    inventory = invented(node_count, gpus_per_node=8, pods_per_node=0, target=TARGET)
    limits = Limits(parallel_max=parallel, unavailable_max=Share.parse("100%"))
    return forecast(Model(inventory, INTENT, behaviours), limits=limits).makespan_seconds


if __name__ == "__main__":
    sys.exit(main())
