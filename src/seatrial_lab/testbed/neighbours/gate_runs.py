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
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self

from seatrial.adapters.kube.shapes import keys
from seatrial_lab.testbed import errors
from seatrial_lab.testbed.plane import control_plane

LOOK_SECONDS: Final = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One pod of a gate."""

    gate: str
    node: str
    round: int


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
        if said is None:
            return
        end = said if isinstance(said, Ended) else Ended(code=1 if said else 0, message=said)
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
