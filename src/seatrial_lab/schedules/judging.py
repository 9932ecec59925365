"""Who looks at the truth while a schedule plays, and says what must never be; and whether it may rest.

Law of this file: it never looks at what the controller believes. Tests: tests/sim/test_faults.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import Cordon, NodeAct, RequestMaintenance, WriteNodeRecord
from seatrial.core.decision.decide import Decision
from seatrial.core.holds import HoldCode
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.node import clearing, closing
from seatrial.core.node.phases import is_under_way
from seatrial.ports import Outcome, Result
from seatrial.sim.driver_pods import MANAGED_NOTE
from seatrial.sim.world import World
from seatrial_lab.explore.truths import why_exposed, why_overspent
from seatrial_lab.schedules.drawing import NEW

SEEN_SECONDS: Final = 400.0
"""By then everybody has seen what happened, or knows that they see nothing: the longest lag, a stream that may be
silent for 150 s before it is mistrusted, and an act that was under way meanwhile."""
TRANSIENT: Final = frozenset(
    {
        HoldCode.WRITE_IN_FLIGHT,
        HoldCode.WRITE_REFUSED,
        HoldCode.LEDGER_PENDING,
        HoldCode.PASS_FULL,
        HoldCode.UNIT_INCOMPLETE,
        HoldCode.STALE_VIEW,
        HoldCode.PARALLEL_LIMIT,
    }
)
"""What nobody may wait for in a world that has come to rest. The last one means that somebody is under way for ever."""


@dataclass(slots=True)
class Judge:
    """Looks at the world itself, whatever the controller believes."""

    world: World
    theirs: set[str] = field(default_factory=set)
    """Nodes that an admin cordoned."""
    shaken: dict[str, Instant] = field(default_factory=dict)
    """Nodes that others put into a state we would not: rebooted, or uncordoned on the way. Since when; it counts until
    everybody has seen it and their driver is up."""
    down_since: dict[str, Instant] = field(default_factory=dict)
    gone: dict[str, tuple[Instant, NodeSeen]] = field(default_factory=dict)
    """Nodes that were deleted, and when: until everybody has seen that, limits are shares of all of them."""
    former: list[tuple[Instant, Intent]] = field(default_factory=list)
    """Intents that were in force, and until when they may still be acted on."""
    broken: str | None = None

    def change(self, intent: Intent) -> None:
        """Somebody wants something else from now on."""
        self.former.append((self.world.time + SEEN_SECONDS, self.world.intent))
        self.world.intent = intent

    def on_change(self, before: NodeSeen, after: NodeSeen) -> None:
        """A node changed, by whomever."""
        if before is after:
            return
        name, driver = after.name, after.facts.driver
        if name not in self.world.nodes:
            facts = replace(before.facts, is_cordoned=False, is_ready=True, nvidia_state="")
            self.gone[name] = self.world.time, NodeSeen(facts=facts)
            self.theirs.discard(name)
            return
        if after.facts.is_unavailable:
            self.down_since.setdefault(name, self.world.time)
        else:
            self.down_since.pop(name, None)
        if name in self.shaken:
            is_up = driver is not None and driver.is_ready and not driver.is_terminating
            if is_up and self.world.time > self.shaken[name] + SEEN_SECONDS:
                del self.shaken[name]
        elif not after.facts.is_unavailable or _is_stopping(before, after):
            # Later, a driver that stops on a lost node may outlive the phase it was stopped in.
            self.find(None if _is_given_up(after) else why_exposed(after))
        if name in self.theirs and not after.facts.is_cordoned:
            self._on_opened(before, after)

    def _on_opened(self, before: NodeSeen, after: NodeSeen) -> None:
        """A cordon of an admin is gone. While a driver is replaced it is put back; else a driver manager may do so."""
        name = after.name
        is_managed = before.facts.labels.get(MANAGED_NOTE) != after.facts.labels.get(MANAGED_NOTE)
        if closing.has_lost_driver(after):
            return
        if is_managed:
            self.theirs.discard(name)
        else:
            self.find(f"{name} was cordoned by an admin, and the cordon is gone")

    def on_landing(self, action: Action, before: NodeSeen | None, outcome: Outcome) -> None:
        """An act of ours arrived."""
        if outcome.result is not Result.DONE or before is None or not isinstance(action, NodeAct):
            return
        starts = isinstance(action, WriteNodeRecord) and is_under_way(action.record) and not is_under_way(before.record)
        if starts and Admission(node=action.node, attempt=action.attempt) not in self.world.rollout.admitted:
            self.find(f"{action.node} starts attempt {action.attempt} without an admission")
        is_gone = before.facts.is_unavailable or closing.has_lost_driver(before)  # the second is closed again
        takes = isinstance(action, Cordon | RequestMaintenance) and not is_gone
        if starts or takes:
            self.find(self._why_overspent(action.node, is_taking=takes))

    def find(self, why: str | None) -> None:
        """Keep the first thing that is wrong."""
        if why is not None and self.broken is None:
            self.broken = why

    def _why_overspent(self, name: str, *, is_taking: bool) -> str | None:
        time = self.world.time
        gone = (node for at, node in self.gone.values() if time < at + SEEN_SECONDS)
        nodes = (*self.world.nodes.values(), *gone)
        external = frozenset(node.name for node in nodes if not is_taking or self._is_news(node))
        intents = [self.world.intent, *(intent for until, intent in self.former if time < until)]
        whys = [why_overspent(nodes, intent, external, around=name) for intent in intents]
        return whys[0] if all(whys) else None

    def _is_news(self, node: NodeSeen) -> bool:
        """Whether somebody else made the node unavailable so lately that we may not have seen it."""
        is_cordon_ours = node.record is not None and node.record.is_cordon_ours
        is_ours = is_cordon_ours or node.facts.maintenance is not None
        return not is_ours and self.down_since.get(node.name, float("-inf")) > self.world.time - SEEN_SECONDS


def _is_stopping(before: NodeSeen, after: NodeSeen) -> bool:
    """Whether a driver pod has just been deleted."""
    was_stopping = before.facts.driver is not None and before.facts.driver.is_terminating
    return after.facts.driver is not None and after.facts.driver.is_terminating and not was_stopping


def _is_given_up(node: NodeSeen) -> bool:
    """Whether nobody is hurt by the end of a driver: the node has failed, is out of service and has no users."""
    has_failed = node.record is not None and node.record.phase is NodePhase.UPGRADE_FAILED
    return has_failed and node.facts.is_unavailable and not clearing.users(node.facts)


def why_unsettled(world: World, decision: Decision, theirs: set[str]) -> str | None:
    """What is wrong with a world that has come to rest; None when every node is done or held with a reason."""
    return next(_unsettled(world, decision, theirs), None)


def _unsettled(world: World, decision: Decision, theirs: set[str]) -> Iterator[str]:
    if decision.actions:
        yield f"at rest with acts to do: {decision.actions[0].id}"
    held = {hold.subject for hold in decision.holds}
    for hold in decision.holds:
        if hold.code in TRANSIENT:
            yield f"{hold.subject} waits for ever: {hold.code}"
    for name, node in world.nodes.items():
        facts, phase = node.facts, node.record.phase if node.record else None
        if phase is not NodePhase.UPGRADE_DONE and name not in held:
            yield f"{name} is {phase}, and nobody says why"
        if decision.stop is not None:
            continue
        if is_under_way(node.record):
            yield f"{name} is {phase} for ever"
        if phase is NodePhase.UPGRADE_DONE and name not in held:
            if not facts.is_in_sync:
                yield f"{name} is done on {facts.driver}"
            if facts.is_cordoned and name not in theirs:
                yield f"{name} is done, and still cordoned by us"
            if facts.paused_labels or facts.maintenance is not None or facts.is_requested or facts.awaits_safe_load:
                yield f"{name} is done, and something that was asked of it or of others is not given back"
    if decision.stop is None:
        for admission in world.rollout.admitted:
            node = world.nodes[admission.node]
            if not (node.record is not None and node.record.is_cordon_ours) and node.facts.maintenance is None:
                yield f"{admission.node} is in the ledger for nothing"


def is_idle(decision: Decision) -> bool:
    """Whether looking again changes nothing unless something happens: stopped as a whole, nobody is kept to a deadline.

    A write that is still to be answered, or was turned down a moment ago, is looked at again by itself.
    """
    is_waiting = any(held.code in TRANSIENT for held in decision.holds)
    return decision.stop is not None and not decision.actions and not is_waiting


def how(world: World, decision: Decision) -> str:
    """How a schedule came to rest, in a word or two."""
    is_done = all(node.record and node.record.phase is NodePhase.UPGRADE_DONE for node in world.nodes.values())
    if not is_done or decision.holds or decision.stop is not None:
        return "held"
    return "done" if str(world.intent.target.driver) == NEW.version else "reverted"
