"""A rollout as it is looked back upon: what was done, when, why, on which evidence, at what cost, and who said yes.

One document. The page, the text of the terminal and `-o json` are all made of it.

Law of this file: a figure that nobody knows is None, and never 0. What the status does not keep (the times of every
node, commits, evictions) is read from a journal where one is given, and is not known where none is.
Tests: tests/app/test_reporting.py, tests/cli/test_report.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from seatrial.app import waits
from seatrial.app.outcome import MEANS, is_over, outcome_of, standings_of
from seatrial.app.picture import Picture, picture_of
from seatrial.core.base.values import dataclass
from seatrial.core.budget.losses import lost_gpu_seconds
from seatrial.core.decision import summary
from seatrial.core.errors import SeatrialError
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase, SourceFacts
from seatrial.core.model.seen.nodes import NodePhase
from seatrial.core.movers.mover import mover_seen
from seatrial.core.node.progress import Progress
from seatrial.core.survey.report import recorded, settings, stretches
from seatrial.core.survey.report.recorded import Recorded, Waited
from seatrial.core.survey.report.stretches import NodeTimes, Stretch
from seatrial.core.text.moments import moment
from seatrial.core.words import accounts, explain, proofs

if TYPE_CHECKING:
    from pathlib import Path

    from seatrial.app.looking import Look
    from seatrial.app.picking import Rollout
    from seatrial.core.model.instants import Instant
    from seatrial.core.model.seen.nodes import NodeSeen
    from seatrial.passes import Entry
    from seatrial.ports import Sight

EVICT: Final = "EvictPods"
ANSWERED: Final = frozenset({"done", "blocked"})


class NotToBeSeen(SeatrialError):  # noqa: N818  the message says what to do
    """There is a rollout, and what belongs to it cannot be read."""


class NotInJournal(SeatrialError):  # noqa: N818  the message says what to do
    """A journal that tells nothing of this rollout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a journal tells of one rollout."""

    seen: Recorded
    evictions: int
    """Pods that were asked to leave."""


# ── what a journal tells ─────────────────────────────────────────────────────────────────────────────────────────────


def journal_of(paths: Sequence[Path], rollout: str) -> Told:
    """What journals tell of a rollout; every line of them is checked first."""
    from seatrial.adapters.journal import reading

    files = [file for row in reading.journals([reading.check(path) for path in paths]) for file in row]
    told = told_by((entry for file in files for entry in reading.entries(file)), rollout)
    if not told.seen.until:
        names = ", ".join(str(path) for path in paths)
        raise NotInJournal(
            f"{names}: no pass of rollout {rollout} is recorded here. Give the journal of the controller that led it."
        )
    return told


def told_by(entries: Iterable[Entry], rollout: str) -> Told:
    """What entries tell of a rollout, oldest first."""
    from seatrial import passes

    reader, pods = passes.Reader(), set[str]()
    asked: dict[str, set[str]] = {}
    is_ours = False

    def of_passes() -> Iterator[tuple[Instant, Any]]:
        nonlocal is_ours
        for entry in entries:
            if entry.kind == passes.KIND:
                made = reader.read(entry)
                is_ours = made.intent.rollout == rollout
                if is_ours:
                    yield entry.at, made.seen
                continue
            act = str(entry.fields.get("id", ""))
            if entry.kind == "act" and is_ours and entry.fields.get("act") == EVICT:
                asked[act] = set(act.rpartition("/")[2].split("+"))
            elif entry.kind == "outcome" and act in asked and entry.fields.get("result") in ANSWERED:
                pods.update(asked.pop(act))

    seen = recorded.read(of_passes())
    return Told(seen=seen, evictions=len(pods))


# ── the document ─────────────────────────────────────────────────────────────────────────────────────────────────────


def began_at(rollout: Rollout) -> Instant:
    """When a rollout was made."""
    return datetime.fromisoformat(rollout.created).timestamp() if rollout.created else 0.0


def document(found: Look, rollout: Rollout, *, is_held: bool = False, told: Told | None = None) -> dict[str, Any]:
    """Everything that is known of a rollout; NotToBeSeen where it cannot be read."""
    waiting = waits.waits_of(found)
    if found.sight is None or waiting is None:
        why = " ".join(found.faults) or f"GPURollout {rollout.name} cannot be read."
        raise NotToBeSeen(f"There is nothing to report of {rollout.name}: {why}")
    sight, picture = found.sight, picture_of(found)
    intent, record = sight.intent, sight.seen.rollout.campaign
    tally, outcome = _tally(found, sight), outcome_of(found)
    begin, end = _times(found, rollout)
    state = waiting.state if sight.seen.rollout.summary is not None or record is not None else ""
    state = "over" if state and is_over(found) else state
    wait = next((each.why for each in waiting.rollout), "") if outcome.value == "held" else ""
    return {
        "rollout": rollout.name,
        "at": moment(found.at),
        "asOf": waits.as_of(found, waiting),
        "goal": intent.goal,
        "from": _before(picture, record),
        "phase": record.phase.value if record is not None else state or "not begun",
        "isOver": is_over(found),
        "isUnled": waits.is_stale(found, waiting),
        "outcome": outcome.value,
        "means": MEANS[outcome],
        "verdict": accounts.verdict(intent, record, tally, state=state, waits=wait),
        "summary": list(accounts.summary(intent, record, tally, is_held=is_held)),
        "began": moment(begin),
        "ended": moment(end) if is_over(found) else None,
        "seconds": round(end - begin, 3),
        "nodes": _nodes(found, sight, picture, tally),
        "cost": {"gpuHours": _gpu_hours(found, sight), "evictions": _evictions(sight, told)},
        "timeline": _timeline(found, rollout, told),
        "canaries": list(record.canaries) if record is not None else [],
        "waves": list(picture.wave_sizes) if picture is not None else [],
        "bake": _bake(picture),
        "waits": _waits(found, told),
        "said": _said(sight, rollout, is_held=is_held),
        "git": _git(sight, told.seen.source if told is not None else None),
        "settings": [{"what": what, "value": value} for what, value in settings.settings(intent)],
        "hasJournal": told is not None,
    }


def _tally(found: Look, sight: Sight) -> accounts.Tally:
    """How many came along: as it was written at its end where nodes have moved on since, else as they are now."""
    stand = standings_of(sight)
    done, failed, skipped = (len(stand.get(each, ())) for each in (Progress.DONE, Progress.FAILED, Progress.SKIPPED))
    written = sight.seen.rollout.summary
    if _has_moved_on(found, sight, done) and written is not None:
        failed = dict(written.counts).get(NodePhase.UPGRADE_FAILED.value, 0)
        return accounts.Tally(done=written.done, failed=failed, total=written.total)
    return accounts.Tally(done=done, failed=failed, skipped=skipped, total=len(sight.seen.nodes))


def _has_moved_on(found: Look, sight: Sight, done: int) -> bool:
    """Whether nodes were moved again since it ended, so that what they are now says nothing of it."""
    written = sight.seen.rollout.summary
    is_written = written is not None and written.state in summary.OVER and bool(written.total)
    return is_written and is_over(found) and written is not None and written.done != done


def _times(found: Look, rollout: Rollout) -> tuple[Instant, Instant]:
    """From when to when: to its last turn where it is over, else until now."""
    turns = _turns(found)
    begin = turns[0].at if turns and turns[0].phase is RolloutPhase.PROPOSED else began_at(rollout) or found.at
    end = found.at
    if is_over(found):
        end = turns[-1].at if turns else _ended_at(found, rollout, begin)
    return begin, max(begin, end)


def _ended_at(found: Look, rollout: Rollout, begin: Instant) -> Instant:
    """When a rollout without a canary ended: by its own word, else when the last of its nodes did."""
    said = datetime.fromisoformat(rollout.since).timestamp() if rollout.since else 0.0
    if said > begin or found.sight is None:
        return said
    records = (node.record for node in found.sight.seen.nodes.values() if node.record is not None)
    return max((record.entered_at for record in records), default=begin)


def _turns(found: Look) -> tuple[Any, ...]:
    record = found.sight.seen.rollout.campaign if found.sight is not None else None
    return record.history if record is not None else ()


def _before(picture: Picture | None, record: CampaignRecord | None) -> str | None:
    """What ran before, where it was written down."""
    if picture is None or record is None:
        return None
    by_hand = picture.campaign.by_hand
    return picture.before or (by_hand.before if by_hand is not None else "") or None


def _gpu_hours(found: Look, sight: Sight) -> float | None:
    """What it has cost; None where others move the nodes, or nobody has written anything down."""
    is_counted = mover_seen(sight.seen, sight.intent).counts_losses and sight.seen.rollout.summary is not None
    return round(lost_gpu_seconds(sight.seen, found.at) / 3600, 3) if is_counted else None


def _evictions(sight: Sight, told: Told | None) -> int | None:
    """How many pods were told to leave; None without a journal, and where others empty the nodes."""
    is_ours = mover_seen(sight.seen, sight.intent).counts_losses and sight.intent.requestor is None
    return told.evictions if told is not None and is_ours else None


def _nodes(found: Look, sight: Sight, picture: Picture | None, tally: accounts.Tally) -> dict[str, Any]:
    stand = standings_of(sight)
    if _has_moved_on(found, sight, len(stand.get(Progress.DONE, ()))):
        known = {"total": tally.total, "done": tally.done, "failed": tally.failed, "skipped": None}
        return known | {"moving": None, "away": None, "failedNodes": [], "skippedNodes": [], "hasMovedOn": True}
    told = {line.name: line.told.why for line in (picture.failed if picture is not None else ()) if line.told}
    failed: list[dict[str, str | None]] = [
        {
            "name": node.name,
            "why": told.get(node.name) or _why_failed(node),
            "since": moment(node.record.entered_at if node.record is not None else None),
        }
        for node in map(sight.seen.nodes.__getitem__, sorted(stand.get(Progress.FAILED, ())))
    ]
    return {
        "total": tally.total,
        "done": tally.done,
        "failed": tally.failed,
        "skipped": tally.skipped,
        "moving": len(stand.get(Progress.MOVING, ())),
        "away": len(stand.get(Progress.AWAY, ())),
        "failedNodes": failed,
        "skippedNodes": sorted(stand.get(Progress.SKIPPED, ())),
        "hasMovedOn": False,
    }


def _why_failed(node: NodeSeen) -> str:
    reason = node.record.reason if node.record is not None else ""
    told = explain.FAILURES.get(reason, reason or "no reason was recorded")
    trouble = node.record.trouble if node.record is not None else ""
    return f"{told} ({trouble})" if trouble else told


# ── when ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _timeline(found: Look, rollout: Rollout, told: Told | None) -> dict[str, Any]:
    begin, end = _times(found, rollout)
    phases = _phases(found, begin, end)
    nodes = _node_times(found, begin, end, told)
    return {
        "from": moment(begin),
        "to": moment(end),
        "phases": [_stretch(each) for each in phases],
        "closer": [{"from": moment(at), "to": moment(until)} for at, until in stretches.closer(phases)],
        "nodes": [{"name": each.name, "works": [_stretch(work) for work in each.works]} for each in nodes],
        "nodesFrom": "journal" if told is not None else "records",
    }


def _phases(found: Look, begin: Instant, end: Instant) -> tuple[Stretch, ...]:
    turns = _turns(found)
    if turns:
        return stretches.phases(turns, end, is_over=is_over(found))
    if end <= begin:
        return ()
    what = "moving nodes" if is_over(found) else "not over"
    return (Stretch(what=what, at=begin, until=end, is_over=is_over(found)),)


def _node_times(found: Look, begin: Instant, end: Instant, told: Told | None) -> tuple[NodeTimes, ...]:
    nodes = found.sight.seen.nodes if found.sight is not None else {}
    known = stretches.by_their_records(nodes, begin, end)
    return stretches.within(stretches.together(told.seen.nodes if told is not None else (), known), begin, end)


def _stretch(each: Stretch) -> dict[str, Any]:
    return {
        "what": str(each.what),
        "at": moment(each.at),
        "until": moment(each.until),
        "seconds": round(each.seconds, 3),
        "why": each.why,
        "isOver": each.is_over,
    }


def _waits(found: Look, told: Told | None) -> list[dict[str, Any]]:
    """What it waited for: of all its time with a journal, else what it waits for now and when it was paused."""
    known = list(told.seen.waits) if told is not None else list(_waits_now(found))
    for each in stretches.phases(_turns(found), found.at, is_over=is_over(found)):
        if each.what == RolloutPhase.PAUSED:
            known.append(Waited(code="", why="it was paused", at=each.at, seconds=each.seconds, is_over=each.is_over))
    return [
        {
            "why": each.why,
            "since": moment(each.at),
            "seconds": round(each.seconds, 3) if each.seconds is not None else None,
            "times": each.times,
            "isOver": each.is_over or is_over(found),
        }
        for each in sorted(known, key=lambda each: each.at or 0.0)
    ]


def _waits_now(found: Look) -> Iterator[Waited]:
    waiting = waits.waits_of(found)
    if waiting is None or is_over(found):
        return
    for each in (*waiting.rollout, *waiting.nodes):
        seconds = max(0.0, found.at - each.since) if each.since is not None else None
        yield Waited(code=each.code, why=each.why, at=each.since, seconds=seconds, is_over=False)


# ── why one may believe it, and who said so ──────────────────────────────────────────────────────────────────────────


def _bake(picture: Picture | None) -> dict[str, Any] | None:
    """What the bake proved, in words; None before there was one."""
    if picture is None or not any(turn.phase is RolloutPhase.BAKING for turn in picture.record.history):
        return None
    proven = proofs.proven(picture.record, picture.campaign, picture.at)
    return {
        "hours": round(proven.hours, 3),
        "askedHours": round(proven.asked_hours, 3),
        "told": list(proofs.sentences(proven)),
    }


def _said(sight: Sight, rollout: Rollout, *, is_held: bool) -> list[dict[str, str | None]]:
    """Who told it what: signed words, words for gates, and approvals that nobody signed."""
    signed = rollout.spec.get("said") or ()
    told: list[dict[str, str | None]] = [
        {"at": each.get("at"), "who": accounts.who(each.get("by", ""), is_held=is_held), "what": each["what"]}
        for each in signed
    ]
    campaign = sight.intent.campaign
    if campaign is None:
        return told
    for word in campaign.attested:
        where = f" on {word.node}" if word.node else ""
        what = f"said that gate {word.gate} {'passes' if word.is_pass else 'fails'}{where}: {word.because}"
        told.append({"at": moment(word.at), "who": accounts.who(word.by, is_held=is_held), "what": what})
    known = {each["what"] for each in signed}
    unsigned = (point for point in campaign.approved if f"approved {point}" not in known)
    told += [{"at": None, "who": "somebody", "what": f"approved {point} (nobody signed it)"} for point in unsigned]
    return sorted(told, key=lambda each: each["at"] or "")


def _git(sight: Sight, source: SourceFacts | None) -> dict[str, Any] | None:
    """What it did at the home of the matrix; None where it has none. Commits are not kept in the status."""
    campaign, record = sight.intent.campaign, sight.seen.rollout.campaign
    if campaign is None or not (campaign.has_source or campaign.places.published):
        return None
    places = (record.places if record is not None else None) or campaign.places
    return {
        "places": [str(each) for each in (places.matrix, places.published) if each is not None],
        "commits": [{"step": str(step), "commit": commit} for step, commit in source.steps] if source else None,
        "requests": [{"step": str(step), "url": each.url, "state": each.state} for step, each in source.requests]
        if source
        else None,
        "tag": source.tag or None if source else None,
        "tagBase": (record.tag_base if record is not None else "") or None,
    }
