"""Play 10,000 seeded fault schedules with the real loop, on every core, and keep the result in bench/results.

python -m bench.faults                       all of them; exit 1 where a promise was broken
python -m bench.faults --seed 7              one of them: what can happen, how it ended, and its story on a failure
python -m bench.faults --first 500 --count 100
python -m bench.faults --operands            schedules of rollouts that move operands, by seeds of their own
python -m bench.faults --attrition           schedules of rollouts by attrition on a busy fleet, by seeds of their own
python -m bench.faults --mixed               schedules in which everything happens together, whoever moves the nodes
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from bench.machine import keep, machine

from seatrial.core.model.instants import Instant
from seatrial.ports import Ports
from seatrial.run.loop import Report, run_once
from seatrial.run.memory import Memory
from seatrial_lab.schedules.attrition import run_attrition
from seatrial_lab.schedules.behaviours import table
from seatrial_lab.schedules.delegated import run_delegated
from seatrial_lab.schedules.mixed import run_mixed
from seatrial_lab.schedules.operands import run_operands
from seatrial_lab.schedules.schedules import Begin, Ending, run_schedule

COUNT = 10_000
PROGRESS_SECONDS = 10.0


def begin(ports: Ports, started_at: Instant) -> Callable[[], Report]:
    """A life of the real controller: the loop's pass, with a memory of its own."""
    memory = Memory(started_at)
    return lambda: run_once(ports, memory)


def is_delegated(seed: int) -> bool:
    """Whether NVIDIA's controller moves the nodes in this one: in every fourth."""
    return seed % 4 == 3


def play(seed: int) -> Ending:
    """One schedule of drivers, as everybody moves them."""
    return _told(run_delegated if is_delegated(seed) else run_schedule, seed)


def play_operands(seed: int) -> Ending:
    """One schedule of operands."""
    return _told(run_operands, seed)


def play_attrition(seed: int) -> Ending:
    """One schedule of a rollout by attrition."""
    return _told(run_attrition, seed)


def play_mixed(seed: int) -> Ending:
    """One schedule in which everything happens together."""
    return _told(run_mixed, seed)


def _told(run: Callable[[int, Begin], Ending], seed: int) -> Ending:
    """How it ended; what breaks in an unforeseen way is a broken promise too, and must not hide its seed."""
    try:
        return run(seed, begin)
    except Exception as error:  # noqa: BLE001  told with its seed, and counted as a failure
        why = f"{type(error).__name__}: {error}"
        return Ending(
            seed=seed, how="", broken=why, pass_count=0, act_count=0, fault_count=0, seconds=0.0, phases={}, holds={}
        )


def main() -> int:
    """Play, tell how it goes, keep what was found."""
    asked = _asked()
    one, name = play, "faults"
    if asked.operands:
        one, name = play_operands, "faults-operands"
    elif asked.attrition:
        one, name = play_attrition, "faults-attrition"
    elif asked.mixed:
        one, name = play_mixed, "faults-mixed"
    if asked.seed is not None:
        ending = one(asked.seed)
        print(table(asked.seed), "", ending, sep="\n")
        return ending.broken is not None
    result = _play_all(one, range(asked.first, asked.first + asked.count), asked.processes)
    path = keep(name, result)
    print(json.dumps(result["how"]), f"{len(result['failures'])} broken; {path}", sep="\n")
    return bool(result["failures"])


def _play_all(one: Callable[[int], Ending], seeds: range, process_count: int | None) -> dict[str, Any]:
    how: Counter[str] = Counter()
    failures: list[dict[str, Any]] = []
    totals: Counter[str] = Counter()
    started_at = told_at = time.monotonic()
    with multiprocessing.Pool(process_count) as pool:
        for played, ending in enumerate(pool.imap_unordered(one, seeds, chunksize=8), 1):
            how[ending.how or "broken"] += 1
            totals.update(passes=ending.pass_count, acts=ending.act_count, faults=ending.fault_count)
            totals["virtual_hours"] += round(ending.seconds / 3600)
            if ending.broken is not None:
                failures.append({"seed": ending.seed, "broken": ending.broken})
                print(f"\n{ending}", flush=True)
            now = time.monotonic()
            if now - told_at >= PROGRESS_SECONDS:
                told_at = now
                rate = played / (now - started_at)
                left = (len(seeds) - played) / rate
                print(
                    f"{played} of {len(seeds)}, {rate:.1f} a second, {left / 60:.1f} min left, {len(failures)} broken",
                    file=sys.stderr,
                    flush=True,
                )
    return {
        "machine": machine(),
        "first_seed": seeds.start,
        "schedules": len(seeds),
        "seconds": round(time.monotonic() - started_at, 1),
        "how": dict(how),
        "totals": dict(totals),
        "failures": sorted(failures, key=lambda failure: failure["seed"]),
    }


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, help="play this one only, and tell its story")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--operands", action="store_true", help="of rollouts that move operands")
    parser.add_argument("--attrition", action="store_true", help="of rollouts by attrition on a busy fleet")
    parser.add_argument("--mixed", action="store_true", help="of everything together, whoever moves the nodes")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
