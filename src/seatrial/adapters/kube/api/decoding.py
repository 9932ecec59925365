"""The forms in which lists and watches arrive, and who reads them. No I/O here.

Tests: tests/adapters/kube/test_client.py
"""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar, cast

import msgspec

T = TypeVar("T")


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


ENVELOPE: Final = msgspec.json.Decoder(Envelope)
BOOKMARK: Final = msgspec.json.Decoder(BookmarkObject)
_DECODERS: Final[dict[Any, msgspec.json.Decoder[Any]]] = {}


def decoder_of(model: type[T]) -> msgspec.json.Decoder[T]:
    """Give the decoder of a model; building one costs far more than using it."""
    decoder = _DECODERS.get(model)
    if decoder is None:
        decoder = _DECODERS[model] = msgspec.json.Decoder(model)
    return cast("msgspec.json.Decoder[T]", decoder)
