"""The newest known state of every object of one kind, from two sides: what we watch and what we wrote.

The answer to our own write usually arrives before the watch tells of it, so that the next decision already knows it.
It may also arrive after the object's end. What counts is the resourceVersion, never the order of arrival:

    list at 10 ──► pod a (7)
    our patch of a is answered with (14)      a (14)
    watch: a MODIFIED (12)                    a (14)   older than what we hold: ignored
    watch: a DELETED (15)                     -        remembered as deleted at 15
    answer to an earlier patch of a (13)      -        not newer than 15: a stays deleted

Versions are compared as integers. Aggregated servers may use other strings: then lists and watches win, and the answers
to our own writes wait for the watch. No I/O here. Tests: tests/adapters/kube/test_store.py.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Final, Generic

from seatrial.adapters.kube import client as clients
from seatrial.adapters.kube.client import ObjectT

# Answers arrive within the request timeout, so only the latest deletions matter.
_DELETED_MAX: Final = 20_000


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

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[ObjectT]:
        return iter(self._items.values())

    def get(self, key: Hashable) -> ObjectT | None:
        """Give the object under a key, or None."""
        return self._items.get(key)

    def sync(self, listing: clients.Listing[ObjectT]) -> None:
        """Take over a whole list; what it lacks is gone, unless we wrote it after the list was taken."""
        listed = {self._key(item) for item in listing.items}
        for item in [item for key, item in self._items.items() if key not in listed]:
            if not _is_newer(item.metadata.resource_version, listing.resource_version, otherwise=False):
                self._remove(item, listing.resource_version)
        for item in listing.items:
            self._put(item, otherwise=True)

    def apply(self, event: clients.WatchEvent[ObjectT]) -> None:
        """Take over one change from the watch."""
        if event.kind is clients.EventKind.DELETED:
            self._remove(event.object, event.object.metadata.resource_version)
        else:
            self._put(event.object, otherwise=True)

    def wrote(self, item: ObjectT) -> None:
        """Take over the object that the server returned for a write of ours."""
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


def _is_newer(version: str, than: str, *, otherwise: bool) -> bool:
    """Compare two versions; `otherwise` is the answer where they are not numbers."""
    if version.isdecimal() and than.isdecimal():
        return int(version) > int(than)
    return otherwise
