"""decide: what to do next, why the rest waits, and when to ask again. The definition, naive and readable.

The same function serves the live controller, the simulator, the property tests and the explorer. It composes
`step_node` (one node), `admit` (the fleet's budget) and the reasons that stop a rollout as a whole; it knows no more.
It looks at every node anew each time.

Tests: tests/core/test_decide.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from operator import attrgetter
from types import MappingProxyType
from typing import Final

from seatrial.core import actions as acts
from seatrial.core import foreign
from seatrial.core.actions import Action, WriteNodeRecord, WriteRolloutRecord
from seatrial.core.budget import capacity, losses, order, units
from seatrial.core.budget.capacity import Admitted, Budget
from seatrial.core.campaign import leaving
from seatrial.core.campaign.course import Course
from seatrial.core.campaign.step import step_rollout
from seatrial.core.compat import versions
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import ENDED, ByHand, CampaignRecord, Mode, RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.snapshot import (
    Admission,
    NodePhase,
    NodeSeen,
    OperatorFacts,
    RolloutRecord,
    Snapshot,
    Summary,
    Told,
)
from seatrial.core.movers import driver_manager, letting_in
from seatrial.core.node import closing, observed
from seatrial.core.node.phases import is_under_way
from seatrial.core.node.progress import Standing, resource_of, wants
from seatrial.core.node.step import step_node, why_unclear
from seatrial.core.node.writing import NOTHING, WISH, Orders, Step, has_returned, retry_at
from seatrial.core.words import explain

ACTIONS_MAX: Final = 200
"""A correct list of 2,000 evictions is still an attack on the API server."""
STALE_SECONDS: Final = 150.0
"""A stream that says nothing for this long (bookmarks come every minute) is not to be trusted with a disruption."""
SUMMARY_SECONDS: Final = 15.0
"""The summary for people is written with the ledger, or at most this often by itself."""
TOLD_MAX: Final = 8
"""How many waits of the rollout itself its status tells in words."""
REBUFFS_MAX: Final = 50
"""How many writes that were turned down the rollout's status names."""

STOPS: Final = (
    HoldCode.PAUSED,
    HoldCode.MODE_CONTRADICTION,
    HoldCode.NOBODY_MOVES,
    HoldCode.SANDBOXED,
    HoldCode.STALE_VIEW,
    HoldCode.TARGET_NOT_PUBLISHED,
    HoldCode.UNGUARDED,
)
"""Why a rollout as a whole does not disrupt anybody."""
FREEZING: Final = frozenset(
    {
        HoldCode.PAUSED,
        HoldCode.MODE_CONTRADICTION,
        HoldCode.NOBODY_MOVES,
        HoldCode.SANDBOXED,
        HoldCode.UNGUARDED,
    }
)
"""Stops under which we write nothing at all to a node; under the others only what disrupts nobody."""
CONTRADICTED: Final = frozenset({HoldCode.MODE_CONTRADICTION, HoldCode.NOBODY_MOVES})
"""Stops under which the nodes are somebody else's to open and to close."""
_STATES: Final = frozenset(phase.value for phase in NodePhase)

NO_VERSION: Final = "an image without a driver version in its tag"

LEAKING: Final = frozenset({RolloutPhase.CANARY, RolloutPhase.GATING, RolloutPhase.BAKING, RolloutPhase.WAVING})
"""Phases in which a node may not run the target before its turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do, why the rest is not moving, when to ask again."""

    actions: tuple[Action, ...] = ()
    holds: tuple[Hold, ...] = ()
    wake_at: Instant | None = None
    stop: Hold | None = None
    """Why the rollout as a whole does not disrupt anybody, if it does not."""
    at: Instant | None = field(default=None, compare=False)
    """When it was taken: the promises have to know whether a window was open."""

    @property
    def waits(self) -> tuple[Hold, ...]:
        """Every hold to tell people of: the rollout's own, too, where no node shows it."""
        if self.stop is None or any(held.code is self.stop.code for held in self.holds):
            return self.holds
        return (*self.holds, self.stop)

    @property
    def is_free(self) -> bool:
        """Whether we may act as things stand: while another's version is in the way, nobody is kept to a deadline."""
        return self.stop is None and all(held.code is not HoldCode.TARGET_NOT_PUBLISHED for held in self.holds)


def decide(seen: Snapshot, intent: Intent, now: Instant) -> Decision:
    """What to do next, why the rest waits, and when to ask again."""
    if seen.is_deleting:
        intent = replace(intent, is_paused=False)  # who deletes a rollout does not wait for its pause to end
    is_leaving = leaving.is_leaving(seen, intent)
    stop = why_stopped(seen, intent, now)
    if is_leaving:
        stop = None if stop is not None and stop.code in leaving.NO_MATTER else stop
        course = leaving.course_of(seen, intent, now, stop)
    else:
        course = step_rollout(seen, intent, now, stop) if intent.campaign is not None else None
    # A list not read to its end shows nodes as gone that are not, and their admissions must not go with them.
    # One that leaves takes nobody in again either: who is under way may be another rollout's.
    is_blind = why_blind(seen, intent, now) is not None
    nodes = seen.nodes if is_leaving else letting_in.recorded(seen, intent)
    is_kept = is_blind or is_leaving
    ledger = seen.rollout.admitted if is_kept else capacity.still_admitted(seen.rollout.admitted, nodes, intent)
    is_back = capacity.is_going_back(seen.rollout)
    budget = capacity.budget_of(nodes, ledger, intent, is_back=is_back)
    lame = {} if is_back else units.unfit(nodes, budget.unit_of)
    recalled = capacity.recalled(ledger, budget)
    orders = Orders(
        intent=intent,
        admitted={admission.node: admission.attempt for admission in seen.rollout.admitted},
        recalled=recalled | units.called_back(nodes, budget, lame, recalled),
        rebuffs=seen.rebuffs,
        attentive_since=seen.attentive_since,
    )
    marked = {act.subject for act in course.acts} if course is not None else frozenset()
    steps = {
        name: NOTHING if name in marked else _step(node, orders, seen, stop, course, now, is_leaving=is_leaving)
        for name, node in sorted(nodes.items())
    }
    keeping, kept = leaving.keep(seen, intent, steps, course, stop, now)
    admitted = let_in(steps, nodes, ledger, budget, intent, marked, lame)
    new = {admission.node for admission in set(admitted.ledger) - set(ledger)}
    holds = [step.hold for step in steps.values() if step.hold is not None]
    holds += admitted.holds
    holds += [hold(name, HoldCode.LEDGER_PENDING) for name in sorted(new)]
    room = ACTIONS_MAX - len(course.acts if course is not None else ())
    moves, left = _bounded([step.action for step in steps.values() if step.action is not None], room)
    holds += [pass_full(action.subject, now) for action in left]
    holds += (*(course.holds if course is not None else _loud_managers(seen, intent, stop)), *kept)
    step = intent.campaign.by_hand if intent.campaign is not None else None
    summary = summarise(replace(seen, nodes=nodes), holds, stop, step)
    if course is not None:
        state = state_of(course.record, stop, is_moving=summary.state == "progressing")
        told = (*course.holds, *kept) if stop is None else (stop,)
        summary = replace(summary, state=state, told=told_of(told))
    writing, ask_again_at = write_rollout(
        seen, admitted.ledger, summary, now, course.record if course is not None else None
    )
    if keeping or (is_leaving and not seen.is_guarded):
        writing = ()  # both are bound to the same version of the rollout, and one that goes is not written to
    return Decision(
        actions=(*keeping, *writing, *(course.acts if course is not None else ()), *moves),
        holds=tuple(sorted((*holds, *_unreadable(seen)), key=attrgetter("subject", "code"))),
        wake_at=_next_look([*(held.until for held in holds), ask_again_at, course.wake_at if course else None], now),
        stop=stop,
        at=now,
    )


def _unreadable(seen: Snapshot) -> list[Hold]:
    """That other rollouts cannot be read: each holds itself, and this one is none the less done for it."""
    return [hold(name, HoldCode.ROLLOUT_UNREADABLE, why=why) for name, why in seen.unreadable]


def _loud_managers(seen: Snapshot, intent: Intent, stop: Hold | None) -> tuple[Hold, ...]:
    """That driver managers open nodes under us, told as long as somebody is to be moved. Nobody waits for it."""
    if stop is not None and stop.code in (*CONTRADICTED, HoldCode.SANDBOXED):
        return ()  # the nodes are not ours to move, and under NVIDIA's controller its driver manager stands back
    if all(node.record is not None and node.record.phase is NodePhase.UPGRADE_DONE for node in seen.nodes.values()):
        return ()
    return driver_manager.told_loud(seen.operator, seen.nodes.values(), intent.rollout)


def why_stopped(seen: Snapshot, intent: Intent, now: Instant) -> Hold | None:
    """Why nobody is to be disrupted at all: paused, half blind, contradicted, or not yet published."""
    owners = {node.facts.owner for node in seen.nodes.values()}
    # A campaign publishes by itself, scope by scope, and says what it waits for.
    wishes = (node.facts.wanted for node in seen.nodes.values()) if intent.campaign is None else ()
    carried = {wanted.version for wanted in wishes if wanted is not None}
    return stop_of(seen, owners, carried, intent, now)


def stop_of(
    seen: Snapshot, owners: Container[str], carried: Iterable[str], intent: Intent, now: Instant
) -> Hold | None:
    """The same, from who owns the members' drivers and which versions their DaemonSets carry; looks at no node."""
    if intent.is_paused:
        return hold(intent.rollout, HoldCode.PAUSED, rollout=intent.rollout)
    contradiction = _contradiction(seen, owners, intent)
    if contradiction is not None:
        return contradiction
    unguarded = leaving.why_unguarded(seen, intent)
    if unguarded is not None:
        return unguarded
    blind = why_blind(seen, intent, now)
    if blind is not None:
        return blind
    unpublished = _not_published(carried, intent)
    if unpublished is not None:
        return hold(intent.rollout, HoldCode.TARGET_NOT_PUBLISHED, found=unpublished, target=intent.target)
    return None


def _contradiction(seen: Snapshot, owners: Container[str], intent: Intent) -> Hold | None:
    """Why who is to move the nodes is not who does."""
    other, record = _other_mover(seen.operator, owners), seen.rollout.campaign
    # On the way back its controller is switched off for a moment, by us.
    is_free = record is not None and record.phase in (RolloutPhase.REVERTING, *ENDED)
    if seen.operator.is_sandboxed and not is_free and not _is_ours_to_move(intent):
        return hold(intent.rollout, HoldCode.SANDBOXED, owner=seen.operator.kind)
    asked = (record.mode if record is not None else None) or (intent.campaign.mode if intent.campaign else Mode.DIRECT)
    if asked is Mode.DIRECT and other:
        return hold(intent.rollout, HoldCode.MODE_CONTRADICTION, owner=other)
    if asked is Mode.DELEGATED and not other and not is_free:
        return hold(intent.rollout, HoldCode.NOBODY_MOVES, owner=seen.operator.kind or "no GPU Operator")
    return None


def _is_ours_to_move(intent: Intent) -> bool:
    """Whether somebody said outright that we move the nodes, or that people do."""
    campaign = intent.campaign
    return campaign is not None and (campaign.mode is Mode.DIRECT or campaign.by_hand is not None)


def _other_mover(operator: OperatorFacts, owners: Container[str]) -> str:
    """The resource under which NVIDIA's own controller moves members of this rollout; empty when there is none."""
    if not operator.pools:
        return operator.kind if operator.mode is Mode.DELEGATED else ""
    names = sorted(pool.name for pool in operator.pools if pool.is_auto_upgrading and pool.name in owners)
    return f"NVIDIADriver/{names[0]}" if names else ""


def why_blind(seen: Snapshot, intent: Intent, now: Instant) -> Hold | None:
    """Which stream cannot be trusted: not yet listed, or silent for too long."""
    for stream in seen.freshness:
        if not stream.is_synced or now - stream.heard_at > STALE_SECONDS:
            return hold(intent.rollout, HoldCode.STALE_VIEW, source=stream.source, since=stream.heard_at)
    return None


def _not_published(carried: Iterable[str], intent: Intent) -> str | None:
    """What the driver DaemonSets carry instead of the target; None when all of them carry it."""
    others = sorted(text for text in carried if not _is_target(text, intent))
    return ", ".join(text or NO_VERSION for text in others) if others else None


def _is_target(text: str, intent: Intent) -> bool:
    try:
        return versions.DriverVersion.parse(text) == intent.target
    except versions.VersionInvalid:
        return False


def _step(
    node: NodeSeen,
    orders: Orders,
    seen: Snapshot,
    stop: Hold | None,
    course: Course | None,
    now: Instant,
    *,
    is_leaving: bool,
) -> Step:
    """The node's own step, unless the rollout as a whole is stopped, or its turn has not come."""
    if is_leaving:
        step = _busy(node, seen.busy) or leaving.step(node, orders, seen.rollout, now)
        return Step(hold=like(stop, node.name)) if stop is not None and is_kept_back(step, stop.code) else step
    # Who came back without its record hands its admission back whatever the campaign is at: others wait for the slot.
    is_freed = has_returned(node, orders) and course is not None and course.record.mode is Mode.DIRECT
    if course is not None and not may_move(node, course) and not is_freed:
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


def is_kept_back(step: Step, stop: HoldCode) -> bool:
    """Whether a step has to wait until the rollout as a whole, stopped for this reason, may go on."""
    if step.action is None:
        return step.wants_admission
    if stop is HoldCode.STALE_VIEW and gives_back(step.action):
        return True  # what an old view calls proven may be gone by now
    return stop in FREEZING or leads_to_disruption(step.action)


def gives_back(action: Action) -> bool:
    """Whether an act lets the users of a node come back, or is about to."""
    opens = action.record.phase if isinstance(action, WriteNodeRecord) else None
    return isinstance(action, acts.Uncordon | acts.ReleaseMaintenance) or opens is NodePhase.UNCORDON_REQUIRED


def leads_to_disruption(action: Action) -> bool:
    """Whether an act takes something away, or is the first of a row that will."""
    opens = action.record.phase if isinstance(action, WriteNodeRecord) else None
    # An attempt opened without a published target would only be released again.
    starts = (NodePhase.UPGRADE_REQUIRED, NodePhase.CORDON_REQUIRED, NodePhase.NODE_MAINTENANCE_REQUIRED)
    return acts.is_disruptive(action) or opens in starts


def like(held: Hold, subject: str) -> Hold:
    """The same hold for somebody else."""
    return Hold(subject=subject, code=held.code, params=held.params, since=held.since, until=held.until)


def let_in(
    steps: Mapping[str, Step],
    nodes: Mapping[str, NodeSeen],
    ledger: tuple[Admission, ...],
    budget: Budget,
    intent: Intent,
    marked: AbstractSet[str] = frozenset(),
    lame: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Admitted:
    """Let in who wishes to start, in the order of the intent, as far as the budget goes.

    `marked` are written to in this pass and ask in the next; `lame` are members of units that cannot start.
    """
    wishing = [nodes[name] for name, step in steps.items() if step.wants_admission]
    wishes = [wish(node) for node in order.ordered(wishing, nodes, intent)]
    coming = _coming(steps) | marked if budget.unit_of else frozenset()
    return capacity.admit(wishes, ledger, budget, coming, lame)


def _coming(steps: Mapping[str, Step]) -> frozenset[str]:
    """Who does not ask to start yet, but is about to: a unit waits for them."""
    return frozenset(
        name
        for name, step in steps.items()
        if (step.hold is not None and step.hold.code in (HoldCode.WRITE_IN_FLIGHT, HoldCode.WRITE_REFUSED))
        or (isinstance(step.action, WriteNodeRecord) and step.action.record.phase is NodePhase.UPGRADE_REQUIRED)
    )


def wish(node: NodeSeen) -> Admission:
    """The admission that a node asks for; one that has failed asks for another than it had."""
    attempt = node.record.attempt if node.record else 0
    return Admission(node=node.name, attempt=attempt + capacity.has_failed(node.record))


def _bounded(moves: list[Action], room: int) -> tuple[tuple[Action, ...], tuple[Action, ...]]:
    """At most so many a pass; what gives capacity back goes first."""
    ordered = sorted(moves, key=turn_of)
    return tuple(ordered[:room]), tuple(ordered[room:])


def turn_of(action: Action) -> tuple[bool, str]:
    """Where an act stands in the order of a pass."""
    return not isinstance(action, acts.Uncordon), action.subject


def pass_full(subject: str, now: Instant) -> Hold:
    """Why an act waits that would be one too many for this pass."""
    return hold(subject, HoldCode.PASS_FULL, until=now, limit=ACTIONS_MAX)


# ── the rollout's own record ─────────────────────────────────────────────────────────────────────────────────────────


def write_rollout(
    seen: Snapshot,
    ledger: tuple[Admission, ...],
    summary: Summary,
    now: Instant,
    campaign: CampaignRecord | None = None,
) -> tuple[tuple[WriteRolloutRecord, ...], Instant | None]:
    """The ledger at once when it changed; the summary with it, or at most every SUMMARY_SECONDS."""
    before = seen.rollout
    subject = acts.rollout_subject(before.name)
    rebuff = seen.rebuffs.get(subject)
    if subject in seen.busy:
        return (), seen.busy[subject]
    if rebuff is not None and now < retry_at(rebuff):
        return (), retry_at(rebuff)
    record = RolloutRecord(
        name=before.name,
        resource_version=before.resource_version,
        admitted=ledger,
        summary=summary,
        summarised_at=now,
        lost_gpu_seconds=losses.lost_gpu_seconds(seen, now),
        rebuffs=tuple(sorted(seen.rebuffs.items()))[:REBUFFS_MAX],
        attentive_since=seen.attentive_since,
        campaign=campaign,
    )
    is_news = before.summary is None or before.summary.state != summary.state
    if ledger != before.admitted or campaign != before.campaign or is_news:
        return (WriteRolloutRecord(record=record),), None
    if (summary, record.rebuffs) == (before.summary, before.rebuffs):
        return (), None
    # A summary from the future is of a clock that was put back, and is not waited for.
    due_at = before.summarised_at + SUMMARY_SECONDS if before.summarised_at <= now else now
    return ((WriteRolloutRecord(record=record),), None) if now >= due_at else ((), due_at)


def told_of(holds: Iterable[Hold]) -> tuple[Told, ...]:
    """Why a campaign waits, in words: who reads its status has no controller to ask."""
    return tuple(
        # As it will be read again: what is not the same then would be written on every pass.
        Told(
            code=held.code,
            why=foreign.lines(explain.why(held)),
            next_step=foreign.lines(explain.next_step(held)),
            until=held.until,
        )
        for held in list(holds)[:TOLD_MAX]
        if held.code is not HoldCode.WRITE_IN_FLIGHT
    )


def state_of(record: CampaignRecord, stop: Hold | None, *, is_moving: bool) -> str:
    """A campaign's state in one word: it is over only when its last phase is."""
    if record.phase in ENDED:
        return "done" if record.phase is RolloutPhase.DONE else "reverted"
    return "progressing" if is_moving and stop is None else "waiting"


def summarise(seen: Snapshot, holds: Iterable[Hold], stop: Hold | None, step: ByHand | None = None) -> Summary:
    """Counts by phase, holds by code; `done` only when every member is, `waiting` when stopped or nobody is under way.

    A stopped rollout is not done even when every node is in order: they may all be in order on the old driver. In a
    step by hand nodes are done that have what people bring.
    """
    record = seen.rollout.campaign
    is_delegated = record is not None and record.mode is Mode.DELEGATED
    phases = Counter(_phase_of(node, is_delegated, step) for node in seen.nodes.values())
    return summary_of(seen, phases, Counter(held.code for held in holds), stop)


def _phase_of(node: NodeSeen, is_delegated: bool, step: ByHand | None) -> NodePhase | None:
    """Where a node stands, by the word of whoever moves it."""
    if step is not None:
        is_done = observed.standing_of(node.facts, step) is Standing.DONE
        return NodePhase.UPGRADE_DONE if is_done else NodePhase.UPGRADE_REQUIRED
    if not is_delegated:
        return node.record.phase if node.record else None
    state = node.facts.nvidia_state
    return NodePhase(state) if state in _STATES else None


def summary_of(
    seen: Snapshot, phases: Mapping[NodePhase | None, int], codes: Mapping[HoldCode, int], stop: Hold | None
) -> Summary:
    """The same, from how many are in which phase and held for which reason; looks at the ledger's nodes only."""
    told = {code: count for code, count in codes.items() if code is not HoldCode.WRITE_IN_FLIGHT}
    is_done = bool(seen.nodes) and phases.get(NodePhase.UPGRADE_DONE) == len(seen.nodes) and not told
    at_work = (admission for admission in seen.rollout.admitted if capacity.is_at_work(admission, seen.nodes))
    is_moving = any(at_work) or HoldCode.LEDGER_PENDING in told
    return Summary(
        state="waiting" if stop is not None else "done" if is_done else "progressing" if is_moving else "waiting",
        counts=tuple(sorted((phase.value if phase else "unknown", count) for phase, count in phases.items())),
        holds=tuple(sorted((code.value, count) for code, count in told.items())),
    )


def _next_look(instants: Iterable[Instant | None], now: Instant) -> Instant | None:
    """When time alone will change something; what lies in the past has changed it already, and is not looked for."""
    return min((instant for instant in instants if instant is not None and instant >= now), default=None)
