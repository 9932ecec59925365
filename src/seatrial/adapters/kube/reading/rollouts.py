"""The rollouts of a cluster: which one is worked on, which cannot be read, and which are under way beside it.

Law of this file: one that cannot be read stands back, and holds nobody else. Tests: tests/adapters/kube/test_observe.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from seatrial.adapters.kube.reading import rollout_intent, rollout_items, table
from seatrial.adapters.kube.reading.rollout_items import RolloutUnclear, RolloutUnreadable
from seatrial.adapters.kube.shapes import keys, models, rollout_records
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
        self._faults: tuple[OperatorFacts, dict[str, str]] | None = None  # None: to be read anew
        self._tell_bug = streams.tell_bug
        self.at_work = ""
        self._aside: dict[str, tuple[Instant, str]] = {}
        streams.hear(self._forget, table.ROLLOUTS)

    def find(self) -> models.Rollout | None:
        """The rollout we work on: the named one, else the one whose turn it is; None when there is none."""
        found = self._find()
        self.at_work = found.metadata.name if found is not None else ""
        return found

    def put_aside(self, why: str) -> str:
        """Leave the rollout that was last found alone for a while, and say which that is."""
        if self.at_work:
            self._aside[self.at_work] = (self._now() + ASIDE_SECONDS, why)
        return self.at_work

    def set_aside(self) -> tuple[tuple[str, str], ...]:
        """The rollouts that are left alone for now, and why."""
        now = self._now()
        self._aside = {
            name: (until, why) for name, (until, why) in self._aside.items() if now < until <= now + ASIDE_SECONDS
        }
        return tuple(sorted((name, why) for name, (_, why) in self._aside.items()))

    def _find(self) -> models.Rollout | None:
        aside = dict(self.set_aside())
        if self._name:
            item = self._store.get(("", self._name))
            return item.read() if item is not None and self._name not in aside else None
        if len(self._store) == 1 and not aside:
            return next(iter(self._store)).read()
        read = {name: rollout for name, rollout in self._readable().items() if name not in aside}
        if not read and (faults := self.unreadable()):
            raise RolloutUnreadable(*next(iter(faults.items())))
        return read.get(_whose_turn(read))

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
        """Why some rollouts cannot be read, by name; asked several times a pass, and read when one has changed."""
        operator = self._operator()
        if self._faults is None or self._faults[0] is not operator:
            found: dict[str, str] = {}
            for item in sorted(self._store, key=lambda item: item.metadata.name):
                try:
                    rollout = item.read()
                    self._understood(rollout, partial(_read, rollout, operator, self._now()))
                except RolloutUnreadable as err:
                    found[item.metadata.name] = err.why
            self._faults = (operator, found)
        return self._faults[1]

    def others(self, name: str) -> tuple[str, ...]:
        """Campaigns beside this one that have begun and not ended; also those that only another release can read."""
        found, unclear = [], []
        for item in self._store:
            try:
                rollout = item.read()
                record = self._understood(rollout, partial(_record_of, rollout))
                found.append((item.metadata.creation_timestamp, record))
            except RolloutUnreadable:
                unclear += [item.metadata.name] if item.has_begun and item.metadata.name != name else []
        return tuple(sorted((*choosing.others(found, name), *unclear)))

    def phase_of(self, name: str) -> RolloutPhase | None:
        """Where the rollout of that name stands; None when there is none."""
        item = self._store.get(("", name)) if name else None
        if item is None:
            return None
        try:
            rollout = item.read()
            return choosing.phase_of(self._understood(rollout, partial(_record_of, rollout)))
        except RolloutUnreadable:
            return RolloutPhase.PROPOSED  # not Done as far as we can tell, and nobody comes after that

    def _readable(self) -> dict[str, models.Rollout]:
        """The rollouts that we understand, by name."""
        faults = self.unreadable()
        return {
            item.metadata.name: item.rollout
            for item in self._store
            if item.rollout is not None and item.metadata.name not in faults
        }

    def _forget(self, _before: object, _after: object) -> None:
        self._faults = None


def _whose_turn(read: Mapping[str, models.Rollout]) -> str:
    after = {name: rollout.spec.after for name, rollout in read.items()}
    undone = {name for name, rollout in read.items() if rollout.spec.abort}
    found = [(item.metadata.creation_timestamp, _record_of(item)) for item in read.values()]
    deleted = {name for name, rollout in read.items() if _waits_for_us(rollout)}
    return choosing.whose_turn(found, after, undone, deleted)


def _waits_for_us(rollout: models.Rollout) -> bool:
    """Whether a rollout was deleted, and goes when we let it."""
    return rollout.metadata.deletion_timestamp is not None and keys.FINALIZER in rollout.metadata.finalizers


def _read(
    rollout: models.Rollout, operator: OperatorFacts, now: Instant, suite_image: str = "", report_url: str = ""
) -> tuple[Intent, RolloutRecord]:
    try:
        intent = rollout_intent.read_intent(rollout, operator, now, suite_image=suite_image, report_url=report_url)
        record = rollout_records.read_rollout(rollout)
        return intent.asking(record.campaign), record
    except ValueError as err:
        raise RolloutUnreadable(rollout.metadata.name, str(err)) from err


def _record_of(rollout: models.Rollout) -> RolloutRecord:
    try:
        return rollout_records.read_rollout(rollout)
    except ValueError as err:
        raise RolloutUnreadable(rollout.metadata.name, str(err)) from err
