"""What befalls a canary while it bakes: the look of every pass is compared with the one before.

    boot id, start of the driver    another one than before: what baked is over, and evidence begins anew
    the node's Ready, the driver's  changed since: the time since the last round is no evidence
    lack                            what is missing from the proof now; while something is, nothing counts

Law of this file: we look now and then, and things come and go between two looks, so what is compared are signs that
stay. A look that is the same as before is not written down: one write for what happened, none for each pass.

Tests: tests/core/campaign/test_evidence.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from seatrial.core.holds import Hold, HoldCode, Lack, hold
from seatrial.core.model.campaign import CampaignRecord, Watched
from seatrial.core.model.instants import Instant
from seatrial.core.movers.view import View
from seatrial.core.node.readiness import offered
from seatrial.core.text import foreign
from seatrial.core.words import explain

SETBACK_MAX: Final = 500
"""How much is kept of why evidence began anew: of a hundred canaries that rebooted, a few say it all."""


def begun(view: View, names: Iterable[str]) -> tuple[Watched, ...]:
    """Canaries before anything is done to them: what they offer is what they have to offer afterwards."""
    return tuple(Watched(node=name, before=offered(view.nodes[name].facts)) for name in names)


def look(view: View) -> tuple[Watched, ...]:
    """The canaries as they are now. What cannot be seen at the moment stays as it was."""
    known = {each.node: each for each in view.record.watched}
    return tuple(_seen(view, known.get(name, Watched(node=name))) for name in view.record.canaries)


def _seen(view: View, before: Watched) -> Watched:
    facts = view.nodes[before.node].facts
    driver, lack = facts.driver, lack_of(view, before.node)
    return replace(
        before,
        boot_id=facts.boot_id or before.boot_id,
        ready_at=before.ready_at if facts.ready_at is None else facts.ready_at,
        driver=driver.uid if driver is not None else before.driver,
        started_at=before.started_at if driver is None or driver.started_at is None else driver.started_at,
        loaded_at=before.loaded_at if driver is None or driver.loaded_at is None else driver.loaded_at,
        lack=lack.code.value if lack is not None else "",
    )


def lack_of(view: View, name: str) -> Lack | None:
    """What is missing from the proof that a canary is well."""
    node = view.nodes[name]
    known = next((each.before for each in view.record.watched if each.node == name), None)
    lack = view.mover.lack(node, known)
    if lack is None and not view.is_through(name):
        return Lack(HoldCode.CANARY_AT_WORK, {"nodes": name})
    return lack


def why_unwell(view: View) -> dict[str, Hold]:
    """By canary: what is missing from the proof, for those of whom something is."""
    found = ((name, lack_of(view, name)) for name in view.record.canaries)
    return {name: hold(name, lack.code, lack.params) for name, lack in found if lack is not None}


def noticed(view: View) -> CampaignRecord:
    """The record after a look; the same where everything is as it was."""
    record, found = view.record, look(view)
    if found == record.watched:
        return record
    known = {each.node: each for each in record.watched}
    anew = "; ".join(filter(None, (_why_anew(known.get(each.node), each) for each in found)))
    is_unwell = any(each.lack for each in found)
    return replace(
        record,
        watched=found,
        well_since=view.now,
        unwell_since=(record.unwell_since or view.now) if is_unwell else 0.0,
        baked_seconds=0.0 if anew else record.baked_seconds,
        exposed=replace(record.exposed, waiting_seconds=0.0) if anew and record.exposed else record.exposed,
        setback=foreign.line(anew, SETBACK_MAX) or record.setback,
    )


def _why_anew(before: Watched | None, after: Watched) -> str:
    """Why a canary is not what it was when its evidence began; empty while it is."""
    if before is None:
        return ""
    if before.boot_id and after.boot_id != before.boot_id:
        return f"canary {after.node} rebooted"
    is_other_pod = bool(before.driver) and after.driver != before.driver
    has_restarted = before.started_at is not None and after.started_at != before.started_at
    return f"the driver of canary {after.node} restarted" if is_other_pod or has_restarted else ""


def told(view: View, until: Instant) -> tuple[Hold, ...]:
    """That a canary is not well, why, and until when it may be."""
    found = why_unwell(view)
    return tuple(
        view.hold(HoldCode.CANARY_UNWELL, until=until, node=name, why=explain.why(lack), mend=explain.next_step(lack))
        for name, lack in sorted(found.items())
    )
