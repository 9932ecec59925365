"""What an audit reads only when it is asked to: an operator's version from Helm's release, written by the real helm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked
from tests.chart.charts import helm
from tests.pages import rules_of

pytestmark = pytest.mark.cluster

PREFIX, CHARTS = "asked", "asked-charts"
DIGEST = f"registry.example.invalid/nvidia/gpu-operator@sha256:{'5b' * 32}"
SECRET = "hunter2-of-the-values"


@pytest.fixture(scope="module")
def fleet(plane: ControlPlane) -> Iterator[Fleet]:
    made = make_fleet(plane, FleetSpec(prefix=PREFIX, node_count=2, reload_seconds=0.2, has_feature_discovery=True))
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": CHARTS}}])
    yield made
    made.remove()
    plane.kubectl("delete", "namespace", CHARTS, "--wait=false")


def audit(kubeconfig: Path, *more: str) -> dict[str, Any]:
    said = forked.run("audit", "--kubeconfig", str(kubeconfig), "-o", "json", *more)
    assert said.stdout, said.stderr
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def row_of(found: dict[str, Any], component: str) -> dict[str, Any]:
    return next(dict(each) for each in found["components"] if each["component"] == component)


def test_the_version_of_an_operator_that_hides_it_is_read_from_helms_release_only_when_asked(
    plane: ControlPlane, fleet: Fleet, tmp_path: Path
) -> None:
    chart = tmp_path / "gpu-operator"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: gpu-operator\nversion: v25.10.1\n")
    pod = {
        "metadata": {"labels": {"app": "pinned"}},
        "spec": {"containers": [{"name": "gpu-operator", "image": DIGEST}]},
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "pinned"},
        "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "pinned"}}, "template": pod},
    }
    (chart / "templates/deployment.yaml").write_text(json.dumps(deployment))
    where = ("--namespace", CHARTS, "--kubeconfig", str(plane.kubeconfig))
    helm("install", "pinned", chart, *where, "--set", f"password={SECRET}")
    try:
        (why,) = row_of(audit(plane.kubeconfig), "gpu_operator")["readFrom"]
        assert "--helm-secrets" in why
        found = audit(plane.kubeconfig, "--helm-secrets")
        told = row_of(found, "gpu_operator")
        assert [each["version"] for each in told["found"]] == ["v25.10.1"]
        assert told["readFrom"] == [f"Helm release {CHARTS}/pinned, version of its chart"]
        assert SECRET not in json.dumps(found)
        account = plane.service_account("default", "no-secrets", cluster_rules=rules_of("how-to/audit.md"))
        (refused,) = row_of(audit(account, "--helm-secrets"), "gpu_operator")["readFrom"]
        assert "Helm's releases cannot be read" in refused
        assert "secrets" in refused
    finally:
        helm("uninstall", "pinned", *where)
