"""What the status tells of nodes costs hardly a write: counted over whole rollouts in a simulated cluster."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from seatrial.core.decision import summary
from seatrial.core.holds import Hold
from seatrial.core.model.seen.rollouts import Told, Waiting
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.world import World
from tests.builders import NEW, OLD, an_intent
from tests.run.test_loop import Pages, run

FATES = {
    "n03": Fate(is_eviction_blocked=True),
    "n07": Fate(driver_fails_on=NEW.version),
    "n11": Fate(is_pod_stuck=True),
    "n13": Fate(image_missing_for=NEW.version),
    "n17": Fate(is_validator_lazy=True),
}


def a_world() -> World:
    """Twenty nodes, four at a time; a few wait for hours, and some fail."""
    nodes = [new_node(f"n{number:02}", running=OLD, wanted=NEW, gpu_pod_count=number % 3) for number in range(20)]
    return World(nodes, an_intent(parallel_max=4, unavailable_max="50%", failed_max=5), fates=FATES)


def writes() -> tuple[int, float]:
    """How often the status was written, and how long the rollout took."""
    world, pages = a_world(), Pages()
    run(world, pages)
    return sum(fields["act"] == "WriteRolloutRecord" for fields in pages.of("act")), world.time


def test_telling_which_nodes_wait_adds_few_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    told, seconds = writes()

    def no_node(_: Iterable[Hold], _blocker: Told | None = None, *, is_timed: bool = True) -> tuple[Waiting, ...]:
        return ()

    monkeypatch.setattr(summary, "waiting_of", no_node)
    untold, _ = writes()
    assert untold > 20
    assert told <= untold * 1.1, (told, untold, seconds)
