"""Comparing: the canary with itself before the upgrade, and with controls that were measured in the same round.

    change of the canary  −  mean change of its controls        each against itself before, round by round

Law of this file: what all nodes of a round have in common cancels out, and what a node has always had does, too. A
round counts once, whatever crashed while it was added: rounds have numbers, and only a later one is taken. Only sums
are kept: as many numbers after a thousand rounds as after one.

A figure that a limit held back before the upgrade is judged per clock: on an H200 at its power limit a planted loss of
3 % changes the rate by 0.7 % on average and the rate per clock by 2 %, because the clocks rise by what the loss saves.
The rate itself then speaks of large losses only (HELD_SLACK). A figure that is held back only since the upgrade is
judged as it is: there the clocks are what was lost.

Tests: tests/core/judging/test_judging_comparing.py
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Final

from seatrial.core.base.values import dataclass, replace
from seatrial.core.judging.meanings import badness, meaning
from seatrial.core.model.gates.compared import Comparison, Key, Lens, Track
from seatrial.core.model.gates.figures import Figure

HELD_SLACK: Final = 4
LEAP: Final = 0.02
"""What changes by more from one round to the next is believed when it does so twice."""
CLOCK: Final = "sm_mhz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What was measured at one time, on canaries and controls alike."""

    number: int
    """Grows from round to round, over the baseline and what comes after it."""
    is_baseline: bool
    """Whether it was measured before the upgrade."""
    figures: tuple[Figure, ...]


def slack_of(track: Track) -> int:
    """How many times the tolerated loss a figure may lose before that speaks."""
    read = meaning(track.figure, track.unit)
    slack = read.slack if read else 1
    return slack * HELD_SLACK if track.is_held and track.lens is Lens.PLAIN else slack


def added(comparison: Comparison, seen: Round) -> Comparison:
    """The comparison with one more round; the same, where the round is in it already."""
    if seen.number <= comparison.round:
        return comparison
    values = _values(seen.figures, {comparison.canary, *comparison.controls})
    tracks = {each.key: each for each in comparison.tracks}
    for key, value in values.items():
        if key in tracks or _is_wanted(comparison, key, value, seen, tracks):
            tracks.setdefault(key, _begun(key, value))
    add = _with_baseline if seen.is_baseline else _with_change
    sound = {key: value for key, value in values.items() if key in tracks and value.fits(tracks[key])}
    grown = {key: add(comparison, tracks[key], sound, tracks) for key in sound}
    return replace(comparison, tracks=tuple({**tracks, **grown}.values()), round=seen.number)


def _is_wanted(comparison: Comparison, key: Key, value: _Value, seen: Round, tracks: Mapping[Key, Track]) -> bool:
    """Whether a track is begun: per clock only where the canary was held back before its upgrade."""
    figure, lens, node = key
    if not seen.is_baseline:  # comes too late to be compared: told for the canary, and of no use for a control
        return node == comparison.canary and lens is Lens.PLAIN
    if lens is Lens.PLAIN:
        return True
    canary = tracks.get((figure, Lens.PLAIN, comparison.canary))
    return canary.is_held if canary else value.is_held


def _with_baseline(comparison: Comparison, track: Track, values: Mapping[Key, _Value], _: Mapping[Key, Track]) -> Track:
    value, keys = values[track.key].badness, _others(comparison, track)
    others = [values[key].badness for key in keys if key in values]
    paired = track.paired_before
    if others and len(others) == len(keys):  # with one less it would be another level
        paired = paired.plus(value - fmean(others))
    return replace(track, before=track.before.plus(value), paired_before=paired)


def _with_change(
    comparison: Comparison, track: Track, values: Mapping[Key, _Value], tracks: Mapping[Key, Track]
) -> Track:
    if not track.before.count:
        return track
    changes = {
        key: values[key].badness - tracks[key].before.mean
        for key in (track.key, *_others(comparison, track))
        if key in values and tracks[key].before.count
    }
    own, width = changes.pop(track.key), LEAP * slack_of(track)
    paired = track.paired.plus(own - fmean(changes.values()), width) if changes else track.paired
    return replace(track, after=track.after.plus(own, width), paired=paired)


def _others(comparison: Comparison, track: Track) -> tuple[Key, ...]:
    """Whom a track is held against: the controls, and of a control the other ones."""
    return tuple((track.figure, track.lens, node) for node in comparison.controls if node != track.node)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    badness: float
    gpu_count: int
    is_held: bool
    unit: str

    def fits(self, track: Track) -> bool:
        return (self.gpu_count, self.unit) == (track.gpu_count, track.unit)


def _begun(key: Key, value: _Value) -> Track:
    figure, lens, node = key
    return Track(figure=figure, node=node, lens=lens, unit=value.unit, gpu_count=value.gpu_count, is_held=value.is_held)


def _values(figures: Iterable[Figure], nodes: set[str]) -> dict[Key, _Value]:
    """What each node shows of each figure in a round: the mean over its GPUs, plain and per clock; plain ones first."""
    grouped: dict[tuple[str, str], list[Figure]] = {}
    for figure in figures:
        if figure.node in nodes:
            grouped.setdefault((figure.name, figure.node), []).append(figure)
    found: dict[Key, _Value] = {}
    for lens in Lens:
        for (name, node), group in grouped.items():
            value = _value(group, lens)
            if value is not None:
                found[name, lens, node] = value
    return found


def _value(group: list[Figure], lens: Lens) -> _Value | None:
    read = meaning(group[0].name, group[0].unit)
    if read is None:
        return None
    bad = [badness(each, read) for each in group]
    clocks = [each.under.get(CLOCK) for each in group]
    offsets = [math.log(clock) for clock in clocks if clock is not None and clock > 0]
    known = [each for each in bad if each is not None]
    if len(known) < len(group) or (lens is Lens.PER_CLOCK and len(offsets) < len(group)):
        return None
    return _Value(
        badness=fmean(known) + (fmean(offsets) if lens is Lens.PER_CLOCK else 0.0),
        gpu_count=len({each.gpu for each in group}),
        is_held=any(each.held_back for each in group),
        unit=group[0].unit,
    )
