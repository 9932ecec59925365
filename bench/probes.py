"""Every payload on a real GPU, and how well a loss shows in its figures.

    python -m bench.probes FILE [--figure NAME] [--rounds N] [--lock MHZ LOWER]

It needs a GPU, PyTorch and nvidia-ml-py, and about three minutes for every figure.

    payloads    each one's whole report
    best        the best that plain PyTorch gives, for the share of it that a payload reaches
    free        rounds of three runs: once, the same again, and with a pause of 3 % planted in the work
    locked      the same at locked clocks, the third run at the lower one; only where --lock asks for it, because a
                clock is a setting of the machine

Law of this file: it changes no setting of a GPU that it was not asked to change, and keeps what it measured. A loss
counts as seen where the figure fell by at least LOSS_SEEN.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from seatrial.probes.command import run
from seatrial.probes.measuring import clocks, framework, nvml, timing
from seatrial.probes.payloads import performance
from seatrial.probes.payloads.catalogue import PAYLOADS
from seatrial.probes.payloads.options import Options

PLANTED: Final = 0.03
LOSS_SEEN: Final = 0.01
FIGURES: Final = {
    "matrix-bf16": performance.MAKERS[0],
    "matrix-fp32": performance.MAKERS[2],
    "hbm-copy": performance.MAKERS[3],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--figure", action="append", choices=FIGURES, help="rounds of this figure alone")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--lock", type=int, nargs=2, metavar=("MHZ", "LOWER"))
    args = parser.parse_args()
    torch = framework.torch_with_gpu()
    with nvml.opened() as machine:
        gpu = machine.gpus[0]
        found: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": platform.platform(),
            "torch": torch.__version__,
            "driver": machine.driver,
            "gpu": gpu.product,
        }
        for name in args.figure or FIGURES:
            for kind, mhz in (("free", (0, 0)), *((("locked", tuple(args.lock)),) if args.lock else ())):
                found.setdefault(kind, {})[name] = _rounds(torch, gpu, name, args.rounds, mhz)
                found.setdefault("seen", {})[kind] = _seen(found[kind])
                _keep(args.file, found)
        found["best"] = _best(torch)
        found["payloads"] = {name: run(name, Options()).document() for name in PAYLOADS}
    _keep(args.file, found)
    print(json.dumps({"best": found["best"], "seen": found["seen"]}, indent=1))
    return 0


def _keep(file: Path, found: dict[str, Any]) -> None:
    """Written after every part: a machine on loan may go before the end."""
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _rounds(torch: Any, gpu: nvml.Gpu, name: str, count: int, mhz: tuple[int, ...]) -> list[dict[str, Any]]:
    pause = 0.0 if mhz[0] else PLANTED
    return [
        {
            "before": _run(torch, gpu, name, mhz[0]),
            "same": _run(torch, gpu, name, mhz[0]),
            "planted": _run(torch, gpu, name, mhz[1], pause),
        }
        for _ in range(count)
    ]


def _run(torch: Any, gpu: nvml.Gpu, name: str, mhz: int, pause: float = 0.0) -> dict[str, Any]:
    """One figure as the payload has it; with a pause that takes so large a share of every block."""
    begun, effort, timed = time.monotonic(), timing.Effort(), timing.Timed(seconds=(), states=())
    with clocks.locked(gpu, mhz) if mhz else nullcontext():
        for _ in range(effort.places):
            _, _, amount, work = next(FIGURES[name](torch, 0))
            slowed = _with_pause(torch, work, pause) if pause else work
            timed += timing.blocks(slowed, torch, gpu, effort)
            del work, slowed
            torch.cuda.empty_cache()
    return {**timed.rate(amount), "took_seconds": round(time.monotonic() - begun, 1)}


def _with_pause(torch: Any, work: Any, share: float) -> Any:
    for _ in range(20):
        work()
    cycles, seconds = 10_000_000, _seconds(torch, work)
    pause = int(cycles * seconds * share / (1 - share) / _seconds(torch, lambda: torch.cuda._sleep(cycles)))

    def slower() -> None:
        work()
        torch.cuda._sleep(pause)

    return slower


def _seconds(torch: Any, work: Any, count: int = 10) -> float:
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(count):
        work()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1000 / count


def _seen(kept: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """By figure: in how many rounds the planted loss and the null were taken for a loss, and how far both lay."""
    told = {}
    for name, rounds in kept.items():
        losses = {
            which: [math.log(each["before"]["value"] / each[which]["value"]) for each in rounds]
            for which in ("same", "planted")
        }
        told[name] = {
            which: {
                "taken_for_a_loss": sum(each >= LOSS_SEEN for each in found),
                "of": len(found),
                "smallest": round(min(found), 4),
                "largest": round(max(found), 4),
            }
            for which, found in losses.items()
        } | {"run_seconds": max(each["before"]["took_seconds"] for each in rounds)}
    return told


def _best(torch: Any) -> dict[str, float]:
    """The best of plain loops, without any of our measuring."""
    found = {"matrix-bf16": 0.0, "hbm-copy": 0.0}
    for size in (4096, 8192, 16384):
        one, other = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        seconds = _seconds(torch, lambda one=one, other=other: torch.mm(one, other), 100)
        found["matrix-bf16"] = max(found["matrix-bf16"], 2 * size**3 / seconds / 1e12)
    for size in (1 << 30, 4 << 30, 8 << 30):
        here, there = (torch.empty(size, device="cuda", dtype=torch.uint8) for _ in range(2))
        seconds = _seconds(torch, lambda here=here, there=there: there.copy_(here), 40)
        found["hbm-copy"] = max(found["hbm-copy"], 2 * size / seconds / 1e9)
    return found


if __name__ == "__main__":
    sys.exit(main())
