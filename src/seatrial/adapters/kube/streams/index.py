"""Items found again by what they name: a pod by its node, or by each claim it asks for.

One change costs the keys of one item, however many items there are. Tests: tests/adapters/kube/test_streams.py
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, KeysView
from typing import Generic, TypeVar

from seatrial.adapters.kube.api.client import Object
from seatrial.core.base.values import dataclass

ItemT = TypeVar("ItemT", bound=Object)
KeyT = TypeVar("KeyT", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class By(Generic[ItemT, KeyT]):
    """Under which keys an item is found."""

    keys: Callable[[ItemT], Iterable[KeyT]]


class Index(Generic[ItemT, KeyT]):
    """The items of one stream, under their keys."""

    def __init__(self, by: By[ItemT, KeyT]) -> None:
        self._keys = by.keys
        self._groups: dict[KeyT, dict[str, ItemT]] = {}  # by key, then by uid

    def change(self, before: ItemT | None, after: ItemT | None) -> None:
        """Take over one change of one item."""
        if before is not None:
            for key in self._keys(before):
                self._take_away(key, before.metadata.uid)
        if after is not None:
            for key in self._keys(after):
                self._groups.setdefault(key, {})[after.metadata.uid] = after

    def under(self, key: KeyT) -> Collection[ItemT]:
        """The items under a key."""
        found = self._groups.get(key)
        return found.values() if found is not None else ()

    def keys(self) -> KeysView[KeyT]:
        """The keys that there are items under."""
        return self._groups.keys()

    def _take_away(self, key: KeyT, uid: str) -> None:
        group = self._groups.get(key)
        if group is None:
            return
        group.pop(uid, None)
        if not group:
            del self._groups[key]  # an entry without items is not kept
