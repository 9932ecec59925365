"""Clocks held at one value while something is measured, and let go whatever happens.

A lock outlives the process that asked for it, so a second process waits for the first one's end, by SIGKILL too, and
lets the clocks go. `seatrial-probe reset-clocks` does the same by hand.

Law of this file: the clock that was asked for is the clock that was had, or there is no measurement. Above its power
limit a GPU runs slower than it was told, and a loss of three percent does not show. Tests: results on a real GPU are
kept in bench/results
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from seatrial.probes.measuring.nvml import Gpu, opened
from seatrial.probes.measuring.unmeasurable import Unmeasurable

TOLERANCE: Final = 0.01
"""So far may the clock that was had lie from the one that was asked for."""
_GUARD: Final = (
    "import sys; sys.stdin.read(); from seatrial.probes.measuring.clocks import let_go; let_go(sys.argv[1:])"
)


@contextmanager
def locked(gpu: Gpu, mhz: int) -> Iterator[None]:
    """Hold one GPU's clock; a guard lets it go when this process ends, however it ends."""
    guard = subprocess.Popen([sys.executable, "-c", _GUARD, gpu.uuid], stdin=subprocess.PIPE, start_new_session=True)
    try:
        _set(gpu, mhz)
        yield
    finally:
        if guard.stdin is not None:
            guard.stdin.close()
        guard.wait(60)


def why_not_held(mhz: int, under: dict[str, Any]) -> str:
    """Why a measurement was not had at the clock that was asked for; empty where it was."""
    had = under.get("sm_mhz")
    if had is None:
        return f"the clock was locked at {mhz} MHz, and which one ran cannot be read"
    if abs(float(had) - mhz) <= TOLERANCE * mhz:
        return ""
    held = under.get("held_back") or "nothing that NVML names"
    return f"asked for {mhz} MHz and got {had:.0f} ({held}): lock lower, so that the power limit does not decide"


def let_go(uuids: Sequence[str] = ()) -> list[str]:
    """Let the clocks of these GPUs go, or of all; who they were."""
    with opened() as machine:
        chosen = [gpu for gpu in machine.gpus if not uuids or gpu.uuid in uuids]
        for gpu in chosen:
            try:
                machine.nvml.nvmlDeviceResetGpuLockedClocks(gpu.handle)
            except machine.nvml.NVMLError as err:
                raise Unmeasurable(f"the clocks of {gpu.uuid} cannot be let go: {err}") from err
        return [gpu.uuid for gpu in chosen]


def _set(gpu: Gpu, mhz: int) -> None:
    try:
        gpu.nvml.nvmlDeviceSetGpuLockedClocks(gpu.handle, mhz, mhz)
    except gpu.nvml.NVMLError as err:
        raise Unmeasurable(f"the clocks of {gpu.uuid} cannot be locked: {err}; that needs root on the node") from err
