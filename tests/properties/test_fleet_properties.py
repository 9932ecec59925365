"""Random fleets, random changes in any order: Fleet says what `decide` says, and what it relies on is so.

The nodes drawn here are wilder than any cluster: every phase with any facts, records and rebuffs that fit nowhere. What
Fleet remembers must be right for those, too, for it cannot know which of them the world is able to show it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatrial.core.actions import WriteNodeRecord, WriteRolloutRecord, rollout_subject
from seatrial.core.decide import decide, turn_of
from seatrial.core.fleet import Fleet, goes_on_under, lasts
from seatrial.core.intent import PRIORITY_LABEL, Checkpoint, Domain, Intent, Order, Requestor, Retries
from seatrial.core.node import step_node
from seatrial.core.owners import DriverClaim
from seatrial.core.policy import Drain, Eviction, JobWait, Limits, Policy, Share
from seatrial.core.selectors import Selector
from seatrial.core.snapshot import (
    Admission,
    Freshness,
    GpuOffer,
    Keeper,
    Maintenance,
    NodePhase,
    NodeSeen,
    OperatorFacts,
    Pod,
    Pool,
    Rebuff,
    RecordFault,
    Snapshot,
)
from seatrial.core.steps import Orders, Step
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim.reactions import Fate, new_node
from seatrial.sim.world import World
from tests.builders import (
    NEW,
    NOW,
    OLD,
    a_dra_plugin,
    a_driver,
    a_gpu_pod,
    a_new_driver,
    a_node,
    a_snapshot,
    a_starting_driver,
    a_validator,
    an_intent,
    proving,
)

pytestmark = pytest.mark.slow

NAMES = tuple(f"n{number}" for number in range(8))
RACK, CLIQUE = "example.com/rack", "nvidia.com/gpu.clique"
LENGTHS = (0.0, 1.0, 5.0, 30.0, 60.0, 100.0, 300.0, 600.0, 1800.0, 4000.0, 100_000.0)
"""Around every deadline there is."""
POD_COUNT = 3
PASSES_MAX = 400
SAME = replace(NEW, digest="same")
"""A driver with this digest that runs already needs a restart and no more."""


def seldom(often: Any, *others: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([*[often] * 12 * len(others), *others])


# ── what is drawn ────────────────────────────────────────────────────────────────────────────────────────────────────


@st.composite
def pods_of(draw: st.DrawFn, name: str) -> tuple[Pod, ...]:
    token = f"spring.{name}.1"
    return tuple(
        a_gpu_pod(
            number,
            uid=f"{name}-pod-{number}",
            labels=draw(st.sampled_from([(), (("job", "train"),)])),
            gpu=draw(seldom(a_gpu_pod().gpu, None)),
            holds_claim=draw(seldom(False, True)),
            is_terminating=draw(st.sampled_from([False, False, False, True])),
            keeper=draw(st.sampled_from([Keeper.CONTROLLER, Keeper.CONTROLLER, *Keeper, Keeper.DAEMON_SET])),
            has_empty_dir=draw(seldom(False, True)),
            deploy_label=draw(st.sampled_from(["", "nvidia.com/gpu.deploy.dcgm"])),
            offers_checkpoint=draw(st.booleans()),
            checkpoint_asked=draw(st.sampled_from(["", token])),
            checkpoint_saved=draw(st.sampled_from(["", token])),
        )
        for number in range(draw(st.integers(0, POD_COUNT)))
    )


@st.composite
def nodes_named(draw: st.DrawFn, name: str, phases: tuple[NodePhase | None, ...] = (None, *NodePhase)) -> NodeSeen:
    driver = draw(
        st.sampled_from(
            [
                a_driver(name),
                a_driver(name),
                a_new_driver(name),
                a_new_driver(name),
                a_starting_driver(name),
                a_starting_driver(name, trouble="CrashLoopBackOff", restart_count=11),
                a_driver(name, is_terminating=True),
                a_driver(name, is_orphaned=True),
                a_driver(name, digest="same"),
                None,
            ]
        )
    )
    is_cordon_ours = draw(st.booleans())
    record = {
        "failures": draw(st.integers(0, 2)),
        "failed_revision": draw(st.sampled_from(["", NEW.hash])),
        "old_pod": draw(st.sampled_from(["", "", f"driver-{name}-1"])),
        "is_requested": draw(seldom(False, True)),
        "is_restart_only": draw(seldom(False, True)),
        "is_saving": draw(st.booleans()),
        "before": draw(st.sampled_from([None, GpuOffer(resources=(("nvidia.com/gpu", 8),), has_dra_plugin=True)])),
    }
    is_shared = draw(st.booleans())
    maintenance = Maintenance(
        namespace="default",
        name=f"nvidia-operator-{name}",
        uid=f"m-{name}",
        resource_version="3",
        requestor="somebody" if is_shared else "seatrial",
        others=draw(st.sampled_from([(), ("seatrial",)])) if is_shared else (),
        is_ready=draw(st.booleans()),
        is_deleting=draw(seldom(False, True)),
    )
    return a_node(
        name,
        draw(st.sampled_from(phases)),
        attempt=draw(st.integers(1, 2)),
        entered_at=NOW - draw(st.sampled_from(LENGTHS)),
        is_cordon_ours=is_cordon_ours,
        is_cordoned=draw(seldom(is_cordon_ours, not is_cordon_ours)),
        driver=driver,
        validator=draw(
            st.sampled_from(
                [a_validator(name), proving(name), None, a_validator(name, is_ready=False), a_validator(name, uid="")]
            )
        ),
        dra=draw(st.sampled_from([None, a_dra_plugin(name), a_dra_plugin(name, started_at=250.0)])),
        pods=draw(pods_of(name)),
        record=record,
        is_retry_asked=draw(seldom(False, True)),
        is_label_lost=draw(seldom(False, True)),
        fault=draw(seldom(None, *RecordFault)),
        resource_version=draw(st.sampled_from(["7", "8"])),
        labels={
            RACK: draw(st.sampled_from(["", "r1", "r2"])),
            CLIQUE: draw(st.sampled_from(["", "c1", "c2"])),
            PRIORITY_LABEL: draw(st.sampled_from(["", "5", "-1"])),
            "nvidia.com/gpu.deploy.dcgm": draw(st.sampled_from(["true", "paused-for-driver-upgrade"])),
        },
        is_ready=draw(seldom(True, False)),
        is_skipped=draw(seldom(False, True)),
        is_requested=draw(seldom(False, True)),
        awaits_safe_load=draw(seldom(False, True)),
        is_loss_accepted=draw(seldom(False, True)),
        owner=draw(st.sampled_from(["", "blue"])),
        owner_conflict=draw(seldom("", "two claim it")),
        wanted=draw(st.sampled_from([SAME] * 20 + [NEW, NEW, None, OLD])),
        offer=draw(seldom(GpuOffer(resources=(("nvidia.com/gpu", 8),)), GpuOffer())),
        maintenance=draw(seldom(None, maintenance)),
    )


def waiting(name: str) -> st.SearchStrategy[NodeSeen]:
    """A node that waits for its turn and for nothing else."""
    return st.builds(
        a_node,
        st.just(name),
        st.just(NodePhase.UPGRADE_REQUIRED),
        attempt=st.integers(1, 2),
        is_cordoned=seldom(False, True),
        pods=pods_of(name),
        owner=st.sampled_from(["", "blue"]),
        labels=st.fixed_dictionaries(
            {
                RACK: st.sampled_from(["", "r1", "r2"]),
                CLIQUE: st.sampled_from(["", "c1", "c2"]),
                PRIORITY_LABEL: st.sampled_from(["", "5", "-1"]),
            }
        ),
    )


def some_node(name: str) -> st.SearchStrategy[NodeSeen]:
    return st.one_of(nodes_named(name), waiting(name))


POOLS = {"blue": Policy(limits=Limits(parallel_max=0, unavailable_max=Share.parse("34%")))}
FLOOR = Domain(label=RACK, unavailable_max=Share(amount=1))
SHARE = Domain(label=RACK, unavailable_max=Share.parse("50%"))
intents = st.builds(
    an_intent,
    parallel_max=st.integers(0, 4),
    unavailable_max=st.sampled_from([1, 3, 5, "25%", "100%", "100%"]),
    failed_max=st.integers(0, 3),
    jobs=st.sampled_from([JobWait(), JobWait(selector=Selector.parse("job"), timeout_seconds=300)]),
    drain=st.sampled_from([Drain(), Drain(is_enabled=True)]),
    eviction=st.sampled_from([Eviction(), Eviction(force=True, delete_empty_dir=True)]),
    domains=st.sampled_from(
        [(), (), (FLOOR,), (SHARE,), (Domain(label=CLIQUE), FLOOR), (FLOOR, Domain(label=CLIQUE, is_unit=True))]
    ),
    pools=st.sampled_from([{}, POOLS]),
    order=st.sampled_from(list(Order)),
    retries=st.sampled_from([Retries(), Retries(count_max=1), Retries(count_max=2)]),
    checkpoint=st.sampled_from([Checkpoint(), Checkpoint(webhook="http://save")]),
    requestor=seldom(None, Requestor(id="seatrial")),
    is_paused=seldom(False, True),
)
rebuffs = st.builds(
    Rebuff,
    at=st.sampled_from([NOW - 20.0, NOW - 3.0, NOW]),
    count=st.integers(1, 15),
    code=st.sampled_from(["failed", "blocked"]),
    detail=st.just("denied"),
)
UIDS = tuple(f"{name}-pod-{number}" for name in NAMES for number in range(POD_COUNT))
SUBJECTS = (*NAMES, *UIDS, rollout_subject("spring"))
ledgers = st.dictionaries(st.sampled_from([*NAMES, "gone"]), st.integers(1, 2)).map(
    lambda attempts: tuple(Admission(node=name, attempt=attempt) for name, attempt in sorted(attempts.items()))
)
OPERATORS = [
    OperatorFacts(),
    OperatorFacts(),
    OperatorFacts(kind="ClusterPolicy/it", is_auto_upgrading=True),
    OperatorFacts(pools=(Pool(name="blue", claim=DriverClaim(name="blue")),)),
]


# ── the same answer ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Change:
    """One thing that becomes different."""

    what: str
    value: Any


some_name = st.sampled_from(NAMES)
changes = st.one_of(
    some_name.flatmap(some_node).map(lambda node: Change("node", node)),
    some_name.flatmap(some_node).map(lambda node: Change("node", node)),
    some_name.map(lambda name: Change("gone", name)),
    ledgers.map(lambda admitted: Change("ledger", admitted)),
    st.just(Change("write", None)),
    st.just(Change("wake", None)),
    st.dictionaries(st.sampled_from(SUBJECTS), rebuffs, max_size=12).map(lambda found: Change("rebuffs", found)),
    st.dictionaries(
        st.sampled_from([*NAMES, rollout_subject("spring")]), st.sampled_from([None, NOW - 2, NOW + 5]), max_size=3
    ).map(lambda found: Change("busy", found)),
    intents.map(lambda intent: Change("intent", intent)),
    st.sampled_from(OPERATORS).map(lambda operator: Change("operator", operator)),
    st.sampled_from([True, True, False]).map(lambda is_synced: Change("freshness", is_synced)),
    st.sampled_from([0.0, NOW - 50.0, NOW]).map(lambda instant: Change("attentive_since", instant)),
    st.sampled_from([*LENGTHS, *LENGTHS, -1.0, -300.0]).map(lambda seconds: Change("time", seconds)),
)


@dataclass(slots=True)
class Story:
    """What is seen, and a Fleet that is told of every change to it."""

    seen: Snapshot
    intent: Intent
    now: float
    fleet: Fleet

    def happen(self, change: Change) -> None:
        """Make a change and tell the Fleet of it, and of nothing else."""
        seen, value = self.seen, change.value
        match change.what:
            case "node":
                self.seen = replace(seen, nodes={**seen.nodes, value.name: value})
                self.fleet.update({value.name: value})
            case "gone":
                self.seen = replace(seen, nodes={name: node for name, node in seen.nodes.items() if name != value})
                self.fleet.update({value: None})
            case "ledger":
                self.seen = replace(seen, rollout=replace(seen.rollout, admitted=value))
                self.fleet.update(rollout=self.seen.rollout)
            case "write":
                self._write()
            case "intent":
                self.intent = value
                self.fleet.update(intent=value)
            case "time":
                self.now += value
            case "wake":
                self.now = max(self.now, decide(seen, self.intent, self.now).wake_at or 0.0)
            case "freshness":
                heard = (Freshness(source="nodes", is_synced=value, heard_at=self.now),)
                self.seen = replace(seen, freshness=heard)
                self.fleet.update(freshness=heard)
            case what:
                self.seen = replace(seen, **{what: value})
                self.fleet.update(**{what: value})

    def _write(self) -> None:
        """All that was decided on records is written at once."""
        nodes, rollout = dict(self.seen.nodes), self.seen.rollout
        for action in decide(self.seen, self.intent, self.now).actions:
            if isinstance(action, WriteRolloutRecord):
                rollout = action.record
            elif isinstance(action, WriteNodeRecord):
                nodes[action.node] = replace(nodes[action.node], record=action.record)
        changed = {name: node for name, node in nodes.items() if node is not self.seen.nodes[name]}
        self.seen = replace(self.seen, nodes=nodes, rollout=rollout)
        self.fleet.update(changed, rollout=rollout)


several_nodes = st.tuples(*(st.one_of(st.none(), some_node(name), waiting(name)) for name in NAMES))


@settings(max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(nodes=several_nodes, admitted=ledgers, intent=intents, story=st.lists(changes, max_size=12))
def test_after_any_changes_a_fleet_decides_what_decide_does(
    nodes: tuple[NodeSeen | None, ...], admitted: tuple[Admission, ...], intent: Intent, story: list[Change]
) -> None:
    seen = a_snapshot(*(node for node in nodes if node is not None), admitted=admitted)
    it = Story(seen, intent, NOW, Fleet(seen, intent))
    assert it.fleet.decide(NOW) == decide(seen, intent, NOW)
    for change in story:
        it.happen(change)
        expected = decide(it.seen, it.intent, it.now)
        moves = it.fleet.moves(it.now)
        assert (moves.actions, moves.wake_at, moves.stop) == (expected.actions, expected.wake_at, expected.stop)
        assert it.fleet.decide(it.now) == expected


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(nodes=several_nodes, admitted=ledgers, intent=intents, story=st.lists(changes, min_size=2, max_size=12))
def test_a_fleet_that_is_shown_the_whole_finds_out_what_changed(
    nodes: tuple[NodeSeen | None, ...], admitted: tuple[Admission, ...], intent: Intent, story: list[Change]
) -> None:
    seen = a_snapshot(*(node for node in nodes if node is not None), admitted=admitted)
    it, watcher = Story(seen, intent, NOW, Fleet(seen, intent)), Fleet(a_snapshot(), intent)
    for change in story:
        it.happen(change)
        watcher.see(it.seen, it.intent)
        assert watcher.decide(it.now) == decide(it.seen, it.intent, it.now)


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    fates=st.lists(
        st.builds(
            Fate,
            driver_fails_on=seldom("", NEW.version),
            is_eviction_blocked=seldom(False, True),
            is_validator_lazy=st.booleans(),
            is_work_unsaved=st.booleans(),
        ),
        min_size=4,
        max_size=12,
    ),
    intent=intents,
    seed=st.integers(0, 1000),
)
def test_a_whole_rollout_is_decided_the_same_pass_by_pass(fates: list[Fate], intent: Intent, seed: int) -> None:
    nodes = [
        new_node(
            f"n{place}",
            running=OLD,
            wanted=NEW,
            pods=[a_gpu_pod(uid=f"pod-{place}", offers_checkpoint=place % 3 == 0)],
            labels={RACK: f"r{place % 3}"},
        )
        for place in range(len(fates))
    ]
    told = {f"n{place}": fate for place, fate in enumerate(fates)}
    world, fleet, passes = World(nodes, intent, fates=told, seed=seed), Fleet(a_snapshot(), intent), 0

    def compare(report: Report) -> None:
        nonlocal passes
        passes += 1
        assert report.sight is not None
        fleet.see(report.sight.seen, report.sight.intent)
        assert fleet.decide(report.at) == report.decision

    asyncio.run(
        run_forever(world.ports(Silence()), Memory(0.0), on_report=compare, is_over=lambda _: passes > PASSES_MAX)
    )
    assert passes > 1


class Silence:
    """A journal that keeps nothing."""

    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        """Nobody reads it."""


# ── what it relies on ────────────────────────────────────────────────────────────────────────────────────────────────

orders = st.builds(
    Orders,
    intent=intents,
    admitted=st.sampled_from([{}, {"n0": 1}, {"n0": 1}, {"n0": 2}]),
    recalled=seldom(frozenset(), frozenset({"n0"})),
    rebuffs=st.dictionaries(st.sampled_from([subject for subject in SUBJECTS if subject.startswith("n0")]), rebuffs),
    attentive_since=st.sampled_from([0.0, NOW - 50.0, NOW]),
)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(node=nodes_named("n0"), under=orders, share=st.floats(0.0, 1.0))
def test_an_answer_stays_the_same_for_as_long_as_a_fleet_remembers_it(
    node: NodeSeen, under: Orders, share: float
) -> None:
    if node.record is not None:
        under = replace(under, admitted={node.name: node.record.attempt})
    step = step_node(node, under, NOW)
    until = step.hold.until if step.hold is not None else None
    # A deadline that is told is never one that has passed; what has none is the same after a day.
    assert until is None or until > NOW
    last = NOW + 86_400.0 if until is None else math.nextafter(until, NOW)
    later = step_node(node, under, min(NOW + share * (last - NOW), last))
    if step.action is None:
        assert later == step
    elif lasts(step.action):
        assert later.action is not None
        assert turn_of(later.action) == turn_of(step.action)
        assert goes_on_under(later) == goes_on_under(step)
        assert _at(later, NOW) == _at(step, NOW)


def _at(step: Step, instant: float) -> Step:
    """The step with a record of another time."""
    assert isinstance(step.action, WriteNodeRecord)
    return replace(step, action=replace(step.action, record=replace(step.action.record, entered_at=instant)))


NOT_BEGUN = (None, NodePhase.UPGRADE_REQUIRED, NodePhase.UPGRADE_DONE)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    node=nodes_named("n0", NOT_BEGUN),
    under=orders,
    turned_down=st.dictionaries(st.sampled_from(UIDS), rebuffs),
    since=st.sampled_from([0.0, NOW - 50.0, NOW]),
)
def test_who_has_not_begun_has_no_deadline_and_no_pod_that_was_asked_to_leave(
    node: NodeSeen, under: Orders, turned_down: dict[str, Rebuff], since: float
) -> None:
    others = replace(under, rebuffs={**under.rebuffs, **turned_down}, attentive_since=since)
    assert step_node(node, others, NOW) == step_node(node, under, NOW)
