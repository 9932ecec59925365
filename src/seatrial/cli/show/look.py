"""A look at a cluster, for the commands that only read: one, or one after the other. Tests: tests/cli/, tests/e2e/."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading.observe import KubeObserver
from seatrial.adapters.kube.reading.rollout_items import RolloutUnclear
from seatrial.cli import options as cluster_options
from seatrial.cli.rollout import pick as rollout_pick
from seatrial.core.decide import Decision, decide
from seatrial.core.model.campaign import SourceFacts
from seatrial.core.model.gates import READINESS, TRIES_MAX, Measurement, Verdict
from seatrial.core.model.instants import Instant
from seatrial.core.model.snapshot import NodeSeen, OperatorFacts, Snapshot
from seatrial.ports import Sight

SYNC_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What is there, and what the controller would make of it."""

    at: Instant
    sight: Sight | None
    decision: Decision | None
    nodes: dict[str, NodeSeen]
    operator: OperatorFacts
    faults: tuple[str, ...] = ()
    rollouts: tuple[rollout_pick.Rollout, ...] = ()
    """Every rollout there is, as the API server had them when we began to look."""


def look(args: argparse.Namespace) -> Look:
    """Read everything once and decide as the controller would, without doing anything."""
    return asyncio.run(_look(args))


async def _look(args: argparse.Namespace) -> Look:
    async with looking(args) as looker:
        found = looker.look()
        if args.rollout and found.sight is None and not found.faults:
            raise RolloutUnclear(f"There is no GPURollout {args.rollout}; `kubectl get gpurollouts` lists them.")
        return found


class Looker:
    """Looks again and again at a cluster that is being watched."""

    def __init__(
        self, observer: KubeObserver, faults: list[str], rollouts: tuple[rollout_pick.Rollout, ...] = ()
    ) -> None:
        self._observer, self._faults, self._rollouts = observer, faults, rollouts

    def look(self) -> Look:
        """What is there now."""
        sight = self._observer.observe()
        sight = _remembering(sight) if sight else None
        now = time.time()
        faults = tuple(self._faults)
        self._faults.clear()
        return Look(
            at=now,
            sight=sight,
            decision=decide(sight.seen, sight.intent, now) if sight else None,
            nodes=dict(self._observer.all_nodes()),
            operator=self._observer.operator(),
            faults=faults,
            rollouts=self._rollouts,
        )

    async def wait(self, seconds: float) -> None:
        """Return when something has changed, or after so many seconds."""
        await self._observer.wait(time.time() + seconds)


@asynccontextmanager
async def looking(args: argparse.Namespace) -> AsyncIterator[Looker]:
    """Watch a cluster, with everything listed once before the first look."""
    faults: list[str] = []
    async with Client(cluster_options.load(args), user_agent=f"{cluster_options.USER_AGENT} (cli)") as client:
        rollouts = await _rollouts(client)
        observing = KubeObserver(client, namespace=args.namespace, rollout=args.rollout, on_fault=faults.append)
        async with observing as observer:
            await observer.wait_synced(SYNC_SECONDS)
            yield Looker(observer, faults, rollouts)


async def _rollouts(client: Client) -> tuple[rollout_pick.Rollout, ...]:
    try:
        return await rollout_pick.all_of(client)
    except rollout_pick.RolloutMissing:
        return ()  # the kind is missing, which the observer says with everything else it misses


def _remembering(sight: Sight) -> Sight:
    """The sight with what the controller wrote down of its own memory, so that we decide as it does."""
    record = sight.seen.rollout
    # That its finalizer is put there first does not matter to who looks; should that fail, the status says so.
    seen = replace(sight.seen, rebuffs=dict(record.rebuffs), attentive_since=record.attentive_since, is_guarded=True)
    return Sight(seen=_as_the_controller(seen, sight), intent=sight.intent)


def _as_the_controller(seen: Snapshot, sight: Sight) -> Snapshot:
    """With what only the controller looks at, as far as its record tells: verdicts, and a matrix that still stands.

    When the matrix does not stand, the controller says so in the rollout's status, and that is what people are shown.
    """
    campaign, record = sight.intent.campaign, seen.rollout.campaign
    if campaign is None or record is None:
        return seen
    source = seen.source
    if source is None and campaign.has_source:
        source = SourceFacts(driver=str(sight.intent.target))
    measured = seen.measurements or tuple(
        Measurement(
            gate=each.gate,
            node=each.node,
            round=each.round,
            attempt=TRIES_MAX,
            verdict=each.verdict,
            detail=each.detail,
        )
        for each in record.gates
        if each.gate != READINESS and each.verdict is not Verdict.PENDING
    )
    return replace(seen, source=source, measurements=measured)
