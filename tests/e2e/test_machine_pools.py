"""OpenShift's pools in a campaign: the fleet's stands still, and the canary's is its own, until the canary has proved
itself.

The definition of a pool is the real one; nobody plays the Machine Config Operator but the test, which says what people
and OpenShift would have seen. One fleet for all stories.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.cli.exit_codes import ExitCode
from seatrial_lab.testbed.nodes import machine_pools, manifests
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.light_stage import LONG_BAKE, LightStage, light_stage

pytestmark = pytest.mark.cluster

PREFIX = "pooled"
OLD_OPENSHIFT, NEW_OPENSHIFT = "4.18.20", "4.19.9"
POOLS = {"count": 1, "machineConfigPool": "gpu-canary", "pausePools": ["worker"]}
OPENSHIFT: dict[str, Any] = {
    "publish": {"via": "none"},
    "byHand": {"component": "openshift", "version": NEW_OPENSHIFT, "before": OLD_OPENSHIFT},
    "canary": POOLS,
}


@pytest.fixture(scope="module")
def shared(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    with machine_pools.defined(cluster), light_stage(cluster, tmp_path_factory.mktemp(PREFIX), PREFIX) as made:
        cluster.apply([machine_pools.pool("worker")])
        machine_pools.say(cluster, "worker", machine_count=3, certificate_ends="2031-03-01T00:00:00Z")
        yield made


@pytest.fixture
def stage(shared: LightStage) -> LightStage:
    """The stage, with nothing left of the story before."""
    shared.open()
    set_paused(shared, is_paused=False, by=None)
    for name in shared.fleet.nodes:
        shared.plane.kubectl("annotate", "node", name, f"{keys.OBSERVED_PREFIX}openshift-")
    return shared


def set_paused(stage: LightStage, *, is_paused: bool, by: str | None = "") -> None:
    """Somebody pauses or resumes the pool; our name stays on it, unless another is given."""
    annotations = {} if by == "" else {keys.PAUSED_BY_ANNOTATION: by}
    body = json.dumps({"metadata": {"annotations": annotations}, "spec": {"paused": is_paused}})
    stage.plane.kubectl("patch", "machineconfigpool", "worker", "--type=merge", "-p", body)


def pause(stage: LightStage) -> tuple[bool, str | None]:
    """Whether the pool is paused, and whose name is on it."""
    found = stage.plane.get("machineconfigpool", "worker")
    by = found["metadata"].get("annotations", {}).get(keys.PAUSED_BY_ANNOTATION)
    return found["spec"].get("paused", False), by


def step(stage: LightStage) -> dict[str, Any]:
    """A new OpenShift beside the driver that is there."""
    return OPENSHIFT | {"target": {"driver": stage.running}}


def pools(stage: LightStage) -> set[str]:
    return {each["metadata"]["name"] for each in stage.plane.get("machineconfigpools")["items"]}


def writes(stage: LightStage) -> int:
    """How often the controller has written to the fleet's pool in this story."""
    return len([each for each in stage.writes("machineconfigpools") if each.name == "worker"])


def observe(stage: LightStage, version: str, *names: str) -> None:
    """People and OpenShift have moved these nodes."""
    for name in names:
        stage.plane.kubectl("annotate", "node", name, f"{keys.OBSERVED_PREFIX}openshift={version}", "--overwrite")


def test_openshift_reaches_the_fleet_when_the_canary_has_proved_it(stage: LightStage) -> None:
    stage.begin("openshift", **step(stage), approvals={"manual": ["waves"]})
    stage.wait_holds("by-hand-pending")
    assert pause(stage) == (True, "openshift")
    assert pools(stage) == {"worker", "gpu-canary"}
    assert [(each.verb, each.name) for each in stage.writes("machineconfigpools") if each.code < 300] == [
        ("patch", "worker"),
        ("create", "gpu-canary"),
    ]
    why = " ".join(stage.run("why", "openshift").stdout.split())
    assert "MachineConfigPool worker is paused by rollout openshift" in why
    assert "its kubelets get no new certificates" in why

    observe(stage, NEW_OPENSHIFT, stage.canary)
    stage.wait_held("approval-pending", saying="before the fleet follows the canary")
    assert pause(stage) == (True, "openshift"), "the fleet was let go before anybody said yes"
    stage.do("rollout", "approve", "openshift", "waves")
    stage.wait(lambda: pause(stage) == (False, None), "the fleet's pool to be let go")
    machine_pools.say(stage.plane, "gpu-canary", machine_count=1)
    observe(stage, NEW_OPENSHIFT, *stage.others)
    stage.wait_held("pool-pending", saying="still has 1 node")
    assert not stage.marks()
    assert "gpu-canary" in pools(stage)
    machine_pools.say(stage.plane, "gpu-canary", machine_count=0)
    stage.wait(lambda: stage.phases()[-1] == "Done", "the rollout to be done")
    assert pools(stage) == {"worker"}


def test_a_dry_run_tells_of_the_pools_and_touches_none(stage: LightStage) -> None:
    how = ("--driver", stage.target, "--selector", f"{manifests.FLEET_LABEL}={PREFIX}", "--no-prepull")
    told = stage.run("rollout", "start", *how, "--canary-pool", "gpu-canary", "--pause-pool", "worker", "--dry-run")
    assert told.returncode == 0, told.stdout + told.stderr
    places = [told.stdout.index(line) for line in ("machineconfigpool/worker", "machineconfigpool/gpu-canary", "node/")]
    assert places == sorted(places)
    assert (pause(stage), pools(stage)) == ((False, None), {"worker"})
    missing = stage.run("rollout", "start", *how, "--pause-pool", "nobody", "--dry-run")
    assert missing.returncode == ExitCode.HELD
    assert "there is no MachineConfigPool nobody" in missing.stdout


def test_a_failed_openshift_stays_away_from_the_fleet_until_a_person_lets_it_through(stage: LightStage) -> None:
    stage.begin("failing", **step(stage), **LONG_BAKE)
    stage.wait_held("by-hand-pending")
    observe(stage, NEW_OPENSHIFT, stage.canary)
    stage.wait(lambda: stage.phases()[-1] == "Baking", "the canary to bake")
    set_paused(stage, is_paused=False)
    stage.wait_held("pool-resumed", saying="somebody resumed MachineConfigPool worker")
    assert pause(stage) == (False, "failing"), "a person's decision was overwritten"
    set_paused(stage, is_paused=True)

    stage.do("rollout", "abort", "failing", "--reason", "pods do not start", "-y")
    stage.wait_held("by-hand-back")
    observe(stage, OLD_OPENSHIFT, stage.canary)
    stage.wait(lambda: stage.phases()[-1] == "Reverted", "the rollout to be undone")
    assert pause(stage) == (True, "failing")
    assert pools(stage) == {"worker"}
    why = " ".join(stage.run("why", "failing").stdout.split())
    assert "It stays paused: resuming it would bring what was undone to its nodes" in why

    stage.begin("again", **step(stage))
    stage.wait(lambda: pause(stage) == (True, "again"), "the next rollout to take the pause over")
    stage.do("rollout", "abort", "again", "--reason", "enough", "-y")
    stage.wait(lambda: stage.phases()[-1:] == ["Reverted"], "the second one to be undone")


@pytest.mark.long
def test_a_driver_that_fails_leaves_no_pool_paused_and_a_pause_of_others_alone(stage: LightStage) -> None:
    stage.begin("driver", canary=POOLS | {"pausePools": ["worker", "nobody"]}, **LONG_BAKE)
    stage.wait_held("pool-missing", saying="there is no MachineConfigPool nobody")
    assert pause(stage) == (False, None)
    stage.patch(canary={"pausePools": ["worker"]})
    stage.wait(lambda: stage.phases()[-1] == "Baking", "the canary to bake")
    assert pause(stage) == (True, "driver")
    stage.do("rollout", "abort", "driver", "--reason", "slower", "-y")
    stage.wait(lambda: stage.phases()[-1] == "Reverted", "the driver to be taken back")
    assert (pause(stage), pools(stage)) == ((False, None), {"worker"})

    set_paused(stage, is_paused=True, by=None)
    before = writes(stage)
    stage.begin("others", canary=POOLS)
    stage.wait(lambda: stage.phases()[-1:] == ["Done"], "the driver to be everywhere")
    assert (pause(stage), pools(stage)) == ((True, None), {"worker"})
    assert writes(stage) == before
