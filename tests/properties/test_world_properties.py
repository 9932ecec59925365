"""Random fleets, random trouble in any order: no promise is broken, and in a fair world every run comes to its end.

The controller is the real loop with its real memory. Between it and the World stand a view that lags, node by node and
stream by stream, and an executor that delays, drops, repeats and reorders acts and loses their answers. A crash loses
the memory; acts under way then happen at that moment or never; the next life lists everything afresh, as the live one
does. (The explorer covers a next life that starts with an old view.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.core.actions import Action
from seatrial.core.holds import HoldCode
from seatrial.core.intent import Intent
from seatrial.core.node import is_under_way
from seatrial.core.snapshot import DriverRevision, GpuPod, NodePhase, NodeSeen, Snapshot
from seatrial.ports import Outcome, Ports, Result, Sight
from seatrial.run.loop import Report, run_once
from seatrial.run.memory import Memory
from seatrial.sim.explore import why_overspent
from seatrial.sim.reactions import Fate, new_node
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent

PASSES_MAX = 3000
TRANSIENT = {HoldCode.WRITE_IN_FLIGHT, HoldCode.WRITE_REFUSED, HoldCode.LEDGER_PENDING, HoldCode.PASS_FULL}


# ── what is drawn ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One node of a random fleet."""

    gpu_pod_count: int = 0
    is_cordoned: bool = False
    is_ready: bool = True
    is_skipped: bool = False
    has_bare_pod: bool = False
    is_blocked: bool = False
    is_failing: bool = False


members = st.builds(
    Member,
    gpu_pod_count=st.integers(0, 2),
    is_cordoned=st.sampled_from([False, False, True]),
    is_ready=st.sampled_from([True, True, True, False]),
    is_skipped=st.sampled_from([False, False, False, True]),
    has_bare_pod=st.sampled_from([False, False, False, True]),
    is_blocked=st.sampled_from([False, False, False, True]),
    is_failing=st.sampled_from([False, False, True]),
)
intents = st.builds(
    an_intent,
    parallel_max=st.integers(0, 3),
    unavailable_max=st.sampled_from([0, 1, 2, 3, "25%", "50%"]),
    failed_max=st.integers(0, 2),
)

ORDINARY = ["pass"] * 8 + ["act"] * 10 + ["see"] * 6 + ["see all"] * 3 + ["tick"] * 4
TROUBLE = [
    "answer lost",
    "act dropped",
    "act twice",
    "crash",
    "not ready",
    "ready",
    "admin cordons",
    "admin uncordons",
    "skip",
    "retry",
    "pause",
    "revert",
    "publish",
]
events = st.lists(st.tuples(st.sampled_from(ORDINARY + TROUBLE), st.integers(0, 59)), min_size=60, max_size=300)


# ── the rehearsal ────────────────────────────────────────────────────────────────────────────────────────────────────


class NoJournal:
    """Forgets."""

    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        """Nothing."""


class Rehearsal:
    """A world, a controller, and the trouble between them; implements the ports."""

    def __init__(self, fleet: tuple[Member, ...], intent: Intent, *, is_published: bool) -> None:
        fates = {
            f"n{place}": Fate(
                driver_fails_on=NEW.version if member.is_failing else "", is_eviction_blocked=member.is_blocked
            )
            for place, member in enumerate(fleet)
        }
        nodes = [_node(f"n{place}", member, NEW if is_published else OLD) for place, member in enumerate(fleet)]
        self.world = World(nodes, intent, fates=fates)
        self.theirs = {node.name for node in nodes if node.facts.is_cordoned}
        self.pending: list[Action] = []
        self.outcomes: list[Outcome] = []
        self.start_life()

    def start_life(self) -> None:
        """A controller that has just listed everything."""
        self.memory = Memory(self.world.time)
        self.see_all()

    # the ports

    def observe(self) -> Sight:
        nodes = {name: self._joined(name) for name in self.seen_nodes}
        return Sight(seen=Snapshot(nodes=nodes, rollout=self.seen_ledger), intent=self.world.intent)

    async def wait(self, until: float | None) -> bool:
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError

    def submit(self, action: Action) -> None:
        self.pending.append(action)

    def in_flight(self) -> frozenset[str]:
        return frozenset(action.subject for action in self.pending)

    def collect(self) -> tuple[Outcome, ...]:
        outcomes, self.outcomes = tuple(self.outcomes), []
        return outcomes

    def now(self) -> float:
        return self.world.time

    # what can happen

    def happen(self, what: str, number: int) -> None:
        """One event; `number` says to whom, or how."""
        name = sorted(self.world.nodes)[number % len(self.world.nodes)]
        match what:
            case "pass":
                self.look()
            case "see":
                self.see(name, number)
            case "see all":
                self.see_all()
            case "act" | "answer lost" | "act dropped" | "act twice":
                if self.pending:
                    self.act(self.pending.pop(number % len(self.pending)), what)
            case "tick":
                self.world.tick_to(self.world.time + (1, 5, 20, 90, 400, 2000)[number % 6])
            case "crash":
                for place, action in enumerate(self.pending):
                    if (number >> place % 6) & 1:
                        self.world.execute(action)
                self.pending, self.outcomes = [], []
                self.start_life()
            case "not ready" | "ready":
                self.change(name, is_ready=what == "ready")
            case "skip":
                self.change(name, is_skipped=not self.world.nodes[name].facts.is_skipped)
            case "admin cordons":
                self.admin_cordons(name)
            case "admin uncordons":
                self.theirs.discard(name)
                self.change(name, is_cordoned=False)
            case "retry":
                self.retry(name)
            case "pause":
                self.world.intent = replace(self.world.intent, is_paused=not self.world.intent.is_paused)
            case "revert" | "publish":
                self.world.publish(NEW if what == "publish" else OLD)
        self.check_truth()

    def look(self) -> Report:
        """One pass, which must break no promise."""
        report = run_once(Ports(observer=self, executor=self, journal=NoJournal(), clock=self), self.memory)
        assert report.breaches == ()
        return report

    def act(self, action: Action, what: str = "act") -> None:
        """Execute one act, with or without trouble."""
        if what == "act dropped":
            self.outcomes.append(Outcome(action=action, result=Result.FAILED, detail="connection refused"))
            return
        outcome = self.world.execute(action)
        if what == "act twice":
            self.world.execute(action)
        if what == "answer lost":
            outcome = Outcome(action=action, result=Result.FAILED, detail="timed out")
        self.outcomes.append(outcome)

    def see(self, name: str, number: int) -> None:
        """One part of the view catches up."""
        match number % 5:
            case 0 | 1:
                self.seen_nodes[name] = self.world.nodes[name]
            case 2 | 3:
                self.seen_pods[name] = self.world.nodes[name]
            case _:
                self.seen_ledger = self.world.rollout
                self.seen_wanted = _wanted(self.world)

    def see_all(self) -> None:
        """The whole view is current."""
        self.seen_nodes = dict(self.world.nodes)
        self.seen_pods = dict(self.world.nodes)
        self.seen_ledger = self.world.rollout
        self.seen_wanted = _wanted(self.world)

    def change(self, name: str, **changes: Any) -> None:
        """Somebody else writes to a node."""
        self.world.change(name, lambda node: replace(node, facts=replace(node.facts, **changes)))

    def admin_cordons(self, name: str) -> None:
        node = self.world.nodes[name]
        # Where our record still claims the cordon, theirs cannot be told from ours: nobody can see who set it.
        if not node.facts.is_cordoned and not (node.record is not None and node.record.is_cordon_ours):
            self.theirs.add(name)
        self.change(name, is_cordoned=True)

    def retry(self, name: str) -> None:
        node = self.world.nodes[name]
        if node.record is not None and node.record.phase is NodePhase.UPGRADE_FAILED:
            self.world.change(name, lambda failed: replace(failed, is_retry_asked=True))

    def _joined(self, name: str) -> NodeSeen:
        node, pods = self.seen_nodes[name], self.seen_pods[name].facts
        facts = replace(
            node.facts,
            wanted=self.seen_wanted,
            driver=pods.driver,
            validator=pods.validator,
            gpu_pods=pods.gpu_pods,
        )
        return replace(node, facts=facts)

    # what must be true

    def check_truth(self) -> None:
        """No limit is overspent by us, and no cordon of an admin is gone."""
        nodes = tuple(self.world.nodes.values())
        not_ours = {node.name for node in nodes if not (node.record is not None and node.record.is_cordon_ours)}
        assert why_overspent(nodes, self.world.intent, external=frozenset(not_ours)) is None
        under_way = {node.name for node in nodes if is_under_way(node.record)}
        assert under_way <= {admission.node for admission in self.world.rollout.admitted}
        lifted = {name for name in self.theirs if not self.world.nodes[name].facts.is_cordoned}
        assert lifted == set()

    def come_to_rest(self) -> Report:
        """A fair continuation: everything is seen, everything is answered, time passes."""
        self.world.intent = replace(self.world.intent, is_paused=False)
        self.world.publish(NEW)
        for _ in range(PASSES_MAX):
            while self.pending:
                self.act(self.pending.pop(0))
            self.see_all()
            report = self.look()
            self.check_truth()
            if self.pending:
                continue
            due = [at for at in (self.world.next_at, report.wake_at) if at is not None]
            if not due:
                return report
            self.world.tick_to(max(min(due), self.world.time))
        raise AssertionError(f"no rest after {PASSES_MAX} passes: {report.decision}")


def _node(name: str, member: Member, wanted: DriverRevision) -> NodeSeen:
    node = new_node(
        name, running=OLD, wanted=wanted, gpu_pod_count=member.gpu_pod_count, is_cordoned=member.is_cordoned
    )
    bare = GpuPod(namespace="jobs", name=f"bare-{name}", uid=f"bare-{name}", has_controller=False)
    pods = node.facts.gpu_pods + ((bare,) if member.has_bare_pod else ())
    facts = replace(node.facts, is_ready=member.is_ready, is_skipped=member.is_skipped, gpu_pods=pods)
    return replace(node, facts=facts)


def _wanted(world: World) -> DriverRevision | None:
    return next(iter(world.nodes.values())).facts.wanted


# ── the properties ───────────────────────────────────────────────────────────────────────────────────────────────────


def assert_all_at_rest(rehearsal: Rehearsal, report: Report) -> None:
    """Every node is done, failed, or held with a reason that is true."""
    decision, nodes, intent = report.decision, rehearsal.world.nodes, rehearsal.world.intent
    assert decision is not None
    assert decision.actions == ()
    held = {hold.subject: hold for hold in decision.holds}
    done = {name for name, node in nodes.items() if node.record and node.record.phase is NodePhase.UPGRADE_DONE}
    assert done | set(held) == set(nodes)
    codes = {hold.code for hold in held.values()}
    assert not codes & TRANSIENT
    assert HoldCode.PARALLEL_LIMIT not in codes, "somebody is under way for ever"
    failed = [node for node in nodes.values() if node.record and node.record.phase is NodePhase.UPGRADE_FAILED]
    assert (HoldCode.FAILURE_BUDGET not in codes) or len(failed) > intent.limits.failed_max
    unavailable = [node for node in nodes.values() if node.facts.is_unavailable]
    assert (HoldCode.UNAVAILABLE_LIMIT not in codes) or len(unavailable) >= intent.limits.unavailable_max.of(len(nodes))
    ours = {name for name, node in nodes.items() if node.record and node.record.is_cordon_ours}
    assert {admission.node for admission in rehearsal.world.rollout.admitted} <= ours
    for name in done - set(held):
        driver = nodes[name].facts.driver
        assert driver is not None
        assert driver.revision == NEW.hash


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    fleet=st.lists(members, min_size=1, max_size=6).map(tuple), intent=intents, is_published=st.booleans(), story=events
)
def test_whatever_happens_no_promise_is_broken_and_a_fair_world_comes_to_rest(
    fleet: tuple[Member, ...], intent: Intent, is_published: bool, story: list[tuple[str, int]]
) -> None:
    rehearsal = Rehearsal(fleet, intent, is_published=is_published)
    for what, number in story:
        rehearsal.happen(what, number)
    assert_all_at_rest(rehearsal, rehearsal.come_to_rest())


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(fleet=st.lists(members, min_size=1, max_size=8).map(tuple), intent=intents)
def test_every_random_fleet_comes_to_rest_without_any_trouble(fleet: tuple[Member, ...], intent: Intent) -> None:
    rehearsal = Rehearsal(fleet, intent, is_published=True)
    assert_all_at_rest(rehearsal, rehearsal.come_to_rest())


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(size=st.integers(1, 6), parallel_max=st.integers(0, 3), story=events)
def test_healthy_nodes_left_alone_by_people_all_end_done(
    size: int, parallel_max: int, story: list[tuple[str, int]]
) -> None:
    rehearsal = Rehearsal(
        (Member(gpu_pod_count=1),) * size, an_intent(parallel_max=parallel_max, unavailable_max=2), is_published=True
    )
    harmless = {*ORDINARY, "answer lost", "act dropped", "act twice", "crash"} - {"tick"}
    for what, number in story:
        if what in harmless:
            rehearsal.happen(what, number)
    rehearsal.come_to_rest()
    phases = {node.record.phase if node.record else None for node in rehearsal.world.nodes.values()}
    assert phases == {NodePhase.UPGRADE_DONE}
    assert not any(node.facts.is_cordoned for node in rehearsal.world.nodes.values())
