"""Half-done upgrades are taken up: each node as announced, at the very version that was looked at, or not at all.

The whole command on a real control plane is tests/e2e/test_adopt.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from seatrial.adapters.kube import adoption
from seatrial.adapters.kube.adoption import TRIES, AdoptionObserver, NotAdopted, Taken
from seatrial.adapters.kube.api import errors
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.shapes import keys, records
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord, NodeSeen
from seatrial.core.survey.adoption.traces import Adoption, Trace, Traces, Treatment, Write
from tests.adapters.kube import objects, standin
from tests.adapters.kube.versioned import Objects

N1 = f"{keys.NODES}/n1"
RECORD = NodeRecord(phase=NodePhase.POD_RESTART_REQUIRED, attempt=1, entered_at=1000.0)
BODY = {"metadata": {"name": "spring"}, "spec": {"target": {"driver": objects.NEW}}}


def a_node(name: str = "n1", *, labels: dict[str, str] | None = None, **annotations: Any) -> dict[str, Any]:
    node = objects.a_node(name, labels=labels)
    node["metadata"]["annotations"] = annotations
    return node


@pytest.fixture
def cluster(server: standin.StandIn) -> Objects:
    there = Objects(keys.PODS, keys.revisions_path(objects.NAMESPACE), keys.ROLLOUTS)
    for name in ("n1", "n2"):
        there.put(f"{keys.NODES}/{name}", a_node(name))
    server.will(there.answer)
    return there


@pytest.fixture
async def observer(cluster: Objects, to_server: Client) -> AsyncIterator[AdoptionObserver]:
    async with AdoptionObserver(to_server, namespace=objects.NAMESPACE, on_fault=pytest.fail) as opened:
        await opened.wait_synced(10)
        await opened.read_traces()
        yield opened


def version(cluster: Objects, path: str = N1) -> str:
    return str(cluster.get(path)["metadata"]["resourceVersion"])


def announced(seen: NodeSeen, *drops: Trace, **more: Any) -> Adoption:
    facts = seen.facts
    write = Write(node=facts.name, expect=facts.resource_version, record=RECORD, drops=frozenset(drops), **more)
    return Adoption(node=facts.name, fate=Treatment.FINISH, found="", why="", phase=RECORD.phase, write=write)


def classify(seen: NodeSeen, _: Traces) -> Adoption:
    return announced(seen)


# ── what is found ────────────────────────────────────────────────────────────────────────────────────────────────────


NOTES = {
    Trace.INITIAL_STATE: keys.INITIAL_STATE_ANNOTATION,
    Trace.JOBS_TIMER: keys.JOBS_TIMER_ANNOTATION,
    Trace.VALIDATION_TIMER: keys.VALIDATION_TIMER_ANNOTATION,
    Trace.REQUESTOR: keys.REQUESTOR_MODE_ANNOTATION,
    Trace.SKIP_NOTE: keys.SKIPPED_BY_ANNOTATION,
}


@pytest.mark.parametrize("trace", NOTES)
async def test_every_trace_is_found_by_its_own_annotation(
    cluster: Objects, observer: AdoptionObserver, trace: Trace
) -> None:
    cluster.put(N1, a_node(**dict[str, Any]({NOTES[trace]: "x", "kept": "yes"})))
    await observer.look_again("n1")
    assert observer.traces_of("n1") == Traces(found=frozenset({trace}))
    assert observer.traces_of("n2") == Traces()


@pytest.mark.parametrize(
    ("record", "is_newer"),
    [
        ("", False),
        ("{", False),
        ("{}", False),
        (f'{{"schema": {records.SCHEMA}}}', False),
        (f'{{"schema": {records.SCHEMA + 1}}}', True),
    ],
)
async def test_a_record_of_a_later_release_is_told_from_one_of_ours(
    cluster: Objects, observer: AdoptionObserver, record: str, is_newer: bool
) -> None:
    cluster.put(N1, a_node(**dict[str, Any]({keys.RECORD_ANNOTATION: record})))
    await observer.look_again("n1")
    assert observer.traces_of("n1").is_record_newer is is_newer


@pytest.mark.parametrize("is_cordoned", [True, False])
async def test_a_cordon_is_whoevers_last_wrote_it(
    cluster: Objects, observer: AdoptionObserver, is_cordoned: bool
) -> None:
    def wrote(manager: str, at: str, field: str) -> dict[str, Any]:
        return {"manager": manager, "time": at, "fieldsV1": {"f:spec": {field: {}}}}

    node = objects.a_node("n1", unschedulable=is_cordoned)
    node["metadata"]["managedFields"] = [
        wrote("first", "2026-01-01T00:00:00Z", "f:unschedulable"),
        wrote("kubectl-cordon", "2026-01-02T00:00:00Z", "f:unschedulable"),
        wrote("labeller", "2026-01-03T00:00:00Z", "f:taints"),
    ]
    cluster.put(N1, node)
    await observer.look_again("n1")
    assert observer.traces_of("n1").cordoned_by == ("kubectl-cordon" if is_cordoned else "")


async def test_a_node_whose_writer_is_not_kept_is_cordoned_by_nobody_we_know(
    cluster: Objects, observer: AdoptionObserver
) -> None:
    cluster.put(N1, objects.a_node("n1", unschedulable=True))
    await observer.look_again("n1")
    assert observer.traces_of("n1").cordoned_by == ""


async def test_a_node_that_changes_with_every_look_is_given_up(
    cluster: Objects, observer: AdoptionObserver, server: standin.StandIn
) -> None:
    async def answer(request: Any) -> Any:
        reply = await cluster.answer(request)
        if request.path == N1:
            cluster.put(N1, a_node())
            async with asyncio.timeout(10):
                while version(cluster) != observer.all_nodes()["n1"].facts.resource_version:
                    await asyncio.sleep(0.001)
        return reply

    server.will(answer)
    with pytest.raises(NotAdopted, match="n1 changes faster than it can be read"):
        await observer.look_again("n1")
    assert len([seen for seen in server.seen if seen.path == N1]) == TRIES


# ── what is written ──────────────────────────────────────────────────────────────────────────────────────────────────


async def take_up(client: Client, observer: AdoptionObserver, *adoptions: Adoption, by: Any = classify) -> Taken:
    async with asyncio.timeout(20):
        return await adoption.take_up(client, observer, {each.node: each for each in adoptions}, by)


async def test_nodes_are_written_as_announced_in_one_write_each(
    cluster: Objects, observer: AdoptionObserver, to_server: Client, server: standin.StandIn
) -> None:
    labels = {keys.NVIDIA_STATE_LABEL: "drain-required", keys.SKIP_LABEL: "true", keys.CANARY_LABEL: "old", "kept": "1"}
    notes = dict.fromkeys(NOTES.values(), "x")
    cluster.put(N1, a_node(labels=labels, kept="2", **notes))
    await observer.look_again("n1")
    nodes = observer.all_nodes()
    drops = (Trace.SKIP, Trace.CANARY, Trace.JOBS_TIMER, Trace.VALIDATION_TIMER, Trace.INITIAL_STATE)
    given = (("nvidia.com/gpu.deploy.driver", "true"),)
    untouched = replace(announced(nodes["n2"]), write=None)
    taken = await take_up(to_server, observer, announced(nodes["n1"], *drops, labels=given), untouched)
    assert taken == Taken(written=["n1"])
    meta = cluster.get(N1)["metadata"]
    assert meta["labels"] == {
        "nvidia.com/gpu.present": "true",
        "kept": "1",
        "nvidia.com/gpu.deploy.driver": "true",
        keys.STATE_LABEL: RECORD.phase.value,
        keys.NVIDIA_STATE_LABEL: RECORD.phase.value,
    }, "without an operator NVIDIA's label mirrors ours"
    assert set(meta["annotations"]) == {keys.RECORD_ANNOTATION, keys.REQUESTOR_MODE_ANNOTATION, "kept"}
    assert [seen.path for seen in server.seen if seen.verb == "PATCH"] == [N1]


async def test_where_the_operator_is_its_label_stays_its_own(cluster: Objects, to_server: Client) -> None:
    cluster.put(f"{keys.CLUSTER_POLICIES}/gpu", objects.a_cluster_policy("gpu"))
    async with AdoptionObserver(to_server, namespace=objects.NAMESPACE, on_fault=pytest.fail) as observer:
        await observer.wait_synced(10)
        await observer.read_traces()
        await take_up(to_server, observer, announced(observer.all_nodes()["n1"]))
    assert keys.NVIDIA_STATE_LABEL not in cluster.get(N1)["metadata"]["labels"]


async def test_traces_go_without_a_record_too(cluster: Objects, observer: AdoptionObserver, to_server: Client) -> None:
    cluster.put(N1, a_node(labels={keys.STATE_LABEL: "x", keys.NVIDIA_STATE_LABEL: "y", keys.SKIP_LABEL: "z"}))
    await observer.look_again("n1")
    found = announced(observer.all_nodes()["n1"], Trace.LABEL, Trace.STATE, Trace.WAKE)
    assert found.write is not None
    await take_up(to_server, observer, replace(found, write=replace(found.write, record=None)))
    meta = cluster.get(N1)["metadata"]
    assert (meta["labels"], meta["annotations"]) == ({"nvidia.com/gpu.present": "true"}, {})


async def test_a_node_that_changed_and_comes_to_the_same_is_written_and_one_that_does_not_is_left_alone(
    cluster: Objects, observer: AdoptionObserver, to_server: Client
) -> None:
    both = [announced(node) for node in observer.all_nodes().values()]
    for name in ("n1", "n2"):
        cluster.put(f"{keys.NODES}/{name}", a_node(name, labels={"new": "label"}))

    def anew(seen: NodeSeen, traces: Traces) -> Adoption:
        now = classify(seen, traces)
        return now if seen.facts.name == "n1" else replace(now, fate=Treatment.UNDO)

    assert await take_up(to_server, observer, *both, by=anew) == Taken(written=["n1"], changed=["n2"])
    assert keys.RECORD_ANNOTATION in cluster.get(N1)["metadata"]["annotations"]
    assert keys.RECORD_ANNOTATION not in cluster.get(f"{keys.NODES}/n2")["metadata"]["annotations"]


async def test_a_node_that_has_left_is_left_alone(
    cluster: Objects, observer: AdoptionObserver, to_server: Client
) -> None:
    found = announced(observer.all_nodes()["n1"])
    cluster.remove(N1)
    assert await take_up(to_server, observer, found) == Taken(changed=["n1"])


async def test_a_node_that_changes_with_every_write_is_given_up_and_others_are_written(
    cluster: Objects, observer: AdoptionObserver, to_server: Client, server: standin.StandIn
) -> None:
    both = [announced(node) for node in observer.all_nodes().values()]

    async def answer(request: Any) -> Any:
        if request.method == "PATCH" and request.path == N1:
            return await standin.refuses(409, "Conflict", "it has been modified")(request)
        return await cluster.answer(request)

    server.will(answer)
    with pytest.raises(NotAdopted, match="n1 changes faster than it can be written"):
        await take_up(to_server, observer, *both)
    assert keys.RECORD_ANNOTATION in cluster.get(f"{keys.NODES}/n2")["metadata"]["annotations"]
    assert len([seen for seen in server.seen if seen.verb == "PATCH" and seen.path == N1]) == TRIES


# ── versions, and the rollout ────────────────────────────────────────────────────────────────────────────────────────


async def test_resources_carry_the_version_afterwards_or_that_is_said(
    cluster: Objects, to_server: Client, server: standin.StandIn
) -> None:
    policy = f"{keys.CLUSTER_POLICIES}/gpu"
    cluster.put(policy, objects.a_cluster_policy("gpu", driver={"version": objects.OLD, "image": "driver"}))
    await adoption.publish(to_server, ("ClusterPolicy/gpu",), objects.NEW)
    assert cluster.get(policy)["spec"]["driver"] == {"version": objects.NEW, "image": "driver"}
    with pytest.raises(NotAdopted, match="DaemonSet/x has no driver version"):
        await adoption.publish(to_server, ("DaemonSet/x",), objects.NEW)
    server.will(standin.gives({"spec": {"driver": {}}}))
    with pytest.raises(NotAdopted, match="but the server stored none"):
        await adoption.publish(to_server, ("ClusterPolicy/gpu",), objects.NEW)


async def test_a_rollout_is_made_once_and_one_of_its_name_with_another_target_is_refused(
    cluster: Objects, to_server: Client, server: standin.StandIn
) -> None:
    assert await adoption.create_rollout(to_server, BODY)
    assert not await adoption.create_rollout(to_server, BODY)
    other = {**BODY, "spec": {"target": {"driver": objects.OLD}}}
    with pytest.raises(NotAdopted, match=f"already a GPURollout spring to {objects.NEW}. Choose another name"):
        await adoption.create_rollout(to_server, other)
    server.will(standin.refuses(409, "Conflict", "something else"))
    with pytest.raises(errors.Conflict):
        await adoption.create_rollout(to_server, BODY)
