"""Driver upgrades by NVIDIA's controller with DRA plugins on the nodes, each from one seed, and who restarts them.

    ours        the criterion of core/movers/dra: node by node, as each settles
    proposed    what NVIDIA/aicr's issue 980 asks of a Helm hook: wait until ClusterPolicy is ready, then restart all

Both play the same upgrade: a hook begins some time after `helm upgrade` has returned; the new operator makes its first
pass, and with it the DaemonSet's new template, some time after that; its revision follows; then NVIDIA's controller
moves the nodes. In half of the seeds the DRA chart restarts every plugin at once on the way, as an annotation of its
template does. A driver may keep its version, fail, or start again in place; nodes may be left out.

ClusterPolicy's state is played as the operator's code has it: `ready` from before stays until the first pass; v26.3
looks only at driver pods of the new chart, so that it is ready whenever none is unavailable; v26.7 asks that all are of
the newest revision, which is still the old one for a moment.

Law of this file: what is stale or early is told by the world's own facts and not by the rule that is tried. Tests:
tests/sim/test_dra_seeds.py
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from seatrial.core.actions.on_nodes import RestartPod
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import PolicyWish, Share
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.target import Target as RolloutTarget
from seatrial.core.movers.dra import rerolling
from seatrial.core.movers.dra.values import CLIQUE_LABEL, DraMemory, DraSeen, DriverSet, Sighted, Stand, Target
from seatrial.ports import Result
from seatrial.sim import outside as outer
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.outside import Outside
from seatrial.sim.upgrade_controller import STEERED
from seatrial.sim.world import DELAYS, Delay, World

OLD: Final = DriverRevision(hash="old", version="570.124.06")
NEW: Final = DriverRevision(hash="new", version="580.105.08")
OLD_CHART, NEW_CHART = "gpu-operator-v25.10.1", "gpu-operator-next"
HOURS_MAX: Final = 24.0
POLLED: Final = Delay(seconds=1, jitter_seconds=119)
"""Its controller looks by itself every 120 s, and at some changes at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One upgrade, as its seed draws it."""

    seed: int
    node_count: int
    parallel_max: int
    wanted: DriverRevision
    is_fixed: bool
    """Whether the operator's word about its DaemonSets is that of v26.7."""
    hook_at: Instant
    passed_at: Instant
    """When the new operator has made its first pass."""
    revised_at: Instant
    """When the revision of the new template is there."""
    annotated_at: Instant | None
    """When the DRA chart restarts every plugin."""
    fails: frozenset[str]
    left_out: frozenset[str]
    restarts: tuple[tuple[Instant, str], ...]
    """Drivers that start again in place."""
    cliques: tuple[str, ...]


def drawn(seed: int) -> Schedule:
    """What a seed stands for."""
    chance = random.Random(seed)  # noqa: S311  a simulation, not a secret
    node_count = chance.randint(2, 6)
    names = [f"n{number}" for number in range(node_count)]
    passed_at = chance.uniform(10, 120)
    return Schedule(
        seed=seed,
        node_count=node_count,
        parallel_max=chance.choice([1, 1, 2, 4]),
        wanted=replace(NEW, version=OLD.version) if chance.random() < 0.15 else NEW,
        is_fixed=chance.random() < 0.5,
        hook_at=chance.uniform(0, 180),
        passed_at=passed_at,
        revised_at=passed_at + chance.uniform(0.1, 5),
        annotated_at=chance.uniform(0, 60) if chance.random() < 0.5 else None,
        fails=frozenset(name for name in names if chance.random() < 0.03),
        left_out=frozenset(name for name in names if chance.random() < 0.03),
        restarts=tuple((chance.uniform(0, 2400), name) for name in names if chance.random() < 0.1),
        cliques=("a", "b") if chance.random() < 0.3 else (),
    )


@dataclass(slots=True, kw_only=True)
class Ending:
    """How an upgrade ended."""

    seed: int
    node_count: int = 0
    """Nodes that got their driver."""
    stale: tuple[str, ...] = ()
    """Of those, whose plugin is not younger than its driver."""
    early: tuple[str, ...] = ()
    """Whose plugin was restarted before its own driver had come."""
    twice: tuple[str, ...] = ()
    """Whose plugin was restarted more than once for one run of its driver."""
    restart_count: int = 0
    is_late: bool = False
    together: tuple[str, ...] = ()
    """Cliques in which two plugins were away at once."""
    again_count: int = 0
    """Deletions of a second run."""


@dataclass(slots=True)
class Play:
    """One upgrade in a world."""

    schedule: Schedule
    world: World = field(init=False)
    over_at: Instant | None = field(init=False, default=None)
    """When whoever restarts plugins was done."""
    restarted_at: dict[str, Instant] = field(init=False, default_factory=dict)
    """When a driver last started again in place."""
    ending: Ending = field(init=False)
    _restarted_for: set[tuple[str, str, Instant | None, Instant | None]] = field(init=False, default_factory=set)
    """For which runs of their drivers plugins were restarted by whoever is tried."""

    def __post_init__(self) -> None:
        schedule = self.schedule
        fates = {name: Fate(driver_fails_on=schedule.wanted.version) for name in schedule.fails}
        self.ending = Ending(seed=schedule.seed)
        self.world = World(
            [_node(schedule, number) for number in range(schedule.node_count)],
            Intent(rollout="none", target=RolloutTarget.of(schedule.wanted.version)),
            # A driver that fails is told by its version, so that one that keeps it never does.
            fates=fates if schedule.wanted.version != OLD.version else {},
            outside=_outside(OLD.version, schedule.parallel_max),
            delays={**DELAYS, STEERED: POLLED},
            seed=schedule.seed,
        )
        self.world.at(schedule.revised_at, self._publish)
        if schedule.annotated_at is not None:
            self.world.at(schedule.annotated_at, lambda _: self._restart_all())
        for at, name in schedule.restarts:
            self.world.at(at, lambda _, name=name, at=at: self._restart_driver(name, at))  # type: ignore[misc]

    # ── what the world does ──────────────────────────────────────────────────────────────────────────────────────────

    def _publish(self, world: World) -> None:
        world.publish(self.schedule.wanted)
        world.change_outside(lambda _: _outside(self.schedule.wanted.version, self.schedule.parallel_max))

    def _restart_driver(self, name: str, at: Instant) -> None:
        facts = self.world.nodes[name].facts
        if facts.driver is None or not facts.driver.is_ready or facts.driver.is_terminating:
            return
        self.restarted_at[name] = at
        driver = replace(facts.driver, is_ready=False, ready_since=None, started_at=at)
        self.world.change(name, lambda node: replace(node, facts=replace(node.facts, driver=driver)))

    def _restart_all(self) -> None:
        for name in self.world.nodes:
            self.delete(name)

    def delete(self, name: str) -> bool:
        """Delete a plugin pod; whether that was done."""
        plugin = self.world.nodes[name].facts.dra
        if plugin is None or plugin.is_terminating:
            return False
        act = RestartPod(
            node=name,
            attempt=1,
            operand=Operand.DRA_PLUGIN,
            namespace=plugin.namespace,
            pod=plugin.name,
            uid=plugin.uid,
        )
        return self.world.execute(act).result is Result.DONE

    def step(self, until: Instant | None = None) -> bool:
        """Go on to what happens next, or to an instant; whether there is anything."""
        due = [at for at in (self.world.next_at, until) if at is not None]
        if not due or self.world.time > HOURS_MAX * 3600:
            return False
        self.world.tick_to(max(self.world.time, min(due)))
        return True

    # ── the truth ────────────────────────────────────────────────────────────────────────────────────────────────────

    def is_migrated(self, facts: NodeFacts) -> bool:
        """Whether the node runs what the upgrade was to bring."""
        driver = facts.driver
        return driver is not None and driver.revision == self.schedule.wanted.hash and driver.is_ready

    def note(self, name: str) -> None:
        """A plugin was deleted by whoever is tried."""
        self.ending.restart_count += 1
        facts = self.world.nodes[name].facts
        if not self.is_migrated(facts):
            self.ending.early += (name,)
        if facts.driver is not None:
            run = (name, facts.driver.uid, facts.driver.started_at, facts.driver.ready_since)
            if run in self._restarted_for:
                self.ending.twice += (name,)
            self._restarted_for.add(run)

    def judged(self) -> Ending:
        """What is left when nothing happens any more."""
        while self.step():
            pass
        nodes = [node.facts for node in self.world.nodes.values() if self.is_migrated(node.facts)]
        over_at = self.over_at if self.over_at is not None else self.world.time
        self.ending.node_count = len(nodes)
        # A driver that started again after everything was over is for whoever looks all the time.
        mine = [facts for facts in nodes if self.restarted_at.get(facts.name, 0.0) <= over_at]
        self.ending.stale = tuple(facts.name for facts in mine if _is_stale(facts))
        return self.ending


def _node(schedule: Schedule, number: int) -> NodeSeen:
    name = f"n{number}"
    clique = schedule.cliques[number % len(schedule.cliques)] if schedule.cliques else ""
    labels = {CLIQUE_LABEL: clique} if clique else None
    node = new_node(name, running=OLD, wanted=OLD, has_dra=True, labels=labels)
    done = NodePhase.UPGRADE_DONE.value
    return replace(node, facts=replace(node.facts, is_skipped=name in schedule.left_out, nvidia_state=done))


def _outside(version: str, parallel_max: int) -> Outside:
    policy = PolicyWish(parallel_max=parallel_max, unavailable_max=Share(amount=100, is_percent=True))
    return Outside(operator=outer.cluster_policy(version, is_auto_upgrading=True, policy=policy))


def _is_stale(facts: NodeFacts) -> bool:
    driver, plugin = facts.driver, facts.dra
    if driver is None or driver.ready_since is None or plugin is None or plugin.started_at is None:
        return True
    return plugin.started_at <= max(driver.ready_since, driver.started_at or 0.0)


# ── ours ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def play_ours(seed: int) -> Ending:
    """Restart plugins as `seatrial dra reroll --wait` does."""
    play = Play(drawn(seed))
    play.world.tick_to(play.schedule.hook_at)
    _run_ours(play, play.note)
    play.over_at = play.world.time
    again: list[str] = []
    if not play.ending.is_late and not any(at > play.over_at for at, _ in play.schedule.restarts):
        _run_ours(play, again.append)
    play.ending.again_count = len(again)
    return play.judged()


def _run_ours(play: Play, note: Callable[[str], None]) -> None:
    memory = DraMemory()
    target = Target(driver=play.schedule.wanted.version, chart=NEW_CHART)
    while True:
        seen = _seen(play)
        found = rerolling.decide_reroll(seen, memory, play.world.time, target=target)
        memory = found.memory
        for act in found.acts:
            note(act.node)
            if play.delete(act.node):
                memory = rerolling.noted(memory, act, seen)
        _look_at_cliques(play)
        if found.is_over:
            return
        if not play.step(found.wake_at):
            play.ending.is_late = any(each.stand is not Stand.FRESH for each in found.standings if not each.is_over)
            return


def _seen(play: Play) -> DraSeen:
    """The world as the command sees it: of DaemonSets there is one, whose template comes before its revision."""
    schedule, now = play.schedule, play.world.time
    is_new = now >= schedule.passed_at
    found = DriverSet(
        name="nvidia-driver-daemonset",
        is_seen=not is_new or now >= schedule.revised_at,
        version=schedule.wanted.version if is_new else OLD.version,
        chart=NEW_CHART if is_new else OLD_CHART,
    )
    nodes = {name: Sighted(node=node, driver_set=found) for name, node in play.world.nodes.items()}
    return DraSeen(nodes=nodes, driver_sets=(found,))


def _look_at_cliques(play: Play) -> None:
    if not play.schedule.cliques or play.schedule.annotated_at is not None:
        return
    away = [
        node.facts.labels[CLIQUE_LABEL]
        for node in play.world.nodes.values()
        if node.facts.dra is not None and (node.facts.dra.is_terminating or node.facts.dra.started_at is None)
    ]
    play.ending.together += tuple({clique for clique in away if away.count(clique) > 1})


# ── what the issue proposes ──────────────────────────────────────────────────────────────────────────────────────────


def play_proposed(seed: int) -> Ending:
    """Wait for ClusterPolicy to be ready, then restart every plugin; a wait that takes too long begins anew."""
    play = Play(drawn(seed))
    play.world.tick_to(play.schedule.hook_at)
    while not _is_policy_ready(play):
        changes = (play.schedule.passed_at, play.schedule.revised_at)
        coming = [at for at in changes if at > play.world.time]
        if not play.step(min(coming, default=None)):
            play.ending.is_late = True
            return play.judged()
    for name in play.world.nodes:
        if play.delete(name):
            play.note(name)
    play.over_at = play.world.time
    return play.judged()


def _is_policy_ready(play: Play) -> bool:
    schedule, now = play.schedule, play.world.time
    if now < schedule.passed_at:
        return True  # what the operator before this one wrote
    drivers = [node.facts.driver for node in play.world.nodes.values()]
    if any(driver is None or not driver.is_ready or driver.is_terminating for driver in drivers):
        return False
    newest = schedule.wanted.hash if now >= schedule.revised_at else OLD.hash
    return not schedule.is_fixed or all(driver is not None and driver.revision == newest for driver in drivers)
