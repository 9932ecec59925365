"""What a campaign looks at in one pass (View), and whom it asks how a version gets onto nodes (Mover).

    View    the snapshot, what is asked, the record that was seen, and who moves the nodes, in one hand
    Mover   how something reaches a node, and how one knows that it has: each file of who/ answers

Each knows the other, so they live together; who moves is chosen in mover.py, and nowhere else. Law of this file: a
campaign asks its mover, and never which mover it is. Tests: tests/core/movers/test_movers.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import ClassVar, Final, TypeAlias

from seatrial.core.actions.at_home import AskToMerge, StepAct
from seatrial.core.actions.of_campaigns import CampaignAct
from seatrial.core.actions.on_rollouts import rollout_subject
from seatrial.core.base.values import dataclass
from seatrial.core.budget import capacity
from seatrial.core.holds import Hold, HoldCode, Lack, hold
from seatrial.core.model import windows
from seatrial.core.model.campaign import (
    Campaign,
    CampaignRecord,
    Mode,
    Point,
    PublishStep,
    RolloutPhase,
    SourceFacts,
    Switch,
    Via,
)
from seatrial.core.model.gates.closed import kept_closed
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.offers import GpuOffer
from seatrial.core.model.seen.nodes import NodeFacts, NodePhase, NodeSeen
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.requests import Request, RequestState, mark_in
from seatrial.core.model.seen.snapshot import Snapshot
from seatrial.core.node.progress import Progress, Versions, resource_of, resources_of, taken_over, way_back
from seatrial.core.node.readiness import why_unproven
from seatrial.core.node.writing import Orders, Step, retry_at
from seatrial.core.text import spans
from seatrial.core.words import commits, requests
from seatrial.core.words.accounts import Tally

SOURCE_SECONDS_MIN: Final = 300.0
"""How long what was seen of a matrix counts at least: a slow fetch, or a controller that was busy, is no reason."""
SOURCE_LOOKS_MISSED: Final = 4
"""Where it is looked at rarely, so many looks may be missed."""
MERGE_SECONDS: Final = 3 * 24 * 3600.0
"""How long a request may wait for people before that is said more loudly; it waits on."""

Outcome: TypeAlias = tuple[tuple[CampaignAct, ...], tuple[Hold, ...]]
"""What is due, and why we wait meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One pass of a campaign."""

    seen: Snapshot
    intent: Intent
    campaign: Campaign
    record: CampaignRecord
    mover: Mover
    """Who moves the nodes: as it was written down, else as asked for, else as the cluster has it."""
    now: Instant
    back_to: Versions
    """What each resource carries after the way back: what it did before us, or what somebody wrote since."""

    @property
    def name(self) -> str:
        return self.intent.rollout

    @property
    def nodes(self) -> Mapping[str, NodeSeen]:
        return self.seen.nodes

    @property
    def operator(self) -> OperatorFacts:
        return self.seen.operator

    @property
    def source(self) -> SourceFacts | None:
        return self.seen.source

    @property
    def target(self) -> str:
        """The version that is wanted: of the driver, or of what people move by hand."""
        return self.mover.target(self.intent)

    def resource_of(self, name: str) -> str:
        """The resource that says which driver a node runs."""
        return resource_of(self.nodes[name].facts, self.operator)

    def resources_of(self, name: str) -> tuple[str, ...]:
        """The resources that say what a node runs: its driver's, and its network driver's where that moves."""
        return resources_of(self.nodes[name].facts, self.operator, self.target)

    def with_units(self, names: Iterable[str]) -> frozenset[str]:
        """These nodes, and those that are upgraded with them or not at all."""
        if not any(domain.is_unit for domain in self.intent.domains):
            return frozenset(names)
        units = {name: capacity.place_of(node.facts, self.intent).unit for name, node in self.nodes.items()}
        wanted = {units.get(name, "") for name in names} - {""}
        return frozenset(names) | {name for name, unit in units.items() if unit in wanted}

    def way_back(self, name: str) -> str:
        """The version a node goes back to; empty where none was written down."""
        return way_back(self.nodes[name].facts, self.operator, self.back_to, self.target)

    @property
    def taken_over(self) -> Versions:
        """The resources in which somebody wrote another version after us, with what stays there on the way back."""
        return taken_over(self.record.baseline, self.operator, self.target)

    def progress(self, name: str, version: str = "") -> Progress:
        """How a node stands towards the target, or another version."""
        return self.mover.progress(self.nodes[name], version or self.target)

    def tally(self) -> Tally:
        """How many nodes stand where towards the target, for those who are told."""
        found = self.mover.standings(self.nodes, self.target)
        done, failed, skipped = (
            len(found.get(each, ())) for each in (Progress.DONE, Progress.FAILED, Progress.SKIPPED)
        )
        return Tally(done=done, failed=failed, skipped=skipped, total=len(self.nodes))

    def is_through(self, name: str) -> bool:
        """Whether a canary is done, or has only to be opened, which waits for its gates."""
        if self.progress(name) is Progress.DONE:
            return True
        is_due = name in self.kept_closed or self.record.phase in (RolloutPhase.GATING, RolloutPhase.BAKING)
        return is_due and self.mover.is_proven(self.nodes[name])

    @property
    def kept_closed(self) -> frozenset[str]:
        """The canaries that stay closed until gates have passed on their GPUs."""
        return kept_closed(self.record, self.campaign)

    def hold(self, code: HoldCode, *, until: Instant | None = None, **params: object) -> Hold:
        """Why the rollout as a whole waits."""
        return hold(self.name, code, params, since=self.record.entered_at or None, until=until)

    def unreachable(self) -> Hold:
        """Why nothing can be said about the home of the matrix."""
        if self.source is None:
            return self.hold(HoldCode.SOURCE_UNREACHABLE, why="it was not looked at yet")
        code = HoldCode.SOURCE_BARRED if self.source.is_barred else HoldCode.SOURCE_UNREACHABLE
        return self.hold(code, why=self.source.trouble)

    def outdated(self) -> Hold | None:
        """That the home of the matrix was last seen too long ago, by somebody who should have looked meanwhile."""
        source = self.source
        if source is None or not source.every_seconds:
            return None
        limit_seconds = max(SOURCE_SECONDS_MIN, SOURCE_LOOKS_MISSED * source.every_seconds)
        if self.now - source.seen_at <= limit_seconds:
            return None
        params = {"limit": spans.span(limit_seconds)}
        return hold(self.name, HoldCode.SOURCE_STALE, params, since=source.seen_at)

    def unapproved(self, point: Point) -> Hold | None:
        """That a person has not said yes yet, where one has to."""
        is_due = point in self.campaign.manual and point not in self.campaign.approved
        return self.hold(HoldCode.APPROVAL_PENDING, point=point) if is_due else None

    def closed(self) -> Hold | None:
        """Why nobody may start now; those under way go on."""
        openings, now = self.campaign.openings, self.now
        if windows.is_open(openings, now, self.mover.margin_seconds):
            return None
        until = windows.next_opening(openings, now)
        if windows.is_open(openings, now):
            return self.hold(HoldCode.WINDOW_CLOSING, until=until, margin=spans.span(self.mover.margin_seconds))
        return self.hold(HoldCode.OUTSIDE_WINDOW, until=until)

    @property
    def closes_at(self) -> Instant | None:
        """When those who wait have to be closed out, while a window is open and another than we starts the nodes."""
        is_due = self.mover.starts_by_itself
        return windows.closing(self.campaign.openings, self.now, self.mover.margin_seconds) if is_due else None

    def is_ours(self, subject: str) -> bool:
        """Whether a write under this subject is one of the campaign's own, outside of the nodes."""
        return subject.startswith(f"{rollout_subject(self.name)}/")

    def may_act(self, subject: str) -> bool:
        """Whether nothing is under way there, and nothing was turned down a moment ago."""
        rebuff = self.seen.rebuffs.get(subject)
        return subject not in self.seen.busy and (rebuff is None or self.now >= retry_at(rebuff))

    def again_at(self, subject: str) -> Instant | None:
        """When what is under way there, or was turned down, is looked at again; None when it is free, or unanswered."""
        rebuff = self.seen.rebuffs.get(subject)
        if subject in self.seen.busy:
            return self.seen.busy[subject]
        return retry_at(rebuff) if rebuff is not None and self.now < retry_at(rebuff) else None

    def turned_down(self, acts: Iterable[CampaignAct]) -> Hold | None:
        """Why the first of these that was turned down waits, and until when; None where none was."""
        refused = ((act.subject, self.seen.rebuffs.get(act.subject)) for act in acts)
        for subject, rebuff in refused:
            if rebuff is not None:
                return self.hold(HoldCode.WRITE_REFUSED, until=self.again_at(subject), why=rebuff.detail)
        return None

    def act(
        self, act: CampaignAct, code: HoldCode, **params: object
    ) -> tuple[tuple[CampaignAct, ...], tuple[Hold, ...]]:
        """An act, once it may be tried, and why we wait for what comes of it."""
        asked = self._asked(act) if isinstance(act, StepAct) else None
        if asked is not None:
            return asked
        due = (commits.worded(act, self.intent, self.record, self.tally),) if self.may_act(act.subject) else ()
        turned_down = self.turned_down((act,))
        if turned_down is not None:
            return due, (turned_down,)
        since, until = self.record.entered_at or None, self.again_at(act.subject)
        return due, (hold(self.name, code, params, since=since, until=until),)

    def _asked(self, act: StepAct) -> Outcome | None:
        """What is due for a step that people merge, and why we wait; None where it is ours to write, or to push."""
        source, step = self.source or SourceFacts(), act.step
        waiting, is_there = dict(source.proposals).get(step), bool(source.commit_of(step))
        declined = source.requests_of(step, RequestState.CLOSED)
        opened = source.requests_of(step, RequestState.OPEN)
        if declined and not opened and not is_there:
            return (), (self.hold(HoldCode.REQUEST_DECLINED, step=step, request=_urls(declined)),)
        if source.forge_trouble and not is_there:
            return (), (self.hold(HoldCode.FORGE_UNREACHABLE, step=step, why=source.forge_trouble),)
        if waiting is None:
            return None
        message = requests.message_of(act, self.intent, self.record, self.tally())
        mark = mark_in(message.body)
        if step in source.unasked or any(each.mark not in ("", mark) for each in opened):
            ask = AskToMerge(rollout=self.name, step=step, message=message)
            done = "opened" if step in source.unasked else "brought up to date"
            return self.act(ask, HoldCode.REQUEST_PENDING, step=step, done=done)
        if not opened:
            return (), (self.hold(HoldCode.MERGE_PENDING, step=step, request=waiting),)
        since, urls = min(each.opened_at for each in opened), _urls(opened)
        until = since + MERGE_SECONDS
        if self.now >= until:
            limit = spans.span(MERGE_SECONDS)
            return (), (hold(self.name, HoldCode.MERGE_OVERDUE, since=since, step=step, request=urls, limit=limit),)
        return (), (hold(self.name, HoldCode.MERGE_PENDING, since=since, until=until, step=step, request=urls),)


def _urls(found: Iterable[Request]) -> str:
    """Where people look at these requests, and how far they are."""
    return "; ".join(f"{each.url} ({each.review}, checks: {each.checks})" for each in found)


# ── whom it asks ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Which nodes may start now; what is due before the others may, and why they wait."""

    record: CampaignRecord
    """As it should be; another one than was seen is written before anything is done."""
    ready: frozenset[str]
    acts: tuple[CampaignAct, ...] = ()
    holds: tuple[Hold, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Return:
    """The way back of the nodes: who is not back, whose turn it is, and what is due. It ends when nothing is."""

    record: CampaignRecord
    away: tuple[str, ...] = ()
    open: frozenset[str] = frozenset()
    out: tuple[str, ...] = ()
    """Who does not go back, since a person took it out."""
    acts: tuple[CampaignAct, ...] = ()
    holds: tuple[Hold, ...] = ()


class Need(StrEnum):
    """What a mover has to be allowed besides what every campaign does; the adapter knows the rights it takes."""

    EVICT = "evict pods"
    DELETE_DRIVERS = "delete driver pods"
    WRITE_CARRIERS = "write the resources that set the version"
    READ_CARRIERS = "read them before they are written"


class Mover(ABC):
    """How something reaches a node, and how one knows that it has."""

    moves_drivers: ClassVar[bool] = True
    """Only nodes with a GPU get what it brings."""
    is_automatic: ClassVar[bool] = True
    """A machine moves the nodes, as many at once as the budget lets it; people are not kept to a budget or a pace."""
    moves_operands: ClassVar[bool] = True
    """It restarts what runs around the driver as well."""
    counts_losses: ClassVar[bool] = False
    closes: ClassVar[bool] = False
    """Whether it closes nodes itself, so that a canary can stay closed until its gates have passed."""
    """It knows how long each node was gone for its users."""
    starts_by_itself: ClassVar[bool] = False
    """It starts whoever is not kept out, when it comes to look."""
    minds_sandbox: ClassVar[bool] = False
    """Nobody would move where NVIDIA's controller is on, and stands back for sandbox workloads."""
    margin_seconds: ClassVar[float] = 0.0
    """How much later a node may be started that was let in."""

    # who it is; abstract, so that nobody can be a mover without saying it

    @property
    @abstractmethod
    def mode(self) -> Mode | None:
        """The word under which it is written down."""

    @property
    @abstractmethod
    def who(self) -> str:
        """Who moves the nodes, for people: moved by …"""

    @property
    @abstractmethod
    def who_moves(self) -> str:
        """The same, as a sentence about a rollout that is under way."""

    # publish, and what stood there before

    @abstractmethod
    def target(self, intent: Intent) -> str:
        """The version that is wanted."""

    @abstractmethod
    def baseline(self, view: View) -> Versions:
        """What stood there before us: the way back."""

    @abstractmethod
    def switches(self, view: View) -> tuple[Switch, ...]:
        """How the driver manager's switches stand in what we are going to write; none where we leave them alone."""

    @abstractmethod
    def publish(self, view: View, step: PublishStep, wanted: Versions) -> Outcome:
        """What is due so that these resources carry these versions."""

    @abstractmethod
    def why_unpublishable(self, view: View) -> tuple[Hold, ...]:
        """Why nothing can be published, or not taken back again."""

    # who may start

    @abstractmethod
    def why_contradicted(self, rollout: str, operator: OperatorFacts, other: str, *, is_free: bool) -> Hold | None:
        """Why the cluster is not as this mover needs it; `other` is what NVIDIA's controller moves the nodes by."""

    @abstractmethod
    def half_done(self, view: View) -> list[str]:
        """Nodes that somebody left half-way, in order of name."""

    @abstractmethod
    def kept_out(self, view: View, open_: AbstractSet[str]) -> set[str]:
        """Who has to carry our skip label while these have their turn."""

    @abstractmethod
    def start(self, view: View, names: frozenset[str]) -> Start:
        """Let these nodes start, whose turn it is."""

    @abstractmethod
    def at_work(self, view: View, names: Iterable[str], told: Hold) -> Hold:
        """What is told while these nodes are on their way; `told` where there is nothing better to say."""

    # how far a node is

    @abstractmethod
    def progress(self, node: NodeSeen, version: str) -> Progress:
        """How a node stands towards a version."""

    @abstractmethod
    def phases(self, nodes: Mapping[str, NodeSeen]) -> Mapping[NodePhase | None, AbstractSet[str]]:
        """The names of nodes by where each stands, by the word of whoever moves it."""

    @abstractmethod
    def standings(self, nodes: Mapping[str, NodeSeen], version: str) -> Mapping[Progress, AbstractSet[str]]:
        """The names of nodes by how each stands towards a version."""

    @abstractmethod
    def recorded(self, seen: Snapshot, intent: Intent) -> Mapping[str, NodeSeen]:
        """The nodes with what the budget has to know of each as a record."""

    def failed(self, view: View, names: Iterable[str]) -> list[str]:
        """Which of these nodes have failed, in order of name."""
        return sorted(name for name in names if view.progress(name) is Progress.FAILED)

    @abstractmethod
    def why_stuck(self, view: View, names: Iterable[str]) -> dict[str, HoldCode]:
        """Which of these nodes are away from the target and cannot start, with the reason."""

    # a node, in one pass

    @abstractmethod
    def may_step(self, node: NodeSeen, *, is_open: bool) -> bool:
        """Whether we take a node's next step ourselves, now that its turn has come or not."""

    @abstractmethod
    def hands_back(self, node: NodeSeen, orders: Orders) -> bool:
        """Whether a node gives its place in the ledger back, whosever turn it is."""

    @abstractmethod
    def step_elsewhere(self, node: NodeSeen, orders: Orders, goal: str, *, is_back: bool) -> Step | None:
        """What a node waits for whose turn it is and whom another moves; None where nothing more is to be said."""

    @abstractmethod
    def why_busy(self, node: NodeSeen) -> Hold | None:
        """What is to be said of a node whose turn it is not, before anything else."""

    @abstractmethod
    def was_let_in(self, node: NodeSeen, record: CampaignRecord) -> bool:
        """Whether a node runs what it runs because its turn came."""

    # proof

    def lack(self, node: NodeSeen, before: GpuOffer | None) -> Lack | None:
        """What is missing from the proof that a canary is well."""
        # Our own record of a node knows of a loss that somebody has accepted.
        return why_unproven(node.facts, node.record, before if node.record is None else None)

    def is_proven(self, node: NodeSeen) -> bool:
        """Whether a node that is under way has only to be opened, and that is ours to do."""
        return False

    @abstractmethod
    def why_lost(self, view: View, name: str) -> str:
        """Why a canary is not what its evidence was of; empty while it is."""

    # rights

    @abstractmethod
    def needs(self, publish: Via) -> frozenset[Need]:
        """What it has to be allowed, by how versions are published."""

    # undo, and what stays

    @abstractmethod
    def whose_turn_back(self, view: View) -> frozenset[str]:
        """Who may go back now."""

    @abstractmethod
    def undo(self, view: View, acts: tuple[CampaignAct, ...], holds: tuple[Hold, ...]) -> Return:
        """The way back of the nodes, beside what is due outside of them."""

    @abstractmethod
    def in_the_way(self, view: View) -> tuple[Hold, ...]:
        """What is in the way of the rollout as a whole, whichever of its nodes are under way."""

    @abstractmethod
    def would_begin(self, facts: NodeFacts) -> bool:
        """Whether a node would be started once nothing of ours keeps it from that."""
