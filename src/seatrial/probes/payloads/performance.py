"""performance: how fast this GPU multiplies, copies and starts kernels, with the clocks and the power it had.

    matrix-bf16, -fp8, -fp32    TFLOP/s, random numbers: zeros draw less power and look faster
    hbm-copy                    bytes read and written
    host-to-device, -to-host    from pinned memory
    peer-to-peer                to every other GPU that can be reached
    launch                      from asking for an empty kernel to its end

Every figure is had in several places of memory, after the GPU was brought to its working temperature. Figures say
nothing by themselves; they are held against the same node before, and against other nodes.
Tests: tests/probes/test_without_a_gpu.py; results of a real GPU in bench/results
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any, Final

from seatrial.probes.measuring import clocks, framework, nvml, timing
from seatrial.probes.measuring.unmeasurable import Unmeasurable
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes

SIZE: Final = 8192
PRODUCTS: Final = 10
FP32_SIZE: Final = 4096
COPY_BYTES: Final = 4 << 30
COPIES: Final = 10
HOST_BYTES: Final = 1 << 30
LAUNCHES: Final = 1000
FP8_FIRST: Final = (8, 9)
"""The first compute capability that multiplies fp8: Ada."""

Work = tuple[str, str, float, Callable[[], object]]
"""Name, unit, amount per block, and the work of one block."""
Maker = Callable[[Any, int], Iterator[Work]]


def look(options: Options, notes: Notes) -> None:
    torch = framework.torch_with_gpu()
    with nvml.opened() as machine:
        for number in range(torch.cuda.device_count()):
            gpu = framework.seen_as(torch, machine, number)
            if gpu is None:
                notes.misses(
                    "performance", "NVML does not know this device; is it a part of a GPU?", gpu=f"device {number}"
                )
                continue
            torch.cuda.set_device(number)
            with clocks.locked(gpu, options.lock_mhz) if options.lock_mhz else nullcontext():
                _look_at(torch, number, gpu, options, notes)


def _look_at(torch: Any, number: int, gpu: nvml.Gpu, options: Options, notes: Notes) -> None:
    _warm_up(torch, number, options)
    for maker in MAKERS:
        try:
            for name, (unit, found) in _measured(maker, torch, number, gpu, options).items():
                why = clocks.why_not_held(options.lock_mhz, found["under"]) if _is_held(name, options) else ""
                if why:
                    notes.misses(name, why, gpu=gpu.uuid)
                else:
                    notes.measure(name=name, unit=unit, gpu=gpu.uuid, **found)
        except Unmeasurable as err:
            notes.misses(maker.__name__.strip("_"), str(err), gpu=gpu.uuid)
        except torch.cuda.OutOfMemoryError:
            notes.misses(
                maker.__name__.strip("_"), "there is not enough free memory: somebody works here", gpu=gpu.uuid
            )
        torch.cuda.empty_cache()
    if not options.only or "launch" in options.only:
        _launch(torch, gpu, options, notes)


def _measured(
    maker: Maker, torch: Any, number: int, gpu: nvml.Gpu, options: Options
) -> dict[str, tuple[str, dict[str, Any]]]:
    """Every figure of one kind, over as many places of memory as are asked for."""
    timed: dict[str, timing.Timed] = {}
    told: dict[str, tuple[str, float]] = {}
    for _ in range(options.effort.places):
        for name, unit, amount, work in maker(torch, number):
            if options.only and name not in options.only:
                continue
            found = timing.blocks(work, torch, gpu, options.effort)
            timed[name] = timed[name] + found if name in timed else found
            told[name] = unit, amount
        torch.cuda.empty_cache()
    return {name: (unit, timed[name].rate(amount)) for name, (unit, amount) in told.items()}


def _warm_up(torch: Any, number: int, options: Options) -> None:
    """A cold GPU is faster than one that has worked for a while, and jobs run on the latter."""
    until = time.monotonic() + options.heat_seconds
    for _, _, _, work in _bf16(torch, number):
        while time.monotonic() < until:
            work()
            torch.cuda.synchronize()


def _is_held(name: str, options: Options) -> bool:
    """Copies to and from the host leave the cores idle, and idle cores slow down whatever was asked."""
    return bool(options.lock_mhz) and name.startswith("matrix")


def _bf16(torch: Any, _number: int) -> Iterator[Work]:
    one, other = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    into = torch.empty_like(one)
    yield "matrix-bf16", "TFLOP/s", _tera(SIZE, PRODUCTS), _times(PRODUCTS, lambda: torch.mm(one, other, out=into))


def _fp8(torch: Any, number: int) -> Iterator[Work]:
    if torch.cuda.get_device_capability(number) < FP8_FIRST:
        return  # this product has no fp8: nothing is missing
    if not hasattr(torch, "_scaled_mm") or not hasattr(torch, "float8_e4m3fn"):
        raise Unmeasurable("this PyTorch multiplies no fp8")
    one, other = (torch.randn(SIZE, SIZE, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
    scale = torch.ones((), device="cuda")

    def multiply() -> object:
        return torch._scaled_mm(one, other.t(), scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)

    yield "matrix-fp8", "TFLOP/s", _tera(SIZE, PRODUCTS), _times(PRODUCTS, multiply)


def _fp32(torch: Any, _number: int) -> Iterator[Work]:
    torch.backends.cuda.matmul.allow_tf32 = False
    one, other = (torch.randn(FP32_SIZE, FP32_SIZE, device="cuda") for _ in range(2))
    into = torch.empty_like(one)
    yield "matrix-fp32", "TFLOP/s", _tera(FP32_SIZE, PRODUCTS), _times(PRODUCTS, lambda: torch.mm(one, other, out=into))


def _hbm(torch: Any, _number: int) -> Iterator[Work]:
    one, other = (torch.empty(COPY_BYTES, device="cuda", dtype=torch.uint8) for _ in range(2))
    yield "hbm-copy", "GB/s", 2 * COPIES * COPY_BYTES / 1e9, _times(COPIES, lambda: other.copy_(one))


def _host(torch: Any, _number: int) -> Iterator[Work]:
    here = torch.empty(HOST_BYTES, dtype=torch.uint8, pin_memory=True)
    there = torch.empty(HOST_BYTES, device="cuda", dtype=torch.uint8)
    yield "host-to-device", "GB/s", HOST_BYTES / 1e9, lambda: there.copy_(here, non_blocking=True)
    yield "device-to-host", "GB/s", HOST_BYTES / 1e9, lambda: here.copy_(there, non_blocking=True)


def _peers(torch: Any, number: int) -> Iterator[Work]:
    one = torch.empty(HOST_BYTES, device="cuda", dtype=torch.uint8)
    for other in range(torch.cuda.device_count()):
        if other != number and torch.cuda.can_device_access_peer(number, other):
            there = torch.empty(HOST_BYTES, device=torch.device("cuda", other), dtype=torch.uint8)
            yield f"peer-to-peer-{other}", "GB/s", HOST_BYTES / 1e9, _copying(there, one)


MAKERS: Final[tuple[Maker, ...]] = (_bf16, _fp8, _fp32, _hbm, _host, _peers)


def _copying(there: Any, here: Any) -> Callable[[], object]:
    return lambda: there.copy_(here, non_blocking=True)


def _launch(torch: Any, gpu: nvml.Gpu, options: Options, notes: Notes) -> None:
    """From asking to the end, by the clock of the host: that is what a job waits for."""
    tiny = torch.zeros(1, device="cuda")
    seconds = []
    for _ in range(options.effort.blocks + 1):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(LAUNCHES):
            tiny.add_(1)
            torch.cuda.current_stream().synchronize()
        seconds.append((time.perf_counter() - begun) / LAUNCHES * 1e6)
    notes.measure(name="launch", unit="µs", gpu=gpu.uuid, **timing.figures(seconds[1:]))


def _times(count: int, work: Callable[[], object]) -> Callable[[], object]:
    def block() -> None:
        for _ in range(count):
            work()

    return block


def _tera(size: int, count: int) -> float:
    return 2 * size**3 * count / 1e12
