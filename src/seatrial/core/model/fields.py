"""How a field is kept outside of the process: its name there, what it says, and how its text is read. Metadata only.

A dataclass that is kept in Kubernetes declares each field once, with `kept`. The reader, the writer and the definition
of the resource are derived from that (adapters/kube/shapes/forms.py), so a field is added, renamed or described here
and nowhere else. A field that is declared without `kept` is kept too, under its own name.

    next_step: str = field(default="", metadata=kept("What to do about it.", name="next", is_long=True))

Tests: tests/adapters/kube/test_forms.py
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from seatrial.core.base.values import dataclass

OUTSIDE: Final = "outside"
"""The key of the metadata."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """How one field is kept."""

    says: str = ""
    """What it means, for people who read the definition of the resource."""
    name: str = ""
    """Its name outside, if that is not its own name in camel case without `is_` and `has_`."""
    pair: tuple[str, str] | None = None
    """Names of both halves, for a tuple of pairs that is a list of objects; otherwise it is an object. Where the second
    name is empty, the fields of the second half stand beside the first."""
    yes: str = ""
    """The word that stands for true, for a flag that is a text outside."""
    count: int = 0
    """How many entries it has, if that is fixed."""
    length_max: int = 0
    """How long its text may be; 0 for as long as any line."""
    is_long: bool = False
    """Whether its text may have several lines."""
    is_required: bool = False
    """Whether it is always written, and has to be there when it is read; so is each field that has no default."""
    is_always_written: bool = False
    """Whether it is written where it has its default, too."""
    is_informative: bool = False
    """Whether nothing is decided by it: where it cannot be read, it has its default."""
    is_left_out: bool = False
    """Whether it is not kept at all: something else of the object says it."""


PLAIN: Final = Outside()


def kept(says: str = "", **how: Any) -> dict[str, Outside]:
    """The metadata of a field: what it means, and how it is kept."""
    return {OUTSIDE: Outside(says=says, **how)}


def outside_of(field: dataclasses.Field[Any]) -> Outside:
    """How a field is kept."""
    found: Outside = field.metadata.get(OUTSIDE, PLAIN)
    return found


def name_outside(field: dataclasses.Field[Any]) -> str:
    """The name of a field outside."""
    told = outside_of(field).name
    if told:
        return told
    first, *rest = field.name.removeprefix("is_").removeprefix("has_").split("_")
    return first + "".join(each.capitalize() for each in rest)
