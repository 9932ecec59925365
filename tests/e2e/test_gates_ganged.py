"""`seatrial gates run NODE --with NODE` on a real API server: one Job, a pod on each node, and nothing left behind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from seatrial.adapters.kube.api import config as configs
from seatrial.adapters.kube.api.client import Client
from seatrial.adapters.kube.probing import Prober
from seatrial.adapters.kube.reading.gates.probes import Level
from seatrial.adapters.kube.shapes import keys
from seatrial.cli import main
from seatrial.core.model.gates.gate import Gate, GateVerdict
from seatrial_lab.testbed.neighbours.gate_runs import Ended, GateRuns, Run
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from seatrial_lab.testbed.waiting import wait_for

pytestmark = pytest.mark.cluster

NAMESPACE = "gates-ganged"
NODES = ("ganged-1", "ganged-2", "ganged-3")
SUM = '{"measured": [{"name": "gang", "value": 4, "unit": "GPUs"}, {"name": "all-reduce", "value": 391.4}]}'
WRONG = '{"broken": [{"name": "sums", "why": "3 numbers are wrong"}]}'
APART = '{"unknown": [{"name": "distributed", "why": "the gang did not meet within 30 s"}]}'


def a_node(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {"kubernetes.io/hostname": name},
        },
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
    }


@pytest.fixture(scope="module")
def place(plane: ControlPlane) -> Iterator[ControlPlane]:
    """Three GPU nodes that kwok plays, somebody at work on the last, and a namespace."""
    plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *map(a_node, NODES)])
    offered = {"cpu": "32", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "2"}
    for name in NODES:
        plane.kubectl(
            "patch", "node", name, "--subresource=status", "--type=merge",
            "-p", json.dumps({"status": {"allocatable": offered, "capacity": offered}}),
        )  # fmt: skip
    plane.kubectl("wait", "--for=create", "serviceaccount/default", "-n", NAMESPACE, "--timeout=30s")
    for name in NODES:
        plane.kubectl("wait", "--for=condition=Ready", f"node/{name}", "--timeout=60s")
    at_work = {"name": "c", "image": "example.invalid/t", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    tenant = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "tenant", "namespace": NAMESPACE},
        "spec": {"nodeName": NODES[2], "containers": [at_work]},
    }
    plane.apply([tenant])
    yield plane
    plane.kubectl("delete", "node", *NODES)
    plane.kubectl("delete", "namespace", NAMESPACE, "--wait=false")


def ask(place: ControlPlane, *partners: str) -> int:
    where = ["--kubeconfig", str(place.kubeconfig), "--gates-namespace", NAMESPACE, "-o", "json"]
    named = [part for partner in partners for part in ("--with", partner)]
    image = ["--image", "example.invalid/probes:1", "--gate", "distributed"]
    return main.main(["gates", "run", NODES[0], *image, *named, *where])


def nothing_is_left(place: ControlPlane) -> None:
    wait_for(
        lambda: (
            not place.get("jobs,pods", "-n", NAMESPACE, "-l", keys.GATE_KEY)["items"]
            and not place.get("services", "-n", NAMESPACE)["items"]
        ),
        what="the Job, its pods and their Service to be gone",
        timeout_seconds=60,
    )


def test_nodes_with_room_are_asked_at_once_and_who_is_at_work_stays_so(
    place: ControlPlane, capsys: pytest.CaptureFixture[str]
) -> None:
    with GateRuns(place, namespace=NAMESPACE, answer=lambda _: Ended(message=SUM)) as runs:
        assert ask(place, *NODES[1:]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(run.node for run in runs.runs) == ["ganged-1", "ganged-2"]
    (gate,) = found["gates"]
    assert (gate["verdict"], {each["name"]: each["value"] for each in gate["figures"]}["all-reduce"]) == (
        "passed",
        391.4,
    )
    (left,) = found["leftOut"]
    assert left["gate"] == "distributed on ganged-3"
    assert "no pod is evicted for a gate" in left["why"]
    nothing_is_left(place)


def test_a_wrong_sum_on_any_of_them_fails(place: ControlPlane, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(run: Run) -> Ended | None:
        return Ended(code=10, message=WRONG) if run.node == "ganged-2" else None

    with GateRuns(place, namespace=NAMESPACE, answer=answer):
        assert ask(place, "ganged-2") == 10
    (gate,) = json.loads(capsys.readouterr().out)["gates"]
    assert "sums: 3 numbers are wrong" in gate["why"]
    nothing_is_left(place)


def test_alone_it_is_left_out_and_told(place: ControlPlane, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(place, "ganged-3") == 11
    found = json.loads(capsys.readouterr().out)
    assert found["gates"] == []
    assert found["leftOut"][-1]["why"].endswith("ganged-1 is alone: none of its partners has room")


async def test_a_gang_of_which_one_never_starts_is_unknown(place: ControlPlane) -> None:
    """As when somebody takes the GPUs between the look and the start."""
    gate = Gate(name="ring", image="example.invalid/probes:1", probe="distributed", gpus=2, timeout_seconds=60.0)
    config = configs.load_config(kubeconfig=str(place.kubeconfig), environ={})
    with GateRuns(place, namespace=NAMESPACE, answer=lambda _: Ended(code=11, message=APART)):
        async with Client(config, user_agent="test-ganged") as client:
            prober = Prober(client, home=NAMESPACE, level=Level.BASELINE)
            found = await prober.ask(gate, await prober.offer("ganged-1"), gang=("ganged-1", "ganged-3"))
    assert found.verdict is GateVerdict.UNKNOWN
    assert found.detail.startswith(("1 of its 2 members started: ", "distributed: the gang did not meet"))
    nothing_is_left(place)
