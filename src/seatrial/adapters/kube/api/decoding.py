"""The forms in which lists and watches arrive, and who reads them. No I/O here.

Tests: tests/adapters/kube/test_client.py
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, cast

import msgspec

from seatrial.core.base.values import dataclass


class Metadata(Protocol):
    """The part of metadata that watching needs; empty strings where the server sends nothing."""

    @property
    def name(self) -> str:
        """The object's name."""

    @property
    def namespace(self) -> str:
        """The object's namespace, empty for cluster-wide kinds."""

    @property
    def uid(self) -> str:
        """The identity that a new object of the same name does not share."""

    @property
    def resource_version(self) -> str:
        """The version of this state."""


class Object(Protocol):
    """Any model of a Kubernetes object."""

    @property
    def metadata(self) -> Metadata:
        """The object's metadata."""


T = TypeVar("T")
ObjectT = TypeVar("ObjectT", bound=Object)


class EventKind(enum.Enum):
    """What happened to a watched object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Generic[T]):
    """All objects of a list, and the version at which they were so."""

    items: tuple[T, ...]
    resource_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchEvent(Generic[T]):
    """One change of one object; for DELETED the object is its last state."""

    kind: EventKind
    object: T


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """Nothing changed up to this version."""

    resource_version: str


class ListMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """What a list says about itself."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list."""

    metadata: ListMetadata = ListMetadata()
    items: tuple[T, ...] | None = None  # an empty list is null with some aggregated servers


class Envelope(msgspec.Struct, frozen=True):
    """One line of a watch; what it is about depends on its type."""

    type: str
    object: msgspec.Raw


class BookmarkObject(msgspec.Struct, frozen=True):
    """What a bookmark is about: a version."""

    metadata: ListMetadata


class BareMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """Which object it is, and at which version."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}


class BareSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The node that an object is about, where it says so."""

    node_name: str = ""


class BareObject(msgspec.Struct, frozen=True):
    """As much as we can tell of an object whose types are not those we expect."""

    metadata: BareMetadata
    spec: BareSpec = BareSpec()


class _Named(msgspec.Struct, frozen=True):
    """Of an object, which one it is: the one part whose types the API server always holds to."""

    metadata: BareMetadata


BARE: Final = msgspec.json.Decoder(BareObject)
NAMED: Final = msgspec.json.Decoder(_Named)
TROUBLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)
"""How decoding fails; the last for what is nested some thousand levels deep, which an API server takes."""
RAW_PAGE: Final = msgspec.json.Decoder(Page[msgspec.Raw])
ENVELOPE: Final = msgspec.json.Decoder(Envelope)
BOOKMARK: Final = msgspec.json.Decoder(BookmarkObject)
_DECODERS: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}


def decoder_of(model: type[T]) -> msgspec.json.Decoder[T]:
    """Give the decoder of a model; building one costs far more than using it."""
    decoder = _DECODERS.get(model)
    if decoder is None:
        decoder = _DECODERS[model] = msgspec.json.Decoder(model)
    return cast("msgspec.json.Decoder[T]", decoder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecodable:
    """An object that does not have the types we expect: who it is, and why."""

    object: BareObject
    why: str
    is_deleted: bool = False


OnUndecodable: TypeAlias = Callable[[Undecodable], Any]
"""Takes note of such an object, and gives what is kept of it; None for nothing."""


def decoded(raw: bytes | msgspec.Raw, decoder: msgspec.json.Decoder[T], *, is_deleted: bool = False) -> T | Undecodable:
    """One object, or what is known of it where it cannot be decoded."""
    try:
        return decoder.decode(raw)
    except TROUBLE as err:
        return Undecodable(object=_bare(raw), why=str(err), is_deleted=is_deleted)


def _bare(raw: bytes | msgspec.Raw) -> BareObject:
    try:
        return BARE.decode(raw)
    except (msgspec.MsgspecError, ValueError):  # its spec is none
        return BareObject(metadata=NAMED.decode(raw).metadata)


def page_of(page: Page[msgspec.Raw], model: type[T]) -> Page[T | Undecodable]:
    """A page of a list, object by object: one that cannot be decoded must not cost the others."""
    items = tuple(decoded(raw, decoder_of(model)) for raw in page.items or ())
    return Page(metadata=page.metadata, items=items)
