"""What a campaign's status keeps of telemetry and of figures that are compared, as it is written and read.

As in models.py, what is not named here is dropped while decoding.
"""

from __future__ import annotations

from seatrial.adapters.kube.shapes.model import Model


class ExposureEntry(Model, frozen=True):
    node: str
    watched_seconds: float
    watched_gpu_hours: float
    loaded_gpu_hours: float
    soaked_gpu_hours: float = 0.0


class RareEntry(Model, frozen=True):
    name: str
    events: int
    watched_hours: float
    loaded_hours: float
    control_events: int
    control_hours: float
    log_ratios: tuple[float, ...]


class ExposedEntry(Model, frozen=True):
    since: str
    watched_until: str
    waiting_seconds: float = 0.0
    lack: str = ""
    controls: tuple[str, ...] = ()
    followers: tuple[str, ...] = ()
    canaries: tuple[ExposureEntry, ...] = ()
    rare: tuple[RareEntry, ...] = ()


class ComparedGate(Model, frozen=True):
    name: str
    asked: str


class MissingEntry(Model, frozen=True):
    node: str
    why: str


class TrackEntry(Model, frozen=True, omit_defaults=True):
    figure: str
    node: str
    lens: str = "plain"
    unit: str = ""
    gpus: int = 0
    held: bool = False
    before: tuple[float, ...] = ()
    after: tuple[float, ...] = ()
    paired_before: tuple[float, ...] = ()
    paired: tuple[float, ...] = ()


class ComparisonEntry(Model, frozen=True, omit_defaults=True):
    canary: str
    controls: tuple[str, ...] = ()
    round: int = 0
    tracks: tuple[TrackEntry, ...] = ()


class ComparedEntry(Model, frozen=True, omit_defaults=True):
    gates: tuple[ComparedGate, ...] = ()
    comparisons: tuple[ComparisonEntry, ...] = ()
    baseline_from: int = 0
    baseline_rounds: int = 0
    measured: bool = False
    missing_before: tuple[MissingEntry, ...] = ()
    missing: tuple[MissingEntry, ...] = ()


class GateEntry(Model, frozen=True, omit_defaults=True):
    gate: str
    node: str
    round: int
    verdict: str
    detail: str = ""
    at: str = ""
    asked: str = ""
    left_out: bool = False


class LeftOutEntry(Model, frozen=True):
    gate: str
    node: str
    why: str


class SuiteEntry(Model, frozen=True, omit_defaults=True):
    image: str
    left_out: tuple[LeftOutEntry, ...] = ()


class CostEntry(Model, frozen=True):
    idle_gpu_seconds: float = 0.0
    thrown_gpu_seconds: float = 0.0
    reload_gpu_seconds: float = 0.0
    evictions: int = 0
    evicting_gpu_seconds: float = 0.0
