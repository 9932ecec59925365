"""smoke-infer: a known answer, right to the last bit, and how long it took.

The weights are -1, 0 and 1 and the inputs small whole numbers: every product and every sum is a whole number that the
GPU's accumulators hold exactly, so there is one right answer on every product, and the CPU works it out in integers.
Tests: results of a real GPU in bench/results; tests/probes/test_without_a_gpu.py
"""

from __future__ import annotations

import time
from typing import Any, Final

from seatrial.probes.measuring import framework, nvml, timing
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes

SEED: Final = 7
WIDTH: Final = 1024
BATCH: Final = 64
LAYERS: Final = 3
CEILING: Final = 4
"""What a layer hands on at most; so sums stay below 2^24, where fp32 holds every whole number."""
ASKED: Final = 200
SHARES: Final = ((0.5, "latency-p50"), (0.95, "latency-p95"), (0.99, "latency-p99"))


def look(options: Options, notes: Notes) -> None:
    torch = framework.torch_with_gpu()
    precise = torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    with nvml.opened() as machine:
        try:
            for number in range(torch.cuda.device_count()):
                gpu = framework.seen_as(torch, machine, number)
                _look_at(torch, torch.device("cuda", number), gpu.uuid if gpu else f"device {number}", options, notes)
        finally:
            torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = precise


def _look_at(torch: Any, device: Any, gpu: str, options: Options, notes: Notes) -> None:
    drawing = torch.Generator().manual_seed(SEED)
    weights = [torch.randint(-1, 2, (WIDTH, WIDTH), generator=drawing) for _ in range(LAYERS)]
    asked = torch.randint(0, CEILING + 1, (BATCH, WIDTH), generator=drawing)
    right = answer(torch, weights, asked).to(torch.bfloat16)
    placed = [each.to(device, torch.bfloat16) for each in weights]
    given = asked.to(device, torch.bfloat16)
    wrong, seconds = 0, []
    for _ in range(options.effort.blocks):  # warm: the first calls choose kernels
        answer(torch, placed, given)
    for _ in range(ASKED):
        torch.cuda.synchronize(device)
        begun = time.perf_counter()
        found = answer(torch, placed, given)
        torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - begun)
        wrong += int((found.cpu() != right).sum())
    notes.measure("answers-wrong", wrong, "numbers", gpu=gpu, count=ASKED)
    if wrong:
        notes.breaks("answers", f"{wrong} of {ASKED * BATCH * WIDTH} numbers are wrong", gpu=gpu)
    for share, name in SHARES:
        notes.measure(name, timing.percentile(seconds, share) * 1e6, "µs", gpu=gpu, count=ASKED)


def answer(torch: Any, weights: list[Any], given: Any) -> Any:
    """What the network answers; the last layer is not cut off."""
    for number, layer in enumerate(weights):
        given = given @ layer
        if number < len(weights) - 1:
            given = torch.clamp(given, 0, CEILING)
    return given
