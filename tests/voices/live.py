"""All that is said of a live rollout: the real commands, the row that the API server prints, the real page of metrics.

A cluster moves while it is asked: what was asked while anything changed is asked again.
"""

from __future__ import annotations

import json
import re
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any, Final

from seatrial_lab.testbed import waiting
from seatrial_lab.testbed.plane.control_plane import ControlPlane
from tests.voices.comparing import contradictions
from tests.voices.said import Claim
from tests.voices.voices import Voices

TRIES: Final = 10
TIMEOUT_SECONDS: Final = 60.0
MOVING: Final = frozenset({Claim.LOST, Claim.LEFT, Claim.BAKED})
"""What another second changes."""
SERVING: Final = re.compile(r"serving health and metrics address=(\S+)")
Run = Callable[..., subprocess.CompletedProcess[str]]


def check(plane: ControlPlane, run: Run, log: str, name: str) -> Voices:
    """Wait until the controller's status has caught up, and all that is said agrees."""
    found: list[Voices] = []

    def agrees() -> bool:
        found.append(voices_of(plane, run, log, name))
        return not contradictions(found[-1], without=MOVING)

    waiting.wait_for(
        agrees,
        what=f"all that is said of {name} to agree",
        timeout_seconds=TIMEOUT_SECONDS,
        describe=lambda: "\n".join(map(str, contradictions(found[-1], without=MOVING))),
    )
    return found[-1]


def voices_of(plane: ControlPlane, run: Run, log: str, name: str) -> Voices:
    """What is said of a rollout while nothing changes; `run` runs a command of ours."""
    for _ in range(TRIES):
        before = _version(plane, name)
        found = _asked(plane, run, log, name)
        if _version(plane, name) == before:
            return found
    raise AssertionError(f"{name} changed each time while it was asked about")


def _version(plane: ControlPlane, name: str) -> object:
    """What changes with everything that the voices are about: the rollout, and the states of nodes."""
    found = plane.get("gpurollout", name)
    return found["metadata"]["generation"], {**found["status"], "summarisedAt": None}


def _asked(plane: ControlPlane, run: Run, log: str, name: str) -> Voices:
    def told(*arguments: str) -> tuple[tuple[str, ...], int]:
        done = run(*arguments)
        return tuple(done.stdout.splitlines()), done.returncode

    def document(*arguments: str) -> Any:
        return json.loads(run(*arguments, "-o", "json").stdout)

    status = document("status", name)
    why, code = told("why", name)
    nodes = {each["name"]: told("why", each["name"], "--rollout", name)[0] for each in status["nodes"]}
    found = plane.get("gpurollout", name)
    return Voices(
        rollout=name,
        status=told("status", name)[0],
        status_data=status,
        why=why,
        why_data=document("why", name),
        why_code=code,
        nodes=nodes,
        nodes_data={each: document("why", each, "--rollout", name)["node"] for each in nodes},
        columns=dict(_row(plane, name)),
        conditions={each["type"]: each for each in found["status"]["conditions"]},
        counts=found["status"]["counts"],
        report=document("report", name),
        metrics=_page(log),
    )


def _row(plane: ControlPlane, name: str) -> Iterator[tuple[str, str]]:
    """The cells below their heads; kubectl puts three blanks between columns."""
    head, row = plane.kubectl("get", "gpurollouts", name, "-o", "wide").splitlines()
    starts = [found.start() for found in re.finditer(r"\S+", head)]
    for start, end in zip(starts, [*starts[1:], len(row) + 1], strict=True):
        yield head[start:end].strip(), row[start:end].strip().replace("<none>", "")


def _page(log: str) -> str:
    served = SERVING.findall(log)
    if not served:
        return ""
    with urllib.request.urlopen(f"http://{served[-1]}/metrics", timeout=10) as answer:
        text: str = answer.read().decode()
        return text
