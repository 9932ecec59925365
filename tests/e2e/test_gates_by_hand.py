"""`seatrial gates run` on a real API server: real Jobs, the real scheduler and Job controller, pods that kwok runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial.cli import main
from seatrial_lab.testbed.neighbours.gate_runs import Ended, GateRuns, Run
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.waiting import wait_for

pytestmark = pytest.mark.cluster

NAMESPACE = "gates-by-hand"
NODE = "by-hand-1"
MEASURED = '{"measured": [{"name": "latency-p50", "value": 99.9, "unit": "µs", "gpu": "GPU-1"}]}'
UNMEASURED = '{"unknown": [{"name": "torch", "why": "there is no PyTorch in this image"}]}'
BROKEN = '{"broken": [{"name": "rows-remapped", "why": "a row could not be remapped", "gpu": "GPU-1"}]}'


@pytest.fixture(scope="module")
def place(plane: ControlPlane) -> Iterator[ControlPlane]:
    """A GPU node that kwok plays, and a namespace."""
    node: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": NODE, "annotations": {"kwok.x-k8s.io/node": "fake"}, "labels": {"by-hand": "1"}},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}], "unschedulable": True},
    }
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, node])
    offered = {"cpu": "32", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "2"}
    plane.kubectl(
        "patch", "node", NODE, "--subresource=status", "--type=merge",
        "-p", json.dumps({"status": {"allocatable": offered, "capacity": offered}}),
    )  # fmt: skip
    plane.kubectl("wait", "--for=create", "serviceaccount/default", "-n", NAMESPACE, "--timeout=30s")
    plane.kubectl("wait", "--for=condition=Ready", f"node/{NODE}", "--timeout=60s")
    yield plane
    plane.kubectl("delete", "node", NODE)
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


@pytest.fixture
def runs(place: ControlPlane) -> Iterator[GateRuns]:
    with GateRuns(place, namespace=NAMESPACE) as playing:
        yield playing


def ask(place: ControlPlane, *more: str) -> int:
    where = ["--kubeconfig", str(place.kubeconfig), "--gates-namespace", NAMESPACE]
    return main.main(["gates", "run", NODE, "--image", "example.invalid/probes:1", *where, *more])


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str]]:
    """By gate: the verdict, and why."""
    found = json.loads(capsys.readouterr().out)
    return {each["gate"]: (each["verdict"], each["why"]) for each in found["gates"]}


def nothing_is_left(place: ControlPlane) -> None:
    wait_for(
        lambda: not place.get("jobs,pods", "-n", NAMESPACE, "-l", keys.GATE_KEY)["items"],
        what="Jobs and pods to be gone",
        timeout_seconds=60,
    )


def test_a_newcomer_asks_the_suite_with_one_command_and_reads_why(
    place: ControlPlane, runs: GateRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.answer = lambda run: Ended(message=MEASURED) if run.gate != "multi-gpu" else Ended(code=11, message=UNMEASURED)
    assert ask(place, "-o", "json") == 11
    assert told(capsys) == {
        "smoke-train": ("passed", "latency-p50 99.9 µs"),
        "smoke-infer": ("passed", "latency-p50 99.9 µs"),
        "gpu-errors": ("passed", "latency-p50 99.9 µs"),
        "multi-gpu": ("unknown", "torch: there is no PyTorch in this image"),
    }
    assert [run.gate for run in runs.runs] == ["smoke-train", "smoke-infer", "gpu-errors", "multi-gpu"]
    nothing_is_left(place)


def test_what_is_broken_is_exit_code_10(
    place: ControlPlane, runs: GateRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    runs.answer = lambda _: Ended(code=10, message=BROKEN)
    assert ask(place, "--gate", "gpu-errors") == 10
    out = capsys.readouterr().out
    assert "gpu-errors   failed" in out
    assert "rows-remapped of GPU-1: a row could not be remapped" in out
    nothing_is_left(place)


def test_gpus_that_are_in_use_stay_in_use(
    place: ControlPlane, runs: GateRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    tenant = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "tenant", "namespace": NAMESPACE},
        "spec": {
            "nodeName": NODE,
            "containers": [
                {"name": "c", "image": "example.invalid/t", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
            ],
        },
    }
    place.apply([tenant])
    try:
        assert ask(place, "--gate", "smoke-infer", "-o", "json") == 11
    finally:
        place.kubectl("delete", "pod", "tenant", "-n", NAMESPACE, "--grace-period=0", "--force")
    assert told(capsys)["smoke-infer"] == (
        "unknown",
        f"it asks for 1 GPUs, and 2 of the 2 of {NODE} are in use; no pod is evicted for a gate",
    )
    assert runs.runs == []


def test_a_job_that_somebody_deletes_is_told(
    place: ControlPlane, runs: GateRuns, capsys: pytest.CaptureFixture[str]
) -> None:
    def meddle(_: Run) -> None:
        place.kubectl("delete", "jobs", "-n", NAMESPACE, "-l", keys.GATE_KEY, "--wait=true")

    runs.answer = meddle
    assert ask(place, "--gate", "smoke-infer", "-o", "json") == 11
    verdict, why = told(capsys)["smoke-infer"]
    assert verdict == "unknown"
    assert why in ("somebody deleted its Job", "its pod was deleted before it could be looked at")
    nothing_is_left(place)


def test_a_node_that_is_not_there_is_named(place: ControlPlane, capsys: pytest.CaptureFixture[str]) -> None:
    code = main.main(
        [
            "gates",
            "run",
            "nobody",
            "--image",
            "i",
            "--kubeconfig",
            str(place.kubeconfig),
            "--gates-namespace",
            NAMESPACE,
        ]
    )
    assert code == 1
    assert "nobody" in capsys.readouterr().err


def test_a_namespace_that_lets_nothing_in_is_told_with_its_reason(
    place: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": NAMESPACE},
        "spec": {"hard": {"pods": "0"}},
    }
    place.apply([quota])
    wait_for(
        lambda: place.get("resourcequota", "none", "-n", NAMESPACE)["status"].get("hard"),
        what="the quota to count",
        timeout_seconds=30,
    )
    try:
        assert ask(place, "--gate", "smoke-infer", "-o", "json") == 11
    finally:
        place.kubectl("delete", "resourcequota", "none", "-n", NAMESPACE)
    verdict, why = told(capsys)["smoke-infer"]
    assert verdict == "unknown"
    assert why.startswith("its pod is not let in: exceeded quota")
    nothing_is_left(place)
