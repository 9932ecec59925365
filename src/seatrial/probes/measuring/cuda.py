"""CUDA without a framework: does it start on every GPU, and which GPUs reach each other?

Asked in a process of its own, because a driver that is not well lets the first call hang for ever, and because a
process that has called CUDA once cannot begin anew. Tests: tests/probes/test_without_a_gpu.py
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Final

from seatrial.probes.measuring.unmeasurable import Unmeasurable

LIBRARY: Final = "libcuda.so.1"
DEADLINE_SECONDS: Final = 120.0
NO_DEVICE: Final = 100
WORDS: Final = {
    2: "out of memory",
    3: "CUDA is not initialised",
    46: "the device is busy or held exclusively",
    100: "no GPU is visible",
    101: "there is no such device",
    802: "the system is not ready: the Fabric Manager has not set up NVLink yet, or has failed",
    803: "the user-space library and the kernel module are of different driver versions",
    804: "forward compatibility was asked for on hardware that does not support it",
    999: "unknown error of the driver",
}
"""What the CUDA errors mean that a sick driver gives; others are told by number."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What CUDA said: an error of its own, or the error of each GPU (0 is none), and who reaches whom."""

    error: int
    version: int
    devices: tuple[int, ...]
    peers: tuple[tuple[int, int], ...]


def ask(deadline_seconds: float = DEADLINE_SECONDS) -> Answer:
    """Start CUDA on every visible GPU; Unmeasurable where there is no CUDA, or no answer in time."""
    command = [sys.executable, "-m", __name__]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=deadline_seconds, check=False)
    except subprocess.TimeoutExpired as err:
        raise TimeoutError(f"CUDA has not started within {deadline_seconds:.0f} s") from err
    if done.returncode or not done.stdout:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        raise Unmeasurable(f"CUDA cannot be asked: {lines[-1]}")
    found = json.loads(done.stdout)
    return Answer(
        error=found["error"],
        version=found["version"],
        devices=tuple(found["devices"]),
        peers=tuple((one, other) for one, other in found["peers"]),
    )


def words(error: int) -> str:
    return f"CUDA error {error}" + (f", {WORDS[error]}" if error in WORDS else "")


def _look() -> dict[str, object]:
    try:
        cuda = ctypes.CDLL(LIBRARY)
    except OSError as err:
        raise SystemExit(f"{LIBRARY} cannot be loaded ({err}): no NVIDIA driver is in this container") from err
    error = cuda.cuInit(0)
    count, version = ctypes.c_int(0), ctypes.c_int(0)
    cuda.cuDriverGetVersion(ctypes.byref(version))
    error = error or cuda.cuDeviceGetCount(ctypes.byref(count))
    handles = [ctypes.c_int(0) for _ in range(count.value)]
    devices = [
        cuda.cuDeviceGet(ctypes.byref(each), number) or _start(cuda, each) for number, each in enumerate(handles)
    ]
    peers = [
        (one, other)
        for one, first in enumerate(handles)
        for other, second in enumerate(handles)
        if one != other and _reaches(cuda, first, second)
    ]
    return {"error": error, "version": version.value, "devices": devices, "peers": peers}


def _start(cuda: ctypes.CDLL, device: ctypes.c_int) -> int:
    """Make a context on it, and take it away again: the first thing every job does."""
    context = ctypes.c_void_p()
    error = int(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    if not error:
        cuda.cuDevicePrimaryCtxRelease_v2(device)
    return error


def _reaches(cuda: ctypes.CDLL, one: ctypes.c_int, other: ctypes.c_int) -> bool:
    can = ctypes.c_int(0)
    return cuda.cuDeviceCanAccessPeer(ctypes.byref(can), one, other) == 0 and bool(can.value)


if __name__ == "__main__":
    print(json.dumps(_look()))
