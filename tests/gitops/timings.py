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


def commit_and_revert(yard: Yard, engine: Engine, *, is_poked: bool, rounds: int = ROUNDS) -> dict[str, Any]:
    """Seconds from the end of a push until the cluster has it, for a commit and its revert."""
    seconds: dict[str, list[float]] = {"commit_to_cluster_seconds": [], "revert_to_cluster_seconds": []}
    for number in range(rounds):
        before = yard.colour()
        colour = f"shade-{number}"
        for key, push, wanted in (
            ("commit_to_cluster_seconds", lambda colour=colour: yard.paint(colour), colour),
            ("revert_to_cluster_seconds", yard.revert, before),
        ):
            push()
            began = time.monotonic()
            if is_poked:
                engine.poke()
            yard.wait_colour(wanted, timeout_seconds=POLL_TIMEOUT_SECONDS)
            seconds[key].append(round(time.monotonic() - began, 1))
    return dict(seconds)


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
