"""Random fleets, random trouble in any order: no promise is broken, and in a fair world every run comes to its end.

The controller is the real loop with its real memory. Between it and the World stand a view that lags, node by node and
stream by stream, and an executor that delays, drops, repeats and reorders acts and loses their answers. A crash loses
the memory; acts under way then happen at that moment or never; the next life lists everything afresh, as the live one
does. (The explorer covers a next life that starts with an old view.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.core.actions.action import Action
from seatrial.core.actions.on_nodes import RequestMaintenance
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.intent import Domain, Intent, Order, Requestor, Retries
from seatrial.core.model.policy import Drain, Eviction, JobWait, Limits, Policy, Share
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.pods import DriverRevision, Pod, PodOwner
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.selectors import Selector
from seatrial.core.model.target import Target
from seatrial.core.node.phases import is_under_way
from seatrial.ports import Outcome, Ports, Result, Sight
from seatrial.run.loop import Report, run_forever, run_once
from seatrial.run.memory import Memory
from seatrial.sim.nodes import HEALTHY, JOB_LABEL, Fate, new_node
from seatrial.sim.reactions import CORDON_NOTE
from seatrial.sim.world import World
from seatrial_lab.explore.truths import why_overspent, why_split
from tests.builders import NEW, OLD, an_intent, is_as_without_memory
from tests.properties.drawn import drawn

pytestmark = pytest.mark.slow

PASSES_MAX = 3000
TRANSIENT = {
    HoldCode.WRITE_IN_FLIGHT,
    HoldCode.WRITE_REFUSED,
    HoldCode.LEDGER_PENDING,
    HoldCode.PASS_FULL,
    HoldCode.UNIT_INCOMPLETE,
}
RACK, CLIQUE = "rack", "nvidia.com/gpu.clique"
WANTED, REVERTED = replace(NEW, digest="same"), replace(OLD, digest="same")
"""A member whose running driver has this digest, too, needs a restart and no more."""


# ── what is drawn ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One node of a random fleet."""

    gpu_pod_count: int = 0
    kinds: frozenset[str] = frozenset()
    """The further pods it has, by the names in PODS."""
    is_cordoned: bool = False
    is_ready: bool = True
    is_skipped: bool = False
    gpu_count: int = 0
    has_features: bool = False
    has_dra: bool = False
    clients: tuple[str, ...] = ()
    digest: str = ""
    """Where the wanted driver has the same, a restart is enough."""
    owner: str = ""
    rack: str = ""
    fate: Fate = field(default_factory=lambda: HEALTHY)


USER = Pod(namespace="jobs", name="user", uid="user", gpu=GpuUse.RESOURCE)
PODS: Mapping[str, Pod] = {
    "bare": replace(USER, keeper=PodOwner.NOBODY),
    "scratch": replace(USER, has_empty_dir=True),
    "job": replace(USER, labels=((JOB_LABEL, "train"),)),
    "saving": replace(USER, offers_checkpoint=True),
    "claiming": replace(USER, gpu=GpuUse.CLAIM, holds_claim=True),
    "agent": replace(USER, keeper=PodOwner.DAEMON_SET),
    "web": replace(USER, gpu=None),
}


def seldom(often: Any, *others: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([*[often] * 7 * len(others), *others])


fates = st.builds(
    Fate,
    driver_fails_on=st.sampled_from(["", "", "", NEW.version]),
    is_eviction_blocked=seldom(False, True),
    is_validator_lazy=seldom(False, True),
    is_gpu_lost=seldom(False, True),
    is_job_endless=st.booleans(),
    is_work_unsaved=st.booleans(),
    is_load_guarded=seldom(False, True),
    is_maintenance_stuck=seldom(False, True),
)
members = st.builds(
    Member,
    gpu_pod_count=st.integers(0, 2),
    kinds=st.one_of(st.just(frozenset()), st.frozensets(st.sampled_from(sorted(PODS)), max_size=2)),
    is_cordoned=seldom(False, True),
    is_ready=seldom(True, False),
    is_skipped=seldom(False, True),
    gpu_count=st.sampled_from([0, 8]),
    has_features=st.booleans(),
    has_dra=st.booleans(),
    clients=st.sampled_from([(), ("dcgm",), ("dcgm", "device-plugin")]),
    digest=seldom("", "same"),
    owner=st.sampled_from(["", "a100", "h100"]),
    rack=st.sampled_from(["", "r1", "r2"]),
    fate=st.one_of(st.just(HEALTHY), fates),
)
healthy_members = st.builds(
    Member,
    gpu_pod_count=st.integers(0, 2),
    kinds=st.frozensets(st.sampled_from(["claiming", "job", "saving", "web"])),
    gpu_count=st.sampled_from([0, 8]),
    has_features=st.booleans(),
    has_dra=st.just(True),
    clients=st.sampled_from([(), ("dcgm",)]),
    digest=seldom("", "same"),
    fate=st.builds(Fate, is_validator_lazy=st.booleans(), is_load_guarded=st.booleans()),
)

POOLS = {
    "a100": Policy(limits=Limits(parallel_max=1, unavailable_max=Share.parse("50%"))),
    "h100": Policy(limits=Limits(parallel_max=2, unavailable_max=Share.parse(1))),
}
intents = st.builds(
    an_intent,
    parallel_max=st.integers(0, 3),
    unavailable_max=st.sampled_from([0, 1, 2, 3, 3, "25%", "50%", "100%"]),
    idle_gpus_max=st.sampled_from([None, None, None, 1, 2, "50%"]),
    failed_max=st.integers(0, 2),
    jobs=st.sampled_from([JobWait(), JobWait(selector=Selector.parse(JOB_LABEL), timeout_seconds=3600)]),
    drain=st.sampled_from([Drain(), Drain(is_enabled=True, rules=Eviction(force=True))]),
    domains=st.sampled_from([(), (Domain(label=RACK, unavailable_max=Share(amount=1)),)]),
    pools=st.sampled_from([{}, POOLS]),
    order=st.sampled_from(list(Order)),
    retries=st.sampled_from([Retries(), Retries(count_max=1)]),
    requestor=seldom(None, Requestor(id="seatrial")),
)

ORDINARY = ["pass"] * 8 + ["act"] * 10 + ["see"] * 6 + ["see all"] * 3 + ["tick"] * 4 + ["round"] * 12
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
    "request",
    "accept loss",
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

    def __init__(self, fleet: tuple[Member, ...], intent: Intent, *, is_published: bool, seed: int = 0) -> None:
        fates = {f"n{place}": member.fate for place, member in enumerate(fleet)}
        nodes = [_node(f"n{place}", member, WANTED if is_published else REVERTED) for place, member in enumerate(fleet)]
        self.world = World(nodes, intent, fates=fates, seed=seed)
        self.theirs = {node.name for node in nodes if node.facts.is_cordoned}
        self.pending: list[Action] = []
        self.outcomes: list[Outcome] = []
        self._joints: dict[str, tuple[tuple[object, ...], NodeSeen]] = {}
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
            case "round":
                self.round()
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
            case "request":
                self.change(name, is_requested=True)
            case "accept loss":
                self.change(name, is_loss_accepted=True)
            case "pause":
                self.world.intent = replace(self.world.intent, is_paused=not self.world.intent.is_paused)
            case "revert" | "publish":
                self.world.publish(WANTED if what == "publish" else REVERTED)
        self.check_truth()

    def round(self) -> Report:
        """Everything is answered and seen before the controller looks again; a little time passes."""
        while self.pending:
            self.act(self.pending.pop(0))
        self.see_all()
        report = self.look()
        self.world.tick_to(self.world.time + 3.0)
        return report

    def grow_kind(self) -> None:
        """People take out of the way what they put there, and nodes recover."""
        for name, node in self.world.nodes.items():
            if node.facts.is_skipped or not node.facts.is_ready:
                self.change(name, is_skipped=False, is_ready=True)
        for name in sorted(self.theirs):
            self.change(name, is_cordoned=False)
        self.theirs.clear()

    def look(self) -> Report:
        """One pass, which must break no promise."""
        report = run_once(Ports(observer=self, executor=self, journal=NoJournal(), clock=self), self.memory)
        assert report.breaches == ()
        assert is_as_without_memory(report)
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
        match number % 6:
            case 0 | 1:
                self.seen_nodes[name] = self.world.nodes[name]
            case 2 | 3:
                self.seen_pods[name] = self.world.nodes[name]
            case 4:
                self.seen_rest[name] = self.world.nodes[name]
            case _:
                self.seen_ledger = self.world.rollout
                self.seen_wanted = _wanted(self.world)

    def see_all(self) -> None:
        """The whole view is current."""
        self.seen_nodes = dict(self.world.nodes)
        self.seen_pods = dict(self.world.nodes)
        self.seen_rest = dict(self.world.nodes)
        self.seen_ledger = self.world.rollout
        self.seen_wanted = _wanted(self.world)

    def change(self, name: str, **changes: Any) -> None:
        """Somebody else writes to a node."""
        self.world.change(name, lambda node: replace(node, facts=replace(node.facts, **changes)))

    def admin_cordons(self, name: str) -> None:
        node = self.world.nodes[name]
        # Where our record still claims the cordon, or the maintenance operator's note does, theirs cannot be told from
        # it: nobody can see who set it.
        is_claimed = node.record is not None and node.record.is_cordon_ours
        if not node.facts.is_cordoned and not is_claimed and node.facts.labels.get(CORDON_NOTE) != "true":
            self.theirs.add(name)
        self.change(name, is_cordoned=True)

    def retry(self, name: str) -> None:
        node = self.world.nodes[name]
        if node.record is not None and node.record.phase in (NodePhase.UPGRADE_FAILED, NodePhase.UPGRADE_DONE):
            self.world.change(name, lambda ended: replace(ended, is_retry_asked=True))

    def _joined(self, name: str) -> NodeSeen:
        """The node as it is seen; the same object as long as all of its parts are."""
        parts = (self.seen_nodes[name], self.seen_pods[name], self.seen_rest[name], self.seen_wanted)
        before = self._joints.get(name)
        if before is None or any(one is not other for one, other in zip(before[0], parts, strict=True)):
            self._joints[name] = parts, self._join(name)
        return self._joints[name][1]

    def _join(self, name: str) -> NodeSeen:
        node, pods, rest = self.seen_nodes[name], self.seen_pods[name].facts, self.seen_rest[name].facts
        facts = replace(
            node.facts,
            wanted=self.seen_wanted,
            driver=pods.driver,
            validator=pods.validator,
            dra=pods.dra,
            pods=pods.pods,
            published=rest.published,
            maintenance=rest.maintenance,
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
        self.world.publish(WANTED)
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
        name,
        running=replace(OLD, digest=member.digest),
        wanted=wanted,
        gpu_pod_count=member.gpu_pod_count,
        is_cordoned=member.is_cordoned,
        pods=[replace(PODS[kind], name=kind, uid=f"{kind}-{name}") for kind in sorted(member.kinds)],
        clients=member.clients,
        gpu_count=member.gpu_count,
        has_features=member.has_features,
        has_dra=member.has_dra,
        labels={RACK: member.rack} if member.rack else {},
    )
    facts = replace(node.facts, is_ready=member.is_ready, is_skipped=member.is_skipped, owner=member.owner)
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
    assert (HoldCode.FAILURE_BUDGET not in codes) or len(failed) > intent.failed_max
    for hold in held.values():
        if hold.code is HoldCode.UNAVAILABLE_LIMIT:
            inside, limits = _scope(hold, nodes, intent)
            assert sum(node.facts.is_unavailable for node in inside) >= limits.unavailable_max.of(len(inside))
        if hold.code is HoldCode.IDLE_GPU_LIMIT:
            counts = {key: int(text) for key, text in hold.params if key in ("taken", "gpus", "limit")}
            assert counts["taken"] + counts["gpus"] > counts["limit"]
            assert bool(counts["taken"]) == bool(rehearsal.world.rollout.admitted)
    kept = {
        name
        for name, node in nodes.items()
        if (node.record and node.record.is_cordon_ours) or node.facts.maintenance is not None
    }
    assert {admission.node for admission in rehearsal.world.rollout.admitted} <= kept
    for name in done - set(held):
        facts = nodes[name].facts
        assert facts.driver is not None
        assert facts.driver.revision == NEW.hash
        assert (facts.paused_labels, facts.maintenance) == ((), None), "all that was asked of others is given back"
        assert (facts.is_requested, facts.awaits_safe_load) == (False, False), "whoever asked has an answer"


def _scope(hold: Hold, nodes: Mapping[str, NodeSeen], intent: Intent) -> tuple[list[NodeSeen], Limits]:
    """The nodes that a limit is about, and the limit."""
    kind, _, value = dict(hold.params).get("scope", "").partition(" ")
    if not kind:
        return list(nodes.values()), intent.limits
    if kind == RACK:
        inside = [node for node in nodes.values() if node.facts.labels.get(RACK) == value]
        return inside, Limits(unavailable_max=Share(amount=1))
    return [node for node in nodes.values() if node.facts.owner == value], POOLS[value].limits


@settings(max_examples=drawn(100), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    fleet=st.lists(members, min_size=1, max_size=6).map(tuple),
    intent=intents,
    is_published=seldom(True, False),
    story=events,
    is_kind=st.booleans(),
)
def test_whatever_happens_no_promise_is_broken_and_a_fair_world_comes_to_rest(
    fleet: tuple[Member, ...], intent: Intent, is_published: bool, story: list[tuple[str, int]], is_kind: bool
) -> None:
    rehearsal = Rehearsal(fleet, intent, is_published=is_published)
    for what, number in story:
        rehearsal.happen(what, number)
    if is_kind:
        rehearsal.grow_kind()
    assert_all_at_rest(rehearsal, rehearsal.come_to_rest())


@settings(max_examples=drawn(30), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(fleet=st.lists(members, min_size=1, max_size=8).map(tuple), intent=intents, seed=st.integers(0, 1000))
def test_every_random_fleet_comes_to_rest_without_any_trouble(
    fleet: tuple[Member, ...], intent: Intent, seed: int
) -> None:
    rehearsal = Rehearsal(fleet, intent, is_published=True, seed=seed)
    assert_all_at_rest(rehearsal, rehearsal.come_to_rest())


HARMLESS = {*ORDINARY, "answer lost", "act dropped", "act twice", "crash"} - {"tick"}


@settings(max_examples=drawn(30), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(fleet=st.lists(healthy_members, min_size=1, max_size=6).map(tuple), parallel_max=st.integers(0, 3), story=events)
def test_healthy_nodes_left_alone_by_people_all_end_done(
    fleet: tuple[Member, ...], parallel_max: int, story: list[tuple[str, int]]
) -> None:
    rehearsal = Rehearsal(fleet, an_intent(parallel_max=parallel_max, unavailable_max=2), is_published=True)
    before = {name: node.facts.offer for name, node in rehearsal.world.nodes.items()}
    for what, number in story:
        if what in HARMLESS:
            rehearsal.happen(what, number)
    rehearsal.come_to_rest()
    nodes = rehearsal.world.nodes
    assert {node.record.phase if node.record else None for node in nodes.values()} == {NodePhase.UPGRADE_DONE}
    assert not any(node.facts.is_cordoned or node.facts.paused_labels for node in nodes.values())
    assert {name: node.facts.offer for name, node in nodes.items()} == before
    assert {node.facts.published for node in nodes.values()} == {(NEW.version,)}


@settings(max_examples=drawn(20), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(cliques=st.lists(st.sampled_from(["", "c1", "c2"]), min_size=2, max_size=6), story=events)
def test_units_of_healthy_nodes_begin_as_a_whole_and_end_done(cliques: list[str], story: list[tuple[str, int]]) -> None:
    intent = an_intent(parallel_max=0, unavailable_max=6, domains=(Domain(label=CLIQUE, is_unit=True),))
    rehearsal = Rehearsal((Member(gpu_pod_count=1),) * len(cliques), intent, is_published=True)
    for name, clique in zip(sorted(rehearsal.world.nodes), cliques, strict=True):
        if clique:
            rehearsal.change(name, labels={CLIQUE: clique})
    rehearsal.see_all()
    for what, number in story:
        if what in HARMLESS:
            rehearsal.happen(what, number)
            nodes = tuple(rehearsal.world.nodes.values())
            assert why_split(nodes, rehearsal.world.rollout.admitted, intent) is None
    rehearsal.come_to_rest()
    phases = {node.record.phase if node.record else None for node in rehearsal.world.nodes.values()}
    assert phases == {NodePhase.UPGRADE_DONE}


# ── stories that were found this way ─────────────────────────────────────────────────────────────────────────────────

EMPTIED = an_intent(unavailable_max=1, parallel_max=0, failed_max=2, requestor=Requestor(id="seatrial"))


def test_a_maintenance_asked_for_but_not_seen_is_given_back_by_a_node_that_does_not_begin() -> None:
    rehearsal = Rehearsal((Member(),), EMPTIED, is_published=True)
    while not any(isinstance(action, RequestMaintenance) for action in rehearsal.pending):
        rehearsal.round()
    rehearsal.act(rehearsal.pending.pop(), "answer lost")
    rehearsal.change("n0", is_skipped=True)
    for _ in range(2):  # the first look learns that there was no answer, the second one tries something else
        rehearsal.world.tick_to(rehearsal.world.time + 30.0)
        rehearsal.seen_nodes = dict(rehearsal.world.nodes)  # what became of the request is not among it
        rehearsal.look()
    report = rehearsal.come_to_rest()
    facts = rehearsal.world.nodes["n0"].facts
    assert (facts.maintenance, facts.is_cordoned) == (None, False)
    assert report.decision is not None
    assert [hold.code for hold in report.decision.holds] == [HoldCode.SKIPPED]


def test_failed_nodes_whose_cordons_were_lifted_are_let_in_again_one_after_the_other() -> None:
    failing = Member(is_cordoned=True, fate=Fate(driver_fails_on=NEW.version))
    rehearsal = Rehearsal((failing, failing), EMPTIED, is_published=True)
    rehearsal.come_to_rest()
    for name in ("n0", "n1"):
        rehearsal.happen("admin uncordons", int(name[1]))
        rehearsal.happen("retry", int(name[1]))
    assert_all_at_rest(rehearsal, rehearsal.come_to_rest())


# ── a version reverted on the way ────────────────────────────────────────────────────────────────────────────────────

TAKING = ("Cordon", "PauseClients", "EvictPods", "RestartPod", "RequestMaintenance")


class Pages:
    """A journal that remembers who was acted on, and how."""

    def __init__(self) -> None:
        self.acts: list[tuple[str, str]] = []

    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:  # noqa: ARG002  as the port has it
        if kind == "act":
            self.acts.append((str(fields["subject"]), str(fields["act"])))


@settings(max_examples=drawn(30), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    fleet=st.lists(healthy_members, min_size=2, max_size=6).map(tuple),
    parallel_max=st.integers(1, 3),
    reverted_at=st.floats(1.0, 3000.0),
    seed=st.integers(0, 1000),
)
def test_a_version_reverted_on_the_way_is_forgotten_by_who_has_not_begun_and_undone_by_who_has(
    fleet: tuple[Member, ...], parallel_max: int, reverted_at: float, seed: int
) -> None:
    fates = {f"n{place}": member.fate for place, member in enumerate(fleet)}
    nodes = [_node(f"n{place}", member, WANTED) for place, member in enumerate(fleet)]
    intent = an_intent(parallel_max=parallel_max, unavailable_max=3)
    world, pages = World(nodes, intent, fates=fates, seed=seed), Pages()
    pending: dict[str, int] = {}

    def revert(it: World) -> None:
        untouched = [name for name, node in it.nodes.items() if _is_untouched(node)]
        pending.update(dict.fromkeys(untouched, len(pages.acts)))
        it.publish(REVERTED)
        it.intent = replace(it.intent, target=Target.of(OLD.version))

    world.at(reverted_at, revert)
    reports: list[Report] = []
    asyncio.run(run_forever(world.ports(pages), Memory(0.0), on_report=reports.append, is_over=lambda _: False))
    assert not any(report.breaches for report in reports)
    taken = [(name, act) for name, since in pending.items() for who, act in pages.acts[since:] if who == name]
    assert [act for act in taken if act[1] in TAKING] == []
    for node in world.nodes.values():
        assert node.record is not None
        assert node.facts.driver is not None
        assert (node.record.phase, node.facts.driver.version) == (NodePhase.UPGRADE_DONE, OLD.version)
        assert not node.facts.is_cordoned
    assert world.rollout.admitted == ()


def _is_untouched(node: NodeSeen) -> bool:
    untouched = (NodePhase.UPGRADE_REQUIRED, NodePhase.CORDON_REQUIRED)
    return node.record is None or (node.record.phase in untouched and not node.facts.is_cordoned)
