"""The newest known state of every object of one kind, from two sides: what we watch and what we wrote.

The answer to our own write usually arrives before the watch tells of it, so that the next decision already knows it.
It may also arrive after the object's end. What counts is the resourceVersion, never the order of arrival:

    list at 10 ──► pod a (7)
    our patch of a is answered with (14)      a (14)
    watch: a MODIFIED (12)                    a (14)   older than what we hold: ignored
    watch: a DELETED (15)                     -        remembered as deleted at 15
    answer to an earlier patch of a (13)      -        not newer than 15: a stays deleted

A list is the truth about everything that was known before it was asked for, whatever the versions say: an etcd that was
restored from a backup counts from an older number again, and what we hold of the time after the backup never was. Only
what we wrote while a list was on its way may be newer than it. `sync` says whether the list has gone back.

Versions are compared as integers. Aggregated servers may use other strings: then lists and watches win, and the answers
to our own writes wait for the watch. No I/O here. Tests: tests/adapters/kube/test_store.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final, Generic, TypeVar

from seatrial.adapters.kube.api import client as clients
from seatrial.adapters.kube.api.client import ObjectT

T = TypeVar("T")

# Answers arrive within the request timeout, so only the latest deletions matter.
_DELETED_MAX: Final = 20_000
# So many objects of a list are looked at in one step: a few milliseconds.
_STEP: Final = 500


def by_uid(item: clients.Object) -> Hashable:
    """Key an object by its uid: a new object of the same name is another entry."""
    return item.metadata.uid


def by_name(item: clients.Object) -> Hashable:
    """Key an object by (namespace, name): a new object of the same name takes the place of the old."""
    return (item.metadata.namespace, item.metadata.name)


class Store(Generic[ObjectT]):
    """Holds one kind's objects and tells each change as `on_change(before, after)`; None is "not there"."""

    def __init__(
        self,
        *,
        key: Callable[[ObjectT], Hashable] = by_uid,
        on_change: Callable[[ObjectT | None, ObjectT | None], None] | None = None,
    ) -> None:
        self._key = key
        self._on_change = on_change
        self._items: dict[Hashable, ObjectT] = {}
        self._deleted: dict[str, str] = {}  # uid -> version of its end, oldest first
        self._newest = 0
        self._floor = 0  # what a list that is on its way cannot lawfully be older than
        self.is_torn = False
        """A long list is half taken over: what is held was never there together."""
        self._wrote: set[Hashable] | None = set()  # what we wrote since a list was asked for; None while none is

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[ObjectT]:
        return iter(self._items.values())

    def get(self, key: Hashable) -> ObjectT | None:
        """Give the object under a key, or None."""
        return self._items.get(key)

    def begin(self) -> None:
        """A list is asked for now."""
        self._floor, self._wrote = self._newest, set()

    def sync(self, listing: clients.Listing[ObjectT]) -> bool:
        """Take over a whole list, and say whether it is of an older history than what was seen before it.

        What it lacks is gone, unless we wrote it after the list was taken.
        """
        *_, is_back = self.syncing(listing)
        return bool(is_back)

    def syncing(self, listing: clients.Listing[ObjectT]) -> Iterator[bool | None]:
        """Take over a whole list in short steps, between which others may work: None, and at last what `sync` says.

        First it is compared, which changes nothing; what differs is then taken at once, as far as one step reaches.
        """
        version = listing.resource_version
        is_back = version.isdecimal() and int(version) < self._floor
        listed: set[Hashable] = set()
        differing: list[tuple[ObjectT, bool]] = []  # with whether the list has it
        for some in _steps(listing.items):
            for item in some:
                key = self._key(item)
                listed.add(key)
                if (held := self._items.get(key)) is not item and held != item:
                    differing.append((item, True))
            yield None
        for entries in _steps(tuple(self._items.items())):
            differing += [(item, False) for key, item in entries if key not in listed]
            yield None
        # What is gone first: under its name, or in its place, there may be another.
        for some_differing in _steps(sorted(differing, key=lambda each: each[1])):
            if self.is_torn:
                yield None
            for item, is_listed in some_differing:
                is_back = self._settle(item, version, is_listed=is_listed) or is_back
            self.is_torn = True
        self.is_torn = False
        if is_back:
            self._newest = 0  # or every list of the new history would look like an old one
        self._reach(version)
        self._wrote = None
        yield is_back

    def _settle(self, item: ObjectT, version: str, *, is_listed: bool) -> bool:
        """Take over what a list of a version says of one object, and say whether we held something newer."""
        key = self._key(item)
        is_ours = self._wrote is not None and key in self._wrote
        if not is_listed:
            held = self._items.get(key)
            is_newer = held is not None and _is_newer(held.metadata.resource_version, version, otherwise=False)
            if held is not None and not (is_ours and is_newer):
                self._remove(held, version)
            return False
        if is_ours:
            self._put(item, otherwise=True)
            return False
        return self._take(item)

    def _take(self, item: ObjectT) -> bool:
        """Hold what a list says, and say whether we held something newer."""
        held = self._items.get(self._key(item))
        self._deleted.pop(item.metadata.uid, None)
        if held == item:
            return False
        self._items[self._key(item)] = item
        self._tell(held, item)
        if held is None or held.metadata.uid != item.metadata.uid:
            return False
        return _is_newer(held.metadata.resource_version, item.metadata.resource_version, otherwise=False)

    def _reach(self, version: str) -> None:
        if version.isdecimal():
            self._newest = max(self._newest, int(version))

    def apply(self, event: clients.WatchEvent[ObjectT]) -> None:
        """Take over one change from the watch."""
        self._reach(event.object.metadata.resource_version)
        if event.kind is clients.EventKind.DELETED:
            self._remove(event.object, event.object.metadata.resource_version)
        else:
            self._put(event.object, otherwise=True)

    def wrote(self, item: ObjectT) -> None:
        """Take over the object that the server returned for a write of ours."""
        self._reach(item.metadata.resource_version)
        if self._wrote is not None:
            self._wrote.add(self._key(item))
        self._put(item, otherwise=False)

    def _put(self, item: ObjectT, *, otherwise: bool) -> None:
        version = item.metadata.resource_version
        ended = self._deleted.get(item.metadata.uid)
        if ended is not None and not _is_newer(version, ended, otherwise=otherwise):
            return
        key = self._key(item)
        held = self._items.get(key)
        if held is not None and not _is_newer(version, held.metadata.resource_version, otherwise=otherwise):
            return
        if held is None and not otherwise and not version.isdecimal():
            return
        # An object may leave a selector and come back with the same uid.
        self._deleted.pop(item.metadata.uid, None)
        self._items[key] = item
        self._tell(held, item)

    def _remove(self, item: ObjectT, version: str) -> None:
        self._deleted.pop(item.metadata.uid, None)  # so that it is the youngest now
        self._deleted[item.metadata.uid] = version
        if len(self._deleted) > _DELETED_MAX:
            del self._deleted[next(iter(self._deleted))]
        key = self._key(item)
        held = self._items.get(key)
        # Under a name there may already be the successor, known from our own write.
        if held is not None and held.metadata.uid == item.metadata.uid:
            del self._items[key]
            self._tell(held, None)

    def _tell(self, before: ObjectT | None, after: ObjectT | None) -> None:
        if self._on_change is not None:
            self._on_change(before, after)


def _steps(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[at : at + _STEP] for at in range(0, len(items), _STEP))


def _is_newer(version: str, than: str, *, otherwise: bool) -> bool:
    """Compare two versions; `otherwise` is the answer where they are not numbers."""
    if version.isdecimal() and than.isdecimal():
        return int(version) > int(than)
    return otherwise
