"""Objects that could not be read, and the one place that contains what reading them raises.

    raw object ──projected()──▶ item            it can be read
                      └───────▶ Fault           it cannot: the object by name, why, and the nodes it is about

A fault lasts until the object can be read again, or is gone. Other people write these objects, so only the first fault
of each kind is reported with its traceback: a tenant must not be able to fill our log.
Tests: tests/adapters/kube/test_unreadable_objects.py
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

from seatrial.adapters.kube.api.client import Metadata
from seatrial.bugs import Bug, Guard, TellBug, bug_of
from seatrial.core.model.seen.problems import UnreadableObject

T = TypeVar("T")
REPORTED_MAX: Final = 100
"""So many different reasons of one kind are reported with a traceback."""


def projected(read: Callable[[], T], failed: Callable[[Exception], T]) -> T:
    """What `read` makes of an object; where it raises, what `failed` makes of that."""
    try:
        return read()
    except Exception as err:
        if isinstance(err, MemoryError):
            raise
        return failed(err)


class Faults:
    """The objects of one kind that cannot be read."""

    def __init__(self, kind: str, on_bug: TellBug) -> None:
        self.kind = kind
        self._on_bug = on_bug
        self._faults: dict[tuple[str, str], tuple[UnreadableObject, frozenset[str]]] = {}
        self._by_node: dict[str, dict[tuple[str, str], UnreadableObject]] = defaultdict(dict)
        self._listed: set[tuple[str, str]] | None = None
        self._reported: set[str] = set()

    def __len__(self) -> int:
        return len(self._faults)

    def has(self, meta: Metadata) -> bool:
        """Whether an object cannot be read."""
        return (meta.namespace, meta.name) in self._faults

    @property
    def is_listing(self) -> bool:
        """Whether a list is on its way."""
        return self._listed is not None

    def about(self, node: str) -> Iterable[UnreadableObject]:
        """Those that are about a node."""
        return self._by_node[node].values() if node in self._by_node else ()

    def about_none(self) -> Iterable[UnreadableObject]:
        """Those that are about no node of their own."""
        return [found for found, nodes in self._faults.values() if not nodes] if self._faults else ()

    def note(
        self, meta: Metadata, error: Exception | str, nodes: Iterable[str] = (), *, is_tenants: bool = False
    ) -> frozenset[str] | None:
        """Remember a fault; the nodes it is news for, None where it is no news at all."""
        subject = f"{self.kind} {meta.namespace}/{meta.name}".replace(" /", " ")
        bug = (
            bug_of(Guard.PROJECTION, subject, error)
            if isinstance(error, Exception)
            else Bug(guard=Guard.PROJECTION, subject=subject, why=error)
        )
        self._on_bug(bug if self._is_first(bug.why) else Bug(guard=bug.guard, subject=subject, why=bug.why))
        key, about = (meta.namespace, meta.name), frozenset(nodes)
        found = UnreadableObject(
            kind=self.kind, namespace=meta.namespace, name=meta.name, why=bug.why, is_tenants=is_tenants
        )
        if self._listed is not None:
            self._listed.add(key)
        if (before := self._faults.get(key)) == (found, about):
            return None
        self._drop(key)
        self._faults[key] = (found, about)
        for node in about:
            self._by_node[node][key] = found
        return about | (before[1] if before is not None else frozenset())

    def clear(self, meta: Metadata) -> frozenset[str] | None:
        """Forget the fault of an object that was read, or is gone; None where there was none."""
        return self._drop((meta.namespace, meta.name)) if self._faults else None

    def begin(self) -> None:
        """A list is asked for."""
        self._listed = set()

    def end(self) -> frozenset[str] | None:
        """The list is there: faults of objects that it does not have are over."""
        gone = [key for key in self._faults if self._listed is not None and key not in self._listed]
        self._listed = None
        dropped = [nodes for key in gone if (nodes := self._drop(key)) is not None]
        return frozenset().union(*dropped) if dropped else None

    def _is_first(self, why: str) -> bool:
        if why in self._reported or len(self._reported) >= REPORTED_MAX:
            return False
        self._reported.add(why)
        return True

    def _drop(self, key: tuple[str, str]) -> frozenset[str] | None:
        before = self._faults.pop(key, None)
        if before is None:
            return None
        for node in before[1]:
            of_node: Mapping[tuple[str, str], UnreadableObject] = self._by_node[node]
            self._by_node[node].pop(key, None)
            if not of_node:
                del self._by_node[node]
        return before[1]
