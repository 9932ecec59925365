"""The step of one node under the rollout as a whole: its own, unless everybody is stopped or its turn has not come.

Law of this file: it chooses between steps that others work out, and makes none up.
Tests: tests/core/decision/test_decide.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from seatrial.core.actions.action import is_disruptive
from seatrial.core.actions.on_nodes import WriteNodeRecord
from seatrial.core.budget.capacity import has_failed
from seatrial.core.campaign import leaving
from seatrial.core.campaign.course import Course
from seatrial.core.decision import neighbours
from seatrial.core.decision.remembered import Chosen, Common, PerNode, Remembered, what_nodes_see
from seatrial.core.decision.stops import CONTRADICTED, FREEZING, is_disturbing, is_kept_back, like
from seatrial.core.decision.unreadable import why_undisturbed, why_untrusted
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodePhase, NodeSeen
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.target import parts_of
from seatrial.core.movers import letting_in
from seatrial.core.node import clearing, closing
from seatrial.core.node.aiming import is_misaimed, is_misled, misled
from seatrial.core.node.hearing import why_unheard
from seatrial.core.node.phases import is_under_way
from seatrial.core.node.progress import Progress, ahead, back_to, is_left_out, wants, way_back
from seatrial.core.node.step import step_node
from seatrial.core.node.writing import NOTHING, Orders, Step, told

LEAKING: Final = frozenset({RolloutPhase.CANARY, RolloutPhase.GATING, RolloutPhase.BAKING, RolloutPhase.WAVING})
"""Phases in which a node may not run the target before its turn."""
BEFORE_ITS_TURN: Final = frozenset({*LEAKING, RolloutPhase.PROPOSED, RolloutPhase.PAUSED})
"""Phases in which a node may wait for the target to be published where it takes its driver from."""


def steps(
    seen: Snapshot,
    nodes: Mapping[str, NodeSeen],
    orders: Orders,
    course: Course,
    stop: Hold | None,
    now: Instant,
    remembered: Remembered,
) -> dict[str, Step]:
    """The step of every node; none for those whom the course itself writes to."""
    busy = marked(course)
    is_leaving = leaving.is_leaving(seen, orders.intent)
    is_back = letting_in.is_going_back(course.record)
    visits = neighbours.Visits.of(seen, orders.intent, is_frozen=stop is not None and stop.code in FREEZING)

    def choose(node: NodeSeen) -> Chosen:
        if node.facts.name in busy:
            return NOTHING, NOTHING
        if (untrusted := why_untrusted(node)) is not None:
            return Step(hold=untrusted), Step(hold=untrusted)
        if is_leaving:
            chosen = _step_leaving(node, orders, seen, stop, now)
        else:
            chosen = _step(node, orders, seen, stop, course, now)
        step, own = chosen = neighbours.beside(chosen, node, seen, visits, now)
        if is_back and step.hold is not None and _is_diagnosed(step.hold):
            held = _going_back(step.hold, before_of(node, seen, orders.intent.target.published))
            chosen = step, own = replace(step, hold=held), own
        if is_disturbing(step) and (undisturbed := why_undisturbed(node)) is not None:
            return Step(hold=undisturbed), own
        # What was heard changes with every pass, and is no part of what is remembered: who would act is asked anew.
        unheard = why_unheard(node, step.action, seen, now) if step.action is not None else None
        return chosen if unheard is None else (Step(hold=unheard), own)

    standing, record = orders.attrition, seen.rollout.campaign
    campaign = what_nodes_see(record) if record is not None else None
    common = Common(
        intent=orders.intent,
        attentive_since=orders.attentive_since,
        stop=stop,
        operator=seen.operator,
        course=None if course.is_plain else campaign if course.record is record else what_nodes_see(course.record),
        campaign=campaign,
        leaving=seen.rollout if is_leaving else None,
        attrition=(standing.idle_max, standing.evicted_at) if standing is not None else None,
    )
    told = PerNode(
        admitted=orders.admitted,
        recalled=orders.recalled,
        rebuffs=dict(orders.rebuffs),
        busy=dict(seen.busy),
        open=course.open,
        closed=course.closed,
        marked=busy,
        ahead=orders.ahead,
        given_back=orders.given_back,
        waiting={**standing.taken, **standing.closed} if standing is not None else {},
    )
    return remembered.steps(nodes, common, told, now, choose)


def marked(course: Course) -> frozenset[str]:
    """Whom the course itself writes to in this pass."""
    return frozenset(act.subject for act in course.acts)


def _step_leaving(node: NodeSeen, orders: Orders, seen: Snapshot, stop: Hold | None, now: Instant) -> Chosen:
    """The step of a node whose rollout leaves, unless that is stopped; and its own."""
    step = _busy(node, seen.busy, orders) or leaving.step(node, orders, seen.rollout, now)
    is_kept = stop is not None and is_kept_back(step, stop.code)
    return Step(hold=like(stop, node.name)) if stop is not None and is_kept else step, step


def _step(node: NodeSeen, orders: Orders, seen: Snapshot, stop: Hold | None, course: Course, now: Instant) -> Chosen:
    """The node's own step, unless the rollout as a whole is stopped, or its turn has not come; and its own."""
    if not course.is_plain and not may_move(node, course) and not course.mover.hands_back(node, orders):
        step = _left_alone(node, orders, course, seen)
        return step, step
    is_aimed = is_under_way(node.record) or has_failed(node.record)
    goal = goal_of(node, seen, orders.intent) if is_aimed else ""
    step = _busy(node, seen.busy, orders) or step_node(node, orders, now, goal)
    if stop is not None:
        if stop.code not in CONTRADICTED and closing.is_surely_opened(node):
            return step, step  # it keeps its place in a pause, too: it is closed, or says which write that waits for
        if is_kept_back(step, stop.code):
            return Step(hold=like(stop, node.name)), step
    if not is_under_way(node.record):
        return step, step  # the thousands that wait or are done cannot be misled
    target = orders.intent.target.published
    record = seen.rollout.campaign
    back = goal if record is not None and letting_in.is_going_back(record) else ""
    if (
        node.name in course.closed
        and node.facts.is_cordoned  # one that was never closed, or that a person opened, has nothing to wait for
        and _opens(step)
        and wants(node.facts, target)
        and not (back and wants(node.facts, back))
    ):
        return Step(hold=hold(node.name, HoldCode.CANARY_CLOSED, since=course.record.entered_at, back=back)), step
    may_go_on = _only_repairs(node, step) or _hands_back(step) or closing.is_surely_opened(node)
    return misled(node, goal) if is_misled(node, goal) and not may_go_on else step, step


def _opens(step: Step) -> bool:
    """Whether a step gives a node back to its users."""
    return isinstance(step.action, WriteNodeRecord) and step.action.record.phase is NodePhase.UPGRADE_DONE


def goal_of(node: NodeSeen, seen: Snapshot, intent: Intent) -> str:
    """The version a node is to run: the target, or on the way back what it ran before; empty where nobody says."""
    record = seen.rollout.campaign
    if intent.campaign is None:
        return intent.target.published
    if record is None or record.phase in (RolloutPhase.PROPOSED, RolloutPhase.REVERTED):
        return ""  # who is under way then is so for another rollout
    target = intent.target.published
    if record.phase is not RolloutPhase.REVERTING:
        return target
    return way_back(node.facts, seen.operator, back_to(record.baseline, seen.operator, target), target) or target


def before_of(node: NodeSeen, seen: Snapshot, version: str) -> str:
    """What a node ran before the campaign, by its record; empty where that does not say."""
    record = seen.rollout.campaign
    if record is None:
        return ""
    return way_back(node.facts, seen.operator, record.baseline, version)


def _only_repairs(node: NodeSeen, step: Step) -> bool:
    """Whether a step writes down what is so, and takes nothing from anybody: that may not wait."""
    action = step.action
    if not isinstance(action, WriteNodeRecord) or is_disruptive(action):
        return False
    return node.record is not None and action.record.phase is node.record.phase


def _hands_back(step: Step) -> bool:
    """Whether a step ends an attempt and disturbs nobody, such as that of a node closed until its jobs end."""
    action = step.action
    if not isinstance(action, WriteNodeRecord) or is_disruptive(action):
        return False
    return action.record.phase is NodePhase.UPGRADE_REQUIRED


def may_move(node: NodeSeen, course: Course) -> bool:
    """Whether a campaign lets a node take a step of its own: its turn has come, or it is under way already."""
    return course.mover.may_step(node, is_open=node.name in course.open)


def _left_alone(node: NodeSeen, orders: Orders, course: Course, seen: Snapshot) -> Step:
    """What a node waits for that takes no step of its own: for somebody else to move it, or for its turn."""
    goal = goal_of(node, seen, orders.intent)
    if node.record is not None and node.record.is_cordon_ours and is_misaimed(node.facts, goal):
        return misled(node, goal)  # it failed, is to be tried again, and stays closed until it can be
    if node.name in course.open:
        is_back = letting_in.is_going_back(course.record)
        step = course.mover.step_elsewhere(node, orders, goal, is_back=is_back)
        if step is not None:
            return step
    target = orders.intent.target.published
    return kept_waiting(node, course, target, before_of(node, seen, target))


def kept_waiting(node: NodeSeen, course: Course, target: str, before: str) -> Step:
    """Why a node waits that a campaign does not let move; nothing where it has nothing to wait for."""
    busy = course.mover.why_busy(node)
    if busy is not None:
        return Step(hold=busy)
    is_watched = course.record.phase in LEAKING and not course.mover.was_let_in(node, course.record)
    leaked = ahead(node.facts, target, before) if is_watched else ()
    if leaked:
        # The template is new for everybody: a pod recreated for whatever reason comes up with it, and nobody asked us.
        if node.facts.driver is not None and not node.facts.driver.is_ready:
            return Step(hold=hold(node.name, HoldCode.DRIVER_NOT_READY, told(node.facts)))
        return Step(hold=hold(node.name, HoldCode.LEAKED, version=", ".join(leaked)))
    is_settled = node.record is None or node.record.phase is NodePhase.UPGRADE_DONE
    if node.facts.is_in_sync and is_settled and not _is_to_come(node, course, target):
        return NOTHING
    if course.record.phase is RolloutPhase.REVERTED:
        return Step(hold=hold(node.name, HoldCode.UNDONE))  # also one that a person kept out, and lets in too late
    if is_left_out(node.facts):
        return Step(hold=hold(node.name, HoldCode.SKIPPED))  # its turn will not come
    return Step(hold=hold(node.name, HoldCode.NOT_ITS_TURN, phase=course.record.phase))


def _is_diagnosed(held: Hold) -> bool:
    """Whether the trouble of its driver was recognised."""
    return any(key == "diagnosis" for key, _ in held.params)


def _going_back(held: Hold, version: str) -> Hold:
    """The same on the way back: what helps there brings the old version, and is not to choose another."""
    driver, _ = parts_of(version)
    return replace(held, params=tuple(sorted((*held.params, ("back", driver or "the old driver")))))


def _is_to_come(node: NodeSeen, course: Course, target: str) -> bool:
    """Whether a node runs what its DaemonSet says, and will not any more once the campaign has published the target."""
    is_drivers = course.mover.moves_drivers and node.facts.driver is not None
    if course.record.phase not in BEFORE_ITS_TURN or not is_drivers:
        return False
    return course.mover.progress(node, target) is Progress.AWAY


def _busy(node: NodeSeen, busy: Mapping[str, Instant | None], orders: Orders) -> Step | None:
    """That the answer to a write is still awaited; who was refused before is refused as long."""
    if node.facts.name not in busy:
        return None
    held = hold(node.name, HoldCode.WRITE_IN_FLIGHT, until=busy[node.name])
    return Step(hold=held, beside=clearing.refusal(node, orders))
