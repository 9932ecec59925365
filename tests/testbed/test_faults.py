"""What `seatrial testbed break` breaks is told by seatrial in its own words, and `heal` gives the fleet back."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator

import pytest

from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.neighbours import gate_runs
from seatrial_lab.testbed.nodes import faults, fleet_spec, manifests, stages
from seatrial_lab.testbed.plane import lifecycle
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.testbed.caches import cache_in

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

OLD, NEW, LAST = "570.124.06", "580.105.08", "580.126.20"
NODES = tuple(f"gpu-{each:03}" for each in range(6))
TIMEOUT_SECONDS = 180.0
IMAGE = "example.invalid/probes:1"
AT_ONCE = {"maxParallelUpgrades": 0, "maxUnavailable": "100%", "maxFailed": 9}


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A testbed as a person starts it, and a controller beside it."""
    folder = tmp_path_factory.mktemp("faults")
    with pytest.MonkeyPatch.context() as patch, cache_in(folder, patch):
        told = call("up", "--nodes", str(len(NODES)), "--reload-seconds", "0.5", "--driver", OLD)
        assert told.returncode == 0, told.stderr
        plane = lifecycle.find()
        assert plane is not None
        account = controller_process.identity(plane, "faults", has_campaigns=True)
        with controller_process.ControllerProcess(account, "", folder, arguments=("--probes-image", IMAGE)):
            yield plane


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`seatrial testbed`, as a person types it."""
    return forked.run("testbed", *arguments, timeout_seconds=180)


def test_a_testbed_is_found_again_and_shows_what_runs(bed: ControlPlane) -> None:
    before = [each.pid for each in bed.status().programs]
    assert call("up").returncode == 0
    told = call("status").stdout
    assert re.findall(r"^  (\S+) ", told, re.MULTILINE)[-2:] == ["operands", "gates"]
    assert [int(pid) for pid in re.findall(r"pid (\d+)", told)] == before
    refused = call("up", "--operator")
    assert refused.returncode == 1
    assert "A testbed without the GPU Operator runs" in refused.stderr


def test_what_cannot_be_broken_is_refused_with_the_names_that_can(bed: ControlPlane) -> None:
    unknown = call("break", "gpu-999", "crash")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert unknown.stderr == "seatrial: The testbed has no node gpu-999; it has gpu-000 to gpu-005.\n"
    odd = call("break", "gpu-000", "flood")
    assert odd.returncode == 2
    assert all(name in odd.stderr for name in faults.FAULTS)
    assert call("heal", "gpu-999").returncode == 1
    assert call("heal").stdout == "Nothing is broken.\n"
    assert call("heal", "gpu-001").stdout == "Nothing is broken on gpu-001.\n"
    assert bed.status().is_whole


def test_an_upgrade_tells_of_every_fault_it_meets_and_ends_once_they_are_healed(bed: ControlPlane) -> None:
    crashing, pulling, serving, losing = NODES[:4]
    for node, fault in ((crashing, "pull"), (crashing, "crash"), (pulling, "pull"), (serving, "pdb"), (losing, "pull")):
        told = call("break", node, fault)
        assert told.returncode == 0, told.stderr
        assert f"`seatrial testbed heal {node}` undoes it." in told.stdout
        assert call("break", node, fault).stdout == told.stdout, "once more changes nothing"
    publish(bed, "met", NEW)
    wait_why(crashing, "the upgrade of this node failed: a container of the driver pod keeps crashing")
    wait_why(pulling, r"the image of \S+ cannot be pulled")
    wait_why(serving, rf"PodDisruptionBudget default/serving-{serving} needs 1 .* so pod \S+ cannot be evicted")
    wait_why(losing, r"the image of \S+ cannot be pulled")

    assert call("break", losing, "gpu-lost").returncode == 0
    assert faults.fleet_of(bed).allocatable()[losing] == 7
    faults.fleet_of(bed).mend(losing)  # the driver loads after all, so that only the GPU is missing
    wait_why(losing, r"the node offers less than before the upgrade: nvidia\.com/gpu 7 of 8")

    healed = call("heal", crashing)
    assert healed.stdout == f"{crashing}: crash is healed.\n"
    assert sorted(call("heal").stdout.splitlines()) == [
        f"{pulling}: pull is healed.",
        f"{serving}: pdb is healed.",
        f"{losing}: gpu-lost is healed.",
        f"{losing}: pull is healed.",
    ]
    assert call("heal").stdout == "Nothing is broken.\n"
    wait(lambda: phase(bed, "met") == "Done", "the rollout to be done")
    assert set(faults.fleet_of(bed).driver_versions().values()) == {NEW}
    assert set(faults.fleet_of(bed).allocatable().values()) == {8}
    assert not bed.get("deployments", "-n", "default")["items"]
    assert not left(bed)


def test_a_canary_that_reboots_begins_anew_and_one_whose_gates_fail_goes_back(bed: ControlPlane) -> None:
    canary = NODES[1]
    body = {
        "publish": {"via": "none"},
        "canary": {"nodes": [canary]},
        "gates": [{"name": "smoke", "image": "example.invalid/smoke:1"}],
        "bake": {"durationSeconds": 3600, "everySeconds": 2},
    }
    publish(bed, "watched", LAST, **body)
    wait(lambda: phase(bed, "watched") == "Baking", "the canary to bake")

    boot = bed.get("node", canary)["status"]["nodeInfo"]["bootID"]
    told = call("break", canary, "reboot")
    assert "nothing is left to heal" in told.stdout
    node = bed.get("node", canary)
    assert node["status"]["nodeInfo"]["bootID"] != boot
    assert call("heal").stdout == "Nothing is broken.\n"
    driver = faults.fleet_of(bed).driver_pods
    wait(lambda: fleet_spec.is_ready(driver()[canary]), "its driver to be back")
    assert driver()[canary]["status"]["containerStatuses"][0]["restartCount"] == 1
    # First that the node was rebooted; soon after that its driver has started anew, which is told instead.
    told_as = rf"evidence restarted when (canary {canary} rebooted|the driver of canary {canary} restarted)"
    wait(lambda: re.search(told_as, shown(bed, "status", "watched")) is not None, "the reboot to be told")

    call("break", canary, "gate")
    wait(lambda: phase(bed, "watched") == "Reverting", "the gate to fail")
    assert gate_runs.FAILING in shown(bed, "gates", "show", "watched")
    faults.fleet_of(bed).set_driver_version(NEW)  # nobody else publishes here
    wait(lambda: phase(bed, "watched") == "Reverted", "the way back to end")
    assert call("heal").stdout == f"{canary}: gate is healed.\n"
    assert set(faults.fleet_of(bed).driver_versions().values()) == {NEW}
    assert not left(bed)


def test_a_rollout_that_names_no_gate_passes_the_suite_with_nobody_else_at_work(bed: ControlPlane) -> None:
    body = {
        "publish": {"via": "none"},
        "canary": {"nodes": [NODES[2]]},
        "bake": {"durationSeconds": 1, "everySeconds": 1},
        "waves": {"growth": "percentages", "percentages": [100]},
    }
    publish(bed, "suite", LAST, **body)
    wait(lambda: phase(bed, "suite") == "Done", "every wave to be through")
    asked = {each["gate"]: each["verdict"] for each in bed.get("gpurollout", "suite")["status"]["campaign"]["gates"]}
    suite = ("smoke-train", "smoke-infer", "gpu-errors", "multi-gpu")
    assert {gate: asked.get(gate) for gate in suite} == dict.fromkeys(suite, "passed")
    assert set(faults.fleet_of(bed).driver_versions().values()) == {LAST}


def test_a_gate_of_the_suite_leaves_the_figures_that_its_payload_would() -> None:
    for payload in (*gate_runs.FIGURES, "gpu-errors"):
        assert f'"probe":"{payload}","verdict":"measured"' in gate_runs.report_of(payload)


# ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def publish(bed: ControlPlane, name: str, version: str, **spec: object) -> None:
    """Somebody's rollout, and the version in the DaemonSet."""
    body = {"target": {"driver": version}, "limits": AT_ONCE, **spec}
    made = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout", "metadata": {"name": name}, "spec": body}
    bed.apply([made])
    faults.fleet_of(bed).set_driver_version(version)


def phase(bed: ControlPlane, name: str) -> str:
    return str(bed.get("gpurollout", name).get("status", {}).get("phase", ""))


def shown(bed: ControlPlane, *arguments: str) -> str:
    return forked.run(*arguments, "--kubeconfig", str(bed.kubeconfig)).stdout


def wait_why(node: str, pattern: str) -> None:
    """Until `seatrial why` says so about a node."""
    plane = lifecycle.find()
    assert plane is not None
    wait(lambda: re.search(pattern, shown(plane, "why", node)) is not None, f"why {node} to say {pattern}")


def wait(is_so: Callable[[], bool], what: str) -> None:
    plane = lifecycle.find()
    waiting.wait_for(
        is_so,
        what=what,
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=0.5,
        describe=lambda: (
            "" if plane is None else shown(plane, "status") + "".join(shown(plane, "why", n) for n in NODES)
        ),
    )


def left(bed: ControlPlane) -> list[str]:
    """What of the faults is still in the cluster."""
    marks = (stages.BROKEN, stages.GPUS_LOST, stages.GATES_FAIL, stages.NOT_READY)
    nodes = bed.get("nodes", "-l", manifests.FLEET_LABEL)["items"]
    noted = [
        f"{each['metadata']['name']}: {key}"
        for each in nodes
        for key in marks
        if key in each["metadata"]["annotations"]
    ]
    return noted + list(faults.fleet_of(bed).driver_faults().values())
