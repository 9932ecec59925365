"""multi-gpu and distributed: a sum over all GPUs of a node, or of a gang of nodes, by NCCL.

    multi-gpu      one process for each GPU of this node, started here
    distributed    this process is one of a gang; RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say which

The sum is of whole numbers, so it has one right answer; the rate is the bus bandwidth as NCCL's own tests count it.
Tests: tests/probes/test_without_a_gpu.py; one GPU and a gang of one in bench/results; more was not to be had
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from seatrial.probes.measuring import framework, timing
from seatrial.probes.measuring.unmeasurable import Unmeasurable
from seatrial.probes.payloads.options import Options
from seatrial.probes.report import Notes

BYTES: Final = 1 << 30
DEADLINE_SECONDS: Final = 300
GANG: Final = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


def look_in_node(options: Options, notes: Notes) -> None:
    count = framework.torch_with_gpu().cuda.device_count()
    if count < 2:
        raise Unmeasurable("this container has one GPU; a sum over several needs more")
    _tell(_gang_of(count, options), count, notes)


def look_in_gang(options: Options, notes: Notes) -> None:
    framework.torch_with_gpu()
    missing = [name for name in GANG if not os.environ.get(name)]
    if missing:
        raise Unmeasurable(f"{', '.join(missing)} is not set: this process is not one of a gang")
    local = int(os.environ.get("LOCAL_RANK", "0"))
    _tell(reduce(local, options.effort), int(os.environ["WORLD_SIZE"]), notes)


def reduce(local: int, effort: timing.Effort) -> dict[str, Any]:
    """Take part in one sum after the other: how many numbers were wrong, and how fast it went."""
    import torch
    import torch.distributed as gang

    torch.cuda.set_device(local)
    gang.init_process_group("nccl", timeout=timedelta(seconds=DEADLINE_SECONDS))
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


def _gang_of(count: int, options: Options) -> dict[str, Any]:
    """Start one process for each GPU; the answer of the first."""
    with socket.socket() as free, tempfile.TemporaryDirectory() as folder:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        around = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
        command = [sys.executable, "-m", __name__, str(options.effort.blocks), str(options.effort.warm_seconds)]
        errors = [Path(folder) / f"{rank}.err" for rank in range(count)]
        gang = [
            subprocess.Popen(
                command,
                env={**around, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=errors[rank].open("w"),
                text=True,
            )
            for rank in range(count)
        ]
        try:
            said = [each.communicate(timeout=DEADLINE_SECONDS)[0] for each in gang]
        except subprocess.TimeoutExpired as err:
            raise TimeoutError(f"the GPUs have not found each other within {DEADLINE_SECONDS} s") from err
        finally:
            for each in gang:
                each.kill()
        for rank, each in enumerate(gang):
            if each.returncode:
                lines = errors[rank].read_text(encoding="utf-8").strip().splitlines() or ["it said nothing"]
                raise RuntimeError(f"GPU {rank} left the gang: {lines[-1]}")
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
    print(
        json.dumps(reduce(int(os.environ["LOCAL_RANK"]), timing.Effort(blocks=int(blocks), warm_seconds=float(warm))))
    )
