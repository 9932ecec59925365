"""Campaigns with gates that are no Job, and with the suite that comes with seatrial, on a real API server."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.neighbours.gate_runs import Ended, GateRuns, Run
from seatrial_lab.testbed.nodes import consumers
from seatrial_lab.testbed.nodes.fleet_spec import Workload
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.e2e.light_stage import LightStage, light_stage

pytestmark = pytest.mark.cluster

PREFIX = "asked"
IMAGE = "example.invalid/probes:1"
MEASURED = '{"measured": [{"name": "steps-rate", "value": 300, "unit": "steps/s"}]}'


class Desk:
    """Somebody's service that says yes or no; it says nothing until it was told what."""

    def __init__(self) -> None:
        self.says, self.asked = 503, 0
        desk = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                desk.asked += 1
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(desk.says)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Nothing: a test says what it saw."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def served(self) -> Iterator[Desk]:
        thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join(10)


@pytest.fixture(scope="module")
def desk() -> Iterator[Desk]:
    with Desk().served() as made:
        yield made


@pytest.fixture(scope="module")
def shared(cluster: ControlPlane, desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LightStage]:
    """A controller that has an image of payloads, and may ask the desk."""
    said = ("--probes-image", IMAGE, "--webhook-allow", desk.url)
    with light_stage(cluster, tmp_path_factory.mktemp(PREFIX), PREFIX, arguments=said) as made:
        yield made


@pytest.fixture
def stage(shared: LightStage) -> LightStage:
    shared.open()
    return shared


@contextmanager
def at_work(stage: LightStage, team: str) -> Iterator[Workload]:
    """A pod of a team holds a GPU of the canary meanwhile."""
    made = consumers.add_pod(stage.fleet, stage.canary, name=team, gpus=1, labels={"team": team})
    try:
        yield made
    finally:
        stage.plane.kubectl("delete", "deployment", "--all", "-n", made.namespace, "--cascade=foreground")


def verdicts(stage: LightStage, gate: str) -> list[str]:
    return [each["verdict"] for each in stage.campaign().get("gates", ()) if each["gate"] == gate]


def test_a_rollout_that_says_no_word_about_gates_is_asked_the_suite_on_a_canary_that_is_closed(
    stage: LightStage,
) -> None:
    asked: list[tuple[Run, bool]] = []

    def answer(run: Run) -> Ended:
        asked.append((run, bool(stage.plane.get("node", run.node)["spec"].get("unschedulable"))))
        return Ended(code=0, message=MEASURED)

    with GateRuns(stage.plane, namespace=keys.HOME, answer=answer):
        stage.begin("suite")
        stage.wait_phase("Done")
    suite = stage.campaign()["suite"]
    assert suite["image"] == IMAGE
    (left_out,) = suite["leftOut"]
    assert (left_out["gate"], "shows no InfiniBand or RoCE device" in left_out["why"]) == ("rdma", True)
    before = stage.campaign()["compared"]["baselineRounds"]
    of_canary = [(run.gate, run.round, is_closed) for run, is_closed in asked if run.node == stage.canary]
    first = [gate for gate, number, _ in of_canary if number == before + 1]
    assert first == ["smoke-train", "smoke-infer", "gpu-errors", "multi-gpu"], "one after the other"
    assert {number for _, number, is_closed in of_canary if is_closed} == {before + 1}
    assert {number for _, number, is_closed in of_canary if not is_closed} == {*range(1, before + 1), before + 2}
    chosen = ("-l", f"{keys.GATE_KEY},{keys.ROLLOUT_LABEL}=suite")
    jobs = stage.plane.get("jobs", "-n", keys.HOME, *chosen)["items"]
    (offered,) = {each["status"]["allocatable"]["nvidia.com/gpu"] for each in nodes(stage)}
    limits = {job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] for job in jobs}
    assert limits == {offered}, "every GPU of the canary"


def nodes(stage: LightStage) -> list[dict[str, Any]]:
    return [stage.plane.get("node", name) for name in stage.fleet.nodes]


def test_tenants_a_webhook_and_an_expression_answer_without_a_job(stage: LightStage, desk: Desk) -> None:
    desk.says = 503
    gates = [
        {"name": "work", "tenant": {"podSelector": "team=vision", "seconds": 1}, "timeoutSeconds": 120},
        {"name": "desk", "webhook": f"{desk.url}/may", "timeoutSeconds": 6},
        {"name": "both", "expression": 'verdicts["work"] == "passed" && verdicts["desk"] == "passed"'},
    ]
    stage.begin("jobless", gates=gates)
    stage.wait_holds("tenants-awaited")
    with at_work(stage, "vision"):
        stage.wait(lambda: "passed" in verdicts(stage, "work"), "the tenants to have worked")
        assert stage.status()["phase"] == "Gating", "the desk has not said yes"
        desk.says = 204
        stage.wait_phase("Done")
    assert {each["gate"]: each["verdict"] for each in stage.campaign()["gates"]} == {
        "readiness": "passed",
        "work": "passed",
        "desk": "passed",
        "both": "passed",
    }
    assert desk.asked >= 2
    chosen = ("-l", f"{keys.GATE_KEY},{keys.ROLLOUT_LABEL}=jobless")
    assert stage.plane.get("jobs", "-n", keys.HOME, *chosen)["items"] == []


def test_a_tenant_that_is_started_again_under_the_new_driver_takes_it_back(stage: LightStage) -> None:
    gates = [{"name": "work", "tenant": {"podSelector": "team=sound", "seconds": 600}, "timeoutSeconds": 600}]
    stage.begin("crashed", gates=gates)
    stage.wait_holds("tenants-awaited")
    with at_work(stage, "sound") as team:
        crash(stage, team)
        stage.wait_phase("Reverting")
    stage.wait_phase("Reverted")
    assert "restarted since the driver was loaded" in stage.campaign()["why"]


def crash(stage: LightStage, team: Workload) -> None:
    """Have the kubelet of a team's pod say that it started the container again just now."""
    (pod,) = stage.fleet.pods_of(team)
    ended = {"exitCode": 1, "reason": "Error", "finishedAt": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    (container,) = pod["status"]["containerStatuses"]
    crashed = container | {"restartCount": 1, "lastState": {"terminated": ended}}
    stage.plane.kubectl(
        "patch", "pod", pod["metadata"]["name"], "-n", team.namespace, "--subresource=status", "--type=merge",
        "-p", json.dumps({"status": {"containerStatuses": [crashed]}}),
    )  # fmt: skip


def test_a_gate_whose_image_cannot_be_pulled_is_told_with_its_job_its_pod_and_the_command(stage: LightStage) -> None:
    gates = [{"name": "train", "image": "registry.example.invalid/train:9", "gpus": 0, "timeoutSeconds": 600}]
    stage.begin("unpulled", gates=gates)
    chosen = ("-l", f"{keys.GATE_KEY}=train,{keys.ROLLOUT_LABEL}=unpulled")

    def running() -> str | None:
        found = stage.plane.get("pods", "-n", keys.HOME, *chosen)["items"]
        return next((each["metadata"]["name"] for each in found if each["status"].get("phase") == "Running"), None)

    pod = waiting.wait_for(running, what="the gate's pod", timeout_seconds=60)
    waits = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "registry.example.invalid/train:9"'}
    container = {"name": "probe", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    status = {"phase": "Pending", "containerStatuses": [container | {"state": {"waiting": waits}}]}
    stage.plane.kubectl(
        "patch", "pod", pod, "-n", keys.HOME, "--subresource=status", "--type=merge",
        "-p", json.dumps({"status": status}),
    )  # fmt: skip
    stage.wait_holds("gate-stuck")
    said = stage.run("why", "unpulled")
    assert said.returncode == 12
    (job,) = (each["metadata"]["name"] for each in stage.plane.get("jobs", "-n", keys.HOME, *chosen)["items"])
    assert (
        f"gate train does not start on {stage.fleet.nodes[0]}: ImagePullBackOff: Back-off pulling image" in said.stdout
    )
    assert f"(pod {pod} of Job {keys.HOME}/{job})" in said.stdout
    assert f"`kubectl -n {keys.HOME} describe pod {pod}` says more" in said.stdout
    left = [int(each) for each in re.findall(r"gives up within (\d+) min", said.stdout)]
    assert left, "how long it takes at most is told, too"
    assert stage.run("status").returncode == 12
    (condition,) = (each for each in stage.status()["conditions"] if each["type"] == "Progressing")
    assert (condition["status"], condition["reason"]) == ("False", "GateStuck")
    stage.plane.kubectl("delete", "jobs", "-n", keys.HOME, *chosen)
