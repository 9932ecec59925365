"""A virtual cluster with a clock of its own: implements the ports, jumps from event to event, repeats by its seed.

    world = World(nodes, intent, seed=7)
    run.loop.run_forever(world.ports(journal), …)     # the same loop as live; hours pass in milliseconds

Tests: tests/sim/test_world.py
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from seatrial.core.actions.action import Action
from seatrial.core.actions.of_campaigns import MarkNode, StartProbe
from seatrial.core.actions.on_nodes import KUEUE, AskCheckpoint, EvictPods, NodeAct, WriteNodeRecord
from seatrial.core.actions.on_rollouts import GuardRollout, Keeping, WriteRolloutRecord
from seatrial.core.base.values import dataclass, replace
from seatrial.core.model.campaign import PublishStep, SourceFacts
from seatrial.core.model.gates.gate import Measurement
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.pods import DriverRevision, Pod, PodOwner
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.seen.work import WorkSeen
from seatrial.ports import Journal, Outcome, Ports, Result, Sight
from seatrial.sim import driver_pods, merging, neighbours, operand_pods, releases, upgrade_controller
from seatrial.sim import outside as outer
from seatrial.sim.acts import OVER_BUDGET, UNSAVED, Refused, apply, mirrored, within_budgets
from seatrial.sim.merging import MERGED
from seatrial.sim.monitoring import Monitoring
from seatrial.sim.nodes import HEALTHY, Fate
from seatrial.sim.outside import FOLLOWED, PROBED, SYNCED, TELLING, GateFate, Outside
from seatrial.sim.reactions import OPERATORS_OWN, REACTIONS
from seatrial.sim.upgrade_controller import STEERED


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """How long a reaction takes: a base and a jitter on top, drawn from the world's own chance."""

    seconds: float
    jitter_seconds: float = 0.0


DELAYS: Final[Mapping[str, Delay]] = {
    "pods leave": Delay(seconds=30, jitter_seconds=30),
    "job finishes": Delay(seconds=900, jitter_seconds=900),
    "work is saved": Delay(seconds=60, jitter_seconds=60),
    "Kueue ends pods": Delay(seconds=2, jitter_seconds=3),
    "paused clients leave": Delay(seconds=5, jitter_seconds=5),
    "clients come back": Delay(seconds=5, jitter_seconds=5),
    "driver pod replaced": Delay(seconds=2, jitter_seconds=1),
    "driver manager acts": Delay(seconds=20, jitter_seconds=20),
    "work is placed": Delay(seconds=1, jitter_seconds=1),
    "driver gets ready": Delay(seconds=180, jitter_seconds=60),
    "image pull fails": Delay(seconds=20, jitter_seconds=20),
    "driver crash loops": Delay(seconds=600, jitter_seconds=60),
    "GPUs offered": Delay(seconds=10, jitter_seconds=10),
    "features discovered": Delay(seconds=5, jitter_seconds=60),
    "operand replaced": Delay(seconds=2, jitter_seconds=1),
    "operand starts": Delay(seconds=5, jitter_seconds=5),
    "validator restarts": Delay(seconds=2, jitter_seconds=1),
    "validator replaced": Delay(seconds=2, jitter_seconds=1),
    "validator passes": Delay(seconds=25, jitter_seconds=10),
    "DRA plugin replaced": Delay(seconds=2, jitter_seconds=1),
    "DRA plugin starts": Delay(seconds=5, jitter_seconds=5),
    "maintenance begins": Delay(seconds=5, jitter_seconds=5),
    "maintenance gets ready": Delay(seconds=5, jitter_seconds=5),
    "maintenance ends": Delay(seconds=5, jitter_seconds=5),
    "SR-IOV operator acts": Delay(seconds=10, jitter_seconds=170),
}
"""A driver of 3 to 4 minutes, as the vendor's own example of one node shows it."""

OUTSIDE_DELAYS: Final[Mapping[str, Delay]] = {
    SYNCED: Delay(seconds=60, jitter_seconds=120),
    MERGED: Delay(seconds=3600, jitter_seconds=7200),
    FOLLOWED: Delay(seconds=5, jitter_seconds=5),
    PROBED: Delay(seconds=60, jitter_seconds=60),
    STEERED: Delay(seconds=0.5, jitter_seconds=1.5),
    releases.INSTALLED: Delay(seconds=30, jitter_seconds=90),
    neighbours.REMOVED: Delay(seconds=600, jitter_seconds=60),
}
"""A deployer that looks at its repository every three minutes, people who merge within hours, gates of a minute or two,
a controller of NVIDIA's that we wake whenever there is something to see, and an autoscaler that waits ten minutes."""


class World:
    """Nodes, a rollout's record, the outside of both, and a heap of what happens next."""

    def __init__(
        self,
        nodes: Iterable[NodeSeen],
        intent: Intent,
        *,
        fates: Mapping[str, Fate] | None = None,
        everybody: Fate = HEALTHY,
        outside: Outside | None = None,
        gate_fates: Mapping[str, GateFate] | None = None,
        revisions: Iterable[DriverRevision] = (),
        delays: Mapping[str, Delay] = DELAYS,
        seed: int = 0,
        started_at: Instant = 0.0,
        monitoring: Monitoring | None = None,
        is_guarded: bool = True,
    ) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.intent = intent
        self.outside = outside or Outside()
        self.rollout = RolloutRecord(name=intent.rollout, resource_version="1")
        self.monitoring = monitoring
        self.is_guarded = is_guarded
        self.work = WorkSeen()
        self.is_deleting = False
        self.left: tuple[str, ...] | None = None
        """What was told to stay when the rollout went; None while it is there."""
        self.time = started_at
        self._fates = dict(fates or {})
        self._everybody = everybody
        self._gate_fates = dict(gate_fates or {})
        # What a version stands for that nobody runs yet, where more is to be known of it than its name.
        self._revisions = {
            **driver_pods.revisions_of(self.nodes.values()),
            **{each.version: each for each in revisions},
        }
        self._delays = {**OUTSIDE_DELAYS, **delays}
        self._chance = random.Random(seed)  # noqa: S311  a simulation, not a secret
        self._events: list[tuple[Instant, int, Callable[[], None]]] = []
        self._event_count = 0
        self._scheduled: set[tuple[str, str, str]] = set()
        self._outcomes: list[Outcome] = []
        self._idle_since: dict[str, Instant] = {}
        """Nodes that an autoscaler would remove, and since when."""
        self._saved_at: dict[str, Instant] = {}
        """By token: when the work is saved that a webhook was asked about."""
        self.watchers: list[Callable[[NodeSeen, NodeSeen], None]] = []
        """Told of every change of a node: what it was, and what it is now."""
        for name in self.nodes:
            self._schedule_reactions(name)
        self._schedule_outside()

    def ports(self, journal: Journal) -> Ports:
        """This world as the outside of a loop."""
        return Ports(observer=self, executor=self, journal=journal, clock=self)

    def at(self, instant: Instant, happening: Callable[[World], None]) -> None:
        """Script something that the world does at an instant: an admin's cordon, a node lost, a version published."""
        self._push(instant, lambda: happening(self))

    def change(self, name: str, change: Callable[[NodeSeen], NodeSeen]) -> None:
        """Change a node as somebody else would."""
        node = change(self.nodes[name])
        version = str(int(node.facts.resource_version) + 1)
        self._set(replace(node, facts=replace(node.facts, resource_version=version)))

    def publish(self, revision: DriverRevision) -> None:
        """Give the driver's DaemonSet another template; the nodes themselves are not written to."""
        for node in tuple(self.nodes.values()):
            self._set(replace(node, facts=replace(node.facts, wanted=revision)))

    def change_outside(self, change: Callable[[Outside], Outside]) -> None:
        """Change what is outside of the nodes, as somebody else would: a push, a resource edited, a gate mended."""
        self._set_outside(change(self.outside))

    def befall(self, name: str, change: Callable[[Fate], Fate]) -> None:
        """Change what is in store for a node: a budget frees, an image is pushed, a pod gets stuck."""
        self._fates[name] = change(self._fates.get(name, HEALTHY))
        self._schedule_reactions(name)

    def remove(self, name: str) -> None:
        """Delete a node, and with it whatever runs there; watchers see it NotReady and empty."""
        node = self.nodes.pop(name)
        self._idle_since.pop(name, None)
        for watcher in self.watchers:
            watcher(node, replace(node, facts=replace(node.facts, is_ready=False, pods=())))

    @property
    def next_at(self) -> Instant | None:
        """When the world does something by itself next; None when it never will."""
        return self._events[0][0] if self._events else None

    def tick_to(self, instant: Instant) -> None:
        """Let everything happen that is due by `instant`."""
        while self._events and self._events[0][0] <= instant:
            self.time, _, happening = heapq.heappop(self._events)
            happening()
        self.time = max(self.time, instant)

    # ── the ports ────────────────────────────────────────────────────────────────────────────────────────────────────

    def observe(self) -> Sight:
        """What is there; a rollout that is gone is shown as it went, and nothing is decided on it any more."""
        seen = Snapshot(
            nodes=dict(self.nodes),
            rollout=self.rollout,
            is_guarded=self.is_guarded,
            is_deleting=self.is_deleting,
            work=self.work,
            telemetry=self.monitoring.looked(self.rollout.campaign, self.time) if self.monitoring else None,
        )
        return Sight(seen=outer.seen_with(seen, self.outside), intent=self.intent.asking(seen.rollout.campaign))

    async def wait(self, until: Instant | None) -> bool:
        if self._outcomes:
            return True
        due = [instant for instant in (self.next_at, until) if instant is not None]
        if not due:
            return False
        self.tick_to(max(self.time, min(due)))
        return True

    def submit(self, action: Action) -> None:
        self._outcomes.append(self.execute(action))

    def in_flight(self) -> frozenset[str]:
        return frozenset()

    def collect(self) -> tuple[Outcome, ...]:
        outcomes, self._outcomes = tuple(self._outcomes), []
        return outcomes

    def now(self) -> Instant:
        return self.time

    async def sleep(self, seconds: float) -> None:
        """A pause of the loop costs no virtual time."""

    # ── the ports of a router: all of them are this world ────────────────────────────────────────────────────────────

    def facts(self) -> SourceFacts | None:
        return self.outside.source

    async def do(self, act: Action, /) -> Outcome:
        return self.execute(act)

    async def measure(self, act: StartProbe, /) -> Outcome:
        return self.execute(act)

    async def ask(self, act: AskCheckpoint, /) -> Outcome:
        """What the webhook says; a yes is written on the pods by whoever asked."""
        if act.node in self.nodes and self._fate_of_act(act).is_work_unsaved:
            return _turned_down(act, UNSAVED)
        return Outcome(action=act, result=Result.DONE)

    # ── what acts and reactions do ───────────────────────────────────────────────────────────────────────────────────

    def execute(self, action: Action) -> Outcome:
        """Do one act at once."""
        if isinstance(action, WriteRolloutRecord):
            return self._write_rollout(action)
        if isinstance(action, Keeping):
            return self._keep(action)
        if outer.is_bound(action) and action.rollout != self.rollout.name:
            return Outcome(action=action, result=Result.STALE, detail=f"{action.rollout} is not the rollout at work")
        if not isinstance(action, NodeAct | MarkNode):
            changed = merging.apply(self.outside, action, self.time)
            if isinstance(changed, Refused):
                return _turned_down(action, changed)
            self._set_outside(changed)
            return Outcome(action=action, result=Result.DONE)
        node = self.nodes.get(action.node)
        if node is None:
            return Outcome(action=action, result=Result.STALE, detail="no such node")
        fate = self._fate_of_act(action) if isinstance(action, NodeAct) else HEALTHY
        if isinstance(action, EvictPods):
            return self._evict(node, action, fate)
        answer = outer.mark(node, action) if isinstance(action, MarkNode) else apply(node, action, fate)
        if isinstance(answer, Refused):
            return _turned_down(action, answer)
        if isinstance(action, WriteNodeRecord) and not upgrade_controller.is_there(self.outside):
            answer = mirrored(answer)
        self._set(answer)
        return Outcome(action=action, result=Result.DONE)

    def _evict(self, node: NodeSeen, action: EvictPods, fate: Fate) -> Outcome:
        """Ask pods to leave, one after the other, as long as the PodDisruptionBudgets over them allow it."""
        going, left = within_budgets(node, action, self.work.budgets)
        answer = apply(node, replace(action, pods=going), fate)
        if isinstance(answer, Refused):
            return _turned_down(action, answer)
        self.work = replace(self.work, budgets=left)
        self._set(answer)
        blocked = tuple((pod.uid, OVER_BUDGET.why) for pod in action.pods if pod not in going)
        if not blocked:
            return Outcome(action=action, result=Result.DONE)
        return Outcome(action=action, result=Result.BLOCKED, detail=OVER_BUDGET.why, blocked=blocked)

    def _fate_of_act(self, action: NodeAct) -> Fate:
        """What is in store for the node of an act; whoever asks a webhook hears of it only when the work is saved."""
        fate = self._fate(action.node)
        if not isinstance(action, AskCheckpoint) or action.webhook in ("", KUEUE):
            return fate
        if action.token not in self._saved_at:
            self._saved_at[action.token] = self.time + self._drawn("work is saved")
        return replace(fate, is_work_unsaved=fate.is_work_unsaved or self.time < self._saved_at[action.token])

    def _fate(self, name: str) -> Fate:
        """What is in store for a node; what its driver manager is told stands in the resource that owns its driver."""
        fate, everybody = self._fates.get(name, HEALTHY), self._everybody
        env = fate.manager_env if fate.manager_env is not None else everybody.manager_env
        return replace(
            fate,
            manager_env=env
            if env is not None
            else driver_pods.manager_env_of(self.nodes[name].facts, self.outside.operator),
            is_work_waiting=fate.is_work_waiting or everybody.is_work_waiting,
            is_scaled_down=fate.is_scaled_down or everybody.is_scaled_down,
            is_driver_in_use=fate.is_driver_in_use or everybody.is_driver_in_use,
        )

    def _write_rollout(self, action: WriteRolloutRecord) -> Outcome:
        if action.record.name != self.rollout.name:
            return Outcome(action=action, result=Result.STALE, detail=f"there is no rollout {action.record.name}")
        if self.left is not None or action.record.resource_version != self.rollout.resource_version:
            return Outcome(action=action, result=Result.STALE, detail="the ledger was written by somebody else")
        version = str(int(self.rollout.resource_version) + 1)
        self.rollout = replace(action.record, resource_version=version)
        return Outcome(action=action, result=Result.DONE)

    def _keep(self, action: Keeping) -> Outcome:
        if self.left is not None or action.rollout != self.rollout.name:
            return Outcome(action=action, result=Result.STALE, detail=f"there is no rollout {action.rollout}")
        if action.expect != self.rollout.resource_version:
            return Outcome(action=action, result=Result.STALE, detail="the rollout was written by somebody else")
        if isinstance(action, GuardRollout) and self.is_deleting:
            return Outcome(action=action, result=Result.FAILED, detail="no new finalizer while it is deleted")
        self.rollout = replace(self.rollout, resource_version=str(int(self.rollout.resource_version) + 1))
        self.is_guarded = isinstance(action, GuardRollout)
        if not isinstance(action, GuardRollout) and self.is_deleting:
            self.left = action.left
        return Outcome(action=action, result=Result.DONE)

    def _set(self, node: NodeSeen) -> None:
        before = self.nodes[node.name]
        self.nodes[node.name] = node
        for watcher in self.watchers:
            watcher(before, node)
        self._schedule_reactions(node.name)
        self._schedule_removal(node)
        self._schedule_steering()

    def _schedule_removal(self, node: NodeSeen) -> None:
        """Autoscalers remove a node that is cordoned, used by nobody and spared by no annotation, once that lasted."""
        facts, name = node.facts, node.name
        is_idle = facts.is_cordoned and not any(pod.keeper is not PodOwner.DAEMON_SET for pod in facts.pods)
        is_theirs = is_idle and self._fate(name).is_scaled_down
        if not is_theirs or not neighbours.remover_of(facts.labels, dict(facts.marks)):
            self._idle_since.pop(name, None)
        elif name not in self._idle_since:
            since = self._idle_since[name] = self.time
            self._push(self.time + self._drawn(neighbours.REMOVED), partial(self._remove, name, since))

    def _remove(self, name: str, since: Instant) -> None:
        if self._idle_since.get(name) == since:
            self.remove(name)

    def _set_outside(self, outside: Outside) -> None:
        self.outside = outside
        self._schedule_outside()

    def _schedule_outside(self) -> None:
        """Whatever follows from how the outside stands, each in its own time."""
        self._schedule_steering()
        if outer.is_synced(self.outside) is not None:
            self._schedule((SYNCED, "", ""), self._sync)
        if releases.installed(self.outside.operator) is not None:
            self._schedule((releases.INSTALLED, "", ""), self._install)
        for step in merging.mergeable(self.outside):
            self._schedule((MERGED, step, ""), partial(self._merge, step))
        behind = {outer.behind_of(node.facts, self.outside) for node in self.nodes.values()} - {""}
        for resource in sorted(behind):
            self._schedule((FOLLOWED, resource, ""), partial(self._follow, resource))
        for each in outer.pending(self.outside):
            self._schedule((PROBED, "/".join(map(str, outer.key_of(each))), ""), partial(self._end_probe, each))

    def _schedule_steering(self) -> None:
        if not upgrade_controller.is_there(self.outside):
            return
        for node in upgrade_controller.steered(self.nodes.values(), self.outside):
            self._schedule((STEERED, node.name, ""), partial(self._steer, node.name))

    def _steer(self, name: str) -> None:
        for node in upgrade_controller.steered(tuple(self.nodes.values()), self.outside):
            if node.name == name:
                self._set(node)

    def _schedule(self, due: tuple[str, str, str], happening: Callable[[], None]) -> None:
        """Have something happen after its delay, once, however often it is asked for meanwhile."""
        if due in self._scheduled:
            return

        def happens() -> None:
            self._scheduled.discard(due)
            happening()
            self._schedule_outside()

        self._scheduled.add(due)
        self._push(self.time + self._drawn(due[0]), happens)

    def _sync(self) -> None:
        self.outside = outer.is_synced(self.outside) or self.outside

    def _install(self) -> None:
        operator = self.outside.operator
        self.outside = replace(self.outside, operator=releases.installed(operator) or operator)

    def _merge(self, step: PublishStep) -> None:
        if step in merging.mergeable(self.outside):  # else it was withdrawn, or declined, meanwhile
            self.outside = merging.merged(self.outside, step)

    def _follow(self, resource: str) -> None:
        for node in outer.followed(tuple(self.nodes.values()), resource, self.outside, self._revisions):
            self._set(node)

    def _end_probe(self, measurement: Measurement) -> None:
        node = self.nodes.get(measurement.node)
        version = node.facts.driver.version if node is not None and node.facts.driver is not None else ""
        beside = operand_pods.running_beside(node.facts) if node is not None else ()
        fate = self._gate_fates.get(measurement.gate, TELLING)
        self.outside = outer.probe_ends(self.outside, measurement, version, fate, beside)

    def _drawn(self, what: str) -> float:
        delay = self._delays[what]
        return delay.seconds + self._chance.random() * delay.jitter_seconds

    def _schedule_reactions(self, name: str) -> None:
        node = self.nodes.get(name)
        if node is None:
            return  # what is in store for it comes too late
        fate = self._fate(name)
        for what, reaction in REACTIONS.items():
            if not node.facts.is_ready and what not in OPERATORS_OWN:
                continue  # its kubelet is silent; whatever is due happens once it is back
            due = (name, what, _driver_uid(node))
            if due not in self._scheduled and reaction(node.facts, fate, self.time) is not None:
                self._scheduled.add(due)
                self._push(self.time + self._drawn(what), partial(self._react, due))

    def _react(self, due: tuple[str, str, str]) -> None:
        self._scheduled.discard(due)
        name, what, uid = due
        node = self.nodes.get(name)
        if node is None or _driver_uid(node) != uid:
            return  # meant for a driver pod that is gone: its successor takes its own time
        if not node.facts.is_ready and what not in OPERATORS_OWN:
            return  # a silent kubelet does nothing; when it is back, its reactions are due anew
        facts = REACTIONS[what](node.facts, self._fate(name), self.time)
        self._set(replace(node, facts=facts) if facts is not None else node)

    def _push(self, instant: Instant, happening: Callable[[], None]) -> None:
        self._event_count += 1
        heapq.heappush(self._events, (instant, self._event_count, happening))


def _turned_down(action: Action, refused: Refused) -> Outcome:
    """The answer to an act that was not executed."""
    if refused.is_stale:
        return Outcome(action=action, result=Result.STALE, detail=refused.why)
    if not isinstance(action, NodeAct):
        return Outcome(action=action, result=Result.FAILED, detail=refused.why)
    blocked = tuple((pod.uid, refused.why) for pod in _asked(action))
    return Outcome(action=action, result=Result.BLOCKED, detail=refused.why, blocked=blocked)


def _asked(action: NodeAct) -> tuple[Pod, ...]:
    """The pods an act asks something of."""
    return action.pods if isinstance(action, EvictPods | AskCheckpoint) else ()


def _driver_uid(node: NodeSeen) -> str:
    return node.facts.driver.uid if node.facts.driver else ""
