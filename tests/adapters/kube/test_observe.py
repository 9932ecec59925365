"""Several watched streams become one Snapshot: only what changed is built anew, and what was handed out stays so.

The cluster is a stand-in that serves lists and lets the test tell each change.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from aiohttp import web

from seatrial.adapters.kube.adoption import AdoptionObserver
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.pacing import PaceObserver
from seatrial.adapters.kube.reading import access, items, pools, project, table
from seatrial.adapters.kube.reading.gates import probes
from seatrial.adapters.kube.reading.observe import KubeObserver
from seatrial.adapters.kube.reading.rollout_items import RolloutUnclear
from seatrial.adapters.kube.shapes import keys, models
from seatrial.adapters.kube.shapes.kinds import Node
from seatrial.core.actions.of_campaigns import MakePool, StartProbe
from seatrial.core.decision.decide import decide
from seatrial.core.decision.stops import why_blind
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import Mode, RolloutPhase, SourceFacts
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.gates.gate import Gate, GateVerdict, Measurement
from seatrial.core.model.instants import DURATION_SECONDS_MAX
from seatrial.core.model.owners import OWNER_LABEL
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, RecordFault
from seatrial.core.model.seen.operators import MachinePool
from seatrial.core.model.seen.pods import DriverRevision
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.node.hearing import is_unheard
from tests import builders
from tests.adapters.kube import objects, standin
from tests.adapters.kube.objects import a_claim, a_claimant, a_maintenance, a_slice, a_warning
from tests.builders import NOW, an_intent

REVISIONS = keys.revisions_path(objects.NAMESPACE)
DAEMON_SETS = keys.daemon_sets_path(objects.NAMESPACE)
EVENTS = keys.events_path(objects.NAMESPACE)
FLEET = ("n1", "n2", "n3")
LISTED = ("nodes", "pods", "controllerrevisions", "gpurollouts")
"""The streams whose kinds the stand-in has; what is not installed has nothing to say."""
GPUS = ({"driver": "gpu.nvidia.com", "pool": "n1", "device": "gpu-0"},)


def uses(seen: Snapshot) -> dict[str, list[GpuUse | None]]:
    """How the pods of each node hold its GPUs."""
    return {name: [pod.gpu for pod in node.facts.pods] for name, node in seen.nodes.items()}


def said(seen: Snapshot, node: str) -> list[str]:
    """What is said about a node's driver pod."""
    driver = seen.nodes[node].facts.driver
    return [symptom.message for symptom in driver.symptoms] if driver else []


class Kinds:
    """What the stand-in serves, by path; a path it does not know is a kind that is not installed."""

    def __init__(self) -> None:
        self.lists: dict[str, list[dict[str, Any]]] = {
            keys.NODES: [objects.a_node(name) for name in FLEET],
            keys.PODS: [objects.a_driver_pod(name) for name in FLEET],
            REVISIONS: [
                objects.a_revision("old", number=1, driver=objects.OLD),
                objects.a_revision("new", number=2, driver=objects.NEW),
            ],
            keys.ROLLOUTS: [objects.a_rollout()],
            DAEMON_SETS: [],
        }
        self.changes: dict[str, asyncio.Queue[bytes]] = defaultdict(asyncio.Queue)
        self.forbidden: set[str] = set()
        self.asked: dict[str, dict[str, str]] = {}
        """By path: what the last list asked for."""

    def tell(self, kind: str, path: str, thing: dict[str, Any]) -> None:
        """Let the watch of a path tell of a change."""
        self.changes[path].put_nowait(json.dumps({"type": kind, "object": thing}).encode() + b"\n")

    def cut(self, path: str) -> None:
        """Close the watch of a path without a word, and answer no further list of it."""
        self.forbidden.add(path)
        self.changes[path].put_nowait(b"")

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path in self.forbidden:
            return await standin.refuses(403, "Forbidden", "not for you")(request)
        if request.path not in self.lists:
            return await standin.refuses(404, "NotFound", "the server could not find it")(request)
        if request.query.get("watch") != "true":
            self.asked[request.path] = dict(request.query)
            listing = {"metadata": {"resourceVersion": "100"}, "items": self.lists[request.path]}
            return await standin.gives(listing)(request)
        response = web.StreamResponse()
        await response.prepare(request)
        while change := await self.changes[request.path].get():
            await response.write(change)
        return await standin.cuts(request)


@asynccontextmanager
async def observing(
    kinds: Kinds, rollout: str = "", faults: list[str] | None = None, **settings: Any
) -> AsyncIterator[KubeObserver]:
    """An observer that has seen everything once."""
    told = faults if faults is not None else []
    async with (
        standin.running() as server,
        Client(server.config(), user_agent="seatrial/test") as client,
        KubeObserver(
            client, namespace=objects.NAMESPACE, rollout=rollout, on_fault=told.append, **settings
        ) as observer,
    ):
        server.will(kinds.answer)
        await observer.wait_synced(5)
        yield observer


def seen_by(observer: KubeObserver) -> Snapshot:
    sight = observer.observe()
    assert sight is not None
    return sight.seen


async def until(observer: KubeObserver, is_so: Callable[[Snapshot], bool]) -> Snapshot:
    """The first snapshot of which this is so."""
    async with asyncio.timeout(5):
        while not is_so(seen := seen_by(observer)):
            await observer.wait(None)
        return seen


def changed(before: Snapshot, after: Snapshot) -> set[str]:
    """The nodes that were built anew."""
    return {name for name in after.nodes if after.nodes[name] is not before.nodes.get(name)}


@pytest.mark.parametrize("step_seconds", [-3600, 0, 3600])
async def test_silence_is_measured_whatever_is_done_to_the_clock(
    monkeypatch: pytest.MonkeyPatch, step_seconds: float
) -> None:
    """With a clock put back by an hour, a stream that said nothing for three minutes would look fresh for that hour."""
    async with observing(Kinds()) as observer:
        now, ticks = time.time() + 180 + step_seconds, time.monotonic() + 180
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: now)
            patch.setattr(time, "monotonic", lambda: ticks)
            seen = seen_by(observer)
    assert all(stream.heard_at <= now - 180 for stream in seen.freshness if stream.source in LISTED)
    assert why_blind(seen, builders.an_intent(), now) is not None


async def test_a_duration_that_is_too_long_is_told_and_the_rollout_is_worked_on() -> None:
    kinds = Kinds()
    faults: list[str] = []
    rollout = objects.a_rollout()
    rollout["spec"]["driverTimeoutSeconds"] = 300_000_000_000
    kinds.lists[keys.ROLLOUTS] = [rollout]
    async with observing(kinds, faults=faults) as observer:
        sight = observer.observe()
        assert sight is not None
    assert sight.intent.restart_timeout_seconds == DURATION_SECONDS_MAX
    assert [each for each in faults if "asks for more time than there is in spec.driverTimeoutSeconds" in each]


async def test_a_clock_put_back_makes_nothing_stale_that_was_just_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    async with observing(Kinds()) as observer:
        now = time.time() - 3600
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: now)
            seen = seen_by(observer)
    assert why_blind(seen, builders.an_intent(), now) is None


async def test_a_clock_put_forward_makes_no_word_younger_than_what_was_recorded_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A node is closed, the clock is put forward: the last word of pods would seem to be from after the closing."""
    async with observing(Kinds()) as observer:
        closed_at = time.time()
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: closed_at + 3600)
            seen = seen_by(observer)
    assert all(stream.heard_at <= closed_at for stream in seen.freshness if stream.source in LISTED)
    record = builders.a_node(record={"closed_at": closed_at}, phase=NodePhase.POD_RESTART_REQUIRED).record
    assert record is not None
    assert is_unheard(record, seen, closed_at + 3600)


async def test_a_stream_is_heard_of_again_after_any_step_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds, steps = Kinds(), iter((3600.0, -7200.0, 0.0))
    async with observing(kinds) as observer:
        for number, step in enumerate(steps):
            now = time.time() + step
            with monkeypatch.context() as patch:
                patch.setattr(time, "time", lambda now=now: now)
                name = f"n{number + 10}"
                kinds.tell("ADDED", keys.NODES, objects.a_node(name, version=str(200 + number)))
                seen = await until(observer, lambda seen, name=name: name in seen.nodes)  # type: ignore[misc]
                heard_at = next(stream.heard_at for stream in seen.freshness if stream.source == "nodes")
                assert abs(time.time() - heard_at) < 60


@pytest.mark.parametrize(
    ("path", "name"),
    [(keys.NODES, "nodes"), (keys.PODS, "pods"), (REVISIONS, "controllerrevisions"), (keys.ROLLOUTS, "gpurollouts")],
)
async def test_after_a_cut_nobody_says_that_what_was_seen_is_fresh(path: str, name: str) -> None:
    """It may have been restored from a backup meanwhile; that the last word was a second ago is no comfort."""
    kinds = Kinds()
    async with observing(kinds) as observer:
        before = seen_by(observer)
        assert why_blind(before, builders.an_intent(), time.time()) is None
        assert all(stream.is_synced for stream in before.freshness)
        kinds.cut(path)
        lost = await until(observer, lambda seen: not all(stream.is_synced for stream in seen.freshness))
    assert [stream.source for stream in lost.freshness if not stream.is_synced] == [name]
    assert why_blind(lost, builders.an_intent(), time.time()) is not None


async def test_a_list_of_an_older_history_is_told_and_begins_a_new_era(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a restore of etcd: what was remembered of the time before it counts no more."""
    kinds, told = Kinds(), list[tuple[str, str]]()
    async with observing(kinds, on_back=lambda stream, version: told.append((stream, version))) as observer:
        before = observer.observe()
        assert before is not None
        kinds.tell("MODIFIED", keys.NODES, objects.a_node("n1", version="200", labels={"new": "label"}))
        await until(observer, lambda seen: "new" in dict(seen.nodes["n1"].facts.labels))
        observer.streams[table.NODES].list_anew()
        async with asyncio.timeout(5):
            while (after := observer.observe()) is None or after.era == before.era:
                await observer.wait(None)
    assert told == [("nodes", "100")]
    assert after.era == before.era + 1
    assert "new" not in dict(after.seen.nodes["n1"].facts.labels)


async def test_an_older_history_is_told_also_where_all_that_is_left_is_as_it_was() -> None:
    kinds, told = Kinds(), list[tuple[str, str]]()
    async with observing(kinds, on_back=lambda stream, version: told.append((stream, version))) as observer:
        kinds.tell("ADDED", keys.NODES, objects.a_node("n9", version="200"))
        await until(observer, lambda seen: "n9" in seen.nodes)
        observer.streams[table.NODES].list_anew()
        await until(observer, lambda seen: "n9" not in seen.nodes)
    assert told == [("nodes", "100")]


async def test_it_is_seen_whether_a_rollout_is_guarded_and_whether_it_was_deleted() -> None:
    kinds = Kinds()
    async with observing(kinds) as observer:
        seen = seen_by(observer)
        assert (seen.is_guarded, seen.is_deleting) == (False, False)
        deleted = objects.a_rollout(version="41")
        deleted["metadata"] |= {"finalizers": [keys.FINALIZER], "deletionTimestamp": "2026-01-01T00:00:00Z"}
        kinds.tell("MODIFIED", keys.ROLLOUTS, deleted)
        await until(observer, lambda seen: seen.is_guarded and seen.is_deleting)


async def test_a_rollout_that_was_deleted_and_is_not_under_way_is_looked_at_first() -> None:
    kinds = Kinds()
    begun = objects.a_rollout("spring", status={"state": "progressing"})
    ended = objects.a_rollout("winter", status={"state": "done"})
    ended["metadata"] |= {"finalizers": [keys.FINALIZER], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    kinds.lists[keys.ROLLOUTS] = [begun, ended]
    async with observing(kinds) as observer:
        assert seen_by(observer).rollout.name == "winter"


async def test_a_rollout_that_was_deleted_waits_for_us_only_where_our_finalizer_keeps_it() -> None:
    kinds = Kinds()
    begun = objects.a_rollout("spring", status={"state": "progressing"})
    guarded = objects.a_rollout("autumn", status={"state": "done"})
    guarded["metadata"]["finalizers"] = [keys.FINALIZER]
    theirs = objects.a_rollout("winter", status={"state": "done"})
    theirs["metadata"] |= {"finalizers": ["example.com/theirs"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    kinds.lists[keys.ROLLOUTS] = [begun, guarded, theirs]
    async with observing(kinds) as observer:
        assert seen_by(observer).rollout.name == "spring"


# ── joining ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_nodes_pods_and_revisions_are_joined() -> None:
    async with observing(Kinds()) as observer:
        seen = seen_by(observer)
    assert list(seen.nodes) == list(FLEET)
    assert {node.facts.wanted for node in seen.nodes.values()} == {
        DriverRevision(hash="new", version=objects.NEW, image=f"nvcr.io/nvidia/driver:{objects.NEW}-ubuntu22.04")
    }
    assert [node.facts.driver.name for node in seen.nodes.values() if node.facts.driver] == [
        f"driver-{name}" for name in FLEET
    ]
    assert all(stream.is_synced for stream in seen.freshness)
    assert [stream.source for stream in seen.freshness] == [
        "nodes",
        "pods",
        "controllerrevisions",
        "gpurollouts",
        "clusterpolicies",
        "nvidiadrivers",
        "resourceclaims",
        "resourceslices",
        "daemonsets",
    ]


async def test_one_change_costs_one_node() -> None:
    kinds = Kinds()
    async with observing(kinds) as observer:
        before = seen_by(observer)
        kinds.tell("MODIFIED", keys.NODES, objects.a_node("n2", version="101", unschedulable=True))
        after = await until(observer, lambda seen: seen.nodes["n2"].facts.is_cordoned)
        assert changed(before, after) == {"n2"}
        kinds.tell("ADDED", keys.PODS, objects.a_gpu_pod(node="n3", version="102"))
        last = await until(observer, lambda seen: bool(seen.nodes["n3"].facts.gpu_pods))
        assert changed(after, last) == {"n3"}


async def test_a_change_of_a_claim_costs_the_node_of_the_pod_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = Kinds()
    kinds.lists[keys.PODS] += [a_claimant("a", node="n1"), a_claimant("b", node="n2"), a_claimant("c", node="n3")]
    kinds.lists[keys.RESOURCE_CLAIMS[0]] = [a_claim("a"), a_claim("b"), a_claim("c", *GPUS)]
    built: list[str] = []
    join = project.node_facts

    def counted(item: items.NodeItem, *rest: Any) -> NodeFacts:
        built.append(item.metadata.name)
        return join(item, *rest)

    monkeypatch.setattr(project, "node_facts", counted)
    async with observing(kinds) as observer:
        before = seen_by(observer)
        assert sorted(built) == list(FLEET)
        assert uses(before) == {"n1": [None], "n2": [None], "n3": [GpuUse.CLAIM]}
        kinds.tell("MODIFIED", keys.RESOURCE_CLAIMS[0], a_claim("b", *GPUS, version="101"))
        after = await until(observer, lambda seen: uses(seen)["n2"] == [GpuUse.CLAIM])
        assert changed(before, after) == {"n2"}
        kinds.tell("DELETED", keys.RESOURCE_CLAIMS[0], a_claim("c", *GPUS, version="102"))
        last = await until(observer, lambda seen: uses(seen)["n3"] == [GpuUse.CLAIM_UNREADABLE])
        assert changed(after, last) == {"n3"}
        assert built[3:] == ["n2", "n3"]


async def test_a_claim_that_nobody_names_and_a_claim_that_says_the_same_cost_nothing() -> None:
    kinds = Kinds()
    kinds.lists[keys.PODS].append(a_claimant("a", node="n1"))
    kinds.lists[keys.RESOURCE_CLAIMS[0]] = [a_claim("a", *GPUS)]
    async with observing(kinds) as observer:
        before = seen_by(observer)
        kinds.tell("ADDED", keys.RESOURCE_CLAIMS[0], a_claim("spare", *GPUS, version="101"))
        kinds.tell("MODIFIED", keys.RESOURCE_CLAIMS[0], a_claim("a", *GPUS, version="102"))
        kinds.tell("ADDED", keys.RESOURCE_CLAIMS[0], a_claim("b", version="103"))
        kinds.tell("ADDED", keys.PODS, a_claimant("b", node="n2", version="104"))
        after = await until(observer, lambda seen: uses(seen)["n2"] == [None])
        assert changed(before, after) == {"n2"}


async def test_claims_are_found_for_pods_that_came_before_them_and_forgotten_with_them() -> None:
    kinds = Kinds()
    kinds.lists[keys.RESOURCE_CLAIMS[0]] = []
    async with observing(kinds) as observer:
        kinds.tell("ADDED", keys.PODS, a_claimant("a", node="n1", version="101"))
        await until(observer, lambda seen: uses(seen)["n1"] == [GpuUse.CLAIM_UNREADABLE])
        kinds.tell("ADDED", keys.RESOURCE_CLAIMS[0], a_claim("a", *GPUS, version="102"))
        await until(observer, lambda seen: uses(seen)["n1"] == [GpuUse.CLAIM])
        kinds.tell("DELETED", keys.PODS, a_claimant("a", node="n1", version="103"))
        gone = await until(observer, lambda seen: uses(seen)["n1"] == [])
        kinds.tell("DELETED", keys.RESOURCE_CLAIMS[0], a_claim("a", *GPUS, version="104"))
        kinds.tell("ADDED", keys.PODS, objects.a_gpu_pod(node="n2", version="105"))
        last = await until(observer, lambda seen: bool(uses(seen)["n2"]))
        assert changed(gone, last) == {"n2"}


async def test_a_change_that_tells_us_nothing_costs_nothing() -> None:
    kinds = Kinds()
    kinds.lists[keys.PODS].append(objects.a_gpu_pod(node="n1"))
    async with observing(kinds) as observer:
        before = seen_by(observer)
        probed = objects.a_gpu_pod(node="n1", version="101", metadata={"annotations": {"seen-by": "somebody"}})
        kinds.tell("MODIFIED", keys.PODS, probed)
        kinds.tell("ADDED", keys.PODS, objects.a_gpu_pod("train-9", node="n2", version="102"))
        after = await until(observer, lambda seen: bool(seen.nodes["n2"].facts.gpu_pods))
        assert changed(before, after) == {"n2"}


async def test_43_one_node_without_a_driver_pod_stops_no_other() -> None:
    kinds = Kinds()
    kinds.lists[keys.PODS] = [objects.a_driver_pod("n1"), objects.a_driver_pod("", phase="Pending")]
    async with observing(kinds) as observer:
        seen = seen_by(observer)
    assert [name for name, node in seen.nodes.items() if node.facts.driver is None] == ["n2", "n3"]
    assert all(stream.is_synced for stream in seen.freshness)


# ── what else is told of a node ──────────────────────────────────────────────────────────────────────────────────────


async def test_slices_tell_what_a_node_publishes_until_they_are_gone() -> None:
    kinds = Kinds()
    kinds.lists[keys.RESOURCE_SLICES[0]] = [a_slice("n1", "570.124.6")]
    async with observing(kinds) as observer:
        before = seen_by(observer)
        assert before.nodes["n1"].facts.published == ("570.124.6",)
        kinds.tell("MODIFIED", keys.RESOURCE_SLICES[0], a_slice("n1", "580.105.8", version="101"))
        after = await until(observer, lambda seen: seen.nodes["n1"].facts.published == ("580.105.8",))
        kinds.tell("DELETED", keys.RESOURCE_SLICES[0], a_slice("n1", "580.105.8", version="102"))
        last = await until(observer, lambda seen: seen.nodes["n1"].facts.published == ())
        assert changed(before, after) == changed(after, last) == {"n1"}


async def test_a_maintenance_is_told_with_its_node() -> None:
    kinds = Kinds()
    kinds.lists[keys.ROLLOUTS] = [objects.a_rollout(maintenance={"requestorID": "seatrial"})]
    kinds.lists[keys.NODE_MAINTENANCES] = []
    async with observing(kinds) as observer:
        before = seen_by(observer)
        kinds.tell("ADDED", keys.NODE_MAINTENANCES, a_maintenance("a", version="101"))
        after = await until(observer, lambda seen: seen.nodes["n2"].facts.maintenance is not None)
        assert changed(before, after) == {"n2"}
        kinds.tell("DELETED", keys.NODE_MAINTENANCES, a_maintenance("a", version="102"))
        await until(observer, lambda seen: seen.nodes["n2"].facts.maintenance is None)


async def test_maintenances_are_looked_at_from_when_the_rollout_names_them_and_not_before() -> None:
    kinds = Kinds()
    kinds.lists[keys.NODE_MAINTENANCES] = [a_maintenance("a")]
    async with observing(kinds) as observer:
        assert seen_by(observer).nodes["n2"].facts.maintenance is None
        assert keys.NODE_MAINTENANCES not in kinds.asked
        kinds.tell("MODIFIED", keys.ROLLOUTS, objects.a_rollout(version="101", maintenance={"requestorID": "seatrial"}))
        await until(observer, lambda seen: seen.nodes["n2"].facts.maintenance is not None)


async def test_a_rollout_waits_for_maintenances_only_as_long_as_it_names_their_operator() -> None:
    def waits(seen: Snapshot) -> bool:
        return table.MAINTENANCES.name in {stream.source for stream in seen.freshness}

    kinds = Kinds()
    kinds.lists[keys.NODE_MAINTENANCES] = []
    kinds.lists[keys.ROLLOUTS] = [objects.a_rollout(maintenance={"requestorID": "seatrial"})]
    async with observing(kinds) as observer:
        assert waits(seen_by(observer))
        kinds.tell("MODIFIED", keys.ROLLOUTS, objects.a_rollout(version="101"))
        await until(observer, lambda seen: not waits(seen))


async def test_of_several_maintenances_the_rollouts_own_counts_also_when_it_changes_its_name() -> None:
    kinds = Kinds()
    kinds.lists[keys.NODE_MAINTENANCES] = [a_maintenance("a"), a_maintenance("b", requestor="seatrial")]
    kinds.lists[keys.ROLLOUTS] = [objects.a_rollout(maintenance={"requestorID": "other"})]
    async with observing(kinds) as observer:
        found = seen_by(observer).nodes["n2"].facts.maintenance
        assert found is not None
        assert found.name == "a"
        kinds.tell("MODIFIED", keys.ROLLOUTS, objects.a_rollout(version="101", maintenance={"requestorID": "seatrial"}))
        await until(observer, lambda seen: getattr(seen.nodes["n2"].facts.maintenance, "name", "") == "b")


async def test_a_warning_about_a_driver_pod_is_told_with_its_node_and_no_other() -> None:
    kinds = Kinds()
    kinds.lists[keys.PODS][1] = objects.a_driver_pod("n2", phase="Pending")
    kinds.lists[EVENTS] = [a_warning("driver-n2", "Failed", "first"), a_warning("validator-n1", "BackOff", "x")]
    async with observing(kinds) as observer:
        before = await until(observer, lambda seen: said(seen, "n2") == ["first"])
        kinds.tell("ADDED", EVENTS, a_warning("validator-n1", "BackOff", "again", version="101"))
        kinds.tell("ADDED", EVENTS, a_warning("driver-n2", "Failed", "second", version="102"))
        after = await until(observer, lambda seen: said(seen, "n2") == ["second"])
        assert changed(before, after) == {"n2"}
        kinds.tell("DELETED", EVENTS, a_warning("driver-n2", "Failed", "first", version="103"))  # an hour old
        kinds.tell("ADDED", EVENTS, a_warning("driver-n2", "BackOff", "third", version="104"))
        await until(observer, lambda seen: said(seen, "n2") == ["third", "second"])
        kinds.tell("DELETED", EVENTS, a_warning("driver-n2", "BackOff", "third", version="105"))
        await until(observer, lambda seen: said(seen, "n2") == ["second"])


async def test_only_warnings_about_pods_are_asked_for() -> None:
    kinds = Kinds()
    kinds.lists[EVENTS] = []
    async with observing(kinds) as observer, asyncio.timeout(5):
        while EVENTS not in kinds.asked:
            await observer.wait(time.time() + 0.05)
    assert kinds.asked[EVENTS].get("fieldSelector") == "type=Warning,involvedObject.kind=Pod"
    assert "fieldSelector" not in kinds.asked[keys.PODS]


async def test_events_that_cannot_be_read_stop_nobody() -> None:
    kinds = Kinds()
    kinds.forbidden.add(EVENTS)
    async with observing(kinds) as observer:
        seen = seen_by(observer)
    assert "events" not in [stream.source for stream in seen.freshness]


async def test_an_optional_kind_that_is_forbidden_is_not_taken_for_absent() -> None:
    kinds = Kinds()
    kinds.forbidden.add(keys.RESOURCE_CLAIMS[0])
    with pytest.raises(errors.Forbidden):
        async with observing(kinds):
            pass


async def test_nothing_is_built_anew_when_nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with observing(Kinds()) as observer:
        before = seen_by(observer)
        monkeypatch.setattr(project, "node_facts", None)  # would fail if it were called
        assert seen_by(observer).nodes is before.nodes


async def test_a_new_template_costs_every_node_once() -> None:
    kinds = Kinds()
    async with observing(kinds) as observer:
        before = seen_by(observer)
        kinds.tell("ADDED", REVISIONS, objects.a_revision("newer", number=3, driver="590.10.01"))
        after = await until(observer, lambda seen: seen.nodes["n1"].facts.wanted != before.nodes["n1"].facts.wanted)
        assert changed(before, after) == set(FLEET)
        kinds.tell("MODIFIED", REVISIONS, objects.a_revision("new", number=2, driver=objects.NEW) | {"note": "moved"})
        assert changed(after, seen_by(observer)) == set()


async def test_what_was_handed_out_is_never_changed_later() -> None:
    kinds = Kinds()
    async with observing(kinds) as observer:
        before = seen_by(observer)
        kept = dict(before.nodes)
        kinds.tell("MODIFIED", keys.NODES, objects.a_node("n1", version="101", unschedulable=True))
        kinds.tell("DELETED", keys.NODES, objects.a_node("n3", version="102"))
        await until(observer, lambda seen: "n3" not in seen.nodes)
        assert before.nodes == kept


async def test_a_deleted_node_is_gone_and_its_pods_do_not_bring_it_back() -> None:
    kinds = Kinds()
    async with observing(kinds) as observer:
        kinds.tell("DELETED", keys.NODES, objects.a_node("n3", version="101"))
        await until(observer, lambda seen: "n3" not in seen.nodes)
        kinds.tell("MODIFIED", keys.PODS, objects.a_driver_pod("n3", version="102"))
        kinds.tell("ADDED", keys.PODS, objects.a_gpu_pod(node="n2", version="103"))
        seen = await until(observer, lambda seen: bool(seen.nodes["n2"].facts.gpu_pods))
        assert list(seen.nodes) == ["n1", "n2"]


async def test_a_pod_that_finished_no_longer_holds_its_gpu() -> None:
    kinds = Kinds()
    kinds.lists[keys.PODS].append(objects.a_gpu_pod(node="n1"))
    async with observing(kinds) as observer:
        assert seen_by(observer).nodes["n1"].facts.gpu_pods
        kinds.tell("MODIFIED", keys.PODS, objects.a_gpu_pod(node="n1", version="101", phase="Succeeded"))
        await until(observer, lambda seen: not seen.nodes["n1"].facts.gpu_pods)


async def test_a_pod_of_the_same_name_takes_the_place_of_the_old_one_on_another_node() -> None:
    kinds = Kinds()
    kinds.lists[keys.PODS].append(objects.a_gpu_pod(node="n1", uid="first"))
    async with observing(kinds) as observer:
        kinds.tell("ADDED", keys.PODS, objects.a_gpu_pod(node="n2", uid="second", version="101"))
        seen = await until(observer, lambda seen: bool(seen.nodes["n2"].facts.gpu_pods))
        assert seen.nodes["n1"].facts.gpu_pods == ()


async def test_our_own_writes_are_seen_before_the_watch_tells_of_them() -> None:
    async with observing(Kinds()) as observer:
        observer.wrote_node(msgspec.convert(objects.a_node("n1", version="101", unschedulable=True), Node))
        status = {"state": "progressing", "admitted": [{"node": "n1", "attempt": 1}]}
        observer.wrote_rollout(msgspec.convert(objects.a_rollout(version="102", status=status), models.Rollout))
        seen = seen_by(observer)
    assert seen.nodes["n1"].facts.is_cordoned
    assert [admission.node for admission in seen.rollout.admitted] == ["n1"]


async def test_what_we_wrote_on_a_node_is_read_with_its_facts() -> None:
    kinds = Kinds()
    node = objects.a_node("n1", labels={keys.STATE_LABEL: "upgrade-done"})
    note = '{"schema":1,"phase":"upgrade-done","attempt":4,"enteredAt":"2026-01-02T03:04:05Z"}'
    node["metadata"]["annotations"] = {keys.RECORD_ANNOTATION: note}
    other = objects.a_node("n2", labels={keys.STATE_LABEL: "upgrade-done"})
    kinds.lists[keys.NODES] = [node, other]
    async with observing(kinds) as observer:
        seen = seen_by(observer)
    record = seen.nodes["n1"].record
    assert record is not None
    assert (record.phase, record.attempt) == (NodePhase.UPGRADE_DONE, 4)
    assert seen.nodes["n2"].fault is RecordFault.EDITED


# ── the rollout ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def test_a_changed_selector_changes_the_members() -> None:
    kinds = Kinds()
    kinds.lists[keys.NODES][0] = objects.a_node("n1", labels={"pool": "canary"})
    async with observing(kinds) as observer:
        assert list(seen_by(observer).nodes) == list(FLEET)
        kinds.tell("MODIFIED", keys.ROLLOUTS, objects.a_rollout(version="101", nodeSelector={"pool": "canary"}))
        await until(observer, lambda seen: list(seen.nodes) == ["n1"])
        kinds.tell("MODIFIED", keys.NODES, objects.a_node("n2", version="102", labels={"pool": "canary"}))
        await until(observer, lambda seen: list(seen.nodes) == ["n1", "n2"])
        assert set(observer.all_nodes()) == set(FLEET)


async def test_a_node_in_the_ledger_stays_a_member_when_its_labels_no_longer_match() -> None:
    kinds = Kinds()
    rollout = objects.a_rollout(nodeSelector={"pool": "canary"})
    rollout["status"] = {"admitted": [{"node": "n2", "attempt": 1}]}
    kinds.lists[keys.ROLLOUTS] = [rollout]
    kinds.lists[keys.NODES][0] = objects.a_node("n1", labels={"pool": "canary"})
    async with observing(kinds) as observer:
        assert list(seen_by(observer).nodes) == ["n1", "n2"]


@pytest.mark.parametrize(("field", "key"), [("labels", keys.CANARY_LABEL), ("annotations", keys.SKIPPED_BY_ANNOTATION)])
async def test_a_node_with_a_mark_of_the_rollout_stays_a_member_until_the_mark_is_gone(field: str, key: str) -> None:
    kinds = Kinds()
    kinds.lists[keys.ROLLOUTS] = [objects.a_rollout(nodeSelector={"pool": "canary"})]
    node = objects.a_node("n2")
    node["metadata"].setdefault(field, {})[key] = "spring"
    kinds.lists[keys.NODES][1] = node
    async with observing(kinds) as observer:
        assert list(seen_by(observer).nodes) == ["n2"]


async def test_without_a_rollout_there_is_nothing_to_decide() -> None:
    kinds = Kinds()
    kinds.lists[keys.ROLLOUTS] = []
    faults: list[str] = []
    async with observing(kinds, faults=faults) as observer:
        assert observer.observe() is None
    assert faults == []


async def test_among_several_rollouts_the_named_one_counts() -> None:
    kinds = Kinds()
    kinds.lists[keys.ROLLOUTS] = [objects.a_rollout("autumn"), objects.a_rollout("spring")]
    async with observing(kinds, rollout="spring") as observer:
        assert seen_by(observer).rollout.name == "spring"


async def test_among_several_rollouts_without_a_name_they_take_turns() -> None:
    kinds = Kinds()
    spring, autumn = objects.a_rollout("spring"), objects.a_rollout("autumn", status={"state": "done"})
    kinds.lists[keys.ROLLOUTS] = [spring, autumn]
    async with observing(kinds) as observer:
        assert seen_by(observer).rollout.name == "spring"
        kinds.tell("MODIFIED", keys.ROLLOUTS, objects.a_rollout("spring", version="101", status={"state": "done"}))
        kinds.tell("ADDED", keys.ROLLOUTS, objects.a_rollout("winter", version="102"))
        await until(observer, lambda seen: seen.rollout.name == "winter")


async def test_a_rollout_that_cannot_be_read_is_a_fault_and_nothing_moves() -> None:
    kinds = Kinds()
    kinds.lists[keys.ROLLOUTS] = [objects.a_rollout(limits={"maxUnavailable": "many"})]
    faults: list[str] = []
    async with observing(kinds, faults=faults) as observer:
        assert observer.observe() is None
    assert len(faults) == 1
    assert "GPURollout spring cannot be read" in faults[0]


UNREADABLE = [
    pytest.param({"limits": {"maxUnavailable": "many"}}, {}, "spec.limits.maxUnavailable", id="a spec"),
    pytest.param({"retries": {"max": "often"}}, {}, "spec: Expected `int`", id="a type in the spec"),
    pytest.param({"canary": {}}, {"campaign": {"phase": "Done", "schema": 9}}, "status.campaign.schema", id="a schema"),
    pytest.param({}, {"admitted": "everybody"}, "status.admitted: expected array", id="a type in the status"),
]


@pytest.mark.parametrize(("spec", "status", "why"), UNREADABLE)
async def test_one_rollout_that_cannot_be_read_holds_itself_and_not_the_others(
    spec: dict[str, Any], status: dict[str, Any], why: str
) -> None:
    kinds = Kinds()
    broken = objects.a_rollout("autumn", status=status, **spec)
    kinds.lists[keys.ROLLOUTS] = [broken, objects.a_rollout("spring")]
    faults: list[str] = []
    async with observing(kinds, faults=faults) as observer:
        seen = seen_by(observer)
        assert (seen.rollout.name, [name for name, _ in seen.unreadable]) == ("spring", ["autumn"])
        assert seen.unreadable[0][1].startswith(why)
        held = [each for each in decide(seen, an_intent(), NOW).holds if each.code is HoldCode.ROLLOUT_UNREADABLE]
        assert [each.subject for each in held] == ["autumn"]

        kinds.tell("MODIFIED", keys.ROLLOUTS, objects.a_rollout("autumn", version="101"))
        assert (await until(observer, lambda seen: not seen.unreadable)).rollout.name == "autumn"
    assert faults == []


async def test_where_no_rollout_can_be_read_that_is_a_fault() -> None:
    kinds = Kinds()
    limits = {"maxUnavailable": "many"}
    kinds.lists[keys.ROLLOUTS] = [objects.a_rollout("autumn", limits=limits), objects.a_rollout(limits=limits)]
    faults: list[str] = []
    async with observing(kinds, faults=faults) as observer:
        assert observer.observe() is None
    assert len(faults) == 1
    assert "GPURollout autumn cannot be read" in faults[0]


@pytest.mark.parametrize(
    ("status", "others"),
    [
        ({"campaign": {"phase": "Baking", "schema": 9}}, ("autumn",)),
        ({"campaign": {"phase": "Dancing"}}, ("autumn",)),
        ({"admitted": "everybody", "campaign": {"phase": "Waving"}}, ("autumn",)),
        ({"campaign": "what"}, ("autumn",)),
        ({"campaign": {"phase": "Done", "schema": 9}}, ()),
        ({"campaign": {"phase": "Proposed", "schema": 9}}, ()),
        ({"admitted": "everybody"}, ()),
    ],
)
async def test_a_campaign_that_cannot_be_read_and_has_begun_is_under_way_for_those_that_have_not(
    status: dict[str, Any], others: tuple[str, ...]
) -> None:
    kinds = campaigning()
    kinds.lists[keys.ROLLOUTS] = [a_campaign("autumn", status=status), a_campaign("spring")]
    async with observing(kinds) as observer:
        seen = seen_by(observer)
    assert (seen.rollout.name, seen.others) == ("spring", others)


# ── campaigns ────────────────────────────────────────────────────────────────────────────────────────────────────────

JOBS, PROBE_PODS, JOB_EVENTS = (
    keys.jobs_path(keys.HOME),
    keys.pods_path(keys.HOME),
    keys.events_path(keys.HOME),
)
PROBE = StartProbe(rollout="spring", gate=Gate(name="nccl", image="nccl:1"), node="n1", round=1, attempt=1)
JOB = f"{keys.HOME}/gate-nccl-n1-1-1-3718c47ba0"
PENDING = Measurement(gate="nccl", node="n1", round=1, attempt=1, verdict=GateVerdict.PENDING, job=JOB)


def a_campaign(name: str = "spring", **fields: Any) -> dict[str, Any]:
    """A rollout with a canary."""
    return objects.a_rollout(name, canary={}, **fields)


def a_probe(*conditions: str, owner: str = "uid-spring", version: str = "9") -> dict[str, Any]:
    """The Job of a probe, with these conditions."""
    job = probes.job_of(PROBE, owner)
    job["metadata"] |= {"uid": f"uid-job-{owner}", "resourceVersion": version, "namespace": keys.HOME}
    told = [{"type": each, "status": "True", "reason": "BackoffLimitExceeded"} for each in conditions]
    return job | {"status": {"conditions": told}}


def a_probe_pod(message: str, *, version: str = "9") -> dict[str, Any]:
    """The pod of a probe, ended badly."""
    owner = {"kind": "Job", "uid": "uid-job-uid-spring", "controller": True}
    ended = {"name": "probe", "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": message}}}
    status = {"containerStatuses": [ended]}
    return objects.a_pod("p", namespace=keys.HOME, owner=owner, phase="Failed", version=version, status=status)


def campaigning() -> Kinds:
    """A cluster with a campaign."""
    kinds = Kinds()
    kinds.lists[keys.ROLLOUTS] = [a_campaign()]
    kinds.lists |= {JOBS: [], PROBE_PODS: []}
    return kinds


async def test_what_only_a_campaign_needs_is_not_asked_for_without_one() -> None:
    kinds = Kinds()
    kinds.lists |= {JOBS: [], PROBE_PODS: [], keys.MACHINE_POOLS: []}
    async with observing(kinds) as observer:
        seen_by(observer)
        assert observer.streams[table.PROBES] not in observer.streams.opened
    assert not {JOBS, PROBE_PODS, keys.MACHINE_POOLS} & kinds.asked.keys()


async def test_a_campaign_is_seen_with_its_probes_from_the_first_look() -> None:
    kinds = campaigning()
    namesake = a_probe("Complete", owner="uid-of-a-namesake")
    kinds.lists[JOBS] = [a_probe(), namesake]
    async with observing(kinds) as observer:
        seen = seen_by(observer)
    assert seen.measurements == (PENDING,)
    assert seen.machine_pools == ()
    assert [each.source for each in seen.freshness][-2:] == ["jobs", "pods of jobs"]
    assert all(each.is_synced for each in seen.freshness)
    assert kinds.asked[JOBS]["labelSelector"] == kinds.asked[PROBE_PODS]["labelSelector"] == keys.GATE_KEY


async def test_a_campaign_that_comes_later_is_not_decided_on_before_its_streams_are_read() -> None:
    kinds = Kinds()
    kinds.lists[keys.ROLLOUTS] = []
    kinds.lists |= {JOBS: [a_probe()], PROBE_PODS: []}
    async with observing(kinds) as observer:
        kinds.tell("ADDED", keys.ROLLOUTS, a_campaign(version="101"))
        async with asyncio.timeout(5):
            while (sight := observer.observe()) is None:
                await observer.wait(None)
        assert {each.source for each in sight.seen.freshness if not each.is_synced} >= {"jobs", "pods of jobs"}
        seen = await until(observer, lambda seen: all(each.is_synced for each in seen.freshness))
        assert seen.measurements == (PENDING,)


async def test_a_probe_is_followed_to_its_end_and_its_last_words_are_its_pods() -> None:
    kinds = campaigning()
    async with observing(kinds) as observer:
        assert seen_by(observer).measurements == ()
        kinds.tell("ADDED", JOBS, a_probe(version="101"))
        await until(observer, lambda seen: seen.measurements == (PENDING,))
        kinds.tell("ADDED", PROBE_PODS, a_probe_pod("bandwidth is low", version="102"))
        kinds.tell("MODIFIED", JOBS, a_probe("Failed", version="103"))
        failed = replace(PENDING, verdict=GateVerdict.FAILED, detail="exit code 1: bandwidth is low", job="")
        await until(observer, lambda seen: seen.measurements == (failed,))
        kinds.tell("DELETED", JOBS, a_probe("Failed", version="104"))
        await until(observer, lambda seen: seen.measurements == ())


async def test_a_probe_whose_pod_is_not_let_in_says_so_and_who_may_not_know_goes_on() -> None:
    kinds = campaigning()
    kinds.lists |= {JOBS: [a_probe()], JOB_EVENTS: []}
    async with observing(kinds) as observer:
        assert seen_by(observer).measurements == (PENDING,)
        about = {"kind": "Job", "uid": "uid-job-uid-spring", "namespace": keys.HOME}
        said = 'Error creating: pods "p-1" is forbidden: violates PodSecurity "restricted:latest"'
        meta = {"name": "e", "namespace": keys.HOME, "resourceVersion": "101"}
        event = {"metadata": meta, "involvedObject": about, "reason": "FailedCreate", "message": said}
        await until(observer, lambda _: JOB_EVENTS in kinds.asked)
        kinds.tell("ADDED", JOB_EVENTS, event)
        refused = replace(PENDING, detail='violates PodSecurity "restricted:latest"', kept_out_of=keys.HOME)
        await until(observer, lambda seen: seen.measurements == (refused,))
    kinds.forbidden = {JOB_EVENTS}
    faults: list[str] = []
    async with observing(kinds, faults=faults) as observer:
        seen = seen_by(observer)
    assert (seen.measurements, faults) == ((PENDING,), [])
    assert all(each.is_synced for each in seen.freshness)


async def test_without_the_rights_of_a_campaign_its_view_is_no_view_and_the_reason_is_told() -> None:
    kinds = campaigning()
    kinds.forbidden = {JOBS}
    faults: list[str] = []
    async with observing(kinds, faults=faults) as observer:
        seen = seen_by(observer)
    assert [each.source for each in seen.freshness if not each.is_synced] == ["jobs"]
    assert len(faults) == 1
    assert JOBS in faults[0]


async def test_the_pool_of_a_canary_is_ours_by_the_rollouts_name() -> None:
    kinds = campaigning()
    ours = pools.pool_of(MakePool(rollout="spring", name="gpu-canary"))
    ours["metadata"] |= {"uid": "uid-1", "resourceVersion": "5"}
    other = {"metadata": {"name": "worker", "uid": "uid-2", "resourceVersion": "6"}, "spec": {"paused": True}}
    kinds.lists[keys.MACHINE_POOLS] = [other, ours]
    kinds.lists[keys.ROLLOUTS] = [objects.a_rollout(canary={"machineConfigPool": "gpu-canary"})]
    async with observing(kinds) as observer:
        assert seen_by(observer).machine_pools == (
            MachinePool(name="gpu-canary", resource_version="5", is_ours=True),
            MachinePool(name="worker", resource_version="6", is_paused=True),
        )


async def test_other_campaigns_under_way_are_named_and_plain_rollouts_are_not() -> None:
    kinds = campaigning()
    kinds.lists[keys.ROLLOUTS] += [
        a_campaign("other", status={"campaign": {"phase": "Baking"}}),
        a_campaign("ended", status={"campaign": {"phase": "Done"}}),
        objects.a_rollout("plain", status={"state": "progressing"}),
    ]
    async with observing(kinds, rollout="spring") as observer:
        assert seen_by(observer).others == ("other",)


@pytest.mark.parametrize(
    ("status", "phase"),
    [
        ({"campaign": {"phase": "Baking"}}, RolloutPhase.BAKING),
        ({"campaign": {"phase": "Done"}}, RolloutPhase.DONE),
        ({"campaign": {"phase": "Dancing"}}, RolloutPhase.PROPOSED),
        (None, None),
    ],
    ids=["under way", "done", "unreadable", "not there"],
)
async def test_it_is_seen_where_the_rollout_stands_that_a_campaign_comes_after(
    status: dict[str, Any] | None, phase: RolloutPhase | None
) -> None:
    kinds = campaigning()
    kinds.lists[keys.ROLLOUTS] = [a_campaign(after="winter")]
    if status is not None:
        kinds.lists[keys.ROLLOUTS] += [a_campaign("winter", status=status)]
    async with observing(kinds, rollout="spring") as observer:
        assert seen_by(observer).predecessor is phase


async def test_what_brings_repositories_into_the_cluster_is_seen_in_a_fixed_order() -> None:
    kinds = campaigning()

    def made(*names: str) -> list[dict[str, Any]]:
        return [{"metadata": {"name": name, "namespace": "argocd", "resourceVersion": "9"}} for name in names]

    kinds.lists |= {keys.APPLICATIONS: made("gpu", "base"), keys.KUSTOMIZATIONS: made("apps")}
    async with observing(kinds) as observer:
        seen = await until(observer, lambda seen: len(seen.followers) == 3)
    assert [each.name for each in seen.followers] == ["base", "gpu", "apps"]


async def test_a_campaign_sees_which_release_of_an_operator_runs() -> None:
    kinds = campaigning()
    labels = {"app.kubernetes.io/name": "gpu-operator", "helm.sh/chart": "gpu-operator-v25.10.0"}
    metadata = {"name": "gpu-operator", "namespace": objects.NAMESPACE, "labels": labels, "resourceVersion": "9"}
    kinds.lists[keys.DEPLOYMENTS] = [{"metadata": metadata, "status": {"replicas": 1, "updatedReplicas": 1}}]
    async with observing(kinds) as observer:
        seen = await until(observer, lambda seen: bool(seen.operator.releases))
    assert [(each.component, each.version) for each in seen.operator.releases] == [("gpu_operator", "v25.10.0")]


async def test_a_status_that_cannot_be_read_is_a_fault_and_nothing_moves() -> None:
    kinds = campaigning()
    kinds.lists[keys.ROLLOUTS] = [a_campaign(status={"campaign": {"phase": "Dancing"}})]
    faults: list[str] = []
    async with observing(kinds, faults=faults) as observer:
        assert observer.observe() is None
        assert observer.current_rollout() is not None
    assert len(faults) == 1
    assert "GPURollout spring cannot be read: status.campaign.phase" in faults[0]


async def test_the_matrix_and_the_rights_are_part_of_what_is_seen() -> None:
    facts = SourceFacts(head="abc", driver=objects.NEW)
    kinds = campaigning()
    async with standin.running() as server, Client(server.config(), user_agent="seatrial/test") as client:

        async def answer(request: web.Request) -> web.StreamResponse:
            if request.path != keys.ACCESS_REVIEWS:
                return await kinds.answer(request)
            asked = (await request.json())["spec"]["resourceAttributes"]
            return await standin.gives({"status": {"allowed": asked["resource"] != "nodes"}}, code=201)(request)

        server.will(answer)
        rights = access.Access(client, home=keys.HOME, namespace=objects.NAMESPACE)
        settings: dict[str, Any] = {"namespace": objects.NAMESPACE, "on_fault": pytest.fail}
        async with KubeObserver(client, source=lambda: facts, rights=rights, **settings) as observer:
            await observer.wait_synced(5)
            assert seen_by(observer).denied is None, "it was not asked yet"
            seen = await until(observer, lambda seen: seen.denied is not None)
    assert (seen.source, seen.denied) == (facts, ("patch nodes",))


def a_plugin(namespace: str) -> dict[str, Any]:
    """A pod of a DaemonSet that calls itself NVIDIA's DRA plugin."""
    labels = {"nvidia-dra-driver-gpu-component": "kubelet-plugin"}
    return objects.a_pod("plugin-n1", namespace=namespace, labels=labels, owner=objects.DAEMON_SET)


@pytest.mark.parametrize(
    ("namespace", "found"), [((), {"n1": "nvidia-dra-driver-gpu"}), (("dra",), {"n1": "dra"})], ids=["none", "dra"]
)
async def test_dra_plugins_are_seen_in_the_namespaces_that_the_controller_was_told_and_in_no_tenants(
    namespace: tuple[str, ...], found: dict[str, str]
) -> None:
    kinds = Kinds()
    for name in ("tenant", "nvidia-dra-driver-gpu", "dra"):
        kinds.lists[keys.PODS].append(a_plugin(name))
    async with observing(kinds, dra_namespaces=namespace) as observer:
        nodes = seen_by(observer).nodes
    assert {name: node.facts.dra.namespace for name, node in nodes.items() if node.facts.dra} == found


# ── those who ask for other rows ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("looks", "asked"),
    [
        (PaceObserver, {keys.NODES, keys.PODS, REVISIONS, keys.CLUSTER_POLICIES}),
        (AdoptionObserver, {keys.NODES, keys.PODS, REVISIONS, keys.CLUSTER_POLICIES, keys.RESOURCE_CLAIMS[0]}),
    ],
)
async def test_who_looks_asks_for_the_rows_it_needs_and_no_other(
    server: standin.StandIn,
    to_server: Client,
    looks: type[PaceObserver] | type[AdoptionObserver],
    asked: set[str],
) -> None:
    """Pacing and an adoption need no GPURollout, nor a right to see one."""
    kinds = Kinds()
    kinds.lists |= {keys.CLUSTER_POLICIES: [], keys.RESOURCE_CLAIMS[0]: [], JOBS: [], PROBE_PODS: []}
    server.will(kinds.answer)
    async with looks(to_server, namespace=objects.NAMESPACE, on_fault=pytest.fail) as observer:
        await observer.wait_synced(5)
        assert list(observer.all_nodes()) == list(FLEET)
    assert kinds.asked.keys() == asked


# ── kinds that are not there, and streams that break ─────────────────────────────────────────────────────────────────


async def test_a_cluster_without_nvidias_kinds_is_seen_whole_and_moved_by_us() -> None:
    async with observing(Kinds()) as observer:
        seen = seen_by(observer)
        assert not observer.is_operator_present()
    assert seen.operator.mode is Mode.DIRECT
    assert all(stream.is_synced for stream in seen.freshness)


async def test_the_operators_resources_say_who_moves_the_nodes() -> None:
    kinds = Kinds()
    policy = objects.a_cluster_policy(driver={"upgradePolicy": {"autoUpgrade": True}})
    kinds.lists[keys.CLUSTER_POLICIES] = [policy]
    async with observing(kinds) as observer:
        assert seen_by(observer).operator.mode is Mode.DELEGATED
        assert observer.is_operator_present()
        kinds.tell(
            "DELETED", keys.CLUSTER_POLICIES, policy | {"metadata": policy["metadata"] | {"resourceVersion": "101"}}
        )
        await until(observer, lambda seen: seen.operator.mode is Mode.DIRECT)


async def test_the_first_owner_label_changes_the_rules_and_the_last_one_changes_them_back() -> None:
    kinds = Kinds()
    policy = objects.a_cluster_policy(driver={"useNvidiaDriverCRD": True, "upgradePolicy": {"autoUpgrade": False}})
    kinds.lists[keys.CLUSTER_POLICIES] = [policy]
    kinds.lists[keys.NVIDIA_DRIVERS] = [
        {"metadata": {"name": "fleet", "uid": "uid-fleet", "resourceVersion": "5"}, "spec": {"default": True}}
    ]
    async with observing(kinds) as observer:
        before = seen_by(observer)
        assert (before.operator.kind, before.operator.pools) == ("ClusterPolicy/cluster-policy", ())
        assert {node.facts.owner for node in before.nodes.values()} == {"fleet"}
        kinds.tell("MODIFIED", keys.NODES, objects.a_node("n1", version="101", labels={OWNER_LABEL: "fleet"}))
        after = await until(observer, lambda seen: bool(seen.operator.pools))
        assert (after.operator.kind, after.operator.mode) == ("NVIDIADriver/fleet", Mode.DELEGATED)
        kinds.tell("MODIFIED", keys.NODES, objects.a_node("n1", version="102"))
        await until(observer, lambda seen: seen.operator.kind == "ClusterPolicy/cluster-policy")


async def test_a_changed_nvidia_driver_changes_who_owns_the_nodes() -> None:
    kinds = Kinds()
    driver = {"metadata": {"name": "fleet", "uid": "uid-fleet", "resourceVersion": "5"}, "spec": {"nodeSelector": {}}}
    kinds.lists[keys.NVIDIA_DRIVERS] = [driver]
    kinds.lists[keys.NODES][0] = objects.a_node("n1", labels={"pool": "canary"})
    async with observing(kinds) as observer:
        assert {node.facts.owner for node in seen_by(observer).nodes.values()} == {"fleet"}
        metadata = {"name": "fleet", "uid": "uid-fleet", "resourceVersion": "101"}
        changed_driver = {"metadata": metadata, "spec": {"nodeSelector": {"pool": "canary"}}}
        kinds.tell("MODIFIED", keys.NVIDIA_DRIVERS, changed_driver)
        await until(observer, lambda seen: [node.facts.owner for node in seen.nodes.values()] == ["fleet", "", ""])


async def test_a_limit_of_the_operator_that_cannot_be_read_is_told_once_and_stops_nobody() -> None:
    kinds = Kinds()
    policy = objects.a_cluster_policy(driver={"upgradePolicy": {"maxUnavailable": "many"}})
    kinds.lists[keys.CLUSTER_POLICIES] = [policy]
    faults: list[str] = []
    async with observing(kinds, faults=faults) as observer:
        assert seen_by(observer).operator.policy.unavailable_max is None
        seen_by(observer)
    assert len(faults) == 1
    assert faults[0].startswith("ClusterPolicy/cluster-policy: maxUnavailable 'many'")


async def test_our_own_kind_must_be_there() -> None:
    kinds = Kinds()
    del kinds.lists[keys.ROLLOUTS]
    with pytest.raises(RolloutUnclear, match=r"seatrial manifests crd \| kubectl apply"):
        async with observing(kinds):
            pass


async def test_a_kind_that_is_never_listed_is_named_when_time_is_up(server: standin.StandIn, to_server: Client) -> None:
    server.will(standin.waits(server))
    async with KubeObserver(to_server, namespace=objects.NAMESPACE, on_fault=print) as observer:
        with pytest.raises(errors.ClusterUnavailable, match=r"nodes were not listed within 0\.1 s"):
            await observer.wait_synced(0.1)


async def test_a_stream_that_died_is_not_passed_over_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = Kinds()
    async with observing(kinds) as observer:
        monkeypatch.setattr(observer.streams[table.NODES], "_read", lambda _: 1 / 0)
        kinds.tell("MODIFIED", keys.NODES, objects.a_node("n1", version="101"))
        with pytest.raises(ZeroDivisionError):
            await until(observer, lambda _: False)


async def test_a_stream_that_dies_on_its_first_list_is_not_waited_for(
    server: standin.StandIn, to_server: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.will(Kinds().answer)
    observer = KubeObserver(to_server, namespace=objects.NAMESPACE, on_fault=print)
    monkeypatch.setattr(observer.streams[table.NODES], "_read", lambda _: 1 / 0)
    async with observer:
        with pytest.raises(ZeroDivisionError):
            await observer.wait_synced(5)
