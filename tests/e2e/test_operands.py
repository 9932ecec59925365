"""A release of operands, node by node, beside the real GPU Operator: toolkit, device plugin, exporter, validator.

With updateStrategy OnDelete the operator gives its DaemonSets new templates and no pod moves; our controller restarts
the operands of the canary, has it measured and baked, and the fleet follows in waves. The pods are played by kwok, the
DaemonSets, their revisions and the ClusterPolicy are real.
"""

from __future__ import annotations

import json
import re
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial_lab.testbed.neighbours import operator
from seatrial_lab.testbed.neighbours.gate_runs import Run as GateRun
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
NEXT = {**WORSE, "device_plugin": "v0.18.2", "dcgm": "4.4.2-4.7.1-ubuntu22.04"}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Four nodes under a ClusterPolicy; nobody brings a repository into the cluster."""
    folder = tmp_path_factory.mktemp("operands")
    with staged(folder, "cluster-policy", node_count=4, is_synced=False, pages="127.0.0.1:0") as made:
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
        and "nodeName" in each["spec"]
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


def taken(stage: Stage, node: str, app: str) -> None:
    """A person deletes a pod of an operand, as an eviction or a reboot would: its DaemonSet makes it anew."""
    stage.plane.kubectl(
        *("delete", "pod", "-n", operator.NAMESPACE, "-l", f"app={app}"),
        *("--field-selector", f"spec.nodeName={node}"),
    )


def counted(stage: Stage, code: str) -> str:
    """How many nodes wait for a reason, by the controller's metrics."""
    found = re.search(r"serving health and metrics address=(\S+)", stage.controller.log.read_text(encoding="utf-8"))
    assert found is not None
    with urllib.request.urlopen(f"http://{found[1]}/metrics", timeout=10) as answer:
        lines: list[str] = answer.read().decode().splitlines()
    return next((line.rpartition(" ")[2] for line in lines if line.startswith(f'seatrial_holds{{code="{code}"}}')), "")


def test_an_operand_that_is_made_anew_in_the_bake_is_told_and_stops_nobody(stage: Stage) -> None:
    canary, leaking, plugin = stage.beside.nodes[0], stage.beside.nodes[2], "nvidia-device-plugin-daemonset"
    before, baking, going_on = pods(stage), threading.Event(), threading.Event()

    def holding(run: GateRun) -> str:
        if run.round > 1:  # the canary bakes until it was looked at
            baking.set()
            going_on.wait(120)
        return ""

    stage.gates.answer = holding
    start(stage, "leaking", driver=NEW, parts=NEXT)
    try:
        stage.wait(baking.is_set, "the canary to bake")
        taken(stage, leaking, plugin)
        stage.wait(lambda: stage.status().get("holds", {}).get("leaked") == 1, "the leak to be told and counted")
        status = stage.status()
        told = next(each for each in status["nodesWaiting"] if each["code"] == "leaked")
        said = f"it already runs device_plugin {NEXT['device_plugin']}, before its turn"
        assert (told["nodes"], said in told["why"]) == ([leaking], True), told
        assert said in " ".join(stage.run("why", leaking).stdout.split())
        assert status["phase"] == "Baking", "nobody takes it for a DaemonSet that rolls"
        assert "rolls-by-itself" not in str(status.get("waits", ""))
        stage.wait(lambda: counted(stage, "leaked") == "1.0", "the metrics to count it")
        early = pods(stage)
        assert moved(before, early) == {canary, leaking}
    finally:
        going_on.set()
    stage.wait_phase("Done")
    after = pods(stage)
    assert after[leaking, plugin] == early[leaking, plugin], "what came by itself is not taken once more"
    assert tags(stage)[plugin] == {NEXT["device_plugin"]}
    assert tags(stage)["nvidia-dcgm-exporter"] == {NEXT["dcgm"]}, "the rest of it came in its turn"
    assert "leaked" not in stage.status().get("holds", {})


def test_a_daemon_set_that_is_put_back_to_roll_stops_the_campaign(stage: Stage) -> None:
    before = pods(stage)
    stage.gates.answer = lambda _run: ""
    start(stage, "rolled", driver=NEW, parts={**NEXT, "device_plugin": "v0.18.3"})
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
