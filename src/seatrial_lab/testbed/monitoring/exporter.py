"""Plays DCGM exporter: the page it serves of one node's GPUs, with its names and labels and with planted values.

The real one needs a driver. What is played is what a Prometheus sees of it: names, types and labels as release 4.8
writes them, silence, an end and a new beginning, labels that change with the driver and with the pod that uses a GPU.

Tests: tests/adapters/prometheus/test_watcher.py
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from seatrial_lab.testbed import serving

COUNTERS: Final = ("_TOTAL", "_ROWS", "_COUNTER", "_SBE", "_DBE")
"""How the names of those that it calls counters end."""
TEXT: Final = [("Content-Type", "text/plain; version=0.0.4")]


@dataclass(slots=True, kw_only=True)
class Gpu:
    """One GPU: what is told of it now."""

    uuid: str
    values: dict[str, float] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    """Besides its own: the pod that uses it, a MIG slice, the text of an Xid."""
    is_told: bool = True


@dataclass(slots=True, kw_only=True)
class Exporter(serving.Served):
    """One node's exporter, on a free loopback port, while the context lasts."""

    hostname: str
    gpus: list[Gpu] = field(default_factory=list)
    driver: str = "570.158.01"
    hostname_label: str = "Hostname"
    is_silent: bool = False
    """Whether it answers that it cannot say."""
    told_count: int = 0
    refused_count: int = 0

    def handler(self) -> type[serving.Quiet]:
        return type("Handler", (_Handler,), {"exporter": self})

    @property
    def address(self) -> str:
        """Where it is scraped."""
        return f"127.0.0.1:{self.port}"

    def plant(self, metric: str, value: float, *, gpu: int = 0) -> None:
        """Have a GPU say this from now on."""
        self.gpus[gpu].values[metric] = value

    def reload(self, driver: str) -> None:
        """Load another driver: the labels change, and what is counted since the load begins at nought."""
        self.driver = driver
        for gpu in self.gpus:
            gpu.values |= {name: 0.0 for name in gpu.values if "_VOL_" in name}

    def page(self) -> str:
        """The page as it is scraped."""
        told = [(number, gpu) for number, gpu in enumerate(self.gpus) if gpu.is_told]
        metrics = sorted({name for _, gpu in told for name in gpu.values})
        return "".join(line + "\n" for name in metrics for line in self._metric(name, told))

    def _metric(self, name: str, told: Iterable[tuple[int, Gpu]]) -> Iterable[str]:
        yield f"# HELP {name} Planted."
        yield f"# TYPE {name} {'counter' if name.endswith(COUNTERS) else 'gauge'}"
        for number, gpu in told:
            if name in gpu.values:
                yield f"{name}{{{_written(self._labels(number, gpu))}}} {gpu.values[name]}"

    def _labels(self, number: int, gpu: Gpu) -> dict[str, str]:
        named = {self.hostname_label: self.hostname} if self.hostname_label else {}
        return {
            "gpu": str(number),
            "UUID": gpu.uuid,
            "pci_bus_id": f"00000000:{number:02X}:00.0",
            "device": f"nvidia{number}",
            "modelName": "NVIDIA H200",
            **named,
            "DCGM_FI_DRIVER_VERSION": self.driver,
            **gpu.labels,
        }


def _written(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{value}"' for name, value in labels.items() if value)


class _Handler(serving.Quiet):
    exporter: ClassVar[Exporter]

    def answer(self) -> None:
        if self.exporter.is_silent:
            self.send(503, TEXT, b"")
            self.exporter.refused_count += 1
        else:
            self.send(200, TEXT, self.exporter.page().encode())
            self.exporter.told_count += 1
