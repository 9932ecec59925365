"""The new driver's image is brought to a node before the node is touched: minutes of pulling are no minutes of outage.

A Job of the very image runs on the node and does nothing; how it ends does not matter, only that it ran. An image that
cannot be started is found out while the node still has its old driver, and the node waits instead of being broken. It
is asked again in rounds, after a pause that grows: a Job that failed is no reason to wait for ever for an image that
was pushed since. Tests: tests/core/movers/test_prepulling.py
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from seatrial.core.actions.of_campaigns import CampaignAct, StartProbe
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.judging.tries import judge
from seatrial.core.model.campaign import CampaignRecord
from seatrial.core.model.gates.gate import PREPULL, Gate, GateVerdict
from seatrial.core.model.instants import Instant
from seatrial.core.movers.view import Start, View
from seatrial.core.node.progress import Progress

SECONDS: Final = 900.0
STARTS_MAX: Final = 20
"""How many nodes begin to pull in one pass: registries are slow, and shared."""
PAUSE_SECONDS: Final = 900.0
PAUSE_SECONDS_MAX: Final = 7200.0
"""Between two rounds a quarter of an hour, doubling to two: each of them leaves Jobs behind for people to look at."""


def bring(view: View, names: Collection[str]) -> Start:
    """Bring the image to these nodes; ready is who has it, or needs none."""
    if not view.campaign.prepull:
        return Start(record=view.record, ready=frozenset(names))
    has_run = {
        each.node
        for each in view.seen.measurements
        if each.gate == PREPULL and each.verdict in (GateVerdict.PASSED, GateVerdict.FAILED)
    }
    ready: set[str] = set()
    acts: list[CampaignAct] = []
    pulling: list[str] = []
    lacking: list[tuple[str, str, str]] = []
    refused: list[tuple[str, str]] = []
    for name in sorted(names):
        facts = view.nodes[name].facts
        wanted, is_kept = facts.wanted, facts.is_driver_in_sync and bool(facts.operands)
        is_needed = wanted is not None and wanted.image and view.progress(name) is Progress.AWAY and not is_kept
        if wanted is None or not is_needed or name in has_run:
            ready.add(name)
            continue
        gate = Gate(name=PREPULL, image=wanted.image, command=("true",), gpus=0, timeout_seconds=SECONDS)
        number = view.record.pull_round
        judged = judge(gate, name, number, view.seen.measurements)
        if judged.verdict is GateVerdict.UNKNOWN:
            lacking.append((name, wanted.image, judged.detail))
            continue
        if judged.detail and judged.due is None:
            refused.append((name, judged.detail))
            continue
        pulling.append(name)
        if judged.due is not None:
            acts.append(StartProbe(rollout=view.name, gate=gate, node=name, round=number, attempt=judged.due))
    due = tuple(act for act in acts if view.may_act(act.subject))[:STARTS_MAX]
    record = _round_of(view) if lacking else view.record
    holds = _told(view, record, pulling, lacking)
    holds += tuple(
        view.hold(HoldCode.GATE_REFUSED, gate=PREPULL, node=name, why=why, namespace=_kept_out_of(view, name))
        for name, why in refused
    )
    turned_down = view.turned_down(acts)
    holds += (turned_down,) if turned_down is not None else ()
    return Start(record=record, ready=frozenset(ready), acts=due, holds=holds)


def _kept_out_of(view: View, name: str) -> str:
    """The namespace that lets no pull for this node in."""
    pulls = (each for each in view.seen.measurements if (each.gate, each.node) == (PREPULL, name))
    return next((each.kept_out_of for each in pulls if each.kept_out_of), "")


def _round_of(view: View) -> CampaignRecord:
    """The record of a campaign with nodes that could not get the image: their tries are used up, or begin anew."""
    record = view.record
    if not record.unpulled_at:
        return replace(record, unpulled_at=view.now)
    if view.now >= again_at(record):
        return replace(record, pull_round=record.pull_round + 1, unpulled_at=0.0)
    return record


def again_at(record: CampaignRecord) -> Instant:
    """When nodes that could not get the image are asked again."""
    return record.unpulled_at + min(PAUSE_SECONDS * float(2 ** min(record.pull_round, 8)), PAUSE_SECONDS_MAX)


def _told(
    view: View, record: CampaignRecord, pulling: list[str], lacking: list[tuple[str, str, str]]
) -> tuple[Hold, ...]:
    until = again_at(record) if record.unpulled_at else None
    holds = [
        view.hold(HoldCode.IMAGE_NOT_PULLED, node=name, image=image, why=why, until=until)
        for name, image, why in lacking
    ]
    if pulling:
        ends_at = view.record.entered_at + SECONDS
        told = view.hold(
            HoldCode.PREPULLING, count=len(pulling), node=pulling[0], until=ends_at if ends_at > view.now else None
        )
        holds.append(told)
    return tuple(holds)
