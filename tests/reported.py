"""Rollouts to report of: simulated, played to their end or to a moment, with a journal that was really written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from seatrial.adapters.journal.jsonl import JsonlJournal
from seatrial.app.looking import Look
from seatrial.app.picking import Rollout
from seatrial.app.survey import reporting
from seatrial.cli.show.report import report
from seatrial.core.model.campaign import Bake, Campaign, Waves
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Share
from seatrial.core.text.moments import moment
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.run.recording import Recorder
from seatrial.sim import outside as outer
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.outside import GateFate, Outside
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent

STARTED_AT: Final = 1_772_359_200.0
"""2026-03-01 10:00 UTC."""
GATES: Final = (Gate(name="smoke-train", image="registry.example/smoke:1"), Gate(name="rdma", image="r.example/rdma:1"))
BROKEN: Final = Fate(driver_fails_on=NEW.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A rollout that was played."""

    look: Look
    rollout: Rollout
    journal: Path

    def data(self, *, has_journal: bool = True, is_held: bool = False) -> dict[str, Any]:
        """What is reported of it."""
        told = reporting.journal_of([self.journal], self.rollout.name) if has_journal else None
        found = reporting.document(self.look, self.rollout, is_held=is_held, told=told)
        return found | report.further(self.look)


def careful(**changes: Any) -> Intent:
    """A wish with a canary, two gates, two days of bake and waves."""
    campaign = Campaign(
        gates=GATES,
        bake=Bake(seconds=48 * 3600.0),
        waves=Waves(first=Share(amount=10, is_percent=True), pause_seconds=900.0),
    )
    return an_intent(parallel_max=4, unavailable_max="25%", failed_max=2, campaign=replace(campaign, **changes))


def played(
    folder: Path,
    intent: Intent | None = None,
    *,
    nodes: int = 20,
    fates: Mapping[str, Fate] | None = None,
    gate_fates: Mapping[str, GateFate] | None = None,
    is_over: Callable[[Report], bool] = lambda _: False,
    after_seconds: float = 0.0,
    spec: Mapping[str, Any] | None = None,
    is_delegated: bool = False,
) -> Reported:
    """Play a rollout; without a canary its version is published already."""
    wish = intent or careful()
    wanted = OLD if wish.campaign is not None else NEW
    fleet = [
        new_node(
            f"gpu-{number:0{len(str(nodes))}}",
            running=OLD,
            wanted=wanted,
            gpu_pod_count=number % 3,
            gpu_count=8,
            has_features=True,
            at=STARTED_AT - 86_400,
        )
        for number in range(1, nodes + 1)
    ]
    operator = outer.cluster_policy(OLD.version, is_auto_upgrading=is_delegated, policy=outer.NO_LIMIT)
    outside = Outside(operator=operator) if wish.campaign is not None else Outside()
    world = World(
        fleet,
        wish,
        fates=dict(fates or {}),
        gate_fates=dict(gate_fates or {}),
        outside=outside,
        seed=5,
        started_at=STARTED_AT,
    )
    path = folder / "journal.jsonl"
    with JsonlJournal(path) as journal:
        asyncio.run(
            run_forever(
                world.ports(journal),
                Memory(world.time),
                on_report=lambda _: None,
                is_over=is_over,
                recorder=Recorder(journal),
            )
        )
    return Reported(look=look_at(world, after_seconds), rollout=resource_of(world, spec or {}), journal=path)


def look_at(world: World, after_seconds: float = 0.0) -> Look:
    """What somebody sees who looks, so many seconds later."""
    sight = world.observe()
    return Look(
        at=world.time + after_seconds,
        sight=sight,
        nodes=dict(sight.seen.nodes),
        operator=sight.seen.operator,
    )


def resource_of(world: World, spec: Mapping[str, Any]) -> Rollout:
    """The object of a rollout, as far as a report reads it."""
    summary, campaign = world.rollout.summary, world.rollout.campaign
    ended = [{"type": "Ended", "status": "True", "lastTransitionTime": moment(world.time)}]
    is_done = summary is not None and summary.state == "done"
    status = {"state": summary.state if summary is not None else "", "conditions": ended if is_done else []}
    turns = [{"phase": str(turn.phase), "at": moment(turn.at)} for turn in campaign.history] if campaign else []
    return Rollout(
        raw={
            "metadata": {"name": world.intent.rollout, "creationTimestamp": moment(STARTED_AT)},
            "spec": {"target": {"driver": NEW.version}, **({"canary": {}} if campaign else {}), **spec},
            "status": status | ({"campaign": {"phase": str(campaign.phase), "history": turns}} if campaign else {}),
        }
    )
