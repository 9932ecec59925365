"""What a bake proves so far, in words and numbers: what was seen, for how long, and what that excludes.

Law of this file: it says what is not proven as loudly as what is. Hours on the clock, hours with data and hours at work
are three figures, and none of them stands for another. Tests: tests/core/words/test_proofs.py
"""

from __future__ import annotations

import math

from seatrial.core.base.values import dataclass, replace
from seatrial.core.judging.asked import Asked
from seatrial.core.judging.evidence import Evidence
from seatrial.core.judging.findings import RareFinding
from seatrial.core.judging.together import judged
from seatrial.core.model.campaign import ENDED, HOUR, Campaign, CampaignRecord
from seatrial.core.model.gates.exposed import Exposed
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.instants import Instant
from seatrial.core.text import spans
from seatrial.core.words import speeds as speed_words
from seatrial.core.words.speeds import Speeds


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What is known of one kind of event."""

    name: str
    count: int
    gpu_hours: float
    control_count: int
    control_gpu_hours: float
    excluded_per_hour: float | None
    """The rate per GPU-hour under load that is excluded; none where nobody worked."""
    is_failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Proven:
    """What a bake proves so far."""

    hours: float
    """Evidence: hours that count."""
    asked_hours: float
    is_watched: bool
    waiting_hours: float = 0.0
    """With data, and waiting for the next round of gates."""
    clock_hours: float = 0.0
    """Since somebody began to watch."""
    watched_hours: float = 0.0
    loaded_gpu_hours: float = 0.0
    soaked_gpu_hours: float = 0.0
    load: float = 0.0
    events: tuple[Event, ...] = ()
    lack: str = ""
    confidence: float = 0.0
    false_alarms: float = 0.0
    speeds: Speeds | None = None
    """What comparing figures says; none where nobody has worked it out."""
    exclude: float = 0.0
    """The loss that is asked to be excluded before the fleet follows; 0 where none is."""
    unproven: str = ""
    """Why it is not; empty where it is, or none is asked."""

    @property
    def is_enough(self) -> bool:
        """Whether all that is asked is there: time, and what has to be excluded."""
        return self.hours >= self.asked_hours and not self.unproven

    @property
    def is_failed(self) -> bool:
        """Whether something speaks against the upgrade."""
        return any(each.is_failed for each in self.events) or (self.speeds is not None and self.speeds.is_failed)


def proven(record: CampaignRecord, campaign: Campaign, now: Instant) -> Proven:
    """What the record of a campaign proves."""
    hours, asked_hours = record.baked_seconds / HOUR, campaign.bake.seconds / HOUR
    exposed = record.exposed
    speeds, exclude = speed_words.speeds_of(record, campaign), campaign.bake.exclude
    unproven = speed_words.lack(speeds, record) if exclude else ""
    plain = Proven(
        hours=hours, asked_hours=asked_hours, is_watched=False, speeds=speeds, exclude=exclude, unproven=unproven
    )
    if exposed is None:
        return plain
    asked = Asked()
    found = judged(Evidence(exposed=exposed), asked).rare
    return replace(
        plain,
        is_watched=True,
        waiting_hours=exposed.waiting_seconds / HOUR,
        clock_hours=_clock_hours(record, exposed, now),
        watched_hours=exposed.watched_seconds / HOUR,
        loaded_gpu_hours=exposed.loaded_gpu_hours,
        soaked_gpu_hours=exposed.soaked_gpu_hours,
        load=exposed.load,
        events=tuple(_event(each, asked) for each in found),
        lack=exposed.lack,
        confidence=asked.confidence,
        false_alarms=asked.false_alarms,
    )


def _clock_hours(record: CampaignRecord, exposed: Exposed, now: Instant) -> float:
    """Until now while it bakes or waves; afterwards nobody watches any more."""
    is_over = record.phase in ENDED
    return max(0.0, (exposed.watched_until if is_over else now) - exposed.since) / HOUR


def _event(found: RareFinding, asked: Asked) -> Event:
    counted, most = found.counted, found.most(asked)
    return Event(
        name=counted.name,
        count=counted.events,
        gpu_hours=counted.watched_hours,
        control_count=counted.control_events,
        control_gpu_hours=counted.control_hours,
        excluded_per_hour=most if math.isfinite(most) else None,
        is_failed=found.verdict is GateVerdict.FAILED,
    )


def sentences(found: Proven) -> tuple[str, ...]:
    """What it proves and what it does not, a sentence each."""
    hours = f"{spans.hours(found.hours)} of {spans.hours(found.asked_hours)}"
    told = [f"{hours} count as evidence{': every gate passed before and after' if found.hours else ''}."]
    if not found.is_watched:
        told.append(
            "Nothing watches between the rounds: an error that comes and goes there is missed. Start the controller "
            "with --prometheus."
        )
        rate = _rate(found.speeds, "losses") if found.speeds is not None and found.speeds.speeds else ()
        return (*told, *_of_speed(found), *rate)
    told.append(
        f"{spans.hours(found.watched_hours)} of {spans.hours(found.clock_hours)} have data of every canary; time "
        "without data counts for nothing."
    )
    if found.waiting_hours:
        told.append(
            f"{spans.hours(found.waiting_hours)} more with data will count once the next round of gates passes."
        )
    if found.lack:
        told.append(f"There is no data at the moment: {found.lack}.")
    told.append(_work(found))
    told += [_of_event(each, found) for each in found.events]
    return (*told, *_of_speed(found), *_rate(found, "events and losses together"))


def _rate(found: Proven | Speeds, what: str) -> tuple[str]:
    share = f"{found.false_alarms:.0%}"
    return (f"At most {share} of good upgrades are rolled back for such {what}, however often we look.",)


def _of_speed(found: Proven) -> tuple[str, ...]:
    told = speed_words.sentences(found.speeds) if found.speeds is not None else ()
    if not found.exclude:
        return told
    asked = f"A loss of {100 * found.exclude:g}% has to be ruled out before the fleet follows"
    return (*told, f"{asked}, and is not yet." if found.unproven else f"{asked}, and is.")


def _work(found: Proven) -> str:
    if not found.loaded_gpu_hours:
        return "The canary was idle, which proves little. Run pods there."
    worked = f"The canary was busy for {found.loaded_gpu_hours:.1f} GPU-hours, {found.load:.0%} of the time watched"
    return f"{worked}; {found.soaked_gpu_hours:.1f} of them for gates only." if found.soaked_gpu_hours else f"{worked}."


def _of_event(event: Event, found: Proven) -> str:
    seen = f"{event.name}: {event.count} in {event.gpu_hours:.1f} GPU-hours"
    if event.control_gpu_hours:
        seen += f", {event.control_count} in {event.control_gpu_hours:.1f} on nodes like it"
    if event.is_failed:
        return f"{seen}: too often."
    if not event.gpu_hours:
        return f"{event.name}: no data, so nothing is known."
    if event.excluded_per_hour is None:
        return f"{seen}; without load that rules out nothing."
    rate = f"more than one in {1 / event.excluded_per_hour:.3g} GPU-hours under load"
    return f"{seen}; {rate} is ruled out at {found.confidence:.0%}."
