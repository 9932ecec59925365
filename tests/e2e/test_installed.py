"""Installed as users install it: our image and our chart on a real node, and a campaign that outlives every leader.

The controllers are pods under their own ServiceAccount, with the rights of the chart and no others, in a namespace that
enforces the level `restricted`. The canary is the node they run on; its gate is a Job with a GPU of the device plugin,
in the namespace of gates. Needs root: left out without.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from seatrial import __version__
from seatrial.adapters.kube.shapes import keys
from seatrial.core.movers.driver_manager import DRAIN, EVICTION
from seatrial_lab import deploy
from seatrial_lab.image import build, bytecode, recipe
from seatrial_lab.testbed import errors, waiting
from seatrial_lab.testbed.nodes import consumers, manifests
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.real_node import able, node
from tests.chart.charts import CHART, helm
from tests.e2e.campaigns import NEW, OLD, matrix_of
from tests.e2e.light_stage import PolicyFollower, a_policy

pytestmark = [pytest.mark.cluster, pytest.mark.own_plane]

if why := able.why_not():
    pytest.skip(f"Left out. {why}", allow_module_level=True)

PREFIX, NAMESPACE, GATES, MATRIX = "harbour", "seatrial", "seatrial-gates", "gpu-version-matrix"
REAL = f"{PREFIX}-real-000"
QUIET = {EVICTION: "false", DRAIN: "false"}
PHASES = ("Canary", "Gating", "Baking", "Waving")
TIMEOUT_SECONDS = 240.0


@dataclass(kw_only=True)
class Harbour:
    """A real node with our controllers on it, simulated nodes, and a ClusterPolicy."""

    plane: ControlPlane
    fleet: Fleet
    real: node.RealNode
    led: list[str] = field(default_factory=list)
    """The pods that led and were deleted, in order."""

    def pods(self) -> list[dict[str, Any]]:
        selector = "app.kubernetes.io/component=controller"
        found: list[dict[str, Any]] = self.plane.get("pods", "-n", NAMESPACE, "-l", selector)["items"]
        return found

    def leader(self) -> str:
        """The pod that holds the lease, empty where none of those that are there does."""
        holder = str(self.plane.get("lease", "seatrial", "-n", NAMESPACE)["spec"].get("holderIdentity") or "")
        names = (pod["metadata"]["name"] for pod in self.pods() if "deletionTimestamp" not in pod["metadata"])
        return next((name for name in names if holder.startswith(name)), "")

    def status(self, rollout: str) -> dict[str, Any]:
        found: dict[str, Any] = self.plane.get("gpurollout", rollout).get("status", {})
        return found

    def depose(self) -> None:
        """Delete the pod that leads."""
        leader = waiting.wait_for(self.leader, what="somebody to lead", timeout_seconds=60, pause_seconds=0.3)
        self.plane.kubectl("delete", "pod", leader, "-n", NAMESPACE, "--wait=false")
        self.led.append(leader)

    def logs(self) -> str:
        """What the controllers said last."""
        said = []
        for name in [pod["metadata"]["name"] for pod in self.pods()]:
            try:
                said.append(f"{name}:\n{self.plane.kubectl('logs', '-n', NAMESPACE, name, '--tail=15')}")
            except errors.KubectlFailed as err:
                said.append(f"{name}: {err}")
        return "\n".join(said)


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harbour]:
    folder = tmp_path_factory.mktemp("harbour")
    with ControlPlane.start(folder / "plane") as plane:
        plane.load_nvidia_crds()
        real = node.start(plane, REAL, driver_versions=(OLD, NEW))
        real.import_archive(our_image(folder))
        fleet = make_fleet(plane, FleetSpec(prefix=PREFIX, node_count=8, driver_version=OLD, real_nodes=(REAL,)))
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        plane.apply([manifests.namespace(NAMESPACE, PREFIX, labels=labels), a_policy(OLD)])
        login = ("--from-literal=username=ship", "--from-literal=password=aye")
        plane.kubectl("-n", NAMESPACE, "create", "secret", "generic", "login", *login)
        said = (
            f"image.repository={recipe.CONTROLLER.name}",
            "extraArgs={--lease-seconds=4}",
            "git.credentials[0].prefix=https://git.example.com/",
            "git.credentials[0].secret=login",
        )
        flags = [flag for each in said for flag in ("--set", each)]
        where = ["--namespace", NAMESPACE, "--kubeconfig", str(plane.kubeconfig)]
        helm("install", "seatrial", CHART, *where, *flags, "--wait", "--timeout=110s")
        with PolicyFollower(fleet, manager_env=QUIET):
            yield Harbour(plane=plane, fleet=fleet, real=real)
        helm("uninstall", "seatrial", *where, "--ignore-not-found", "--no-hooks")


def our_image(folder: Path) -> Path:
    """The image as `make image` writes it for this machine."""
    assert build.main(["--arch", bytecode.host(), "--out", str(folder)]) == 0
    return folder / f"seatrial-{__version__}-{bytecode.host()}.tar"


def test_both_controllers_run_from_our_image_and_one_leads(harbour: Harbour) -> None:
    pods = harbour.pods()
    assert [pod["spec"]["nodeName"] for pod in pods] == [REAL, REAL]
    assert {pod["spec"]["serviceAccountName"] for pod in pods} == {"seatrial-controller"}
    for pod in pods:
        (status,) = pod["status"]["containerStatuses"]
        assert (status["ready"], status["restartCount"]) == (True, 0)
        assert status["image"] == f"{recipe.CONTROLLER.name}:{__version__}"
    assert harbour.leader()


def test_helm_test_asks_a_controller_behind_its_service_and_needs_no_dns(harbour: Harbour) -> None:
    harbour.real.open_service(NAMESPACE, "seatrial-metrics")  # what kube-proxy would do
    said = helm("test", "seatrial", "--namespace", NAMESPACE, "--kubeconfig", str(harbour.plane.kubeconfig))
    assert "Phase:          Succeeded" in said, said


def test_a_mounted_login_is_read_by_a_controller_that_is_not_root(harbour: Harbour) -> None:
    pod = harbour.leader()
    inside = ("exec", "-n", NAMESPACE, pod, "--", "python3.11", "-c")
    who = harbour.plane.kubectl(*inside, "import os; print(os.getuid())")
    read = harbour.plane.kubectl(*inside, "print(open('/var/run/seatrial/git/0/password').read())")
    assert (who.strip(), read.strip()) == (str(recipe.USER), "aye")


def test_a_campaign_goes_from_the_real_canary_to_the_matrix_although_every_phase_loses_its_leader(
    harbour: Harbour,
) -> None:
    plane = harbour.plane
    matrix = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": MATRIX, "namespace": NAMESPACE}}
    says = "test -n $NVIDIA_VISIBLE_DEVICES && echo trained > /dev/termination-log"
    spec = {
        "target": {"driver": NEW},
        "nodeSelector": {manifests.FLEET_LABEL: PREFIX},
        "matrix": {"configMap": {"namespace": NAMESPACE, "name": MATRIX, "key": "matrix.yaml"}, "entry": "canary"},
        "publish": {"via": "direct"},
        "canary": {"nodes": [REAL]},
        "prepull": False,
        "gates": [{"name": "train", "image": consumers.IMAGE, "command": ["/bin/sh", "-c", says], "gpus": 1}],
        "bake": {"durationSeconds": 12, "everySeconds": 3},
        "waves": {"growth": "percentages", "percentages": [50, 100]},
        "limits": {"maxParallelUpgrades": 2, "maxUnavailable": 4},
    }
    rollout = {
        "apiVersion": "seatrial.dev/v1alpha1",
        "kind": "GPURollout",
        "metadata": {"name": "spring"},
        "spec": spec,
    }
    plane.apply([matrix | {"data": {"matrix.yaml": matrix_of(OLD, NEW)}}, rollout])

    def look() -> bool:
        phase = harbour.status("spring").get("phase", "")
        if phase in PHASES[len(harbour.led) :]:
            assert phase == PHASES[len(harbour.led)], f"{phase} came before its leader could be deleted"
            harbour.depose()
        return phase in ("Done", "Reverting", "Reverted")

    waiting.wait_for(
        look,
        what="the campaign to end",
        timeout_seconds=TIMEOUT_SECONDS,
        pause_seconds=0.3,
        describe=lambda: json.dumps(harbour.status("spring"), indent=1) + harbour.logs(),
    )
    assert harbour.status("spring")["phase"] == "Done", harbour.logs()
    assert len(set(harbour.led)) == len(PHASES), "each phase lost another leader"
    assert set(harbour.fleet.driver_versions().values()) == {NEW}
    assert harbour.real.loaded_driver == NEW
    promoted = plane.get("configmap", MATRIX, "-n", NAMESPACE)["data"]["matrix.yaml"]
    assert f'driver: "{NEW}"' in promoted.partition("canary:")[0], promoted
    jobs = plane.get("jobs", "-n", GATES)["items"]
    assert jobs
    assert plane.get("jobs", "-n", NAMESPACE)["items"] == [], "gates are away from the controllers"
    assert all(job["status"].get("succeeded") == 1 for job in jobs), "a gate is a real Job that ran to its end"


def test_uninstalled_by_helm_every_node_loses_our_marks_and_the_rollout_stays(harbour: Harbour) -> None:
    plane = harbour.plane
    assert marked(plane), "the campaign left its records"
    where = ("--namespace", NAMESPACE, "--kubeconfig", str(plane.kubeconfig))
    helm("uninstall", "seatrial", *where, "--timeout=100s")
    assert marked(plane) == []
    assert not any(node["spec"].get("unschedulable") for node in plane.get("nodes")["items"])
    kept = plane.get("gpurollout", "spring")
    assert (kept["status"]["phase"], kept["metadata"].get("finalizers")) == ("Done", None)
    left = plane.kubectl("get", "jobs,deployments,roles,rolebindings", "-n", NAMESPACE, "-o", "name")
    assert "seatrial-" not in left
    plane.kubectl("delete", "gpurollout", "spring", "--timeout=10s")


def test_applied_with_kustomize_two_controllers_run_and_one_leads(harbour: Harbour, tmp_path: Path) -> None:
    plane, base = harbour.plane, deploy.ROOT / "deploy"
    ours = {
        "resources": [os.path.relpath(base, tmp_path)],
        "images": [{"name": "seatrial", "newName": recipe.CONTROLLER.name}],
    }
    (tmp_path / "kustomization.yaml").write_text(json.dumps(ours), encoding="utf-8")
    waiting.wait_for(lambda: not harbour.pods(), what="Helm's controllers to be gone", timeout_seconds=90)
    plane.kubectl("wait", "--for=delete", f"namespace/{GATES}", "--timeout=60s")
    plane.kubectl("apply", "-k", str(tmp_path))
    plane.kubectl("rollout", "status", "deployment/seatrial-controller", "-n", NAMESPACE, "--timeout=110s")
    pods = harbour.pods()
    assert [pod["spec"]["nodeName"] for pod in pods] == [REAL, REAL]
    assert [pod["status"]["containerStatuses"][0]["ready"] for pod in pods] == [True, True]
    waiting.wait_for(
        lambda: bool(harbour.leader()), what="one of them to lead", timeout_seconds=60, describe=harbour.logs
    )


def marked(plane: ControlPlane) -> list[str]:
    """Nodes with a label or annotation of ours."""
    found = []
    for node_ in plane.get("nodes")["items"]:
        meta = node_["metadata"]
        names = (*meta.get("labels", {}), *meta.get("annotations", {}))
        found += [f"{meta['name']}: {name}" for name in names if name.startswith(keys.PREFIX)]
    return found
