"""A small world as numbers: its states, and the moves from each.

A state is the truth and what the controller believes. Nodes, rollouts and outsides are numbered when first met, and
what depends on one of them (a reaction, an answer, a pass) is worked out once, so that walking along an edge is a few
look-ups.

Law of this file: it says what may happen next, and walks nowhere. Tests: tests/model/test_explore.py
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeAlias, TypeVar

from seatrial.core.actions.action import Action
from seatrial.core.actions.at_home import HomeAct, Publish
from seatrial.core.actions.of_campaigns import EndProbe, MarkNode, OuterAct, StartProbe
from seatrial.core.actions.on_nodes import NodeAct, WriteNodeRecord
from seatrial.core.actions.on_rollouts import Keeping
from seatrial.core.actions.on_rollouts import WriteRolloutRecord as WriteLedger
from seatrial.core.budget import capacity
from seatrial.core.budget.attrition import terms
from seatrial.core.decision.decide import Decision
from seatrial.core.holds import HoldCode
from seatrial.core.model.campaign import RolloutPhase, Via
from seatrial.core.model.instants import ApiInstant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodeFacts, NodeSeen
from seatrial.core.model.seen.rollouts import RolloutRecord
from seatrial.core.model.seen.snapshot import Freshness, Snapshot
from seatrial.core.movers.mover import mover_seen
from seatrial.core.node.phases import is_under_way
from seatrial.core.promises.breach import Promise
from seatrial.core.words.acts import told
from seatrial.sim import driver_pods, operand_pods, upgrade_controller
from seatrial.sim import outside as outer
from seatrial.sim.acts import Refused, mirrored
from seatrial.sim.driver_pods import Reaction
from seatrial.sim.nodes import HEALTHY, Fate
from seatrial.sim.outside import TELLING, GateFate, Outside
from seatrial_lab.explore import campaigns
from seatrial_lab.explore.truths import (
    is_still_theirs,
    why_exposed,
    why_overspent,
    why_split,
    why_unowned,
    why_unvisited,
)

Decider: TypeAlias = Callable[[Snapshot, Intent, float], Decision]
Answerer: TypeAlias = Callable[[NodeSeen, NodeAct, Fate], NodeSeen | Refused]
OuterAnswerer: TypeAlias = Callable[[Outside, OuterAct], Outside | Refused]
Rollout: TypeAlias = tuple[RolloutRecord, int]
"""The resource: what we wrote into it, and how often somebody has changed what is asked."""
State: TypeAlias = tuple[int, ...]
"""Numbers: the nodes, the rollout, the outside; what the controller sees of each; what it knows to have written and not
seen yet; how often it may start again."""
Unseen: TypeAlias = frozenset[tuple[int, str]]
"""Writes that were answered and cannot be seen yet: where they will be seen, and their subjects."""
UNLISTED: Final = -1
"""In place of a node's number: the controller has not read its list that far."""
Move: TypeAlias = tuple[str, State]
UNDECIDED: Final = frozenset(
    {
        HoldCode.POD_WITHOUT_CONTROLLER,
        HoldCode.POD_WITH_EMPTY_DIR,
        HoldCode.DAEMON_SET_HOLDS_GPU,
        HoldCode.STATIC_POD_HOLDS_GPU,
        HoldCode.OFFER_REDUCED,
        HoldCode.NODE_PROBLEM,
        HoldCode.CANARY_CLOSED,
        HoldCode.PAUSED,
    }
)
"""What keeps a node that is under way until somebody decides, of a pod, a loss, a gate, a pause; or its time is up."""
RESTING: Final = UNDECIDED | {
    HoldCode.FAILED,
    HoldCode.FAILURE_BUDGET,
    HoldCode.UNAVAILABLE_LIMIT,
    HoldCode.IDLE_GPU_LIMIT,
    HoldCode.IDLE_GPUS_TOO_FEW,
    HoldCode.CLOSED_AHEAD,
    HoldCode.CLOSE_AHEAD_LIMIT,
    HoldCode.LEFT_OPEN,
    HoldCode.DISRUPTION_LIMIT,
    HoldCode.GIVEN_BACK,
    HoldCode.UNIT_TOO_LARGE,
    HoldCode.SKIPPED,
    HoldCode.NODE_NOT_READY,
    HoldCode.SRIOV_AT_WORK,
    HoldCode.NETWORK_SKIPPED,
    HoldCode.OWNER_UNCLEAR,
    HoldCode.DRIVER_ORPHANED,
    HoldCode.SLIPPED_IN,
    HoldCode.MANAGER_OPENS_NODES,
}
"""What a node may wait for when nothing moves any more: somebody's decision. Waiting for us would be a deadlock."""
RESTART: Final = "the controller crashes and starts again with the oldest view there is"
LISTING: Final = "the controller crashes and starts again, and has to list the nodes"
RESTARTS: Final = frozenset({RESTART, LISTING})
ValueT = TypeVar("ValueT", bound=Hashable)


@dataclass(slots=True)
class _Numbers(Generic[ValueT]):
    """Values by number, in the order in which they were first met."""

    values: list[ValueT] = field(default_factory=list)
    _known: dict[ValueT, int] = field(default_factory=dict)

    def of(self, value: ValueT) -> int:
        number = self._known.setdefault(value, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number


@dataclass(frozen=True, slots=True)
class _Pass:
    """What the controller does on one view."""

    acts: tuple[tuple[str, int, int], ...]
    """Each with its line, the place of the node it is about, and its number."""
    breach: str | None
    is_at_rest: bool


class Model:
    def __init__(
        self,
        nodes: tuple[NodeSeen, ...],
        intents: tuple[tuple[str, Intent], ...],
        fates: Mapping[str, Fate],
        outside: Outside,
        gate_fates: Mapping[str, GateFate],
        decider: Decider,
        answerer: Answerer,
        outer_answerer: OuterAnswerer,
        promises: tuple[Promise, ...],
        world: Mapping[str, Reaction],
        has_memory: bool,
        restarts: frozenset[str],
        restarts_max: int,
    ) -> None:
        self._has_memory, self._restarts = has_memory, restarts
        self._intents = [intent for _, intent in intents]
        self._wishes = [line for line, _ in intents]
        self.wishes = frozenset(self._wishes)
        self._decider, self._answerer, self._promises = decider, answerer, promises
        self._outer_answerer, self._gate_fates, self._outside = outer_answerer, gate_fates, outside
        self._has_operator = upgrade_controller.is_there(outside)
        self._revisions = driver_pods.revisions_of(nodes)
        self._world = world
        self._names = [node.name for node in nodes]
        self._fates = [fates.get(name, HEALTHY) for name in self._names]
        self._cordoned = [node.name for node in nodes if node.facts.is_cordoned]
        self._size = len(nodes)
        self._nodes: _Numbers[NodeSeen] = _Numbers()
        self._rollouts: _Numbers[Rollout] = _Numbers()
        self._outsides: _Numbers[Outside] = _Numbers()
        self._sides: _Numbers[Outside] = _Numbers()
        self._acts: _Numbers[Action] = _Numbers()
        self._splits: dict[int, tuple[int, ...]] = {}
        self._unseen: _Numbers[Unseen] = _Numbers()
        self._nothing = self._unseen.of(frozenset())
        self._passes: dict[State, _Pass] = {}
        self._answers: dict[tuple[int, int, int], int] = {}
        self._reactions: dict[tuple[int, int], tuple[tuple[str, int], ...]] = {}
        self._unsafe: dict[State, str | None] = {}
        truth = (
            *(self._nodes.of(node) for node in nodes),
            self._rollouts.of((RolloutRecord(name=self._intents[0].rollout, resource_version="1"), 0)),
            self._outsides.of(outside),
        )
        self._oldest = self._in_sight(truth)
        self.start: State = (*truth, *self._oldest, self._nothing, restarts_max)

    def begin_at(self, state: State) -> None:
        """Begin with this state, and with what is seen in it as the oldest view there is."""
        self.start, self._oldest = state, state[self._size + 2 : -2]

    def _in_sight(self, truth: State) -> State:
        """What there is to see: of the outside each stream by itself, as they come in one before the other."""
        return (*truth[:-1], *self._split(truth[-1]))

    def _split(self, number: int) -> tuple[int, ...]:
        known = self._splits.get(number)
        if known is None:
            outside = self._outsides.values[number]
            parts = (
                Outside(operator=outside.operator, machine_pools=outside.machine_pools),
                Outside(source=outside.source),
                Outside(measurements=outside.measurements),
            )
            known = self._splits[number] = tuple(self._sides.of(part) for part in parts)
        return known

    def why_broken(self, state: State) -> str | None:
        """The first promise this state breaks, in truth or on the way from the view."""
        truth, sight = state[: self._size + 2], state[self._size + 2 : -1]
        if truth not in self._unsafe:
            self._unsafe[truth] = self._why_unsafe(truth)
        return self._unsafe[truth] or self._pass(sight).breach

    def moves(self, state: State) -> Iterator[Move]:
        """Everything that can happen next."""
        size = self._size
        truth, sight, left = state[: size + 2], state[size + 2 : -1], state[-1]
        view, unseen = sight[:-1], sight[-1]
        for line, place, act in self._pass(sight).acts:
            answer = self._answer(place, truth[place], act)
            if answer != truth[place]:
                known = self._noted(unseen, self._acts.values[act], place) if self._has_memory else unseen
                yield line, (*truth[:place], answer, *truth[place + 1 :], *view, known, left)
        for place in range(size):
            for line, reacted in self._react(place, truth[place]):
                yield line, (*truth[:place], reacted, *truth[place + 1 :], *sight, left)
        for line, after in self._outer_moves(truth):
            yield line, (*after, *sight, left)
        yield from self._sights(truth, view, unseen, left)
        yield from self._new_wish(truth, view, unseen, left)
        if left and RESTART in self._restarts and view != self._oldest:
            yield RESTART, (*truth, *self._oldest, self._nothing, left - 1)
        if left and LISTING in self._restarts:
            # The rollout and each thing outside are one object, read at once.
            listed = (*(UNLISTED for _ in range(size)), *self._in_sight(truth)[size:])
            yield LISTING, (*truth, *listed, self._nothing, left - 1)

    def _noted(self, unseen: int, action: Action, place: int) -> int:
        """What cannot be seen yet, with one more write of ours."""
        if place == self._size + 1:
            is_source = isinstance(action, HomeAct) and not (isinstance(action, Publish) and action.via is Via.DIRECT)
            place += 1 if is_source else 2 if isinstance(action, StartProbe | EndProbe) else 0
        return self._unseen.of(self._unseen.values[unseen] | {(place, action.subject)})

    def _new_wish(self, truth: State, view: State, unseen: int, left: int) -> Iterator[Move]:
        """Somebody asks for something else; where answers are lost, when all that we did has been seen and followed."""
        record, wish = self._rollouts.values[truth[self._size]]
        if wish + 1 == len(self._intents):
            return
        written = replace(record, resource_version=str(int(record.resource_version) + 1))
        after = (*truth[: self._size], self._rollouts.of((written, wish + 1)), truth[-1])
        if self._has_memory:
            yield self._wishes[wish + 1], (*after, *view, unseen, left)
        elif view == self._in_sight(truth) and not self._is_behind(truth):
            yield self._wishes[wish + 1], (*after, *self._in_sight(after), unseen, left)

    def _is_behind(self, truth: State) -> bool:
        """Whether a DaemonSet has not followed its resource yet."""
        outside = self._outsides.values[truth[self._size + 1]]
        nodes = (self._nodes.values[number] for number in truth[: self._size])
        return any(outer.behind_of(node.facts, outside) for node in nodes)

    def _outer_moves(self, truth: State) -> Iterator[Move]:
        """What happens outside of the nodes by itself."""
        size = self._size
        outside = self._outsides.values[truth[size + 1]]
        synced = outer.is_synced(outside)
        if synced is not None:
            yield outer.SYNCED, (*truth[: size + 1], self._outsides.of(synced))
        nodes = [self._nodes.values[number] for number in truth[:size]]
        for resource in sorted({outer.behind_of(node.facts, outside) for node in nodes} - {""}):
            new = {node.name: node for node in outer.followed(nodes, resource, outside, self._revisions)}
            after = (self._nodes.of(new.get(node.name, node)) for node in nodes)
            yield f"{outer.FOLLOWED} {resource}", (*after, *truth[size:])
        for node in upgrade_controller.steered(nodes, outside) if upgrade_controller.is_there(outside) else ():
            place = self._names.index(node.name)
            line = f"{node.name}: {upgrade_controller.STEERED}, {node.facts.nvidia_state or 'no label'}"
            yield line, (*truth[:place], self._nodes.of(node), *truth[place + 1 :])
        for each in outer.pending(outside):
            facts = nodes[self._names.index(each.node)].facts
            version, beside = facts.driver.version if facts.driver else "", operand_pods.running_beside(facts)
            ended = outer.probe_ends(outside, each, version, self._gate_fates.get(each.gate, TELLING), beside)
            yield f"{outer.PROBED}: {each.gate} on {each.node}", (*truth[: size + 1], self._outsides.of(ended))

    def _sights(self, truth: State, view: State, unseen: int, left: int) -> Iterator[Move]:
        """More is seen: the next node of a list, or, once it is whole, any object that changed since."""
        if UNLISTED in view:
            place = view.index(UNLISTED)
            after = (*view[:place], truth[place], *view[place + 1 :])
            yield f"{self._names[place]} is listed", (*truth, *after, unseen, left)
            return
        for place, (true, seen) in enumerate(zip(self._in_sight(truth), view, strict=True)):
            if true != seen:
                what = [*self._names, "the ledger", "the operator", "the repository", "the gates"][place]
                after = (*view[:place], true, *view[place + 1 :])
                yield f"the view of {what} catches up", (*truth, *after, self._without(unseen, place), left)

    def _without(self, unseen: int, place: int) -> int:
        """What cannot be seen yet, after a look there."""
        if unseen == self._nothing:
            return unseen
        return self._unseen.of(frozenset(each for each in self._unseen.values[unseen] if each[0] != place))

    def is_end(self, state: State) -> bool:
        """Whether a state in which nothing moves is one to come to rest in."""
        return self._pass(state[self._size + 2 : -1]).is_at_rest

    def phase(self, state: State) -> RolloutPhase | None:
        """Where the campaign is; None where there is none yet."""
        campaign = self._rollouts.values[state[self._size]][0].campaign
        return campaign.phase if campaign is not None else None

    def is_all_seen(self, state: State) -> bool:
        """Whether the controller sees what is."""
        truth, sight = state[: self._size + 2], state[self._size + 2 : -1]
        return sight == (*self._in_sight(truth), self._nothing)

    def describe(self, state: State) -> str:
        """Where everybody stands."""
        nodes = (self._nodes.values[number] for number in state[: self._size])
        told = [
            f"{node.name} {node.record.phase if node.record else node.facts.nvidia_state or 'unrecorded'}"
            for node in nodes
        ]
        phase = self.phase(state)
        return ", ".join([*told, *([f"the campaign {phase}"] if phase else [])])

    def _pass(self, sight: State) -> _Pass:
        known = self._passes.get(sight)
        if known is None:
            known = self._passes[sight] = self._new_pass(sight[:-1], self._unseen.values[sight[-1]])
        return known

    def _new_pass(self, view: State, unseen: Unseen) -> _Pass:
        listed = (self._nodes.values[number] for number in view[: self._size] if number != UNLISTED)
        record, wish = self._rollouts.values[view[self._size]]
        intent = self._intents[wish]
        seen = Snapshot(
            nodes={node.name: node for node in listed},
            rollout=record,
            freshness=(Freshness(source="nodes", is_synced=UNLISTED not in view, heard_at=0.0),),
            busy={subject: None for _, subject in unseen},
        )
        operator, source, gates = (self._sides.values[number] for number in view[self._size + 1 :])
        sides = replace(operator, source=source.source, measurements=gates.measurements)
        seen = outer.seen_with(seen, sides)
        decision = self._decider(seen, intent, 0.0)
        breaches = (breach for promise in self._promises for breach in promise(seen, intent, decision))
        stuck = {held.subject for held in decision.holds if held.code in UNDECIDED}
        recorded = mover_seen(seen).recorded(seen, intent).items()
        is_delegated = mover_seen(seen).starts_by_itself
        # Whom NVIDIA's controller may start, and who is closed out, may wait as long as everybody else.
        at_work = {name for name, node in recorded if is_under_way(node.record)}
        is_at_rest = (at_work if is_delegated else capacity.under_way(record.admitted, seen.nodes)) <= stuck
        if intent.campaign is None:
            is_at_rest = is_at_rest and all(held.code in RESTING for held in decision.holds)
        else:
            is_at_rest = is_at_rest and campaigns.is_at_rest(record.campaign, decision.holds, intent.rollout)
        # Who waits by attrition waits for time to go by, which is a change that is still to come.
        has_time = wish + 1 < len(self._intents) and any(held.code in terms.WAITING for held in decision.holds)
        return _Pass(
            acts=tuple((told(action), self._place(action), self._acts.of(action)) for action in decision.actions),
            breach=next((str(breach) for breach in breaches), None),
            is_at_rest=is_at_rest or has_time,
        )

    def _place(self, action: Action) -> int:
        if isinstance(action, WriteLedger | Keeping):
            return self._size
        return self._size + 1 if isinstance(action, OuterAct) else self._names.index(action.node)

    def _answer(self, place: int, number: int, act: int) -> int:
        """The number after an act; the same when it is refused or changes nothing."""
        known = self._answers.get((place, number, act))
        if known is None:
            known = self._answers[place, number, act] = self._new_answer(place, number, self._acts.values[act])
        return known

    def _new_answer(self, place: int, number: int, action: Action) -> int:
        if isinstance(action, WriteLedger):
            before, wish = self._rollouts.values[number]
            after = campaigns.plain(action.record)
            is_same = (after.admitted, after.campaign) == (before.admitted, before.campaign)
            # A summary for people is no part of this model.
            if action.record.resource_version != before.resource_version or is_same:
                return number
            version = str(int(before.resource_version) + 1)
            return self._rollouts.of((replace(after, resource_version=version), wish))
        if isinstance(action, OuterAct):
            changed = self._outer_answerer(self._outsides.values[number], action)
            return number if isinstance(changed, Refused) else self._outsides.of(changed)
        if isinstance(action, Keeping):
            return number  # rollouts of this model are guarded when they begin, and nobody deletes them
        node = self._nodes.values[number]
        if isinstance(action, MarkNode):
            answer = outer.mark(node, action)
        else:
            answer = self._answerer(node, action, self._fates[place])
            if isinstance(action, WriteNodeRecord) and isinstance(answer, NodeSeen) and not self._has_operator:
                answer = mirrored(answer)
        return number if isinstance(answer, Refused) else self._nodes.of(answer)

    def _react(self, place: int, number: int) -> tuple[tuple[str, int], ...]:
        known = self._reactions.get((place, number))
        if known is None:
            known = self._reactions[place, number] = tuple(self._new_reactions(place, number))
        return known

    def _new_reactions(self, place: int, number: int) -> Iterator[tuple[str, int]]:
        node = self._nodes.values[number]
        at = _time_of(node.facts)
        for what, reaction in self._world.items():
            facts = reaction(node.facts, self._fates[place], at)
            if facts is not None:
                yield f"{node.name}: {what}", self._nodes.of(replace(node, facts=facts))

    def _why_unsafe(self, truth: State) -> str | None:
        nodes = tuple(self._nodes.values[number] for number in truth[: self._size])
        record, wish = self._rollouts.values[truth[self._size]]
        intent, outside = self._intents[wish], self._outsides.values[truth[self._size + 1]]
        # Where NVIDIA's controller moves the nodes, it answers for their users.
        ours = [node for node in nodes if not (self._has_operator and node.facts.nvidia_state)]
        exposed = next((why for node in ours if (why := why_exposed(node) or why_unvisited(node))), None)
        lifted = next((n.name for n in nodes if n.name in self._cordoned and not is_still_theirs(n)), None)
        taken = f"{lifted} was cordoned by an admin, and the cordon is gone" if lifted else None
        split = why_split(nodes, record.admitted, intent)
        wrong = campaigns.why_wrong(nodes, record, outside, self._outside, intent)
        unowned = why_unowned(nodes, record.admitted) if intent.attrition is not None else None
        return why_overspent(nodes, intent) or exposed or taken or split or unowned or wrong


def _time_of(facts: NodeFacts) -> ApiInstant:
    """Generations of pods serve as the time: they order what has to be ordered, and stay finite.

    An operand knows when it was made, and that is after the one before it was deleted.
    """
    pods = [pod for pod in (facts.driver, facts.dra) if pod is not None]
    operands = [each.pod for each in facts.operands if each.pod is not None]
    made = sum(int(pod.uid.rpartition("-")[2]) for pod in (*pods, *operands))
    return float(made + sum(pod.is_terminating for pod in operands))
