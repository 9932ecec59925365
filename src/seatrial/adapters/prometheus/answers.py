"""What a Prometheus answers, read into plain values. No I/O.

Law of this file: less than all is nothing. An answer with a warning is one that somebody behind it (a store, a remote)
did not add to; it is refused as a whole, since nobody can tell what is missing.

Tests: tests/adapters/prometheus/test_answers.py
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from seatrial.adapters.prometheus.errors import PrometheusUnclear
from seatrial.core.base.values import dataclass
from seatrial.core.model.instants import Instant
from seatrial.core.text import foreign

_WHYS: Final = range(4)
"""Not told, not found, not supported, not permitted: as DCGM counts them up from the first."""
BLANKS: Final = frozenset(
    {float(0x7FFFFFF0 + why) for why in _WHYS}
    | {float(0x7FFFFFFFFFFFFFF0)}
    | {140737488355328.0 + why for why in _WHYS}
)
"""DCGM's numbers for no value, of each width; some exporters pass them on as if they were values."""
SAID_LENGTH_MAX: Final = 300
LABEL_LENGTH_MAX: Final = 300
"""A node's name has 253 letters, and a port may stand behind it."""
_DURATION: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?")
_SECONDS: Final = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strand:
    """The samples of one set of labels."""

    labels: Labels
    points: tuple[tuple[Instant, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One value of one set of labels, also where it is no number."""

    labels: Labels
    value: float


class _Trouble(msgspec.Struct):
    error: str = ""


class _Range(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]] = []


class _Ranges(msgspec.Struct):
    resultType: str  # noqa: N815  theirs
    result: list[_Range]


class _Scalar(msgspec.Struct):
    result: tuple[float, str]


class _Sample(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str] | None = None


class _Samples(msgspec.Struct):
    result: list[_Sample]


class _Kind(msgspec.Struct):
    resultType: str  # noqa: N815  theirs


class _Runtime(msgspec.Struct):
    startTime: datetime  # noqa: N815  theirs


class _Target(msgspec.Struct):
    labels: dict[str, str] = {}
    scrapeInterval: str = ""  # noqa: N815


class _Targets(msgspec.Struct):
    activeTargets: list[_Target]  # noqa: N815


Data = TypeVar("Data")


def strands(body: bytes) -> tuple[Strand, ...]:
    """The samples of every series, without those that are no numbers."""
    data = _data(body, _Ranges)
    if data.resultType != "matrix":
        raise PrometheusUnclear(f"it answers with a {foreign.line(data.resultType, 40)} where samples were asked for")
    return tuple(Strand(labels=_clean(each.metric), points=tuple(_points(each.values))) for each in data.result)


def samples(body: bytes) -> tuple[Sample, ...]:
    """What a query gives at one moment: a value for each series, or one alone."""
    kind = _data(body, _Kind).resultType
    if kind == "scalar":
        return (Sample(labels={}, value=_number(_data(body, _Scalar).result[1])),)
    if kind != "vector":
        raise PrometheusUnclear(
            f"it answers with a {foreign.line(kind, 40)} where one value for a series was asked for"
        )
    return tuple(
        Sample(labels=_clean(each.metric), value=_number(each.value[1]) if each.value is not None else math.nan)
        for each in _data(body, _Samples).result
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise PrometheusUnclear(f"it answers with {foreign.line(text, 40)!r} where a number was asked for") from None


def series(body: bytes) -> tuple[Labels, ...]:
    """The labels of every series."""
    return tuple(_clean(each) for each in _data(body, list[dict[str, str]]))


def _clean(labels: Labels) -> Labels:
    """Labels as they may be shown: an exporter writes them, and it may be a tenant's."""
    return {foreign.line(name, LABEL_LENGTH_MAX): foreign.line(text, LABEL_LENGTH_MAX) for name, text in labels.items()}


def clock(body: bytes) -> Instant:
    """What time it is there."""
    return _data(body, _Scalar).result[0]


def started(body: bytes) -> Instant:
    """Since when it runs, by its own clock."""
    return _data(body, _Runtime).startTime.timestamp()


def intervals(body: bytes) -> dict[str, float]:
    """How often each job is scraped, in seconds; the shortest where its targets differ."""
    found: dict[str, float] = {}
    for each in _data(body, _Targets).activeTargets:
        seconds = duration(each.scrapeInterval)
        job = each.labels.get("job", "")
        if seconds and job:
            found[job] = min(seconds, found.get(job, math.inf))
    return found


def duration(text: str) -> float:
    """Seconds of `1m30s`; 0 where it is no duration."""
    found = _DURATION.fullmatch(text)
    if found is None:
        return 0.0
    return sum(int(part) * unit for part, unit in zip(found.groups(), _SECONDS, strict=True) if part)


def trouble(body: bytes) -> str:
    """What it says about a refusal, in its own words."""
    try:
        said = msgspec.json.decode(body, type=_Trouble).error
    except msgspec.MsgspecError:
        said = body.decode("utf-8", "replace")
    return foreign.line(said, SAID_LENGTH_MAX).strip()


def _data(body: bytes, kind: type[Data]) -> Data:
    try:
        whole = msgspec.json.decode(body, type=_Whole)
        if whole.status != "success" or whole.warnings:
            said = foreign.line("; ".join(whole.warnings) or whole.error, SAID_LENGTH_MAX)
            raise PrometheusUnclear(f"it does not answer in full: {said or 'it does not say why'}")
        return msgspec.json.decode(whole.data, type=kind)
    except msgspec.MsgspecError as err:
        raise PrometheusUnclear(f"it does not answer as a Prometheus does: {err}") from None


class _Whole(msgspec.Struct):
    status: str
    data: msgspec.Raw = msgspec.Raw(b"null")
    error: str = ""
    warnings: list[str] = []


def _points(values: Iterable[tuple[float, str]]) -> Iterable[tuple[Instant, float]]:
    for at, text in values:
        value = float(text)
        if math.isfinite(value) and value not in BLANKS:
            yield at, value
