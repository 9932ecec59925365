"""One series out of the strands that a GPU's samples come in. No I/O.

A set of labels is no GPU: DCGM exporter puts the driver's version, the last Xid's text and the pod that uses a GPU into
the labels, so an upgrade, an error and a new job each begin another strand; an exporter's pod that is restarted has
another address.

    570.158, job a ●●●●●●          all of one GPU, and one series of it
    570.158, job b       ●●●●
    580.159                   ●●●●●●

Law of this file: strands are laid end to end where they fit, and where they contradict each other there is no series.

Tests: tests/adapters/prometheus/test_strands.py
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from seatrial.adapters.prometheus.answers import Strand
from seatrial.adapters.prometheus.queries import INSTANCE
from seatrial.core.model.instants import Instant

Points = tuple[tuple[Instant, float], ...]


def laid_out(strands: Sequence[Strand]) -> Points | str:
    """The samples of one GPU in order of time; a sentence where they cannot be told apart."""
    whole: dict[Instant, float] = {}
    for strand in strands:
        for at, value in strand.points:
            if whole.setdefault(at, value) != value:
                return f"it is {whole[at]:g} and {value:g} at the same moment, by the labels {_differing(strands)}"
    spans = sorted(_spans(strands).items(), key=lambda each: each[1])
    for (one, (_, end)), (other, (start, _)) in pairwise(spans):
        if start < end:
            return f"two exporters report it at once, {one} and {other}: choose one by its job"
    return tuple(sorted(whole.items()))


def _spans(strands: Sequence[Strand]) -> dict[str, tuple[Instant, Instant]]:
    """From when to when each address was scraped."""
    found: dict[str, tuple[Instant, Instant]] = {}
    for strand in strands:
        if not strand.points:
            continue
        start, end = strand.points[0][0], strand.points[-1][0]
        where = strand.labels.get(INSTANCE, "")
        before = found.get(where, (start, end))
        found[where] = min(start, before[0]), max(end, before[1])
    return found


def _differing(strands: Sequence[Strand]) -> str:
    names = {name for strand in strands for name in strand.labels}
    found = sorted(name for name in names if len({strand.labels.get(name, "") for strand in strands}) > 1)
    return ", ".join(found) or "(none)"
