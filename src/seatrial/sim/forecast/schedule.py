"""How a careful rollout goes: the canary, its gates, the bake, then waves with their pauses, all of it in windows.

    gates ─▶ canary ─▶ gates ─▶ bake ─▶ wave ─▶ pause ─▶ wave ─▶ …         in a window: whoever starts
    (what is compared is measured before)

Law of this file: who goes first, who follows in which wave, how much evidence a bake counts and when a window is open
is worked out by core; here it is put in a row. Only how long a round of gates takes is assumed, or given. Tests:
tests/sim/test_forecast_schedule.py
"""

from __future__ import annotations

import random
from enum import StrEnum
from shlex import quote
from typing import Final, NamedTuple

from seatrial.core.base.values import dataclass, replace
from seatrial.core.campaign import baking, canary, comparing
from seatrial.core.campaign.waves import wave_order
from seatrial.core.judging.findings import BASELINE_MIN
from seatrial.core.model.campaign import Campaign, CampaignRecord, Point, RolloutPhase, Via
from seatrial.core.model.gates import default_suite
from seatrial.core.model.gates.closed import kept_closed
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.windows import Stretches
from seatrial.core.movers.mover import view_of
from seatrial.core.movers.view import View
from seatrial.sim.forecast.durations import Behaviours, Uniform
from seatrial.sim.forecast.inventory import Inventory, NothingToForecast


class Part(StrEnum):
    """What a rollout spends its time with, as it is told."""

    CANARY = "canary"
    GATES = "gates"
    BAKE = "bake"
    WAVES = "waves"
    PAUSES = "pauses"
    WINDOWS = "windows"
    """Nobody is under way, and those who wait may not start: no window is open."""


ONE_GATE: Final = Uniform(60.0, 120.0)
"""How long a gate's Job takes that nobody has told of, one after the other: most want all GPUs of the canary."""
TOO_LATE: Final = {
    RolloutPhase.PROMOTING: "past its waves, and no node is left to upgrade.",
    RolloutPhase.REVERTING: "being undone, and a forecast is about the way forward.",
}
"""Phases in which a forecast has nothing to say, and why."""
GOING_ON: Final = (RolloutPhase.CANARY, RolloutPhase.GATING, RolloutPhase.BAKING, RolloutPhase.WAVING)
"""Where a rollout goes on from; in any other phase the forecast is about a whole one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Nodes that may start together; the next stage begins when all before it are through."""

    part: Part
    names: frozenset[str]
    least_seconds: float = 0.0
    """It lasts so long at least: a member that cannot start is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The stages of a campaign, and what lies between them."""

    campaign: Campaign
    """With the gates that it is asked."""
    record: CampaignRecord
    """Where it stands when the forecast begins."""
    stages: tuple[Stage, ...]
    canaries: frozenset[str]
    closed: frozenset[str]
    """Canaries that stay closed, and count, until their gates have passed."""
    openings: Stretches | None
    """When nodes may start, counted from the start of the forecast; None where they always may."""
    margin_seconds: float = 0.0
    is_lacking: bool = False
    """Too few nodes will do as canaries, so it never begins."""


class Pace(NamedTuple):
    """How long a campaign waits besides moving nodes, in one future."""

    before: float
    """Rounds of gates before the canary is touched, to compare with."""
    gates: float
    """The first round after its upgrade."""
    bake: float


def schedule_of(inventory: Inventory, intent: Intent) -> Schedule | None:
    """The schedule of an intent; None where it is no campaign, and every node may go at once."""
    if intent.campaign is None:
        return None
    found = inventory.campaign
    phase = (found.paused_in or found.phase) if found is not None else None
    if phase in TOO_LATE:
        raise NothingToForecast(
            f"{intent.rollout} is {TOO_LATE[phase]} `seatrial why {quote(intent.rollout)}` has the rest."
        )
    is_begun = found is not None and (found.paused_in or found.phase) in GOING_ON
    record = found if found is not None and is_begun else CampaignRecord()
    canaries = record.canaries or canary.choose(inventory.nodes, intent.campaign.canary)
    facts = (inventory.nodes[name].facts for name in canaries if name in inventory.nodes)
    suite = record.suite or default_suite.chosen(intent.campaign.suite_image or "", facts)
    record = replace(record, canaries=canaries, suite=suite, phase=record.paused_in or record.phase)
    campaign = default_suite.with_suite(intent.campaign, record)
    seen = Snapshot(
        nodes=inventory.nodes,
        rollout=RolloutRecord(name=intent.rollout, campaign=record),
        operator=inventory.operator,
    )
    view = view_of(seen, intent, campaign, record, inventory.at)
    wanted = len(campaign.canary.nodes) or campaign.canary.count
    return Schedule(
        campaign=campaign,
        record=record,
        stages=_stages(view),
        canaries=frozenset(canaries),
        closed=_closed(view),
        openings=_counted_from(campaign.openings, inventory.at),
        margin_seconds=view.mover.margin_seconds,
        is_lacking=not is_begun and len(canaries) < wanted,
    )


def _closed(view: View) -> frozenset[str]:
    """Who stays closed until gates have passed on its GPUs: whom we close ourselves."""
    phase = RolloutPhase.CANARY if view.record.phase is RolloutPhase.PROPOSED else view.record.phase
    found = kept_closed(replace(view.record, phase=phase), view.campaign)
    return frozenset() if view.mover.starts_by_itself else found


def _stages(view: View) -> tuple[Stage, ...]:
    bounds, rest = wave_order(view)
    is_waving = view.record.phase is RolloutPhase.WAVING
    reached = min(view.record.wave, len(bounds) - 1) if is_waving and bounds else 0
    stages = [] if is_waving else [Stage(part=Part.CANARY, names=view.with_units(view.record.canaries))]
    opened: set[str] = set().union(*(stage.names for stage in stages))
    patience = view.intent.restart_timeout_seconds + view.intent.validation_timeout_seconds
    for bound in bounds[reached:]:
        names = view.with_units(rest[:bound]) - opened
        opened |= names
        stuck = view.mover.why_stuck(view, names)
        stages.append(Stage(part=Part.WAVES, names=names, least_seconds=patience if stuck else 0.0))
    return tuple(stages)


def _counted_from(openings: Stretches | None, start: float) -> Stretches | None:
    return None if openings is None else tuple((opens - start, closes - start) for opens, closes in openings)


def not_included(campaign: Campaign | None) -> tuple[str, ...]:
    """What of a campaign nobody can foresee, and the time of which is therefore left out."""
    if campaign is None:
        return ("canary, gates, bake and waves, since no rollout says any (-f FILE, or --rollout)",)
    points = [point for point in campaign.manual if point is not Point.ROLLBACK and point not in campaign.approved]
    others = [gate.name for gate in campaign.gates if gate.attest is not None or gate.tenant is not None]
    found = {
        f"the wait for a yes before {', '.join(points)}": bool(points),
        "the way of commits into the cluster": campaign.publish is Via.GIT,
        "the wait until somebody else publishes the version": campaign.publish is Via.NOBODY,
        f"gates that wait for people or their work ({', '.join(others)})": bool(others),
        f"a bake that lasts until a loss of {100 * campaign.bake.exclude:g}% is ruled out": bool(campaign.bake.exclude),
        f"a bake that waits for work on {campaign.bake.load_min:.0%} of its time": bool(campaign.bake.load_min),
        "bringing the new driver's image to the nodes": campaign.prepull,
        "the hands of people who move it": campaign.by_hand is not None,
        "the wait for an approval once nodes have failed": not campaign.accepts_failures,
        "gates that fail, and the way back then": True,
    }
    return tuple(what for what, is_so in found.items() if is_so)


# ── how long it waits besides ────────────────────────────────────────────────────────────────────────────────────────


def pace_of(schedule: Schedule, behaviours: Behaviours, seed: int) -> Pace:
    """How long gates and bake take in one future, drawn from a chance of their own."""
    chance = random.Random(f"{seed}/gates")  # noqa: S311  a simulation, not a secret
    campaign, record = schedule.campaign, schedule.record
    jobs = sum(gate.is_job for gate in campaign.gates)
    of_all = behaviours.gates.draw(chance) if behaviours.gates is not None else ONE_GATE.draw(chance) * jobs
    measuring = len(comparing.gates_of(campaign))
    is_measured = record.compared is not None and record.compared.is_measured
    is_before = record.phase in (RolloutPhase.PROPOSED, RolloutPhase.CANARY) and not is_measured
    before = BASELINE_MIN * of_all * measuring / jobs if jobs and is_before else 0.0
    if record.phase is RolloutPhase.WAVING:
        return Pace(0.0, 0.0, 0.0)
    is_baking = record.phase is RolloutPhase.BAKING
    baked = record.baked_seconds if is_baking else 0.0
    return Pace(before, 0.0 if is_baking else of_all, bake_seconds(campaign, of_all, baked))


def bake_seconds(campaign: Campaign, round_seconds: float, baked: float = 0.0) -> float:
    """How long a bake takes in which every round passes: rounds are asked, and count, as core says."""
    record = CampaignRecord(baked_seconds=baked)
    now = 0.0
    while not baking.is_ended(record, campaign):
        now = baking.round_due_at(record, campaign)
        record = baking.next_round(record, now)
        now += round_seconds
        record = baking.counted(record, 0.0, now)
    return now
