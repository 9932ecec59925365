"""The step of one node under the rollout as a whole: its own, unless everybody is stopped or its turn has not come.

Law of this file: it chooses between steps that others work out, and makes none up. Tests: tests/core/test_decide.py
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from seatrial.core import actions as acts
from seatrial.core.actions import WriteNodeRecord
from seatrial.core.budget import capacity
from seatrial.core.campaign import leaving
from seatrial.core.campaign.course import Course
from seatrial.core.compat import versions
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import CampaignRecord, Mode, RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.snapshot import (
    NodePhase,
    NodeSeen,
    Snapshot,
)
from seatrial.core.movers import letting_in
from seatrial.core.node import closing
from seatrial.core.node.phases import is_under_way
from seatrial.core.node.progress import resource_of, wants
from seatrial.core.node.step import step_node, why_unclear
from seatrial.core.node.writing import NOTHING, WISH, Orders, Step, has_returned
from seatrial.core.stops import CONTRADICTED, NO_VERSION, is_kept_back, like

LEAKING: Final = frozenset({RolloutPhase.CANARY, RolloutPhase.GATING, RolloutPhase.BAKING, RolloutPhase.WAVING})
"""Phases in which a node may not run the target before its turn."""


def steps(
    seen: Snapshot, nodes: Mapping[str, NodeSeen], orders: Orders, course: Course, stop: Hold | None, now: Instant
) -> dict[str, Step]:
    """The step of every node; none for those whom the course itself writes to."""
    busy = marked(course)
    is_leaving = leaving.is_leaving(seen, orders.intent)
    return {
        name: NOTHING if name in busy else _step(node, orders, seen, stop, course, now, is_leaving=is_leaving)
        for name, node in sorted(nodes.items())
    }


def marked(course: Course) -> frozenset[str]:
    """Whom the course itself writes to in this pass."""
    return frozenset(act.subject for act in course.acts)


def _step(
    node: NodeSeen,
    orders: Orders,
    seen: Snapshot,
    stop: Hold | None,
    course: Course,
    now: Instant,
    *,
    is_leaving: bool,
) -> Step:
    """The node's own step, unless the rollout as a whole is stopped, or its turn has not come."""
    if is_leaving:
        step = _busy(node, seen.busy) or leaving.step(node, orders, seen.rollout, now)
        return Step(hold=like(stop, node.name)) if stop is not None and is_kept_back(step, stop.code) else step
    # Who came back without its record hands its admission back whatever the campaign is at: others wait for the slot.
    is_freed = has_returned(node, orders) and course.record.mode is Mode.DIRECT
    if not may_move(node, course) and not is_freed:
        if course.record.mode is Mode.DELEGATED and node.name in course.open:
            is_back = letting_in.is_going_back(course.record)
            return left_to_nvidia(node, orders, goal_of(node, seen, orders.intent), is_back=is_back)
        return kept_waiting(node, course, orders.intent.target)
    step = own_step(node, orders, seen.busy, now)
    if stop is not None and stop.code not in CONTRADICTED and closing.is_surely_opened(node):
        return step  # a node keeps its place in a pause, too: it is closed, or says which write that waits for
    if stop is not None and is_kept_back(step, stop.code):
        return Step(hold=like(stop, node.name))
    goal = goal_of(node, seen, orders.intent)
    may_go_on = _only_repairs(node, step) or closing.is_surely_opened(node)
    return _misled(node, goal) if is_misled(node, goal) and not may_go_on else step


def goal_of(node: NodeSeen, seen: Snapshot, intent: Intent) -> str:
    """The version a node is to run: the target, or on the way back what it ran before; empty where nobody says."""
    record = seen.rollout.campaign
    if intent.campaign is None:
        return str(intent.target)
    if record is None or record.phase in (RolloutPhase.PROPOSED, RolloutPhase.REVERTED):
        return ""  # who is under way then is so for another rollout
    before = dict(record.baseline).get(resource_of(node.facts, seen.operator), "")
    return before if record.phase is RolloutPhase.REVERTING and before else str(intent.target)


def is_misled(node: NodeSeen, goal: str) -> bool:
    """Whether the driver of a node under way is there, and would be replaced by one that the rollout does not want.

    Somebody published a third version. A node that has lost its driver has no way but forward, and ends on what is
    published, which is not the target; one that runs what is wanted there is let go.
    """
    facts = node.facts
    if not goal or not is_under_way(node.record) or facts.driver is None or facts.driver.is_terminating:
        return False
    return facts.wanted is not None and not facts.is_in_sync and not wants(facts, goal)


def _misled(node: NodeSeen, goal: str) -> Step:
    """The hold of a node that keeps its place until the right version is published again."""
    found = (node.facts.wanted.version if node.facts.wanted is not None else "") or NO_VERSION
    return Step(hold=hold(node.name, HoldCode.TARGET_NOT_PUBLISHED, found=found, target=goal))


def _only_repairs(node: NodeSeen, step: Step) -> bool:
    """Whether a step writes down what is so, and takes nothing from anybody: that may not wait."""
    action = step.action
    if not isinstance(action, WriteNodeRecord) or acts.is_disruptive(action):
        return False
    return node.record is not None and action.record.phase is node.record.phase


def may_move(node: NodeSeen, course: Course) -> bool:
    """Whether a campaign lets a node take a step of its own: its turn has come, or it is under way already."""
    if course.is_plain:
        return True
    if course.record.mode in (Mode.DELEGATED, Mode.BY_HAND):
        return False
    # Who has failed may be tried again by whoever says so; it gets no further than to ask for its turn.
    is_begun = is_under_way(node.record) or capacity.has_failed(node.record) or closing.is_opened(node)
    return node.name in course.open or is_begun


def left_to_nvidia(node: NodeSeen, orders: Orders, goal: str, *, is_back: bool) -> Step:
    """What a node waits for that NVIDIA's controller moves, now that it is its turn: the ledger, or the end of it."""
    why_not = letting_in.why_not(node.facts)
    state = node.facts.nvidia_state
    is_done = node.record is not None and node.record.phase is NodePhase.UPGRADE_DONE
    asks_again = is_back and capacity.has_failed(node.record)
    is_waiting = node.record is None or asks_again
    if why_not is not None and (is_done or is_waiting):
        return Step(hold=why_not)
    if is_done:
        return NOTHING
    if is_waiting and not wants(node.facts, goal):
        return _misled(node, goal)
    attempt = orders.admitted.get(node.name)
    if is_waiting and (attempt is None or (asks_again and not letting_in.is_retried(node, attempt))):
        return WISH
    return Step(hold=hold(node.name, HoldCode.MOVED_BY_NVIDIA, state=state or "none"))


def kept_waiting(node: NodeSeen, course: Course, target: versions.DriverVersion) -> Step:
    """Why a node waits that a campaign does not let move; nothing where it has nothing to wait for."""
    state = node.facts.nvidia_state
    is_kept_out = bool(node.facts.skipped_by) and state == NodePhase.UPGRADE_REQUIRED.value
    is_theirs = course.record.mode is Mode.DELEGATED and not is_kept_out
    if is_theirs and state not in ("", NodePhase.UPGRADE_DONE.value):
        return Step(hold=hold(node.name, HoldCode.MOVED_BY_NVIDIA, state=state))
    unclear = why_unclear(node) if course.record.mode is Mode.DIRECT else None
    if unclear is not None:
        return Step(hold=unclear)
    is_new = course.record.phase in LEAKING and node.facts.is_in_sync and not _was_let_in(node, course.record)
    if (
        is_new
        and course.record.mode is not Mode.BY_HAND
        and node.facts.driver is not None
        and wants(node.facts, str(target))
    ):
        # The template is new for everybody: a pod recreated for whatever reason comes up with it, and nobody asked us.
        return Step(hold=hold(node.name, HoldCode.LEAKED, version=node.facts.driver.version))
    is_settled = node.record is None or node.record.phase is NodePhase.UPGRADE_DONE
    if node.facts.is_in_sync and is_settled:
        return NOTHING
    return Step(hold=hold(node.name, HoldCode.NOT_ITS_TURN, phase=course.record.phase))


def _was_let_in(node: NodeSeen, record: CampaignRecord) -> bool:
    """Whether a node runs what it runs because its turn came: it is a canary, or ended its work since we began."""
    if record.mode is Mode.DELEGATED:
        return not node.facts.skipped_by
    begun_at = min((turn.at for turn in record.history if turn.phase is RolloutPhase.CANARY), default=0.0)
    return node.name in record.canaries or (node.record is not None and node.record.entered_at >= begun_at)


def own_step(node: NodeSeen, orders: Orders, busy: Mapping[str, Instant | None], now: Instant) -> Step:
    """What the node would do by itself, unless an answer is still awaited."""
    return _busy(node, busy) or step_node(node, orders, now)


def _busy(node: NodeSeen, busy: Mapping[str, Instant | None]) -> Step | None:
    if node.name not in busy:
        return None
    return Step(hold=hold(node.name, HoldCode.WRITE_IN_FLIGHT, until=busy[node.name]))
