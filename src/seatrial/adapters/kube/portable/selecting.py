"""Which objects a request is about: its namespace, label selector and field selector, as an API server applies them.

Of field selectors, equality and inequality; a field that is not there is empty. Tests:
tests/adapters/kube/test_portable_answering.py
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from seatrial.core.base.values import dataclass
from seatrial.core.model.selectors import Selector

_FIELD: Final = re.compile(r"([^=!]+?)(==|!=|=)(.*)")
_PATH: Final = re.compile(
    r"/(?:api/(?P<core>[^/]+)|apis/(?P<group>[^/]+/[^/]+))(?:/namespaces/(?P<namespace>[^/]+)(?=/))?"
    r"/(?P<resource>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<part>[^/]+))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a path of the API is about."""

    version: str
    """With its group: `v1`, `apps/v1`."""
    resource: str
    namespace: str = ""
    name: str = ""
    part: str = ""

    @property
    def kind(self) -> tuple[str, str]:
        """The group and the resource, whichever version of it."""
        return self.version.rpartition("/")[0], self.resource


def place_of(path: str) -> Place | None:
    """What a path is about; None for what is no path of a resource."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    parts = {key: found[key] or "" for key in ("resource", "namespace", "name", "part")}
    return Place(version=found["core"] or found["group"], **parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selecting:
    """Two selectors that must both hold."""

    labels: Selector
    fields: tuple[tuple[tuple[str, ...], bool, str], ...] = ()

    @staticmethod
    def parse(label_selector: str = "", field_selector: str = "") -> Selecting:
        """Read the two as a request carries them."""
        terms = (_FIELD.fullmatch(term.strip()) for term in field_selector.split(",") if term.strip())
        fields = tuple((tuple(term[1].split(".")), term[2] != "!=", term[3]) for term in terms if term is not None)
        return Selecting(labels=Selector.parse(label_selector), fields=fields)

    def takes(self, found: Mapping[str, Any]) -> bool:
        """Whether an object is one of those that are meant."""
        labels = (found.get("metadata") or {}).get("labels") or {}
        return self.labels.matches(labels) and all(
            (str(_field(found, path)) == value) is is_same for path, is_same, value in self.fields
        )


def _field(found: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        found = found.get(name, "") if isinstance(found, dict) else ""
    return found
