"""What must hold whoever moves the nodes, looked at by the truth alone: limits, units, others' cordons, writes.

    limits      who has no driver because of us, and whom others took, are never more than may be away
    units       no unit is left half on one driver and half on another
    writes      once the storm is over, we write no more often than there is something to say
    publishing  what somebody else published for good is not written over

Law of this file: it knows who is away from what happened to nodes and from acts that arrived, never from our records.
Tests: tests/sim/test_mixed.py
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import Publish
from seatrial.core.actions.on_nodes import Cordon, RestartPod
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget.losses import workers
from seatrial.core.decision.decide import Decision
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.node import closing
from seatrial.ports import Outcome, Result
from seatrial_lab.explore.truths import scopes
from seatrial_lab.schedules.drawing import NEW, OLD
from seatrial_lab.schedules.judging import SEEN_SECONDS, Judge

HOUR: Final = 3600.0
TORN_SECONDS: Final = 2 * HOUR
TAKING_SECONDS: Final = 1800.0
"""By attrition: from the decision to take a node to its driver's end, while its pods are asked to leave."""
WRITES_PER_HOUR: Final = 80
"""Of the rollout's own record, in a calm hour in which nobody moves: what is idle is told once a minute at most."""
SPINS_MAX: Final = 20


@dataclass(slots=True)
class Truths:
    """Beside a judge: what holds for every way."""

    judge: Judge
    is_delegated: bool = False
    is_calm: bool = False
    ours: dict[str, Instant] = field(default_factory=dict)
    """Nodes that we closed, and that nobody has opened since; since when."""
    given_up: set[str] = field(default_factory=set)
    """Nodes that have failed, and were not done since."""
    reloading: set[str] = field(default_factory=set)
    """Nodes whose driver we took away, and that were neither given up nor opened since."""
    moved_at: Instant = 0.0
    """When anything last moved that matters."""
    torn_since: dict[str, Instant] = field(default_factory=dict)
    writes: deque[Instant] = field(default_factory=deque)
    writes_most: int = 0
    standing: object = None
    """Where everybody stood at the last pass."""
    spin_count: int = 0
    """Passes in a row that had nothing to do, and asked for another one at once."""

    # ── what happens ─────────────────────────────────────────────────────────────────────────────────────────────────

    def on_change(self, before: NodeSeen, after: NodeSeen) -> None:
        """A node changed, by whomever."""
        name, time = after.name, self.judge.world.time
        if before.facts.sriov and not after.facts.sriov:
            # It lifts whatever cordon it finds when its work is done; while a driver is replaced it is put back.
            if not closing.has_lost_driver(after):
                self.judge.theirs.discard(name)
            self.judge.shaken[name] = time
        if not after.facts.is_cordoned or name not in self.judge.world.nodes:
            self.ours.pop(name, None)
            self.reloading.discard(name)
        if has_failed(after):
            self.reloading.discard(name)
            self.given_up.add(name)
        elif after.record is not None and after.record.phase is NodePhase.UPGRADE_DONE:
            self.given_up.discard(name)

    def on_landing(self, action: Action, before: NodeSeen | None, outcome: Outcome) -> None:
        """An act of ours arrived."""
        if outcome.result is not Result.DONE:
            return
        if isinstance(action, WriteRolloutRecord) and self.is_calm:
            self._note_write()
        if isinstance(action, Publish):
            self.moved_at = self.judge.world.time
        is_put_back = action.subject in self.judge.theirs  # a driver manager lifted the cordon of an admin
        if isinstance(action, Cordon) and before is not None and not before.facts.is_cordoned and not is_put_back:
            self.ours[action.node] = self.judge.world.time
        if isinstance(action, RestartPod) and action.operand in (Operand.DRIVER, Operand.NETWORK_DRIVER):
            self.reloading.add(action.node)
            self.judge.find(self.why_too_many(action.node))

    def _note_write(self) -> None:
        time = self.judge.world.time
        self.writes.append(time)
        while self.writes[0] < time - HOUR:
            self.writes.popleft()
        self.writes_most = max(self.writes_most, len(self.writes))
        if len(self.writes) > WRITES_PER_HOUR:
            self.judge.find(f"{len(self.writes)} writes of its record in an hour in which nothing moved")

    def look(self, decision: Decision) -> None:
        """A pass was made: whether anything moved, and what lasts that must not."""
        world = self.judge.world
        record = world.rollout.campaign
        stood = (
            record and (record.phase, record.wave, record.round, record.baked_seconds),
            world.rollout.admitted,
            tuple(map(_standing, world.nodes.values())),
        )
        if stood != self.standing:
            self.standing, self.moved_at = stood, world.time
            self.writes.clear()
        self._look_at_units()
        is_spinning = decision.at is not None and decision.wake_at is not None and decision.wake_at < decision.at + 1.0
        self.spin_count = self.spin_count + 1 if is_spinning and self.is_calm and not decision.actions else 0
        if self.spin_count > SPINS_MAX:
            self.judge.find(f"{self.spin_count} passes in a row had nothing to do, and asked for another one at once")

    # ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def why_too_many(self, name: str) -> str | None:
        """Whether more nodes than may be are away, now that the driver of this one is."""
        judge, time = self.judge, self.judge.world.time
        intents = [judge.world.intent, *(intent for until, intent in judge.former if time < until)]
        whys = [self._why_too_many(name, intent) for intent in intents]
        return whys[0] if all(whys) else None

    def _why_too_many(self, name: str, intent: Intent) -> str | None:
        time = self.judge.world.time
        since = time - TAKING_SECONDS if intent.attrition is not None else self.ours.get(name, time) - SEEN_SECONDS
        gone = (node for at, node in self.judge.gone.values() if time < at + SEEN_SECONDS)
        nodes = (*self.judge.world.nodes.values(), *gone)
        for where, inside, limits in scopes(nodes, intent):
            if all(node.name != name for node in inside):
                continue
            without = {node.name for node in inside if node.name in self.ours and lacks_driver(node)}
            others = {node.name for node in inside if self._is_taken_by_others(node, since)}
            if name in others:
                continue  # to work on it costs nobody anything more
            away = without | others
            limit = limits.unavailable_max.of(len(inside))
            if len(away) > limit:
                return f"{len(away)} nodes are away at a limit of {limit}{where}: {', '.join(sorted(away))}"
            at_once = limits.parallel_max or len(inside)
            reloading = without & self.reloading
            if len(reloading) > at_once:
                return (
                    f"{len(reloading)} drivers are away at a limit of {at_once}{where}: {', '.join(sorted(reloading))}"
                )
        return None

    def _is_taken_by_others(self, node: NodeSeen, since: Instant) -> bool:
        """Whether others made a node unavailable, and we knew when we decided."""
        is_closed = node.facts.is_cordoned and node.name not in self.ours
        if self.judge.world.intent.attrition is not None and workers(node):
            is_closed = False  # closed by whomever, it is of use as long as a job works there
        is_theirs = not node.facts.is_ready or is_closed
        return is_theirs and self.judge.down_since.get(node.name, since) < since

    # ── units ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _look_at_units(self) -> None:
        world = self.judge.world
        # NVIDIA's controller takes the nodes that we let in as its own limits allow, one by one.
        torn = dict(self._torn()) if self.is_calm and not self.is_delegated else {}
        self.torn_since = {unit: self.torn_since.get(unit, world.time) for unit in torn}
        for unit, since in self.torn_since.items():
            if world.time > since + TORN_SECONDS:
                self.judge.find(f"{unit} is torn for {(world.time - since) / HOUR:.1f} h: {torn[unit]}")

    def _torn(self) -> Iterator[tuple[str, str]]:
        """Units of which a part runs the new driver, and another part, which could start, the old one."""
        world, record = self.judge.world, self.judge.world.rollout.campaign
        is_forward = record is None or record.phase in (RolloutPhase.WAVING, RolloutPhase.PROMOTING, RolloutPhase.DONE)
        is_stopped = world.intent.is_paused or self.failed_count() > world.intent.failed_max
        if is_stopped or not is_forward or any(_wants(node) != NEW.version for node in world.nodes.values()):
            return
        for label in (domain.label for domain in world.intent.domains if domain.is_unit):
            for value in sorted({node.facts.labels.get(label, "") for node in world.nodes.values()} - {""}):
                inside = [node for node in world.nodes.values() if node.facts.labels.get(label) == value]
                new = [node.name for node in inside if runs(node) == NEW.version and not node.facts.is_unavailable]
                old = [node.name for node in inside if runs(node) == OLD.version and self._could_start(node)]
                if new and old:
                    yield f"{label} {value}", f"{', '.join(new)} run the new driver and {', '.join(old)} the old one"

    def _could_start(self, node: NodeSeen) -> bool:
        facts = node.facts
        return facts.is_ready and not facts.is_skipped and node.name not in self.judge.theirs and not has_failed(node)

    def failed_count(self) -> int:
        """Nodes that were given up."""
        return sum(map(has_failed, self.judge.world.nodes.values()))


def _standing(node: NodeSeen) -> object:
    record, facts = node.record, node.facts
    return node.name, record and (record.phase, record.attempt), facts.nvidia_state, facts.skipped_by


def has_failed(node: NodeSeen) -> bool:
    """Whether a node was given up, by us or by NVIDIA's controller."""
    is_ours = node.record is not None and node.record.phase is NodePhase.UPGRADE_FAILED
    return is_ours or node.facts.nvidia_state == NodePhase.UPGRADE_FAILED.value


def runs(node: NodeSeen) -> str:
    """The version of a driver that can be used; empty where there is none."""
    driver = node.facts.driver
    return "" if driver is None or not driver.is_ready or driver.is_terminating else driver.version


def _wants(node: NodeSeen) -> str:
    return node.facts.wanted.version if node.facts.wanted is not None else ""


def lacks_driver(node: NodeSeen) -> bool:
    """Whether nobody can use a node, because its driver, or that of its network, is being replaced."""
    pod = node.facts.network.pod if node.facts.network is not None else None
    return not runs(node) or (pod is not None and (pod.is_terminating or not pod.is_ready))
