"""What is known of one component: a version and where it was read, that it is not there, or that nobody can say.

    Seen            a version, the object that shows it, and what to be careful about
    NotRunning      a pod is there to bring it, and is not Ready
    Absent          the lists that would have it were read, and it is not in them
    NotObservable   nobody can say, and this right or this object is missing

Law of this file: None never stands for unknown, and every reading can say why it is what it is.
Tests: tests/core/survey/test_audit_readings.py
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

from seatrial.core.base.values import dataclass
from seatrial.core.compat.matrix import Component, Value
from seatrial.core.survey.sources import Gap, Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A version that an object shows."""

    value: Value
    evidence: str
    """The object, and the place in it."""
    caution: str = ""
    more: tuple[Value, ...] = ()
    """Other versions of it on the same node, where a node can have several."""

    @property
    def values(self) -> tuple[Value, ...]:
        return (self.value, *self.more)

    @property
    def text(self) -> str:
        return " and ".join(each.text for each in self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """The component is not there, which was looked for."""

    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRunning:
    """A pod is there to bring it and is not Ready: its image may never have been pulled."""

    brings: str
    """The version that the pod is to bring; its image where that names none."""
    why: str
    evidence: str


class Cause(StrEnum):
    """What keeps a component from being observed."""

    RIGHT = "right"
    """Objects that may show it could not be read."""
    OBJECT = "object"
    """The objects were read, and do not tell."""
    NATURE = "nature"
    """No object of this cluster shows it; people may note it on their nodes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotObservable:
    """Nobody can say."""

    cause: Cause
    missing: str
    """The right or the object that would show it."""
    gaps: tuple[Gap, ...] = ()


Reading: TypeAlias = Seen | NotRunning | Absent | NotObservable
Readings: TypeAlias = Mapping[Component, Reading]


@lru_cache(maxsize=8192)  # ten thousand nodes show the same few versions; one value for each is also quick to compare
def seen(component: Component, text: str, evidence: str, caution: str = "") -> Reading:
    """A version as an object shows it; NotObservable where it cannot be read as one."""
    value = Value.read(component, text)
    if value.version is None:
        return NotObservable(cause=Cause.OBJECT, missing=f"{evidence} says {text!r}, which is not a version")
    return Seen(value=value, evidence=evidence, caution=caution)


def unread(gaps: tuple[Gap, ...]) -> NotObservable:
    """What objects may show that could not be read."""
    return NotObservable(cause=Cause.RIGHT, missing="; ".join(map(_lack, gaps)), gaps=gaps)


def _lack(gap: Gap) -> str:
    if gap.why is Why.FORBIDDEN:
        return f"the right to {gap.right}"
    return f"an answer to {gap.right}{f' ({gap.said})' if gap.said else ''}"
