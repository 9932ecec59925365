"""A release of operands, node by node, beside the real GPU Operator: toolkit, device plugin, exporter, validator.

With updateStrategy OnDelete the operator gives its DaemonSets new templates and no pod moves; our controller restarts
the operands of the canary, has it measured and baked, and the fleet follows in waves. The pods are played by kwok, the
DaemonSets, their revisions and the ClusterPolicy are real.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial_lab.testbed.neighbours import operator
from tests.e2e.campaigns import NEW, OLD, Stage, left_behind, staged

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane, pytest.mark.operator]

APPS = (
    "nvidia-container-toolkit-daemonset",
    "nvidia-device-plugin-daemonset",
    "nvidia-dcgm-exporter",
    "nvidia-operator-validator",
)
RELEASE = {
    "container_toolkit": "v1.18.1",
    "device_plugin": "v0.18.1",
    "dcgm": "4.4.2-4.7.0-ubuntu22.04",
    "validator": "v25.10.1",
}
WORSE = {**RELEASE, "container_toolkit": "v1.18.2", "validator": "v25.10.2"}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Four nodes under a ClusterPolicy; nobody brings a repository into the cluster."""
    folder = tmp_path_factory.mktemp("operands")
    with staged(folder, "cluster-policy", node_count=4, is_synced=False) as made:
        yield made


def start(stage: Stage, name: str, driver: str = OLD, parts: dict[str, str] = RELEASE) -> None:
    """A rollout of operands, published by writing the ClusterPolicy."""
    stage.rollout = name
    spec = {
        "target": {"driver": driver, **parts},
        "publish": {"via": "direct"},
        "canary": {"count": 1},
        "gates": [{"name": "smoke-train", "image": "example.org/train:1", "command": ["python", "train.py"]}],
        "bake": {"durationSeconds": 4, "everySeconds": 2},
        "waves": {"growth": "percentages", "percentages": [50, 100]},
        "limits": {"maxParallelUpgrades": 2, "maxUnavailable": 2},
    }
    kind = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout"}
    stage.plane.apply([{**kind, "metadata": {"name": name}, "spec": spec}])


def patch_policy(stage: Stage, **spec: Any) -> None:
    stage.plane.kubectl(
        "patch", "clusterpolicy", operator.CLUSTER_POLICY, "--type=merge", "-p", json.dumps({"spec": spec})
    )


def strategies(stage: Stage) -> dict[str, str]:
    found = stage.plane.get("daemonsets", "-n", operator.NAMESPACE)["items"]
    named = {each["metadata"]["name"]: each["spec"]["updateStrategy"]["type"] for each in found}
    return {name: named[name] for name in APPS}


def pods(stage: Stage) -> dict[tuple[str, str], tuple[str, str]]:
    """By node and app: the uid and the tag of what runs there."""
    found = stage.plane.get("pods", "-n", operator.NAMESPACE)["items"]
    return {
        (each["spec"]["nodeName"], each["metadata"]["labels"]["app"]): (
            each["metadata"]["uid"],
            each["spec"]["containers"][0]["image"].rpartition(":")[2],
        )
        for each in found
        if each["metadata"].get("labels", {}).get("app") in (*APPS, "nvidia-driver-daemonset")
        and "deletionTimestamp" not in each["metadata"]
    }


def moved(before: dict[tuple[str, str], tuple[str, str]], after: dict[tuple[str, str], tuple[str, str]]) -> set[str]:
    """The nodes one of whose pods is another one by now."""
    return {node for (node, app), (uid, _) in before.items() if after.get((node, app), ("",))[0] != uid}


def tags(stage: Stage) -> dict[str, set[str]]:
    """What runs of each operand, over all nodes."""
    found: dict[str, set[str]] = {}
    for (_, app), (_, tag) in pods(stage).items():
        found.setdefault(app, set()).add(tag)
    return found


def test_while_daemon_sets_roll_on_their_own_nothing_begins(stage: Stage) -> None:
    before = pods(stage)
    start(stage, "early")
    stage.wait(lambda: "rolls-by-itself" in str(stage.status().get("waits", "")), "the rollout to say why it waits")
    assert stage.status().get("phase") in (None, "", "Proposed")
    assert moved(before, pods(stage)) == set()
    stage.plane.kubectl("delete", "gpurollout", "early")


def test_on_delete_moves_nobody(stage: Stage) -> None:
    before = pods(stage)
    patch_policy(stage, daemonsets={"updateStrategy": "OnDelete"})
    stage.wait(lambda: set(strategies(stage).values()) == {"OnDelete"}, "every DaemonSet to be OnDelete")
    assert moved(before, pods(stage)) == set()


def test_a_release_of_operands_goes_over_canary_gates_bake_and_waves(stage: Stage) -> None:
    before, canary = pods(stage), stage.beside.nodes[0]
    during: list[set[str]] = []

    said: list[str] = []

    def passing(_run: object) -> str:
        during.append(moved(before, pods(stage)))
        said.append(stage.run("status").stdout)
        return ""

    stage.gates.answer = passing
    drivers = {key: value for key, value in before.items() if key[1] == "nvidia-driver-daemonset"}
    start(stage, "release")
    stage.wait_phase("Done")
    assert during
    assert all(each == {canary} for each in during), "while gates ran, the canary alone had moved"
    assert any("notReady, as expected while operands wait for their turn" in each for each in said), said
    assert tags(stage) == {
        "nvidia-container-toolkit-daemonset": {RELEASE["container_toolkit"]},
        "nvidia-device-plugin-daemonset": {RELEASE["device_plugin"]},
        "nvidia-dcgm-exporter": {RELEASE["dcgm"]},
        "nvidia-operator-validator": {RELEASE["validator"]},
        "nvidia-driver-daemonset": {f"{OLD}-ubuntu22.04"},
    }
    after = pods(stage)
    assert {key: after[key] for key in drivers} == drivers, "no driver was restarted"
    assert cordons(stage) == dict.fromkeys(stage.beside.nodes, 1), "one visit, one cordon"
    assert not left_behind(stage)


def cordons(stage: Stage) -> dict[str, int]:
    """How often each node was closed, over all that was seen."""
    counts: Counter[str] = Counter()
    last: dict[str, bool] = {}
    for moment in stage.history.nodes():
        counts[moment.name] += moment.is_cordoned and not last.get(moment.name, False)
        last[moment.name] = moment.is_cordoned
    return {name: count for name, count in counts.items() if count}


def test_a_gate_that_fails_takes_the_canarys_operands_back_and_touches_nobody_else(stage: Stage) -> None:
    before, canary = pods(stage), stage.beside.nodes[0]
    stage.gates.answer = lambda run: "loss of 3 %" if run.gate == "smoke-train" and run.round >= 2 else ""
    start(stage, "worse", parts=WORSE)
    stage.wait_phase("Reverted")
    after = pods(stage)
    assert moved(before, after) == {canary}
    assert tags(stage)["nvidia-container-toolkit-daemonset"] == {RELEASE["container_toolkit"]}
    assert tags(stage)["nvidia-operator-validator"] == {RELEASE["validator"]}


def test_a_release_with_a_new_driver_is_one_visit_of_each_node(stage: Stage) -> None:
    earlier = cordons(stage)
    stage.gates.answer = lambda _run: ""
    start(stage, "both", driver=NEW, parts=WORSE)
    stage.wait_phase("Done")
    assert set(stage.beside.driver_versions().values()) == {NEW}
    assert tags(stage)["nvidia-container-toolkit-daemonset"] == {WORSE["container_toolkit"]}
    assert {name: count - earlier[name] for name, count in cordons(stage).items()} == dict.fromkeys(
        stage.beside.nodes, 1
    )


def test_a_daemon_set_that_is_put_back_to_roll_stops_the_campaign(stage: Stage) -> None:
    before = pods(stage)
    start(stage, "rolled", driver=NEW, parts={**WORSE, "device_plugin": "v0.18.2"})
    stage.wait(lambda: stage.status().get("phase") in ("Gating", "Baking"), "the canary to be through")
    stage.plane.kubectl(
        "patch",
        "daemonset",
        "nvidia-dcgm-exporter",
        "-n",
        operator.NAMESPACE,
        "-p",
        '{"spec": {"updateStrategy": {"type": "RollingUpdate"}}}',
    )
    stage.wait(lambda: "rolls-by-itself" in str(stage.status().get("waits", "")), "the campaign to stop")
    plugins = {key: value for key, value in before.items() if key[1] == "nvidia-device-plugin-daemonset"}
    assert moved(plugins, pods(stage)) == {stage.beside.nodes[0]}, "no second node was visited"
