"""A driver of the wanted version that came without a visit and does not start: it gets a deadline, then a visit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import RestartPod, WriteNodeRecord
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import Bake, Campaign, Canary, Growth, RolloutPhase, Waves
from seatrial.core.model.gates.gate import Gate
from seatrial.core.model.intent import Retries
from seatrial.core.model.policy import Share
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.model.seen.pods import DriverPod
from seatrial.core.node.phases import FailureCode
from seatrial.core.node.step import step_node
from seatrial.core.node.writing import WISH
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim import outside as outer
from seatrial.sim.nodes import Fate, new_node
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
from tests.builders import NEW, NOW, OLD, a_node, a_starting_driver, a_well_node, an_intent, some_orders

HOUR = 3600.0
LATE = NOW + an_intent().restart_timeout_seconds
UNADMITTED = some_orders(admitted={})
CRASHING: Mapping[str, Any] = {"trouble": "CrashLoopBackOff", "restart_count": 40}


def written(node: NodeSeen, now: float = NOW) -> WriteNodeRecord:
    action = step_node(node, UNADMITTED, now).action
    assert isinstance(action, WriteNodeRecord)
    return action


def a_waiting_node(**driver: Any) -> NodeSeen:
    """A node whose driver is the wanted one, came by itself, and has been waited for since NOW."""
    return a_node(phase=NodePhase.UPGRADE_REQUIRED, entered_at=NOW, driver=a_starting_driver(**driver))


# ── one node ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("phase", [None, NodePhase.UPGRADE_DONE])
def test_a_wanted_driver_that_is_not_ready_is_waited_for_on_record(phase: NodePhase | None) -> None:
    record = written(a_node(phase=phase, driver=a_starting_driver())).record
    assert (record.phase, record.entered_at) == (NodePhase.UPGRADE_REQUIRED, NOW)


def test_it_keeps_its_users_until_its_time_is_up() -> None:
    step = step_node(a_waiting_node(**CRASHING), UNADMITTED, NOW + 60)
    assert step.hold is not None
    assert (step.hold.code, step.hold.until) == (HoldCode.DRIVER_NOT_READY, LATE)
    assert dict(step.hold.params)["trouble"] == "CrashLoopBackOff"


def test_a_driver_that_starts_in_time_needs_no_visit() -> None:
    node = a_well_node(phase=NodePhase.UPGRADE_REQUIRED, entered_at=NOW)
    assert written(node, NOW + 60).record.phase is NodePhase.UPGRADE_DONE


def test_one_that_does_not_start_in_time_is_visited_and_its_pod_replaced() -> None:
    node = a_waiting_node(**CRASHING)
    record = written(node, LATE).record
    assert record.old_pod == "driver-n1-1"
    node = replace(node, record=record)
    assert step_node(node, UNADMITTED, LATE) == WISH
    restarting = a_node(
        phase=NodePhase.POD_RESTART_REQUIRED,
        is_cordon_ours=True,
        driver=a_starting_driver(**CRASHING),
        record={"old_pod": "driver-n1-1"},
    )
    action = step_node(restarting, some_orders(), NOW).action
    assert isinstance(action, RestartPod)
    assert action.uid == "driver-n1-1"


def test_the_time_of_a_node_that_is_not_ready_does_not_begin() -> None:
    node = a_node(phase=NodePhase.UPGRADE_DONE, driver=a_starting_driver(), is_ready=False)
    assert step_node(node, UNADMITTED, NOW).action is None


# ── a campaign ───────────────────────────────────────────────────────────────────────────────────────────────────────

CAMPAIGN = Campaign(
    canary=Canary(count=1),
    gates=(Gate(name="nccl", image="example.org/nccl:1"),),
    bake=Bake(seconds=HOUR),
    waves=Waves(growth=Growth.FIXED, first=Share(amount=3)),
)


class _Silent:
    def append(self, at: float, kind: str, fields: object) -> None:
        """Forget."""


def leaked(facts: NodeFacts) -> NodeFacts:
    """The node once somebody has deleted its driver pod: the DaemonSet makes one of the new template."""
    pod = DriverPod(
        namespace="gpu-operator",
        name=f"driver-{facts.name}",
        uid=f"driver-{facts.name}-1",
        revision=NEW.hash,
        version=NEW.version,
    )
    return replace(facts, driver=pod, wanted=NEW)


def played(fate: Fate, *, failed_max: int = 0, hours: float = 24.0) -> World:
    """A campaign over four nodes; the driver of n3 leaks once the new version is published."""
    nodes = [new_node(f"n{number}", running=OLD, wanted=OLD) for number in range(1, 5)]
    intent = an_intent(
        parallel_max=2, unavailable_max=2, campaign=CAMPAIGN, failed_max=failed_max, retries=Retries(count_max=0)
    )
    outside = Outside(operator=outer.cluster_policy(OLD.version))
    world = World(nodes, intent, outside=outside, revisions=(NEW,), fates={"n3": fate})
    world.at(0.5 * HOUR, lambda it: it.change("n3", lambda node: replace(node, facts=leaked(node.facts))))

    def look(report: Report) -> None:
        assert not report.breaches, report.breaches

    over: Callable[[Report], bool] = lambda _report: world.time > hours * HOUR  # noqa: E731
    asyncio.run(run_forever(world.ports(_Silent()), Memory(world.time), on_report=look, is_over=over))
    return world


@pytest.mark.parametrize(
    "fate", [Fate(driver_fails_on=NEW.version), Fate(image_missing_for=NEW.version)], ids=["crashes", "no image"]
)
def test_a_leaked_driver_that_never_starts_fails_its_node_and_counts(fate: Fate) -> None:
    world = played(fate)
    record = world.nodes["n3"].record
    assert record is not None
    assert record.phase is NodePhase.UPGRADE_FAILED
    assert record.reason in (FailureCode.DRIVER_CRASH_LOOP, FailureCode.DRIVER_TIMEOUT)
    assert world.rollout.campaign is not None
    assert "1 node failed in the waves" in world.rollout.campaign.rejected


def test_the_wave_goes_on_without_it_where_one_may_fail_and_the_promotion_waits_for_a_person() -> None:
    world = played(Fate(driver_fails_on=NEW.version), failed_max=1)
    assert world.rollout.campaign is not None
    assert world.rollout.campaign.phase is RolloutPhase.PROMOTING
    assert world.rollout.summary is not None
    assert [each.code for each in world.rollout.summary.told] == ["nodes-failed"]
