"""What a payload says: measurements with the state the GPU was in, what is broken, and what is not known.

Law of this file: a report is a value, the same document as JSON and in a pod's termination message. There it is made
shorter until it fits: circumstances go first, then of many GPUs the lowest and the highest figure stay, which is what
limits are about; only then is it cut, the worst kept, and says so. Tests: tests/probes/test_report.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

TERMINATION_BYTES_MAX: Final = 4096
"""What a kubelet keeps of a termination message."""
TEXT_MAX: Final = 300


class Verdict(StrEnum):
    """What a payload can say by itself, the worst last."""

    MEASURED = "measured"
    UNKNOWN = "unknown"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One figure of one GPU, or of the node where `gpu` is empty."""

    name: str
    value: float
    unit: str = ""
    gpu: str = ""
    spread: float | None = None
    """How much single blocks vary, relative to the value: 1.4826 times the median deviation."""
    low: float | None = None
    high: float | None = None
    """The value's own interval at 99 %, where it is the median of blocks."""
    count: int = 1
    under: dict[str, float | str] = field(default_factory=dict)
    """The state the GPU was in: clocks, power, temperature, what held it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Something that is broken, or that could not be measured."""

    name: str
    why: str
    gpu: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What one run of one payload has to say."""

    probe: str
    at: str
    seconds: float
    driver: str = ""
    gpus: tuple[str, ...] = ()
    measured: tuple[Measured, ...] = ()
    broken: tuple[Told, ...] = ()
    unknown: tuple[Told, ...] = ()

    @property
    def verdict(self) -> Verdict:
        if self.broken:
            return Verdict.FAILED
        return Verdict.UNKNOWN if self.unknown or not self.measured else Verdict.MEASURED

    @property
    def why(self) -> str:
        """The first thing to know: what is broken, or else what is unknown."""
        told = self.broken or self.unknown
        if not told:
            return "" if self.measured else "nothing was measured"
        more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
        return f"{_who(told[0])}: {told[0].why}{more}"

    def document(self) -> dict[str, Any]:
        """The report as a JSON document."""
        head = {"probe": self.probe, "verdict": self.verdict.value, "why": self.why[:TEXT_MAX]}
        rest = {key: value for key, value in asdict(self).items() if key != "probe" and (value or key == "seconds")}
        for key in ("measured", "broken", "unknown"):
            rest[key] = [
                {name: value for name, value in each.items() if value or name == "value"} for each in rest.get(key, ())
            ]
        return {**head, **rest}

    def termination_message(self) -> str:
        """The report in as many bytes as a kubelet keeps."""
        document = self.document()
        for each in document["measured"]:
            each.pop("under", None)
        if len(_packed(document)) > TERMINATION_BYTES_MAX:
            document["measured"] = [_bare(each) for each in _lowest_and_highest(document["measured"])]
            document["summarised"] = True
        for key in ("measured", "unknown", "broken"):
            entries = document[key]
            while entries and len(_packed(document)) > TERMINATION_BYTES_MAX:
                entries.pop()
                document["cut"] = True
        return _packed(document).decode()


def _lowest_and_highest(measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of every figure the lowest and the highest that any GPU has, in the order in which they were measured."""
    names = dict.fromkeys(each["name"] for each in measured)
    kept: list[dict[str, Any]] = []
    for name in names:
        of_name = sorted((each for each in measured if each["name"] == name), key=lambda each: each["value"])
        kept += of_name[:1] if len(of_name) == 1 else [of_name[0], of_name[-1]]
    return kept


def _bare(measured: dict[str, Any]) -> dict[str, Any]:
    return {key: measured[key] for key in ("name", "value", "unit", "gpu") if key in measured}


def _packed(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=True).encode()


def _who(told: Told) -> str:
    return f"{told.name} on {told.gpu}" if told.gpu else told.name


@dataclass(slots=True)
class Notes:
    """What a payload writes down while it looks."""

    measured: list[Measured] = field(default_factory=list)
    broken: list[Told] = field(default_factory=list)
    unknown: list[Told] = field(default_factory=list)
    optional: tuple[str, ...] = ()
    """Figures that may be missing: nobody waits for what only a privileged pod could see."""

    def measure(self, name: str, value: float, unit: str = "", *, gpu: str = "", **more: Any) -> None:
        self.measured.append(Measured(name=name, value=value, unit=unit, gpu=gpu, **more))

    def breaks(self, name: str, why: str, *, gpu: str = "") -> None:
        self.broken.append(Told(name=name, why=why[:TEXT_MAX], gpu=gpu))

    def misses(self, name: str, why: str, *, gpu: str = "") -> None:
        if name not in self.optional:
            self.unknown.append(Told(name=name, why=why[:TEXT_MAX], gpu=gpu))

    def report(self, probe: str, at: str, seconds: float, driver: str = "", gpus: Iterable[str] = ()) -> Report:
        return Report(
            probe=probe,
            at=at,
            seconds=round(seconds, 3),
            driver=driver,
            gpus=tuple(gpus),
            measured=tuple(self.measured),
            broken=tuple(self.broken),
            unknown=tuple(self.unknown),
        )
