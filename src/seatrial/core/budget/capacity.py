"""How much of the fleet may be touched at once: the budget, the ledger, and `admit`.

Budgets are sets of names, never sums of counts, so that a node which is both cordoned and admitted is counted once.
The ledger (RolloutRecord.admitted) is the truth about who may be disrupted: a node starts only when its name is *seen*
there, and the ledger changes by compare-and-set only. A view may be old; a write made from an old view is refused.

    taken = nodes seen unavailable ∪ nodes in the ledger                  |taken ∪ {node}| ≤ unavailable_max
    under way = nodes in the ledger whose attempt has not ended           |under way| < parallel_max
    idle.py: GPUs that stand idle because of us                           at most idle_gpus_max, over the rollout
    by attrition a node is in the ledger to be closed alone: not under way, and not taken while a job works on it
    recall.py: what does not fit any more is handed back

The same holds in every scope a node is in: the rollout, the pool of its NVIDIADriver, its rack or NVLink clique. A unit
(a clique that must not run two drivers) is let in as a whole or not at all.

A node stays in the ledger as long as our cordon is on it: a failed node is not under way, but it is gone for its users,
and whoever has not seen its failure yet must count it too. A node that comes back without its record hands its place
back, and is counted as unavailable while it has no driver. A node whose record says that it is under way is put back
into a ledger that lost it, whatever the limits say.

Tests: tests/core/budget/test_capacity.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from seatrial.core.base.values import dataclass, field
from seatrial.core.budget.idle import IdleBudget, idle_budget
from seatrial.core.budget.losses import workers
from seatrial.core.errors import CoreBug
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.intent import Domain, Intent
from seatrial.core.model.known import by, those
from seatrial.core.model.policy import NO_LIMITS, Policy
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeRecord, NodeSeen
from seatrial.core.model.seen.rollouts import Admission, RolloutRecord
from seatrial.core.node import closing, phases
from seatrial.core.node.progress import wants
from seatrial.core.text.names import a_few


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A set of nodes with limits of its own."""

    name: str
    """For people, such as `rack r12`; empty for the rollout itself."""
    parallel_max: int
    unavailable_max: int
    unavailable: AbstractSet[str]
    under_way: AbstractSet[str]

    @property
    def at_once_max(self) -> int:
        """How many nodes may be upgraded at once where no other is unavailable."""
        return min(self.parallel_max, self.unavailable_max)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be spent, and what is spent before anybody new is admitted."""

    failed_max: int
    failed: Collection[str]
    scopes: Mapping[str, Scope]
    scopes_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The scopes a node is in besides the rollout's own."""
    unit_of: Mapping[str, str] = field(default_factory=dict)
    """The unit a node is upgraded with, where it is in one."""
    idle: IdleBudget | None = None
    """How many GPUs may stand idle, where the rollout says so."""
    ahead: frozenset[str] = frozenset()
    """The nodes that the ledger names to be closed alone: they wait for their jobs to end, and then for room."""
    busy: frozenset[str] = frozenset()
    """Those of them that are at work: they take nothing from anybody."""

    @property
    def whole(self) -> Scope:
        """The rollout's own scope."""
        return self.scopes[WHOLE]

    def around(self, name: str) -> tuple[str, ...]:
        """Every scope a node is in."""
        return (WHOLE, *self.scopes_of.get(name, ()))


WHOLE = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The ledger as it should be, and why the others wait."""

    ledger: tuple[Admission, ...]
    holds: tuple[Hold, ...]
    taken: tuple[str, ...] = ()
    """By attrition: who of those at work is emptied now, and who is closed now."""
    closed: tuple[str, ...] = ()


def budget_of(
    nodes: Mapping[str, NodeSeen], ledger: Collection[Admission], intent: Intent, *, is_back: bool = False
) -> Budget:
    """The budget of this fleet, as seen. Failures and units hold up the way forward alone: on the way back each node
    goes by itself, and none stays on a rejected driver for the sake of another."""
    ahead = ahead_of(ledger, nodes)
    busy = frozenset(name for name in ahead if workers(nodes[name]))
    unavailable = frozenset(those(nodes, is_away)) - {name for name in busy if _serves(nodes[name].facts)}
    moving = under_way(ledger, nodes)
    members: dict[str, set[str]] = defaultdict(set)
    sources: dict[str, Policy | Domain] = {}
    scopes_of: dict[str, tuple[str, ...]] = {}
    unit_of: dict[str, str] = {}
    for (names, unit), inside in sorted(by(nodes, _spot, intent).items()) if has_places(intent) else ():
        sources |= place_of(nodes[min(inside)].facts, intent).scopes
        for scope in names:
            members[scope] |= inside
        scopes_of |= dict.fromkeys(inside, names) if names else {}
        unit_of |= dict.fromkeys(inside, unit) if unit and not is_back else {}
    scopes = {WHOLE: scope_of(WHOLE, intent.policy, len(nodes), unavailable, moving)}
    for name, inside in members.items():
        scopes[name] = scope_of(name, sources[name], len(inside), unavailable & inside, moving & inside)
    return Budget(
        failed_max=intent.failed_max,
        failed=() if is_back else failed_of(nodes, intent),
        scopes=scopes,
        scopes_of=scopes_of,
        unit_of=unit_of,
        idle=idle_budget(nodes, intent.limits, ahead),
        ahead=ahead,
        busy=busy,
    )


def scope_of(
    name: str, source: Policy | Domain, total: int, unavailable: AbstractSet[str], moving: AbstractSet[str]
) -> Scope:
    """A set of `total` nodes with its limits, and what is spent of them."""
    limits = source.limits if isinstance(source, Policy) else NO_LIMITS
    floor = source.unavailable_max if isinstance(source, Domain) else None
    return Scope(
        name=name,
        # 0 means no limit of its own, and a set cannot have more nodes under way than it has nodes.
        parallel_max=limits.parallel_max or total,
        unavailable_max=(floor or limits.unavailable_max).of(total),
        unavailable=unavailable,
        under_way=moving,
    )


class Place(NamedTuple):
    """Where a node stands besides in the rollout: its pool first, then its domains as the intent has them."""

    scopes: dict[str, Policy | Domain]
    """By name, with what says their limits."""
    unit: str


def has_places(intent: Intent) -> bool:
    """Whether there is any scope or unit besides the rollout itself."""
    return bool(intent.pools or intent.domains)


def place_of(facts: NodeFacts, intent: Intent) -> Place:
    """The scopes and the unit of one node."""
    scopes: dict[str, Policy | Domain] = {}
    unit = ""
    if facts.owner in intent.pools:
        scopes[pool_scope(facts.owner)] = intent.pools[facts.owner]
    for domain in intent.domains:
        name = domain_of(facts, domain.label)
        if name and domain.is_unit:
            unit = name
        if name and domain.unavailable_max is not None:
            scopes[name] = domain
    return Place(scopes, unit)


def pool_scope(owner: str) -> str:
    """The name of the scope of an NVIDIADriver's nodes."""
    return f"NVIDIADriver {owner}"


def _spot(node: NodeSeen, intent: Intent) -> tuple[tuple[str, ...], str]:
    """The same by name: who has it in common stands in the same place."""
    place = place_of(node.facts, intent)
    return tuple(place.scopes), place.unit


def is_away(node: NodeSeen) -> bool:
    """Whether the users of a node have nothing of its GPUs: it takes no work, or has lost the driver it had."""
    is_bare = node.record is not None and node.facts.driver is None
    return node.facts.is_unavailable or is_bare or closing.has_lost_driver(node)  # opened, it is closed again


def _serves(facts: NodeFacts) -> bool:
    """Whether a closed node still works for its jobs: they have nothing of a node whose driver is away."""
    return facts.is_ready and facts.driver is not None and facts.driver.is_ready


def has_failed(record: NodeRecord | None) -> bool:
    """Whether the node was given up, and counts against the failures tolerated."""
    return record is not None and record.phase is NodePhase.UPGRADE_FAILED


def failed_of(nodes: Mapping[str, NodeSeen], intent: Intent) -> tuple[str, ...]:
    """Who was given up on the way to the target, by name.

    Who failed on the way to another version tells nothing of this one: an earlier rollout tolerated it, or the intent
    went back since. What cannot be told apart counts, as it does while nobody is wanted to run the target.
    """
    failed = by(nodes, phases.phase_of).get(NodePhase.UPGRADE_FAILED)
    if not failed:
        return ()
    target = intent.target.published
    aimed = {node.facts.wanted_revision for node in nodes.values() if wants(node.facts, target)}
    revisions = {name: record.failed_revision for name in failed if (record := nodes[name].record) is not None}
    return tuple(sorted(name for name, on in revisions.items() if not aimed or on in aimed or not on))


def is_going_back(record: RolloutRecord) -> bool:
    """Whether a rollout is being undone."""
    return record.campaign is not None and record.campaign.phase is RolloutPhase.REVERTING


def domain_of(facts: NodeFacts, label: str) -> str:
    """The domain of a node, for people: its label and the value; empty when it has none."""
    value = facts.labels.get(label, "")
    return f"{label} {value}" if value else ""


Tell: TypeAlias = Callable[[Hold, Sequence[str]], list[Hold]]
"""The same hold for each of these."""


def _tell(told: Hold, names: Sequence[str]) -> list[Hold]:
    return [Hold(subject=name, code=told.code, params=told.params) for name in names]


def admit(
    candidates: Sequence[str],
    wish: Callable[[str], Admission],
    ledger: Iterable[Admission],
    budget: Budget,
    coming: frozenset[str] = frozenset(),
    unfit: Mapping[str, Sequence[str]] = MappingProxyType({}),
    tell: Tell = _tell,
) -> Admitted:
    """Let candidates in, in the order given, while every limit holds; `coming` are about to ask for it, too.

    `wish` is the admission that one asks for. `unfit` are members of units that cannot start, by unit: nobody of theirs
    starts without them.

    Why the others wait is told as things stand when everybody who fits is in: so all who wait for one limit are told
    the same.
    """
    admitted = {admission.node: admission for admission in ledger}
    tally = Tally(budget, admitted)
    late: dict[str, list[str]] = defaultdict(list)
    for name in sorted(coming & budget.unit_of.keys()):
        late[budget.unit_of[name]].append(name)
    left: dict[Kind | str, list[str]] = {}
    rest: Sequence[str] = ()
    for place, (unit, names) in enumerate(_groups(candidates, budget)):
        if not budget.unit_of and tally.is_full():
            rest = candidates[place:]  # nobody fits any more, whoever it is, and thousands may be in line behind
            break
        is_torn = unit in late or unit in unfit
        alike = unit if is_torn or len(names) > 1 else tally.kind_of(names[0])
        if alike in left:
            # Limits only fill up, so nobody needs to ask who is like somebody that was turned down.
            left[alike] += names
        elif is_torn or tally.why_not(names) is not None:
            left[alike] = names
        else:
            tally.add(names)
            admitted |= {name: wish(name) for name in names}
    left[ANYBODY] = list(rest)
    held = (each for alike, names in left.items() for each in _explain(alike, names, (unfit, late), tally, tell))
    return Admitted(ledger=tuple(admitted[name] for name in sorted(admitted)), holds=tuple(held))


def _explain(
    alike: Kind | str,
    names: list[str],
    lacking: tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]],
    tally: Tally,
    tell: Tell,
) -> list[Hold]:
    """Why these wait: a unit as a whole, or nodes of a kind, each by itself."""
    unfit, late = lacking
    if isinstance(alike, str) and alike in unfit:
        told = hold("", HoldCode.UNIT_UNFIT, nodes=_some(unfit[alike]))
    elif isinstance(alike, str) and alike in late:
        told = hold("", HoldCode.UNIT_INCOMPLETE, nodes=_some(late[alike]))
    elif not names:
        return []
    else:
        told = tally.told(names if isinstance(alike, str) else names[:1])
    return tell(told, names)


def _groups(candidates: Iterable[str], budget: Budget) -> Iterable[tuple[str, list[str]]]:
    """One by one, or a unit at once, where its first member stands in the order."""
    if not budget.unit_of:
        return ((name, [name]) for name in candidates)
    groups: dict[str, list[str]] = {}
    for name in candidates:
        # A node's name has no space and a unit's has one, so the two never meet.
        groups.setdefault(budget.unit_of.get(name, name), []).append(name)
    return groups.items()


Kind: TypeAlias = tuple[tuple[str, ...], bool, bool, int]
"""The scopes a node is in, whether it is gone for its users already, whether we closed it to wait, and the GPUs that
stand idle once it is admitted and do not yet, where they are counted: all that its admission depends on."""


ANYBODY: Final[Kind] = ((WHOLE,), False, False, 0)
"""Whoever it is: nobody else has the rollout among his other scopes."""


class Tally:
    """What is spent in each scope while candidates are let in, one after the other. It only ever grows."""

    def __init__(self, budget: Budget, admitted: Iterable[str]) -> None:
        self._budget, names = budget, frozenset(admitted)
        self._moving: dict[str, set[str]] = defaultdict(set)
        """Let in here, beyond those under way before."""
        self._held = set(names) - (budget.idle.idle_of.keys() if budget.idle is not None else set())
        self._taken = taken_in(budget, names)

    def add(self, names: Iterable[str]) -> None:
        for node in names:
            self._held.add(node)
            for name in self._budget.around(node):
                scope = self._budget.scopes[name]
                if node not in scope.under_way:
                    self._moving[name].add(node)
                if node not in scope.unavailable:
                    self._taken[name].add(node)

    def kind_of(self, name: str) -> Kind:
        is_taken = name in self._budget.whole.unavailable or name in self._taken[WHOLE]
        idle = self._budget.idle
        gpus = idle.added_by({name} - self._held) if idle is not None else 0
        return self._budget.scopes_of.get(name, ()), is_taken, name in self._budget.ahead, gpus

    def is_full(self) -> bool:
        """Whether a limit of the rollout as a whole keeps every single node out, whichever it is."""
        budget, whole = self._budget, self._budget.whole
        has_failed = len(budget.failed) > budget.failed_max
        return has_failed or len(whole.under_way) + len(self._moving[WHOLE]) >= whole.parallel_max

    def why_not(self, names: Sequence[str]) -> Why | None:
        """The first limit that these together would break; None when none."""
        budget = self._budget
        if len(budget.failed) > budget.failed_max:
            return Why(HoldCode.FAILURE_BUDGET)
        scopes = dict.fromkeys(scope for node in names for scope in budget.around(node))
        found = next((why for scope in scopes if (why := self._why_not_in(scope, names)) is not None), None)
        return Why(HoldCode.IDLE_GPU_LIMIT) if found is None and self._idles_too_many(names) else found

    def _idles_too_many(self, names: Sequence[str]) -> bool:
        idle, new = self._budget.idle, set(names) - self._held
        return idle is not None and bool(new) and idle.of(self._held | new) > idle.gpus_max

    def _why_not_in(self, name: str, names: Sequence[str]) -> Why | None:
        scope, moving, taken = self._budget.scopes[name], self._moving[name], self._taken[name]
        inside = [node for node in names if name in self._budget.around(node)]
        # A node that is unavailable already costs nothing more, so it may be worked on even at the limit; but where we
        # closed it ourselves, to wait for its jobs, the limit is for it as well.
        new = [node for node in inside if node not in scope.unavailable and node not in taken]
        bound = [node for node in inside if node in self._budget.ahead or node in new]
        if len(inside) > 1 and (len(inside) > scope.parallel_max or len(bound) > scope.unavailable_max):
            return Why(HoldCode.UNIT_TOO_LARGE, name, len(inside))
        if len(scope.under_way) + len(moving) + len(inside) > scope.parallel_max:
            return Why(HoldCode.PARALLEL_LIMIT, name)
        if bound and len(scope.unavailable) + len(taken) + len(new) > scope.unavailable_max:
            return Why(HoldCode.UNAVAILABLE_LIMIT, name)
        return None

    def held_by(self, names: Sequence[str]) -> Why:
        """The limit that keeps these waiting; only for those who were turned down."""
        why = self.why_not(names)
        if why is None:
            raise CoreBug(f"{', '.join(names)}: nothing keeps them from starting.")
        return why

    def told(self, names: Sequence[str]) -> Hold:
        """The same in words, for nobody in particular."""
        why, budget = self.held_by(names), self._budget
        scope, moving, taken = budget.scopes[why.scope], self._moving[why.scope], self._taken[why.scope]
        where = {"scope": why.scope} if why.scope else {}
        params: dict[str, object]
        match why.code:
            case HoldCode.FAILURE_BUDGET:
                params = {"failed": len(budget.failed), "limit": budget.failed_max, "nodes": _some(budget.failed)}
            case HoldCode.UNIT_TOO_LARGE:
                params = {"size": why.size, "limit": scope.at_once_max}
            case HoldCode.IDLE_GPU_LIMIT if budget.idle is not None:
                closed = {name for name, gpus in budget.idle.idle_of.items() if gpus}
                params = {
                    "limit": budget.idle.gpus_max,
                    "taken": budget.idle.of(self._held),
                    "gpus": budget.idle.gpus(names),
                    "nodes": _some(self._held | closed),
                } | ({"together": _some(names)} if len(names) > 1 else {})
            case HoldCode.PARALLEL_LIMIT:
                params = {"limit": scope.parallel_max, "nodes": _some(scope.under_way | moving)}
            case _:
                gone = scope.unavailable | taken
                params = {"limit": scope.unavailable_max, "taken": len(gone), "nodes": _some(gone)}
        return hold("", why.code, where | params)


class Why(NamedTuple):
    """Which limit keeps somebody from starting, and in which scope."""

    code: HoldCode
    scope: str = WHOLE
    size: int = 1
    """Of the unit that is too large."""


def taken_in(budget: Budget, admitted: Iterable[str]) -> dict[str, set[str]]:
    """In each scope, who counts as unavailable for being admitted alone."""
    names = set(admitted) - budget.busy
    taken: dict[str, set[str]] = defaultdict(set, {WHOLE: names - budget.whole.unavailable})
    for node in names:
        for scope in budget.scopes_of.get(node, ()):
            if node not in budget.scopes[scope].unavailable:
                taken[scope].add(node)
    return taken


def under_way(ledger: Iterable[Admission], nodes: Mapping[str, NodeSeen]) -> frozenset[str]:
    """Who in the ledger may be at work, or about to be: everybody not seen to have ended the attempt."""
    return frozenset(each.node for each in ledger if not each.is_ahead and is_at_work(each, nodes))


def ahead_of(ledger: Iterable[Admission], nodes: Mapping[str, NodeSeen]) -> frozenset[str]:
    """Who in the ledger is to be closed alone, and waits for its jobs."""
    return frozenset(each.node for each in ledger if each.is_ahead and each.node in nodes and is_at_work(each, nodes))


def is_at_work(admission: Admission, nodes: Mapping[str, NodeSeen]) -> bool:
    """Whether a node that was admitted is not seen to have ended the attempt."""
    node = nodes.get(admission.node)
    return node is None or not _has_ended(admission, node.record)


def still_admitted(ledger: Iterable[Admission], nodes: Mapping[str, NodeSeen], intent: Intent) -> tuple[Admission, ...]:
    """The ledger without those who are gone or through and free of our cordon, and with all who are under way.

    What releases an admission is evidence that cannot become untrue: a record of the same or a later attempt. An old
    view shows an older record, never a newer one, so it can only keep a node in the ledger too long.
    """
    held = {admission.node: admission for admission in ledger if _is_held(admission, nodes.get(admission.node), intent)}
    for phase, names in by(nodes, phases.phase_of).items():
        for name in names if phase in phases.UNDER_WAY else ():
            record = nodes[name].record
            if record is not None and (name not in held or held[name].attempt != record.attempt):
                is_ahead = intent.attrition is not None and phase in phases.CLOSING
                held[name] = Admission(node=name, attempt=record.attempt, is_ahead=is_ahead)
    return tuple(held[name] for name in sorted(held))


def _is_held(admission: Admission, node: NodeSeen | None, intent: Intent) -> bool:
    if node is None:
        return False
    is_cordon_ours = node.record is not None and node.record.is_cordon_ours
    return is_cordon_ours or _is_emptied_for_us(node, intent) or not _has_ended(admission, node.record)


def _is_emptied_for_us(node: NodeSeen, intent: Intent) -> bool:
    """Whether a maintenance operator keeps the node cordoned in our name."""
    found = node.facts.maintenance if node.facts.is_cordoned else None
    return found is not None and intent.requestor is not None and found.is_wanted_by(intent.requestor.id)


def _has_ended(admission: Admission, record: NodeRecord | None) -> bool:
    if record is None or record.attempt < admission.attempt:
        return False
    return record.attempt > admission.attempt or record.phase in phases.ENDED


def _some(names: Iterable[str]) -> str:
    return a_few(sorted(names), 4, none="none")
