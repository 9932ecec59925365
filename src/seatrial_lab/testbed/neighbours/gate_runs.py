"""What the pods of gates would say: kwok runs them, and here somebody decides how each of them ends.

The Jobs are real, made by our controller and kept by the real Job controller; only the container's own answer is
played. A pod of a gate is ended as soon as it runs, so a round of gates takes a moment.

Tests: tests/e2e/test_campaign.py
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed.plane import control_plane

LOOK_SECONDS: Final = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One pod of a gate."""

    gate: str
    node: str
    round: int


Answer = Callable[[Run], str]
"""Empty when the gate passes, else what its container says last."""


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
            found = self._plane.get("pods", "-n", self._namespace, "-l", keys.GATE_KEY)["items"]
            for pod in found:
                if pod["metadata"]["uid"] not in self._seen and pod["status"].get("phase") == "Running":
                    self._seen.add(pod["metadata"]["uid"])
                    self._end(pod)

    def _end(self, pod: dict[str, Any]) -> None:
        labels, name = pod["metadata"]["labels"], pod["metadata"]["name"]
        run = Run(gate=labels[keys.GATE_KEY], node=pod["spec"]["nodeName"], round=int(labels[keys.ROUND_KEY]))
        self.runs.append(run)
        said = self.answer(run)
        ended = {"exitCode": 1 if said else 0, "reason": "Error" if said else "Completed", "message": said}
        container = {
            "name": pod["spec"]["containers"][0]["name"],
            "image": pod["spec"]["containers"][0]["image"],
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": ended},
        }
        status = {"phase": "Failed" if said else "Succeeded", "containerStatuses": [container]}
        self._plane.kubectl(
            "patch", "pod", name, "-n", self._namespace, "--subresource=status", "--type=merge",
            "-p", json.dumps({"status": status}),
        )  # fmt: skip
