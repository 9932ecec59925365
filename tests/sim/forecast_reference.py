"""The same forecast, slowly: the real loop with the real `decide` on a virtual cluster, pass after pass.

It draws what each node meets from the same chance in the same order as sim/forecast, and knows nothing of its stations,
lanes or counts. What it does share, because it defines the question: a node stays as it is until its turn comes, jobs
run side by side, a budget blocks for a while.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import AskCheckpoint, EvictPods, NodeAct
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget import capacity
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Limits
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.ports import Outcome, Ports, Result, Sight
from seatrial.run.loop import run_once
from seatrial.run.memory import Memory
from seatrial.sim.acts import Refused, apply
from seatrial.sim.forecast.durations import Behaviours
from seatrial.sim.forecast.inventory import Inventory
from seatrial.sim.nodes import HEALTHY, JOB_LABEL, Fate
from seatrial.sim.reactions import REACTIONS

PASSES_MAX = 20_000


class SlowRollout:
    """A virtual cluster and its clock, as the ports of a loop."""

    def __init__(self, inventory: Inventory, intent: Intent, behaviours: Behaviours, seed: int, limits: Limits) -> None:
        self.intent = replace(intent, policy=replace(intent.policy, limits=limits))
        self.behaviours = behaviours
        self.nodes: dict[str, NodeSeen] = dict(inventory.nodes)
        self.rollout = RolloutRecord(name=intent.rollout, resource_version="1", admitted=inventory.admitted)
        self.time: Instant = 0.0
        self.fates: dict[str, Fate] = {}
        self.pending: dict[str, dict[str, Instant]] = {name: {} for name in self.nodes}
        self.driver_uids: dict[str, str] = {}
        self.jobs: dict[str, list[float]] = {}
        self.blocked: set[str] = set()
        self.chances = {name: random.Random(f"{seed}/{name}") for name in self.nodes}  # noqa: S311
        self.frozen: dict[str, dict[str, float]] = {}
        self.outcomes: list[Outcome] = []
        self.started: dict[str, Instant] = {}
        self.ended: dict[str, Instant] = {}
        self.evicted = 0
        self.moving: frozenset[str] = frozenset()
        self.curve: list[tuple[Instant, int]] = []
        self.gpus: Mapping[str, int] = inventory.gpus

    def run(self) -> None:
        """Until nothing can ever change again."""
        memory, ports = Memory(0.0), Ports(observer=self, executor=self, journal=self, clock=self)
        for _ in range(PASSES_MAX):
            report = run_once(ports, memory)
            assert not report.breaches
            if self.outcomes:
                continue
            if not self._go_on(report.wake_at):
                return
        raise AssertionError("the rollout never came to rest")

    @property
    def makespan(self) -> Instant:
        return max(self.ended.values(), default=0.0)

    # ── the ports ────────────────────────────────────────────────────────────────────────────────────────────────────

    def observe(self) -> Sight:
        return Sight(seen=Snapshot(nodes=dict(self.nodes), rollout=self.rollout), intent=self.intent)

    async def wait(self, until: Instant | None) -> bool:
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError

    def append(self, at: Instant, kind: str, fields: Mapping[str, object]) -> None:
        """Nobody reads this journal."""

    def now(self) -> Instant:
        return self.time

    def in_flight(self) -> frozenset[str]:
        return frozenset()

    def collect(self) -> tuple[Outcome, ...]:
        outcomes, self.outcomes = tuple(self.outcomes), []
        return outcomes

    def submit(self, action: Action) -> None:
        if isinstance(action, WriteRolloutRecord):
            self._write(action)
            return
        assert isinstance(action, NodeAct)
        node = self.nodes[action.node]
        answer = apply(node, action, self.fates.get(action.node, HEALTHY))
        if isinstance(answer, Refused):
            assert not answer.is_stale
            pods = action.pods if isinstance(action, EvictPods | AskCheckpoint) else ()
            self.blocked |= {pod.uid for pod in pods}
            turned_down = tuple((pod.uid, answer.why) for pod in pods)
            self.outcomes.append(Outcome(action=action, result=Result.BLOCKED, detail="", blocked=turned_down))
            return
        self.evicted += len(action.pods) if isinstance(action, EvictPods) else 0
        self.nodes[action.node] = answer
        self.outcomes.append(Outcome(action=action, result=Result.DONE))

    def _write(self, action: WriteRolloutRecord) -> None:
        for admission in action.record.admitted:
            if admission not in self.rollout.admitted:
                self.started.setdefault(admission.node, self.time)
                left = self.frozen.pop(admission.node, {})
                self.pending[admission.node] |= {what: self.time + seconds for what, seconds in left.items()}
                self._draw_luck(admission.node)
        version = str(int(self.rollout.resource_version) + 1)
        self.rollout = replace(action.record, resource_version=version)
        self.outcomes.append(Outcome(action=action, result=Result.DONE))

    def _draw_luck(self, name: str) -> None:
        chance, wanted = self.chances[name], self.nodes[name].facts.wanted
        fails, blocks = chance.random(), chance.random()
        self.fates[name] = Fate(
            driver_fails_on=wanted.version if wanted and fails < self.behaviours.failure_rate else "",
            is_eviction_blocked=blocks < self.behaviours.budget_rate,
        )

    # ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _go_on(self, wake_at: Instant | None) -> bool:
        self._take_note()
        for name in self.nodes:
            self._schedule(name)
        due = [at for events in self.pending.values() for at in events.values()]
        due += [wake_at] if wake_at is not None else []
        if not due:
            return False
        self.time = max(self.time, min(due))
        for name, events in self.pending.items():
            first = min(events, key=lambda what: events[what], default=None)
            if first is not None and events[first] <= self.time:
                del events[first]
                self._happen(name, first)
        return True

    def _happen(self, name: str, what: str) -> None:
        if what == "budget":
            self.fates[name] = replace(self.fates[name], is_eviction_blocked=False)
            return
        node = self.nodes[name]
        facts = REACTIONS[what](node.facts, self.fates[name], self.time)
        assert facts is not None
        self.nodes[name] = replace(node, facts=facts)

    def _schedule(self, name: str) -> None:
        facts, fate, events = self.nodes[name].facts, self.fates.get(name, HEALTHY), self.pending[name]
        applicable: dict[str, int] = {}
        is_failed = capacity.has_failed(self.nodes[name].record)
        is_admitted = name in capacity.under_way(self.rollout.admitted, self.nodes)
        record = self.nodes[name].record
        if name in self.fates and not is_admitted and record and record.phase is NodePhase.UPGRADE_REQUIRED:
            # It waits for another turn: nothing happens to it before.
            left = {what: at - self.time for what, at in events.items()}
            self.frozen[name] = self.frozen.get(name, {}) | left
            events.clear()
            return
        if name in self.fates and (is_failed or any(each.node == name for each in self.rollout.admitted)):
            applicable = {what: 1 for what, react in REACTIONS.items() if react(facts, fate, self.time) is not None}
            if "job finishes" in applicable:
                applicable["job finishes"] = sum(JOB_LABEL in dict(pod.labels) for pod in facts.pods)
            if fate.is_eviction_blocked and any(pod.uid in self.blocked for pod in facts.pods):
                applicable["budget"] = 1
        uid = facts.driver.uid if facts.driver else ""
        for what in tuple(events):
            if what not in applicable or self.driver_uids.get(name, uid) != uid:
                del events[what]
        self.driver_uids[name] = uid
        for what, count in applicable.items():
            if what not in events:
                events[what] = self.time + self._duration(name, what, count)

    def _duration(self, name: str, what: str, count: int) -> float:
        chance, jobs = self.chances[name], self.jobs.setdefault(name, [])
        if what == "budget":
            return self.behaviours.budget_wait.draw(chance)
        duration = self.behaviours.durations[what]
        if what != "job finishes":
            return duration.draw(chance)
        if len(jobs) != count:
            ends = sorted(duration.draw(chance) for _ in range(count))
            jobs[:] = [after - before for before, after in zip([0.0, *ends], ends, strict=False)]
        return jobs.pop(0)

    def _take_note(self) -> None:
        moving = capacity.under_way(self.rollout.admitted, self.nodes)
        for name in self.moving - moving:
            self.ended[name] = self.time
        self.moving = moving
        available = sum(self.gpus[name] for name, node in self.nodes.items() if not node.facts.is_unavailable)
        if self.curve and self.curve[-1][0] == self.time:
            self.curve.pop()
        if not self.curve or self.curve[-1][1] != available:
            self.curve.append((self.time, available))
