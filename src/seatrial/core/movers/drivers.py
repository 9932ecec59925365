"""Drivers: what is so whoever moves them, we or NVIDIA's controller. Published in a resource, proven on the node.

Law of this file: who moves the nodes is not known here; who/direct.py and who/nvidia.py say what differs. Tests:
tests/core/movers/test_movers.py
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace

from seatrial.core.actions.of_campaigns import CampaignAct
from seatrial.core.budget import capacity
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import CampaignRecord, PublishStep
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.movers import olm, publishing, returning
from seatrial.core.movers.view import Mover, Outcome, Return, View
from seatrial.core.node import step
from seatrial.core.node.progress import Progress, Versions, wants


class Drivers(Mover):
    """A driver reaches a node when its resource carries it and the node's driver pod is made anew."""

    def target(self, intent: Intent) -> str:
        return intent.target.published

    def baseline(self, view: View) -> Versions:
        return publishing.baseline(view)

    def publish(self, view: View, step: PublishStep, wanted: Versions) -> Outcome:
        return publishing.publish(view, step, wanted)

    def why_unpublishable(self, view: View) -> tuple[Hold, ...]:
        return publishing.why_not(view)

    def at_work(self, view: View, names: Iterable[str], told: Hold) -> Hold:
        return told

    # how far a node is

    def why_stuck(self, view: View, names: Iterable[str]) -> dict[str, HoldCode]:
        unit_of = capacity.budget_of(view.nodes, (), view.intent).unit_of if capacity.has_places(view.intent) else {}
        unfit = self.unfit(view, unit_of)
        found: dict[str, HoldCode] = {}
        for name in sorted(names):
            if view.progress(name) is not Progress.AWAY:
                continue
            code = self._why_stuck(view, view.nodes[name])
            if code is None and unit_of.get(name) in unfit:
                code = HoldCode.UNIT_UNFIT
            if code is not None:
                found[name] = code
        return found

    @abstractmethod
    def unfit(self, view: View, unit_of: Mapping[str, str]) -> set[str]:
        """The units that cannot start as a whole."""

    @abstractmethod
    def why_unclear(self, node: NodeSeen) -> Hold | None:
        """Why it cannot be told where a node stands."""

    def _why_stuck(self, view: View, member: NodeSeen) -> HoldCode | None:
        facts = member.facts
        if facts.skipped_by == view.name:  # our own skip label is no obstacle: it goes when the wave opens
            member = replace(member, facts=replace(facts, is_skipped=False))
        held = self.why_unclear(member) or step.why_not_startable(member)
        return held.code if held is not None else None

    # proof

    def why_lost(self, view: View, name: str) -> str:
        facts = view.nodes[name].facts
        is_there = wants(facts, view.target) and (facts.driver is None or facts.is_in_sync)
        return "" if is_there else f"canary {name} no longer runs {view.target}"

    # undo

    def whose_turn_back(self, view: View) -> frozenset[str]:
        return returning.whose_turn(view)

    def undo(self, view: View, acts: tuple[CampaignAct, ...], holds: tuple[Hold, ...]) -> Return:
        away = returning.away(view)
        if away:
            open_ = self.whose_turn_back(view)
            acts = acts or self.start_back(view, open_)
            return Return(record=view.record, away=tuple(sorted(away)), open=open_, acts=acts, holds=holds)
        if acts or holds:
            return Return(record=view.record, acts=acts, holds=holds)
        record, (acts, holds) = self.settle(view)
        holds = (*holds, *olm.stays(view))
        return Return(record=record, acts=acts, holds=holds, out=returning.taken_out(view))

    @abstractmethod
    def start_back(self, view: View, open_: frozenset[str]) -> tuple[CampaignAct, ...]:
        """What is due so that these nodes go back."""

    @abstractmethod
    def settle(self, view: View) -> tuple[CampaignRecord, Outcome]:
        """What is due when every node is back, and the record with it."""
