"""The rollouts of a cluster: which one is worked on, which cannot be read, and which are under way beside it.

Law of this file: one that cannot be read stands back and holds no other; and those that ended cost a pass nothing,
however many they are. Tests: tests/adapters/kube/test_observe.py, test_rollouts.py
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from seatrial.adapters.kube.reading import rollout_intent, rollout_items, table
from seatrial.adapters.kube.reading.rollout_items import RolloutItem, RolloutUnclear, RolloutUnreadable
from seatrial.adapters.kube.shapes import models, rollout_records
from seatrial.adapters.kube.streams.projection import projected
from seatrial.adapters.kube.streams.streams import Streams
from seatrial.bugs import Guard, bug_of, why_of
from seatrial.core.campaign import choosing
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.rollouts import RolloutRecord

T = TypeVar("T")
ASIDE_SECONDS: Final = 60.0
"""How long a rollout is left alone after a bug of ours."""
Place: TypeAlias = tuple[Any, ...]
"""What puts rollouts in order; the name comes last."""


class Rollouts:
    """All of them, as far as the streams show them."""

    def __init__(
        self,
        streams: Streams,
        *,
        operator: Callable[[], OperatorFacts],
        now: Callable[[], Instant],
        name: str = "",
        suite_image: str = "",
        report_url: str = "",
        on_fault: Callable[[str], None] = lambda _: None,
    ) -> None:
        """With a `name` it is that one which is worked on, whoever else may be there."""
        self._suite_image, self._report_url = suite_image, report_url
        self._store = streams[table.ROLLOUTS].store
        self._operator = operator
        self._now = now
        self._on_fault = on_fault
        self._name = name
        self._past: list[Place] = []  # those that ended, the one to look at last
        self._leaving: list[Place] = []  # those of them that wait for us to let them go, the next one first
        self._present: dict[str, RolloutItem] = {}  # all others that can be read
        self._unread: dict[str, RolloutItem] = {}  # and those that cannot, ended or not
        self._faults: tuple[OperatorFacts, dict[str, str]] | None = None  # None: to be read anew
        self._tell_bug = streams.tell_bug
        self.at_work = ""
        self._aside: dict[str, tuple[Instant, str]] = {}
        streams.hear(self._take, table.ROLLOUTS)

    def find(self) -> models.Rollout | None:
        """The rollout we work on: the named one, else the one whose turn it is; None when there is none."""
        found = self._find()
        self.at_work = found.metadata.name if found is not None else ""
        return found

    def set_aside(self, why: str) -> str:
        """Leave the rollout that was last found alone for a while, and say which that is."""
        if self.at_work:
            self._aside[self.at_work] = (self._now() + ASIDE_SECONDS, why)
        return self.at_work

    def aside(self) -> tuple[tuple[str, str], ...]:
        """The rollouts that are left alone for now, and why."""
        now = self._now()
        self._aside = {
            name: (until, why) for name, (until, why) in self._aside.items() if now < until <= now + ASIDE_SECONDS
        }
        return tuple(sorted((name, why) for name, (_, why) in self._aside.items()))

    def _find(self) -> models.Rollout | None:
        aside = dict(self.aside())
        if self._name:
            item = self._store.get(("", self._name))
            return item.read() if item is not None and self._name not in aside else None
        if len(self._store) == 1 and not aside:
            return next(iter(self._store)).read()
        faults = self.unreadable()
        if faults and len(faults) == len(self._store):
            raise RolloutUnreadable(*next(iter(faults.items())))
        return self._whose_turn([item for name, item in self._present.items() if name not in faults], aside)

    def current(self) -> models.Rollout | None:
        """The same, for those who go on without one where it is unclear."""
        with suppress(RolloutUnclear):
            return self.find()
        return None

    def stored(self, name: str) -> models.Rollout | None:
        """The rollout of this name as it was last seen; None also where it cannot be read."""
        item = self._store.get(("", name))
        return item.rollout if item is not None else None

    def wrote(self, rollout: models.Rollout) -> None:
        """A write of ours returned this rollout."""
        self._store.wrote(rollout_items.item_of(rollout))

    def read(self, rollout: models.Rollout, now: Instant) -> tuple[Intent, RolloutRecord]:
        """What a rollout wants, and what is written down of it; RolloutUnreadable where that cannot be told."""
        return self._understood(
            rollout, lambda: _read(rollout, self._operator(), now, self._suite_image, self._report_url)
        )

    def _understood(self, rollout: models.Rollout, read: Callable[[], T]) -> T:
        """What `read` gives; a bug of ours makes this one rollout unreadable, and no other."""

        def failed(err: Exception) -> T:
            if isinstance(err, RolloutUnreadable):
                raise err
            self._tell_bug(bug_of(Guard.PROJECTION, f"gpurollouts {rollout.metadata.name}", err))
            raise RolloutUnreadable(rollout.metadata.name, why_of(err)) from err

        return projected(read, failed)

    def unreadable(self) -> dict[str, str]:
        """Why some rollouts cannot be read, by name; what the operator says counts for those that have not ended."""
        operator = self._operator()
        if self._faults is None or self._faults[0] is not operator:
            found = {name: item.fault for name, item in self._unread.items()}
            for name, item in self._present.items():
                try:
                    rollout = item.read()
                    self._understood(rollout, partial(_read, rollout, operator, self._now()))
                except RolloutUnreadable as err:
                    found[name] = err.why
            self._faults = (operator, dict(sorted(found.items())))
        return self._faults[1]

    def others(self, name: str) -> tuple[str, ...]:
        """Campaigns beside this one that have begun and not ended; also those that only another release can read."""
        found, unclear = [], []
        for item in (*self._present.values(), *self._unread.values()):
            if item.record is not None:
                found.append((item.metadata.creation_timestamp, item.record))
            elif item.has_begun and item.metadata.name != name:
                unclear.append(item.metadata.name)
        return tuple(sorted((*choosing.others(found, name), *unclear)))

    def phase_of(self, name: str) -> RolloutPhase | None:
        """Where the rollout of that name stands; None when there is none."""
        item = self._store.get(("", name)) if name else None
        if item is None:
            return None
        # One that cannot be read may not be Done, so no rollout may start after it.
        return choosing.phase_of(item.record) if item.record is not None else RolloutPhase.PROPOSED

    def _whose_turn(self, present: list[RolloutItem], aside: Collection[str]) -> models.Rollout | None:
        """Whose turn it is. Of those that ended, only these have a say: the first, the last and who comes before."""
        named = {item.rollout.spec.after for item in present if item.rollout is not None}
        named |= {place[-1] for place in (*self._leaving[:1], *self._past[-1:])}
        past = (self._store.get(("", name)) for name in named)
        readable = (item for item in (*present, *past) if item is not None and not item.fault)
        items = {item.metadata.name: item for item in readable if item.metadata.name not in aside}
        records = [(item.metadata.creation_timestamp, item.record) for item in items.values() if item.record]
        after = {name: item.read().spec.after for name, item in items.items()}
        undone = {name for name, item in items.items() if item.read().spec.abort}
        deleted = {name for name, item in items.items() if item.waits_for_us}
        found = items.get(choosing.whose_turn(records, after, undone, deleted))
        return found.rollout if found is not None else None

    def _take(self, before: RolloutItem | None, after: RolloutItem | None) -> None:
        """Take over one change of one rollout."""
        self._faults = None
        if after is not None and after.warning:
            self._on_fault(after.warning)
        for item in (before, after):
            if item is not None:
                self._present.pop(item.metadata.name, None)
                self._unread.pop(item.metadata.name, None)
        for line, place in self._places_of(before):
            del line[bisect.bisect_left(line, place)]
        for line, place in self._places_of(after):
            bisect.insort(line, place)
        if after is not None and after.fault:
            self._unread[after.metadata.name] = after
        elif after is not None and not after.is_past:
            self._present[after.metadata.name] = after

    def _places_of(self, item: RolloutItem | None) -> list[tuple[list[Place], Place]]:
        """Where a rollout stands in the lines of those that ended."""
        if item is None or item.record is None or item.fault or not item.is_past:
            return []
        made, name = item.metadata.creation_timestamp, item.metadata.name
        places = [(self._past, choosing.place_of_past(made, item.record))]
        return places + ([(self._leaving, (made, name))] if item.waits_for_us else [])


def _read(
    rollout: models.Rollout, operator: OperatorFacts, now: Instant, suite_image: str = "", report_url: str = ""
) -> tuple[Intent, RolloutRecord]:
    try:
        intent = rollout_intent.read_intent(rollout, operator, now, suite_image=suite_image, report_url=report_url)
        record = rollout_records.read_rollout(rollout)
        return intent.asking(record.campaign), record
    except ValueError as err:
        raise RolloutUnreadable(rollout.metadata.name, str(err)) from err
