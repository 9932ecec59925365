"""What the loop remembers between passes: what was turned down, what cannot be seen yet, since when we are free to act.

And what was worked out of each node, which saves work and changes no answer. All of it may be lost at any moment. What
was turned down is also told in the rollout's status, so a restarted controller goes on backing off, and `seatrial why`
can say it.

Tests: tests/run/test_memory.py
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, assert_never

from seatrial.core.actions.at_home import AskToMerge, CloseRequest, MarkBad, Promote, Publish, RevertCommits
from seatrial.core.actions.of_campaigns import (
    EndProbe,
    MakePool,
    MarkNode,
    OuterAct,
    PausePool,
    RemovePool,
    SetAutoUpgrade,
    StartProbe,
)
from seatrial.core.actions.on_nodes import (
    KUEUE,
    AskCheckpoint,
    EvictPods,
    NodeAct,
    ReleaseMaintenance,
    RequestMaintenance,
    RestartPod,
    WriteNodeRecord,
)
from seatrial.core.actions.on_rollouts import Keeping, WriteRolloutRecord, rollout_subject
from seatrial.core.decision.remembered import Remembered
from seatrial.core.model.campaign import PublishStep, Via
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeFacts
from seatrial.core.model.seen.operands import Operand
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.pods import Pod
from seatrial.core.model.seen.requests import RequestState, mark_in
from seatrial.core.model.seen.rollouts import UNKNOWN, UNKNOWN_MAX, Rebuff
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.model.seen.subscriptions import is_plan
from seatrial.core.node.progress import carried, carrier_of, is_same
from seatrial.core.text import foreign
from seatrial.ports import Outcome, Result

ECHO_SECONDS_MAX: Final = 5.0
"""How long we wait to see what an answered write did, or what made it stale, before trying anyway."""
ASKED_SECONDS_MAX: Final = 60.0
"""The same where somebody else was asked to empty a node: as long as that is not seen, it looks as if the node could
still be called back and its place given away, while it is being emptied."""
DETAIL_MAX: Final = 300
"""How much of an answer is remembered; the rollout's status tells fifty of them."""


class Memory:
    """The loop's short-term memory."""

    def __init__(self, started_at: Instant, *, beat_seconds: float = 0.0) -> None:
        self._attentive_since = started_at
        self._beat_seconds = beat_seconds
        self._is_free = True
        self._has_looked = False
        self._rebuffs: dict[str, Rebuff] = {}
        self._unseen: dict[str, tuple[Outcome, Instant]] = {}
        self._unknown: dict[str, Instant] = {}
        """What an act of unknown outcome was about, and since when; it is busy until everything was heard again."""
        self._last_at = started_at
        self._put_back_at: Instant | None = None
        self._era = 0
        self.journal_trouble = ""
        """Why the journal could not be written when we last tried; empty where it could."""
        self.journal_trouble_since: Instant = 0.0
        self.worked_out = Remembered()
        """What `decide` need not work out again."""

    def learn(self, outcomes: Iterable[Outcome], now: Instant) -> None:
        """Take in how acts ended."""
        self._keep_up(now)
        for outcome in outcomes:
            self._learn(outcome, now)

    def worn_out(self) -> Rebuff | None:
        """The last of several acts in a row whose outcome is unknown: trying more will not help."""
        found = (each for each in self._rebuffs.values() if each.code == UNKNOWN and each.count >= UNKNOWN_MAX)
        return next(found, None)

    def forgive(self) -> None:
        """Count acts of unknown outcome from the start again: the rollout they are of was set aside for them."""
        self._rebuffs = {subject: each for subject, each in self._rebuffs.items() if each.code != UNKNOWN}

    def note(self, *, is_free: bool) -> None:
        """Whether this pass left us free to act. Until one does, nobody is kept to a deadline."""
        self._is_free = is_free

    def follow(self, era: int, now: Instant) -> None:
        """Forget everything when the cluster went back in time: what we remember is of a time that never was."""
        if era == self._era:
            return
        self._era = era
        self._attentive_since = now  # the records are older than they look, and nobody is late for that
        self._has_looked = False
        self._rebuffs, self._unseen, self._unknown = {}, {}, {}
        self.worked_out = Remembered()

    def recall(self, seen: Snapshot, in_flight: frozenset[str], now: Instant) -> Snapshot:
        """The snapshot with what we remember laid over it."""
        self._keep_up(now)
        if not self._is_free:
            # Passes are rare while nothing may move, so the wait is over now and not when the last of them was.
            self._attentive_since = now
        if not self._has_looked:
            # A controller that was started again goes on backing off where the one before it left off.
            self._has_looked = True
            left = {subject: replace(each, at=min(each.at, now)) for subject, each in seen.rollout.rebuffs}
            self._rebuffs = left | self._rebuffs
        self._forget(seen, now)
        busy: dict[str, Instant | None] = {subject: until for subject, (_, until) in self._unseen.items()}
        busy |= dict.fromkeys(self._unknown)
        return replace(
            seen,
            rebuffs=dict(self._rebuffs),
            busy=busy | dict.fromkeys(in_flight),
            attentive_since=self._attentive_since,
            put_back_at=self._put_back_at,
            beat_seconds=self._beat_seconds,
            journal_trouble=self.journal_trouble,
        )

    def _keep_up(self, now: Instant) -> None:
        """Put back with the clock what we remember: else we would back off, and wait for echoes, until its old time."""
        behind_seconds, self._last_at = self._last_at - now, now
        if behind_seconds <= 0:
            return
        self._put_back_at = now
        self._attentive_since -= behind_seconds
        self._rebuffs = {
            subject: replace(rebuff, at=rebuff.at - behind_seconds) for subject, rebuff in self._rebuffs.items()
        }
        self._unseen = {subject: (outcome, at - behind_seconds) for subject, (outcome, at) in self._unseen.items()}
        self._unknown = {subject: at - behind_seconds for subject, at in self._unknown.items()}

    def _learn(self, outcome: Outcome, now: Instant) -> None:
        subject = outcome.action.subject
        for uid, why in outcome.blocked:
            self._rebuff(uid, "blocked", why, now)
        match outcome.result:
            case Result.DONE | Result.BLOCKED:
                # What was blocked is remembered by pod; the node itself is not at fault.
                self._rebuffs.pop(subject, None)
                is_asked = isinstance(outcome.action, RequestMaintenance)
                self._unseen[subject] = (outcome, now + (ASKED_SECONDS_MAX if is_asked else ECHO_SECONDS_MAX))
            case Result.STALE:
                self._unseen[subject] = (outcome, now + ECHO_SECONDS_MAX)
            case Result.FAILED:
                self._rebuff(subject, "failed", outcome.detail, now)
            case Result.UNKNOWN:
                self._rebuff(subject, UNKNOWN, outcome.detail, now)
                self._unknown[subject] = now
            case _:
                assert_never(outcome.result)

    def _rebuff(self, subject: str, code: str, detail: str, now: Instant) -> None:
        before = self._rebuffs.get(subject)
        is_in_row = before is not None and (code == UNKNOWN) is (before.code == UNKNOWN)
        count = before.count + 1 if before is not None and is_in_row else 1
        self._rebuffs[subject] = Rebuff(at=now, count=count, code=code, detail=foreign.lines(detail, DETAIL_MAX))

    def _forget(self, seen: Snapshot, now: Instant) -> None:
        self._unseen = {
            subject: (outcome, until)
            for subject, (outcome, until) in self._unseen.items()
            if now < until and _looks_untouched(outcome, seen)
        }
        heard_at = min((stream.heard_at for stream in seen.freshness), default=now)
        self._unknown = {subject: at for subject, at in self._unknown.items() if heard_at <= at}
        alive = {pod.uid for node in seen.nodes.values() for pod in node.facts.pods}
        alive |= {*seen.nodes}
        ours = rollout_subject(seen.rollout.name)  # and what a campaign does in its name
        self._rebuffs = {
            subject: rebuff
            for subject, rebuff in self._rebuffs.items()
            if subject in alive or subject == ours or subject.startswith(f"{ours}/")
        }


def _looks_untouched(outcome: Outcome, seen: Snapshot) -> bool:
    """Whether the view still shows the world as it was before the act, so that deciding on it would repeat the act."""
    action = outcome.action
    if isinstance(action, Keeping):
        return seen.rollout.resource_version == action.expect
    if isinstance(action, WriteRolloutRecord):
        return seen.rollout.resource_version == action.record.resource_version
    if isinstance(action, MarkNode):
        marked = seen.nodes.get(action.node)
        return marked is not None and marked.facts.resource_version == action.expect
    if not isinstance(action, NodeAct):
        return _looks_unpublished(action, seen)
    node = seen.nodes.get(action.node)
    if node is None:
        return False
    facts = node.facts
    match action:
        case WriteNodeRecord(expect=expect):
            return facts.resource_version == expect
        case RestartPod(operand=operand, uid=uid):
            return _is_running(facts, operand, uid)
        case EvictPods():
            granted = _granted(action.pods, outcome)
            return any(pod.uid in granted and not pod.is_terminating for pod in facts.pods)
        case AskCheckpoint(token=token, webhook=webhook):
            granted = _granted(action.pods, outcome)
            if webhook == KUEUE:
                return any(pod.uid in granted and pod.suspended_for != token for pod in facts.pods)
            # A pod shows that it was asked; a webhook that has answered leaves only the saved work to see.
            told = [
                pod.checkpoint_saved if webhook else pod.checkpoint_asked for pod in facts.pods if pod.uid in granted
            ]
            return any(text != token for text in told)
        case RequestMaintenance(requestor=requestor, joins=joins):
            found = facts.maintenance
            if found is not None and found.is_wanted_by(requestor):
                return False
            return not joins or (found is not None and found.resource_version == joins)
        case ReleaseMaintenance(uid=uid, resource_version=version):
            found = facts.maintenance
            return found is not None and (found.uid, found.resource_version) == (uid, version)
        case _:
            assert_never(action)


def _is_said(name: str, version: str, note: str, operator: OperatorFacts) -> bool:
    """Whether a resource, or what holds a release, is seen with a version and our note of it."""
    holder = next((each for each in operator.holders if each.resource == name), None)
    if holder is not None:
        return (holder.note, holder.version) == (note, version)
    if is_plan(name):
        plans = (each.plan for each in operator.subscriptions if each.plan is not None)
        return all(plan.is_approved for plan in plans if plan.resource == name)
    return carrier_of(name, operator).note == note and is_same(carried(name, operator, version), version)


def _looks_unpublished(action: OuterAct, seen: Snapshot) -> bool:
    """Whether what an act of the campaign did outside of the nodes is not to be seen yet."""
    steps = dict(seen.source.steps) if seen.source is not None else {}
    match action:
        case Publish(via=Via.DIRECT, versions=versions, note=note):
            return any(not _is_said(name, version, note, seen.operator) for name, version in versions)
        case Publish(step=step):
            return step not in steps
        case RevertCommits():
            return PublishStep.REVERT not in steps
        case MarkBad():
            return PublishStep.BAD not in steps
        case Promote():
            return PublishStep.PROMOTION not in steps or seen.source is None or not seen.source.tag
        case AskToMerge(step=step, message=message):
            asked = seen.source.requests_of(step, RequestState.OPEN) if seen.source is not None else ()
            return all(each.mark != mark_in(message.body) for each in asked)
        case CloseRequest(step=step):
            return seen.source is not None and bool(seen.source.requests_of(step, RequestState.OPEN))
        case StartProbe(gate=gate, node=node, round=number, attempt=attempt):
            tried = ((each.gate, each.node, each.round, each.attempt) for each in seen.measurements)
            return (gate.name, node, number, attempt) not in tried
        case EndProbe(gate=name, node=node, round=number, attempt=attempt):
            waiting = (each for each in seen.measurements if each.verdict is GateVerdict.PENDING)
            return any(
                (each.gate, each.node, each.round, each.attempt) == (name, node, number, attempt) for each in waiting
            )
        case SetAutoUpgrade(resource=resource, value=value):
            states = {f"NVIDIADriver/{pool.name}": pool.is_auto_upgrading for pool in seen.operator.pools}
            return states.get(resource, seen.operator.is_auto_upgrading) is not value
        case MakePool(name=name):
            return all(pool.name != name for pool in seen.machine_pools)
        case PausePool(name=name, rollout=rollout, value=value):
            mark = (value, rollout if value else "")
            return any((pool.is_paused, pool.paused_by) != mark for pool in seen.machine_pools if pool.name == name)
        case RemovePool(name=name):
            return any(pool.name == name for pool in seen.machine_pools)
        case _:
            assert_never(action)


def _is_running(facts: NodeFacts, operand: Operand, uid: str) -> bool:
    own = {Operand.DRIVER: facts.driver, Operand.VALIDATOR: facts.validator, Operand.DRA_PLUGIN: facts.dra}
    around = {each.operand: each.pod for each in facts.operands}
    pod = own[operand] if operand in own else around.get(operand)
    return pod is not None and pod.uid == uid and not pod.is_terminating


def _granted(pods: Iterable[Pod], outcome: Outcome) -> set[str]:
    return {pod.uid for pod in pods} - {uid for uid, _ in outcome.blocked}
