"""What is compared in a campaign, as its status keeps it.

Law of this file: sums are short lists of numbers, because there are many of them: count, mean, squares; of a stream how
many were left out, too, and the value that waits, if one does. What is empty is left out.
Tests: tests/adapters/kube/test_rollout_records.py
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from seatrial.adapters.kube.shapes import proof_models as models
from seatrial.core.model.gates.compared import (
    NONE,
    SILENCE,
    Compared,
    Comparison,
    Lens,
    Missing,
    Moments,
    Stream,
    Track,
)
from seatrial.core.text import foreign

MOMENTS: Final = 3
STREAM: Final = 4
"""Without a value that waits."""


def written(compared: Compared) -> models.ComparedEntry:
    """As it is written."""
    return models.ComparedEntry(
        gates=tuple(models.ComparedGate(name=name, asked=mark) for name, mark in compared.gates),
        comparisons=tuple(
            models.ComparisonEntry(
                canary=each.canary,
                controls=each.controls,
                round=each.round,
                tracks=tuple(_written_track(track) for track in each.tracks),
            )
            for each in compared.comparisons
        ),
        baseline_from=compared.baseline_from,
        baseline_rounds=compared.baseline_rounds,
        measured=compared.is_measured,
        missing_before=_written_missing(compared.missing_before),
        missing=_written_missing(compared.missing),
    )


def _written_missing(missing: tuple[Missing, ...]) -> tuple[models.MissingEntry, ...]:
    return tuple(models.MissingEntry(node=each.node, why=each.why) for each in missing)


def _written_track(track: Track) -> models.TrackEntry:
    return models.TrackEntry(
        figure=track.figure,
        node=track.node,
        lens=track.lens.value,
        unit=track.unit,
        gpus=track.gpu_count,
        held=track.is_held,
        before=_moments(track.before),
        after=_stream(track.after),
        paired_before=_moments(track.paired_before),
        paired=_stream(track.paired),
    )


def _moments(found: Moments) -> tuple[float, ...]:
    return (found.count, found.mean, found.squares) if found != NONE else ()


def _stream(found: Stream) -> tuple[float, ...]:
    if found == SILENCE:
        return ()
    moments, waiting = found.moments, (found.waiting,) if found.waiting is not None else ()
    return (moments.count, moments.mean, moments.squares, found.left_out, *waiting)


def read(entry: models.ComparedEntry, place: str) -> Compared:
    """As it is read; a ValueError says where it cannot be."""
    return Compared(
        gates=tuple((each.name, each.asked) for each in entry.gates),
        comparisons=tuple(
            Comparison(
                canary=each.canary,
                controls=each.controls,
                round=each.round,
                tracks=tuple(
                    _read_track(track, f"{place}.comparisons[{number}].tracks[{line}]")
                    for line, track in enumerate(each.tracks)
                ),
            )
            for number, each in enumerate(entry.comparisons)
        ),
        baseline_from=entry.baseline_from,
        baseline_rounds=entry.baseline_rounds,
        is_measured=entry.measured,
        missing_before=_read_missing(entry.missing_before),
        missing=_read_missing(entry.missing),
    )


def _read_missing(entries: tuple[models.MissingEntry, ...]) -> tuple[Missing, ...]:
    return tuple(Missing(node=each.node, why=foreign.line(each.why)) for each in entries)


def _read_track(entry: models.TrackEntry, place: str) -> Track:
    try:
        lens = Lens(entry.lens)
    except ValueError as err:
        raise ValueError(f"{place}.lens: {err}") from err
    return Track(
        figure=entry.figure,
        node=entry.node,
        lens=lens,
        unit=entry.unit,
        gpu_count=entry.gpus,
        is_held=entry.held,
        before=_read_moments(entry.before, f"{place}.before"),
        after=_read_stream(entry.after, f"{place}.after"),
        paired_before=_read_moments(entry.paired_before, f"{place}.pairedBefore"),
        paired=_read_stream(entry.paired, f"{place}.paired"),
    )


def _read_moments(numbers: Sequence[float], place: str) -> Moments:
    if not numbers:
        return NONE
    if len(numbers) != MOMENTS:
        raise ValueError(f"{place}: count, mean and squares belong here, not {list(numbers)}.")
    count, mean, squares = numbers
    return Moments(count=int(count), mean=mean, squares=squares)


def _read_stream(numbers: Sequence[float], place: str) -> Stream:
    if not numbers:
        return SILENCE
    if len(numbers) not in (STREAM, STREAM + 1):
        raise ValueError(f"{place}: count, mean, squares, left out and waiting belong here, not {list(numbers)}.")
    waiting = numbers[STREAM] if len(numbers) > STREAM else None
    moments = _read_moments(numbers[:MOMENTS], place)
    return Stream(moments=moments, left_out=int(numbers[MOMENTS]), waiting=waiting)
