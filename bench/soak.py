"""Rollouts over 200 nodes, one after the other, under one controller: do its memory, its files and its tasks stay flat?

    python -m bench.soak --minutes 120 [--nodes 200]

Each campaign wants the driver that the one before took away. Every few seconds the controller's resident memory, its
open files, its threads and its asyncio tasks are sampled. Flat means that the least-squares line through the samples,
without the first quarter of the time, climbs by a tenth of the mean at most (or by a little, where the mean is little).
The result is kept in bench/results; ends with 1 where something is not flat. `make soak SOAK_MINUTES=120`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.machine import keep, machine, run

from seatrial_lab.testbed import errors, waiting
from seatrial_lab.torture import inside
from seatrial_lab.torture.drawing import End, Schedule
from seatrial_lab.torture.flat import Line, line_through
from seatrial_lab.torture.moved import NEW, OLD
from seatrial_lab.torture.stage import Play, rollout_of, staged
from seatrial_lab.torture.table import Mode

EVERY_SECONDS = 5.0
PARALLEL = 25
ROLLOUT_SECONDS = 600.0
LEASE_SECONDS = 60
"""One process leads for the whole time, however busy the machine is with something else."""
LEAST: dict[str, float] = {"memory_mib": 6.0, "open_files": 6.0, "threads": 4.0, "tasks": 6.0}
"""By how much each may climb whatever its mean is."""


@dataclass(kw_only=True)
class Samples:
    """What was sampled of one process: for each quantity, (seconds, value)."""

    pid: int
    folder: Path
    taken: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    _last: float = 0.0
    _began: float = field(default_factory=time.monotonic)

    def take_due(self) -> None:
        """Take a sample, where it is time to."""
        if time.monotonic() - self._last < EVERY_SECONDS:
            return
        self._last = time.monotonic()
        for name, value in self._now():
            self.taken.setdefault(name, []).append((self._last - self._began, value))

    def _now(self) -> Iterator[tuple[str, float]]:
        place = Path(f"/proc/{self.pid}")
        status = dict(
            line.split(":", 1) for line in (place / "status").read_text(encoding="utf-8").splitlines() if ":" in line
        )
        yield "memory_mib", int(status["VmRSS"].split()[0]) / 1024
        yield "threads", float(status["Threads"])
        yield "open_files", float(len(list((place / "fd").iterdir())))
        if (tasks := inside.task_count(self.folder)) is not None:
            yield "tasks", float(tasks)

    def lines(self) -> dict[str, Line]:
        """The line through each."""
        return {name: line_through(taken, climb_least=LEAST[name]) for name, taken in self.taken.items()}


def main() -> int:
    """Soak, and keep the result."""
    args = asked()
    with tempfile.TemporaryDirectory(prefix="seatrial-soak-") as folder:
        result = soak(args, Path(folder))
    print(json.dumps(result, indent=2))
    if not args.no_keep:
        path = keep(f"soak-{args.nodes}x{args.minutes:g}min", result)
        say(f"kept as bench/results/{path.name}")
    return not result["is_flat"]


def soak(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Rollouts until the time is over."""
    schedule = Schedule(seed=0, mode=Mode.DIRECT, end=End.DONE, has_git=False, blows=(), only="soak")
    with (
        staged(folder / "stage", Mode.DIRECT, node_count=args.nodes) as stage,
        stage.opened(schedule, lease_seconds=LEASE_SECONDS) as play,
    ):
        play.controller.start()
        samples = Samples(pid=play.controller.pid, folder=play.folder)
        until, count, writes = time.monotonic() + args.minutes * 60, 0, play.way.write_count
        while time.monotonic() < until:
            count += 1
            roll_out(play, f"soak-{count}", NEW if count % 2 else OLD, samples.take_due)
            say(f"{count} rollouts, {(until - time.monotonic()) / 60:.0f} min left")
        play.controller.check()
        lines = samples.lines()
        return {
            "what": "memory, files, threads and tasks of one controller under rollouts back to back",
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "nodes": args.nodes,
            "minutes": args.minutes,
            "rollouts": count,
            "writes": play.way.write_count - writes,
            "requests": play.way.request_count,
            "is_flat": all(line.is_flat for line in lines.values()),
            "lines": {name: {**_rounded(line), "is_flat": line.is_flat} for name, line in lines.items()},
        }


def roll_out(play: Play, name: str, version: str, sample: Callable[[], None]) -> None:
    """One campaign from its start to its end, and its rollout taken away."""
    body = rollout_of(play)
    body["metadata"]["name"] = name
    body["spec"] |= {"target": {"driver": version}, "bake": {"durationSeconds": 0, "everySeconds": 60}, "gates": []}
    body["spec"]["limits"] = {"maxParallelUpgrades": PARALLEL, "maxUnavailable": PARALLEL}
    plane = play.stage.plane
    plane.apply([body])

    def is_done() -> bool:
        sample()
        play.controller.check()
        return bool(plane.get("gpurollout", name).get("status", {}).get("phase") == "Done")

    def is_gone() -> bool:
        sample()
        try:
            plane.get("gpurollout", name)
        except errors.KubectlFailed as err:
            return "NotFound" in str(err)
        return False

    waiting.wait_for(
        is_done,
        what=f"{name} to be done",
        timeout_seconds=ROLLOUT_SECONDS,
        pause_seconds=1.0,
        describe=lambda: play.log()[-3000:],
    )
    plane.kubectl("delete", "gpurollout", name, "--wait=false")
    waiting.wait_for(is_gone, what=f"{name} to be gone", timeout_seconds=60.0, pause_seconds=0.5)


def _rounded(line: Line) -> dict[str, float]:
    return {name: round(value, 2) for name, value in asdict(line).items()}


def asked() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--no-keep", action="store_true", help="print the result, do not write it to bench/results")
    return parser.parse_args()


def say(text: str) -> None:
    """Progress, beside the data."""
    print(f"soak: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(run(main))
