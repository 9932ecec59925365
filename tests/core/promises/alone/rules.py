"""A rule of core with a mistake in it, and a story in which that matters: for the promise that guards the rule.

The mistake is an edit of a function's source, compiled in the place of the function itself: whoever has imported it
gets the broken one, the promises too. So a promise that asks the very function that it guards sees nothing, and is
found out.
"""

from __future__ import annotations

import asyncio
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final, NamedTuple

import pytest

from seatrial.core.promises import invariants
from seatrial.core.promises.breach import Breach, Promise
from seatrial.run.loop import Report, run_forever
from seatrial.run.memory import Memory
from seatrial.sim.world import World

HOUR: Final = 3600.0
PASSES_MAX: Final = 600
"""A broken rule may never come to an end."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Edits of one function of core; each text stands in it once."""

    rule: FunctionType
    edits: tuple[tuple[str, str], ...]

    def make(self, patch: pytest.MonkeyPatch) -> None:
        """Have the function do the wrong thing, for everybody who calls it."""
        source = textwrap.dedent(inspect.getsource(self.rule))
        for before, after in self.edits:
            assert source.count(before) == 1, f"{self.rule.__qualname__} has {before!r} {source.count(before)} times"
            source = source.replace(before, after)
        room: dict[str, Any] = {}
        code = compile(f"from __future__ import annotations\n{source}", "<a mistake>", "exec")
        exec(code, self.rule.__globals__, room)  # noqa: S102  our own source
        made = room[self.rule.__name__]
        patch.setattr(self.rule, "__code__", getattr(made, "fget", made).__code__)


class Story(NamedTuple):
    """A world, and how long it is played."""

    world: World
    hours: float = 100.0


class Row(NamedTuple):
    """A promise, what is wrong with a rule that it guards, and where that shows."""

    promise: Promise
    wrong: str
    mistakes: tuple[Mistake, ...]
    story: Callable[[], Story]


def row(promise: Promise, wrong: str, story: Callable[[], Story], *edits: tuple[Any, str, str]) -> Row:
    """A row; each edit is a function, what it says, and what it says by mistake."""
    functions = dict.fromkeys(each[0] for each in edits)
    mistakes = (Mistake(one, tuple((was, now) for rule, was, now in edits if rule is one)) for one in functions)
    return Row(promise, wrong, tuple(mistakes), story)


def breaches_in(story: Story) -> tuple[Breach, ...]:
    """What was broken first, by the real loop; empty where nothing ever was."""
    passes = 0
    world, until = story.world, story.world.time + story.hours * HOUR

    def is_over(report: Report) -> bool:
        nonlocal passes
        passes += 1
        return bool(report.breaches) or world.time > until or passes >= PASSES_MAX

    ports = world.ports(_NoJournal())
    return asyncio.run(run_forever(ports, Memory(world.time), on_report=lambda _: None, is_over=is_over)).breaches


def breaches_with(patch: pytest.MonkeyPatch, broken: Row) -> set[str]:
    """The promises that notice the mistake, where no other is looked at but the row's own."""
    patch.setattr(invariants, "PROMISES", (broken.promise,))
    for mistake in broken.mistakes:
        mistake.make(patch)
    return {each.promise for each in breaches_in(broken.story())}


class _NoJournal:
    def append(self, at: float, kind: str, fields: Mapping[str, object]) -> None:
        """Forget."""
