"""Broken rules of a node: recorded first, left alone where it is somebody else's, proven before it takes work."""

from __future__ import annotations

from dataclasses import replace

from seatrial.core.decision import turns
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.snapshot import PODS_STREAM, Freshness
from seatrial.core.node import aiming, clearing, closing, hearing, operating, readiness, step, visiting, writing
from seatrial.core.promises.of_nodes import (
    aimed,
    aside,
    closed,
    hands_off,
    held_off,
    no_lost_node,
    one_cordon,
    proven,
    recorded,
    table,
    until_when,
    visited,
)
from seatrial.ports import Sight
from seatrial.sim import outside as outer
from seatrial.sim.nodes import Fate
from seatrial.sim.outside import Outside
from seatrial.sim.world import World
from tests.builders import NEW, OLD, a_gpu_pod, an_intent
from tests.core.judging.played import Played
from tests.core.promises.alone.campaigns import a_canary_and_a_fleet
from tests.core.promises.alone.rules import HOUR, Row, Story, row
from tests.sim import test_attrition_world as attrition
from tests.sim import test_neighbours as neighbours
from tests.sim import test_network_rollouts as network
from tests.sim import test_operand_pods as operands
from tests.sim.test_world import some_nodes

ONE = an_intent(unavailable_max=1)


def a_busy_node() -> Story:
    """One node, with pods that hold its GPUs."""
    return Story(World(some_nodes(1, gpu_pod_count=2), ONE))


def a_node_of_an_admin() -> Story:
    """One node, cordoned by somebody else."""
    return Story(World(some_nodes(1, is_cordoned=True), ONE))


def a_node_marked_skip() -> Story:
    """Two nodes, of which a person wants one left out."""
    nodes = some_nodes(2)
    nodes[0] = replace(nodes[0], facts=replace(nodes[0].facts, is_skipped=True))
    return Story(World(nodes, ONE), hours=2)


def a_driver_that_fails() -> Story:
    """One node whose new driver never gets Ready."""
    return Story(World(some_nodes(1), ONE, fates={"n1": Fate(driver_fails_on=NEW.version)}), hours=2)


def a_validator_that_stays_old() -> Story:
    """Its validator has to be restarted to prove the new driver."""
    return Story(World(some_nodes(1), ONE), hours=2)


def a_gpu_that_is_lost() -> Story:
    """The new driver finds fewer GPUs than the old one."""
    fate = Fate(is_gpu_lost=True)
    return Story(World(some_nodes(1, gpu_count=8), ONE, fates={"n1": fate}), hours=2)


def a_driver_manager_that_opens_nodes() -> Story:
    """k8s-driver-manager uncordons the node under us, and work is waiting."""
    return Story(neighbours.Story(neighbours.a_node(), Fate(manager_env=neighbours.ON, is_work_waiting=True)).world)


def a_pod_that_slips_in() -> Story:
    """The same, and a pod is bound to the node before it is closed again."""
    world = a_driver_manager_that_opens_nodes().world

    def bind(world: World) -> None:
        world.change("n1", lambda node: replace(node, facts=replace(node.facts, pods=(a_gpu_pod(),))))

    def look(before: NodeSeen, after: NodeSeen) -> None:
        driver = after.facts.driver
        is_bare = driver is None or not driver.is_ready
        if before.facts.is_cordoned and not after.facts.is_cordoned and is_bare:
            world.at(world.time, bind)

    world.watchers.append(look)
    return Story(world, hours=2)


def a_driver_manager_that_opens_a_node_of_an_admin() -> Story:
    """The same of a node that an admin cordoned."""
    return Story(neighbours.Story(neighbours.a_node(is_cordoned=True), Fate(manager_env=neighbours.ON)).world)


def a_driver_whose_daemon_set_is_deleted() -> Story:
    """Somebody deletes the driver's DaemonSet while a node is being emptied, and leaves its pods."""
    world = World(some_nodes(1, gpu_pod_count=1), ONE, fates={"n1": Fate(is_eviction_blocked=True)})

    def orphaned(node: NodeSeen) -> NodeSeen:
        assert node.facts.driver is not None
        driver = replace(node.facts.driver, is_orphaned=True)
        return replace(node, facts=replace(node.facts, wanted=None, driver=driver))

    world.at(20.0, lambda world: world.change("n1", orphaned))
    return Story(world, hours=1)


def a_third_version() -> Story:
    """Somebody publishes another version while a node is being emptied."""
    world = Played().world
    world.change("n1", lambda node: replace(node, facts=replace(node.facts, pods=(a_gpu_pod(),))))
    world.befall("n1", lambda fate: replace(fate, is_eviction_blocked=True))
    third = Outside(operator=outer.cluster_policy("590.44.01", is_auto_upgrading=False))
    world.at(60.0, lambda world: world.change_outside(lambda _: third))
    return Story(world, hours=2)


def a_network_driver() -> Story:
    """The network driver goes over a fleet."""
    return Story(network.Story(network.a_rollout(OLD.version)).world)


def _operands(**changes: object) -> operands.Story:
    story = operands.Story(operands.wish(), outside=Outside())
    operands.published(story)
    return story


def operands_under_work() -> Story:
    """The toolkit and its like are renewed; the driver stays."""
    return Story(_operands().world)


def operands_of_a_node_that_is_opened() -> Story:
    """Somebody opens a node while its operands are renewed."""
    world = _operands().world
    world.watchers.append(lambda before, after: _open(world, before, after))
    return Story(world, hours=2)


def _open(world: World, before: NodeSeen, after: NodeSeen) -> None:
    if after.facts.is_cordoned and not before.facts.is_cordoned and after.name == "n1" and world.time < 60.0:
        world.at(
            world.time + 1,
            lambda world: world.change("n1", lambda node: replace(node, facts=replace(node.facts, is_cordoned=False))),
        )


def jobs_that_are_waited_for() -> Story:
    """By attrition: a full node is closed, and its job goes on for hours."""
    return Story(attrition.Busy({"n1": [attrition.a_job("j1", "n1")]}).world, hours=4)


def jobs_that_are_not_waited_for_any_more() -> Story:
    """By attrition: somebody takes attrition out of the spec while a node waits for its job."""
    busy = attrition.Busy({"n1": [attrition.a_job("j1", "n1")]})

    def switch_off(world: World) -> None:
        world.intent = replace(world.intent, attrition=None)

    busy.world.at(attrition.START + 1.1 * HOUR, switch_off)
    return Story(busy.world, hours=4)


def an_sriov_operator() -> Story:
    """The SR-IOV operator has work to do on the node."""
    return Story(neighbours.Story(neighbours.a_node(), Fate(is_sriov_due=True), seed=1).world)


def an_sriov_operator_before_the_restart() -> Story:
    """The SR-IOV operator begins when the node is empty, and its driver is about to be restarted."""
    world = World(some_nodes(1), ONE)

    def look(_before: NodeSeen, after: NodeSeen) -> None:
        is_due = after.record is not None and after.record.phase is NodePhase.POD_RESTART_REQUIRED
        if is_due and not after.facts.sriov:
            world.change("n1", lambda node: replace(node, facts=replace(node.facts, sriov="Draining")))

    world.watchers.append(look)
    return Story(world, hours=1)


def a_watch_that_hangs() -> Story:
    """Word of pods stops before the node is closed."""
    world = World(some_nodes(1), ONE)
    observe = world.observe

    def observed() -> Sight:
        sight = observe()
        heard = Freshness(source=PODS_STREAM, heard_at=-1.0, is_synced=True)
        return replace(sight, seen=replace(sight.seen, freshness=(heard,)))

    world.observe = observed  # type: ignore[method-assign]
    return Story(world, hours=0.01)


ROWS: tuple[Row, ...] = (
    row(
        recorded,
        "pods are evicted before the record says so",
        a_busy_node,
        (
            clearing.step_waiting_for_jobs,
            "return open_phase(node, NodePhase.POD_DELETION_REQUIRED, now, is_saving=is_saving, taken=taken)",
            "return step_evicting(node, orders, now)",
        ),
    ),
    row(
        recorded,
        "a driver pod is deleted that is not on record",
        a_busy_node,
        (step._step_replacing, "noted != record", "False"),
        (writing.open_phase, "_pod_to_replace(node, phase) or kept.old_pod", "kept.old_pod"),
    ),
    row(
        hands_off,
        "somebody else's cordon is taken for ours",
        a_node_of_an_admin,
        (writing.open_phase, "(cordon and not facts.is_cordoned)", "cordon"),
    ),
    row(
        hands_off,
        "a node marked skip starts",
        a_node_marked_skip,
        (step.why_not_startable, "if facts.is_skipped:", "if False:"),
    ),
    row(
        hands_off,
        "a node that is closed again is closed as ours",
        a_driver_manager_that_opens_a_node_of_an_admin,
        (closing.closed_again, "not record.is_cordon_theirs", "True"),
    ),
    row(
        no_lost_node,
        "a waiting node gives no reason",
        a_driver_that_fails,
        (
            writing.wait,
            "return Step(hold=hold(node.name, code, words, since=record_of(node).entered_at, until=until))",
            "return NOTHING",
        ),
    ),
    row(
        no_lost_node,
        "a node that waits for its turn is not told so",
        a_canary_and_a_fleet,
        (
            turns.kept_waiting,
            "return Step(hold=hold(node.name, HoldCode.NOT_ITS_TURN, phase=course.record.phase))",
            "return NOTHING",
        ),
    ),
    row(
        table,
        "a new attempt jumps the queue",
        a_busy_node,
        (writing.new_attempt, "phase=NodePhase.UPGRADE_REQUIRED,", "phase=NodePhase.CORDON_REQUIRED,"),
    ),
    row(
        proven,
        "a validator older than the driver proves it",
        a_validator_that_stays_old,
        (readiness._validator_lacks, "validator.ready_since < loaded_at", "False"),
    ),
    row(
        proven,
        "a driver that is not Ready counts as Ready",
        a_driver_that_fails,
        (readiness.is_running_wanted, "facts.is_in_sync and driver.is_ready", "facts.is_in_sync"),
        (step._step_restarting, "if driver.is_ready:", "if True:"),
        (readiness._lacks, "if not is_running_wanted(facts) or loaded_at is None:", "loaded_at = 0.0\n    if False:"),
        (readiness._validator_lacks, "not validator.is_ready", "False"),
        (readiness._validator_lacks, "validator.ready_since is None or validator.ready_since < loaded_at", "False"),
    ),
    row(
        proven,
        "a lost GPU does not count",
        a_gpu_that_is_lost,
        (readiness._offer_lacks, "now.get(name, 0) < count", "False"),
    ),
    row(
        proven,
        "a node is opened without any proof",
        a_validator_that_stays_old,
        (step._step_validating, "lack is None", "True"),
        (step._is_well, "is_running and why_unproven(node.facts, node.record) is None", "True"),
    ),
    row(
        proven,
        "pods that came while the node was open stay",
        a_pod_that_slips_in,
        (closing.slipped_in, "return tuple(pod for pod in came if not pod.is_probe)", "return ()"),
    ),
    row(
        held_off,
        "no pod counts as a GPU user",
        a_busy_node,
        (clearing.users, "return tuple(pod for pod in facts.gpu_pods", "return tuple(pod for pod in ()"),
    ),
    row(
        held_off,
        "pods last heard of before the cordon are trusted",
        a_watch_that_hangs,
        (hearing.is_unheard, "heard_at is not None and heard_at < _closed_at(record, seen, now)", "False"),
    ),
    row(
        aimed,
        "a node takes any version that is published",
        a_third_version,
        (aiming.is_misled, "not facts.is_in_sync and is_misaimed(facts, goal)", "False"),
    ),
    row(
        aimed,
        "a driver is taken away that nobody would replace",
        a_driver_whose_daemon_set_is_deleted,
        (step.is_abandoned, "driver is None or not driver.is_orphaned or driver.is_terminating", "True"),
    ),
    row(
        closed,
        "a node that was opened under us stays open",
        a_driver_manager_that_opens_nodes,
        (
            closing.is_opened,
            "if node.facts.is_cordoned or not (has_lost_driver(node) or _has_lost_network(node)):",
            "if True:",
        ),
    ),
    row(
        visited,
        "an operand restarts without its cordon",
        operands_under_work,
        (operating._closing, "if needed >= Takes.CORDON and not facts.is_cordoned:", "if False:"),
        (step._step_waiting_for_turn, "is_closed = needed is Takes.CORDON", "is_closed = False"),
    ),
    row(
        visited,
        "every operand restarts as if nobody minded",
        operands_under_work,
        (
            visiting.takes_of,
            "return Takes.EVICTION if is_runtime and evicts_for_runtime else visit.takes",
            "return Takes.NOTHING",
        ),
    ),
    row(
        visited,
        "the network driver restarts under pods",
        a_network_driver,
        (clearing.drained, "pod.keeper not in (PodOwner.DAEMON_SET, PodOwner.KUBELET)", "False"),
    ),
    row(
        one_cordon,
        "a node that somebody opened is closed again",
        operands_of_a_node_that_is_opened,
        (operating._closing, "and record.closed_at is not None", "and False"),
    ),
    row(
        until_when,
        "a closed node does not say until when",
        jobs_that_are_waited_for,
        (clearing._step_closed, "return Step(hold=told)", "return Step(hold=replace(told, until=None))"),
    ),
    row(
        until_when,
        "a node stays closed for jobs that no rollout waits for",
        jobs_that_are_not_waited_for_any_more,
        (
            clearing._step_closed,
            "return give_back(node, orders, now)",
            "return Step(hold=hold(node.name, HoldCode.CLOSED_AHEAD, jobs=1, idle=0, limit=8))",
        ),
    ),
    row(
        aside,
        "a visit goes on while the SR-IOV operator works",
        an_sriov_operator,
        (step._step_aside, "return new_attempt(node, orders, now)", "return None"),
    ),
    row(
        aside,
        "a driver that is still there counts as away",
        an_sriov_operator_before_the_restart,
        (closing.is_between, "has_lost_driver(node) or is_operand_away", "True"),
    ),
)
