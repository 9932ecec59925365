"""The smallest models these tests need; the real ones are another module's subject."""

from __future__ import annotations

import msgspec


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    """Metadata with the four fields that watching needs, and labels to change."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] = {}


class Item(msgspec.Struct, frozen=True):
    """Any object, by its metadata."""

    metadata: Meta = Meta()


class ConfigMap(msgspec.Struct, frozen=True):
    """A ConfigMap: the cheapest thing to write."""

    metadata: Meta = Meta()
    data: dict[str, str] = {}
