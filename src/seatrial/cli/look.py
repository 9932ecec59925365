"""One look at a cluster, for the commands that only read. Tests: tests/cli/, tests/e2e/."""

from __future__ import annotations

import argparse
import asyncio
import time
from dataclasses import dataclass, replace

from seatrial.adapters.kube.client import Client
from seatrial.adapters.kube.observe import KubeObserver, RolloutUnclear
from seatrial.cli import cluster_options
from seatrial.core.decide import Decision, decide
from seatrial.core.snapshot import Instant, NodeSeen, OperatorFacts
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


def look(args: argparse.Namespace) -> Look:
    """Read everything once and decide as the controller would, without doing anything."""
    return asyncio.run(_look(args))


async def _look(args: argparse.Namespace) -> Look:
    faults: list[str] = []
    async with (
        Client(cluster_options.load(args), user_agent=f"{cluster_options.USER_AGENT} (cli)") as client,
        KubeObserver(client, namespace=args.namespace, rollout=args.rollout, on_fault=faults.append) as observer,
    ):
        await observer.wait_synced(SYNC_SECONDS)
        sight = observer.observe()
        if args.rollout and sight is None and not faults:
            raise RolloutUnclear(f"There is no GPURollout {args.rollout}; `kubectl get gpurollouts` lists them.")
        sight = _remembering(sight) if sight else None
        now = time.time()
        return Look(
            at=now,
            sight=sight,
            decision=decide(sight.seen, sight.intent, now) if sight else None,
            nodes=dict(observer.all_nodes()),
            operator=observer.operator(),
            faults=tuple(faults),
        )


def _remembering(sight: Sight) -> Sight:
    """The sight with what the controller wrote down of its own memory, so that we decide as it does."""
    record = sight.seen.rollout
    seen = replace(sight.seen, rebuffs=dict(record.rebuffs), attentive_since=record.attentive_since)
    return Sight(seen=seen, intent=sight.intent)
