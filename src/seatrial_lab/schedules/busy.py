"""Who works on the nodes of a busy fleet: jobs that end by themselves, gangs, a queue, and who says when it saved.

    starts     in the order of the queue, on nodes that take work and have the GPUs; a gang on all of its nodes at once
    ends       by itself after its time, everywhere at once
    restarts   when one of its pods is gone, be it evicted or ended by a reboot: its others end with it, and all of it
               waits in the queue again

Law of this file: it plays users and their scheduler, and knows nothing of rollouts. Tests: tests/sim/test_faults.py
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.gangs import gpus_of
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.work import PodBudget, WorkSeen, counted
from seatrial.core.model.selectors import Selector
from seatrial.sim.world import World

HOUR: Final = 3600.0
GPUS: Final = 8
"""Of every node."""
PLACED_SECONDS, ENDED_SECONDS = 10.0, 5.0
"""How long a scheduler takes, and the other pods of a gang that has lost one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A job that somebody wants to run."""

    name: str
    node_count: int
    gpus: int
    """On each of its nodes."""
    seconds: float
    saves_seconds: float | None = None
    """How often it saves and says so; None where it never says."""
    is_asked: bool = False
    """Whether it saves when asked."""
    limit_seconds: float | None = None
    """When it would be ended, where it says so."""
    service: str = ""
    """The service that it is a replica of: it never ends by itself."""


def draw_wishes(chance: random.Random, node_count: int, longest: float) -> list[Wish]:
    """About one and a half times the work that fits; nobody runs longer than `longest`."""
    wishes: list[Wish] = []
    gpus = 0
    while gpus < 1.5 * node_count * GPUS:
        nodes = chance.choice((1, 1, 1, 1, 2, 2, 3))
        each = GPUS if nodes > 1 and chance.random() < 0.8 else chance.choice((1, 2, 4, 8, 8))
        seconds = min(longest, chance.lognormvariate(8.5, 1.3))
        wish = Wish(
            name=f"j{len(wishes)}",
            node_count=nodes,
            gpus=each,
            seconds=seconds,
            saves_seconds=chance.choice((None, None, 1200.0, HOUR)),
            is_asked=chance.random() < 0.3,
            limit_seconds=chance.choice((None, None, seconds * chance.uniform(1, 4))),
        )
        wishes.append(wish)
        gpus += nodes * each
    return wishes


def draw_services(chance: random.Random, node_count: int) -> list[Wish]:
    """Replicas of a service or two, as many as half of the nodes at most."""
    return [
        Wish(name=f"{service}-{number}", node_count=1, gpus=gpus, seconds=float("inf"), service=service)
        for service in ("web", "chat")[: chance.choice((0, 1, 1, 2))]
        for gpus in (chance.choice((1, 2, 4)),)
        for number in range(chance.randint(2, max(2, node_count // 2)))
    ]


class Users:
    """Everybody who wants GPUs of a world, and the scheduler that serves them."""

    def __init__(self, world: World, wishes: list[Wish], note: Callable[[Callable[[], str]], None]) -> None:
        self._world, self._note = world, note
        self._waiting = list(wishes)
        self._running: dict[str, tuple[Wish, dict[str, str]]] = {}
        """By run: what it is, and the uid of its pod on each of its nodes."""
        self._run_count = 0
        self._is_due = False
        self.restarts: dict[str, int] = {}
        services = Counter(wish.service for wish in wishes if wish.service)
        self._needed = {service: count - 1 for service, count in services.items()}
        """By service: the replicas that its PodDisruptionBudget wants to be ready."""
        self.place(since=-HOUR)
        world.watchers.append(self._on_change)

    # ── starting ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def place(self, since: float = 0.0) -> None:
        """Start whoever fits, in their order."""
        self._is_due = False
        room = {name: _free(node) for name, node in self._world.nodes.items()}
        for wish in list(self._waiting):
            free = [name for name, gpus in room.items() if gpus >= wish.gpus]
            if len(free) >= wish.node_count:
                self._waiting.remove(wish)
                self._start(wish, free[: wish.node_count], self._world.time + since)
                room = {name: _free(node) for name, node in self._world.nodes.items()}
        self._tell()

    def _start(self, wish: Wish, names: list[str], started_at: Instant) -> None:
        self._run_count += 1
        run, uids = f"{wish.name}.{self._run_count}", {}
        job = PodJob(
            gang=f"jobs/job/{wish.name}",
            line=f"jobs/{wish.service or wish.name}",
            replica_of=f"jobs/{wish.service}" if wish.service else "",
            started_at=started_at,
            limit_seconds=wish.limit_seconds,
            saved_at=started_at if wish.saves_seconds else None,
        )
        for name in names:
            pod = Pod(
                namespace="jobs",
                name=f"{wish.name}-{name}",
                uid=f"{run}-{name}-0",
                gpu=GpuUse.RESOURCE,
                gpu_count=wish.gpus,
                labels=(("app", wish.service),) if wish.service else (),
                is_running=True,
                offers_checkpoint=wish.is_asked,
                job=job,
            )
            uids[name] = pod.uid
            self._world.change(name, partial(with_pod, pod=pod))
        self._running[run] = (wish, uids)
        if not wish.service:
            self._world.at(self._world.time + wish.seconds, lambda _: self._end(run))
        if wish.saves_seconds:
            self._world.at(self._world.time + wish.saves_seconds, lambda _: self._save(run))

    def _tell(self) -> None:
        waiting = counted(wish.gpus for wish in self._waiting for _ in range(wish.node_count))
        self._world.work = WorkSeen(waiting=waiting, budgets=self._budgets())

    def _budgets(self) -> tuple[PodBudget, ...]:
        """What each service can spare now."""
        pods = (pod for node in self._world.nodes.values() if node.facts.is_ready for pod in node.facts.pods)
        ready = Counter(dict(pod.labels).get("app") for pod in pods if pod.is_running and not pod.is_terminating)
        return tuple(
            PodBudget(
                namespace="jobs",
                name=service,
                selector=Selector.parse(f"app={service}"),
                allowed=max(0, ready[service] - needed),
            )
            for service, needed in sorted(self._needed.items())
        )

    # ── ending ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _save(self, run: str) -> None:
        if run not in self._running:
            return
        wish, uids = self._running[run]
        for name, uid in uids.items():
            self._world.change(name, partial(with_saved, uid=uid, at=self._world.time))
        self._world.at(self._world.time + (wish.saves_seconds or HOUR), lambda _: self._save(run))

    def _end(self, run: str) -> None:
        if run in self._running:
            wish, uids = self._running.pop(run)
            self._note(lambda: f"job {wish.name} ends by itself")
            self._leave(uids)

    def _leave(self, uids: Mapping[str, str]) -> None:
        for name, uid in uids.items():
            if name in self._world.nodes:
                self._world.change(name, partial(without_pod, uid=uid))

    def _on_change(self, before: NodeSeen, after: NodeSeen) -> None:
        if before.facts.pods is not after.facts.pods:
            there = {pod.uid for pod in after.facts.pods}
            lost = [run for run, (_, uids) in self._running.items() if uids.get(after.name, "") not in {"", *there}]
            for run in lost:
                self._restart(run, after.name)
        if self._needed and before.facts.is_ready is not after.facts.is_ready:
            self._tell()
        if self._waiting and not self._is_due and _free(after):
            self._is_due = True
            self._world.at(self._world.time + PLACED_SECONDS, lambda _: self.place())

    def _restart(self, run: str, where: str) -> None:
        wish, uids = self._running.pop(run)
        self._note(lambda: f"job {wish.name} starts again: its pod on {where} is gone")
        self.restarts[wish.name] = self.restarts.get(wish.name, 0) + 1
        self._waiting.append(wish)
        self._world.at(self._world.time + ENDED_SECONDS, lambda _: self._leave(uids))


def _free(node: NodeSeen) -> int:
    """GPUs of a node that a pod could have now."""
    facts = node.facts
    is_up = facts.driver is not None and facts.driver.is_ready and not facts.driver.is_terminating
    if facts.is_cordoned or not facts.is_ready or not is_up or not any(count for _, count in facts.offer.resources):
        return 0
    return GPUS - gpus_of(facts.pods)


def with_pod(node: NodeSeen, pod: Pod) -> NodeSeen:
    """A node on which one more pod runs."""
    return replace(node, facts=replace(node.facts, pods=(*node.facts.pods, pod)))


def without_pod(node: NodeSeen, uid: str) -> NodeSeen:
    """A node that a pod has left."""
    return replace(node, facts=replace(node.facts, pods=tuple(pod for pod in node.facts.pods if pod.uid != uid)))


def with_saved(node: NodeSeen, uid: str, at: Instant) -> NodeSeen:
    """A node with a pod on it that says when it saved its work."""
    pods = tuple(
        replace(pod, job=replace(pod.job, saved_at=at)) if pod.uid == uid and pod.job is not None else pod
        for pod in node.facts.pods
    )
    return replace(node, facts=replace(node.facts, pods=pods))
