"""The real Argo CD says how well a GPURollout or a ClusterPolicy is by checks of the chart, and waves wait for that."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import controller_process, waiting
from seatrial_lab.testbed.neighbours.argo_application import Application
from seatrial_lab.testbed.neighbours.argo_cd import ArgoCd
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.campaigns import served
from tests.e2e.light_stage import LONG_BAKE, POLICY, LightStage, light_stage
from tests.gitops import files
from tests.gitops.looks import wait_committed

pytestmark = [pytest.mark.cluster, pytest.mark.gitops]

LUA = Path(__file__).resolve().parents[2] / "charts" / "seatrial" / "files" / "argocd-health.lua"
POLICY_LUA = LUA.with_name("argocd-health-clusterpolicy.lua")
NAMES = itertools.count(1)


@pytest.fixture(scope="module")
def shared(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    controller_process.install(plane)
    with light_stage(plane, tmp_path_factory.mktemp("argo-health"), "argo-health") as made:
        yield made


@pytest.fixture(scope="module")
def argo(shared: LightStage) -> Iterator[ArgoCd]:
    """With our health check, and writing what it finds by it into the Application."""
    check = {
        "resource.customizations.health.seatrial.dev_GPURollout": LUA.read_text(encoding="utf-8"),
        "resource.customizations.health.nvidia.com_ClusterPolicy": POLICY_LUA.read_text(encoding="utf-8"),
    }
    with ArgoCd.start(shared.plane, settings=check, is_telling_health=True) as started:
        yield started


@pytest.fixture
def stage(shared: LightStage) -> LightStage:
    """The stage, with nothing left of the story before, and the repository as the cluster is."""
    shared.open()
    shared.lay_out()
    shared.commit("Where rollouts are", **{f"{folder(shared)}/first.yaml": files.config_map("first")})
    return shared


@contextmanager
def application(argo: ArgoCd, stage: LightStage, path: str = "") -> Iterator[Application]:
    """An Application of the published folder, or of another one."""
    with served(stage.remote) as place:
        place = replace(place, path=path or place.path)
        with Application(argo, f"health-{next(NAMES)}", place) as app:
            yield app


def test_a_wave_behind_a_rollout_waits_until_that_is_healthy(stage: LightStage, argo: ArgoCd) -> None:
    with application(argo, stage, folder(stage)) as app:
        rollout = files.rollout(stage, "watched", approvals={"manual": ["canary"]})
        after = files.config_map("after", wave=1)
        stage.commit("Ask for a rollout", **{f"{folder(stage)}/a.yaml": rollout, f"{folder(stage)}/b.yaml": after})
        app.poke()
        wait_health(app, "watched", "Suspended", "ApprovalPending")
        waits = "waiting for healthy state of seatrial.dev/GPURollout/watched"
        stage.wait(lambda: app.status()["operationState"].get("message") == waits, "Argo CD to say what it waits for")
        assert app.status()["operationState"]["phase"] == "Running"
        stage.do("rollout", "approve", "watched", "canary")
        wait_health(app, "watched", "Progressing")  # its words lag: only a change of health has it look
        stage.wait_holds("publish-pending")  # nobody brings its commit into the cluster yet
        assert not stage.plane.kubectl("get", "configmap", "after", "-n", "default", "--ignore-not-found")
        with application(argo, stage):
            stage.wait_phase("Done")
        wait_health(app, "watched", "Healthy", "Done")
        stage.wait(lambda: "after" in config_maps(stage), "Argo CD to go on with the next wave")


def test_a_rollout_that_was_undone_is_degraded(stage: LightStage, argo: ArgoCd) -> None:
    with application(argo, stage, folder(stage)) as app, application(argo, stage) as gpu:
        text = files.rollout(stage, "undone", **LONG_BAKE)
        stage.commit("Ask for a rollout", **{f"{folder(stage)}/a.yaml": text})
        app.poke()
        wait_health(app, "undone", "Progressing")
        wait_committed(stage)
        gpu.poke()
        stage.wait_phase("Baking")
        stage.do("rollout", "abort", "undone", "--reason", "it smokes", "-y")
        stage.wait(lambda: stage.remote_log()[-1].startswith("Revert"), "our revert to be in Git")
        wait_health(app, "undone", "Degraded", "Undone")
        gpu.poke()
        stage.wait_phase("Reverted")
        wait_health(app, "undone", "Degraded", "Undone")


def test_a_rollout_that_was_changed_since_it_was_looked_at_is_progressing(stage: LightStage, argo: ArgoCd) -> None:
    with application(argo, stage, folder(stage)) as app:
        text = files.rollout(stage, "edited", approvals={"manual": ["canary"]})
        stage.commit("Ask for a rollout", **{f"{folder(stage)}/a.yaml": text})
        app.poke()
        wait_health(app, "edited", "Suspended", "ApprovalPending")
        stage.controller.stop()
        try:
            stage.patch(limits={"maxFailed": 3})
            wait_health(app, "edited", "Progressing", "The controller has not seen the last change yet")
        finally:
            stage.controller.start()
        wait_health(app, "edited", "Suspended", "ApprovalPending")


POLICY_STORIES = {
    "a release that waits for its turn": (
        {"daemonsets": {"updateStrategy": "OnDelete"}},
        ("notReady", "OperandNotReady", "states not ready: [state-container-toolkit]"),
        ("Healthy", "notReady, as expected during the bake and the waves of rollout spring"),
    ),
    "an operand that does not get ready": (
        {"daemonsets": {"updateStrategy": "RollingUpdate"}},
        ("notReady", "OperandNotReady", "states not ready: [state-container-toolkit]"),
        ("Progressing", "state-container-toolkit"),
    ),
    "an operator that failed": (
        {"daemonsets": {"updateStrategy": "OnDelete"}},
        ("notReady", "ReconcileFailed", "no such runtime"),
        ("Degraded", "no such runtime"),
    ),
    "everything ready": ({}, ("ready", "", ""), ("Healthy", "Every operand is ready")),
}


@pytest.mark.parametrize("story", POLICY_STORIES)
def test_a_cluster_policy_is_judged_by_the_check_that_the_chart_brings(
    stage: LightStage, argo: ArgoCd, story: str
) -> None:
    spec, (state, reason, message), (health, saying) = POLICY_STORIES[story]
    since = "2026-10-01T00:00:00Z"
    failed = {"type": "Error", "status": "True", "reason": reason, "message": message, "lastTransitionTime": since}
    status = {"namespace": "gpu-operator", "state": state, "conditions": [failed] if reason else []}
    said = {"metadata": {"annotations": {keys.PUBLISHED_ANNOTATION: "spring/canary"}}, "spec": spec}
    # First: once it has looked, Argo CD looks again only when the health changes, and not when the words do.
    stage.plane.kubectl("patch", "clusterpolicy", POLICY, "--type=merge", "-p", json.dumps(said))
    stage.plane.kubectl(
        *("patch", "clusterpolicy", POLICY, "--subresource=status", "--type=merge"),
        *("-p", json.dumps({"status": status})),
    )
    with application(argo, stage) as app:
        wait_health(app, POLICY, health, saying, kind="ClusterPolicy")


def folder(stage: LightStage) -> str:
    return f"rollouts-{stage.story}"


def config_maps(stage: LightStage) -> list[str]:
    return [each["metadata"]["name"] for each in stage.plane.get("configmaps", "-n", "default")["items"]]


def wait_health(app: Application, name: str, status: str, saying: str = "", kind: str = "GPURollout") -> None:
    """Wait until Argo CD says so of a rollout, or of another resource."""

    def look() -> bool:
        found = app.health(kind, name)
        return found.get("status") == status and saying in found.get("message", "")

    waiting.wait_for(
        look,
        what=f"Argo CD to call {name} {status} {saying}".strip(),
        timeout_seconds=60,
        pause_seconds=0.3,
        describe=lambda: f"{app.health(kind, name)} {app.status().get('operationState')}",
    )
