"""What a driver has to prove before its node comes back, what it is told to do again, and what it is spared.

The fleet has everything that depends on a driver: feature discovery, device plugin, DRA plugin, validator. The stories
share it, one after the other; the last one takes the driver's DaemonSet away from over its pods.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.nodes import consumers, dra, manifests, stages
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.conftest import DRIVERS, TIMEOUT_SECONDS, Play, Stage
from tests.e2e.promises import PATH, driver_restarts, has_left

pytestmark = pytest.mark.cluster

NODES = 5
RESTARTED = ("upgrade-required", *PATH[5:])
"""The states of a node on which nothing that is loaded changes."""


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    """The fleet of all stories."""
    spec = FleetSpec(
        prefix="proof",
        node_count=NODES,
        driver_version=DRIVERS[0],
        reload_seconds=0.5,
        has_feature_discovery=True,
        has_device_plugin=True,
        has_dra=True,
    )
    made = make_fleet(cluster, spec)
    yield made
    made.remove()


def set_variable(fleet: Fleet, variable: str) -> None:
    """Change the environment of the driver's container in the template; no pod moves by that."""
    where = ("-n", fleet.spec.namespace, f"daemonset/{fleet.driver_daemon_set}")
    fleet.plane.kubectl("set", "env", *where, "-c", "nvidia-driver-ctr", variable)


def publish(fleet: Fleet, version: str, digest: str) -> None:
    """Put another driver and its digest into the template at once, as the operator does."""
    named = {"name": "nvidia-driver-ctr", "image": manifests.driver_image(version)}
    container = named | {"env": [{"name": keys.DIGEST_VARIABLE, "value": digest}]}
    body = {"spec": {"template": {"spec": {"containers": [container]}}}}
    where = ("-n", fleet.spec.namespace, "daemonset", fleet.driver_daemon_set)
    fleet.plane.kubectl("patch", *where, "--type=strategic", "-p", json.dumps(body))  # lists are merged by name


def started_at(pod: dict[str, Any]) -> datetime:
    """When the first container of a pod that runs was started."""
    starts = [each["state"]["running"]["startedAt"] for each in pod["status"]["containerStatuses"]]
    return min(map(datetime.fromisoformat, starts))


def uids(pods: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {node: pod["metadata"]["uid"] for node, pod in pods.items()}


def wait_event(stage: Stage, node: str, kind: str, *parts: str) -> str:
    """Wait until something was told about a node; its text."""
    return waiting.wait_for(
        lambda: next(
            (
                text
                for name, type_, text in stage.events()
                if (name, type_) == (node, kind) and all(part in text for part in parts)
            ),
            None,
        ),
        what=f"{node} to be told of with {parts}",
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=0.2,
        describe=lambda: str(sorted(stage.events())),
    )


def test_a_node_comes_back_only_when_all_that_depends_on_its_driver_is_well(play: Play, fleet: Fleet) -> None:
    plain, mended, accepted, crashing, pulling = fleet.nodes
    fleet.lose_gpu(mended)
    fleet.lose_gpu(accepted)
    fleet.break_driver(crashing, "module-load", restart_count=10)
    fleet.break_driver(pulling, "image-pull")
    plugins = uids(fleet.dra_pods())
    with play("proof") as stage:
        set_variable(fleet, f"{keys.DIGEST_VARIABLE}=first")
        fleet.set_driver_version(stage.target)
        stage.wait_upgraded(plain)
        why = stage.wait_held(
            {mended: "offer-reduced", accepted: "offer-reduced", crashing: "failed", pulling: "driver-starting"}
        )
        for node in (mended, accepted):
            assert f"{stages.GPU} 7 of 8" in why[node]
            assert stage.state(node) == "validation-required"
        assert "keeps crashing; this driver cannot be built or loaded" in why[crashing]
        assert stages.PULL_MESSAGE in why[pulling]
        told = wait_event(stage, crashing, "Warning", "keeps crashing; this driver cannot be built or loaded")
        assert f"`seatrial node retry {crashing}`" in told
        assert all(stage.history.latest()[node].is_cordoned for node in fleet.nodes if node != plain)

        # Each finds its way out: repaired, accepted, mended and retried, mended and found to lack something else.
        fleet.restore_gpu(mended)
        assert stage.do("node", "retry", accepted, "--accept-loss") == f"{accepted} may offer less than before.\n"
        stage.wait_upgraded(mended, accepted)
        assert keys.ACCEPT_LOSS_ANNOTATION not in stage.node(accepted)["annotations"]
        assert "7 of 8), accepted by a person" in stage.do("why", accepted)
        fleet.restore_gpu(accepted)
        fleet.mend(crashing)
        stage.do("node", "retry", crashing)
        fleet.lose_runtime_handler(pulling)
        fleet.mend(pulling)
        why = stage.wait_held({pulling: "runtime-handler-missing"})
        assert f"lost the handler {stages.RUNTIME_HANDLER}" in why[pulling]
        fleet.restore_runtime_handler(pulling)
        stage.wait_upgraded()
    drivers, published = fleet.driver_pods(), fleet.published_versions()
    for node, plugin in fleet.dra_pods().items():
        assert plugin["metadata"]["uid"] != plugins[node], "the plugin of the old driver is still there"
        assert started_at(drivers[node]) < started_at(plugin)
        assert started_at(plugin) < datetime.fromisoformat(stage.record(node)["enteredAt"]), "uncordoned too early"
        assert published[node] == dra.semantic_version(stage.target)
        assert not stage.history.latest()[node].is_cordoned
    for node in (plain, mended, accepted, pulling):
        assert stage.states_from(node, "upgrade-required") == [*PATH[1:]]


def test_a_change_of_nothing_that_is_loaded_restarts_the_driver_under_its_users(play: Play, fleet: Fleet) -> None:
    users = [consumers.add_pod(fleet, node, name="user", gpus=1) for node in fleet.nodes]
    (running,) = set(fleet.driver_versions().values())
    drivers = uids(fleet.driver_pods())
    with play("restart", target=running) as stage:
        set_variable(fleet, "COSMETIC=changed")
        stage.wait_upgraded()
        assert stage.evictions() == []
        for node, user in zip(fleet.nodes, users, strict=True):
            assert stage.states_from(node, "upgrade-required") == [*RESTARTED]
            assert not has_left(stage.history, user.name)
            (here,) = driver_restarts(stage.history, node)
            assert user.name in here
            assert stage.was_cordoned(node)
            assert not stage.history.latest()[node].is_cordoned
    assert drivers.items() & uids(fleet.driver_pods()).items() == set()


@pytest.mark.long
def test_who_asks_for_an_upgrade_gets_one_and_who_waits_for_safe_load_is_let_load_scenarios_37_38_73(
    play: Play, fleet: Fleet
) -> None:
    asked, again, loading, *others = fleet.nodes
    (running,) = set(fleet.driver_versions().values())
    drivers = uids(fleet.driver_pods())
    with play("asked", target=running) as stage:
        stage.annotate(asked, f"{keys.REQUESTED_ANNOTATION}=true")
        stage.annotate(loading, f"{keys.SAFE_LOAD_ANNOTATION}=some-pod")
        refused = stage.run("node", "retry", again)
        assert refused.returncode == 1
        assert f"`seatrial node retry {again} --again`" in refused.stderr
        assert stage.do("node", "retry", again, "--again") == f"{again} is upgraded once more.\n"
        stage.wait_upgraded(asked, again, loading)
        for node in (asked, again, loading):
            assert stage.states_from(node, "upgrade-required") == [*PATH[1:]]
            assert (
                stage.node(node)["annotations"].keys() & {keys.REQUESTED_ANNOTATION, keys.SAFE_LOAD_ANNOTATION} == set()
            )
        assert stage.controller.stop() == 0
        told = stage.events()
    assert (loading, "Normal", f"Successfully updated node annotation to {keys.SAFE_LOAD_ANNOTATION}=null") in told
    after = uids(fleet.driver_pods())
    # A node in sync that waits for safe load has its driver already: it is let load, and nothing is deleted.
    assert {node for node in fleet.nodes if after[node] != drivers[node]} == {asked, again}
    for node in others:
        assert not stage.was_cordoned(node)


@pytest.mark.long
def test_a_version_taken_back_midway_lets_go_who_has_not_begun_and_takes_back_who_has(play: Play, fleet: Fleet) -> None:
    begun, held, *pending = fleet.nodes
    holder = consumers.add_static_pod(fleet, held, name="static", gpus=1)
    fleet.break_driver(begun, "image-pull")
    with play("back", limits={"maxParallelUpgrades": 2}) as stage:
        publish(fleet, stage.target, "second")
        holds = {held: "static-pod-holds-gpu", begun: "driver-starting", **dict.fromkeys(pending, "parallel-limit")}
        stage.wait_held(holds)
        evictions = len(stage.evictions())
        where = ("-n", fleet.spec.namespace, f"daemonset/{fleet.driver_daemon_set}")
        stage.cluster.kubectl("rollout", "undo", *where)
        stage.patch(target={"driver": stage.running})
        stage.wait(
            lambda: all(stage.state(node) == "upgrade-done" for node in (held, *pending)),
            "everybody whose driver is untouched to be let go",
        )
        fleet.mend(begun)
        stage.wait_upgraded(begun)
        assert len(stage.evictions()) == evictions
        stage.remove(holder)
    assert set(fleet.driver_versions().values()) == {stage.running}
    for node in pending:
        assert stage.states_from(node, "upgrade-required") == ["upgrade-required", "upgrade-done"]
        assert not stage.was_cordoned(node)
        assert driver_restarts(stage.history, node) == []
    assert stage.states_from(held, "upgrade-required") == [*PATH[1:5], *PATH[7:]]
    assert driver_restarts(stage.history, held) == []
    assert not has_left(stage.history, f"user-{held}")
    assert len(driver_restarts(stage.history, begun)) == 2
    assert stage.states_from(begun, "upgrade-required") == [*PATH[1:]]
    assert [node for node, moment in stage.history.latest().items() if moment.is_cordoned] == []


@pytest.mark.long
def test_orphaned_driver_pods_are_nobodys_until_somebody_asks_scenarios_52_53_74(play: Play, fleet: Fleet) -> None:
    first, *others = fleet.nodes
    drivers = uids(fleet.driver_pods())
    with play("orphans") as stage:
        fleet.orphan_driver_pods(stage.target)
        why = stage.wait_held(dict.fromkeys(fleet.nodes, "driver-orphaned"))
        assert f"{fleet.driver_pods()[first]['metadata']['name']} is orphaned" in why[first]
        assert [node for node in fleet.nodes if stage.was_cordoned(node)] == []
        assert uids(fleet.driver_pods()) == drivers

        stage.annotate(first, f"{keys.REQUESTED_ANNOTATION}=true")
        stage.wait_upgraded(first)
        stage.do("node", "retry", *others, "--again")
        stage.wait_upgraded()
        for node in fleet.nodes:
            assert stage.states_from(node, "upgrade-required") == [*PATH[1:]]
            assert len(driver_restarts(stage.history, node)) == 1
    assert set(fleet.driver_versions().values()) == {stage.target}
