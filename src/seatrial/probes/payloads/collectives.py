"""multi-gpu and distributed: a sum over all GPUs of a node, or of a gang of nodes, by NCCL.

    multi-gpu      one process for each GPU of this node, started here
    distributed    the same on several nodes at once: JOB_COMPLETION_INDEX says which of SEATRIAL_GANG_NODES this is,
                   MASTER_ADDR and MASTER_PORT where the first of them is found. With RANK and WORLD_SIZE this process
                   is one of a gang that somebody else has started

The sum is of whole numbers, so it has one right answer; the rate is the bus bandwidth as NCCL's own tests count it.
Law of this file: nodes that do not meet in time measured nothing, and are no failure; once they have met, whatever goes
wrong is one.
Tests: tests/probes/test_without_a_gpu.py; one GPU and a gang of one in bench/results; more was not to be had
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from seatrial.probes.measuring import framework, timing
from seatrial.probes.measuring.unmeasurable import Unmeasurable
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes

BYTES: Final = 1 << 30
DEADLINE_SECONDS: Final = 300
GANG: Final = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
NODES: Final = ("JOB_COMPLETION_INDEX", "SEATRIAL_GANG_NODES", "MASTER_ADDR", "MASTER_PORT")
MEET_SECONDS: Final = "SEATRIAL_GANG_SECONDS"
"""How long the nodes of a gang may wait for each other."""
APART: Final = 11
"""How a process ends that never met the others."""


def look_in_node(options: Options, notes: Notes) -> None:
    count = framework.torch_with_gpu().cuda.device_count()
    if count < 2:
        raise Unmeasurable("this container has one GPU; a sum over several needs more")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = Place(address="127.0.0.1", port=str(port), gpus=count)
    _tell(_gang_of(place, options), count, notes)


def look_in_gang(options: Options, notes: Notes) -> None:
    count = framework.torch_with_gpu().cuda.device_count()
    if os.environ.get("RANK"):
        missing = [name for name in GANG if not os.environ.get(name)]
        if missing:
            raise Unmeasurable(f"{', '.join(missing)} is not set: this process is not one of a gang")
        local = int(os.environ.get("LOCAL_RANK", "0"))
        _tell(reduce(local, options.effort), int(os.environ["WORLD_SIZE"]), notes)
        return
    place = place_in(os.environ, count)
    meet(place.address, place.meet_seconds)
    notes.measure("nodes", place.nodes, "nodes")
    _tell(_gang_of(place, options), place.size, notes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a node stands in a gang of nodes, each with as many GPUs."""

    address: str
    port: str
    gpus: int
    nodes: int = 1
    index: int = 0
    meet_seconds: float = DEADLINE_SECONDS

    @property
    def size(self) -> int:
        return self.nodes * self.gpus

    def environment(self, local: int) -> dict[str, str]:
        """What the process of one GPU has to know."""
        return {
            "MASTER_ADDR": self.address,
            "MASTER_PORT": self.port,
            "WORLD_SIZE": str(self.size),
            "RANK": str(self.index * self.gpus + local),
            "LOCAL_RANK": str(local),
            MEET_SECONDS: f"{self.meet_seconds:g}",
        }


def place_in(around: Mapping[str, str], gpus: int) -> Place:
    """Where this node stands, by what its container was told."""
    missing = [name for name in NODES if not around.get(name)]
    if missing:
        raise Unmeasurable(f"{', '.join(missing)} is not set: this process is not one of a gang")
    return Place(
        address=around["MASTER_ADDR"],
        port=around["MASTER_PORT"],
        gpus=gpus,
        nodes=int(around["SEATRIAL_GANG_NODES"]),
        index=int(around["JOB_COMPLETION_INDEX"]),
        meet_seconds=float(around.get(MEET_SECONDS) or DEADLINE_SECONDS),
    )


def meet(address: str, seconds: float) -> None:
    """Wait until the name of the first of a gang is known: that takes a moment after it has started."""
    until = time.monotonic() + seconds
    while True:
        try:
            socket.getaddrinfo(address, None)
        except OSError as err:
            if time.monotonic() >= until:
                raise Unmeasurable(
                    f"the gang did not meet within {seconds:g} s: {address} is not known: {err}"
                ) from err
            time.sleep(min(1.0, seconds))
        else:
            return


def reduce(local: int, effort: timing.Effort) -> dict[str, Any]:
    """Take part in one sum after the other: how many numbers were wrong, and how fast it went."""
    import torch
    import torch.distributed as gang

    torch.cuda.set_device(local)
    seconds = float(os.environ.get(MEET_SECONDS) or DEADLINE_SECONDS)
    try:
        gang.init_process_group("nccl", timeout=timedelta(seconds=seconds))
    except (RuntimeError, TimeoutError) as err:
        raise Unmeasurable(f"the gang did not meet within {seconds:g} s: {_first_line(err)}") from err
    try:
        rank, size = gang.get_rank(), gang.get_world_size()
        numbers = torch.full((BYTES // 4,), float(rank + 1), device="cuda")
        gang.all_reduce(numbers)
        wrong = int((numbers != size * (size + 1) / 2).sum())
        found = timing.blocks(lambda: gang.all_reduce(numbers.zero_()), torch, None, effort)
        share = 2 * (size - 1) / size if size > 1 else 1.0
        return {"wrong": wrong, **found.rate(share * BYTES / 1e9)}
    finally:
        gang.destroy_process_group()


def _first_line(err: Exception) -> str:
    return (str(err).strip().splitlines() or [type(err).__name__])[0]


def _gang_of(place: Place, options: Options) -> dict[str, Any]:
    """Start one process for each GPU of this node; the answer of its first."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", __name__, str(options.effort.blocks), str(options.effort.warm_seconds)]
        errors = [Path(folder) / f"{local}.err" for local in range(place.gpus)]
        gang = [
            subprocess.Popen(
                command,
                env={**os.environ, **place.environment(local)},
                stdout=subprocess.PIPE,
                stderr=errors[local].open("w"),
                text=True,
            )
            for local in range(place.gpus)
        ]
        try:
            said = [each.communicate(timeout=place.meet_seconds + DEADLINE_SECONDS)[0] for each in gang]
        except subprocess.TimeoutExpired as err:
            raise TimeoutError(f"the GPUs were not done within {place.meet_seconds + DEADLINE_SECONDS:g} s") from err
        finally:
            for each in gang:
                each.kill()
        for local, each in enumerate(gang):
            lines = errors[local].read_text(encoding="utf-8").strip().splitlines() or ["it said nothing"]
            if each.returncode == APART and place.nodes > 1:
                raise Unmeasurable(lines[-1])
            if each.returncode:
                raise RuntimeError(f"GPU {local} left the gang: {lines[-1]}")
        return dict(json.loads(said[0]))


def _tell(found: dict[str, Any], size: int, notes: Notes) -> None:
    wrong = found.pop("wrong")
    notes.measure("gang", size, "GPUs")
    notes.measure("sums-wrong", wrong, "numbers")
    if wrong:
        notes.breaks("sums", f"{wrong} numbers of the sum over {size} GPUs are wrong")
    found.pop("under", None)
    notes.measure(name="all-reduce", unit="GB/s", **found)


if __name__ == "__main__":
    blocks, warm = sys.argv[1:]
    try:
        answer = reduce(int(os.environ["LOCAL_RANK"]), timing.Effort(blocks=int(blocks), warm_seconds=float(warm)))
    except Unmeasurable as err:
        print(err, file=sys.stderr)
        sys.exit(APART)
    print(json.dumps(answer))
