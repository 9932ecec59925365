"""How long a commit takes to the cluster by an engine: measured in the tests that run it, kept in bench/results."""

from __future__ import annotations

import time
from typing import Any

from bench.machine import keep, machine

from seatrial_lab.testbed.neighbours.engines import Engine
from tests.e2e.campaigns import Ground
from tests.gitops.yard import Yard

ROUNDS = 3
POLL_TIMEOUT_SECONDS = 240.0
"""An engine as it is installed may look every three minutes."""


def commit_and_revert(yard: Yard, engine: Engine) -> dict[str, Any]:
    """Seconds from a push that the engine is told of until the cluster has it: a commit, and its revert."""
    before = yard.colour()
    commits, reverts = [], []
    for number in range(ROUNDS):
        yard.paint(f"shade-{number}")
        commits.append(_until(yard, f"shade-{number}", engine))
        yard.revert()
        reverts.append(_until(yard, before, engine))
    return {"commit_to_cluster_seconds": commits, "revert_to_cluster_seconds": reverts}


def commit_alone(yard: Yard) -> float:
    """The same for one commit that nobody tells the engine of."""
    yard.paint("alone")
    return _until(yard, "alone", None)


def _until(yard: Yard, colour: str, poked: Engine | None) -> float:
    began = time.monotonic()
    if poked is not None:
        poked.poke()
    yard.wait_colour(colour, timeout_seconds=POLL_TIMEOUT_SECONDS)
    return round(time.monotonic() - began, 1)


def commit_to_first_node(stage: Ground, subject: str, *, since: int = 0) -> float:
    """Seconds from the time in our commit until the first node was seen to be cordoned after it."""
    stage.git("fetch", "--quiet", "origin", "main")
    found = stage.git("log", "-1", "--fixed-strings", f"--grep={subject}", "--format=%ct", "origin/main")
    at = float(found.strip())
    cordoned = [moment.at for moment in stage.history.nodes()[since:] if moment.is_cordoned and moment.at >= at]
    return round(cordoned[0] - at, 1)


def keep_for(engine: str, version: str, **found: Any) -> None:
    """Keep what was found beside the other results."""
    keep(f"gitops-{engine}", {"engine": engine, "version": version, "machine": machine(), **found})
