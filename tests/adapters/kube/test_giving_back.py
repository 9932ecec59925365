"""Our marks are taken off nodes: all that are ours, nothing else, and nothing that changed since it was looked at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.giving_back import TRIES, WRITES_MAX, GivenBack, MarkedNodes, NotGivenBack
from seatrial.adapters.kube.shapes import keys
from seatrial.core.model.seen.nodes import NodeSeen
from tests.adapters.kube import objects, standin
from tests.adapters.kube.versioned import Objects

OURS = {keys.STATE_LABEL: "upgrade-done", keys.CANARY_LABEL: "spring", keys.NVIDIA_STATE_LABEL: "upgrade-done"}
NOTES = {keys.RECORD_ANNOTATION: "{}", keys.MANAGER_CORDON_ANNOTATION: "2026-01-02T03:04:05Z", "kept": "yes"}


@pytest.fixture
def cluster(server: standin.StandIn) -> Objects:
    """One node with marks of ours and of others, and one with none."""
    there = Objects(keys.PODS, keys.revisions_path(objects.NAMESPACE), keys.ROLLOUTS)
    marked = objects.a_node("n1", labels={"kept": "yes", **OURS})
    marked["metadata"]["annotations"] = dict(NOTES)
    there.put(f"{keys.NODES}/n1", marked)
    there.put(f"{keys.NODES}/n2", objects.a_node("n2"))
    server.will(there.answer)
    return there


@pytest.fixture
async def nodes(cluster: Objects, to_server: Client) -> AsyncIterator[MarkedNodes]:
    async with MarkedNodes(to_server, namespace=objects.NAMESPACE, on_fault=pytest.fail) as opened:
        await opened.wait_synced(10)
        yield opened


def nobody_keeps(_: NodeSeen) -> str:
    return ""


def metadata(cluster: Objects) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get(f"{keys.NODES}/n1")["metadata"]
    return found


def patches(server: standin.StandIn) -> list[str]:
    return [seen.path for seen in server.seen if seen.verb == "PATCH"]


async def test_all_that_is_ours_goes_in_one_write_and_a_second_run_writes_nothing(
    cluster: Objects, nodes: MarkedNodes, server: standin.StandIn
) -> None:
    assert await nodes.give_back(nobody_keeps) == GivenBack(cleaned=["n1"])
    after = metadata(cluster)
    assert after["labels"] == {"nvidia.com/gpu.present": "true", "kept": "yes"}
    assert after["annotations"] == {
        "kept": "yes",
        keys.MANAGER_CORDON_ANNOTATION: NOTES[keys.MANAGER_CORDON_ANNOTATION],
    }, "what a driver manager said of its cordon goes with the cordon"
    assert await nodes.give_back(nobody_keeps) == GivenBack()
    assert patches(server) == [f"{keys.NODES}/n1"]


async def test_nvidias_label_is_left_to_her_where_her_operator_is(cluster: Objects, to_server: Client) -> None:
    cluster.put(f"{keys.CLUSTER_POLICIES}/gpu", objects.a_cluster_policy("gpu"))
    async with MarkedNodes(to_server, namespace=objects.NAMESPACE, on_fault=pytest.fail) as nodes:
        await nodes.wait_synced(10)
        await nodes.give_back(nobody_keeps)
    assert metadata(cluster)["labels"].get(keys.NVIDIA_STATE_LABEL) == "upgrade-done"


async def test_her_label_alone_is_no_mark_of_ours(cluster: Objects, nodes: MarkedNodes) -> None:
    cluster.put(f"{keys.NODES}/n1", objects.a_node("n1", labels={keys.NVIDIA_STATE_LABEL: "upgrade-done"}))
    assert await nodes.give_back(nobody_keeps) == GivenBack()


async def test_a_node_that_has_a_reason_keeps_its_marks_and_the_reason_is_told(
    cluster: Objects, nodes: MarkedNodes, server: standin.StandIn
) -> None:
    found = await nodes.give_back(lambda seen: f"{seen.facts.name} is being upgraded")
    assert found == GivenBack(kept={"n1": "n1 is being upgraded"})
    assert patches(server) == []


async def test_a_trial_says_what_would_be_written_and_writes_nothing(
    cluster: Objects, nodes: MarkedNodes, server: standin.StandIn
) -> None:
    assert await nodes.give_back(nobody_keeps, is_trial=True) == GivenBack(cleaned=["n1"])
    assert patches(server) == []


async def test_a_node_that_changed_is_looked_at_again_and_decided_anew(
    cluster: Objects, nodes: MarkedNodes, server: standin.StandIn
) -> None:
    asked: list[str] = []

    def why(seen: NodeSeen) -> str:
        asked.append(seen.facts.resource_version)
        if len(asked) == 1:  # somebody writes it in this very moment
            cluster.put(f"{keys.NODES}/n1", objects.a_node("n1", labels={**OURS, "theirs": "now"}))
        return "" if len(asked) < 2 else "it is another one now"

    found = await nodes.give_back(why)
    assert found == GivenBack(kept={"n1": "it is another one now"})
    assert metadata(cluster)["labels"]["theirs"] == "now"
    assert asked[0] != asked[1]


async def test_a_node_that_changes_faster_than_it_can_be_written_is_given_up_and_others_are_not(
    cluster: Objects, nodes: MarkedNodes, server: standin.StandIn
) -> None:
    cluster.put(f"{keys.NODES}/n2", objects.a_node("n2", labels=OURS))

    def why(seen: NodeSeen) -> str:
        if seen.facts.name == "n1":
            cluster.put(f"{keys.NODES}/n1", objects.a_node("n1", labels=OURS))
        return ""

    with pytest.raises(NotGivenBack, match="n1 changes faster than it can be written"):
        await nodes.give_back(why)
    assert patches(server).count(f"{keys.NODES}/n1") == TRIES
    assert keys.STATE_LABEL not in cluster.get(f"{keys.NODES}/n2")["metadata"]["labels"]


async def test_a_node_that_fails_keeps_none_of_those_behind_it_from_being_written(
    cluster: Objects, nodes: MarkedNodes
) -> None:
    behind = [f"m{number}" for number in range(2 * WRITES_MAX)]
    for name in behind:
        cluster.put(f"{keys.NODES}/{name}", objects.a_node(name, labels=OURS))

    def why(seen: NodeSeen) -> str:
        if seen.facts.name == "m0":
            raise NotGivenBack("m0 is refused")
        return ""

    with pytest.raises(NotGivenBack, match="m0"):
        await nodes.give_back(why)
    left = [name for name in behind if keys.STATE_LABEL in cluster.get(f"{keys.NODES}/{name}")["metadata"]["labels"]]
    assert left == ["m0"]


async def test_a_node_that_has_left_needs_nothing(cluster: Objects, nodes: MarkedNodes) -> None:
    def why(_: NodeSeen) -> str:
        cluster.remove(f"{keys.NODES}/n1")
        return ""

    async with asyncio.timeout(10):
        assert await nodes.give_back(why) == GivenBack()
