"""soak: work for a given time, on every GPU at once, and look whether every answer stays what it was.

    matrix       a product in bf16 that is always the same one: the same numbers have to come out, to the last bit
    copy         the memory of the GPU from one half to the other, and back
    collective   with more than one GPU, a sum over all of them that has one right answer

The three are taken in turn, and no GPU waits for another but in a sum. Rates are those of the whole time, heat and
power limit included. Whoever is told to stop stops after the turn it is in, and tells what it saw until then.
Tests: tests/probes/test_soak.py; results of a real GPU in bench/results
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from seatrial.probes.measuring import framework, nvml, timing
from seatrial.probes.measuring.unmeasurable import Unmeasurable
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes

SIZE: Final = 8192
PRODUCTS: Final = 40
COPY_BYTES: Final = 2 << 30
COPIES: Final = 20
SUM_NUMBERS: Final = 1 << 26
SUMS: Final = 4


@dataclass(slots=True, kw_only=True)
class Worked:
    """What one GPU has done so far."""

    products: int = 0
    product_seconds: float = 0.0
    copies: int = 0
    copy_seconds: float = 0.0
    wrong: int = 0
    states: list[dict[str, float | str]] = field(default_factory=list)


def look(options: Options, notes: Notes) -> None:
    torch = framework.torch_with_gpu()
    with nvml.opened() as machine, _told_to_stop() as is_told:
        count = torch.cuda.device_count()
        gpus = [framework.seen_as(torch, machine, number) for number in range(count)]
        try:
            benches = [Bench(torch, number) for number in range(count)]
        except torch.cuda.OutOfMemoryError as err:
            raise Unmeasurable("there is not enough free memory: somebody works here") from err
        begun = time.monotonic()
        sums, sums_wrong, sum_seconds = 0, 0, 0.0
        while time.monotonic() - begun < options.seconds and not is_told():
            _turn(benches, gpus)
            if count > 1:
                at = time.monotonic()
                sums_wrong += summed(torch, count)
                sums, sum_seconds = sums + SUMS, sum_seconds + time.monotonic() - at
        seconds = time.monotonic() - begun
        for bench, gpu in zip(benches, gpus, strict=True):
            tell(bench.worked, gpu.uuid if gpu is not None else f"device {bench.number}", notes)
    notes.measure("soaked", round(seconds, 1), "s")
    if count > 1:
        notes.measure("soak-sums", sums * SUM_NUMBERS * 4 / sum_seconds / 1e9, "GB/s")
        if sums_wrong:
            notes.breaks("soak-sums", f"{sums_wrong} numbers of a sum over {count} GPUs were wrong")


def tell(worked: Worked, gpu: str, notes: Notes) -> None:
    """The rates of one GPU, and whether every answer was the same."""
    under = timing.summed_up(worked.states) if worked.states else {}
    if worked.product_seconds:
        rate = 2 * SIZE**3 * worked.products / worked.product_seconds / 1e12
        notes.measure("soak-matrix", rate, "TFLOP/s", gpu=gpu, count=worked.products, under=under)
    if worked.copy_seconds:
        rate = 2 * COPY_BYTES * worked.copies / worked.copy_seconds / 1e9
        notes.measure("soak-copy", rate, "GB/s", gpu=gpu, count=worked.copies)
    notes.measure("soak-wrong", worked.wrong, "answers", gpu=gpu)
    if worked.wrong:
        notes.breaks("soak", f"{worked.wrong} answers differed from the first one to the same question", gpu=gpu)


class Bench:
    """One GPU with its matrices, and the answer that has to come out."""

    def __init__(self, torch: Any, number: int) -> None:
        self.number, self.worked = number, Worked()
        self._torch = torch
        with torch.cuda.device(number):
            torch.manual_seed(1)  # the same question on every GPU
            self._one, self._other = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
            self._answer = torch.mm(self._one, self._other)
            self._into = torch.empty_like(self._answer)
            self._here, self._there = (torch.empty(COPY_BYTES, device="cuda", dtype=torch.uint8) for _ in range(2))
            self._marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]

    def begin(self) -> None:
        """Ask the GPU for one turn; it works on while others are asked."""
        torch = self._torch
        with torch.cuda.device(self.number):
            self._marks[0].record()
            for _ in range(PRODUCTS):
                torch.mm(self._one, self._other, out=self._into)
            self._marks[1].record()
            for turn in range(COPIES):
                into, out_of = (self._there, self._here) if turn % 2 else (self._here, self._there)
                into.copy_(out_of)
            self._marks[2].record()

    def end(self, gpu: nvml.Gpu | None) -> None:
        """Wait for the turn, and look at what came out."""
        if gpu is not None:
            self.worked.states.append(gpu.state())  # asked while it works: afterwards its clocks fall
        self._marks[2].synchronize()
        self.worked.products += PRODUCTS
        self.worked.product_seconds += self._marks[0].elapsed_time(self._marks[1]) / 1000
        self.worked.copies += COPIES
        self.worked.copy_seconds += self._marks[1].elapsed_time(self._marks[2]) / 1000
        self.worked.wrong += int(not self._torch.equal(self._into, self._answer))


def _turn(benches: list[Bench], gpus: list[nvml.Gpu | None]) -> None:
    for bench in benches:
        bench.begin()
    for bench, gpu in zip(benches, gpus, strict=True):
        bench.end(gpu)


def summed(torch: Any, count: int) -> int:
    """How many numbers of a sum over all GPUs are wrong; whole numbers have one right answer."""
    wrong = 0
    for _ in range(SUMS):
        numbers = [torch.full((SUM_NUMBERS,), float(each + 1), device=f"cuda:{each}") for each in range(count)]
        torch.cuda.nccl.all_reduce(numbers)
        right = count * (count + 1) / 2
        wrong += sum(int((each != right).sum()) for each in numbers)
    return wrong


@contextmanager
def _told_to_stop() -> Iterator[Callable[[], bool]]:
    """Whether somebody wants this to end: a pod that gives way is told so, and killed if it does not listen."""
    told: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    try:
        yield lambda: bool(told)
    finally:
        signal.signal(signal.SIGTERM, before)
