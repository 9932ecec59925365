"""The table of streams as a whole: every row that is about nodes costs those it is about, in a fleet of many."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.reading import items, table
from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.streams.row import Need, Row, Where
from seatrial.adapters.kube.streams.streams import Streams
from tests.adapters.kube import objects

FLEET = tuple(f"n{number}" for number in range(100))
ROWS = (*table.ROLLOUT, *table.CAMPAIGN, *table.SWITCHED)
GPUS = ({"driver": "gpu.nvidia.com", "pool": "n2", "device": "gpu-0"},)

CHANGES: dict[Row[Any, Any], dict[str, Any]] = {
    table.NODES: objects.a_node("n2", version="101", unschedulable=True),
    table.PODS: objects.a_gpu_pod(node="n2", version="101"),
    table.CLAIMS: objects.a_claim("n2", *GPUS, version="101"),
    table.SLICES: objects.a_slice("n2", "580.105.8", version="101"),
    table.MAINTENANCES: objects.a_maintenance("a", version="101"),
    table.WARNINGS: objects.a_warning("driver-n2", "Failed", "no image", version="101"),
}
"""Of each row that is about nodes, a change that is about n2."""


@pytest.fixture
def streams(to_server: Client) -> Streams:
    """A fleet with a driver pod and a pod with a claim on every node; nothing of it is to be built anew any more."""
    made = Streams(to_server, ROWS, Where(namespace=objects.NAMESPACE, home=keys.HOME))
    for name in FLEET:
        wrote(made, table.NODES, objects.a_node(name))
        wrote(made, table.PODS, objects.a_driver_pod(name))
        wrote(made, table.PODS, objects.a_claimant(name, node=name))
        wrote(made, table.CLAIMS, objects.a_claim(name))
    made.take_touched()
    return made


def wrote(streams: Streams, row: Row[Any, Any], thing: dict[str, Any]) -> None:
    streams[row].wrote(msgspec.convert(thing, row.model))


def test_a_row_that_is_about_nodes_has_a_change_in_this_file() -> None:
    assert CHANGES.keys() == {row for row in ROWS if row.node or row.reach}


@pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in CHANGES])
def test_a_change_about_one_node_costs_that_node_and_no_other(streams: Streams, row: Row[Any, Any]) -> None:
    wrote(streams, row, CHANGES[row])
    assert streams.take_touched() == ["n2"]


def test_a_warning_about_a_pod_that_is_no_driver_costs_nothing(streams: Streams) -> None:
    wrote(streams, table.PODS, objects.a_validator_pod("n3"))
    streams.take_touched()
    wrote(streams, table.WARNINGS, objects.a_warning("validator-n3", "BackOff", "again"))
    assert streams.take_touched() == []


def test_how_many_pods_of_a_daemon_set_are_ready_is_no_news_and_how_it_rolls_is(streams: Streams) -> None:
    heard: list[items.DaemonSetItem] = []
    streams.hear(lambda _, after: heard.append(after), table.DAEMON_SETS)
    for version, ready, strategy in (("1", 1, "OnDelete"), ("2", 2, "OnDelete"), ("3", 2, "RollingUpdate")):
        meta = {"name": "nvidia-operator-validator", "namespace": objects.NAMESPACE, "resourceVersion": version}
        spec, status = {"updateStrategy": {"type": strategy}}, {"numberReady": ready}
        wrote(streams, table.DAEMON_SETS, {"metadata": meta, "spec": spec, "status": status})
    assert [each.is_rolling for each in heard] == [False, True]


def test_nothing_is_decided_where_one_of_these_is_not_seen_and_everything_else_only_explains() -> None:
    """Whoever lacks the right to see one of the others has its rollouts all the same."""
    every = [row for row in vars(table).values() if isinstance(row, Row)]
    assert {row.name for row in every if row.need is Need.REQUIRED} == {
        "nodes",
        "pods",
        "gpurollouts",
        "daemonsets",
        "daemonsets of the DRA plugin",
        "controllerrevisions",
        "controllerrevisions of the DRA plugin",
        "controllerrevisions of the network driver",
        "jobs",
        "pods of jobs",
    }
    assert {row.name for row in every if row.need is Need.IF_INSTALLED} == {
        "clusterpolicies",
        "nicclusterpolicies",
        "nvidiadrivers",
        "machineconfigpools",
        "nodemaintenances",
        "resourceclaims",
        "resourceslices",
    }


def test_every_row_has_a_name_of_its_own_and_is_asked_for_once() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert set(table.MOVED) < set(table.FLEET) < set(table.ROLLOUT)
    assert not set(table.ROLLOUT) & {*table.CAMPAIGN, *table.SWITCHED}
