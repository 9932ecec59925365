"""What a person sees when something is missing or wrong: one sentence, the next step, an exit code, no traceback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from seatrial_lab.testbed import controller_process
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests import forked

pytestmark = pytest.mark.cluster


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Our command as a person runs it."""
    kept = {key: value for key, value in os.environ.items() if key not in ("KUBECONFIG", "HOME")}
    return forked.run(*arguments, environment={**kept, **environ})


def assert_one_sentence(answer: subprocess.CompletedProcess[str], *parts: str, code: int = 1) -> None:
    """One line on stderr that holds these parts, this exit code, and nothing that looks like Python."""
    assert answer.returncode == code, answer.stderr
    assert "Traceback" not in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1, answer.stderr
    for part in parts:
        assert part in answer.stderr


def edited(kubeconfig: Path, folder: Path, **user: Any) -> Path:
    """A copy of a kubeconfig with other credentials."""
    content = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    content["users"][0]["user"] = user
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("command", [("status",), ("why", "gpu-01"), ("controller", "--once")])
def test_without_a_kubeconfig_it_says_where_it_looked(command: tuple[str, ...], tmp_path: Path) -> None:
    assert_one_sentence(run(*command, HOME=str(tmp_path)), "kubeconfig", "--kubeconfig")


def test_a_server_that_does_not_answer_is_named(cluster: ControlPlane, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    content = yaml.safe_load(cluster.kubeconfig.read_text(encoding="utf-8"))
    content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{port}"
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    answer = run("status", "--kubeconfig", str(path))
    assert_one_sentence(answer, f"https://127.0.0.1:{port}", "check that the cluster runs")


def test_a_token_the_server_does_not_take_is_said_to_be_so(cluster: ControlPlane, tmp_path: Path) -> None:
    path = edited(cluster.kubeconfig, tmp_path, token="an-old-token")
    assert_one_sentence(run("status", "--kubeconfig", str(path)), "token")


def test_a_missing_right_is_named_with_verb_resource_and_user(cluster: ControlPlane) -> None:
    path = cluster.service_account("seatrial", "nobody")
    answer = run("controller", "--once", "--kubeconfig", str(path))
    assert_one_sentence(answer, "list", "system:serviceaccount:seatrial:nobody")


def test_a_missing_right_to_lead_is_said_before_anything_is_done(cluster: ControlPlane) -> None:
    rules, by_namespace = controller_process.controller_rules()
    del by_namespace["seatrial"]  # where the lease is
    path = cluster.service_account("seatrial", "reader", cluster_rules=rules, namespaced_rules=by_namespace)
    answer = run("controller", "--once", "--kubeconfig", str(path))
    assert_one_sentence(answer, "leases", "system:serviceaccount:seatrial:reader")


def test_a_cluster_without_our_resource_is_told_how_to_get_it(tmp_path: Path) -> None:
    with ControlPlane.start(tmp_path / "plane") as bare:
        answer = run("status", "--kubeconfig", str(bare.kubeconfig))
        assert_one_sentence(answer, "GPURollout", "seatrial manifests crd | kubectl apply -f -")


A_WORD = {
    "gate": "smoke",
    "verdict": "pass",
    "because": "it is well",
    "at": "2026-11-18T10:00:00Z",
    "until": "2026-11-19T10:00:00Z",
}


def a_rollout(**spec: Any) -> str:
    """A rollout's text, good but for what is given."""
    body = {"target": {"driver": "580.105.08"}, **spec}
    rollout = {"apiVersion": "seatrial.dev/v1alpha1", "kind": "GPURollout", "metadata": {"name": "bad"}, "spec": body}
    return json.dumps(rollout)


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"target": {"driver": "6.x TBD"}}, "spec.target.driver"),
        ({"target": {"driver": "580"}}, "spec.target.driver"),
        ({"limits": {"maxUnavailable": "many"}}, "maxUnavailable is a count such as 3 or a percentage up to 100%"),
        ({"limits": {"maxUnavailable": "-1"}}, "maxUnavailable is a count such as 3 or a percentage up to 100%"),
        ({"limits": {"maxUnavailable": -1}}, "maxUnavailable is a count such as 3 or a percentage up to 100%"),
        ({"limits": {"maxUnavailable": "101%"}}, "maxUnavailable is a count such as 3 or a percentage up to 100%"),
        ({"limits": {"maxUnavailable": "150%"}}, "maxUnavailable is a count such as 3 or a percentage up to 100%"),
        (
            {"domains": [{"label": "rack", "maxUnavailable": "150%"}]},
            "maxUnavailable is a count such as 3 or a percentage up to 100%",
        ),
        ({"waves": {"first": "150%"}}, "a wave is a count such as 3 or a percentage up to 100%"),
        ({"limits": {"maxParallelUpgrades": -1}}, "spec.limits.maxParallelUpgrades"),
        ({"limits": {"maxParalel": 1}}, "maxParalel"),
        ({"driverTimeoutSeconds": 300_000_000_000}, "spec.driverTimeoutSeconds"),
        ({"retries": {"max": 1, "pauseSeconds": 31_536_001}}, "spec.retries.pauseSeconds"),
        ({"approvals": {"attested": [{**A_WORD, "until": "9999-12-31T23:59:59-05:00"}]}}, r"attested\[0\].until"),
        (
            {"approvals": {"attested": [{**A_WORD, "until": "0001-01-01T00:00:00Z"}]}},
            "a time lies in the years 1970 to 2199",
        ),
        ({"approvals": {"attested": [{**A_WORD, "at": ["2026-11-18"]}]}}, "expected string"),
        ({"said": [{"what": "resume", "at": [["x"]]}]}, "expected string"),
        ({"approvals": {"attested": [{**A_WORD, "at": "0000-01-01T00:00:00Z"}]}}, r"attested\[0\].at"),
    ],
)
def test_a_rollout_that_cannot_be_meant_is_refused_by_the_api_server(
    cluster: ControlPlane, spec: dict[str, Any], named: str
) -> None:
    with pytest.raises(Exception, match=named):
        cluster.kubectl("create", "--validate=strict", "-f", "-", stdin=a_rollout(**spec))


def test_a_node_that_is_not_there_is_answered_with_names_that_are_alike(cluster: ControlPlane) -> None:
    assert_one_sentence(run("why", "nowhere", "--kubeconfig", str(cluster.kubeconfig)), "no node or rollout nowhere")


def test_a_rollout_that_is_not_there_is_named(cluster: ControlPlane) -> None:
    answer = run("status", "ghost", "--kubeconfig", str(cluster.kubeconfig))
    assert_one_sentence(answer, "no GPURollout ghost", "kubectl get gpurollouts")


def test_wrong_usage_has_its_own_exit_code() -> None:
    answer = run("controller")
    assert answer.returncode == 2
    assert "--once" in answer.stderr


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    answer = run("status", "--debug", HOME=str(tmp_path))
    assert "Traceback" in answer.stderr
