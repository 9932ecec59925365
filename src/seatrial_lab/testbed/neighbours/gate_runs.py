"""What the pods of gates would say: kwok runs them, and here somebody decides how each of them ends.

The Jobs are real, made by our controller and kept by the real Job controller; only the container's own answer is
played. A pod of a gate is ended as soon as it runs, so a round of gates takes a moment.

In a test the test decides. Beside the testbed of a person it is a program of its own, and every gate passes, with the
figures that a payload of ours would leave, unless its node says that gates fail there:
`python -m seatrial_lab.testbed.neighbours.gate_runs FOLDER`.
Tests: tests/e2e/test_campaign.py, tests/testbed/test_faults.py
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from seatrial.adapters.kube.reading.gates.probes import PAYLOAD
from seatrial.adapters.kube.shapes import keys
from seatrial.core.compat.versions import driver_version_of_image
from seatrial.core.model.gates.gate import PREPULL
from seatrial.probes.payloads.report import Measured, Report
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.nodes import manifests, stages
from seatrial_lab.testbed.plane import control_plane

LOOK_SECONDS: Final = 0.6
NAME: Final = "gates"
FAILING: Final = "the testbed was told that gates fail on this node"
FIGURES: Final = {
    "smoke-train": Measured(name="steps-rate", value=300.0, unit="steps/s"),
    "smoke-infer": Measured(name="latency-p50", value=180.0, unit="µs"),
    "multi-gpu": Measured(name="all-reduce", value=420.0, unit="GB/s"),
    "distributed": Measured(name="all-reduce", value=45.0, unit="GB/s"),
    "performance": Measured(name="matrix-bf16", value=700.0, unit="TFLOP/s"),
}
"""One figure of each payload that measures; of the others it is enough that they looked."""
LOOKED: Final = Measured(name="looked", value=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One pod of a gate."""

    gate: str
    node: str
    round: int
    payload: str = ""
    """Which payload of ours it runs, empty for any other image."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a container ends: with this code, and this message."""

    code: int = 0
    message: str = ""


Answer = Callable[[Run], str | Ended | None]
"""Empty when the gate passes, else what its container says last; or both; None for a pod that has no end here."""


class GateRuns:
    """Ends the pods of gates until its context ends."""

    def __init__(self, plane: control_plane.ControlPlane, *, namespace: str, answer: Answer = lambda _: "") -> None:
        self._plane = plane
        self._namespace = namespace
        self.answer = answer
        self.runs: list[Run] = []
        self._seen: set[str] = set()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="gate-runs", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join(10)

    def _work(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            self.look()

    def look(self) -> None:
        """End every pod that runs by now."""
        for pod in self._plane.get("pods", "-n", self._namespace, "-l", keys.GATE_KEY)["items"]:
            if pod["metadata"]["uid"] not in self._seen and pod["status"].get("phase") == "Running":
                self._end(pod)
                self._seen.add(pod["metadata"]["uid"])

    def forget(self) -> None:
        """Look at every pod anew: in a cluster that was restored, one may run again that has ended."""
        self._seen.clear()

    def _end(self, pod: dict[str, Any]) -> None:
        labels, name = pod["metadata"]["labels"], pod["metadata"]["name"]
        run = Run(
            gate=labels[keys.GATE_KEY],
            node=pod["spec"]["nodeName"],
            round=int(labels[keys.ROUND_KEY]),
            payload=_payload(pod),
        )
        self.runs.append(run)
        said = self.answer(run)
        if said is None:
            return
        end = said if isinstance(said, Ended) else Ended(code=1 if said else 0, message=said)
        if run.payload and not end.code:
            end = Ended(message=self._with_driver(end.message, run.node))
        ended = {
            "exitCode": end.code,
            "reason": "Error" if end.code else "Completed",
            "message": end.message,
            "finishedAt": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        container = {
            "name": pod["spec"]["containers"][0]["name"],
            "image": pod["spec"]["containers"][0]["image"],
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": ended},
        }
        status = {"phase": "Failed" if end.code else "Succeeded", "containerStatuses": [container]}
        try:
            self._plane.kubectl(
                "patch", "pod", name, "-n", self._namespace, "--subresource=status", "--type=merge",
                "-p", json.dumps({"status": status}),
            )  # fmt: skip
        except errors.KubectlFailed as err:
            if "NotFound" not in str(err):
                raise  # its Job may have been taken away since we looked; anything else is a fault

    def _with_driver(self, message: str, node: str) -> str:
        """The report of a payload that passes, with the driver of its node unless it names one itself."""
        report = json.loads(message) if message else {"measured": [asdict(LOOKED)]}
        pods = self._plane.get("pods", "-A", "--field-selector", f"spec.nodeName={node}")["items"]
        images = (each["image"] for pod in pods for each in pod["spec"]["containers"])
        drivers = (found.text for image in images if "/driver:" in image and (found := driver_version_of_image(image)))
        return json.dumps({"driver": next(drivers, ""), **report})


def _payload(pod: dict[str, Any]) -> str:
    command = pod["spec"]["containers"][0].get("command", [])
    count = len(PAYLOAD)
    return command[count] if tuple(command[:count]) == PAYLOAD and len(command) > count else ""


# ── beside the testbed of a person ───────────────────────────────────────────────────────────────────────────────────


def ensure_running(plane: control_plane.ControlPlane) -> None:
    """Have a program beside a control plane end the pods of all gates there, once."""
    plane.ensure_program(NAME, [sys.executable, "-m", "seatrial_lab.testbed.neighbours.gate_runs", plane.folder])


def as_nodes_say(plane: control_plane.ControlPlane) -> Answer:
    """Every gate passes, unless its node says otherwise; a real kubelet runs its pods itself."""

    def answer(run: Run) -> Ended | None:
        about = plane.get("node", run.node)["metadata"]
        if manifests.REAL_LABEL in about["labels"]:
            return None
        if about.get("annotations", {}).get(stages.GATES_FAIL) and run.gate != PREPULL:
            return Ended(code=1, message=FAILING)
        return Ended(message=report_of(run.payload) if run.payload else "")

    return answer


def report_of(payload: str) -> str:
    """What a payload leaves that found nothing wrong."""
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = FIGURES.get(payload, LOOKED)
    return Report(probe=payload, at=at, seconds=LOOK_SECONDS, measured=(found,)).termination_message()


def run(folder: Path) -> None:
    """End the pods of gates until this process is ended; an API server that is away is asked again."""
    plane = control_plane.ControlPlane.attach(folder)
    if plane is None:
        raise SystemExit(f"No control plane was started in {folder}.")
    runs = GateRuns(plane, namespace=keys.HOME, answer=as_nodes_say(plane))
    while True:
        try:
            runs.look()
        except errors.KubectlFailed as err:
            print(f"gates were not looked at: {err}", flush=True)
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
