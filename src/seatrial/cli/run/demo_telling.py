"""How the demo is told: a line for every phase, every commit and every wait with its reason, all of it kept for a page.

Tests: tests/cli/test_demo.py
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from seatrial.core.actions.at_home import HomeAct, Promote
from seatrial.core.holds import Hold, HoldCode
from seatrial.core.model.campaign import CampaignRecord, RolloutPhase, SourceFacts
from seatrial.core.model.gates.gate import GateVerdict
from seatrial.core.model.instants import Instant
from seatrial.core.model.seen.nodes import NodeSeen
from seatrial.core.node.phases import is_under_way
from seatrial.core.text import spans
from seatrial.core.text.names import number_of
from seatrial.core.words import explain

if TYPE_CHECKING:
    from rich.console import Console

    from seatrial.run.loop import Report
    from seatrial.sim.world import World

COLOURS: Final = {
    RolloutPhase.CANARY: "yellow",
    RolloutPhase.GATING: "cyan",
    RolloutPhase.BAKING: "cyan",
    RolloutPhase.WAVING: "yellow",
    RolloutPhase.PROMOTING: "green",
    RolloutPhase.DONE: "bold green",
    RolloutPhase.REVERTING: "red",
    RolloutPhase.REVERTED: "bold red",
}
SAYS: Final = {
    RolloutPhase.PROPOSED: "every condition is looked at before anything is written",
    RolloutPhase.CANARY: "one node goes first, the one whose loss costs least",
    RolloutPhase.GATING: "the canary runs the new driver; its gates are asked",
    RolloutPhase.BAKING: "passed; now it has to hold, and only hours with evidence count",
    RolloutPhase.WAVING: "the fleet follows, wave by wave",
    RolloutPhase.PROMOTING: "every node runs it; the matrix is moved on",
    RolloutPhase.DONE: "nothing of ours is left on any node",
    RolloutPhase.REVERTED: "every node runs what it ran before",
}
QUIET: Final = frozenset({HoldCode.MARKS_PENDING, HoldCode.WRITE_IN_FLIGHT, HoldCode.PROMOTION_PENDING})
"""Waits of a moment, told by the line that follows them."""
BAKE_TOLD_HOURS: Final = 12


@dataclass(slots=True)
class Chapter:
    """One rollout, as it happened."""

    rollout: str
    old: str
    new: str
    started_at: Instant
    ended_at: Instant = 0.0
    record: CampaignRecord = field(default_factory=CampaignRecord)
    curve: list[tuple[Instant, Counter[str]]] = field(default_factory=list)
    """How many nodes are in which state, whenever that changed."""
    rounds: dict[int, dict[str, GateVerdict]] = field(default_factory=dict)
    evidence: list[tuple[Instant, float]] = field(default_factory=list)
    events: list[tuple[Instant, str, str]] = field(default_factory=list)
    """Every line told: when, a word for it, the text."""
    unavailable_max: int = 0
    breach_count: int = 0
    pass_count: int = 0
    acts: Counter[str] = field(default_factory=Counter)


class Teller:
    """Prints what happens, and keeps it."""

    def __init__(self, console: Console, world: World, chapter: Chapter, pause_seconds: float) -> None:
        self._console, self._world, self.chapter = console, world, chapter
        self._pause_seconds = pause_seconds
        self._turn_count = 0
        self._waited: set[HoldCode] = set()
        self._hours_told = 0

    def append(self, _at: Instant, kind: str, fields: Mapping[str, object]) -> None:
        """The journal of the demo's loop."""
        if kind == "act":
            self.chapter.acts[str(fields["act"])] += 1

    def on_report(self, report: Report) -> None:
        chapter, record = self.chapter, self._world.rollout.campaign
        chapter.pass_count += 1
        chapter.breach_count += len(report.breaches)
        chapter.unavailable_max = max(chapter.unavailable_max, _unavailable(self._world))
        self._count()
        if record is None:
            return
        chapter.record = record
        self._tell_turns(record)
        if record.gates:
            chapter.rounds[record.round] = {
                f"{each.gate} on {each.node}": each.verdict for each in record.gates if not each.is_left_out
            }
        self._tell_bake(record)
        self._tell_wait(report.decision.holds if report.decision is not None else ())

    def on_written(self, at: Instant, act: HomeAct, source: SourceFacts) -> None:
        """A step is in the repository."""
        subject = act.message.subject or "the commits of this rollout are reverted"
        tag = f" (tag {source.tag})" if isinstance(act, Promote) else ""
        self.line(at, "commit", f"{source.commit_of(act.step)[:7]} {subject}{tag}", "magenta")

    def line(self, at: Instant, word: str, text: str, style: str = "") -> None:
        from rich.text import Text

        self.chapter.events.append((at, word.strip(), text))
        told = Text.assemble((f"  {clock(at)}  ", "dim"), (f"{word:<10} ", style), text)
        self._console.print(told, soft_wrap=True)
        time.sleep(self._pause_seconds)

    def _tell_turns(self, record: CampaignRecord) -> None:
        for turn in record.history[self._turn_count :]:
            self._waited.clear()
            self.line(turn.at, turn.phase.value, turn.why or SAYS.get(turn.phase, ""), COLOURS.get(turn.phase, "bold"))
        self._turn_count = len(record.history)

    def _tell_bake(self, record: CampaignRecord) -> None:
        hours = record.baked_seconds / 3600
        if not self.chapter.evidence or self.chapter.evidence[-1][1] != record.baked_seconds:
            self.chapter.evidence.append((self._world.time, record.baked_seconds))
        if record.phase is RolloutPhase.BAKING and hours >= self._hours_told + BAKE_TOLD_HOURS:
            self._hours_told += BAKE_TOLD_HOURS
            passed = sum(set(round_.values()) == {GateVerdict.PASSED} for round_ in self.chapter.rounds.values())
            text = f"{spans.hours(self._hours_told)} of evidence, {number_of(passed, 'round')} of gates passed"
            self.line(self._world.time, "", text)

    def _tell_wait(self, holds: tuple[Hold, ...]) -> None:
        """Each reason once a phase: a bake asks its gates every hour."""
        quiet = QUIET | ({HoldCode.GATES_RUNNING} if self.chapter.record.phase is RolloutPhase.BAKING else set())
        mine = [held for held in holds if held.subject == self._world.intent.rollout and held.code not in quiet]
        if not mine or mine[0].code in self._waited:
            return
        self._waited.add(mine[0].code)
        self.line(self._world.time, "  waits", explain.why(mine[0]), "dim")

    def _count(self) -> None:
        states = Counter(state_of(node, self.chapter.new) for node in self._world.nodes.values())
        if not self.chapter.curve or self.chapter.curve[-1][1] != states:
            self.chapter.curve.append((self._world.time, states))


def state_of(node: NodeSeen, new: str) -> str:
    """A node's state in the page's words."""
    if is_under_way(node.record):
        return "at work"
    driver = node.facts.driver
    return "new driver" if driver is not None and driver.version == new else "old driver"


def clock(at: Instant) -> str:
    """A moment of the demo's own week."""
    return f"{datetime.fromtimestamp(at, UTC):%a %H:%M}"


def _unavailable(world: World) -> int:
    return sum(node.facts.is_unavailable for node in world.nodes.values())
