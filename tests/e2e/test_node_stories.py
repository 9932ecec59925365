"""Small stories on a real control plane: what goes wrong with a node, who holds it back, and how it goes on.

They share one fleet, one after the other: each story wants the driver that the fleet does not run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.controller_process import ControllerProcess
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import DRIVERS, TIMEOUT_SECONDS, Play
from tests.e2e.promises import PATH, driver_restarts, has_left, shortest_pauses

pytestmark = pytest.mark.cluster

PREFIX = "story"
NODES = 4


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    """The fleet of all stories."""
    made = make_fleet(
        cluster, FleetSpec(prefix=PREFIX, node_count=NODES, driver_version=DRIVERS[0], reload_seconds=0.5)
    )
    yield made
    made.remove()


@pytest.mark.long
def test_a_module_that_does_not_load_fails_one_node_and_a_retry_takes_a_fresh_pod(play: Play) -> None:
    with play("module") as stage:
        broken, others = stage.fleet.nodes[1], (*stage.fleet.nodes[:1], *stage.fleet.nodes[2:])
        stage.fleet.break_driver(broken, "module-load", restart_count=9)
        stage.fleet.set_driver_version(stage.target)
        stage.wait_upgraded(*others)
        stage.wait(lambda: stage.state(broken) == "upgrade-failed", "the broken node to be given up")
        assert stage.history.latest()[broken].is_cordoned
        assert [name for name in others if stage.history.latest()[name].is_cordoned] == []

        answer = stage.run("why", broken)
        assert "the upgrade of this node failed: a container of the driver pod keeps crashing" in answer.stdout
        assert f"Then: `seatrial node retry {broken}`" in answer.stdout
        assert answer.returncode == 0

        failed = stage.fleet.driver_pods()[broken]["metadata"]["uid"]
        assert stage.do("node", "retry", broken) == f"{broken} is tried again.\n"
        stage.wait(
            lambda: any(pod.node == broken and pod.uid == failed and pod.is_gone for pod in stage.history.pods()),
            "the driver pod that failed to be gone",
        )
        stage.fleet.mend(broken)
        stage.wait_upgraded(broken)
        assert not stage.history.latest()[broken].is_cordoned
        assert stage.fleet.driver_pods()[broken]["metadata"]["uid"] != failed
        assert stage.states_from(broken, "upgrade-required") == [*PATH[1:6], "upgrade-failed", *PATH[1:]]
    assert set(stage.fleet.driver_versions().values()) == {stage.target}


@pytest.mark.long
def test_a_budget_that_allows_nothing_is_honoured_named_and_outwaited(play: Play) -> None:
    with play("budget") as stage:
        workload = stage.fleet.add_workload("service", replicas=1, gpus_per_pod=8, min_available=1)
        (pod,) = stage.fleet.pods_of(workload)
        node, others = pod["spec"]["nodeName"], [name for name in stage.fleet.nodes if name != pod["spec"]["nodeName"]]
        stage.fleet.set_driver_version(stage.target)
        stage.wait_upgraded(*others)
        said = stage.wait_told(node, f"PodDisruptionBudget {workload.namespace}/service")
        assert f"{workload.namespace}/{pod['metadata']['name']}" in said
        waiting.wait_for(
            lambda: len(stage.evictions()) > 1,
            what="the second eviction",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.2,
        )

        stage.patch(podDeletion={"timeoutSeconds": 1})
        stage.wait_state(node, "upgrade-failed")
        assert stage.history.latest()[node].is_cordoned
        assert "GPU pods did not leave in time; none was force-deleted" in stage.run("why", node).stdout
        assert not has_left(stage.history, "service")
        asked = [each for each in stage.evictions() if each.namespace == workload.namespace]
        assert {each.code for each in asked} == {429}
        # The audit log's clock starts when a request arrives, ours when its answer does.
        assert min(shortest_pauses(asked).values()) >= 4.9
        # The way out: somebody makes room, and asks for another try.
        stage.remove(workload)
        stage.label(node, f"{keys.STATE_LABEL}=upgrade-required")
        stage.wait_upgraded(node)
        assert not stage.history.latest()[node].is_cordoned


def test_a_skipped_node_keeps_its_driver_pod_and_only_it_scenario_11(play: Play) -> None:
    with play("skip") as stage:
        skipped, others = stage.fleet.nodes[0], stage.fleet.nodes[1:]
        assert stage.do("node", "skip", skipped) == f"{skipped} is left out.\n"
        assert stage.node(skipped)["labels"][keys.SKIP_LABEL] == "true"
        stage.fleet.set_driver_version(stage.target)
        stage.wait_upgraded(*others)
        stage.wait_holds(skipped=1)
        assert not stage.was_cordoned(skipped)
        assert stage.state(skipped) == "upgrade-required"

        answer = stage.run("status", "-o", "json")
        said = json.loads(answer.stdout)
        assert answer.returncode == 8, "it is over as far as it goes by itself, without one of its nodes"
        assert said["rollout"] == {
            "name": "skip",
            "target": stage.target,
            "state": "waiting",
            "done": NODES - 1,
            "total": NODES,
        }
        assert [(held["subject"], held["code"]) for held in said["holds"]] == [(skipped, "skipped")]
        assert {node["name"]: (node["state"], node["driver"]) for node in said["nodes"]} == {
            skipped: ("upgrade-required", stage.running),
            **dict.fromkeys(others, ("upgrade-done", stage.target)),
        }

        assert [len(driver_restarts(stage.history, name)) for name in stage.fleet.nodes] == [0, 1, 1, 1]
        assert stage.do("node", "unskip", skipped) == f"{skipped} may be upgraded.\n"
        stage.wait_upgraded(skipped)
        waiting.wait_for(
            lambda: stage.status().get("state") == "done",
            what="the rollout to be done",
            timeout_seconds=TIMEOUT_SECONDS,
            pause_seconds=0.2,
        )
        answer = stage.run("status", "-o", "json")
        assert (answer.returncode, json.loads(answer.stdout)["rollout"]["state"]) == (0, "done")


def test_a_paused_rollout_moves_nothing_and_a_resumed_one_finishes(play: Play) -> None:
    with play("paused", paused=True) as stage:
        before = {name: moment.state for name, moment in stage.history.latest().items()}
        stage.fleet.set_driver_version(stage.target)
        stage.wait_holds(paused=NODES)
        assert stage.run("status").returncode == 12
        assert {name: moment.state for name, moment in stage.history.latest().items()} == before
        assert [name for name in stage.fleet.nodes if stage.was_cordoned(name)] == []
        assert set(stage.fleet.driver_versions().values()) == {stage.running}
        stage.patch(paused=False)
        stage.wait_upgraded()
    for name in stage.fleet.nodes:
        assert stage.states_from(name, "upgrade-required") == [*PATH[1:]]


def test_a_version_that_is_taken_back_releases_nodes_that_have_not_started(play: Play) -> None:
    with play("revert", limits={"maxUnavailable": 0}) as stage:
        stage.fleet.set_driver_version(stage.target)
        stage.wait(
            lambda: all(stage.state(name) == "upgrade-required" for name in stage.fleet.nodes),
            "every node to wait for its turn",
        )
        stage.patch(paused=True)
        stage.fleet.set_driver_version(stage.running)
        stage.patch(paused=False, target={"driver": stage.running}, limits={"maxUnavailable": "100%"})
        stage.wait(
            lambda: all(stage.state(name) == "upgrade-done" for name in stage.fleet.nodes), "every node to be let go"
        )
        assert stage.controller.stop() == 0
    assert {tuple(stage.history.states(name)[-2:]) for name in stage.fleet.nodes} == {
        ("upgrade-required", "upgrade-done")
    }
    assert [name for name in stage.fleet.nodes if stage.was_cordoned(name)] == []
    assert [pod for pod in stage.history.pods("nvidia-driver-daemonset") if pod.is_leaving] == []


@pytest.mark.long
def test_a_second_controller_stands_by_and_takes_over_when_the_first_is_killed(
    play: Play, account: Path, tmp_path: Path
) -> None:
    (tmp_path / "second").mkdir()
    with play("pair", limits={"maxParallelUpgrades": 1}, lease_seconds=8) as stage:
        first = stage.controller
        wait_said(first, "leading", count=1)
        with ControllerProcess(account, "pair", tmp_path / "second", lease_seconds=8) as second:
            wait_said(second, "standing by", count=1)
            assert second.stop() == 0
            second.start()
            wait_said(second, "standing by", count=2)
            stage.fleet.set_driver_version(stage.target)
            stage.wait(lambda: any(map(stage.was_cordoned, stage.fleet.nodes)), "the first node to be cordoned")
            assert " leading " not in second.log.read_text(encoding="utf-8")
            first.kill()
            stage.history.wait_for(
                lambda: all(
                    moment.state == "upgrade-done" and "uncordon-required" in stage.history.states(name)
                    for name, moment in stage.history.latest().items()
                ),
                what="the second controller to finish",
                timeout_seconds=TIMEOUT_SECONDS,
                check=second.check,
            )
            assert second.stop() == 0
        assert " leading " in second.log.read_text(encoding="utf-8")
    for name in stage.fleet.nodes:
        assert stage.states_from(name, "upgrade-required") == [*PATH[1:]]


def wait_said(controller: ControllerProcess, what: str, *, count: int) -> None:
    """Wait until a controller's log has said something so many times."""
    waiting.wait_for(
        lambda: controller.log.read_text(encoding="utf-8").count(f" {what} ") >= count,
        what=f"{controller.log.name} to say {what!r}",
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=0.1,
    )
