"""What we promise of a fleet: the limits, the ledger, units, and how much a pass does.

Law of this file: a promise is about what is decided, whoever decided it.

Tests: tests/core/promises/test_invariants.py, tests/core/promises/test_promises_alone.py
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from seatrial.core.actions.action import is_disruptive
from seatrial.core.actions.on_nodes import AskCheckpoint, Cordon, EvictPods, NodeAct, RestartPod, WriteNodeRecord
from seatrial.core.actions.on_rollouts import WriteRolloutRecord
from seatrial.core.budget.losses import gpu_count
from seatrial.core.decision.decide import ACTIONS_MAX, Decision
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.model.seen.rollouts import Admission, RolloutRecord
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.movers.mover import mover_seen
from seatrial.core.node.phases import CLOSING, is_under_way
from seatrial.core.promises import counting
from seatrial.core.promises.breach import Breach, breach, closes_again, is_start
from seatrial.core.promises.counting import Counted, Place, goes_along, is_gone
from seatrial.core.text.names import a_few


def capacity_kept(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """Our disruptions never take more of the fleet, a pool or a domain than the limits allow."""
    cordons = [action for action in decision.actions if isinstance(action, Cordon)]
    writes = [action.record for action in decision.actions if isinstance(action, WriteRolloutRecord)]
    named = set(seen.rollout.admitted)
    if not cordons and all(set(record.admitted) <= named for record in writes):
        return  # nothing is taken, and there may be thousands of nodes to count
    nodes = mover_seen(seen).recorded(seen, intent)
    before = Counted(nodes, named, intent)
    places = tuple(counting.places(nodes, intent))
    closed = {action.node for action in cordons} - before.busy
    for name in sorted(name for name in closed if not is_gone(nodes[name])):
        yield from _overdrawn(places, name, before.gone | closed, {name})
    for record in writes:
        new = {each for each in set(record.admitted) - named if each.node in nodes}
        if new:
            yield from _taken(seen, intent, nodes, places, before, record, new)


def _taken(
    seen: Snapshot,
    intent: Intent,
    nodes: Mapping[str, NodeSeen],
    places: Sequence[Place],
    before: Counted,
    record: RolloutRecord,
    new: AbstractSet[Admission],
) -> Iterator[Breach]:
    """What these admissions take beyond the limits. A node that is put back into the ledger takes nothing more."""
    after = Counted(nodes, record.admitted, intent, new)
    starting = {each.node for each in new if not each.is_ahead} - before.at_work
    if intent.limits.idle_gpus_max is not None:
        limit = intent.limits.idle_gpus_max.of(sum(map(gpu_count, nodes.values())))
        if after.idle_gpus > limit and after.idle_gpus > before.idle_gpus:
            yield breach("capacity", record.name, f"{after.idle_gpus} GPUs taken, limit {limit}")
    failed = counting.failed(nodes, intent) if starting and not _is_going_back(seen) else ()
    if len(failed) > intent.failed_max:
        yield breach("capacity", record.name, f"{len(failed)} failed, limit {intent.failed_max}")
    for place in places:
        moving = place.members & after.at_work
        if starting & place.members and len(moving) > place.at_work_max:
            detail = f"{len(moving)} nodes under way, limit {place.at_work_max}{_in(place)}"
            yield breach("capacity", record.name, detail)
    # A node that is gone already costs nothing more, unless it waited for its turn behind our own cordon.
    costing = {name for name in starting if name in before.waiting or not is_gone(nodes[name])}
    empty = {each.node for each in new if each.is_ahead} & after.taken - before.taken
    yield from _overdrawn(places, record.name, after.taken, costing | empty)


def _overdrawn(
    places: Iterable[Place], subject: str, gone: AbstractSet[str], new: AbstractSet[str]
) -> Iterator[Breach]:
    """The places in which these make too many nodes unavailable."""
    for place in places:
        inside = gone & place.members
        if new & place.members and len(inside) > place.gone_max:
            yield breach("capacity", subject, f"{len(inside)} unavailable, limit {place.gone_max}{_in(place)}")


def _in(place: Place) -> str:
    return f" in {place.name}" if place.name else ""


def _is_going_back(seen: Snapshot) -> bool:
    return seen.rollout.campaign is not None and seen.rollout.campaign.phase is RolloutPhase.REVERTING


def admitted(seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No node starts, and no disruptive act happens, without the ledger naming it."""
    ledger = {(each.node, each.attempt): each.is_ahead for each in seen.rollout.admitted}
    for action in decision.actions:
        if not isinstance(action, NodeAct):
            continue
        starts = isinstance(action, WriteNodeRecord) and is_start(seen, action)
        takes = is_disruptive(action) and not closes_again(seen, action)
        if (starts or takes) and (action.node, action.attempt) not in ledger:
            detail = f"{type(action).__name__} of attempt {action.attempt} is not in the ledger"
            yield breach("admitted", action.node, detail)
        elif isinstance(action, EvictPods | AskCheckpoint | RestartPod) and ledger.get((action.node, action.attempt)):
            yield breach("admitted", action.node, f"{type(action).__name__} on a node that is to be closed alone")


def one_act(_seen: Snapshot, _intent: Intent, decision: Decision) -> Iterator[Breach]:
    """At most one act per subject per pass."""
    for subject, count in Counter(action.subject for action in decision.actions).items():
        if count > 1:
            yield breach("one_act", subject, f"{count} acts in one pass")


def bounded(_seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No more than ACTIONS_MAX acts on nodes a pass."""
    moves = [action for action in decision.actions if not isinstance(action, WriteRolloutRecord)]
    if len(moves) > ACTIONS_MAX:
        yield breach("bounded", intent.rollout, f"{len(moves)} acts in one pass, limit {ACTIONS_MAX}")


def whole(seen: Snapshot, intent: Intent, decision: Decision) -> Iterator[Breach]:
    """No node of a unit is let in while another needs the driver and does not go along, but on the way back."""
    writes = [action.record for action in decision.actions if isinstance(action, WriteRolloutRecord)]
    if not any(domain.is_unit for domain in intent.domains) or not writes or _is_going_back(seen):
        return
    nodes = mover_seen(seen).recorded(seen, intent)
    unit_of = counting.units(nodes, intent)
    for record in writes:
        new = set(record.admitted) - set(seen.rollout.admitted)
        after = Counted(nodes, record.admitted, intent, new)
        for admission in sorted(new):
            unit, members = unit_of.get(admission.node, ("", frozenset()))
            # What has begun is brought to its end; a node that waits for its jobs runs what it ran.
            is_new = admission.node in nodes and not admission.is_ahead
            if is_new and _is_untouched(seen, nodes[admission.node]):
                left = sorted(name for name in members if not goes_along(nodes[name], after))
                if left:
                    yield breach("whole", admission.node, f"let in without {a_few(left, 4)} of {unit}")


def _is_untouched(seen: Snapshot, node: NodeSeen) -> bool:
    """Whether a node runs what it ran, and would go on to; what NVIDIA's controller began, it brings to its end."""
    ours = seen.nodes[node.name].record
    is_closed_alone = any(each.node == node.name and each.is_ahead for each in seen.rollout.admitted)
    return not is_under_way(node.record) or (is_closed_alone and ours is not None and ours.phase in CLOSING)
