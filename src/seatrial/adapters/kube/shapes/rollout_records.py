"""A rollout's status as Kubernetes keeps it: the ledger, the summary, the campaign. Values in, JSON out, and back.

Law of this file: what is written and read again is the same, to the millisecond; a campaign that cannot be read is a
ValueError that says where, since to guess at evidence would be to make it up. One of a newer schema is such a campaign:
it is neither read nor written. What we know of a status is written as a whole, at the version we looked at, so nothing
of an older one stays behind; what we do not know, a later release wrote there, and it stays. Entries of lists are ours
alone: a release that adds a field to one of them, or changes what a field means, counts CAMPAIGN_SCHEMA up. Who waits,
and why, is told to people anew with every summary, and nothing is decided by it: that may change at any time.

Tests: tests/adapters/kube/test_rollout_records.py
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any, Final, TypeVar

import msgspec

from seatrial.adapters.kube.shapes import compared_records, exposed_records, keys, models, proof_models
from seatrial.adapters.kube.shapes.records import offer_of, read_offer, text_of
from seatrial.core.actions.on_rollouts import GuardRollout, Keeping
from seatrial.core.model.campaign import CampaignRecord, GitPlace, Mode, Places, RolloutPhase, Switch, Turn, Watched
from seatrial.core.model.gates.gate import GateResult, GateVerdict
from seatrial.core.model.gates.suite import LeftOut, Suite
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.rollouts import Admission, Cost, Rebuff, RolloutRecord, Summary, Told, Waiting
from seatrial.core.text import foreign
from seatrial.core.text.moments import instant_of
from seatrial.core.words import conditions

EnumT = TypeVar("EnumT", bound=Enum)

URL_MAX: Final = 4096
"""More than the definition allows: an address that is cut is another one."""
CAMPAIGN_SCHEMA: Final = 1
"""Written with every campaign; records from before there was a number are of the same schema."""

WAVING: Final = frozenset({RolloutPhase.WAVING, RolloutPhase.PROMOTING, RolloutPhase.DONE})
"""Phases in which the fleet has a wave to speak of."""


def _admission(entry: models.AdmissionEntry) -> Admission:
    return Admission(node=entry.node, attempt=entry.attempt, is_ahead=entry.ahead)


def _cost_entry(cost: Cost) -> dict[str, Any]:
    written: dict[str, Any] = msgspec.to_builtins(msgspec.convert(cost, proof_models.CostEntry, from_attributes=True))
    return written


def _admission_entry(admission: Admission) -> dict[str, Any]:
    written = {"node": admission.node, "attempt": admission.attempt}
    return {**written, "ahead": True} if admission.is_ahead else written


def read_rollout(rollout: models.Rollout) -> RolloutRecord:
    """The rollout's status as a record; a campaign that cannot be read is a ValueError that says where."""
    status = rollout.status
    summary = Summary(
        state=status.state,
        counts=tuple(sorted(status.counts.items())),
        holds=tuple(sorted(status.holds.items())),
        told=tuple(_read_told(entry) for entry in status.waits),
        waiting=tuple(_read_waiting(entry) for entry in status.nodes_waiting),
        **_read_done(status.done),
        failed=foreign.line(status.failed),
    )
    return RolloutRecord(
        name=rollout.metadata.name,
        resource_version=rollout.metadata.resource_version,
        admitted=tuple(sorted(_admission(entry) for entry in status.admitted)),
        summary=summary if status.state else None,
        summarised_at=_instant_or_never(status.summarised_at),
        lost_gpu_seconds=status.lost_gpu_seconds,
        cost=msgspec.convert(status.cost, Cost, from_attributes=True) if status.cost is not None else None,
        rebuffs=tuple((entry.subject, _read_rebuff(entry)) for entry in status.turned_down),
        attentive_since=_instant_or_never(status.attentive_since),
        campaign=_read_campaign(status.campaign) if status.campaign is not None else None,
        generation=rollout.metadata.generation,
        observed_generation=status.observed_generation,
    )


def _read_done(text: str) -> dict[str, int]:
    """`3/8`; an older release wrote none."""
    done, _, total = text.partition("/")
    return {"done": int(done), "total": int(total)} if done.isdecimal() and total.isdecimal() else {}


def _read_told(entry: models.Wait) -> Told:
    return Told(
        code=entry.code,
        why=foreign.lines(entry.why),
        next_step=foreign.lines(entry.next),
        since=_instant_or_none(entry.since),
        until=_instant_or_none(entry.until),
    )


def _read_waiting(entry: models.NodesWaiting) -> Waiting:
    told = _read_told(entry)
    return Waiting(
        code=told.code,
        why=told.why,
        next_step=told.next_step,
        since=told.since,
        until=told.until,
        nodes=entry.nodes,
        count=entry.count,
    )


def _written_told(told: Told) -> dict[str, Any]:
    times = {"since": told.since, "until": told.until}
    said = {name: text_of(instant) for name, instant in times.items() if instant is not None}
    return {"code": told.code, "why": told.why, "next": told.next_step, **said}


def _written_waiting(waiting: Waiting) -> dict[str, Any]:
    return {**_written_told(waiting), "nodes": list(waiting.nodes), "count": waiting.count}


def _read_rebuff(entry: models.TurnedDown) -> Rebuff:
    return Rebuff(
        at=_instant_or_never(entry.at), count=entry.count, code=entry.code, detail=foreign.lines(entry.detail)
    )


def _instant_or_never(text: str) -> Instant:
    try:
        return instant_of(text)
    except ValueError:
        return 0.0  # not written yet, or by somebody else


def _instant_or_none(text: str) -> Instant | None:
    return _instant_or_never(text) if text else None


def rollout_patch(record: RolloutRecord, before: models.Rollout | None = None) -> dict[str, Any]:
    """The merge patch of a rollout's status: all that we know of it, and only at the version we looked at.

    `before` is the rollout as it was seen, from which conditions keep the time of their last change, and which says
    what has to be taken away. If it is of another version than the record, the patch is turned down in any case.
    """
    summary = record.summary or Summary(state="")
    status: dict[str, Any] = {
        "state": summary.state,
        "conditions": _conditions(record, before),
        "admitted": [_admission_entry(admission) for admission in record.admitted],
        "counts": dict(summary.counts),
        "done": f"{summary.done}/{summary.total}",
        **({"failed": summary.failed} if summary.failed else {}),
        "why": conditions.why_of(record),
        "holds": dict(summary.holds),
        "waits": [_written_told(each) for each in summary.told],
        "nodesWaiting": [_written_waiting(each) for each in summary.waiting],
        "summarisedAt": text_of(record.summarised_at),
        "lostGpuSeconds": record.lost_gpu_seconds,
        **({"cost": _cost_entry(record.cost)} if record.cost is not None else {}),
        "attentiveSince": text_of(record.attentive_since),
        "turnedDown": [
            {
                "subject": subject,
                "at": text_of(rebuff.at),
                "count": rebuff.count,
                "code": rebuff.code,
                "detail": rebuff.detail,
            }
            for subject, rebuff in record.rebuffs
        ],
    }
    status |= _shown(record)
    if record.observed_generation:
        status["observedGeneration"] = record.observed_generation
    if record.campaign is not None:
        status["campaign"] = msgspec.to_builtins(_written(record.campaign))
    known = msgspec.to_builtins(before.status) if before is not None else {}
    return {"metadata": {"resourceVersion": record.resource_version}, "status": _replacing(known, status)}


def guard_patch(action: Keeping, before: models.Rollout) -> dict[str, Any]:
    """The merge patch that puts our finalizer on a rollout or takes it away; those of others stay."""
    others = [each for each in before.metadata.finalizers if each != keys.FINALIZER]
    ours = [keys.FINALIZER] if isinstance(action, GuardRollout) else []
    return {"metadata": {"resourceVersion": action.expect, "finalizers": [*others, *ours]}}


def _replacing(known: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    """What is written, and null for what was there and is written no more; a merge leaves everything else alone."""
    patch: dict[str, Any] = dict.fromkeys(known.keys() - written.keys())
    for name, value in written.items():
        old = known.get(name)
        patch[name] = _replacing(old, value) if isinstance(value, dict) and isinstance(old, dict) else value
    return patch


def _shown(record: RolloutRecord) -> dict[str, Any]:
    """What is repeated for people, in `kubectl get`; never read back, so None takes it away."""
    campaign = record.campaign
    if campaign is None:
        return {"phase": conditions.phase_of(record) or None, "wave": None}
    phase = campaign.paused_in or campaign.phase
    return {"phase": conditions.phase_of(record), "wave": campaign.wave + 1 if phase in WAVING else None}


def _conditions(record: RolloutRecord, before: models.Rollout | None) -> list[dict[str, Any]]:
    """The conditions, each with the time since which it has been so."""
    known = {each.type: each for each in before.status.conditions} if before is not None else {}
    generation = before.metadata.generation if before is not None else 0
    now = text_of(record.summarised_at)
    found = []
    for condition in conditions.conditions_of(record):
        old = known.get(condition.type)
        since = old.last_transition_time if old is not None and old.status == condition.status else None
        found.append(
            {
                "type": condition.type,
                "status": condition.status.value,
                "reason": condition.reason,
                "message": condition.message,
                "lastTransitionTime": since or now,
            }
            | ({"observedGeneration": generation} if generation else {})
        )
    return found


# ── the campaign ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _written(record: CampaignRecord) -> models.CampaignStatus:
    return models.CampaignStatus(
        schema=CAMPAIGN_SCHEMA,
        phase=record.phase.value,
        entered_at=_text_or_nothing(record.entered_at),
        paused_in=record.paused_in.value if record.paused_in is not None else "",
        mode=record.mode.value if record.mode is not None else "",
        canaries=record.canaries,
        baseline=tuple(models.BaselineEntry(resource=name, version=text) for name, text in record.baseline),
        places=_written_places(record.places) if record.places is not None else None,
        switches=tuple(
            models.SwitchEntry(resource=each.resource, name=each.name, value=each.value) for each in record.switches
        ),
        wave=record.wave,
        settled_at=_text_or_nothing(record.settled_at),
        waved_seconds=record.waved_seconds or None,
        waving_since=_text_or_nothing(record.waving_since),
        pull_round=record.pull_round,
        unpulled_at=_text_or_nothing(record.unpulled_at),
        forgetting=record.is_forgetting,
        suite=_written_suite(record.suite) if record.suite is not None else None,
        gates=tuple(_written_gate(each) for each in record.gates),
        round=record.round,
        round_at=_text_or_nothing(record.round_at),
        baked_seconds=record.baked_seconds,
        baked_until=_text_or_nothing(record.baked_until),
        exposed=exposed_records.written(record.exposed) if record.exposed is not None else None,
        compared=compared_records.written(record.compared) if record.compared is not None else None,
        watched=tuple(_written_watched(each) for each in record.watched),
        well_since=_text_or_nothing(record.well_since),
        unwell_since=_text_or_nothing(record.unwell_since),
        setback=record.setback,
        bake_asked_seconds=record.bake_asked_seconds,
        tag_base=record.tag_base,
        date=record.date,
        rejected=record.rejected,
        why=record.why,
        history=tuple(
            models.TurnEntry(phase=turn.phase.value, at=text_of(turn.at), why=turn.why) for turn in record.history
        ),
    )


def _written_suite(suite: Suite) -> proof_models.SuiteEntry:
    left_out = (proof_models.LeftOutEntry(gate=each.gate, node=each.node, why=each.why) for each in suite.left_out)
    return proof_models.SuiteEntry(image=suite.image, left_out=tuple(left_out))


def _read_suite(entry: proof_models.SuiteEntry) -> Suite:
    left_out = (LeftOut(gate=each.gate, node=each.node, why=foreign.line(each.why)) for each in entry.left_out)
    return Suite(image=foreign.line(entry.image), left_out=tuple(left_out))


def _written_gate(result: GateResult) -> proof_models.GateEntry:
    return proof_models.GateEntry(
        gate=result.gate,
        node=result.node,
        round=result.round,
        verdict=result.verdict.value,
        detail=result.detail,
        at=_text_or_nothing(result.at),
        asked=result.asked,
        left_out=result.is_left_out,
    )


def _written_watched(watched: Watched) -> models.WatchedEntry:
    return models.WatchedEntry(
        node=watched.node,
        before=offer_of(watched.before),
        boot_id=watched.boot_id,
        ready_at=_text_or_nothing(watched.ready_at or 0.0),
        driver=watched.driver,
        started_at=_text_or_nothing(watched.started_at or 0.0),
        loaded_at=_text_or_nothing(watched.loaded_at or 0.0),
        lack=watched.lack,
    )


def _written_places(places: Places) -> models.PlacesEntry:
    return models.PlacesEntry(matrix=_written_place(places.matrix), published=_written_place(places.published))


def _written_place(place: GitPlace | None) -> models.PlaceEntry | None:
    return models.PlaceEntry(url=place.url, branch=place.branch, path=place.path) if place is not None else None


def _text_or_nothing(instant: Instant) -> str:
    return text_of(instant) if instant else ""


def _read_campaign(read: models.CampaignStatus) -> CampaignRecord:
    place = "status.campaign"
    if read.schema > CAMPAIGN_SCHEMA:
        raise ValueError(
            f"{place}.schema: {read.schema} is newer than {CAMPAIGN_SCHEMA}, which is what this release knows; it is "
            "left as it is. Continue with the release that wrote it."
        )
    return CampaignRecord(
        phase=_one_of(RolloutPhase, read.phase, f"{place}.phase"),
        entered_at=_instant(read.entered_at, f"{place}.enteredAt"),
        paused_in=_one_of(RolloutPhase, read.paused_in, f"{place}.pausedIn") if read.paused_in else None,
        mode=_one_of(Mode, read.mode, f"{place}.mode") if read.mode else None,
        canaries=read.canaries,
        baseline=tuple((entry.resource, foreign.line(entry.version)) for entry in read.baseline),
        places=read_places(read.places) if read.places is not None else None,
        switches=tuple(Switch(resource=entry.resource, name=entry.name, value=entry.value) for entry in read.switches),
        wave=read.wave,
        settled_at=_instant(read.settled_at, f"{place}.settledAt"),
        waved_seconds=read.waved_seconds or 0.0,
        waving_since=_instant(read.waving_since, f"{place}.wavingSince"),
        pull_round=read.pull_round,
        unpulled_at=_instant(read.unpulled_at, f"{place}.unpulledAt"),
        is_forgetting=read.forgetting,
        suite=_read_suite(read.suite) if read.suite is not None else None,
        gates=tuple(_read_gate(entry, f"{place}.gates[{number}]") for number, entry in enumerate(read.gates)),
        round=read.round,
        round_at=_instant(read.round_at, f"{place}.roundAt"),
        baked_seconds=read.baked_seconds,
        baked_until=_instant(read.baked_until, f"{place}.bakedUntil"),
        exposed=exposed_records.read(read.exposed, f"{place}.exposed") if read.exposed is not None else None,
        compared=compared_records.read(read.compared, f"{place}.compared") if read.compared is not None else None,
        watched=tuple(_read_watched(entry, f"{place}.watched[{number}]") for number, entry in enumerate(read.watched)),
        well_since=_instant(read.well_since, f"{place}.wellSince"),
        unwell_since=_instant(read.unwell_since, f"{place}.unwellSince"),
        setback=read.setback,
        bake_asked_seconds=read.bake_asked_seconds,
        tag_base=read.tag_base,
        date=read.date,
        # A release before this one may have written what it was told, and a NUL in there stops every commit.
        rejected=foreign.lines(read.rejected),
        why=foreign.lines(read.why),
        history=tuple(_read_turns(read.history, f"{place}.history")),
    )


def read_places(entry: models.PlacesEntry) -> Places:
    """Where a campaign began to work in Git."""
    return Places(matrix=_read_place(entry.matrix), published=_read_place(entry.published))


def _read_place(entry: models.PlaceEntry | None) -> GitPlace | None:
    if entry is None:
        return None
    url, branch, path = foreign.line(entry.url, URL_MAX), foreign.line(entry.branch), foreign.line(entry.path)
    return GitPlace(url=url, branch=branch, path=path)


def _read_gate(entry: proof_models.GateEntry, place: str) -> GateResult:
    return GateResult(
        gate=entry.gate,
        node=entry.node,
        round=entry.round,
        verdict=_one_of(GateVerdict, entry.verdict, f"{place}.verdict"),
        detail=foreign.lines(entry.detail),
        at=_instant(entry.at, f"{place}.at"),
        asked=entry.asked,
        is_left_out=entry.left_out,
    )


def _read_watched(entry: models.WatchedEntry, place: str) -> Watched:
    return Watched(
        node=entry.node,
        before=read_offer(entry.before),
        boot_id=entry.boot_id,
        ready_at=_instant(entry.ready_at, f"{place}.readyAt") or None,
        driver=entry.driver,
        started_at=_instant(entry.started_at, f"{place}.startedAt") or None,
        loaded_at=_instant(entry.loaded_at, f"{place}.loadedAt") or None,
        lack=entry.lack,
    )


def _read_turns(entries: Iterable[models.TurnEntry], place: str) -> Iterable[Turn]:
    for number, entry in enumerate(entries):
        here = f"{place}[{number}]"
        yield Turn(
            phase=_one_of(RolloutPhase, entry.phase, f"{here}.phase"),
            at=_instant(entry.at, f"{here}.at"),
            why=foreign.lines(entry.why),
        )


def _one_of(kind: type[EnumT], text: str, place: str) -> EnumT:
    try:
        return kind(text)
    except ValueError:
        known = ", ".join(str(each.value) for each in kind)
        raise ValueError(f"{place}: {text!r} is none of {known}.") from None


def _instant(text: str, place: str) -> Instant:
    """Read a time; what was never written never was."""
    if not text:
        return 0.0
    try:
        return instant_of(text)
    except ValueError as err:
        raise ValueError(f"{place}: {err}") from err
