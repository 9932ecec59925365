"""What an audit reads only when it is asked to: NIC firmware by Jobs, versions from Helm's releases.

The Jobs, the scheduler and the Job controller are real; what their containers say is played, and the script they run
is held to a real shell in tests/adapters/kube/test_nics.py. The release is written by the real helm.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed.neighbours.gate_runs import Ended, GateRuns
from seatrial_lab.testbed.nodes.fleet import Fleet, make_fleet
from seatrial_lab.testbed.nodes.fleet_spec import FleetSpec
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.waiting import wait_for
from tests import forked
from tests.chart.charts import helm
from tests.pages import rules_of

pytestmark = pytest.mark.cluster

PREFIX, JOBS, CHARTS = "asked", "asked-jobs", "asked-charts"
TOLD = "0000:18:00.0 28.43.1014\n0000:2a:00.0 28.45.1020\nend\n"
DIGEST = f"registry.example.invalid/nvidia/gpu-operator@sha256:{'5b' * 32}"
SECRET = "hunter2-of-the-values"


@pytest.fixture(scope="module")
def fleet(plane: ControlPlane) -> Iterator[Fleet]:
    made = make_fleet(plane, FleetSpec(prefix=PREFIX, node_count=2, reload_seconds=0.2, has_feature_discovery=True))
    namespaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}} for each in (JOBS, CHARTS)]
    plane.apply(namespaces)
    plane.kubectl("label", "namespace", JOBS, "pod-security.kubernetes.io/enforce=restricted")
    plane.kubectl("wait", "--for=create", "serviceaccount/default", "-n", JOBS, "--timeout=30s")
    yield made
    made.remove()
    plane.kubectl("delete", "namespace", JOBS, CHARTS, "--wait=false")


def audit(kubeconfig: Path, *more: str) -> dict[str, Any]:
    said = forked.run("audit", "--kubeconfig", str(kubeconfig), "-o", "json", *more)
    assert said.stdout, said.stderr
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def node_of(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(dict(each) for each in found["nodes"] if each["name"] == name)


def row_of(found: dict[str, Any], component: str) -> dict[str, Any]:
    return next(dict(each) for each in found["components"] if each["component"] == component)


def test_a_short_job_on_each_gpu_node_tells_its_firmware_and_is_gone(plane: ControlPlane, fleet: Fleet) -> None:
    first, second = fleet.nodes
    jobs = [
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get", "delete"]},
        {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["list"]},
    ]
    rules = rules_of("how-to/audit.md")
    account = plane.service_account("default", "asker", cluster_rules=rules, namespaced_rules={JOBS: jobs})
    with GateRuns(plane, namespace=JOBS) as runs:
        runs.answer = lambda run: Ended(message=TOLD) if run.node == first else Ended(code=1, message="no bus")
        found = audit(account, "--nic-image", "example.invalid/busybox:1", "--jobs-namespace", JOBS)
    assert {run.node for run in runs.runs} >= {first, second}
    assert node_of(found, first)["versions"]["firmware_cx7"] == "28.43.1014 and 28.45.1020"
    assert any("read by a Job" in each for each in row_of(found, "firmware_cx7")["readFrom"])
    silent = [each for each in found["findings"] if each["component"] == "firmware_cx7" and second in each["nodes"]]
    assert ["no bus" in each["message"] for each in silent] == [True]
    wait_for(
        lambda: not plane.get("jobs,pods", "-n", JOBS, "-l", keys.GATE_KEY)["items"],
        what="Jobs and pods to be gone",
        timeout_seconds=60,
    )


def test_without_the_option_nothing_runs_and_without_the_right_the_finding_names_it(
    plane: ControlPlane, fleet: Fleet
) -> None:
    account = plane.service_account("default", "asked-auditor", cluster_rules=rules_of("how-to/audit.md"))
    plain = audit(account)
    assert "firmware_cx7" in node_of(plain, fleet.nodes[0])["notObservable"]
    assert any("--nic-image" in each for each in row_of(plain, "firmware_cx7")["readFrom"])
    found = audit(account, "--nic-image", "example.invalid/busybox:1", "--jobs-namespace", JOBS)
    silent = [each for each in found["findings"] if each["component"] == "firmware_cx7"]
    assert any('resources: ["jobs"], verbs: ["create"]' in each["message"] for each in silent), silent


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
