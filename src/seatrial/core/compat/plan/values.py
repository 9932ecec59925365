"""What a plan is made of, and what is answered when there is none. Values only: how they are found is elsewhere.

    Plan ── Step ── Change          one component, from → to
                 ├─ Why             what put the step there
                 ├─ Preparation     what must be done before it, and which fact says so
                 └─ Rollback        whether there is a way back, and to which stack
    Refusal ── Finding              the rules that fight
            └─ Reached, Blocked     how far one gets, and what stands before each next move

Tests: tests/core/compat/test_plan.py
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from seatrial.core.base.values import dataclass
from seatrial.core.compat.findings import Finding
from seatrial.core.compat.matrix import Component, Group, Stack
from seatrial.core.compat.plan.parts import title_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One component's move; an empty text means that the component is not named on that side."""

    component: Component
    before: str
    after: str


class Reason(StrEnum):
    """What puts a step into a plan."""

    WANTED = "wanted"
    NEXT_LINE = "next-release-line"
    FORCED = "forced"
    BRIDGE = "bridge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """One reason for a step; `rule` names the rule that asks for it, and is empty for what is simply wanted."""

    reason: Reason
    rule: str = ""
    step: int = 0
    """The later step that asks for it; 0 where none does."""
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """Something to be done before the step; `fact` is the place in the knowledge base that makes it necessary."""

    code: str
    sentence: str
    fact: str


class WayBack(StrEnum):
    """Whether a step can be undone."""

    OPEN = "open"
    UNKNOWN = "unknown"
    """No source supports it: it must be rehearsed before one relies on it."""
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """Where one can return to. Steps are named by number; 0 is what runs today."""

    way: WayBack
    to_step: int
    """The last stack one can go back to once this step is done: the one before it, or its own where there is no way."""
    farthest_step: int
    """The oldest stack still in reach from here, by undoing one step after the other."""
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One move of one group."""

    number: int
    group: Group
    changes: tuple[Change, ...]
    stack: Stack
    """The whole stack once the step is done."""
    why: tuple[Why, ...]
    order: str = ""
    """Why it stands where it stands; empty where nothing else moves."""
    evicts: str
    preparations: tuple[Preparation, ...]
    findings: tuple[Finding, ...]
    """What stays doubtful after the step: warn and unknown."""
    rollback: Rollback
    hints: tuple[str, ...] = ()
    """What becomes possible with it."""

    @property
    def title(self) -> str:
        """What moves, as a heading."""
        return title_of(change.component for change in self.changes)

    @property
    def is_one_way(self) -> bool:
        """Say whether no known way leads back before this step."""
        return self.rollback.way is not WayBack.OPEN


BETWEEN: Final = "let it bake under load, then tag it in Git: the next step starts from a state that is proven"
"""What is done after every step and before the next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The ordered steps from what runs to what is wanted; no steps means that what is wanted runs already."""

    running: Stack
    wanted: Stack
    """What is wanted, completed by what follows from it."""
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...] = ()
    """What is doubtful about the start: values of which nobody knows what runs."""
    notes: tuple[str, ...] = ()

    @property
    def doubts(self) -> tuple[Finding, ...]:
        """Every warn and unknown nobody accepted, each once, in the order of the steps."""
        every = (*self.findings, *(finding for step in self.steps for finding in step.findings))
        return tuple(dict.fromkeys(doubt for doubt in every if not doubt.is_accepted))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A step of the trail: as far as one gets."""

    number: int
    group: Group
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """A move that would lead on, and the findings that forbid it."""

    group: Group
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]


class RefusalCode(StrEnum):
    """Why there is no plan."""

    TARGET_FAILS = "target-fails"
    RUNNING_FAILS = "running-fails"
    NO_PATH = "no-path"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """There is no way, and this is what fights.

    `conflict` is minimal: without any one of its rules there would be a way; or it is what fails in the target itself.
    """

    code: RefusalCode
    running: Stack
    wanted: Stack
    conflict: tuple[str, ...]
    findings: tuple[Finding, ...]
    """One finding at least for each rule of the conflict."""
    reached: tuple[Reached, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    suggestion: str = ""
    notes: tuple[str, ...] = ()
