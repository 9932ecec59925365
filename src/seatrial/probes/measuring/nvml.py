"""The GPUs of this machine as NVML sees them.

Law of this file: nothing is guessed. A question that a GPU does not answer is None, and whoever asks says so. NVML is
opened once per payload and closed with it. Tests: tests/probes/test_without_a_gpu.py; results of a real GPU are kept in
bench/results
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from seatrial.probes.measuring.unmeasurable import Unmeasurable

REASONS: Final = {
    "nvmlClocksEventReasonGpuIdle": "idle",
    "nvmlClocksEventReasonApplicationsClocksSetting": "application-clocks",
    "nvmlClocksEventReasonSwPowerCap": "power-limit",
    "nvmlClocksThrottleReasonHwSlowdown": "hardware-slowdown",
    "nvmlClocksEventReasonSyncBoost": "sync-boost",
    "nvmlClocksEventReasonSwThermalSlowdown": "thermal",
    "nvmlClocksThrottleReasonHwThermalSlowdown": "hardware-thermal",
    "nvmlClocksThrottleReasonHwPowerBrakeSlowdown": "power-brake",
}
"""NVML's names of what holds clocks back, and ours."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU, and the way to ask NVML about it."""

    index: int
    uuid: str
    product: str
    handle: Any
    nvml: ModuleType

    def ask(self, name: str, *arguments: Any) -> Any:
        """The answer to one of NVML's questions; None where this GPU, driver or library has none."""
        question: Callable[..., Any] | None = getattr(self.nvml, name, None)
        if question is None:
            return None
        try:
            return question(self.handle, *arguments)
        except self.nvml.NVMLError:
            return None

    def state(self) -> dict[str, float | str]:
        """Clocks, power and temperature now, and what holds the clocks back."""
        nvml = self.nvml
        power = self.ask("nvmlDeviceGetPowerUsage")
        asked = {
            "sm_mhz": self.ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM),
            "memory_mhz": self.ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM),
            "watts": None if power is None else power / 1000,
            "celsius": self.ask("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
        }
        found: dict[str, float | str] = {key: value for key, value in asked.items() if value is not None}
        held = self.held_back()
        return found if held is None else {**found, "held_back": " ".join(held)}

    def held_back(self) -> tuple[str, ...] | None:
        """What holds the clocks back at this moment; None where that cannot be asked."""
        found = self.ask("nvmlDeviceGetCurrentClocksEventReasons")
        if found is None:
            return None
        return tuple(word for name, word in REASONS.items() if found & getattr(self.nvml, name, 0))


@dataclass(frozen=True, slots=True)
class Machine:
    """All GPUs that this process may see, and the driver they run."""

    driver: str
    gpus: tuple[Gpu, ...]
    nvml: ModuleType


@contextmanager
def opened() -> Iterator[Machine]:
    """The machine's GPUs, while the context lasts."""
    nvml = _library()
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as err:
        raise Unmeasurable(
            f"NVML does not start ({err}): no NVIDIA driver is loaded, or this container was given no GPU"
        ) from err
    try:
        yield Machine(driver=_text(nvml.nvmlSystemGetDriverVersion()), gpus=tuple(_gpus(nvml)), nvml=nvml)
    finally:
        nvml.nvmlShutdown()


def _gpus(nvml: ModuleType) -> Iterator[Gpu]:
    for index in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        yield Gpu(
            index=index,
            uuid=_text(nvml.nvmlDeviceGetUUID(handle)),
            product=_text(nvml.nvmlDeviceGetName(handle)),
            handle=handle,
            nvml=nvml,
        )


def _library() -> ModuleType:
    try:
        import pynvml
    except ImportError as err:
        raise Unmeasurable("the Python package nvidia-ml-py is not installed in this image") from err
    library: ModuleType = pynvml
    return library


def _text(found: Any) -> str:
    return found.decode() if isinstance(found, bytes) else str(found)
