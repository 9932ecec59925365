"""How long a commit takes by an engine: to the cluster, to the first node, and back by a revert.

Told by a webhook, or by its own look at the repository. Read by timed.py, which keeps what was found in bench/results.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seatrial_lab.testbed.history import NodeMoment
from tests.e2e.light_stage import LONG_BAKE, LightStage
from tests.gitops.looks import version
from tests.gitops.pushes import Pushes
from tests.gitops.yard import Yard

ROUNDS = 3
POLL_TIMEOUT_SECONDS = 60.0


def commit_and_revert(yard: Yard, remote: Path, tell: Callable[[], None] | None) -> dict[str, Any]:
    """Seconds from a push until the cluster has it: a commit, and its revert, a few times."""
    before = yard.colour()
    commits, reverts = [], []
    with Pushes(remote, tell) as pushes:
        for number in range(ROUNDS):
            yard.paint(f"shade-{number}")
            commits.append(_until(yard, f"shade-{number}", pushes))
            yard.revert()
            reverts.append(_until(yard, before, pushes))
    return {"commit_to_cluster_seconds": commits, "revert_to_cluster_seconds": reverts}


def _until(yard: Yard, colour: str, pushes: Pushes) -> float:
    yard.wait_colour(colour, timeout_seconds=POLL_TIMEOUT_SECONDS)
    return round(time.time() - pushes.seen[-1].at, 1)


def campaign(stage: LightStage, tell: Callable[[], None] | None, name: str) -> dict[str, float]:
    """Seconds of a campaign that is aborted while it bakes.

    From its commit until the first node is under way; and from its revert until the cluster has that, and until the
    canary is back."""
    with Pushes(stage.remote, tell) as pushes:
        stage.begin(name, **stage.by_git(**LONG_BAKE))
        stage.wait_phase("Baking")
        forth, there = pushes.seen[0].at, _first_cordon(stage)
        stage.do("rollout", "abort", name, "--reason", "timed", "-y")
        stage.wait(lambda: version(stage) == stage.running, "the revert to be in the cluster")
        back = time.time()
        stage.wait_phase("Reverted")
        home, revert = time.time(), _revert_of(stage, pushes)
    return {
        "commit_to_first_node_under_way_seconds": round(there - forth, 1),
        "revert_to_cluster_seconds": round(back - revert, 1),
        "revert_to_canary_back_seconds": round(home - revert, 1),
    }


def _first_cordon(stage: LightStage) -> float:
    since = stage.history.moments[stage.seen_before :]
    return next(each.at for each in since if isinstance(each, NodeMoment) and each.is_cordoned)


def _revert_of(stage: LightStage, pushes: Pushes) -> float:
    stage.fetched()
    subjects = {each.commit: stage.git("log", "-1", "--format=%s", each.commit) for each in pushes.seen}
    return next(each.at for each in pushes.seen if subjects[each.commit].startswith("Revert "))
