"""What a journal keeps of a pass: everything `decide` looked at, and what came of it. Written by run, read by sim.

    {"at": …, "kind": "pass", "schema": 1, "whole": {…}}       readable by itself: the first of a file, and of a run
    {"at": …, "kind": "pass", "changes": {…}}                  what differs from the pass recorded before it

Of the input all is kept, with one exception: when a stream was last heard of changes all the time and matters only once
it has been silent for too long, so one that can be trusted is kept as `heard for ever`, unless somebody waits to hear
from it. Of the decision its acts are kept by id and digest (without the words of their commits), its holds by code, and
a digest of it all: enough to tell that another decision differs, and in what.

Tests: tests/sim/test_replay.py
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from seatrial import codec
from seatrial.core.actions.action import Action
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.decision.decide import Decision
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.snapshot import PODS_STREAM, STALE_SECONDS, Freshness, Snapshot
from seatrial.core.words import commits
from seatrial.ports import Sight

KIND: Final = "pass"
HEARD_FOR_EVER: Final = 253_402_300_800.0
"""The year 10,000: no stream heard of then is ever too old."""
_ACT_DIGITS: Final = 12
_DIGITS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a journal, and where it stands."""

    where: str
    at: Instant
    kind: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A decision, as far as it is kept."""

    digest: str
    acts: tuple[tuple[str, str], ...] = ()
    """The id of each act, and the digest of all it says."""
    holds: Mapping[str, str] = field(default_factory=dict)
    """Who is held, and the code of it."""
    stop: Hold | None = None
    wake_at: Instant | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(id_ for id_, _ in self.acts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What was looked at, what was wanted, and what was decided."""

    seen: Snapshot
    intent: Intent
    decided: Decided


def pass_of(sight: Sight, decision: Decision, at: Instant) -> Pass:
    """What is kept of a pass."""
    is_waited_for = any(held.code is HoldCode.PODS_UNHEARD for held in decision.holds)
    freshness = tuple(
        stream if is_waited_for and stream.source == PODS_STREAM else _without_time(stream, at)
        for stream in sight.seen.freshness
    )
    return Pass(seen=replace(sight.seen, freshness=freshness), intent=sight.intent, decided=decided_of(decision))


def decided_of(decision: Decision) -> Decided:
    """What is kept of a decision."""
    said = tuple(_without_nodes_told(commits.unworded(action)) for action in decision.actions)
    # When it was decided is the entry's to say, and a release with better words for a commit decides nothing else.
    told = codec.encode(replace(decision, at=None, actions=said))
    codes: dict[str, str] = {}
    for held in told.get("holds", ()):
        subject, code = held["subject"], held["code"]
        codes[subject] = f"{codes[subject]}, {code}" if subject in codes else code
    acts = zip(decision.actions, told.get("actions", ()), strict=True)
    return Decided(
        digest=_digest(told, _DIGITS),
        acts=tuple((action.id, _digest(data, _ACT_DIGITS)) for action, data in acts),
        holds=codes,
        stop=decision.stop,
        wake_at=decision.wake_at,
    )


def fields_of(before: Pass | None, made: Pass) -> dict[str, object]:
    """The fields of a pass's entry, behind the pass recorded before it."""
    if before is None:
        return {"schema": codec.SCHEMA, "whole": codec.encode(made)}
    return {"changes": codec.changes(before, made)}


class Reader:
    """Builds the passes of a journal again, each upon the one before."""

    def __init__(self) -> None:
        self._last: Pass | None = None

    def read(self, entry: Entry) -> Pass:
        """The pass of an entry; codec.Undecodable says where and why it cannot be read."""
        try:
            self._last = self._read(entry.fields)
        except codec.Undecodable as err:
            raise err.inside(entry.where) from err
        return self._last

    def _read(self, fields: Mapping[str, Any]) -> Pass:
        if "whole" in fields:
            if fields.get("schema") != codec.SCHEMA:
                raise codec.Undecodable(
                    f"written under schema {fields.get('schema')}, and this release reads {codec.SCHEMA}. "
                    "Replay it with the release that wrote it."
                )
            return codec.decode(Pass, fields["whole"])
        if self._last is None:
            raise codec.Undecodable(
                "this pass builds on one that is not here. Give the whole journal, from the beginning of a file."
            )
        return codec.changed(self._last, fields.get("changes"))


def differences(kept: Decided, now: Decided) -> Iterable[str]:
    """In what a decision differs from the one that was kept, one sentence each; none when it does not."""
    if kept == now:
        return
    before, after = dict(kept.acts), dict(now.acts)
    yield from (f"no longer decided: {id_}" for id_ in kept.ids if id_ not in after)
    yield from (f"newly decided: {id_}" for id_ in now.ids if id_ not in before)
    both = [id_ for id_ in kept.ids if id_ in after]
    yield from (f"decided with other contents: {id_}" for id_ in both if before[id_] != after[id_])
    if both != [id_ for id_ in now.ids if id_ in before]:
        yield "the acts come in another order"
    for subject in sorted(kept.holds.keys() | now.holds.keys()):
        was, is_now = kept.holds.get(subject, "nothing"), now.holds.get(subject, "nothing")
        if was != is_now:
            yield f"{subject}: held by {was}, now by {is_now}"
    if kept.stop != now.stop:
        yield f"the rollout: stopped by {_stop_text(kept.stop)}, now by {_stop_text(now.stop)}"
    if kept.wake_at != now.wake_at:
        yield f"the next look: {kept.wake_at}, now {now.wake_at}"
    if (kept.acts, kept.holds, kept.stop, kept.wake_at) == (now.acts, now.holds, now.stop, now.wake_at):
        yield "the same acts and the same holds, but a hold says something else"


def _without_nodes_told(action: Action) -> Action:
    """The act without who waits in words: that follows from the holds, and another wording is no other decision."""
    if not isinstance(action, WriteRolloutRecord) or action.record.summary is None:
        return action
    summary = replace(action.record.summary, waiting=())
    return replace(action, record=replace(action.record, summary=summary))


def _stop_text(stop: Hold | None) -> str:
    return f"{stop.code} {dict(stop.params)}" if stop else "nothing"


def _without_time(stream: Freshness, at: Instant) -> Freshness:
    is_trusted = stream.is_synced and at - stream.heard_at <= STALE_SECONDS
    return replace(stream, heard_at=HEARD_FOR_EVER) if is_trusted else stream


def _digest(data: codec.Data, digits: int) -> str:
    return hashlib.sha256(msgspec.json.encode(data, order="sorted")).hexdigest()[:digits]
