"""PyTorch, where it is there and sees a GPU. Tests: tests/probes/test_without_a_gpu.py"""

from __future__ import annotations

from typing import Any

from seatrial.probes.measuring.nvml import Gpu, Machine
from seatrial.probes.measuring.unmeasurable import Unmeasurable


def torch_with_gpu() -> Any:
    """The module `torch`, on a machine where it can use a GPU."""
    try:
        import torch
    except ImportError as err:
        raise Unmeasurable("PyTorch is not installed in this image; name one that has it") from err
    if not torch.cuda.is_available():
        raise Unmeasurable("PyTorch sees no GPU: this container was given none, or CUDA does not start")
    return torch


def seen_as(torch: Any, machine: Machine, number: int) -> Gpu | None:
    """The GPU that PyTorch counts as `number`, as NVML knows it: their orders may differ."""
    found = str(torch.cuda.get_device_properties(number).uuid).removeprefix("GPU-")
    return next((each for each in machine.gpus if each.uuid.removeprefix("GPU-") == found), None)
