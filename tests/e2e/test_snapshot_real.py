"""A snapshot of a real API server is read as the server is: audit, doctor, forecast and adopt say the same of both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from seatrial.adapters.files.snapshot_file import load_snapshot
from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked

pytestmark = pytest.mark.cluster

PREFIX: Final = "portable"
OLD, NEW = "570.124.06", "580.105.08"
SELECTOR: Final = f"testbed.seatrial.dev/fleet={PREFIX}"
SECRET: Final = "hunter2correcthorse"


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane) -> Iterator[Fleet]:
    spec = FleetSpec(
        prefix=PREFIX,
        node_count=3,
        driver_version=OLD,
        reload_seconds=0.2,
        has_feature_discovery=True,
        has_device_plugin=True,
        has_dra=True,
    )
    made = make_fleet(cluster, spec)
    made.add_workload("training", replicas=2, gpus_per_pod=4, termination_seconds=0.3)
    yield made
    made.remove()


@pytest.fixture(scope="module")
def file(fleet: Fleet, cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet left half-way, with a secret where people put theirs, in a file."""
    node = next(iter(fleet.nodes))
    notes = {"vault.example/token": SECRET, keys.INITIAL_STATE_ANNOTATION: "true"}
    labels = {keys.NVIDIA_STATE_LABEL: "pod-restart-required", "team": SECRET}
    patch = {"metadata": {"annotations": notes, "labels": labels}, "spec": {"unschedulable": True}}
    cluster.kubectl("patch", "node", node, "--type=merge", "-p", json.dumps(patch))
    path = tmp_path_factory.mktemp("snapshot") / "fleet.json"
    path.write_text(said(cluster, "snapshot", code=None), encoding="utf-8")
    return path


def said(cluster: ControlPlane, *arguments: str, code: int | None = 0, live: bool = True) -> str:
    options = ("--kubeconfig", str(cluster.kubeconfig)) if live else ()
    answer = forked.run(*arguments, *options)
    assert code is None or answer.returncode == code, answer.stderr
    return answer.stdout


def of_the_fleet(names: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for each in names if str(each["name"]).startswith(PREFIX)]


def test_an_audit_of_the_file_sees_the_same_versions(cluster: ControlPlane, file: Path) -> None:
    asked = ("audit", "-o", "json")
    live = json.loads(said(cluster, *asked, code=None))
    read = json.loads(said(cluster, *asked, "--snapshot", str(file), code=None, live=False))
    assert of_the_fleet(read["nodes"]) == of_the_fleet(live["nodes"])
    assert [each["versions"].get("validator") for each in of_the_fleet(read["nodes"])] == 3 * ["v25.3.2"]


def test_a_diagnosis_of_the_file_finds_the_same_of_the_fleet(cluster: ControlPlane, file: Path) -> None:
    def found(text: str) -> list[tuple[str, str]]:
        failures = json.loads(text)["failures"]
        return [(each["name"], each["node"]) for each in failures if each["node"].startswith(PREFIX)]

    asked = ("doctor", "-o", "json")
    live = found(said(cluster, *asked, code=None))
    assert found(said(cluster, *asked, "--snapshot", str(file), code=None, live=False)) == live


def test_an_adoption_is_planned_from_the_file_as_it_is_in_the_cluster(cluster: ControlPlane, file: Path) -> None:
    asked = ("rollout", "adopt", "--to", NEW, "-l", SELECTOR, "-o", "json")
    live = json.loads(said(cluster, *asked, "--dry-run", code=None))
    read = json.loads(said(cluster, *asked, "--snapshot", str(file), code=None, live=False))
    assert read == live
    assert len(read["nodes"]) == 3


def test_a_forecast_of_the_file_is_that_of_the_cluster(cluster: ControlPlane, file: Path) -> None:
    asked = ("forecast", "--samples", "2", "--seed", "1", "-o", "json")
    read = json.loads(said(cluster, *asked, "--snapshot", str(file), live=False))
    assert read["fleet"]["nodes"] >= 3


def test_under_other_names_no_word_of_a_tenants_pod_is_in_the_file(cluster: ControlPlane, fleet: Fleet) -> None:
    words = [f"{SECRET}{number}" for number in range(12)]
    name, label, note, container, first, image, tag, claim, reason, value, namespace, choice = words
    kept = {"app": label, "app.kubernetes.io/name": value, f"app.kubernetes.io/{choice}": "x", "nvidia.com/x": reason}
    gpu = {"limits": {"nvidia.com/gpu": "1"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": kept,
            "annotations": {"seatrial.dev/checkpoint": note, f"argocd.argoproj.io/{claim}": note},
        },
        "spec": {
            "nodeSelector": {"nvidia.com/gpu.product": choice},
            "containers": [{"name": container, "image": f"registry.corp/{image}:{tag}", "resources": gpu}],
            "initContainers": [{"name": first, "image": f"nvcr.io/{image}/{image}:{tag}"}],
        },
    }
    cluster.kubectl("create", "namespace", namespace)
    try:
        cluster.apply([pod])
        plain, renamed = (said(cluster, "snapshot", *more, code=None) for more in ((), ("--anonymise",)))
    finally:
        cluster.kubectl("delete", "namespace", namespace, "--wait=false")
    assert {each for each in (label, value, container, image, tag, note) if each in plain}, "the pod is in the file"
    assert [each for each in words if each in renamed] == []


def test_nothing_that_was_planted_is_in_the_file(file: Path) -> None:
    assert SECRET not in file.read_text(encoding="utf-8")
    nodes = {each["metadata"]["name"] for each in load_snapshot(file).lists["/api/v1/nodes"]}
    assert {name for name in nodes if name.startswith(PREFIX)}
