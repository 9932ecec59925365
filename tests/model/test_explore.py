"""Every reachable state of small worlds: no promise is broken, and an end can be reached from everywhere.

The mutations show that the explorer would find what the design protects against: each takes one protection away, and
the explorer answers with the shortest story of the harm.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatrial.core.actions.on_nodes import Cordon, NodeAct, RestartPod, WriteNodeRecord
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget import capacity
from seatrial.core.decision.decide import Decision, decide
from seatrial.core.model.consumers import GpuUse
from seatrial.core.model.intent import Domain, Intent, Requestor
from seatrial.core.model.policy import Drain, Eviction, JobWait, Limits, Policy, Share
from seatrial.core.model.seen.nodes import Maintenance, NodePhase, NodeSeen
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.pods import DriverRevision, Pod, PodOwner
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.selectors import Selector
from seatrial.core.promises import of_nodes
from seatrial.sim.acts import Refused, apply
from seatrial.sim.nodes import JOB_LABEL, Fate, new_node
from seatrial_lab.explore.coarse import AT_ONCE
from seatrial_lab.explore.explore import Counterexample, Exploration, explore
from seatrial_lab.explore.truths import why_exposed, why_overspent, why_split
from tests.builders import NEW, OLD, a_driver, a_fleet, a_gpu_pod, a_ledger, a_node, an_intent

pytestmark = pytest.mark.slow

CLIQUE = "nvidia.com/gpu.clique"


def some_nodes(
    count: int, *, cordoned: str = "", running: DriverRevision = OLD, wanted: DriverRevision = NEW, **changes: Any
) -> tuple[NodeSeen, ...]:
    names = [f"n{number}" for number in range(1, count + 1)]
    return tuple(
        new_node(name, running=running, wanted=wanted, is_cordoned=name == cordoned, **changes) for name in names
    )


def limits(unavailable_max: int, **changes: Any) -> Intent:
    return an_intent(parallel_max=0, unavailable_max=unavailable_max, **changes)


def a_user(name: str, **changes: Any) -> Pod:
    """A pod that holds a GPU."""
    return replace(Pod(namespace="jobs", name=name, uid=name, gpu=GpuUse.RESOURCE), **changes)


BROKEN = Fate(driver_fails_on=NEW.version)
RESTARTED: dict[str, Any] = {"running": replace(OLD, digest="same"), "wanted": replace(NEW, digest="same")}


def assert_all_is_well(found: Exploration, *, states_min: int) -> None:
    """No broken promise, no state without a way to an end, and a world worth the walk."""
    assert found.counterexample is None, f"\n{found.counterexample}"
    assert found.end_count > 0
    assert found.state_count >= states_min


# ── worlds ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.long
def test_three_nodes_at_a_limit_of_two_whose_drivers_reload_at_once() -> None:
    assert_all_is_well(explore(some_nodes(3), limits(2), world=AT_ONCE), states_min=10_000)


@pytest.mark.long
def test_three_nodes_of_which_one_has_a_driver_that_fails_at_once_and_no_failure_is_tolerated() -> None:
    found = explore(some_nodes(3), limits(2, failed_max=0), fates={"n1": BROKEN}, world=AT_ONCE)
    assert_all_is_well(found, states_min=5_000)


@pytest.mark.long
def test_three_nodes_of_which_an_admin_cordoned_one() -> None:
    found = explore(some_nodes(3, cordoned="n2"), limits(2), world=AT_ONCE)
    assert_all_is_well(found, states_min=5_000)


def test_four_nodes_at_a_limit_of_one_and_a_controller_that_starts_again() -> None:
    found = explore(some_nodes(4, **RESTARTED), limits(1), world=AT_ONCE)
    assert_all_is_well(found, states_min=58_000)


@pytest.mark.parametrize("unavailable_max", [1, 2])
def test_two_nodes_with_gpu_pods(unavailable_max: int) -> None:
    found = explore(some_nodes(2, gpu_pod_count=2), limits(unavailable_max), restarts_max=2)
    assert_all_is_well(found, states_min=2_000)


def test_a_node_whose_pods_may_not_leave_keeps_its_place_and_nobody_is_harmed() -> None:
    # Time stands still here, so the deadline that ends such a wait never comes: the wait is what the explorer finds.
    found = explore(some_nodes(2, gpu_pod_count=1), limits(2), fates={"n1": Fate(is_eviction_blocked=True)})
    assert found.counterexample is not None
    assert found.counterexample.broken.startswith("no end can be reached: n1 pod-deletion-required")


# ── what a node may go through, each in a small world ────────────────────────────────────────────────────────────────

BARE = a_user("bare", keeper=PodOwner.NOBODY)
BYSTANDER = Pod(namespace="web", name="web", uid="web")
DRAIN = Drain(is_enabled=True, rules=Eviction(force=True))


def test_two_nodes_that_are_drained_because_a_pod_may_not_be_evicted() -> None:
    assert_all_is_well(explore(some_nodes(2, pods=(BARE, BYSTANDER)), limits(2, drain=DRAIN)), states_min=23_000)


@pytest.mark.parametrize(
    "pod",
    [
        BARE,
        a_user("scratch", has_empty_dir=True),
        a_user("agent", keeper=PodOwner.DAEMON_SET),
        a_user("mirror", keeper=PodOwner.KUBELET),
    ],
    ids=lambda pod: pod.name,
)
def test_a_pod_that_must_not_be_evicted_keeps_its_node_until_somebody_decides(pod: Pod) -> None:
    found = explore(some_nodes(2, pods=(pod,)), limits(1))
    assert_all_is_well(found, states_min=150)


def test_jobs_that_finish_by_themselves_are_waited_for() -> None:
    job = a_user("job", labels=((JOB_LABEL, "train"),))
    wait = JobWait(selector=Selector.parse(JOB_LABEL))
    assert_all_is_well(explore(some_nodes(2, pods=(job,)), limits(2, jobs=wait)), states_min=25_000)


def test_jobs_that_offer_it_save_their_work_first() -> None:
    saving = a_user("saving", offers_checkpoint=True)
    assert_all_is_well(explore(some_nodes(2, pods=(saving,)), limits(2)), states_min=25_000)


def test_clients_are_paused_and_come_back() -> None:
    found = explore(some_nodes(2, clients=("device-plugin", "dcgm")), limits(2))
    assert_all_is_well(found, states_min=45_000)


def test_clients_stay_away_from_a_driver_that_fails() -> None:
    assert_all_is_well(explore(some_nodes(1, clients=("dcgm",)), limits(1), fates={"n1": BROKEN}), states_min=90)


@pytest.mark.parametrize("unavailable_max", [1, 2])
def test_a_driver_is_restarted_under_its_users_where_nothing_that_is_loaded_changes(unavailable_max: int) -> None:
    nodes = some_nodes(2, gpu_pod_count=1, clients=("dcgm",), gpu_count=8, **RESTARTED)
    assert_all_is_well(explore(nodes, limits(unavailable_max)), states_min=1_500)


def test_a_restart_that_fails_is_as_any_failure() -> None:
    found = explore(some_nodes(2, gpu_pod_count=1, **RESTARTED), limits(1), fates={"n1": BROKEN})
    assert_all_is_well(found, states_min=700)


def test_a_dra_plugin_is_restarted_after_the_driver() -> None:
    claiming = a_user("claiming", gpu=GpuUse.CLAIM, holds_claim=True)
    assert_all_is_well(explore(some_nodes(2, has_dra=True, pods=(claiming,)), limits(1)), states_min=2_300)


def test_gpus_are_on_offer_again_and_the_loaded_version_is_seen() -> None:
    assert_all_is_well(explore(some_nodes(2, gpu_count=8, has_features=True), limits(1)), states_min=8_000)


def test_a_gpu_that_is_lost_keeps_its_node_until_somebody_accepts_it() -> None:
    found = explore(some_nodes(2, gpu_count=8), limits(1), fates={"n1": Fate(is_gpu_lost=True)})
    assert_all_is_well(found, states_min=250)


def test_a_driver_that_waits_for_a_safe_moment_to_load_gets_its_answer() -> None:
    found = explore(some_nodes(2), limits(1), fates={"n1": Fate(is_load_guarded=True)})
    assert_all_is_well(found, states_min=1_900)


REQUESTOR = Requestor(id="seatrial")


def test_nodes_that_a_maintenance_operator_empties() -> None:
    found = explore(some_nodes(2, gpu_pod_count=1), limits(2, requestor=REQUESTOR))
    assert_all_is_well(found, states_min=25_000)


def test_an_admins_cordon_outlives_a_maintenance() -> None:
    found = explore(some_nodes(1, cordoned="n1"), limits(1, requestor=REQUESTOR))
    assert_all_is_well(found, states_min=150)


@pytest.mark.parametrize("is_ready", [False, True])
def test_a_maintenance_of_somebody_elses_is_joined_and_left_again(is_ready: bool) -> None:
    name = f"{REQUESTOR.prefix}-n1"
    theirs = Maintenance(
        namespace="default", name=name, uid="m1", resource_version="1", requestor="them", is_ready=is_ready
    )
    (node,) = some_nodes(1, cordoned="n1" if is_ready else "")
    node = replace(node, facts=replace(node.facts, maintenance=theirs))
    assert_all_is_well(explore((node,), limits(1, requestor=REQUESTOR)), states_min=100)


@pytest.mark.parametrize("fate", [Fate(), BROKEN], ids=["done", "failed"])
def test_a_node_is_counted_as_long_as_the_maintenance_made_for_us_lasts(fate: Fate) -> None:
    found = explore(some_nodes(2), limits(1, requestor=REQUESTOR), fates={"n1": fate})
    assert_all_is_well(found, states_min=1_000)


UNITS = (Domain(label=CLIQUE, is_unit=True),)


@pytest.mark.long
def test_a_unit_begins_as_a_whole_and_others_wait_for_it() -> None:
    pair = some_nodes(2, labels={CLIQUE: "c1"})
    single = new_node("n3", running=OLD, wanted=NEW, labels={CLIQUE: "c2"})
    assert_all_is_well(explore((*pair, single), limits(2, domains=UNITS)), states_min=100_000)


def test_a_unit_larger_than_the_limits_waits_for_somebody_to_raise_them() -> None:
    assert_all_is_well(explore(some_nodes(2, labels={CLIQUE: "c1"}), limits(1, domains=UNITS)), states_min=10)


RACKS = (Domain(label="rack", unavailable_max=Share(amount=1)),)


def test_two_nodes_of_one_rack_go_one_after_the_other_although_the_fleet_would_allow_both() -> None:
    found = explore(some_nodes(2, labels={"rack": "r1"}), limits(2, domains=RACKS))
    assert_all_is_well(found, states_min=1_500)


def test_two_nodes_of_one_pool_go_one_after_the_other_although_the_fleet_would_allow_both() -> None:
    nodes = tuple(replace(node, facts=replace(node.facts, owner="a100")) for node in some_nodes(2))
    pools = {"a100": Policy(limits=Limits(parallel_max=1, unavailable_max=Share(amount=2)))}
    assert_all_is_well(explore(nodes, limits(2, pools=pools)), states_min=1_500)


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
    under_way = capacity.still_admitted((), seen.nodes, intent)
    believed = replace(seen, rollout=replace(seen.rollout, admitted=under_way))
    wishes = decide(believed, intent, now)
    for action in wishes.actions:
        if isinstance(action, WriteRolloutRecord):
            believed = replace(believed, rollout=replace(believed.rollout, admitted=action.record.admitted))
    return decide(believed, intent, now)


def test_without_the_ledger_the_budget_is_overspent() -> None:
    found = explore(some_nodes(2), limits(1), decider=without_ledger, promises=())
    assert told(found) == (
        "  1. node/n1: state upgrade-required\n"
        "  2. node/n2: state upgrade-required\n"
        "  3. the view of n2 catches up\n"
        "  4. node/n2: state cordon-required\n"
        "  5. the view of n1 catches up\n"
        "  6. node/n1: state cordon-required\n"
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


def without_list(seen: Snapshot, intent: Intent, now: float) -> Decision:
    """Takes what it has read of its list for all there is."""
    return decide(replace(seen, freshness=()), intent, now)


def test_without_a_whole_list_on_start_a_node_not_read_yet_loses_its_place_and_the_budget_is_overspent() -> None:
    found = explore(some_nodes(2), limits(1), decider=without_list, promises=())
    story = told(found)
    assert "the controller crashes and starts again, and has to list the nodes\n" in story
    assert story.endswith("=> 2 nodes unavailable at a limit of 1: n1, n2")


def test_without_the_precondition_an_old_view_forgets_that_a_driver_was_stopped() -> None:
    found = explore(some_nodes(1), limits(1), answerer=without_precondition)
    story = told(found)
    assert story.endswith(
        " 13. pod/gpu-operator/driver-n1: delete, so that its DaemonSet starts a new driver\n"
        " 14. the controller crashes and starts again with the oldest view there is\n"
        " 15. node/n1: state upgrade-required\n"
        "  => the driver of n1 is stopped, but its record says upgrade-required"
    )


def test_a_failed_node_that_leaves_the_ledger_with_our_cordon_on_is_not_counted_by_an_old_view(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def is_held(admission: Admission, node: NodeSeen | None, _intent: Intent) -> bool:
        return node is not None and admission.node in capacity.under_way([admission], {node.name: node})

    monkeypatch.setattr(capacity, "_is_held", is_held)
    found = explore(some_nodes(2), limits(1), fates={"n1": BROKEN})
    assert told(found).endswith(
        "the controller crashes and starts again with the oldest view there is\n"
        " 22. the view of n2 catches up\n"
        " 23. the view of the ledger catches up\n"
        " 24. gpurollout/spring status: its record, may be disrupted: n2\n"
        " 25. the view of the ledger catches up\n"
        " 26. node/n2: state cordon-required\n"
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
        RestartPod(node=name, attempt=1, operand=Operand.DRIVER, namespace=pod.namespace, pod=pod.name, uid=pod.uid)
        for name, pod in drivers
        if pod is not None
    )
    return replace(decision, actions=decision.actions + acts)


def test_without_the_record_first_a_crash_leaves_a_driver_stopped_that_nobody_knows_of() -> None:
    found = explore(some_nodes(1), limits(1), decider=acting_at_once, promises=())
    story = told(found)
    assert story.endswith("the driver of n1 is stopped, but its record says pod-deletion-required")
    assert "pod/gpu-operator/driver-n1: delete, so that its DaemonSet starts a new driver" in story


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
        if isinstance(answer, Refused) or not isinstance(act, RestartPod):
            return answer
        return replace(answer, facts=replace(answer.facts, is_cordoned=False))

    found = explore(some_nodes(1), limits(1), answerer=uncordoning)
    assert told(found).endswith("=> n1 takes work while its driver is being replaced")


def blind_to_users(seen: Snapshot, intent: Intent, now: float) -> Decision:
    """Restarts a driver whoever uses it."""
    empty = {name: replace(node, facts=replace(node.facts, pods=())) for name, node in seen.nodes.items()}
    return decide(replace(seen, nodes=empty), intent, now)


def test_a_driver_taken_from_under_a_pod_is_found() -> None:
    found = explore(some_nodes(1, gpu_pod_count=1), limits(1), decider=blind_to_users, promises=())
    assert told(found).endswith(
        "pod/gpu-operator/driver-n1: delete, so that its DaemonSet starts a new driver\n"
        "  => the driver of n1 is stopped under jobs/train-n1-0"
    )


def test_a_driver_about_to_be_taken_from_under_a_pod_is_stopped_by_the_promises() -> None:
    found = explore(some_nodes(1, gpu_pod_count=1), limits(1), decider=blind_to_users)
    assert told(found).endswith("=> held_off broken at n1: driver restart under jobs/train-n1-0")


def test_a_unit_that_does_not_wait_for_all_of_its_members_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    letting_in = capacity.admit

    def admit(candidates: Any, wish: Any, ledger: Any, budget: Any, *_others: Any, **_more: Any) -> capacity.Admitted:
        return letting_in(candidates, wish, ledger, budget)

    monkeypatch.setattr(capacity, "admit", admit)
    found = explore(some_nodes(2, labels={CLIQUE: "c1"}), limits(2, domains=UNITS))
    assert told(found) == (
        "  1. node/n1: state upgrade-required\n"
        "  2. the view of n1 catches up\n"
        "  => whole broken at n1: let in without n2 of nvidia.com/gpu.clique c1"
    )


def test_a_dra_plugin_that_nobody_restarts_is_found() -> None:
    def ignoring(node: NodeSeen, act: NodeAct, fate: Fate) -> NodeSeen | Refused:
        is_plugin = isinstance(act, RestartPod) and act.operand is Operand.DRA_PLUGIN
        return Refused(is_stale=False, why="ignored") if is_plugin else apply(node, act, fate)

    found = explore(some_nodes(1, has_dra=True), limits(1), answerer=ignoring)
    assert told(found).endswith("=> no end can be reached: n1 validation-required")


# ── the truth by itself ──────────────────────────────────────────────────────────────────────────────────────────────

STOPPING: dict[str, Any] = {"driver": a_driver(digest="same", is_terminating=True), "pods": (a_gpu_pod(),)}


@pytest.mark.parametrize(
    ("wanted", "is_restart_only", "is_cordoned", "why"),
    [
        (replace(NEW, digest="same"), True, True, None),
        (replace(NEW, digest="other"), True, True, "the driver of n1 is stopped under jobs/train-0"),
        (replace(NEW, digest="same"), False, True, "the driver of n1 is stopped under jobs/train-0"),
        (replace(NEW, digest="same"), True, False, "n1 takes work while its driver is being replaced"),
    ],
)
def test_only_a_restart_that_changes_nothing_may_happen_under_users_and_on_a_cordoned_node_alone(
    wanted: DriverRevision, is_restart_only: bool, is_cordoned: bool, why: str | None
) -> None:
    record = {"is_restart_only": is_restart_only}
    node = a_node(
        phase=NodePhase.POD_RESTART_REQUIRED, wanted=wanted, is_cordoned=is_cordoned, record=record, **STOPPING
    )
    assert why_exposed(node) == why


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, None),
        ({"domains": RACKS}, "2 nodes unavailable at a limit of 1 in rack r1: n1, n2"),
        (
            {"pools": {"a100": Policy(limits=Limits(parallel_max=1, unavailable_max=Share(amount=2)))}},
            "2 nodes under way at a limit of 1 in pool a100: n1, n2",
        ),
    ],
)
def test_limits_hold_in_every_pool_and_domain(changes: dict[str, Any], why: str | None) -> None:
    nodes = a_fleet(2, NodePhase.CORDON_REQUIRED, owner="a100", labels={"rack": "r1"})
    assert why_overspent(nodes, limits(2, **changes)) == why


@pytest.mark.parametrize(
    ("ledger", "why"),
    [(("n1", "n2"), None), (("n1",), "n1 was let in without n2, and both are nvidia.com/gpu.clique c1")],
)
def test_whoever_begins_begins_with_all_of_its_unit(ledger: tuple[str, ...], why: str | None) -> None:
    labels = {CLIQUE: "c1"}
    nodes = (a_node("n1", NodePhase.CORDON_REQUIRED, labels=labels), a_node("n2", labels=labels), a_node("n3"))
    assert why_split(nodes, a_ledger(*ledger), limits(2, domains=UNITS)) == why


def test_a_story_is_numbered_and_ends_with_what_was_broken() -> None:
    example = Counterexample(broken="the budget", story=("one thing", "another"))
    assert str(example) == "  1. one thing\n  2. another\n  => the budget"


# ── a driver manager that opens nodes ────────────────────────────────────────────────────────────────────────────────

LOUD = Fate(manager_env=(("ENABLE_GPU_POD_EVICTION", "true"),), is_work_waiting=True)
QUIET = Fate(manager_env=(("ENABLE_GPU_POD_EVICTION", "false"), ("ENABLE_AUTO_DRAIN", "false")), is_work_waiting=True)


def both(fate: Fate) -> dict[str, Fate]:
    return {"n1": fate, "n2": fate}


def test_two_nodes_that_their_driver_managers_open_before_they_are_proven() -> None:
    found = explore(some_nodes(2), limits(2), fates=both(LOUD), restarts_max=0)
    assert_all_is_well(found, states_min=9_000)


def test_two_nodes_whose_driver_managers_are_switched_off() -> None:
    found = explore(some_nodes(2), limits(2), fates=both(QUIET), restarts_max=0)
    assert_all_is_well(found, states_min=3_000)


def test_a_node_that_an_admin_cordoned_and_its_driver_manager_opened() -> None:
    found = explore(some_nodes(2, cordoned="n1"), limits(2), fates={"n1": LOUD}, restarts_max=0)
    assert_all_is_well(found, states_min=1_000)


def test_a_node_that_fails_and_is_opened_again_stays_closed() -> None:
    loud = replace(LOUD, driver_fails_on=NEW.version, is_driver_in_use=True)
    found = explore(some_nodes(2), limits(2, failed_max=2), fates={"n1": loud}, restarts_max=0)
    assert_all_is_well(found, states_min=5_000)


def test_a_cordon_that_is_not_put_back_is_found() -> None:
    def lenient(seen: Snapshot, intent: Intent, now: float) -> Decision:
        """Nobody closes a node again that somebody opened."""
        decision = decide(seen, intent, now)
        kept = tuple(act for act in decision.actions if not (isinstance(act, Cordon) and act.record.reopened_count))
        return replace(decision, actions=kept)

    fates, promises = {"n1": LOUD}, (of_nodes.closed,)
    found = explore(some_nodes(1), limits(1), fates=fates, decider=lenient, promises=promises, restarts_max=0)
    assert found.counterexample is not None
    assert found.counterexample.broken.startswith("closed broken at n1: left open on an unproven driver")
