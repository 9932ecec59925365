"""Rounds of gates, and what the bake counts as evidence.

Gates are asked in rounds. The time between two rounds counts as evidence when the later of them passed, we were looking
all the while, and nothing befell a canary (evidence.py); where a monitoring system watches, only time with data does
(exposing.py): a gate that cannot be measured, a canary that is not well, an
outage of ours or of the API server lengthen the bake, they never shorten the evidence.
Tests: tests/core/campaign/test_baking.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from seatrial.core.base.values import dataclass, replace
from seatrial.core.judging.kinds import expressing
from seatrial.core.judging.kinds.ganging import Shared, shared
from seatrial.core.judging.tries import TRIES_MAX, Judged, detail_max, judge
from seatrial.core.model.campaign import Campaign, CampaignRecord
from seatrial.core.model.gates.gate import NOBODY, READINESS, Gang, Gate, GateResult, GateVerdict, Measurement, worst
from seatrial.core.model.instants import Instant
from seatrial.core.text import foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """How a round of gates stands."""

    results: tuple[GateResult, ...]
    due: tuple[tuple[str, str, int], ...]
    """Gate, node and try of every measurement to be made."""
    again_at: Instant | None = None
    """When the next try is due that is not yet; None where there is none."""

    @property
    def verdict(self) -> GateVerdict:
        return worst(each.verdict for each in self.results if not each.is_left_out)

    def of(self, verdict: GateVerdict) -> tuple[GateResult, ...]:
        return tuple(each for each in self.results if each.verdict is verdict and not each.is_left_out)


def look_at(
    record: CampaignRecord,
    campaign: Campaign,
    measured: Iterable[Measurement],
    unwell: Mapping[str, str],
    patience_until: Instant,
    now: Instant,
    gang: Gang = NOBODY,
    why_busy: Callable[[str, Gate], str] = lambda _node, _gate: "",
) -> Round:
    """How the current round stands; `unwell` are the canaries that are not well, and why, and have until then to be.

    `why_busy` says who is at work on the GPUs that a gate wants; it is not asked then, and nobody leaves for it.
    """
    tried = tuple(measured)
    expressions = frozenset(gate.name for gate in campaign.gates if gate.expression)
    length_max = detail_max(len(record.canaries) * (1 + len(campaign.gates)))
    together = _together(record, campaign, tried, gang, is_well=not unwell, length_max=length_max)
    results: list[GateResult] = []
    due: list[tuple[str, str, int]] = [
        (name, each.speaker, each.due) for name, each in together.items() if each.due is not None
    ]
    later: list[Instant] = []
    for node in record.canaries:
        is_well = node not in unwell
        verdict = GateVerdict.PASSED if is_well else GateVerdict.PENDING if now < patience_until else GateVerdict.FAILED
        readiness = Judged(verdict=verdict, detail=foreign.line(unwell.get(node, ""), length_max))
        results.append(_result(READINESS, "", node, record, readiness, now))
        is_taken = False  # one that wants GPUs after the other: they would wait for each other, and limits count
        for gate in sorted(campaign.gates, key=lambda each: (bool(each.expression), each.is_soak)):
            if node in gate.not_on:
                continue
            if gate.name in together:
                results.append(_shared(gate, node, record, together[gate.name], now))
                continue
            judged = _kept(record, gate.name, node) or judge(gate, node, record.round, tried, length_max)
            aside = _aside(record, gate, node, judged, why_busy, length_max)
            if aside is not None:
                results.append(_result(gate.name, gate.mark, node, record, aside, now, is_left_out=True))
                continue
            is_ready = not gate.expression or expressing.is_ready(node, results, expressions)
            is_ready = is_ready and not (gate.wants_gpus and is_taken)
            is_ready = is_ready and not (gate.is_soak and _is_pending(node, results))
            is_taken = is_taken or (gate.wants_gpus and judged.verdict is GateVerdict.PENDING)
            if judged.due is not None and is_well and is_ready:
                at = due_at(gate, judged.due, record.round_at)
                if now < at:
                    later.append(at)
                else:
                    due.append((gate.name, node, judged.due))
            results.append(_result(gate.name, gate.mark, node, record, judged, now))
    return Round(results=tuple(results), due=tuple(due), again_at=min(later, default=None))


def _together(
    record: CampaignRecord,
    campaign: Campaign,
    tried: tuple[Measurement, ...],
    gang: Gang,
    *,
    is_well: bool,
    length_max: int,
) -> dict[str, Shared]:
    """By gate: what those say that run on several canaries at once, each when all before it on these GPUs are through.

    They are asked when every canary is well: one that is not yet would be left out, and is what is looked at."""
    alone = [gate for gate in campaign.gates if gate.is_job and not (gate.is_gang or gate.is_soak)]
    is_open = is_well and not any(
        (_kept(record, gate.name, node) or judge(gate, node, record.round, tried)).verdict is GateVerdict.PENDING
        for gate in alone
        for node in record.canaries
        if node not in gate.not_on and _left_out(record, gate.name, node) is None
    )
    found: dict[str, Shared] = {}
    for gate in (each for each in campaign.gates if each.is_gang):
        stands = shared(gate, record.round, record.canaries, tried, gang, is_open=is_open, length_max=length_max)
        found[gate.name] = stands
        is_open = is_open and all(each.verdict is not GateVerdict.PENDING for each in stands.by_node.values())
    return found


def _shared(gate: Gate, node: str, record: CampaignRecord, stands: Shared, now: Instant) -> GateResult:
    """What a gate that runs on several canaries says of one of them; who was left out when it began stays so."""
    written = _kept(record, gate.name, node)
    if written is None and node in stands.left_out:
        row = _result(gate.name, gate.mark, node, record, stands.by_node[node], now, is_left_out=True)
        return (_left_out(record, gate.name, node) if stands.due is None else None) or row
    return _result(gate.name, gate.mark, node, record, written or stands.by_node[node], now)


def _aside(
    record: CampaignRecord,
    gate: Gate,
    node: str,
    judged: Judged,
    why_busy: Callable[[str, Gate], str],
    length_max: int,
) -> Judged | None:
    """Why a gate is not asked of a canary in this round: others are at work on the GPUs that it wants. Said, it stays
    so. A soak that came to nothing is not asked again: it gave way, and whoever took the GPUs works there now."""
    if gate.is_soak and (judged.verdict is GateVerdict.UNKNOWN or (judged.due or 0) > 1):
        return Judged(verdict=GateVerdict.UNKNOWN, detail=judged.detail)
    if judged.due != 1 or not gate.wants_gpus:
        return None
    known = _left_out(record, gate.name, node)
    why = known.detail if known is not None else foreign.line(why_busy(node, gate), length_max)
    return Judged(verdict=GateVerdict.UNKNOWN, detail=why) if why else None


def _is_pending(node: str, results: Iterable[GateResult]) -> bool:
    """Whether a gate of the round has still to answer on a node."""
    return any(each.verdict is GateVerdict.PENDING for each in results if each.node == node)


def _left_out(record: CampaignRecord, gate: str, node: str) -> GateResult | None:
    """The row of this round that says that a gate was not asked there."""
    rows = (each for each in record.gates if (each.gate, each.node, each.round) == (gate, node, record.round))
    return next((each for each in rows if each.is_left_out), None)


def due_at(gate: Gate, attempt: int, round_at: Instant) -> Instant:
    """When a try may be made. A Job takes its time by itself; who answers at once has the gate's time between tries."""
    return round_at if gate.is_job else round_at + (attempt - 1) * gate.timeout_seconds / TRIES_MAX


def _kept(record: CampaignRecord, gate: str, node: str) -> Judged | None:
    """A verdict of this round that was written down: it stays, also when the Job that gave it is gone."""
    for each in record.gates:
        is_same = (each.gate, each.node, each.round) == (gate, node, record.round)
        if is_same and each.verdict in (GateVerdict.PASSED, GateVerdict.FAILED):
            return Judged(verdict=each.verdict, detail=each.detail)
    return None


def _result(
    gate: str,
    mark: str,
    node: str,
    record: CampaignRecord,
    judged: Judged,
    now: Instant,
    *,
    is_left_out: bool = False,
) -> GateResult:
    """The result as it is kept: one that says the same as before stays as it was."""
    new = GateResult(
        gate=gate,
        node=node,
        round=record.round,
        verdict=judged.verdict,
        detail=judged.detail,
        at=now,
        asked=mark,
        is_left_out=is_left_out,
    )
    for old in record.gates:
        if replace(old, at=0.0) == replace(new, at=0.0):
            return old
    return new


def next_round(record: CampaignRecord, now: Instant) -> CampaignRecord:
    """Begin a round."""
    return replace(record, round=record.round + 1, round_at=now, gates=())


def is_outdated(record: CampaignRecord, campaign: Campaign) -> bool:
    """Whether a gate is another one than its round was begun with: what is measured for it then would be of both."""
    marks = {gate.name: gate.mark for gate in campaign.gates}
    asked = ((each.gate, each.asked) for each in record.gates if each.round == record.round)
    return any(name in marks and mark != marks[name] for name, mark in asked)


def why_incomplete(record: CampaignRecord, campaign: Campaign) -> str:
    """Which gate has not passed on which canary, as it is asked for now; empty when all have."""
    verdicts = {
        (each.gate, each.asked, each.node): GateVerdict.PASSED if each.is_left_out else each.verdict
        for each in record.gates
    }
    for node in record.canaries:
        gates = (gate for gate in campaign.gates if node not in gate.not_on)
        for name, mark in ((READINESS, ""), *((gate.name, gate.mark) for gate in gates)):
            verdict = verdicts.get((name, mark, node))
            if verdict is not GateVerdict.PASSED:
                return f"gate {name} did not run on {node}" if verdict is None else f"gate {name} is {verdict}"
    return "" if record.canaries else "there is no canary"


def counted(record: CampaignRecord, attentive_since: Instant, now: Instant) -> CampaignRecord:
    """The record after a round that passed: the time since the round before it is evidence, as far as we looked and
    nothing befell a canary.

    The round is accounted for, also where the clock was put back since it began; else it would be in every pass.
    """
    since = max(record.baked_until, attentive_since, record.well_since)
    gained = record.exposed.waiting_seconds if record.exposed is not None else max(0.0, now - since)
    # To the millisecond: what is missing by less than a clock can show would be waited for without end.
    seconds = round(record.baked_seconds + gained, 3)
    return replace(uncounted(record, now), baked_seconds=seconds)


def uncounted(record: CampaignRecord, now: Instant) -> CampaignRecord:
    """The record after a round without a verdict: the time before it proves nothing."""
    exposed = replace(record.exposed, waiting_seconds=0.0) if record.exposed is not None else None
    return replace(record, baked_until=max(now, record.round_at), exposed=exposed)


def is_ended(record: CampaignRecord, campaign: Campaign) -> bool:
    """Whether there is evidence for as long as was asked."""
    return record.baked_seconds >= campaign.bake.seconds


def round_due_at(record: CampaignRecord, campaign: Campaign) -> Instant:
    """When the next round is due: after the interval, or as soon as it would complete the evidence."""
    every_seconds, left_seconds = campaign.bake.every_seconds, campaign.bake.seconds - record.baked_seconds
    last_at = max(record.round_at, record.baked_until)
    if record.exposed is not None and left_seconds > 0:  # data come late, and when they will have come nobody knows
        is_enough = record.exposed.waiting_seconds >= left_seconds
        return last_at if is_enough else last_at + every_seconds
    complete_at = max(last_at, record.well_since) + left_seconds
    return min(last_at + every_seconds, complete_at) if left_seconds > 0 else last_at + every_seconds
