"""A gate that asks for somebody's word: what was said counts from when the canary stood to when the word ends.

    no word yet                     pending, until the gate's own limit; then unknown
    said before the canary stood    the same: it cannot be about what was not there
    ended                           unknown, until somebody says it anew
    several that count              the worst of them

Law of this file: silence is no pass, and neither is a word that has ended. A word that comes late is taken all the same
while its round is open. Tests: tests/core/judging/test_attesting.py
"""

from __future__ import annotations

from collections.abc import Iterable

from seatrial.core.judging.tries import TRIES_MAX
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement, Word
from seatrial.core.model.instants import Instant
from seatrial.core.text.moments import dated


def stands_since(record: CampaignRecord) -> Instant:
    """Since when the canaries have stood under their gates: what was said earlier is about something else."""
    turns = record.history
    chosen = max((number for number, turn in enumerate(turns) if turn.phase is RolloutPhase.CANARY), default=0)
    gating = (turn.at for turn in turns[chosen:] if turn.phase is RolloutPhase.GATING)
    return next(gating, turns[chosen].at if turns else 0.0)


def measured(
    gate: Gate, node: str, number: int, words: Iterable[Word], *, since: Instant, limit_at: Instant, now: Instant
) -> Measurement:
    """What was said of a node, as the measurement of one round."""
    said = [word for word in words if word.is_about(gate.name, node)]
    counting = [word for word in said if word.at >= since and now < word.until]
    if counting:
        word = min(counting, key=lambda each: (each.is_pass, -each.at))
        verdict, detail = GateVerdict.PASSED if word.is_pass else GateVerdict.FAILED, _told(word)
    else:
        ended = any(word.at >= since for word in said)
        verdict = GateVerdict.PENDING if now < limit_at and not ended else GateVerdict.UNKNOWN
        detail = _why_not(said, since)
    # Asking anew makes nobody speak: what is unknown is so at the last try.
    return Measurement(gate=gate.name, node=node, round=number, attempt=TRIES_MAX, verdict=verdict, detail=detail)


def _why_not(said: list[Word], since: Instant) -> str:
    if not said:
        return "nobody has answered yet"
    last = max(said, key=lambda each: each.at)
    if last.at < since:
        return f"{_who(last)} answered at {_clock(last.at)}, before its gates began at {_clock(since)}"
    return f"the answer of {_who(last)} expired at {_clock(last.until)}"


def _told(word: Word) -> str:
    return f"{_who(word)} said so until {_clock(word.until)}: {word.because}"


def _who(word: Word) -> str:
    return word.by or "somebody"


def _clock(at: Instant) -> str:
    return f"{dated(at):%Y-%m-%d %H:%M:%SZ}"
