"""Compared: what is kept of figures from before an upgrade and from after it, on canaries and on nodes like them.

    a round of figures ─ added once ─▶ Comparison        sums, kept in the rollout's status

Law of this file: sums and names, nothing that grows with the number of rounds. A round has a number, and only a later
one is added, so it counts once whatever crashed meanwhile. What all of it says is judging's to say.

Tests: tests/core/judging/test_judging_sequences.py, test_judging_comparing.py, tests/core/campaign/test_comparing.py
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeAlias

from seatrial.core.base.values import dataclass, field, replace
from seatrial.core.model.fields import kept

LEAPS_EVERY: Final = 10
CANARIES_MAX: Final = 4
"""How many canaries are compared, the first by name: all of it is kept in one status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """How many values, their mean, and the sum of their squared distances from it."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    @property
    def numbers(self) -> tuple[float, ...]:
        """As they are kept: there are many of them."""
        return self.count, self.mean, self.squares

    @classmethod
    def of_numbers(cls, numbers: Sequence[float]) -> Moments:
        """As they were kept."""
        if len(numbers) != len(NONE.numbers):
            raise ValueError(f"count, mean and squares belong here, not {list(numbers)}.")
        count, mean, squares = numbers
        return cls(count=int(count), mean=mean, squares=squares)

    def plus(self, value: float) -> Moments:
        """With one more value."""
        apart, count = value - self.mean, self.count + 1
        return Moments(
            count=count,
            mean=self.mean + apart / count,
            squares=self.squares + apart * apart * self.count / count,
        )


NONE: Final = Moments()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Values that come one by one, without those that leapt away and came back at once.

    A value further than `width` from the mean so far waits for the next: when that is where it is, both count, because
    then the level has changed; otherwise it was a hiccup, and is left out. At most one in LEAPS_EVERY is left out, so
    that what fails every other time is not taken for a row of hiccups.
    """

    moments: Moments = NONE
    waiting: float | None = None
    left_out: int = 0

    @property
    def numbers(self) -> tuple[float, ...]:
        """As it is kept: the value that waits comes last, if one does."""
        return *self.moments.numbers, self.left_out, *(() if self.waiting is None else (self.waiting,))

    @classmethod
    def of_numbers(cls, numbers: Sequence[float]) -> Stream:
        """As it was kept."""
        if not 0 <= len(numbers) - len(SILENCE.numbers) <= 1:
            raise ValueError(f"count, mean, squares, left out and waiting belong here, not {list(numbers)}.")
        *first, left_out = numbers[: len(SILENCE.numbers)]
        waiting = next(iter(numbers[len(SILENCE.numbers) :]), None)
        return cls(moments=Moments.of_numbers(first), left_out=int(left_out), waiting=waiting)

    def plus(self, value: float, width: float) -> Stream:
        """With one more value."""
        if self.waiting is not None and abs(value - self.waiting) <= width:
            return replace(self, moments=self.moments.plus(self.waiting).plus(value), waiting=None)
        may_leave_out = self.left_out * LEAPS_EVERY <= self.moments.count
        settled = self if self.waiting is None else self._settled(may_leave_out)
        if abs(value - settled.moments.mean) <= width or not may_leave_out:
            return replace(settled, moments=settled.moments.plus(value))
        return replace(settled, waiting=value)

    def _settled(self, may_leave_out: bool) -> Stream:
        if may_leave_out:
            return replace(self, waiting=None, left_out=self.left_out + 1)
        return replace(self, moments=self.moments.plus(self.waiting or 0.0), waiting=None)


SILENCE: Final = Stream()


class Lens(StrEnum):
    """How a figure is looked at."""

    PLAIN = "plain"
    PER_CLOCK = "per-clock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """One figure of one node over all rounds. A control has tracks too: they show what happens without an upgrade."""

    figure: str
    node: str
    lens: Lens = Lens.PLAIN
    unit: str = ""
    gpu_count: int = field(
        default=0,
        metadata=kept("How many GPUs it is the mean of; a round with another number is not comparable.", name="gpus"),
    )
    is_held: bool = field(
        default=False, metadata=kept("A limit, such as that of power, held it back before the upgrade.")
    )
    before: Moments = field(default=NONE, metadata=kept("Badness before the upgrade: count, mean and squares."))
    after: Stream = field(
        default=SILENCE,
        metadata=kept(
            "Change of badness since, against itself alone: count, mean, squares, how many were left out, and the "
            "value that waits."
        ),
    )
    paired_before: Moments = field(
        default=NONE, metadata=kept("Badness before, against the controls of the same round.")
    )
    paired: Stream = field(
        default=SILENCE, metadata=kept("Change since, against the change of the controls in the same round.")
    )

    @property
    def key(self) -> Key:
        return self.figure, self.lens, self.node


Key: TypeAlias = tuple[str, Lens, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One canary, the controls it is held against, and all that was measured of them."""

    canary: str
    controls: tuple[str, ...] = field(default=(), metadata=kept("Nodes that the canary is compared with."))
    tracks: tuple[Track, ...] = field(default=(), metadata=kept("A figure of a node each."))
    round: int = field(default=0, metadata=kept("The last round that is in it."))

    def of(self, node: str) -> tuple[Track, ...]:
        return tuple(each for each in self.tracks if each.node == node)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Who could not be measured, and why."""

    node: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """All that is kept of comparing the canaries with themselves before, and with nodes like them."""

    gates: tuple[tuple[str, str], ...] = field(
        default=(),
        metadata=kept("The gates whose figures are compared, as they were asked before.", pair=("name", "asked")),
    )
    """Each with its mark: another gate under the same name is another figure."""
    comparisons: tuple[Comparison, ...] = ()
    baseline_from: int = field(default=0, metadata=kept("The first of the rounds before the upgrade."))
    baseline_rounds: int = field(default=0, metadata=kept("How many of all rounds were before an upgrade."))
    """No canary had run anything new in them."""
    is_measured: bool = field(default=False, metadata=kept("Whether the rounds before the upgrade are over."))
    missing_before: tuple[Missing, ...] = field(
        default=(),
        metadata=kept("Nodes that could not be measured before the upgrade, and why; they are left out"),
    )
    missing: tuple[Missing, ...] = field(
        default=(), metadata=kept("Nodes that could not be measured in the last round, and why.")
    )

    @property
    def controls(self) -> tuple[str, ...]:
        """Everybody that a canary is held against."""
        return tuple(sorted({name for each in self.comparisons for name in each.controls}))
