"""Fleet: the same answer as `decide`, worked out from what changed. For simulations, forecasts and very large fleets.

    fleet = Fleet(seen, intent)
    fleet.update({"n7": node, "n8": None}, rollout=record)      what changed; None is a node that left
    fleet.moves(now)                                            acts, when to ask again, how many wait for what
    fleet.decide(now) == decide(seen, intent, now)              the same with everybody's hold put into words

Law of this file: it has no rules of its own. Every step, limit, order and sentence is made by the parts of `decide`;
what is here remembers their answers and knows how long each of them stays true:

    a hold                               until its `until`; deadlines are kept in a heap
    a wish to start, nothing, a write    until the node, its admission, a rebuff or a pending answer changes; only the
    of a record                          time in the record moves on, so what is sent is made anew
    any other act                        never: made anew in every pass, for only nodes at work have them
    why somebody waits in line           for all of a kind (`capacity.Kind`) at once, so one of them is asked

So a pass costs what changed, plus what is at work: the ledger, open acts up to ACTIONS_MAX, and one question for each
kind of node in the line (in a fleet without pools and domains there are two kinds, in a fleet of racks two for each
rack). It does not cost the fleet. Units are let in as a whole, which is not worked out here: with them, and only with
them, every pass counts the budget and asks the whole line anew, as `decide` does.

Tests: tests/core/test_fleet.py, tests/properties/test_fleet_properties.py
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import attrgetter
from typing import Generic, TypeAlias, TypeVar

from seatrial.core import capacity, order, phases
from seatrial.core.actions import Action, NodeAct, PauseClients, WriteNodeRecord
from seatrial.core.capacity import WHOLE, Budget, Kind, Scope, Tally
from seatrial.core.decide import (
    ACTIONS_MAX,
    STOPS,
    Decision,
    earliest,
    is_kept_back,
    let_in,
    like,
    own_step,
    pass_full,
    stop_of,
    summary_of,
    turn_of,
    why_blind,
    wish,
    write_rollout,
)
from seatrial.core.errors import CoreBug
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.intent import Domain, Intent, Order
from seatrial.core.policy import Policy
from seatrial.core.snapshot import (
    Admission,
    Freshness,
    Instant,
    NodePhase,
    NodeSeen,
    OperatorFacts,
    Rebuff,
    RolloutRecord,
    Snapshot,
)
from seatrial.core.steps import NOTHING, Orders, Step

LabelT = TypeVar("LabelT", bound=Hashable)
CountedT = TypeVar("CountedT", bound=Hashable)
Key: TypeAlias = tuple[float | str, ...]
"""What a queue is sorted by; its last part is the node's name."""
Sort: TypeAlias = tuple[Kind, str]
"""Nodes in the line that are let in or held alike, and stand next to each other: their kind, and the domain where
whole domains take turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """A decision without the words: what to do, when to ask again, and how many wait for which reason."""

    actions: tuple[Action, ...] = ()
    wake_at: Instant | None = None
    stop: Hold | None = None
    held: Mapping[HoldCode, int] = field(default_factory=dict)


class Fleet:
    """Remembers every node's step, and takes only those anew that may have become different."""

    def __init__(self, seen: Snapshot, intent: Intent) -> None:
        self._nodes: dict[str, NodeSeen] = dict(seen.nodes)
        self._seen = replace(seen, nodes=self._nodes, rebuffs=dict(seen.rebuffs), busy=dict(seen.busy))
        """What is seen as of the last update; its nodes are ours, and change under it."""
        self._begin_anew(intent)

    def _begin_anew(self, intent: Intent) -> None:
        self._intent = intent
        self._admitted = _attempts(self._seen.rollout)
        self._roll = _Roll(intent)
        self._line: _Queues[Sort] = _Queues()
        self._acts: _Queues[frozenset[HoldCode]] = _Queues()
        """Open acts, by the stops they need not wait for."""
        self._steps: dict[str, Step] = {}
        self._codes: Counter[HoldCode] = Counter()
        """How many hold by themselves, by reason."""
        self._deadlines = _Deadlines()
        self._passing: set[str] = set()
        """Whose act may be another one a moment later."""
        self._recalled: frozenset[str] = frozenset()
        self._in_ledger: frozenset[str] = frozenset()
        self._decided_at = float("-inf")
        self._changed: set[str] = set(self._nodes)
        """Whose step has to be taken anew."""
        for node in self._nodes.values():
            self._roll.add(node)

    # ── what changed ─────────────────────────────────────────────────────────────────────────────────────────────────

    def see(self, seen: Snapshot, intent: Intent) -> None:
        """Take in a whole snapshot. Facts are frozen, so a node that is the same object is the same."""
        known = self._nodes
        changed: dict[str, NodeSeen | None] = {
            name: node for name, node in seen.nodes.items() if known.get(name) is not node
        }
        if len(known) + sum(name not in known for name in changed) > len(seen.nodes):
            changed |= dict.fromkeys(known.keys() - seen.nodes.keys())
        self.update(
            changed,
            intent=intent,
            rollout=seen.rollout,
            freshness=seen.freshness,
            operator=seen.operator,
            rebuffs=seen.rebuffs,
            busy=seen.busy,
            attentive_since=seen.attentive_since,
        )

    def update(
        self,
        nodes: Mapping[str, NodeSeen | None] | None = None,
        *,
        intent: Intent | None = None,
        rollout: RolloutRecord | None = None,
        freshness: tuple[Freshness, ...] | None = None,
        operator: OperatorFacts | None = None,
        rebuffs: Mapping[str, Rebuff] | None = None,
        busy: Mapping[str, Instant | None] | None = None,
        attentive_since: Instant | None = None,
    ) -> None:
        """Take in what changed; a node that is None has left, and what is not given stays as it is."""
        before = self._seen
        self._seen = Snapshot(
            nodes=self._nodes,
            rollout=before.rollout if rollout is None else rollout,
            freshness=before.freshness if freshness is None else freshness,
            operator=before.operator if operator is None else operator,
            rebuffs=before.rebuffs if rebuffs is None else dict(rebuffs),
            busy=before.busy if busy is None else dict(busy),
            attentive_since=before.attentive_since if attentive_since is None else attentive_since,
        )
        for name, node in (nodes or {}).items():
            self._replace(name, node)
        if intent is not None and intent is not self._intent and intent != self._intent:
            self._begin_anew(intent)
        else:
            self._note_differences(before, self._seen)

    def _replace(self, name: str, node: NodeSeen | None) -> None:
        before = self._nodes.pop(name, None) if node is None else self._nodes.get(name)
        if before is not None:
            self._roll.remove(before)
        if node is not None:
            self._nodes[name] = node
            self._roll.add(node)
        self._changed.add(name)

    def _note_differences(self, before: Snapshot, after: Snapshot) -> None:
        """Everything but its own facts and record that a node's step depends on."""
        if after.rollout.admitted is not before.rollout.admitted:
            admitted = _attempts(after.rollout)
            self._changed |= _different(self._admitted, admitted)
            self._admitted = admitted
        self._changed |= _different(before.busy, after.busy)
        turned_down = _different(before.rebuffs, after.rebuffs)
        self._changed |= turned_down
        # Only who has begun is kept to a deadline, and only there a pod's eviction can have been turned down.
        if after.attentive_since != before.attentive_since:
            self._changed |= self._roll.begun
        elif turned_down:
            self._changed.update(
                name for name in self._roll.begun if any(pod.uid in turned_down for pod in self._nodes[name].facts.pods)
            )

    # ── the decision ─────────────────────────────────────────────────────────────────────────────────────────────────

    def decide(self, now: Instant) -> Decision:
        """What `decide` says of what is seen."""
        moves, turn = self._pass(now)
        holds = sorted(self._holds(moves.stop, turn, now), key=attrgetter("subject", "code"))
        return Decision(actions=moves.actions, holds=tuple(holds), wake_at=moves.wake_at, stop=moves.stop)

    def moves(self, now: Instant) -> Moves:
        """The same without putting into words why everybody else waits."""
        return self._pass(now)[0]

    def _pass(self, now: Instant) -> tuple[Moves, _Turn]:
        """`decide`, line by line, with everything that is about all nodes taken from memory."""
        seen, intent, roll = self._seen, self._intent, self._roll
        stop = stop_of(seen, roll.owners, roll.carried, intent, now)
        few = self._few()
        is_blind = why_blind(seen, intent, now) is not None
        ledger = seen.rollout.admitted if is_blind else capacity.still_admitted(seen.rollout.admitted, few, intent)
        budget = self._budget(ledger)
        orders = Orders(
            intent=intent,
            admitted=self._admitted,
            recalled=capacity.recalled(ledger, budget),
            rebuffs=seen.rebuffs,
            attentive_since=seen.attentive_since,
        )
        self._sort_line_by(ledger)
        fresh = self._step_anew(orders, now)
        turn = self._let_in(ledger, budget, few) if stop is None else _Turn(ledger=_by_name(ledger))
        open_count = _length(self._open_queues(stop))
        kept_count = _length(self._kept_queues(stop)) if stop is not None else 0
        codes = Counter(self._codes)
        codes.update(turn.codes)
        codes[HoldCode.LEDGER_PENDING] += len(turn.new)
        codes[HoldCode.PASS_FULL] += max(open_count - ACTIONS_MAX, 0)
        if stop is not None:
            codes[stop.code] += kept_count
        codes = +codes  # without the reasons nobody has
        writing, ask_again_at = write_rollout(seen, turn.ledger, summary_of(seen, roll.phases, codes, stop), now)
        moves = (self._act(name, fresh, orders, now) for name in islice(self._open(stop), ACTIONS_MAX))
        look_again_at = [
            self._deadlines.first(),
            now if open_count > ACTIONS_MAX else None,
            stop.until if stop is not None and kept_count else None,
            ask_again_at,
        ]
        return Moves(actions=(*writing, *moves), wake_at=earliest(look_again_at), stop=stop, held=codes), turn

    def _few(self) -> dict[str, NodeSeen]:
        """The nodes the ledger names and those that have begun: all that the ledger and the order depend on."""
        names = self._roll.begun.union(self._admitted)
        return {name: self._nodes[name] for name in names if name in self._nodes}

    def _budget(self, ledger: Iterable[Admission]) -> Budget:
        if _has_units(self._intent):
            return capacity.budget_of(self._nodes, ledger, self._intent)
        roll = self._roll
        scopes = _Scopes(roll, self._intent, len(self._nodes), capacity.under_way(ledger, self._nodes))
        return Budget(failed_max=self._intent.failed_max, failed=roll.failed, scopes=scopes, scopes_of=roll.scopes_of)

    def _open(self, stop: Hold | None) -> Iterator[str]:
        """Who may act, in the order of a pass."""
        return map(_name, heapq.merge(*self._open_queues(stop)))

    def _open_queues(self, stop: Hold | None) -> list[list[Key]]:
        return [queue for goes_on, queue in self._acts.items() if stop is None or stop.code in goes_on]

    def _kept_queues(self, stop: Hold) -> list[list[Key]]:
        """Wishes and acts that the stop keeps back."""
        acts = [queue for goes_on, queue in self._acts.items() if stop.code not in goes_on]
        return [*self._line.queues(), *acts]

    # ── steps ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _step_anew(self, orders: Orders, now: Instant) -> set[str]:
        """Take every step anew that may have become another one; returns whose."""
        if now < self._decided_at:
            # Deadlines that have passed are to come again: what is remembered says nothing about that.
            self._changed.update(self._nodes)
        self._changed |= self._recalled ^ orders.recalled
        self._changed |= self._passing
        self._changed.update(self._deadlines.due(now))
        for name in self._changed:
            node = self._nodes.get(name)
            self._remember(name, own_step(node, orders, self._seen.busy, now) if node is not None else None)
        fresh, self._changed = self._changed, set()
        self._recalled, self._decided_at = orders.recalled, now
        return fresh

    def _remember(self, name: str, step: Step | None) -> None:
        before = self._steps.pop(name, NOTHING)
        if step is None:
            step = NOTHING
        else:
            self._steps[name] = step
        held, action = step.hold, step.action
        if before.hold is not None:
            self._codes[before.hold.code] -= 1
        if held is not None:
            self._codes[held.code] += 1
        self._deadlines.put(name, held.until if held is not None else None)
        self._passing.discard(name)
        if action is None:
            self._acts.drop(name)
        else:
            self._acts.put(name, goes_on_under(step), turn_of(action))
            if not lasts(action):
                self._passing.add(name)
        if step.wants_admission:
            self._queue_up(name)
        else:
            self._line.drop(name)

    def _act(self, name: str, fresh: set[str], orders: Orders, now: Instant) -> NodeAct:
        """The act of a node as of now."""
        step = self._steps[name] if name in fresh else own_step(self._nodes[name], orders, self._seen.busy, now)
        if step.action is None:
            raise CoreBug(f"{name}: an act that was to last, {self._steps[name].action}, became {step}.")
        return step.action

    # ── the line ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _sort_line_by(self, ledger: Iterable[Admission]) -> None:
        """Who is in the ledger counts as unavailable already, which makes it another kind of node."""
        before, self._in_ledger = self._in_ledger, frozenset(admission.node for admission in ledger)
        for name in before ^ self._in_ledger:
            if name in self._line and name in self._nodes:
                self._queue_up(name)

    def _queue_up(self, name: str) -> None:
        node, intent, roll = self._nodes[name], self._intent, self._roll
        kind = roll.scopes_of.get(name, ()), name in roll.unavailable or name in self._in_ledger
        has_turns = intent.order is Order.DOMAIN_BY_DOMAIN and intent.domains
        domain = capacity.domain_of(node.facts, intent.domains[0].label) if has_turns else ""
        self._line.put(name, (kind, domain), roll.key(node))

    def _let_in(self, ledger: tuple[Admission, ...], budget: Budget, few: Mapping[str, NodeSeen]) -> _Turn:
        """`capacity.admit`, asking for one node of each kind instead of for every one."""
        if budget.unit_of:
            admitted = let_in(self._steps, self._nodes, ledger, budget, self._intent)
            new, codes = _names(admitted.ledger, ledger), Counter(held.code for held in admitted.holds)
            return _Turn(ledger=admitted.ledger, new=new, codes=codes, holds=admitted.holds)
        key = order.key_of(few, self._intent)
        tally = Tally(budget, self._in_ledger)
        queues = self._line.queues()
        nobody = tally.why_nobody()
        if nobody is not None:
            codes = Counter({nobody.code: _length(queues)})
            return _Turn(ledger=ledger, codes=codes, tally=tally, left=[(queue, 0) for queue in queues])
        heads = [(key(self._nodes[_name(queue[0])]), place, 0) for place, queue in enumerate(queues)]
        heapq.heapify(heads)
        wishes: list[Admission] = []
        left: list[tuple[list[Key], int]] = []
        while heads:
            _, place, at = heapq.heappop(heads)
            queue = queues[place]
            name = _name(queue[at])
            if tally.why_not([name]) is not None:
                # Limits only fill up, so nobody behind it gets in, either.
                left.append((queue, at))
                continue
            tally.add([name])
            wishes.append(wish(self._nodes[name]))
            if at + 1 < len(queue):
                heapq.heappush(heads, (key(self._nodes[_name(queue[at + 1])]), place, at + 1))
        codes = Counter()
        for queue, at in left:
            codes[tally.held_by([_name(queue[at])]).code] += len(queue) - at
        after = _by_name((*ledger, *wishes)) if wishes else ledger
        return _Turn(ledger=after, new=_names(wishes, ledger), codes=codes, tally=tally, left=left)

    # ── the words ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _holds(self, stop: Hold | None, turn: _Turn, now: Instant) -> Iterator[Hold]:
        yield from (step.hold for step in self._steps.values() if step.hold is not None)
        yield from turn.holds
        if turn.tally is not None:
            for queue, at in turn.left:
                told = turn.tally.told([_name(queue[at])])
                yield from (like(told, _name(key)) for key in queue[at:])
        yield from (hold(name, HoldCode.LEDGER_PENDING) for name in turn.new)
        yield from (pass_full(name, now) for name in islice(self._open(stop), ACTIONS_MAX, None))
        if stop is not None:
            yield from (like(stop, _name(key)) for queue in self._kept_queues(stop) for key in queue)


def lasts(action: NodeAct) -> bool:
    """Whether a node that is to do this is to do it later, too, as long as nothing changes but the time.

    A record is written for what is seen, or for a deadline that has passed, and neither becomes untrue by waiting. All
    other acts happen in a phase with a deadline, and so does a pause, which is asked for only before it.
    """
    return isinstance(action, WriteNodeRecord) and not isinstance(action, PauseClients)


def goes_on_under(step: Step) -> frozenset[HoldCode]:
    """Which stops of the rollout as a whole do not keep a step back."""
    return frozenset(stop for stop in STOPS if not is_kept_back(step, stop))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """The ledger as it should be, and who is left in the line."""

    ledger: tuple[Admission, ...]
    new: tuple[str, ...] = ()
    codes: Counter[HoldCode] = field(default_factory=Counter)
    tally: Tally | None = None
    """Knows why they are left; None where their holds are there already."""
    left: list[tuple[list[Key], int]] = field(default_factory=list)
    """Queues, and from which place on they are left waiting."""
    holds: tuple[Hold, ...] = ()
    """Their words, where they are not the same for a queue."""


# ── what is remembered ───────────────────────────────────────────────────────────────────────────────────────────────


class _Roll:
    """Everything that `decide` counts over all nodes, kept up to date node by node."""

    def __init__(self, intent: Intent) -> None:
        self._intent = intent
        self.key = order.key_of({}, intent)
        """Where a node stands in its queue; the turn of its domain is the same for all of the queue."""
        self.phases: Counter[NodePhase | None] = Counter()
        self.owners: Counter[str] = Counter()
        self.carried: Counter[str] = Counter()
        """The driver versions that the nodes' DaemonSets carry."""
        self.unavailable: set[str] = set()
        self.failed: set[str] = set()
        self.begun: set[str] = set()
        """At work, or failed."""
        self.scopes_of: dict[str, tuple[str, ...]] = {}
        self.sizes: Counter[str] = Counter()
        self.sources: dict[str, Policy | Domain] = {}
        """What says the limits of each scope."""
        self.unavailable_in: dict[str, set[str]] = defaultdict(set)

    def add(self, node: NodeSeen) -> None:
        name, phase, facts = node.name, _phase(node), node.facts
        self.phases[phase] += 1
        self.owners[facts.owner] += 1
        if facts.wanted is not None:
            self.carried[facts.wanted.version] += 1
        if facts.is_unavailable:
            self.unavailable.add(name)
        if capacity.has_failed(node.record):
            self.failed.add(name)
        if phase not in phases.NOT_STARTED:
            self.begun.add(name)
        if capacity.has_places(self._intent):
            self._add_place(node)

    def _add_place(self, node: NodeSeen) -> None:
        place = capacity.place_of(node.facts, self._intent)
        if place.scopes:
            self.scopes_of[node.name] = tuple(place.scopes)
        self.sources |= place.scopes
        for scope in place.scopes:
            self.sizes[scope] += 1
            if node.facts.is_unavailable:
                self.unavailable_in[scope].add(node.name)

    def remove(self, node: NodeSeen) -> None:
        name, facts = node.name, node.facts
        _take_one(self.phases, _phase(node))
        _take_one(self.owners, facts.owner)
        if facts.wanted is not None:
            _take_one(self.carried, facts.wanted.version)
        for names in (self.unavailable, self.failed, self.begun):
            names.discard(name)
        for scope in self.scopes_of.pop(name, ()):
            _take_one(self.sizes, scope)
            self.unavailable_in[scope].discard(name)


class _Scopes(dict[str, Scope]):
    """The scopes of a budget, each made when it is asked for: most of a fleet's racks are not, in most passes."""

    def __init__(self, roll: _Roll, intent: Intent, total: int, moving: AbstractSet[str]) -> None:
        self._roll = roll
        self[WHOLE] = capacity.scope_of(WHOLE, intent.policy, total, roll.unavailable, moving)
        self._moving_in: dict[str, set[str]] = defaultdict(set)
        for node in moving:
            for scope in roll.scopes_of.get(node, ()):
                self._moving_in[scope].add(node)

    def __missing__(self, name: str) -> Scope:
        roll = self._roll
        scope = capacity.scope_of(
            name, roll.sources[name], roll.sizes[name], roll.unavailable_in[name], self._moving_in[name]
        )
        self[name] = scope
        return scope


class _Queues(Generic[LabelT]):
    """Names in sorted queues, one for each label; a name is in one of them at most.

    Plain lists: to put a name into one of 10,000 shifts the rest in two microseconds, and nothing cleverer is faster.
    """

    def __init__(self) -> None:
        self._queues: dict[LabelT, list[Key]] = {}
        self._where: dict[str, tuple[LabelT, Key]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._where

    def put(self, name: str, label: LabelT, key: Key) -> None:
        if self._where.get(name) == (label, key):
            return
        self.drop(name)
        self._where[name] = (label, key)
        insort(self._queues.setdefault(label, []), key)

    def drop(self, name: str) -> None:
        if name not in self._where:
            return
        label, key = self._where.pop(name)
        queue = self._queues[label]
        del queue[bisect_left(queue, key)]
        if not queue:
            del self._queues[label]

    def queues(self) -> list[list[Key]]:
        """The queues that have somebody in them."""
        return list(self._queues.values())

    def items(self) -> Iterable[tuple[LabelT, list[Key]]]:
        """The same, with their labels."""
        return self._queues.items()


class _Deadlines:
    """Until when each name's answer is good, soonest first. What was put off or taken back stays in the heap."""

    def __init__(self) -> None:
        self._until: dict[str, Instant] = {}
        self._heap: list[tuple[Instant, str]] = []

    def put(self, name: str, until: Instant | None) -> None:
        if self._until.get(name) == until:
            return
        if until is None:
            del self._until[name]
            return
        self._until[name] = until
        heapq.heappush(self._heap, (until, name))
        if len(self._heap) > 2 * len(self._until) + 64:
            self._heap = [(instant, each) for each, instant in self._until.items()]
            heapq.heapify(self._heap)

    def due(self, now: Instant) -> Iterator[str]:
        """Take out those whose time has come."""
        while (first := self.first()) is not None and first <= now:
            _, name = heapq.heappop(self._heap)
            del self._until[name]
            yield name

    def first(self) -> Instant | None:
        """The soonest; None when there is none."""
        while self._heap and self._until.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None


def _attempts(rollout: RolloutRecord) -> dict[str, int]:
    return {admission.node: admission.attempt for admission in rollout.admitted}


def _different(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    """The keys under which these differ."""
    if before is after:
        return set()
    missing = object()  # None is a value: an answer awaited without a limit
    return {key for key in before.keys() | after.keys() if before.get(key, missing) != after.get(key, missing)}


def _has_units(intent: Intent) -> bool:
    return any(domain.is_unit for domain in intent.domains)


def _by_name(ledger: Iterable[Admission]) -> tuple[Admission, ...]:
    """The ledger in the order in which it is written, with one admission for each node."""
    admitted = {admission.node: admission for admission in ledger}
    return tuple(admitted[name] for name in sorted(admitted))


def _names(after: Iterable[Admission], before: Iterable[Admission]) -> tuple[str, ...]:
    """Whose admission is new."""
    known = {admission.node: admission.attempt for admission in before}
    return tuple(admission.node for admission in after if known.get(admission.node) != admission.attempt)


def _phase(node: NodeSeen) -> NodePhase | None:
    return node.record.phase if node.record is not None else None


def _take_one(counter: Counter[CountedT], key: CountedT) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]


def _name(key: Key) -> str:
    return str(key[-1])


def _length(queues: Iterable[list[Key]]) -> int:
    return sum(len(queue) for queue in queues)
