"""Whether anybody is in charge, what stands in the way and what counts as done: on a real control plane, as people ask.

They share one fleet, one after the other: each story wants the driver that the fleet does not run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.e2e.conftest import ANY, DRIVERS, Play, RolloutMaker

pytestmark = pytest.mark.cluster

HOME = "seatrial"
PREFIX = "charge"
NODES = 3


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    spec = FleetSpec(prefix=PREFIX, node_count=NODES, driver_version=DRIVERS[0], reload_seconds=0.5)
    made = make_fleet(cluster, spec)
    yield made
    made.remove()


def column(cluster: ControlPlane, rollout: str) -> dict[str, str]:
    """The row that kubectl shows of a rollout."""
    head, row = cluster.kubectl("get", "gpurollout", rollout).splitlines()
    starts = [head.index(name) for name in head.split()] + [len(head) + 200]
    return {name: row[first:last].strip() for name, first, last in zip(head.split(), starts, starts[1:], strict=False)}


def test_before_any_controller_ever_ran_nobody_promises_anything(
    cluster: ControlPlane, fleet: Fleet, make_rollout: RolloutMaker
) -> None:
    leases = cluster.get("leases", "-A", "--field-selector=metadata.name=seatrial")["items"]
    for lease in leases:  # other stories of this run have had one
        cluster.kubectl("delete", "lease", "seatrial", "-n", lease["metadata"]["namespace"])
    make_rollout("early", fleet=PREFIX, target=DRIVERS[1], limits=ANY)
    where = ("--kubeconfig", str(cluster.kubeconfig), "-n", fleet.spec.namespace)
    said = forked.run("status", "early", *where)
    assert said.returncode == 12, said.stderr
    assert "Leader    none; no controller has ever run here" in said.stdout
    assert said.stdout.index("leaderless") < said.stdout.index("As of") or "Waiting:\n  leaderless" in said.stdout
    why = forked.run("why", "early", *where)
    assert why.returncode == 12
    assert "no controller is in charge (none has ever run here), so nothing moves" in why.stdout
    node = forked.run("why", fleet.nodes[0], *where, "--rollout", "early")
    assert node.returncode == 12
    assert "no controller is in charge" in node.stdout


def test_a_lease_of_a_tenants_own_passes_for_no_controller(
    cluster: ControlPlane, fleet: Fleet, make_rollout: RolloutMaker
) -> None:
    cluster.kubectl("delete", "lease", "seatrial", "-n", HOME, "--ignore-not-found")
    cluster.kubectl("create", "namespace", "forging")
    spec = {"holderIdentity": "tenant", "renewTime": "2150-01-01T00:00:00.000000Z", "leaseDurationSeconds": 15}
    forged = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
    try:
        cluster.apply([{**forged, "metadata": {"name": "seatrial", "namespace": "forging"}}])
        make_rollout("forged", fleet=PREFIX, target=DRIVERS[1], limits=ANY)
        where = ("forged", "--kubeconfig", str(cluster.kubeconfig), "-n", fleet.spec.namespace)
        said = forked.run("status", *where)
        assert said.returncode == 12, said.stderr
        assert "Leader    none; no controller has ever run here (there is a Lease in forging: " in said.stdout
        there = forked.run("status", *where, "--lease-namespace", "forging").stdout
        assert "Leader    doubtful: the Lease of tenant has a time that is " in there
        assert "leaderless" not in there
    finally:
        cluster.kubectl("delete", "namespace", "forging", "--wait=false")


def test_a_dead_controller_is_told_with_since_when_and_exit_code_12(play: Play) -> None:
    with play("dead", paused=True, lease_seconds=8) as stage:
        waiting.wait_for(lambda: "state" in stage.status(), what="the first look", timeout_seconds=60)
        stage.controller.kill()

        def look() -> dict[str, Any] | None:
            found: dict[str, Any] = json.loads(stage.run("status", "-o", "json").stdout)
            return found if not found["leader"]["leading"] else None

        found = waiting.wait_for(look, what="its silence to be noticed", timeout_seconds=60, pause_seconds=0.5)
        assert found["holds"][0]["code"] == "leaderless"
        assert found["exitCode"] == 12
        where = ("dead", "--kubeconfig", str(stage.cluster.kubeconfig))
        assert [forked.run("rollout", what, *where).returncode for what in ("get", "describe")] == [12, 12]
        said = stage.run("status")
        assert said.returncode == 12
        assert "Leader    none; " in said.stdout
        assert " was last seen " in said.stdout
        for subject in ("dead", stage.fleet.nodes[0]):
            answer = stage.run("why", subject)
            assert answer.returncode == 12, answer.stdout
            assert "no controller is in charge" in answer.stdout
            assert "stopped responding" in answer.stdout
        stage.controller.start()
        waiting.wait_for(
            lambda: json.loads(stage.run("status", "-o", "json").stdout)["leader"]["leading"],
            what="somebody to be in charge again",
            timeout_seconds=60,
            pause_seconds=0.5,
        )


def test_a_budget_in_the_way_is_named_at_every_look_and_stands_first_everywhere(play: Play) -> None:
    with play("blocked", limits={**ANY, "maxParallelUpgrades": 1}) as stage:
        workload = stage.fleet.add_workload("service", replicas=1, gpus_per_pod=8, min_available=1)
        (pod,) = stage.fleet.pods_of(workload)
        stage.fleet.set_driver_version(stage.target)
        name = f"PodDisruptionBudget {workload.namespace}/{workload.name}"
        stage.wait_told(pod["spec"]["nodeName"], name)
        before = len(stage.evictions())
        looks = []

        def has_seen_enough() -> bool:
            looks.append((stage.status()["nodesWaiting"][0]["code"], stage.status()["why"]))
            return len(stage.evictions()) >= before + 3

        waiting.wait_for(has_seen_enough, what="three more tries", timeout_seconds=90, pause_seconds=0.05)
        assert {code for code, _ in looks} == {"eviction-blocked"}, "a refusal stands until a try has succeeded"
        assert all(name in why for _, why in looks)
        assert name in column(stage.cluster, "blocked")["WHY"]
        status = stage.run("status").stdout
        assert status.partition("Waiting:\n")[2].split()[0] == "eviction-blocked"
        described = stage.cluster.kubectl("describe", "gpurollout", "blocked")
        assert any("EvictionBlocked" in line and name in line for line in described.splitlines())
        (condition,) = (each for each in stage.status()["conditions"] if each["type"] == "Progressing")
        assert (condition["reason"], name in condition["message"]) == ("EvictionBlocked", True)
        stage.remove(workload)
        stage.wait_upgraded()


def test_what_an_earlier_rollout_did_is_not_done_for_the_next_one(play: Play) -> None:
    with play("first") as stage:
        stage.fleet.set_driver_version(stage.target)
        stage.wait_upgraded()
    with play("second", paused=True) as stage:
        waiting.wait_for(
            lambda: stage.status().get("why", "").startswith("the rollout is paused"),
            what="the pause to be told, though no node waits for it",
            timeout_seconds=60,
            describe=lambda: str(stage.status()),
        )
        assert stage.status()["counts"] == {"upgrade-done": NODES}, "their records are of the rollout before"
        assert column(stage.cluster, "second")["DONE"] == f"0/{NODES}"
        stage.fleet.set_driver_version(stage.target)
        stage.patch(paused=False)
        stage.wait_upgraded()
        waiting.wait_for(
            lambda: column(stage.cluster, "second")["DONE"] == f"{NODES}/{NODES}",
            what="everybody to be done",
            timeout_seconds=60,
        )
        assert [each["type"] for each in stage.status()["conditions"] if not each["message"]] == []
        where = ("second", "--kubeconfig", str(stage.cluster.kubeconfig))
        row = forked.run("rollout", "get", *where)
        assert (row.returncode, row.stdout.splitlines()[1].split()[:4]) == (
            0,
            ["second", stage.target, "Done", f"{NODES}/{NODES}"],
        )
        page = forked.run("rollout", "describe", *where)
        assert page.returncode == 0
        assert "\nConditions:\n  Progressing False, Done, since 20" in page.stdout
        told = f"Done: {NODES} of {NODES} nodes run the target"
        waiting.wait_for(
            lambda: told in stage.cluster.kubectl("describe", "gpurollout", "second").partition("Events:")[2],
            what="the Event of its end",
            timeout_seconds=30,
        )


def test_a_rollout_without_a_canary_is_watched_line_by_line_to_its_end(play: Play) -> None:
    with play("watched", limits={**ANY, "maxParallelUpgrades": 1}) as stage:
        stage.fleet.set_driver_version(stage.target)
        said = stage.run("status", "-w", "--timeout", "50s")
        assert said.returncode == 0, said.stderr
        lines = said.stdout.splitlines()
        assert lines[-1].split()[1:4] == ["watched", "Done", f"{NODES}/{NODES}"]
        assert all(line[:4] == time.strftime("%Y") and " watched " in line for line in lines)
        assert len(lines) == len(set(lines))


def test_while_a_rollout_is_open_kubectl_shows_when_somebody_last_looked(play: Play) -> None:
    with play("looked", paused=True) as stage:
        waiting.wait_for(
            lambda: "summarisedAt" in stage.status(), what="the first look", timeout_seconds=60, pause_seconds=0.1
        )
        first = stage.status()["summarisedAt"]
        waiting.wait_for(
            lambda: stage.status()["summarisedAt"] != first,
            what="the next look, a minute later",
            timeout_seconds=90,
            pause_seconds=1,
        )
        assert column(stage.cluster, "looked")["LOOKED"].endswith("s"), "seconds, not minutes"
