"""What a seed says: who moves the nodes, how it should end, and what goes wrong when.

Law of this file: all chance comes from the seed, and nothing else comes in. When is told as a share of the way, which
is counted in the controller's writes: a slow machine plays the same story. Tests: tests/torture/test_drawing.py
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from seatrial_lab.torture.table import BY_NAME, FAULTS, Fault, Mode

BLOWS_MIN, BLOWS_MAX = 2, 5
FIRST, LAST = 0.05, 0.8
"""Between which shares of the way something happens: before, nothing is under way, and after, nothing any more."""
DELEGATED_EVERY: Final = 4
FAILING_SHARE: Final = 0.25
GIT_SHARE: Final = 0.5


class End(StrEnum):
    """How a campaign ends that nothing goes wrong around."""

    DONE = "Done"
    REVERTED = "Reverted"
    """Its gates fail in the bake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blow:
    """One fault, at its moment."""

    fault: Fault
    share: float
    """The share of the way after which it strikes."""
    seconds: float
    count: int

    def __str__(self) -> str:
        much = [f"{self.count} times"] * bool(self.count) + [f"for {self.seconds:g} s"] * bool(self.seconds)
        return f"{self.fault.name} at {self.share:.0%}{' ' if much else ''}{', '.join(much)}: {self.fault.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One story, before it is played."""

    seed: int
    mode: Mode
    end: End
    has_git: bool
    """Whether it is published by commits."""
    blows: tuple[Blow, ...]
    only: str = ""
    """The one fault that was asked for; empty for those that the seed draws."""

    @property
    def kind(self) -> str:
        """What it has in common with the run without faults that it is compared with."""
        return f"{self.mode}, {'by commits' if self.has_git else 'published directly'}, to {self.end}"

    @property
    def name(self) -> str:
        return f"{self.only}-{self.seed}" if self.only else str(self.seed)


def draw(seed: int, *, only: str = "", can_mount: bool = True) -> Schedule:
    """The story of a seed; with `only` that of one fault alone. Who may not mount has no disk that is full."""
    chance = random.Random(f"torture {seed} {only}")  # noqa: S311  a story, not a secret
    asked = BY_NAME[only] if only else None
    mode = Mode.DELEGATED if seed % DELEGATED_EVERY == DELEGATED_EVERY - 1 else Mode.DIRECT
    if asked is not None and mode not in asked.modes:
        (mode,) = asked.modes
    has_git = chance.random() < GIT_SHARE or (asked is not None and asked.needs_git)
    end = End.REVERTED if chance.random() < FAILING_SHARE else End.DONE
    possible = [fault for fault in FAULTS if mode in fault.modes and (has_git or not fault.needs_git)]
    count = 1 if asked is not None else chance.randint(BLOWS_MIN, BLOWS_MAX)
    chosen = [asked] if asked is not None else chance.sample(possible, count)
    blows = [_blow(fault, chance) for fault in chosen]
    able = [blow for blow in blows if can_mount or not blow.fault.needs_mounts]
    return Schedule(
        seed=seed,
        mode=mode,
        end=end,
        has_git=has_git,
        blows=tuple(sorted(able, key=lambda blow: blow.share)),
        only=only,
    )


def _blow(fault: Fault, chance: random.Random) -> Blow:
    return Blow(
        fault=fault,
        share=round(chance.uniform(FIRST, LAST), 2),
        seconds=round(chance.uniform(*fault.seconds), 1),
        count=chance.randint(*fault.count),
    )


def seeds_of(text: str) -> range:
    """What `a..b` means, both ends included; `a` alone is one seed."""
    first, _, last = text.partition("..")
    try:
        found = range(int(first), int(last or first) + 1)
    except ValueError:
        raise ValueError(f"{text!r} names no seeds: say 0..199, or 7.") from None
    if not found:
        raise ValueError(f"{text!r} names no seeds: the second has to be the larger one.")
    return found
