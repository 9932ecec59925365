"""Replays a journal: decides every recorded pass anew and compares; the first difference ends it.

The journal of a real rollout so becomes a test: of a new release (does it decide as the old one did?), of the journal
itself (is all there that `decide` looks at?), and of determinism (nothing but its arguments moves `decide`).

Tests: tests/sim/test_replay.py, tests/traces/test_traces.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from seatrial import passes
from seatrial.core.base.values import dataclass
from seatrial.core.decision.decide import decide
from seatrial.core.errors import CoreBug, SeatrialError
from seatrial.core.model.instants import Instant
from seatrial.passes import Entry, Pass

SENTENCES_MAX: Final = 20
"""A difference that concerns a whole fleet is told by its first nodes."""


class NothingRecorded(SeatrialError):  # noqa: N818
    """A journal without a pass to replay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A pass that is decided otherwise today."""

    at: Instant
    where: str
    recorded: tuple[str, ...]
    """The acts of then, by id."""
    decided: tuple[str, ...]
    """The acts of now."""
    sentences: tuple[str, ...]
    written_by: str = ""
    """The release that wrote the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """How a replay went."""

    pass_count: int
    decision_count: int
    """The acts that were decided again, the same as then."""
    difference: Difference | None = None


def replay(entries: Iterable[Entry], on_entry: Callable[[], None] = lambda: None) -> Replayed:
    """Decide every pass of a journal anew, up to the first difference."""
    reader, version, begin = passes.Reader(), "", ""
    pass_count = decision_count = 0
    for entry in entries:
        on_entry()
        begin = begin or entry.where
        version = str(entry.fields.get("version", version))
        if entry.kind != passes.KIND:
            continue
        kept = reader.read(entry)
        difference = _difference(entry, kept, version)
        if difference is not None:
            return Replayed(pass_count=pass_count, decision_count=decision_count, difference=difference)
        pass_count += 1
        decision_count += len(kept.decided.acts)
    if not pass_count:
        raise NothingRecorded(f"{begin}: no pass is recorded from here on, so there is nothing to replay.")
    return Replayed(pass_count=pass_count, decision_count=decision_count)


def _difference(entry: Entry, kept: Pass, version: str) -> Difference | None:
    ids: tuple[str, ...] = ()
    try:
        now = passes.decided_of(decide(kept.seen, kept.intent, entry.at))
    except CoreBug as err:
        sentences = [f"deciding it breaks a promise of ours: {err}"]
    else:
        ids, sentences = now.ids, list(passes.differences(kept.decided, now))
    if not sentences:
        return None
    left_count = len(sentences) - SENTENCES_MAX
    more = [f"and {left_count} more"] if left_count > 0 else []
    return Difference(
        at=entry.at,
        where=entry.where,
        recorded=kept.decided.ids,
        decided=ids,
        sentences=(*sentences[:SENTENCES_MAX], *more),
        written_by=version,
    )
