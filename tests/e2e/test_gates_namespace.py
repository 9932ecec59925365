"""Gates in a namespace of their own, at a level of PodSecurity: what it does not let in is told, and goes on by itself.

The controllers' namespace enforces `restricted` throughout. No gate that runs as its image does would be let in there,
so a gate that runs has run elsewhere. That the controllers themselves are let in there is in test_installed.py; a gate
that is written for `restricted`, and an image that runs as root there, are in tests/testbed/test_real_gates.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.cli.exit_codes import ExitCode
from seatrial_lab.testbed.neighbours.gate_runs import GateRuns
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.light_stage import LightStage, light_stage

pytestmark = pytest.mark.cluster

PREFIX = "gates-apart"
GATES = "gates-apart"
ENFORCE = "pod-security.kubernetes.io/enforce"
TRAIN = [{"name": "train", "image": "example.invalid/train:1", "gpus": 1}]
VIOLATION = 'violates PodSecurity "restricted:latest"'


@pytest.fixture(scope="module")
def shared(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    """A controller that has gates run in a namespace of their own; its own namespace is restricted."""
    with light_stage(cluster, tmp_path_factory.mktemp(PREFIX), PREFIX, gates_namespace=GATES) as made:
        cluster.kubectl("label", "namespace", keys.HOME, f"{ENFORCE}=restricted", "--overwrite")
        try:
            yield made
        finally:
            cluster.kubectl("label", "namespace", keys.HOME, f"{ENFORCE}-")  # others run gates there
            cluster.kubectl("delete", "namespace", GATES, "--wait=false")


@pytest.fixture
def stage(shared: LightStage) -> Iterator[LightStage]:
    """The stage, with nothing left of the story before, and somebody who ends the pods of gates."""
    shared.open()
    with GateRuns(shared.plane, namespace=GATES):
        yield shared


def set_level(stage: LightStage, level: str) -> None:
    """What PodSecurity lets into the namespace of gates from now on."""
    stage.plane.kubectl("label", "namespace", GATES, f"{ENFORCE}={level}", "--overwrite")


def probes(stage: LightStage, namespace: str, kind: str = "jobs") -> dict[str, int]:
    """The Jobs or pods of this rollout's gates in a namespace, and how many pods of each have succeeded."""
    chosen = ("-l", f"{keys.GATE_KEY},{keys.ROLLOUT_LABEL}={stage.rollout}")
    found = stage.plane.get(kind, "-n", namespace, *chosen)["items"]
    return {each["metadata"]["name"]: each["status"].get("succeeded", 0) for each in found}


@pytest.mark.long
def test_a_gate_that_the_namespace_does_not_let_in_is_told_and_goes_on_once_the_level_is_raised(
    stage: LightStage,
) -> None:
    set_level(stage, "restricted")
    stage.begin("refused", gates=TRAIN)
    stage.wait_holds("gate-refused")
    assert stage.status()["phase"] == "Gating"
    (refused,) = probes(stage, GATES)
    assert probes(stage, GATES, "pods") == {}

    shown = stage.run("status", "refused", "-o", "json")
    assert shown.returncode == ExitCode.HELD, "somebody is asked for"
    (told,) = [each for each in json.loads(shown.stdout)["holds"] if each["code"] == "gate-refused"]
    assert f"the pod of gate train for {stage.canary} is not admitted to namespace {GATES}: {VIOLATION}" in told["why"]
    assert "allowPrivilegeEscalation != false" in told["why"], "the API server's own reason"
    assert "raise the level of the gates' namespace" in told["next"]
    assert ENFORCE in told["next"]
    for command in (("status", "refused"), ("why", "refused")):
        said = " ".join(stage.run(*command).stdout.split())
        assert f"namespace {GATES}: {VIOLATION}" in said, command
        assert "raise the level of the gates' namespace" in said, command

    set_level(stage, "baseline")
    stage.wait_phase("Done")
    assert probes(stage, GATES)[refused] == 1, "it is the very Job whose pod was not let in before"
    assert set(stage.fleet.driver_versions().values()) == {stage.target}
    assert "gate-refused" not in (stage.status().get("holds") or {})


def test_a_gate_within_the_level_runs_away_from_the_controllers(stage: LightStage) -> None:
    set_level(stage, "baseline")
    stage.begin("let-in", gates=TRAIN)
    stage.wait_phase("Done")
    assert probes(stage, GATES)
    assert probes(stage, keys.HOME) == {}
    assert not [line for line in stage.log_lines()[stage.said_before :] if "code=gate-refused" in line]


def test_two_canaries_are_asked_together_under_the_rights_of_the_manifests(stage: LightStage) -> None:
    set_level(stage, "baseline")
    ring = {"name": "ring", "image": "example.invalid/probes:1", "probe": "distributed", "gpus": 1}
    stage.begin("ganged", gates=[ring], canary={"count": 2}, bake={"durationSeconds": 0})
    stage.wait_phase("Done")
    chosen = ("-l", f"{keys.GATE_KEY},{keys.ROLLOUT_LABEL}={stage.rollout}")
    (job,) = stage.plane.get("jobs", "-n", GATES, *chosen)["items"]
    assert (job["spec"]["completionMode"], job["status"]["succeeded"]) == ("Indexed", 2)
    pods = stage.plane.get("pods", "-n", GATES, *chosen)["items"]
    assert sorted(pod["spec"]["nodeName"] for pod in pods) == job["metadata"]["annotations"][keys.GANG_KEY].split(",")
    assert {pod["spec"]["subdomain"] for pod in pods} == {
        each["metadata"]["name"] for each in stage.plane.get("services", "-n", GATES)["items"]
    }
    said = [each for each in stage.status()["campaign"]["gates"] if each["gate"] == "ring"]
    assert [each["verdict"] for each in said] == ["passed", "passed"]
