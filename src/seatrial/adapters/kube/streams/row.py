"""One row of the table of streams: which kind is watched, what is kept of it, and which nodes a change of it concerns.

Values only; a row is opened by streams.py. Tests: tests/adapters/kube/test_streams.py
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from seatrial.adapters.kube.api.client import Object
from seatrial.adapters.kube.api.store import by_name
from seatrial.adapters.kube.streams.index import By, ItemT, KeyT
from seatrial.core.base.values import dataclass
from seatrial.core.errors import SeatrialError

RawT = TypeVar("RawT", bound=Object)


class Need(enum.Enum):
    """What it means that a kind, or the right to see it, is missing."""

    REQUIRED = "required"
    """Without it nothing is decided."""
    IF_INSTALLED = "if installed"
    """A kind that the cluster does not know has no objects, and that is fine; a right that is missing is not."""
    EXPLAINS = "explains"
    """Nothing is decided on it: late, missing or forbidden, it stops nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The namespaces that paths and projections may ask for."""

    namespace: str
    """The operator's."""
    home: str
    """Ours."""
    dra: tuple[str, ...] = ()
    """Where DRA plugins run, beside the operator's; none for where their charts put them."""


class Found(Protocol):
    """What other rows have, for one whose items do not say themselves which nodes they are about."""

    def get(self, row: Row[Any, ItemT], key: Hashable) -> ItemT | None:
        """The item of a row under the key of its store."""

    def under(self, row: Row[Any, ItemT], by: By[ItemT, KeyT], key: KeyT) -> Collection[ItemT]:
        """The items of a row under the key of an index."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row(Generic[RawT, ItemT]):
    """One watched kind. A change that concerns no node is a reason to look again, unless it says nothing new."""

    name: str
    path: Callable[[Where], str]
    model: type[RawT]
    slim: Callable[[Where], Callable[[RawT], ItemT | None]]
    """How an object is projected to what is kept of it; None where it is of no interest."""
    older_paths: tuple[str, ...] = ()
    """Where an older API server has the same objects, the youngest first."""
    need: Need = Need.REQUIRED
    label_selector: str = ""
    field_selector: str = ""
    key: Callable[[ItemT], Hashable] = by_name
    """What makes two states those of one item."""
    tells: Callable[[ItemT], object] | None = None
    """All that is seen of an item: while it stays the same, nothing has changed. None: every state is news."""
    node: Callable[[ItemT], str] | None = None
    """The node that an item is about: it is found under it, and a change costs that node."""
    reach: Callable[[ItemT, Found], Iterable[str]] | None = None
    """The nodes that a change costs, where items do not name one; a change that reaches none is no news."""
    indices: tuple[By[ItemT, Any], ...] = ()
    """By what else its items are found."""
    bare: Callable[[Object, str], ItemT] | None = None
    """What is kept of an object that cannot be read; None where the last that could be read is kept, if any."""
    node_named: Callable[[Any], str] | None = None
    """The node that an object names, also one that cannot be read; None where objects are about no node."""
    is_tenants: Callable[[Where, str], bool] = lambda _where, _namespace: False
    """Whether an object in this namespace says no more than who works on a node."""
    missing: Callable[[], SeatrialError] | None = None
    """What to say where a required kind is not installed, beyond what the API server says."""

    @property
    def is_decisive(self) -> bool:
        """Whether decisions rest on it."""
        return self.need is not Need.EXPLAINS

    def nodes(self, item: ItemT, found: Found) -> Iterable[str] | None:
        """The nodes that a change of an item costs; None where it is not about nodes at all."""
        if self.node is not None:
            return (self.node(item),)
        return self.reach(item, found) if self.reach is not None else None

    def is_news(self, before: ItemT | None, after: ItemT | None) -> bool:
        """Whether a change tells anything new."""
        if self.tells is None or before is None or after is None:
            return True
        return self.tells(before) != self.tells(after)
