"""deep-readiness: would a job start here? CUDA on every GPU, peers, fabric, versions, MIG.

"The driver pod is Ready" is no answer: it stays Ready while the Fabric Manager has failed and every CUDA call gives
error 802. Tests: tests/probes/test_without_a_gpu.py; results of a real GPU in bench/results
"""

from __future__ import annotations

import re
from ctypes import byref
from typing import Final

from seatrial.probes.measuring import cuda, nvml
from seatrial.probes.measuring.unmeasurable import Unmeasurable
from seatrial.probes.payloads.options import Options
from seatrial.probes.payloads.report import Notes

FABRIC_COMPLETED: Final = 3
FABRIC_WORDS: Final = {0: "not supported", 1: "not started", 2: "in progress", 3: "completed"}


def look(options: Options, notes: Notes) -> None:
    _look_at_cuda(notes)
    with nvml.opened() as machine:
        _compare_versions(machine, options, notes)
        for gpu in machine.gpus:
            _look_at_fabric(gpu, notes)
            _look_at_mig(gpu, notes)


def _look_at_cuda(notes: Notes) -> None:
    try:
        found = cuda.ask()
    except TimeoutError as err:
        notes.breaks("cuda", str(err))
        return
    except Unmeasurable as err:
        notes.misses("cuda", str(err))
        return
    if found.error == cuda.NO_DEVICE:
        notes.misses("cuda", cuda.words(found.error))
        return
    if found.error:
        notes.breaks("cuda", cuda.words(found.error))
    for number, error in enumerate(found.devices):
        if error:
            notes.breaks("cuda", cuda.words(error), gpu=f"device {number}")
    notes.measure("gpus", len(found.devices))
    notes.measure("gpus-started", sum(not error for error in found.devices))
    notes.measure("peers", len(found.peers), "pairs")


def _compare_versions(machine: nvml.Machine, options: Options, notes: Notes) -> None:
    """The library in this container and the module in the kernel must be of one driver."""
    file = options.root / "proc/driver/nvidia/version"
    try:
        found = re.search(r"Kernel Module.*?\s(\d+\.\d+(?:\.\d+)*)\s", file.read_text(encoding="utf-8"))
    except OSError as err:
        notes.misses("driver-versions", f"{file} cannot be read: {err.strerror}")
        return
    if found is None:
        notes.misses("driver-versions", f"{file} names no version")
    elif found[1] != machine.driver:
        notes.breaks("driver-versions", f"the kernel runs {found[1]}, the library here is of {machine.driver}")
    else:
        notes.measure("driver-versions-agree", 1)


def _look_at_fabric(gpu: nvml.Gpu, notes: Notes) -> None:
    """NVSwitch machines only: a GPU that has not joined its fabric reaches no other."""
    library = gpu.nvml
    try:
        info = library.c_nvmlGpuFabricInfo_t()
        library.nvmlDeviceGetGpuFabricInfo(gpu.handle, byref(info))
    except (library.NVMLError, AttributeError):
        return  # this product has no fabric to join
    if info.state in (0, FABRIC_COMPLETED):
        if info.status and info.state:
            notes.breaks("fabric", f"registration ended with {info.status}", gpu=gpu.uuid)
        elif info.state:
            notes.measure("fabric-joined", 1, gpu=gpu.uuid)
        return
    notes.breaks("fabric", f"registration is {FABRIC_WORDS.get(info.state, info.state)}", gpu=gpu.uuid)


def _look_at_mig(gpu: nvml.Gpu, notes: Notes) -> None:
    modes = gpu.ask("nvmlDeviceGetMigMode")
    if modes is None:
        return  # this product knows no MIG
    current, pending = modes
    if current != pending:
        notes.breaks("mig", f"the mode is {current} and will be {pending} after a reset", gpu=gpu.uuid)
    count = gpu.ask("nvmlDeviceGetMaxMigDeviceCount") if current else 0
    parts = [gpu.ask("nvmlDeviceGetMigDeviceHandleByIndex", number) for number in range(count or 0)]
    notes.measure("mig-devices", sum(part is not None for part in parts), gpu=gpu.uuid)
