"""Who moves the nodes of a rollout: chosen here, and asked for by its mode nowhere else in core.

    what was written down when the campaign began, else what is asked for, else what the cluster has

A new way for something to reach nodes is one file with a Mover, and one line here.
Tests: tests/core/movers/test_movers.py
"""

from __future__ import annotations

from typing import Final, assert_never

from seatrial.core.model.campaign import Campaign, CampaignRecord, Mode
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers.by_hand import Hand
from seatrial.core.movers.direct import DIRECT, UNCHOSEN
from seatrial.core.movers.nvidia import NVIDIA
from seatrial.core.movers.view import Mover, View
from seatrial.core.node.progress import back_to

PLAIN: Final[Mover] = DIRECT
"""Without a campaign we move the nodes ourselves."""


def mover_of(mode: Mode | None, intent: Intent | None = None, operator: OperatorFacts | None = None) -> Mover:
    """Who moves the nodes, by the word for it. People have to know what is asked of them, and who moves drivers."""
    match mode:
        case None:
            return UNCHOSEN
        case Mode.DIRECT:
            return DIRECT
        case Mode.DELEGATED:
            return NVIDIA
        case Mode.BY_HAND:
            drivers = mover_of(operator.mode) if operator is not None else UNCHOSEN
            step = intent.campaign.by_hand if intent is not None and intent.campaign is not None else None
            version = intent.target.version_of(step.component) if intent is not None and step is not None else ""
            return Hand(asked=step, version=version, drivers=drivers)
        case _:
            assert_never(mode)


def asked_mode(campaign: Campaign | None) -> Mode | None:
    """Who is asked outright to move the nodes; None where that is left to the cluster."""
    if campaign is None:
        return None
    return Mode.BY_HAND if campaign.by_hand is not None else campaign.mode


def mode_of(record: CampaignRecord | None, campaign: Campaign | None, operator: OperatorFacts) -> Mode:
    """Who moves the nodes: as it was written down, else as asked for, else as the cluster has it."""
    return (record.mode if record is not None else None) or asked_mode(campaign) or operator.mode


def mover_seen(seen: Snapshot, intent: Intent | None = None) -> Mover:
    """Who is seen to have been chosen; what people move, they move from the start."""
    record = seen.rollout.campaign
    if intent is not None and asked_mode(intent.campaign) is Mode.BY_HAND:
        return mover_of(Mode.BY_HAND, intent, seen.operator)
    return mover_of(record.mode if record is not None else None, intent, seen.operator)


def view_of(seen: Snapshot, intent: Intent, campaign: Campaign, record: CampaignRecord, now: Instant) -> View:
    """What a campaign looks at in one pass."""
    mover = mover_of(mode_of(record, campaign, seen.operator), intent, seen.operator)
    back = back_to(record.baseline, seen.operator, mover.target(intent))
    return View(seen=seen, intent=intent, campaign=campaign, record=record, mover=mover, now=now, back_to=back)
