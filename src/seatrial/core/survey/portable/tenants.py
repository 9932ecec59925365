"""What is left of a tenant's object under other names: no word that the tenant chose.

    names, claims, values of labels     name-12                the same word is the same number wherever it stands
    labels, annotations                 nvidia.com/gpu.count   where the key is of the trade, or nodes are chosen by it
    images                              image-3                without tag and digest
    messages                            words of the trade alone, and new names
    phases, reasons, types              where they are words of the trade
    times, uids, amounts                as they are

Law of this file: everything else becomes a number. Tests: tests/core/survey/test_portable_tenants.py,
tests/properties/test_portable.py
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from seatrial.core.base.values import dataclass, field
from seatrial.core.survey.portable.allowed import AMOUNTS, TEXTS
from seatrial.core.survey.portable.renaming import MAPS, SHARED, Renaming
from seatrial.core.survey.portable.words import Words

_MACHINE: Final = frozenset(
    {
        "apiVersion",
        "device",
        "deviceClassName",
        "driver",
        "kind",
        "operator",
        "phase",
        "reason",
        "state",
        "status",
        "type",
    }
)
"""Keys below which Kubernetes, or a program of the trade, says one of a few words."""
_PLAIN: Final = re.compile(
    r"|true|false|[0-9]{1,10}(?:\.[0-9]{1,3})?(?:m|[kKMGT]i?)?"
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
"""A switch, an amount, a time, a uid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenants:
    """Objects of tenants under other names."""

    names: Renaming
    words: Words
    """Of the trade, and the new names."""
    keys: frozenset[str]
    """Labels of nodes, and those that a selector of ours uses."""
    values: frozenset[str]
    """What nodes have as labels, and what a selector of ours uses: the file shows both anyway."""
    _numbers: dict[str, str] = field(default_factory=dict, compare=False)

    def told(self, value: Any, key: str = "") -> Any:
        """What is left of a value that stands under this key."""
        match value:
            case dict() if key in MAPS:
                return {name: self._label(str(each)) for name, each in value.items() if self._is_key(name)}
            case dict() if key in AMOUNTS:
                return dict(value)
            case dict():
                return {name: self.told(each, name) for name, each in value.items()}
            case list() | tuple():
                return [self.told(each, key) for each in value]
            case str():
                return self._text(value, key)
            case _:
                return value

    def name(self, text: str) -> str:
        """A word that a tenant chose, under its new name or as a number."""
        known = self.names.nodes.get(text) or self.names.names.get(text)
        return known or self._numbers.setdefault(text, f"name-{len(self._numbers) + 1}")

    def _text(self, text: str, key: str) -> str:
        if key == "image":
            return self.names.bare(text)
        if key in TEXTS:
            return self.words.told(self.names.text(text))
        is_kept = _PLAIN.fullmatch(text) or (key in _MACHINE and self.words.told(text) == text)
        return text if is_kept or SHARED.fullmatch(text) else self.name(text)

    def _label(self, text: str) -> str:
        return (
            self.names.text(text, is_label=True) if text in self.values or _PLAIN.fullmatch(text) else self.name(text)
        )

    def _is_key(self, key: str) -> bool:
        return key in self.keys or self.words.told(key) == key


def node_labels(nodes: Iterable[Mapping[str, Any]]) -> tuple[frozenset[str], frozenset[str]]:
    """The keys and the values of what nodes are labelled with."""
    labels = [(each.get("metadata") or {}).get("labels") or {} for each in nodes]
    return frozenset(key for each in labels for key in each), frozenset(
        str(v) for each in labels for v in each.values()
    )
