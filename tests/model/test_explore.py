"""Every reachable state of small worlds: no promise is broken, and an end can be reached from everywhere.

The mutations show that the explorer would find what the design protects against: each takes one protection away, and
the explorer answers with the shortest story of the harm.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core import capacity
from seatrial.core.actions import RestartDriverPod, WriteNodeRecord, WriteRolloutRecord
from seatrial.core.decide import Decision, decide
from seatrial.core.intent import Intent
from seatrial.core.snapshot import Admission, NodePhase, NodeSeen, Snapshot
from seatrial.sim.explore import Counterexample, Exploration, explore
from seatrial.sim.reactions import Fate, NodeAct, Refused, apply, new_node
from tests.builders import NEW, OLD, an_intent


def some_nodes(count: int, *, cordoned: str = "", **changes: Any) -> tuple[NodeSeen, ...]:
    names = [f"n{number}" for number in range(1, count + 1)]
    return tuple(new_node(name, running=OLD, wanted=NEW, is_cordoned=name == cordoned, **changes) for name in names)


def limits(unavailable_max: int, *, failed_max: int = 1) -> Intent:
    return an_intent(parallel_max=0, unavailable_max=unavailable_max, failed_max=failed_max)


BROKEN = Fate(driver_fails_on=NEW.version)


def assert_all_is_well(found: Exploration, *, states_min: int) -> None:
    """No broken promise, no state without a way to an end, and a world worth the walk."""
    assert found.counterexample is None, f"\n{found.counterexample}"
    assert found.end_count > 0
    assert found.state_count >= states_min


# ── worlds ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_three_nodes_at_a_limit_of_two() -> None:
    assert_all_is_well(explore(some_nodes(3), limits(2)), states_min=280_000)


def test_three_nodes_of_which_one_has_a_driver_that_fails_and_no_failure_is_tolerated() -> None:
    found = explore(some_nodes(3), limits(2, failed_max=0), fates={"n1": BROKEN})
    assert_all_is_well(found, states_min=150_000)


def test_three_nodes_of_which_an_admin_cordoned_one() -> None:
    assert_all_is_well(explore(some_nodes(3, cordoned="n2"), limits(2)), states_min=190_000)


@pytest.mark.parametrize("unavailable_max", [1, 2])
def test_two_nodes_with_gpu_pods(unavailable_max: int) -> None:
    found = explore(some_nodes(2, gpu_pod_count=2), limits(unavailable_max), restarts_max=2)
    assert_all_is_well(found, states_min=2_000)


def test_a_node_whose_pods_may_not_leave_keeps_its_place_and_nobody_is_harmed() -> None:
    # Time stands still here, so the deadline that ends such a wait never comes: the wait is what the explorer finds.
    found = explore(some_nodes(2, gpu_pod_count=1), limits(2), fates={"n1": Fate(is_eviction_blocked=True)})
    assert found.counterexample is not None
    assert found.counterexample.broken.startswith("no end can be reached: n1 pod-deletion-required")


def test_a_world_too_large_is_refused() -> None:
    with pytest.raises(RuntimeError, match="More than 100 states; make the world smaller"):
        explore(some_nodes(2), limits(1), state_limit=100)


# ── mutations ────────────────────────────────────────────────────────────────────────────────────────────────────────


def told(found: Exploration) -> str:
    assert found.counterexample is not None
    print(f"\n{found.counterexample}")
    return str(found.counterexample)


def without_ledger(seen: Snapshot, intent: Intent, now: float) -> Decision:
    """Starts nodes on a budget taken from the views of the nodes alone, as if the ledger had said so."""
    under_way = capacity.still_admitted((), seen.nodes)
    believed = replace(seen, rollout=replace(seen.rollout, admitted=under_way))
    wishes = decide(believed, intent, now)
    for action in wishes.actions:
        if isinstance(action, WriteRolloutRecord):
            believed = replace(believed, rollout=replace(believed.rollout, admitted=action.record.admitted))
    return decide(believed, intent, now)


def test_without_the_ledger_the_budget_is_overspent() -> None:
    found = explore(some_nodes(2), limits(1), decider=without_ledger, promises=())
    assert told(found) == (
        "  1. n1: upgrade-required is written (attempt 1)\n"
        "  2. n2: upgrade-required is written (attempt 1)\n"
        "  3. the view of n2 catches up\n"
        "  4. n2: cordon-required is written (attempt 1)\n"
        "  5. the view of n1 catches up\n"
        "  6. n1: cordon-required is written (attempt 1)\n"
        "  => 2 nodes unavailable at a limit of 1: n1, n2"
    )


def test_without_the_ledger_the_promises_stop_the_very_first_start() -> None:
    found = explore(some_nodes(2), limits(1), decider=without_ledger)
    assert told(found).endswith("=> admitted broken at n1: WriteNodeRecord of attempt 1 is not in the ledger")


def without_precondition(node: NodeSeen, act: NodeAct, fate: Fate) -> NodeSeen | Refused:
    """Writes to a node whatever happened to it since we looked."""
    if isinstance(act, WriteNodeRecord):
        act = replace(act, expect=node.facts.resource_version)
    return apply(node, act, fate)


def test_without_the_precondition_an_old_view_forgets_that_a_driver_was_stopped() -> None:
    found = explore(some_nodes(1), limits(1), answerer=without_precondition)
    story = told(found)
    assert story.endswith(
        " 13. n1: driver pod driver-n1-0 is deleted\n"
        " 14. the controller crashes and starts again with the oldest view there is\n"
        " 15. n1: upgrade-required is written (attempt 1)\n"
        "  => the driver of n1 is stopped, but its record says upgrade-required"
    )


def test_a_failed_node_that_leaves_the_ledger_with_our_cordon_on_is_not_counted_by_an_old_view(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_held(admission: Admission, node: NodeSeen | None) -> bool:
        return node is not None and admission.node in capacity.under_way([admission], {node.name: node})

    monkeypatch.setattr(capacity, "_is_held", is_held)
    found = explore(some_nodes(2), limits(1), fates={"n1": BROKEN})
    assert told(found).endswith(
        "the controller crashes and starts again with the oldest view there is\n"
        " 22. the view of n2 catches up\n"
        " 23. the view of the ledger catches up\n"
        " 24. the ledger is written: n2 (attempt 1)\n"
        " 25. the view of the ledger catches up\n"
        " 26. n2: cordon-required is written (attempt 1)\n"
        "  => 2 nodes unavailable at a limit of 1: n1, n2"
    )


def acting_at_once(seen: Snapshot, intent: Intent, now: float) -> Decision:
    """Stops the driver in the same pass that opens the phase, before the record has been seen."""
    decision = decide(seen, intent, now)
    opening = [
        action.node
        for action in decision.actions
        if isinstance(action, WriteNodeRecord) and action.record.phase is NodePhase.POD_RESTART_REQUIRED
    ]
    drivers = [(name, seen.nodes[name].facts.driver) for name in opening]
    acts = tuple(
        RestartDriverPod(node=name, attempt=1, namespace=pod.namespace, pod=pod.name, uid=pod.uid)
        for name, pod in drivers
        if pod is not None
    )
    return replace(decision, actions=decision.actions + acts)


def test_without_the_record_first_a_crash_leaves_a_driver_stopped_that_nobody_knows_of() -> None:
    found = explore(some_nodes(1), limits(1), decider=acting_at_once, promises=())
    story = told(found)
    assert story.endswith("the driver of n1 is stopped, but its record says pod-deletion-required")
    assert "n1: driver pod driver-n1-0 is deleted" in story


def test_a_cordon_of_an_admin_that_we_would_lift_is_found() -> None:
    def lifting(node: NodeSeen, act: NodeAct, fate: Fate) -> NodeSeen | Refused:
        answer = apply(node, act, fate)
        is_end = isinstance(act, WriteNodeRecord) and act.record.phase is NodePhase.UPGRADE_DONE
        if isinstance(answer, Refused) or not is_end:
            return answer
        return replace(answer, facts=replace(answer.facts, is_cordoned=False))

    found = explore(some_nodes(1, cordoned="n1"), limits(1), answerer=lifting)
    assert told(found).endswith("=> n1 was cordoned by an admin, and the cordon is gone")


def test_a_node_uncordoned_too_early_is_found() -> None:
    def uncordoning(node: NodeSeen, act: NodeAct, fate: Fate) -> NodeSeen | Refused:
        answer = apply(node, act, fate)
        if isinstance(answer, Refused) or not isinstance(act, RestartDriverPod):
            return answer
        return replace(answer, facts=replace(answer.facts, is_cordoned=False))

    found = explore(some_nodes(1), limits(1), answerer=uncordoning)
    assert told(found).endswith("=> n1 takes work while its driver is being replaced")


def test_a_story_is_numbered_and_ends_with_what_was_broken() -> None:
    example = Counterexample(broken="the budget", story=("one thing", "another"))
    assert str(example) == "  1. one thing\n  2. another\n  => the budget"
