"""The same jobs in World, moved by the controller's own loop and by `decide`: ledger, node machine, reactions.

    users      the model's: its queue, its scheduler, its jobs, and what it counts (seatrial/sim/forecast/busy)
    nodes      World's: cordons, evictions, reloads, and how long each of them takes
    who acts   the loop, pass by pass, as live; promises are checked in each, and a breach ends the run

It is played to hold the quick model against it: the same seeds, a smaller fleet. Law of this file: it translates
between the two, and decides nothing. Tests: tests/bench/test_in_world.py
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Final

from seatrial.core.model.campaign import Bake, Campaign, Canary, Growth, Waves
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import Attrition, Limits, Policy, Share
from seatrial.core.model.seen.jobs import PodJob
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.work import WorkSeen, counted
from seatrial.core.model.target import Target
from seatrial.core.node.phases import is_under_way
from seatrial.run import loop
from seatrial.run.loop import Report
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.forecast.busy.cluster import Run
from seatrial.sim.forecast.busy.playing import Outcome, Warm
from seatrial.sim.forecast.busy.scheduling import schedule
from seatrial.sim.forecast.busy.traces import HOUR, Saves
from seatrial.sim.nodes import new_node
from seatrial.sim.outside import Outside
from seatrial.sim.world import DELAYS, Delay, World
from seatrial_lab.schedules.busy import with_pod, with_saved, without_pod
from seatrial_lab.schedules.drawing import NEW, OLD
from seatrial_lab.schedules.schedules import NoJournal

CANARY: Final = "canary"
"""A node of nobody, which goes first: the model has none, and its time begins with the waves."""
EMPTYING: Final = frozenset(
    {
        NodePhase.UPGRADE_REQUIRED,
        NodePhase.CORDON_REQUIRED,
        NodePhase.WAIT_FOR_JOBS_REQUIRED,
        NodePhase.POD_DELETION_REQUIRED,
        NodePhase.DRAIN_REQUIRED,
    }
)
"""Before its driver is replaced: a node without a job stands idle."""
SLOWLY: Final = {**DELAYS, "driver gets ready": Delay(seconds=295, jitter_seconds=60)}
"""With a driver that takes so long, a reload is the model's: six minutes."""
ALL: Final = Share(amount=100, is_percent=True)


class InWorld:
    """One upgrade: World has the nodes, the model has the users."""

    def __init__(self, begun: Warm, way: Attrition, idle_max: int) -> None:
        self.cluster, self._coming, self._following = begun
        self._places = {name: place for place, name in enumerate(self.cluster.names)}
        self._uids: dict[str, dict[str, str]] = {}
        """By job: the uid of its pod on each of its nodes."""
        self._is_moving = False
        """Whether it is us who take pods away: somebody has ended."""
        self._due_at = float("inf")
        cluster = self.cluster
        pods: dict[str, list[Pod]] = {name: [] for name in cluster.names}
        for run in cluster.runs.values():
            for name, pod in self._pods(run):
                pods[name].append(pod)
        nodes = [
            new_node(name, running=OLD, wanted=OLD, gpu_count=cluster.sizes[place], pods=pods[name], at=cluster.now)
            for place, name in enumerate(cluster.names)
        ]
        canary = new_node(CANARY, running=OLD, wanted=OLD, gpu_count=cluster.gpus, at=cluster.now)
        outside = Outside(operator=outer.cluster_policy(OLD.version, is_auto_upgrading=False))
        wish = _wish(way, idle_max)
        self.world = World([canary, *nodes], wish, outside=outside, delays=SLOWLY, started_at=cluster.now)
        self.world.watchers.append(self._on_change)
        self._tell()

    def run(self, stop: float) -> Outcome:
        """Play it to its end, or until it is stopped; what is lost counts from the opening of the waves."""
        cluster, world = self.cluster, self.world
        cluster.counts = True
        self._arrive()
        self._plan_ends()
        for run in cluster.runs.values():
            self._plan_save(run)
        opened: list[float] = []

        def on_report(report: Report) -> None:
            if report.breaches:
                raise RuntimeError(f"{world.time:.0f} s: {report.breaches[0]}")
            campaign = world.rollout.campaign
            if not opened and campaign is not None and campaign.waving_since:
                opened.append(world.time)

        def is_over(_: Report) -> bool:
            return cluster.is_over() or world.time >= stop

        live = loop.run_forever(world.ports(NoJournal()), Memory(world.time), on_report=on_report, is_over=is_over)
        asyncio.run(live)
        self._catch_up()
        return Outcome(
            losses=cluster.losses,
            hours=(world.time - opened[0]) / HOUR if opened else 0.0,
            is_over=cluster.is_over(),
        )

    # ── users ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _arrive(self, _: World | None = None) -> None:
        """Whoever comes now waits; the next one is awaited."""
        self._catch_up()
        while self._following is not None and self._following.arrives <= self.world.time:
            self.cluster.submit(self._following)
            self._following = next(self._coming, None)
        if self._following is not None:
            self.world.at(self._following.arrives, self._arrive)
        self._place()

    def _place(self, _: World | None = None) -> None:
        self._catch_up()
        before = set(self.cluster.runs)
        schedule(self.cluster)
        for name in sorted(self.cluster.runs.keys() - before):
            run = self.cluster.runs[name]
            for node, pod in self._pods(run):
                self.world.change(node, partial(with_pod, pod=pod))
            self._plan_save(run)
        self._plan_ends()
        self._tell()

    def _plan_ends(self) -> None:
        at = self.cluster.next_event()
        if at < self._due_at:
            self._due_at = at
            self.world.at(at, self._end)

    def _end(self, _: World) -> None:
        """Whose time is up goes, everywhere at once."""
        self._due_at = float("inf")
        self._catch_up()
        self._is_moving = True
        for name in sorted(self._uids.keys() - self.cluster.runs.keys()):
            self._take_away(name)
        self._is_moving = False
        self._place()

    def _take_away(self, name: str) -> None:
        for node, uid in self._uids.pop(name).items():
            self.world.change(node, partial(without_pod, uid=uid))

    def _plan_save(self, run: Run) -> None:
        if run.work.saves is Saves.TOLD:
            at = run.saved_at(self.world.time) + run.every
            self.world.at(max(at, run.started + run.lead + run.every), partial(self._save, run))

    def _save(self, run: Run, _: World) -> None:
        if self.cluster.runs.get(run.work.name) is run:
            for node, uid in self._uids[run.work.name].items():
                self.world.change(node, partial(with_saved, uid=uid, at=self.world.time))
            self.world.at(self.world.time + run.every, partial(self._save, run))

    def _tell(self) -> None:
        rows = self.cluster.queues.items()
        self.world.work = WorkSeen(waiting=counted(gpus for pieces, row in rows for _ in row for gpus in pieces))

    def _pods(self, run: Run) -> Iterator[tuple[str, Pod]]:
        """A pod on each node of a job."""
        work, now = run.work, self.cluster.now
        is_telling = work.saves is Saves.TOLD
        job = PodJob(
            gang=f"jobs/job/{work.name}",
            line=f"jobs/{work.owner}",
            started_at=run.started,
            saved_at=run.saved_at(now) if is_telling else None,
        )
        self._uids[work.name] = {}
        for place, gpus in run.parts:
            node = self.cluster.names[place]
            uid = f"{work.name}-{node}-{run.started:.3f}"
            self._uids[work.name][node] = uid
            yield (
                node,
                Pod(
                    namespace="jobs",
                    name=f"{work.name}-{node}",
                    uid=uid,
                    gpu=GpuUse.RESOURCE,
                    gpu_count=gpus,
                    is_running=True,
                    job=job,
                ),
            )

    # ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _catch_up(self) -> None:
        """Count until now; whoever ends by now has ended for the model."""
        if self.world.time > self.cluster.now:
            self.cluster.advance(self.world.time)

    def _on_change(self, before: NodeSeen, after: NodeSeen) -> None:
        place = self._places.get(after.name)
        if place is None:
            return
        self._catch_up()
        cluster = self.cluster
        if after.facts.is_cordoned and not before.facts.is_cordoned:
            cluster.close(place)
        if before.facts.is_cordoned and not after.facts.is_cordoned:
            cluster.reloading.pop(place, None)
            cluster.done[place] = after.record is not None and after.record.phase is NodePhase.UPGRADE_DONE
            cluster.reopen(place)
            self.world.at(self.world.time, self._place)
        if is_under_way(after.record) and after.record is not None and after.record.phase not in EMPTYING:
            cluster.reloading.setdefault(place, float("inf"))
        if before.facts.pods is not after.facts.pods and not self._is_moving:
            self._evicted(before, after)

    def _evicted(self, before: NodeSeen, after: NodeSeen) -> None:
        """Jobs that have lost a pod start again, elsewhere."""
        there = {pod.uid for pod in after.facts.pods}
        gone = {pod.uid for pod in before.facts.pods} - there
        lost = [name for name, uids in self._uids.items() if uids.get(after.name) in gone]
        for name in lost:
            if name in self.cluster.runs:
                self.cluster.evict(name)
            self.world.at(self.world.time, partial(self._rest_goes, name))

    def _rest_goes(self, name: str, _: World) -> None:
        if name in self._uids and name not in self.cluster.runs:
            self._is_moving = True
            self._take_away(name)
            self._is_moving = False
        self._place()


def _wish(way: Attrition, idle_max: int) -> Intent:
    campaign = Campaign(
        canary=Canary(nodes=(CANARY,)), bake=Bake(seconds=0.0), waves=Waves(growth=Growth.FIXED, first=ALL)
    )
    limits = Limits(parallel_max=0, unavailable_max=ALL, idle_gpus_max=Share(amount=idle_max))
    return Intent(
        rollout="r",
        target=Target.of(NEW.version),
        policy=Policy(limits=limits),
        attrition=way,
        campaign=campaign,
    )
