"""How the simulated cluster answers our acts, and what it then does by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions import Cordon, EvictPods, RestartDriverPod, Uncordon, WriteNodeRecord
from seatrial.core.node import why_not_validated
from seatrial.core.snapshot import NodeFacts, NodePhase, NodeSeen, ValidatorPod
from seatrial.sim.reactions import HEALTHY, REACTIONS, Fate, Refused, apply, new_node
from tests.builders import (
    NEW,
    OLD,
    a_driver,
    a_gpu_pod,
    a_new_driver,
    a_node,
    a_starting_driver,
    a_validator,
    proving,
    written,
)

FAILING = Fate(driver_fails_on=NEW.version)


# ── our acts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("by", "before", "after"),
    [
        (WriteNodeRecord, False, False),
        (WriteNodeRecord, True, True),
        (Cordon, False, True),
        (Cordon, True, True),
        (Uncordon, True, False),
    ],
)
def test_a_record_and_its_cordon_are_written_at_once(by: type[WriteNodeRecord], before: bool, after: bool) -> None:
    node = a_node(phase=NodePhase.CORDON_REQUIRED, is_cordoned=before, is_retry_asked=True, is_label_lost=True)
    act = written(node, NodePhase.WAIT_FOR_JOBS_REQUIRED, by)
    facts = replace(node.facts, is_cordoned=after, resource_version="8")
    assert apply(node, act) == NodeSeen(facts=facts, record=act.record)


def test_a_write_on_an_old_view_is_refused() -> None:
    act = written(a_node(phase=NodePhase.UPGRADE_REQUIRED), NodePhase.CORDON_REQUIRED)
    answer = apply(a_node(resource_version="9"), act)
    assert answer == Refused(is_stale=True, why="the node is at 9, not at 7")


def test_pods_asked_to_leave_are_on_their_way_out() -> None:
    node = a_node(gpu_pods=(a_gpu_pod(0), a_gpu_pod(1), a_gpu_pod(2, is_terminating=True)))
    pods = (a_gpu_pod(0, is_terminating=True), a_gpu_pod(1), a_gpu_pod(2, is_terminating=True))
    act = EvictPods(node="n1", attempt=1, pods=(a_gpu_pod(0),))
    assert apply(node, act) == replace(node, facts=replace(node.facts, gpu_pods=pods))


def test_a_budget_that_allows_nothing_blocks_evictions() -> None:
    act = EvictPods(node="n1", attempt=1, pods=(a_gpu_pod(),))
    answer = apply(a_node(gpu_pods=(a_gpu_pod(),)), act, Fate(is_eviction_blocked=True))
    assert answer == Refused(is_stale=False, why="the disruption budget needs every pod it has")


RESTART = RestartDriverPod(node="n1", attempt=1, namespace="gpu-operator", pod="driver-n1", uid="driver-n1-0")


def test_a_driver_pod_that_is_deleted_stops() -> None:
    node = a_node()
    assert apply(node, RESTART) == replace(node, facts=replace(node.facts, driver=a_driver(is_terminating=True)))


def test_deleting_twice_is_deleting_once() -> None:
    stopping = a_node(driver=a_driver(is_terminating=True))
    assert apply(stopping, RESTART) == stopping


@pytest.mark.parametrize("driver", [None, a_new_driver()])
def test_a_driver_pod_that_is_another_one_by_now_is_left_alone(driver: Any) -> None:
    answer = apply(a_node(driver=driver), RESTART)
    assert answer == Refused(is_stale=True, why="the driver pod is another one by now")


# ── the world by itself ──────────────────────────────────────────────────────────────────────────────────────────────

CRASHED = a_starting_driver(restart_count=11, trouble="CrashLoopBackOff")
FRESH = a_starting_driver(uid="driver-n1-1")


@pytest.mark.parametrize(
    ("what", "before", "fate", "after"),
    [
        ("gpu pods leave", {"gpu_pods": (a_gpu_pod(0, is_terminating=True), a_gpu_pod(1))}, HEALTHY, "staying"),
        ("gpu pods leave", {"gpu_pods": (a_gpu_pod(0),)}, HEALTHY, None),
        ("driver pod replaced", {"driver": a_driver(is_terminating=True)}, HEALTHY, {"driver": FRESH}),
        ("driver pod replaced", {"driver": a_driver()}, HEALTHY, None),
        ("driver pod replaced", {"driver": a_driver(is_terminating=True), "wanted": None}, HEALTHY, None),
        (
            "driver gets ready",
            {"driver": a_starting_driver()},
            HEALTHY,
            {"driver": a_new_driver(ready_since=400.0)},
        ),
        ("driver gets ready", {"driver": a_starting_driver()}, FAILING, None),
        ("driver gets ready", {"driver": a_new_driver()}, HEALTHY, None),
        ("driver gets ready", {"driver": a_starting_driver(is_terminating=True)}, HEALTHY, None),
        ("driver gets ready", {"driver": None}, HEALTHY, None),
        ("driver crash loops", {"driver": a_starting_driver()}, FAILING, {"driver": CRASHED}),
        ("driver crash loops", {"driver": CRASHED}, FAILING, None),
        ("driver crash loops", {"driver": a_starting_driver()}, HEALTHY, None),
        (
            "validator restarts",
            {"driver": a_new_driver()},
            HEALTHY,
            {"validator": ValidatorPod(name="validator-n1")},
        ),
        ("validator restarts", {"driver": a_new_driver(), "validator": proving()}, HEALTHY, None),
        ("validator restarts", {"driver": a_starting_driver()}, HEALTHY, None),
        (
            "validator passes",
            {"driver": a_new_driver(), "validator": ValidatorPod(name="validator-n1")},
            HEALTHY,
            {"validator": a_validator(ready_since=400.0)},
        ),
        (
            "validator passes",
            {"driver": a_starting_driver(), "validator": ValidatorPod(name="validator-n1")},
            HEALTHY,
            None,
        ),
        ("validator passes", {"driver": a_new_driver(), "validator": proving()}, HEALTHY, None),
    ],
)
def test_the_world_reacts_where_it_has_reason_to(what: str, before: dict[str, Any], fate: Fate, after: Any) -> None:
    facts = a_node(**before).facts
    changes = {"gpu_pods": (a_gpu_pod(1),)} if after == "staying" else after
    assert REACTIONS[what](facts, fate, 400.0) == (None if changes is None else replace(facts, **changes))


def settle(facts: NodeFacts, fate: Fate) -> NodeFacts:
    """Let every reaction happen until none applies, one second after the other."""
    for second in range(20):
        following = (reaction(facts, fate, 500.0 + second) for reaction in REACTIONS.values())
        facts = next((after for after in following if after is not None), facts)
    return facts


def test_a_deleted_driver_comes_back_new_and_is_proven() -> None:
    settled = settle(a_node(driver=a_driver(is_terminating=True)).facts, HEALTHY)
    assert (settled.is_in_sync, why_not_validated(settled)) == (True, None)


def test_a_driver_that_fails_never_gets_ready() -> None:
    settled = settle(a_node(driver=a_driver(is_terminating=True)).facts, FAILING)
    assert settled.driver == replace(CRASHED, uid="driver-n1-1")


def test_a_new_node_is_healthy_and_wants_another_driver() -> None:
    node = new_node("n1", running=OLD, wanted=NEW, gpu_pod_count=2, at=100.0)
    pods = tuple(a_gpu_pod(number, name=f"train-n1-{number}", uid=f"pod-n1-{number}") for number in range(2))
    assert node == a_node(resource_version="1", gpu_pods=pods)
