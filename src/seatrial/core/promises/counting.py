"""What the promises count: each node by its cordon, its readiness, its driver, its pods, its record and the ledger.

    at work     the ledger names it for good and its record has not ended, or its record is under way
    waiting     by attrition: it is closed for its jobs to end, or about to be, and nothing else is done to it
    gone        it is at work, takes no new work, or its driver is away; not where it waits and jobs still run on it
    taken       the same, and those besides that wait, are empty and will be closed in a moment

Law of this file: it reads what is seen and the limits of the intent, and none of the sets of the budget: a mistake in
those has to show here. A node that is not seen counts nowhere. Tests: tests/core/promises/test_counting.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from seatrial.core.base.values import dataclass
from seatrial.core.budget.losses import gpu_count, workers
from seatrial.core.model.intent import Intent
from seatrial.core.model.policy import NO_LIMITS, Limits, Share
from seatrial.core.model.seen.gangs import gpus_of
from seatrial.core.model.seen.nodes import NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.rollouts import Admission
from seatrial.core.node import closing
from seatrial.core.node.phases import CLOSING, ENDED, NOT_STARTED, is_under_way
from seatrial.core.node.progress import is_without_gpu, wants


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Nodes with a limit of their own, and how many of them may be at work and gone at once."""

    name: str
    """For people, such as `rack r12`; empty for the rollout itself."""
    members: frozenset[str]
    at_work_max: int
    gone_max: int


def places(nodes: Mapping[str, NodeSeen], intent: Intent) -> Iterator[Place]:
    """The rollout, the pools that have limits, and every domain with a floor."""
    yield _place("", nodes, intent.limits)
    pools = _by_value({name: node.facts.owner for name, node in nodes.items()})
    for owner, policy in intent.pools.items():
        if owner in pools:
            yield _place(f"NVIDIADriver {owner}", pools[owner], policy.limits)
    for domain in intent.domains:
        if domain.unavailable_max is not None:
            for value, members in _labelled(nodes, domain.label).items():
                yield _place(f"{domain.label} {value}", members, NO_LIMITS, floor=domain.unavailable_max)


def units(nodes: Mapping[str, NodeSeen], intent: Intent) -> dict[str, tuple[str, frozenset[str]]]:
    """By node, the unit that it is in, with all of its members; where it is in several, the last one counts."""
    found: dict[str, tuple[str, frozenset[str]]] = {}
    for domain in intent.domains:
        if domain.is_unit:
            for value, members in _labelled(nodes, domain.label).items():
                found |= dict.fromkeys(members, (f"{domain.label} {value}", frozenset(members)))
    return found


def _place(name: str, members: Iterable[str], limits: Limits, floor: Share | None = None) -> Place:
    inside = frozenset(members)
    return Place(
        name=name,
        members=inside,
        at_work_max=limits.parallel_max or len(inside),
        gone_max=(floor or limits.unavailable_max).of(len(inside)),
    )


def _labelled(nodes: Mapping[str, NodeSeen], label: str) -> dict[str, set[str]]:
    return _by_value({name: node.facts.labels.get(label, "") for name, node in nodes.items()})


def _by_value(value_of: Mapping[str, str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for name, value in value_of.items():
        if value:
            found[value].add(name)
    return dict(sorted(found.items()))


class Counted:
    """The nodes of a fleet, counted as if this were the ledger; what is `new` in it is about to begin."""

    def __init__(
        self,
        nodes: Mapping[str, NodeSeen],
        ledger: Iterable[Admission],
        intent: Intent,
        new: Collection[Admission] = (),
    ) -> None:
        self._nodes = nodes
        seen = (each for each in ledger if each.node in nodes)
        named = [each for each in seen if each in new or not _has_ended(each, nodes[each.node].record)]
        # A record that only closes its node may belong to a ledger that was lost: by attrition it waits for its jobs.
        lost = nodes.keys() - {each.node for each in named} if intent.attrition is not None else ()
        self.waiting = frozenset(
            name
            for name in (*(each.node for each in named if each.is_ahead), *lost)
            if _is_undisturbed(nodes[name].record, is_lost=name in lost)
        )
        moving = {name for name, node in nodes.items() if is_under_way(node.record)}
        self.at_work = frozenset((moving | {each.node for each in named if not each.is_ahead}) - self.waiting)
        empty = {name for name in self.waiting if not workers(nodes[name])}
        self.busy = frozenset(name for name in self.waiting - empty if nodes[name].facts.is_ready)
        self.gone = frozenset({name for name, node in nodes.items() if is_gone(node)} | self.at_work) - self.busy
        self.taken = self.gone | empty

    @property
    def idle_gpus(self) -> int:
        """GPUs that nobody holds because of us: of nodes at work or failed behind our cordon, all of them."""
        ours = {name for name, node in self._nodes.items() if _is_ours(node)} - self.waiting
        closed = sum(_unheld(self._nodes[name]) for name in self.waiting)
        return closed + sum(gpu_count(self._nodes[name]) for name in ours | self.at_work)


def is_gone(node: NodeSeen) -> bool:
    """Whether a node is seen to take no new work, or to be without the driver that it had."""
    facts = node.facts
    is_bare = node.record is not None and facts.driver is None
    return facts.is_cordoned or not facts.is_ready or is_bare or closing.has_lost_driver(node)


def failed(nodes: Mapping[str, NodeSeen], intent: Intent) -> frozenset[str]:
    """The nodes that failed on the way to what is published now; where that is unknown, every node that failed."""
    on = {
        name: node.record.failed_revision
        for name, node in nodes.items()
        if node.record is not None and node.record.phase is NodePhase.UPGRADE_FAILED
    }
    if not on:
        return frozenset()
    aimed = {node.facts.wanted_revision for node in nodes.values() if wants(node.facts, intent.target.published)}
    return frozenset(name for name, revision in on.items() if not revision or not aimed or revision in aimed)


def goes_along(node: NodeSeen, counted: Counted) -> bool:
    """Whether a member of a unit is no obstacle: it goes with the others, has begun, or needs nothing."""
    facts, driver = node.facts, node.facts.driver
    if node.name in counted.at_work or is_without_gpu(facts):
        return True
    has_failed = node.record is not None and node.record.phase is NodePhase.UPGRADE_FAILED
    return facts.is_in_sync and driver is not None and not driver.is_orphaned and not has_failed


def _has_ended(admission: Admission, record: NodeRecord | None) -> bool:
    if record is None or record.attempt < admission.attempt:
        return False
    return record.attempt > admission.attempt or record.phase in ENDED


def _is_undisturbed(record: NodeRecord | None, *, is_lost: bool) -> bool:
    """Whether nobody was asked to leave the node, and its driver is untouched."""
    if is_lost:
        return record is not None and record.phase in CLOSING
    return record is None or record.phase in (*NOT_STARTED, *CLOSING, NodePhase.UNCORDON_REQUIRED)


def _is_ours(node: NodeSeen) -> bool:
    return node.record is not None and node.record.is_cordon_ours and node.facts.is_cordoned


def _unheld(node: NodeSeen) -> int:
    """GPUs that nobody holds on a node that we close; behind the cordon of somebody else they are not our cost."""
    if node.facts.is_cordoned and not _is_ours(node):
        return 0
    return max(0, gpu_count(node) - gpus_of(workers(node)))
