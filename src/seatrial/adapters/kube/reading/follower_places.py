"""Where the operators run whose releases we know: a release anywhere else is not read.

Law of this file: anyone who may create a Deployment can set its labels, but only an operator's admins can write into
its namespace. Tests: tests/adapters/kube/test_release_places.py
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from seatrial.adapters.kube.shapes import keys
from seatrial.adapters.kube.streams.row import Where
from seatrial.core.compat.matrix import Component

RawT = TypeVar("RawT")


class Placed(Protocol):
    """What says of itself whose it is, and where."""

    @property
    def place(self) -> tuple[Component | None, str]: ...


PlacedT = TypeVar("PlacedT", bound=Placed)


def is_place_of(where: Where, component: Component | None, namespace: str) -> bool:
    """Whether an operator with a release runs in a namespace."""
    match component:
        case Component.GPU_OPERATOR:
            return namespace == where.namespace
        case Component.NETWORK_OPERATOR:
            return namespace in (where.namespace, keys.NETWORK_NAMESPACE)
        case Component.DRA_DRIVER:
            return namespace == where.namespace or namespace in (where.dra or keys.DRA_NAMESPACES)
        case _:
            return False


def at_home(read: Callable[[RawT], PlacedT | None]) -> Callable[[Where], Callable[[RawT], PlacedT | None]]:
    """What `read` keeps, of objects in the namespaces of their own operator alone."""

    def reader(where: Where) -> Callable[[RawT], PlacedT | None]:
        def kept(raw: RawT) -> PlacedT | None:
            item = read(raw)
            return item if item is not None and is_place_of(where, *item.place) else None

        return kept

    return reader
