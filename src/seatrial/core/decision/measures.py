"""The numbers worth watching: how things stand, how long each state lasts, and what the waiting costs.

Law of this file: values in, numbers out; names of metrics and their format are controller/metrics.py's.

    measure   one pass                       ──▶ Figures   how many nodes stand where, and how many are held why
    stays     two snapshots, one after other ──▶ Stay      who left which phase, after how long
    follow    pass after pass                ──▶ Meter     since when everybody waits, and the time lost to it

States and codes are taken from their enums, every one of them, so that a new one is never forgotten here.

Tests: tests/core/decision/test_measures.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.budget import capacity
from seatrial.core.budget.capacity import Budget, Scope
from seatrial.core.decision.decide import Decision
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.known import OWNER, by
from seatrial.core.model.policy import Limits
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import Cost
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers.mover import mode_of, mover_of, mover_seen

UNKNOWN: Final = "unknown"
"""The state of a node that has no record."""
STATES: Final = (UNKNOWN, *(phase.value for phase in NodePhase))
AT_REST: Final = frozenset({UNKNOWN, NodePhase.UPGRADE_REQUIRED.value, NodePhase.UPGRADE_DONE.value})
"""The states NVIDIA's controller does not count as an upgrade in progress; upgrade-failed is none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How things stand after one pass. The counts called `…_count` have the meaning NVIDIA's controller gives them."""

    is_automated: bool
    """Somebody moves nodes by himself: we, unless paused, or NVIDIA's controller."""
    in_progress_count: int
    """Nodes in every state but unknown, upgrade-required and upgrade-done. A failed node counts as in progress."""
    done_count: int
    failed_count: int
    available_count: int
    """Free slots: how many nodes that still take work may be admitted now. Never negative, and 0 while we are stopped.

    As with NVIDIA a pending node that is cordoned already is not among them, though it may start without a slot."""
    pending_count: int
    """Nodes in upgrade-required, those marked skip included."""
    nodes: Mapping[str, int]
    """By state, every state."""
    holds: Mapping[HoldCode, int]
    """By code, every code."""
    operands_waiting_count: int = 0
    """Nodes whose operands wait for their turn: while there is one, the GPU Operator says notReady, as it should."""
    lost_gpu_seconds: float | None = None
    """What the rollout had cost when its ledger was last written; None where others move the nodes: nobody counts."""
    cost: Cost | None = None
    """The same by cause, where nodes are taken by attrition."""
    phases: Mapping[RolloutPhase, int] = field(default_factory=dict)
    """1 for the phase of the campaign, 0 for every other; empty without a campaign."""
    baked_seconds: float | None = None
    """How long the canary was seen to be well; None without a campaign, as the next one."""
    bake_seconds: float | None = None
    """For how long it has to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A node was in a phase for this long, and is not any more."""

    node: str
    phase: NodePhase
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """Who waits for what since when, as of the latest pass; begins empty."""

    at: Instant | None = None
    began: Mapping[tuple[str, HoldCode], Instant] = field(default_factory=dict)
    """By subject and code; where the hold does not say since when, the pass in which we first saw it."""
    lost: Mapping[HoldCode, float] = field(default_factory=dict)
    """Node-seconds spent waiting between the two latest passes."""

    @property
    def longest(self) -> Mapping[HoldCode, float]:
        """How many seconds the one who waits longest has waited, by code; only codes that hold somebody."""
        if self.at is None:
            return {}
        oldest: dict[HoldCode, Instant] = {}
        for (_, code), began_at in self.began.items():
            oldest[code] = min(began_at, oldest.get(code, began_at))
        return {code: max(0.0, self.at - began_at) for code, began_at in oldest.items()}


# ── how things stand ─────────────────────────────────────────────────────────────────────────────────────────────────


def measure(seen: Snapshot, intent: Intent, decision: Decision) -> Figures:
    """How things stand."""
    found = mover_seen(seen, intent).phases(seen.nodes)
    states = Counter({phase.value if phase is not None else UNKNOWN: len(names) for phase, names in found.items()})
    codes = Counter(held.code for held in decision.holds)
    failed_count = states[NodePhase.UPGRADE_FAILED.value]
    record = seen.rollout.campaign if intent.campaign is not None else None
    mover = mover_of(mode_of(record, None, seen.operator))
    return Figures(
        is_automated=not intent.is_paused or seen.operator.is_auto_upgrading,
        in_progress_count=sum(count for state, count in states.items() if state not in AT_REST),
        done_count=states[NodePhase.UPGRADE_DONE.value],
        failed_count=failed_count,
        available_count=0 if decision.stop is not None else _free_slots(seen, intent),
        pending_count=states[NodePhase.UPGRADE_REQUIRED.value],
        nodes={state: states[state] for state in STATES},
        holds={code: codes[code] for code in HoldCode},
        operands_waiting_count=sum(node.facts.has_waiting_operands for node in seen.nodes.values()),
        lost_gpu_seconds=seen.rollout.lost_gpu_seconds if mover.counts_losses else None,
        cost=seen.rollout.cost,
        phases={phase: int(phase is record.phase) for phase in RolloutPhase} if record is not None else {},
        baked_seconds=record.baked_seconds if record is not None else None,
        bake_seconds=intent.campaign.bake.seconds if intent.campaign is not None else None,
    )


def _state(node: NodeSeen) -> str:
    return node.record.phase.value if node.record is not None else UNKNOWN


def _free_slots(seen: Snapshot, intent: Intent) -> int:
    """Under the limits of the rollout and of the pools in it; what racks and cliques allow besides is not looked at."""
    nodes, is_back = mover_seen(seen).recorded(seen, intent), capacity.is_going_back(seen.rollout)
    budget = capacity.budget_of(nodes, seen.rollout.admitted, replace(intent, domains=()), is_back=is_back)
    if len(budget.failed) > budget.failed_max:
        return 0
    whole = _slots(budget.whole, intent.limits, seen.nodes.values())
    if not intent.pools:
        return whole
    pools = ([seen.nodes[name] for name in names] for names in by(seen.nodes, OWNER).values())
    return min(whole, sum(_slots_in_pool(budget, intent, members) for members in pools))


def _slots_in_pool(budget: Budget, intent: Intent, nodes: Collection[NodeSeen]) -> int:
    owner = next(iter(nodes)).facts.owner
    if owner not in intent.pools:
        return _pending_count(nodes)  # in no pool: bound by the limits of the whole alone
    return _slots(budget.scopes[capacity.pool_scope(owner)], intent.pools[owner].limits, nodes)


def _slots(scope: Scope, limits: Limits, nodes: Collection[NodeSeen]) -> int:
    # Without a parallel limit, NVIDIA's controller has a slot for everybody who waits for one.
    parallel_slots = scope.parallel_max - len(scope.under_way) if limits.parallel_max else _pending_count(nodes)
    return max(0, min(parallel_slots, scope.unavailable_max - len(scope.unavailable | scope.under_way)))


def _pending_count(nodes: Iterable[NodeSeen]) -> int:
    return sum(_state(node) == NodePhase.UPGRADE_REQUIRED.value for node in nodes)


# ── how long each state lasts ────────────────────────────────────────────────────────────────────────────────────────


def stays(before: Snapshot, after: Snapshot) -> tuple[Stay, ...]:
    """Who left which phase between two looks, in order of name.

    A phase opened anew (the next attempt of a node that waits for its turn) is not left. What became of a node that is
    gone, or whose record is, nobody knows; it is left out rather than guessed.
    """
    if before.nodes is after.nodes:
        return ()
    left = [_stay(node, after.nodes.get(name)) for name, node in before.nodes.items()]
    return tuple(sorted((stay for stay in left if stay is not None), key=lambda stay: stay.node))


def _stay(before: NodeSeen, after: NodeSeen | None) -> Stay | None:
    if after is None or before is after or before.record is None or after.record is None:
        return None
    if before.record.phase is after.record.phase:
        return None
    # Two controllers, one after the other, may disagree about the time; nobody leaves before he came.
    seconds = max(0.0, after.record.entered_at - before.record.entered_at)
    return Stay(node=before.name, phase=before.record.phase, seconds=seconds)


# ── what the waiting costs ───────────────────────────────────────────────────────────────────────────────────────────


def follow(meter: Meter, decision: Decision | None, now: Instant) -> Meter:
    """The meter after one more pass; None when the pass saw nothing to decide about.

    The time since the pass before belongs to the reasons found *then*: what holds a node from now on is not known to
    have held it earlier.
    """
    elapsed_seconds = max(0.0, now - meter.at) if meter.at is not None else 0.0
    counts = Counter(code for _, code in meter.began)
    return Meter(
        at=now,
        began=_began(meter, decision.holds if decision is not None else (), now),
        lost={code: count * elapsed_seconds for code, count in counts.items()},
    )


def _began(meter: Meter, holds: Iterable[Hold], now: Instant) -> Mapping[tuple[str, HoldCode], Instant]:
    return {
        (held.subject, held.code): held.since
        if held.since is not None
        else meter.began.get((held.subject, held.code), now)
        for held in holds
    }
