"""The canary under telemetry: what a monitoring system tells while it bakes, and what of that is evidence.

    a stretch with data of every canary    waits, and is evidence once the next round of gates has passed
    no data                                no evidence, and the hold says why
    errors that rise                       counted against the expected rate and the controls; too many end the campaign
    memory that fails                      one uncorrectable error ends the bake: what its GPU shows is no evidence

Law of this file: where somebody watches, only time with data counts, and never more of it than the clock would have
counted. A stretch is written down when it is long enough, tells of an event or completes what is asked: a write every
few minutes, however often one looks. Tests: tests/core/campaign/test_exposing.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from seatrial.core.campaign.proving import controls
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.judging import rare
from seatrial.core.judging.asked import Asked
from seatrial.core.judging.evidence import Evidence, exposed_of, watched
from seatrial.core.judging.together import judged
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase
from seatrial.core.model.gates.exposed import Exposed, Rare, Stretch, Watch
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.instants import Instant
from seatrial.core.movers.view import View
from seatrial.core.node.progress import Progress
from seatrial.core.text.names import a_few, number_of

ADD_SECONDS: Final = 300.0
"""How long a stretch is that is written down for its length alone; less, where gates are asked more often."""
SILENT_SECONDS: Final = 180.0
"""How long a canary may tell nothing before that is why we wait: a scrape or two that failed are no reason."""
FOLLOWERS_MAX: Final = 64
"""How many of those that follow are watched, the first of each wave first: enough to see what one canary cannot show,
and no more than fits into a status and into a question."""
WATCHED: Final = frozenset({RolloutPhase.BAKING, RolloutPhase.WAVING})
"""The phases in which somebody is watched."""


def begun(view: View) -> Exposed | None:
    """Nothing shown yet, from now on; None where nobody watches."""
    if view.seen.telemetry is None:
        return None
    return exposed_of(view.record.canaries, _controls(view), at=view.now)


def _controls(view: View) -> tuple[str, ...]:
    """Who is like a canary and has not been upgraded yet; those that it is compared with first."""
    measured = view.record.compared.controls if view.record.compared is not None else ()
    found = (controls.alike(view, name, first=measured) for name in view.record.canaries)
    return tuple(sorted({name for names in found for name in names}))


def noticed(view: View) -> CampaignRecord:
    """The record with the stretch that was told since, if it is due; the same where it is not."""
    record, telemetry = view.record, view.seen.telemetry
    if telemetry is None:  # nobody watches any more: the clock counts again
        return replace(record, exposed=None) if record.exposed is not None else record
    exposed, stretch = record.exposed, telemetry.stretch
    if exposed is None:
        return replace(record, exposed=begun(view)) if record.phase is RolloutPhase.BAKING else record
    if stretch is None or stretch.since != exposed.watched_until or not _is_due(view, exposed, stretch):
        return record
    busy = {name: node.facts.gpu_pods for name, node in view.nodes.items() if node.facts.gpu_pods}
    ours = [name for name, pods in busy.items() if all(pod.is_probe for pod in pods)]
    after = watched(exposed, stretch, with_pods=busy, with_ours=ours)
    waiting = exposed.waiting_seconds + _seconds(view, exposed, stretch)
    lack = _lack(exposed, stretch)
    return replace(record, exposed=replace(after, waiting_seconds=round(waiting, 3), lack=lack))


def _is_due(view: View, exposed: Exposed, stretch: Stretch) -> bool:
    if stretch.until <= stretch.since:
        return False
    # By the time that passed, and not by its length: what was told before somebody fell silent would wait for ever.
    is_time = view.now - stretch.since >= min(ADD_SECONDS, view.campaign.bake.every_seconds)
    return is_time or stretch.has_events or _seconds(view, exposed, stretch) >= _left_seconds(view) > 0


def followed(view: View, names: Iterable[str]) -> CampaignRecord:
    """The record with those of a wave that are through: from now on they are watched as the canaries are."""
    record, exposed = view.record, view.record.exposed
    if exposed is None:
        return record
    known = {*(each.node for each in exposed.canaries), *exposed.followers}
    new = sorted(name for name in names if name not in known and view.progress(name) is Progress.DONE)
    kept = (*exposed.followers, *new)[:FOLLOWERS_MAX]
    return replace(record, exposed=replace(exposed, followers=kept)) if kept != exposed.followers else record


def due_at(view: View) -> Instant | None:
    """When a stretch is long enough to be written down; None where nobody watches, or it should have been by now."""
    exposed = view.record.exposed
    if exposed is None or view.seen.telemetry is None:
        return None
    at = exposed.watched_until + min(ADD_SECONDS, view.campaign.bake.every_seconds)
    return at if at > view.now else None


def _left_seconds(view: View) -> float:
    """How much time with data is missing still, whatever the next round says."""
    record = view.record
    waiting = record.exposed.waiting_seconds if record.exposed is not None else 0.0
    return view.campaign.bake.seconds - record.baked_seconds - waiting


def _seconds(view: View, exposed: Exposed, stretch: Stretch) -> float:
    """The time with data of every canary in it, as far as we looked and nothing befell any of them."""
    covered = min((stretch.of(each.node).seconds for each in exposed.canaries), default=0.0)
    since = max(stretch.since, view.seen.attentive_since, view.record.well_since)
    return max(0.0, min(covered, stretch.until - since))


def why_failed(exposed: Exposed | None) -> str:
    """Which events came too often, by what was written down; empty where none did."""
    if exposed is None:
        return ""
    found = judged(Evidence(exposed=exposed), Asked()).rare
    return "; ".join(_rose(each.counted, exposed) for each in found if each.verdict is GateVerdict.FAILED)


def why_faulty(record: CampaignRecord) -> str:
    """Why a canary is no witness any more: the memory of its GPUs fails. That says nothing about the version.

    Where the nodes beside it have such errors as well, the room has a bad day, and the rate decides.
    """
    exposed = record.exposed
    if exposed is None or record.phase is not RolloutPhase.BAKING:
        return ""
    found = (each for each in exposed.rare if each.name in rare.DEFECTS and each.events and not each.control_events)
    told = "; ".join(_rose(each, exposed) for each in found)
    return f"{told}: check the GPU, not the version, and start again with another canary" if told else ""


def _rose(counted: Rare, exposed: Exposed) -> str:
    nodes = a_few(sorted(each.node for each in exposed.canaries))
    times = "once" if counted.events == 1 else f"{counted.events} times"
    expected = rare.expected(counted) * counted.watched_hours
    told = f"{counted.name} rose {times} on {nodes} in {counted.watched_hours:.3g} GPU-hours ({expected:.2g} expected)"
    if not counted.control_hours:
        return told
    return f"{told}, and {number_of(counted.control_events, 'time')} in {counted.control_hours:.3g} on nodes like it"


def unseen(view: View, until: Instant) -> Hold | None:
    """That a canary is not seen by whoever watches, so that its time is no evidence; None while all are."""
    exposed, telemetry = view.record.exposed, view.seen.telemetry
    if exposed is None or telemetry is None:
        return None
    stretch = telemetry.stretch
    is_silent = stretch is None or stretch.until <= stretch.since
    lack = _lack(exposed, stretch) if is_silent and view.now - exposed.watched_until >= SILENT_SECONDS else exposed.lack
    return view.hold(HoldCode.TELEMETRY_MISSING, until=until, why=lack) if lack else None


def idle(view: View) -> Hold | None:
    """That a canary did not work for as much of its time as is asked for; where nobody watches, nobody knows."""
    asked, exposed = view.campaign.bake.load_min, view.record.exposed
    if not asked or (exposed is not None and exposed.load >= asked):
        return None
    if exposed is None:
        why = f"{a_few(view.record.canaries)}: there is no Prometheus, and a load is required (bake.minimumLoad)"
        return view.hold(HoldCode.TELEMETRY_MISSING, why=why)
    nodes = a_few(view.record.canaries)
    return view.hold(HoldCode.CANARY_IDLE, load=f"{exposed.load:.0%}", asked=f"{asked:.0%}", nodes=nodes)


def _lack(exposed: Exposed, stretch: Stretch | None) -> str:
    """Of which canary nothing was told, and why; empty where something was told of all."""
    for each in exposed.canaries:
        watch = stretch.of(each.node) if stretch is not None else Watch(node=each.node)
        if watch.seconds <= 0:
            return f"{each.node}: {watch.lacks[0] if watch.lacks else 'no look yet'}"
    return ""
