"""What a campaign looks at in one pass, in one hand: the snapshot, what is asked, and the record it has seen.

Law of this file: it answers questions that several phases ask, and decides nothing. Tests: tests/core/test_rollout.py
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from seatrial.core.actions import CampaignAct, HomeAct, rollout_subject
from seatrial.core.holds import Hold, HoldCode, hold
from seatrial.core.model import windows
from seatrial.core.model.campaign import Campaign, CampaignRecord, Mode, Point, SourceFacts
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.snapshot import NodeSeen, OperatorFacts, Snapshot
from seatrial.core.node import observed
from seatrial.core.node.progress import Standing, resource_of, standing_of
from seatrial.core.node.writing import retry_at
from seatrial.core.words import explain

SOURCE_SECONDS_MIN: Final = 300.0
"""How long what was seen of a matrix counts at least: a slow fetch, or a controller that was busy, is no reason."""
SOURCE_LOOKS_MISSED: Final = 4
"""Where it is looked at rarely, so many looks may be missed."""
LATE_SECONDS: Final = 120.0
"""NVIDIA's controller looks at least this often: so much later a node that was let in may be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One pass of a campaign."""

    seen: Snapshot
    intent: Intent
    campaign: Campaign
    record: CampaignRecord
    now: Instant

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
        return self.campaign.by_hand.version if self.campaign.by_hand is not None else str(self.intent.target)

    @property
    def mode(self) -> Mode:
        """Who moves the nodes: as it was written down, else as asked for, else as the cluster has it."""
        asked = Mode.BY_HAND if self.campaign.by_hand is not None else self.campaign.mode
        return self.record.mode or asked or self.operator.mode

    def resource_of(self, name: str) -> str:
        """The resource that says which driver a node runs."""
        return resource_of(self.nodes[name].facts, self.operator)

    def way_back(self, name: str) -> str:
        """The version a node goes back to; empty where none was written down."""
        return dict(self.record.baseline).get(self.resource_of(name), "")

    def standing(self, name: str, version: str = "") -> Standing:
        """How a node stands towards the target, or another version."""
        if self.campaign.by_hand is not None:
            return observed.standing_of(self.nodes[name].facts, self.campaign.by_hand, version)
        return standing_of(self.nodes[name], version or self.target, self.mode)

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
        params = {"limit": explain.span(limit_seconds)}
        return hold(self.name, HoldCode.SOURCE_STALE, params, since=source.seen_at)

    def unapproved(self, point: Point) -> Hold | None:
        """That a person has not said yes yet, where one has to."""
        is_due = point in self.campaign.manual and point not in self.campaign.approved
        return self.hold(HoldCode.APPROVAL_PENDING, point=point) if is_due else None

    def closed(self) -> Hold | None:
        """Why nobody may start now; those under way go on."""
        openings, now = self.campaign.openings, self.now
        if windows.is_open(openings, now, self._margin_seconds):
            return None
        until = windows.next_opening(openings, now)
        if windows.is_open(openings, now):
            return self.hold(HoldCode.WINDOW_CLOSING, until=until, minutes=f"{self._margin_seconds / 60:g}")
        return self.hold(HoldCode.OUTSIDE_WINDOW, until=until)

    @property
    def closes_at(self) -> Instant | None:
        """When those who wait have to be closed out, while a window is open and another than we starts the nodes."""
        is_due = self.mode is Mode.DELEGATED
        return windows.closing(self.campaign.openings, self.now, self._margin_seconds) if is_due else None

    @property
    def _margin_seconds(self) -> float:
        return LATE_SECONDS if self.mode is Mode.DELEGATED else 0.0

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

    def act(
        self, act: CampaignAct, code: HoldCode, **params: object
    ) -> tuple[tuple[CampaignAct, ...], tuple[Hold, ...]]:
        """An act, once it may be tried, and why we wait for what comes of it."""
        proposed = dict(self.source.proposals) if self.source is not None and isinstance(act, HomeAct) else {}
        if isinstance(act, HomeAct) and act.step in proposed:
            return (), (self.hold(HoldCode.MERGE_PENDING, step=act.step, request=proposed[act.step]),)
        due = (act,) if self.may_act(act.subject) else ()
        rebuff = self.seen.rebuffs.get(act.subject)
        if rebuff is None:
            since, until = self.record.entered_at or None, self.again_at(act.subject)
            return due, (hold(self.name, code, params, since=since, until=until),)
        return due, (self.hold(HoldCode.WRITE_REFUSED, until=self.again_at(act.subject), why=rebuff.detail),)
