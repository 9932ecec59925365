"""The rollouts of a cluster: which one is worked on, which cannot be read, and which are under way beside it.

Law of this file: one that cannot be read stands back, and holds nobody else; and those that ended cost a pass nothing,
however many they are. Tests: tests/adapters/kube/test_observe.py, test_rollouts.py
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

from seatrial.adapters.kube.reading import rollout_intent, rollout_items, table
from seatrial.adapters.kube.reading.rollout_items import RolloutItem, RolloutUnclear, RolloutUnreadable
from seatrial.adapters.kube.shapes import models, rollout_records
from seatrial.adapters.kube.streams.streams import Streams
from seatrial.core.campaign import choosing
from seatrial.core.model.campaign import RolloutPhase
from seatrial.core.model.instants import Instant
from seatrial.core.model.intent import Intent
from seatrial.core.model.seen.operators import OperatorFacts
from seatrial.core.model.seen.rollouts import RolloutRecord

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
    ) -> None:
        """With a `name` it is that one which is worked on, whoever else may be there."""
        self._suite_image, self._report_url = suite_image, report_url
        self._store = streams[table.ROLLOUTS].store
        self._operator = operator
        self._now = now
        self._name = name
        self._past: list[Place] = []  # those that ended, the one to look at last
        self._leaving: list[Place] = []  # those of them that wait for us to let them go, the next one first
        self._present: dict[str, RolloutItem] = {}  # all others that can be read
        self._unread: dict[str, RolloutItem] = {}  # and those that cannot, ended or not
        self._faults: tuple[OperatorFacts, dict[str, str]] | None = None  # None: to be read anew
        streams.hear(self._take, table.ROLLOUTS)

    def find(self) -> models.Rollout | None:
        """The rollout we work on: the named one, else the one whose turn it is; None when there is none."""
        if self._name:
            item = self._store.get(("", self._name))
            return item.read() if item is not None else None
        if len(self._store) == 1:
            return next(iter(self._store)).read()
        faults = self.unreadable()
        if faults and len(faults) == len(self._store):
            raise RolloutUnreadable(*next(iter(faults.items())))
        return self._whose_turn([item for name, item in self._present.items() if name not in faults])

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
        return _read(rollout, self._operator(), now, self._suite_image, self._report_url)

    def unreadable(self) -> dict[str, str]:
        """Why some rollouts cannot be read, by name; what the operator says counts for those that have not ended."""
        operator = self._operator()
        if self._faults is None or self._faults[0] is not operator:
            found = {name: item.fault for name, item in self._unread.items()}
            for name, item in self._present.items():
                try:
                    _read(item.read(), operator, self._now())
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
        # One that cannot be read is not Done as far as we can tell, and nobody comes after that.
        return choosing.phase_of(item.record) if item.record is not None else RolloutPhase.PROPOSED

    def _whose_turn(self, present: list[RolloutItem]) -> models.Rollout | None:
        """Whose turn it is. Of those that ended, only these have a say: the first, the last and who comes before."""
        named = {item.rollout.spec.after for item in present if item.rollout is not None}
        named |= {place[-1] for place in (*self._leaving[:1], *self._past[-1:])}
        past = (self._store.get(("", name)) for name in named)
        items = {item.metadata.name: item for item in (*present, *past) if item is not None and not item.fault}
        records = [(item.metadata.creation_timestamp, item.record) for item in items.values() if item.record]
        after = {name: item.read().spec.after for name, item in items.items()}
        undone = {name for name, item in items.items() if item.read().spec.abort}
        deleted = {name for name, item in items.items() if item.waits_for_us}
        found = items.get(choosing.whose_turn(records, after, undone, deleted))
        return found.rollout if found is not None else None

    def _take(self, before: RolloutItem | None, after: RolloutItem | None) -> None:
        """Take over one change of one rollout."""
        self._faults = None
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
